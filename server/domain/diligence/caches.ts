/** The caches of a node: books that it has read and what it has computed from them, and reports that it has written (docs/books.md). */

import { hash } from 'node:crypto';

/** The most that is kept: the size of all, and of one; and how many of one deal, for callers who see different things. */
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
 * What is known about deals, each under a digest that settles what it is. What the database answers at this moment says under which digest a
 * caller's stands: so nothing is ever out of date, and nobody gets what others alone see.
 */
export class DealCache<T> {
  readonly #most: CacheLimits;
  /** The deal used last at the end; of a deal what was read last first. */
  readonly #deals = new Map<string, ReadonlyMap<string, Entry<T>>>();
  #size = 0;

  constructor(most: CacheLimits) {
    this.#most = most;
  }

  /** What is held about a deal, by digest; it stays that whatever is kept or dropped meanwhile. */
  of(dealId: string): ReadonlyMap<string, T> {
    const entries = this.#deals.get(dealId);
    if (!entries) return new Map();
    this.#deals.delete(dealId);
    this.#deals.set(dealId, entries);
    return new Map([...entries].map(([digest, { what }]) => [digest, what]));
  }

  /** Keeps it, and drops what was used longest ago where it gets too much. */
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
 * The same function, which computes its answer about one object once: the answer lives as long as the object. For objects
 * and answers that nobody changes.
 */
export function memoized<About extends object, Answer>(compute: (about: About) => Answer): (about: About) => Answer {
  const answers = new WeakMap<About, { readonly answer: Answer }>();
  return (about) => {
    const known = answers.get(about) ?? { answer: compute(about) };
    answers.set(about, known);
    return known.answer;
  };
}

/** The most answers about one object that are kept, where they hang on something else too. */
const mostAnswers = 4;

/** The same where the answer also hangs on something that is plain JSON: those answered last about one object are kept. */
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
