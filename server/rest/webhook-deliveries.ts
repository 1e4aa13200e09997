/** The deliveries of a key's webhooks: the log of deliveries, and resending. */

import { z } from 'zod';
import { Refusal } from '../database/errors.ts';
import { mapped } from '../database/statement.ts';
import {
  deliveriesOf,
  deliveryStates,
  deliveryById,
  redeliver,
  redeliverRange,
  type Redelivered,
  type Delivery,
  type DeliveryState,
} from '../domain/webhooks/deliveries.ts';
import { originOf } from '../http/origin.ts';
import { Problem } from '../http/problem.ts';
import { isUuid } from '../lib/uuid.ts';
import type { Services } from '../services.ts';
import { answerJson } from './answer.ts';
import { readBody } from './body.ts';
import type { Callers } from './caller.ts';
import { conflict, invalid } from './envelope.ts';
import { id, time, timeSent } from './fields.ts';
import { queryParameter, replayed, type Operation } from './operation.ts';
import type { Position } from '../domain/contacts/contacts.ts';
import { byTime, cursor, limitOf, openPages, type List } from './pages.ts';
import { pagination } from './schemas.ts';
import { idempotencyKey, openWrites } from './writes.ts';
import { meaning, placed, webhookIn, webhookNotFound } from './webhooks.ts';

const noDelivery = () => new Problem(404, 'delivery_not_found', 'There is no such delivery.');

/** Like {@link meaning}, but for a delivery: when the webhook does not exist, the delivery does not either. */
const meaningOfDelivery = (fault: unknown): unknown =>
  fault instanceof Refusal && fault.reason === 'webhook_not_found' ? noDelivery() : meaning(fault);

const delivery = z
  .object({
    id,
    eventId: id.meta({ description: 'The id of the event, which is the webhook-id of the delivery.' }),
    type: z.string().meta({ examples: ['contact.created'] }),
    objectType: z.string().meta({ examples: ['contact'] }),
    objectId: id,
    dealId: id.nullable(),
    isAgain: z.boolean().meta({ description: 'Whether this delivery was requested again.' }),
    state: z.enum(deliveryStates).meta({
      description: 'dropped: when it was to be sent, the key could no longer see the record.',
    }),
    attempts: z.int().meta({ examples: [1] }),
    nextAttemptAt: time
      .nullable()
      .meta({ description: 'Also null while an earlier delivery for the same record is waiting.' }),
    createdAt: time,
    lastAttemptAt: time.nullable(),
    endedAt: time.nullable(),
    request: z
      .object({
        url: z.string().meta({ format: 'uri' }),
        bytes: z.int().meta({ examples: [412] }),
        digest: z.string().meta({
          description: 'SHA-256 of the body in hexadecimal. The body itself is not kept.',
          examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
        }),
      })
      .nullable()
      .meta({ description: 'The request of the last attempt.' }),
    answer: z
      .object({
        status: z.int().meta({ examples: [204] }),
        contentType: z
          .string()
          .nullable()
          .meta({ examples: ['text/plain'] }),
        body: z
          .string()
          .nullable()
          .meta({
            description:
              'Its first 4,096 characters; null when the delivery was accepted, or when the key can no longer see the record.',
            examples: ['Internal Server Error'],
          }),
        milliseconds: z
          .int()
          .nullable()
          .meta({ examples: [87] }),
      })
      .nullable()
      .meta({ description: 'The response to the last attempt; null if there was none.' }),
    error: z
      .string()
      .nullable()
      .meta({ description: 'Why the last attempt failed.', examples: ['The response was 500, not 2xx.'] }),
  })
  .meta({ id: 'WebhookDelivery', description: 'An event sent, or to be sent, to a webhook. Kept for 30 days.' });
const deliveryList = z.object({ data: z.array(delivery), pagination }).meta({ id: 'WebhookDeliveryList' });

const range = z
  .strictObject({
    since: timeSent('2026-11-20T15:00:00Z').meta({ description: 'Deliveries created at or after this time.' }),
    until: timeSent('2026-11-20T16:00:00Z').meta({ description: 'Deliveries created before this time.' }),
    failedOnly: z
      .boolean({ error: 'Send true or false.' })
      .optional()
      .meta({ default: false, description: 'Whether to send only failed deliveries again.', examples: [true] }),
  })
  .meta({ id: 'WebhookRedelivery' });
const redelivered = z
  .object({
    deliveries: z.int().meta({ description: 'How many deliveries are sent again.', examples: [12] }),
    nextSince: time.nullable().meta({
      description: 'If there are more than 10,000: the time to send as since for the rest. Otherwise null.',
      examples: [null],
    }),
  })
  .meta({ id: 'WebhookRedelivered' });
const stateParameter = queryParameter<DeliveryState, null>(
  'state',
  {
    description: 'Only deliveries in this state.',
    schema: { type: 'string', enum: [...deliveryStates] },
    message: 'Send waiting, delivered, failed or dropped.',
  },
  (value) => deliveryStates.find((state) => state === value),
  null,
);

