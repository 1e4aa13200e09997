/** Reads the JSON body of a request, strictly and in bounds. */

import type { Context } from 'hono';
import type { z } from 'zod';
import { invalid, type Detail, type Fault } from './envelope.ts';
import { JsonFault, readJson } from './json.ts';

/** The most bytes of a body. */
export const largestBody = 65_536;

const refused = (message: string, status: 400 | 413 | 415, where: Detail['in'] = 'body', path = ''): Fault =>
  invalid([{ in: where, path, message }], status);

function checkType(c: Context): void {
  const [type = '', ...parameters] = (c.req.header('content-type') ?? '').split(';').map((part) => part.trim());
  if (type.toLowerCase() !== 'application/json')
    throw refused('Send JSON with the header Content-Type: application/json.', 415, 'header', 'Content-Type');
  if (parameters.some((parameter) => /^charset=/i.test(parameter) && !/^charset="?utf-8"?$/i.test(parameter)))
    throw refused('Send JSON in UTF-8.', 415, 'header', 'Content-Type');
  if (!/^(identity)?$/i.test(c.req.header('content-encoding') ?? ''))
    throw refused('Send the body uncompressed.', 415, 'header', 'Content-Encoding');
}

/** At most `largestBody` bytes, announced or not. */
async function readBytes(c: Context): Promise<Uint8Array> {
  const tooLarge = () => refused(`The body is too large: at most ${largestBody} bytes.`, 413);
  const announced = c.req.header('content-length');
  if (Number(announced ?? 0) > largestBody) throw tooLarge();
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    // Node ends a body where its announced length ends, so that one can be read at a stretch.
    if (announced !== undefined) return new Uint8Array(await c.req.arrayBuffer());
    for await (const part of c.req.raw.body ?? []) {
      size += part.byteLength;
      if (size > largestBody) break;
      parts.push(part);
    }
  } catch {
    throw refused('The body did not arrive whole.', 400);
  }
  if (size > largestBody) throw tooLarge();
  return Buffer.concat(parts);
}

const shown = (key: string): string => (key.length > 100 ? `${key.slice(0, 100)}…` : key);

function detailsOf(issue: z.core.$ZodIssue): Detail[] {
  const path = issue.path.map((step) => String(step)).join('.');
  if (issue.code !== 'unrecognized_keys') return [{ in: 'body', path, message: issue.message }];
  return issue.keys.slice(0, 20).map((key) => ({
    in: 'body',
    path: [path, shown(key)].filter(Boolean).join('.'),
    message: 'There is no such property: leave it out.',
  }));
}

/** The body as `schema` has it. Throws a fault of 400, 413 or 415 that says what to change. */
export async function readBody<T>(c: Context, schema: z.ZodType<T>): Promise<T> {
  checkType(c);
  const bytes = await readBytes(c);
  let value: unknown;
  try {
    value = readJson(bytes);
  } catch (error) {
    if (error instanceof JsonFault) throw refused(error.message, 400, 'body', shown(error.path));
    throw error;
  }
  const result = schema.safeParse(value);
  if (!result.success) throw invalid(result.error.issues.flatMap(detailsOf));
  return result.data;
}
