/** Counts the reads that the server has asked to be repeated later, so that the page says that it is waiting. */

let waiting = 0;
const listeners = new Set<() => void>();

function add(change: 1 | -1): void {
  waiting += change;
  for (const listener of listeners) listener();
}

/** Notes that a read is sent again in so many milliseconds. */
export function noteWait(millis: number): void {
  add(1);
  setTimeout(() => add(-1), millis);
}

/** Whether a read is being waited for. */
export const isWaiting = (): boolean => waiting > 0;

/** Calls `listener` when that changes, until the returned function is called. */
export function followWaits(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
