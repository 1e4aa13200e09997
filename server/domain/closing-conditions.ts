/** What must be done before a deal closes (specification, sections 2.2 and 4.3). */

import { rows } from '../database/statement.ts';

export interface ClosingCondition {
  id: string;
  name: string;
  status: 'open' | 'in_progress' | 'satisfied' | 'waived';
  owner_user_id: string | null;
  /** A date. */
  deadline: string | null;
  completed_at: string | null;
}

/** The closing conditions of a deal, the latest first, at most 100. */
export const closingConditions = rows<ClosingCondition, [dealId: string]>(
  'closing_conditions',
  `select id, name, status, owner_user_id, deadline, completed_at from closing_conditions
   where deal_id = $1 order by created_at desc, id desc limit 100`,
);
