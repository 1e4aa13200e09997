/**
 * Texts in CSV files, whatever they contain: no spreadsheet executes them, and reading the file returns them unchanged.
 */

import { expect, test } from 'vitest';
import { csvHeading, csvLines, readCell } from '../../server/lib/csv.ts';
import { parseCsv } from '../../server/web/api/csv.ts';

/** Every text of at most `most` of these marks. */
function textsOf(marks: readonly string[], most: number): string[] {
  const texts = [''];
  for (let from = 0, length = 0; length < most; length += 1) {
    const shorter = texts.slice(from);
    from = texts.length;
    texts.push(...shorter.flatMap((text) => marks.map((mark) => text + mark)));
  }
  return texts;
}

/**
 * The cells that a spreadsheet with this separator finds in a file: quotation marks count only at the start of a cell.
 */
function cellsOf(csv: string, separator: string): string[] {
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"?)?([^${separator}\\r\\n]*)(?:${separator}|\\r\\n?|\\n|$)`, 'gy');
  return [...csv.matchAll(cell)].map(([, quoted = '', more = '']) => quoted.replaceAll('""', '"') + more);
}

const texts = textsOf([';', '\t', '\r', '\n', ',', '"', "'", '=', '－', 'a'], 4);
const rows = texts.map((text) => ['a', text, 'b']);

test('text in CSV cells is read back unchanged, whatever it contains', async () => {
  const portion = 2_000;
  for (let at = 0; at < rows.length; at += portion) {
    const some = rows.slice(at, at + portion);
    const read = await parseCsv(csvHeading(['a', 'text', 'b']) + csvLines(some));
    expect(read.slice(1).map((cells) => cells.map(readCell))).toEqual(some);
  }
});

test.each([',', ';', '\t'])('no CSV cell begins with a formula when cells are separated by %j', (separator) => {
  const cells = cellsOf(csvLines(rows), separator);
  expect(cells.length).toBeGreaterThan(rows.length);
  expect(cells.filter((cell) => /^[=－]/.test(cell))).toEqual([]);
});
