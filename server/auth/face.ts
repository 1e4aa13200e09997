/** The face that people sign in at: plain pages that work without scripts, and the same under /api/auth for programs. */

import { Hono } from 'hono';
import type { House } from '../context.ts';
import { accountRoutes } from './account.ts';
import type { Again } from './action.ts';
import { invitationRoutes } from './invitations.ts';
import { servePasskeyScript } from './passkey-script.ts';
import { passkeyRoutes } from './passkeys.ts';
import { peopleRoutes } from './people.ts';
import { resetRoutes } from './reset.ts';
import { secondFactorRoutes } from './second-factor.ts';
import { securityPage } from './security-page.ts';
import { sessionRoutes } from './sessions.ts';
import { setUpRoutes } from './set-up.ts';
import { signInRoutes } from './sign-in.ts';

/** All of it; to be mounted at the root. */
export function authFace(house: House): Hono {
  const app = new Hono();
  const security: Again = (c, fault) => securityPage(house, c, fault);
  servePasskeyScript(app);
  app.route('/', signInRoutes(house));
  app.route('/', sessionRoutes(house, security));
  app.route('/', resetRoutes(house));
  app.route('/', setUpRoutes(house));
  app.route('/', invitationRoutes(house));
  app.route('/', accountRoutes(house, security));
  app.route('/', secondFactorRoutes(house, security));
  app.route('/', passkeyRoutes(house, security));
  app.route('/', peopleRoutes(house));
  // A refused form leaves the browser at its own address: loading that again leads back to the page.
  for (const path of ['/settings/security', '/settings/people']) app.get(`${path}/*`, (c) => c.redirect(path, 303));
  return app;
}
