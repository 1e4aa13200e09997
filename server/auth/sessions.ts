/** Signing out of this, another or every session, and the list of sessions. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { endSession, listSessions, signOut, signOutEverywhere } from '../domain/accounts/sessions.ts';
import { csrfGuard, csrfGuardOfAnySession } from '../http/csrf.ts';
import { originOf } from '../http/origin.ts';
import { clearTokenCookie, sessionDigest } from '../http/session.ts';
import { Problem } from '../http/problem.ts';
import { action, smallBody } from './action.ts';
import { asCaller } from './signed-in.ts';

/**
 * Deletes the session's cookie, and has the browser delete the data it stored of the person's pages. The device cookie
 * and the theme stay.
 */
function forgetPerson(c: Context): void {
  clearTokenCookie(c, 'dealkeep');
  c.header('Clear-Site-Data', '"cache", "storage"');
}

/** The routes for signing out, and for listing and ending sessions. */
export function sessionRoutes(services: Services) {
  const leave = action(z.object({}), async (c) => {
    await services.database.run(signOut(sessionDigest(c), originOf(c)));
    forgetPerson(c);
    return { signed_out: true };
  });

  const leaveEverywhere = action(z.object({}), async (c) => {
    await asCaller(services, c, signOutEverywhere(sessionDigest(c), originOf(c)));
    forgetPerson(c);
    return { signed_out: true };
  });

  const end = action(
    z.object({ id: z.union([z.uuid(), z.literal('others')], { error: 'Send the id of a session, or "others".' }) }),
    async (c, { id }) => {
      const others = id === 'others';
      const [, ended] = await asCaller(services, c, endSession(sessionDigest(c), others ? null : id, originOf(c)));
      if (!others && ended === 0) throw new Problem(404, 'not_found', 'This session has already ended.');
      return { ended };
    },
  );

  return new Hono()
    .post('/sign-out', smallBody, csrfGuardOfAnySession, leave)

    .post('/sign-out-everywhere', smallBody, csrfGuard, leaveEverywhere)

    .get('/sessions', async (c) => {
      const [, sessions] = await asCaller(services, c, listSessions(sessionDigest(c)));
      return c.json({ sessions });
    })

    .post('/sessions/end', smallBody, csrfGuard, end);
}
