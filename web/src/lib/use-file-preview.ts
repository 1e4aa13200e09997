import { useState, type RefCallback } from 'react';
import { ApiError } from '../api/client.ts';
import { useUnsaved } from './use-unsaved.ts';

/** The server's findings about a file before any of it is stored. */
export interface Preview {
  row_count: number;
  faults: readonly {
    row: number;
    column: string | null;
    message: string;
    /** What the row is recognized by, and the content of the cell, where the server says so. */
    name?: string;
    value?: string;
  }[];
}

interface FilePreviewOptions<P, R> {
  /** The number of rows that would be stored. */
  count: (preview: P) => number;
  /** Whether a file with errors is stored without the rows that have them; otherwise it is not stored. */
  skipsFaults?: boolean;
  /** Stores the file. An ApiError's message is shown, and storing can be retried. */
  store: (file: File) => Promise<R>;
  onStored: (result: R) => void;
}

/** A chosen file and its preview. */
export interface FilePreview<P> {
  file: File | null;
  /** Null until the server has responded, or when the file cannot be read. */
  preview: P | null;
  /** Why the file could not be read or stored. */
  fault: string | null;
  /** The number of its rows that can be stored now. */
  count: number;
  pending: boolean;
  /** Ref for the element that contains the file's controls. */
  around: RefCallback<HTMLElement>;
  /** Whether the server is reading the file, for the first time or again. */
  reading: boolean;
  /**
   * Replaces the chosen file; `found` resolves with its preview. `again` means that the same file is read with other
   * options, and keeps the previous preview until then.
   */
  choose: (file: File, found: Promise<P>, again?: 'again') => Promise<void>;
  store: () => Promise<void>;
}

interface Look<P> {
  file: File;
  preview: P | null;
  /**
   * Why the file could not be read, and why it could not be stored: the latter may be temporary, and keeps the chosen
   * options.
   */
  fault: string | null;
  unstored: string | null;
  reading: boolean;
}

const nothing = { file: null, preview: null, fault: null, unstored: null, reading: false };

/** Returns the message of an ApiError; rethrows any other error. */
function faultOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  throw error;
}

/** A file that is previewed before it is stored; discarding a file that could be stored needs a confirmation. */
export function useFilePreview<P extends Preview, R>(options: FilePreviewOptions<P, R>): FilePreview<P> {
  const [look, setLook] = useState<Look<P> | null>(null);
  const [pending, setPending] = useState(false);
  const { file, preview, fault, unstored, reading } = look ?? nothing;
  const found = preview !== null && (options.skipsFaults || preview.faults.length === 0) ? options.count(preview) : 0;
  const count = fault === null ? found : 0;
  const { around, done } = useUnsaved({
    // Discarding a file that cannot be stored loses nothing; a file that could not be read again still counts.
    dirty: found > 0 || reading,
    pending,
    discard: () => setLook(null),
  });

  const choose: FilePreview<P>['choose'] = async (chosen, asking, again) => {
    const asked: Look<P> = {
      file: chosen,
      preview: again ? preview : null,
      fault: null,
      unstored: null,
      reading: true,
    };
    setLook(asked);
    const answer = await asking.then(
      (known) => ({ ...asked, reading: false, preview: known }),
      (error: unknown) => ({ ...asked, reading: false, fault: faultOf(error) }),
    );
    // Another file may have been chosen meanwhile.
    setLook((now) => (now === asked ? answer : now));
  };
  const store = async () => {
    if (look === null) return;
    setPending(true);
    setLook({ ...look, unstored: null });
    try {
      const result = await options.store(look.file);
      done();
      options.onStored(result);
    } catch (error) {
      setLook({ ...look, unstored: faultOf(error) });
    } finally {
      setPending(false);
    }
  };
  return { file, preview, fault: fault ?? unstored, count, reading, pending, around, choose, store };
}
