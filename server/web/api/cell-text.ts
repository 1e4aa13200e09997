/** The text of a cell of an uploaded file, as far as it is read. */

/** Longer than any text that is taken of most files: what is cut off here is refused later all the same. Contacts take more, and ask {@link isCut}. */
const longest = 1_000;

/** At most 1,000 characters of it, and no half of one. */
export const cellText = (text: string): string =>
  text.length > longest ? text.slice(0, longest).toWellFormed() : text;

/** Whether {@link cellText} leaves out more than spaces at the end of it. */
export const isCut = (text: string): boolean => text.length > longest && text.slice(longest).trim() !== '';
