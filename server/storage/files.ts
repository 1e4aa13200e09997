/** Stores bodies as files: written to a separate directory, flushed to disk, and moved into place atomically. */

import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { namingPlace } from '../lib/full-disk.ts';
import { checkedKey, type Storage } from './storage.ts';

/** Bytes read ahead of the reader. */
const ahead = 262_144;

/** Whether an error says that a file or a folder does not exist. */
export const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

async function writeDurably(file: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    for await (const part of body) {
      for (let written = 0; written < part.byteLength;)
        written += (await handle.write(part, written, part.byteLength - written)).bytesWritten;
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A file name is durable only once its directory is flushed. Windows cannot flush directories. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(directory, 'r');
  await handle.sync().finally(() => handle.close());
}

/**
 * Writes `body` to `file`, completely and durably or not at all; until then it is in the directory `aside` of the same
 * file system.
 */
export async function writeWhole(file: string, aside: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const unfinished = path.join(aside, `${path.basename(file)}.${randomBytes(6).toString('hex')}`);
  try {
    await writeDurably(unfinished, body);
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw namingPlace(error, path.dirname(file));
  }
  await syncDirectory(path.dirname(file));
}

/** The files in a directory with their modification times; none when the directory does not exist. */
async function* filesIn(directory: string): AsyncGenerator<{ name: string; changed: Date }> {
  const entries = await readdir(directory).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  for (const name of entries) {
    const found = await stat(path.join(directory, name)).catch(() => null);
    if (found?.isFile()) yield { name, changed: found.mtime };
  }
}

/**
 * Removes the files in `aside` that match `isOurs` and were not modified since `since`; a file that is still being
 * written is modified all the time.
 */
export async function removeUnchanged(
  aside: string,
  since: Date,
  isOurs: (name: string) => boolean = () => true,
): Promise<void> {
  for await (const { name, changed } of filesIn(aside))
    if (changed < since && isOurs(name)) await rm(path.join(aside, name), { force: true });
}

/** Stores bodies below `directory`, which is created with the first one. */
export function openFileStorage(directory: string): Storage {
  const aside = path.join(directory, 'incoming');
  // The last two characters of a key, which are random, so that no directory grows too large.
  const directoryOf = (key: string) => path.join(directory, checkedKey(key).slice(-2));
  const pathOf = (key: string) => path.join(directoryOf(key), key);

  return {
    async write(key, body) {
      await mkdir(aside, { recursive: true, mode: 0o700 });
      await mkdir(directoryOf(key), { recursive: true, mode: 0o700 });
      await writeWhole(pathOf(key), aside, body);
    },

    async read(key, span) {
      const handle = await open(pathOf(key), 'r').catch((error: unknown) => {
        if (isMissing(error)) return null;
        throw error;
      });
      if (handle === null) return null;
      const part = span ? { start: span.first, end: span.last } : {};
      return Readable.toWeb(handle.createReadStream({ ...part, highWaterMark: ahead })) as ReadableStream<Uint8Array>;
    },

    remove: (key) => rm(pathOf(key), { force: true }),

    tidy: (before) => removeUnchanged(aside, before),

    async close() {},
  };
}
