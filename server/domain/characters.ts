/**
 * Checks of the characters of a text, shared by all interfaces: their number, as PostgreSQL and JSON Schema count them,
 * and whether they are visible.
 */

/** The number of Unicode code points of a text; a surrogate pair is one. */
export const charactersIn = (text: string): number =>
  text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);

/** Returns a check that a text has at most `most` code points. */
export const isWithin = (most: number) => (text: string) => charactersIn(text) <= most;

/** The first `most` characters of a text, followed by … if it is longer. */
export function beginningOf(text: string, most: number): string {
  const characters = [...text];
  return characters.length > most ? `${characters.slice(0, most).join('')}…` : text;
}

/** Whether a text has nothing to read: it is empty, or consists of white space and invisible characters. */
export const isBlank = (text: string): boolean => !/[^\s\p{Z}\p{Cc}\p{Cf}]/u.test(text);

/** Whether a text is a single line of visible characters. */
export const isVisible = (text: string): boolean => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text);

/** Longer text is not normalized: it takes time that grows with the square of the number of combining marks. */
const mostNormalized = 1_000;

/** The text on one line, trimmed, with single spaces, and with accented letters as single characters (NFC). */
export function onOneLine(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return line.length <= mostNormalized ? line.normalize() : line;
}
