/** The text of a cell of an uploaded file, as far as it is read. */

/** Longer than any text that is taken: what is cut off here is refused later all the same. */
const longest = 1_000;

/** At most 1,000 characters of it, and no half of one. */
export const cellText = (text: string): string =>
  text.length > longest ? text.slice(0, longest).toWellFormed() : text;
