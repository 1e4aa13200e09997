/** The parts of a page in which one goes on when a control in them goes away. */
const parts = 'li, tr, [role=row], article, section, main';

/** An element and the parts of the page that it is in, the nearest first. */
export function placeOf(element: HTMLElement | null): HTMLElement[] {
  const place: HTMLElement[] = [];
  for (let one = element; one; one = one.parentElement?.closest<HTMLElement>(parts) ?? null) place.push(one);
  return place;
}

/** Gives the focus to the first of these that is still on the page, else to its main part. */
export function focusPlace(place: readonly HTMLElement[]): void {
  const found = place.find(({ isConnected }) => isConnected) ?? document.getElementById('main');
  if (!found) return;
  if (found.tabIndex < 0 && !found.hasAttribute('tabindex')) {
    // For this once: a click into it is to leave the focus as it is.
    found.tabIndex = -1;
    found.addEventListener('blur', () => found.removeAttribute('tabindex'), { once: true });
  }
  found.focus({ preventScroll: found.tabIndex < 0 });
}
