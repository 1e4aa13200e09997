/**
 * Whether a person is at this page. What it asks by itself, because something changed or came back, is marked when
 * nobody has touched it for a minute: a page that is left open keeps no session alive.
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

/** The header of a request that reads: empty while a person attends. */
export function unattendedHeader(): Record<string, string> {
  return isAttended() ? {} : { 'X-Unattended': '1' };
}

/** Does something once a person sees the page: at once where they do, else as soon as they touch it. Returns how to call it off. */
export function onceSeen(action: () => void): () => void {
  if (isAttended() && document.visibilityState === 'visible') action();
  else waiting.add(action);
  return () => void waiting.delete(action);
}
