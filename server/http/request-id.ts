/** Gives every request an id: in the response header X-Request-Id, in the log, and in the audit trail. */

import { randomUUID } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { nextWithHeaders } from './safe-headers.ts';

const acceptable = /^[A-Za-z0-9_-]{1,64}$/;

/** The caller's X-Request-Id if it has 1 to 64 letters, digits, `_` or `-`; otherwise null. */
export const idFrom = (given: string | readonly string[] | undefined): string | null =>
  typeof given === 'string' && acceptable.test(given) ? given : null;

/** Sets `c.var.requestId`: the caller's X-Request-Id if {@link idFrom} accepts it, otherwise a new UUID. */
export const requestId: MiddlewareHandler<{ Variables: { requestId: string } }> = (c, next) => {
  const id = idFrom(c.req.header('x-request-id')) ?? randomUUID();
  c.set('requestId', id);
  return nextWithHeaders(c, [['X-Request-Id', id]], next);
};

/** The id of this request. */
export function requestIdOf(c: Context): string {
  const id: unknown = c.get('requestId');
  if (typeof id !== 'string') throw new Error('requestId must be mounted before this handler');
  return id;
}
