/** What the REST API takes and answers (specification, section 2.1): these validate, and the OpenAPI document is made of them. */

import { z } from 'zod';
import { isEmailAddress, longestEmailAddress } from '../domain/people/email-address.ts';
import { absent, id, text, time } from './fields.ts';
import { errorCodes } from './envelope.ts';

const asLongAsTheBody = 'Of any length that the body of the request holds.';

export const contactCreate = z
  .strictObject(
    {
      type: z
        .enum(['person', 'company'], { error: absent('Say "person" or "company".') })
        .meta({ description: 'Whether this is a person or a company.' }),
      // The pattern is for the document alone.
      displayName: text('Send a text.')
        .refine((value) => /\S/u.test(value), { error: 'It is blank: send at least one visible character.' })
        .meta({ minLength: 1, pattern: '\\S', description: `The name to show. ${asLongAsTheBody}` }),
      email: text('Send a text, or leave the property out.')
        .refine((value) => value.length <= longestEmailAddress, {
          error: `It is too long: at most ${longestEmailAddress} characters.`,
          abort: true,
        })
        .refine(isEmailAddress, { error: 'It is not an e-mail address.' })
        .meta({
          maxLength: longestEmailAddress,
          format: 'email',
          description:
            'A mailbox of RFC 5321 in ASCII, whose domain has a dot in it or is an address of IPv4 or IPv6 in brackets.',
        })
        .optional(),
      phone: text('Send a text, or leave the property out.')
        .meta({ description: `Not looked into, because numbers are written in many ways. ${asLongAsTheBody}` })
        .optional(),
    },
    {
      error: (issue) =>
        issue.code === 'invalid_type'
          ? 'Send a JSON object with type, displayName and, if known, email and phone.'
          : undefined,
    },
  )
  .meta({ id: 'ContactCreate' });

export const contact = z
  .object({
    id,
    type: z.enum(['person', 'company']),
    displayName: z.string(),
    email: z.string().nullable().optional().meta({ format: 'email' }),
    phone: z.string().nullable().optional(),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Contact', description: 'A person or a company tracked outside any deal.' });

export const pagination = z
  .object({
    hasMore: z.boolean(),
    nextCursor: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'Opaque cursor for the next page; null on the last.' }),
  })
  .meta({ id: 'Pagination' });

export const contactList = z.object({ data: z.array(contact), pagination }).meta({ id: 'ContactList' });

const envelopeWith = (code: z.ZodType, name: string) =>
  z
    .object({
      error: z.object({
        code,
        message: z.string().meta({ description: 'A summary for people.' }),
        details: z.record(z.string(), z.unknown()).optional().meta({
          description: 'Structured context. Of a validation_error: `faults`, each with `in`, `path` and `message`.',
        }),
      }),
    })
    .meta({ id: name });

/** Of an error that any operation may have, and of all errors of contacts' three first operations. */
export const errorEnvelope = envelopeWith(z.enum(errorCodes), 'ErrorEnvelope');

/** The envelope of an error with this code alone. */
export const errorEnvelopeOf = (code: string, name: string) => envelopeWith(z.literal(code), name);
