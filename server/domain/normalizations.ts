/** Adjustments that make the earnings of a business comparable (specification, section 4.3; decisions, "Normalization"). */

import { row } from '../database/statement.ts';

export const adjustmentCategories = ['owner_comp', 'related_party', 'one_time', 'other'] as const;
export type AdjustmentCategory = (typeof adjustmentCategories)[number];

/** Records an adjustment, `amount` being a decimal string that fits numeric(20,4). Rejects with Denied to all but editors of the deal's QoE workspace. */
export const createNormalization = row<
  { id: string },
  [dealId: string, periodLabel: string, category: AdjustmentCategory, amount: string, rationale: string | null]
>(
  'create_normalization',
  `insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount, rationale)
   values ($1, $2, $3, $4, $5) returning id`,
);
