/** The person's notifications and their choices: the bell, its list, and the settings. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import { dealDeliveries, dealPlaces, deliveries, isNotificationKind } from '../../domain/notifications/kinds.ts';
import {
  chooseDealNotification,
  chooseNotification,
  dealNotificationChoice,
  dealNotificationChoices,
  notificationChoices,
  notificationSettings,
  ownNotifications,
  readAllNotifications,
  readNotifications,
  readNotificationsAt,
  setNotificationSettings,
  unreadNotifications,
  type ReadPortion,
} from '../../domain/notifications/notifications.ts';
import { calendarLink, endCalendarLink, makeCalendarLink } from '../../domain/notifications/calendar.ts';
import { withinDeal } from '../../domain/visibility/deal-scope.ts';
import { originOf } from '../../http/origin.ts';
import { nothingThere, Problem, retryAfter } from '../../http/problem.ts';
import { mintToken, tokenDigest } from '../../http/session.ts';
import { asPerson, asPersonWithin, withPerson } from '../../http/person.ts';
import { calendarUrl } from '../calendar.ts';
import { listPages } from './list-pages.ts';
import { body, pageCursor, pathId, query } from './input.ts';
import { withDeal, withPersonAndDeal } from './visible-record.ts';

const pageSize = 50;
/** Maximum number of batches marked as read by one request: half a million notifications. */
const mostPortions = 50;
const Page = z.object({ cursor: pageCursor });
/** Without ids, all notifications. */
const Read = z.strictObject({ ids: z.array(z.uuid()).max(200).optional() });
const Choice = z.strictObject({ delivery: z.enum(deliveries) });
const DealChoice = z.strictObject({ delivery: z.enum(dealDeliveries).nullable() });
const Shown = z.strictObject({ place: z.enum(dealPlaces) });
const Settings = z.strictObject({ time_zone: z.string().min(1).max(64), digest_hour: z.int().min(0).max(23) });

/** The notification routes, below /api/web. */
export function notificationRoutes(services: Services) {
  const pages = listPages(services, { encrypted: true });
  /**
   * Marks each batch as read in a transaction of its own. With more than `portions` batches the person must repeat the
   * request.
   */
  async function readAll(c: Context, earlier: ReadPortion | null = null, portions = mostPortions): Promise<void> {
    const [portion] = await asPerson(services, c, readAllNotifications(earlier));
    if (!portion?.more) return;
    if (portions === 1)
      throw new Problem(503, 'busy', 'Not everything is marked as read yet: try again.', retryAfter(2));
    await readAll(c, portion, portions - 1);
  }
  return new Hono()
    .get('/notifications', query(Page), async (c) => {
      const { cursor } = c.req.valid('query');
      const page = await pages('notifications', cursor);
      const [person, found] = await withPerson(services, c, ownNotifications(page.after, pageSize));
      return c.json(page.answer(person, found));
    })
    .get('/notifications/unread', async (c) => {
      const [count, settings] = await asPerson(services, c, unreadNotifications(), notificationSettings());
      return c.json({ count, time_zone: settings?.time_zone ?? null });
    })
    .post('/notifications/read', body(Read), async (c) => {
      const { ids } = c.req.valid('json');
      if (ids) await asPerson(services, c, readNotifications(ids));
      else await readAll(c);
      return c.body(null, 204);
    })
    .get('/notifications/choices', async (c) => {
      const [kinds, deals, settings] = await asPerson(
        services,
        c,
        notificationChoices(),
        dealNotificationChoices(),
        notificationSettings(),
      );
      return c.json({ kinds, deals, settings });
    })
    .put('/notifications/choices/:kind', body(Choice), async (c) => {
      const kind = c.req.param('kind');
      if (!isNotificationKind(kind)) throw nothingThere();
      await asPerson(services, c, chooseNotification(kind, c.req.valid('json').delivery));
      return c.body(null, 204);
    })
    .put('/notifications/settings', body(Settings), async (c) => {
      const { time_zone, digest_hour } = c.req.valid('json');
      await asPerson(services, c, setNotificationSettings(time_zone, digest_hour));
      return c.body(null, 204);
    })
    .get('/notifications/calendar', async (c) => {
      const [made_at] = await asPerson(services, c, calendarLink());
      return c.json({ made_at });
    })
    .post('/notifications/calendar', async (c) => {
      const token = mintToken();
      await asPerson(services, c, makeCalendarLink(tokenDigest(token), originOf(c)));
      return c.json({ url: calendarUrl(services.config.baseUrl, token) }, 201);
    })
    .delete('/notifications/calendar', async (c) => {
      await asPerson(services, c, endCalendarLink(originOf(c)));
      return c.body(null, 204);
    })
    .get('/deals/:id/notifications', async (c) => {
      const dealId = pathId(c);
      const [, delivery] = await withPersonAndDeal(services, c, dealId, dealNotificationChoice(dealId));
      return c.json({ delivery });
    })
    .post('/deals/:id/notifications/read', body(Shown), async (c) => {
      const dealId = pathId(c);
      await withDeal(services, c, dealId, readNotificationsAt(dealId, c.req.valid('json').place));
      return c.body(null, 204);
    })
    .put('/deals/:id/notifications', body(DealChoice), async (c) => {
      const dealId = pathId(c);
      const choice = chooseDealNotification(dealId, c.req.valid('json').delivery);
      const [done] = await asPersonWithin(services, c, withinDeal(dealId), choice);
      if (!done) throw nothingThere();
      return c.body(null, 204);
    });
}
