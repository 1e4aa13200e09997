/** The audit trail for people: their own records and, for admins, those of their brokerage. */

import { paged, type Page, type Place, type Placed } from '../../database/paging.ts';
import { rows, type Statement } from '../../database/statement.ts';
import { nameInRecord } from '../people/former-names.ts';

export interface AuditRecord {
  id: string;
  at: string;
  user_id: string | null;
  user_name: string | null;
  client_id: string | null;
  client_name: string | null;
  key_id: string | null;
  key_name: string | null;
  deal_id: string | null;
  deal_title: string | null;
  address: string | null;
  request_id: string | null;
  action: string;
  subject_id: string | null;
  outcome: string;
  details: Record<string, unknown>;
}

export interface AuditFilter {
  /** Null for the caller's own records in all places. */
  readonly brokerageId: string | null;
  readonly userId: string | null;
  /** Requires a transaction that sees this deal alone (`withinDeal`). */
  readonly dealId: string | null;
  /** A prefix of the action: "deal." or "tool:svc_deals_list". */
  readonly action: string | null;
  readonly outcome: 'done' | 'refused' | null;
  /** RFC 3339; `from` is inclusive, `to` exclusive. */
  readonly from: string | null;
  readonly to: string | null;
  readonly after: Place | null;
  readonly limit: number;
}

/** SQL for the name of the client through which somebody acted, a deleted one's too; `record` is one that the policies show. */
export const clientName = (record: string): string =>
  `case when ${record}.client_id is not null then app.client_of_record(${record}.id, ${record}.at) end`;

// Selects the records first, so that names are looked up only for the records returned, and those of clients once each.
// Records have no text that a person wrote: the name of a key that was made comes from the key, and that of somebody
// who never joined the brokerage from their invitation.
const shown = (name: string, records: string) =>
  rows<Placed<AuditRecord>>(
    name,
    `with found as materialized (select * from ${records}),
     clients as materialized (
       select f.client_id, ${clientName('f')} as name
       from (select distinct on (client_id) client_id, id, at from found where client_id is not null) f)
     select a.id, a.at, a.user_id, coalesce(${nameInRecord('u', 'a.user_id', 'a.deal_id', 'a.brokerage_id')}, declined.invited_name) as user_name, a.client_id, c.name as client_name,
       a.key_id, k.name as key_name, a.deal_id,
       d.title as deal_title, host(a.address) as address, a.request_id, a.action, a.subject_id, a.outcome,
       case when made.name is null then a.details else a.details || jsonb_build_object('name', made.name) end as details,
       a.at::text as place
     from found a
     left join users u on u.id = a.user_id
     left join clients c on c.client_id = a.client_id
     left join api_keys k on k.id = a.key_id
     left join deals d on d.id = a.deal_id
     left join api_keys made on made.id = case when a.action = 'api_key.create' then a.subject_id::uuid end
     left join members declined on a.user_id is null and a.deal_id is null and declined.brokerage_id = a.brokerage_id
       and declined.invitation_id = case when a.action = 'invitation.decline' then a.subject_id::uuid end
     order by a.at desc, a.id desc`,
  );

/** The outcomes that count as success; `app.audit_of_brokerage` has the same list. */
const wentWell = `('done', 'ok', 'repeated')`;

const ofBrokerage = shown(
  'audit_of_brokerage',
  `(select r.* from audit_records r where r.id = any (array(
      select app.audit_of_brokerage($1, $2, $3, $4::text = 'done', $5, $6, $7, $8, $9)))) a`,
);
/** SQL for the caller's latest records; `$1` to `$9` are the parameters from {@link auditRecords}. */
const latestOfCaller = (conditions: string) =>
  `(select r.* from audit_records r
     where $1::uuid is null and r.user_id = (select app.user_id())
       and ($2::uuid is null or r.user_id = $2)
       and ($5::timestamptz is null or r.at >= $5)
       and ($6::timestamptz is null or r.at < $6)
       and ($7::text is null or (r.at, r.id) < ($7::timestamptz, $8::uuid))
       and ${conditions}
     order by r.at desc, r.id desc limit $9)`;
const ofCaller = (name: string, outcome: string) =>
  shown(name, `${latestOfCaller(`($3::text is null or starts_with(r.action, $3)) and ${outcome}`)} a`);
const allOutcomes = `($4::text is null or r.outcome in ${wentWell})`;
const allOfCaller = ofCaller('audit_of_caller', allOutcomes);
// A separate statement, as PostgreSQL uses the index on refused records only if no parameter is in the condition.
const refusedOfCaller = ofCaller('audit_of_caller_refused', `$4::text = 'refused' and r.outcome not in ${wentWell}`);
// Goes through the index by kind one kind at a time, as `app.audit_of_brokerage` does: there are few kinds, but
// possibly hundreds of thousands of records.
const nextKind = (beyond: string) =>
  `(select r.action collate "C" from audit_records r
     where r.user_id = (select app.user_id()) and r.action not like 'tool:%' and r.action collate "C" ${beyond}
     order by r.action collate "C" limit 1)`;
const kindOfCaller = shown(
  'audit_of_caller_kind',
  `(with recursive kinds (action) as (
      ${nextKind('>= $3::text')}
      union all
      select ${nextKind('> k.action')} from kinds k where starts_with(k.action, $3))
    select r.* from kinds k cross join lateral ${latestOfCaller(`r.action not like 'tool:%' and r.action collate "C" = k.action and ${allOutcomes}`)} r
    where starts_with(k.action, $3) order by r.at desc, r.id desc limit $9) a`,
);

// The records of one deal are few, and their index has the order of the list.
const ofDeal = shown(
  'audit_of_deal',
  `(select r.* from audit_records r
     where r.deal_id = $10 and case when $1::uuid is null then r.user_id = (select app.user_id()) else r.brokerage_id = $1 end
       and ($2::uuid is null or r.user_id = $2)
       and ($3::text is null or starts_with(r.action, $3))
       and ($4::text is null or ($4 = 'done') = (r.outcome in ${wentWell}))
       and ($5::timestamptz is null or r.at >= $5)
       and ($6::timestamptz is null or r.at < $6)
       and ($7::text is null or (r.at, r.id) < ($7::timestamptz, $8::uuid))
     order by r.at desc, r.id desc limit $9) a`,
);

/** Whether no tool call begins with this prefix; tool calls are not in the index by kind. */
const isKind = (beginning: string | null): boolean =>
  beginning !== null && !beginning.startsWith('tool:') && !'tool:'.startsWith(beginning);

/** The matching records that the caller may see, newest first, in pages. */
export function auditRecords(filter: AuditFilter): Statement<Page<AuditRecord>> {
  const { brokerageId, userId, dealId, action, outcome, from, to, after, limit } = filter;
  const own = outcome === 'refused' ? refusedOfCaller : isKind(action) ? kindOfCaller : allOfCaller;
  const found = brokerageId === null ? own : ofBrokerage;
  const asked = [brokerageId, userId, action, outcome, from, to, after?.key, after?.id, limit + 1] as const;
  const all = dealId === null ? found(...asked) : ofDeal(...asked, dealId);
  return paged(all, limit, (record) => record);
}
