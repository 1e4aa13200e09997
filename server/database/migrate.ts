/**
 * Applies the numbered SQL files of database/migrations, each once and in order. The first lines of a file may say
 *
 * - `-- breaking: why`: releases that do not know this file cannot work with the schema it makes.
 * - `-- no transaction`: its statements run one by one, for `create index concurrently`; otherwise the file is one
 *   transaction.
 */

import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { mapped, rows, type Statement } from './statement.ts';
import { inTransaction } from './transaction.ts';

export interface Migration {
  readonly name: string;
  readonly digest: string;
  readonly text: string;
  /** Whether releases that do not know the migration cannot work with the schema it makes. */
  readonly breaking: boolean;
  /** Whether each of its statements is a transaction of its own. */
  readonly oneByOne: boolean;
}

/** A migration as recorded in the database. */
export interface Applied {
  readonly name: string;
  readonly digest: string;
  /** Null in a database that has no such column yet. */
  readonly breaking?: boolean | null;
}

/** The files and the database disagree in a way that no migration can resolve; the message says what to do. */
export class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch';
}

/** A migration did not get its locks; the message says what to do. */
class MigrationBlocked extends Error {
  override readonly name = 'MigrationBlocked';
}

const folder = path.join(import.meta.dirname, '../../database/migrations');

let ours: Promise<readonly Migration[]> | undefined;

/**
 * The migrations on disk, in order. Those of this release, hundreds of files, are read once: a start needs them
 * three times.
 */
export function migrationFiles(directory = folder): Promise<readonly Migration[]> {
  if (directory !== folder) return readMigrations(directory);
  ours ??= readMigrations(directory).catch((error: unknown) => {
    ours = undefined;
    throw error;
  });
  return ours;
}

async function readMigrations(directory: string): Promise<readonly Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted();
  return names.map((name) => {
    // Synchronously, in less than half the processor time: a start has nothing else to do yet.
    // A checkout may have changed line endings, which does not change the migration.
    const text = readFileSync(path.join(directory, name), 'utf8').replaceAll('\r\n', '\n');
    const marks = /^(?:--.*\n)*/.exec(text)?.[0] ?? '';
    return {
      name,
      text,
      digest: hash('sha256', text),
      breaking: /^-- breaking\b/m.test(marks),
      oneByOne: /^-- no transaction$/m.test(marks),
    };
  });
}

/**
 * Returns the migrations that are missing in `applied`. An applied migration that only a newer release knows is
 * accepted unless it is marked as breaking: a release being replaced keeps running, and one that is rolled back to
 * starts. Throws {@link SchemaMismatch} when an applied migration was changed, or an unknown one is breaking.
 */
export function pending(migrations: readonly Migration[], applied: readonly Applied[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const { name, digest, breaking } of applied) {
    const migration = known.get(name);
    if (!migration) {
      if (breaking === false) continue;
      throw new SchemaMismatch(
        `The database has ${name}, which this version of Dealkeep does not know and cannot work with: run a newer version.`,
      );
    }
    if (migration.digest !== digest) {
      throw new SchemaMismatch(
        `${name} was changed after it was applied: restore the file, and put the change into a new one.`,
      );
    }
  }
  const done = new Set(applied.map(({ name }) => name));
  return migrations.filter(({ name }) => !done.has(name));
}

// Read from the row as JSON: the column `breaking` is missing in a database that has not been migrated that far.
const appliedColumns = `m.name, m.digest, (to_jsonb(m)->>'breaking')::boolean as breaking`;
const listApplied = rows<Applied>('list_migrations', `select ${appliedColumns} from app.migrations m order by m.name`);

/** Returns the migrations applied to the database of `client`. */
export async function appliedMigrations(client: pg.Client): Promise<Applied[]> {
  return (await client.query<Applied>(`select ${appliedColumns} from app.migrations m order by m.name`)).rows;
}

/**
 * Returns how many migrations the database lacks. Rejects with {@link SchemaMismatch}, or with 3F000/42P01 on an empty
 * database.
 */
export function missingMigrations(migrations: readonly Migration[]): Statement<number> {
  return { ...mapped(listApplied(), (applied) => pending(migrations, applied).length), first: true };
}

const bookkeeping = `
  create table app.migrations (
    name text primary key,
    digest text not null,
    applied_at timestamptz not null default now()
  );
  select app.protect('app.migrations');
  create policy everybody_reads on app.migrations for select to dealkeep_server using (true);
  grant select on app.migrations to dealkeep_server;`;

/** Returns the error with the file and line it comes from. */
function located({ name, text }: Migration, error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  const line = error.position === undefined ? '' : `, line ${text.slice(0, Number(error.position)).split('\n').length}`;
  const hint = error.hint === undefined ? '' : ` (${error.hint})`;
  return new Error(`${name}${line}: ${error.message}${hint}`, { cause: error });
}

