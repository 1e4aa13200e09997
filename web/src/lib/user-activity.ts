/**
 * Whether a person is at this page. What it asks by itself, because something changed or came back, is marked when
 * nobody has touched it for a minute: a page that is left open keeps no session alive.
 */

const quietAfter = 60_000;
let lastTouch = Date.now();

for (const kind of ['pointerdown', 'keydown', 'wheel', 'touchmove'])
  addEventListener(kind, () => (lastTouch = Date.now()), { capture: true, passive: true });

/** The header of a request that reads: empty while a person attends. */
export function unattendedHeader(): Record<string, string> {
  return Date.now() - lastTouch < quietAfter ? {} : { 'X-Unattended': '1' };
}
