/** For the programs that run in processes of their own (worker-process.ts). */

import { Worker } from 'node:worker_threads';

/** The environment variable with the id of the process that started this one. */
export const startedBy = 'DEALKEEP_STARTED_BY';

/** How often to check whether the parent process still exists, in milliseconds. */
const every = 1_000;

/** Ends this process when its parent is gone. A thread checks, so that this works while the process is busy. */
export function endWithParent(): void {
  const parent = Number(process.env[startedBy] ?? process.ppid);
  // SIGKILL also ends a process whose event loop is blocked. When a parent ends, its children get another one
  // (getppid(2)).
  const watch = `setInterval(() => process.ppid !== ${parent} && process.kill(process.pid, 'SIGKILL'), ${every});`;
  new Worker(watch, { eval: true, execArgv: [], env: {}, resourceLimits: { maxOldGenerationSizeMb: 16 } }).unref();
}
