/** How often somebody may guess or sign in: counted by account, be there one or not, and by address. */

import type { Context } from 'hono';
import type { House } from '../context.ts';
import type { HashedFor } from '../domain/password-hashes.ts';
import { addressGroup, clientAddress } from '../http/client-address.ts';
import type { Count } from '../http/limits.ts';
import { Fault } from './action.ts';

function tooMany({ retryAfter }: Count): Fault {
  return new Fault(429, 'rate_limited', `Too many attempts: try again in ${retryAfter} seconds.`, retryAfter);
}

/**
 * Throws a fault (429) when this account or this address has failed too often within the minute, or the account was
 * signed in to too often.
 */
export async function checkAttempts({ limits }: House, c: Context, email: string): Promise<void> {
  const counts = await Promise.all([
    limits.peek('sign_in_account', email),
    limits.peek('sign_in_ip', clientAddress(c)),
    limits.peek('sign_in_success', email),
  ]);
  for (const count of counts) if (!count.allowed) throw tooMany(count);
}

/** Counts a failure. */
export async function countFailure({ limits }: House, c: Context, email: string): Promise<void> {
  await Promise.all([limits.take('sign_in_account', email), limits.take('sign_in_ip', clientAddress(c))]);
}

/** Counts that a password was right: each one costs a hash, and writes. */
export async function countSuccess({ limits }: House, email: string): Promise<void> {
  await limits.take('sign_in_success', email);
}

/** Counts something that costs us and can be asked for by anybody; throws a fault (429) when it was too often. */
export async function countRequest({ limits }: House, c: Context): Promise<void> {
  const count = await limits.take('sign_in_ip', clientAddress(c));
  if (!count.allowed) throw tooMany(count);
}

/** Whose share of the line a hash takes: that of the account, where there is one, and that of the address. */
export function hashedFor(c: Context, account?: string): HashedFor {
  return { address: addressGroup(clientAddress(c)), ...(account === undefined ? {} : { account }) };
}
