/** The columns of profit-and-loss exports and their periods, in the headings of QuickBooks and Xero. */

import { firstDayOf, monthAfter, monthOf, monthsBetween } from '../../../domain/diligence/calendar.ts';
import { unreadable } from '../csv.ts';
import { assumedDayIn, dayOrderOf, type AssumedDay } from './day-order.ts';
import {
  longYear,
  monthNames,
  periodBetween,
  readAmount,
  readDay,
  readPeriod,
  two,
  type DayOrder,
  type Period,
} from './values.ts';

/** The period that a heading names, or only its last day. */
type Headed = Period | { readonly until: string };

const name = `((?:${monthNames.join('|')})[a-z]{0,6})\\.?`;
const patterns = {
  /** "31 Jan 2025" */
  dayFirst: new RegExp(`^(\\d{1,2}) ${name},? (\\d{4}|\\d{2})$`, 'i'),
  /** "Jan 31, 2025" */
  monthFirst: new RegExp(`^${name} (\\d{1,2}),? (\\d{4})$`, 'i'),
  /** "Nov 1 - 22, 2025" */
  days: new RegExp(`^${name} (\\d{1,2}) ?- ?(\\d{1,2}),? (\\d{4})$`, 'i'),
  /** "Jan - Mar 2025", "January 1, 2025 - March 31, 2025" */
  months: new RegExp(`^${name}(?: (\\d{1,2}))?(?:,? (\\d{4}))? ?- ?${name}(?: (\\d{1,2}))?,? (\\d{4})$`, 'i'),
  /** "Jan - Dec 25", "Oct '24 - Sep 25", as QuickBooks Desktop writes them */
  shortMonths: new RegExp(`^${name}(?: ['’](\\d{2}))?-${name} ['’]?(\\d{2})$`, 'i'),
  /** "1 Jan 2025 - 31 Mar 2025" */
  dates: new RegExp(`^(\\d{1,2}) ${name}(?: (\\d{4}))? ?- ?(\\d{1,2}) ${name} (\\d{4})$`, 'i'),
};

const monthNumber = (written = ''): number => monthNames.indexOf(written.slice(0, 3).toLowerCase()) + 1;

/** The day; the last day of the month when none is given. */
function dayOf(year: string | undefined, month: string | undefined, day: string | undefined): string | undefined {
  const at = `${longYear(year ?? '')}-${two(monthNumber(month))}`;
  return day === undefined ? readPeriod(at)?.last : readDay(`${at}-${two(Number(day))}`);
}

function between(first: string | undefined, last: string | undefined): Period | undefined {
  return first === undefined || last === undefined || last < first ? undefined : periodBetween(first, last);
}

type ReadHeading = (written: string) => Headed | undefined;

function headed(written: string, first: DayOrder['first']): Headed | undefined {
  if (written.length > 64) return undefined;
  const text = written
    .trim()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\u2010-\u2015]| to /g, '-')
    .replaceAll(/ ?- ?/g, '-');
  const until = patterns.dayFirst.exec(text);
  const american = patterns.monthFirst.exec(text);
  const day = until
    ? dayOf(until[3], until[2], until[1])
    : american
      ? dayOf(american[3], american[1], american[2])
      : readDay(text, first);
  if (day !== undefined) return { until: day };
  const days = patterns.days.exec(text);
  if (days) return between(dayOf(days[4], days[1], days[2]), dayOf(days[4], days[1], days[3]));
  const months = patterns.months.exec(text);
  if (months)
    return between(dayOf(months[3] ?? months[6], months[1], months[2] ?? '1'), dayOf(months[6], months[4], months[5]));
  const short = patterns.shortMonths.exec(text);
  if (short) return between(dayOf(short[2] ?? short[4], short[1], '1'), dayOf(short[4], short[3], undefined));
  const dates = patterns.dates.exec(text);
  if (dates) return between(dayOf(dates[3] ?? dates[6], dates[2], dates[1]), dayOf(dates[6], dates[5], dates[4]));
  return readPeriod(text, first);
}

