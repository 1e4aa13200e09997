import { useEffect, useState, useSyncExternalStore } from 'react';
import { uploadsTo, type AboutFiles } from '../../../api/document-uploads.ts';
import { useDocumentActions } from '../../../api/documents.ts';
import type { Id } from '../../../api/shapes.ts';
import { useUnsaved } from '../../../lib/use-unsaved.ts';

/**
 * Uploads to a deal's data room. They continue while the drawer is closed or another page is shown, and the browser
 * asks before the person leaves during an upload.
 */
export function useDocumentUploads(dealId: Id) {
  const { uploaded } = useDocumentActions(dealId);
  const [about, setAbout] = useState<AboutFiles>({ category: 'financials', confidentiality: 'nda_gated', request: '' });
  // The request that files were last added with. A request typed for later files counts as unsaved, also while the
  // drawer is closed.
  const [used, setUsed] = useState('');
  useUnsaved({
    dirty: about.request.trim() !== '' && about.request !== used,
    discard: () => setAbout((before) => ({ ...before, request: '' })),
  });
  const { read, follow, add, stop, retry, retryInterrupted, clear } = uploadsTo(dealId, uploaded);
  const uploads = useSyncExternalStore(follow, read);
  return {
    uploads,
    busy: uploads.some(({ state }) => state === 'waiting' || state === 'sending'),
    add: (files: readonly File[]) => {
      setUsed(about.request);
      add(files, about);
    },
    stop,
    retry,
    retryInterrupted,
    clear,
    about,
    setAbout,
  };
}

export type DocumentUploads = ReturnType<typeof useDocumentUploads>;

/**
 * Calls `onFiles` when a person drags files over the page, and prevents the browser from opening a file dropped
 * elsewhere on it.
 */
export function useFilesOverPage(enabled: boolean, onFiles: () => void): void {
  useEffect(() => {
    if (!enabled) return;
    const carriesFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true;
    const enter = (event: DragEvent) => carriesFiles(event) && onFiles();
    const stay = (event: DragEvent) => carriesFiles(event) && event.preventDefault();
    window.addEventListener('dragenter', enter);
    window.addEventListener('dragover', stay);
    window.addEventListener('drop', stay);
    return () => {
      window.removeEventListener('dragenter', enter);
      window.removeEventListener('dragover', stay);
      window.removeEventListener('drop', stay);
    };
  }, [enabled, onFiles]);
}
