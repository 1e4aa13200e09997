/** What a node keeps so as not to read and compute the same again (docs/books.md). */

import { hash } from 'node:crypto';

/** The most text that is kept, in characters as the database wrote it, of all deals and of one reading; in memory it is three times as many bytes. */
const most = { characters: 16_000_000, ofOne: 8_000_000 } as const;
/** The most that is kept of one deal, for callers who see different things. */
const mostOfDeal = 2;

interface Entry<T> {
  readonly what: T;
  readonly characters: number;
}

const charactersOf = (entries: ReadonlyMap<string, Entry<unknown>> | undefined): number =>
  [...(entries?.values() ?? [])].reduce((sum, { characters }) => sum + characters, 0);

/**
 * What was read about deals, each under a digest that settles what it is. The database says under which digest a caller's
 * stands at this moment, and gives what is not held: so nothing is ever out of date, and nobody gets what others alone see.
 */
export class Kept<T> {
  /** The deal used last at the end; of a deal what was read last first. */
  readonly #deals = new Map<string, ReadonlyMap<string, Entry<T>>>();
  #characters = 0;

  /** What is held about a deal, by digest; it stays that whatever is kept or dropped meanwhile. */
  of(dealId: string): ReadonlyMap<string, T> {
    const entries = this.#deals.get(dealId);
    if (!entries) return new Map();
    this.#deals.delete(dealId);
    this.#deals.set(dealId, entries);
    return new Map([...entries].map(([digest, { what }]) => [digest, what]));
  }

  /** Keeps it, and drops what was used longest ago where it gets too much. */
  keep(dealId: string, digest: string, what: T, characters: number): void {
    if (characters > most.ofOne) return;
    const others = [...(this.#deals.get(dealId) ?? [])].filter(([other]) => other !== digest);
    this.#drop(dealId);
    const entries = new Map([[digest, { what, characters }], ...others].slice(0, mostOfDeal) as [string, Entry<T>][]);
    this.#deals.set(dealId, entries);
    this.#characters += charactersOf(entries);
    for (const oldest of this.#deals.keys()) {
      if (this.#characters <= most.characters) break;
      this.#drop(oldest);
    }
  }

  #drop(dealId: string): void {
    this.#characters -= charactersOf(this.#deals.get(dealId));
    this.#deals.delete(dealId);
  }
}

/**
 * The same function, which computes its answer about one object once: the answer lives as long as the object. For objects
 * and answers that nobody changes.
 */
export function oncePer<About extends object, Answer>(compute: (about: About) => Answer): (about: About) => Answer {
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
export function oncePerBoth<About extends object, Also, Answer>(
  compute: (about: About, also: Also) => Answer,
): (about: About, also: Also) => Answer {
  const kept = oncePer((_about: About) => new Map<string, Answer>());
  return (about, also) => {
    const answers = kept(about);
    const digest = hash('sha256', JSON.stringify(also), 'base64');
    const answer = answers.has(digest) ? (answers.get(digest) as Answer) : compute(about, also);
    answers.delete(digest);
    answers.set(digest, answer);
    const [oldest] = answers.keys();
    if (answers.size > mostAnswers && oldest !== undefined) answers.delete(oldest);
    return answer;
  };
}
