/** Webhooks of a key: the URLs to which changes are sent. */

import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import { z } from 'zod';
import { Denied, Refusal } from '../database/errors.ts';
import { mapped } from '../database/statement.ts';
import type { KeyCaller } from '../domain/clients/api-keys.ts';
import { eventTypes } from '../domain/events/changes.ts';
import { lengths } from '../domain/lengths.ts';
import {
  addWebhook,
  changeWebhook,
  longestSecretOverlap,
  ownWebhooks,
  removeWebhook,
  rotateWebhookSecret,
  testWebhook,
  webhookById,
  webhookOffReasons,
  webhookStates,
  type Webhook,
} from '../domain/webhooks/endpoints.ts';
import { faultOfUrl } from '../http/guarded-fetch.ts';
import { originOf } from '../http/origin.ts';
import { Problem } from '../http/problem.ts';
import { restPath } from '../http/rest-path.ts';
import { isUuid } from '../lib/uuid.ts';
import { mintWebhookSecret } from '../webhooks/signature.ts';
import type { Services } from '../services.ts';
import { answerJson } from './answer.ts';
import { readBody } from './body.ts';
import type { Callers } from './caller.ts';
import { conflict } from './envelope.ts';
import { absent, id, lineUpTo, openEnum, text, time } from './fields.ts';
import { location, replayed, type Operation } from './operation.ts';
import type { Position } from '../domain/contacts/contacts.ts';
import { byTime, cursor, limitOf, openPages, type List } from './pages.ts';
import { pagination } from './schemas.ts';
import { idempotencyKey, openWrites, refuseConditions } from './writes.ts';

/** 404 for a webhook. */
export const webhookNotFound = () => new Problem(404, 'webhook_not_found', 'There is no such webhook.');

/** Translates refusals of the database into problems of this API. */
export function meaning(fault: unknown): unknown {
  if (!(fault instanceof Refusal)) return fault;
  if (fault.reason === 'webhook_not_found') return webhookNotFound();
  return fault.reason.startsWith('idempotency_key') ? fault : conflict(fault.message);
}

const typesOf = z
  .array(
    z.enum(eventTypes as [string, ...string[]], { error: 'There is no such type of event: see the list of types.' }),
    {
      error: absent('Send a list of types of events.'),
    },
  )
  .min(1, { error: 'Send at least one type, or leave the property out for all.' })
  .max(100, { error: 'It is too long: at most 100 types.' })
  .overwrite((types) => [...new Set(types)])
  .meta({
    description: 'Types of events to send; all if left out.',
    examples: [['contact.created', 'contact.updated']],
  });

const urlOf = (allowLoopback: boolean) =>
  text('Send a URL.')
    .superRefine((value, context) => {
      const fault = faultOfUrl(value, { allowLoopback });
      if (fault !== null) context.addIssue({ code: 'custom', message: fault });
    })
    .meta({
      format: 'uri',
      maxLength: lengths.webhook_endpoints.url,
      description:
        'Where events are sent by POST: https, to a name on the public Internet, on port 443, or 1024 or higher, without user name and password.',
      examples: ['https://crm.example.com/dealkeep'],
    });

const descriptionOf = lineUpTo(lengths.webhook_endpoints.description).meta({
  description: 'A note for people.',
  examples: ['Our CRM'],
});

const shared = {
  id,
  url: z.string().meta({ format: 'uri' }),
  description: z
    .string()
    .nullable()
    .meta({ examples: ['Our CRM'] }),
  types: z
    .array(z.string())
    .nullable()
    .meta({ description: 'Null for all.', examples: [['contact.created']] }),
  state: z
    .enum(webhookStates)
    .meta({ description: 'off: nothing is sent; changes made meanwhile are sent when it is on again.' }),
  offReason: openEnum(webhookOffReasons).nullable().meta({
    description:
      'Why it was turned off. failing: nothing was accepted for three days. admin_gone: the admin who last set it up, or who was shown a token of the key that did, was suspended, removed or reset, or is no longer an admin. key_rotated: the key that last set it up was rotated, and its old token stopped at once. Later versions may add reasons.',
  }),
  offSince: time.nullable(),
  createdAt: time,
  updatedAt: time,
};
const webhook = z
  .object(shared)
  .meta({ id: 'Webhook', description: 'Where changes are sent, with the rights of the key that created it.' });
const webhookWithSecret = z
  .object({
    ...shared,
    secret: z.string().meta({
      description: 'whsec_ and base64: signs every delivery, according to Standard Webhooks. Shown once.',
      examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw8mKQ9r8GKYo='],
    }),
  })
  .meta({ id: 'WebhookWithSecret' });
const webhookList = z.object({ data: z.array(webhook), pagination }).meta({ id: 'WebhookList' });

