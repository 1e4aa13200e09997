/** Reads XLSX workbooks as tables of text, with bounded memory and time. */

import path from 'node:path';
import type { Party } from '../../../lib/fair-queue.ts';
import { runInProcess } from '../../../http/worker-process.ts';
import { Problem, retryAfter } from '../../../http/problem.ts';
import { fileQueue } from '../file-queue.ts';
import type { Reading, Table } from './workbook-reader.ts';

/** Limits for reading one workbook: a few of its bytes can unpack to gigabytes. */
const limits = { heapMegabytes: 256, millis: 10_000 };

/** The file is not a readable workbook; the message says what to do. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

const damaged = () => new Unreadable('This is not an XLSX workbook, or it is damaged: save it again as XLSX or CSV.');
const tooLarge = () => new Unreadable('This workbook is too large: keep only the sheet with the figures.');

const queue = fileQueue(
  () => new Problem(503, 'busy', 'Other workbooks are being read. Try again shortly.', retryAfter(10)),
);

/** Located beside this module, as source or compiled. */
const readerProgram = path.join(import.meta.dirname, `workbook-reader${path.extname(import.meta.filename)}`);

/**
 * The sheets of a workbook, with numbers as text of all digits; `signal` is aborted when the client no longer waits for
 * them. Throws {@link Unreadable}, and a problem of 503 while too many requests wait.
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
