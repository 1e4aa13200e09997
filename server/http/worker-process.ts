/** Runs heavy work in a child process, so that memory that runs out there does not end the service. */

import { fork, type ChildProcess } from 'node:child_process';
import { startedBy } from './end-with-parent.ts';

/** The most that a piece of work may take. */
interface WorkLimits {
  readonly heapMegabytes: number;
  readonly millis: number;
}

/**
 * Of the environment it is given where compiled modules are kept, and so no secret. Its zone is UTC, whatever that of the host: the time of a cell
 * of a workbook names none, and would be one of the day before where the host is east of it.
 */
function started(program: string, heapMegabytes: number): ChildProcess {
  const { NODE_COMPILE_CACHE } = process.env;
  const worker = fork(program, {
    execArgv: [`--max-old-space-size=${heapMegabytes}`],
    env: { TZ: 'UTC', ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }), [startedBy]: String(process.pid) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  // For as long as it lives: one that cannot be started fails once for that and once for what it was to be sent, and an error without a listener ends the service.
  worker.on('error', () => {});
  return worker;
}

/** A process that ended before it answered, or that could not be started or reached, which is its cause. */
class ProcessEnded extends Error {}

/** What the process answers to `task`. It is killed where it does not: not in time, not at all, or when `signal` says that nobody waits for it. */
function answered<Answer>(worker: ChildProcess, millis: number, task: unknown, late: () => Error, signal: AbortSignal) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const giveUp = (): void => reject(late());
  const gone = (cause: unknown): void => reject(new ProcessEnded('gone', cause instanceof Error ? { cause } : {}));
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

/** What to report of it: that it could not be started, or that it may be tried again. */
const reasonOf = (error: unknown, late: () => Error): unknown =>
  error instanceof ProcessEnded ? (error.cause ?? late()) : error;

/**
 * Gives `task` to the program in a process of its own and answers with what it sends back: memory that runs out in a thread
 * can take the service with it. Rejects with `late()` when it takes too long or ends without an answer, and when `signal`
 * says that nobody waits for it.
 */
export async function runInProcess<Answer>(
  program: string,
  { heapMegabytes, millis }: WorkLimits,
  task: unknown,
  late: () => Error,
  signal: AbortSignal,
): Promise<Answer> {
  const worker = started(program, heapMegabytes);
  try {
    return await answered<Answer>(worker, millis, task, late, signal);
  } catch (error) {
    throw reasonOf(error, late);
  } finally {
    worker.kill('SIGKILL');
  }
}

/** For how long a process waits for its next task before it is ended, and after how many it is. */
interface ProcessLife {
  readonly idleMillis: number;
  readonly tasks: number;
}

/**
 * The same for a program that takes one task after the other, in a process that stays a while, so that not each task has to wait until it has
 * started. It is given one task at a time. Where one that stayed ends, the task is given to a new one: what came before may have been why.
 */
export function reusedProcess<Answer>(program: string, { idleMillis, tasks }: ProcessLife) {
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
    { heapMegabytes, millis }: WorkLimits,
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
      if (!(error instanceof ProcessEnded)) throw error;
    }
    return done(started(program, heapMegabytes), tasks).catch((error: unknown) => {
      throw reasonOf(error, late);
    });
  };
}
