/** Where backups are kept: a folder, or a bucket of an S3-compatible store. */

import { createReadStream } from 'node:fs';
import { mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Config, DestinationConfig } from '../config/config.ts';
import { removeUnchanged, writeWhole } from '../storage/files.ts';
import { isOfBackup, isUnfinished } from './names.ts';

export interface StoredFile {
  readonly name: string;
  /** In bytes. */
  readonly size: number;
}

export interface BackupDestination {
  /** What it is, in words. */
  readonly label: string;
  /** Keeps a file under `name`, whole or not at all. */
  write(name: string, body: AsyncIterable<Uint8Array>): Promise<void>;
  /** The file, read as it is taken; null when there is none. */
  read(name: string): Promise<AsyncIterable<Uint8Array> | null>;
  /** The files whose names begin with `folder` and a slash, sorted by their bytes. */
  list(folder: string): AsyncIterable<StoredFile>;
  /** The names of the folders at the top. */
  folders(): Promise<string[]>;
  /** Takes a file away; one that is not there is no error. */
  remove(name: string): Promise<void>;
  /** Clears away files of backups that were begun before `before` and never finished. */
  tidy(before: Date): Promise<void>;
  close(): Promise<void>;
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

const entriesOf = (directory: string) =>
  readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });

/** Sorts as S3 does: by bytes. */
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
      // Only an empty one goes.
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

/** Whether a place is where documents are kept: what no backup needs would be deleted from it. */
export function isStore(place: DestinationConfig, { s3, dataDir }: Pick<Config, 's3' | 'dataDir'>): boolean {
  if ('directory' in place) return s3 === undefined && place.directory === dataDir;
  return s3?.bucket === place.s3.bucket && place.prefix === '';
}

/** Touches nothing yet. */
export async function openDestination(config: DestinationConfig): Promise<BackupDestination> {
  if ('directory' in config) return openFolder(config.directory);
  // Loaded only here: it is large.
  const { openBucket } = await import('../storage/s3.ts');
  const bucket = openBucket(config.s3, config.prefix);
  return {
    ...bucket,
    tidy: (before) => bucket.tidy(before, isOfBackup),
    label: `s3://${config.s3.bucket}/${config.prefix}`,
  };
}
