import { useEffect, useRef, useState } from 'react';
import { useDocumentActions } from '../../../api/documents.ts';
import type { Confidentiality, DealDocument, Id } from '../../../api/shapes.ts';
import { upload } from '../../../api/upload.ts';
import { useUnsaved } from '../../../lib/use-unsaved.ts';
import { useUploads } from './use-uploads.ts';

/** What the server takes at most, in bytes. */
const largest = 2_147_483_648;

function checkFile({ size }: File): string | null {
  if (size > largest) return 'The file is larger than 2 GB. Split it, or compress it.';
  return size === 0 ? 'The file is empty.' : null;
}

/** What is said of files before they are dropped. */
export interface AboutFiles {
  category: string;
  confidentiality: Confidentiality;
  /** The diligence request that they answer; '' for none. */
  request: string;
}

/** Uploads to a deal's data room. They go on while the drawer is closed, and the browser asks before it leaves them. */
export function useDocumentUploads(dealId: Id) {
  const { refresh } = useDocumentActions(dealId);
  const [about, setAbout] = useState<AboutFiles>({ category: 'financials', confidentiality: 'nda_gated', request: '' });
  // What was typed for files that were not dropped yet; it stays when the drawer is closed.
  const [used, setUsed] = useState('');
  useUnsaved({
    dirty: about.request.trim() !== '' && about.request !== used,
    discard: () => setAbout((before) => ({ ...before, request: '' })),
  });
  // What was said of a file when it was dropped: who may open it must not change while it waits.
  const chosen = useRef(new WeakMap<File, AboutFiles>());
  const queue = useUploads<DealDocument>({
    send: (file, progress) => {
      const { category, confidentiality, request } = chosen.current.get(file) ?? about;
      return upload('/web/deals/:id/documents', file, {
        param: { id: dealId },
        query: { filename: file.name, category, confidentiality, diligence_request: request.trim() || null },
        ...progress,
      });
    },
    check: checkFile,
    onDone: () => void refresh(),
  });
  const busy = queue.uploads.some(({ state }) => state === 'waiting' || state === 'sending');
  useEffect(() => {
    if (!busy) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [busy]);
  const add = (files: readonly File[]) => {
    for (const file of files) chosen.current.set(file, about);
    setUsed(about.request);
    queue.add(files);
  };
  return { ...queue, add, about, setAbout, busy };
}

export type DocumentUploads = ReturnType<typeof useDocumentUploads>;

/** Opens what takes files when a person drags some over the page, and keeps the browser from going to one that falls beside. */
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
