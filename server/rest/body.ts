/** Reads the JSON body of a request, strictly and with limits. */

import type { Context } from 'hono';
import type { z } from 'zod';
import { bodyType, boundedBytes, largestChange, sendJson } from '../http/bounded-body.ts';
import type { Detail, Problem } from '../http/problem.ts';
import { invalid } from './envelope.ts';
import { readJson, shown } from './json.ts';

const refused = (message: string, status: 400 | 413 | 415, where: Detail['in'] = 'body', path = ''): Problem =>
  invalid([{ in: where, path, message }], status);

const json = ['application/json'] as const;

function checkType(c: Context, types: readonly string[]): void {
  const { type, charset } = bodyType(c);
  if (!types.includes(type)) throw refused(sendJson, 415, 'header', 'Content-Type');
  if (charset !== undefined && charset !== 'utf-8') throw refused('Send JSON in UTF-8.', 415, 'header', 'Content-Type');
  if (!/^(identity)?$/i.test(c.req.header('content-encoding') ?? ''))
    throw refused('Send the body uncompressed.', 415, 'header', 'Content-Encoding');
}

function detailsOf(issue: z.core.$ZodIssue): Detail[] {
  const path = issue.path.map((step) => String(step)).join('.');
  if (issue.code !== 'unrecognized_keys') return [{ in: 'body', path, message: issue.message }];
  return issue.keys.slice(0, 20).map((key) => ({
    in: 'body',
    path: [path, shown(key)].filter(Boolean).join('.'),
    message: 'There is no such property: leave it out.',
  }));
}

/** The faults of a JSON value, each with its path; null when it conforms to `schema`. */
export function faultsIn(schema: z.ZodType, value: unknown): readonly Detail[] | null {
  const { error } = schema.safeParse(value);
  return error ? error.issues.flatMap(detailsOf) : null;
}

/**
 * Returns the body, validated by `schema`, of at most `most` bytes and one of these media types. Throws a problem of
 * 400, 413 or 415 that says what to change.
 */
export async function readBody<T>(
  c: Context,
  schema: z.ZodType<T>,
  most = largestChange,
  types: readonly string[] = json,
): Promise<T> {
  checkType(c, types);
  const bytes = await boundedBytes(c, most);
  if (bytes === null) throw refused(`The body is too large: at most ${most} bytes.`, 413);
  const result = schema.safeParse(readJson(bytes));
  if (!result.success) throw invalid(result.error.issues.flatMap(detailsOf));
  return result.data;
}
