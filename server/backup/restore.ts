/** Brings a backup back into an empty database and into the store of documents, and compares the two. */

import pg from 'pg';
import { withClient } from '../database/client.ts';
import { appliedMigrations, migrate, migrationFiles } from '../database/migrate.ts';
import { inTransaction } from '../database/transaction.ts';
import type { BackupKey } from '../lib/backup-key.ts';
import type { Storage } from '../storage/storage.ts';
import { bodiesOf, checked, decompressed, readFileFrom, readManifest, type Manifest } from './backups.ts';
import type { BackupDestination } from './destination.ts';
import { bodyName, fileOf } from './names.ts';
import {
  heldIn,
  loadRows,
  partsOf,
  quoted,
  readRows,
  tablesOf,
  textSettings,
  type Held,
  type Part,
  type Table,
} from './rows.ts';
import { Damaged } from './encryption.ts';

/** It cannot be restored there, or by this release; the message says why. */
export class NotRestored extends Error {
  override readonly name = 'NotRestored';
}

export interface Source {
  readonly destination: BackupDestination;
  readonly backup: string;
  readonly key: BackupKey | null;
}

export interface Compared {
  readonly table: string;
  readonly backedUp: Held;
  readonly restored: Held;
  readonly isSame: boolean;
}

export interface Restored {
  readonly manifest: Manifest;
  readonly tables: readonly Compared[];
  /** How many bodies were there and are what was taken in. */
  readonly bodies: number;
}

/** The tables of which one row says that a database is in use; nothing of the rest is without them. */
const inUse = ['public.users', 'public.brokerages'];

/** Refuses a database that holds anything. One with the schema and nobody in it is empty: a restore broke off, or migrations ran. */
async function checkEmpty(client: pg.Client, manifest: Manifest): Promise<void> {
  const { rows } = await client.query<{ migrated: boolean; tables: string }>(
    `select to_regclass('app.migrations') is not null as migrated,
       (select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p') and n.nspname in ('public', 'app', 'vault', 'limits')) as tables`,
  );
  if (rows[0]?.migrated !== true) {
    if (rows[0]?.tables === '0') return;
    throw new NotRestored('The database holds tables that are not ours: restore into an empty one.');
  }
  for (const table of inUse) {
    const found = await client.query(`select 1 from ${quoted(table)} limit 1`);
    if (found.rowCount !== 0)
      throw new NotRestored(
        'The database is not empty: restore into an empty one, or a new DATA_DIR. If a restore broke off after its rows and documents were there: dealkeep documents adopt, then dealkeep migrate.',
      );
  }
  const known = new Set(manifest.migrations.map(({ name }) => name));
  const newer = (await appliedMigrations(client)).find(({ name }) => !known.has(name));
  if (newer)
    throw new NotRestored(
      `The database has ${newer.name}, which is newer than the backup: restore into an unused one.`,
    );
}

/** The migrations of the backup, which this release must know as they were. */
async function migrationsOf({ migrations }: Manifest): Promise<ReadonlySet<string>> {
  const files = new Map((await migrationFiles()).map(({ name, digest }) => [name, digest]));
  for (const { name, digest } of migrations) {
    if (files.get(name) !== digest)
      throw new NotRestored(
        `The backup has ${name} as another release knows it: restore it with the release that made it, or a newer one.`,
      );
  }
  return new Set(migrations.map(({ name }) => name));
}

interface ForeignKey {
  readonly owner: string;
  readonly name: string;
  readonly definition: string;
}

