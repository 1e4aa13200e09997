/** The activity of deals: the records of the audit trail that the caller may see, as sentences. */

import { behindPlace, pageUpTo, type Page, type Place, type Placed } from '../../database/paging.ts';
import { mapped, rows, type Statement } from '../../database/statement.ts';
import { activitySentence, type Details } from './actions.ts';
import { nameOnDeal } from '../people/former-names.ts';
import { clientName } from './records.ts';

export interface Activity {
  id: string;
  at: string;
  user_id: string | null;
  /** Null where no person did this. */
  user_name: string | null;
  /**
   * Who acted where no person did: `key` for readers who may know that API keys reach the deal, `brokerage` for other
   * readers; null for a person and for the service.
   */
  actor: 'key' | 'brokerage' | null;
  /** The connected client that the person used, for readers to whom the audit trail shows the record. */
  client_name: string | null;
  deal_id: string | null;
  deal_title: string | null;
  action: string;
  outcome: string;
  /** A sentence without its subject. */
  summary: string;
  /** The same sentence in two parts with the name of the object between them, if the reader sees it; otherwise null. */
  named: { before: string; name: string; after: string } | null;
}

/**
 * Excludes tool calls, as each change that they make has its own record. The indexes on activity contain these rows
 * only.
 */
const isActivity = 'a.noted';

/** SQL for the time of the last activity on deal `d` that the caller may see. */
export const lastActivityAt = `(select a.at from audit_records a where a.deal_id = d.id and ${isActivity}
    order by a.at desc, a.id desc limit 1)`;

/** An activity as read from the database. */
export type Found = Omit<Activity, 'summary' | 'named'> & { details: Details; object_name: string | null };

/** The words in a sentence that stand for the named object. */
const unnamed = /\ba (?:document|closing condition|finding)\b/;

/** An activity for display, with the name of its object if there is one. */
export function activityOf({ details, object_name: name, ...activity }: Found): Activity {
  const summary = activitySentence(activity.action, details);
  const [before, after] = summary.split(unnamed);
  const named = name !== null && before !== undefined && after !== undefined ? { before, name, after } : null;
  return { ...activity, summary, named };
}

/** SQL for the name of a record's object, if the reader may see it. */
export const objectName = (record: string): string =>
  `app.name_in_sight(app.subject_of(${record}.action, ${record}.details), ${record}.subject_id, ${record}.deal_id)`;

// The only name known of somebody who declined an invitation is the one that was typed. A person whom the reader may
// not see on the deal is shown as "Someone".
/** SQL for the columns user_id, user_name, actor and client_name of the actor of a record with `is_own`; needs the joins of {@link actorJoins}. */
export const actorColumns = (record: string): string =>
  `case when ${record}.is_own or known.name is not null then ${record}.user_id end as user_id,
     case when ${record}.is_own then coalesce(u.name, case when ${record}.action = 'invitation.decline' then ${record}.details ->> 'name' end)
       else coalesce(known.name, case when ${record}.user_id is not null then 'Someone' end) end as user_name,
     case when ${record}.action is not null and ${record}.user_id is null then app.unnamed_actor(${record}.id, ${record}.at, ${record}.deal_id) end as actor,
     case when ${record}.is_own then ${clientName(record)} end as client_name`;

// Looked up for each record: joining whole tables would evaluate their policies for every person.
/** SQL that joins what {@link actorColumns} reads. */
export const actorJoins = (record: string): string =>
  `left join lateral (select ${nameOnDeal('k', 'k.id', `${record}.deal_id`)} as name from users k where k.id = ${record}.user_id and ${record}.is_own limit 1) u on true
   left join lateral (select app.person_in_sight(${record}.user_id, ${record}.deal_id) as name where not ${record}.is_own) known on true`;

/**
 * Marks the place that was reached when too many records before it are hidden. A visible record at that place comes
 * before the mark.
 */
interface Reached {
  action: null;
  id: string;
  place: string;
}

// The caller's own records on a deal have an index on exactly this expression. Records of others are read only for
// callers to whom the policies may show more than their own: for anyone else, PostgreSQL would scan all of them in
// vain.
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

// The records that the policies show, and other people's records about objects that the reader could open. With limits
// unknown at planning time, one plan serves all requests of a connection; otherwise PostgreSQL would plan anew for each
// limit, which took longer than the query.
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

/**
 * The activity on a deal that the caller may see, newest first, in pages; pages before the last one may be short or
 * empty.
 */
export const activityOfDeal = (dealId: string, after: Place | null, limit: number): Statement<Page<Activity>> =>
  mapped(ofDeal(dealId, after?.key, after?.id, limit + 1), (found) =>
    pageUpTo(found, (one): one is Reached => one.action === null, limit, activityOf),
  );
