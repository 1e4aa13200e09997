/** Reads bearer tokens from the Authorization header. */

import type { Context } from 'hono';

/** The token in the value of an Authorization header (RFC 6750, section 2.1); '' when it holds something else. */
export const bearerIn = (header: string): string => /^Bearer +(\S+) *$/i.exec(header)?.[1] ?? '';

/**
 * The token of `Authorization: Bearer <token>` (RFC 6750, section 2.1): null without such a header, '' when the header holds
 * something else.
 */
export function bearerToken(c: Context): string | null {
  const header = c.req.header('authorization');
  return header === undefined ? null : bearerIn(header);
}
