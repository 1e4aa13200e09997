/**
 * Counts requests in fixed windows of a minute, for this node alone or for all nodes together.
 *
 * Each counted request has a position in its window: the first, the second, and so on; those beyond the ceiling are
 * refused. Nodes that count together fetch positions from the shared store in blocks: each position is given out once, so
 * that whatever happens no more than the ceiling pass. A block is as large as the demand that waits for it, and, for a
 * caller who sends many, what they send in a few seconds besides, never more than a small part of what is left. Half-way
 * through a block the next one is asked for, together with those of other callers, so that hardly a request waits for the
 * store. What a node does not use of its blocks is lost with the window. A caller at the ceiling is refused from memory.
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
  /** When the window ends: Unix time in seconds. */
  readonly resetAt: number;
  /** Whole seconds until then, at least 1: the value of Retry-After. */
  readonly retryAfter: number;
}

export interface RateLimits {
  /** Counts one request of `key` and returns what is left to it. `ceiling` replaces the configured one. Never rejects. */
  take(kind: LimitKind, key: string, ceiling?: number): Promise<Count>;
  /** The same without counting: whether one more would be allowed. */
  peek(kind: LimitKind, key: string, ceiling?: number): Promise<Count>;
  close(): Promise<void>;
}

interface LimitsOptions {
  readonly ceilings: Ceilings;
  readonly clock: () => Date;
  readonly log: Logger;
  /** Where all nodes count together; left out, this node counts for itself. */
  readonly store?: LimitStore;
  /** Called with each count beyond its limit. */
  readonly onExceeded?: (kind: LimitKind) => void;
}

const windowMillis = 60_000;
/** For how long a store has to keep a counter, by a clock of its own: a window is a minute, and clocks of nodes may be off by some more. */
export const keepSeconds = 600;
/** How long a store that failed is left alone. */
const pauseMillis = 1_000;
/** How long it must answer until it is said to be back. */
const steadyMillis = 2_000;
/** A block should last so long at the rate at which the last one was used. */
const blockMillis = 4_000;
/** What a node has of a caller's positions and does not use yet is at most this part of what is left. */
const parts = 16;
/** For so long those are gathered whose block is half used, to be asked for together. */
const gatherMillis = 100;
/** The most counters of one window; then the eldest is forgotten. */
const mostCounters = 200_000;

/** A caller that waits for a position, or for how many there are. */
interface Waiting {
  readonly limit: number;
  readonly counts: boolean;
  readonly answer: (position: number) => void;
}

/** The requests of one caller in one window, as this node knows them. */
class Counter {
  readonly name: string;
  readonly window: number;
  /** How many positions the store had given out when it was last asked. */
  known = 0;
  /** The positions of the block that are still here: from `next` to `last`. */
  next = 1;
  last = 0;
  /** The block that was fetched before the one from `next` to `last` is used up; null when none was. */
  spare: { readonly next: number; readonly last: number } | null = null;
  /** How many this node has counted for itself alone. */
  alone = 0;
  waiting: Waiting[] = [];
  /** Whether the next positions are being fetched, or are to be, although no request waits for them. */
  isRefilling = false;
  #block = 0;
  #limit = 0;
  #fetchedAt = 0;

  constructor(name: string, window: number) {
    this.name = name;
    this.window = window;
  }

  /** How many have been used, as far as this node knows. */
  get used(): number {
    return this.known - this.#unused;
  }

  get #unused(): number {
    return this.last - this.next + 1 + (this.spare ? this.spare.last - this.spare.next + 1 : 0);
  }

  /** Whether it is time for the next block: a large one is half used, and there is no other. */
  get isLow(): boolean {
    return this.spare === null && !this.isRefilling && this.#block >= 4 && this.last - this.next + 1 <= this.#block / 2;
  }

  /** The position of one more request without asking anybody, one beyond the limit where it is refused, or null. */
  atOnce(limit: number): number | null {
    if (this.next > this.last && this.spare) {
      ({ next: this.next, last: this.last } = this.spare);
      this.spare = null;
    }
    if (this.next > this.last) return this.known >= limit ? limit + 1 : null;
    // What is beyond this limit is left for a higher one.
    if (this.next > limit) return limit + 1;
    this.next += 1;
    return this.next - 1;
  }

  /** How many positions to fetch at `now`, in milliseconds. */
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

  /** Answers who can be answered without asking: what came for others may be enough for them. */
  serve(): void {
    this.waiting = this.waiting.filter(({ limit, counts, answer }) => {
      const position = counts ? this.atOnce(limit) : null;
      if (position !== null) answer(position);
      return position === null;
    });
  }

  /** Takes in what the store gave, and answers those who waited when it was asked. */
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

/** Logs when the store fails and when it is back for good, each once, and does not ask it for a moment after a failure. */
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
      log.warn({ reason }, 'The shared rate limit store is away: this node counts for itself');
    },
    answered(now: number): void {
      if (awaySince === null) return;
      steadySince ??= now;
      if (now - steadySince < steadyMillis) return;
      log.warn({ awayMillis: Math.round(steadySince - awaySince) }, 'The shared rate limit store is back');
      awaySince = null;
      steadySince = null;
    },
  };
}

/** Asks the store for positions: for whatever is waited for at one moment together, and not again before it has answered. */
function openFetching(store: LimitStore, log: Logger) {
  const wanted = new Set<Counter>();
  /** Those whose next block can wait a moment. */
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

  /** How many each counter has now; null where the store has not answered. */
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
    // With it goes what else comes in the same moment.
    setImmediate(() => void fetchAll());
  }

  return {
    /** Has the next block of this counter fetched, with those of others. */
    refill(counter: Counter): void {
      counter.isRefilling = true;
      low.add(counter);
      gathering ??= setTimeout(() => {
        gathering = undefined;
        for (const one of low) wanted.add(one);
        fetch();
      }, gatherMillis).unref();
    },
    /** The position of a request. */
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

/** The position that this node gives a request for itself. */
function countAlone(counter: Counter, { limit, counts }: Pick<Waiting, 'limit' | 'counts'>): number {
  if (!counts) return counter.alone + 1;
  if (counter.alone >= limit) return limit + 1;
  counter.alone += 1;
  return counter.alone;
}

/** Opens the counters. */
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
    // Digested: the length is bounded, and no address or account stands in the store.
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
