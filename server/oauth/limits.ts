/** How often the endpoints may be called: an address at large, and a client at the token endpoint. */

import type { Context } from 'hono';
import type { House } from '../context.ts';
import { clientAddress } from '../http/client-address.ts';
import type { Count } from '../http/limits.ts';
import { OAuthError } from './oauth-error.ts';

/** What a caller over a limit is told; also the shape of the answer for programs at the authorize endpoint. */
export const tooMany = ({ retryAfter }: Count): OAuthError =>
  new OAuthError('temporarily_unavailable', `Too many requests: try again in ${retryAfter} seconds.`, {
    status: 429,
    retryAfter,
  });

/** Counts a request of this address at the token or revocation endpoint; throws when there were too many. */
export async function limitAddress({ limits }: House, c: Context): Promise<void> {
  const count = await limits.take('token_ip', clientAddress(c));
  if (!count.allowed) throw tooMany(count);
}

/** Counts a request in the name of a client; throws when there were too many. */
export async function limitClient({ limits }: House, clientId: string): Promise<void> {
  const count = await limits.take('token_client', clientId);
  if (!count.allowed) throw tooMany(count);
}
