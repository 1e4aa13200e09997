/** Compresses JSON responses as the client accepts. */

import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Context, MiddlewareHandler } from 'hono';

/** Brotli first, which is smaller. */
export const encodings = ['br', 'gzip'] as const;
export type Encoding = (typeof encodings)[number];

/** Below this many bytes, compression saves no packet. */
export const leastCompressed = 1_024;
/** Above this many bytes, compressing one response would occupy a processor for too long. */
const mostCompressed = 4_194_304;

export const compress: Readonly<Record<Encoding, (text: string) => Promise<Buffer>>> = {
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

/**
 * The encoding that the client prefers among those `offered`, for equal weights the first; null if it accepts none, or
 * would rather have the response unencoded.
 */
export function preferredEncoding(c: Context, offered: readonly Encoding[]): Encoding | null {
  const accepted = c.req.header('accept-encoding');
  if (accepted === undefined) return null;
  const wanted = weights(accepted);
  const of = (name: string) => wanted.get(name) ?? wanted.get('*') ?? 0;
  const best = Math.max(0, ...offered.map(of));
  if (best === 0 || (wanted.get('identity') ?? 0) > best) return null;
  return offered.find((encoding) => of(encoding) === best) ?? null;
}

/** The encoding of a response of `size` bytes; null if it is not compressed. */
export const encodingFor = (c: Context, size: number): Encoding | null =>
  size < leastCompressed || size > mostCompressed ? null : preferredEncoding(c, encodings);

/**
 * Compresses the JSON of successful GET requests, except at the `secretPaths`: next to text that somebody else chose,
 * the compressed length could reveal a secret (BREACH).
 */
export const compressJson =
  (...secretPaths: readonly string[]): MiddlewareHandler =>
  async (c, next) => {
    await next();
    const { res } = c;
    if (c.req.method !== 'GET' || res.status !== 200 || secretPaths.includes(c.req.path)) return;
    if (res.headers.get('content-type') !== 'application/json') return;
    const text = await res.text();
    const encoding = encodingFor(c, Buffer.byteLength(text));
    c.res = new Response(encoding ? new Uint8Array(await compress[encoding](text)) : text, { headers: res.headers });
    c.header('Vary', 'Accept-Encoding');
    if (encoding) c.header('Content-Encoding', encoding);
  };
