/** Brokerages as their members see them. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { MemberRole } from './member-roles.ts';
import { tookPlace, type Origin } from '../audit/audited.ts';

export interface BrokerageOfCaller {
  id: string;
  slug: string;
  name: string;
  created_at: string;
  /** Whether its members are nobody there without a second factor. */
  requires_second_factor: boolean;
  /** Whether deals that people make here are open to its API keys from the start. */
  admit_keys_by_default: boolean;
  /** What the caller is there. */
  role: MemberRole;
  /** When it is deleted with all that it has; null: it is not. */
  deleted_at: string | null;
  /** Who asked for that; null: the operator. */
  deletion_asked_by: string | null;
  /** When its logo was uploaded; null: it has none. */
  logo_at: string | null;
}

/**
 * A brokerage of which the caller is an active member, or null. The roles are those of all members: what a caller is not a member of is known by
 * them before the policy puts together the brokerages of all their deals.
 */
export const brokerageOfCaller = row<BrokerageOfCaller, [id: string]>(
  'brokerage_of_caller',
  `select b.id, b.slug, b.name, b.created_at, b.requires_second_factor, b.admit_keys_by_default, m.role, d.due_at as deleted_at, d.asked_by as deletion_asked_by,
     l.updated_at as logo_at
   from brokerages b join members m on m.brokerage_id = b.id left join app.brokerage_deletion(b.id) d on true
     left join brokerage_logos l on l.brokerage_id = b.id
   where b.id = $1 and b.id = any ((select app.brokerages_as('admin', 'broker', 'staff'))::uuid[])
     and m.user_id = (select app.user_id()) and m.status = 'active'`,
);

const rename = row<{ id: string }>(
  'rename_brokerage',
  `with changed as (update brokerages set name = $2 where id = $1 returning id)
   select id, app.audit('brokerage.rename', id::text, 'done', id, null, $3, $4, '{}') from changed`,
);

/** Renames a brokerage; for its admins. False: the caller may change no such brokerage. */
export const renameBrokerage = (id: string, name: string, { address, requestId }: Origin): Statement<boolean> =>
  tookPlace(rename(id, name, address, requestId));

const demand = row<{ done: boolean }>(
  'require_second_factor',
  'select app.require_second_factor($1, $2, $3, $4) as done',
);

/**
 * Asks the members of a brokerage for a second factor, or no longer; for its admins, with a recent sign-in. False: the
 * caller is none. Refused with `second_factor_missing` to an admin who has not shown one in this session.
 */
export const requireSecondFactor = (
  id: string,
  required: boolean,
  { address, requestId }: Origin,
): Statement<boolean> => mapped(demand(id, required, address, requestId), (answer) => answer?.done ?? false);

interface SecondFactorOwed {
  brokerage_id: string;
  brokerage_name: string;
  /** Whether they have one: then signing in with it is enough. */
  has_one: boolean;
}

/** The brokerages of the caller that are closed to them until they show a second factor. */
export const secondFactorOwed = rows<SecondFactorOwed, []>(
  'second_factor_owed',
  'select brokerage_id, brokerage_name, has_one from app.second_factor_owed()',
);
