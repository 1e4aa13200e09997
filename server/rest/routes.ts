/** The REST API at /api/v1 (specification, sections 4.1, 5.1, 7.1 and 8). */

import { Hono } from 'hono';
import type { Services } from '../services.ts';
import { openCallers } from './caller.ts';
import { contactOperations } from './contacts.ts';
import { operationsOnDeals } from './deals/operations.ts';
import { keyOperations } from './me.ts';
import { serveDocs } from './docs.ts';
import { Problem, problemHandler } from '../http/problem.ts';
import { isKnown, writeEnvelope } from './envelope.ts';
import { eventOperations } from './events.ts';
import { addOperations, type Operation } from './operation.ts';
import { webhookDeliveryOperations } from './webhook-deliveries.ts';
import { webhookOperations } from './webhooks.ts';

/** Every operation of the API. */
export function restOperations(services: Services): readonly Operation[] {
  const callers = openCallers(services);
  return [
    ...keyOperations(services, callers),
    ...contactOperations(services, callers),
    ...operationsOnDeals(services, callers),
    ...eventOperations(services, callers),
    ...webhookOperations(services, callers),
    ...webhookDeliveryOperations(services, callers),
  ];
}

/** The routes, to be mounted at /api/v1, after the middleware for the request id and the client's address. */
export function restRoutes(services: Services): Hono {
  const routes = new Hono();
  const operations = restOperations(services);
  routes.onError(problemHandler(services.log, writeEnvelope, isKnown));
  addOperations(routes, operations);
  serveDocs(routes, services.config.baseUrl, operations);

  routes.all('*', (c) => writeEnvelope(c, new Problem(404, 'not_found', 'There is nothing at this path.')));
  return routes;
}
