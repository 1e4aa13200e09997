/** A free port, for programs that must know theirs before they start. */

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the range from which systems assign ports to other programs, which could otherwise be given this one before it
 * is used.
 */
const [lowest, highest] = [15_000, 32_000];

/** Returns the number of a port on which nothing listens now. */
export async function freePort(): Promise<number> {
  const port = randomInt(lowest, highest);
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
  return isFree ? port : freePort();
}
