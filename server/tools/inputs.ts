/** The input types of tools, each with its allowed values in words, and the errors of an input. */

import { z } from 'zod';
import { decimalPattern, isDecimal, longestAmount } from '../domain/diligence/normalizations.ts';
import { charactersIn, isBlank } from '../domain/characters.ts';
import { isAfterYearZero, largestWholeAmount } from '../http/values.ts';
import { isObject } from './request-context.ts';
import type { RefusalBody } from './results.ts';

const allowances = z.registry<{ allowed: string }>();

const nobody = 'It is not the id of a person on this deal whom the user can see.';
const ownerAllowed = 'the id of an active participant of the deal, from svc_deals_get';

/**
 * A UUID in upper or lower case, as PostgreSQL accepts it, converted to lower case; `tool` is where it comes from. Below,
 * `description` describes the input to the model.
 */
export const id = (tool: string) =>
  z
    .guid()
    .toLowerCase()
    .meta({ description: `From ${tool}.` })
    .register(allowances, { allowed: `a UUID, from ${tool}` });

/** The id of a deal. */
export const dealId = () => id('svc_deals_list');

function textFault(value: string, least: number, most: number): string | null {
  if (value.includes('\0')) return 'It contains a null character (U+0000).';
  if (!value.isWellFormed()) return 'It contains half of a surrogate pair, which is not a character.';
  if (isBlank(value) && (least > 0 || value !== '')) return 'It is blank: it has no visible character.';
  const length = charactersIn(value);
  return length < least || length > most ? `It has ${length} characters.` : null;
}