/** Takes the foreign keys away, so that rows come in any order; the function returned puts them back, which checks every row. */
async function withoutForeignKeys(client: pg.Client, names: readonly string[]): Promise<() => Promise<void>> {
  const { rows } = await client.query<ForeignKey>(
    `select n.nspname || '.' || c.relname as owner, k.conname as name, pg_get_constraintdef(k.oid) as definition
     from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
     where k.contype = 'f' and k.conparentid = 0 and n.nspname || '.' || c.relname = any ($1)
     order by c.oid, k.conname`,
    [names],
  );
  const alter = ({ owner }: ForeignKey) => `alter table ${quoted(owner)}`;
  for (const key of rows) await client.query(`${alter(key)} drop constraint ${pg.escapeIdentifier(key.name)}`);
  return async () => {
    for (const key of rows)
      await client.query(`${alter(key)} add constraint ${pg.escapeIdentifier(key.name)} ${key.definition}`);
  };
}

/** Switches triggers off: what they do was done when the rows were written. */
async function withoutTriggers(client: pg.Client, names: readonly string[]): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ owner: string; name: string }>(
    `select n.nspname || '.' || c.relname as owner, t.tgname as name
     from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
     where not t.tgisinternal and t.tgenabled = 'O' and n.nspname || '.' || c.relname = any ($1) order by 1, 2`,
    [names],
  );
  const switched = async (word: 'disable' | 'enable') => {
    for (const { owner, name } of rows)
      await client.query(`alter table ${quoted(owner)} ${word} trigger ${pg.escapeIdentifier(name)}`);
  };
  await switched('disable');
  return () => switched('enable');
}

/** PostgreSQL copies into no table whose policies apply to the role that copies. */
async function withoutForce(client: pg.Client, names: readonly string[]): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ name: string }>(
    `select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relforcerowsecurity and n.nspname || '.' || c.relname = any ($1) order by 1`,
    [names],
  );
  for (const { name } of rows) await client.query(`alter table ${quoted(name)} no force row level security`);
  return async () => {
    for (const { name } of rows) await client.query(`alter table ${quoted(name)} force row level security`);
  };
}

const value = `(?:'[^'\\\\]*'|MINVALUE|MAXVALUE)`;
const boundShape = new RegExp(`^(?:DEFAULT|FOR VALUES FROM \\(${value}\\) TO \\(${value}\\))$`);

/** Makes the parts of tables those of the backup. */
async function arrangeParts(client: pg.Client, wanted: readonly Part[], tables: readonly Table[]): Promise<void> {
  const parents = new Set(tables.map(({ name }) => name));
  for (const { parent, name, bound } of wanted)
    if (!parents.has(parent) || !boundShape.test(bound))
      throw new Damaged(`The backup names a partition ${name} that cannot exist.`);
  const there = await partsOf(client);
  const isSame = (one: Part) => (other: Part) =>
    one.name === other.name && one.parent === other.parent && one.bound === other.bound;
  const different = there.filter((part) => !wanted.some(isSame(part)));
  for (const { parent, name } of different)
    await client.query(`alter table ${quoted(parent)} detach partition ${quoted(name)}`);
  for (const part of wanted) {
    if (there.some(isSame(part))) continue;
    if (different.some(({ name }) => name === part.name)) {
      await client.query(`alter table ${quoted(part.parent)} attach partition ${quoted(part.name)} ${part.bound}`);
    } else {
      await client.query(`create table ${quoted(part.name)} partition of ${quoted(part.parent)} ${part.bound}`);
      await client.query('select app.protect($1::regclass)', [quoted(part.name)]);
    }
  }
  const names = new Set(wanted.map(({ name }) => name));
  for (const { name } of different) if (!names.has(name)) await client.query(`drop table ${quoted(name)}`);
}

async function compare(client: pg.Client, manifest: Manifest): Promise<Compared[]> {
  const compared: Compared[] = [];
  for (const { name, columns, rows, digest } of manifest.tables) {
    const restored = await heldIn(client, { name, columns });
    compared.push({
      table: name,
      backedUp: { rows, digest },
      restored,
      isSame: restored.rows === rows && restored.digest === digest,
    });
  }
  return compared;
}

