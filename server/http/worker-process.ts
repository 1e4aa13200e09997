/** Runs heavy work in a child process, so that running out of memory there does not end the service. */

import { fork, type ChildProcess } from 'node:child_process';
import { startedBy } from './end-with-parent.ts';

/** The limits of one task. */
interface WorkLimits {
  readonly heapMegabytes: number;
  readonly millis: number;
}

/**
 * Starts the process. Its environment has no secrets, only the folder of compiled modules and the parent's id. The time
 * zone is UTC, whatever that of the host: the time in a cell of a workbook has no zone, and would fall on the day
 * before on a host east of UTC.
 */
function started(program: string, heapMegabytes: number): ChildProcess {
  const { NODE_COMPILE_CACHE } = process.env;
  const worker = fork(program, {
    execArgv: [`--max-old-space-size=${heapMegabytes}`],
    env: { TZ: 'UTC', ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }), [startedBy]: String(process.pid) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  // Stays for the process's lifetime: a process that cannot be started emits an error for that and another for the
  // message it was to be sent, and an 'error' event without a listener would end the service.
  worker.on('error', () => {});
  return worker;
}

/** The process ended before it answered; `cause` is set if it could not be started or reached. */
class ProcessEnded extends Error {}

/**
 * The process's answer to `task`. The process is killed if it does not answer in time or at all, or when `signal` says
 * that nobody waits for the answer.
 */
function answered<Answer>(worker: ChildProcess, millis: number, task: unknown, late: () => Error, signal: AbortSignal) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const giveUp = (): void => reject(late());
  const gone = (cause: unknown): void => reject(new ProcessEnded('gone', cause instanceof Error ? { cause } : {}));
  const timer = setTimeout(giveUp, millis);
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  worker.once('message', resolve);
  worker.once('error', gone);
  // The program answers every task: only a process that ran out of memory exits first.
  worker.once('exit', gone);
  // There is no channel if the system had no file descriptors or processes left to start it.
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

/**
 * The error to report: why the process could not be started, otherwise `late()`, after which the task may be retried.
 */
const reasonOf = (error: unknown, late: () => Error): unknown =>
  error instanceof ProcessEnded ? (error.cause ?? late()) : error;

/**
 * Runs `task` in a new process of the program and returns what it sends back; in a thread, running out of memory could
 * end the service. Rejects with `late()` when it takes too long or ends without an answer, and when `signal` says that
 * nobody waits for it.
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

/** How long a process waits for its next task before it is ended, and the number of tasks after which it is ended. */
interface ProcessLife {
  readonly idleMillis: number;
  readonly tasks: number;
}

/**
 * The same for a program that takes one task after another: its process is kept for a while, so that not every task
 * waits for a start. It gets one task at a time. If a reused process ends, the task is given to a new one, since an
 * earlier task may have been the reason.
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
    // A waiting process does not delay the service's exit, and ends with it.
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
