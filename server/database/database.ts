/** Runs statements on a pool of connections: each run is one round trip and one transaction. */

import pg from 'pg';
import { classify, NotWritable, unavailable } from './errors.ts';
import { bound, forgetPrepared, pipelined, RolledBack, type Bound, type Next } from './pipelining.ts';
import { openConnectionQueue, type RunKind } from './connection-queue.ts';
import { row, type Row, type Statement } from './statement.ts';

/** The answers of several statements, in their order. */
export type Results<S extends readonly Statement<unknown>[]> = {
  -readonly [K in keyof S]: S[K] extends Statement<infer Result> ? Result : never;
};

export interface Database {
  /** The answer of one statement, in a transaction of its own. Rejects with a class of errors.ts. */
  run<T>(statement: Statement<T>): Promise<T>;
  /** The answers of several statements, sent together in one transaction: all or nothing. Rejects with a class of errors.ts. */
  together<const S extends readonly Statement<unknown>[]>(...statements: S): Promise<Results<S>>;
  /**
   * The same with one more statement, which `next` makes of the answers: a second round trip in the same transaction. What
   * `next` throws takes everything back, and is what this rejects with. `next` does nothing but make a statement.
   */
  followed<const S extends readonly Statement<unknown>[], T>(
    statements: S,
    next: (answers: Results<S>) => Statement<T>,
  ): Promise<T>;
  /** How many connections are open, unused, and how many runs wait for one. */
  connections(): { total: number; idle: number; waiting: number };
  /** Waits for the runs under way, then closes every connection. */
  close(): Promise<void>;
}

/** How long one run took. */
export interface RunTimes {
  /** The statement that the run was made for: the first that does not only enter with a credential. */
  readonly name: string;
  /** From sending it to its answer. */
  readonly seconds: number;
  /** What it waited for a connection before; 0 when one was free. */
  readonly waited: number;
}

/** One run, as a trace shows it; times are those of `performance.now()`. */
export interface TracedRun {
  /** As in {@link RunTimes}. */
  readonly name: string;
  readonly statements: readonly { readonly name: string; readonly text: string }[];
  readonly sent: number;
  readonly ended: number;
  /** What it waited for a connection before, in milliseconds. */
  readonly waited: number;
  /** When the answer to each statement was read: fewer than there are statements when one of them failed. */
  readonly answered: readonly number[];
  /** Why it failed, if it did. */
  readonly error: unknown;
}

export interface DatabaseOptions {
  /** postgres://… of a login that is a member of dealkeep_server. */
  url?: string;
  /** The same, in pg's own form. */
  connection?: pg.ClientConfig;
  poolSize?: number;
  /** False behind a transaction-mode pooler: no prepared statements and no settings at connection. */
  prepare?: boolean;
  /** How long a run may wait for a connection, and for one to be made, in milliseconds. */
  waitMillis?: number;
  /** How long one statement may take, in milliseconds; enforced by the database, so not behind a pooler. */
  statementMillis?: number;
  /** The same for those that take long (statement.ts), and behind a pooler, too. */
  longMillis?: number;
  /** How long a statement may wait for a lock, in milliseconds, where it may take as long; not behind a pooler. */
  lockMillis?: number;
  /** How long the database may stay silent before the connection is given up, in milliseconds. */
  silenceMillis?: number;
  /** Called for connections that broke while they were idle. */
  onConnectionLost?: (error: Error) => void;
  /** Called after every run that was sent, also one that failed. */
  onRun?: (times: RunTimes) => void;
  /** Called with the details of the same run; without it none are gathered. */
  onTrace?: ((run: TracedRun) => void) | undefined;
  /** Called with the digest of every credential that was used, as latin1. */
  onUse?: (holder: string) => void;
  /** The clock of the tests: app.now() returns its time instead of the real one. */
  clock?: () => Date;
}

/** A client that knows whether its server is a standby, which the server says by itself at connection and when it changes. */
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

/** The most runs that wait for a connection. */
const mostWaiting = 500;
/**
 * How long a statement may take, one that takes long, and how long it may wait for a lock, in milliseconds: meanwhile it holds a connection. Many proxies wait a minute for an
 * answer.
 */
export const longest = { statementMillis: 9_000, longMillis: 50_000, lockMillis: 3_000 } as const;

const setClock = row('set_clock', `select set_config('dealkeep.now', $1, true)`);
/** PostgreSQL looks at it when the next statement of the transaction begins. */
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
    // A pooler refuses what it does not know at connection: there they are set on the login, which the doctor checks.
    ...(prepare
      ? {
          statement_timeout: statementMillis,
          lock_timeout: Math.min(statementMillis, lockMillis),
          idle_in_transaction_session_timeout: statementMillis,
          // As in the embedded one: compiling the expressions of a statement pays where it runs for seconds.
          options: '-c TimeZone=UTC -c DateStyle=ISO -c jit=off',
        }
      : {}),
  });
  const lost = (error: Error) => options.onConnectionLost?.(error);
  pool.on('error', lost);
  // While a client is in use the pool does not listen; the run itself reports the loss.
  pool.on('connect', (client) => client.on('error', () => {}));

  // A primary that was demoted still answers on the connections that there are: all of them are left, not only the one
  // on which it was noticed. New ones lead to wherever the primary is by then.
  let generation = 0;
  const generations = new WeakMap<pg.PoolClient, number>();
  pool.on('connect', (client) => generations.set(client, generation));
  const leaveServer = (reason: string) => {
    generation += 1;
    lost(new Error(reason));
  };

  /** A connection to a server that takes writes, as far as is known. Rejects with Unavailable. */
  async function connected(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await pool.connect().catch((error: unknown) => {
        throw unavailable(error);
      });
      const isOld = generations.get(client) !== generation;
      if (!isOld && !(client as unknown as PoolClient).isStandby) return client;
      client.release(true);
      if (isOld) continue;
      // What it answers may be late, and must not admit anybody whose access was revoked.
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
    const silence = setTimeout(() => client.connection.stream.destroy(new Error('No answer in time.')), patience);
    let usable = false;
    try {
      const answers = await pipelined(client, statements, { prepare, answered, next }).catch((error: unknown) => {
        if (!isStale(error)) throw error;
        // The server itself refused and rolled back, so sending it once more is safe.
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

/** The name of the statement that a run is made for; those before it enter with a credential. */
function purposeOf(statements: readonly Statement<unknown>[]): string {
  const purpose = statements.find(({ holder }) => holder === undefined) ?? statements[0];
  return purpose?.name ?? '';
}

/** Whose share of the connections statements take, and which. */
function kindOf(statements: readonly Statement<unknown>[]): RunKind {
  let holder: string | null = null;
  let shape = '';
  for (const statement of statements) {
    holder ??= statement.holder ?? null;
    shape += `${statement.name} `;
  }
  return { holder, shape, first: statements[0]?.first ?? false };
}

/** A prepared statement that is gone (failover, pooler) or whose columns have changed (migration). */
function isStale(error: unknown): boolean {
  return (
    error instanceof pg.DatabaseError &&
    (error.code === '26000' || (error.code === '0A000' && error.routine === 'RevalidateCachedQuery'))
  );
}
