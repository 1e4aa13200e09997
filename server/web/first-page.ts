/** Which of two pages at one address a browser gets: the application's, or the plain one that works without scripts. */

import { Hono, type Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { safeReturnPath } from '../http/return-path.ts';
import { isSecure } from '../http/session.ts';

const cookie = 'dealkeep-plain';

/**
 * Whether a request is a browser's for a page, and the browser has not asked for plain pages. Programs, which send no
 * `Sec-Fetch-Dest: document`, get the plain page where there is one.
 */
export const wantsApplication = (c: Context): boolean =>
  c.req.header('sec-fetch-dest') === 'document' && getCookie(c, cookie) !== '1';

/** GET /plain: from now on, until the browser is closed, plain pages; leads back to the page that sent the browser here. */
export function plainSwitch(): Hono {
  return new Hono().get('/plain', (c) => {
    const from = URL.parse(c.req.header('referer') ?? '');
    setCookie(c, cookie, '1', { path: '/', httpOnly: true, sameSite: 'Lax', secure: isSecure(c) });
    return c.redirect(from ? safeReturnPath(from.pathname + from.search, '/sign-in') : '/sign-in', 303);
  });
}
