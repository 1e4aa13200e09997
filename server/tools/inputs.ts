/** What tools take: the kinds of input, each with what is allowed in words, and the faults of an input. */

import { z } from 'zod';

const allowances = z.registry<{ allowed: string }>();

/** A UUID in any case, as PostgreSQL takes it; lower-case afterwards. */
export const id = () => z.guid().toLowerCase().register(allowances, { allowed: 'a UUID' });

function textFault(value: string, least: number, most: number): string | null {
  if (value.includes('\0')) return 'It contains a null character (U+0000).';
  if (!value.isWellFormed()) return 'It contains half of a surrogate pair, which is no character.';
  const length = value.length > most ? [...value].length : value.length;
  return length < least || length > most ? `It has ${length} characters.` : null;
}

/** Text of so many characters (Unicode code points, as PostgreSQL and JSON Schema count them), all of which can be stored. */
export function text(least: number, most: number) {
  return z
    .string()
    .superRefine((value, context) => {
      const message = textFault(value, least, most);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .meta({ ...(least > 0 ? { minLength: least } : {}), maxLength: most })
    .register(allowances, {
      allowed: least > 0 ? `text of ${least} to ${most} characters` : `text of at most ${most} characters`,
    });
}

/** One of these words. */
export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words).register(allowances, { allowed: `one of: ${words.join(', ')}` });

/** A day that the calendar has; there is no year 0. */
export const date = () =>
  z.iso
    .date()
    .refine((value) => !value.startsWith('0000'), { error: 'There is no year 0.' })
    .register(allowances, { allowed: 'a date, written YYYY-MM-DD' });

/** A whole number that JSON keeps exactly. */
export const wholeAmount = () =>
  z
    .int()
    .min(0)
    .register(allowances, { allowed: `a whole number (no text) from 0 to ${Number.MAX_SAFE_INTEGER}` });

function decimalFault(value: string): string | null {
  if (value.length > 40) return 'It has more than 40 characters.';
  const [, whole, decimals = ''] = /^[+-]?([0-9]+)(?:\.([0-9]+))?$/.exec(value) ?? [];
  if (whole === undefined) return 'It is not a decimal number.';
  if (decimals.length > 4) return `It has ${decimals.length} decimals, and nothing is rounded here.`;
  const digits = whole.replace(/^0+(?=.)/, '').length;
  return digits > 16 ? `It has ${digits} digits before the point.` : null;
}

/** A decimal number as text, that fits numeric(20,4) without rounding. */
export const decimal = () =>
  z
    .string()
    .superRefine((value, context) => {
      const message = decimalFault(value);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .meta({ minLength: 1, maxLength: 40, pattern: '^[+-]?[0-9]+(\\.[0-9]{1,4})?$' })
    .register(allowances, {
      allowed:
        'text with a decimal number of at most 16 digits before the point and 4 after it, such as "-1250.50"; no exponent, spaces or separators',
    });

/** One thing that is wrong with an input. */
export interface InputFault {
  /** The name of the input, or '' for all of it. */
  path: string;
  message: string;
  /** What it may be, as the end of the sentence "… must be". */
  allowed: string;
}

const shown = (name: string): string => (name.length > 64 ? `${name.slice(0, 64)}…` : name);

function allowedFor(schema: z.ZodObject, name: PropertyKey | undefined): string {
  const field: unknown = name === undefined ? undefined : schema.shape[String(name)];
  const inner = field instanceof z.ZodOptional ? field.unwrap() : field;
  return (inner instanceof z.ZodType && allowances.get(inner)?.allowed) || 'as the input schema says';
}

/** What is wrong with `input`, each fault with what is allowed instead. */
export function inputFaults(
  schema: z.ZodObject,
  input: Readonly<Record<string, unknown>>,
  error: z.ZodError,
): InputFault[] {
  const names = Object.keys(schema.shape).join(', ');
  return error.issues.flatMap((issue): InputFault[] => {
    if (issue.code === 'unrecognized_keys') {
      const allowed = names === '' ? 'left out: this tool takes no input' : `left out: the inputs are ${names}`;
      return issue.keys.slice(0, 20).map((key) => ({ path: shown(key), message: 'There is no such input.', allowed }));
    }
    const [name] = issue.path;
    const missing = name !== undefined && input[String(name)] === undefined;
    const own = issue.code === 'custom' ? issue.message : 'It is something else.';
    return [
      { path: issue.path.join('.'), message: missing ? 'It is missing.' : own, allowed: allowedFor(schema, name) },
    ];
  });
}

/** The faults in one sentence each, for the reader of the message. */
export function inSentences(faults: readonly InputFault[]): string {
  return faults.map(({ path, message, allowed }) => `${path || 'The input'} must be ${allowed}. ${message}`).join(' ');
}
