/** The services that a request handler needs, opened once at start. */

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

/** What is needed also where no requests are answered. */
export interface CoreServices {
  readonly config: Config;
  readonly database: Database;
  /** For windows and cookies; whether something has expired is decided in SQL. */
  readonly clock: () => Date;
  readonly log: Logger;
  readonly metrics: ServiceMetrics;
  /** Null where no traces are asked for. */
  readonly tracing: Tracing | null;
  /** The bodies of documents. */
  readonly storage: Storage;
  /** Encrypts what the database keeps of secrets. */
  readonly secrets: Secrets;
  /** Which credentials were used, until it is written down. */
  readonly lastUsed: LastUsed;
}

export interface Services extends CoreServices {
  readonly mail: Mailer;
  readonly limits: RateLimits;
  readonly load: LoadShedding;
  /** Ends answers that are not taken. */
  readonly lookAfterAnswers: LookAfterAnswers;
  /** What changes in the database, as it happens. */
  readonly changes: Changes;
  /** Aborted when the node begins to leave: it is not ready any more, but still answers for a while. */
  readonly leaving: AbortSignal;
  /** Aborted when the server begins to stop: answers that never end by themselves end then. */
  readonly stopping: AbortSignal;
}

interface ServicesOptions {
  readonly log: Logger;
  /** The clock of the tests: app.now() is its time instead of the real one. */
  readonly clock?: () => Date;
  /** Takes mails instead of the mailer that the configuration asks for. */
  readonly mail?: Mailer;
  /** How long the database may stay silent before a connection is given up, in milliseconds. */
  readonly silenceMillis?: number;
  /** How long a request waits for a connection to the database, and for its count by all nodes, in milliseconds. */
  readonly waitMillis?: number;
  /** How long a statement may take, wait for a lock, and keep the database silent, where that is not as usual. */
  readonly databaseLimits?: Pick<DatabaseOptions, 'statementMillis' | 'lockMillis' | 'silenceMillis'>;
  /** What counts; by default something new. */
  readonly metrics?: ServiceMetrics;
  /** What makes traces of it, which is closed with the services; by default nothing does. */
  readonly tracing?: Tracing | null;
}

export interface OpenServices {
  readonly services: Services;
  /** Says that the node is about to stop: /readyz sends nobody here any more. */
  leave(): void;
  /** Says that the server stops, waits for `drain`, which waits for the requests in flight, then closes everything. */
  close(drain?: () => Promise<void>): Promise<void>;
}

/** Where all nodes count requests together, those of `database` in Redis; undefined when each counts for itself. */
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

/** The changes as the database sends them, or through Redis where there is one. */
async function openChangesOf(
  { redisUrl }: Config,
  database: string,
  listening: pg.ClientConfig,
  { log, silenceMillis }: Pick<ServicesOptions, 'log' | 'silenceMillis'>,
): Promise<Changes> {
  const onAway = (reason: string) => log.warn({ reason }, 'changes do not arrive: connecting again');
  if (redisUrl === undefined) {
    const changes = openChanges(listening, onAway, { silenceMillis });
    // No page is answered before it: a stream that opens then gets what changes from the loading of its page on.
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

/** Opens the database and the store alone; `connection` is the server's login. */
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

/** Opens the services of one node on a database that is there and migrated; `connection` is the server's login. */
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
    log.warn('pages do not receive changes through a pooler: set DATABASE_LISTEN_URL to the database itself');
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
