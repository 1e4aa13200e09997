/**
 * The webhooks of a brokerage, for its admins: the same functions that the REST API has for the webhooks of one key. A
 * new secret is returned only once.
 */

import { randomUUID } from 'node:crypto';
import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Statement } from '../../database/statement.ts';
import { eventTypes, type EventType } from '../../domain/events/changes.ts';
import { lengths } from '../../domain/lengths.ts';
import {
  deliveriesOf,
  deliveryStates,
  redeliver,
  redeliverRange,
  type Delivery,
} from '../../domain/webhooks/deliveries.ts';
import {
  addWebhook,
  changeWebhook,
  longestSecretOverlap,
  managedWebhook,
  removeWebhook,
  rotateWebhookSecret,
  testWebhook,
  webhooksOf,
  webhookStates,
  type ManagedWebhook,
} from '../../domain/webhooks/endpoints.ts';
import { faultOfUrl } from '../../http/guarded-fetch.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson, withPerson } from '../../http/person.ts';
import { nothingThere } from '../../http/problem.ts';
import type { Services } from '../../services.ts';
import { mintWebhookSecret } from '../../webhooks/signature.ts';
import { listPages } from './list-pages.ts';
import { body, instant, line, optional, pageCursor, pageSize, pathId, query } from './input.ts';
import { orMissing, orNotFound } from './problems.ts';
import { withRecord } from './visible-record.ts';

const types = z
  .array(z.enum(eventTypes as [EventType, ...EventType[]], { error: 'Choose what is sent.' }))
  .min(1, 'Choose what is sent.')
  .transform((chosen) => [...new Set(chosen)])
  .nullable();

const Rotation = z.strictObject({
  overlap_seconds: z
    .int('Enter a whole number of seconds.')
    .min(0, 'The old secret can keep signing for 0 to 7 days.')
    .max(longestSecretOverlap, 'The old secret can keep signing for 0 to 7 days.'),
});
const Range = z
  .strictObject({ since: instant, until: instant, failed_only: z.boolean().default(false) })
  .refine(({ since, until }) => Date.parse(since) < Date.parse(until), {
    error: 'Choose a time after the first one.',
    path: ['until'],
  });
const Log = z.object({
  state: optional(z.enum(deliveryStates, 'Choose a state.')),
  cursor: pageCursor,
  limit: pageSize,
});

const shown = ({ types: chosen, ...webhook }: ManagedWebhook) => ({
  ...webhook,
  types: chosen as readonly EventType[] | null,
});
const shownDelivery = ({ event_id: _event, sent_digest: _digest, ...delivery }: Delivery) => delivery;

/** The webhook routes, below /api/web. */
export function webhookRoutes(services: Services) {
  const { config, secrets } = services;
  const pages = listPages(services);
  const url = line(lengths.webhook_endpoints.url).superRefine((value, context) => {
    const fault = faultOfUrl(value, { allowLoopback: config.webhooksAllowLoopback });
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  });
  const New = z.strictObject({ url, description: optional(line(lengths.webhook_endpoints.description)), types });
  const Change = z.strictObject({
    url: url.optional(),
    description: line(lengths.webhook_endpoints.description).nullable().optional(),
    types: types.optional(),
    state: z.enum(webhookStates, 'Choose on or off.').optional(),
  });

  /** Runs the statement and returns the webhook after it. */
  async function after(c: Context, webhookId: string, deed: Statement<unknown>) {
    const [, webhook] = await orMissing(asPerson(services, c, deed, managedWebhook(webhookId)));
    return shown(orNotFound(webhook));
  }

  return new Hono()
    .get('/brokerages/:id/webhooks', async (c) => {
      const brokerageId = pathId(c);
      const [webhooks] = await withRecord(services, c, 'brokerages', brokerageId, webhooksOf(brokerageId));
      return c.json({ items: webhooks.map(shown) });
    })

    .post('/keys/:id/webhooks', body(New), async (c) => {
      const webhookId = randomUUID();
      const { secret, sealed } = mintWebhookSecret(secrets);
      const [, added] = await orMissing(
        asPerson(
          services,
          c,
          addWebhook(webhookId, pathId(c), c.req.valid('json'), sealed, originOf(c)),
          managedWebhook(webhookId),
        ),
      );
      return c.json({ webhook: shown(orNotFound(added)), secret }, 201);
    })

    .patch('/webhooks/:id', body(Change), async (c) => {
      const webhookId = pathId(c);
      return c.json(await after(c, webhookId, changeWebhook(webhookId, c.req.valid('json'), originOf(c))));
    })

    .delete('/webhooks/:id', async (c) => {
      await orMissing(asPerson(services, c, removeWebhook(pathId(c), originOf(c))));
      return c.body(null, 204);
    })

    .post('/webhooks/:id/rotate', body(Rotation), async (c) => {
      const webhookId = pathId(c);
      const { secret, sealed } = mintWebhookSecret(secrets);
      const { overlap_seconds: seconds } = c.req.valid('json');
      const rotate = rotateWebhookSecret(webhookId, sealed, seconds, originOf(c));
      return c.json({ webhook: await after(c, webhookId, rotate), secret });
    })

    .post('/webhooks/:id/test', async (c) => {
      await orMissing(asPerson(services, c, testWebhook(pathId(c), originOf(c))));
      return c.body(null, 202);
    })

    .get('/webhooks/:id/deliveries', query(Log), async (c) => {
      const webhookId = pathId(c);
      const { state, cursor, limit } = c.req.valid('query');
      const page = await pages(`deliveries ${webhookId} ${state ?? ''}`, cursor);
      const place = page.after && { createdAt: page.after.key, id: page.after.id };
      const [person, deliveries] = await withPerson(services, c, deliveriesOf(webhookId, state, limit + 1, place));
      const found = orNotFound(deliveries);
      const last = found.length > limit ? found[limit - 1] : undefined;
      const items = found.slice(0, limit).map(shownDelivery);
      return c.json(page.answer(person, { items, next: last ? { key: last.created_at, id: last.id } : null }));
    })

    .post('/webhooks/:id/deliveries/:delivery_id/redeliver', async (c) => {
      const again = redeliver(pathId(c), pathId(c, 'delivery_id'), originOf(c));
      const [isThere] = await orMissing(asPerson(services, c, again));
      if (!isThere) throw nothingThere();
      return c.body(null, 202);
    })

    .post('/webhooks/:id/redeliver', body(Range), async (c) => {
      const { since, until, failed_only: failedOnly } = c.req.valid('json');
      const again = redeliverRange(pathId(c), { since, until, failedOnly }, originOf(c));
      const [{ deliveries, nextSince }] = await orMissing(asPerson(services, c, again));
      return c.json({ deliveries, next_since: nextSince }, 202);
    });
}
