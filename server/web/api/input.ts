/** Reads what a request of the web application carries, and says of each fault where it is and what is allowed. */

import type { Context, Env, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import { isBlank, isVisible, isWithin } from '../../domain/characters.ts';
import { isEmailAddress, longestEmailAddress } from '../../lib/email-address.ts';
import { isDecimal, longestAmount } from '../../domain/diligence/normalizations.ts';
import { bodyType, boundedText } from '../../http/bounded-body.ts';
import { amountPattern, checkName, currencyPattern, isAfterYearZero, isStorable, momentOf } from '../../http/values.ts';
import { isTooDeep } from '../../http/json-text.ts';
import { isUuid } from '../../http/uuid.ts';
import { errorsOf, invalid, nothingThere, Problem, tooLarge } from '../../http/problem.ts';

const largestBody = 262_144;

/** The JSON body, as `parse` reads it, as the schema gives it. Throws 400, 413 or 415. */
async function readBody<T extends z.ZodType>(
  c: Context,
  schema: T,
  parse: (text: string) => unknown,
): Promise<z.output<T>> {
  if (bodyType(c).type !== 'application/json') throw new Problem(415, 'validation_error', 'Send JSON.');
  const sent = await boundedText(c, largestBody);
  if (sent === 'too_large') throw tooLarge('This is too large.');
  if (sent === 'not_text') throw new Problem(400, 'validation_error', 'Send JSON in UTF-8.');
  if (isTooDeep(sent.text)) throw new Problem(400, 'validation_error', 'The body is nested too deeply.');
  let value: unknown;
  try {
    value = parse(sent.text);
  } catch {
    throw new Problem(400, 'validation_error', 'The body is not JSON.');
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw invalid(errorsOf(parsed.error));
  return parsed.data;
}

/** An id in the path. Throws 404: under what is no id there is nothing. */
export function pathId(c: Context, name = 'id'): string {
  const id = c.req.param(name) ?? '';
  if (!isUuid(id)) throw nothingThere();
  return id.toLowerCase();
}

/** Throws 404 where an id in the path, named `id` or `…_id`, is none. */
function checkIds(c: Context): void {
  for (const name of Object.keys(c.req.param())) if (/(^|_)id$/.test(name)) pathId(c, name);
}

type Checked<Target extends 'json' | 'query', S extends z.ZodType> = {
  in: { [T in Target]: z.input<S> };
  out: { [T in Target]: z.output<S> };
};

const schemas = new WeakMap<object, { target: 'json' | 'query'; schema: z.ZodType }>();

/** What a middleware of {@link body} or {@link query} checks, and by which schema; undefined for any other handler. */
export const checkOf = (handler: object) => schemas.get(handler);

/**
 * Reads the JSON body for the handler behind it, which gets it by `c.req.valid('json')` as the schema gives it; the type
 * of the route says what the body must be. `parse` reads the text. Answers 400, 413 or 415 for what does not fit, and
 * first 404 for what is no id in the path.
 */
export function body<S extends z.ZodType, E extends Env, P extends string>(
  schema: S,
  parse: (text: string) => unknown = JSON.parse,
): MiddlewareHandler<E, P, Checked<'json', S>, never> {
  const check: MiddlewareHandler<E, P, Checked<'json', S>, never> = async (c, next) => {
    checkIds(c);
    c.req.addValidatedData('json', (await readBody(c, schema, parse)) as object);
    await next();
  };
  schemas.set(check, { target: 'json', schema });
  return check;
}

/** The query as the schema gives it; a parameter that repeats is an array where the schema wants one. Throws 400. */
function readQuery<T extends z.ZodType>(c: Context, schema: T): z.output<T> {
  const values = Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, all]) => [name, all.length === 1 ? all[0] : all]),
  );
  const parsed = schema.safeParse(values);
  if (!parsed.success) throw invalid(errorsOf(parsed.error));
  return parsed.data;
}

/** The same for the query: `c.req.valid('query')`. Answers 400 for what does not fit. */
export function query<S extends z.ZodType, E extends Env, P extends string>(
  schema: S,
): MiddlewareHandler<E, P, Checked<'query', S>, never> {
  const check: MiddlewareHandler<E, P, Checked<'query', S>, never> = async (c, next) => {
    checkIds(c);
    c.req.addValidatedData('query', readQuery(c, schema) as object);
    await next();
  };
  schemas.set(check, { target: 'query', schema });
  return check;
}

