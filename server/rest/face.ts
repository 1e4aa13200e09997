/** The REST API at /api/v1 (specification, sections 4.1, 5.1, 7.1 and 8). */

import { Hono } from 'hono';
import type { House } from '../context.ts';
import { openCallers } from './caller.ts';
import { contactEndpoints } from './contacts.ts';
import { serveDocs } from './docs.ts';
import { answerFault, Fault, onError } from './envelope.ts';
import { only } from './methods.ts';

/** Mount at /api/v1, behind the request id and the client's address. */
export function restFace(house: House): Hono {
  const face = new Hono();
  const contacts = contactEndpoints(house, openCallers(house));
  face.onError(onError(house.log));

  face.get('/contacts', contacts.list);
  face.post('/contacts', contacts.create);
  face.all('/contacts', only('GET', 'HEAD', 'POST'));
  face.get('/contacts/:contactId', contacts.get);
  face.all('/contacts/:contactId', only('GET', 'HEAD'));

  serveDocs(face, house.config.baseUrl);

  face.all('*', (c) => answerFault(c, new Fault(404, 'not_found', 'There is nothing at this path.')));
  return face;
}
