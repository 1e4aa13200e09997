/** Sends the person's browser back to the client: with a code or an error, the exact state, and who answers (RFC 9207). */

import type { Context } from 'hono';
import { reauthenticatePath, signInPath } from '../../http/links.ts';
import { describable } from '../oauth-error.ts';
import type { AuthorizationError } from './checks.ts';

/** Where an answer goes. `state` undefined: there was none to give back. */
export interface Return {
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly issuer: string;
}

/** The redirect URI with the answer added to its query, which it keeps. Percent-encoded, so that any decoder gives it back exactly. */
function withAnswer(uri: string, answer: Record<string, string | undefined>): string {
  const added = Object.entries(answer)
    .filter((pair): pair is [string, string] => pair[1] !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  const joint = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&';
  return uri + joint + added;
}

// 302, as the specification says; never 307, which would send the form with its CSRF token on to the client.
function redirect(c: Context, location: string): Response {
  return c.redirect(location, 302);
}

/** To the client with a code. */
export function redirectWithCode(c: Context, { redirectUri, state, issuer }: Return, code: string): Response {
  return redirect(c, withAnswer(redirectUri, { code, state, iss: issuer }));
}

/** To the client with an error. */
export function redirectWithError(
  c: Context,
  { redirectUri, state, issuer }: Return,
  { error, description }: AuthorizationError,
): Response {
  return redirect(
    c,
    withAnswer(redirectUri, { error, error_description: describable(description), state, iss: issuer }),
  );
}

/** To sign in, and from there to this authorization request, with everything that it had. */
export function signInAndReturn(c: Context, pathAndQuery: string): Response {
  return redirect(c, signInPath(pathAndQuery));
}

/** To show that it is still the person who signed in, and from there to this authorization request. */
export function confirmAndReturn(c: Context, pathAndQuery: string): Response {
  return redirect(c, reauthenticatePath(pathAndQuery));
}
