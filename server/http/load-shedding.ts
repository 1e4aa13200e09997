/**
 * Keeps what is done at once to what can be done at once. A request that comes when enough are being answered waits for its
 * turn. While few wait, the first goes first; when many wait, the last: whoever came first has waited long already, and of
 * more than can be answered some are answered in time this way instead of all too late. When many have waited for a second and more
 * keep coming, those that have waited too long are refused. A burst that is over by then is answered whole. Nothing of a request is
 * looked at before its turn but its first lines.
 *
 * Once somebody was refused, the line is kept short: for two seconds, then for four as long as too many keep coming. Half as many
 * are answered at once, and no more wait than are answered soon at the pace at which answers end, so that whoever gets a place in it
 * is answered about as soon as at other times; for whom there is none, they are refused at once, which costs least before anything is
 * made of their request. Then more are let wait for a moment, and no more are answered at once, so that nobody is answered later because
 * of it: when all who come find room, the line is as it was before, else those who are too many are refused at once and it stays short.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counts } from '../counts.ts';
import type { Logger } from '../log.ts';
import { bearerIn } from './bearer-token.ts';
import { Problem, retryAfter } from './problem.ts';
import { sessionIn } from './session.ts';

export interface LoadLimits {
  /** How many requests are answered at once. */
  readonly atOnce: number;
  /** How long a request may wait for its turn, in milliseconds. */
  readonly waitMillis: number;
  /** For how long more may come than can be answered before anybody is refused, in milliseconds. */
  readonly burstMillis?: number;
  /** Within how long all who are answered and wait are to be answered while the line is short, in milliseconds. */
  readonly soonMillis?: number;
}

export interface LoadShedding {
  /** Has `start` called when it is the turn of the request, or `refuse`. */
  admit(request: IncomingMessage, response: ServerResponse, start: () => void, refuse: () => void): void;
  /** Lets others have the turn of an answer that only waits to be sent. */
  giveUpTurn(response: ServerResponse): void;
  /** Whether the line is kept short. */
  isOverloaded(): boolean;
  /** Whether there is no place for a request while it is overloaded; it is then to be refused, as if it had waited. */
  hasNoPlace(asked: Asked): boolean;
  /** Notes that a request to this interface was refused. */
  refused(name: string): void;
  /** How many are being answered, how many wait, and how many were refused, by interface. */
  state(): { answering: number; waiting: number; refused: ReadonlyMap<string, number> };
}

/** What a request that is refused is told, in the form of the interface that was meant. */
export const tooMuch = (): Problem =>
  new Problem(
    503,
    'busy',
    'More is asked for at this moment than can be answered, and nothing was done: try again in a moment.',
    retryAfter(1),
  );

/** The most requests that wait. */
const mostWaiting = 1_000;
/** How long a request waits at most while many wait and more come, in milliseconds. */
const hurriedMillis = 80;
/** How long a burst may last; and how long after the line was last kept short what comes is no burst, in milliseconds. */
const usualBurstMillis = 1_000;
const calmMillis = 8_000;
/** For how long the line is kept short after somebody was refused, at first and at most, and then for how long is looked if it has to stay so, in milliseconds. */
const shortMillis = 2_000;
const longestShortMillis = 4_000;
const lookMillis = 200;
const usualSoonMillis = 15;
/** Over how long the pace is measured, in milliseconds. */
const paceMillis = 100;
/** How often those that have waited too long are looked for, in milliseconds. */
const every = 50;
/** How often the log says that requests are refused, in milliseconds. */
const saidEvery = 10_000;

const operators = new Set(['/healthz', '/readyz', '/metrics']);

/** Whether this is asked by those who operate us, who do not wait. */
export const isForOperators = (target: string): boolean => operators.has(target);

const programs = /^\/(?:api\/v1|api\/mcp|mcp)(?:\/|\?|$)/;

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

