/** For the programs that are run in processes of their own (apart.ts). */

import { Worker } from 'node:worker_threads';

/** How often is looked whether the process that started this one is still there, in milliseconds. */
const every = 1_000;

// What ends a process also ends one that never gives way. Where a parent ends, its children get another one (getppid(2)).
const watch = `setInterval(() => process.ppid !== ${process.ppid} && process.kill(process.pid, 'SIGKILL'), ${every});`;

/** Ends this process when the one that started it is gone, also while it works: a thread looks. */
export function endWithParent(): void {
  new Worker(watch, { eval: true, execArgv: [], env: {}, resourceLimits: { maxOldGenerationSizeMb: 16 } }).unref();
}
