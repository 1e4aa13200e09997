/** Counts the reads that the server has asked to be repeated later, so that the page says that it is waiting, and why. */

/** `limited`: the person has asked for too much; `down`: the service itself cannot answer. */
type Why = 'limited' | 'down';

const waiting = { limited: 0, down: 0 };
const listeners = new Set<() => void>();

function add(why: Why, change: 1 | -1): void {
  waiting[why] += change;
  for (const listener of listeners) listener();
}

/** Notes that a read is sent again in so many milliseconds, and why it has to be. */
export function noteWait(millis: number, why: Why): void {
  add(why, 1);
  setTimeout(() => add(why, -1), millis);
}

/** Why a read is being waited for; null where none is. */
export const waitsFor = (): Why | null => (waiting.down > 0 ? 'down' : waiting.limited > 0 ? 'limited' : null);

/** Calls `listener` when that changes, until the returned function is called. */
export function followWaits(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
