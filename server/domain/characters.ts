/** What all doors ask of the characters of a text: how many there are, as PostgreSQL and JSON Schema count them, and whether they are to be seen. */

/** How many Unicode code points a text has, of which two surrogates that belong together are one. */
export const charactersIn = (text: string): number =>
  text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);

/** Whether a text has at most so many of them. */
export const isWithin = (most: number) => (text: string) => charactersIn(text) <= most;

/** The beginning of a text, of at most so many characters, and … where it goes on. */
export function beginningOf(text: string, most: number): string {
  const characters = [...text];
  return characters.length > most ? `${characters.slice(0, most).join('')}…` : text;
}

/** Whether there is nothing to read in a text: it is empty, or all space and characters that are not to be seen. */
export const isBlank = (text: string): boolean => !/[^\s\p{Z}\p{Cc}\p{Cf}]/u.test(text);

/** Whether a text is of one line, of which every character is to be seen. */
export const isVisible = (text: string): boolean => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text);

/** A text without space around it, on one line with single spaces. */
export const onOneLine = (text: string): string => text.trim().replaceAll(/\s+/g, ' ');
