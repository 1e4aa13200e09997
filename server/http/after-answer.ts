/** Work that runs after the answer, so that the time of the answer reveals nothing about it. */

import type { Services } from '../services.ts';
import { Busy } from '../database/errors.ts';

const most = 200;
let waiting = 0;
let line: Promise<void> = Promise.resolve();

/**
 * Does the work once the answer is on its way, one piece after the other; a failure goes to the log, and what still
 * waits when the server stops is not done. Throws {@link Busy} when too much waits already.
 */
export function afterAnswer({ log }: Services, what: string, work: () => Promise<unknown>): void {
  if (waiting >= most) throw new Busy('The service is busy: try again in a moment.');
  waiting += 1;
  line = line
    .then(() => new Promise((resolve) => setImmediate(resolve)))
    .then(work)
    .catch((error: unknown) => log.error({ err: error }, `${what} failed`))
    .then(() => void (waiting -= 1));
}
