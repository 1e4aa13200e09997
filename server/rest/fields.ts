/** Schemas of the values in requests and responses of the REST API: ids, times, decimals, texts. */

import { z } from 'zod';
import { charactersIn, isBlank } from '../domain/characters.ts';
import { lengths } from '../domain/lengths.ts';
import { amountPattern, currencyPattern, isAfterYearZero, momentOf } from '../http/values.ts';
import { isEmailAddress } from '../lib/email-address.ts';

/**
 * Makes the error message of a property: `sentence`, which says what to send, preceded by "Required." if the property
 * is missing.
 */
export const absent = (sentence: string) => (issue: { input?: unknown }) =>
  issue.input === undefined ? `Required. ${sentence}` : sentence;

/**
 * Pattern for the document of a text that can be stored; well-formed surrogate pairs cannot be expressed in a pattern
 * for every regex engine.
 */
const stored = '^[^\\u0000]*$';

/** Pattern for the document of a text that can be stored and has a visible character. */
export const visible = '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$';

/** A text that can be stored, limited only by the size of the body. */
export const text = (sentence: string) =>
  z
    .string({ error: absent(sentence) })
    .refine((value) => !value.includes('\0'), {
      error: 'It contains a null character (U+0000): leave it out.',
      abort: true,
    })
    .refine((value) => value.isWellFormed(), {
      error: 'It contains half of a surrogate pair, which is not a character: send whole characters.',
      abort: true,
    })
    .meta({ pattern: stored });

/** The id of a record. */
export const id = z.string().meta({ format: 'uuid' });

/** A time in a response: RFC 3339 in UTC, with milliseconds. */
export const time = z.string().meta({ format: 'date-time' });

/** A time in a request, normalized. */
export const timeSent = (example: string) =>
  z
    .string({ error: absent(`Send a time such as ${example}.`) })
    .refine((value) => momentOf(value) !== null, { error: `Send a time such as ${example}.` })
    .overwrite((value) => momentOf(value) ?? value)
    .meta({ format: 'date-time' });

/** A date in a request or response: YYYY-MM-DD. */
export const date = z.string().meta({ format: 'date' });

/**
 * A word in a response: one of these, or one of a later version. With a closed list, strict clients would fail on the
 * first new word.
 */
export const openEnum = (words: readonly string[]) => z.union([z.enum(words as [string, ...string[]]), z.string()]);

/** A decimal in a response: text, so that no digit is lost. */
export const decimal = z.string().meta({ pattern: '^-?[0-9]+(\\.[0-9]+)?$', examples: ['1250000.50'] });

/** The error message for a text without a visible character. */
export const blank = 'It is blank: send at least one visible character.';

const within = (max: number, sent: z.ZodString) =>
  sent
    .refine((value) => !isBlank(value), { error: blank })
    .refine((value) => charactersIn(value) <= max, { error: `It is too long: at most ${max} characters.` })
    .meta({ minLength: 1, maxLength: max, pattern: visible });

const sentUpTo = (max: number) => text(`Send a text of at most ${max} characters.`);

/** Text of several lines in a request: 1 to `max` characters, at least one of them visible; stored unchanged. */
export const textUpTo = (max: number) => within(max, sentUpTo(max));

/** A line of text in a request: as {@link textUpTo}, but trimmed, or converted by `kept`. */
export const lineUpTo = (max: number, kept = (value: string): string => value.trim()) =>
  within(max, sentUpTo(max).overwrite(kept));

/** One of several words, in a request. */
export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, { error: absent(`Send one of: ${words.join(', ')}.`) });

/** A calendar day in a request. */
export const day = z.iso
  .date({ error: absent('Send a date as YYYY-MM-DD.') })
  .refine(isAfterYearZero, { error: 'There is no year 0.' });

/** The id of a record in a request. */
export const idSent = z.uuid({ error: absent('Send the id of a record: a UUID.') });

/** A currency in a request or response. */
export const currency = z
  .string({ error: absent('Send a currency.') })
  .regex(currencyPattern, { error: 'Send a currency of three letters (ISO 4217), like USD.' })
  .meta({ examples: ['USD'] });

/** An amount in a request: a decimal as text, with up to 16 digits before the point and 4 after it. */
export const amount = ({ signed = false } = {}) => {
  const sentence = 'Send an amount as text, with digits and at most four decimals, like "1250000.50".';
  return z
    .string({ error: absent(sentence) })
    .regex(amountPattern(signed), { error: sentence })
    .meta({ examples: ['1250000.50'] });
};

/** An e-mail address in a body. */
export const emailSent = textUpTo(lengths.participants.invited_email)
  .refine(isEmailAddress, { error: 'It is not an e-mail address.' })
  .meta({ format: 'email' });
