/** The authorization server (OAuth 2.1): its endpoints, and how each reports errors. */

import { Hono, type Handler, type MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import type { Services } from '../services.ts';
import { clientAddress } from '../http/client-address.ts';
import { Problem, problemHandler } from '../http/problem.ts';
import { tooMany } from '../http/request-limits.ts';
import { showConsent } from './authorize/get.ts';
import { tryAgainPage } from './authorize/pages.ts';
import { takeDecision } from './authorize/post.ts';
import { openClientDocuments } from './client-documents.ts';
import { endpoints, serveMetadata } from './metadata.ts';
import { invalidRequest, isKnown, writeOAuthError } from './oauth-error.ts';
import { revocationEndpoint } from './revoke.ts';
import { tokenEndpoint } from './token.ts';

// Pages of any origin may call these: no cookies are used, and responses are only for the holder of the credential sent
// along.
const anyOrigin = cors({
  origin: '*',
  allowMethods: ['GET', 'POST'],
  allowHeaders: ['Authorization', 'Content-Type', 'MCP-Protocol-Version'],
  exposeHeaders: ['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
  maxAge: 86_400,
});

const wrongMethod =
  (...allowed: string[]): Handler =>
  (c) => {
    c.header('Allow', allowed.join(', '));
    return writeOAuthError(c, invalidRequest(`Use ${allowed[0]}.`, 405));
  };

const notFound: Handler = (c) =>
  writeOAuthError(
    c,
    new Problem(
      404,
      'not_found',
      'There is no such document: the metadata is at /.well-known/oauth-authorization-server.',
    ),
  );

/** The endpoints for programs: every response, including errors, is JSON. */
function forPrograms(services: Services): Hono {
  const routes = new Hono();
  routes.onError(problemHandler(services.log, writeOAuthError, isKnown));
  const serve = (path: string, handler: Handler) =>
    routes.use(path, anyOrigin).post(path, handler).all(path, wrongMethod('POST', 'OPTIONS'));
  serve(endpoints.token, tokenEndpoint(services));
  serve(endpoints.revoke, revocationEndpoint(services));
  return routes;
}

function limitAuthorize({ limits }: Services): MiddlewareHandler {
  return async (c, next) => {
    const count = await limits.take('authorize_ip', clientAddress(c));
    if (count.allowed) return next();
    return tryAgainPage(c, 429, { message: tooMany('requests', count), retryAfter: count.retryAfter });
  };
}

/** The endpoint for a person's browser: no CORS, pages and redirects. */
function forPeople(services: Services): Hono {
  const routes = new Hono();
  routes.use(endpoints.authorize, limitAuthorize(services));
  routes.get(endpoints.authorize, showConsent(services, openClientDocuments(services)));
  routes.post(endpoints.authorize, takeDecision(services));
  routes.all(endpoints.authorize, wrongMethod('GET', 'HEAD', 'POST'));
  return routes;
}

/** The well-known documents; any other path below their names is answered with a 404 in JSON. */
function discovery(services: Services): Hono {
  const routes = new Hono();
  const names = ['oauth-authorization-server', 'oauth-protected-resource', 'openid-configuration'];
  const paths = names.flatMap((name) => [`/.well-known/${name}`, `/.well-known/${name}/*`]);
  for (const path of paths) routes.use(path, anyOrigin);
  serveMetadata(routes, services);
  for (const path of paths) routes.all(path, notFound);
  return routes;
}

/** The routes of the authorization server. */
export function oauthRoutes(services: Services): Hono {
  const routes = new Hono();
  routes.route('/', discovery(services));
  routes.route('/', forPeople(services));
  routes.route('/', forPrograms(services));
  return routes;
}
