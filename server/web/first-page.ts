/** Which of two pages at one address a browser gets: the application's, or the plain one that works without scripts. */

import { Hono, type Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { html } from '../http/html.ts';
import { page, settingsMenu } from '../http/pages.ts';
import { safeReturnPath } from '../http/return-path.ts';
import { isSecure } from '../http/session.ts';

const cookie = 'dealkeep-plain';

/**
 * Whether a request is a browser's for a page, and the browser has not asked for plain pages. Programs, which send no
 * `Sec-Fetch-Dest: document`, get the plain page where there is one.
 */
export const wantsApplication = (c: Context): boolean =>
  c.req.header('sec-fetch-dest') === 'document' && getCookie(c, cookie) !== '1';

/** The addresses at which there is a plain page beside the application's. */
const doubled = /^\/(sign-in|reset|set-up|accept-invitation|confirm-address|settings\/(security|people))(\/|$)/;

function startPage(c: Context): Response {
  return page(c, {
    title: 'Without scripts',
    body: html`<h1>This page needs scripts</h1>
      <p class="lead">Home, deals and contacts need JavaScript. Signing in and the settings work without it.</p>
      <section class="card">
        <ul class="rows">
          ${settingsMenu.map(({ href, label }) => html`<li><a class="grow" href="${href}">${label}</a></li>`)}
        </ul>
      </section>`,
  });
}

/**
 * GET /plain: from now on, until the browser is closed, plain pages. Leads back to the page that sent the browser here,
 * where there is a plain one: the application's would send a browser without scripts here again.
 */
export function plainSwitch(): Hono {
  return new Hono().get('/plain', (c) => {
    const from = URL.parse(c.req.header('referer') ?? '');
    setCookie(c, cookie, '1', { path: '/', httpOnly: true, sameSite: 'Lax', secure: isSecure(c) });
    const back = from && doubled.test(from.pathname) ? safeReturnPath(from.pathname + from.search, '') : '';
    return back === '' ? startPage(c) : c.redirect(back, 303);
  });
}
