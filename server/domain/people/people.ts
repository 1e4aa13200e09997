/** A person's name and brokerage memberships. */

import { row, rows, type Statement } from '../../database/statement.ts';
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
  where m.user_id = (select app.user_id()) and m.status = 'active' order by lower(b.name), b.id`,
);

/** Changes the caller's name; returns the name as stored. */
export const renameOneself: (name: string) => Statement<{ name: string } | null> = row(
  'rename_oneself',
  `update users set name = $1 where id = (select app.user_id()) returning name`,
);
