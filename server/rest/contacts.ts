/**
 * Listing, adding and reading contacts (specification, section 4.1); contact-records.ts has the operations that change
 * them.
 */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { mapped } from '../database/statement.ts';
import { mappedQuestion } from '../domain/clients/api-keys.ts';
import { createContact, type Contact } from '../domain/contacts/contacts.ts';
import { contactRecord } from '../domain/contacts/records.ts';
import { originOf } from '../http/origin.ts';
import { restPath } from '../http/rest-path.ts';
import { isUuid } from '../lib/uuid.ts';
import { answerJson } from './answer.ts';
import { readBody } from './body.ts';
import { unknownKey, type Callers } from './caller.ts';
import { archivedToo, expand, listOf, listParameters, plain } from './contact-lists.ts';
import { contactNotFound as notFound, contactRecordOperations } from './contact-records.ts';
import { location, replayed, type Operation } from './operation.ts';
import { cursor, limitOf, openPages } from './pages.ts';
import { contact, contactAsAsked, contactCreate, contactList } from './schemas.ts';
import { faultOf, idempotencyKey, openWrites, recordFailure } from './writes.ts';

const limit = limitOf('contacts');

/** All operations on contacts. */
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
          const given = { type, displayName, email, phone: phone === '' ? null : phone };
          return mappedQuestion(createContact(given, key, from), (made) => ({ made, given }));
        },
        { onFailure: recordFailure(services, 'contact.create', from, faultOf) },
      )
      .catch((fault: unknown) => {
        throw faultOf(fault);
      });
    const { made, given } = answer;
    if (made === null) throw unknownKey();
    const { id, createdAt, repeated } = made;
    const { type, displayName, email, phone } = given;
    const created: Contact = { id, type, displayName, email, phone, createdAt, updatedAt: createdAt };
    c.header('Location', `${restPath}/contacts/${id}`);
    if (repeated) c.header('Idempotent-Replayed', 'true');
    return c.json(created, 201);
  }

  async function get(c: Context): Promise<Response> {
    const id = c.req.param('contactId') ?? '';
    const { answer } = await callers.ask(c, 'contacts:read', () => {
      const isWhole = expand.read(c) !== null;
      const archived = archivedToo.read(c) === 'true';
      if (!isUuid(id)) throw notFound();
      return mapped(contactRecord(id, archived), (found) => ({ found, isWhole }));
    });
    const { found, isWhole } = answer;
    if (found === null) throw notFound();
    return answerJson(c, { status: 200, body: isWhole ? found : plain(found), headers: { ETag: found.etag } });
  }

  return [
    {
      method: 'get',
      path: '/contacts',
      id: 'listContacts',
      tag: 'Contacts',
      summary: 'List contacts',
      description:
        'Newest first unless sort says otherwise. Needs the scope contacts:read. Rows added in the meantime do not shift the pages.',
      scope: 'contacts:read',
      parameters: [cursor, limit, ...listParameters],
      answers: { 200: { description: 'A page of contacts.', schema: contactList } },
      handle: (c) =>
        pages.answer(
          c,
          'contacts:read',
          limit,
          () => listOf(c),
          ({ shown }) => shown,
        ),
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
      parameters: [archivedToo, expand],
      answers: { 200: { description: 'The contact.', schema: contactAsAsked } },
      errors: ['contact_not_found'],
      handle: get,
    },
    ...contactRecordOperations(callers, openWrites(services, callers)),
  ];
}
