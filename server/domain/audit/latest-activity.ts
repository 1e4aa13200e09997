/** What was done lately on any deal, for the first page. */

import { mapped, rows, type Statement } from '../../database/statement.ts';
import { knownPerson } from '../deals/participants.ts';
import { actor, fields, people, told, type Activity, type Found } from './activity.ts';

// Of somebody of whom the reader may not know on this deal nothing is told but that they did it.
const seenActor = `coalesce(actor.name, case when a.user_id is not null then 'Someone' end)`;

const lately = rows<Found, []>(
  'activity_lately',
  `select * from (
     select ${fields} from audit_records a ${people}
     where a.id = any (array(select app.latest_activity())) and d.id is not null
     union all
     select ${fields.replace(actor, seenActor).replace('a.user_id,', 'actor.id as user_id,')} from app.activity_in_sight() a ${people}
     ${knownPerson('actor', 'a.user_id', 'a.deal_id')}
     where d.id is not null and a.id <> all (array(select app.latest_activity()))) found
   order by at desc, id desc limit 8`,
);

/** What was done lately on any deal that the caller sees, as far as they may see it. */
export const latestActivity = (): Statement<Activity[]> => mapped(lately(), (found) => found.map(told));
