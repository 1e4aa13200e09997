/**
 * Restores a backup into an empty database and into the document store, and compares the restored rows with the backup.
 */

import pg from 'pg';
import { withClient } from '../database/client.ts';
import { appliedMigrations, migrate, migrationFiles } from '../database/migrate.ts';
import { inTransaction } from '../database/transaction.ts';
import type { BackupKey } from '../lib/backup-key.ts';
import type { Storage } from '../storage/storage.ts';
import { bodiesOf, checked, decompressed, readFileFrom, readManifest, type Body, type Manifest } from './backups.ts';
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

/** The backup cannot be restored there, or by this release; the message says why. */
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
  /** The number of bodies that were read and are unchanged, or that the store had already. */
  readonly bodies: number;
  readonly damaged: DamagedBodies;
}

/** Bodies that the place of the backups has no longer, or not as they were backed up. */
export interface DamagedBodies {
  readonly count: number;
  /** The names of their files in the place, of at most {@link mostNamed}. */
  readonly files: readonly string[];
}

/** At most this many damaged bodies are named. */
export const mostNamed = 1_000;

/** A single row in one of these tables shows that a database is in use; no other table has rows without one. */
const inUse = ['public.users', 'public.brokerages'];

/**
 * Throws unless the database is empty. A schema without users or brokerages counts as empty: an interrupted restore or
 * the migrations left it.
 */
async function checkEmpty(client: pg.Client, manifest: Manifest): Promise<void> {
  const { rows } = await client.query<{ migrated: boolean; tables: string }>(
    `select to_regclass('app.migrations') is not null as migrated,
       (select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p') and n.nspname in ('public', 'app', 'vault', 'limits')) as tables`,
  );
  if (rows[0]?.migrated !== true) {
    if (rows[0]?.tables === '0') return;
    throw new NotRestored('The database has tables of another program: restore into an empty one.');
  }
  for (const table of inUse) {
    const found = await client.query(`select 1 from ${quoted(table)} limit 1`);
    if (found.rowCount !== 0)
      throw new NotRestored(
        'The database is not empty: restore into an empty one, or a new DATA_DIR. If a restore was interrupted after its rows and documents were in place, run dealkeep migrate, then dealkeep documents adopt.',
      );
  }
  const known = new Set(manifest.migrations.map(({ name }) => name));
  const newer = (await appliedMigrations(client)).find(({ name }) => !known.has(name));
  if (newer)
    throw new NotRestored(
      `The database has ${newer.name}, which is newer than the backup: restore into an unused one. Nobody uses this one yet, so you can make it anew: a new DATA_DIR, or dropdb and createdb --owner with the owner of the database.`,
    );
}

/** The names of the backup's migrations, each of which this release must have with the same digest. */
async function migrationsOf({ migrations }: Manifest): Promise<ReadonlySet<string>> {
  const files = new Map((await migrationFiles()).map(({ name, digest }) => [name, digest]));
  for (const { name, digest } of migrations) {
    if (files.get(name) !== digest)
      throw new NotRestored(
        `The backup was made by a release with a different ${name}: restore it with that release, or a newer one.`,
      );
  }
  return new Set(migrations.map(({ name }) => name));
}

interface Guarded {
  readonly name: string;
  readonly lifted: readonly string[];
  /** Null if there is nothing but forced row-level security. */
  readonly restored: readonly string[] | null;
  readonly forced: boolean;
}

/**
 * Lifts what guards the tables: foreign keys, so that rows can be loaded in any order; triggers, whose effects are
 * already in the rows; and forced row-level security, as PostgreSQL copies into no table whose policies apply to the
 * copying role. The returned function restores all that, which checks every row against the foreign keys. Few statements
 * for each table, because PostgreSQL reads the definition of a table anew after each.
 */
