/** A port that nobody listens on at this moment: some have to know theirs before they start. */

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that systems give to whoever asks for any, who could be given it before it is taken. */
const [lowest, highest] = [15_000, 32_000];

/** Its number. */
export async function freePort(): Promise<number> {
  const port = randomInt(lowest, highest);
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
  return isFree ? port : freePort();
}
