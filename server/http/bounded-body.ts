/** Reads the body of a request as text, up to a limit. */

import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { Problem } from './problem.ts';

/** The media type of the body in lower case, and its charset when one is named. */
export function bodyType(c: Context): { type: string; charset: string | undefined } {
  const [type = '', ...parameters] = (c.req.header('content-type') ?? '').split(';').map((part) => part.trim());
  const charset = parameters.map((part) => /^charset="?([^"]*)"?$/i.exec(part)?.[1]).find((name) => name !== undefined);
  return { type: type.toLowerCase(), charset: charset?.toLowerCase() };
}

/** Maximum bytes of the JSON body of a change, but for those that carry many records. */
export const largestChange = 65_536;

/** The message for a body that should be JSON but has another media type. */
export const sendJson = 'Send JSON with the header Content-Type: application/json.';

/**
 * Middleware that responds with `refuse` when the body is larger than `limit` bytes. A body with a Content-Length is
 * not read here: a body that is read in part blocks its connection for the next request.
 */
export function bodyAtMost(limit: number, refuse: (c: Context) => Response): MiddlewareHandler {
  const unannounced = bodyLimit({ maxSize: limit, onError: refuse });
  return async (c, next) => {
    const announced = c.req.header('content-length');
    if (announced === undefined) return unannounced(c, next);
    return Number(announced) > limit ? refuse(c) : next();
  };
}

/** Whether the request comes with a body. */
export const announcesBody = (c: Context): boolean =>
  c.req.header('transfer-encoding') !== undefined || Number(c.req.header('content-length') ?? 0) > 0;

// A body that is read in part blocks its connection for the next request, so a body of up to this many times the limit
// is read to its end.
const discarded = 8;

async function readBytes(c: Context, limit: number): Promise<Uint8Array | null> {
  const announced = c.req.header('content-length');
  if (Number(announced ?? 0) > limit) return null;
  // Node.js ends a body at its announced length, and reads it several times faster as a whole than in parts.
  if (announced !== undefined) return new Uint8Array(await c.req.arrayBuffer());
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of c.req.raw.body ?? []) {
    size += part.byteLength;
    if (size <= limit) parts.push(part);
    else if (size > limit * discarded) return null;
  }
  return size > limit ? null : Buffer.concat(parts);
}

/**
 * The body; null if it has more than `limit` bytes. Throws a problem of 400 when the client disconnects before the
 * whole body has arrived.
 */
export async function boundedBytes(c: Context, limit: number): Promise<Uint8Array | null> {
  return readBytes(c, limit).catch((cause: unknown) => {
    throw new Problem(400, 'validation_error', 'The body did not arrive completely.', { cause });
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The bytes decoded as UTF-8; null if they are not UTF-8. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/**
 * The body as text; 'too_large' if it has more than `limit` bytes, 'not_text' if it is not UTF-8. Throws a problem of
 * 400 when the client disconnects before the whole body has arrived.
 */
export async function boundedText(c: Context, limit: number): Promise<{ text: string } | 'too_large' | 'not_text'> {
  const bytes = await boundedBytes(c, limit);
  if (bytes === null) return 'too_large';
  const text = textOf(bytes);
  return text === null ? 'not_text' : { text };
}
