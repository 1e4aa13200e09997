/** The activity of deals: the records of the audit trail that the caller may see, as sentences. */

import { behindPlace, pageUpTo, type Page, type Place, type Placed } from '../../database/paging.ts';
import { mapped, rows, type Statement } from '../../database/statement.ts';
import { activitySentence, type Details } from './actions.ts';

export interface Activity {
  id: string;
  at: string;
  user_id: string | null;
  /** Null where no person did it. */
  user_name: string | null;
  /** Who did what no person did: a key, to those who may know that keys reach the deal, its brokerage to others; null where it was the service. */
  actor: 'key' | 'brokerage' | null;
  /** The connected client through which the person did it. */
  client_name: string | null;
  deal_id: string | null;
  deal_title: string | null;
  action: string;
  outcome: string;
  /** What was done, as a sentence without its subject. */
  summary: string;
  /** The same with the name of what it was done to between its two parts, where the reader sees that; null elsewhere. */
  named: { before: string; name: string; after: string } | null;
}

/** What was done, and no calls of tools, because what they change has its own record. The indexes of activity hold these alone. */
const isActivity = 'a.noted';

/** When something was last done on deal `d`, as far as the caller sees: the time of the first record of its activity. */
export const lastActivityAt = `(select a.at from audit_records a where a.deal_id = d.id and ${isActivity}
    order by a.at desc, a.id desc limit 1)`;

/** An activity as its query reads it. */
export type Found = Omit<Activity, 'summary' | 'named'> & { details: Details; object_name: string | null };

/** What stands in a sentence for the thing that has a name. */
const unnamed = /\ba (?:document|closing condition|finding)\b/;

/** As it is shown, with the name of what it was done to where there is one. */
export function activityOf({ details, object_name: name, ...activity }: Found): Activity {
  const summary = activitySentence(activity.action, details);
  const [before, after] = summary.split(unnamed);
  const named = name !== null && before !== undefined && after !== undefined ? { before, name, after } : null;
  return { ...activity, summary, named };
}

/** SQL for the name of what a record was done to, as its reader sees it. */
export const objectName = (record: string): string =>
  `app.name_in_sight(app.subject_of(${record}.action, ${record}.details), ${record}.subject_id, ${record}.deal_id)`;

// Who declined is known by the name that was typed alone; of a person whom the reader may not see on the deal, only the deed is shown.
/** SQL for the columns user_id, user_name, actor and client_name of the actor of a record with `is_own`; needs the joins of {@link actorJoins}. */
export const actorColumns = (record: string): string =>
  `case when ${record}.is_own or known.name is not null then ${record}.user_id end as user_id,
     case when ${record}.is_own then coalesce(u.name, case when ${record}.action = 'invitation.decline' then ${record}.details ->> 'name' end)
       else coalesce(known.name, case when ${record}.user_id is not null then 'Someone' end) end as user_name,
     case when ${record}.action is not null and ${record}.user_id is null then app.unnamed_actor(${record}.id, ${record}.at, ${record}.deal_id) end as actor,
     c.name as client_name`;

// Looked up for each record alone: a join of whole tables would ask their policies of everybody.
/** SQL that joins what {@link actorColumns} reads. */
export const actorJoins = (record: string): string =>
  `left join lateral (select name from users where id = ${record}.user_id and ${record}.is_own limit 1) u on true
   left join lateral (select app.person_in_sight(${record}.user_id, ${record}.deal_id) as name where not ${record}.is_own) known on true
   left join lateral (select name from connected_clients where id = ${record}.client_id limit 1) c on true`;

/** No activity, but the place that was reached, when too many records before it are hidden; the record there, if it is not, comes first. */
interface Reached {
  action: null;
  id: string;
  place: string;
}

// What somebody did on a deal has an index of its own, of this very expression. What all did is read for those alone to whom the policies may show more: others would have it looked through for their own.
const own =
  'a.user_id = (select app.user_id()) and case when a.noted then a.deal_id end = $1 and a.deal_id is not null';
const othersToo = `a.deal_id = $1 and (a.user_id = (select app.user_id())) is not true
          and ($1 = any ((select app.deals_acting_as('broker'))::uuid[]) or (select app.brokerages_as('admin')) <> '{}')`;
const shownOfDeal = (of: string) =>
  `(select a.id, a.at, a.user_id, a.client_id, a.deal_id, a.action, a.subject_id, a.outcome, a.details, true as is_own
        from audit_records a
        where ${of} and ${isActivity}
          and ${behindPlace({ key: 'a.at', type: 'timestamptz', id: 'a.id', direction: 'desc' })}
        order by a.at desc, a.id desc limit (select $4::int))`;

// What the policies show, and what others did to records that the reader could open. With limits that PostgreSQL does not know when it plans, one plan serves all
// requests of a connection: for each number it would make its own anew, which took longer than the rest.
const ofDeal = rows<Placed<Found> | Reached>(
  'activity_of_deal',
  `select a.id, a.at, ${actorColumns('a')}, a.deal_id, d.title as deal_title, a.action,
     a.outcome, a.details, ${objectName('a')} as object_name, a.at::text as place from (
     select * from (
       ${shownOfDeal(own)}
       union all
       ${shownOfDeal(othersToo)}
       union all
       select s.id, s.at, s.user_id, s.client_id, s.deal_id, s.action, s.subject_id, s.outcome, s.details, false
       from app.deal_activity_in_sight($1, $2::timestamptz, $3::uuid, $4::int) s) found
     order by at desc, id desc, action is null limit (select $4::int)) a
   ${actorJoins('a')}
   left join lateral (select title from deals where id = a.deal_id limit 1) d on true
   order by a.at desc, a.id desc, a.action is null`,
);

/** What was done on a deal, as far as the caller may see, the latest first, in pages, which may be short or empty before the last one. */
export const activityOfDeal = (dealId: string, after: Place | null, limit: number): Statement<Page<Activity>> =>
  mapped(ofDeal(dealId, after?.key, after?.id, limit + 1), (found) =>
    pageUpTo(found, (one): one is Reached => one.action === null, limit, activityOf),
  );
