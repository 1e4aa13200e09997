/** CSV files for people who open them in a spreadsheet: written so that nothing in them is run, and read again. */

import { Problem } from '../../http/problem.ts';
import { finished } from 'node:stream/promises';
import { parse } from 'csv-parse';
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

const linesOf = (rows: Iterable<readonly (string | null)[]>): string =>
  Array.from(rows, (cells) => `${cells.map(cell).join(',')}\r\n`).join('');

/** Rows of cells as CSV, with a byte order mark so that spreadsheets read it as UTF-8. */
export const writeCsv = (heading: readonly string[], rows: Iterable<readonly (string | null)[]>): string =>
  `\ufeff${linesOf([heading, ...rows])}`;

/**
 * The same a portion at a time, as whoever reads it asks for more: `first` is at hand, `next` gives the portions after it and null
 * when there is none. When `next` fails the answer breaks off, so that nobody takes what they have for all of it.
 */
export function streamCsv(
  heading: readonly string[],
  first: Iterable<readonly (string | null)[]>,
  next: () => Promise<Iterable<readonly (string | null)[]> | null>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(writeCsv(heading, first)));
    },
    async pull(controller) {
      const more = await next();
      if (more === null) controller.close();
      else controller.enqueue(encoder.encode(linesOf(more)));
    },
  });
}

/** What is wrong in a row of a file, the heading being row 1; `column` null: in the row as a whole. */
export interface RowError {
  readonly row: number;
  readonly column: string | null;
  readonly message: string;
}

/** A cell as it was before {@link writeCsv} made it safe. */
export const readCell = (text: string): string => (likeProtected.test(text) ? text.slice(1) : text);

/**
 * The most that is taken apart: lines (of cells, of nothing, or within a cell), characters of a line and of a row, cells of
 * a row and of all rows.
 */
const limits = { lines: 20_000, length: 100_000, columns: 200, cells: 500_000 };
/** Longer than any text that is taken: what is cut off here is refused later all the same. */
const longestCell = 1_000;

/** 400: the file as a whole cannot be read. */
export const unreadable = (message: string): Problem => invalid([{ path: '', message }]);
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

/** Lets other requests have their turn: for work that takes long. */
export const othersFirst = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const shortened = (text: string): string => (text.length > longestCell ? text.slice(0, longestCell) : text);

/** So many bytes are taken apart between two turns of other requests. */
const portion = 32_768;

/**
 * The rows of a CSV file, empty ones too, as they are but for what is cut off from cells of more than 1,000 characters.
 * Throws 400 when it is none, or too much.
 */
export async function parseCsv(csv: string): Promise<string[][]> {
  checkLines(csv);
  const rows: string[][] = [];
  let cells = 0;
  const keep = (row: string[]) => {
    cells += row.length;
    if (row.length > limits.columns)
      throw unreadable(`At most ${limits.columns} columns: leave out what is not needed.`);
    if (cells > limits.cells) throw unreadable(`At most ${limits.cells} cells at once: split the file.`);
    rows.push(row.map(shortened));
    return null;
  };
  const options = { bom: true, relax_column_count: true, max_record_size: limits.length, on_record: keep };
  const parser = parse({ ...options, delimiter: delimiterOf(csv) });
  const ended = finished(parser.resume());
  // It is rejected while the portions are still being sent.
  ended.catch(() => {});
  const bytes = Buffer.from(csv);
  for (let at = 0; at < bytes.length && !parser.destroyed; at += portion) {
    parser.write(bytes.subarray(at, at + portion));
    await othersFirst();
  }
  parser.end();
  await ended.catch((error: unknown) => {
    throw error instanceof Problem ? error : damaged();
  });
  return rows;
}

/** How such a file is answered: to be kept, never to be shown as a page. */
export const csvHeaders = (name: string): Record<string, string> => ({
  'Content-Type': 'text/csv; charset=utf-8',
  'Content-Disposition': `attachment; filename="${name}.csv"`,
});
