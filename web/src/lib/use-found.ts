import { useEffect, useRef } from 'react';
import { announce } from './announce.ts';
import { plural } from './format.ts';

/** "No results", "12 results". */
export const foundInWords = (found: number): string => (found === 0 ? 'No results' : plural(found, 'result'));

/**
 * Tells screen readers how much a search or another filter has found, once that is shown: `found` is undefined while it is asked for, `more`
 * that there is more than was fetched.
 */
export function useFound(filter: object, found: number | undefined, more = false): void {
  const asked = JSON.stringify(filter);
  const said = useRef(asked);
  useEffect(() => {
    // Of a first page that has nothing on it the next decides.
    if (found === undefined || (found === 0 && more) || said.current === asked) return;
    said.current = asked;
    announce(more ? `More than ${foundInWords(found)}` : foundInWords(found));
  }, [asked, found, more]);
}
