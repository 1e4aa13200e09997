/** CSV for people who open it in a spreadsheet (RFC 4180): written so that nothing in it is run. */

// A spreadsheet runs what begins like a formula. An apostrophe in front makes it text; of a text that has apostrophes there already,
// reading takes one away again. The full-width signs are what some spreadsheets of East Asia take for the same. One whose separator is
// a semicolon or a tab begins cells and lines within a text, too, of which it drops quotation marks.
const likeFormula = /^(?='*[=+\-@\t\r\n＝＋－＠])|(?<=[;\t\r\n])(?=['"]*[=+\-@＝＋－＠])/g;
const likeProtected = /^'(?='*[=+\-@\t\r\n＝＋－＠])|(?<=[;\t\r\n])'(?=['"]*[=+\-@＝＋－＠])/g;

export type Cells = readonly (string | null)[];

function cell(value: string | null, isText: boolean): string {
  const text = value ?? '';
  const safe = isText ? text.replaceAll(likeFormula, "'") : text;
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows as lines. `texts`: which cells somebody may have written; numbers and times need no protection. All, when it is left out. */
export const csvLines = (rows: Iterable<Cells>, texts?: readonly boolean[]): string =>
  Array.from(rows, (cells) => `${cells.map((value, at) => cell(value, texts?.[at] ?? true)).join(',')}\r\n`).join('');

/** The heading, with a byte order mark before it so that spreadsheets read the file as UTF-8. */
export const csvHeading = (heading: readonly string[]): string => `\ufeff${csvLines([heading])}`;

/** A cell as it was before it was made safe. */
export const readCell = (text: string): string => text.replaceAll(likeProtected, '');
