/** Destinations of backups: a folder, or a bucket of an S3-compatible store. */

import { createReadStream } from 'node:fs';
import { mkdir, readdir, realpath, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Config, DestinationConfig } from '../config/config.ts';
import { isMissing, removeUnchanged, writeWhole } from '../storage/files.ts';
import { isOfBackup, isUnfinished } from './names.ts';

export interface StoredFile {
  readonly name: string;
  /** In bytes. */
  readonly size: number;
}

export interface BackupDestination {
  /** A description for messages. */
  readonly label: string;
  /** Stores a file under `name`, completely or not at all. */
  write(name: string, body: AsyncIterable<Uint8Array>): Promise<void>;
  /** The file as a stream; null when it does not exist. */
  read(name: string): Promise<AsyncIterable<Uint8Array> | null>;
  /** The files whose names begin with `folder` and a slash, sorted by bytes. */
  list(folder: string): AsyncIterable<StoredFile>;
  /** The names of the top-level folders. */
  folders(): Promise<string[]>;
  /** Deletes a file; a missing file is no error. */
  remove(name: string): Promise<void>;
  /** Deletes unfinished files of backups that were begun before `before`. */
  tidy(before: Date): Promise<void>;
  close(): Promise<void>;
}

const entriesOf = (directory: string) =>
  readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });

/** Compares names by bytes, as S3 sorts. */
export const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

async function* filesBelow(directory: string, name: string): AsyncGenerator<StoredFile> {
  const entries = (await entriesOf(path.join(directory, name))).toSorted((one, other) => byBytes(one.name, other.name));
  for (const entry of entries) {
    const inner = `${name}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(directory, inner);
    else if (entry.isFile()) {
      const found = await stat(path.join(directory, inner)).catch(() => null);
      if (found) yield { name: inner, size: found.size };
    }
  }
}

function openFolder(directory: string): BackupDestination {
  const aside = path.join(directory, 'incoming');
  return {
    label: directory,
    async write(name, body) {
      const file = path.join(directory, name);
      await mkdir(aside, { recursive: true, mode: 0o700 });
      await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
      await writeWhole(file, aside, body);
    },
    async read(name) {
      const file = path.join(directory, name);
      const found = await stat(file).catch((error: unknown) => {
        if (isMissing(error)) return null;
        throw error;
      });
      return found?.isFile() ? createReadStream(file, { highWaterMark: 262_144 }) : null;
    },
    list: (folder) => filesBelow(directory, folder),
    async folders() {
      const entries = await entriesOf(directory);
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    },
    async remove(name) {
      await rm(path.join(directory, name), { force: true });
      await rmdirIfEmpty(path.dirname(path.join(directory, name)));
    },
    async tidy(before) {
      await removeUnchanged(aside, before, isUnfinished);
    },
    async close() {},
  };
}

async function rmdirIfEmpty(directory: string): Promise<void> {
  await rmdir(directory).catch(() => {});
}

/** The path without symbolic links; the path itself while it does not exist. */
const realPath = (directory: string): Promise<string> =>
  realpath(directory).catch((error: unknown) => {
    if (isMissing(error)) return directory;
    throw error;
  });

/** Whether the destination is the document store itself: pruning backups would delete its documents. */
export async function isStore(
  place: DestinationConfig,
  { s3, dataDir }: Pick<Config, 's3' | 'dataDir'>,
): Promise<boolean> {
  if ('directory' in place) return s3 === undefined && (await realPath(place.directory)) === (await realPath(dataDir));
  return s3?.bucket === place.s3.bucket && place.prefix === '';
}

/** Opens a destination, without I/O yet. */
export async function openDestination(config: DestinationConfig): Promise<BackupDestination> {
  if ('directory' in config) return openFolder(config.directory);
  // Imported only when needed, as it is large.
  const { openBucket } = await import('../storage/s3.ts');
  const bucket = openBucket(config.s3, config.prefix);
  return {
    ...bucket,
    tidy: (before) => bucket.tidy(before, isOfBackup),
    label: `s3://${config.s3.bucket}/${config.prefix}`,
  };
}
