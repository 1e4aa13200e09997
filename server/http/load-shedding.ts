/**
 * Limits how many requests are processed at once; others wait in a queue. While few wait, the queue is first in, first
 * out. While many wait, it is last in, first out: the oldest have waited long already, and when there are more requests
 * than can be answered, this way some are answered in time instead of all too late. When many have been waiting for a
 * second and more keep coming, requests that have waited too long are refused; a burst that ends sooner is answered
 * completely. Before a request has a slot, only its head is read.
 *
 * A refusal starts an overload, which lasts two seconds at first and four while too many requests keep coming. During
 * an overload half as many requests are processed at once, and the queue is as short as the measured rate of responses
 * allows, so that an admitted request is answered about as fast as at other times; all others are refused immediately,
 * which is cheapest before any work on the request. Then a longer queue is allowed for a short time, without processing
 * more at once, so that no response is slower for it: when all new requests fit in, the overload is over.
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
  /** Number of requests processed at once. */
  readonly atOnce: number;
  /** Maximum time that a request may be queued, in milliseconds. */
  readonly waitMillis: number;
  /** How long demand may exceed capacity before requests are refused, in milliseconds; optional. */
  readonly burstMillis?: number;
  /**
   * Time within which all requests in progress or queued should be answered during an overload, in milliseconds;
   * optional.
   */
  readonly soonMillis?: number;
  /** How long a longer queue is tried after an overload, in milliseconds; optional. */
  readonly probeMillis?: number;
}

export interface LoadShedding {
  /** Calls `start` as soon as the request has a slot, or `refuse` if it gets none. */
  admit(request: IncomingMessage, response: ServerResponse, start: () => void, refuse: () => void): void;
  /** Frees the slot of a response that only waits, for a delay or for another request. */
  releaseSlot(response: ServerResponse): void;
  /** Whether there is an overload. */
  isOverloaded(): boolean;
  /**
   * Whether a request can be neither processed nor queued; the caller must then refuse it, exactly like one that was
   * queued too long.
   */
  hasNoPlace(asked: Asked): boolean;
  /** Notes that a request to this interface was refused. */
  refused(name: string): void;
  /** How many requests are in progress, how many are queued, and how many were refused, by interface. */
  state(): { answering: number; waiting: number; refused: ReadonlyMap<string, number> };
}

/** The error for a refused request, to be written in the format of the requested interface. */
export const tooMuch = (): Problem =>
  new Problem(503, 'busy', 'The service is overloaded, and nothing was done: try again shortly.', retryAfter(1));

/** Maximum length of the queue. */
const longestQueue = 1_000;
/** Maximum time in the queue while many wait and more come, in milliseconds. */
const longWaitMillis = 80;
/** How long a burst may last, and how long after an overload a peak does not yet count as a burst, in milliseconds. */
const usualBurstMillis = 1_000;
const calmMillis = 8_000;
/**
 * How long an overload lasts, at first and at most, and how long a longer queue is tried afterwards, in milliseconds.
 */
const overloadMillis = 2_000;
const longestOverloadMillis = 4_000;
const usualProbeMillis = 200;
const usualSoonMillis = 15;
/** Interval over which the rate is measured, in milliseconds. */
const rateMillis = 100;
/** How often the queue is searched for requests that have waited too long, in milliseconds. */
const every = 50;
/** Minimum time between two log lines about refused requests, in milliseconds. */
const saidEvery = 10_000;

const operators = new Set(['/healthz', '/readyz', '/metrics']);

/** Whether a path is for operators, whose requests are never queued. */
export const isForOperators = (target: string): boolean => operators.has(target);

/**
 * Paths that programs request with a bearer token. The origin, which is also a path of the tools, is left out: people
 * request it too, with a session.
 */
const programs = new RegExp(
  String.raw`^(?:${[restPath, ...resourcePaths].filter((path) => path !== '').join('|')})(?:/|\?|$)`,
);

/** The head of a request, as far as it identifies the caller. */
export interface Asked {
  readonly target: string;
  readonly header: (name: 'authorization' | 'cookie' | 'x-forwarded-for') => string | undefined;
  readonly remoteAddress: string | undefined;
}

