/** XLSX workbooks as tables of text, read so that no workbook can take more than its share of memory and time. */

import { Worker } from 'node:worker_threads';
import type { Reading } from './workbook-worker.ts';

/** The most that reading a workbook may take. */
const limits = { heapMegabytes: 160, millis: 10_000 };

/** The file is no workbook that can be read; the message says what to do. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

export interface Table {
  readonly name: string;
  readonly rows: readonly (readonly string[])[];
}

const damaged = () => new Unreadable('This is no XLSX workbook, or it is damaged: save it again as XLSX or CSV.');
const tooLarge = () => new Unreadable('This workbook holds too much: keep the sheet with the figures alone.');

/** One at a time: what it takes in memory and time is bounded, and so is what all of them take. */
let last: Promise<unknown> = Promise.resolve();

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = last.then(work, work);
  last = turn.catch(() => {});
  return turn;
}

/** Reads a workbook in a thread of its own, which ends when a few bytes of it turn out to stand for a whole world. */
function readApart(bytes: Uint8Array): Promise<Table[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Table[]>();
  const worker = new Worker(new URL('workbook-worker.ts', import.meta.url), {
    workerData: bytes,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: limits.heapMegabytes },
  });
  const late = setTimeout(() => reject(tooLarge()), limits.millis);
  worker.once('message', ({ sheets, fault }: Reading) => {
    if (sheets) resolve(sheets);
    else reject(fault === 'too large' ? tooLarge() : damaged());
  });
  worker.once('error', (error: NodeJS.ErrnoException) =>
    reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooLarge() : error),
  );
  worker.once('exit', () => reject(damaged()));
  return promise.finally(() => {
    clearTimeout(late);
    return worker.terminate();
  });
}

/** The sheets of a workbook, their numbers as text with every digit. Throws {@link Unreadable}. */
export function readXlsx(bytes: Uint8Array): Promise<Table[]> {
  return inTurn(() => readApart(bytes));
}
