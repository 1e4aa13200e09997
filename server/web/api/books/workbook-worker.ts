/** Runs in a thread of its own: turns a workbook into tables of text. */

import { parentPort, workerData } from 'node:worker_threads';
import readWorkbook from 'read-excel-file/node';
import { plainNumber } from './values.ts';

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString().slice(0, 10);
  return String(value);
}

const sheets = await readWorkbook(Buffer.from(workerData as Uint8Array), { parseNumber: plainNumber });
parentPort?.postMessage(
  sheets.map(({ sheet, data }) => ({ name: sheet, rows: data.map((cells) => cells.map(textOf)) })),
);
