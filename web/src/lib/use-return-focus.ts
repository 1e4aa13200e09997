import { useRef } from 'react';
import { focusPlace, placeOf } from './place.ts';

/**
 * The element outside every dialog that had the focus when the latest dialog opened, and the parts of the page around
 * it.
 */
let outside: HTMLElement[] = [];
let dialogs = 0;

/**
 * Returns the element that remains when `element` disappears: a menu closes after a choice, so its button is returned.
 */
function lasting(element: HTMLElement): HTMLElement | null {
  const menu = element.closest('[role=menu]');
  return menu ? document.getElementById(menu.getAttribute('aria-labelledby') ?? '') : element;
}

/** Returns the focused element; null when there is none. */
function focused(): HTMLElement | null {
  const { activeElement } = document;
  return activeElement instanceof HTMLElement && activeElement !== document.body ? lasting(activeElement) : null;
}

/**
 * For the content of a dialog that opens without a trigger of its own: returns the focus when it closes. A dialog that
 * follows another, such as the one that shows a new key, returns it to the opener of the first.
 */
export function useReturnFocus() {
  const before = useRef<HTMLElement[]>([]);
  return {
    onOpenAutoFocus: () => {
      const opener = focused();
      before.current = placeOf(opener);
      const within = opener?.closest('[role=dialog], [role=alertdialog]') ?? null;
      // Without a focused element while a dialog is still closing, this dialog follows it: both return the focus to the
      // opener of the first.
      if (within === null && (opener !== null || dialogs === 0)) outside = before.current;
      dialogs += 1;
    },
    onCloseAutoFocus: (event: Event) => {
      dialogs -= 1;
      event.preventDefault();
      focusPlace([...before.current, ...outside]);
    },
  };
}