export function openLoadShedding(
  { atOnce, waitMillis, burstMillis = usualBurstMillis, soonMillis = usualSoonMillis }: LoadLimits,
  log: Logger,
): LoadShedding {
  const answering = new Map<ServerResponse, { credential: string; request: IncomingMessage }>();
  const answeringFor = new Counts();
  const waitingFor = new Counts();
  /** More than this is many. */
  const many = 2 * atOnce;
  /** How many are answered at once until it is clear that the line need not be short: each then waits half as long for its turns of the event loop and of PostgreSQL. */
  const fewAtOnce = Math.ceil(atOnce / 2);
  /** In the order in which they came. */
  let line: Waiting[] = [];
  let sweeping: NodeJS.Timeout | undefined;
  let resting = 0;
  let lookedAt = -Infinity;
  let shortUntil = -Infinity;
  /** For how long the line is kept short the next time. */
  let shortFor = shortMillis;
  /** Since when many wait. */
  let longSince = Infinity;
  /** How many turns end in a millisecond; null before any was measured. */
  let pace: number | null = null;
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

  /** Measures the pace anew, as soon as there is enough to count. */
  function measurePace(now: number): void {
    const took = now - countedSince;
    if (took < paceMillis) return;
    pace = pace === null ? ended / took : (pace + ended / took) / 2;
    ended = 0;
    countedSince = now;
  }

  /** Looks who takes up a turn: an answer under way takes what the client's connection takes, and a body not yet here nothing. */
  function look(now: number): void {
    if (now - lookedAt < 1) return;
    lookedAt = now;
    resting = 0;
    for (const [response, { request }] of answering) {
      if (response.headersSent) release(response);
      else if (!request.complete) resting += 1;
    }
  }

  const turnsTaken = (): number => answering.size - Math.min(resting, answering.size);
  const turnsAt = (now: number): number => (now < shortUntil + lookMillis ? fewAtOnce : atOnce);
  const isFull = (now: number): boolean => turnsTaken() >= turnsAt(now);
  /** One credential has half of the turns at most, so that what others ask for is always being answered as well. */
  const hasShare = (credential: string, now: number): boolean =>
    answeringFor.of(credential) < Math.ceil(turnsAt(now) / 2);

  /** Whether one more can be answered now. */
  function mayBegin(credential: string, now: number): boolean {
    if (isFull(now) || !hasShare(credential, now)) look(now);
    return !isFull(now) && hasShare(credential, now);
  }

  // One function for all responses: an answer may stay open for long.
  function closed(this: ServerResponse): void {
    release(this);
    next();
  }

  function begin({ credential, response, start }: Omit<Waiting, 'since' | 'refuse'>, request: IncomingMessage): void {
    answering.set(response, { credential, request });
    answeringFor.add(credential, 1);
    response.on('close', closed);
    start();
  }

  function leave(at: number): Waiting {
    const [waiting] = line.splice(at, 1) as [Waiting];
    waitingFor.add(waiting.credential, -1);
    if (line.length <= many) longSince = Infinity;
    if (line.length === 0) {
      clearInterval(sweeping);
      sweeping = undefined;
    }
    return waiting;
  }

  /** Where in the line the next one stands whose credential has turns left, or -1. */
  function nextAt(now: number): number {
    const may = ({ credential }: Waiting) => hasShare(credential, now);
    const enough = now < shortUntil + lookMillis ? fewAtOnce : many;
    return line.length > enough ? line.findLastIndex(may) : line.findIndex(may);
  }

  function next(): void {
    const now = performance.now();
    if (line.length > 0 && isFull(now)) look(now);
    while (line.length > 0 && !isFull(now)) {
      const at = nextAt(now);
      if (at < 0) return;
      const waiting = leave(at);
      // Gone meanwhile.
      if (waiting.response.destroyed) continue;
      begin(waiting, waiting.response.req);
    }
  }

  /** How many may wait while the line is short: as many as have their turn soon, but some in any case, so that no turn stays empty. */
  function fewPlaces(now: number): number {
    measurePace(now);
    if (pace === null) return fewAtOnce;
    return Math.max(Math.ceil(atOnce / 8), Math.min(fewAtOnce, Math.ceil(pace * soonMillis) - turnsTaken()));
  }

  /** Keeps the line short from now on, unless it is. */
  function keepShort(now: number): void {
    if (now < shortUntil) return;
    if (now >= shortUntil + lookMillis) {
      // What ended while less was asked for says nothing of the pace.
      pace = null;
      ended = 0;
      countedSince = now;
      shortFor = shortMillis;
    }
    shortUntil = now + shortFor;
    shortFor = Math.min(2 * shortFor, longestShortMillis);
  }

  /** How many may wait at this moment. */
  function places(now: number): number {
    if (now < shortUntil) return fewPlaces(now);
    return now < shortUntil + lookMillis ? many : Infinity;
  }

  /** One more has come: of those who have waited long, up to `most` go, so that a line that grows becomes short again. */
  function makeRoom(now: number, most: number): void {
    const isShort = now < shortUntil;
    const enough = isShort ? fewAtOnce : many;
    const isBurst = now - longSince < burstMillis && now - shortUntil > calmMillis;
    for (let gone = 0; gone < most && line.length > enough; gone += 1) {
      const isLate = !isBurst && line[0] !== undefined && (isShort || now - line[0].since >= hurriedMillis);
      if (!isLate && line.length <= mostWaiting) return;
      keepShort(now);
      leave(0).refuse();
    }
  }

  /** Whether one more of this credential is too many for the line; one credential may fill half of it. */
  function isTooMuch(credential: string, now: number): boolean {
    const most = places(now);
    if (line.length < most) return waitingFor.of(credential) >= Math.min(most, mostWaiting) / 2;
    keepShort(now);
    // Two at most are refused for each that comes, with itself: more at once would keep all others waiting meanwhile.
    makeRoom(now, 1);
    return true;
  }

  /** Refuses those who have waited as long as anybody may. */
  function sweep(): void {
    const now = performance.now();
    while (line[0] && now - line[0].since >= waitMillis) leave(0).refuse();
    next();
  }

  return {
    admit(request, response, start, refuse) {
      const { url = '', headers, socket } = request;
      if (isForOperators(url)) return start();
      const now = performance.now();
      const header = (name: keyof typeof headers) => headers[name]?.toString();
      const credential = credentialOf({ target: url, header, remoteAddress: socket.remoteAddress });
      if (mayBegin(credential, now)) return begin({ credential, response, start }, request);
      if (isTooMuch(credential, now)) return refuse();
      line.push({ credential, response, since: now, start, refuse });
      waitingFor.add(credential, 1);
      if (line.length > many) longSince = Math.min(longSince, now);
      makeRoom(now, 2);
      sweeping ??= setInterval(sweep, Math.min(every, waitMillis)).unref();
    },
    giveUpTurn(response) {
      release(response);
      next();
    },
    isOverloaded: () => places(performance.now()) < Infinity,
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
      look(performance.now());
      return { answering: answering.size, waiting: line.length, refused: refusedAt };
    },
  };
}
