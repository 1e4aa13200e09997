/** The input of the checks for contradictions, computed once for all of them. */

import { datesOf, type Adjustment, type BookedCustomer, type BookedPeriod, type Books } from '../books.ts';
import { figuresByLabel, type Figures } from '../bridge.ts';
import { byText, monthAfter, monthOf, wholeMonths, type Day, type Month } from '../calendar.ts';
import { listings } from '../customers.ts';
import { earnings, isMonthRow, resolved, type Earnings } from '../earnings.ts';
import { rowsCovering, piecesOf, type Pieces } from '../spans.ts';

type Row = BookedPeriod;

/** Everything that the checks read. */
export interface View {
  readonly books: Books;
  readonly rows: readonly Row[];
  readonly otherCurrency: readonly Row[];
  readonly months: ReadonlyMap<Month, Row>;
  /** Rows of less than a year. */
  readonly pieces: Pieces;
  readonly byDates: ReadonlyMap<string, Row>;
  /** The amounts of rows with outliers in sign and scale corrected, by row id. */
  readonly mended: ReadonlyMap<string, Row['amounts']>;
  readonly earned: readonly Earnings[];
  /** The figures that the adjustments of each label are added to. */
  readonly figures: ReadonlyMap<string, Figures>;
  /** The customers that count in each period, earliest period first. */
  readonly listings: readonly (readonly BookedCustomer[])[];
}

/** The first and the last month that rows of less than a year cover. */
export function endsOf(rows: readonly Row[]): [first: Month | undefined, last: Month | undefined] {
  const shorter = rows.filter((row) => (wholeMonths(row.first, row.last) ?? 12n) < 12n);
  const [firsts, lasts] = [shorter.map(({ first }) => monthOf(first)), shorter.map(({ last }) => monthOf(last))];
  return [firsts.toSorted(byText)[0], lasts.toSorted(byText).at(-1)];
}

/**
 * The longest period that is compared with its months, three years: with many longer ones the work would be quadratic
 * in the months.
 */
const longest = 36n;

/**
 * The month rows that make up these dates; null when one is missing, or the dates are not whole months or more than
 * {@link longest}.
 */
function monthsOf(first: Day, last: Day, months: View['months']): Row[] | null {
  const count = wholeMonths(first, last);
  if (count === null || count < 1n || count > longest) return null;
  const end = monthOf(last);
  const found: Row[] = [];
  for (let month = monthOf(first); month <= end; month = monthAfter(month, 1n)) {
    const row = months.get(month);
    if (!row) return null;
    found.push(row);
  }
  return found;
}

/**
 * The rows that make up these dates, other than a row of exactly these dates: their months, otherwise, up to a year,
 * shorter rows; null where neither covers the dates.
 */
export const partsOf = (
  first: Day,
  last: Day,
  { months, pieces }: Pick<View, 'months' | 'pieces'>,
): readonly Row[] | null => monthsOf(first, last, months) ?? rowsCovering(first, last, pieces, { inParts: true });

/** The input of the checks for these books. */
export function viewOf(books: Books, mended: View['mended']): View {
  const { rows, otherCurrency } = resolved(books);
  const sorted = (all: readonly Adjustment[]) =>
    all.toSorted((a, b) => byText(a.period_label, b.period_label) || byText(a.id, b.id));
  return {
    books: {
      ...books,
      adjustments: sorted(books.adjustments),
      adjustments_left_out: sorted(books.adjustments_left_out ?? []),
    },
    rows,
    otherCurrency,
    months: new Map(rows.filter(isMonthRow).map((row) => [monthOf(row.first), row])),
    pieces: piecesOf(rows, 12n),
    byDates: new Map(rows.map((row) => [datesOf(row), row])),
    mended,
    earned: earnings(books),
    figures: figuresByLabel(books),
    listings: listings(books).toReversed(),
  };
}
