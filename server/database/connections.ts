/** Opens the configured database: the embedded one, or the one at DATABASE_URL. */

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
  /** The data directory of the embedded PostgreSQL. */
  readonly directory?: string;
  /** Resolves with a sentence when the embedded PostgreSQL ends unexpectedly. */
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

// Membership counts as much as the attribute itself: `set role` is enough to use it.
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

/** Why a login, or a database, is rejected. */
interface Objection {
  readonly what: string;
  readonly remedy: string;
  /** Whether the database has nothing that could be checked further. */
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

/**
 * Returns why the server must not use the login of this connection, since row-level security has to apply to it; null
 * when it may.
 */
export async function loginObjection(client: pg.Client): Promise<Objection | null> {
  const login = (await client.query<Login>(describeLogin)).rows[0];
  return login ? objection(login) : null;
}

/** DATABASE_URL leads to a pooler in transaction mode although {@link Config.prepare} is on. */
export class BehindPooler extends UnusableDatabase {
  constructor(options?: ErrorOptions) {
    super(
      'DATABASE_URL leads to a pooler in transaction mode (PgBouncer or similar), and DATABASE_PREPARE is on. Set DATABASE_PREPARE=off, and DATABASE_LISTEN_URL to the database itself, so that open pages receive changes.',
      options,
    );
  }
}

/** How many times the backend process ids of two connections are compared. */
const looks = 4;

/**
 * Throws {@link BehindPooler} when a transaction-mode pooler is in front of the database: prepared statements and
 * session settings would be missing in the next transaction. Such a pooler rejects our settings, or serves two
 * concurrent connections from the same PostgreSQL process.
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

/** Returns the login of DATABASE_URL. Throws {@link UnusableDatabase} when it cannot connect. */
export async function loginOf(config: Config): Promise<string> {
  const name = await connected('DATABASE_URL', { connectionString: config.databaseUrl }, async (client) => {
    const { rows } = await client.query<{ name: string }>('select current_user::text as name');
    return rows[0]?.name;
  });
  return name ?? '';
}

/**
 * Throws when row-level security would not apply to the login, when migrations are missing, or when there is an
 * unexpected pooler.
 */
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

/**
 * Applies missing migrations to the database at MIGRATE_DATABASE_URL, grants access to the login of DATABASE_URL, and
 * returns the files.
 */
async function migrateExternal(config: Config): Promise<string[]> {
  if (!config.migrateDatabaseUrl) throw new UnusableDatabase(howToMigrate);
  await checkOwnersUrl(config);
  return migrate({ connectionString: config.migrateDatabaseUrl }, { serverLogin: await loginOf(config) });
}

/**
 * Throws when MIGRATE_DATABASE_URL is not the owner's or leads to another database, before anything is created there.
 */
export async function checkOwnersUrl({ databaseUrl, migrateDatabaseUrl }: Config): Promise<void> {
  if (databaseUrl !== undefined && migrateDatabaseUrl !== undefined)
    await withOwner({ databaseUrl, migrateDatabaseUrl }, { name: 'start', needed: 'nothing' }, async () => {});
}

/**
 * Throws when DATABASE_LISTEN_URL leads to another database. A failed connection does not keep a node from starting.
 */
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

/**
 * The connection limit of the embedded PostgreSQL: the connections of every process (pool, limits, changes), and some
 * for commands.
 */
const mostConnections = ({ workers, poolSize }: Config): number => Math.max(60, workers * (poolSize + 3) + 20);

/**
 * Opens the database and applies missing migrations. Throws DirectoryInUse, {@link UnusableDatabase}, SchemaMismatch,
 * or the error of a migration.
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

/** Migrates the configured database and returns the applied files. */
export async function migrateDatabase(config: Config): Promise<string[]> {
  if (config.databaseUrl !== undefined) return migrateExternal(config);
  const applied: string[] = [];
  const embedded = await openConnections(config, (names) => applied.push(...names));
  await embedded.stop();
  return applied;
}

/**
 * Runs an administrator's command as the owner: on the database of a Dealkeep that is running on the same DATA_DIR, on
 * one started for the command, or through MIGRATE_DATABASE_URL. No database is created: a command run in the wrong
 * place would otherwise report on an empty one.
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
      // A Dealkeep that is starting at the same time could not be joined earlier.
      const joined = error instanceof DirectoryInUse ? await join() : null;
      if (joined) return joined;
      throw error;
    }));
  return connected('DATA_DIR', opened.owner ?? {}, work).finally(() => opened.stop());
}
