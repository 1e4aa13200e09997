/** The caches of a node: books with what was computed from them, and written reports (docs/books.md). */

import { hash } from 'node:crypto';

/**
 * Limits: the total size, the size of one entry, and the number of entries for one deal, which differ by what their
 * callers may see.
 */
interface CacheLimits {
  readonly size: number;
  readonly ofOne: number;
  readonly ofDeal: number;
}

interface Entry<T> {
  readonly what: T;
  readonly size: number;
}

const sizeOf = (entries: ReadonlyMap<string, Entry<unknown>> | undefined): number =>
  [...(entries?.values() ?? [])].reduce((sum, { size }) => sum + size, 0);

/**
 * A cache of values about deals, each stored under a digest of everything that determines it. Every request reads the
 * digest for its caller from the database, so that no value is stale and no caller gets what only others may see.
 */
export class DealCache<T> {
  readonly #most: CacheLimits;
  /** The most recently used deal comes last; a deal's newest entry comes first. */
  readonly #deals = new Map<string, ReadonlyMap<string, Entry<T>>>();
  #size = 0;

  constructor(most: CacheLimits) {
    this.#most = most;
  }

  /** A snapshot of a deal's values by digest; later changes of the cache do not affect it. */
  of(dealId: string): ReadonlyMap<string, T> {
    const entries = this.#deals.get(dealId);
    if (!entries) return new Map();
    this.#deals.delete(dealId);
    this.#deals.set(dealId, entries);
    return new Map([...entries].map(([digest, { what }]) => [digest, what]));
  }

  /** Stores a value, and evicts the least recently used deals while the total is too large. */
  keep(dealId: string, digest: string, what: T, size: number): void {
    if (size > this.#most.ofOne) return;
    const others = [...(this.#deals.get(dealId) ?? [])].filter(([other]) => other !== digest);
    this.#drop(dealId);
    const entries = new Map([[digest, { what, size }], ...others].slice(0, this.#most.ofDeal) as [string, Entry<T>][]);
    this.#deals.set(dealId, entries);
    this.#size += sizeOf(entries);
    for (const oldest of this.#deals.keys()) {
      if (this.#size <= this.#most.size) break;
      this.#drop(oldest);
    }
  }

  #drop(dealId: string): void {
    this.#size -= sizeOf(this.#deals.get(dealId));
    this.#deals.delete(dealId);
  }
}

/**
 * Memoizes a function of one object; the result lives as long as the object. Only for objects and results that are
 * never changed.
 */
export function memoized<About extends object, Answer>(compute: (about: About) => Answer): (about: About) => Answer {
  const answers = new WeakMap<About, { readonly answer: Answer }>();
  return (about) => {
    const known = answers.get(about) ?? { answer: compute(about) };
    answers.set(about, known);
    return known.answer;
  };
}

/** The maximum number of results kept for one object in {@link memoizedWith}. */
const mostAnswers = 4;

/**
 * Like {@link memoized}, for a function of an object and a plain JSON value; keeps the most recently used results for
 * each object.
 */
export function memoizedWith<About extends object, Also, Answer>(
  compute: (about: About, also: Also) => Answer,
): (about: About, also: Also) => Answer {
  const recentAnswers = memoized((_about: About) => new Map<string, Answer>());
  return (about, also) => {
    const answers = recentAnswers(about);
    const digest = hash('sha256', JSON.stringify(also), 'base64');
    const answer = answers.has(digest) ? (answers.get(digest) as Answer) : compute(about, also);
    answers.delete(digest);
    answers.set(digest, answer);
    const [oldest] = answers.keys();
    if (answers.size > mostAnswers && oldest !== undefined) answers.delete(oldest);
    return answer;
  };
}
