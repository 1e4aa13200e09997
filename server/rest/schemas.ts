/**
 * The requests and responses of the REST API (specification, section 2.1): these schemas validate, and the OpenAPI
 * document is generated from them.
 */

import { z } from 'zod';
import { isBlank } from '../domain/characters.ts';
import { contactTypes } from '../domain/contacts/contacts.ts';
import { isEmailAddress, longestEmailAddress } from '../lib/email-address.ts';
import { absent, blank, id, text, time, visible } from './fields.ts';
import { errorCodes } from './envelope.ts';

const asLongAsTheBody =
  'Limited only by the size of the request body; no null characters (U+0000) or halves of surrogate pairs.';

const type = z
  .enum(contactTypes, { error: absent('Send "person" or "company".') })
  .meta({ description: 'Whether this is a person or a company.' });

// The pattern is only for the OpenAPI document.
const displayName = text('Send a text.')
  .overwrite((value) => value.trim())
  .refine((value) => !isBlank(value), { error: blank })
  .meta({
    minLength: 1,
    pattern: visible,
    description: `The name to show, stored without surrounding spaces. ${asLongAsTheBody}`,
    examples: ['Ron Halvorsen'],
  });

const email = (sentence: string) =>
  text(sentence)
    .refine((value) => value.length <= longestEmailAddress, {
      error: `It is too long: at most ${longestEmailAddress} characters.`,
      abort: true,
    })
    .refine(isEmailAddress, { error: 'It is not an e-mail address.' })
    .meta({
      maxLength: longestEmailAddress,
      format: 'email',
      examples: ['ron@kestrelcreek.example'],
      description: 'An ASCII mailbox (RFC 5321) whose domain contains a dot or is an IPv4 or IPv6 address in brackets.',
    });

const phone = (sentence: string) =>
  text(sentence)
    .overwrite((value) => value.trim())
    .meta({
      examples: ['+1 614-555-0112'],
      description: `Not validated, because numbers are written in many ways; stored without surrounding spaces. ${asLongAsTheBody}`,
    });

const orLeaveOut = 'Send a text, or leave the property out.';

export const contactCreate = z
  .strictObject(
    {
      type,
      displayName,
      email: email(orLeaveOut).optional(),
      phone: phone(orLeaveOut).optional(),
    },
    {
      error: (issue) =>
        issue.code === 'invalid_type'
          ? 'Send a JSON object with type, displayName and, if known, email and phone.'
          : undefined,
    },
  )
  .meta({
    id: 'ContactCreate',
    examples: [
      {
        type: 'person',
        displayName: 'Ron Halvorsen',
        email: 'ron@kestrelcreek.example',
        phone: '+1 614-555-0112',
      },
    ],
  });

/** The error message for an invalid external id. */
export const externalIdMessage = 'Send 1 to 255 visible ASCII characters, not "." or "..".';
const externalIdPattern = /^(?!\.{1,2}$)[\x21-\x7e]{1,255}$/;

/** Whether a text is valid as a contact's id in another system. */
export const isExternalId = (value: string): boolean => externalIdPattern.test(value);

/** JSON Schema of an external id. */
export const externalIdSchema = { type: 'string', minLength: 1, maxLength: 255, pattern: externalIdPattern.source };

const externalId = z
  .string({ error: absent(externalIdMessage) })
  .refine(isExternalId, { error: externalIdMessage })
  .meta({
    ...externalIdSchema,
    examples: ['crm-20917'],
    description: 'The id of the contact in another system, unique in the brokerage.',
  });

const orNull = 'Send a text, or null to clear it.';

/** A merge patch (RFC 7396): missing properties stay as they are, null clears. */
export const contactPatch = z
  .strictObject(
    {
      type: type.optional(),
      displayName: displayName.optional(),
      email: email(orNull).nullable().optional(),
      phone: phone(orNull).nullable().optional(),
      externalId: externalId.nullable().optional(),
    },
    { error: (issue) => (issue.code === 'invalid_type' ? 'Send a JSON object with what to change.' : undefined) },
  )
  .meta({
    id: 'ContactPatch',
    description: 'A merge patch (RFC 7396): properties left out stay as they are; null clears a value.',
    examples: [{ email: 'ron.halvorsen@kestrelcreek.example', phone: null, externalId: 'crm-20917' }],
  });

