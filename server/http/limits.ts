/**
 * Counts requests in fixed windows of a minute, for this node alone or for all nodes together.
 *
 * Each counted request has a position in its window: first, second, and so on; requests beyond the ceiling are refused.
 * Nodes that count together fetch positions from the shared store in blocks. Each position is given out once, so no
 * more requests than the ceiling pass in any case. A block covers the requests that are waiting and, for a caller who
 * sends many, also the demand expected in the next few seconds, but never more than a small part of the remaining
 * positions. Halfway through a block the next one is fetched, batched with those of other callers, so that few requests
 * wait for the store. Positions that a node has not used when the window ends are lost. A caller at the ceiling is
 * refused from memory.
 */

import { hash } from 'node:crypto';
import type { Ceilings, LimitKind } from '../config/config.ts';
import type { Logger } from '../lib/log.ts';
import { addressGroup } from './client-address.ts';
import type { Addition, LimitStore } from './limit-stores.ts';

export interface Count {
  /** Whether this request is within the limit. */
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Time at which the window ends: Unix time in seconds. */
  readonly resetAt: number;
  /** Whole seconds until the window ends, at least 1: the value of Retry-After. */
  readonly retryAfter: number;
}

export interface RateLimits {
  /** Counts one request of `key` and returns how many remain. `ceiling` replaces the configured one. Never rejects. */
  take(kind: LimitKind, key: string, ceiling?: number): Promise<Count>;
  /** Same as `take`, but without counting: whether one more request would be allowed. */
  peek(kind: LimitKind, key: string, ceiling?: number): Promise<Count>;
  close(): Promise<void>;
}

interface LimitsOptions {
  readonly ceilings: Ceilings;
  readonly clock: () => Date;
  readonly log: Logger;
  /** Where all nodes count together; without it, this node counts on its own. */
  readonly store?: LimitStore;
  /** Called for each count beyond its limit. */
  readonly onExceeded?: (kind: LimitKind) => void;
}

const windowMillis = 60_000;
/**
 * How long a store must keep a counter, by the store's own clock. A window is a minute; the rest allows for nodes whose
 * clocks differ.
 */
export const keepSeconds = 600;
/** How long to stop asking a store after it failed, in milliseconds. */
const pauseMillis = 1_000;
/** How long the store must answer without failing before it is reported as back, in milliseconds. */
const steadyMillis = 2_000;
/** How long a block should last at the rate at which the previous one was used, in milliseconds. */
const blockMillis = 4_000;
/** A node holds at most this fraction (one in `parts`) of a caller's remaining positions in reserve. */
const parts = 16;
/** How long half-used blocks are collected before the next ones are fetched together, in milliseconds. */
const gatherMillis = 100;
/** Maximum number of counters of one window; beyond it the oldest is evicted. */
const mostCounters = 200_000;

/** A request that waits for a position, or for the number of positions given out. */
interface Waiting {
  readonly limit: number;
  readonly counts: boolean;
  readonly answer: (position: number) => void;
}

/** The requests of one caller in one window, as this node knows them. */
class Counter {
  readonly name: string;
  readonly window: number;
  /** Number of positions that the store had given out when it was last asked. */
  known = 0;
  /** The unused positions of the current block: from `next` to `last`. */
  next = 1;
  last = 0;
  /** The next block, fetched before the current one is used up; otherwise null. */
  spare: { readonly next: number; readonly last: number } | null = null;
  /** Number of requests that this node has counted on its own, without the store. */
  alone = 0;
  waiting: Waiting[] = [];
  /** Whether a next block is being or will be fetched even if no request waits for it. */
  isRefilling = false;
  #block = 0;
  #limit = 0;
  #fetchedAt = 0;

  constructor(name: string, window: number) {
    this.name = name;
    this.window = window;
  }

  /** Number of positions used, as far as this node knows. */
  get used(): number {
    return this.known - this.#unused;
  }

