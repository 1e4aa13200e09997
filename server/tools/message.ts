/** Reads the message of a request: its headers and its body, within bounds. */

import type { Context } from 'hono';
import { bodyType, boundedText, sendJson } from '../http/bounded-body.ts';
import { isTooDeep } from '../http/json-text.ts';
import { Problem } from '../http/problem.ts';

/** The most bytes of a body: 1 MiB. */
export const largestBody = 1_048_576;

const revisionWithArrays = '2025-03-26';

const parseError = (message: string) => new Problem(400, 'parse_error', message);

/** Whether a client with this header takes JSON, which is what is answered. */
export const takesJson = (accept: string | undefined): boolean =>
  accept === undefined || /(^|[,\s])(\*\/\*|application\/(json|\*))\s*($|[,;])/i.test(accept);

/** Throws 406 to a client that does not. */
export function checkAccept(c: Context): void {
  if (takesJson(c.req.header('accept'))) return;
  throw new Problem(406, 'not_acceptable', 'Answers are JSON: send Accept: application/json, text/event-stream.');
}

/** The value that the text is in JSON; undefined when it is none, or nested too deeply. */
export function valueOf(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The body as a value of JSON. Throws problems of 400, 413 and 415. */
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

/** Only revision 2025-03-26 has arrays of messages; it is also that of a client that names none. */
function checkArray(c: Context, messages: readonly unknown[]): void {
  const revision = c.req.header('mcp-protocol-version');
  if (revision !== undefined && revision !== revisionWithArrays)
    throw invalidRequest(`revision ${revisionWithArrays} alone has arrays of messages; send one at a time.`);
  if (messages.some((one) => methodOf(one) === 'initialize'))
    throw invalidRequest('initialize is not sent in an array; send it alone.');
}

/** What a message asks for; undefined when it asks for nothing. */
export function methodOf(message: unknown): string | undefined {
  const method: unknown =
    typeof message === 'object' && message !== null && 'method' in message ? message.method : null;
  return typeof method === 'string' ? method : undefined;
}

/** The id that an answer to the message carries; null when it is no single request. */
export function idOf(message: unknown): string | number | null {
  const id: unknown = typeof message === 'object' && message !== null && 'id' in message ? message.id : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
