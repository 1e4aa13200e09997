/** What was done on deals, as the audit trail tells it to each who may see it, in sentences. */

import { paged, type Page, type Place, type Placed } from '../../database/paging.ts';
import { mapped, rows, type Statement } from '../../database/statement.ts';
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
}

/** What was done, without the calls of tools: what they change leaves its own record. The predicate of the indexes of activity, word for word. */
const isActivity = `a.outcome = 'done' and a.action not like 'tool:%'`;

/** When something was last done on deal `d`, as far as the caller sees: the time of the first record of its activity. */
export const lastActivityAt = `(select a.at from audit_records a where a.deal_id = d.id and ${isActivity}
    order by a.at desc, a.id desc limit 1)`;

type Found = Omit<Activity, 'summary'> & { details: Details };

const told = ({ details, ...activity }: Found): Activity => ({
  ...activity,
  summary: activitySentence(activity.action, details),
});

// Who declined is known by the name that was typed alone.
const actor = `coalesce(u.name, case when a.action = 'invitation.decline' then a.details ->> 'name' end)`;

const fields = `a.id, a.at, a.user_id, ${actor} as user_name, c.name as client_name, a.deal_id, d.title as deal_title, a.action,
  a.outcome, a.details`;

const people = `left join users u on u.id = a.user_id
  left join connected_clients c on c.id = a.client_id
  left join deals d on d.id = a.deal_id`;

const ofDeal = rows<Placed<Found>>(
  'activity_of_deal',
  `select ${fields}, a.at::text as place from (
     select a.* from audit_records a
     where a.deal_id = $1 and ${isActivity} and ($2::text is null or (a.at, a.id) < ($2::timestamptz, $3::uuid))
     order by a.at desc, a.id desc limit $4) a
   ${people}
   order by a.at desc, a.id desc`,
);

/** What was done on a deal, as far as the caller may see, the latest first, in pages. */
export const activityOfDeal = (dealId: string, after: Place | null, limit: number): Statement<Page<Activity>> =>
  paged(ofDeal(dealId, after?.key, after?.id, limit + 1), limit, told);

const lately = rows<Found, []>(
  'activity_lately',
  `select ${fields} from audit_records a ${people}
   where a.id = any (array(select app.latest_activity())) and d.id is not null
   order by a.at desc, a.id desc`,
);

/** What was done lately on any deal that the caller sees, as far as they may see it. */
export const latestActivity = (): Statement<Activity[]> => mapped(lately(), (found) => found.map(told));
