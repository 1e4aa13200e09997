/** Reads the message of a request: checks its headers and reads its body, within limits. */

import type { Context } from 'hono';
import { bodyType, boundedText, sendJson } from '../http/bounded-body.ts';
import { isTooDeep } from '../http/json-text.ts';
import { Problem } from '../http/problem.ts';

/** Maximum size of a body in bytes: 1 MiB. */
export const largestBody = 1_048_576;

const revisionWithArrays = '2025-03-26';

const parseError = (message: string) => new Problem(400, 'parse_error', message);

/** Whether a client with this Accept header accepts JSON, the format of responses. */
export const takesJson = (accept: string | undefined): boolean =>
  accept === undefined || /(^|[,\s])(\*\/\*|application\/(json|\*))\s*($|[,;])/i.test(accept);

/** Throws a problem of 406 for a client that does not accept JSON. */
export function checkAccept(c: Context): void {
  if (takesJson(c.req.header('accept'))) return;
  throw new Problem(406, 'not_acceptable', 'Responses are JSON: send Accept: application/json, text/event-stream.');
}

/** The value of a JSON text; undefined when it is not valid, or nested too deeply. */
export function valueOf(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Reads the body as JSON. Throws problems of 400, 413 and 415. */
export async function readMessage(c: Context): Promise<unknown> {
  if (bodyType(c).type !== 'application/json') throw new Problem(415, 'unsupported_media_type', sendJson);
  const body = await boundedText(c, largestBody);
  if (body === 'too_large')
    throw new Problem(413, 'too_large', `The body is too large: send at most ${largestBody} bytes (1 MiB).`);
  if (body === 'not_text') throw parseError('Parse error: the body is not UTF-8. Send JSON in UTF-8.');
  const message = valueOf(body.text);
  if (message === undefined && isTooDeep(body.text))
    throw parseError('Parse error: the body is nested too deeply. Send one message with plain arguments.');
  if (message === undefined) throw parseError('Parse error: the body is not valid JSON. Send one JSON-RPC message.');
  if (Array.isArray(message)) checkArray(c, message);
  return message;
}

const invalidRequest = (message: string) => new Problem(400, 'invalid_request', `Invalid Request: ${message}`);

/** Only revision 2025-03-26 has arrays of messages; it also applies to a client that sends no revision. */
function checkArray(c: Context, messages: readonly unknown[]): void {
  const revision = c.req.header('mcp-protocol-version');
  if (revision !== undefined && revision !== revisionWithArrays)
    throw invalidRequest(`only revision ${revisionWithArrays} has arrays of messages; send one at a time.`);
  if (messages.some((one) => methodOf(one) === 'initialize'))
    throw invalidRequest('initialize must not be in an array; send it alone.');
}

/** The method of a message; undefined when it has none. */
export function methodOf(message: unknown): string | undefined {
  const method: unknown =
    typeof message === 'object' && message !== null && 'method' in message ? message.method : null;
  return typeof method === 'string' ? method : undefined;
}

/** The id for the response to a message; null when the message is not a single request. */
export function idOf(message: unknown): string | number | null {
  const id: unknown = typeof message === 'object' && message !== null && 'id' in message ? message.id : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
