/** Webhook deliveries: their log, and the queries of the sender (083_webhooks.sql). */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

/** `dropped`: the API key may no longer see the record. */
export const deliveryStates = ['waiting', 'delivered', 'failed', 'dropped'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

export interface Delivery {
  id: string;
  event_id: string;
  type: string;
  object_type: string;
  object_id: string;
  deal_id: string | null;
  /** Whether this is a redelivery. */
  is_again: boolean;
  state: DeliveryState;
  attempts: number;
  /** Null when the delivery has ended, or waits for an earlier one of the same record. */
  next_attempt_at: string | null;
  created_at: string;
  last_attempt_at: string | null;
  ended_at: string | null;
  /** The last request: its address, and the size and SHA-256 digest (hexadecimal) of its body, which is not stored. */
  sent_to: string | null;
  sent_bytes: number | null;
  sent_digest: string | null;
  /** HTTP status of the response. */
  status: number | null;
  error: string | null;
  /**
   * The response body, cut off after 4,096 characters; null when the delivery was accepted, or when the caller may not see
   * what it was about.
   */
  answer: string | null;
  answer_type: string | null;
  millis: number | null;
}

const columns = `about_deal, id, event_id, type, object_type, object_id, is_again, state, attempts, next_attempt_at, created_at, last_attempt_at, ended_at,
  sent_to, sent_bytes, sent_digest, status, error, answer, answer_type, millis`;
/**
 * The response to a delivery that the caller may see: receivers repeat what they were sent, and the caller may have lost
 * the right to see that. Keys must see the change; of people, only the brokers of a deal see all that is sent about it.
 */
const answer = `case when d.answer is not null and case when app.key_id() is null
    then d.about_deal is null or d.about_deal = any ((select app.deals_as('broker'))::uuid[])
    else d.seq is null or exists (select from change_events c where c.brokerage_id = app.key_brokerage('webhooks:read') and c.seq = d.seq and c.id = d.event_id)
  end then d.answer end as answer`;
const fields = columns
  .replaceAll(/\w+/g, 'd.$&')
  .replace('d.about_deal', '$& as deal_id')
  .replace(/d\.answer\b/, () => answer);

/**
 * The source of a page of deliveries in one state. At most some thousands are waiting: all of them are read through
 * their own index and then sorted. Otherwise PostgreSQL might scan a long log for the few of them.
 */
const ofState = (state: DeliveryState | null): string =>
  state === 'waiting'
    ? `(select nr, seq, ${columns} from webhook_deliveries w where w.endpoint_id = e.id and w.state = 'waiting' offset 0) d where true`
    : `webhook_deliveries d where d.endpoint_id = e.id${state === null ? '' : ` and d.state = '${state}'`}`;

/**
 * SQL for $2 rows of the log of webhook $1; a single row without `id` when the log is empty. One plan serves every
 * number of rows, as the limit is not known at planning time; the state is a literal, so that the planner can choose an
 * index for it.
 */
const page = (state: DeliveryState | null, behind: string) => `
  select l.* from webhook_endpoints e
  left join lateral (
    select ${fields} from ${ofState(state)}${behind}
    order by d.created_at desc, d.nr desc limit (select $2::int)) l on true
  where e.id = $1`;

type Found = Delivery | { id: null };
const pagesOf = (state: DeliveryState | null, name: string) => ({
  first: rows<Found>(`first_${name}`, page(state, '')),
  // Within a millisecond, those written earlier. If the delivery was deleted meanwhile, so were these.
  after: rows<Found>(
    `${name}_after`,
    page(
      state,
      ' and (d.created_at, d.nr) < ($3::timestamptz, (select b.nr from webhook_deliveries b where b.id = $4))',
    ),
  ),
});
const pages = {
  all: pagesOf(null, 'deliveries'),
  waiting: pagesOf('waiting', 'waiting_deliveries'),
  delivered: pagesOf('delivered', 'delivered_deliveries'),
  failed: pagesOf('failed', 'failed_deliveries'),
  dropped: pagesOf('dropped', 'dropped_deliveries'),
};

/**
 * The deliveries of a webhook, newest first, or those after `place` in this order; null when the caller does not see
 * the webhook.
 */
export const deliveriesOf = (
  webhookId: string,
  state: DeliveryState | null,
  count: number,
  place: { createdAt: string; id: string } | null,
): Statement<Delivery[] | null> => {
  const { first, after } = pages[state ?? 'all'];
  return mapped(
    place === null ? first(webhookId, count) : after(webhookId, count, place.createdAt, place.id),
    (found) => (found.length === 0 ? null : found.filter((one): one is Delivery => one.id !== null)),
  );
};

/** One delivery of a webhook, or null. */
export const deliveryById = row<Delivery, [webhookId: string, id: string]>(
  'delivery',
  `select ${fields} from webhook_deliveries d where d.endpoint_id = $1 and d.id = $2`,
);

const again = row<{ written: number }>(
  'redeliver',
  'select app.redeliver($1, $2, null, null, false, $3, $4) as written',
);

/**
 * Repeats a delivery that has ended; false when there is none. Refused with `webhook_not_found` and
 * `too_many_deliveries`.
 */
export const redeliver = (webhookId: string, id: string, { address, requestId }: Origin): Statement<boolean> =>
  mapped(again(webhookId, id, address, requestId), (found) => (found?.written ?? 0) > 0);

/** How many deliveries are repeated, and from when on others were left out; null when none were. */
export interface Redelivered {
  readonly deliveries: number;
  readonly nextSince: string | null;
}

const period = row<Redelivered>(
  'redeliver_period',
  'select written as deliveries, next_since as "nextSince" from app.redeliver_period($1, $2, $3, $4, $5, $6)',
);

/**
 * Repeats the ended deliveries written between `since` and `until`, about 10,000 at most, earliest first. Refused like
 * {@link redeliver}.
 */
export const redeliverRange = (
  webhookId: string,
  { since, until, failedOnly }: { since: string; until: string; failedOnly: boolean },
  { address, requestId }: Origin,
): Statement<Redelivered> =>
  mapped(
    period(webhookId, since, until, failedOnly, address, requestId),
    (found) => found ?? { deliveries: 0, nextSince: null },
  );

const queue = row<{ moved: string | null }, []>('queue_webhooks', 'select app.queue_webhooks()::text as moved');

/**
 * Processes changes: either queues the webhooks with new changes, or takes the first queued webhook and writes its
 * deliveries, if any. Returns whether there may be more. The transaction must have no identity.
 */
export const queueWebhooks = (): Statement<boolean> => mapped(queue(), (found) => (found?.moved ?? null) !== null);

/** A delivery that was claimed for sending. */
export interface ClaimedDelivery {
  id: string;
  /** Number of the change in the stream; null for a test event. */
  seq: string | null;
  event_id: string;
  type: string;
  object_type: string;
  object_id: string;
  deal_id: string | null;
  occurred_at: string;
  /** The number of earlier attempts. */
  attempts: number;
}

/** Deliveries of one webhook that were claimed together, each of a different record. */
export interface ClaimedBatch {
  endpoint_id: string;
  /** Identifies the claim when results are recorded. */
  claim: string;
  url: string;
  /** Whether one of the last attempts took more than three seconds. */
  is_slow: boolean;
  /** Consecutive deliveries whose first attempt failed; from five on, also failed retries. */
  failures: number;
  /** The signing secrets, newest first, sealed, and the ids they are sealed for. */
  secret_ids: string[];
  secrets: string[];
  deliveries: ClaimedDelivery[];
}

const claimed =
  'id, seq::text as seq, event_id, type, object_type, object_id, about_deal as deal_id, occurred_at, attempts';

const take = rows<Omit<ClaimedBatch, 'deliveries'> & ClaimedDelivery, [most: number, mostSlow: number]>(
  'claim_deliveries',
  `select endpoint_id, claim, url, is_slow, failures, secret_ids, secrets, ${claimed} from app.claim_deliveries($1, $2)`,
);

/**
 * Claims due deliveries of at most `most` webhooks, `mostSlow` slow ones among them, one batch for each, for one minute
 * during which nobody else can claim from them.
 */
export const claimDeliveries = (most: number, mostSlow = most): Statement<ClaimedBatch[]> =>
  mapped(take(most, mostSlow), (found) =>
    [...Map.groupBy(found, ({ endpoint_id }) => endpoint_id).values()].map((deliveries) => {
      const { endpoint_id, claim, url, is_slow, failures, secret_ids, secrets } = deliveries[0]!;
      return { endpoint_id, claim, url, is_slow, failures, secret_ids, secrets, deliveries };
    }),
  );

const enter = row<{ entered: boolean }>(
  'enter_for_deliveries',
  'select app.enter_for_deliveries($1, $2, $3, $4) as entered',
);

/**
 * Enters with the API key of a claimed batch's webhook, for the rest of the transaction; false when the key or the
 * claim has ended, when the webhook is off, or when its address or secrets have changed since the batch was claimed.
 */
export const enterForDeliveries = ({ endpoint_id, claim, url, secret_ids }: ClaimedBatch): Statement<boolean> =>
  mapped(enter(endpoint_id, claim, url, secret_ids), (found) => found?.entered ?? false);

const sees = row<{ seen: string[] }>('sees_changes', 'select app.sees_change_events($1)::text[] as seen');

/** The changes of the stream, among these, that the caller may see. */
export const seesChanges = (seqs: readonly string[]): Statement<ReadonlySet<string>> =>
  mapped(sees(seqs), (found) => new Set(found?.seen));

/** The result of one attempt. */
export interface Attempted {
  readonly outcome: 'delivered' | 'failed' | 'dropped';
  readonly url: string | null;
  readonly bytes: number | null;
  readonly digest: string | null;
  readonly status: number | null;
  readonly error: string | null;
  readonly answer: string | null;
  readonly answer_type: string | null;
  readonly millis: number | null;
}

/** The results of a batch, or of a part of it. */
export interface NotedBatch {
  readonly endpoint: string;
  readonly claim: string;
  /** The sender is done; deliveries not attempted are left to the next sender. */
  readonly is_over: boolean;
  /** How many more deliveries of the webhook to claim for this batch, at most 50. */
  readonly more: number;
  /** Deliveries of the batch without a result yet, so that they are not claimed again. */
  readonly held: readonly string[];
  /** In the order in which they ended; `nth` is the number of the delivery's attempt. */
  readonly attempts: readonly (Attempted & { readonly id: string; readonly nth: number })[];
}

const note = rows<ClaimedDelivery & { endpoint_id: string }>(
  'note_deliveries',
  `select endpoint_id, ${claimed} from app.note_deliveries($1)`,
);

/**
 * Records results. Ignores batches whose claim has been superseded, and results already recorded. Returns the
 * deliveries claimed in addition for each batch, by webhook.
 */
export const noteDeliveries = (
  batches: readonly NotedBatch[],
): Statement<ReadonlyMap<string, readonly ClaimedDelivery[]>> =>
  mapped(note(JSON.stringify(batches)), (found) => Map.groupBy(found, ({ endpoint_id }) => endpoint_id));

const purge = row<{ deleted: number }, []>('purge_webhooks', 'select app.purge_webhooks() as deleted');

/**
 * Deletes expired secrets, and in portions deliveries older than 30 days or of removed webhooks; returns how many
 * deliveries.
 */
export const purgeWebhooks = (): Statement<number> => mapped(purge(), (found) => found?.deleted ?? 0);
