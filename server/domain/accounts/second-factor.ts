/** The second factor: six-digit codes of an authenticator (TOTP, RFC 6238), and recovery codes in case it is lost. */

import { createHash, randomBytes } from 'node:crypto';
import { generateSecret, generateURI, verify } from 'otplib';
import { mapped, presenting, row, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import type { NewSession, SignInAnswer, SignInOrigin } from './passwords.ts';

const period = 30;

/** Returns a new secret for an authenticator: 160 bits in base32. */
export const mintSecret = (): string => generateSecret();

/** Returns the URI that an authenticator reads from a QR code. */
export const authenticatorUri = (email: string, secret: string): string =>
  generateURI({ issuer: 'Dealkeep', label: email, secret });

/** The code as it was meant: without spaces, and in ASCII. Input methods type full-width digits, some keypads Arabic ones. */
const codeIn = (typed: string): string =>
  typed
    .normalize('NFKC')
    .replace(/\s/g, '')
    .replace(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) & 15));

/**
 * Returns the 30-second time step of a typed code, at most one step before or after `now`; null when the code is wrong.
 * The database accepts each step once.
 */
export async function stepOfCode(secret: string, typed: string, now: Date): Promise<string | null> {
  const code = codeIn(typed);
  if (!/^\d{6}$/.test(code)) return null;
  const epoch = Math.floor(now.getTime() / 1000);
  const result = await verify({ secret, token: code, epoch, period, epochTolerance: period });
  return result.valid && 'epoch' in result ? String(Math.floor(result.epoch / period)) : null;
}

const recoveryAlphabet = 'abcdefghijkmnpqrstuvwxyz23456789';

/** Returns ten recovery codes of 140 random bits, formatted for copying: abcd-efgh-ijkm-npqr-stuv-wxyz-2345. */
export function mintRecoveryCodes(): string[] {
  return Array.from({ length: 10 }, () =>
    Array.from(randomBytes(28), (byte) => recoveryAlphabet[byte % 32])
      .join('')
      .replace(/(.{4})(?=.)/g, '$1-'),
  );
}

/**
 * Returns the digest of a recovery code, ignoring case, spaces and hyphens; null when the text is not a recovery code.
 */
export function recoveryDigest(typed: string): Buffer | null {
  const code = codeIn(typed).toLowerCase().replaceAll('-', '');
  return /^[a-km-np-z2-9]{28}$/.test(code) ? createHash('sha256').update(code).digest() : null;
}

const digests = (codes: readonly string[]): Buffer[] => codes.map((code) => recoveryDigest(code) as Buffer);

/**
 * Returns the secret, sealed, for checking the code of an unfinished sign-in; null when there is no such sign-in step.
 */
export const stepSecret: (step: Buffer) => Statement<{ secret: string; email: string; user_id: string } | null> = row(
  'step_secret',
  'select secret, email, user_id from app.step_secret($1)',
);

/**
 * The second factor that finishes a sign-in: the time step of the entered code (null when the code was wrong), or the
 * digest of a recovery code.
 */
export type SecondFactor = { readonly codeStep: string | null } | { readonly recovery: Buffer };

const finish = row<SignInAnswer<'signed_in' | 'refused' | 'expired'>>(
  'finish_sign_in',
  'select outcome, user_id, email, name from app.finish_sign_in($1, $2, $3, $4, $5, $6, $7, $8, $9)',
);

/**
 * Finishes a sign-in, once. `device` is the digest of the browser's device token. `refused`: the code is wrong, and
 * another may be tried; `expired`: too late or too many attempts, the sign-in has to start over.
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

/**
 * Stores a secret, sealed, until its first code confirms it. Needs a recent sign-in; false when the session is not
 * alive.
 */
export const beginSecondFactor = (session: Buffer | null, secret: string): Statement<boolean> =>
  mapped(begin(session, secret), isDone);

const pending = row<{ secret: string | null }>('pending_secret', 'select app.pending_secret($1) as secret');

/** Returns the secret, sealed, that awaits its first code, or null. Needs a recent sign-in. */
export const pendingSecret = (session: Buffer | null): Statement<string | null> =>
  mapped(pending(session), (answer) => answer?.secret ?? null);

const confirm = row<Done>('confirm_second_factor', 'select app.confirm_second_factor($1, $2, $3, $4, $5, $6) as done');

/**
 * Switches the second factor on; the session continues under `token`. Needs a recent sign-in; false when no secret was
 * pending.
 */
export const confirmSecondFactor = (
  session: Buffer | null,
  codeStep: string,
  codes: readonly string[],
  token: Buffer,
  { address, requestId }: Origin,
): Statement<boolean> =>
  presenting(session, mapped(confirm(session, codeStep, digests(codes), token, address, requestId), isDone));

const remove = row<Done>('remove_second_factor', 'select app.remove_second_factor($1, $2, $3) as done');

/** Removes the second factor and its recovery codes. Needs a recent sign-in; false when there was none. */
export const removeSecondFactor = (session: Buffer | null, { address, requestId }: Origin): Statement<boolean> =>
  mapped(remove(session, address, requestId), isDone);

const renew = row<Done>('renew_recovery_codes', 'select app.renew_recovery_codes($1, $2, $3, $4) as done');

/** Replaces the recovery codes. Needs a recent sign-in; false when there is no second factor. */
export const renewRecoveryCodes = (
  session: Buffer | null,
  codes: readonly string[],
  { address, requestId }: Origin,
): Statement<boolean> => mapped(renew(session, digests(codes), address, requestId), isDone);

const left = row<{ count: number }>('recovery_codes_left', 'select app.recovery_codes_left($1) as count');

/** Returns how many recovery codes the session's owner has left. */
export const recoveryCodesLeft = (session: Buffer | null): Statement<number> =>
  mapped(left(session), (answer) => answer?.count ?? 0);
