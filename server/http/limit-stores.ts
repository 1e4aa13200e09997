/** The stores in which several nodes count together: PostgreSQL or Redis. */

import pg from 'pg';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Redis } from '../redis/connection.ts';

/** Points to add to a counter; 0 only reads its total. */
export interface Addition {
  readonly counter: string;
  readonly points: number;
}

export interface LimitStore {
  /**
   * Adds the points, with each counter named once, and returns the new total of each. The age and expiry of a counter
   * go by the store's own clock, because the clocks of nodes differ. Rejects when the store does not answer in time.
   */
  add(additions: readonly Addition[]): Promise<number[]>;
  close(): Promise<void>;
}

/** How long the store may take, in milliseconds; the default. */
const patience = 1_000;

// In the order of the keys, so that two nodes that count for the same callers do not deadlock.
const addPoints = `
  with given as (select * from unnest($1::text[], $2::integer[]) as one (key, points)),
    added as (
      insert into limits.counters as counter (key, points, expire)
      select key, points, extract(epoch from now()) * 1000 + $3::bigint from given where points > 0 order by key
      on conflict (key) do update set points = counter.points + excluded.points
      returning key, points)
  select key, points from added
  union all
  select counter.key, counter.points from limits.counters counter join given using (key) where given.points = 0`;

/** Counts in the unlogged table limits.counters, with all additions in one statement. */
export function postgresStore(
  connection: pg.PoolConfig,
  prepare: boolean,
  keepSeconds: number,
  waitMillis = patience,
): LimitStore {
  const pool = new pg.Pool({
    ...connection,
    application_name: 'dealkeep limits',
    max: 2,
    connectionTimeoutMillis: waitMillis,
    query_timeout: waitMillis,
    keepAlive: true,
  });
  // The next count replaces a connection that broke while idle.
  pool.on('error', () => {});
  // Named statements do not survive a transaction-mode pooler.
  const named = prepare ? { name: 'limits_add' } : {};
  return {
    async add(additions) {
      const values = [
        additions.map(({ counter }) => counter),
        additions.map(({ points }) => points),
        keepSeconds * 1000,
      ];
      const { rows } = await pool.query<{ key: string; points: number }>({ ...named, text: addPoints, values });
      const found = new Map(rows.map(({ key, points }) => [key, points]));
      return additions.map(({ counter }) => found.get(counter) ?? 0);
    },
    close: () => pool.end(),
  };
}

/** Counts in Redis, which expires counters by itself, for the nodes of one `database` (databaseIdentity()). */
export function redisStore(redis: Redis, database: string, keepSeconds: number, waitMillis = patience): LimitStore {
  const counters = new RateLimiterRedis({
    storeClient: redis,
    useRedisPackage: true,
    rejectIfRedisNotReady: true,
    keyPrefix: `dealkeep:limits:${database}`,
    // So high that Redis never refuses: ceilings differ from call to call, so the node compares.
    points: 2_000_000_000,
    duration: keepSeconds,
  });
  return {
    async add(additions) {
      const { promise: late, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(new Error('No answer in time.')), waitMillis);
      const one = async ({ counter, points }: Addition) =>
        (await (points > 0 ? counters.penalty(counter, points) : counters.get(counter)))?.consumedPoints ?? 0;
      return Promise.race([Promise.all(additions.map(one)), late]).finally(() => clearTimeout(timer));
    },
    async close() {
      redis.destroy();
    },
  };
}
