/** The response to a browser over a limit, and the limit on every request of the pages and of signing in. */

import type { MiddlewareHandler } from 'hono';
import type { Services } from '../services.ts';
import { clientAddress } from './client-address.ts';
import type { Count } from './limits.ts';
import { Problem, retryAfter as tryAgainIn } from './problem.ts';
import { sessionDigest } from './session.ts';

/** The sentence for a client that is over a limit: how long to wait. */
export const tooMany = (what: 'requests' | 'attempts' | 'new clients', { retryAfter }: Count): string =>
  `Too many ${what}: try again in ${retryAfter} ${retryAfter === 1 ? 'second' : 'seconds'}.`;

/** Throws 429 when one of the counts is over its limit. */
export function refuseOver(what: 'requests' | 'attempts', ...counts: readonly Count[]): void {
  for (const count of counts)
    if (!count.allowed) throw new Problem(429, 'rate_limited', tooMany(what, count), tryAgainIn(count.retryAfter));
}

/**
 * Counts every request before any other work on it: for its address, and for the session it presents, under the key
 * that `keyOf` derives from the session's digest.
 */
export const limitRequests =
  ({ limits }: Services, keyOf: (session: Buffer) => string): MiddlewareHandler =>
  async (c, next) => {
    refuseOver('requests', await limits.take('web_ip', clientAddress(c)));
    const session = sessionDigest(c);
    if (session !== null) refuseOver('requests', await limits.take('web_person', keyOf(session)));
    await next();
  };
