/** The command restore. */

import { randomUUID } from 'node:crypto';
import { chosenBackup, readManifest } from '../backup/backups.ts';
import { NotRestored, restoreBackup } from '../backup/restore.ts';
import { withClient } from '../database/client.ts';
import { checkOwnersUrl, loginOf, migrateDatabase } from '../database/connections.ts';
import { migrate } from '../database/migrate.ts';
import { markStore, retireMark, storeLocation, wasMarked } from '../documents/store-marker.ts';
import { adoptStore } from '../domain/accounts/administration.ts';
import { openStorage } from '../storage/open.ts';
import type { Storage } from '../storage/storage.ts';
import { withDestination, say, withNewDatabase, type DestinationOptions } from './backup-destination.ts';
import { comparison, damagedLines, isSame } from './verify.ts';

export interface RestoreOptions extends DestinationOptions {
  /** Whether to take over the store that has the documents of the database that was backed up. */
  readonly continue?: boolean;
  /** Whether sessions and connected clients go on as they were when the backup was made. */
  readonly keepSessions?: boolean;
}

/**
 * Throws if the store has the documents of the original database: copy and original would share bodies, and each would
 * delete some that the other needs.
 */
async function checkOriginal(storage: Storage, original: string | undefined, location: string): Promise<void> {
  if (original === undefined || !(await wasMarked(storage, original))) return;
  throw new NotRestored(
    `The documents of the database that was backed up are in ${location}: a copy would delete some that the original needs. Give the copy a bucket or a DATA_DIR of its own. If it replaces the original, stop every node of the original, and add: --continue`,
  );
}

/** Restores the backup of this name, or the latest, into the database and the store of the configuration. */
export async function restore(name: string | undefined, options: RestoreOptions): Promise<void> {
  await withDestination(options, async ({ config, destination, key }) => {
    const backup = await chosenBackup(destination, name);
    const { store: original } = await readManifest(destination, backup, key);
    const storage = await openStorage(config);
    try {
      if (!options.continue) await checkOriginal(storage, original, storeLocation(config));
      const storeId = randomUUID();
      // Both are needed only after the rows are restored, when it is too late to start over.
      if (config.databaseUrl !== undefined) await loginOf(config);
      await checkOwnersUrl(config);
      const restored = await withNewDatabase(config, async (owner) => {
        const result = await restoreBackup({ destination, backup, key }, owner, storage, options.keepSessions);
        // The store gets a new id, even at the same location: a node that still stores documents there for the original
        // is refused.
        await markStore(storage, storeId);
        await withClient(owner, 'restore', (client) => adoptStore(client, storeId));
        if (original !== undefined) await retireMark(storage, original);
        if (config.databaseUrl === undefined) await migrate(owner);
        return result;
      });
      if (config.databaseUrl !== undefined) await migrateDatabase(config);
      if (options.json)
        say(
          JSON.stringify({
            name: backup,
            documents: restored.bodies,
            damaged_documents: restored.damaged,
            tables: restored.tables,
          }),
        );
      else
        say(
          `${[comparison(restored), ...damagedLines(restored, destination.label)].join('\n')}\n${backup} is restored; its documents are in ${storeLocation(config)}. ${options.keepSessions ? 'Sessions and connected clients are those of the backup.' : 'Everybody is signed out: people sign in and connect their clients and calendars again.'} API keys, passwords, suspensions and members are those of the backup: before anybody uses it, go through "After a restore" in docs/operation.md.\nIts backups need a place of their own. If it replaces the database that was backed up, continue in the place of this backup with: dealkeep backup --continue\nThen start the service with: dealkeep serve`,
        );
      if (!isSame(restored)) throw new NotRestored('What was restored is not what was backed up: see the table.');
    } finally {
      await storage.close();
    }
  });
}
