/** The list of a deal's periods of profit and loss, for callers who also get what is computed of the books: books that the node has cached are not read again. */

import { mapped, row, type Statement } from '../../database/statement.ts';
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

/** A period of the list; amounts are without zeros at their end. */
export type ListedPeriod = Omit<PlPeriod, 'id'>;

/** The most periods that are listed. */
const mostPeriods = 500;

const found = row<
  FoundBooks & { readonly periods: string | null },
  [dealId: string, held: readonly string[], whole: readonly string[], start: Day | null, end: Day | null]
>(
  'books_and_periods_of_deal',
  `select ${unheldBooks},
     case when s.partial or s.digest <> all ($3) then app.pl_periods_of($1, $4, $5, ${mostPeriods}) end as periods
   from ${booksInSight}`,
);

/** Whether books hold every period of the uploads that have completed. */
const isWhole = ({ uploads, periods }: Books): boolean =>
  uploads.length < mostRows.uploads && periods.length < mostRows.periods;

type Amounts = Pick<ListedPeriod, (typeof plAmounts)[number]>;

const amountsOf = (amountOf: (name: keyof Amounts, place: number) => string | null): Amounts =>
  Object.fromEntries(plAmounts.map((name, place) => [name, amountOf(name, place)])) as unknown as Amounts;

const latestFirst = memoized(({ periods }: Books) =>
  periods.toSorted((a, b) => byText(b.first, a.first) || byText(b.id, a.id)),
);

const listed = (periods: readonly BookedPeriod[]): ListedPeriod[] =>
  periods.slice(0, mostPeriods).map(({ snapshot_id, label, first, last, currency, amounts }) => ({
    snapshot_id,
    period_label: label,
    period_start_date: first,
    period_end_date: last,
    currency,
    ...amountsOf((name) => writtenOrNull(amounts[name])),
  }));

const wholeList = memoized((books: Books): readonly ListedPeriod[] => listed(latestFirst(books)));

type PeriodRow = [snapshot: string, label: string, first: Day, last: Day, currency: string, ...(string | null)[]];

const asListed = ([snapshot_id, label, first, last, currency, ...amounts]: PeriodRow): ListedPeriod => ({
  snapshot_id,
  period_label: label,
  period_start_date: first,
  period_end_date: last,
  currency,
  ...amountsOf((_name, place) => amounts[place] ?? null),
});

/** The first and the last day of all periods of profit and loss in these books; null where there are none. */
export function daysOf({ periods }: Books): { readonly first: Day; readonly last: Day } | null {
  const [first] = periods.map((period) => period.first).toSorted(byText);
  const last = periods
    .map((period) => period.last)
    .toSorted(byText)
    .at(-1);
  return first !== undefined && last !== undefined ? { first, last } : null;
}

/** What the caller sees of the books of a deal, and the list of its periods. */
interface BooksAndPeriods {
  readonly books: Books;
  readonly periods: readonly ListedPeriod[];
}

/**
 * What the caller sees of the books of the deal that the transaction is narrowed to, and the periods of every upload, the latest first, at
 * most 500: those from `start` on and up to `end`, where given. Without them the list is one object as long as the books are.
 */
export function booksAndPeriods(dealId: string, start: Day | null, end: Day | null): Statement<BooksAndPeriods> {
  const { held, take } = holdings(dealId);
  const whole = [...held].flatMap(([digest, books]) => (isWhole(books) ? [digest] : []));
  return mapped(found(dealId, [...held.keys()], whole, start, end), (answer) => {
    const books = take(answer);
    if (answer?.periods) return { books, periods: (JSON.parse(answer.periods) as PeriodRow[]).map(asListed) };
    if (start === null && end === null) return { books, periods: wholeList(books) };
    const within = latestFirst(books).filter(
      ({ first, last }) => (start === null || first >= start) && (end === null || last <= end),
    );
    return { books, periods: listed(within) };
  });
}
