import { createElement, useEffect, useState, type ComponentType, type ReactNode } from 'react';
import { fetchPart } from '../lib/parts.ts';
import { toastError } from './toast.tsx';

const againAfter = 2_000;

/**
 * Returns a component whose code is loaded when it is first shown, or once there is a connection; it renders `waiting`
 * until then. In React's `lazy` a failed import stays failed and takes the whole page with it.
 */
export function lazyPart<P extends object>(
  load: () => Promise<{ default: ComponentType<P> }>,
  waiting: ReactNode = null,
): ComponentType<P> {
  let fetched: ComponentType<P> | undefined;
  return function LazyPart(props: P) {
    const [part, setPart] = useState(() => fetched);
    useEffect(() => {
      if (part) return;
      let gone = false;
      let again: ReturnType<typeof setTimeout> | undefined;
      const attempt = async () => {
        try {
          fetched = (await fetchPart(load)).default;
          if (!gone) setPart(() => fetched);
        } catch (error) {
          if (gone) return;
          if (navigator.onLine) toastError(error);
          else again = setTimeout(() => void attempt(), againAfter);
        }
      };
      void attempt();
      return () => {
        gone = true;
        clearTimeout(again);
      };
    }, [part]);
    return part ? createElement(part, props) : waiting;
  };
}