  get #unused(): number {
    return this.last - this.next + 1 + (this.spare ? this.spare.last - this.spare.next + 1 : 0);
  }

  /** Whether to fetch the next block: the current one is large and half used, and there is no spare one. */
  get isLow(): boolean {
    return this.spare === null && !this.isRefilling && this.#block >= 4 && this.last - this.next + 1 <= this.#block / 2;
  }

  /**
   * The position of one more request, without asking the store: `limit + 1` if the request is refused, null if the
   * store must be asked.
   */
  atOnce(limit: number): number | null {
    if (this.next > this.last && this.spare) {
      ({ next: this.next, last: this.last } = this.spare);
      this.spare = null;
    }
    if (this.next > this.last) return this.known >= limit ? limit + 1 : null;
    // Positions beyond this limit are left for requests with a higher one.
    if (this.next > limit) return limit + 1;
    this.next += 1;
    return this.next - 1;
  }

  /** Number of positions to fetch at the time `now` (performance.now(), in milliseconds). */
  demand(now: number): number {
    const counting = this.waiting.filter(({ counts }) => counts);
    if (counting.length > 0) this.#limit = Math.max(...counting.map((one) => one.limit));
    else if (!this.isRefilling) return 0;
    const left = Math.max(counting.length > 0 ? 1 : 0, this.#limit - this.known);
    const soon = ((this.#block - this.#unused) * blockMillis) / Math.max(1, now - this.#fetchedAt);
    const ahead = Math.floor(Math.max(0, Math.min(soon, 2 * this.#block, left / parts - this.#unused)));
    const block = Math.min(counting.length + ahead, left);
    if (block === 0) return 0;
    this.#fetchedAt = now;
    this.#block = block + this.#unused;
    return block;
  }

  /** Answers the waiting requests for which positions fetched for others are enough. */
  serve(): void {
    this.waiting = this.waiting.filter(({ limit, counts, answer }) => {
      const position = counts ? this.atOnce(limit) : null;
      if (position !== null) answer(position);
      return position === null;
    });
  }

  /** Adds the positions that the store gave out, and answers the requests that were waiting when it was asked. */
  received(points: number, total: number, waited: readonly Waiting[]): void {
    this.known = total;
    if (points > 0) {
      const block = { next: total - points + 1, last: total };
      if (this.next > this.last) ({ next: this.next, last: this.last } = block);
      else this.spare = block;
    }
    for (const { limit, counts, answer } of waited) answer(counts ? (this.atOnce(limit) ?? limit + 1) : this.used + 1);
  }
}

/** Logs once when the store fails and once when it is steadily back, and pauses requests to it after a failure. */
function watch(log: Logger) {
  let awaySince: number | null = null;
  let failedAt = -Infinity;
  let steadySince: number | null = null;
  return {
    isAsked: (now: number): boolean => now - failedAt >= pauseMillis,
    failed(now: number, error: unknown): void {
      failedAt = now;
      steadySince = null;
      if (awaySince !== null) return;
      awaySince = now;
      const reason = error instanceof Error ? error.message : String(error);
      log.warn({ reason }, 'the shared rate limit store is unavailable: this node counts on its own');
    },
    answered(now: number): void {
      if (awaySince === null) return;
      steadySince ??= now;
      if (now - steadySince < steadyMillis) return;
      log.warn({ awayMillis: Math.round(steadySince - awaySince) }, 'the shared rate limit store is available again');
      awaySince = null;
      steadySince = null;
    },
  };
}

/** Fetches positions from the store: one batch for all requests waiting at that time, and one batch at a time. */
function openFetching(store: LimitStore, log: Logger) {
  const wanted = new Set<Counter>();
  /** Counters whose next block is not urgent. */
  const low = new Set<Counter>();
  let gathering: NodeJS.Timeout | undefined;
  const watched = watch(log);
  let busy = false;

  async function fetchAll(): Promise<void> {
    busy = true;
    while (wanted.size > 0) {
      for (const counter of low) wanted.add(counter);
      low.clear();
      for (const counter of wanted) counter.serve();
      const counters = [...wanted].filter(({ waiting, isRefilling }) => waiting.length > 0 || isRefilling);
      wanted.clear();
      if (counters.length === 0) break;
      const now = performance.now();
      const asked = counters.map((counter) => {
        const points = counter.demand(now);
        const waited = counter.waiting;
        counter.waiting = [];
        return { counter, points, waited };
      });
      const needed = asked.filter(({ points, waited }) => points > 0 || waited.length > 0);
      for (const { counter, points } of asked) if (points === 0) counter.isRefilling = false;
      if (needed.length === 0) break;
      const additions = needed.map(({ counter, points }) => ({ counter: counter.name, points }));
      const totals = watched.isAsked(now) ? await add(additions) : null;
      for (const [index, { counter, points, waited }] of needed.entries()) {
        counter.isRefilling = false;
        const total = totals?.[index];
        if (total === undefined) for (const one of waited) one.answer(countAlone(counter, one));
        else counter.received(points, total, waited);
      }
    }
    busy = false;
  }

  /** The new total of each counter; null if the store has not answered. */
  async function add(additions: readonly Addition[]): Promise<readonly number[] | null> {
    try {
      const totals = await store.add(additions);
      watched.answered(performance.now());
      return totals;
    } catch (error) {
      watched.failed(performance.now(), error);
      return null;
    }
  }

  function fetch(): void {
    if (busy) return;
    busy = true;
    // Requests that arrive in the same turn of the event loop join the batch.
    setImmediate(() => void fetchAll());
  }

  return {
    /** Schedules fetching the next block of this counter, batched with those of others. */
    refill(counter: Counter): void {
      counter.isRefilling = true;
      low.add(counter);
      gathering ??= setTimeout(() => {
        gathering = undefined;
        for (const one of low) wanted.add(one);
        fetch();
      }, gatherMillis).unref();
    },
    /** Returns the position of a request, or, if it is not to be counted, the position it would have. */
    ask: (counter: Counter, limit: number, counts: boolean): Promise<number> => {
      if (!watched.isAsked(performance.now())) return Promise.resolve(countAlone(counter, { limit, counts }));
      return new Promise((answer) => {
        counter.waiting.push({ limit, counts, answer });
        wanted.add(counter);
        fetch();
      });
    },
  };
}

/** The position of a request when this node counts on its own. */
function countAlone(counter: Counter, { limit, counts }: Pick<Waiting, 'limit' | 'counts'>): number {
  if (!counts) return counter.alone + 1;
  if (counter.alone >= limit) return limit + 1;
  counter.alone += 1;
  return counter.alone;
}

/** Opens the counters of one node. */
export function openLimits({ ceilings, clock, log, store, onExceeded }: LimitsOptions): RateLimits {
  const fetching = store && openFetching(store, log);
  let current = 0;
  let counters = new Map<string, Counter>();

  function counterOf(kind: LimitKind, key: string, window: number): Counter {
    if (window !== current) {
      current = window;
      counters = new Map();
    }
    const subject = kind.endsWith('_ip') ? addressGroup(key) : key;
    const id = `${kind}\n${subject}`;
    const known = counters.get(id);
    if (known) return known;
    // Hashed, so that the length is bounded and the store contains no address or account.
    const counter = new Counter(hash('sha256', `${id}\n${window}`, 'base64url'), window);
    const [eldest] = counters.keys();
    if (counters.size >= mostCounters && eldest !== undefined) counters.delete(eldest);
    counters.set(id, counter);
    return counter;
  }

  async function count(kind: LimitKind, key: string, ceiling: number | undefined, counts: boolean): Promise<Count> {
    const limit = ceiling ?? ceilings[kind];
    const now = clock().getTime();
    const window = Math.floor(now / windowMillis);
    const counter = counterOf(kind, key, window);
    const position = await positionOf(counter, limit, counts);
    if (position > limit) onExceeded?.(kind);
    const resetAt = ((window + 1) * windowMillis) / 1000;
    return {
      allowed: position <= limit,
      limit,
      remaining: Math.max(0, limit - position + (counts ? 0 : 1)),
      resetAt,
      retryAfter: Math.max(1, Math.ceil(resetAt - now / 1000)),
    };
  }

  async function positionOf(counter: Counter, limit: number, counts: boolean): Promise<number> {
    if (!fetching) return countAlone(counter, { limit, counts });
    if (counts) {
      const position = counter.atOnce(limit);
      if (position === null) return fetching.ask(counter, limit, true);
      if (position <= limit && counter.isLow) fetching.refill(counter);
      return position;
    }
    return counter.used >= limit ? limit + 1 : fetching.ask(counter, limit, false);
  }

  return {
    take: (kind, key, ceiling) => count(kind, key, ceiling, true),
    peek: (kind, key, ceiling) => count(kind, key, ceiling, false),
    async close() {
      await store?.close();
    },
  };
}
