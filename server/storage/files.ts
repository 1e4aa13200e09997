/** Bodies as files: written aside, forced to the disk, and put in their place in one step. */

import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { checkedKey, type Storage } from './storage.ts';

/** Bytes that are read ahead of their reader. */
const ahead = 262_144;

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

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

/** A name is durable only when its directory is. Windows knows no such thing. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(directory, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Puts `body` at `file`, whole and durable or not at all; until then it is in the directory `aside` of the same file system. */
export async function writeWhole(file: string, aside: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const unfinished = path.join(aside, `${path.basename(file)}.${randomBytes(6).toString('hex')}`);
  try {
    await writeDurably(unfinished, body);
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await syncDirectory(path.dirname(file));
}

/** The files in a directory with the time of their last change; none when it is not there. */
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

/** Takes away the files in `aside` of these names that were not changed since; one that is still being written changes all the time. */
export async function removeUnchanged(
  aside: string,
  since: Date,
  isOurs: (name: string) => boolean = () => true,
): Promise<void> {
  for await (const { name, changed } of filesIn(aside))
    if (changed < since && isOurs(name)) await rm(path.join(aside, name), { force: true });
}

/** Keeps bodies below `directory`, which is made with the first one. */
export function openFileStorage(directory: string): Storage {
  const aside = path.join(directory, 'incoming');
  // Two characters of the random end of a key: no directory grows too large to look through.
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