interface PeriodColumn extends Period {
  readonly index: number;
  readonly heading: string;
}

export interface ExportColumns {
  /** The index of the heading row. */
  readonly at: number;
  /** The columns before this one name the accounts. */
  readonly firstPeriod: number;
  /** The column that the program itself labels as that of the accounts, if any. */
  readonly account: number | null;
  readonly periods: readonly PeriodColumn[];
  readonly total: { readonly index: number; readonly heading: string } | null;
  /** The headings of ignored columns. */
  readonly leftOut: readonly string[];
  /** The first heading of which the day is assumed ({@link DayOrder}); null without any. */
  readonly assumedDay: AssumedDay | null;
}

/** The first day of a period of `months` months that ends in the month of `until`. */
const firstDay = (until: string, months: number): string => firstDayOf(monthAfter(monthOf(until), BigInt(1 - months)));

const lengths: Record<string, number> = { month: 1, quarter: 3, year: 12 };

/**
 * How many months a column covers whose heading is its last day: as the title says ("For the year ended …"), otherwise
 * the distance between the columns, otherwise one.
 */
function monthsOfColumns(days: readonly string[], titles: readonly string[]): number {
  for (const title of titles) {
    const said = /\bfor the (?:([1-9]\d?) )?(month|quarter|year)s? ended\b/i.exec(title.slice(0, 200));
    if (said) return Math.min(Number(said[1] ?? 1), 12) * (lengths[(said[2] ?? '').toLowerCase()] ?? 1);
  }
  const [first = '', ...others] = days.map(monthOf);
  const apart = new Set(
    others.map((month, index) => Math.abs(Number(monthsBetween(others[index - 1] ?? first, month)) - 1)),
  );
  const [gap = 1] = apart;
  return apart.size === 1 && [1, 3, 6, 12].includes(gap) ? gap : 1;
}

const mostTitles = 30;

const isAccountHeading = (cell: string): boolean => /^(distribution )?account( name)?$/i.test(cell.trim());

/**
 * The single column of an export whose period is in its title: "January - December 2025" above "Total"; null when there
 * is none. Throws 400 when the titles name several periods.
 */
function columnOfTitle(rows: readonly (readonly string[])[], read: ReadHeading): ExportColumns | null {
  const at = rows.slice(0, mostTitles).findIndex((cells) => {
    const [total, ...others] = cells.filter((cell) => cell.trim() !== '' && !isAccountHeading(cell));
    return total !== undefined && others.length === 0 && /^total$/i.test(total.trim());
  });
  const cells = rows[at] ?? [];
  const index = cells.findIndex((cell) => /^total$/i.test(cell.trim()));
  const named = rows
    .slice(0, Math.max(0, at))
    .flat()
    .flatMap((cell) => {
      const one = read(cell);
      return one && 'last' in one ? [{ ...one, title: cell.trim() }] : [];
    });
  const [period] = named;
  if (index < 1 || !period) return null;
  const other = named.find(({ first, last }) => first !== period.first || last !== period.last);
  if (other)
    throw unreadable(
      `There are two periods above “Total”, “${period.title}” and “${other.title}”: keep the one that the amounts are for.`,
    );
  const account = cells.slice(0, index).findIndex(isAccountHeading);
  const { label, first, last } = period;
  const periods = [{ label, first, last, index, heading: (cells[index] ?? '').trim() }];
  return {
    at,
    firstPeriod: index,
    account: account === -1 ? null : account,
    periods,
    total: null,
    leftOut: [],
    assumedDay: null,
  };
}

const isFilled = (cell: string): boolean => cell.trim() !== '';

/** Whether the cell could also be an amount: "2000" is a year too, and "2000.5" a month. */
const isNumber = (cell: string): boolean => typeof readAmount(cell) === 'string';

/**
 * Whether numbers in a row are the periods of columns rather than the amounts of an account. Either no other cell from
 * there on is a number and no account is named before them; or there are several, all different, and no row above has
 * anything beside its name.
 */
