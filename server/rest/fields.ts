/** The values of which what the REST API takes and answers is made: ids, times, decimals, texts. */

import { z } from 'zod';
import { charactersIn, isBlank } from '../domain/characters.ts';
import { amountPattern, currencyPattern, isAfterYearZero, momentOf } from '../http/values.ts';

/** What is wrong with a property: that it is required, where it is missing, before what to send. */
export const absent = (sentence: string) => (issue: { input?: unknown }) =>
  issue.input === undefined ? `Required. ${sentence}` : sentence;

/** What a text that can be stored holds, as a pattern for the document; whole characters cannot be said in one for every engine. */
const stored = '^[^\\u0000]*$';

/** A pattern for the document of a text that can be stored and has a visible character. */
export const visible = '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$';

/** A text that can be stored, as long as the body may be. */
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

/** A time as it is answered: RFC 3339 in UTC, with milliseconds. */
export const time = z.string().meta({ format: 'date-time' });

/** A time that is sent: the moment that it names. */
export const timeSent = (example: string) =>
  z
    .string({ error: absent(`Send a time such as ${example}.`) })
    .refine((value) => momentOf(value) !== null, { error: `Send a time such as ${example}.` })
    .overwrite((value) => momentOf(value) ?? value)
    .meta({ format: 'date-time' });

/** A date as it is answered and sent: YYYY-MM-DD. */
export const date = z.string().meta({ format: 'date' });

/** A word as it is answered: one of these, or one of a later version. To strict clients a closed list would make the first new word a fault. */
export const openEnum = (words: readonly string[]) => z.union([z.enum(words as [string, ...string[]]), z.string()]);

/** A decimal as it is answered: text, so that no digit is lost. */
export const decimal = z.string().meta({ pattern: '^-?[0-9]+(\\.[0-9]+)?$', examples: ['1250000.50'] });

/** What is said of a text without a visible character. */
export const blank = 'It is blank: send at least one visible character.';

const within = (max: number, sent: z.ZodString) =>
  sent
    .refine((value) => !isBlank(value), { error: blank })
    .refine((value) => charactersIn(value) <= max, { error: `It is too long: at most ${max} characters.` })
    .meta({ minLength: 1, maxLength: max, pattern: visible });

const sentUpTo = (max: number) => text(`Send a text of at most ${max} characters.`);

/** Text of several lines that is sent: from one character, of which one is visible, up to `max`; kept as it is. */
export const textUpTo = (max: number) => within(max, sentUpTo(max));

/** A line of text that is sent: the same, without the space around it, or as `kept` keeps it. */
export const lineUpTo = (max: number, kept = (value: string): string => value.trim()) =>
  within(max, sentUpTo(max).overwrite(kept));

/** One of several words, as it is sent. */
export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, { error: absent(`Say one of: ${words.join(', ')}.`) });

/** A day of the calendar that is sent. */
export const day = z.iso
  .date({ error: absent('Write a date as YYYY-MM-DD.') })
  .refine(isAfterYearZero, { error: 'There is no year 0.' });

/** The id of a record that is sent. */
export const idSent = z.uuid({ error: absent('Send the id of a record: a UUID.') });

/** A currency that is sent or answered. */
export const currency = z
  .string({ error: absent('Send a currency.') })
  .regex(currencyPattern, { error: 'Send a currency of three letters (ISO 4217), like USD.' })
  .meta({ examples: ['USD'] });

/** An amount that is sent: a decimal as text, with up to 16 digits before the point and 4 behind it. */
export const amount = ({ signed = false } = {}) => {
  const sentence = 'Send an amount as text, with digits and at most four decimals, like "1250000.50".';
  return z
    .string({ error: absent(sentence) })
    .regex(amountPattern(signed), { error: sentence })
    .meta({ examples: ['1250000.50'] });
};
