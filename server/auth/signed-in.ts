/**
 * Shared by the handlers for signed-in people: running statements as them, and giving the browser a new session token.
 */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { deviceSeconds, keepDevice } from '../domain/accounts/devices.ts';
import type { NewSession, Person, SignInOrigin } from '../domain/accounts/passwords.ts';
import { mintToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { csrfToken } from '../http/csrf.ts';
import { originOf } from '../http/origin.ts';
import { personOr } from '../http/person.ts';
import { clearTokenCookie, deviceDigest, notSignedIn, sessionDigest, setTokenCookie } from '../http/session.ts';

/**
 * Runs the statements as the session's person, in one transaction; returns the person and the results. Throws
 * {@link notSignedIn}.
 */
export const asCaller = personOr(notSignedIn);

/** The address, request id and user agent of a sign-in. */
export function signInOriginOf(c: Context): SignInOrigin {
  return { ...originOf(c), agent: c.req.header('user-agent') ?? null };
}

/** A new session token, with what the database needs: its digest and that of the browser's previous session. */
export function freshSession(c: Context): { token: string; session: NewSession } {
  const token = mintToken();
  return { token, session: { token: tokenDigest(token), earlier: sessionDigest(c) } };
}

/**
 * Registers the browser as known for the owner of this session, so that guesses by others no longer lock the owner out
 * in it. `continues` is whether the session goes on under this token, so that nobody has signed in.
 */
export async function knowDevice(
  { database }: Services,
  c: Context,
  session: string,
  continues = false,
): Promise<void> {
  const device = mintToken();
  await database.run(keepDevice(tokenDigest(session), deviceDigest(c), tokenDigest(device), continues));
  setTokenCookie(c, 'dealkeep-device', device, deviceSeconds);
}

/** Gives the browser its new session; returns the body of the response. */
export async function signedIn(services: Services, c: Context, token: string, user: Person) {
  await knowDevice(services, c, token);
  setTokenCookie(c, 'dealkeep', token);
  clearTokenCookie(c, 'dealkeep-step');
  return { outcome: 'signed_in' as const, user, csrf_token: csrfToken(token) };
}
