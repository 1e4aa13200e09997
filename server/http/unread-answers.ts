/** Ends answers of which nothing is taken any more: until then each holds what it reads from, of which there may be only so much for all. */

import type { Context } from 'hono';
import type { Logger } from '../log.ts';
import { responseOf } from './open-response.ts';
import { requestIdOf } from './request-id.ts';

/** For how long nothing of an answer may be taken, in milliseconds. */
export const mostUnread = 300_000;

/**
 * Ends the answer to this request once nothing of what waits to be sent was taken for that long, or up to twice as long. One that is taken
 * slowly lives, as does one that waits for us.
 */
export function endUnread(
  { log, unreadMillis }: { readonly log: Logger; readonly unreadMillis: number },
  c: Context,
): void {
  const response = responseOf(c);
  const requestId = requestIdOf(c);
  // Node.js begins anew whenever the system has taken a part of what was written.
  response.setTimeout(unreadMillis, () => {
    if (response.writableLength === 0) return;
    log.info({ requestId }, 'an answer was ended because nothing of it was taken for minutes');
    response.destroy();
  });
}
