/** A calendar feed of a person's deadlines, under a secret link: read-only and without a session. */

import { Hono, type Context } from 'hono';
import { asToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { deadlines, enterWithCalendarLink, type Deadline } from '../domain/notifications/calendar.ts';
import { clientAddress } from '../http/client-address.ts';
import { entityTag, isKnown } from '../http/entity-tags.ts';
import { notificationPath } from '../http/links.ts';
import type { Services } from '../services.ts';
import { calendar, type CalendarEvent } from './icalendar.ts';

const calendarPath = '/calendar.ics';

/**
 * The link with which a calendar program subscribes to a person's deadlines. The token is in the query, as calendar
 * programs run no page that could read it from a fragment; no log line has the query.
 */
export const calendarUrl = (baseUrl: string, token: string): string =>
  `${baseUrl}${calendarPath}?${new URLSearchParams({ token })}`;

/** Wording for the person's own deadlines and others', and the page of each. Never a name, a text or an amount. */
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

/** Requests per minute allowed for one link. */
const mostAMinute = 30;

/** The same response for unknown links, revoked links, and links of suspended people. */
const nothing = (c: Context) =>
  c.text('There is no such calendar. Create a new link in the settings of Dealkeep.\n', 404);

/** Routes at the root of the origin. */
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
    const etag = entityTag(text);
    const headers = { ETag: etag, 'Cache-Control': 'private, no-cache' };
    if (isKnown(c, etag)) return c.body(null, 304, headers);
    return c.body(text, 200, {
      ...headers,
      'Content-Type': 'text/calendar; charset=utf-8',
      'Content-Disposition': 'inline; filename="dealkeep.ics"',
    });
  });
}
