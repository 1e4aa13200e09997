/** The JSON routes for signing in, below /api/auth, for the application's pages and for programs. */

import { Hono } from 'hono';
import { problemHandler, writeProblemJson } from '../http/problem.ts';
import { limitRequests } from '../http/request-limits.ts';
import type { Services } from '../services.ts';
import { accountRoutes } from './account.ts';
import { invitationRoutes } from './invitations.ts';
import { passkeyRoutes } from './passkeys.ts';
import { resetRoutes } from './reset.ts';
import { secondFactorRoutes } from './second-factor.ts';
import { sessionRoutes } from './sessions.ts';
import { setUpRoutes } from './set-up.ts';
import { signInRoutes } from './sign-in.ts';

/** All routes; to be mounted at /api/auth. */
export function authRoutes(services: Services) {
  const app = new Hono();
  app.onError(problemHandler(services.log, writeProblemJson));
  // Counted separately from the requests of the pages: somebody who stole the session and floods these routes must not
  // keep its owner from working.
  app.use(limitRequests(services, (session) => `auth ${session.toString('base64url')}`));
  return app
    .route('/', signInRoutes(services))
    .route('/', sessionRoutes(services))
    .route('/', resetRoutes(services))
    .route('/', setUpRoutes(services))
    .route('/', invitationRoutes(services))
    .route('/', accountRoutes(services))
    .route('/', secondFactorRoutes(services))
    .route('/', passkeyRoutes(services));
}

/** The types of the routes' requests and responses, for server/contract.ts. */
export type AuthRoutes = ReturnType<typeof authRoutes>;
