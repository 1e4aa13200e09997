/** The three endpoints of contacts (specification, section 4.1). */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { mapped } from '../database/statement.ts';
import { contactById, contactsPage, createContact, type Contact, type Position } from '../domain/contacts/contacts.ts';
import { originOf } from '../http/origin.ts';
import { Problem } from '../http/problem.ts';
import { isUuid } from '../http/uuid.ts';
import { answerJson } from './answer.ts';
import { readBody } from './body.ts';
import { unknownKey, type Callers } from './caller.ts';
import { location, replayed, type Operation } from './operation.ts';
import { byTime, cursor, limitOf, openPages, type List } from './pages.ts';
import { contact, contactCreate, contactList } from './schemas.ts';
import { faultOf, idempotencyKey, recordFailure } from './writes.ts';

const notFound = () => new Problem(404, 'contact_not_found', 'There is no such contact.');

const limit = limitOf('contacts');
const newest: List<Contact, Position> = { name: 'contacts', rows: contactsPage, place: byTime };

/** List, create and get. */
export function contactOperations(services: Services, callers: Callers): readonly Operation[] {
  const pages = openPages(services, callers);

  async function create(c: Context): Promise<Response> {
    const from = originOf(c);
    const { answer } = await callers
      .ask(
        c,
        'contacts:write',
        async () => {
          const key = idempotencyKey.read(c);
          const { type, displayName, email = null, phone = null } = await readBody(c, contactCreate);
          const given = { type, displayName, email, phone };
          return mapped(createContact(given, key, from), (made) => ({ made, given }));
        },
        { tell: recordFailure(services, 'contact.create', from, faultOf) },
      )
      .catch((fault: unknown) => {
        throw faultOf(fault);
      });
    const { made, given } = answer;
    if (made === null) throw unknownKey();
    const { id, created_at: createdAt, repeated } = made;
    const { type, displayName, email, phone } = given;
    const created: Contact = { id, type, displayName, email, phone, createdAt, updatedAt: createdAt };
    c.header('Location', `/api/v1/contacts/${id}`);
    if (repeated) c.header('Idempotent-Replayed', 'true');
    return c.json(created, 201);
  }

  async function get(c: Context): Promise<Response> {
    const id = c.req.param('contactId') ?? '';
    const { answer: found } = await callers.ask(c, 'contacts:read', () => {
      if (!isUuid(id)) throw notFound();
      return contactById(id);
    });
    if (found === null) throw notFound();
    return answerJson(c, { status: 200, body: found });
  }

  return [
    {
      method: 'get',
      path: '/contacts',
      id: 'listContacts',
      tag: 'Contacts',
      summary: 'List contacts',
      description: 'Newest first. Needs the scope contacts:read. Rows that are added meanwhile shift nothing.',
      scope: 'contacts:read',
      parameters: [cursor, limit],
      answers: { 200: { description: 'A page of contacts.', schema: contactList } },
      handle: (c) => pages.answer(c, 'contacts:read', limit, () => newest),
    },
    {
      method: 'post',
      path: '/contacts',
      id: 'createContact',
      tag: 'Contacts',
      summary: 'Create a contact',
      description: 'Needs the scope contacts:write.',
      scope: 'contacts:write',
      parameters: [idempotencyKey],
      body: contactCreate,
      answers: {
        201: { description: 'The contact.', schema: contact, headers: { ...location('contact'), ...replayed } },
      },
      handle: create,
    },
    {
      method: 'get',
      path: '/contacts/{contactId}',
      id: 'getContact',
      tag: 'Contacts',
      summary: 'Get a contact',
      description: 'Needs the scope contacts:read.',
      scope: 'contacts:read',
      answers: { 200: { description: 'The contact.', schema: contact } },
      errors: ['contact_not_found'],
      handle: get,
    },
  ];
}
