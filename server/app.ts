/** Puts the faces of the house together: what happens to every request, then who answers it. */

import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { authFace } from './auth/face.ts';
import type { House } from './context.ts';
import { Unavailable } from './database/errors.ts';
import { addressing } from './http/client-address.ts';
import { operations, startMetrics } from './http/operations.ts';
import { nothingHere, problem } from './http/pages.ts';
import { servePlainStyle } from './http/plain-style.ts';
import { requestId, requestIdOf } from './http/request-id.ts';
import { safeHeaders } from './http/safe-headers.ts';
import { publicOrigin, sessionLookup } from './http/session.ts';
import { oauthFace } from './oauth/face.ts';
import { refuseMalformed } from './refuse-malformed.ts';
import { restFace } from './rest/face.ts';
import { toolsFace } from './tools/face.ts';
import { webFace } from './web/face.ts';
import { staticFaces } from './web/static.ts';

/** The whole service as one handler of requests. */
export function createApp(house: House): Hono {
  const { config, log } = house;
  const app = new Hono();
  const metrics = startMetrics(house);
  app.use(safeHeaders(config.baseUrl));
  app.use(requestId, addressing(config.trustedProxies), metrics.observe, publicOrigin(config.baseUrl));
  app.use(refuseMalformed, sessionLookup(house.database));

  app.route('/', operations(house, metrics));
  servePlainStyle(app);
  app.route('/api/v1', restFace(house));
  app.route('/', oauthFace(house));
  app.route('/', toolsFace(house));
  const application = staticFaces();
  app.route('/', application.first);
  app.route('/', authFace(house));
  app.route('/', webFace(house));
  app.route('/', application.last);

  app.notFound(nothingHere);
  app.onError((error, c) => {
    if (error instanceof HTTPException) return error.getResponse();
    const id = requestIdOf(c);
    if (error instanceof Unavailable) {
      log.warn({ requestId: id, reason: String(error.cause) }, 'the database is away');
      c.header('Retry-After', '5');
      return problem(c, 503, 'unavailable', 'The service cannot reach its database: try again in a moment.');
    }
    log.error({ requestId: id, err: error }, 'a request failed');
    return problem(
      c,
      500,
      'internal_error',
      `Something failed on our side. Please report it with this request id: ${id}.`,
    );
  });
  return app;
}
