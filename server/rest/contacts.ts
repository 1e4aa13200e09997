/** The three endpoints of contacts (specification, section 4.1). */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { Refusal, Unavailable } from '../database/errors.ts';
import { mapped } from '../database/statement.ts';
import { enterWithApiKey } from '../domain/clients/api-keys.ts';
import {
  contactById,
  contactsPage,
  createContact,
  recordNotCreated,
  type Contact,
  type Position,
} from '../domain/contacts/contacts.ts';
import type { Origin } from '../domain/audit/audited.ts';
import { originOf } from '../http/origin.ts';
import { Problem, problemOf } from '../http/problem.ts';
import { isUuid } from '../http/uuid.ts';
import { readBody } from './body.ts';
import { unknownKey, type Callers } from './caller.ts';
import { invalid, isKnown } from './envelope.ts';
import { headerParameter, location, replayed, type Operation } from './operation.ts';
import { byTime, cursor, limitOf, openPages, type List } from './pages.ts';
import { contact, contactCreate, contactList } from './schemas.ts';

const notFound = () => new Problem(404, 'contact_not_found', 'There is no such contact.');

const limit = limitOf('contacts');
const newest: List<Contact, Position> = { name: 'contacts', rows: contactsPage, place: byTime };

const idempotencyKey = headerParameter(
  'Idempotency-Key',
  {
    description:
      'Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    message: 'Send one key of 1 to 255 visible ASCII characters, or leave the header out.',
  },
  (value) => (/^[\x21-\x7e]{1,255}$/.test(value) ? value : undefined),
);

/** An idempotency key that stands for another body is a fault of the request. */
const faultOfCreate = (fault: unknown): unknown =>
  fault instanceof Refusal ? invalid([{ in: 'header', path: 'Idempotency-Key', message: fault.message }]) : fault;

/** List, create and get. */
export function contactOperations(services: Services, callers: Callers): readonly Operation[] {
  const { database, log } = services;
  const pages = openPages(services, callers);

  async function recordFailure(digest: Buffer, error: unknown, from: Origin): Promise<void> {
    const problem = problemOf(error);
    const { status, code } = problem && isKnown(problem.code) ? problem : { status: 500, code: 'internal_error' };
    const record = recordNotCreated(status < 500 ? 'refused' : 'failed', { status, code }, from);
    await database.together(enterWithApiKey(digest), record).catch((lost: unknown) => {
      log.error({ err: lost, requestId: from.requestId }, 'A refused contact left no audit record');
    });
  }

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
        async (digest, fault) => {
          // A database that is away takes no record either, and the caller has waited for it long enough.
          if (!(fault instanceof Unavailable)) await recordFailure(digest, faultOfCreate(fault), from);
        },
      )
      .catch((fault: unknown) => {
        throw faultOfCreate(fault);
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
    return c.json(found);
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
