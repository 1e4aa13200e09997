/** Brokerages as their members see them. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { MemberRole } from './member-roles.ts';
import { tookPlace, type Origin } from '../audit/audited.ts';

export interface BrokerageOfCaller {
  id: string;
  slug: string;
  name: string;
  created_at: string;
  /** Whether members without a second factor have no access to the brokerage. */
  requires_second_factor: boolean;
  /** Whether deals that people create here are open to the brokerage's API keys from the start. */
  admit_keys_by_default: boolean;
  /** The caller's role in the brokerage. */
  role: MemberRole;
  /** When the brokerage is deleted with all its data; null when no deletion is scheduled. */
  deleted_at: string | null;
  /** Who requested the deletion; null: the operator. */
  deletion_asked_by: string | null;
  /** When the logo was uploaded; null when there is none. */
  logo_at: string | null;
}

/**
 * A brokerage of which the caller is an active member, or null. The listed roles are those of all members: they exclude
 * other brokerages before the policy collects the brokerages of all deals of the caller.
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

/** Renames a brokerage; for its admins. False: there is no such brokerage that the caller may change. */
export const renameBrokerage = (id: string, name: string, { address, requestId }: Origin): Statement<boolean> =>
  tookPlace(rename(id, name, address, requestId));

const demand = row<{ done: boolean }>(
  'require_second_factor',
  'select app.require_second_factor($1, $2, $3, $4) as done',
);

/**
 * Sets whether the members of a brokerage need a second factor; for its admins, with a recent sign-in. False: the
 * caller is not an admin. Refused with `second_factor_missing` to an admin who has not shown a second factor in this
 * session.
 */
export const requireSecondFactor = (
  id: string,
  required: boolean,
  { address, requestId }: Origin,
): Statement<boolean> => mapped(demand(id, required, address, requestId), (answer) => answer?.done ?? false);

interface SecondFactorOwed {
  brokerage_id: string;
  brokerage_name: string;
  /** Whether the caller has a second factor: signing in with it is then enough. */
  has_one: boolean;
}

/** The brokerages of the caller that are inaccessible until the caller shows a second factor. */
export const secondFactorOwed = rows<SecondFactorOwed, []>(
  'second_factor_owed',
  'select brokerage_id, brokerage_name, has_one from app.second_factor_owed()',
);
