/** XLSX workbooks as tables of text, read so that no workbook can take more than its share of memory and time. */

import path from 'node:path';
import type { Party } from '../../../lib/fair-queue.ts';
import { runInProcess } from '../../../http/worker-process.ts';
import { Problem, retryAfter } from '../../../http/problem.ts';
import { fileQueue } from '../file-queue.ts';
import type { Reading, Table } from './workbook-reader.ts';

/** The most that reading a workbook may take: a few of its bytes can unpack to gigabytes. */
const limits = { heapMegabytes: 256, millis: 10_000 };

/** The file is no workbook that can be read; the message says what to do. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

const damaged = () => new Unreadable('This is not an XLSX workbook, or it is damaged: save it again as XLSX or CSV.');
const tooLarge = () => new Unreadable('This workbook holds too much: keep the sheet with the figures alone.');

const queue = fileQueue(
  () => new Problem(503, 'busy', 'Other workbooks are being read. Try again in a moment.', retryAfter(10)),
);

/** Beside this module, as its source or compiled. */
const readerProgram = path.join(import.meta.dirname, `workbook-reader${path.extname(import.meta.filename)}`);

/**
 * The sheets of a workbook, their numbers as text with every digit; `signal` says that nobody waits for them any more.
 * Throws {@link Unreadable}, and a problem of 503 while too many wait.
 */
export function readXlsx(bytes: Uint8Array, parties: readonly Party[], signal: AbortSignal): Promise<Table[]> {
  return queue(
    parties,
    async () => {
      const { sheets, fault } = await runInProcess<Reading>(readerProgram, limits, bytes, tooLarge, signal);
      if (sheets) return sheets;
      throw fault === 'too large' ? tooLarge() : damaged();
    },
    signal,
  );
}
