/**
 * CSV files that people open in a spreadsheet: writes them so that no cell is executed as a formula, and parses
 * uploaded ones.
 */

import { responseOf } from '../../http/open-response.ts';
import { invalid, Problem } from '../../http/problem.ts';
import { isUtf8 } from 'node:buffer';
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

/** The last line of a file whose response was aborted. */
const brokenOff = ['Incomplete: the export stopped here. Everything after this line is missing: export it again.'];

/**
 * Like {@link writeCsv}, in portions that are read as the client consumes them: `first` is already available, `next`
 * returns the following portions, then null. When `next` fails, a last line says that the file is incomplete and the
 * response is aborted, so that nobody takes the file for complete.
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
      // An error discards everything not sent yet, so the line is sent first.
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

/** Rows of an export that are read and held in memory at once, unless they are too large. */
const exportPortion = 1_000;

/**
 * Responds with a whole list as a file. `read` returns the portion after a position, with at most the given number of
 * rows; the next portion is read when the previous one was consumed. Each portion is read on behalf of the caller, so
 * that the file ends when their session or rights end. Throws what the first portion throws.
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

/** An error in a row of a file; the heading is row 1. `column` is null when it concerns the whole row. */
export interface RowError {
  readonly row: number;
  readonly column: string | null;
  readonly message: string;
}

/**
 * Maximum number of lines (with cells, empty, or within a cell), characters per line and per row, cells per row, and
 * cells in total.
 */
const limits = { lines: 20_000, length: 100_000, columns: 200, cells: 500_000, titles: 30 };

/** 400: the whole file cannot be read. */
export const unreadable = (message: string): Problem => invalid([{ path: '', message }]);
const tooLong = (line: number) =>
  unreadable(`This is not a CSV file: line ${line} has more than ${limits.length} characters.`);

const newLine = /\r\n?|\n/;
const linesIn = (text: string): number => text.split(newLine).length;

/** Throws 400 when the file has too many lines or too long ones; `mostRows` is for the message. */
function checkLines(csv: string, mostRows: number | undefined): void {
  let lines = 1;
  let begin = 0;
  for (const { index } of csv.matchAll(/\r\n?|\n|$/g)) {
    if (index - begin > limits.length) throw tooLong(lines);
    begin = index;
    lines += 1;
    if (lines > limits.lines)
      throw unreadable(
        mostRows === undefined
          ? `A file can have at most ${limits.lines} lines, including empty ones: split it.`
          : `This file has more than ${limits.lines} lines, including empty ones; the limit is ${mostRows} rows: remove columns of long texts, such as notes, or split it.`,
      );
  }
}

/** The place behind the mark that closes the quotation opened at `at`, or -1. */
function closedAt(csv: string, at: number): number {
  let end = at;
  do {
    end = csv.indexOf('"', end + 1);
    if (end === -1) return -1;
    end += 1;
  } while (csv[end] === '"');
  return end;
}

/**
 * Throws 400 with the line of a quotation that does not fill its cell: the cells after it could be read as one, or one
 * as several. A mark within a text, as in `5" pipe`, is part of it.
 */
function checkQuotes(csv: string, delimiter: string, first: number): void {
  const isEnd = (at: number) => at < 0 || at >= csv.length || [delimiter, '\r', '\n'].includes(csv[at]!);
  let next = 0;
  for (let at = csv.indexOf('"'); at !== -1; at = csv.indexOf('"', next)) {
    let before = at - 1;
    while (csv[before] === ' ') before -= 1;
    next = at + 1;
    if (!isEnd(before)) continue;
    next = closedAt(csv, at);
    if (next === -1 || !isEnd(next) || before < at - 1)
      throw unreadable(
        `Line ${linesIn(csv.slice(0, at)) + first - 1}: quotation marks around a cell must be its first and last character, and those in its text doubled, like "5"" pipe".`,
      );
  }
}

const marks = [',', ';', '\t'];

/**
 * The delimiter: the most frequent one in the heading, among those that programs write. Lines of one cell may precede
 * the heading.
 */
