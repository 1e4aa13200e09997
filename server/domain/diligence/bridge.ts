/**
 * The bridge from reported to adjusted EBITDA of one period, by category of adjustment. The periods are those of the
 * earnings (docs/books.md).
 */

import type { Adjustment, BookedPeriod, Books } from './books.ts';
import { byText, dayAfter, type Day } from './calendar.ts';
import { add, sum, written, zero, type Decimal } from './decimals.ts';
import {
  bridgeLabel,
  comparedWith,
  costOfGoodsOf,
  earnings,
  ebitdaOf,
  isMonthRow,
  isTtm,
  resolved,
  together,
} from './earnings.ts';
import { memoized } from './caches.ts';
import { adjustmentCategories, type AdjustmentCategory } from './normalizations.ts';

/** Amounts are decimal strings. */
export interface Bridge {
  currency: string;
  period_label: string | null;
  /** The first and the last day of the figures; null without any. */
  first: Day | null;
  last: Day | null;
  /** The number of profit and loss rows in the reported EBITDA. */
  period_count: number;
  reported_ebitda: string;
  adjustments: { category: AdjustmentCategory; amount: string }[];
  adjusted_ebitda: string;
  /**
   * The labels of bridges: years, the last twelve months, other periods under their own labels, and months with
   * adjustments.
   */
  period_labels: readonly string[];
  /** The labels of all months, which can have adjustments. */
  month_labels: readonly string[];
  /**
   * Period labels of normalizations that match no figures with an EBITDA; they appear only in a bridge of that label.
   */
  unmatched_labels: readonly string[];
}

/** The figures that the adjustments of a label are added to. */
export interface Figures {
  readonly first: Day;
  readonly last: Day;
  readonly reported: Decimal | null;
  readonly owner_compensation: Decimal | null;
  /** Cost of goods sold and operating expenses; null where either is unknown. */
  readonly costs: Decimal | null;
  readonly count: number;
  readonly isMonth: boolean;
  readonly adjustments: readonly Adjustment[];
}

interface Start extends Figures {
  readonly reported: Decimal;
}

const costsOf = (amounts: BookedPeriod['amounts']): Decimal | null =>
  together([costOfGoodsOf(amounts), amounts.operating_expenses]);

/** The last of these rows, and those that lead up to it without a gap: "Q1" of several years is not one period. */
function latestRun(rows: readonly BookedPeriod[]): readonly BookedPeriod[] {
  const gap = rows.findLastIndex(({ first }, place) => place > 0 && dayAfter(rows[place - 1]?.last ?? '') !== first);
  return gap < 0 ? rows : rows.slice(gap);
}

/** Every period of the earnings, and other rows under their own labels; of one label, what is shown comes last. */
const labeled = memoized(function labeled(books: Books): readonly (readonly [label: string, figures: Figures])[] {
  const { rows } = resolved(books);
  const earned = earnings(books);
  const taken = new Set(earned.map(({ label }) => label));
  const latest = rows.at(-1)?.last ?? '';
  const adjustmentsByLabel = Map.groupBy(books.adjustments, ({ period_label }) => period_label);
  const own = Map.groupBy(
    rows.flatMap((row) => {
      const label = bridgeLabel(row);
      // Only the latest row labeled TTM or LTM is the last twelve months; earlier ones are left out.
      return taken.has(label) || (isTtm({ label }) && row.last < latest) ? [] : [{ label, row }];
    }),
    ({ label }) => label,
  );
  return [
    ...[...own].map(([label, all]): [string, Figures] => {
      const its = latestRun(all.map(({ row }) => row));
      const figures = {
        first: its[0]?.first ?? '',
        last: its.at(-1)?.last ?? '',
        reported: together(its.map(({ amounts }) => ebitdaOf(amounts))),
        owner_compensation: together(its.map(({ amounts }) => amounts.owner_compensation)),
        costs: together(its.map(({ amounts }) => costsOf(amounts))),
      };
      return [
        label,
        {
          ...figures,
          count: its.length,
          isMonth: its.every(isMonthRow),
          adjustments: adjustmentsByLabel.get(label) ?? [],
        },
      ];
    }),
    // Of several periods with one label the latest wins, as in the comparison with prices.
    ...earned
      .toReversed()
      .map(({ label, first, last, reported_ebitda: reported, amounts, rows: its, adjustments }): [string, Figures] => [
        label,
        {
          first,
          last,
          reported,
          owner_compensation: amounts.owner_compensation,
          costs: costsOf(amounts),
          count: its.length,
          isMonth: false,
          adjustments,
        },
      ]),
  ];
});