const bounded = (sent: z.ZodString, least: number, most: number, description: string) =>
  sent
    .superRefine((value, context) => {
      const message = textFault(value, least, most);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .meta({ ...(least > 0 ? { minLength: least } : {}), maxLength: most, description })
    .register(allowances, {
      allowed: least > 0 ? `text of ${least} to ${most} characters` : `text of at most ${most} characters`,
    });

/**
 * Text of `least` to `most` characters (Unicode code points, as PostgreSQL and JSON Schema count them), all of which
 * can be stored.
 */
export const text = (least: number, most: number, description: string) => bounded(z.string(), least, most, description);

/** A line of 1 to `most` characters, stored without leading and trailing space. */
export const line = (most: number, description: string) => bounded(z.string().trim(), 1, most, description);

/** One of these words. */
export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words, description: string) =>
  z
    .enum(words)
    .meta({ description: `${description}: ${words.join(', ')}.` })
    .register(allowances, { allowed: `one of: ${words.join(', ')}` });

/** A day of the calendar; there is no year 0. */
export const date = (description: string) =>
  z.iso
    .date()
    .refine(isAfterYearZero, { error: 'There is no year 0.' })
    .meta({ description: `${description}, YYYY-MM-DD.` })
    .register(allowances, { allowed: 'a date, written YYYY-MM-DD' });

/** A whole amount that JSON represents exactly: `z.int()` accepts none above {@link largestWholeAmount}. */
export const wholeAmount = (description: string) =>
  z
    .int()
    .min(0)
    .meta({ description })
    .register(allowances, { allowed: `a whole number (not text) from 0 to ${largestWholeAmount}` });

/** Text of any length that can be stored; only the size limit of the body applies. */
export const anyText = (description: string) =>
  z
    .string()
    .superRefine((value, context) => {
      const message = textFault(value, 0, Infinity);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .meta({ description })
    .register(allowances, { allowed: 'text' });

/**
 * The id of a person, in lower case. It is a plain string in the schema; text that is no id is an error of the input
 * (for an id of nobody on the deal, see {@link nobodysId}).
 */
export const personId = (description: string) =>
  z
    .string()
    .refine((value) => z.guid().safeParse(value).success, { error: nobody })
    .toLowerCase()
    .meta({ description })
    .register(allowances, { allowed: ownerAllowed });

/** The error for an id that belongs to no person on the deal. */
export const nobodysId = (path: string): InputFault => ({ path, message: nobody, allowed: ownerAllowed });

function decimalFault(value: string): string | null {
  if (value.length > longestAmount) return `It has more than ${longestAmount} characters.`;
  return isDecimal(value) ? null : 'It is not a decimal number.';
}

/** A decimal number as text, so that every digit is kept. */
export const decimal = (description: string) =>
  z
    .string()
    .superRefine((value, context) => {
      const message = decimalFault(value);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .meta({ minLength: 1, maxLength: longestAmount, pattern: decimalPattern, description })
    .register(allowances, {
      allowed: `text of 1 to ${longestAmount} characters with a decimal number, such as "-1250.50"; no exponent, spaces or separators`,
    });

interface InputFault {
  /** The name of the input, or '' for the whole input. */
  path: string;
  message: string;
  /** The allowed values, as the end of the sentence "… must be". */
  allowed: string;
}

/** A name sent by a client, shortened to 64 characters for messages. */
export const shown = (name: string): string => (name.length > 64 ? `${name.slice(0, 64)}…` : name);

function allowedFor(schema: z.ZodObject, name: PropertyKey): string {
  const field: unknown = schema.shape[String(name)];
  const inner = field instanceof z.ZodOptional ? field.unwrap() : field;
  return (inner instanceof z.ZodType && allowances.get(inner)?.allowed) || 'as the input schema says';
}

/**
 * Normalizes an input: removes optional inputs that are null and, with `anyCase`, lower-cases words of an enumeration.
 * Null is an input without any.
 */
export function leniently(schema: z.ZodObject, given: unknown, anyCase: boolean): unknown {
  const input = given ?? {};
  if (!isObject(input)) return input;
  let meant: Record<string, unknown> | null = null;
  for (const [name, field] of Object.entries(schema.shape)) {
    const value = input[name];
    if (value === null && field instanceof z.ZodOptional) delete (meant ??= { ...input })[name];
    if (!anyCase || typeof value !== 'string') continue;
    const inner: unknown = field instanceof z.ZodOptional ? field.unwrap() : field;
    if (inner instanceof z.ZodEnum && inner.options.includes(value.toLowerCase()))
      (meant ??= { ...input })[name] = value.toLowerCase();
  }
  return meant ?? input;
}

const otherType = 'It has the wrong type.';

/** Whether a text has the form of a date, whether or not that day exists. */
const isWrittenAsDate = (value: unknown): boolean => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value);

function faultOf(issue: z.core.$ZodIssue, value: unknown): string {
  switch (issue.code) {
    case 'custom':
      return issue.message;
    case 'invalid_value':
      return typeof value === 'string' ? 'It is not an allowed value.' : otherType;
    case 'invalid_format':
      if (issue.format === 'guid') return 'It is not a UUID.';
      if (issue.format === 'date')
        return isWrittenAsDate(value) ? 'There is no such day.' : 'It is not in this format.';
      return otherType;
    case 'too_small':
      return 'It is too small.';
    case 'too_big':
      return 'It is too large.';
    case 'invalid_type':
      return issue.expected === 'int' ? 'It is not a whole number.' : otherType;
    default:
      return otherType;
  }
}

/** The errors of `input`, each with what is allowed instead. */
export function inputFaults(schema: z.ZodObject, input: unknown, error: z.ZodError): InputFault[] {
  const names = Object.keys(schema.shape).join(', ');
  return error.issues.flatMap((issue): InputFault[] => {
    if (issue.code === 'unrecognized_keys') {
      const allowed = names === '' ? 'left out: this tool takes no input' : `left out: the inputs are ${names}`;
      return issue.keys.slice(0, 20).map((key) => ({ path: shown(key), message: 'There is no such input.', allowed }));
    }
    const [name] = issue.path;
    if (name === undefined)
      return [
        {
          path: '',
          message: otherType,
          allowed: `an object${names === '' ? '' : ` with the inputs ${names}`}`,
        },
      ];
    const value = isObject(input) ? input[String(name)] : undefined;
    const message = value === undefined ? 'It is missing.' : faultOf(issue, value);
    return [{ path: issue.path.join('.'), message, allowed: allowedFor(schema, name) }];
  });
}

/** The answer to a call whose input has these errors. */
export function invalidInput(details: readonly InputFault[]): RefusalBody {
  const message = `Nothing was done, because the input is not valid. ${inSentences(details)} Correct it and call again.`;
  return { error: 'validation_error', message, details };
}

function inSentences(faults: readonly InputFault[]): string {
  return faults.map(({ path, message, allowed }) => `${path || 'The input'} must be ${allowed}. ${message}`).join(' ');
}
