import { useEffect, useState, useSyncExternalStore } from 'react';
import { UploadQueue, type Upload, type UploadsOptions } from './upload-queue.ts';

interface Uploads extends Pick<UploadQueue<unknown>, 'add' | 'stop' | 'retry' | 'clear'> {
  uploads: readonly Upload[];
}

/** Uploads of a component: add files, and see how each is doing. They go on while the component changes. */
export function useUploads<T>(options: UploadsOptions<T>): Uploads {
  const [queue] = useState(() => new UploadQueue<T>(options));
  useEffect(() => queue.goOnWith(options), [queue, options]);
  const uploads = useSyncExternalStore(queue.follow, queue.read);
  return { uploads, add: queue.add, stop: queue.stop, retry: queue.retry, clear: queue.clear };
}
