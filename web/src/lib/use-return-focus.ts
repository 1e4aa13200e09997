import { useRef } from 'react';
import { focusPlace, placeOf } from './place.ts';

/** What had the focus outside every dialog when the latest one opened, and where that is. */
let outside: HTMLElement[] = [];
let dialogs = 0;

/** What stays when `element` goes: a menu closes behind its choice, so it is the button that the menu belongs to. */
function lasting(element: HTMLElement): HTMLElement | null {
  const menu = element.closest('[role=menu]');
  return menu ? document.getElementById(menu.getAttribute('aria-labelledby') ?? '') : element;
}

/** The element that has the focus; null while none has. */
function focused(): HTMLElement | null {
  const { activeElement } = document;
  return activeElement instanceof HTMLElement && activeElement !== document.body ? lasting(activeElement) : null;
}

/**
 * For the content of a dialog that opens without a trigger of its own: gives the focus back when it closes. A dialog that
 * follows another, such as the one that shows a new key, gives it back to what opened the first.
 */
export function useReturnFocus() {
  const before = useRef<HTMLElement[]>([]);
  return {
    onOpenAutoFocus: () => {
      const opener = focused();
      before.current = placeOf(opener);
      const within = opener?.closest('[role=dialog], [role=alertdialog]') ?? null;
      // With no focus and a dialog still on its way out, this one follows it: both give back to what opened the first.
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
