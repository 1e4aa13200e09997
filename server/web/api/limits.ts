/** Rate limits of the pages, per minute: for a person across all their sessions, and for an address. */

import type { MiddlewareHandler } from 'hono';
import type { Services } from '../../services.ts';
import { personIdOf } from '../../http/person.ts';
import { limitRequests } from '../../http/request-limits.ts';
import { sessionDigest } from '../../http/session.ts';
import { openTokenHolders } from '../../http/token-holder-cache.ts';

/**
 * Counts a request against the person of its session, across all their sessions, and against its address. While this
 * node does not know the person of a session yet, the session is counted by itself.
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
      // A client with the token of an ended session must not use up the person's limit.
      else if (c.res.status === 401) people.forget(digest);
    });
}
