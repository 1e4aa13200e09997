/**
 * Webhooks. Each has the rights of an API key and is managed by that key and by the admins of its brokerage
 * (083_webhooks.sql).
 */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import type { KeyEnvironment } from '../clients/api-keys.ts';
import { nameInBrokerage } from '../people/former-names.ts';

export const webhookStates = ['on', 'off'] as const;

/**
 * Why a webhook is off: a person turned it off, nothing succeeded for three days, its admin is no longer one, or its
 * key was rotated.
 */
export const webhookOffReasons = ['asked', 'failing', 'admin_gone', 'key_rotated'] as const;

type WebhookState = (typeof webhookStates)[number];

export interface Webhook {
  id: string;
  key_id: string;
  url: string;
  description: string | null;
  /** Event types; null for all. */
  types: string[] | null;
  state: WebhookState;
  off_reason: (typeof webhookOffReasons)[number] | null;
  off_since: string | null;
  created_at: string;
  updated_at: string;
}

const fields = `e.id, e.key_id, e.url, e.description, e.types, e.state, coalesce(e.off_because, e.off_reason) as off_reason, e.off_since,
  e.created_at, e.updated_at`;

const firstOwn = rows<Webhook, [number]>(
  'first_webhooks',
  `select ${fields} from webhook_endpoints e where e.key_id = app.key_id() order by e.created_at desc, e.id desc limit $1`,
);
const ownAfter = rows<Webhook, [string, string, number]>(
  'webhooks_after',
  `select ${fields} from webhook_endpoints e where e.key_id = app.key_id() and (e.created_at, e.id) < ($1, $2)
   order by e.created_at desc, e.id desc limit $3`,
);

/** The webhooks of the calling key, newest first, or those after a place in this order. */
export const ownWebhooks = (count: number, after: { createdAt: string; id: string } | null): Statement<Webhook[]> =>
  after === null ? firstOwn(count) : ownAfter(after.createdAt, after.id, count);

/** The webhook with this id if the caller sees it, otherwise null. */
export const webhookById = row<Webhook, [id: string]>(
  'webhook',
  `select ${fields} from webhook_endpoints e where e.id = $1`,
);

/** A webhook for the admins of its brokerage: with its API key and the state of its deliveries. */
export interface ManagedWebhook extends Webhook {
  key_name: string;
  environment: KeyEnvironment;
  /** Whether the key is in force; nothing is sent once it has ended. */
  is_key_in_force: boolean;
  /** The admin who last set it up; null where the key did. */
  set_up_by: string | null;
  /** Who was last shown a token of the key. */
  key_works_through: string | null;
  /** Waiting deliveries, at most 1,000; how many of these have failed before; and when the oldest was created. */
  waiting: number;
  failing: number;
  oldest_at: string | null;
  /** When a delivery last succeeded. */
  succeeded_at: string | null;
}

const managed = `select ${fields}, k.name as key_name, k.environment, app.is_key_in_force(k.id) as is_key_in_force, w.waiting, w.failing, w.oldest_at,
     e.succeeded_at, ${nameInBrokerage('a', 'e.created_by', 'k.brokerage_id')} as set_up_by, ${nameInBrokerage('h', 'reach.issued_by', 'k.brokerage_id')} as key_works_through
   from webhook_endpoints e join api_keys k on k.id = e.key_id left join users a on a.id = e.created_by
   left join lateral app.key_reach(k.id) reach on true left join users h on h.id = reach.issued_by
   left join lateral (
     select count(*)::int as waiting, count(*) filter (where d.attempts > 0)::int as failing, min(d.created_at) as oldest_at
     from (select w.attempts, w.created_at from webhook_deliveries w where w.endpoint_id = e.id and w.state = 'waiting' limit 1000) d) w on true`;

/** The webhooks of a brokerage, newest first, at most 1,000; empty unless the caller is one of its admins. */
export const webhooksOf = rows<ManagedWebhook, [brokerageId: string]>(
  'webhooks_of',
  `${managed} where k.brokerage_id = $1 order by e.created_at desc, e.id desc limit 1000`,
);

