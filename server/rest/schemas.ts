/** What the REST API takes and answers (specification, section 2.1): these validate, and the OpenAPI document is made of them. */

import { z } from 'zod';
import { isEmailAddress, longestEmailAddress } from '../domain/people/email-address.ts';
import { absent, id, text, time, visible } from './fields.ts';
import { errorCodes } from './envelope.ts';

const asLongAsTheBody =
  'Of any length that the body of the request holds, without null characters (U+0000) and halves of surrogate pairs.';

export const contactCreate = z
  .strictObject(
    {
      type: z
        .enum(['person', 'company'], { error: absent('Say "person" or "company".') })
        .meta({ description: 'Whether this is a person or a company.' }),
      // The pattern is for the document alone.
      displayName: text('Send a text.')
        .refine((value) => /\S/u.test(value), { error: 'It is blank: send at least one visible character.' })
        .meta({ minLength: 1, pattern: visible, description: `The name to show. ${asLongAsTheBody}` }),
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

export const contact = z
  .object({
    id,
    type: z.enum(['person', 'company']),
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
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Contact', description: 'A person or a company tracked outside any deal.' });

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

export const contactList = z.object({ data: z.array(contact), pagination }).meta({ id: 'ContactList' });

/** One thing to change in a request, among the `faults` of a validation_error. */
export const fault = z
  .object({
    in: z.enum(['body', 'query', 'header']).meta({ description: 'Where it is.' }),
    path: z.string().meta({
      description: "The property, parts joined by dots, the parameter or the header; '' is the whole.",
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
          description: 'Structured context; what it holds is said with each response.',
        }),
      }),
    })
    .meta({ id: name });

/** Of an error that any operation may have, and of all errors of contacts' three first operations. */
export const errorEnvelope = envelopeWith(z.enum(errorCodes), 'ErrorEnvelope');

/** The envelope of an error with this code alone. */
export const errorEnvelopeOf = (code: string, name: string) => envelopeWith(z.literal(code), name);
