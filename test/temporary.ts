/** Where the tests keep what is temporary. */

import { readFileSync, statfsSync } from 'node:fs';

const memory = '/dev/shm';
/** More than a run fills at any time, for the processes beside it too. */
const roomBytes = 6 * 1024 ** 3;

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory);
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const options = mounts.map((line) => line.split(' ')).find(([, place]) => place === memory)?.[3] ?? 'noexec';
    const room = Math.min(bavail * bsize, process.availableMemory());
    // Where programs may not be run PostgreSQL cannot be either, of which a copy is made for a user of its own.
    return room > roomBytes && !options.split(',').includes('noexec');
  } catch {
    return false;
  }
}

/**
 * Has everything temporary kept in memory, by this process and those that it starts, unless TMPDIR says where, or there is
 * too little of it: some three hundred databases, of a thousand small files each, cost several times as much on a disk.
 */
export function keepInMemory(): void {
  if (process.env['TMPDIR'] === undefined && hasRoom()) process.env['TMPDIR'] = memory;
}
