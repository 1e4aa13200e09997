/** Operations that change contacts and that find them by the ids of another system: each returns the full contact. */

import type { Context } from 'hono';
import type { Statement } from '../database/statement.ts';
import {
  contactByExternalId,
  mergeContacts,
  writeContact,
  writeContacts,
  type ChangedContact,
  type ContactChange,
  type GivenContact,
} from '../domain/contacts/records.ts';
import { originOf } from '../http/origin.ts';
import { Problem, type Detail } from '../http/problem.ts';
import { restPath } from '../http/rest-path.ts';
import { isUuid } from '../lib/uuid.ts';
import { answerJson, type Answered } from './answer.ts';
import { largestChange } from '../http/bounded-body.ts';
import { faultsIn, readBody } from './body.ts';
import { unknownKey, type Callers } from './caller.ts';
import { archivedToo } from './contact-lists.ts';
import { conflict, invalid } from './envelope.ts';
import { location, replayed, type Json, type Operation } from './operation.ts';
import {
  contactBatch,
  contactBatchItem,
  contactBatchOfAnything,
  contactBatchResult,
  contactCreate,
  contactMerge,
  contactPatch,
  contactRecord,
  externalIdMessage,
  externalIdSchema,
  isExternalId,
} from './schemas.ts';
import { idempotencyKey, ifMatchOf, tagsOf, type Write, type Writes } from './writes.ts';

/**
 * 404, the same for a contact that does not exist, one of another brokerage, and an archived one unless archived
 * contacts are included.
 */
export const contactNotFound = (): Problem => new Problem(404, 'contact_not_found', 'There is no such contact.');

const ifMatch = ifMatchOf('contact');

/** The response contains an existing contact, so a key that changes one must be allowed to read it. */
const scopes = ['contacts:write', 'contacts:read'] as const;

const needsBoth = 'Needs the scopes contacts:write and contacts:read.';

const pathOf = (id: string): string => `${restPath}/contacts/${id}`;

/** The response to a change. Throws a problem if nothing was changed. */
function answerTo(changed: ChangedContact | null): Answered {
  if (changed === null) throw unknownKey();
  const { outcome, contact } = changed;
  if (outcome === 'stale')
    throw new Problem(
      412,
      'precondition_failed',
      'The contact has changed since you read it: get it again, then decide.',
    );
  if (outcome === 'taken')
    throw conflict('Another contact has this externalId.', contact ? { contactId: contact.id } : undefined);
  if (contact === null) throw contactNotFound();
  const { id, etag } = contact;
  if (outcome === 'erased')
    throw conflict('The contact was erased for good: delete your copy, and do not send it again.', {
      reason: 'erased',
      contactId: id,
    });
  if (outcome === 'archived') throw conflict('The contact is archived: restore it first.', { contactId: id });
  const headers = { ETag: etag, ...(outcome === 'created' && { Location: pathOf(id) }) };
  return { status: outcome === 'created' ? 201 : 200, body: contact, headers };
}

/** The contact's id in the path. Throws 404 for an invalid id. */
function idIn(c: Context): string {
  const id = c.req.param('contactId') ?? '';
  if (!isUuid(id)) throw contactNotFound();
  return id;
}

const largestBatch = 1_048_576;

interface BatchItem {
  readonly change: ContactChange | null;
  readonly faults: readonly Detail[];
}

/** One item of a batch as a change, or its faults. */
function itemOf(value: unknown): BatchItem {
  const faults = faultsIn(contactBatchItem, value);
  if (faults) return { change: null, faults };
  if (Buffer.byteLength(JSON.stringify(value)) > largestChange)
    return {
      change: null,
      faults: [{ in: 'body', path: '', message: `The item is too large: at most ${largestChange} bytes.` }],
    };
  const item = contactBatchItem.parse(value);
  const tags = 'ifMatch' in item && item.ifMatch !== undefined ? tagsOf(item.ifMatch) : undefined;
  switch (item.action) {
    case 'create':
      return { change: { act: 'create', given: written(item.contact) }, faults: [] };
    case 'update':
      return { change: { act: 'change', id: item.id, given: written(item.contact), tags }, faults: [] };
    case 'upsert':
      return { change: { act: 'put', externalId: item.externalId, given: put(item.contact), tags }, faults: [] };
    case 'archive':
    case 'restore':
      return { change: { act: item.action, id: item.id, tags }, faults: [] };
  }
}

/** What is to be written: a phone number that is sent as an empty text is none. */
const written = (given: GivenContact): GivenContact => (given.phone === '' ? { ...given, phone: null } : given);

