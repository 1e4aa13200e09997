/** Counts requests in fixed windows of a minute, for this node alone or for all nodes together. */

import { hash } from 'node:crypto';
import pg from 'pg';
import { RateLimiterMemory, RateLimiterPostgres, type RateLimiterAbstract } from 'rate-limiter-flexible';
import type { Ceilings } from '../config.ts';
import type { Logger } from '../log.ts';
import { addressGroup } from './client-address.ts';

/** What is counted; each kind has its ceiling in the configuration. */
export type LimitKind = keyof Ceilings;

export interface Count {
  /** Whether this request is within the limit. */
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** When the window ends: Unix time in seconds. */
  readonly resetAt: number;
  /** Whole seconds until then, at least 1: the value of Retry-After. */
  readonly retryAfter: number;
}

export interface RateLimits {
  /** Counts one request of `key` and tells where that leaves it. `ceiling` replaces the configured one. Never rejects. */
  take(kind: LimitKind, key: string, ceiling?: number): Promise<Count>;
  /** The same without counting: whether one more would be allowed. */
  peek(kind: LimitKind, key: string, ceiling?: number): Promise<Count>;
  close(): Promise<void>;
}

export interface LimitsOptions {
  readonly ceilings: Ceilings;
  readonly clock: () => Date;
  readonly log: Logger;
  /** The database that all nodes count in, as the server's role; left out, this node counts for itself. */
  readonly store?: pg.PoolConfig;
}

const windowMillis = 60_000;
// The window is part of the key, so a counter only has to outlive its window; clocks of nodes may differ by as much.
const keepSeconds = 120;
const pauseMillis = 1_000;

/** A counter that never says no: the ceiling differs from call to call, so we compare. */
const counting = { points: 2_000_000_000, duration: keepSeconds, keyPrefix: '' };

/** Asks the shared store, gives up on it for a moment after a failure, and tells the log when it goes and comes back. */
function watched(pool: pg.Pool, log: Logger, clock: () => number) {
  let awaySince: number | null = null;
  let askAgainAt = 0;
  const lost = (error: unknown) => {
    askAgainAt = clock() + pauseMillis;
    if (awaySince !== null) return;
    awaySince = clock();
    log.warn(
      { reason: error instanceof Error ? error.message : String(error) },
      'The shared rate limit store is away: this node counts for itself',
    );
  };
  return {
    // Unnamed on purpose: named statements do not survive a transaction-mode pooler.
    async query({ text, values }: { text: string; values: unknown[] }) {
      if (awaySince !== null && clock() < askAgainAt) throw new Error('The shared rate limit store is away.');
      try {
        const result = await pool.query({ text, values });
        if (awaySince !== null) {
          log.warn({ awayMillis: clock() - awaySince }, 'The shared rate limit store is back');
          awaySince = null;
        }
        return result;
      } catch (error) {
        lost(error);
        throw error;
      }
    },
  };
}

/** Opens the counters; nothing is connected before the first request. */
export function openLimits({ ceilings, clock, log, store }: LimitsOptions): RateLimits {
  const own = new RateLimiterMemory(counting);
  const pool =
    store &&
    new pg.Pool({
      ...store,
      application_name: 'dealkeep limits',
      max: 4,
      connectionTimeoutMillis: 1_000,
      query_timeout: 2_000,
      keepAlive: true,
    });
  // A connection that breaks while idle is replaced by the next count.
  pool?.on('error', () => {});
  const counters: RateLimiterAbstract = pool
    ? new RateLimiterPostgres({
        ...counting,
        storeClient: watched(pool, log, () => performance.now()),
        storeType: 'client',
        schemaName: 'limits',
        tableName: 'counters',
        tableCreated: true,
        insuranceLimiter: own,
      })
    : own;

  async function count(kind: LimitKind, key: string, ceiling: number | undefined, points: 0 | 1): Promise<Count> {
    const limit = ceiling ?? ceilings[kind];
    const now = clock().getTime();
    const window = Math.floor(now / windowMillis);
    const subject = kind.endsWith('_ip') ? addressGroup(key) : key;
    // Digested: the length is bounded, and no address or account stands in the store.
    const counter = hash('sha256', `${kind}\n${subject}\n${window}`, 'base64url');
    const { consumedPoints: used = 0 } =
      (await (points ? counters.penalty(counter, points) : counters.get(counter))) ?? {};
    const resetAt = ((window + 1) * windowMillis) / 1000;
    return {
      allowed: points ? used <= limit : used < limit,
      limit,
      remaining: Math.max(0, limit - used),
      resetAt,
      retryAfter: Math.max(1, Math.ceil(resetAt - now / 1000)),
    };
  }

  return {
    take: (kind, key, ceiling) => count(kind, key, ceiling, 1),
    peek: (kind, key, ceiling) => count(kind, key, ceiling, 0),
    async close() {
      await pool?.end();
    },
  };
}
