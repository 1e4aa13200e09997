/** The people on a deal (specification, section 2.2). */

import { rows } from '../database/statement.ts';

export interface Participant {
  user_id: string;
  role: 'broker' | 'seller' | 'buyer' | 'advisor' | 'viewer';
  status: 'invited' | 'active' | 'removed';
}

/** The people on a deal whom the caller may know of, in the order in which they were added. */
export const participants = rows<Participant, [dealId: string]>(
  'participants',
  'select user_id, role, status from participants where deal_id = $1 order by created_at, id',
);
