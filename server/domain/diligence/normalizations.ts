/** Adjustments that make the earnings of a business comparable (specification, section 4.3; docs/books.md, "Earnings"). */

import { row, rows, type Statement } from '../../database/statement.ts';
import { addedId, audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { onOpenDeal } from '../deals/deals.ts';
import { knownPerson } from '../deals/participants.ts';
import { listOfDeal, recordsByIds } from '../visibility/list-of-deal.ts';

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

interface NormalizationOnPage {
  id: string;
  deal_id: string;
  period_label: string;
  adjustment_category: AdjustmentCategory;
  adjustment_amount: string;
  rationale: string | null;
  /** Null, like the name, when the caller may not know of them. */
  created_by: string | null;
  created_by_name: string | null;
  created_at: string;
  can_delete: boolean;
}

const normalizationSelect = `
  select n.id, n.deal_id, n.period_label, n.adjustment_category, n.adjustment_amount, n.rationale, u.id as created_by,
    u.name as created_by_name, n.created_at,
    ${onOpenDeal('n')} and n.deal_id = any ((select app.qoe_deals(true))::uuid[]) as can_delete
  from normalizations n ${knownPerson('u', 'n.created_by', 'n.deal_id')}`;

/** The most normalizations on a deal's page. The pages have this number, too. */
export const mostNormalizations = 500;

/** The normalizations of a deal, the latest first, at most {@link mostNormalizations}. */
export const normalizationsOnPage = rows<NormalizationOnPage, [dealId: string]>(
  'normalizations_on_page',
  `${normalizationSelect} where n.deal_id = $1 order by n.created_at desc, n.id desc limit ${mostNormalizations}`,
);

/** One normalization, or null when there is none that the caller sees. */
export const normalizationOnPage = row<NormalizationOnPage, [id: string]>(
  'normalization_on_page',
  `${normalizationSelect} where n.id = $1`,
);

const add = row<{ id: string }>(
  'add_normalization',
  `with changed as (
     insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount, rationale)
     values ($3, $4, $5, $6, $7) returning id, deal_id)
   select changed.id from changed ${audited('qoe.normalization.add')}`,
);

interface NewNormalization {
  readonly period_label: string;
  readonly adjustment_category: AdjustmentCategory;
  /** A decimal of at most {@link longestAmount} characters, all of whose decimals are kept. */
  readonly adjustment_amount: string;
  readonly rationale: string | null;
}

/** Records an adjustment; its id. Rejects with Denied to all but editors of the deal's QoE workspace. */
export const addNormalization = (
  dealId: string,
  { period_label, adjustment_category, adjustment_amount, rationale }: NewNormalization,
  origin: Origin,
): Statement<string> =>
  addedId(add(...from(origin), dealId, period_label, adjustment_category, adjustment_amount, rationale));

const remove = row<{ id: string }>(
  'remove_normalization',
  `with changed as (delete from normalizations where id = $3 returning id, deal_id)
   select changed.id from changed ${audited('qoe.normalization.remove')}`,
);

/** Takes a normalization out; whether the caller may. */
export const removeNormalization = (id: string, origin: Origin) => tookPlace(remove(...from(origin), id));

/** An adjustment as the REST API and webhooks return it. */
type NormalizationResource = Omit<NormalizationOnPage, 'created_by_name' | 'can_delete'>;

const inOrder = {
  columns: `n.id, n.deal_id, n.period_label, n.adjustment_category, n.adjustment_amount, n.rationale, u.id as created_by, n.created_at`,
  tables: `normalizations n ${knownPerson('u', 'n.created_by', 'n.deal_id')}`,
  deal: 'n.deal_id',
  key: 'n.created_at',
  type: 'timestamptz',
  id: 'n.id',
  direction: 'desc',
} as const;

/** The normalizations of a deal, the latest first, in pages. */
export const normalizationsOfDeal = listOfDeal<NormalizationResource>('normalizations_of_deal', inOrder);

/** Those of these normalizations that the caller sees. */
export const normalizationsByIds = recordsByIds<NormalizationResource>('normalizations_by_ids', inOrder);
