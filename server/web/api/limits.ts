/** How much the pages may ask for in a minute: a person in all their sessions, and an address. */

import type { MiddlewareHandler } from 'hono';
import type { Services } from '../../services.ts';
import { clientAddress } from '../../http/client-address.ts';
import type { Count } from '../../http/limits.ts';
import { personIdOf } from '../../http/person.ts';
import { Problem, retryAfter as tryAgainIn } from '../../http/problem.ts';
import { sessionDigest } from '../../http/session.ts';
import { openHolders } from '../../http/token-holders.ts';

function refuseOver({ allowed, retryAfter }: Count): void {
  if (allowed) return;
  const message = `That was too much at once: try again in ${retryAfter} ${retryAfter === 1 ? 'second' : 'seconds'}.`;
  throw new Problem(429, 'rate_limited', message, tryAgainIn(retryAfter));
}

/**
 * Counts a request before anything else is done for it, for its address and for the person whose session it presents; 429
 * when there were too many. A session whose person this node has not learnt yet is counted for itself.
 */
export function limitRequests({ limits }: Services): MiddlewareHandler {
  const people = openHolders<string>();
  return async (c, next) => {
    refuseOver(await limits.take('web_ip', clientAddress(c)));
    const digest = sessionDigest(c);
    if (digest === null) return next();
    refuseOver(await limits.take('web_person', people.get(digest) ?? digest.toString('base64url')));
    await next();
    const person = personIdOf(c);
    if (person !== null) people.set(digest, person);
    // Of a session that has ended: who holds its token still must not use up what its person may ask.
    else if (c.res.status === 401) people.forget(digest);
  };
}
