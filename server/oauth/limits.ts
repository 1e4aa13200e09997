/**
 * Rate limits of the endpoints: of an address, and of a client at the token and revocation endpoints. Successful
 * requests are counted for the client. Failed requests are counted for the client and the address together: a client_id
 * is not secret, and others who know it must not use up the client's limit.
 */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { addressGroup, clientAddress } from '../http/client-address.ts';
import type { Count } from '../http/limits.ts';
import { retryAfter as tryAgainIn, type Problem } from '../http/problem.ts';
import { tooMany } from '../http/request-limits.ts';
import { oauthError } from './oauth-error.ts';

const refused = (count: Count): Problem =>
  oauthError('temporarily_unavailable', tooMany('requests', count), {
    status: 429,
    ...tryAgainIn(count.retryAfter),
  });

/** Counts a request of this address at the token or revocation endpoint; throws when there were too many. */
export async function limitAddress({ limits }: Services, c: Context): Promise<void> {
  const count = await limits.take('token_ip', clientAddress(c));
  if (!count.allowed) throw refused(count);
}

/** Throws when the client has reached its limit of successful requests in this minute. */
export async function checkClient({ limits }: Services, clientId: string): Promise<void> {
  const count = await limits.peek('token_client', clientId);
  if (!count.allowed) throw refused(count);
}

/** Counts a successful request of a client. */
export async function countSuccess({ limits }: Services, clientId: string): Promise<void> {
  await limits.take('token_client', clientId);
}

/** Counts a failed request with a client's id; throws when this address has had too many. */
export async function countFailure({ limits }: Services, c: Context, clientId: string): Promise<void> {
  const count = await limits.take('token_failure', `${clientId} ${addressGroup(clientAddress(c))}`);
  if (!count.allowed) throw refused(count);
}
