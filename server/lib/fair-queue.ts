/** A queue for heavy work of which only a little runs concurrently, fair between the parties that request it. */

import { Counts } from './counts.ts';

/** How much work runs concurrently, how much may be queued or running, and the longest wait in milliseconds. */
interface QueueLimits {
  readonly atOnce: number;
  readonly all: number;
  readonly waitMillis?: number;
}

/** A party for whom work is done: a person, a brokerage, an IP address. */
export interface Party {
  readonly name: string;
  /** At most this many entries of the party may be queued or running. */
  readonly most?: number;
  /**
   * Whether the party may hold only as many entries as there is room left for, so that a few parties cannot fill a
   * queue in which work takes long: each leaves half of what it found.
   */
  readonly leavesRoom?: boolean;
}

/** The queue has no room for another entry. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
  /** Whose share is used up: the caller's own, or the whole queue's. */
  readonly share: 'own' | 'all';
  /** Seconds after which to retry. */
  readonly retryAfter: number;
  constructor(share: 'own' | 'all', retryAfter: number, message: string) {
    super(message);
    this.share = share;
    this.retryAfter = retryAfter;
  }
}

/** When more than this many parties' last turns are remembered, all are forgotten. */
const mostRemembered = 1_000;

interface Entry {
  readonly names: readonly string[];
  readonly begin: () => void;
  readonly refuse: () => void;
}

/** A number for each party of an entry, highest first. */
const highestFirst = ({ names }: Entry, numberOf: (name: string) => number): number[] =>
  names.map(numberOf).toSorted((one, other) => other - one);

/** Compares two lists element by element; negative when the first difference is a lower number in `one`. */
function compare(one: readonly number[], other: readonly number[]): number {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const difference = (one[at] ?? 0) - (other[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * A fair queue: the memory and time of its work are bounded, and nobody gets a larger share by sending more requests.
 * Each entry counts for all of its parties. The next entry is the one whose parties were all served longest ago, so
 * that turns alternate between brokerages, and within a brokerage between its people; entries of the same parties are
 * first in, first out. When the queue is full, the newest entry of the parties that hold the most entries is rejected.
 * The next entry starts when work has ended or has called `makeWay`.
 *
 * An entry is rejected with the error that `busy` returns: for the party that has too many entries, or for null when
 * the queue is full, when the entry has waited too long, and when `signal` is aborted while it waits.
 */
export function fairQueue<P extends Party>(
  { atOnce, all, waitMillis }: QueueLimits,
  busy: (tooManyOf: P | null) => Error,
) {
  /** In order of arrival. */
  let waiting: Entry[] = [];
  let running = 0;
  /** Number of entries that each party has queued or running. */
  const held = new Counts();
  // Kept while there is any work, so that a party's next entry comes after those of parties that have not had a turn
  // yet.
  const served = new Map<string, number>();
  let turns = 0;

  const count = ({ names }: Entry, change: 1 | -1): void => names.forEach((name) => held.add(name, change));
  const lastServed = (entry: Entry): number[] => highestFirst(entry, (name) => served.get(name) ?? 0);
  const heldBy = (entry: Entry): number[] => highestFirst(entry, (name) => held.of(name));

  /** The entry with the lowest numbers; the first of several. */
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
    const room = all - running - waiting.length;
    for (const party of parties) {
      // Without any room the queue is full, which is nobody's own doing.
      const most = Math.min(party.most ?? Infinity, party.leavesRoom && room > 0 ? room : Infinity);
      if (held.of(party.name) >= most) throw busy(party);
    }
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

/** The limits of one kind of party, as in {@link Party}, and the error message when one is reached. */
interface Share {
  readonly most: number;
  readonly leavesRoom?: boolean;
  readonly busy: string;
}

/**
 * A fair queue in which each kind of party has a share: work is done for one party of each kind that is named. Rejects
 * with {@link NoRoom}, to be retried after `retryAfter` seconds, with the message of the share that is used up, or with
 * `busy` when the queue is full.
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
        who[kind] === undefined ? [] : [{ ...shares[kind], kind, name: `${kind} ${who[kind]}` }],
      ),
      work,
    );
}