/** The caller as claimed by the request: its token or session, otherwise the address it comes from. */
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
  /** A queue longer than this counts as long. */
  const many = 2 * atOnce;
  /**
   * Number of requests processed at once until an overload is over: each then waits half as long for the event loop and
   * for PostgreSQL.
   */
  const overloadSlots = Math.ceil(atOnce / 2);
  /** In order of arrival. */
  let queue: Waiting[] = [];
  let sweeping: NodeJS.Timeout | undefined;
  let resting = 0;
  let countedAt = -Infinity;
  let overloadUntil = -Infinity;
  /** How long the next overload lasts, in milliseconds. */
  let overloadFor = overloadMillis;
  /** Since when the queue has been long; Infinity if it is not. */
  let longSince = Infinity;
  /** Responses per millisecond; null until measured. */
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

  /** Updates the rate once enough time has passed. */
  function measureRate(now: number): void {
    const took = now - countedSince;
    if (took < rateMillis) return;
    rate = rate === null ? ended / took : (rate + ended / took) / 2;
    ended = 0;
    countedSince = now;
  }

  /**
   * Counts the slots in use: a response that is being sent does not take one, nor does a request whose body is still
   * arriving.
   */
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
  /** Whether this credential takes less than half of the slots, so that others are always served too. */
  const hasShare = (credential: string, now: number): boolean =>
    answeringFor.of(credential) < Math.ceil(slotsAt(now) / 2);

  function mayBegin(credential: string, now: number): boolean {
    if (isFull(now) || !hasShare(credential, now)) countSlots(now);
    return !isFull(now) && hasShare(credential, now);
  }

  // One function for all responses, since a response may stay open for long.
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

  /** Index of the next request in the queue whose credential has slots left, or -1. */
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
      // The client has disconnected.
      if (waiting.response.destroyed) continue;
      beginAnswering(waiting, waiting.response.req);
    }
  }

  /**
   * How many requests may be queued during an overload: as many as can be answered soon, but always a few, so that no
   * slot stays empty.
   */
  function mostQueuedWhileOverloaded(now: number): number {
    measureRate(now);
    if (rate === null) return overloadSlots;
    return Math.max(Math.ceil(atOnce / 8), Math.min(overloadSlots, Math.ceil(rate * soonMillis) - slotsTaken()));
  }

  /** Starts an overload unless there is one already. */
  function startOverload(now: number): void {
    if (now < overloadUntil) return;
    if (now >= overloadUntil + probeMillis) {
      // Responses counted under lower demand say nothing about the possible rate.
      rate = null;
      ended = 0;
      countedSince = now;
      overloadFor = overloadMillis;
    }
    overloadUntil = now + overloadFor;
    overloadFor = Math.min(2 * overloadFor, longestOverloadMillis);
  }

  function mostQueued(now: number): number {
    if (now < overloadUntil) return mostQueuedWhileOverloaded(now);
    return now < overloadUntil + probeMillis ? many : Infinity;
  }

  /**
   * Called for each new request: refuses up to `most` of the requests that have waited long, so that a growing queue
   * gets short again.
   */
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

  /**
   * Whether one more request of this credential is too many for the queue, of which a single credential may fill half.
   */
  function isTooMuch(credential: string, now: number): boolean {
    const most = mostQueued(now);
    if (queue.length < most) return waitingFor.of(credential) >= Math.min(most, longestQueue) / 2;
    startOverload(now);
    // Two requests at most are refused per new request, including the new one: refusing more at once would delay all
    // others.
    makeRoom(now, 1);
    return true;
  }

  /** Refuses the requests that have waited for the maximum time. */
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
      log.warn({ refused: unsaid }, 'the service is overloaded: requests are refused with 503');
      saidAt = performance.now();
      unsaid = 0;
    },
    state() {
      countSlots(performance.now());
      return { answering: answering.size, waiting: queue.length, refused: refusedAt };
    },
  };
}
