/** The JSON routes at which people sign in, below /api/auth: for the application's pages and for programs alike. */

import { Hono } from 'hono';
import { problemHandler, writeProblemJson } from '../http/problem.ts';
import type { Services } from '../services.ts';
import { accountRoutes } from './account.ts';
import { invitationRoutes } from './invitations.ts';
import { passkeyRoutes } from './passkeys.ts';
import { peopleRoutes } from './people.ts';
import { resetRoutes } from './reset.ts';
import { secondFactorRoutes } from './second-factor.ts';
import { sessionRoutes } from './sessions.ts';
import { setUpRoutes } from './set-up.ts';
import { signInRoutes } from './sign-in.ts';

/** All of it; to be mounted at /api/auth. */
export function authRoutes(services: Services): Hono {
  const app = new Hono();
  app.onError(problemHandler(services.log, writeProblemJson));
  app.route('/', signInRoutes(services));
  app.route('/', sessionRoutes(services));
  app.route('/', resetRoutes(services));
  app.route('/', setUpRoutes(services));
  app.route('/', invitationRoutes(services));
  app.route('/', accountRoutes(services));
  app.route('/', secondFactorRoutes(services));
  app.route('/', passkeyRoutes(services));
  app.route('/', peopleRoutes(services));
  return app;
}
