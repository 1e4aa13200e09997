/** Cleans up after killed test runs: ends their PostgreSQL and removes their directories. */

import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { takeDirectory } from '../server/database/data-directory.ts';
import { commandLine, endPostgres, isAlive } from '../server/database/processes.ts';

export const prefix = 'dealkeep-test-';

/** A directory without a lock is abandoned when it was made longer ago than any run takes, in milliseconds. */
const longestRun = 86_400_000;

/**
 * Whether no process holds `directory`. With a lock file from the last minute it counts as held: another process may be
 * about to take it. Without one its run may not have come that far, or needs none.
 */
function isAbandoned(directory: string): boolean {
  const lock = path.join(directory, 'dealkeep.lock');
  const made = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  if (made === undefined) {
    const begun = statSync(directory, { throwIfNoEntry: false })?.mtimeMs;
    return begun !== undefined && Date.now() - begun > longestRun;
  }
  if (Date.now() - made < 60_000) return false;
  try {
    takeDirectory(directory)();
    return true;
  } catch {
    return false;
  }
}

/** Cleans up the abandoned test directories among the temporary files; leaves those alone that another run is using. */
export async function clearAbandoned(): Promise<void> {
  const names = readdirSync(os.tmpdir()).filter((name) => name.startsWith(prefix));
  const directories = names.map((name) => path.join(os.tmpdir(), name)).filter(isAbandoned);
  for (const directory of directories) {
    const file = path.join(directory, 'postgres/cluster/postmaster.pid');
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0;
    if (pid > 1 && isAlive(pid) && commandLine(pid).includes(directory)) await endPostgres(pid);
    rmSync(directory, { recursive: true, force: true });
  }
}
