/**
 * Redirects the person's browser to the client, with a code or an error, the exact state, and the issuer (RFC 9207); or
 * to the pages that have to come first.
 */

import type { Context } from 'hono';
import { reauthenticatePath, signInPath } from '../../http/links.ts';
import { describable } from '../oauth-error.ts';
import type { AuthorizationError } from './checks.ts';

/** The destination of a response. `state` is undefined when the request had none. */
export interface Return {
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly issuer: string;
}

/**
 * The redirect URI with the response's parameters appended to its own query; percent-encoded, so that any decoder
 * restores them exactly.
 */
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

/** Redirects to the client with a code. */
export function redirectWithCode(c: Context, { redirectUri, state, issuer }: Return, code: string): Response {
  return redirect(c, withAnswer(redirectUri, { code, state, iss: issuer }));
}

/** Redirects to the client with an error. */
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

/** Redirects to the sign-in page, which leads back to this authorization request with all its parameters. */
export function signInAndReturn(c: Context, pathAndQuery: string): Response {
  return redirect(c, signInPath(pathAndQuery));
}

/**
 * Redirects to the page on which the signed-in person confirms their identity, which leads back to this authorization
 * request.
 */
export function confirmAndReturn(c: Context, pathAndQuery: string): Response {
  return redirect(c, reauthenticatePath(pathAndQuery));
}
