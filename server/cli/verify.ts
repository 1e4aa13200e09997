/** The command verify. */

import { existsSync, mkdtempSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { chosenBackup } from '../backup/backups.ts';
import { restoreBackup, type Restored } from '../backup/restore.ts';
import { removeAbandoned, startEmbedded } from '../database/embedded.ts';
import { homeDirectory, installedEngine, PostgresFailure } from '../database/postgres-home.ts';
import { undoneBySignal } from '../lib/interruption.ts';
import { plural } from '../lib/plural.ts';
import { reasonOf } from '../lib/reason.ts';
import { withDestination, say, type DestinationOptions } from './backup-destination.ts';

/** Whether every table was restored as it was backed up, and no body was missing or damaged. */
export const isSame = ({ manifest, tables, damaged }: Restored): boolean =>
  tables.every((table) => table.isSame) && manifest.documents.missing.length === 0 && damaged.count === 0;

/** What is wrong with the documents of a backup. */
const aboutDocuments = ({ manifest, damaged }: Restored): string =>
  [
    ...(manifest.documents.missing.length > 0 ? ['MISSING IN THE STORE WHEN IT WAS MADE'] : []),
    ...(damaged.count > 0 ? ['DAMAGED OR MISSING IN THE BACKUP'] : []),
  ].join(', ') || 'same';

/** Lines that name the damaged files of documents and say how they are replaced; none when there are none. */
export function damagedLines({ damaged: { count, files } }: Restored, label: string): string[] {
  if (count === 0) return [];
  const more = count > files.length ? [`  and ${count - files.length} more`] : [];
  return [
    `${plural(count, 'file')} of documents in ${label} cannot be restored: damaged or missing there. While the store of the service has ${count === 1 ? 'it' : 'them'}, delete ${count === 1 ? 'it' : 'these'} from ${label} and run dealkeep backup, which copies a file that is not there again. Other backups in this place share ${count === 1 ? 'it' : 'them'}.`,
    ...files.map((name) => `  ${name}`),
    ...more,
  ];
}

/** A text table that compares the backup with the restored database. */
export function comparison(restored: Restored): string {
  const { manifest, tables, bodies } = restored;
  const width = Math.max(...tables.map(({ table }) => table.length), 'documents'.length);
  const row = (name: string, rows: string, back: string, verdict: string) =>
    `${name.padEnd(width)}  ${rows.padStart(10)}  ${back.padStart(10)}  ${verdict}`;
  return [
    row('', 'backed up', 'restored', 'digest'),
    ...tables.map(({ table, backedUp, restored: found, isSame: same }) =>
      row(table, String(backedUp.rows), String(found.rows), same ? 'same' : 'DIFFERENT'),
    ),
    row('documents', String(manifest.documents.count), String(bodies), aboutDocuments(restored)),
  ].join('\n');
}

const prefix = 'dealkeep-verify-';

/** Deletes a directory for a temporary PostgreSQL. */
async function removeDirectory(directory: string): Promise<void> {
  // Another verify may be removing it, too.
  const options = { recursive: true, force: true, maxRetries: 3 };
  // When run as root, the data may be outside the directory.
  await rm(homeDirectory(path.join(directory, 'data')), options);
  await rm(directory, options);
}

/** Ends and deletes what killed verifies left behind: a PostgreSQL with the rows of a backup. */
async function clearAbandoned(): Promise<void> {
  for (const name of await readdir(os.tmpdir())) {
    const directory = path.join(os.tmpdir(), name);
    // Without this file, which is written under the lock, another process is only beginning.
    if (!name.startsWith(prefix) || !existsSync(path.join(directory, 'data/dealkeep.pid'))) continue;
    const found = await lstat(directory).catch(() => null);
    // What belongs to others is not trusted.
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue;
    await removeAbandoned(path.join(directory, 'data'), () => removeDirectory(directory)).catch((error: unknown) => {
      process.stderr.write(
        `${directory}, which an earlier verify left behind, has rows of a backup and could not be deleted: ${reasonOf(error)}\n`,
      );
    });
  }
}

/** Creates a directory for a temporary PostgreSQL; `remove` deletes it with its content. A signal does so, too. */
function temporaryDirectory(): { readonly dataDir: string; readonly remove: () => Promise<void> } {
  const directory = mkdtempSync(path.join(os.tmpdir(), prefix));
  const dataDir = path.join(directory, 'data');
  let removed: Promise<void> | undefined;
  const remove = () => (removed ??= removeDirectory(directory).finally(takeBack));
  const takeBack = undoneBySignal(remove);
  return { dataDir, remove };
}

/**
 * Restores the backup of this name, or the latest, into a temporary PostgreSQL, and compares. The exit status is 1 when
 * they differ.
 */
export async function verify(name: string | undefined, options: DestinationOptions): Promise<void> {
  await withDestination(options, async ({ destination, key }) => {
    await installedEngine().catch((error: unknown) => {
      throw new PostgresFailure(
        'This needs the embedded PostgreSQL, which is not installed here (npm install --omit=optional, as in the image). Run it from an installation that has it.',
        { cause: error },
      );
    });
    const backup = await chosenBackup(destination, name);
    await clearAbandoned();
    const { dataDir, remove } = temporaryDirectory();
    try {
      // The database need not outlive the comparison, so nothing has to be durable.
      const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
      const postgres = await startEmbedded({ dataDir, settings });
      const restored = await restoreBackup({ destination, backup, key }, postgres.owner, null).finally(() =>
        postgres.stop(),
      );
      const same = isSame(restored);
      if (options.json)
        say(
          JSON.stringify({
            name: backup,
            same,
            documents: restored.bodies,
            damaged_documents: restored.damaged,
            tables: restored.tables,
          }),
        );
      else
        say(
          [
            comparison(restored),
            ...damagedLines(restored, destination.label),
            `${backup} ${same ? 'is complete: everything is as it was.' : 'is NOT what was backed up.'}`,
          ].join('\n'),
        );
      if (!same) process.exitCode = 1;
    } finally {
      await remove();
    }
  });
}
