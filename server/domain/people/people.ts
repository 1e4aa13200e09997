/** A person's name and brokerage memberships. */

import { row, rows, type Statement } from '../../database/statement.ts';
import { from, type Origin } from '../audit/audited.ts';
import type { MemberRole } from './member-roles.ts';

export interface Membership {
  brokerage_id: string;
  brokerage_name: string;
  role: MemberRole;
  /** Whether the caller may open deals in the brokerage, as `app.open_deal` decides. */
  can_open_deals: boolean;
}

/** The caller's active memberships, by the brokerage's name. */
export const listMemberships: () => Statement<Membership[]> = rows(
  'list_memberships',
  `select b.id as brokerage_id, b.name as brokerage_name, m.role,
    b.id = any ((select app.brokerages_as('admin', 'broker'))::uuid[]) as can_open_deals
  from members m join brokerages b on b.id = m.brokerage_id
  where m.user_id = (select app.user_id()) and m.status = 'active' order by app.folded(b.name), b.id`,
);

// Recorded in each brokerage of the person: its trail shows all their records by the new name from now on.
const rename = row<{ name: string }>(
  'rename_oneself',
  `with held as (select id, name from users where id = (select app.user_id())),
   changed as (update users set name = $3 where id = (select app.user_id()) returning id, name)
   select changed.name from changed join held using (id)
   cross join lateral (
     select count(*) from (
       select app.audit('person.rename', changed.id::text, 'done', m.brokerage_id, null, $1, $2, '{}')
       from (select) once left join members m on m.user_id = changed.id and m.status = 'active'
       where changed.name <> held.name offset 0) records) audited`,
);

/** Changes the caller's name; returns the name as stored. */
export const renameOneself = (name: string, origin: Origin): Statement<{ name: string } | null> =>
  rename(...from(origin), name);
