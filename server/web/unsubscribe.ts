/**
 * Unsubscribing from a kind of e-mail by the link in it (RFC 8058): without a session, and never just by opening the
 * link.
 */

import { Hono, type Context } from 'hono';
import { unsubscribe, unsubscribeKinds } from '../domain/notifications/events.ts';
import { isNotificationKind, notificationKinds } from '../domain/notifications/kinds.ts';
import { html } from '../http/html.ts';
import { notificationChoicesPath } from '../http/links.ts';
import { page, problem } from '../http/pages.ts';
import { limitRequests } from '../http/request-limits.ts';
import { unsubscribePath } from '../mail/notifications.ts';
import type { Services } from '../services.ts';

const noSuch = (c: Context) =>
  problem(c, 404, 'not_found', 'This link is not valid, or is incomplete. Choose your notifications in the settings.');

/** The kinds of e-mail to stop, as HTML. */
function named(kinds: readonly string[]) {
  if (kinds.includes('daily')) return html`<p>the daily e-mail</p>`;
  const titles = kinds.flatMap((kind) => (isNotificationKind(kind) ? [notificationKinds[kind].title] : []));
  return html`<ul>
    ${titles.map((title) => html`<li>${title}</li>`)}
  </ul>`;
}

/** Routes at the root of the origin. */
export function unsubscribeRoutes(services: Services) {
  const { database } = services;
  return new Hono()
    .use(
      unsubscribePath,
      limitRequests(services, (session) => `unsubscribe ${session.toString('base64url')}`),
    )
    .get(unsubscribePath, async (c) => {
      const token = c.req.query('token') ?? '';
      const kinds = await database.run(unsubscribeKinds(token));
      if (kinds === null) return noSuch(c);
      return page(c, {
        title: 'Stop e-mails like this',
        body: html`<div class="card alone">
          <h1>Stop e-mails like this?</h1>
          <p>You would be notified of this in Dealkeep only:</p>
          ${named(kinds)}
          <form method="post" action="${unsubscribePath}?${new URLSearchParams({ token }).toString()}">
            <button class="button" type="submit">Stop these e-mails</button>
          </form>
        </div>`,
      });
    })
    .post(unsubscribePath, async (c) => {
      const kinds = await database.run(unsubscribe(c.req.query('token') ?? ''));
      if (kinds === null) return noSuch(c);
      return page(c, {
        title: 'E-mails are off',
        body: html`<div class="card alone">
          <h1>These e-mails are off</h1>
          <p>From now on you are notified of this in Dealkeep only. You can change it in the settings at any time.</p>
          <a class="button" href="${notificationChoicesPath}">Choose your notifications</a>
        </div>`,
      });
    });
}
