/** CSV files for people who open them in a spreadsheet: written so that nothing in them is run, and read again. */

import { responseOf } from '../../http/open-response.ts';
import { invalid, Problem } from '../../http/problem.ts';
import { finished } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { parse } from 'csv-parse';
import type { Context } from 'hono';
import { csvHeading, csvLines, type Cells } from '../../lib/csv.ts';
import type { Page, Place } from '../../database/paging.ts';
import { inSmallerPortions } from '../../database/result-memory.ts';
import { cellText, isCut } from './cell-text.ts';

/** Rows of cells as CSV, with a byte order mark so that spreadsheets read it as UTF-8. */
export const writeCsv = (heading: readonly string[], rows: Iterable<Cells>): string =>
  csvHeading(heading) + csvLines(rows);

/** The last line of a file whose answer broke off. */
const brokenOff = ['Not complete: the export stopped here. What comes after this line is missing; export it again.'];

/**
 * The same a portion at a time, as its reader asks for more: `first` is at hand, `next` gives the portions after it and null
 * when there is none. When `next` fails the last line says that the file stops there, and the answer breaks off: nobody takes what
 * they have for all of it.
 */
function streamCsv(
  heading: readonly string[],
  first: Cells[],
  next: () => Promise<Cells[] | null>,
  sent: () => Promise<void>,
) {
  const encoder = new TextEncoder();
  let failed: unknown = null;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(writeCsv(heading, first)));
    },
    async pull(controller) {
      // What was not sent yet would be dropped with the failure, so that the line goes first.
      if (failed !== null) {
        await sent();
        controller.error(failed);
        return;
      }
      try {
        const more = await next();
        if (more === null) controller.close();
        else controller.enqueue(encoder.encode(csvLines(more)));
      } catch (error) {
        failed = error;
        controller.enqueue(encoder.encode(csvLines([brokenOff])));
      }
    },
  });
}

/** How many rows of an export are read at once, and held, unless these are too much. */
const exportPortion = 1_000;

/**
 * Answers with a list as a file, all of it: `read` gives the portion behind a place, of as many rows as it is asked for, and is asked for the
 * next when the one before has been taken. Each portion is read in the name of the caller, so that a file ends with their
 * session or their rights. Throws what the first portion throws.
 */
export async function csvExport<Item>(
  c: Context,
  file: {
    readonly name: string;
    readonly heading: readonly string[];
    readonly cells: (item: Item) => Cells;
    readonly read: (after: Place | null, limit: number) => Promise<Page<Item>>;
  },
): Promise<Response> {
  const read = (from: Place | null) => inSmallerPortions(exportPortion, (limit) => file.read(from, limit));
  const { items, next } = await read(null);
  let after = next;
  const more = async () => {
    if (after === null) return null;
    const portion = await read(after);
    after = portion.next;
    return portion.items.map(file.cells);
  };
  const response = responseOf(c);
  const sent = async () => {
    await setImmediate();
    if (response.headersSent && !response.destroyed) await new Promise((resolve) => response.write('', resolve));
  };
  return c.body(streamCsv(file.heading, items.map(file.cells), more, sent), 200, csvHeaders(file.name));
}

/** What is wrong in a row of a file, the heading being row 1; `column` null: in the row as a whole. */
export interface RowError {
  readonly row: number;
  readonly column: string | null;
  readonly message: string;
}

/**
 * The most that is taken apart: lines (of cells, of nothing, or within a cell), characters of a line and of a row, cells of
 * a row and of all rows.
 */
const limits = { lines: 20_000, length: 100_000, columns: 200, cells: 500_000, titles: 30 };

/** 400: the file as a whole cannot be read. */
export const unreadable = (message: string): Problem => invalid([{ path: '', message }]);
const damaged = () => unreadable('This is not a CSV file, or a quoted text in it does not end.');

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

const marks = [',', ';', '\t'];

/** The mark between the cells: of those that programs write, the one that the heading has most of. Lines of one cell may be above it. */
function delimiterOf(csv: string): string {
  const lines = csv.split(/\r?\n/, limits.titles).map((one) => one.replaceAll(/"[^"]*"/g, ''));
  const heading = lines.find((one) => marks.some((mark) => one.includes(mark))) ?? '';
  const counts = marks.map((mark) => ({ mark, count: heading.split(mark).length }));
  return counts.reduce((best, one) => (one.count > best.count ? one : best)).mark;
}

/** So many bytes are taken apart between two turns of other requests. */
const portion = 32_768;

/**
 * The rows of a CSV file, empty ones too, as they are but for what is cut off from cells of more than 1,000 characters.
 * `cut` gets the places of those cells. Throws 400 when it is none, or too much.
 */
export async function parseCsv(csv: string, cut?: (row: number, column: number) => void): Promise<string[][]> {
  checkLines(csv);
  const rows: string[][] = [];
  let cells = 0;
  const keep = (row: string[]) => {
    cells += row.length;
    if (row.length > limits.columns)
      throw unreadable(`At most ${limits.columns} columns: leave out what is not needed.`);
    if (cells > limits.cells) throw unreadable(`At most ${limits.cells} cells at once: split the file.`);
    row.forEach((cell, column) => isCut(cell) && cut?.(rows.length, column));
    rows.push(row.map(cellText));
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
    await setImmediate();
  }
  parser.end();
  await ended.catch((error: unknown) => {
    throw error instanceof Problem ? error : damaged();
  });
  return rows;
}

const isFilled = (cell: string): boolean => cell.trim() !== '';

/** Whether a row has something in cells beyond the last that the heading names. */
export const isBeyond = (heading: readonly string[], cells: readonly string[]): boolean =>
  cells.findLastIndex(isFilled) > heading.findLastIndex(isFilled);

/** What is said of such a row, and what to do about it. */
export const beyond = (advice: string): string => `More cells than the first line names: ${advice}`;

/** What a column is of by its heading, whatever its case and marks; `names`: how each is called, in lower case, letters alone. */
export function columnsNamed<Column extends string>(
  names: Readonly<Partial<Record<Column, readonly string[]>>>,
): (heading: string) => Column | undefined {
  const known = new Map(
    (Object.entries(names) as [Column, readonly string[]][]).flatMap(([column, all]) =>
      all.map((name) => [name, column] as const),
    ),
  );
  return (heading) => known.get(heading.toLowerCase().replaceAll(/[^a-z]/g, ''));
}

/** How the columns at these places are named where it is said that they are left out. */
export const headingsAt = (heading: readonly string[], places: ReadonlySet<number>): string[] =>
  heading.flatMap((name, place) =>
    places.has(place) ? [name.trim().slice(0, 64).toWellFormed() || `no. ${place + 1}`] : [],
  );

/** How such a file is answered: to be kept, never to be shown as a page. */
export const csvHeaders = (name: string): Record<string, string> => ({
  'Content-Type': 'text/csv; charset=utf-8',
  'Content-Disposition': `attachment; filename="${name}.csv"`,
});
