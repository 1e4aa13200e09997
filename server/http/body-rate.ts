/** Ends requests whose body arrives too slowly, so that idle senders cannot hold connections. */

import type { IncomingMessage } from 'node:http';

interface BodyRate {
  /** Time between two checks, in milliseconds. */
  readonly every: number;
  /** Minimum number of bytes that must arrive between two checks. */
  readonly least: number;
}

/** About 1 kB a second: a phone with one bar sends more, and a slower client only occupies the connection. */
export const leastBodyRate: BodyRate = { every: 60_000, least: 65_536 };

function announcesBody({ rawHeaders }: IncomingMessage): boolean {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    // The lengths first, for speed: this runs for every request.
    if ((name.length === 14 || name.length === 17) && /^(content-length|transfer-encoding)$/i.test(name)) return true;
  }
  return false;
}

/**
 * Checks the rate at which the body of a request arrives, however long the body is. If it is too slow, `tooSlow` is
 * called, once. A body that waits for the service to read it is not too slow.
 */
export function enforceBodyRate(request: IncomingMessage, { every, least }: BodyRate, tooSlow: () => void): void {
  if (!announcesBody(request)) return;
  const { socket } = request;
  let before = socket.bytesRead;
  let waited = false;
  const look = () => {
    if (request.complete) return clearInterval(looking);
    const waitsForUs = request.readableLength >= request.readableHighWaterMark;
    // A body that waited for the service at the last check could not go on until the service read it, perhaps only just
    // before this check.
    const hadToWait = waited;
    waited = waitsForUs;
    const came = socket.bytesRead - before;
    before = socket.bytesRead;
    if (waitsForUs || hadToWait || came >= least) return;
    clearInterval(looking);
    tooSlow();
  };
  const looking = setInterval(look, every).unref();
  request.once('close', () => clearInterval(looking));
}
