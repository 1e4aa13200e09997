/** Cleans up after killed test runs: ends their PostgreSQL and removes their directories. */

import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { takeDirectory } from '../server/database/data-directory.ts';
import { commandLine, endPostgres, isAlive } from '../server/database/processes.ts';

export const prefix = 'dealkeep-test-';

/**
 * Whether no process holds `directory`. Without a lock file, or with one from the last minute, it counts as held:
 * another process may be about to take it.
 */
function isAbandoned(directory: string): boolean {
  const lock = path.join(directory, 'dealkeep.lock');
  if (!existsSync(lock) || Date.now() - statSync(lock).mtimeMs < 60_000) return false;
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
