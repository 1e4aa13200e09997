/** For the programs that are run in processes of their own (worker-process.ts). */

import { Worker } from 'node:worker_threads';

/** The variable of the environment that has the id of the process which started this one. */
export const startedBy = 'DEALKEEP_STARTED_BY';

/** How often is looked whether the process that started this one is still there, in milliseconds. */
const every = 1_000;

/** Ends this process when the one that started it is gone, also while it works: a thread looks. */
export function endWithParent(): void {
  const parent = Number(process.env[startedBy] ?? process.ppid);
  // What ends a process also ends one that never gives way. Where a parent ends, its children get another one (getppid(2)).
  const watch = `setInterval(() => process.ppid !== ${parent} && process.kill(process.pid, 'SIGKILL'), ${every});`;
  new Worker(watch, { eval: true, execArgv: [], env: {}, resourceLimits: { maxOldGenerationSizeMb: 16 } }).unref();
}
