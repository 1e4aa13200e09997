/** How often somebody may guess: failures are counted by account, be there one or not, and by address. */

import type { Context } from 'hono';
import type { House } from '../context.ts';
import { clientAddress } from '../http/client-address.ts';
import type { Count } from '../http/limits.ts';
import { Fault } from './action.ts';

function tooMany({ retryAfter }: Count): Fault {
  return new Fault(429, 'rate_limited', `Too many attempts: try again in ${retryAfter} seconds.`, retryAfter);
}

/** Throws a fault (429) when this account or this address has failed too often within the minute. */
export async function checkAttempts({ limits }: House, c: Context, email: string): Promise<void> {
  const [account, address] = await Promise.all([
    limits.peek('sign_in_account', email),
    limits.peek('sign_in_ip', clientAddress(c)),
  ]);
  if (!account.allowed) throw tooMany(account);
  if (!address.allowed) throw tooMany(address);
}

/** Counts a failure. */
export async function countFailure({ limits }: House, c: Context, email: string): Promise<void> {
  await Promise.all([limits.take('sign_in_account', email), limits.take('sign_in_ip', clientAddress(c))]);
}

/** Counts something that costs us and can be asked for by anybody; throws a fault (429) when it was too often. */
export async function countRequest({ limits }: House, c: Context): Promise<void> {
  const count = await limits.take('sign_in_ip', clientAddress(c));
  if (!count.allowed) throw tooMany(count);
}
