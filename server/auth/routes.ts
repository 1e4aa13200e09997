/** The routes that people sign in at: plain pages that work without scripts, and the same under /api/auth for programs. */

import { Hono } from 'hono';
import type { Services } from '../services.ts';
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
export function authRoutes(services: Services): Hono {
  const app = new Hono();
  const security: Again = (c, fault) => securityPage(services, c, fault);
  servePasskeyScript(app);
  app.route('/', signInRoutes(services));
  app.route('/', sessionRoutes(services, security));
  app.route('/', resetRoutes(services));
  app.route('/', setUpRoutes(services));
  app.route('/', invitationRoutes(services));
  app.route('/', accountRoutes(services, security));
  app.route('/', secondFactorRoutes(services, security));
  app.route('/', passkeyRoutes(services, security));
  app.route('/', peopleRoutes(services));
  // A refused form leaves the browser at its own address: loading that again leads back to the page.
  for (const path of ['/settings/security', '/settings/people']) app.get(`${path}/*`, (c) => c.redirect(path, 303));
  return app;
}
