/** What was done on deals, as the audit trail tells it to each who may see it, in sentences. */

import { paged, type Page, type Place, type Placed } from '../../database/paging.ts';
import { rows, type Statement } from '../../database/statement.ts';
import { activitySentence, type Details } from './actions.ts';

export interface Activity {
  id: string;
  at: string;
  user_id: string | null;
  user_name: string | null;
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

/** What was done, without the calls of tools: what they change leaves its own record. The predicate of the indexes of activity, word for word. */
const isActivity = `a.outcome = 'done' and a.action not like 'tool:%'`;

/** When something was last done on deal `d`, as far as the caller sees: the time of the first record of its activity. */
export const lastActivityAt = `(select a.at from audit_records a where a.deal_id = d.id and ${isActivity}
    order by a.at desc, a.id desc limit 1)`;

/** An activity as its query reads it. */
export type Found = Omit<Activity, 'summary' | 'named'> & { details: Details; object_name: string | null };

/** What stands in a sentence for the thing that has a name. */
const unnamed = /\ba (?:document|closing condition|finding)\b/;

/** As it is told, with the name of what it was done to where there is one. */
export function told({ details, object_name: name, ...activity }: Found): Activity {
  const summary = activitySentence(activity.action, details);
  const [before, after] = summary.split(unnamed);
  const named = name !== null && before !== undefined && after !== undefined ? { before, name, after } : null;
  return { ...activity, summary, named };
}

/** SQL for the name of what a record was done to, as its reader sees it. */
export const objectName = (record: string): string =>
  `app.name_in_sight(app.subject_of(${record}.action, ${record}.details), ${record}.subject_id, ${record}.deal_id)`;

// Who declined is known by the name that was typed alone.
/** SQL for the name of user `u`, who did what a record tells. */
export const actor = (record: string): string =>
  `coalesce(u.name, case when ${record}.action = 'invitation.decline' then ${record}.details ->> 'name' end)`;

const ofDeal = rows<Placed<Found>>(
  'activity_of_deal',
  `select a.id, a.at, a.user_id, ${actor('a')} as user_name, c.name as client_name, a.deal_id, d.title as deal_title, a.action,
     a.outcome, a.details, ${objectName('a')} as object_name, a.at::text as place from (
     select a.* from audit_records a
     where a.deal_id = $1 and ${isActivity} and ($2::text is null or (a.at, a.id) < ($2::timestamptz, $3::uuid))
     order by a.at desc, a.id desc limit $4) a
   left join users u on u.id = a.user_id
   left join connected_clients c on c.id = a.client_id
   left join deals d on d.id = a.deal_id
   order by a.at desc, a.id desc`,
);

/** What was done on a deal, as far as the caller may see, the latest first, in pages. */
export const activityOfDeal = (dealId: string, after: Place | null, limit: number): Statement<Page<Activity>> =>
  paged(ofDeal(dealId, after?.key, after?.id, limit + 1), limit, told);