const shownDelivery = (one: Delivery) => ({
  id: one.id,
  eventId: one.event_id,
  type: one.type,
  objectType: one.object_type,
  objectId: one.object_id,
  dealId: one.deal_id,
  isAgain: one.is_again,
  state: one.state,
  attempts: one.attempts,
  nextAttemptAt: one.next_attempt_at,
  createdAt: one.created_at,
  lastAttemptAt: one.last_attempt_at,
  endedAt: one.ended_at,
  request: one.sent_to === null ? null : { url: one.sent_to, bytes: one.sent_bytes, digest: one.sent_digest },
  answer:
    one.status === null
      ? null
      : { status: one.status, contentType: one.answer_type, body: one.answer, milliseconds: one.millis },
  error: one.error,
});

const deliveriesIn = (webhookId: string, state: DeliveryState | null): List<Delivery & Position, Position> => ({
  name: `deliveries ${webhookId} ${state ?? ''}`,
  rows: (count, after) => mapped(deliveriesOf(webhookId, state, count, after), (found) => found && placed(found)),
  place: byTime,
  absent: webhookNotFound,
});

const limit = limitOf('deliveries');
const read = 'webhooks:read';
const write = 'webhooks:write';
/** The response shows the changed delivery, so the key must be allowed to read it. */
const writing = [write, read] as const;

/** All operations on the deliveries of webhooks. */
export function webhookDeliveryOperations(services: Services, callers: Callers): readonly Operation[] {
  const pages = openPages(services, callers);
  const writes = openWrites(services, callers);
  return [
    {
      method: 'get',
      path: '/webhooks/{webhookId}/deliveries',
      id: 'listWebhookDeliveries',
      tag: 'Webhooks',
      summary: 'List deliveries of a webhook',
      description: 'Newest first, from the last 30 days. Needs the scope webhooks:read.',
      scope: read,
      parameters: [stateParameter, cursor, limit],
      answers: { 200: { description: 'A page of deliveries.', schema: deliveryList } },
      errors: ['webhook_not_found'],
      handle: (c) =>
        pages.answer(c, read, limit, () => deliveriesIn(webhookIn(c), stateParameter.read(c)), shownDelivery),
    },
    {
      method: 'get',
      path: '/webhooks/{webhookId}/deliveries/{deliveryId}',
      id: 'getWebhookDelivery',
      tag: 'Webhooks',
      summary: 'Get a delivery of a webhook',
      description: 'Needs the scope webhooks:read.',
      scope: read,
      answers: { 200: { description: 'The delivery.', schema: delivery } },
      errors: ['delivery_not_found'],
      async handle(c) {
        const { answer } = await callers.ask(c, read, () => {
          const deliveryId = c.req.param('deliveryId') ?? '';
          if (!isUuid(c.req.param('webhookId') ?? '') || !isUuid(deliveryId)) throw noDelivery();
          return deliveryById(webhookIn(c), deliveryId);
        });
        if (answer === null) throw noDelivery();
        return answerJson(c, { status: 200, body: shownDelivery(answer) });
      },
    },
    {
      method: 'post',
      path: '/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver',
      id: 'redeliverWebhookDelivery',
      tag: 'Webhooks',
      summary: 'Send a delivery again',
      description:
        'The delivery must have ended; it keeps its webhook-id. Needs the scopes webhooks:write and webhooks:read.',
      scope: write,
      parameters: [idempotencyKey],
      answers: { 202: { description: 'The delivery is queued.', schema: redelivered, headers: replayed } },
      errors: ['delivery_not_found', 'conflict'],
      handle: (c) =>
        writes.run(c, { scopes: writing, action: 'webhook.redeliver', meaning: meaningOfDelivery }, () => {
          const [webhookId, deliveryId] = [c.req.param('webhookId') ?? '', c.req.param('deliveryId') ?? ''];
          if (!isUuid(webhookId) || !isUuid(deliveryId)) throw noDelivery();
          return {
            statements: [redeliver(webhookId, deliveryId, originOf(c)), deliveryById(webhookId, deliveryId)],
            said: null,
            answer: ([isSentAgain, found]: readonly [boolean, Delivery | null]) => {
              if (found === null) throw noDelivery();
              if (!isSentAgain) throw conflict('This delivery is already waiting to be sent.');
              return { status: 202, body: { deliveries: 1, nextSince: null } };
            },
          };
        }),
    },
    {
      method: 'post',
      path: '/webhooks/{webhookId}/redeliver',
      id: 'redeliverWebhook',
      tag: 'Webhooks',
      summary: 'Send the deliveries of a period again',
      description:
        'Only deliveries that have ended, at most the earliest 10,000, each event once, in the order of the changes. Needs the scopes webhooks:write and webhooks:read.',
      scope: write,
      parameters: [idempotencyKey],
      body: range,
      answers: { 202: { description: 'The deliveries are queued.', schema: redelivered, headers: replayed } },
      errors: ['webhook_not_found', 'conflict'],
      handle: (c) =>
        writes.run(c, { scopes: writing, action: 'webhook.redeliver', meaning }, async () => {
          const webhookId = webhookIn(c);
          const { since, until, failedOnly = false } = await readBody(c, range);
          if (Date.parse(until) < Date.parse(since))
            throw invalid([{ in: 'body', path: 'until', message: 'Send a time after since.' }]);
          return {
            statements: [redeliverRange(webhookId, { since, until, failedOnly }, originOf(c))],
            said: { since, until, failedOnly },
            answer: ([sent]: readonly [Redelivered]) => ({ status: 202, body: sent }),
          };
        }),
    },
  ];
}
