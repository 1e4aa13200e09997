/**
 * Checks that the owner's connection leads to what its variable says: the owner's login, in the database of the server.
 */

import { randomInt } from 'node:crypto';
import type pg from 'pg';
import { needsOwner, UnusableDatabase, withClient } from './client.ts';
import { appliedMigrations, migrationFiles, pending } from './migrate.ts';

interface Ownership {
  readonly name: string;
  readonly owner: string | null;
  readonly owns: boolean;
  readonly creates: boolean;
}

// Uses the catalog, which every login may read: a login without access may not even look into our schemas.
const describeOwnership = `
  select current_user::text as name, pg_get_userbyid(c.relowner)::text as owner,
    coalesce(pg_has_role(current_user, c.relowner, 'usage'), false) as owns,
    has_database_privilege(current_database(), 'create') as creates
  from (values (1)) one left join
    (pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'app') on c.relname = 'migrations'`;

const refusal = (what: string) => new UnusableDatabase(`MIGRATE_DATABASE_URL: ${what}`);

/** What a command needs in the database: the schema of this release, the schema of any release, or nothing yet. */
export type Needed = 'current' | 'any' | 'nothing';

/**
 * Throws when row-level security would hide all rows from the login, when the login may not change the schema, or when
 * the database lacks what is `needed`.
 */
export async function checkOwner(client: pg.Client, needed: Needed): Promise<void> {
  const found = (await client.query<Ownership>(describeOwnership)).rows[0];
  if (!found) return;
  const { name, owner, owns, creates } = found;
  if (owner !== null && !owns)
    throw refusal(
      `${name} does not own the tables of Dealkeep; ${owner} does. Set it to the connection of that login.`,
    );
  if (owner === null && needed === 'nothing' && !creates)
    throw refusal(`${name} may not create schemas in this database. Set it to the connection of the database's owner.`);
  if (needed === 'nothing') return;
  if (owner === null) throw refusal('the database has no Dealkeep tables. Run: dealkeep migrate');
  if (needed === 'any') return;
  const missing = pending(await migrationFiles(), await appliedMigrations(client)).map(({ name: file }) => file);
  if (missing.length > 0) throw refusal(`the database lacks ${missing.join(', ')}. Run: dealkeep migrate`);
}

/**
 * Returns whether two connections lead to the same database. One connection cannot get an advisory lock that the other
 * holds: that works through a pooler, and distinguishes a copy from its original, although all stored ids are equal.
 */
async function areSame(one: pg.Client, other: pg.Client): Promise<boolean> {
  const lock = randomInt(2 ** 47);
  await one.query('begin');
  try {
    await one.query('select pg_advisory_xact_lock($1)', [lock]);
    const { rows } = await other.query<{ taken: boolean }>('select pg_try_advisory_xact_lock($1) as taken', [lock]);
    return rows[0]?.taken === false;
  } finally {
    await one.query('rollback');
  }
}

/**
 * Throws when the connection of `variable` leads to another database than DATABASE_URL. When one of them cannot
 * connect, or a pooler has no connection left, nothing is known and nothing is refused: the owner must be able to
 * repair what keeps the server from connecting.
 */
export async function checkSameDatabase(client: pg.Client, variable: string, databaseUrl: string): Promise<void> {
  const same = await withClient(
    { connectionString: databaseUrl, query_timeout: 10_000 },
    'start',
    (server) => areSame(client, server),
    'DATABASE_URL',
  ).catch(() => true);
  if (!same)
    throw new UnusableDatabase(
      `${variable} and DATABASE_URL lead to two different databases. Set both to the same host, port and database.`,
    );
}

/**
 * Connects to MIGRATE_DATABASE_URL and runs `work`, once the login is known to be the owner's and the database to be
 * the server's. Rejects when the variable is not set.
 */
export async function withOwner<T>(
  {
    databaseUrl,
    migrateDatabaseUrl,
  }: { readonly databaseUrl: string; readonly migrateDatabaseUrl: string | undefined },
  { name, needed }: { readonly name: string; readonly needed: Needed },
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  if (migrateDatabaseUrl === undefined) throw needsOwner();
  return withClient(
    { connectionString: migrateDatabaseUrl },
    name,
    async (client) => {
      await checkSameDatabase(client, 'MIGRATE_DATABASE_URL', databaseUrl);
      await checkOwner(client, needed);
      return work(client);
    },
    'MIGRATE_DATABASE_URL',
  );
}