/**
 * How long a migration's statement may wait for a lock on a table, in milliseconds; every other statement on that table
 * waits behind it.
 */
const lockMillis = 3_000;
/** The pauses between the attempts of a migration that did not get a lock, in milliseconds. */
const pauses = [500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 30_000, 30_000];

/** Whether a statement failed because it did not get a lock in time, or in a deadlock. */
const lacksLock = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && (error.code === '55P03' || error.code === '40P01');

/** Repeats `attempt` while it fails to get a lock. */
async function untilLocked<T>(name: string, attempt: () => Promise<T>): Promise<T> {
  for (const millis of pauses) {
    try {
      return await attempt();
    } catch (error) {
      if (!lacksLock(error)) throw error;
      await pause(millis);
    }
  }
  return attempt().catch((error: unknown) => {
    if (!lacksLock(error)) throw error;
    throw new MigrationBlocked(
      `${name} did not get a lock on a table within ${lockMillis / 1000} s, ${pauses.length + 1} times: something else has locked the table. Look for a long transaction in pg_stat_activity, end it, and start again.`,
      { cause: error },
    );
  });
}

/**
 * Returns the statements of a file that runs without a transaction: each ends with a semicolon at the end of a line.
 */
const statementsOf = (text: string): string[] =>
  text
    .split(/;[ \t]*(?:--.*)?\n/)
    .map((statement) => statement.replaceAll(/^\s*--.*\n/gm, '').trim())
    .filter(Boolean);

const indexBuild =
  /^create (unique )?index concurrently (?:if not exists )?([\w".]+)\s+on (?:only )?([\w".]+)\s*(.*)$/is;

interface IndexBuild {
  readonly unique: string;
  readonly index: string;
  readonly table: string;
  /** Its columns, and the text after them. */
  readonly what: string;
}

function readIndexBuild(statement: string): IndexBuild | null {
  const [found, unique = '', index = '', table = '', what = ''] = indexBuild.exec(statement) ?? [];
  return found === undefined ? null : { unique, index, table, what };
}

