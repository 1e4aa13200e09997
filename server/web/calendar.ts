/** A person's deadlines as a calendar to subscribe to, by a secret link: without a session, read-only. */

import { Hono, type Context } from 'hono';
import { asToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { deadlines, enterWithCalendarLink, type Deadline } from '../domain/notifications/calendar.ts';
import { clientAddress } from '../http/client-address.ts';
import { notificationPath } from '../http/links.ts';
import type { Services } from '../services.ts';
import { calendar, type CalendarEvent } from './icalendar.ts';

const calendarPath = '/calendar.ics';

/**
 * The link by which a calendar program subscribes to a person's deadlines. No page can take its token out of the fragment; it is in
 * the query, which no line of the log holds.
 */
export const calendarUrl = (baseUrl: string, token: string): string =>
  `${baseUrl}${calendarPath}?${new URLSearchParams({ token })}`;

/** The words for each deadline: one's own, another's, and its page. Never a name, a text or an amount. */
const words = {
  offers: { place: 'offers', own: 'Your offer expires', others: 'An offer expires', action: 'View the offers' },
  exclusivities: {
    place: 'deal',
    own: 'Your exclusivity ends',
    others: 'The exclusivity ends',
    action: 'Open the deal',
  },
  ndas: { place: 'nda', own: 'Your NDA ends', others: 'An NDA ends', action: 'View the NDA' },
  closing_conditions: {
    place: 'closing',
    own: 'A closing condition assigned to you is due',
    others: 'A closing condition is due',
    action: 'View the conditions',
  },
} as const satisfies Record<Deadline['subject'], object>;

function eventOf(deadline: Deadline, baseUrl: string): CalendarEvent {
  const { place, own, others, action } = words[deadline.subject];
  const url = `${baseUrl}${notificationPath(place, deadline.deal_id)}`;
  return {
    uid: deadline.subject_id,
    at: deadline.due_on ?? new Date(deadline.due_at),
    summary: `${deadline.own ? own : others}: ${deadline.deal_title}`,
    description: `${action}: ${url}`,
    url,
    begunAt: new Date(deadline.begun_at),
    changedAt: new Date(deadline.changed_at),
  };
}

/** How often in a minute one link may ask, and an address that guesses links. */
const mostAMinute = 30;

/** The same for a link that is none of ours, one that was taken back, and one of a suspended person. */
const nothing = (c: Context) =>
  c.text('There is no such calendar. Create a new link in the settings of Dealkeep.\n', 404);

/** Its routes, at the root of our origin. */
export function calendarRoutes({ database, limits, config }: Services) {
  return new Hono().get(calendarPath, async (c) => {
    const token = asToken(c.req.query('token'));
    const digest = token === null ? null : tokenDigest(token);
    const counts = [
      limits.take('web_ip', clientAddress(c)),
      ...(digest === null ? [] : [limits.take('web_person', `calendar ${digest.toString('base64url')}`, mostAMinute)]),
    ];
    for (const { allowed, retryAfter } of await Promise.all(counts))
      if (!allowed) return c.text('Too many requests: try again later.\n', 429, { 'Retry-After': String(retryAfter) });
    if (digest === null) return nothing(c);
    const [person, found] = await database.together(enterWithCalendarLink(digest), deadlines());
    if (person === null) return nothing(c);
    const text = calendar(
      'Dealkeep deadlines',
      found.map((one) => eventOf(one, config.baseUrl)),
    );
    const etag = `"${tokenDigest(text).toString('base64url')}"`;
    const headers = { ETag: etag, 'Cache-Control': 'private, no-cache' };
    if (c.req.header('if-none-match') === etag) return c.body(null, 304, headers);
    return c.body(text, 200, {
      ...headers,
      'Content-Type': 'text/calendar; charset=utf-8',
      'Content-Disposition': 'inline; filename="dealkeep.ics"',
    });
  });
}
