/**
 * Counts the reads that the server has asked to be retried later, so that the page can say that it is waiting, and why.
 */

/** `limited`: the person has made too many requests; `down`: the service itself cannot answer. */
type Why = 'limited' | 'down';

const waiting = { limited: 0, down: 0 };
const listeners = new Set<() => void>();

function add(why: Why, change: 1 | -1): void {
  waiting[why] += change;
  for (const listener of listeners) listener();
}

/** Notes that a read is retried after this many milliseconds, and why. */
export function noteWait(millis: number, why: Why): void {
  add(why, 1);
  setTimeout(() => add(why, -1), millis);
}

/** Why reads are waiting to be retried; null when none is. */
export const waitsFor = (): Why | null => (waiting.down > 0 ? 'down' : waiting.limited > 0 ? 'limited' : null);

/** Calls `listener` when the waits change, until the returned function is called. */
export function followWaits(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
