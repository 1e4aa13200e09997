/**
 * Runs as a process of its own: converts the workbook that it receives to tables of text, answers once, and is ended.
 */

import { flushCompileCache } from 'node:module';
import { unzipSync } from 'fflate';
import readWorkbook from 'read-excel-file/universal';
import { endWithParent } from '../../../http/end-with-parent.ts';
import { cellText } from '../cell-text.ts';
import { plainNumber } from './values.ts';

/** A sheet: its name and the text of its cells. */
export interface Table {
  readonly name: string;
  readonly rows: readonly (readonly string[])[];
  /** Whether amounts are in a person's notation; numbers of a workbook are written with a point. */
  readonly written?: boolean;
}

/** The answer: the sheets, or the reason why there are none. */
export interface Reading {
  readonly sheets?: Table[];
  readonly fault?: 'damaged' | 'too large';
}

/** Maximum size of an unpacked workbook, of one sheet, and of all sheets together. */
const limits = {
  bytes: 33_554_432,
  files: 500,
  sheets: 50,
  rows: 20_000,
  columns: 200,
  cells: 200_000,
  characters: 4_194_304,
};

/**
 * Whether the sizes that the archive's directory declares are within the limits. Nothing is unpacked here; the reader
 * unpacks with the same library by the same directory, and no further than declared.
 */
function isModest(archive: Uint8Array): boolean {
  let files = 0;
  let bytes = 0;
  unzipSync(archive, {
    filter({ size, originalSize }) {
      files += 1;
      bytes += Math.max(size, originalSize);
      return false;
    },
  });
  return files <= limits.files && bytes <= limits.bytes;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString().slice(0, 10);
  // Many cells may share one long text, which would be sent once for each.
  return cellText(String(value));
}

/**
 * The sheets as text, counted cell by cell: a text that many cells share is in memory once here but is sent once for
 * each cell, so nothing is sent of a workbook that would be too large for the receiver.
 */
function tablesOf(sheets: readonly { sheet: string; data: readonly (readonly unknown[])[] }[]): Reading {
  const tooLarge: Reading = { fault: 'too large' };
  if (sheets.length > limits.sheets) return tooLarge;
  let cells = 0;
  let characters = 0;
  const tables: Table[] = [];
  for (const { sheet, data } of sheets) {
    if (data.length > limits.rows) return tooLarge;
    const rows: string[][] = [];
    for (const row of data) {
      cells += row.length;
      if (row.length > limits.columns || cells > limits.cells) return tooLarge;
      const texts = row.map(textOf);
      for (const { length } of texts) characters += length;
      if (characters > limits.characters) return tooLarge;
      rows.push(texts);
    }
    tables.push({ name: cellText(sheet), rows });
  }
  return { sheets: tables };
}

async function read(archive: Uint8Array<ArrayBuffer>): Promise<Reading> {
  try {
    if (!isModest(archive)) return { fault: 'too large' };
    return tablesOf(await readWorkbook(archive.buffer, { parseNumber: plainNumber }));
  } catch {
    return { fault: 'damaged' };
  }
}

endWithParent();
process.once('message', async (bytes: Uint8Array) => {
  // Copied, because the bytes may be a view into a larger buffer.
  const answer = await read(new Uint8Array(bytes));
  // The process is ended once it has answered, before it would write the compile cache.
  flushCompileCache();
  process.send?.(answer);
});
