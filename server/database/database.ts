/** Runs statements on a pool of connections: each run is one round trip and one transaction. */

import pg from 'pg';
import { classify, NotWritable, unavailable } from './errors.ts';
import { bound, forgetPrepared, pipelined, RolledBack, type Bound, type Next } from './pipelining.ts';
import { openConnectionQueue, type RunKind } from './connection-queue.ts';
import { row, type Row, type Statement } from './statement.ts';

/** The results of several statements, in their order. */
export type Results<S extends readonly Statement<unknown>[]> = {
  -readonly [K in keyof S]: S[K] extends Statement<infer Result> ? Result : never;
};

export interface Database {
  /** Resolves with the result of one statement, run in a transaction of its own. Rejects with a class of errors.ts. */
  run<T>(statement: Statement<T>): Promise<T>;
  /**
   * Resolves with the results of several statements, sent together in one transaction: all or nothing. Rejects with a
   * class of errors.ts.
   */
  together<const S extends readonly Statement<unknown>[]>(...statements: S): Promise<Results<S>>;
  /**
   * Like `together`, with one more statement that `next` makes from the results: a second round trip in the same
   * transaction. If `next` throws, the transaction is rolled back and the call rejects with that error. `next` must
   * only make a statement.
   */
  followed<const S extends readonly Statement<unknown>[], T>(
    statements: S,
    next: (answers: Results<S>) => Statement<T>,
  ): Promise<T>;
  /** The number of open connections, of idle ones, and of runs that wait for one. */
  connections(): { total: number; idle: number; waiting: number };
  /** Waits for the runs in progress, then closes every connection. */
  close(): Promise<void>;
}

/** How long one run took. */
export interface RunTimes {
  /** Name of the run's main statement: the first that does not authenticate a credential. */
  readonly name: string;
  /** From sending to the response. */
  readonly seconds: number;
  /** Seconds that the run waited for a connection before; 0 when one was free. */
  readonly waited: number;
}

/** One run, as a trace shows it; times are those of `performance.now()`. */
export interface TracedRun {
  /** As in {@link RunTimes}. */
  readonly name: string;
  readonly statements: readonly { readonly name: string; readonly text: string }[];
  readonly sent: number;
  readonly ended: number;
  /** Milliseconds that the run waited for a connection before. */
  readonly waited: number;
  /** When the result of each statement was read; shorter than `statements` when one of them failed. */
  readonly answered: readonly number[];
  /** Why the run failed, if it did. */
  readonly error: unknown;
}

export interface DatabaseOptions {
  /** postgres://… of a login that is a member of dealkeep_server. */
  url?: string;
  /** Alternative to `url`, in pg's own form. */
  connection?: pg.ClientConfig;
  poolSize?: number;
  /** False behind a transaction-mode pooler: no prepared statements, and no settings when a connection is opened. */
  prepare?: boolean;
  /** How long a run may wait for a connection, and a connection may take to open (at least 2,000), in milliseconds. */
  waitMillis?: number;
  /** Time limit of one statement, in milliseconds; enforced by the database, so not applied behind a pooler. */
  statementMillis?: number;
  /** Time limit of a statement with `takesLong` (statement.ts), in milliseconds; also applied behind a pooler. */
  longMillis?: number;
  /**
   * How long a statement may wait for a lock, in milliseconds, within `statementMillis`; not applied behind a pooler.
   */
  lockMillis?: number;
  /** How long the database may stay silent before the connection is dropped, in milliseconds. */
  silenceMillis?: number;
  /** Called for connections that broke while idle. */
  onConnectionLost?: (error: Error) => void;
  /** Called after every run that was sent, including failed ones. */
  onRun?: (times: RunTimes) => void;
  /** Called with the details of the same run; they are collected only when it is given. */
  onTrace?: ((run: TracedRun) => void) | undefined;
  /** Called with the digest of every credential that was used, as latin1. */
  onUse?: (holder: string) => void;
  /** The clock of the tests: app.now() returns its time instead of the real time. */
  clock?: () => Date;
}

/**
 * A client that knows whether its server is a standby: the server reports this when a connection opens and when it
 * changes.
 */
