/** The database that the configuration asks for: the embedded one, or the one at DATABASE_URL. */

import pg from 'pg';
import type { Config } from '../config/config.ts';
import { UnusableDatabase, withClient } from './client.ts';
import { DirectoryInUse } from './data-directory.ts';
import { longest } from './database.ts';
import { refuseMissing, runningOwner, startEmbedded } from './embedded.ts';
import { appliedMigrations, migrate, migrationFiles, pending } from './migrate.ts';
import { checkSameDatabase, withOwner } from './owner.ts';

export interface Connections {
  /** The server's login: a member of dealkeep_server that owns nothing. */
  readonly server: pg.ClientConfig;
  /** The owner's login; undefined with DATABASE_URL and without MIGRATE_DATABASE_URL. */
  readonly owner: pg.ClientConfig | undefined;
  /** Where the data of the embedded PostgreSQL is. */
  readonly directory?: string;
  /** Resolves with a sentence when the embedded PostgreSQL ends without being asked. */
  readonly died: Promise<string>;
  stop(): Promise<void>;
}

const never = new Promise<never>(() => {});

const connected = <T>(
  variable: string,
  connection: pg.ClientConfig,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> => withClient(connection, 'start', work, variable);

interface Login {
  readonly name: string;
  readonly version: number;
  readonly superuser: boolean;
  readonly bypasses: boolean;
  readonly owns: string | null;
  readonly migrated: boolean;
  readonly member: boolean;
}

// Membership counts as much as the attribute itself: `set role` would be enough to get it.
const describeLogin = `
  select current_user::text as name, current_setting('server_version_num')::int as version,
    exists (select from pg_roles r where r.rolsuper and pg_has_role(current_user, r.oid, 'member')) as superuser,
    exists (select from pg_roles r where r.rolbypassrls and pg_has_role(current_user, r.oid, 'member')) as bypasses,
    (select min(format('%I.%I', n.nspname, c.relname)) from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p', 'v') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
        and pg_has_role(current_user, c.relowner, 'member')) as owns,
    exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'app' and c.relname = 'migrations') as migrated,
    exists (select from pg_roles r where r.rolname = 'dealkeep_server' and pg_has_role(current_user, r.oid, 'usage')) as member`;

const howToMigrate = 'Set MIGRATE_DATABASE_URL to the connection of its owner and run: dealkeep migrate';

/** Why a login, or a database, will not do. */
interface Objection {
  readonly what: string;
  readonly remedy: string;
  /** There is nothing in the database that could be looked at further. */
  readonly isEmpty: boolean;
}

function objection({ name, version, superuser, bypasses, owns, migrated, member }: Login): Objection | null {
  const because = (what: string, remedy: string, isEmpty = false): Objection => ({ what, remedy, isEmpty });
  if (version < 150_000) return because('the server is older than PostgreSQL 15.', 'Use 15 or later.');
  const instead = 'Use a login that owns nothing: create role dealkeep_app login password …';
  if (superuser)
    return because(`${name} is a superuser, which is not subject to row-level security.`, instead, !migrated);
  if (bypasses)
    return because(`${name} has BYPASSRLS, so row-level security does not apply to it.`, instead, !migrated);
  if (owns !== null)
    return because(`${name} owns ${owns}, and an owner can switch row-level security off.`, instead, !migrated);
  if (!migrated) return because('the database is empty.', howToMigrate, true);
  if (!member) {
    return because(
      `${name} is not a member of dealkeep_server.`,
      `As the owner: grant dealkeep_server to ${pg.escapeIdentifier(name)};`,
      true,
    );
  }
  return null;
}

/** Why the login of this connection will not do for the server, which row-level security must hold; null when it does. */
export async function loginObjection(client: pg.Client): Promise<Objection | null> {
  const login = (await client.query<Login>(describeLogin)).rows[0];
  return login ? objection(login) : null;
}

/** A pooler in transaction mode stands before the database, and {@link Config.prepare} expects none. */
export class BehindPooler extends UnusableDatabase {
  constructor(options?: ErrorOptions) {
    super(
      'DATABASE_URL leads to a pooler in transaction mode (PgBouncer or its like), and DATABASE_PREPARE is on. Set DATABASE_PREPARE=off, and DATABASE_LISTEN_URL to the database itself, so that open pages receive changes.',
      options,
    );
  }
}

/** How often two connections are asked which process of PostgreSQL serves them. */
const looks = 4;

/**
 * Refuses a pooler that hands one connection to several of ours: what is prepared on a connection, or set at its beginning, is not
 * there for the next transaction. Such a pooler refuses our settings, or serves two connections that are open at once by one
 * process of PostgreSQL.
 */
export async function checkNotPooled(url: string): Promise<void> {
  const { statementMillis, lockMillis } = longest;
  const settings = { connectionString: url, statement_timeout: statementMillis, lock_timeout: lockMillis };
  const pid = async (client: pg.Client) =>
    (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
  try {
    await connected('DATABASE_URL', settings, (one) =>
      connected('DATABASE_URL', settings, async (other) => {
        for (let look = 0; look < looks; look += 1)
          if ((await pid(one)) === (await pid(other))) throw new BehindPooler();
      }),
    );
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    const isRefused = cause instanceof Error && /unsupported startup parameter/.test(cause.message);
    throw isRefused ? new BehindPooler({ cause: error }) : error;
  }
}

/** The login of DATABASE_URL. Throws {@link UnusableDatabase} when it cannot be connected to. */
export async function loginOf(config: Config): Promise<string> {
  const name = await connected('DATABASE_URL', { connectionString: config.databaseUrl }, async (client) => {
    const { rows } = await client.query<{ name: string }>('select current_user::text as name');
    return rows[0]?.name;
  });
  return name ?? '';
}

/** Refuses a login that row-level security would not hold, a database without the current schema, and a pooler that is not expected. */
async function checkServer(url: string, prepare: boolean): Promise<void> {
  if (prepare) await checkNotPooled(url);
  const files = await migrationFiles();
  await connected('DATABASE_URL', { connectionString: url }, async (client) => {
    const wrong = await loginObjection(client);
    if (wrong) throw new UnusableDatabase(`DATABASE_URL: ${wrong.what} ${wrong.remedy}`);
    const missing = pending(files, await appliedMigrations(client)).map(({ name }) => name);
    if (missing.length > 0)
      throw new UnusableDatabase(`DATABASE_URL: the database lacks ${missing.join(', ')}. ${howToMigrate}`);
  });
}

/** Applies what is missing to the database at MIGRATE_DATABASE_URL, lets the login of DATABASE_URL in, and returns the files. */
async function migrateExternal(config: Config): Promise<string[]> {
  if (!config.migrateDatabaseUrl) throw new UnusableDatabase(howToMigrate);
  await checkOwnersUrl(config);
  return migrate({ connectionString: config.migrateDatabaseUrl }, { serverLogin: await loginOf(config) });
}

/** Refuses a MIGRATE_DATABASE_URL that is not the owner's, or leads elsewhere, before anything is made there. */
export async function checkOwnersUrl({ databaseUrl, migrateDatabaseUrl }: Config): Promise<void> {
  if (databaseUrl !== undefined && migrateDatabaseUrl !== undefined)
    await withOwner({ databaseUrl, migrateDatabaseUrl }, { name: 'start', needed: 'nothing' }, async () => {});
}

/** Refuses a DATABASE_LISTEN_URL that leads to another database. One that cannot be connected to keeps no node from starting. */
export async function checkListenUrl({ databaseUrl, listenDatabaseUrl }: Config): Promise<void> {
  if (databaseUrl === undefined || listenDatabaseUrl === undefined) return;
  let isThere = false;
  await connected(
    'DATABASE_LISTEN_URL',
    { connectionString: listenDatabaseUrl, query_timeout: 10_000 },
    async (client) => {
      isThere = true;
      await checkSameDatabase(client, 'DATABASE_LISTEN_URL', databaseUrl);
    },
  ).catch((error: unknown) => {
    if (isThere) throw error;
  });
}

/** How many connections the embedded PostgreSQL takes: those of every process (pool, limits, changes), and some for commands. */
const mostConnections = ({ workers, poolSize }: Config): number => Math.max(60, workers * (poolSize + 3) + 20);

/**
 * Opens the database with its schema up to date. Throws DirectoryInUse, {@link UnusableDatabase}, SchemaMismatch, or
 * the failure of a migration.
 */
export async function openConnections(
  config: Config,
  applied: (names: string[]) => void = () => {},
): Promise<Connections> {
  if (config.databaseUrl !== undefined) {
    if (config.migrateDatabaseUrl) applied(await migrateExternal(config));
    await checkServer(config.databaseUrl, config.prepare);
    await checkListenUrl(config);
    const owner = config.migrateDatabaseUrl ? { connectionString: config.migrateDatabaseUrl } : undefined;
    return { server: { connectionString: config.databaseUrl }, owner, died: never, stop: async () => {} };
  }
  const embedded = await startEmbedded({
    dataDir: config.dataDir,
    settings: { max_connections: String(mostConnections(config)) },
  });
  try {
    applied(await migrate(embedded.owner, { serverLogin: embedded.server.user }));
  } catch (error) {
    await embedded.stop();
    throw error;
  }
  return embedded;
}

/** Brings the configured database up to date and returns the applied files. */
export async function migrateDatabase(config: Config): Promise<string[]> {
  if (config.databaseUrl !== undefined) return migrateExternal(config);
  const applied: string[] = [];
  const embedded = await openConnections(config, (names) => applied.push(...names));
  await embedded.stop();
  return applied;
}

/**
 * Runs an administrator's command as the owner: on the database of a Dealkeep that is running on the same DATA_DIR, on
 * one started for the command, or through MIGRATE_DATABASE_URL. None is made: a command in the wrong place would answer from nothing.
 */
export async function asOwner<T>(config: Config, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const { databaseUrl, migrateDatabaseUrl } = config;
  if (databaseUrl !== undefined)
    return withOwner({ databaseUrl, migrateDatabaseUrl }, { name: 'start', needed: 'current' }, work);
  refuseMissing(config.dataDir);
  const join = async () => {
    const owner = await runningOwner(config.dataDir);
    return owner && { owner, stop: async () => {} };
  };
  const opened =
    (await join()) ??
    (await openConnections(config).catch(async (error: unknown) => {
      // One that started at the same moment was not there to be joined yet.
      const joined = error instanceof DirectoryInUse ? await join() : null;
      if (joined) return joined;
      throw error;
    }));
  return connected('DATA_DIR', opened.owner ?? {}, work).finally(() => opened.stop());
}
