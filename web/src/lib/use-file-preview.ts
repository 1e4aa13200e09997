import { useState, type RefCallback } from 'react';
import { ApiError } from '../api/client.ts';
import { useUnsaved } from './use-unsaved.ts';

/** What the server finds in a file before anything in it is stored. */
export interface Preview {
  row_count: number;
  faults: readonly { row: number; column: string | null; message: string }[];
}

interface FilePreviewOptions<P, R> {
  /** How many rows of a file without faults would be stored. */
  count: (preview: P) => number;
  /** Stores the file. What an ApiError says is shown, and the file can be stored once more. */
  store: (file: File) => Promise<R>;
  onStored: (result: R) => void;
}

/** A file that was chosen, and what is in it. */
export interface FilePreview<P> {
  file: File | null;
  /** What is in it; null until that is known, or when it cannot be read. */
  preview: P | null;
  /** Why the file could not be read or stored. */
  fault: string | null;
  /** How many rows of it can be stored now. */
  count: number;
  pending: boolean;
  /** For the element around what belongs to it. */
  around: RefCallback<HTMLElement>;
  /** Whether the server is looking at it, the first time or again. */
  reading: boolean;
  /**
   * Takes a file in place of the one before; `found` is what the server says of it. With `again` it is the same file, looked at in another
   * way, and what was found in it before stays until then.
   */
  choose: (file: File, found: Promise<P>, again?: 'again') => Promise<void>;
  store: () => Promise<void>;
}

interface Look<P> {
  file: File;
  preview: P | null;
  /** Why it could not be read, and why it could not be stored: that may pass, and what was chosen for it stays. */
  fault: string | null;
  unstored: string | null;
  reading: boolean;
}

const nothing = { file: null, preview: null, fault: null, unstored: null, reading: false };

/** What an ApiError says; whatever else went wrong is thrown on. */
function faultOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  throw error;
}

/** A file that is looked at before it is stored; a file that could be stored is asked about before it is given up. */
export function useFilePreview<P extends Preview, R>(options: FilePreviewOptions<P, R>): FilePreview<P> {
  const [look, setLook] = useState<Look<P> | null>(null);
  const [pending, setPending] = useState(false);
  const { file, preview, fault, unstored, reading } = look ?? nothing;
  const found = preview !== null && preview.faults.length === 0 ? options.count(preview) : 0;
  const count = fault === null ? found : 0;
  const { around, done } = useUnsaved({
    // A file that cannot be taken is no loss; one that could not be looked at again is.
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
