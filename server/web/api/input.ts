/** Validates the input of web application requests, and reports for each error where it is and what is allowed. */

import type { Context, Env, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import { isBlank, isVisible, isWithin } from '../../domain/characters.ts';
import { isEmailAddress, longestEmailAddress } from '../../lib/email-address.ts';
import { isDecimal, longestAmount } from '../../domain/diligence/normalizations.ts';
import { bodyType, boundedText } from '../../http/bounded-body.ts';
import { amountPattern, checkName, currencyPattern, isStorable, momentOf } from '../../http/values.ts';
import { isTooDeep } from '../../http/json-text.ts';
import { isUuid } from '../../lib/uuid.ts';
import { errorsOf, invalid, nothingThere, Problem, tooLarge } from '../../http/problem.ts';

const largestBody = 262_144;

/** Reads the JSON body with `parse` and validates it by the schema. Throws 400, 413 or 415. */
async function readBody<T extends z.ZodType>(
  c: Context,
  schema: T,
  parse: (text: string) => unknown,
): Promise<z.output<T>> {
  if (bodyType(c).type !== 'application/json') throw new Problem(415, 'validation_error', 'Send JSON.');
  const sent = await boundedText(c, largestBody);
  if (sent === 'too_large') throw tooLarge('The request body is too large.');
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

/** An id in the path, in lower case. Throws 404 when it is not a UUID. */
export function pathId(c: Context, name = 'id'): string {
  const id = c.req.param(name) ?? '';
  if (!isUuid(id)) throw nothingThere();
  return id.toLowerCase();
}

/** Throws 404 when a path parameter named `id` or `…_id` is not a UUID. */
function checkIds(c: Context): void {
  for (const name of Object.keys(c.req.param())) if (/(^|_)id$/.test(name)) pathId(c, name);
}

type Checked<Target extends 'json' | 'query', S extends z.ZodType> = {
  in: { [T in Target]: z.input<S> };
  out: { [T in Target]: z.output<S> };
};

const schemas = new WeakMap<object, { target: 'json' | 'query'; schema: z.ZodType }>();

/** The target and schema of a middleware of {@link body} or {@link query}; undefined for any other handler. */
export const checkOf = (handler: object) => schemas.get(handler);

/**
 * Middleware that validates the JSON body for the next handler, which gets it from `c.req.valid('json')` as the output
 * of the schema; the route's type states the input. `parse` parses the text. Responds 400, 413 or 415 to invalid
 * bodies, and before that 404 to an invalid id in the path.
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

/** The query as the output of the schema; a repeated parameter becomes an array. Throws 400. */
function readQuery<T extends z.ZodType>(c: Context, schema: T): z.output<T> {
  const values = Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, all]) => [name, all.length === 1 ? all[0] : all]),
  );
  const parsed = schema.safeParse(values);
  if (!parsed.success) throw invalid(errorsOf(parsed.error));
  return parsed.data;
}

/** Like {@link body}, for the query: `c.req.valid('query')`. Responds 400 to an invalid query. */
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

/** A line of text, trimmed, 1 to `max` characters; `missing` is the message when it is empty. */
export const line = (max: number, missing = 'Enter something here.') =>
  z
    .string()
    .trim()
    .min(1, missing)
    .refine(isWithin(max), `At most ${max} characters.`)
    .refine(isStorable, 'This contains characters that cannot be stored.');

/** A line without invisible characters: the name of a client or a key. */
export const visibleLine = (max: number) => line(max).refine(isVisible, 'Leave out invisible characters.');

/** The name of a person or a brokerage. */
export const properName = z.string().trim().superRefine(checkName);

/** Whether an invitation is mailed, or its link is passed on by the person who invites. */
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
    .refine((value) => !isBlank(value), 'Enter something here.')
    .refine(isStorable, 'This contains characters that cannot be stored.');

type Several<T extends z.ZodType> = z.ZodType<
  z.output<T>[] | undefined,
  z.input<T> | readonly z.input<T>[] | undefined
> & { _zod: { optin: 'optional' } };

/** A query parameter that is optional and may be repeated. */
export const several = <T extends z.ZodType>(one: T) =>
  z.preprocess(
    (value) => (value === undefined || Array.isArray(value) ? value : [value]),
    z.array(one).optional(),
  ) as z.ZodType as Several<T>;

/** The input and output of an {@link optional} field: its type makes it optional. */
type Optional<T extends z.ZodType> = z.ZodType<z.output<T> | null, z.input<T> | '' | null | undefined> & {
  _zod: { optin: 'optional' };
};

/** An optional field: missing, null and empty become null. */
export const optional = <T extends z.ZodType>(schema: T) =>
  z.preprocess(
    (value) => (value === undefined || value === '' ? null : value),
    schema.nullable(),
  ) as z.ZodType as Optional<T>;

export const id = z.uuid('Choose one.');

/** Nothing on a page is so old: in an earlier year a digit is missing or wrong. */
const isAfter1900 = (value: string): boolean => value >= '1900';

export const day = z.iso.date('Enter a date as YYYY-MM-DD.').refine(isAfter1900, 'Check the year.');

const timeMessage = 'Choose a day and time in the years 1 to 9999.';

export const instant = z
  .string(timeMessage)
  .refine((value) => momentOf(value) !== null, timeMessage)
  .overwrite((value) => momentOf(value) ?? value);

/** A decimal string of up to 16 digits before the point and 4 after it; `signed` allows a minus. */
export const decimal = ({ signed = false } = {}) =>
  z
    .string()
    .trim()
    .regex(amountPattern(signed), 'Enter an amount with digits and at most four decimals, like 1250000.50.');

/** A currency code. */
export const currency = z.string().regex(currencyPattern, 'Choose a currency.');

/** A decimal string of up to 40 characters, kept exactly, as the tools accept it. */
export const exactDecimal = z
  .string()
  .trim()
  .max(longestAmount, `At most ${longestAmount} characters.`)
  .refine(isDecimal, 'Enter an amount with digits and at most one point, like -1250000.50.');

/** The search text of a list; `searchWords` splits it into words. */
export const searchText = z.string().max(200, 'At most 200 characters.').default('');

/** The position after which a page begins; long because it may contain a name. */
export const pageCursor = z.string().max(2000).optional();

/** Rows per page: 1 to 200; defaults to 50. */
export const pageSize = z
  .string()
  .regex(/^\d{1,3}$/, 'Enter a number from 1 to 200.')
  .transform(Number)
  .refine((limit) => limit >= 1 && limit <= 200, 'Enter a number from 1 to 200.')
  .default(50);
