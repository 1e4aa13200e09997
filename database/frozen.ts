/** The migrations that are frozen, with their digests: `database/migrations.lock`. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Applied, Migration } from '../server/database/migrate.ts';

export const lockFile = path.join(import.meta.dirname, 'migrations.lock');

/** The frozen migrations: a line each, the SHA-256 of the file and its name, as sha256sum writes them. */
export async function frozenMigrations(): Promise<Applied[]> {
  const text = await readFile(lockFile, 'utf8');
  return text
    .split(/\r?\n/)
    .filter((line) => line !== '')
    .map((line) => ({ digest: line.slice(0, 64), name: line.slice(66) }));
}

export const lockOf = (migrations: readonly Migration[]): string =>
  migrations.map(({ digest, name }) => `${digest}  ${name}\n`).join('');