/** A line of text without space around it, 1 to `max` characters; `missing` is said where there is none. */
export const line = (max: number, missing = 'Write something here.') =>
  z
    .string()
    .trim()
    .min(1, missing)
    .refine(isWithin(max), `At most ${max} characters.`)
    .refine(isStorable, 'This contains characters that cannot be stored.');

/** A line of which every character is to be seen: the name of a client or a key. */
export const visibleLine = (max: number) => line(max).refine(isVisible, 'Leave out invisible characters.');

/** The name of a person or a brokerage. */
export const properName = z.string().trim().superRefine(checkName);

/** Whether an invitation is mailed, or its link handed on by whoever invites. */
export const delivery = z.enum(['mail', 'link'], 'Choose mail or link.').optional();

/** An e-mail address, as it was written. */
export const emailAddress = z
  .string()
  .max(longestEmailAddress, `At most ${longestEmailAddress} characters.`)
  .refine(isEmailAddress, 'This is not an e-mail address.');

/** Text of several lines, 1 to `max` characters, kept as it is. */
export const text = (max: number) =>
  z
    .string()
    .refine(isWithin(max), `At most ${max} characters.`)
    .refine((value) => !isBlank(value), 'Write something here.')
    .refine(isStorable, 'This contains characters that cannot be stored.');

type Several<T extends z.ZodType> = z.ZodType<
  z.output<T>[] | undefined,
  z.input<T> | readonly z.input<T>[] | undefined
> & { _zod: { optin: 'optional' } };

/** A query parameter that may be left out, and may repeat. */
export const several = <T extends z.ZodType>(one: T) =>
  z.preprocess(
    (value) => (value === undefined || Array.isArray(value) ? value : [value]),
    z.array(one).optional(),
  ) as z.ZodType as Several<T>;

/** What an {@link optional} field takes and gives: its type says that it may be left out. */
type Optional<T extends z.ZodType> = z.ZodType<z.output<T> | null, z.input<T> | '' | null | undefined> & {
  _zod: { optin: 'optional' };
};

/** An optional field: absent, null and empty are null. */
export const optional = <T extends z.ZodType>(schema: T) =>
  z.preprocess(
    (value) => (value === undefined || value === '' ? null : value),
    schema.nullable(),
  ) as z.ZodType as Optional<T>;

export const id = z.uuid('Choose one.');
export const day = z.iso.date('Write a date as YYYY-MM-DD.').refine(isAfterYearZero, 'There is no year 0.');
export const instant = z
  .string('Write a time as RFC 3339.')
  .refine((value) => momentOf(value) !== null, 'Write a time as RFC 3339.')
  .overwrite((value) => momentOf(value) ?? value);

/** A decimal string of up to 16 digits before the point and 4 after; `signed` allows a minus. */
export const decimal = ({ signed = false } = {}) =>
  z
    .string()
    .trim()
    .regex(amountPattern(signed), 'Write an amount with digits and at most four decimals, like 1250000.50.');

/** A currency. */
export const currency = z.string().regex(currencyPattern, 'Choose a currency.');

/** A decimal string of up to 40 characters, every digit of which is kept, as the tools take it. */
export const exactDecimal = z
  .string()
  .trim()
  .max(longestAmount, `At most ${longestAmount} characters.`)
  .refine(isDecimal, 'Write an amount with digits and at most one point, like -1250000.50.');

/** What a list is searched for; its words are those of `searchWords`. */
export const searchText = z.string().max(200, 'At most 200 characters.').default('');

/** The place behind which a page begins: long ones hold a name. */
export const pageCursor = z.string().max(2000).optional();

/** How many rows a page has: 1 to 200, 50 when nothing is said. */
export const pageSize = z
  .string()
  .regex(/^\d{1,3}$/, 'Write a number from 1 to 200.')
  .transform(Number)
  .refine((limit) => limit >= 1 && limit <= 200, 'Write a number from 1 to 200.')
  .default(50);
