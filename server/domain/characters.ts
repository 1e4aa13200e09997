/** Counts the characters of a text as PostgreSQL and JSON Schema count them. */

/** How many Unicode code points a text has, of which two surrogates that belong together are one. */
export const charactersIn = (text: string): number =>
  text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);
