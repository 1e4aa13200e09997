/** The second factor: six digits of an authenticator (TOTP, RFC 6238), and recovery codes for the day it is lost. */

import { createHash, randomBytes } from 'node:crypto';
import { generateSecret, generateURI, verify } from 'otplib';
import { mapped, presenting, row, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import type { NewSession, SignInAnswer, SignInOrigin } from './passwords.ts';

const period = 30;

/** A new secret for an authenticator: 160 bits in base32. */
export const mintSecret = (): string => generateSecret();

/** The address that an authenticator reads from a QR code. */
export const authenticatorUri = (email: string, secret: string): string =>
  generateURI({ issuer: 'Dealkeep', label: email, secret });

/**
 * The 30-second step that a code is of, within one step before or after `now`; null when it is wrong. The database
 * takes each step once.
 */
export async function stepOfCode(secret: string, code: string, now: Date): Promise<string | null> {
  if (!/^\d{6}$/.test(code)) return null;
  const epoch = Math.floor(now.getTime() / 1000);
  const result = await verify({ secret, token: code, epoch, period, epochTolerance: period });
  return result.valid && 'epoch' in result ? String(Math.floor(result.epoch / period)) : null;
}

const recoveryAlphabet = 'abcdefghijkmnpqrstuvwxyz23456789';

/** Ten recovery codes of 140 random bits, as a person copies them: abcd-efgh-ijkm-npqr-stuv-wxyz-2345. */
export function mintRecoveryCodes(): string[] {
  return Array.from({ length: 10 }, () =>
    Array.from(randomBytes(28), (byte) => recoveryAlphabet[byte % 32])
      .join('')
      .replace(/(.{4})(?=.)/g, '$1-'),
  );
}

/** The digest of a recovery code however it was typed, or null when it is none. */
export function recoveryDigest(typed: string): Buffer | null {
  const code = typed.toLowerCase().replace(/[\s-]/g, '');
  return /^[a-km-np-z2-9]{28}$/.test(code) ? createHash('sha256').update(code).digest() : null;
}

const digests = (codes: readonly string[]): Buffer[] => codes.map((code) => recoveryDigest(code) as Buffer);

/** The secret, as it is stored, against which the code of an unfinished sign-in is checked; null when there is no such step. */
export const stepSecret: (step: Buffer) => Statement<{ secret: string; email: string; user_id: string } | null> = row(
  'step_secret',
  'select secret, email, user_id from app.step_secret($1)',
);

/** What a person enters to finish signing in: the step that their code is of (null: wrong), or a recovery code. */
export type SecondFactor = { readonly codeStep: string | null } | { readonly recovery: Buffer };

const finish = row<SignInAnswer<'signed_in' | 'refused' | 'expired'>>(
  'finish_sign_in',
  'select outcome, user_id, email, name from app.finish_sign_in($1, $2, $3, $4, $5, $6, $7, $8, $9)',
);

/**
 * Finishes a sign-in, once. `device` is the digest of the browser's device token. `refused`: wrong, it may be tried
 * again; `expired`: too late or too often, start over.
 */
export const finishSignIn = (
  step: Buffer,
  factor: SecondFactor,
  device: Buffer | null,
  { token, earlier }: NewSession,
  { address, agent, requestId }: SignInOrigin,
): Statement<SignInAnswer<'signed_in' | 'refused' | 'expired'>> => {
  const [codeStep, recovery] = 'recovery' in factor ? [null, factor.recovery] : [factor.codeStep, null];
  return mapped(
    finish(step, codeStep, recovery, device, token, earlier, address, agent, requestId),
    (answer) => answer ?? { outcome: 'expired', user_id: null, email: null, name: null },
  );
};

interface Done {
  done: boolean;
}
const isDone = (answer: Done | null): boolean => answer?.done ?? false;

const begin = row<Done>('begin_second_factor', 'select app.begin_second_factor($1, $2) as done');

/** Keeps a secret, as it is to be stored, until its first code confirms it. Needs a recent sign-in; false when the session is not alive. */
export const beginSecondFactor = (session: Buffer | null, secret: string): Statement<boolean> =>
  mapped(begin(session, secret), isDone);

const pending = row<{ secret: string | null }>('pending_secret', 'select app.pending_secret($1) as secret');

/** The secret, as it is stored, that waits for its first code, or null. Needs a recent sign-in. */
export const pendingSecret = (session: Buffer | null): Statement<string | null> =>
  mapped(pending(session), (answer) => answer?.secret ?? null);

const confirm = row<Done>('confirm_second_factor', 'select app.confirm_second_factor($1, $2, $3, $4, $5, $6) as done');

/** Switches the second factor on; the session goes on under `token`. Needs a recent sign-in. False: nothing was pending. */
export const confirmSecondFactor = (
  session: Buffer | null,
  codeStep: string,
  codes: readonly string[],
  token: Buffer,
  { address, requestId }: Origin,
): Statement<boolean> =>
  presenting(session, mapped(confirm(session, codeStep, digests(codes), token, address, requestId), isDone));

const remove = row<Done>('remove_second_factor', 'select app.remove_second_factor($1, $2, $3) as done');

/** Takes the second factor and its recovery codes away. Needs a recent sign-in. False: there was none. */
export const removeSecondFactor = (session: Buffer | null, { address, requestId }: Origin): Statement<boolean> =>
  mapped(remove(session, address, requestId), isDone);

const renew = row<Done>('renew_recovery_codes', 'select app.renew_recovery_codes($1, $2, $3, $4) as done');

/** Puts new recovery codes in the place of the old ones. Needs a recent sign-in. False: there is no second factor. */
export const renewRecoveryCodes = (
  session: Buffer | null,
  codes: readonly string[],
  { address, requestId }: Origin,
): Statement<boolean> => mapped(renew(session, digests(codes), address, requestId), isDone);

const left = row<{ count: number }>('recovery_codes_left', 'select app.recovery_codes_left($1) as count');

/** How many recovery codes the session's owner has left. */
export const recoveryCodesLeft = (session: Buffer | null): Statement<number> =>
  mapped(left(session), (answer) => answer?.count ?? 0);
