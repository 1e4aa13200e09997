/** Ends requests whose body arrives too slowly, so that idle senders cannot hold connections. */

import type { IncomingMessage, ServerResponse } from 'node:http';

interface BodyRate {
  /** How often is looked, in milliseconds. */
  readonly every: number;
  /** Bytes that must have come since the last look. */
  readonly least: number;
}

/** About 1 kB a second: a phone with one bar sends more, and a client that sends less only holds the connection. */
export const leastBodyRate: BodyRate = { every: 60_000, least: 65_536 };

function announcesBody({ rawHeaders }: IncomingMessage): boolean {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    // The lengths first: this runs for every request.
    if ((name.length === 14 || name.length === 17) && /^(content-length|transfer-encoding)$/i.test(name)) return true;
  }
  return false;
}

/**
 * Watches the body of a request, however long it is: as long as it keeps the rate it may come. Of one that does not,
 * `tooSlow` is called, or the connection is closed when it is being answered already. A body that waits for us to read it
 * is not late.
 */
export function enforceBodyRate(
  request: IncomingMessage,
  response: ServerResponse,
  { every, least }: BodyRate,
  tooSlow: () => void,
): void {
  if (!announcesBody(request)) return;
  const { socket } = request;
  let before = socket.bytesRead;
  let waited = false;
  const look = () => {
    if (request.complete) return clearInterval(looking);
    const waitsForUs = request.readableLength >= request.readableHighWaterMark;
    // What waited for us at the last look could not come on until we read, which may have been a moment ago.
    const hadToWait = waited;
    waited = waitsForUs;
    const came = socket.bytesRead - before;
    before = socket.bytesRead;
    if (waitsForUs || hadToWait || came >= least) return;
    clearInterval(looking);
    if (response.headersSent) socket.destroySoon();
    else tooSlow();
  };
  const looking = setInterval(look, every).unref();
  request.once('close', () => clearInterval(looking));
}