export const contactMerge = z
  .strictObject(
    {
      from: z
        .uuid({ error: absent('Send the id of the duplicate.') })
        .meta({ description: 'The duplicate, which is archived and points to the contact that is kept.' }),
    },
    { error: (issue) => (issue.code === 'invalid_type' ? 'Send a JSON object with from.' : undefined) },
  )
  .meta({ id: 'ContactMerge' });

const newWithExternalId = contactCreate
  .extend({ externalId: externalId.optional() })
  .meta({ id: 'ContactCreateWithExternalId' });
const ifMatch = z
  .string({ error: 'Send an entity tag as text, in quotes.' })
  .max(200, { error: 'It is too long for an entity tag.' })
  .meta({
    description: 'Change the contact only if this is its current entity tag, as with the header If-Match.',
    examples: ['"019ac2b17d3e7c529f045b8e6a1d2c30.3.1795190400123"'],
  });

const idOfContact = z.uuid({ error: absent('Send the id of the contact.') });

/** One change of a batch. */
export const contactBatchItem = z
  .discriminatedUnion(
    'action',
    [
      z
        .strictObject({ action: z.literal('create'), contact: newWithExternalId })
        .meta({ id: 'ContactBatchCreate', description: 'Like POST /contacts, optionally with an external id.' }),
      z
        .strictObject({
          action: z.literal('update'),
          id: idOfContact,
          ifMatch: ifMatch.optional(),
          contact: contactPatch,
        })
        .meta({ id: 'ContactBatchUpdate', description: 'Like PATCH /contacts/{contactId}.' }),
      z
        .strictObject({ action: z.literal('upsert'), externalId, ifMatch: ifMatch.optional(), contact: contactCreate })
        .meta({ id: 'ContactBatchUpsert', description: 'Like PUT /contacts/by-external-id/{externalId}.' }),
      z.strictObject({ action: z.enum(['archive', 'restore']), id: idOfContact, ifMatch: ifMatch.optional() }).meta({
        id: 'ContactBatchArchive',
        description: 'Like POST /contacts/archive/{contactId} and POST /contacts/restore/{contactId}.',
      }),
    ],
    { error: () => 'Send a JSON object whose action is "create", "update", "upsert", "archive" or "restore".' },
  )
  .meta({ id: 'ContactBatchItem' });

/** Maximum number of changes in a batch. */
const mostOfBatch = 200;

const batchOf = (item: z.ZodType) =>
  z.strictObject(
    {
      items: z
        .array(item, { error: absent('Send a list.') })
        .min(1, { error: 'Send at least one.' })
        .max(mostOfBatch, { error: `Send at most ${mostOfBatch}.` }),
    },
    { error: (issue) => (issue.code === 'invalid_type' ? 'Send a JSON object with items.' : undefined) },
  );

/** A batch as the OpenAPI document describes it. */
export const contactBatch = batchOf(contactBatchItem).meta({ id: 'ContactBatch' });

/** A batch whose items are validated one by one. */
export const contactBatchOfAnything = batchOf(z.unknown());

const contactType = z.enum(contactTypes);

const ownOfContact = {
  id,
  type: contactType,
  displayName: z.string().meta({ examples: ['Ron Halvorsen'] }),
  email: z
    .string()
    .nullable()
    .optional()
    .meta({ format: 'email', examples: ['ron@kestrelcreek.example'] }),
  phone: z
    .string()
    .nullable()
    .optional()
    .meta({ examples: ['+1 614-555-0112'] }),
};
const times = { createdAt: time, updatedAt: time };

export const contact = z
  .object({ ...ownOfContact, ...times })
  .meta({ id: 'Contact', description: 'A person or a company tracked outside any deal.' });

const entityTag = z.string().meta({ examples: ['"019ac2b17d3e7c529f045b8e6a1d2c30.3.1795190400123"'] });

const ofRecord = {
  externalId: z
    .string()
    .nullable()
    .meta({ description: 'Its id in another system.', examples: ['crm-20917'] }),
  archivedAt: time.nullable().meta({ description: 'When it was archived.', examples: [null] }),
  mergedInto: id.nullable().meta({ description: 'The contact that this duplicate was merged into.', examples: [null] }),
  erasedAt: time.nullable().meta({
    description: 'When it was erased for good: delete your copy, and do not send it again.',
    examples: [null],
  }),
  etag: entityTag.meta({ description: 'Its entity tag, for If-Match.' }),
};

