/** What must be done before a deal closes (specification, sections 2.2 and 4.3). */

import { rows } from '../../database/statement.ts';
import { seenDeal } from './deals.ts';
import { knownPerson } from './participants.ts';

export interface ClosingCondition {
  id: string;
  name: string;
  status: 'open' | 'in_progress' | 'satisfied' | 'waived';
  /** Null also when the caller may not know of the person. */
  owner_user_id: string | null;
  /** A date. */
  deadline: string | null;
  completed_at: string | null;
}

/** The closing conditions of a deal, the latest first, at most 100. */
export const closingConditions = rows<ClosingCondition, [dealId: string]>(
  'closing_conditions',
  `select c.id, c.name, c.status, owner.id as owner_user_id, c.deadline, c.completed_at
   from closing_conditions c ${knownPerson('owner', 'c.owner_user_id', 'c.deal_id')}
   where c.deal_id = ${seenDeal('$1')} order by c.created_at desc, c.id desc limit 100`,
);
