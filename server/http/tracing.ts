/** Creates a span for each request, as a child of the caller's trace if the request names one (W3C Trace Context). */

import type { MiddlewareHandler } from 'hono';
import type { Tracing } from '../telemetry/tracing.ts';
import { isForOperators } from './load-shedding.ts';
import { routeOf } from './operations.ts';
import { requestIdOf } from './request-id.ts';

/** Creates the spans; must come after the middleware that gives the request its id. */
export const traceRequests =
  (tracing: Tracing): MiddlewareHandler =>
  (c, next) => {
    // Health checks and scrapes come every few seconds.
    if (isForOperators(c.req.path)) return next();
    const requestId = requestIdOf(c);
    return tracing.span({ name: 'request', kind: 'server', below: (name) => c.req.header(name) }, async (span) => {
      await next();
      const { method, route } = routeOf(c);
      const { status } = c.res;
      span.rename(`${method} ${route}`);
      span.set({
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': status,
        'dealkeep.request_id': requestId,
      });
      if (status >= 500) span.fail(String(status));
    });
  };
