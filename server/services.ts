/** The services that request handlers need, opened once at start. */

import type pg from 'pg';
import type { Config } from './config/config.ts';
import { openChanges, type Changes } from './database/changes.ts';
import { openDatabase, type Database, type DatabaseOptions } from './database/database.ts';
import { databaseIdentity } from './database/identity.ts';
import { postgresStore, redisStore, type LimitStore } from './http/limit-stores.ts';
import { keepSeconds, openLimits, type RateLimits } from './http/limits.ts';
import { openLoadShedding, type LoadShedding } from './http/load-shedding.ts';
import { openUnreadAnswers, usualUnreadLimits, type LookAfterAnswers } from './http/unread-answers.ts';
import type { Logger } from './lib/log.ts';
import { openServiceMetrics, type ServiceMetrics } from './telemetry/metrics.ts';
import { createMailer, type Mailer } from './mail/transport.ts';
import { openSecrets, type Secrets } from './lib/secrets.ts';
import { withStoreFailures } from './storage/failing.ts';
import { openStorage } from './storage/open.ts';
import { openLastUsed, writeLastUsed, type LastUsed } from './background/last-used.ts';
import type { Storage } from './storage/storage.ts';
import { tracedStorage } from './storage/traced.ts';
import type { Tracing } from './telemetry/tracing.ts';

/** The services that are needed even where no requests are answered. */
export interface CoreServices {
  readonly config: Config;
  readonly database: Database;
  /** For rate limit windows and cookies; whether something has expired is decided in SQL. */
  readonly clock: () => Date;
  readonly log: Logger;
  readonly metrics: ServiceMetrics;
  /** Null when no traces are configured. */
  readonly tracing: Tracing | null;
  /** Stores the bodies of documents. */
  readonly storage: Storage;
  /** Encrypts the secrets that the database stores. */
  readonly secrets: Secrets;
  /** Which credentials were used, until that is written to the database. */
  readonly lastUsed: LastUsed;
}

export interface Services extends CoreServices {
  readonly mail: Mailer;
  readonly limits: RateLimits;
  readonly load: LoadShedding;
  /** Ends responses that their clients do not read. */
  readonly lookAfterAnswers: LookAfterAnswers;
  /** Reports changes in the database as they happen. */
  readonly changes: Changes;
  /** Aborted when the node begins to leave: it is no longer ready, but still answers for a while. */
  readonly leaving: AbortSignal;
  /** Aborted when the server begins to stop: responses that never end by themselves end then. */
  readonly stopping: AbortSignal;
}

interface ServicesOptions {
  readonly log: Logger;
  /** The clock of the tests: app.now() returns its time instead of the real one. */
  readonly clock?: () => Date;
  /** Used instead of the configured mailer. */
  readonly mail?: Mailer;
  /** Milliseconds of silence of the database after which a connection is given up. */
  readonly silenceMillis?: number;
  /** Milliseconds that a request waits for a database connection, and for the shared count of all nodes. */
  readonly waitMillis?: number;
  /** Time limits of statements, of lock waits and of the database's silence, where they differ from the usual. */
  readonly databaseLimits?: Pick<DatabaseOptions, 'statementMillis' | 'lockMillis' | 'silenceMillis'>;
  /** Optional; defaults to new metrics. */
  readonly metrics?: ServiceMetrics;
  /** Records traces of the services and is closed with them; defaults to none. */
  readonly tracing?: Tracing | null;
}

export interface OpenServices {
  readonly services: Services;
  /** Announces that the node is about to stop: /readyz no longer reports ready. */
  leave(): void;
  /**
   * Announces that the server stops, waits for `drain`, which waits for the requests in flight, then closes everything.
   */
  close(drain?: () => Promise<void>): Promise<void>;
}

/**
 * The store in which all nodes count requests together; in Redis, `database` separates the counts of different
 * databases. Undefined when each node counts for itself.
 */
async function limitStore(
  config: Config,
  database: string,
  connection: pg.ClientConfig,
  waitMillis: number | undefined,
): Promise<LimitStore | undefined> {
  const { rateLimitStore, redisUrl, prepare } = config;
  if (rateLimitStore === 'postgres') return postgresStore(connection, prepare, keepSeconds, waitMillis);
  if (rateLimitStore === 'memory' || redisUrl === undefined) return undefined;
  const { openRedis } = await import('./redis/connection.ts');
  return redisStore(await openRedis(redisUrl), database, keepSeconds, waitMillis);
}

