/** The session of a browser: its cookie, who is signed in, and our public origin. */

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

/** Over https this makes browsers refuse a cookie from a subdomain or without Secure. */
const prefix = '__Host-';

const cookieName = (c: Context, name: TokenCookie): string => (isSecure(c) ? `${prefix}${name}` : name);

/**
 * Our cookies that hold a token: 'dealkeep' is the session, 'dealkeep-step' an unfinished sign-in, 'dealkeep-device' what
 * the browser is known by to the accounts that were signed in to in it.
 */
type TokenCookie = 'dealkeep' | 'dealkeep-step' | 'dealkeep-device';

/** Reads one of our cookies. */
export function readTokenCookie(c: Context, name: TokenCookie): string | null {
  return asToken(getCookie(c, cookieName(c, name)));
}

/**
 * Sets one of our cookies: HttpOnly, SameSite=Lax, Path=/, and Secure with the `__Host-` prefix over https. It is there
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

/** Takes one of our cookies back. */
export function clearTokenCookie(c: Context, name: TokenCookie): void {
  deleteCookie(c, cookieName(c, name), { path: '/', httpOnly: true, sameSite: 'Lax', secure: isSecure(c) });
}

const presented = new RegExp(`(?:^|;\\s*)(?:${prefix})?${'dealkeep' satisfies TokenCookie}=([^;]*)`);

/** What the value of a Cookie header presents as session, over https or not: whether it is a token at all is not looked at. */
export const sessionIn = (header: string): string | undefined => presented.exec(header)?.[1];

/** The session token of the request's cookie, or null; whether it is alive only the database knows. */
export function sessionToken(c: Context): string | null {
  return readTokenCookie(c, 'dealkeep');
}

/** What `enterWithSession` takes: the digest of the request's session token, or null. */
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

/** Gives the guards of every interface the look-up that says whether a session is alive. */
export function sessionLookup(database: Database): MiddlewareHandler {
  // Not a use of the session: what is done in its name afterwards is one.
  const alive: Alive = async (digest) => (await database.run(enterWithSession(digest, false))) !== null;
  return (c, next) => {
    c.set('isSessionAlive', alive);
    return next();
  };
}

/** Whether the database knows the presented session and it has not ended; {@link sessionLookup} must be mounted before. */
export async function isSessionAlive(c: Context): Promise<boolean> {
  const digest = sessionDigest(c);
  return digest !== null && (c.get('isSessionAlive') as Alive)(digest);
}

/** 401: the session is missing or has ended. */
export const notSignedIn = (): Problem =>
  new Problem(401, 'not_signed_in', 'Sign in first: the session is missing or has ended.');
