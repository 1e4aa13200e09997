/** CSV for spreadsheets (RFC 4180), written so that nothing in it is executed. */

// Spreadsheets execute cells that begin like a formula. An apostrophe in front makes them text; for text that already
// begins with apostrophes, `readCell` removes one again. Some East Asian spreadsheets treat the full-width signs like
// the ASCII ones. Spreadsheets that separate with semicolons or tabs also begin cells and lines within a text, whose
// quotation marks they drop.
const likeFormula = /^(?='*[=+\-@\t\r\n＝＋－＠])|(?<=[;\t\r\n])(?=['"]*[=+\-@＝＋－＠])/g;
const likeProtected = /^'(?='*[=+\-@\t\r\n＝＋－＠])|(?<=[;\t\r\n])'(?=['"]*[=+\-@＝＋－＠])/g;

export type Cells = readonly (string | null)[];

function cell(value: string | null, isText: boolean): string {
  const text = value ?? '';
  const safe = isText ? text.replaceAll(likeFormula, "'") : text;
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * Rows as CSV lines. `texts`: which columns contain text that people wrote; numbers and times need no protection. By
 * default all columns are protected.
 */
export const csvLines = (rows: Iterable<Cells>, texts?: readonly boolean[]): string =>
  Array.from(rows, (cells) => `${cells.map((value, at) => cell(value, texts?.[at] ?? true)).join(',')}\r\n`).join('');

/** The header line, preceded by a byte order mark so that spreadsheets read the file as UTF-8. */
export const csvHeading = (heading: readonly string[]): string => `\ufeff${csvLines([heading])}`;

/** The text of a cell without the protection that {@link csvLines} added. */
export const readCell = (text: string): string => text.replaceAll(likeProtected, '');
