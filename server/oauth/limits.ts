/**
 * How often the endpoints may be called: an address at large, and a client at the token and revocation endpoints. What a
 * client achieves is counted for the client. What fails in its name is counted for the client and the address together:
 * a client_id is no secret, and others who know one must not use up what the client may do.
 */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { addressGroup, clientAddress } from '../http/client-address.ts';
import type { Count } from '../http/limits.ts';
import { retryAfter as tryAgainIn, type Problem } from '../http/problem.ts';
import { tooMany } from '../http/request-limits.ts';
import { oauthError } from './oauth-error.ts';

/** The answer to a caller over a limit. */
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

/** Throws when the client has achieved as much in this minute as it may. */
export async function checkClient({ limits }: Services, clientId: string): Promise<void> {
  const count = await limits.peek('token_client', clientId);
  if (!count.allowed) throw refused(count);
}

/** Counts what a client has achieved. */
export async function countSuccess({ limits }: Services, clientId: string): Promise<void> {
  await limits.take('token_client', clientId);
}

/** Counts a failure in the name of a client; throws when this address has had too many. */
export async function countFailure({ limits }: Services, c: Context, clientId: string): Promise<void> {
  const count = await limits.take('token_failure', `${clientId} ${addressGroup(clientAddress(c))}`);
  if (!count.allowed) throw refused(count);
}
