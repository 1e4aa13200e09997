/** The elements that take the focus when a control in them disappears. */
const parts = 'li, tr, [role=row], article, section, main';

/** Returns an element and the parts of the page that contain it, nearest first. */
export function placeOf(element: HTMLElement | null): HTMLElement[] {
  const place: HTMLElement[] = [];
  for (let one = element; one; one = one.parentElement?.closest<HTMLElement>(parts) ?? null) place.push(one);
  return place;
}

/** Focuses the first of these elements that is still on the page, otherwise the main part of the page. */
export function focusPlace(place: readonly HTMLElement[]): void {
  const found = place.find(({ isConnected }) => isConnected) ?? document.getElementById('main');
  if (!found) return;
  if (found.tabIndex < 0 && !found.hasAttribute('tabindex')) {
    // Only for this focus: a click into the element must not focus it.
    found.tabIndex = -1;
    found.addEventListener('blur', () => found.removeAttribute('tabindex'), { once: true });
  }
  found.focus({ preventScroll: found.tabIndex < 0 });
}
