/** A queue in front of heavy work, of which little is done at once, fair between those who ask for it. */

import { Counts } from './counts.ts';

/** How much is done at once, how much may be queued or under way, and how long one waits at most, in milliseconds. */
interface QueueLimits {
  readonly atOnce: number;
  readonly all: number;
  readonly waitMillis?: number;
}

/** One for whom work is done: a person, a brokerage, an address. */
export interface Party {
  readonly name: string;
  /** The most that it may have queued or under way. */
  readonly most?: number;
}

/** There is no room for one more. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
  /** Whose share is used up: that of whoever asks, or the whole. */
  readonly share: 'own' | 'all';
  /** In how many seconds to try again. */
  readonly retryAfter: number;
  constructor(share: 'own' | 'all', retryAfter: number, message: string) {
    super(message);
    this.share = share;
    this.retryAfter = retryAfter;
  }
}

/** The most parties of which is remembered when they were served. */
const mostRemembered = 1_000;

interface Entry {
  readonly names: readonly string[];
  readonly begin: () => void;
  readonly refuse: () => void;
}

/** A number of each party of an entry, the highest first. */
const highestFirst = ({ names }: Entry, numberOf: (name: string) => number): number[] =>
  names.map(numberOf).toSorted((one, other) => other - one);

/** Below zero where the first difference of two lists is a lower number in the first one. */
function compare(one: readonly number[], other: readonly number[]): number {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const difference = (one[at] ?? 0) - (other[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * A fair queue: what all of its work takes in memory and time is bounded, and nobody gets more of it by asking more often. Each entry counts for
 * all of its parties. Next is the entry whose parties were all served longest ago, so that turns go round between brokerages, and
 * within a brokerage between its people; of the same parties first in, first out. When the queue is full, the newest entry of
 * the parties that have the most is refused. The next begins when work has ended or has called `makeWay`.
 *
 * An entry is refused with what `busy` returns: of the party that has too many, and of null when there is no room, when it has
 * waited too long, and when `signal` is aborted while it waits.
 */
export function fairQueue<P extends Party>(
  { atOnce, all, waitMillis }: QueueLimits,
  busy: (tooManyOf: P | null) => Error,
) {
  /** In the order in which they came. */
  let waiting: Entry[] = [];
  let running = 0;
  /** What each party has queued or under way. */
  const held = new Counts();
  // Kept while there is any work: who asks again then comes after those who have not had a turn yet.
  const served = new Map<string, number>();
  let turns = 0;

  const count = ({ names }: Entry, change: 1 | -1): void => names.forEach((name) => held.add(name, change));
  const lastServed = (entry: Entry): number[] => highestFirst(entry, (name) => served.get(name) ?? 0);
  const heldBy = (entry: Entry): number[] => highestFirst(entry, (name) => held.of(name));

  /** The first entry before which none comes by these numbers. */
  function least(entries: readonly Entry[], numbersOf: (entry: Entry) => number[]): Entry | undefined {
    let found: { readonly entry: Entry; readonly numbers: number[] } | undefined;
    for (const entry of entries) {
      const numbers = numbersOf(entry);
      if (!found || compare(numbers, found.numbers) < 0) found = { entry, numbers };
    }
    return found?.entry;
  }

  function begin(entry: Entry): void {
    waiting = waiting.filter((one) => one !== entry);
    running += 1;
    turns += 1;
    for (const name of entry.names) served.set(name, turns);
    entry.begin();
  }

  function next(): void {
    if (running + waiting.length === 0 || served.size > mostRemembered) served.clear();
    const chosen = running < atOnce ? least(waiting, lastServed) : undefined;
    if (chosen) begin(chosen);
  }

  return async <T>(
    parties: readonly P[],
    work: (makeWay: () => void) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> => {
    if (signal?.aborted) throw busy(null);
    for (const party of parties) if (held.of(party.name) >= (party.most ?? Infinity)) throw busy(party);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const own: Entry = { names: parties.map(({ name }) => name), begin: resolve, refuse: () => leave() };
    function leave(): void {
      if (!waiting.includes(own)) return;
      waiting = waiting.filter((one) => one !== own);
      count(own, -1);
      reject(busy(null));
    }
    waiting.push(own);
    count(own, 1);
    if (running + waiting.length > all)
      least(waiting.toReversed(), (entry) => heldBy(entry).map((number) => -number))?.refuse();
    next();
    const timer = waitMillis === undefined ? undefined : setTimeout(leave, waitMillis);
    signal?.addEventListener('abort', leave, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
    }
    let hasLeft = false;
    const makeWay = (): void => {
      if (hasLeft) return;
      hasLeft = true;
      running -= 1;
      count(own, -1);
      next();
    };
    try {
      return await work(makeWay);
    } finally {
      makeWay();
    }
  };
}

/** What a party of one kind may have, and what it is told when it has that. */
interface Share {
  readonly most: number;
  readonly busy: string;
}

/**
 * A fair queue in which each kind of party has a share: work is done for one of each kind that is named. It refuses with {@link NoRoom}, to be tried
 * again in `retryAfter` seconds, with the sentence of the share that is used up, or with `busy` when there is no room for anybody.
 */
export function queueByShare<Kind extends string>(
  limits: QueueLimits,
  shares: Readonly<Record<Kind, Share>>,
  { retryAfter, busy }: { readonly retryAfter: number; readonly busy: string },
) {
  const queue = fairQueue<Party & { readonly kind: Kind }>(
    limits,
    (of) => new NoRoom(of ? 'own' : 'all', retryAfter, of ? shares[of.kind].busy : busy),
  );
  const kinds = Object.keys(shares) as Kind[];
  return <T>(who: Readonly<Partial<Record<Kind, string>>>, work: (makeWay: () => void) => Promise<T>): Promise<T> =>
    queue(
      kinds.flatMap((kind) =>
        who[kind] === undefined ? [] : [{ kind, name: `${kind} ${who[kind]}`, most: shares[kind].most }],
      ),
      work,
    );
}
