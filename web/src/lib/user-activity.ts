/**
 * Whether a person is using this page. Requests that the page makes by itself, because data changed or the connection
 * returned, are marked when there was no input for a minute: a page that is left open does not keep a session alive.
 */

const quietAfter = 60_000;
let lastTouch = Date.now();

const waiting = new Set<() => void>();

function touch(): void {
  lastTouch = Date.now();
  for (const action of waiting) action();
  waiting.clear();
}

for (const kind of ['pointerdown', 'keydown', 'wheel', 'touchmove'])
  addEventListener(kind, touch, { capture: true, passive: true });

const isAttended = (): boolean => Date.now() - lastTouch < quietAfter;

/** Returns the header of a read request; empty while a person is using the page. */
export function unattendedHeader(): Record<string, string> {
  return isAttended() ? {} : { 'X-Unattended': '1' };
}

/**
 * Calls `action` once a person sees the page: immediately while they are using it, otherwise at their next input.
 * Returns a function that cancels this.
 */
export function onceSeen(action: () => void): () => void {
  if (isAttended() && document.visibilityState === 'visible') action();
  else waiting.add(action);
  return () => void waiting.delete(action);
}