/** The webhook with this id if the caller is its brokerage's admin, otherwise null. */
export const managedWebhook = row<ManagedWebhook, [id: string]>('managed_webhook', `${managed} where e.id = $1`);

/** A stored secret: sealed by the server for its own id. */
export interface SealedSecret {
  readonly id: string;
  readonly secret: string;
}

interface NewWebhook {
  readonly url: string;
  readonly description: string | null;
  readonly types: readonly string[] | null;
}

const add = row<{ added: boolean }>(
  'add_webhook',
  'select app.add_webhook($1, $2, $3, $4, $5, $6, $7, $8, $9) as added',
);

/**
 * Adds a webhook with this id to the calling key, or (for admins who have signed in within ten minutes) to `keyId`;
 * false when the key may not have it. Refused with `api_key_not_found`, `api_key_ended`, `too_many_webhooks` (of the
 * key) and `too_many_webhooks_on` (of the brokerage).
 */
export const addWebhook = (
  webhookId: string,
  keyId: string | null,
  { url, description, types }: NewWebhook,
  { id, secret }: SealedSecret,
  { address, requestId }: Origin,
): Statement<boolean> =>
  mapped(
    add(webhookId, keyId, url, description, types, id, secret, address, requestId),
    (answer) => answer?.added ?? false,
  );

export interface WebhookChange {
  readonly url?: string | undefined;
  /** Null removes the description. */
  readonly description?: string | null | undefined;
  /** Null for all types. */
  readonly types?: readonly string[] | null | undefined;
  readonly state?: WebhookState | undefined;
}

const change = row('change_webhook', 'select app.change_webhook($1, $2, $3, $4, $5, $6, $7)');

/**
 * Changes the given fields. Refused with `webhook_not_found`, and with `too_many_webhooks_on` when turning it on would
 * exceed the limit. A webhook that is turned on continues where it stopped.
 */
export const changeWebhook = (
  id: string,
  { url, description, types, state }: WebhookChange,
  { address, requestId }: Origin,
): Statement<unknown> =>
  change(
    id,
    url,
    description === undefined ? undefined : (description ?? ''),
    types === undefined ? undefined : (types ?? []),
    state,
    address,
    requestId,
  );

const remove = row('remove_webhook', 'select app.remove_webhook($1, $2, $3)');

/**
 * Removes a webhook with its delivery log; of a log longer than 10,000 the cleanup job deletes the rest. Refused with
 * `webhook_not_found`.
 */
export const removeWebhook = (id: string, { address, requestId }: Origin): Statement<unknown> =>
  remove(id, address, requestId);

/** The longest time during which the previous secret may sign along with a new one, in seconds: seven days. */
export const longestSecretOverlap = 7 * 86_400;

const rotate = row(
  'rotate_webhook_secret',
  'select app.rotate_webhook_secret($1, $2, $3, make_interval(secs => $4::double precision), $5, $6)',
);

/**
 * Replaces the secret; the previous one signs as well for `overlapSeconds`, at most seven days, and earlier ones as long
 * as was said when they were replaced; with 0 all of them end. Refused with `webhook_not_found`.
 */
export const rotateWebhookSecret = (
  id: string,
  sealed: SealedSecret,
  overlapSeconds: number,
  { address, requestId }: Origin,
): Statement<unknown> => rotate(id, sealed.id, sealed.secret, overlapSeconds, address, requestId);

const sendTest = row<{ id: string }>('test_webhook', 'select app.test_webhook($1, $2, $3) as id');

/** Sends a test event; returns the id of its delivery. Refused with `webhook_not_found` and `too_many_tests`. */
export const testWebhook = (id: string, { address, requestId }: Origin): Statement<string> =>
  mapped(sendTest(id, address, requestId), (made) => made?.id ?? '');
