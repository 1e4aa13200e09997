/** Gives the measured and the measuring processes separate processors. */

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';

/** Returns all descendants of a process. */
function startedBy(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return children.flatMap((child) => [child, ...startedBy(child)]);
}

const isGenerator = (pid: number): boolean => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('generator.ts');

function give(pids: readonly number[], processors: string): void {
  for (const pid of pids) {
    const { error, status } = spawnSync('taskset', ['-acp', processors, String(pid)], { stdio: 'ignore' });
    if (error || status !== 0) throw error ?? new Error(`taskset ended with ${status}.`);
  }
}

/**
 * Leaves the last processor to this process and the load generators, and the others to the service and PostgreSQL; new
 * processes use the processors of their parent. Returns a function that undoes this, or null with one processor, or
 * without Linux and taskset.
 */
export function divideProcessors(): (() => void) | null {
  const last = os.availableParallelism() - 1;
  if (process.platform !== 'linux' || last < 1) return null;
  const all = startedBy(process.pid);
  const measuring = [process.pid, ...all.filter(isGenerator)];
  const measured = all.filter((pid) => !isGenerator(pid));
  const takeBack = () => give([process.pid, ...startedBy(process.pid)], `0-${last}`);
  try {
    give(measuring, String(last));
    give(measured, `0-${last - 1}`);
    return takeBack;
  } catch {
    return null;
  }
}
