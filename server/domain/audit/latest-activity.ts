/** What was done lately on any deal, for the first page. */

import { mapped, rows, type Statement } from '../../database/statement.ts';
import { actor, fields, told, type Activity, type Found } from './activity.ts';

// Of somebody of whom the reader may not know on this deal nothing is told but that they did it.
const seenActor = `coalesce(known.name, case when a.user_id is not null then 'Someone' end)`;

// What is joined is looked up for each record of the last eight alone: a join of whole tables would ask their policies of the platform.
const lately = rows<Found, []>(
  'activity_lately',
  `with own as materialized (select app.latest_activity() as id),
   latest as materialized (
     select a.*, d.title from (
       select * from (
         select a.id, a.at, a.user_id, a.client_id, a.deal_id, a.action, a.subject_id, a.outcome, a.details, true as is_own
         from audit_records a where a.id = any (array(select id from own))
         union all
         select s.id, s.at, s.user_id, s.client_id, s.deal_id, s.action, s.subject_id, s.outcome, s.details, false
         from app.activity_in_sight() s where s.id <> all (array(select id from own))) found
       order by at desc, id desc) a
     join lateral (select title from deals where id = a.deal_id limit 1) d on true
     limit 8)
   select ${fields('case when a.is_own then a.user_id else known.id end', `case when a.is_own then ${actor} else ${seenActor} end`)}
   from latest a cross join lateral (select a.title) d
   left join lateral (select name from users where id = a.user_id and a.is_own limit 1) u on true
   left join lateral (select u.id, u.name from participants p join users u on u.id = p.user_id
     where p.deal_id = a.deal_id and p.user_id = a.user_id and not a.is_own limit 1) known on true
   left join lateral (select name from connected_clients where id = a.client_id limit 1) c on true
   order by a.at desc, a.id desc`,
);

/** What was done lately on any deal that the caller sees, as far as they may see it. */
export const latestActivity = (): Statement<Activity[]> => mapped(lately(), (found) => found.map(told));
