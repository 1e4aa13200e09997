/** Where the tests keep temporary files. */

import { readFileSync, statfsSync } from 'node:fs';

const memory = '/dev/shm';
/** Bytes: more than a run needs at any time, and enough for the processes beside it. */
const roomBytes = 6 * 1024 ** 3;

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory);
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const options = mounts.map((line) => line.split(' ')).find(([, place]) => place === memory)?.[3] ?? 'noexec';
    const room = Math.min(bavail * bsize, process.availableMemory());
    // On a `noexec` mount PostgreSQL could not run from the temporary directory, to which it is copied for a user who
    // cannot reach the installed one.
    return room > roomBytes && !options.split(',').includes('noexec');
  } catch {
    return false;
  }
}

/**
 * Has this process and its children keep temporary files in memory, unless TMPDIR is set or memory is short: some three
 * hundred databases, of a thousand small files each, cost several times as much on a disk.
 */
export function keepInMemory(): void {
  if (process.env['TMPDIR'] === undefined && hasRoom()) process.env['TMPDIR'] = memory;
}
