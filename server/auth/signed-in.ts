/** What the handlers of signed-in people share: who they are, and giving the browser another session token. */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { deviceSeconds, keepDevice } from '../domain/accounts/devices.ts';
import type { NewSession, Person, SignInOrigin } from '../domain/accounts/passwords.ts';
import { mintToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { csrfToken } from '../http/csrf.ts';
import { originOf } from '../http/origin.ts';
import { personOr } from '../http/person.ts';
import { clearTokenCookie, deviceDigest, notSignedIn, sessionDigest, setTokenCookie } from '../http/session.ts';

/** Runs the statements as the person of the session, in one transaction: the person, and the answers. Throws {@link notSignedIn}. */
export const asCaller = personOr(notSignedIn);

/** From where and with what a person signs in. */
export function signInOriginOf(c: Context): SignInOrigin {
  return { ...originOf(c), agent: c.req.header('user-agent') ?? null };
}

/** A fresh session token, and what the database must know of it and of the session that the browser had before. */
export function freshSession(c: Context): { token: string; session: NewSession } {
  const token = mintToken();
  return { token, session: { token: tokenDigest(token), earlier: sessionDigest(c) } };
}

/** Makes the browser known to the owner of this session: what others guess does not keep them out of it any more. */
export async function knowDevice({ database }: Services, c: Context, session: string): Promise<void> {
  const device = mintToken();
  await database.run(keepDevice(tokenDigest(session), deviceDigest(c), tokenDigest(device)));
  setTokenCookie(c, 'dealkeep-device', device, deviceSeconds);
}

/** Gives the browser its new session; returns the body of the answer. */
export async function signedIn(services: Services, c: Context, token: string, user: Person) {
  await knowDevice(services, c, token);
  setTokenCookie(c, 'dealkeep', token);
  clearTokenCookie(c, 'dealkeep-step');
  return { outcome: 'signed_in' as const, user, csrf_token: csrfToken(token) };
}
