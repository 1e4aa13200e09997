/** The values of which what the REST API takes and answers is made: ids, times, decimals, texts. */

import { z } from 'zod';

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
      error: 'It contains half of a surrogate pair, which is no character: send whole characters.',
      abort: true,
    })
    .meta({ pattern: stored });

/** The id of a record. */
export const id = z.string().meta({ format: 'uuid' });

/** A time as it is answered: RFC 3339 in UTC, with milliseconds. */
export const time = z.string().meta({ format: 'date-time' });
