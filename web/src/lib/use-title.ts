import { useEffect } from 'react';
import { announce } from './announce.ts';

/** Names the page: in the browser's title, and aloud to screen readers after going there. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Dealkeep`;
    announce(title);
  }, [title]);
}
