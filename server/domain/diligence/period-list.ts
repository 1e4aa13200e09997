/**
 * The list of a deal's profit and loss periods together with its books, for callers who need both; periods of books
 * that the node holds are not read again.
 */

import { mapped, row, type Statement } from '../../database/statement.ts';
import { cut } from '../cut.ts';
import {
  booksInSight,
  holdings,
  mostRows,
  unheldBooks,
  type BookedPeriod,
  type Books,
  type FoundBooks,
} from './books.ts';
import { byText, type Day } from './calendar.ts';
import { writtenOrNull } from './decimals.ts';
import type { PlPeriod } from './figures.ts';
import { memoized } from './caches.ts';
import { plAmounts } from './snapshots.ts';

/** A period in the list; amounts have no trailing zeros. */
export type ListedPeriod = Omit<PlPeriod, 'id'>;

/** The maximum number of periods in one list. */
export const mostPeriods = 500;

const found = row<
  FoundBooks & { readonly periods: string | null },
  [dealId: string, held: readonly string[], whole: readonly string[], start: Day | null, end: Day | null]
>(
  'books_and_periods_of_deal',
  `select ${unheldBooks},
     case when s.partial or s.digest <> all ($3) then app.pl_periods_of($1, $4, $5, ${mostPeriods + 1}) end as periods
   from ${booksInSight}`,
);

/** Whether the books have every period of the completed uploads. */
const isWhole = ({ uploads, periods }: Books): boolean =>
  uploads.length < mostRows.uploads && periods.length < mostRows.periods;

type Amounts = Pick<ListedPeriod, (typeof plAmounts)[number]>;

const amountsOf = (amountOf: (name: keyof Amounts, place: number) => string | null): Amounts =>
  Object.fromEntries(plAmounts.map((name, place) => [name, amountOf(name, place)])) as unknown as Amounts;

const latestFirst = memoized(({ periods }: Books) =>
  periods.toSorted((a, b) => byText(b.first, a.first) || byText(b.id, a.id)),
);

const listed = (periods: readonly BookedPeriod[]): ListedPeriods => ({
  more: periods.length > mostPeriods,
  periods: periods.slice(0, mostPeriods).map(({ snapshot_id, label, first, last, currency, amounts }) => ({
    snapshot_id,
    period_label: label,
    period_start_date: first,
    period_end_date: last,
    currency,
    ...amountsOf((name) => writtenOrNull(amounts[name])),
  })),
});

const wholeList = memoized((books: Books): ListedPeriods => listed(latestFirst(books)));

type PeriodRow = [snapshot: string, label: string, first: Day, last: Day, currency: string, ...(string | null)[]];

const asListed = ([snapshot_id, label, first, last, currency, ...amounts]: PeriodRow): ListedPeriod => ({
  snapshot_id,
  period_label: label,
  period_start_date: first,
  period_end_date: last,
  currency,
  ...amountsOf((_name, place) => amounts[place] ?? null),
});

/** The first and the last day of all profit and loss periods in these books; null when there are none. */
export function daysOf({ periods }: Books): { readonly first: Day; readonly last: Day } | null {
  const [first] = periods.map((period) => period.first).toSorted(byText);
  const last = periods
    .map((period) => period.last)
    .toSorted(byText)
    .at(-1);
  return first !== undefined && last !== undefined ? { first, last } : null;
}

interface ListedPeriods {
  readonly periods: readonly ListedPeriod[];
  /** Whether there are more. */
  readonly more: boolean;
}

interface BooksAndPeriods extends ListedPeriods {
  readonly books: Books;
}

/**
 * The books of the deal that the transaction is narrowed to, as far as the caller sees them, and the periods of every
 * upload, latest first, at most {@link mostPeriods}; optionally only from `start` on and up to `end`. Without these,
 * the list is the same object for the same books.
 */
export function booksAndPeriods(dealId: string, start: Day | null, end: Day | null): Statement<BooksAndPeriods> {
  const { held, take } = holdings(dealId);
  const whole = [...held].flatMap(([digest, books]) => (isWhole(books) ? [digest] : []));
  return mapped(found(dealId, [...held.keys()], whole, start, end), (answer) => {
    const books = take(answer);
    if (answer?.periods) {
      const { rows: periods, more } = cut(JSON.parse(answer.periods) as PeriodRow[], mostPeriods);
      return { books, periods: periods.map(asListed), more };
    }
    if (start === null && end === null) return { books, ...wholeList(books) };
    const within = latestFirst(books).filter(
      ({ first, last }) => (start === null || first >= start) && (end === null || last <= end),
    );
    return { books, ...listed(within) };
  });
}
