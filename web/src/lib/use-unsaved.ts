import { useCallback, useEffect, useLayoutEffect, useRef, type RefCallback } from 'react';
import { addForm, noteForm, type OpenForm } from './unsaved.ts';

interface Unsaved {
  /** Whether changes would be lost. */
  dirty: boolean;
  pending?: boolean;
  /** Discards the changes. */
  discard: () => void;
}

/**
 * Asks the person before input is lost that is not kept as forms are: a chosen file, a date. `around` is the ref of the
 * element that contains it; `done` marks it as saved, before a following navigation.
 */
export function useUnsaved({ dirty, pending = false, discard }: Unsaved): {
  around: RefCallback<HTMLElement>;
  done: () => void;
} {
  const open = useRef<OpenForm>({ element: null, dirty: false, pending: false, restored: false, discard: () => {} });
  const done = useCallback(() => noteForm(open.current, { dirty: false, pending: false }), []);
  const around = useCallback((element: HTMLElement | null) => {
    open.current.element = element;
  }, []);
  useEffect(() => addForm(open.current), []);
  useLayoutEffect(() => {
    const forget = () => {
      done();
      discard();
    };
    noteForm(open.current, { dirty, pending, discard: forget });
  });
  return { around, done };
}
