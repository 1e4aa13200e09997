import { useEffect, useRef } from 'react';
import { announce } from './announce.ts';
import { plural } from './format.ts';

/** "No results", "12 results". */
export const foundInWords = (found: number): string => (found === 0 ? 'No results' : plural(found, 'result'));

/**
 * Announces to screen readers how many results a search or another filter has, once they are shown: `found` is
 * undefined while they are loading, `more` says that there are more than were fetched.
 */
export function useFound(filter: object, found: number | undefined, more = false): void {
  const asked = JSON.stringify(filter);
  const said = useRef(asked);
  useEffect(() => {
    // When the first page is empty and there are more, the next page decides.
    if (found === undefined || (found === 0 && more) || said.current === asked) return;
    said.current = asked;
    announce(more ? `More than ${foundInWords(found)}` : foundInWords(found));
  }, [asked, found, more]);
}
