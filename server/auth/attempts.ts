/**
 * How often a person may guess or sign in. Failures are counted by account, be there one or not, and by address. In a
 * browser in which the account was signed in to before only its own failures matter, so that strangers who guess do not
 * lock its owner out (the "device cookies" of OWASP).
 */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { knowsDevice } from '../domain/accounts/devices.ts';
import type { HashedFor } from '../domain/accounts/password-hashes.ts';
import { addressGroup, clientAddress } from '../http/client-address.ts';
import { Problem } from '../http/problem.ts';
import { refuseOver } from '../http/request-limits.ts';
import { deviceDigest } from '../http/session.ts';

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
      refuseOver('attempts', ...(await Promise.all([...failures, limits.peek('sign_in_success', email)])));
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

/** How often in a minute a person may export their data, which can be hundreds of thousands of records. */
const mostExports = 3;

/** Counts an export of a person's own data; throws 429 when there were too many. */
export async function countExport({ limits }: Services, userId: string): Promise<void> {
  refuseOver('requests', await limits.take('web_person', `export ${userId}`, mostExports));
}

/** Counts something that costs us and can be asked for by anybody; throws 429 when it was too often. */
export async function countRequest({ limits }: Services, c: Context): Promise<void> {
  refuseOver('attempts', await limits.take('sign_in_ip', clientAddress(c)));
}

/**
 * Does what names no account before it has succeeded, as a passkey does: each refusal (401) counts as a failure of the
 * address. Throws 429, and does nothing, when there were too many of them within the minute.
 */
export async function countingRefusals<T>({ limits }: Services, c: Context, enter: () => Promise<T>): Promise<T> {
  const address = clientAddress(c);
  refuseOver('attempts', await limits.peek('sign_in_ip', address));
  return enter().catch(async (error: unknown) => {
    if (error instanceof Problem && error.status === 401) await limits.take('sign_in_ip', address);
    throw error;
  });
}

/** Counts that a link to a new password was asked for, apart from failures; throws 429 when it was too often. */
export async function countReset({ limits }: Services, c: Context, email: string): Promise<void> {
  refuseOver('attempts', await limits.take('sign_in_account', `reset ${email}`));
  refuseOver('attempts', await limits.take('sign_in_ip', `reset ${addressGroup(clientAddress(c))}`));
}

/** Whose share of the queue for password hashes is taken: that of the account, where there is one, and that of the address. */
export function hashedFor(c: Context, account?: string): HashedFor {
  return { address: addressGroup(clientAddress(c)), ...(account === undefined ? {} : { account }) };
}
