/** CSV files for people who open them in a spreadsheet: written so that nothing in them is run, and read again. */

// A spreadsheet runs what begins like a formula. An apostrophe in front makes it text; of a text that has apostrophes
// there already, reading takes one away again. The full-width signs are what some spreadsheets of East Asia take for the same.
const likeFormula = /^'*[=+\-@\t\r\n＝＋－＠]/;
const likeProtected = /^'+[=+\-@\t\r\n＝＋－＠]/;

function cell(value: string | null): string {
  const text = value ?? '';
  const safe = likeFormula.test(text) ? `'${text}` : text;
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows of cells as CSV, with a byte order mark so that spreadsheets read it as UTF-8. */
export function writeCsv(heading: readonly string[], rows: Iterable<readonly (string | null)[]>): string {
  const lines = [heading, ...rows].map((cells) => cells.map(cell).join(','));
  return `\ufeff${lines.join('\r\n')}\r\n`;
}

/** A cell as it was before {@link writeCsv} made it safe. */
export const readCell = (text: string): string => (likeProtected.test(text) ? text.slice(1) : text);

/** How such a file is answered: to be kept, never to be shown as a page. */
export const csvHeaders = (name: string): Record<string, string> => ({
  'Content-Type': 'text/csv; charset=utf-8',
  'Content-Disposition': `attachment; filename="${name}.csv"`,
});
