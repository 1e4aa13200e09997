/**
 * How often somebody may guess or sign in. Failures are counted by account, be there one or not, and by address. In a
 * browser in which the account was signed in to before only its own failures matter, so that strangers who guess do not
 * lock its owner out (the "device cookies" of OWASP).
 */

import type { Context, MiddlewareHandler } from 'hono';
import type { Services } from '../services.ts';
import { knowsDevice } from '../domain/accounts/devices.ts';
import type { HashedFor } from '../domain/accounts/password-hashes.ts';
import { addressGroup, clientAddress } from '../http/client-address.ts';
import type { Count } from '../http/limits.ts';
import { Problem, retryAfter as tryAgainIn } from '../http/problem.ts';
import { deviceDigest, sessionDigest } from '../http/session.ts';

/** What one browser may still try on one account. */
export interface Attempts {
  /** Throws 429 when there were too many failures, or too many sign-ins, within the minute. */
  check(): Promise<void>;
  failed(): Promise<void>;
  /** Counts that a password was right: each one costs a hash, and writes. */
  succeeded(): Promise<void>;
  /** Whose share of the queue for password hashes is taken. */
  readonly share: HashedFor;
}

function tooMany({ retryAfter }: Count): Problem {
  return new Problem(
    429,
    'rate_limited',
    `Too many attempts: try again in ${retryAfter} seconds.`,
    tryAgainIn(retryAfter),
  );
}

function refuseAny(counts: readonly Count[]): void {
  for (const count of counts) if (!count.allowed) throw tooMany(count);
}

/** What the browser of this request may try on the account at this address. */
export async function attemptsOn({ database, limits }: Services, c: Context, email: string): Promise<Attempts> {
  const digest = deviceDigest(c);
  const known = digest !== null && (await database.run(knowsDevice(email, digest)));
  const device = known ? `${digest.toString('base64url')} ${email}` : null;
  // A browser that has failed too often itself is one like any other.
  const asKnown = async () => device !== null && (await limits.peek('sign_in_device', device)).allowed;
  return {
    async check() {
      const failures = (await asKnown())
        ? []
        : [limits.peek('sign_in_account', email), limits.peek('sign_in_ip', clientAddress(c))];
      refuseAny(await Promise.all([...failures, limits.peek('sign_in_success', email)]));
    },
    async failed() {
      await Promise.all([
        ...(device === null ? [] : [limits.take('sign_in_device', device)]),
        limits.take('sign_in_account', email),
        limits.take('sign_in_ip', clientAddress(c)),
      ]);
    },
    async succeeded() {
      await limits.take('sign_in_success', email);
    },
    share: hashedFor(c, device ?? email),
  };
}

/**
 * Counts every request, for its address and for the session that it presents; 429 when there were too many. A session is counted for itself and apart from
 * what its pages ask for: whoever has taken it and floods us keeps its owner from nothing that they do about it by another one.
 */
export const limitRequests =
  ({ limits }: Services): MiddlewareHandler =>
  async (c, next) => {
    refuseAny([await limits.take('web_ip', clientAddress(c))]);
    const digest = sessionDigest(c);
    if (digest !== null) refuseAny([await limits.take('web_person', `auth ${digest.toString('base64url')}`)]);
    await next();
  };

/** How often in a minute somebody takes along their data, which may be hundreds of thousands of records. */
const mostExports = 3;

/** Counts that somebody takes along their data; throws 429 when it was too often. */
export async function countExport({ limits }: Services, userId: string): Promise<void> {
  refuseAny([await limits.take('web_person', `export ${userId}`, mostExports)]);
}

/** Counts something that costs us and can be asked for by anybody; throws 429 when it was too often. */
export async function countRequest({ limits }: Services, c: Context): Promise<void> {
  refuseAny([await limits.take('sign_in_ip', clientAddress(c))]);
}

/** Counts that a link to a new password was asked for, apart from failures; throws 429 when it was too often. */
export async function countReset(services: Services, c: Context, email: string): Promise<void> {
  const { limits } = services;
  refuseAny([await limits.take('sign_in_account', `reset ${email}`)]);
  await countRequest(services, c);
}

/** Whose share of the queue for password hashes is taken: that of the account, where there is one, and that of the address. */
export function hashedFor(c: Context, account?: string): HashedFor {
  return { address: addressGroup(clientAddress(c)), ...(account === undefined ? {} : { account }) };
}
