/** Assembles the interfaces of the service: middleware for every request, then the routes. */

import { Hono } from 'hono';
import type { Config } from './config/config.ts';
import type { Services } from './services.ts';
import { addressFinder, addressing } from './http/client-address.ts';
import { answerDirectly } from './http/direct-answers.ts';
import { openResponses } from './http/open-response.ts';
import { noRoute, operations, startMetrics, type MetricsReader } from './http/operations.ts';
import { servePageStyle } from './http/page-style.ts';
import { pagesBeforeConsent } from './http/links.ts';
import { nothingHere, writeProblemPage } from './http/pages.ts';
import { delayRefusals } from './http/delayed-refusals.ts';
import { problemHandler } from './http/problem.ts';
import { cachingRouter } from './http/route-cache.ts';
import { requestId } from './http/request-id.ts';
import { headersOfAll, keepOpener, safeHeaders } from './http/safe-headers.ts';
import { publicOrigin, sessionLookup } from './http/session.ts';
import { traceRequests } from './http/tracing.ts';
import { interfaceAt, interfaces, refuseMalformed } from './interfaces.ts';
import { readPinned } from './oauth/client-documents.ts';
import { endpoints } from './oauth/metadata.ts';
import { calendarRoutes } from './web/calendar.ts';
import { staticRoutes } from './web/static.ts';
import { unsubscribeRoutes } from './web/unsubscribe.ts';

export { interfaceAt } from './interfaces.ts';

/** Reads the files named by the configuration, as a start does. Throws a ConfigError if one cannot be used. */
export const checkNamedFiles = ({ clientMetadata }: Config): void => void readPinned(clientMetadata);

/** The whole service as one request handler; with `metricsReader` if /metrics covers more than this process. */
export function createApp(services: Services, metricsReader?: MetricsReader): Hono {
  const { config, load, tracing } = services;
  const app = new Hono({ router: cachingRouter() });
  const findAddress = addressFinder(config.trustedProxies);
  const metrics = startMetrics(services, (path) => interfaceAt(path).name);
  app.use(openResponses, delayRefusals(load), safeHeaders(config.baseUrl));
  for (const path of [endpoints.authorize, ...pagesBeforeConsent]) app.use(path, keepOpener(endpoints.authorize));
  app.use(requestId, addressing(findAddress));
  if (tracing) app.use(traceRequests(tracing));
  app.use(metrics.observe, publicOrigin(config.baseUrl));
  app.use(refuseMalformed, sessionLookup(services.database));

  app.route('/', operations(services, metrics, metricsReader));
  servePageStyle(app);
  for (const { mount, routes } of interfaces) {
    const made = routes(services);
    app.route(mount, 'direct' in made ? made.routes : made);
    // Middleware creates the spans of a request, so with tracing the app answers every request.
    if ('direct' in made && !tracing)
      answerDirectly(app, made.direct, {
        headers: Object.fromEntries(headersOfAll(config.baseUrl)),
        addressOf: ({ socket, headers }) => findAddress(socket.remoteAddress, headers['x-forwarded-for']?.toString()),
        note: (request, from, millis) =>
          metrics.note({ method: 'POST', path: request.url ?? '', asked: noRoute, from, status: 200, millis }),
        failed: (from, error) => services.log.error({ requestId: from.requestId, err: error }, 'a plain call failed'),
      });
  }
  app.route('/', unsubscribeRoutes(services));
  app.route('/', calendarRoutes(services));
  app.route('/', staticRoutes());

  app.notFound(nothingHere);
  app.onError(problemHandler(services.log, writeProblemPage));
  return app;
}
