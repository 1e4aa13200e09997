/** Questions of buyers, which a broker reviews and the seller answers (specification, sections 2.2 and 4.3). */

import { row, rows } from '../../database/statement.ts';
import { seenDeal } from '../deals/deals.ts';

export const questionCategories = [
  'financials',
  'operations',
  'customers',
  'employees',
  'legal',
  'tax',
  'real_estate',
  'technology',
  'transaction',
  'other',
] as const;
export type QuestionCategory = (typeof questionCategories)[number];

export interface Question {
  id: string;
  category: QuestionCategory;
  status: 'pending_broker_review' | 'with_seller' | 'answered' | 'distributed' | 'rejected' | 'withdrawn';
  asked_at: string;
  question_text: string;
  /** What the asker is told; null until the broker distributes it. */
  distributed_response: string | null;
}

/** The questions on a deal that the caller may read, the latest first, at most 200; of one status where that is given. */
export const questions = rows<Question, [dealId: string, status: string | null]>(
  'questions',
  `select id, category, status, asked_at, question_text, distributed_response from questions
   where deal_id = ${seenDeal('$1')} and ($2::text is null or status = $2)
   order by asked_at desc, id desc
   limit 200`,
);

/**
 * Asks for the caller's side, under broker review. Refused with `not_a_buyer`, `no_active_nda`, `no_broker_review`,
 * `deal_over` or `deal_closed`; rejects with Denied when the caller takes no part in such a deal.
 */
export const createQuestion = row<{ id: string }, [dealId: string, category: QuestionCategory, text: string]>(
  'create_question',
  'insert into questions (deal_id, category, question_text) values ($1, $2, $3) returning id',
);
