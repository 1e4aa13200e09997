/** XLSX workbooks as tables of text, read so that no workbook can take more than its share of memory and time. */

import { fork } from 'node:child_process';
import path from 'node:path';
import { Problem } from '../../../http/problem.ts';
import type { Reading, Table } from './workbook-reader.ts';

/** The most that reading a workbook may take. */
const limits = { heapMegabytes: 256, millis: 10_000 };

/** The file is no workbook that can be read; the message says what to do. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

const damaged = () => new Unreadable('This is no XLSX workbook, or it is damaged: save it again as XLSX or CSV.');
const tooLarge = () => new Unreadable('This workbook holds too much: keep the sheet with the figures alone.');

/** How many may wait or be read: of one deal, whose people must not keep everybody else waiting, and of all. */
const places = { deal: 2, all: 8 };

/** One at a time: what it takes in memory and time is bounded, and so is what all of them take. */
let last: Promise<unknown> = Promise.resolve();
const held: string[] = [];

async function inTurn<T>(dealId: string, work: () => Promise<T>): Promise<T> {
  if (held.length >= places.all || held.filter((one) => one === dealId).length >= places.deal)
    throw new Problem(503, 'busy', 'Other workbooks are being read. Try again in a moment.');
  held.push(dealId);
  const turn = last.then(work, work);
  last = turn.catch(() => {});
  return turn.finally(() => held.splice(held.indexOf(dealId), 1));
}

/** Beside this module, as its source or compiled. */
const readerProgram = path.join(import.meta.dirname, `workbook-reader${path.extname(import.meta.filename)}`);

/**
 * Reads a workbook in a process of its own, which dies alone when a few bytes of it turn out to stand for a whole world:
 * memory that runs out in a thread can take the service with it. It is given no environment, and so no secret.
 */
function readApart(bytes: Uint8Array): Promise<Table[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Table[]>();
  const reader = fork(readerProgram, {
    execArgv: [`--max-old-space-size=${limits.heapMegabytes}`],
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  const late = setTimeout(() => reject(tooLarge()), limits.millis);
  reader.once('message', ({ sheets, fault }: Reading) => {
    if (sheets) resolve(sheets);
    else reject(fault === 'too large' ? tooLarge() : damaged());
  });
  reader.once('error', reject);
  // It answers whatever it can read: only one that ran out of memory ends before.
  reader.once('exit', () => reject(tooLarge()));
  reader.send(bytes);
  return promise.finally(() => {
    clearTimeout(late);
    reader.kill('SIGKILL');
  });
}

/**
 * The sheets of a workbook for a deal, their numbers as text with every digit. Throws {@link Unreadable}, and a problem of
 * 503 while too many wait.
 */
export function readXlsx(bytes: Uint8Array, dealId: string): Promise<Table[]> {
  return inTurn(dealId, () => readApart(bytes));
}