/** The content that replaces a contact: missing properties are cleared. */
const put = ({ email, phone, ...given }: ReturnType<typeof contactCreate.parse>): GivenContact => ({
  ...given,
  email: email ?? null,
  phone: phone || null,
});

/**
 * The result of an item: the status and the body of the response that the change alone would have had, and the entity
 * tag that the contact has now.
 */
function resultOf(changed: ChangedContact | null, answer: () => Answered): Json {
  const tagged = changed?.contact && changed.outcome !== 'taken' && { etag: changed.contact.etag };
  try {
    const { status, body } = answer();
    return { status, ...tagged, contact: body };
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault;
    const { status, code, message, details } = fault;
    const shown = Array.isArray(details) ? { faults: details } : details;
    return { status, ...tagged, error: shown === undefined ? { code, message } : { code, message, details: shown } };
  }
}

/** Operations to change, archive, restore and merge contacts, to find and put them by external id, and batches. */
export function contactRecordOperations(callers: Callers, writes: Writes): readonly Operation[] {
  const one = (changed: Statement<ChangedContact | null>, said: unknown): Write<[typeof changed]> => ({
    statements: [changed],
    said,
    answer: ([result]) => answerTo(result),
  });

  const change = (c: Context) =>
    writes.run(c, { scopes, action: 'contact.update', isConditional: true }, async () => {
      const tags = ifMatch.read(c) ?? undefined;
      const types = ['application/json', 'application/merge-patch+json'] as const;
      const given = written(await readBody(c, contactPatch, largestChange, types));
      return one(writeContact({ act: 'change', id: idIn(c), given, tags }, originOf(c)), given);
    });

  const archiveOrRestore = (act: 'archive' | 'restore') => (c: Context) =>
    writes.run(c, { scopes, action: `contact.${act}`, isConditional: true }, () =>
      one(writeContact({ act, id: idIn(c), tags: ifMatch.read(c) ?? undefined }, originOf(c)), null),
    );

  const merge = (c: Context) =>
    writes.run(c, { scopes, action: 'contact.merge', isConditional: true }, async () => {
      const tags = ifMatch.read(c) ?? undefined;
      const { from } = await readBody(c, contactMerge);
      const kept = idIn(c);
      if (from.toLowerCase() === kept.toLowerCase())
        throw invalid([
          { in: 'body', path: 'from', message: 'This is the contact itself: send the id of its duplicate.' },
        ]);
      return {
        statements: [mergeContacts(kept, from, tags, originOf(c))],
        said: { from },
        answer: ([merged]) => {
          if (merged?.outcome === 'other_not_found')
            throw invalid([{ in: 'body', path: 'from', message: 'There is no such contact.' }]);
          if (merged?.outcome === 'archived' && merged.contact?.id === kept.toLowerCase())
            throw conflict('The contact to merge into is archived: restore it first, or merge into another one.', {
              contactId: merged.contact.id,
            });
          if (merged?.outcome === 'of_another_type') throw conflict('A person and a company cannot be merged.');
          return answerTo(merged);
        },
      };
    });

  const getByExternalId = async (c: Context): Promise<Response> => {
    const externalId = c.req.param('externalId') ?? '';
    const { answer: found } = await callers.ask(c, 'contacts:read', () => {
      const archived = archivedToo.read(c) === 'true';
      if (!isExternalId(externalId)) throw contactNotFound();
      return contactByExternalId(externalId, archived);
    });
    if (found === null) throw contactNotFound();
    return answerJson(c, { status: 200, body: found, headers: { ETag: found.etag } });
  };

  const putByExternalId = (c: Context) =>
    writes.run(c, { scopes, action: 'contact.update', isConditional: true }, async () => {
      const externalId = c.req.param('externalId') ?? '';
      if (!isExternalId(externalId)) throw invalid([{ in: 'path', path: 'externalId', message: externalIdMessage }]);
      const tags = ifMatch.read(c) ?? undefined;
      const given = put(await readBody(c, contactCreate));
      return one(writeContact({ act: 'put', externalId, given, tags }, originOf(c)), given);
    });

  const batch = (c: Context) =>
    writes.run<[Statement<ChangedContact[]>]>(c, { scopes, action: 'contact.batch' }, async ({ count, ceiling }) => {
      const { items } = await readBody(c, contactBatchOfAnything, largestBatch);
      // Retrying later would not help.
      if (items.length > ceiling)
        throw invalid([
          { in: 'body', path: 'items', message: `Send at most ${ceiling} with this key: each counts as a request.` },
        ]);
      await count(items.length - 1);
      const read = items.map(itemOf);
      const changes = read.flatMap(({ change: wanted }) => (wanted ? [wanted] : []));
      return {
        statements: [writeContacts(changes, originOf(c))],
        said: items,
        answer: ([changed]) => {
          if (changed.length < changes.length) throw unknownKey();
          const left = [...changed];
          const results = read.map(({ change: wanted, faults }) => {
            const result = wanted && (left.shift() ?? null);
            return resultOf(result, () => {
              if (!wanted) throw invalid(faults);
              return answerTo(result);
            });
          });
          return { status: 200, body: { results } };
        },
      };
    });

  const entityTag = { ETag: { description: 'The entity tag of the contact.', schema: { type: 'string' } } };
  const record = { description: 'The contact.', schema: contactRecord };
  const externalIdPath = '/contacts/by-external-id/{externalId}' as const;
  const pathParameters = { externalId: { ...externalIdSchema, examples: ['crm-20917'] } };
  const shared = { tag: 'Contacts', scope: 'contacts:write' } as const;

  return [
    {
      ...shared,
      method: 'patch',
      path: '/contacts/{contactId}',
      id: 'updateContact',
      summary: 'Change a contact',
      description: `A merge patch (RFC 7396): properties left out stay as they are; null clears a value. ${needsBoth}`,
      parameters: [idempotencyKey, ifMatch],
      body: contactPatch,
      bodyTypes: ['application/merge-patch+json', 'application/json'],
      answers: { 200: { ...record, headers: { ...entityTag, ...replayed } } },
      errors: ['contact_not_found', 'conflict', 'precondition_failed'],
      handle: change,
    },
    {
      ...shared,
      method: 'post',
      path: '/contacts/batch',
      id: 'batchContacts',
      summary: 'Change many contacts',
      description: `Up to 200 changes, made in order, each as if sent on its own: one that is refused does not affect the others. Each item counts as a request, so a batch cannot have more items than the key's ceiling. ${needsBoth}`,
      parameters: [idempotencyKey],
      body: contactBatch,
      answers: { 200: { description: 'The outcome of each change.', schema: contactBatchResult, headers: replayed } },
      handle: batch,
    },
    {
      ...shared,
      method: 'get',
      path: externalIdPath,
      pathParameters,
      id: 'getContactByExternalId',
      summary: 'Get a contact by the id that another system has for it',
      description: 'For a merged contact, returns the contact that it was merged into. Needs the scope contacts:read.',
      scope: 'contacts:read',
      parameters: [archivedToo],
      answers: { 200: { ...record, headers: entityTag } },
      errors: ['contact_not_found'],
      handle: getByExternalId,
    },
    {
      ...shared,
      method: 'put',
      path: externalIdPath,
      pathParameters,
      id: 'putContactByExternalId',
      summary: 'Create or replace a contact by the id that another system has for it',
      description: `Properties left out are cleared. ${needsBoth}`,
      parameters: [idempotencyKey, ifMatch],
      body: contactCreate,
      answers: {
        200: { ...record, description: 'The contact was replaced.', headers: { ...entityTag, ...replayed } },
        201: {
          ...record,
          description: 'The contact was created.',
          headers: { ...location('contact'), ...entityTag, ...replayed },
        },
      },
      errors: ['conflict', 'precondition_failed'],
      handle: putByExternalId,
    },
    ...(['archive', 'restore'] as const).map((act): Operation => ({
      ...shared,
      method: 'post',
      path: `/contacts/${act}/{contactId}`,
      id: `${act}Contact`,
      summary: act === 'archive' ? 'Archive a contact' : 'Restore an archived contact',
      description: `${act === 'archive' ? 'It is no longer listed unless archived contacts are requested.' : 'A contact that was merged into another one becomes independent again; one that was erased cannot be restored.'} If this was already done, the response is the same. ${needsBoth}`,
      parameters: [idempotencyKey, ifMatch],
      answers: { 200: { ...record, headers: { ...entityTag, ...replayed } } },
      errors: ['contact_not_found', ...(act === 'restore' ? (['conflict'] as const) : []), 'precondition_failed'],
      handle: archiveOrRestore(act),
    })),
    {
      ...shared,
      method: 'post',
      path: '/contacts/merge/{contactId}',
      id: 'mergeContact',
      summary: 'Merge a duplicate into a contact',
      description: `The contact takes over the values that it lacks; the duplicate is archived and points to it. ${needsBoth}`,
      parameters: [idempotencyKey, ifMatch],
      body: contactMerge,
      answers: { 200: { ...record, headers: { ...entityTag, ...replayed } } },
      errors: ['contact_not_found', 'conflict', 'precondition_failed'],
      handle: merge,
    },
  ];
}
