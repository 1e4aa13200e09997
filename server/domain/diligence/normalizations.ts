/** Adjustments that make the earnings of a business comparable (specification, section 4.3; decisions, "Normalization"). */

import { row } from '../../database/statement.ts';

export const adjustmentCategories = ['owner_comp', 'related_party', 'one_time', 'other'] as const;
export type AdjustmentCategory = (typeof adjustmentCategories)[number];

/** The most characters of an amount (specification, section 4.3). */
export const longestAmount = 40;

/**
 * A decimal as XML Schema writes one (xs:decimal): digits with at most one point among, before or behind them, and a sign
 * if wanted. No exponent, no separators and no infinity.
 */
export const decimalPattern = '^[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)$';
const decimalShape = new RegExp(decimalPattern);

/** Whether an amount is a decimal; of any length. */
export const isDecimal = (amount: string): boolean => decimalShape.test(amount);

/** Records an adjustment, `amount` being a decimal of at most {@link longestAmount} characters, all of whose decimals are kept. Rejects with Denied to all but editors of the deal's QoE workspace. */
export const createNormalization = row<
  { id: string },
  [dealId: string, periodLabel: string, category: AdjustmentCategory, amount: string, rationale: string | null]
>(
  'create_normalization',
  `insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount, rationale)
   values ($1, $2, $3, $4, $5) returning id`,
);
