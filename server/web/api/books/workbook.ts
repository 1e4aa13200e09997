/** XLSX workbooks as tables of text, read so that no workbook can take more than its share of memory and time. */

import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { inflateRaw } from 'node:zlib';
import { storedArchive } from './archive.ts';

/** The most that may be in a workbook, unpacked, and that reading it may take. */
const limits = { bytes: 33_554_432, files: 500, rows: 20_000, columns: 200, heapMegabytes: 256, millis: 20_000 };

/** The file is no workbook that can be read; the message says what to do. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

export interface Table {
  readonly name: string;
  readonly rows: readonly (readonly string[])[];
}

const inflate = promisify(inflateRaw);
const damaged = () => new Unreadable('This is no XLSX workbook, or it is damaged: save it again as XLSX or CSV.');
const tooLarge = () => new Unreadable('This workbook holds too much: keep the sheet with the figures alone.');

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly packed: number;
  readonly unpacked: number;
  readonly at: number;
}

/** What the archive's directory declares (APPNOTE.TXT, 4.3.12 and 4.3.16). Archives of ZIP64 are larger than ours may be. */
function entriesOf(file: Buffer): Entry[] {
  const end = file.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end < 0 || end + 22 > file.length) throw damaged();
  const count = file.readUInt16LE(end + 10);
  if (count > limits.files) throw tooLarge();
  let place = file.readUInt32LE(end + 16);
  return Array.from({ length: count }, () => {
    if (place + 46 > file.length || file.readUInt32LE(place) !== 0x02014b50) throw damaged();
    const nameLength = file.readUInt16LE(place + 28);
    const entry = {
      name: file.toString('utf8', place + 46, place + 46 + nameLength),
      method: file.readUInt16LE(place + 10),
      packed: file.readUInt32LE(place + 20),
      unpacked: file.readUInt32LE(place + 24),
      at: file.readUInt32LE(place + 42),
    };
    if ((file.readUInt16LE(place + 8) & 1) === 1)
      throw new Unreadable('This workbook has a password: save it without.');
    place += 46 + nameLength + file.readUInt16LE(place + 30) + file.readUInt16LE(place + 32);
    return entry;
  });
}

async function bodyOf(file: Buffer, { method, packed, unpacked, at }: Entry): Promise<Buffer> {
  if (at + 30 > file.length || file.readUInt32LE(at) !== 0x04034b50) throw damaged();
  const start = at + 30 + file.readUInt16LE(at + 26) + file.readUInt16LE(at + 28);
  const body = file.subarray(start, start + packed);
  if (method === 0 && packed === unpacked) return body;
  // An archive that declares less than it holds ends here, not in memory.
  if (method === 8)
    return inflate(body, { maxOutputLength: Math.max(1, unpacked) }).catch(() => Promise.reject(damaged()));
  throw damaged();
}

/** What a workbook is read from; pictures and the like are left out. */
const isNeeded = ({ name }: Entry): boolean => /\.(xml|rels)$/i.test(name);

/**
 * The same workbook with nothing in it but what was looked at, so that whoever reads it cannot come upon something else:
 * an archive may hold files that its directory does not tell of, or tell their sizes differently in another place.
 */
async function repacked(file: Buffer): Promise<Buffer> {
  const entries = entriesOf(file).filter(isNeeded);
  if (entries.reduce((sum, { unpacked }) => sum + unpacked, 0) > limits.bytes) throw tooLarge();
  const files: [name: string, body: Buffer][] = [];
  for (const entry of entries) files.push([entry.name, await bodyOf(file, entry)]);
  return storedArchive(files);
}

/** One at a time: what it takes in memory and time is bounded, and so is what all of them take. */
let last: Promise<unknown> = Promise.resolve();

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = last.then(work, work);
  last = turn.catch(() => {});
  return turn;
}

/** Reads a workbook in a thread of its own, which ends when a few bytes of it turn out to stand for a whole world. */
function readApart(archive: Buffer): Promise<Table[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Table[]>();
  const worker = new Worker(new URL('workbook-worker.ts', import.meta.url), {
    workerData: archive,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: limits.heapMegabytes },
  });
  const late = setTimeout(() => reject(tooLarge()), limits.millis);
  worker.once('message', resolve);
  worker.once('error', (error: NodeJS.ErrnoException) =>
    reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooLarge() : damaged()),
  );
  worker.once('exit', () => reject(damaged()));
  return promise.finally(() => {
    clearTimeout(late);
    return worker.terminate();
  });
}

/** The sheets of a workbook, their numbers as text with every digit. Throws {@link Unreadable}. */
export async function readXlsx(bytes: Uint8Array): Promise<Table[]> {
  const archive = await repacked(Buffer.from(bytes));
  const sheets = await inTurn(() => readApart(archive));
  if (sheets.some(({ rows }) => rows.length > limits.rows || (rows[0]?.length ?? 0) > limits.columns)) throw tooLarge();
  return sheets;
}
