/**
 * Limits on guessing and signing in. Failures are counted by account, whether or not it exists, and by address. In a
 * browser in which the account was signed in to before, only the browser's own failures count, so that strangers who
 * guess do not lock its owner out (the "device cookies" of OWASP).
 */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { knowsDevice } from '../domain/accounts/devices.ts';
import type { HashedFor } from '../domain/accounts/password-hashes.ts';
import { addressGroup, clientAddress } from '../http/client-address.ts';
import { Problem } from '../http/problem.ts';
import { refuseOver } from '../http/request-limits.ts';
import { deviceDigest } from '../http/session.ts';

/** The attempts of one browser on one account. */
export interface Attempts {
  /** Throws 429 after too many failures, or too many sign-ins, within the minute. */
  check(): Promise<void>;
  failed(): Promise<void>;
  /** Counts a correct password: each costs a hash and writes to the database. */
  succeeded(): Promise<void>;
  /** Whose share of the queue for password hashes is used. */
  readonly share: HashedFor;
}

/** What is counted for this request's browser alone; null unless the account with this address was signed in to in it. */
async function knownBrowser({ database }: Services, c: Context, email: string): Promise<string | null> {
  const digest = deviceDigest(c);
  const known = digest !== null && (await database.run(knowsDevice(email, digest)));
  return known ? `${digest.toString('base64url')} ${email}` : null;
}

/** The attempts of this request's browser on the account with this address. */
export async function attemptsOn(services: Services, c: Context, email: string): Promise<Attempts> {
  const { limits } = services;
  const device = await knownBrowser(services, c, email);
  // A known browser with too many failures of its own is treated like an unknown one.
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

/** How often per minute a person may export their data, which can be hundreds of thousands of records. */
const mostExports = 3;

/** Counts an export of a person's own data; throws 429 after too many. */
export async function countExport({ limits }: Services, userId: string): Promise<void> {
  refuseOver('requests', await limits.take('web_person', `export ${userId}`, mostExports));
}

/** Counts a costly request that anybody can send; throws 429 after too many. */
export async function countRequest({ limits }: Services, c: Context): Promise<void> {
  refuseOver('attempts', await limits.take('sign_in_ip', clientAddress(c)));
}

/**
 * Runs `enter`, which names no account before it has succeeded, such as signing in with a passkey: each refusal (401)
 * counts as a failure of the address. Throws 429, without running it, after too many of them within the minute.
 */
export async function countingRefusals<T>({ limits }: Services, c: Context, enter: () => Promise<T>): Promise<T> {
  const address = clientAddress(c);
  refuseOver('attempts', await limits.peek('sign_in_ip', address));
  return enter().catch(async (error: unknown) => {
    if (error instanceof Problem && error.status === 401) await limits.take('sign_in_ip', address);
    throw error;
  });
}

/** Counts a request for a password reset link, separately from failures; throws 429 after too many. */
export async function countReset(services: Services, c: Context, email: string): Promise<void> {
  const { limits } = services;
  const device = await knownBrowser(services, c, email);
  refuseOver(
    'attempts',
    await (device === null
      ? limits.take('sign_in_account', `reset ${email}`)
      : limits.take('sign_in_device', `reset ${device}`)),
  );
  refuseOver('attempts', await limits.take('sign_in_ip', `reset ${addressGroup(clientAddress(c))}`));
}

/** Whose share of the queue for password hashes is used: the account's, if there is one, and the address's. */
export function hashedFor(c: Context, account?: string): HashedFor {
  return { address: addressGroup(clientAddress(c)), ...(account === undefined ? {} : { account }) };
}