export const contactRecord = z
  .object({
    ...ownOfContact,
    email: ownOfContact.email.unwrap().meta({ format: 'email', examples: ['ron@kestrelcreek.example'] }),
    phone: ownOfContact.phone.unwrap().meta({ examples: ['+1 614-555-0112'] }),
    ...ofRecord,
    ...times,
  })
  .meta({ id: 'ContactRecord', description: 'A contact with what another system needs to stay in sync with it.' });

/** A contact; with expand=record, also with the other properties of its record. */
export const contactAsAsked = z.intersection(contact, z.object(ofRecord).partial()).meta({
  id: 'ContactAsAsked',
  description: 'A contact; with expand=record, also externalId, archivedAt, mergedInto, erasedAt and etag.',
});

export const pagination = z
  .object({
    hasMore: z.boolean().meta({ examples: [true] }),
    nextCursor: z
      .string()
      .nullable()
      .optional()
      .meta({
        description: 'Opaque cursor for the next page; null on the last.',
        examples: ['AWY0m9rQ2cVdXbqk0s8vT1uYhLw3FzEo'],
      }),
  })
  .meta({ id: 'Pagination' });

export const contactList = z.object({ data: z.array(contactAsAsked), pagination }).meta({ id: 'ContactList' });

/** One fault in a request, among the `faults` of a validation_error. */
export const fault = z
  .object({
    in: z.enum(['body', 'query', 'header', 'path']).meta({ description: 'The part of the request.' }),
    path: z.string().meta({
      description: "The property (parts joined by dots), the parameter or the header; '' for the whole.",
      examples: ['email'],
    }),
    message: z.string().meta({ description: 'What to change.', examples: ['It is not an e-mail address.'] }),
  })
  .meta({ id: 'Fault', description: 'One thing to change in a request.' });

const envelopeWith = (code: z.ZodType, name: string) =>
  z
    .object({
      error: z.object({
        code,
        message: z.string().meta({ description: 'A summary for people.', examples: ['There is no such contact.'] }),
        details: z.record(z.string(), z.unknown()).optional().meta({
          description: 'Structured context, described with each response.',
        }),
      }),
    })
    .meta({ id: name });

const batchError = z.object({
  code: z.enum(['validation_error', 'contact_not_found', 'conflict', 'precondition_failed']),
  message: z.string().meta({ examples: ['There is no such contact.'] }),
  details: z.record(z.string(), z.unknown()).optional(),
});

export const contactBatchResult = z
  .object({
    results: z
      .array(
        z
          .object({
            status: z
              .int()
              .meta({ description: 'The status that the change would have had on its own.', examples: [200] }),
            etag: entityTag
              .optional()
              .meta({ description: 'The entity tag that the contact has now, also if it was not changed.' }),
            contact: contactRecord.optional().meta({ description: 'The contact, if the status is 2xx.' }),
            error: batchError.optional().meta({ description: 'The error, for any other status.' }),
          })
          .meta({
            id: 'ContactBatchItemResult',
            examples: [{ status: 404, error: { code: 'contact_not_found', message: 'There is no such contact.' } }],
          }),
      )
      .meta({ description: 'One for each item, in the same order.' }),
  })
  .meta({ id: 'ContactBatchResult' });

export const callingKey = z
  .object({
    key: z.object({
      id,
      name: z.string().meta({ examples: ['CRM sync'] }),
      environment: z
        .enum(['live', 'test'])
        .meta({ description: 'A test key works on the sandbox of its brokerage, and on nothing else.' }),
      lastFour: z.string().meta({
        description: 'The last four characters of the token that is shown in the settings.',
        examples: ['7f3a'],
      }),
      expiresAt: time.nullable().meta({ examples: [null] }),
    }),
    brokerage: z
      .object({ id, name: z.string().meta({ examples: ['Northgate Business Brokers'] }) })
      .meta({ description: 'For a test key, the sandbox.' }),
    scopes: z.array(z.string()).meta({ examples: [['contacts:read', 'contacts:write']] }),
    ceiling: z.int().meta({ description: 'Requests allowed per minute.', examples: [600] }),
  })
  .meta({ id: 'Me', description: 'The API key that is calling.' });

export const sandboxReset = z.object({ resetAt: time }).meta({ id: 'SandboxReset' });

/**
 * Envelope of an error that any operation may have, and of all errors of the specification's three operations on
 * contacts.
 */
export const errorEnvelope = envelopeWith(z.enum(errorCodes), 'ErrorEnvelope');

/** The envelope of an error with only this code. */
export const errorEnvelopeOf = (code: string, name: string) => envelopeWith(z.literal(code), name);