/** The periods that a bridge can start from, by label: those with an EBITDA. */
const startsOf = memoized(
  (books: Books): ReadonlyMap<string, Start> =>
    new Map(
      labeled(books).flatMap(([label, figures]): [string, Start][] =>
        figures.reported ? [[label, { ...figures, reported: figures.reported }]] : [],
      ),
    ),
);

/** The figures of each label: those that its bridge starts from, otherwise the latest. */
export const figuresByLabel = (books: Books): ReadonlyMap<string, Figures> =>
  new Map<string, Figures>([...labeled(books), ...startsOf(books)]);

/** The labels shown beside every bridge of these books, and the label chosen by default. */
const labelsOf = memoized(function labelsOf(books: Books) {
  const starts = startsOf(books);
  const adjusted = new Set(books.adjustments.map(({ period_label }) => period_label));
  const earned = earnings(books);
  // Earnings first, whole years before partial ones, then other rows; of each, the latest first.
  const [partial = [], whole = []] = [true, false].map((is) =>
    earned.flatMap(({ kind, label }) => ((kind === 'partial_year') === is && starts.has(label) ? [label] : [])),
  );
  const known = [...new Set([...whole, ...partial, ...[...starts.keys()].toReversed()])];
  const starting = earned.filter((found) => starts.has(found.label));
  const basis = comparedWith(earned);
  return {
    first:
      (basis?.reported_ebitda ? basis : comparedWith(starting))?.label ??
      [...adjusted].find((each) => starts.has(each)) ??
      starting[0]?.label ??
      known[0] ??
      null,
    period_labels: known.filter((each) => starts.get(each)?.isMonth === false || adjusted.has(each)),
    month_labels: known.filter((each) => starts.get(each)?.isMonth),
    unmatched_labels: [...adjusted].filter((each) => !starts.has(each)).toSorted(byText),
  };
});

function bridgeFrom(books: Books, chosen: string | null): Bridge {
  const { first: _, ...labels } = labelsOf(books);
  const start = chosen === null ? undefined : startsOf(books).get(chosen);
  const reported = start?.reported ?? zero;
  const its = start?.adjustments ?? books.adjustments.filter(({ period_label }) => period_label === chosen);
  return {
    currency: resolved(books).currency,
    period_label: chosen,
    first: start?.first ?? null,
    last: start?.last ?? null,
    period_count: start?.count ?? 0,
    reported_ebitda: written(reported),
    adjustments: adjustmentCategories.flatMap((category) => {
      const amounts = its.filter((one) => one.category === category).map(({ amount }) => amount);
      return amounts.length > 0 ? [{ category, amount: written(sum(amounts)) }] : [];
    }),
    adjusted_ebitda: written(add(reported, sum(its.map(({ amount }) => amount)))),
    ...labels,
  };
}

const firstBridge = memoized((books: Books) => bridgeFrom(books, labelsOf(books).first));

/**
 * The bridge of the period with this label; it starts at zero where the label has no figures. Without a label, the
 * period that offers are compared with ({@link comparedWith}); where no whole period has an EBITDA, that of the latest
 * adjustment with figures, otherwise the latest there is.
 */
export const bridgeOf = (books: Books, label: string | null = null): Bridge =>
  label === null ? firstBridge(books) : bridgeFrom(books, label);

/** The adjustments in the bridge that is shown where nobody chose a period, latest first. */
export function adjustmentsBridged(books: Books): readonly Adjustment[] {
  const { first } = labelsOf(books);
  const its = new Set((first === null ? undefined : startsOf(books).get(first))?.adjustments.map(({ id }) => id));
  return books.adjustments.filter(({ id }) => its.has(id));
}
