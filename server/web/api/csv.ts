/** CSV files for people who open them in a spreadsheet: written so that nothing in them is run, and read again. */

import { parse } from 'csv-parse/sync';
import { invalid } from './problems.ts';

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

/** The most that is taken apart: lines (of cells, of nothing, or within a cell), and characters of a line and of a row. */
const limits = { lines: 20_000, length: 100_000 };

const unreadable = (message: string) => invalid([{ path: '', message }]);
const damaged = () => unreadable('This is no CSV file: a quoted text does not end, or it is something else.');

function checkLines(csv: string): void {
  let lines = 1;
  let begin = 0;
  for (const { index } of csv.matchAll(/\r\n?|\n|$/g)) {
    if (index - begin > limits.length) throw damaged();
    begin = index;
    lines += 1;
    if (lines > limits.lines)
      throw unreadable(`At most ${limits.lines} lines at once, empty ones too: split the file.`);
  }
}

/** The mark between the cells: of those that programs write, the one that the heading has most of. */
function delimiterOf(csv: string): string {
  const heading = csv.split(/\r?\n/).find((one) => one.trim() !== '') ?? '';
  const counts = [',', ';', '\t'].map((mark) => ({ mark, count: heading.split(mark).length }));
  return counts.reduce((best, one) => (one.count > best.count ? one : best)).mark;
}

/** The rows of a CSV file, empty ones too, as they are. Throws 400 when it is none, or too much. */
export function parseCsv(csv: string): string[][] {
  checkLines(csv);
  try {
    return parse(csv, {
      bom: true,
      relax_column_count: true,
      delimiter: delimiterOf(csv),
      max_record_size: limits.length,
    });
  } catch {
    throw damaged();
  }
}

/** How such a file is answered: to be kept, never to be shown as a page. */
export const csvHeaders = (name: string): Record<string, string> => ({
  'Content-Type': 'text/csv; charset=utf-8',
  'Content-Disposition': `attachment; filename="${name}.csv"`,
});
