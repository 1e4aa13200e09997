/** The command brokerages export. */

import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import about from '../../package.json' with { type: 'json' };
import { textSettings } from '../backup/rows.ts';
import type { Statement } from '../database/statement.ts';
import { snapshot } from '../database/transaction.ts';
import { brokerageNamed, record, type Brokerage } from '../domain/accounts/administration.ts';
import { exportBrokerage, storedBodies, type ExportManifest, type ExportSource } from '../export/brokerage.ts';
import { namingPlace } from '../lib/full-disk.ts';
import { undoneBySignal } from '../lib/interruption.ts';
import { plural } from '../lib/plural.ts';
import { openStorage } from '../storage/open.ts';
import type { Storage } from '../storage/storage.ts';
import { say, withExistingDatabase } from './backup-destination.ts';
import { openNew, refuseExisting } from './new-file.ts';
import { readConfig } from '../config/config.ts';

interface ExportOptions {
  readonly json?: boolean;
  /** The archive to write; by default in the current directory, named after the brokerage and the day. */
  readonly to?: string;
}

/** Reads all rows, in one snapshot of the database. */
function ownersSource(client: pg.Client, storage: Storage): ExportSource {
  return {
    async run<T>({ text, values, read }: Statement<T>) {
      return read((await client.query<Record<string, unknown>>(text, [...values])).rows);
    },
    async open(table, documents) {
      const found = `select id, storage_key from public.${table === 'documents' ? 'documents' : 'production_documents'} where id = any ($1)`;
      const { rows } = await client.query<{ id: string; storage_key: string }>(found, [documents]);
      return storedBodies(storage, rows);
    },
  };
}

async function writeExport(
  client: pg.Client,
  storage: Storage,
  brokerage: Brokerage,
  file: string,
): Promise<ExportManifest> {
  await client.query(textSettings);
  await client.query(snapshot);
  let manifest: ExportManifest | undefined;
  const task = {
    brokerage,
    source: ownersSource(client, storage),
    release: about.version,
    now: new Date(),
    sight: 'Everything that the brokerage has, as of one moment.',
  };
  refuseExisting(file, '--to');
  // A file with the final name is always a complete archive, however this process ends.
  const unfinished = `${file}.unfinished`;
  const handle = await openNew(unfinished, '--to');
  const takeBack = undoneBySignal(() => rm(unfinished, { force: true }));
  try {
    await pipeline(
      exportBrokerage(task, (made) => (manifest = made)),
      handle.createWriteStream({ flush: true }),
    );
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw namingPlace(error, path.dirname(path.resolve(file)));
  } finally {
    takeBack();
    await client.query('rollback').catch(() => {});
  }
  if (!manifest) throw new Error('The archive has no manifest.');
  return manifest;
}

/**
 * Writes all data of a brokerage into an archive. The exit status is 1 when documents are missing in the store or were
 * changed there.
 */
export async function exportCommand(which: string, { to, json }: ExportOptions): Promise<void> {
  const config = readConfig();
  const storage = await openStorage(config);
  await withExistingDatabase(
    config,
    async (client) => {
      const brokerage = await brokerageNamed(client, which);
      const file = to ?? `${brokerage.slug}-${new Date().toISOString().slice(0, 10)}.zip`;
      const { tables, documents } = await writeExport(client, storage, brokerage, file);
      await record(client, 'brokerage.export', brokerage.id, brokerage.id, {});
      const rows = tables.reduce((sum, table) => sum + table.rows, 0);
      const lacking = documents.missing.length + documents.damaged.length;
      if (json) say(JSON.stringify({ file, tables: tables.length, rows, ...documents }));
      else
        say(
          `Everything that ${brokerage.slug} has is in ${file}: ${rows} rows of ${tables.length} tables, ${documents.count} documents.${
            lacking > 0
              ? ` ${plural(lacking, 'document is', 'documents are')} missing from the store or changed: see manifest.json.`
              : ''
          }`,
        );
      if (lacking > 0) process.exitCode = 1;
    },
    'current',
  ).finally(() => storage.close());
}
