/** Signing out: here, elsewhere, everywhere; and the list of sessions. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { endSession, listSessions, signOut, signOutEverywhere } from '../domain/accounts/sessions.ts';
import { csrfField, csrfGuard, csrfGuardOfAnySession } from '../http/csrf.ts';
import { html } from '../http/html.ts';
import { originOf } from '../http/origin.ts';
import { clearTokenCookie, sessionDigest, sessionToken } from '../http/session.ts';
import { action, Fault, smallBody, view, type Again } from './action.ts';
import { cardPage } from './forms.ts';
import { asCaller } from './signed-in.ts';

/**
 * Takes the session's cookie back, and has the browser forget what it kept of the person's pages. Other cookies stay: what
 * the browser is known by, and the theme.
 */
function forgetPerson(c: Context): void {
  clearTokenCookie(c, 'dealkeep');
  c.header('Clear-Site-Data', '"cache", "storage"');
}

/** /sign-out, the ends of sessions under /settings/security, and the same for programs under /api/auth. */
export function sessionRoutes(services: Services, security: Again): Hono {
  const app = new Hono();

  app.get('/sign-out', (c) => {
    const token = sessionToken(c);
    if (token === null) return c.redirect('/sign-in', 303);
    return cardPage(c, {
      title: 'Sign out?',
      body: html`<form method="post" action="/sign-out">
        ${csrfField(token)}
        <p class="actions"><button>Sign out</button> <a class="button second" href="/">Stay</a></p>
      </form>`,
    });
  });
  const leave = action(
    z.object({}),
    async (c) => {
      await services.database.run(signOut(sessionDigest(c), originOf(c)));
      forgetPerson(c);
      return { json: { signed_out: true }, go: '/sign-in' };
    },
    security,
  );
  app.post('/sign-out', smallBody, csrfGuardOfAnySession, leave);
  app.post('/api/auth/sign-out', smallBody, csrfGuardOfAnySession, leave);

  const leaveEverywhere = action(
    z.object({}),
    async (c) => {
      await asCaller(services, c, signOutEverywhere(sessionDigest(c), originOf(c)));
      forgetPerson(c);
      return { json: { signed_out: true }, go: '/sign-in' };
    },
    security,
  );
  app.post('/settings/security/sign-out-everywhere', smallBody, csrfGuard, leaveEverywhere);
  app.post('/api/auth/sign-out-everywhere', smallBody, csrfGuard, leaveEverywhere);

  app.get(
    '/api/auth/sessions',
    view(async (c) => {
      const [, sessions] = await asCaller(services, c, listSessions(sessionDigest(c)));
      return c.json({ sessions });
    }),
  );
  const end = action(
    z.object({ id: z.union([z.uuid(), z.literal('others')], { error: 'Send the id of a session, or "others".' }) }),
    async (c, { id }) => {
      const others = id === 'others';
      const [, ended] = await asCaller(services, c, endSession(sessionDigest(c), others ? null : id, originOf(c)));
      if (!others && ended === 0) throw new Fault(404, 'not_found', 'This session is over already.');
      return { json: { ended }, go: `/settings/security?done=${others ? 'sessions' : 'session'}` };
    },
    security,
  );
  app.post('/settings/security/sessions/end', smallBody, csrfGuard, end);
  app.post('/api/auth/sessions/end', smallBody, csrfGuard, end);
  return app;
}
