/**
 * Sends JSON responses: with an entity tag, so that a client is not sent what it already has, and compressed if the
 * client accepts that.
 */

import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** A response before it is written for one request. */
export interface Answered {
  readonly status: ContentfulStatusCode;
  /** Any JSON value. */
  readonly body: unknown;
  /** Headers besides those of every response; `ETag`, if the tag covers more than the text of the body. */
  readonly headers?: Readonly<Record<string, string>>;
}

type Encoding = 'br' | 'gzip';

/** Below this many bytes, compression saves no packet. */
const leastCompressed = 1_024;
/** Above this many bytes, compressing one response would occupy a processor for too long. */
const mostCompressed = 4_194_304;

const compress: Readonly<Record<Encoding, (text: string) => Promise<Buffer>>> = {
  br: (text) => promisify(brotliCompress)(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: promisify<string, Buffer>(gzip),
};

/** The client's preference (weight) for each encoding: RFC 9110, section 12.5.3. */
function weights(accepted: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const part of accepted.slice(0, 1_000).toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    const weight = parameters.find((piece) => piece.startsWith('q='))?.slice(2);
    found.set(name, weight === undefined ? 1 : Number(weight) || 0);
  }
  return found;
}

/** The encoding that the client prefers, or null for none; for equal weights brotli, which is smaller. */
function encodingFor(c: Context): Encoding | null {
  const accepted = c.req.header('accept-encoding');
  if (accepted === undefined) return null;
  const wanted = weights(accepted);
  const of = (name: string) => wanted.get(name) ?? wanted.get('*') ?? 0;
  const [br, gz] = [of('br'), of('gzip')];
  if (Math.max(br, gz) === 0 || (wanted.get('identity') ?? 0) > Math.max(br, gz)) return null;
  return br >= gz ? 'br' : 'gzip';
}

const tagOf = (text: string): string => `"${hash('sha256', text, 'base64url').slice(0, 27)}"`;

/**
 * A strong tag identifies one sequence of bytes, so the compressed response has a different one (RFC 9110, section
 * 8.8.3.3).
 */
const encodedTag = (tag: string, encoding: Encoding): string => `${tag.slice(0, -1)}-${encoding}"`;

/**
 * The entity tags in a list, with those of compressed responses reduced to the tag of the uncompressed response; '*'
 * for any.
 */
export function tagsIn(header: string): readonly string[] | '*' {
  if (header.trim() === '*') return '*';
  return [...header.slice(0, 8_000).matchAll(/(W\/)?"([\x21\x23-\x7e]*?)(?:-(?:br|gzip))?"/g)].map(
    ([, weak = '', text]) => `${weak}"${text}"`,
  );
}

/** Whether the client already has this response (If-None-Match, which compares weakly: RFC 9110, section 13.1.2). */
function isKnown(c: Context, tag: string): boolean {
  const header = c.req.header('if-none-match');
  if (header === undefined) return false;
  const tags = tagsIn(header);
  return tags === '*' || tags.some((one) => one.replace(/^W\//, '') === tag);
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
  const encoding = !isSecret && size >= leastCompressed && size <= mostCompressed ? encodingFor(c) : null;
  c.header('Vary', 'Accept-Encoding');
  const tag = headers['ETag'] ?? (isRead ? tagOf(text) : undefined);
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
