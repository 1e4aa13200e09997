/** Deliveries of webhooks: their log, and what is needed to make them (083_webhooks.sql). */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

/** `dropped`: the key does not see the record any more. */
export type DeliveryState = 'waiting' | 'delivered' | 'failed' | 'dropped';

export interface Delivery {
  id: string;
  event_id: string;
  type: string;
  object_type: string;
  object_id: string;
  deal_id: string | null;
  /** Sent before, and asked for again. */
  is_again: boolean;
  state: DeliveryState;
  attempts: number;
  /** Null when it has ended, or waits for an earlier one of the same record. */
  next_attempt_at: string | null;
  created_at: string;
  last_attempt_at: string | null;
  ended_at: string | null;
  /** Of the last request: where it went, and the size and SHA-256 digest (hexadecimal) of its body, which is not kept. */
  sent_to: string | null;
  sent_bytes: number | null;
  sent_digest: string | null;
  /** Of its answer. */
  status: number | null;
  error: string | null;
  /** At most 4,096 characters of it. */
  answer: string | null;
  answer_type: string | null;
  millis: number | null;
}

const fields = `d.id, d.event_id, d.type, d.object_type, d.object_id, d.about_deal as deal_id, d.is_again, d.state, d.attempts, d.next_attempt_at, d.created_at,
  d.last_attempt_at, d.ended_at, d.sent_to, d.sent_bytes, d.sent_digest, d.status, d.error, d.answer, d.answer_type, d.millis`;

/** SQL of a page of the log of webhook $1, of the state $2 if one is named, of $3 rows; a row without `id` for a log with none. */
const page = (behind: string) => `
  select l.* from webhook_endpoints e
  left join lateral (
    select ${fields} from webhook_deliveries d
    where d.endpoint_id = e.id and ($2::text is null or d.state = $2)${behind}
    order by d.created_at desc, d.nr desc limit $3) l on true
  where e.id = $1`;

type Found = Delivery | { id: null };
const first = rows<Found>('first_deliveries', page(''));
// Of the same millisecond, those that were written before it. When it is cleared away meanwhile, so are they.
const after = rows<Found>(
  'deliveries_after',
  page(' and (d.created_at, d.nr) < ($4::timestamptz, (select b.nr from webhook_deliveries b where b.id = $5))'),
);

/**
 * Those of a webhook, the newest first, or those behind a place in that list; null when the caller does not see the webhook.
 */
export const deliveriesOf = (
  webhookId: string,
  state: DeliveryState | null,
  count: number,
  place: { createdAt: string; id: string } | null,
): Statement<Delivery[] | null> =>
  mapped(
    place === null ? first(webhookId, state, count) : after(webhookId, state, count, place.createdAt, place.id),
    (found) => (found.length === 0 ? null : found.filter((one): one is Delivery => one.id !== null)),
  );

/** One of a webhook, or null. */
export const deliveryById = row<Delivery, [webhookId: string, id: string]>(
  'delivery',
  `select ${fields} from webhook_deliveries d where d.endpoint_id = $1 and d.id = $2`,
);

const again = row<{ written: number }>('redeliver', 'select app.redeliver($1, $2, $3, $4, $5, $6, $7) as written');

/** Sends one that has ended again; false when there is none. Refused with `webhook_not_found` and `too_many_deliveries`. */
export const redeliver = (webhookId: string, id: string, { address, requestId }: Origin): Statement<boolean> =>
  mapped(again(webhookId, id, null, null, false, address, requestId), (found) => (found?.written ?? 0) > 0);

/** Sends those again that were written within a time and have ended, 10,000 at most; how many. Refused as {@link redeliver} is. */
export const redeliverRange = (
  webhookId: string,
  { since, until, failedOnly }: { since: string; until: string; failedOnly: boolean },
  { address, requestId }: Origin,
): Statement<number> =>
  mapped(again(webhookId, null, since, until, failedOnly, address, requestId), (found) => found?.written ?? 0);

const queue = row<{ moved: string | null }, []>('queue_webhooks', 'select app.queue_webhooks()::text as moved');

/** Writes the deliveries of one webhook for what has changed; whether there was one. Nobody has entered. */
export const queueWebhooks = (): Statement<boolean> => mapped(queue(), (found) => (found?.moved ?? null) !== null);

/** A delivery that was taken to be made. */
export interface ClaimedDelivery {
  id: string;
  /** Named when its end is noted. */
  claim: string;
  endpoint_id: string;
  url: string;
  /** Of the change in the stream; null for a test event. */
  seq: string | null;
  event_id: string;
  type: string;
  object_type: string;
  object_id: string;
  deal_id: string | null;
  occurred_at: string;
  attempts: number;
  /** The secrets that sign it, the newest first, as they were sealed, and for which id. */
  secret_ids: string[];
  secrets: string[];
}

/** Takes up to so many deliveries that are due, for a minute in which nobody else takes them. */
export const claimDeliveries = rows<ClaimedDelivery, [most: number]>(
  'claim_deliveries',
  `select id, claim, endpoint_id, url, seq::text as seq, event_id, type, object_type, object_id, about_deal as deal_id, occurred_at, attempts, secret_ids, secrets
   from app.claim_deliveries($1)`,
);

const enter = row<{ entered: boolean }>('enter_for_delivery', 'select app.enter_for_delivery($1, $2) as entered');

/** Enters with the key of a delivery that was taken, for the rest of the transaction; false when the key has ended, or the claim has. */
export const enterForDelivery = ({ id, claim }: ClaimedDelivery): Statement<boolean> =>
  mapped(enter(id, claim), (found) => found?.entered ?? false);

const sees = row<{ sees: boolean }>('sees_change', 'select app.sees_change_event($1) as sees');

/** Whether the caller sees a change of the stream. */
export const seesChange = (seq: string): Statement<boolean> => mapped(sees(seq), (found) => found?.sees ?? false);

/** How an attempt went. */
export interface Attempted {
  readonly outcome: 'delivered' | 'failed' | 'dropped';
  readonly url: string | null;
  readonly bytes: number | null;
  readonly digest: string | null;
  readonly status: number | null;
  readonly error: string | null;
  readonly answer: string | null;
  readonly answerType: string | null;
  readonly millis: number | null;
}

const note = row<{ noted: boolean }>(
  'note_delivery',
  'select app.note_delivery($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as noted',
);

/** Notes it; false when another claim has followed. */
export const noteDelivery = (
  { id, claim }: ClaimedDelivery,
  { outcome, url, bytes, digest, status, error, answer, answerType, millis }: Attempted,
): Statement<boolean> =>
  mapped(
    note(id, claim, outcome, url, bytes, digest, status, error, answer, answerType, millis),
    (found) => found?.noted ?? false,
  );

/** Deletes deliveries of 30 days ago, and secrets that have ended. */
export const purgeWebhooks = row('purge_webhooks', 'select app.purge_webhooks()');
