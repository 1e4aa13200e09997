/** Builders of query parameters; each reads null when the parameter is missing. */

import { z } from 'zod';
import { mostSearchWords, wordsIn } from '../database/paging.ts';
import { charactersIn, isBlank } from '../domain/characters.ts';
import { isAfterYearZero, isStorable, momentOf } from '../http/values.ts';
import { isUuid } from '../lib/uuid.ts';
import { visible } from './fields.ts';
import { queryParameter, type Json, type Parameter } from './operation.ts';

/** A parameter with one of several words as its value; `more` is added to its schema. */
export const oneOfParameter = <const Words extends readonly [string, ...string[]]>(
  name: string,
  words: Words,
  description: string,
  more: Json = {},
): Parameter<Words[number] | null> =>
  queryParameter<Words[number], null>(
    name,
    { description, schema: { type: 'string', enum: [...words], ...more }, message: `Send one of ${words.join(', ')}.` },
    (value) => words.find((word) => word === value),
    null,
  );

const isTextUpTo = (max: number, value: string): boolean =>
  !isBlank(value) && charactersIn(value) <= max && isStorable(value);

/** A text parameter of 1 to `max` characters, at least one of them visible; converted by `kept` first. */
export const textParameter = (
  name: string,
  max: number,
  description: string,
  kept = (value: string): string => value,
): Parameter<string | null> =>
  queryParameter<string, null>(
    name,
    {
      description,
      schema: { type: 'string', minLength: 1, maxLength: max, pattern: visible },
      message: `Send a text of 1 to ${max} characters, at least one of them visible.`,
    },
    (value) => {
      const text = kept(value);
      return isTextUpTo(max, text) ? text : undefined;
    },
    null,
  );

/** A text parameter for a stored line: trimmed. */
export const lineParameter = (name: string, max: number, description: string): Parameter<string | null> =>
  textParameter(name, max, description, (value) => value.trim());

/** `search` of a list: the words to search for. */
export const searchParameter = (description: string): Parameter<readonly string[] | null> =>
  queryParameter<readonly string[], null>(
    'search',
    {
      description: `${description} At most ${mostSearchWords} words.`,
      schema: { type: 'string', minLength: 1, maxLength: 200 },
      message: `Send 1 to ${mostSearchWords} words of at most 200 characters together.`,
    },
    (value) => {
      const words = wordsIn(value);
      return words.length >= 1 && words.length <= mostSearchWords && isTextUpTo(200, value) ? words : undefined;
    },
    null,
  );

/** A date parameter. */
export const dayParameter = (name: string, description: string): Parameter<string | null> =>
  queryParameter<string, null>(
    name,
    { description, schema: { type: 'string', format: 'date' }, message: 'Send a date as YYYY-MM-DD.' },
    (value) => (z.iso.date().safeParse(value).success && isAfterYearZero(value) ? value : undefined),
    null,
  );

/** A time parameter. */
export const timeParameter = (name: string, description: string): Parameter<string | null> =>
  queryParameter<string, null>(
    name,
    {
      description,
      schema: { type: 'string', format: 'date-time' },
      message: 'Send a time as RFC 3339, like 2026-01-31T12:00:00Z (a + is written %2B).',
    },
    (value) => momentOf(value) ?? undefined,
    null,
  );

/** A parameter with the id of a record. */
export const idParameter = (name: string, description: string): Parameter<string | null> =>
  queryParameter<string, null>(
    name,
    { description, schema: { type: 'string', format: 'uuid' }, message: 'Send the id of a record: a UUID.' },
    (value) => (isUuid(value) ? value.toLowerCase() : undefined),
    null,
  );