const rotation = z
  .strictObject({
    overlapSeconds: z
      .int({ error: 'Send a whole number of seconds.' })
      .min(0, { error: 'Send 0 or more.' })
      .max(longestSecretOverlap, { error: `Send at most ${longestSecretOverlap}: seven days.` })
      .optional()
      .meta({
        default: 86_400,
        description:
          'How long the previous secret also signs. Older ones sign as long as was sent when they were rotated, five secrets in all. 0 ends all of them.',
        examples: [86_400],
      }),
  })
  .meta({ id: 'WebhookSecretRotation' });
const tested = z.object({ deliveryId: id }).meta({ id: 'WebhookTest' });

const shownWebhook = ({ id: webhookId, url, description, types, state, ...rest }: Webhook) => ({
  id: webhookId,
  url,
  description,
  types,
  state,
  offReason: rest.off_reason,
  offSince: rest.off_since,
  createdAt: rest.created_at,
  updatedAt: rest.updated_at,
});

/** The webhook's id in the path. Throws 404 for an invalid id. */
export function webhookIn(c: Context): string {
  const webhookId = c.req.param('webhookId') ?? '';
  if (!isUuid(webhookId)) throw webhookNotFound();
  return webhookId;
}

/** Adds the position in a list ordered by time. */
export const placed = <T extends { readonly created_at: string }>(found: readonly T[]) =>
  found.map((one) => ({ ...one, createdAt: one.created_at }));

const own: List<Webhook & Position, Position> = {
  name: 'webhooks',
  rows: (count, after) => mapped(ownWebhooks(count, after), placed),
  place: byTime,
};

const limit = limitOf('webhooks');
const read = 'webhooks:read';
const write = 'webhooks:write';
/** The response shows the changed webhook, so the key must be allowed to read it. */
const writing = [write, read] as const;

