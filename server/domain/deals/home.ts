/** The first page: what waits for the caller on each deal, and how their deals stand. */

import { rows } from '../../database/statement.ts';
import { dealState, withStage, type DealState } from './deals.ts';

export type QueueKind =
  | 'questions_to_review'
  | 'questions_to_answer'
  | 'answers_to_distribute'
  | 'answers_to_read'
  | 'ndas_to_sign'
  | 'ndas_unsigned'
  | 'offers_to_consider'
  | 'offer_changes_to_decide'
  | 'offer_changes_with_broker'
  | 'conditions_due'
  | 'findings_open';

export interface QueueEntry {
  kind: QueueKind;
  deal_id: string;
  deal_title: string;
  count: number;
  /** When the first is due; null where nothing is due. */
  due_at: string | null;
  /** Since when the oldest waits; null where something is due. */
  waiting_since: string | null;
}

const asBroker = `any ((select app.deals_acting_as('broker'))::uuid[])`;
const asSeller = `any ((select app.deals_acting_as('seller'))::uuid[])`;

/** One kind of what waits: `what` stands between `from` and the grouping by deal, and `t` is the record. */
const waiting = (kind: QueueKind, since: string, what: string): string =>
  `select '${kind}' as kind, t.deal_id, count(*)::int as count, null::timestamptz as due_at, min(${since}) as waiting_since
   from ${what} group by t.deal_id`;

const unsigned = `t.status = 'sent' and (t.expires_at is null or t.expires_at > app.now())`;

const kinds = [
  waiting(
    'questions_to_review',
    't.asked_at',
    `questions t where t.status = 'pending_broker_review' and t.deal_id = ${asBroker}`,
  ),
  waiting(
    'questions_to_answer',
    't.updated_at',
    `questions t where t.status = 'with_seller' and t.deal_id = ${asSeller}`,
  ),
  waiting(
    'answers_to_distribute',
    't.updated_at',
    `questions t where t.status = 'answered' and t.deal_id = ${asBroker}`,
  ),
  waiting(
    'answers_to_read',
    't.distributed_at',
    `questions t where t.status = 'distributed' and t.participant_id = any ((select app.principals())::uuid[])
       and app.is_unread(t.deal_id, t.participant_id, t.distributed_at)`,
  ),
  waiting(
    'ndas_to_sign',
    't.sent_at',
    `ndas t join participants p on p.id = t.participant_id
     where p.user_id = (select app.user_id()) and p.status = 'active' and ${unsigned}`,
  ),
  waiting('ndas_unsigned', 't.sent_at', `ndas t where t.deal_id = ${asBroker} and ${unsigned}`),
  waiting(
    'offers_to_consider',
    't.submitted_at',
    `offers t join deals d on d.id = t.deal_id ${withStage}
     where t.is_current and (t.deal_id = ${asBroker} or t.deal_id = ${asSeller})
       and ${dealState} in ('listed', 'under_offer')`,
  ),
  // Who does not decide, the seller and the buyer's side, is told whom it waits for.
  ...(['offer_changes_to_decide', 'offer_changes_with_broker'] as const).map((kind) =>
    waiting(
      kind,
      't.submitted_at',
      `exclusivities x
       join offers t on t.participant_id = x.participant_id and t.is_current
       left join offer_decisions c on c.offer_id = t.id
       where x.ended_at is null and c.offer_id is null and ${
         kind === 'offer_changes_to_decide'
           ? `t.deal_id = ${asBroker}`
           : `(t.deal_id = ${asSeller} or t.participant_id = any ((select app.principals())::uuid[]))`
       } and app.accepted_offer(t.deal_id) is not null`,
    ),
  ),
  // A week ahead: one's own, and for brokers those that nobody has or nobody has met in time.
  `select 'conditions_due', t.deal_id, count(*)::int, min(app.end_of(t.deadline)), null
   from closing_conditions t
   where t.status in ('open', 'in_progress') and app.end_of(t.deadline) <= app.now() + interval '7 days'
     and (t.owner_user_id = (select app.user_id())
       or (t.deal_id = ${asBroker} and (t.owner_user_id is null or app.end_of(t.deadline) <= app.now())))
   group by t.deal_id`,
  waiting(
    'findings_open',
    't.created_at',
    `findings t where $1 and t.status = 'open' and t.owner_user_id = (select app.user_id())`,
  ),
];

/** What waits for the caller, what is due or has waited longest first; findings only where that feature is on. */
export const queue = rows<QueueEntry, [withFindings: boolean]>(
  'home_queue',
  `select w.kind, w.deal_id, d.title as deal_title, w.count, w.due_at, w.waiting_since
   from (${kinds.join('\n union all ')}) w
   join deals d on d.id = w.deal_id and d.state not in ('closed', 'withdrawn')
   order by coalesce(w.due_at, w.waiting_since), w.deal_id, w.kind
   limit 200`,
);

export interface RunningExclusivity {
  deal_id: string;
  deal_title: string;
  expires_at: string;
}

/** The exclusivities that run and that the caller knows of, the first to end first, at most 20. */
export const runningExclusivities = rows<RunningExclusivity, []>(
  'home_exclusivities',
  `select x.deal_id, d.title as deal_title, x.expires_at
   from exclusivities x join deals d on d.id = x.deal_id join deal_stages g on g.deal_id = d.id
   where x.ended_at is null and x.expires_at > app.now()
   order by x.expires_at, x.deal_id limit 20`,
);

/** How many deals that the caller sees are in each state. */
export const dealsByState = rows<{ state: DealState; count: number }, []>(
  'home_deals_by_state',
  `select ${dealState} as state, count(*)::int as count from deals d ${withStage} group by 1 order by 1`,
);
