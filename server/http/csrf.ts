/** Protects changes against cross-site request forgery, by the origin of a request and a token of the session. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { announcesBody } from './bounded-body.ts';
import { html, type Html } from './html.ts';
import { problem } from './pages.ts';
import { writeProblemJson } from './problem.ts';
import { isSessionAlive, notSignedIn, ourOrigin, sessionToken } from './session.ts';

/** The methods of requests that change nothing. */
export const readOnly: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * The CSRF token of a session: derived from the session token, so that it is valid as long as that token and changes
 * with it.
 */
export function csrfToken(session: string): string {
  return createHmac('sha256', session).update('dealkeep csrf').digest('base64url');
}

/** The hidden field for forms of a signed-in person. */
export function csrfField(session: string): Html {
  return html`<input type="hidden" name="csrf" value="${csrfToken(session)}" />`;
}

/** Whether `presented` is the CSRF token of `session`; compared in constant time. */
export function csrfMatches(session: string, presented: string | null | undefined): boolean {
  const expected = Buffer.from(csrfToken(session));
  const given = Buffer.from(presented ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/**
 * Whether a request comes from our own pages, or from no page at all (curl, a native program). `Sec-Fetch-Site` decides
 * if the browser sends it; otherwise `Origin`, which is `null` for a form on a page with `no-referrer`.
 */
export function isOwnOrigin(c: Context): boolean {
  const site = c.req.header('sec-fetch-site');
  const origin = c.req.header('origin');
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  if (origin === undefined || origin === ourOrigin(c)) return true;
  return origin === 'null' && site === 'same-origin';
}

function fromElsewhere(c: Context): Response {
  const message = 'This request came from another site. Open the page here and try again.';
  return problem(c, 403, 'cross_site_request', message);
}

/** Rejects a change requested by another site's page (403); for routes that are used before there is a session. */
export const originGuard: MiddlewareHandler = async (c, next) => {
  if (!readOnly.has(c.req.method) && !isOwnOrigin(c)) return fromElsewhere(c);
  await next();
};

type Refuse = (c: Context) => Response;

function guard(refuseDead: Refuse | null): MiddlewareHandler {
  return async (c, next) => {
    if (readOnly.has(c.req.method)) return next();
    if (!isOwnOrigin(c)) return fromElsewhere(c);
    const outOfDate = () => problem(c, 403, 'csrf_token_mismatch', 'The page is out of date. Reload it and try again.');
    const session = sessionToken(c);
    if (session === null) return outOfDate();
    if (!csrfMatches(session, c.req.header('x-csrf-token'))) return outOfDate();
    // Anybody can make up a session token with its CSRF token: no body is read before the database has confirmed the
    // session.
    if (refuseDead !== null && announcesBody(c) && !(await isSessionAlive(c))) return refuseDead(c);
    return next();
  };
}

/**
 * Rejects every change without the CSRF token of the presented session, and every change requested by another site's
 * page (403). The token is in the header `X-CSRF-Token`. A request with a body is answered by `refuseDead` before any
 * of the body is read, unless the session is alive.
 */
export const csrfGuardWith = (refuseDead: Refuse): MiddlewareHandler => guard(refuseDead);

/** {@link csrfGuardWith} that responds 401 without a session. */
export const csrfGuard: MiddlewareHandler = csrfGuardWith((c) => writeProblemJson(c, notSignedIn()));

/** The same for a session that may have ended: for signing out, which deletes the cookie in any case. */
export const csrfGuardOfAnySession: MiddlewareHandler = guard(null);
