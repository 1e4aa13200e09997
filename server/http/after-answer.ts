/** Work that runs after the response, so that the response time reveals nothing about it. */

import type { Services } from '../services.ts';
import { Busy } from '../database/errors.ts';

const most = 200;
let waiting = 0;
let line: Promise<void> = Promise.resolve();

/**
 * Runs `work` after the response, one task at a time. A failure is logged, and tasks still waiting when the server
 * stops are dropped. Throws {@link Busy} when too many are waiting already.
 */
export function afterAnswer({ log }: Services, what: string, work: () => Promise<unknown>): void {
  if (waiting >= most) throw new Busy('The service is busy: try again shortly.');
  waiting += 1;
  line = line
    .then(() => new Promise((resolve) => setImmediate(resolve)))
    .then(work)
    .catch((error: unknown) => log.error({ err: error }, `${what} failed`))
    .then(() => void (waiting -= 1));
}