function delimiterOf(csv: string): string {
  const lines = csv.split(newLine, limits.titles).map((one) => one.replaceAll(/"[^"]*"/g, ''));
  const heading = lines.find((one) => marks.some((mark) => one.includes(mark))) ?? '';
  const counts = marks.map((mark) => ({ mark, count: heading.split(mark).length }));
  return counts.reduce((best, one) => (one.count > best.count ? one : best)).mark;
}

/** Bytes that are parsed before other requests get a turn. */
const portion = 32_768;

/** The first line of a file for Excel, which names the delimiter and is not shown as a row. */
const namedDelimiter = /^\uFEFF?"?sep=([,;\t|])"?(?:\r\n?|\n)/i;

/**
 * An ASCII character, or a character that all alphabetic Windows code pages share: quotation marks, dashes, a space,
 * and the dot that QuickBooks Desktop writes after account numbers.
 */
const isAlike = (byte: number): boolean =>
  (byte >= 0x20 && byte < 0x7f) || (byte >= 0x91 && byte <= 0x97) || [0x09, 0x0a, 0x0d, 0xa0, 0xb7].includes(byte);

/** The encoding of a text file: by its byte order mark, otherwise UTF-8 unless it is invalid as such. */
function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return !isUtf8(bytes) && bytes.every(isAlike) ? 'windows-1252' : 'utf-8';
}

const startsWith = (bytes: Uint8Array, first: readonly number[]): boolean =>
  first.every((one, at) => bytes[at] === one);

/** Whether the file is a workbook, .xlsx, .ods or .xls, instead of CSV. */
export const isWorkbook = (bytes: Uint8Array): boolean =>
  startsWith(bytes, [0x50, 0x4b, 0x03, 0x04]) || startsWith(bytes, [0xd0, 0xcf, 0x11, 0xe0]);

/** The text of an uploaded file. Throws 400, with `advice`, when its encoding is not known. */
export function csvText(bytes: Uint8Array, advice: string): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch {
    throw unreadable(advice);
  }
}

/**
 * Returns the rows of a CSV file, including empty ones; cells are cut to 1,000 characters. `cut` is called with the
 * position and the whole text of each cut cell; `mostRows` is the limit that the message of a much longer file names. Throws 400 when the
 * file is not CSV or too large.
 */
export async function parseCsv(
  csv: string,
  { cut, mostRows }: { cut?: (row: number, column: number, whole: string) => void; mostRows?: number } = {},
): Promise<string[][]> {
  checkLines(csv, mostRows);
  const [head = '', named] = namedDelimiter.exec(csv) ?? [];
  const content = csv.slice(head.length);
  const delimiter = named ?? delimiterOf(content);
  const first = linesIn(head);
  checkQuotes(content, delimiter, first);
  const rows: string[][] = [];
  let cells = 0;
  const keep = (row: string[]) => {
    cells += row.length;
    if (row.length > limits.columns)
      throw unreadable(`A file can have at most ${limits.columns} columns: remove those that are not needed.`);
    if (cells > limits.cells)
      throw unreadable(
        `A file can have at most ${limits.cells} cells: remove columns that are not needed, or split it.`,
      );
    row.forEach((cell, column) => isCut(cell) && cut?.(rows.length, column, cell));
    rows.push(row.map(cellText));
    return null;
  };
  const parser = parse({
    delimiter,
    bom: true,
    // All of them, because people put files together: by default the first one counts as the only one.
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    max_record_size: limits.length,
    on_record: keep,
  });
  const ended = finished(parser.resume());
  // It may reject while portions are still being written.
  ended.catch(() => {});
  const bytes = Buffer.from(content);
  for (let at = 0; at < bytes.length && !parser.destroyed; at += portion) {
    parser.write(bytes.subarray(at, at + portion));
    await setImmediate();
  }
  parser.end();
  await ended.catch((error: unknown) => {
    // Beside the limits above, only a row of several lines can be too long.
    throw error instanceof Problem ? error : tooLong(parser.info.lines + first - 1);
  });
  return rows;
}

/** Whether a cell has content. */
export const isFilled = (cell: string): boolean => cell.trim() !== '';

/** Whether a row has content beyond the last cell that the heading names. */
export const isBeyond = (heading: readonly string[], cells: readonly string[]): boolean =>
  cells.findLastIndex(isFilled) > heading.findLastIndex(isFilled);

/** The message for a row that {@link isBeyond} finds, with advice. */
export const beyond = (advice: string): string => `This row has more cells than the first line: ${advice}`;

/**
 * Returns the column that a heading means, ignoring case and punctuation; `names`: the names of each column, in lower
 * case, letters only.
 */
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

/** The beginning of a column's name, for messages. */
export const headingName = (name: string): string => name.trim().slice(0, 64).toWellFormed();

/** The names of the columns at these places, for a message that they are ignored. */
export const headingsAt = (heading: readonly string[], places: ReadonlySet<number>): string[] =>
  heading.flatMap((name, place) => (places.has(place) ? [headingName(name) || `no. ${place + 1}`] : []));

/** The response headers of a CSV file: it is downloaded, never displayed as a page. */
export const csvHeaders = (name: string): Record<string, string> => ({
  'Content-Type': 'text/csv; charset=utf-8',
  'Content-Disposition': `attachment; filename="${name}.csv"`,
});
