/**
 * Finds the rows that make up a span of months: months, quarters, half-years and years in any combination, without gap
 * or overlap (docs/books.md).
 */

import type { BookedPeriod } from './books.ts';
import {
  byText,
  dayBefore,
  daysFrom,
  isYearLong,
  monthOf,
  monthsFrom,
  wholeMonths,
  type Day,
  type Month,
} from './calendar.ts';

type Dates = Pick<BookedPeriod, 'first' | 'last'>;

interface Piece<Row> {
  readonly row: Row;
  /** The last month of the row. */
  readonly end: Month;
}

/** Rows of whole months by their first month, longest first. */
export type Pieces<Row = BookedPeriod> = ReadonlyMap<Month, readonly Piece<Row>[]>;

/** The rows of fewer than `below` whole months. `rows` has no two rows of the same dates. */
export function piecesOf<Row extends Dates>(rows: readonly Row[], below: bigint): Pieces<Row> {
  const pieces = rows.flatMap((row): Piece<Row>[] => {
    const months = wholeMonths(row.first, row.last);
    return months !== null && months < below ? [{ row, end: monthOf(row.last) }] : [];
  });
  return Map.groupBy(
    pieces.toSorted((a, b) => byText(b.end, a.end)),
    ({ row }) => monthOf(row.first),
  );
}

/** The rows that make up a span of months. */
export interface Cover<Row = BookedPeriod> {
  /** Consecutive, without overlap. */
  readonly rows: readonly Row[];
  /** The months that the rows cover. */
  readonly months: readonly Month[];
  readonly isWhole: boolean;
}

/** The best cover of the months from one place to the end: months without a row, number of rows, and the first row. */
interface Best<Row> {
  readonly missing: number;
  readonly rows: number;
  readonly piece: Piece<Row> | null;
  /** The place of the month after that row, or after a month without one. */
  readonly next: number;
}

/**
 * Covers consecutive months with rows: as many months as possible, each once, with the fewest rows; of equally good
 * covers, the one whose earlier rows are longer. A row is used completely or not at all; with `inParts`, a row that
 * covers all the months is not used.
 */
export function coverOf<Row>(months: readonly Month[], pieces: Pieces<Row>, { inParts = false } = {}): Cover<Row> {
  const places = new Map(months.map((month, place) => [month, place]));
  const best: Best<Row>[] = [];
  best[months.length] = { missing: 0, rows: 0, piece: null, next: months.length };
  for (let place = months.length - 1; place >= 0; place -= 1) {
    const behind = best[place + 1];
    if (!behind) break;
    let chosen: Best<Row> = { missing: behind.missing + 1, rows: behind.rows, piece: null, next: place + 1 };
    for (const piece of pieces.get(months[place] ?? '') ?? []) {
      const end = places.get(piece.end);
      const rest = end === undefined ? undefined : best[end + 1];
      if (end === undefined || !rest || (inParts && end - place === months.length - 1)) continue;
      const rows = rest.rows + 1;
      const isAsWhole = rest.missing === chosen.missing;
      const isShorter = rows < chosen.rows || (rows === chosen.rows && chosen.piece === null);
      if (rest.missing < chosen.missing || (isAsWhole && isShorter))
        chosen = { missing: rest.missing, rows, piece, next: end + 1 };
    }
    best[place] = chosen;
  }
  const [rows, covered]: [Row[], Month[]] = [[], []];
  for (let place = 0; place < months.length;) {
    const { piece = null, next = place + 1 } = best[place] ?? {};
    if (piece) {
      rows.push(piece.row);
      covered.push(...months.slice(place, next));
    }
    place = next;
  }
  return { rows, months: covered, isWhole: covered.length === months.length };
}

/** The maximum number of months in {@link rowsCovering}. */
const most = 12n;

/**
 * The rows that make up exactly these dates; null unless the dates are one to twelve whole months that rows cover
 * completely.
 */
export function rowsCovering<Row>(
  first: Day,
  last: Day,
  pieces: Pieces<Row>,
  options?: { inParts: boolean },
): readonly Row[] | null {
  const count = wholeMonths(first, last);
  if (count === null || count < 1n || count > most) return null;
  const months = monthsFrom(monthOf(first), 12).filter((month) => month <= monthOf(last));
  const made = coverOf(months, pieces, options);
  return made.isWhole ? made.rows : null;
}

/** Days in the longest period of weeks that is not a year: a quarter of 14 weeks. */
const mostDaysOfWeeks = 98n;

/** Rows of whole weeks, up to a quarter, by their last day: periods of four or five weeks, quarters of 13. */
export type Weeks = ReadonlyMap<Day, readonly BookedPeriod[]>;

/** The rows of whole weeks; of those that end on one day, the longest comes first. */
export function weeksOf(rows: readonly BookedPeriod[]): Weeks {
  const its = rows.filter(({ first, last }) => {
    const days = daysFrom(first, last);
    return days % 7n === 0n && days <= mostDaysOfWeeks;
  });
  return Map.groupBy(
    its.toSorted((a, b) => byText(a.first, b.first)),
    ({ last }) => last,
  );
}

/**
 * The consecutive rows of whole weeks that make up a year of 52 or 53 weeks up to this day, earliest first; null where
 * there are none. Of several rows that end on one day, the longest with which the year can be made up counts.
 */
export function weeksUpTo(last: Day, weeks: Weeks): readonly BookedPeriod[] | null {
  const failed = new Set<Day>();
  const upTo = (day: Day): readonly BookedPeriod[] | null => {
    if (failed.has(day)) return null;
    for (const row of weeks.get(day) ?? []) {
      const days = daysFrom(row.first, last);
      if (isYearLong(row.first, last) && days % 7n === 0n) return [row];
      const before = days < 364n ? upTo(dayBefore(row.first)) : null;
      if (before) return [...before, row];
    }
    failed.add(day);
    return null;
  };
  return upTo(last);
}
