/** The people on a deal (specification, section 2.2). */

import { rows } from '../../database/statement.ts';
import { seenDeal } from './deals.ts';

export interface Participant {
  /** Their account; until they have accepted, that of their invitation, which tells nothing of an account. */
  user_id: string;
  role: 'broker' | 'seller' | 'buyer' | 'advisor' | 'viewer';
  status: 'invited' | 'active' | 'removed';
}

/**
 * Joins the person whose user id stands in `id` as `name` (so `name.id` and `name.name`), on the deal whose id stands in
 * `deal`: with nulls, unless the caller may know that this person takes part in that deal. Somebody whom they know from
 * another deal is nobody here.
 */
export const knownPerson = (name: string, id: string, deal: string): string =>
  `left join (participants ${name}_part join users ${name} on ${name}.id = ${name}_part.user_id)
    on ${name}_part.deal_id = ${deal} and ${name}_part.user_id = ${id}`;

/**
 * The people on a deal whom the caller may know of, in the order in which they were added. */
export const participants = rows<Participant, [dealId: string]>(
  'participants',
  `select person_id as user_id, role, status from participants
   where deal_id = ${seenDeal('$1')}
   order by created_at, id`,
);