class PoolClient extends pg.Client {
  isStandby = false;
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    const wire = this.connection as unknown as NodeJS.EventEmitter;
    wire.on('parameterStatus', (status: { parameterName: string; parameterValue: string }) => {
      if (status.parameterName === 'in_hot_standby') this.isStandby = status.parameterValue === 'on';
    });
  }
}

/** At most this many runs wait for a connection. */
const mostWaiting = 500;
/**
 * Time limits in milliseconds: of a statement, of a statement with `takesLong`, and of a wait for a lock. A statement
 * occupies a connection meanwhile. Many proxies wait a minute for a response.
 */
export const longest = { statementMillis: 9_000, longMillis: 50_000, lockMillis: 3_000 } as const;

const setClock = row('set_clock', `select set_config('dealkeep.now', $1, true)`);
/** PostgreSQL applies the setting when the next statement of the transaction begins. */
const setLimit = row<unknown, [millis: string]>('set_limit', `select set_config('statement_timeout', $1, true)`);

/** Opens a pool; the first connection is made by the first run. */
export function openDatabase(options: DatabaseOptions): Database {
  const { prepare = true, statementMillis = longest.statementMillis, silenceMillis = 10_000, clock } = options;
  const { longMillis = longest.longMillis, lockMillis = longest.lockMillis } = options;
  const { poolSize = 10, waitMillis = 3_000 } = options;
  const queue = openConnectionQueue({ size: poolSize, waitMillis, most: mostWaiting });
  const pool = new pg.Pool({
    Client: PoolClient,
    ...options.connection,
    ...(options.url ? { connectionString: options.url } : {}),
    application_name: 'dealkeep',
    max: poolSize,
    connectionTimeoutMillis: Math.max(waitMillis, 2_000),
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    // A pooler rejects settings that it does not know when a connection opens; they are then set on the login, which
    // the doctor checks.
    ...(prepare
      ? {
          statement_timeout: statementMillis,
          lock_timeout: Math.min(statementMillis, lockMillis),
          idle_in_transaction_session_timeout: statementMillis,
          // JIT is off, as in the embedded PostgreSQL: compiling expressions pays off only for statements that run for
          // seconds.
          options: '-c TimeZone=UTC -c DateStyle=ISO -c jit=off',
        }
      : {}),
  });
  const lost = (error: Error) => options.onConnectionLost?.(error);
  pool.on('error', lost);
  // The pool does not listen for errors while a client is in use; the run itself reports the loss.
  pool.on('connect', (client) => client.on('error', () => {}));

  // A demoted primary still responds on the existing connections: all of them are dropped, not only the one on which
  // the demotion was noticed. New connections lead to the current primary.
  let generation = 0;
  const generations = new WeakMap<pg.PoolClient, number>();
  pool.on('connect', (client) => generations.set(client, generation));
  const leaveServer = (reason: string) => {
    generation += 1;
    lost(new Error(reason));
  };

  /** Returns a connection to a server that accepts writes, as far as is known. Rejects with Unavailable. */
  async function connected(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await pool.connect().catch((error: unknown) => {
        throw unavailable(error);
      });
      const isOld = generations.get(client) !== generation;
      if (!isOld && !(client as unknown as PoolClient).isStandby) return client;
      client.release(true);
      if (isOld) continue;
      // A standby may return stale data, which must not admit a caller whose access was revoked.
      throw new NotWritable('The database is a standby, which accepts no writes: try again shortly.');
    }
  }

  async function transact(
    statements: readonly Bound[],
    answered: number[] | undefined,
    next: Next | undefined,
    patience: number,
  ): Promise<Row[][]> {
    const client = await connected();
    const silence = setTimeout(
      () => client.connection.stream.destroy(new Error('The database did not answer in time.')),
      patience,
    );
    let usable = false;
    try {
      const answers = await pipelined(client, statements, { prepare, answered, next }).catch((error: unknown) => {
        if (!isStale(error)) throw error;
        // The server itself rejected the statement and rolled back, so sending it once more is safe.
        forgetPrepared(client);
        answered?.splice(0);
        return pipelined(client, statements, { prepare, answered, next });
      });
      usable = client.getTransactionStatus() === 'I';
      if (!usable) throw new Error('A statement opened a transaction of its own: leave out begin.');
      return answers;
    } catch (error) {
      const isTakenBack = error instanceof pg.DatabaseError || error instanceof RolledBack;
      usable = isTakenBack && client.getTransactionStatus() === 'I';
      if (error instanceof pg.DatabaseError && error.code === '25006') {
        usable = false;
        leaveServer('The server no longer accepts writes: it was demoted. Its connections are closed.');
      }
      throw error;
    } finally {
      clearTimeout(silence);
      client.release(!usable);
    }
  }

  async function send(
    statements: readonly Statement<unknown>[],
    followedBy?: (answers: Row[][]) => Statement<unknown>,
  ): Promise<Row[][]> {
    const settings = clock ? [bound(setClock(clock().toISOString()))] : [];
    const takesLong = statements.some((statement) => statement.takesLong);
    if (takesLong) settings.push(bound(setLimit(String(longMillis))));
    const patience = takesLong ? silenceMillis + longMillis : silenceMillis;
    const sent = [...settings, ...statements.map(bound)];
    const next: Next | undefined = followedBy && ((answers) => [bound(followedBy(answers.slice(settings.length)))]);
    const asked = performance.now();
    const waitsBefore = queue.waits();
    const entered = queue.enter(kindOf(statements));
    const hadToWait = queue.waits() > waitsBefore;
    const giveBack = await entered;
    const began = hadToWait ? performance.now() : asked;
    const answered: number[] | undefined = options.onTrace && [];
    let succeeded = false;
    let failure: unknown;
    try {
      const answers = (await transact(sent, answered, next, patience)).slice(settings.length);
      succeeded = true;
      for (const [index, { isUse, holder }] of statements.entries()) {
        if (isUse && holder !== undefined && answers[index]?.length) options.onUse?.(holder);
      }
      return answers;
    } catch (error) {
      failure = error instanceof RolledBack ? error.cause : classify(error);
      throw failure;
    } finally {
      giveBack(succeeded);
      const name = purposeOf(statements);
      const ended = performance.now();
      const waited = began - asked;
      options.onRun?.({ name, seconds: (ended - began) / 1000, waited: waited / 1000 });
      if (options.onTrace && answered)
        options.onTrace({ name, statements: sent, sent: began, ended, waited, answered, error: failure });
    }
  }

  let closed: Promise<void> | undefined;

  return {
    async run<T>(statement: Statement<T>) {
      const [found] = await send([statement]);
      return statement.read(found as Row[]);
    },
    async together<const S extends readonly Statement<unknown>[]>(...statements: S) {
      return readAll(statements, await send(statements));
    },
    async followed<const S extends readonly Statement<unknown>[], T>(
      statements: S,
      next: (answers: Results<S>) => Statement<T>,
    ) {
      let last: Statement<T> | undefined;
      const answers = await send(statements, (found) => (last = next(readAll(statements, found))));
      return (last as Statement<T>).read(answers.at(-1) as Row[]);
    },
    connections: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: queue.waiting() }),
    close: () => (closed ??= pool.end()),
  };
}

const readAll = <const S extends readonly Statement<unknown>[]>(statements: S, answers: readonly Row[][]): Results<S> =>
  statements.map((statement, index) => statement.read(answers[index] as Row[])) as Results<S>;

/** The name of the run's main statement; the statements before it authenticate a credential. */
function purposeOf(statements: readonly Statement<unknown>[]): string {
  const purpose = statements.find(({ holder }) => holder === undefined) ?? statements[0];
  return purpose?.name ?? '';
}

/** The credential and the shape by which the run gets its share of the connections. */
function kindOf(statements: readonly Statement<unknown>[]): RunKind {
  let holder: string | null = null;
  let shape = '';
  for (const statement of statements) {
    holder ??= statement.holder ?? null;
    shape += `${statement.name} `;
  }
  return { holder, shape, first: statements[0]?.first ?? false };
}

/** Whether a prepared statement is missing (failover, pooler) or its columns have changed (migration). */
function isStale(error: unknown): boolean {
  return (
    error instanceof pg.DatabaseError &&
    (error.code === '26000' || (error.code === '0A000' && error.routine === 'RevalidateCachedQuery'))
  );
}
