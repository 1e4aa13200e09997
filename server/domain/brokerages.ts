/** Brokerages as their members see them. */

import { mapped, row, type Statement } from '../database/statement.ts';
import type { MemberRole } from './members.ts';
import type { Origin } from './origin.ts';

export interface BrokerageOfCaller {
  id: string;
  slug: string;
  name: string;
  created_at: string;
  /** What the caller is there. */
  role: MemberRole;
}

/** A brokerage of which the caller is an active member, or null. */
export const brokerageOfCaller = row<BrokerageOfCaller, [id: string]>(
  'brokerage_of_caller',
  `select b.id, b.slug, b.name, b.created_at, m.role
   from brokerages b join members m on m.brokerage_id = b.id
   where b.id = $1 and m.user_id = (select app.user_id()) and m.status = 'active'`,
);

const rename = row<{ id: string }>(
  'rename_brokerage',
  `with changed as (update brokerages set name = $2 where id = $1 returning id)
   select id, app.audit('brokerage.rename', id::text, 'done', id, null, $3, $4, '{}') from changed`,
);

/** Renames a brokerage; for its admins. False: the caller may change no such brokerage. */
export const renameBrokerage = (id: string, name: string, { address, requestId }: Origin): Statement<boolean> =>
  mapped(rename(id, name, address, requestId), (answer) => answer !== null);
