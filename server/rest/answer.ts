/**
 * Sends JSON responses: with an entity tag, so that a client is not sent what it already has, and compressed if the
 * client accepts that.
 */

import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { compress, encodingFor, leastCompressed } from '../http/compression.ts';
import { encodedTag, entityTag, isKnown } from '../http/entity-tags.ts';

/** A response before it is written for one request. */
export interface Answered {
  readonly status: ContentfulStatusCode;
  /** Any JSON value. */
  readonly body: unknown;
  /** Headers besides those of every response; `ETag`, if the tag covers more than the text of the body. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Sends a JSON response. The response to a GET or HEAD request carries an entity tag, and is 304 for a client that has
 * it. A response of 1 KB to 4 MB is compressed according to `Accept-Encoding`, except with `isSecret`: next to input of
 * the sender, the compressed length could reveal a secret (BREACH).
 */
export async function answerJson(
  c: Context,
  { status, body, headers = {} }: Answered,
  isSecret = false,
): Promise<Response> {
  const text = JSON.stringify(body);
  const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
  if (!isRead && text.length < leastCompressed) return c.body(text, status, { 'Content-Type': 'application/json' });
  const size = Buffer.byteLength(text);
  const encoding = isSecret ? null : encodingFor(c, size);
  c.header('Vary', 'Accept-Encoding');
  const tag = headers['ETag'] ?? (isRead ? entityTag(text) : undefined);
  if (tag !== undefined) c.header('ETag', encoding ? encodedTag(tag, encoding) : tag);
  if (isRead && tag !== undefined && isKnown(c, tag)) return c.body(null, 304);
  c.header('Content-Type', 'application/json');
  if (encoding === null) {
    if (c.req.method === 'HEAD') c.header('Content-Length', String(size));
    return c.body(text, status);
  }
  const bytes = await compress[encoding](text);
  c.header('Content-Encoding', encoding);
  if (c.req.method === 'HEAD') c.header('Content-Length', String(bytes.byteLength));
  return c.body(new Uint8Array(bytes), status);
}
