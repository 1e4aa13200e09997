/** What a person is: their name, and the brokerages that they are a member of. */

import { row, rows, type Statement } from '../../database/statement.ts';
import type { MemberRole } from './member-roles.ts';

export interface Membership {
  brokerage_id: string;
  brokerage_name: string;
  role: MemberRole;
  /** Whether the caller may open deals in it, as `app.open_deal` decides. */
  can_open_deals: boolean;
}

/** The caller's active memberships, by the brokerage's name. */
export const listMemberships: () => Statement<Membership[]> = rows(
  'list_memberships',
  `select b.id as brokerage_id, b.name as brokerage_name, m.role,
    b.id = any ((select app.brokerages_as('admin', 'broker'))::uuid[]) as can_open_deals
  from members m join brokerages b on b.id = m.brokerage_id
  where m.user_id = (select app.user_id()) and m.status = 'active' order by lower(b.name), b.id`,
);

/** Gives the caller another name; the name as it is now. */
export const renameOneself: (name: string) => Statement<{ name: string } | null> = row(
  'rename_oneself',
  `update users set name = $1 where id = (select app.user_id()) returning name`,
);
