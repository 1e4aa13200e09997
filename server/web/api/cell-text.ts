/** The text of a cell in an uploaded file, cut to the length that is read. */

/**
 * Longer than any text accepted from most files: what is cut off here would be rejected later anyway. Contacts may be
 * longer, and use {@link isCut}.
 */
const longest = 1_000;

/** The first 1,000 characters, without half of a surrogate pair at the end. */
export const cellText = (text: string): string =>
  text.length > longest ? text.slice(0, longest).toWellFormed() : text;

/** Whether {@link cellText} cuts off more than trailing spaces. */
export const isCut = (text: string): boolean => text.length > longest && text.slice(longest).trim() !== '';
