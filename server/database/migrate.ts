/** Applies the numbered SQL files of database/migrations, each once, in order, in a transaction of its own. */

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { mapped, rows, type Statement } from './statement.ts';

export interface Migration {
  readonly name: string;
  readonly digest: string;
  readonly text: string;
}

/** A migration as the database remembers it. */
export interface Applied {
  readonly name: string;
  readonly digest: string;
}

/** The files and the database disagree in a way that no migration can mend; the message says what to do. */
export class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch';
}

const folder = path.join(import.meta.dirname, '../../database/migrations');

/** The migrations on disk, in order. */
export async function migrationFiles(directory = folder): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted();
  return Promise.all(
    names.map(async (name) => {
      // A checkout may have changed line ends; that is no change of the migration.
      const text = (await readFile(path.join(directory, name), 'utf8')).replaceAll('\r\n', '\n');
      return { name, text, digest: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

/** The migrations that `applied` lacks. Throws {@link SchemaMismatch} when an applied one was changed, or is unknown here. */
export function pending(migrations: readonly Migration[], applied: readonly Applied[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const { name, digest } of applied) {
    const migration = known.get(name);
    if (!migration) {
      throw new SchemaMismatch(
        `The database has ${name}, which this version of Dealkeep does not know: run a newer version.`,
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

const listApplied = rows<Applied>('list_migrations', `select name, digest from app.migrations order by name`);

/** How many migrations the database lacks. Rejects with {@link SchemaMismatch}, or with 3F000/42P01 on an empty database. */
export function missingMigrations(migrations: readonly Migration[]): Statement<number> {
  return mapped(listApplied(), (applied) => pending(migrations, applied).length);
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

/** The error with the file and line it comes from. */
function located({ name, text }: Migration, error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  const line = error.position === undefined ? '' : `, line ${text.slice(0, Number(error.position)).split('\n').length}`;
  const hint = error.hint === undefined ? '' : ` (${error.hint})`;
  return new Error(`${name}${line}: ${error.message}${hint}`, { cause: error });
}

/** Applies the next migration, if any, and tells its name. Several processes may try at once: one does, the others wait. */
async function applyNext(client: pg.Client, migrations: readonly Migration[]): Promise<string | null> {
  await client.query('begin');
  try {
    await client.query(`select pg_advisory_xact_lock(hashtext('dealkeep migrations'))`);
    const { rows: found } = await client.query<{ there: boolean }>(
      `select to_regclass('app.migrations') is not null as there`,
    );
    const there = found[0]?.there === true;
    const applied = there ? (await client.query<Applied>('select name, digest from app.migrations')).rows : [];
    const next = pending(migrations, applied)[0];
    if (next) {
      await client.query(next.text).catch((error: unknown) => {
        throw located(next, error);
      });
      if (!there) await client.query(bookkeeping);
      await client.query('insert into app.migrations (name, digest) values ($1, $2)', [next.name, next.digest]);
    }
    await client.query('commit');
    return next?.name ?? null;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

export interface MigrateOptions {
  /** The login of the server, which is made a member of dealkeep_server. */
  readonly serverLogin?: string | undefined;
  readonly directory?: string;
}

/** Brings the database up to date as its owner and tells which files were applied. */
export async function migrate(
  owner: pg.ClientConfig,
  { serverLogin, directory }: MigrateOptions = {},
): Promise<string[]> {
  const migrations = await migrationFiles(directory);
  const client = new pg.Client({
    ...owner,
    application_name: 'dealkeep migrate',
    options: '-c client_min_messages=warning',
  });
  client.on('error', () => {});
  await client.connect();
  try {
    const applied: string[] = [];
    for (let name = await applyNext(client, migrations); name !== null; name = await applyNext(client, migrations)) {
      applied.push(name);
    }
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
