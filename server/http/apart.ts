/** Work that takes much at once: done in a process of its own, one piece after the other. */

import { fork } from 'node:child_process';

/** The most that a piece of work may take. */
export interface Most {
  readonly heapMegabytes: number;
  readonly millis: number;
}

/**
 * Gives `task` to the program in a process of its own and answers with what it sends back: memory that runs out in a thread
 * can take the service with it. Of the environment it is given where compiled modules are kept, and so no secret. Rejects
 * with `late()` when it takes too long or ends without an answer.
 */
export function doneApart<Answer>(program: string, { heapMegabytes, millis }: Most, task: unknown, late: () => Error) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const { NODE_COMPILE_CACHE } = process.env;
  const worker = fork(program, {
    execArgv: [`--max-old-space-size=${heapMegabytes}`],
    env: { ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
  const timer = setTimeout(() => reject(late()), millis);
  worker.once('message', (answer: Answer) => resolve(answer));
  // Each of them is heard: one that cannot be started fails once for that and once for what it was to be sent, and an error that nobody hears ends the service.
  worker.on('error', reject);
  // It answers whatever it is given: only one that ran out of memory ends before.
  worker.once('exit', () => reject(late()));
  // Without files or processes left to start it there is nothing to send by.
  if (worker.connected) worker.send(task as object);
  return promise.finally(() => {
    clearTimeout(timer);
    worker.kill('SIGKILL');
  });
}

/** How many may wait or be done: of one, who must not keep everybody else waiting, and of all. */
export interface Places {
  readonly each: number;
  readonly all: number;
}

/**
 * A line of work that is done one piece at a time, so that what all of it takes in memory and time is bounded. Throws
 * `busy()` while too much waits.
 */
export function inTurn({ each, all }: Places, busy: () => Error) {
  let last: Promise<unknown> = Promise.resolve();
  const held: string[] = [];
  return async <T>(whose: string, work: () => Promise<T>): Promise<T> => {
    if (held.length >= all || held.filter((one) => one === whose).length >= each) throw busy();
    held.push(whose);
    const turn = last.then(work, work);
    last = turn.catch(() => {});
    return turn.finally(() => held.splice(held.indexOf(whose), 1));
  };
}
