/** Other processes of this machine: whether they are running, their command lines, and how to end them. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Returns whether process `pid` is running. A process that has ended but was not reaped (a zombie) is not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  try {
    // The state follows the name, which is in parentheses and may contain anything.
    return !/\) [ZX] [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return process.platform !== 'linux';
  }
}

/** Returns the command line of process `pid`, or '' when it is unknown. */
export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '';
  }
}

/** PostgreSQL's shutdown signals and how long each may take, from a clean shutdown to the last resort. */
const steps: readonly [NodeJS.Signals, millis: number][] = [
  ['SIGINT', 30_000],
  ['SIGQUIT', 10_000],
  ['SIGKILL', 5_000],
];

/** Ends the PostgreSQL whose first process is `pid`; resolves when it has ended. */
export async function endPostgres(pid: number): Promise<void> {
  for (const [signal, millis] of steps) {
    if (!isAlive(pid)) return;
    process.kill(pid, signal);
    for (const giveUp = Date.now() + millis; isAlive(pid) && Date.now() < giveUp;) await pause(20);
  }
}
