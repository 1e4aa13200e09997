/** What the REST API takes and answers (specification, section 2.1): these validate, and the OpenAPI document is made of them. */

import { z } from 'zod';
import { errorCodes } from './envelope.ts';

/** The longest values, in characters; the database holds to the same. */
export const longest = { displayName: 500, email: 254, phone: 50 };

const characters = (value: string): number => (value.length <= 50 ? value.length : [...value].length);

const absent = (sentence: string) => (issue: { input?: unknown }) =>
  issue.input === undefined ? `Required. ${sentence}` : sentence;

/** A text that can be stored, of at most `most` characters. The pattern is for the document alone. */
function text(most: number, sentence: string) {
  return z
    .string({ error: absent(sentence) })
    .refine((value) => !value.includes('\0'), {
      error: 'It contains a null character (U+0000): leave it out.',
      abort: true,
    })
    .refine((value) => value.isWellFormed(), {
      error: 'It contains half of a surrogate pair, which is no character: send whole characters.',
      abort: true,
    })
    .refine((value) => characters(value) <= most, { error: `It is too long: at most ${most} characters.`, abort: true })
    .meta({ maxLength: most });
}

const id = z.string().meta({ format: 'uuid' });
const time = z.string().meta({ format: 'date-time' });

export const contactCreate = z
  .strictObject(
    {
      type: z
        .enum(['person', 'company'], { error: absent('Say "person" or "company".') })
        .meta({ description: 'Whether this is a person or a company.' }),
      displayName: text(longest.displayName, 'Send a text.')
        .refine((value) => /\S/u.test(value), { error: 'It is blank: send at least one visible character.' })
        .meta({ minLength: 1, maxLength: longest.displayName, pattern: '\\S', description: 'The name to show.' }),
      email: text(longest.email, 'Send a text, or leave the property out.')
        .refine((value) => z.email().safeParse(value).success, { error: 'It is not an e-mail address.' })
        .meta({ maxLength: longest.email, format: 'email' })
        .optional(),
      phone: text(longest.phone, 'Send a text, or leave the property out.').optional(),
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

export const errorEnvelope = z
  .object({
    error: z.object({
      code: z.enum(errorCodes),
      message: z.string().meta({ description: 'A summary for people.' }),
      details: z.record(z.string(), z.unknown()).optional().meta({
        description: 'Structured context. Of a validation_error: `faults`, each with `in`, `path` and `message`.',
      }),
    }),
  })
  .meta({ id: 'ErrorEnvelope' });