async function withoutGuards(client: pg.Client, names: readonly string[]): Promise<() => Promise<void>> {
  const { rows } = await client.query<Guarded>(
    `select n.nspname || '.' || c.relname as name, c.relforcerowsecurity as forced,
       array_agg(g.lifted order by g.place, g.lifted) as lifted,
       array_agg(g.restored order by g.place, g.restored) filter (where g.restored is not null) as restored
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
       cross join lateral (
         select 1 as place, format('drop constraint %I', k.conname) as lifted,
           format('add constraint %I %s', k.conname, pg_get_constraintdef(k.oid)) as restored
         from pg_constraint k where k.conrelid = c.oid and k.contype = 'f' and k.conparentid = 0
         union all
         select 2, format('disable trigger %I', t.tgname), format('enable trigger %I', t.tgname)
         from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal and t.tgenabled = 'O'
         union all
         select 3, 'no force row level security', null where c.relforcerowsecurity) g
     where n.nspname || '.' || c.relname = any ($1) group by c.oid, n.nspname, c.relname order by c.oid`,
    [names],
  );
  const alter = (name: string, changes: readonly string[]) =>
    client.query(`alter table ${quoted(name)} ${changes.join(', ')}`);
  for (const { name, lifted } of rows) await alter(name, lifted);
  return async () => {
    for (const { name, restored } of rows) if (restored) await alter(name, restored);
    // Last, and not with the foreign keys: policies could hide rows from the check.
    for (const { name, forced } of rows) if (forced) await alter(name, ['force row level security']);
  };
}

/** Empties the tables that have rows: truncating one replaces its files and those of its indexes, even if it is empty. */
async function emptied(client: pg.Client, names: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    names
      .map((name) => `select ${pg.escapeLiteral(name)} as name where exists (select from ${quoted(name)})`)
      .join(' union all '),
  );
  if (rows.length > 0) await client.query(`truncate ${rows.map(({ name }) => quoted(name)).join(', ')}`);
}

const value = `(?:'[^'\\\\]*'|MINVALUE|MAXVALUE)`;
const boundShape = new RegExp(`^(?:DEFAULT|FOR VALUES FROM \\(${value}\\) TO \\(${value}\\))$`);

/** Gives the tables the partitions of the backup. */
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

/** The file with the rows. Throws Damaged at its end when its digest is wrong. */
const rowsFile = ({ destination, backup, key }: Source, manifest: Manifest): AsyncIterable<Uint8Array> =>
  decompressed(readFileFrom(destination, fileOf(backup, 'rows'), key, manifest.rows), fileOf(backup, 'rows'));

/**
 * Statements that end what people signed in or connected with: what was ended after the backup would work again. Each
 * names the column that its table has had since it exists.
 */
const endings = [
  ['vault.sessions', 'ended_at', 'update vault.sessions set ended_at = now() where ended_at is null'],
  ['vault.token_families', 'revoked_at', 'update vault.token_families set revoked_at = now() where revoked_at is null'],
  [
    'vault.authorization_codes',
    'burned_at',
    'update vault.authorization_codes set burned_at = now() where used_at is null and burned_at is null',
  ],
  ['vault.calendar_links', 'digest', 'delete from vault.calendar_links'],
  ['vault.sign_in_steps', 'digest', 'delete from vault.sign_in_steps'],
  ['vault.password_resets', 'digest', 'delete from vault.password_resets'],
  ['vault.address_changes', 'digest', 'delete from vault.address_changes'],
] as const;

/** Loads the rows, all or none. */
async function load(
  client: pg.Client,
  source: Source,
  manifest: Manifest,
  keepsSessions: boolean,
): Promise<Compared[]> {
  return inTransaction(client, async () => {
    const tables = await tablesOf(client);
    const names = tables.map(({ name }) => name);
    const known = new Map(tables.map((table) => [table.name, new Set(table.columns)]));
    const unknown = manifest.tables.find(
      ({ name, columns }) => !columns.every((column) => known.get(name)?.has(column) === true),
    );
    if (unknown || manifest.tables.length !== tables.length)
      throw new Damaged(`The tables of the backup do not match its migrations${unknown ? `: ${unknown.name}` : ''}.`);
    await client.query(`lock table ${names.map(quoted).join(', ')} in access exclusive mode`);
    const guardAgain = await withoutGuards(client, names);
    await emptied(client, names);
    await arrangeParts(client, manifest.parts, tables);
    await readRows(rowsFile(source, manifest), async (table, lines) => {
      if (!manifest.tables.some(({ name, columns }) => name === table.name && columns.join() === table.columns.join()))
        throw new Damaged(`The file with the rows contains ${table.name}, but the manifest does not.`);
      await loadRows(client, table, lines);
    });
    for (const { name, last, called } of manifest.sequences)
      await client.query('select setval($1::regclass, $2::bigint, $3)', [quoted(name), last, called]);
    const compared = await compare(client, manifest);
    // From here on, places in the change stream are assigned anew, even if this is the original database, emptied for
    // the restore.
    if (known.get('vault.change_stream')?.has('history'))
      await client.query('update vault.change_stream set history = gen_random_uuid()');
    for (const [table, column, ending] of keepsSessions ? [] : endings)
      if (known.get(table)?.has(column)) await client.query(ending);
    await guardAgain();
    return compared;
  });
}