function isHeadingOfNumbers(
  cells: readonly string[],
  above: readonly (readonly string[])[],
  read: ReadHeading,
): boolean {
  const periods = cells.map((cell, index) => (index > 0 ? read(cell) : undefined));
  const first = periods.findIndex((one) => one !== undefined);
  if (cells.some((cell, index) => index > first && !periods[index] && isNumber(cell))) return false;
  const before = cells.slice(0, Math.max(0, first)).filter(isFilled);
  if (before.length === 0 || before.some(isAccountHeading)) return true;
  const numbers = cells.filter((_, index) => periods[index]).map((cell) => cell.trim());
  const different = numbers.length > 1 && new Set(numbers).size === numbers.length;
  return different && !above.some((row) => row.slice(1).some(isFilled));
}

/** The periods that the cells of a row name; the first column names accounts. */
function periodsIn(
  cells: readonly string[],
  above: readonly (readonly string[])[],
  read: ReadHeading,
): (Headed | undefined)[] {
  const withNumbers = isHeadingOfNumbers(cells, above, read);
  return cells.map((cell, index) => (index > 0 && (withNumbers || !isNumber(cell)) ? read(cell) : undefined));
}

/**
 * The columns of a profit and loss whose periods are side by side, or whose only period is in its title; null when
 * there is no such heading.
 */
export function exportColumns(
  rows: readonly (readonly string[])[],
  readerWritesMonthFirst: boolean,
): ExportColumns | null {
  const order = dayOrderOf(rows.slice(0, mostTitles).flat(), readerWritesMonthFirst);
  const read: ReadHeading = (cell) => headed(cell, order.first);
  const found = rows.slice(0, mostTitles).map((cells, at) => periodsIn(cells, rows.slice(0, at), read));
  const counts = found.map((cells) => cells.filter((cell) => cell !== undefined).length);
  const most = Math.max(0, ...counts);
  if (most === 0) return columnOfTitle(rows, read);
  const at = counts.indexOf(most);
  // Below a “Total” whose period is in the title, numbers without a name are amounts, not periods.
  const ofNumbers = found[at]?.every((one, index) => !one || isNumber(rows[at]?.[index] ?? ''));
  const titledTotal = ofNumbers ? columnOfTitle(rows.slice(0, at), read) : null;
  if (titledTotal) return titledTotal;
  const columns = found[at] ?? [];
  const cells = rows[at] ?? [];
  const titles = rows.slice(0, at).flatMap((row) => row.filter((cell) => cell.trim() !== ''));
  const days = columns.flatMap((one) => (one && 'until' in one ? [one.until] : []));
  const months = monthsOfColumns(days, titles);
  const titled = titles
    .map(read)
    .find((one) => one !== undefined && 'last' in one && days.length === 1 && one.last === days[0]);
  const periodOf = (one: Headed): Period => {
    if (!('until' in one)) return one;
    if (titled && 'first' in titled) return titled;
    // A workbook may store "Jan 2025" as the first day of that month.
    if (one.until.endsWith('-01')) return readPeriod(one.until.slice(0, 7)) ?? periodBetween(one.until, one.until);
    return periodBetween(firstDay(one.until, months), one.until);
  };
  const periods = columns.flatMap((one, index) =>
    one ? [{ ...periodOf(one), index, heading: (cells[index] ?? '').trim() }] : [],
  );
  const firstPeriod = periods[0]?.index ?? 0;
  const others = cells
    .map((cell, index) => ({ index, heading: cell.trim().slice(0, 64) }))
    .filter(({ index, heading }) => index > firstPeriod && heading !== '' && !columns[index]);
  const totals = others.filter(({ heading }) => /^total\b/i.test(heading));
  const account = cells.slice(0, firstPeriod).findIndex(isAccountHeading);
  return {
    at,
    firstPeriod,
    account: account === -1 ? null : account,
    periods,
    total: totals.length === 1 ? (totals[0] ?? null) : null,
    leftOut: others.filter((one) => !totals.includes(one)).map(({ heading }) => heading),
    assumedDay: assumedDayIn(
      periods.map(({ heading }) => heading),
      order,
    ),
  };
}
