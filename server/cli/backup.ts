/** The command backup. */

import type pg from 'pg';
import about from '../../package.json' with { type: 'json' };
import { isStore } from '../backup/destination.ts';
import { makeBackup, NotChecked, type Made } from '../backup/make.ts';
import { ConfigError } from '../config/config.ts';
import { runOn } from '../database/client.ts';
import { backupJob, noteJobRun } from '../domain/service/status.ts';
import { storeLocation } from '../documents/store-marker.ts';
import { plural } from '../lib/plural.ts';
import { openStorage } from '../storage/open.ts';
import {
  withDestination,
  say,
  withExistingDatabase,
  type BackupContext,
  type DestinationOptions,
} from './backup-destination.ts';

export interface BackupOptions extends DestinationOptions {
  readonly keep?: number;
  /**
   * Whether to take over a destination with backups of a database that this one was restored from, or that was restored
   * from this one.
   */
  readonly continue?: boolean;
  /** Whether BACKUP_EVERY and BACKUP_KEEP apply: no backup is made when the latest is recent enough. */
  readonly scheduled?: boolean;
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** How many backups a scheduled run keeps by default. */
const usuallyKept = 14;

/**
 * How many of the latest backups are kept; undefined: all. BACKUP_KEEP applies to BACKUP_TO, not to a `place` given by
 * option.
 */
function howManyToKeep({ keep, scheduled, place }: BackupOptions, backupKeep: number | undefined): number | undefined {
  if (keep !== undefined) return keep;
  if (scheduled) return backupKeep ?? usuallyKept;
  return place === undefined ? backupKeep : undefined;
}

/** Describes the content of a backup. */
function words({ manifest, copied, dropped, undeleted }: Made, { destination, key }: BackupContext): string {
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
  const { count, body_bytes: bytes, missing } = manifest.documents;
  return [
    `${manifest.name} is in ${destination.label}${key ? `, encrypted with the key ${key.id}` : ''}:`,
    `  ${rows} rows of ${manifest.tables.length} tables (${megabytes(manifest.rows.bytes)}), ${count} documents (${megabytes(bytes)}), ${copied} of them new.`,
    ...(dropped.length > 0 ? [`  Deleted: ${dropped.join(', ')}.`] : []),
    ...(undeleted === null ? [] : [`  The backup was made, but older ones could not be deleted: ${undeleted}.`]),
    ...(missing.length > 0
      ? [
          `  ${plural(missing.length, 'document is', 'documents are')} missing from the store or changed: run dealkeep doctor --documents.`,
        ]
      : []),
  ].join('\n');
}

/**
 * Stores the outcome for /status and /metrics. The backup does not fail when the schema is too old to store it, or the
 * connection is broken.
 */
async function note(client: pg.Client, succeeded: boolean, missing?: number): Promise<void> {
  await runOn(client, noteJobRun(backupJob, succeeded)).catch(() => {});
  if (missing === undefined) return;
  const text = 'update app.job_runs set missing_documents = $1 where job = $2';
  await client.query(text, [missing, backupJob]).catch(() => {});
}

/**
 * Makes a backup. The exit status is 1 when documents are missing in the store, or older backups could not be deleted.
 */
export async function backup(options: BackupOptions): Promise<void> {
  await withDestination(options, async (context) => {
    const { config, destination, key } = context;
    if (options.scheduled && config.backup.everyMillis === undefined)
      throw new ConfigError(['--scheduled needs BACKUP_EVERY, which says when the next backup is due.']);
    if (config.backup.to && (await isStore(config.backup.to, config)))
      throw new ConfigError([
        `BACKUP_TO or --place: ${destination.label} is where documents are kept. Give backups another folder, or a folder in the bucket.`,
      ]);
    const storage = await openStorage(config);
    const made = await withExistingDatabase(config, async (client) => {
      const task = {
        client,
        storage,
        storeLocation: storeLocation(config),
        destination,
        key,
        keep: howManyToKeep(options, config.backup.keep),
        unlessYounger: options.scheduled ? config.backup.everyMillis : undefined,
        takesOver: options.continue === true,
        release: about.version,
        onWhole: (missing: number) => note(client, true, missing),
      };
      try {
        return await makeBackup(task);
      } catch (error) {
        if (!(error instanceof NotChecked)) await note(client, false);
        throw error;
      }
    }).finally(() => storage.close());
    if (options.json) say(JSON.stringify(made === null ? null : summary(made)));
    else say(made === null ? `The latest backup in ${destination.label} is recent enough.` : words(made, context));
    if (made && (made.manifest.documents.missing.length > 0 || made.undeleted !== null)) process.exitCode = 1;
  });
}

/** The result that is printed with --json, for scripts. */
export type Summary = ReturnType<typeof summary>;
function summary({ manifest: { name, made_at, tables, rows, documents }, copied, dropped, undeleted }: Made) {
  return {
    name,
    made_at,
    tables: tables.length,
    rows: tables.reduce((sum, table) => sum + table.rows, 0),
    bytes: rows.bytes,
    documents: documents.count,
    document_bytes: documents.body_bytes,
    new_documents: copied,
    missing_documents: documents.missing,
    deleted: dropped,
    not_deleted: undeleted,
  };
}
