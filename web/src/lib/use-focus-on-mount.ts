import { useEffect, useRef, type RefObject } from 'react';

/** Focuses an element when it appears: for the first field of a page that only has a form. */
export function useFocusOnMount<E extends HTMLElement>(): RefObject<E | null> {
  const element = useRef<E>(null);
  useEffect(() => element.current?.focus(), []);
  return element;
}
