/** The REST API at /api/v1 (specification, sections 4.1, 5.1, 7.1 and 8). */

import { Hono } from 'hono';
import type { Services } from '../services.ts';
import { openCallers } from './caller.ts';
import { contactEndpoints } from './contacts.ts';
import { serveDocs } from './docs.ts';
import { Problem, problemHandler } from '../http/problem.ts';
import { isKnown, writeEnvelope } from './envelope.ts';
import { only } from './methods.ts';

/** Mount at /api/v1, behind the request id and the client's address. */
export function restRoutes(services: Services): Hono {
  const routes = new Hono();
  const contacts = contactEndpoints(services, openCallers(services));
  routes.onError(problemHandler(services.log, writeEnvelope, isKnown));

  routes.get('/contacts', contacts.list);
  routes.post('/contacts', contacts.create);
  routes.all('/contacts', only('GET', 'HEAD', 'POST'));
  routes.get('/contacts/:contactId', contacts.get);
  routes.all('/contacts/:contactId', only('GET', 'HEAD'));

  serveDocs(routes, services.config.baseUrl);

  routes.all('*', (c) => writeEnvelope(c, new Problem(404, 'not_found', 'There is nothing at this path.')));
  return routes;
}