/** The file with the rows. Throws Damaged at its end when it is not as it was written. */
const rowsFile = ({ destination, backup, key }: Source, manifest: Manifest): AsyncIterable<Uint8Array> =>
  decompressed(readFileFrom(destination, fileOf(backup, 'rows'), key, manifest.rows), fileOf(backup, 'rows'));

/** Loads the rows, all or none. */
async function load(client: pg.Client, source: Source, manifest: Manifest): Promise<Compared[]> {
  return inTransaction(client, async () => {
    const tables = await tablesOf(client);
    const names = tables.map(({ name }) => name);
    const known = new Map(tables.map((table) => [table.name, new Set(table.columns)]));
    const unknown = manifest.tables.find(
      ({ name, columns }) => !columns.every((column) => known.get(name)?.has(column) === true),
    );
    if (unknown || manifest.tables.length !== tables.length)
      throw new Damaged(
        `The tables of the backup are not those of its migrations${unknown ? `: ${unknown.name}` : ''}.`,
      );
    await client.query(`truncate ${names.map(quoted).join(', ')}`);
    await arrangeParts(client, manifest.parts, tables);
    const undo = [
      await withoutForeignKeys(client, names),
      await withoutTriggers(client, names),
      await withoutForce(client, names),
    ];
    await readRows(rowsFile(source, manifest), async (table, lines) => {
      if (!manifest.tables.some(({ name, columns }) => name === table.name && columns.join() === table.columns.join()))
        throw new Damaged(`The file with the rows contains ${table.name}, the manifest does not.`);
      await loadRows(client, table, lines);
    });
    for (const { name, last, called } of manifest.sequences)
      await client.query('select setval($1::regclass, $2::bigint, $3)', [quoted(name), last, called]);
    const compared = await compare(client, manifest);
    // Places in the order of changes are given anew from here on, also where the database that was backed up was emptied for it.
    if (known.get('vault.change_stream')?.has('history'))
      await client.query('update vault.change_stream set history = gen_random_uuid()');
    for (const restore of undo) await restore();
    return compared;
  });
}

/** Reads each body, and gives it to `keep`; how many were as they were taken in. */
async function readBodies(
  { destination, backup, key }: Source,
  manifest: Manifest,
  keep: (storageKey: string, body: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<number> {
  const missing = new Set(manifest.documents.missing);
  let count = 0;
  for await (const body of bodiesOf(destination, backup, key, manifest.documents)) {
    if (missing.has(body.storageKey)) continue;
    const name = bodyName(key, body.storageKey);
    await keep(body.storageKey, checked(readFileFrom(destination, name, key), body));
    count += 1;
  }
  if (count + missing.size !== manifest.documents.count) throw new Damaged('The list of documents is incomplete.');
  return count;
}

/** Reads a body to its end. */
async function discard(_storageKey: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const parts = body[Symbol.asyncIterator]();
  while (!(await parts.next()).done);
}

/**
 * Restores into the database of `owner`, which must be empty, with the schema that the backup was made of, and puts the bodies into
 * `storage`; with none they are only read and compared. Rejects with {@link NotRestored} or {@link Damaged}; then the database is
 * still empty.
 */
export async function restoreBackup(
  source: Source,
  owner: pg.ClientConfig,
  storage: Storage | null,
): Promise<Restored> {
  const manifest = await readManifest(source.destination, source.backup, source.key);
  const only = await migrationsOf(manifest);
  await withClient(owner, 'restore', (client) => checkEmpty(client, manifest));
  // All of it is looked at before anything is changed.
  await readRows(rowsFile(source, manifest), async (_table, lines) => {
    for await (const part of lines) if (part.length === 0) return;
  });
  // The bodies first: they are of no effect without the rows, and rows without them would be.
  const bodies = await readBodies(source, manifest, storage ? (name, body) => storage.write(name, body) : discard);
  await migrate(owner, { only });
  const tables = await withClient(owner, 'restore', async (client) => {
    await client.query(textSettings);
    return load(client, source, manifest);
  });
  return { manifest, tables, bodies };
}