/** The change notifications, directly from the database, or through Redis if configured. */
async function openChangesOf(
  { redisUrl }: Config,
  database: string,
  listening: pg.ClientConfig,
  { log, silenceMillis }: Pick<ServicesOptions, 'log' | 'silenceMillis'>,
): Promise<Changes> {
  const onAway = (reason: string) => log.warn({ reason }, 'changes do not arrive: reconnecting');
  if (redisUrl === undefined) {
    const changes = openChanges(listening, onAway, { silenceMillis });
    // Requests are answered only after this, so that a stream opened by a page receives all changes since the page was
    // loaded.
    await changes.begun;
    return changes;
  }
  const [{ openRedis }, { openSharedChanges }] = await Promise.all([
    import('./redis/connection.ts'),
    import('./redis/shared-changes.ts'),
  ]);
  const [reader, writer] = await Promise.all([
    openRedis(redisUrl, { silenceMillis: 5_000 }),
    openRedis(redisUrl, { silenceMillis: 5_000 }),
  ]);
  return openSharedChanges({
    reader,
    writer,
    database,
    listen: () => openChanges(listening, onAway, { saysMissed: true, silenceMillis }),
    onAway: (reason) => log.warn({ reason }, 'changes do not arrive through Redis: listening to the database'),
  });
}

/** Opens only the database and the store; `connection` is the server's login. */
export async function openCoreServices(
  config: Config,
  connection: pg.ClientConfig,
  {
    log,
    clock,
    silenceMillis,
    waitMillis,
    databaseLimits,
    metrics = openServiceMetrics(),
    tracing = null,
  }: ServicesOptions,
): Promise<CoreServices> {
  const opened = await openStorage(config);
  const storage = withStoreFailures(tracing === null ? opened : tracedStorage(opened, tracing));
  const lastUsed = openLastUsed(clock);
  const database = openDatabase({
    connection,
    poolSize: config.poolSize,
    prepare: config.prepare,
    onConnectionLost: (error) => log.warn({ reason: error.message }, 'a connection to the database was lost'),
    onRun: metrics.ran,
    onTrace: tracing?.ran,
    onUse: lastUsed.note,
    ...(clock && { clock }),
    ...(silenceMillis !== undefined && { silenceMillis }),
    ...(waitMillis !== undefined && { waitMillis }),
    ...databaseLimits,
  });
  return {
    config,
    database,
    clock: clock ?? (() => new Date()),
    log,
    metrics,
    tracing,
    storage,
    secrets: openSecrets(config.secretsKeys),
    lastUsed,
  };
}

/** Opens the services of one node on a migrated database; `connection` is the server's login. */
export async function openServices(
  config: Config,
  connection: pg.ClientConfig,
  options: ServicesOptions,
): Promise<OpenServices> {
  const core = await openCoreServices(config, connection, options);
  const { log, database, storage, clock, metrics, tracing } = core;
  const { mail, waitMillis } = options;
  const sharedName = config.redisUrl === undefined ? '' : await databaseIdentity(database);
  const store = await limitStore(config, sharedName, connection, waitMillis);
  const limits = openLimits({
    ceilings: config.rateLimits,
    clock,
    log,
    onExceeded: metrics.limited,
    ...(store && { store }),
  });

  const { listenDatabaseUrl } = config;
  if (!config.prepare && !listenDatabaseUrl)
    log.warn('open pages do not receive changes through a pooler: set DATABASE_LISTEN_URL to the database itself');
  const listening = listenDatabaseUrl ? { connectionString: listenDatabaseUrl } : connection;
  const changes = await openChangesOf(config, sharedName, listening, options);
  const mailer = mail ?? createMailer(config, log);
  const leaving = new AbortController();
  const stopping = new AbortController();
  return {
    services: {
      ...core,
      mail: mailer,
      limits,
      load: openLoadShedding(config.load, log),
      lookAfterAnswers: openUnreadAnswers(usualUnreadLimits, log),
      changes,
      leaving: leaving.signal,
      stopping: stopping.signal,
    },
    leave: () => leaving.abort(),
    async close(drain) {
      leaving.abort();
      stopping.abort();
      await drain?.();
      await changes.close();
      mailer.close();
      await storage.close();
      await limits.close();
      await writeLastUsed(core);
      await database.close();
      await tracing?.close();
    },
  };
}
