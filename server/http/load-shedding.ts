/**
 * Limits how many requests are answered at once; others wait in a queue. While few wait, the queue is first in, first out. While many wait, it
 * is last in, first out: the first have waited long already, and of more than can be answered some are answered in time this way instead of
 * all too late. When many have waited for a second and more keep coming, those that have waited too long are refused; a burst that is over by
 * then is answered whole. Nothing of a request is read before it has a slot but its head.
 *
 * A refusal begins an overload, of two seconds at first and of four while too many keep coming. During it half as many requests are answered at
 * once, and the queue is as short as the measured rate of answers allows, so that what is admitted is answered about as soon as at other
 * times; everything else is refused at once, which costs least before anything is made of the request. Then, for a moment, a longer queue is
 * allowed, with no more answered at once, so that nobody is answered later for it: when all that come fit in, the overload is over.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counts } from '../lib/counts.ts';
import type { Logger } from '../lib/log.ts';
import { bearerIn } from './bearer-token.ts';
import { Problem, retryAfter } from './problem.ts';
import { resourcePaths } from './resource-metadata.ts';
import { restPath } from './rest-path.ts';
import { sessionIn } from './session.ts';

export interface LoadLimits {
  /** How many requests are answered at once. */
  readonly atOnce: number;
  /** How long a request may be queued, in milliseconds. */
  readonly waitMillis: number;
  /** For how long more may come than can be answered before anybody is refused, in milliseconds. */
  readonly burstMillis?: number;
  /** Within how long all that are answered or queued are to be answered during an overload, in milliseconds. */
  readonly soonMillis?: number;
  /** For how long a longer queue is tried after an overload, in milliseconds. */
  readonly probeMillis?: number;
}

export interface LoadShedding {
  /** Calls `start` as soon as the request has a slot, or `refuse`. */
  admit(request: IncomingMessage, response: ServerResponse, start: () => void, refuse: () => void): void;
  /** Frees the slot of an answer that only waits to be sent. */
  releaseSlot(response: ServerResponse): void;
  /** Whether an overload lasts. */
  isOverloaded(): boolean;
  /** Whether there is no place for a request while it is overloaded; it is then to be refused, as if it had waited. */
  hasNoPlace(asked: Asked): boolean;
  /** Notes that a request to this interface was refused. */
  refused(name: string): void;
  /** How many are being answered, how many wait, and how many were refused, by interface. */
  state(): { answering: number; waiting: number; refused: ReadonlyMap<string, number> };
}

/** The answer to a request that is refused, in the form of the interface that was meant. */
export const tooMuch = (): Problem =>
  new Problem(
    503,
    'busy',
    'More is asked for at this moment than can be answered, and nothing was done: try again in a moment.',
    retryAfter(1),
  );

/** The most requests that wait. */
const longestQueue = 1_000;
/** How long a request waits at most while many wait and more come, in milliseconds. */
const longWaitMillis = 80;
/** How long a burst may last; and how long after an overload what comes is no burst, in milliseconds. */
const usualBurstMillis = 1_000;
const calmMillis = 8_000;
/** How long an overload lasts, at first and at most, and for how long a longer queue is tried then, in milliseconds. */
const overloadMillis = 2_000;
const longestOverloadMillis = 4_000;
const usualProbeMillis = 200;
const usualSoonMillis = 15;
/** Over how long the rate is measured, in milliseconds. */
const rateMillis = 100;
/** How often those that have waited too long are looked for, in milliseconds. */
const every = 50;
/** How often the log says that requests are refused, in milliseconds. */
const saidEvery = 10_000;

const operators = new Set(['/healthz', '/readyz', '/metrics']);

/** Whether this is asked by those who operate us, who do not wait. */
export const isForOperators = (target: string): boolean => operators.has(target);

/** What programs ask with a token; at the origin, which is one of the paths of tools, people ask too, with a session. */
const programs = new RegExp(
  String.raw`^(?:${[restPath, ...resourcePaths].filter((path) => path !== '').join('|')})(?:/|\?|$)`,
);

/** The first lines of a request, as far as they say whose it is. */
export interface Asked {
  readonly target: string;
  readonly header: (name: 'authorization' | 'cookie' | 'x-forwarded-for') => string | undefined;
  readonly remoteAddress: string | undefined;
}

