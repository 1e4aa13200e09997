/** Deliveries of webhooks: their log, and what is needed to make them (083_webhooks.sql). */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

/** What becomes of a delivery. `dropped`: the key does not see the record any more. */
export const deliveryStates = ['waiting', 'delivered', 'failed', 'dropped'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

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

const columns = `about_deal, id, event_id, type, object_type, object_id, is_again, state, attempts, next_attempt_at, created_at, last_attempt_at, ended_at,
  sent_to, sent_bytes, sent_digest, status, error, answer, answer_type, millis`;
const fields = columns.replaceAll(/\w+/g, 'd.$&').replace('d.about_deal', '$& as deal_id');

/**
 * What a page of one state is read from. Of those that wait there are some thousands at most: all are read by their own index, and then put in order, since there may
 * be few of them in a long log, which would be read from one end to the other for them.
 */
const ofState = (state: DeliveryState | null): string =>
  state === 'waiting'
    ? `(select nr, ${columns} from webhook_deliveries w where w.endpoint_id = e.id and w.state = 'waiting' offset 0) d where true`
    : `webhook_deliveries d where d.endpoint_id = e.id${state === null ? '' : ` and d.state = '${state}'`}`;

/**
 * SQL of a page of the log of webhook $1 of $2 rows; a row without `id` for a log with none. One plan serves every number of rows,
 * since PostgreSQL does not know it when it plans; a state is written out, since it must know whether an index is for it.
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
  // Of the same millisecond, those that were written before it. When it is cleared away meanwhile, so are they.
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
 * Those of a webhook, the newest first, or those behind a place in that list; null when the caller does not see the webhook.
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

/** One of a webhook, or null. */
export const deliveryById = row<Delivery, [webhookId: string, id: string]>(
  'delivery',
  `select ${fields} from webhook_deliveries d where d.endpoint_id = $1 and d.id = $2`,
);

const again = row<{ written: number }>(
  'redeliver',
  'select app.redeliver($1, $2, null, null, false, $3, $4) as written',
);

/** Sends one that has ended again; false when there is none. Refused with `webhook_not_found` and `too_many_deliveries`. */
export const redeliver = (webhookId: string, id: string, { address, requestId }: Origin): Statement<boolean> =>
  mapped(again(webhookId, id, address, requestId), (found) => (found?.written ?? 0) > 0);

/** How many are sent again, and from when on others were left out: null when none were. */
export interface Redelivered {
  readonly deliveries: number;
  readonly nextSince: string | null;
}

const period = row<Redelivered>(
  'redeliver_period',
  'select written as deliveries, next_since as "nextSince" from app.redeliver_period($1, $2, $3, $4, $5, $6)',
);

/** Sends those again that were written within a time and have ended, the earliest 10,000 of them. Refused as {@link redeliver} is. */
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
 * Goes on with what has changed: puts webhooks of which something has into the line, or takes the first of it and writes deliveries, where there are any to write. Whether there may be more.
 * Nobody has entered.
 */
export const queueWebhooks = (): Statement<boolean> => mapped(queue(), (found) => (found?.moved ?? null) !== null);

/** A delivery that was taken to be made. */
export interface ClaimedDelivery {
  id: string;
  /** Of the change in the stream; null for a test event. */
  seq: string | null;
  event_id: string;
  type: string;
  object_type: string;
  object_id: string;
  deal_id: string | null;
  occurred_at: string;
  /** How often it was tried before. */
  attempts: number;
}

/** Deliveries of one webhook that were taken together, each of another record. */
export interface ClaimedBatch {
  endpoint_id: string;
  /** Named when what became of them is noted. */
  claim: string;
  url: string;
  /** Attempts in a row that have failed. */
  failures: number;
  /** The secrets that sign them, the newest first, as they were sealed, and for which id. */
  secret_ids: string[];
  secrets: string[];
  deliveries: ClaimedDelivery[];
}

const claimed =
  'id, seq::text as seq, event_id, type, object_type, object_id, about_deal as deal_id, occurred_at, attempts';

const take = rows<Omit<ClaimedBatch, 'deliveries'> & ClaimedDelivery, [most: number]>(
  'claim_deliveries',
  `select endpoint_id, claim, url, failures, secret_ids, secrets, ${claimed} from app.claim_deliveries($1)`,
);

/** Takes batches of up to so many webhooks: what is due of each, for a minute in which nobody else takes from it. */
export const claimDeliveries = (most: number): Statement<ClaimedBatch[]> =>
  mapped(take(most), (found) =>
    [...Map.groupBy(found, ({ endpoint_id }) => endpoint_id).values()].map((deliveries) => {
      const { endpoint_id, claim, url, failures, secret_ids, secrets } = deliveries[0]!;
      return { endpoint_id, claim, url, failures, secret_ids, secrets, deliveries };
    }),
  );

const enter = row<{ entered: boolean }>(
  'enter_for_deliveries',
  'select app.enter_for_deliveries($1, $2, $3, $4) as entered',
);

/**
 * Enters with the key of a webhook of which a batch was taken, for the rest of the transaction; false when the key has ended, or the claim has, or the webhook has another
 * address or other secrets than the batch was taken with.
 */
export const enterForDeliveries = ({ endpoint_id, claim, url, secret_ids }: ClaimedBatch): Statement<boolean> =>
  mapped(enter(endpoint_id, claim, url, secret_ids), (found) => found?.entered ?? false);

const sees = row<{ seen: string[] }>('sees_changes', 'select app.sees_change_events($1)::text[] as seen');

/** Which of these changes of the stream the caller sees. */
export const seesChanges = (seqs: readonly string[]): Statement<ReadonlySet<string>> =>
  mapped(sees(seqs), (found) => new Set(found?.seen));

/** How an attempt went. */
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

/** What became of a batch, or of a part of it. */
export interface NotedBatch {
  readonly endpoint: string;
  readonly claim: string;
  /** Nothing more is sent of it: what was not tried is left to the next sender. */
  readonly is_over: boolean;
  /** How many more to take of the webhook for this batch, 50 at most. */
  readonly more: number;
  /** Those of the batch that are not noted yet, so that they are not taken again. */
  readonly held: readonly string[];
  /** In the order in which they ended; `nth`: which attempt of the delivery it was. */
  readonly attempts: readonly (Attempted & { readonly id: string; readonly nth: number })[];
}

const note = rows<ClaimedDelivery & { endpoint_id: string }>(
  'note_deliveries',
  `select endpoint_id, ${claimed} from app.note_deliveries($1)`,
);

/** Notes it; nothing of a batch that another claim has followed, and nothing twice. Answers with what was taken of each webhook for the same batch. */
export const noteDeliveries = (
  batches: readonly NotedBatch[],
): Statement<ReadonlyMap<string, readonly ClaimedDelivery[]>> =>
  mapped(note(JSON.stringify(batches)), (found) => Map.groupBy(found, ({ endpoint_id }) => endpoint_id));

const purge = row<{ deleted: number }, []>('purge_webhooks', 'select app.purge_webhooks() as deleted');

/** Deletes deliveries of 30 days ago, and secrets that have ended, so many at a time; how many these were. */
export const purgeWebhooks = (): Statement<number> => mapped(purge(), (found) => found?.deleted ?? 0);