/** Drops an index left by an interrupted build: PostgreSQL keeps it, updates it with every write, and never uses it. */
async function dropUnfinished(client: pg.Client, { index, table }: IndexBuild): Promise<void> {
  const { rows: found } = await client.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
     where i.indrelid = to_regclass($1) and c.relname = (parse_ident($2))[array_upper(parse_ident($2), 1)] and not i.indisvalid`,
    [table, index],
  );
  if (found[0]) await client.query(`drop index concurrently ${found[0].name}`);
}

async function isPartitioned(client: pg.Client, table: string): Promise<boolean> {
  const { rows: found } = await client.query(`select from pg_class where oid = to_regclass($1) and relkind = 'p'`, [
    table,
  ]);
  return found.length > 0;
}

interface Part {
  readonly name: string;
  /** The name of its index, without and with the schema, which index and partition share. */
  readonly index: string;
  readonly ofPart: string;
  /** The index of the partitioned table, with its schema. */
  readonly ofWhole: string;
}

/** Returns the partitions of a table that have no partition of its index yet. */
async function partsWithout(client: pg.Client, { index, table }: IndexBuild): Promise<Part[]> {
  const { rows: found } = await client.query<Part>(
    `select format('%I.%I', n.nspname, p.relname) as name, format('%I', x.name) as index,
       format('%I.%I', n.nspname, x.name) as "ofPart", w.indexrelid::regclass::text as "ofWhole"
     from pg_index w join pg_class c on c.oid = w.indexrelid join pg_inherits i on i.inhparent = w.indrelid
       join pg_class p on p.oid = i.inhrelid join pg_namespace n on n.oid = p.relnamespace
       cross join lateral (select left(p.relname || '_' || c.relname, 63) as name) x
     where w.indrelid = to_regclass($1) and c.relname = (parse_ident($2))[1] and not exists (
       select from pg_inherits a join pg_index o on o.indexrelid = a.inhrelid
       where a.inhparent = w.indexrelid and o.indrelid = p.oid)
     order by 1`,
    [table, index],
  );
  return found;
}

/**
 * Runs a statement that waits for a lock for at most `millis` milliseconds, or without limit when 0, and retries it
 * when it did not get the lock; before each attempt it drops the rest of an interrupted build of the index `build`.
 */
type Locked = (millis: number, statement: string, build?: IndexBuild | null) => Promise<void>;

/**
 * PostgreSQL cannot build an index of a partitioned table concurrently: the index is created on the table alone, which
 * also gives it to new partitions, then on each partition, and attached. An interrupted build resumes where it stopped.
 */
async function buildByParts(client: pg.Client, build: IndexBuild, locked: Locked): Promise<void> {
  const { unique, index, table, what } = build;
  await locked(lockMillis, `create ${unique}index if not exists ${index} on only ${table} ${what}`);
  for (let missing = await partsWithout(client, build); missing[0]; missing = await partsWithout(client, build)) {
    const [part] = missing;
    try {
      const ofPart = { unique, index: part.index, table: part.name, what };
      await locked(0, `create ${unique}index concurrently if not exists ${part.index} on ${part.name} ${what}`, ofPart);
      await locked(lockMillis, `alter index ${part.ofWhole} attach partition ${part.ofPart}`);
    } catch (error) {
      // The job that maintains the monthly partitions may have dropped or renamed this one meanwhile.
      const isGone = error instanceof pg.DatabaseError && error.code === '42P01';
      if (!isGone || (await partsWithout(client, build)).some(({ name }) => name === part.name)) throw error;
    }
  }
}

async function noteApplied(client: pg.Client, { name, digest, breaking }: Migration): Promise<void> {
  await client.query('insert into app.migrations (name, digest) values ($1, $2)', [name, digest]);
  if (breaking) await client.query('update app.migrations set breaking = true where name = $1', [name]);
}

async function applyWhole(client: pg.Client, migration: Migration, isFirst: boolean): Promise<void> {
  await inTransaction(client, async () => {
    await client.query(`set local lock_timeout = ${lockMillis}`);
    await client.query(migration.text);
    if (isFirst) await client.query(bookkeeping);
    await noteApplied(client, migration);
  });
}

/**
 * Applies a file statement by statement. An interrupted file runs again from its first statement, so each must be
 * repeatable.
 */
async function applyOneByOne(client: pg.Client, migration: Migration): Promise<void> {
  const locked: Locked = async (millis, statement, build) => {
    await client.query(`set lock_timeout = ${millis}`);
    await untilLocked(migration.name, async () => {
      if (build) await dropUnfinished(client, build);
      await client.query(statement);
    });
  };
  for (const statement of statementsOf(migration.text)) {
    const build = readIndexBuild(statement);
    if (build && (await isPartitioned(client, build.table))) {
      await buildByParts(client, build, locked);
      continue;
    }
    // Building an index waits for other transactions, but blocks none.
    await locked(/\bconcurrently\b/i.test(statement) ? 0 : lockMillis, statement, build);
  }
  await client.query('reset lock_timeout');
  await noteApplied(client, migration);
}

/**
 * Applies the missing migrations in order and returns their names. The caller holds the lock that keeps other processes
 * from applying any.
 */
async function applyPending(client: pg.Client, migrations: readonly Migration[]): Promise<string[]> {
  const { rows: found } = await client.query<{ there: boolean }>(
    `select to_regclass('app.migrations') is not null as there`,
  );
  const there = found[0]?.there === true;
  const missing = pending(migrations, there ? await appliedMigrations(client) : []);
  for (const [at, next] of missing.entries()) {
    const apply = () => (next.oneByOne ? applyOneByOne(client, next) : applyWhole(client, next, !there && at === 0));
    await untilLocked(next.name, apply).catch((error: unknown) => {
      throw located(next, error);
    });
  }
  return missing.map(({ name }) => name);
}

/**
 * Waits until this process has the migration lock: of several processes that migrate at once, one does and the others
 * wait. They poll, because waiting in a statement would be a transaction that a concurrent index build waits for in
 * turn.
 */
async function taken(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows: found } = await client.query<{ taken: boolean }>(
      `select pg_try_advisory_lock(hashtext('dealkeep migrations')) as taken`,
    );
    if (found[0]?.taken) return;
    await pause(200);
  }
}

interface MigrateOptions {
  /** The login of the server, which is made a member of dealkeep_server. */
  readonly serverLogin?: string | undefined;
  readonly directory?: string;
  /** The names of the migrations to apply; optional, defaults to all. */
  readonly only?: ReadonlySet<string>;
}

/** Migrates the database as its owner and returns the names of the applied files. */
export async function migrate(
  owner: pg.ClientConfig,
  { serverLogin, directory, only }: MigrateOptions = {},
): Promise<string[]> {
  const migrations = (await migrationFiles(directory)).filter(({ name }) => only?.has(name) ?? true);
  const client = new pg.Client({
    connectionTimeoutMillis: 10_000,
    ...owner,
    application_name: 'dealkeep migrate',
    options: '-c client_min_messages=warning',
  });
  client.on('error', () => {});
  await client.connect();
  try {
    await taken(client);
    const applied = await applyPending(client, migrations);
    if (serverLogin !== undefined) await letIn(client, serverLogin);
    return applied;
  } finally {
    await client.end();
  }
}

async function letIn(client: pg.Client, login: string): Promise<void> {
  const { rows: found } = await client.query(`select pg_has_role($1::name, 'dealkeep_server', 'member') as member`, [
    login,
  ]);
  if (found[0]?.member !== true) await client.query(`grant dealkeep_server to ${pg.escapeIdentifier(login)}`);
}
