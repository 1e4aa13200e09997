/** From reported to adjusted EBITDA of one period, by kinds of adjustment: the periods are those of the earnings (docs/books.md). */

import type { Books } from './books.ts';
import { byText } from './calendar.ts';
import { add, sum, written, zero, type Decimal } from './decimals.ts';
import { basisOf, bridgeLabel, earnings, ebitdaOf, isMonthRow, isTtm, resolved, together } from './earnings.ts';
import { memoized } from './caches.ts';
import { adjustmentCategories, type AdjustmentCategory } from './normalizations.ts';

/** Amounts are decimal strings. */
export interface Bridge {
  currency: string;
  period_label: string | null;
  /** The rows of profit and loss that it starts from. */
  period_count: number;
  reported_ebitda: string;
  adjustments: { category: AdjustmentCategory; amount: string }[];
  adjusted_ebitda: string;
  /** What a bridge can be shown of: years, the last twelve months, and periods as the books name them. */
  period_labels: readonly string[];
  /** The months, which can be adjusted too. */
  month_labels: readonly string[];
  /** What normalizations are said to be of, where no figures with an EBITDA bear that name: they are in no bridge but their own. */
  unmatched_labels: readonly string[];
}

interface Start {
  readonly reported: Decimal;
  readonly count: number;
  readonly isMonth: boolean;
}

/** What a bridge can start from, by its label: every period of the earnings, and other rows under their own names. */
const startsOf = memoized(function startsOf(books: Books): ReadonlyMap<string, Start> {
  const { rows } = resolved(books);
  const earned = earnings(books);
  const taken = new Set(earned.map(({ label }) => label));
  const latest = rows.at(-1)?.last ?? '';
  const own = Map.groupBy(
    // The last twelve months are the latest there are: what was called so earlier is not.
    rows.filter((row) => !taken.has(bridgeLabel(row)) && !(isTtm({ label: bridgeLabel(row) }) && row.last < latest)),
    bridgeLabel,
  );
  return new Map([
    ...[...own].flatMap(([label, its]): [string, Start][] => {
      const reported = together(its.map(({ amounts }) => ebitdaOf(amounts)));
      return reported ? [[label, { reported, count: its.length, isMonth: its.every(isMonthRow) }]] : [];
    }),
    // Of several of one label the latest stays, which is that which prices are compared with.
    ...earned
      .toReversed()
      .flatMap(({ label, reported_ebitda, rows: { length } }): [string, Start][] =>
        reported_ebitda ? [[label, { reported: reported_ebitda, count: length, isMonth: false }]] : [],
      ),
  ]);
});

/** What every bridge of these books is chosen from, and which labels are shown beside it. */
const labelsOf = memoized(function labelsOf(books: Books) {
  const starts = startsOf(books);
  const adjusted = new Set(books.adjustments.map(({ period_label }) => period_label));
  const known = [...starts.keys()].toSorted((a, b) => byText(b, a));
  const starting = earnings(books).filter((found) => starts.has(found.label));
  return {
    first:
      [...adjusted].find((each) => starts.has(each)) ??
      basisOf(starting)?.label ??
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
  const its = books.adjustments.filter(({ period_label }) => period_label === chosen);
  return {
    currency: resolved(books).currency,
    period_label: chosen,
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
 * The bridge of the period with this label, which starts at nothing where there are no figures of it; without a label that
 * of the period adjusted last of those that there are figures of, else of the last twelve months, of a year, or of what
 * there is.
 */
export const bridgeOf = (books: Books, label: string | null = null): Bridge =>
  label === null ? firstBridge(books) : bridgeFrom(books, label);
