/** Receivers of webhooks: each has the rights of an API key, which manages it, as the admins of its brokerage do (083_webhooks.sql). */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import type { KeyEnvironment } from '../clients/api-keys.ts';

export const webhookStates = ['on', 'off'] as const;

/** Whether a person switched it off, three days without success did, or it went off with the admin or key that it went by. */
export const webhookOffReasons = ['asked', 'failing', 'admin_gone', 'key_rotated'] as const;

type WebhookState = (typeof webhookStates)[number];

export interface Webhook {
  id: string;
  key_id: string;
  url: string;
  description: string | null;
  /** Types of events; null for all. */
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

/** Those of the calling key, the newest first, or those behind a place in that list. */
export const ownWebhooks = (count: number, after: { createdAt: string; id: string } | null): Statement<Webhook[]> =>
  after === null ? firstOwn(count) : ownAfter(after.createdAt, after.id, count);

/** One that the caller sees, or null. */
export const webhookById = row<Webhook, [id: string]>(
  'webhook',
  `select ${fields} from webhook_endpoints e where e.id = $1`,
);

/** As an admin of its brokerage sees it: with the key whose rights it has, and how it is doing. */
export interface ManagedWebhook extends Webhook {
  key_name: string;
  environment: KeyEnvironment;
  /** Whether the key may be used: nothing is sent for one that has ended. */
  is_key_in_force: boolean;
  /** Deliveries that wait, 1,000 at most, those among them that have failed before, and since when the oldest of them waits. */
  waiting: number;
  failing: number;
  oldest_at: string | null;
  /** When something was taken last. */
  succeeded_at: string | null;
}

const managed = `select ${fields}, k.name as key_name, k.environment, app.is_key_in_force(k.id) as is_key_in_force, w.waiting, w.failing, w.oldest_at,
     e.succeeded_at
   from webhook_endpoints e join api_keys k on k.id = e.key_id
   left join lateral (
     select count(*)::int as waiting, count(*) filter (where d.attempts > 0)::int as failing, min(d.created_at) as oldest_at
     from (select w.attempts, w.created_at from webhook_deliveries w where w.endpoint_id = e.id and w.state = 'waiting' limit 1000) d) w on true`;

/** Those of a brokerage, the newest first, 1,000 at most; none for everybody but its admins. */
export const webhooksOf = rows<ManagedWebhook, [brokerageId: string]>(
  'webhooks_of',
  `${managed} where k.brokerage_id = $1 order by e.created_at desc, e.id desc limit 1000`,
);

/** One that an admin of its brokerage sees, or null. */
export const managedWebhook = row<ManagedWebhook, [id: string]>('managed_webhook', `${managed} where e.id = $1`);

/** A secret as it is kept: under an id of its own, for which the server has sealed it. */
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
 * Adds one, under this id, to the calling key, or (for admins, who have signed in within ten minutes) to `keyId`; false when the key may
 * not. Refused with `api_key_not_found`, `api_key_ended`, `too_many_webhooks` (of the key) and `too_many_webhooks_on` (of the brokerage).
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
  /** Null takes it out. */
  readonly description?: string | null | undefined;
  /** Null for all. */
  readonly types?: readonly string[] | null | undefined;
  readonly state?: WebhookState | undefined;
}

const change = row('change_webhook', 'select app.change_webhook($1, $2, $3, $4, $5, $6, $7)');

/**
 * Changes what is given. Refused with `webhook_not_found`, and with `too_many_webhooks_on` where it is turned on beside as many as may be. Turned on again, it continues where it stopped.
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

/** Takes it out, with the log of its deliveries, of which the job that deletes old ones deletes what is more than 10,000. Refused with `webhook_not_found`. */
export const removeWebhook = (id: string, { address, requestId }: Origin): Statement<unknown> =>
  remove(id, address, requestId);

/** How long the previous secret may sign beside a new one at most, in seconds: seven days. */
export const longestSecretOverlap = 7 * 86_400;

const rotate = row(
  'rotate_webhook_secret',
  'select app.rotate_webhook_secret($1, $2, $3, make_interval(secs => $4::double precision), $5, $6)',
);

/** Gives it another secret; the one before signs beside it for so many seconds, seven days at most. Refused with `webhook_not_found`. */
export const rotateWebhookSecret = (
  id: string,
  sealed: SealedSecret,
  overlapSeconds: number,
  { address, requestId }: Origin,
): Statement<unknown> => rotate(id, sealed.id, sealed.secret, overlapSeconds, address, requestId);

const sendTest = row<{ id: string }>('test_webhook', 'select app.test_webhook($1, $2, $3) as id');

/** Sends a test event; the id of its delivery. Refused with `webhook_not_found` and `too_many_tests`. */
export const testWebhook = (id: string, { address, requestId }: Origin): Statement<string> =>
  mapped(sendTest(id, address, requestId), (made) => made?.id ?? '');
