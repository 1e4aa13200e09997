import { useCallback, useEffect, useLayoutEffect, useRef, type RefCallback } from 'react';
import { addForm, noteForm, type OpenForm } from './unsaved.ts';

interface Unsaved {
  /** Whether something would be lost. */
  dirty: boolean;
  /** Whether it is being sent. */
  pending?: boolean;
  /** Forgets it. */
  discard: () => void;
}

/**
 * Has the person asked before something is lost that is not kept as a form is: a chosen file, a date. `around` is the
 * ref of the element that it is in; `done` says that it is saved, before what comes next may go to another address.
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