/** Whose request it is, as far as it says so itself: by its token or session, else by the address it comes from. */
function credentialOf({ target, header, remoteAddress }: Asked): string {
  const own = programs.test(target) ? bearerIn(header('authorization') ?? '') : sessionIn(header('cookie') ?? '');
  return own || `${remoteAddress} ${header('x-forwarded-for')?.split(',').at(-1) ?? ''}`;
}

interface Waiting {
  readonly credential: string;
  readonly response: ServerResponse;
  readonly since: number;
  readonly start: () => void;
  readonly refuse: () => void;
}

/** Opens the queue of one node in front of its app. */
export function openLoadShedding(
  {
    atOnce,
    waitMillis,
    burstMillis = usualBurstMillis,
    soonMillis = usualSoonMillis,
    probeMillis = usualProbeMillis,
  }: LoadLimits,
  log: Logger,
): LoadShedding {
  const answering = new Map<ServerResponse, { credential: string; request: IncomingMessage }>();
  const answeringFor = new Counts();
  const waitingFor = new Counts();
  /** More than this is many. */
  const many = 2 * atOnce;
  /** How many are answered at once until an overload is over: each then waits half as long for the event loop and for PostgreSQL. */
  const overloadSlots = Math.ceil(atOnce / 2);
  /** In the order in which they came. */
  let queue: Waiting[] = [];
  let sweeping: NodeJS.Timeout | undefined;
  let resting = 0;
  let countedAt = -Infinity;
  let overloadUntil = -Infinity;
  /** How long the next overload lasts. */
  let overloadFor = overloadMillis;
  /** Since when many wait. */
  let longSince = Infinity;
  /** How many answers end in a millisecond; null before that was measured. */
  let rate: number | null = null;
  let ended = 0;
  let countedSince = -Infinity;
  const refusedAt = new Map<string, number>();
  let unsaid = 0;
  let saidAt = -Infinity;

  function release(response: ServerResponse): void {
    const known = answering.get(response);
    if (!known) return;
    answering.delete(response);
    answeringFor.add(known.credential, -1);
    ended += 1;
  }

  /** Measures the rate anew, as soon as there is enough to count. */
  function measureRate(now: number): void {
    const took = now - countedSince;
    if (took < rateMillis) return;
    rate = rate === null ? ended / took : (rate + ended / took) / 2;
    ended = 0;
    countedSince = now;
  }

  /** Counts the slots in use: an answer that is being sent has none, nor has a request whose body is still arriving. */
  function countSlots(now: number): void {
    if (now - countedAt < 1) return;
    countedAt = now;
    resting = 0;
    for (const [response, { request }] of answering) {
      if (response.headersSent) release(response);
      else if (!request.complete) resting += 1;
    }
  }

  const slotsTaken = (): number => answering.size - Math.min(resting, answering.size);
  const slotsAt = (now: number): number => (now < overloadUntil + probeMillis ? overloadSlots : atOnce);
  const isFull = (now: number): boolean => slotsTaken() >= slotsAt(now);
  /** One credential has half of the slots at most, so that what others ask for is always being answered as well. */
  const hasShare = (credential: string, now: number): boolean =>
    answeringFor.of(credential) < Math.ceil(slotsAt(now) / 2);

  /** Whether one more can be answered now. */
  function mayBegin(credential: string, now: number): boolean {
    if (isFull(now) || !hasShare(credential, now)) countSlots(now);
    return !isFull(now) && hasShare(credential, now);
  }

  // One function for all responses: an answer may stay open for long.
  function closed(this: ServerResponse): void {
    release(this);
    next();
  }

  function beginAnswering(
    { credential, response, start }: Omit<Waiting, 'since' | 'refuse'>,
    request: IncomingMessage,
  ): void {
    answering.set(response, { credential, request });
    answeringFor.add(credential, 1);
    response.on('close', closed);
    start();
  }

  function removeAt(at: number): Waiting {
    const [waiting] = queue.splice(at, 1) as [Waiting];
    waitingFor.add(waiting.credential, -1);
    if (queue.length <= many) longSince = Infinity;
    if (queue.length === 0) {
      clearInterval(sweeping);
      sweeping = undefined;
    }
    return waiting;
  }

  /** The index of the next in the queue whose credential has slots left, or -1. */
  function nextAt(now: number): number {
    const may = ({ credential }: Waiting) => hasShare(credential, now);
    const enough = now < overloadUntil + probeMillis ? overloadSlots : many;
    return queue.length > enough ? queue.findLastIndex(may) : queue.findIndex(may);
  }

  function next(): void {
    const now = performance.now();
    if (queue.length > 0 && isFull(now)) countSlots(now);
    while (queue.length > 0 && !isFull(now)) {
      const at = nextAt(now);
      if (at < 0) return;
      const waiting = removeAt(at);
      // Gone meanwhile.
      if (waiting.response.destroyed) continue;
      beginAnswering(waiting, waiting.response.req);
    }
  }

  /** How many may be queued during an overload: as many as are answered soon, but some in any case, so that no slot stays empty. */
  function mostQueuedWhileOverloaded(now: number): number {
    measureRate(now);
    if (rate === null) return overloadSlots;
    return Math.max(Math.ceil(atOnce / 8), Math.min(overloadSlots, Math.ceil(rate * soonMillis) - slotsTaken()));
  }

  /** Begins an overload, unless one lasts. */
  function startOverload(now: number): void {
    if (now < overloadUntil) return;
    if (now >= overloadUntil + probeMillis) {
      // What ended while less was asked for says nothing of the rate.
      rate = null;
      ended = 0;
      countedSince = now;
      overloadFor = overloadMillis;
    }
    overloadUntil = now + overloadFor;
    overloadFor = Math.min(2 * overloadFor, longestOverloadMillis);
  }

  /** How many may wait at this moment. */
  function mostQueued(now: number): number {
    if (now < overloadUntil) return mostQueuedWhileOverloaded(now);
    return now < overloadUntil + probeMillis ? many : Infinity;
  }

  /** One more has come: of those who have waited long, up to `most` go, so that a queue that grows becomes short again. */
  function makeRoom(now: number, most: number): void {
    const isOverloaded = now < overloadUntil;
    const enough = isOverloaded ? overloadSlots : many;
    const isBurst = now - longSince < burstMillis && now - overloadUntil > calmMillis;
    for (let gone = 0; gone < most && queue.length > enough; gone += 1) {
      const isLate = !isBurst && queue[0] !== undefined && (isOverloaded || now - queue[0].since >= longWaitMillis);
      if (!isLate && queue.length <= longestQueue) return;
      startOverload(now);
      removeAt(0).refuse();
    }
  }

  /** Whether one more of this credential is too many for the queue, of which one credential may fill half. */
  function isTooMuch(credential: string, now: number): boolean {
    const most = mostQueued(now);
    if (queue.length < most) return waitingFor.of(credential) >= Math.min(most, longestQueue) / 2;
    startOverload(now);
    // Two at most are refused for each that comes, with itself: more at once would keep all others waiting meanwhile.
    makeRoom(now, 1);
    return true;
  }

  /** Refuses those who have waited as long as anybody may. */
  function sweep(): void {
    const now = performance.now();
    while (queue[0] && now - queue[0].since >= waitMillis) removeAt(0).refuse();
    next();
  }

  return {
    admit(request, response, start, refuse) {
      const { url = '', headers, socket } = request;
      if (isForOperators(url)) return start();
      const now = performance.now();
      const header = (name: keyof typeof headers) => headers[name]?.toString();
      const credential = credentialOf({ target: url, header, remoteAddress: socket.remoteAddress });
      if (mayBegin(credential, now)) return beginAnswering({ credential, response, start }, request);
      if (isTooMuch(credential, now)) return refuse();
      queue.push({ credential, response, since: now, start, refuse });
      waitingFor.add(credential, 1);
      if (queue.length > many) longSince = Math.min(longSince, now);
      makeRoom(now, 2);
      sweeping ??= setInterval(sweep, Math.min(every, waitMillis)).unref();
    },
    releaseSlot(response) {
      release(response);
      next();
    },
    isOverloaded: () => mostQueued(performance.now()) < Infinity,
    hasNoPlace(asked) {
      const now = performance.now();
      const credential = credentialOf(asked);
      return !mayBegin(credential, now) && isTooMuch(credential, now);
    },
    refused(name) {
      refusedAt.set(name, (refusedAt.get(name) ?? 0) + 1);
      unsaid += 1;
      if (performance.now() - saidAt < saidEvery) return;
      log.warn({ refused: unsaid }, 'more is asked for than can be answered: requests are refused with 503');
      saidAt = performance.now();
      unsaid = 0;
    },
    state() {
      countSlots(performance.now());
      return { answering: answering.size, waiting: queue.length, refused: refusedAt };
    },
  };
}