/** The body as it was backed up; errors of the disk that holds it count as damage. Throws {@link Damaged}. */
async function* backedUp({ destination, key }: Source, name: string, body: Body): AsyncGenerator<Uint8Array> {
  try {
    yield* checked(readFileFrom(destination, name, key), body);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EIO') throw error;
    throw new Damaged(`${name} cannot be read.`, { cause: error });
  }
}

/** Whether the store has this body, unchanged. */
async function isStored(storage: Storage, body: Body): Promise<boolean> {
  const found = await storage.read(body.storageKey);
  if (found === null) return false;
  return discard(checked(found, body)).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Damaged) return false;
      throw error;
    },
  );
}

/** Copies each body to `storage`, or only reads it if that is null. A damaged body does not prevent the others. */
async function readBodies(
  source: Source,
  manifest: Manifest,
  storage: Storage | null,
): Promise<Pick<Restored, 'bodies' | 'damaged'>> {
  const { destination, backup, key } = source;
  const missing = new Set(manifest.documents.missing);
  const files: string[] = [];
  let count = 0;
  let bad = 0;
  for await (const body of bodiesOf(destination, backup, key, manifest.documents)) {
    if (missing.has(body.storageKey)) continue;
    count += 1;
    const name = bodyName(key, body.storageKey);
    const content = backedUp(source, name, body);
    try {
      await (storage ? storage.write(body.storageKey, content) : discard(content));
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      // With --continue the store may still have it; a body that cannot be written whole does not replace it.
      if (storage && (await isStored(storage, body))) continue;
      bad += 1;
      if (files.length < mostNamed) files.push(name);
    }
  }
  if (count + missing.size !== manifest.documents.count) throw new Damaged('The list of documents is incomplete.');
  return { bodies: count - bad, damaged: { count: bad, files } };
}

/** Reads a body to its end, which checks it. */
async function discard(body: AsyncIterable<Uint8Array>): Promise<void> {
  const parts = body[Symbol.asyncIterator]();
  while (!(await parts.next()).done);
}

/**
 * Restores into the database of `owner`, which must be empty, using the schema of the backup's migrations, and writes
 * the bodies to `storage`; if that is null, the bodies are only read and checked. Damaged bodies are left out. Sessions,
 * connected clients and links to calendars end, unless `keepsSessions`. Rejects with {@link NotRestored} or {@link Damaged}; the database is then still empty.
 */
export async function restoreBackup(
  source: Source,
  owner: pg.ClientConfig,
  storage: Storage | null,
  keepsSessions = false,
): Promise<Restored> {
  const manifest = await readManifest(source.destination, source.backup, source.key);
  const only = await migrationsOf(manifest);
  await withClient(owner, 'restore', (client) => checkEmpty(client, manifest));
  // Reads the whole file before anything is changed.
  await readRows(rowsFile(source, manifest), async (_table, lines) => {
    for await (const part of lines) if (part.length === 0) return;
  });
  // Bodies first: without rows they do no harm, but rows without bodies would.
  const documents = await readBodies(source, manifest, storage);
  await migrate(owner, { only });
  const tables = await withClient(owner, 'restore', async (client) => {
    await client.query(textSettings);
    return load(client, source, manifest, keepsSessions);
  });
  return { manifest, tables, ...documents };
}
