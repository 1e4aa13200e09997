/** Runs heavy work in a process of its own, one piece after the other. */

import { fork, type ChildProcess } from 'node:child_process';
import { startedBy } from './end-with-parent.ts';

/** The most that a piece of work may take. */
export interface Most {
  readonly heapMegabytes: number;
  readonly millis: number;
}

/** Of the environment it is given where compiled modules are kept, and so no secret. */
function started(program: string, heapMegabytes: number): ChildProcess {
  const { NODE_COMPILE_CACHE } = process.env;
  const worker = fork(program, {
    execArgv: [`--max-old-space-size=${heapMegabytes}`],
    env: { ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }), [startedBy]: String(process.pid) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  // For as long as it lives: one that cannot be started fails once for that and once for what it was to be sent, and an error that nobody hears ends the service.
  worker.on('error', () => {});
  return worker;
}

/** A process that ended before it answered, or that could not be started or reached, which is its cause. */
class Gone extends Error {}

/** What the process answers to `task`. It is killed where it does not: not in time, not at all, or when `signal` says that nobody waits for it. */
function answered<Answer>(worker: ChildProcess, millis: number, task: unknown, late: () => Error, signal: AbortSignal) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const giveUp = (): void => reject(late());
  const gone = (cause: unknown): void => reject(new Gone('gone', cause instanceof Error ? { cause } : {}));
  const timer = setTimeout(giveUp, millis);
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  worker.once('message', resolve);
  worker.once('error', gone);
  // It answers whatever it is given: only one that ran out of memory ends before.
  worker.once('exit', gone);
  // Without files or processes left to start it there is nothing to send by.
  try {
    if (worker.connected) worker.send(task as object);
  } catch (error) {
    reject(error);
  }
  return promise
    .catch((error: unknown) => {
      worker.kill('SIGKILL');
      throw error;
    })
    .finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      worker.off('message', resolve).off('error', gone).off('exit', gone);
    });
}

/** What to tell of it: that it could not be started, or that it may be tried again. */
const told = (error: unknown, late: () => Error): unknown => (error instanceof Gone ? (error.cause ?? late()) : error);

/**
 * Gives `task` to the program in a process of its own and answers with what it sends back: memory that runs out in a thread
 * can take the service with it. Rejects with `late()` when it takes too long or ends without an answer, and when `signal`
 * says that nobody waits for it.
 */
export async function doneApart<Answer>(
  program: string,
  { heapMegabytes, millis }: Most,
  task: unknown,
  late: () => Error,
  signal: AbortSignal,
): Promise<Answer> {
  const worker = started(program, heapMegabytes);
  try {
    return await answered<Answer>(worker, millis, task, late, signal);
  } catch (error) {
    throw told(error, late);
  } finally {
    worker.kill('SIGKILL');
  }
}

/** For how long a process waits for its next task before it is ended, and after how many it is. */
export interface Staying {
  readonly idleMillis: number;
  readonly tasks: number;
}

/**
 * The same for a program that takes one task after the other, in a process that stays a while, so that not each task has to wait until it has
 * started. It is given one task at a time. Where one that stayed ends, the task is given to a new one: what came before may have been why.
 */
export function doneInTurnApart<Answer>(program: string, { idleMillis, tasks }: Staying) {
  let waiting: { readonly worker: ChildProcess; readonly taken: () => number } | null = null;

  function keep(worker: ChildProcess, left: number): void {
    if (waiting || left === 0 || worker.exitCode !== null || worker.signalCode !== null || !worker.connected) {
      worker.kill('SIGKILL');
      return;
    }
    const end = (): void => {
      if (waiting === own) waiting = null;
      worker.kill('SIGKILL');
    };
    const timer = setTimeout(end, idleMillis).unref();
    worker.once('exit', end);
    // It does not hold up the service's end: it ends with it.
    worker.unref();
    worker.channel?.unref();
    const own = {
      worker,
      taken: () => {
        waiting = null;
        clearTimeout(timer);
        worker.off('exit', end);
        worker.ref();
        worker.channel?.ref();
        return left;
      },
    };
    waiting = own;
  }

  return async (
    { heapMegabytes, millis }: Most,
    task: unknown,
    late: () => Error,
    signal: AbortSignal,
  ): Promise<Answer> => {
    const until = performance.now() + millis;
    const kept = waiting;
    const done = async (worker: ChildProcess, left: number): Promise<Answer> => {
      const answer = await answered<Answer>(worker, until - performance.now(), task, late, signal);
      keep(worker, left - 1);
      return answer;
    };
    try {
      if (kept) return await done(kept.worker, kept.taken());
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
    }
    return done(started(program, heapMegabytes), tasks).catch((error: unknown) => {
      throw told(error, late);
    });
  };
}

/** How many may wait or be done: of one, who must not keep everybody else waiting, and of all; and for how long one waits at most. */
export interface Places {
  readonly each: number;
  readonly all: number;
  readonly waitMillis: number;
}

/** Who asks for a piece of work, within whom (a person within their brokerage), the widest first. */
export type Whose = readonly [string, ...string[]];

/** The most parties whose last turn is remembered. */
const mostRemembered = 1_000;

interface Place {
  /** Of the widest, of the next within it, and so on. */
  readonly parties: readonly string[];
  readonly own: string;
  readonly begin: () => void;
  readonly refuse: () => void;
}

/**
 * A line of work that is done one piece at a time, so that what all of it takes in memory and time is bounded. Turns go round: to the
 * widest party whose last turn is longest ago, within it to the next narrower one, and of one's own in the order in which they came. In a line that
 * is full, who holds the most gives up what came last to who holds less. `signal` is of who asks: who is gone gives up the place, and `work`
 * is told. Refused with `busy()` are who asks for too much at once, who finds no place, and who has waited too long.
 */
export function inTurn({ each, all, waitMillis }: Places, busy: () => Error) {
  /** In the order in which they came. */
  let waiting: Place[] = [];
  let running: Place | null = null;
  // Counted while anybody waits: who asks again then comes after those who have not had a turn yet.
  const served = new Map<string, number>();
  let turns = 0;

  const places = (): Place[] => (running ? [running, ...waiting] : waiting);
  const held = (party: string): number => places().filter(({ parties }) => parties.includes(party)).length;
  const lastTurn = (party: string): number => served.get(party) ?? 0;

  /** Whether one has its turn before another, who came later. */
  function isBefore(one: Place, other: Place): boolean {
    const at = one.parties.findIndex((party, level) => lastTurn(party) !== lastTurn(other.parties[level] ?? ''));
    return at < 0 || lastTurn(one.parties[at] ?? '') < lastTurn(other.parties[at] ?? '');
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
  function tooMuch(parties: readonly string[]): Place | null {
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

  return async <T>(whose: Whose, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
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
    const place: Place = { parties, own, begin: resolve, refuse: leave };
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
