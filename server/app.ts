/** Puts the interfaces of the service together: what happens to every request, then who answers it. */

import { Hono } from 'hono';
import { authRoutes } from './auth/routes.ts';
import type { Services } from './services.ts';
import { addressing } from './http/client-address.ts';
import { operations, startMetrics } from './http/operations.ts';
import { nothingHere, writeProblemPage } from './http/pages.ts';
import { servePlainStyle } from './http/plain-style.ts';
import { problemHandler } from './http/problem.ts';
import { requestId } from './http/request-id.ts';
import { safeHeaders } from './http/safe-headers.ts';
import { publicOrigin, sessionLookup } from './http/session.ts';
import { oauthRoutes } from './oauth/routes.ts';
import { refuseMalformed } from './refuse-malformed.ts';
import { restRoutes } from './rest/routes.ts';
import { toolServerRoutes } from './tools/routes.ts';
import { apiRoutes } from './web/api/routes.ts';
import { staticRoutes } from './web/static.ts';

/** The whole service as one handler of requests. */
export function createApp(services: Services): Hono {
  const { config } = services;
  const app = new Hono();
  const metrics = startMetrics(services);
  app.use(safeHeaders(config.baseUrl));
  app.use(requestId, addressing(config.trustedProxies), metrics.observe, publicOrigin(config.baseUrl));
  app.use(refuseMalformed, sessionLookup(services.database));

  app.route('/', operations(services, metrics));
  servePlainStyle(app);
  app.route('/api/v1', restRoutes(services));
  app.route('/', oauthRoutes(services));
  app.route('/', toolServerRoutes(services));
  const application = staticRoutes();
  app.route('/', application.first);
  app.route('/', authRoutes(services));
  app.route('/api/web', apiRoutes(services));
  app.route('/', application.last);

  app.notFound(nothingHere);
  app.onError(problemHandler(services.log, writeProblemPage));
  return app;
}