/** All operations on webhooks except those on deliveries. */
export function webhookOperations(services: Services, callers: Callers): readonly Operation[] {
  const { config, database, secrets } = services;
  const pages = openPages(services, callers);
  const writes = openWrites(services, callers);
  const url = urlOf(config.webhooksAllowLoopback);
  const create = z
    .strictObject(
      { url, description: descriptionOf.optional(), types: typesOf.optional() },
      { error: (issue) => (issue.code === 'invalid_type' ? 'Send a JSON object with url.' : undefined) },
    )
    .meta({ id: 'WebhookCreate' });
  const change = z
    .strictObject(
      {
        url: url.optional(),
        description: descriptionOf.nullable().optional(),
        types: typesOf.nullable().optional(),
        state: z
          .enum(webhookStates, { error: 'Send "on" or "off".' })
          .optional()
          .meta({ description: 'When turned on again, it continues where it stopped.' }),
      },
      { error: (issue) => (issue.code === 'invalid_type' ? 'Send a JSON object with what to change.' : undefined) },
    )
    .meta({ id: 'WebhookChange' });

  const withSecret = (found: Webhook | null, secret: string) => {
    if (found === null) throw webhookNotFound();
    return { ...shownWebhook(found), secret };
  };

  return [
    {
      method: 'get',
      path: '/webhooks',
      id: 'listWebhooks',
      tag: 'Webhooks',
      summary: 'List webhooks',
      description: "This key's webhooks, newest first. Needs the scope webhooks:read.",
      scope: read,
      parameters: [cursor, limit],
      answers: { 200: { description: 'A page of webhooks.', schema: webhookList } },
      handle: (c) => pages.answer(c, read, limit, () => own, shownWebhook),
    },
    {
      method: 'post',
      path: '/webhooks',
      id: 'createWebhook',
      tag: 'Webhooks',
      summary: 'Add a webhook',
      description:
        'It receives changes from now on that this key can see. At most 20 webhooks per key, and at most 200 turned on per brokerage. Needs the scopes webhooks:write and webhooks:read.',
      scope: write,
      parameters: [idempotencyKey],
      body: create,
      answers: {
        201: {
          description: 'The webhook, with its secret, which is shown once.',
          schema: webhookWithSecret,
          headers: { ...location('webhook'), ...replayed },
        },
      },
      errors: ['conflict'],
      handle: (c) =>
        writes.run(c, { scopes: writing, action: 'webhook.create', meaning }, async () => {
          const { url: target, description = null, types = null } = await readBody(c, create);
          const webhookId = randomUUID();
          const { secret, sealed } = mintWebhookSecret(secrets);
          return {
            statements: [
              addWebhook(webhookId, null, { url: target, description, types }, sealed, originOf(c)),
              webhookById(webhookId),
            ],
            said: { url: target, description, types },
            isSecret: true,
            answer: ([, found]: readonly [unknown, Webhook | null], _caller: KeyCaller) => ({
              status: 201,
              body: withSecret(found, secret),
              headers: { Location: `${restPath}/webhooks/${webhookId}` },
            }),
          };
        }),
    },
    {
      method: 'get',
      path: '/webhooks/{webhookId}',
      id: 'getWebhook',
      tag: 'Webhooks',
      summary: 'Get a webhook',
      description: 'Needs the scope webhooks:read.',
      scope: read,
      answers: { 200: { description: 'The webhook.', schema: webhook } },
      errors: ['webhook_not_found'],
      async handle(c) {
        const { answer } = await callers.ask(c, read, () => webhookById(webhookIn(c)));
        if (answer === null) throw webhookNotFound();
        return answerJson(c, { status: 200, body: shownWebhook(answer) });
      },
    },
    {
      method: 'patch',
      path: '/webhooks/{webhookId}',
      id: 'changeWebhook',
      tag: 'Webhooks',
      summary: 'Change a webhook',
      description:
        'A merge patch: properties left out stay as they are; null clears a value. At most 200 webhooks of a brokerage can be on. Needs the scopes webhooks:write and webhooks:read.',
      scope: write,
      parameters: [idempotencyKey],
      body: change,
      answers: { 200: { description: 'The webhook.', schema: webhook, headers: replayed } },
      errors: ['webhook_not_found', 'conflict'],
      handle: (c) =>
        writes.run(c, { scopes: writing, action: 'webhook.update', meaning }, async () => {
          const webhookId = webhookIn(c);
          const given = await readBody(c, change);
          return {
            statements: [changeWebhook(webhookId, given, originOf(c)), webhookById(webhookId)],
            said: given,
            answer: ([, found]: readonly [unknown, Webhook | null]) => {
              if (found === null) throw webhookNotFound();
              return { status: 200, body: shownWebhook(found) };
            },
          };
        }),
    },
    {
      method: 'delete',
      path: '/webhooks/{webhookId}',
      id: 'deleteWebhook',
      tag: 'Webhooks',
      summary: 'Delete a webhook',
      description: 'The log of its deliveries is deleted too. Needs the scopes webhooks:write and webhooks:read.',
      scope: write,
      answers: { 204: { description: 'The webhook is deleted.' } },
      errors: ['webhook_not_found'],
      async handle(c) {
        await callers
          .enter(c, writing, async ({ enter, carries, admit, reading, check }) => {
            const removing = await reading(() => {
              refuseConditions(c);
              return removeWebhook(webhookIn(c), originOf(c));
            });
            try {
              const [found] = await database.together(enter, carries, removing);
              admit(found);
            } catch (fault) {
              // The missing scope is reported first, whether or not the webhook exists.
              if (fault instanceof Denied || fault instanceof Refusal) await check();
              throw fault;
            }
          })
          .catch((fault: unknown) => {
            throw meaning(fault);
          });
        return c.body(null, 204);
      },
    },
    {
      method: 'post',
      path: '/webhooks/{webhookId}/rotate-secret',
      id: 'rotateWebhookSecret',
      tag: 'Webhooks',
      summary: 'Rotate the secret of a webhook',
      description:
        'The previous secret also signs for a while, a day by default: each delivery then has two signatures. Needs the scopes webhooks:write and webhooks:read.',
      scope: write,
      parameters: [idempotencyKey],
      body: rotation,
      answers: {
        200: {
          description: 'The webhook, with its new secret, which is shown once.',
          schema: webhookWithSecret,
          headers: replayed,
        },
      },
      errors: ['webhook_not_found'],
      handle: (c) =>
        writes.run(c, { scopes: writing, action: 'webhook.rotate_secret', meaning }, async () => {
          const webhookId = webhookIn(c);
          const { overlapSeconds = 86_400 } = await readBody(c, rotation);
          const { secret, sealed } = mintWebhookSecret(secrets);
          return {
            statements: [rotateWebhookSecret(webhookId, sealed, overlapSeconds, originOf(c)), webhookById(webhookId)],
            said: { overlapSeconds },
            isSecret: true,
            answer: ([, found]: readonly [unknown, Webhook | null]) => ({
              status: 200,
              body: withSecret(found, secret),
            }),
          };
        }),
    },
    {
      method: 'post',
      path: '/webhooks/{webhookId}/test',
      id: 'testWebhook',
      tag: 'Webhooks',
      summary: 'Send a test event',
      description: 'Its type is webhook.test, and its data is null. Needs the scopes webhooks:write and webhooks:read.',
      scope: write,
      parameters: [idempotencyKey],
      answers: {
        202: {
          description: 'The event is queued; it waits while the webhook is off.',
          schema: tested,
          headers: replayed,
        },
      },
      errors: ['webhook_not_found', 'conflict'],
      handle: (c) =>
        writes.run(c, { scopes: writing, action: 'webhook.test', meaning }, () => ({
          statements: [testWebhook(webhookIn(c), originOf(c))],
          said: null,
          answer: ([deliveryId]: readonly [string]) => ({ status: 202, body: { deliveryId } }),
        })),
    },
  ];
}
