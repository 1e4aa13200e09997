/** Adjustments that make the earnings of a business comparable (specification, section 4.3; docs/books.md, "Earnings"). */

import { row, rows, type Statement } from '../../database/statement.ts';
import { addedId, audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { onOpenDeal, seenDeal } from '../deals/deals.ts';
import { knownName, knownPerson, personOnDeal, type Mentioned } from '../deals/participants.ts';
import { listOfDeal, recordsByIds } from '../visibility/list-of-deal.ts';

export const adjustmentCategories = ['owner_comp', 'related_party', 'one_time', 'other'] as const;
export type AdjustmentCategory = (typeof adjustmentCategories)[number];

/** The maximum number of characters in an amount (specification, section 4.3). */
export const longestAmount = 40;

/**
 * A decimal in the format of XML Schema (xs:decimal): digits with at most one decimal point before, among or after
 * them, and an optional sign. No exponent, separators or infinity.
 */
export const decimalPattern = '^[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)$';
const decimalShape = new RegExp(decimalPattern);

/** Whether an amount is a decimal, of any length. */
export const isDecimal = (amount: string): boolean => decimalShape.test(amount);

interface NormalizationOnPage {
  id: string;
  deal_id: string;
  period_label: string;
  adjustment_category: AdjustmentCategory;
  adjustment_amount: string;
  /** The currency of the figures when it was recorded; null for adjustments from before this was stored. */
  currency: string | null;
  rationale: string | null;
  /** Null, like the name, when the caller may not see the person on the deal. */
  created_by: string | null;
  created_by_name: string | null;
  created_at: string;
  can_delete: boolean;
}

const normalizationSelect = `
  select n.id, n.deal_id, n.period_label, n.adjustment_category, n.adjustment_amount, n.currency, n.rationale,
    u.id as created_by, ${knownName('u')} as created_by_name, n.created_at,
    ${onOpenDeal('n')} and n.deal_id = any ((select app.qoe_deals(true))::uuid[]) as can_delete
  from normalizations n ${knownPerson('u', 'n.created_by', 'n.deal_id')}`;

/** The maximum number of normalizations on a deal's page. The pages use the same number. */
export const mostNormalizations = 500;

/** The normalizations of a deal, newest first, at most {@link mostNormalizations}. */
export const normalizationsOnPage = rows<NormalizationOnPage, [dealId: string]>(
  'normalizations_on_page',
  `${normalizationSelect} where n.deal_id = $1 order by n.created_at desc, n.id desc limit ${mostNormalizations}`,
);

/** The normalization with this id if the caller may see it, otherwise null. */
export const normalizationOnPage = row<NormalizationOnPage, [id: string]>(
  'normalization_on_page',
  `${normalizationSelect} where n.id = $1`,
);

interface RecordedAdjustment {
  id: string;
  created_at: string;
  /** Null, like the person, when the caller may not see them on the deal. */
  created_by: string | null;
  creator_person: Mentioned | null;
}

/** When and by whom the latest normalizations of a deal were recorded: at most `most`, latest first. */
export const recordedAdjustments = rows<RecordedAdjustment, [dealId: string, most: number]>(
  'recorded_adjustments',
  `select n.id, n.created_at, n.creator_person ->> 0 as created_by, n.creator_person
   from (
     select n.id, n.created_at, ${personOnDeal('$1', 'n.created_by')} as creator_person from normalizations n
     where n.deal_id = ${seenDeal('$1')} order by n.created_at desc, n.id desc limit $2) n`,
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
  /** A decimal of at most {@link longestAmount} characters; every digit is stored. */
  readonly adjustment_amount: string;
  readonly rationale: string | null;
}

/** Records an adjustment; returns its id. Rejects with Denied for all but editors of the deal's QoE workspace. */
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

/** Deletes a normalization; false when there is none that the caller may delete. */
export const removeNormalization = (id: string, origin: Origin) => tookPlace(remove(...from(origin), id));

/** An adjustment as the REST API and webhooks return it. */
type NormalizationResource = Omit<NormalizationOnPage, 'created_by_name' | 'can_delete'>;

const inOrder = {
  columns: `n.id, n.deal_id, n.period_label, n.adjustment_category, n.adjustment_amount, n.currency, n.rationale,
    u.id as created_by, n.created_at`,
  tables: `normalizations n ${knownPerson('u', 'n.created_by', 'n.deal_id')}`,
  deal: 'n.deal_id',
  key: 'n.created_at',
  type: 'timestamptz',
  id: 'n.id',
  direction: 'desc',
} as const;

/** The normalizations of a deal, newest first, in pages. */
export const normalizationsOfDeal = listOfDeal<NormalizationResource>('normalizations_of_deal', inOrder);

/** The normalizations with these ids that the caller may see. */
export const normalizationsByIds = recordsByIds<NormalizationResource>('normalizations_by_ids', inOrder);
