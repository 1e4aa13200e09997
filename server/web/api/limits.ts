/** How much the pages may ask for in a minute: a person in all their sessions, and an address. */

import type { MiddlewareHandler } from 'hono';
import type { Services } from '../../services.ts';
import { personIdOf } from '../../http/person.ts';
import { limitRequests } from '../../http/request-limits.ts';
import { sessionDigest } from '../../http/session.ts';
import { openTokenHolders } from '../../http/token-holder-cache.ts';

/**
 * Counts a request for the person whose session it presents, in all their sessions together, and for its address. A session
 * whose person this node has not learnt yet is counted for itself.
 */
export function limitPages(services: Services): MiddlewareHandler {
  const people = openTokenHolders<string>();
  const counted = limitRequests(services, (session) => people.get(session) ?? session.toString('base64url'));
  return (c, next) =>
    counted(c, async () => {
      await next();
      const digest = sessionDigest(c);
      if (digest === null) return;
      const person = personIdOf(c);
      if (person !== null) people.set(digest, person);
      // The holder of a token of an ended session must not use up what its person may ask.
      else if (c.res.status === 401) people.forget(digest);
    });
}
