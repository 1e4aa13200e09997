/** A queue in front of heavy work, which is done one piece at a time and fairly between those who ask. */

/** The most that is queued or under way, of one party and of all, and how long one waits at most. */
export interface QueueLimits {
  readonly each: number;
  readonly all: number;
  readonly waitMillis: number;
}

/** Who asks for a piece of work: the parties that share the queue, the widest first (a brokerage, then a person of it). */
export type Parties = readonly [string, ...string[]];

/** The most parties of which is remembered when they were served. */
const mostRemembered = 1_000;

interface Entry {
  /** The keys of the parties, the widest first. */
  readonly parties: readonly string[];
  readonly own: string;
  readonly begin: () => void;
  readonly refuse: () => void;
}

/**
 * A fair queue of work that is done one piece at a time, so that what all of it takes in memory and time is bounded. Next is the widest party
 * that was served longest ago, within it the next narrower one likewise, and of one party first in, first out. When the queue is full, the
 * newest entry of the party that has the most gives way to one of a party that has less. An entry leaves the queue when `signal` is aborted,
 * and rejects with `busy()` when its party has too many, when there is no room, and when it has waited too long.
 */
export function fairQueue({ each, all, waitMillis }: QueueLimits, busy: () => Error) {
  /** In the order in which they came. */
  let waiting: Entry[] = [];
  let running: Entry | null = null;
  // Counted while anybody waits: who asks again then comes after those who have not had a turn yet.
  const served = new Map<string, number>();
  let turns = 0;

  const places = (): Entry[] => (running ? [running, ...waiting] : waiting);
  const held = (party: string): number => places().filter(({ parties }) => parties.includes(party)).length;
  const lastServed = (party: string): number => served.get(party) ?? 0;

  /** Whether one has its turn before another, who came later. */
  function isBefore(one: Entry, other: Entry): boolean {
    const at = one.parties.findIndex((party, level) => lastServed(party) !== lastServed(other.parties[level] ?? ''));
    return at < 0 || lastServed(one.parties[at] ?? '') < lastServed(other.parties[at] ?? '');
  }

  function next(): void {
    running = null;
    const [first, ...others] = waiting;
    if (!first || served.size > mostRemembered) served.clear();
    if (!first) return;
    const chosen = others.reduce((best, one) => (isBefore(best, one) ? best : one), first);
    turns += 1;
    for (const party of chosen.parties) served.set(party, turns);
    waiting = waiting.filter((one) => one !== chosen);
    running = chosen;
    chosen.begin();
  }

  /** Who waits of those that hold at least two more than who comes, at the widest level where somebody does; null where nobody does. */
  function tooMuch(parties: readonly string[]): Entry | null {
    let among = waiting;
    for (const [level, own] of parties.entries()) {
      const most = among.reduce((much, one) => Math.max(much, held(one.parties[level] ?? '')), 0);
      if (most > held(own) + 1) {
        const last = among.findLast((one) => held(one.parties[level] ?? '') === most);
        const within = among.filter((one) => one.parties[level] === last?.parties[level]);
        const narrower = Math.max(...within.map((one) => held(one.parties.at(-1) ?? '')));
        return within.findLast((one) => held(one.parties.at(-1) ?? '') === narrower) ?? null;
      }
      among = among.filter((one) => one.parties[level] === own);
    }
    return null;
  }

  return async <T>(whose: Parties, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    const own = whose.at(-1) ?? '';
    const parties = whose.map((_, level) => whose.slice(0, level + 1).join(' '));
    if (signal.aborted || places().filter((one) => one.own === own).length >= each) throw busy();
    if (places().length >= all) {
      const other = tooMuch(parties);
      if (!other) throw busy();
      other.refuse();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      waiting = waiting.filter((one) => one !== place);
      reject(busy());
    };
    const place: Entry = { parties, own, begin: resolve, refuse: leave };
    const timer = setTimeout(leave, waitMillis);
    signal.addEventListener('abort', leave, { once: true });
    waiting.push(place);
    if (!running) next();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    }
    try {
      return await work();
    } finally {
      next();
    }
  };
}
