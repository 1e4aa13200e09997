/** The session of a browser: its cookie, the signed-in person, and our public origin. */

import type { Context, MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Database } from '../database/database.ts';
import { asToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { enterWithSession } from '../domain/accounts/sessions.ts';
import { Problem } from './problem.ts';

export { mintToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';

/** Gives every handler our public origin (BASE_URL): cookies, the origin check and links depend on it. */
export function publicOrigin(baseUrl: string): MiddlewareHandler {
  const { origin } = new URL(baseUrl);
  return (c, next) => {
    c.set('origin', origin);
    return next();
  };
}

/** Our public origin, for instance "https://deals.example.com". */
export function ourOrigin(c: Context): string {
  const origin: unknown = c.get('origin');
  if (typeof origin !== 'string') throw new Error('publicOrigin must be mounted before this handler');
  return origin;
}

/** Whether people reach us over https. */
export function isSecure(c: Context): boolean {
  return ourOrigin(c).startsWith('https:');
}

/** Over https this prefix makes browsers reject a cookie from a subdomain or without Secure. */
const prefix = '__Host-';

const cookieName = (c: Context, name: TokenCookie): string => (isSecure(c) ? `${prefix}${name}` : name);

/**
 * Our cookies that hold a token: 'dealkeep' is the session, 'dealkeep-step' an unfinished sign-in, and
 * 'dealkeep-device' identifies the browser to the accounts that were signed in on it.
 */
type TokenCookie = 'dealkeep' | 'dealkeep-step' | 'dealkeep-device';

/** Reads one of our cookies. */
export function readTokenCookie(c: Context, name: TokenCookie): string | null {
  return asToken(getCookie(c, cookieName(c, name)));
}

/**
 * Sets one of our cookies: HttpOnly, SameSite=Lax, Path=/, and Secure with the `__Host-` prefix over https. It lasts
 * until the browser is closed, or for `seconds`.
 */
export function setTokenCookie(c: Context, name: TokenCookie, token: string, seconds?: number): void {
  const kept = seconds === undefined ? {} : { maxAge: seconds };
  setCookie(c, cookieName(c, name), token, {
    path: '/',
    httpOnly: true,
    sameSite: 'Lax',
    secure: isSecure(c),
    ...kept,
  });
}

/** Deletes one of our cookies. */
export function clearTokenCookie(c: Context, name: TokenCookie): void {
  deleteCookie(c, cookieName(c, name), { path: '/', httpOnly: true, sameSite: 'Lax', secure: isSecure(c) });
}

const presented = new RegExp(`(?:^|;\\s*)(?:${prefix})?${'dealkeep' satisfies TokenCookie}=([^;]*)`);

/** The session value in a Cookie header, over https or not; it is not checked whether it is well formed. */
export const sessionIn = (header: string): string | undefined => presented.exec(header)?.[1];

/** The session token from the request's cookie, or null; only the database knows whether the session is alive. */
export function sessionToken(c: Context): string | null {
  return readTokenCookie(c, 'dealkeep');
}

/** The digest of the request's session token, as `enterWithSession` takes it, or null. */
export function sessionDigest(c: Context): Buffer | null {
  const token = sessionToken(c);
  return token === null ? null : tokenDigest(token);
}

/** The digest of the request's device token, or null. */
export function deviceDigest(c: Context): Buffer | null {
  const token = readTokenCookie(c, 'dealkeep-device');
  return token === null ? null : tokenDigest(token);
}

type Alive = (digest: Buffer) => Promise<boolean>;

/** Provides the guards of every interface with the look-up of whether a session is alive. */
export function sessionLookup(database: Database): MiddlewareHandler {
  // This look-up does not count as a use of the session: the statements run afterwards do.
  const alive: Alive = async (digest) => (await database.run(enterWithSession(digest, false))) !== null;
  return (c, next) => {
    c.set('isSessionAlive', alive);
    return next();
  };
}

/**
 * Whether the database knows the presented session and it has not ended; {@link sessionLookup} must be mounted first.
 */
export async function isSessionAlive(c: Context): Promise<boolean> {
  const digest = sessionDigest(c);
  return digest !== null && (c.get('isSessionAlive') as Alive)(digest);
}

/** 401: the session is missing or has ended. */
export const notSignedIn = (): Problem =>
  new Problem(401, 'not_signed_in', 'Sign in first: the session is missing or has ended.');
