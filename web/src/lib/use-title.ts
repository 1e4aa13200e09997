import { useEffect } from 'react';
import { announce } from './announce.ts';

/** Sets the title of the page in the browser, and announces it to screen readers after a navigation. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Dealkeep`;
    announce(title);
  }, [title]);
}
