/** Days (`YYYY-MM-DD`) and calendar months (`YYYY-MM`) as text that sorts in order of time. */

export type Day = string;
export type Month = string;

/** A comparator that sorts texts by character, which sorts days and months by time. */
export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The month of a day. */
export const monthOf = (day: Day): Month => day.slice(0, 7);
/** The year of a day. */
export const yearOf = (day: Day): string => day.slice(0, 4);

/** The first day of a month. */
export const firstDayOf = (month: Month): Day => `${month}-01`;

/** The month `count` months later, or earlier where `count` is negative. */
export function monthAfter(month: Month, count: bigint): Month {
  const [year = '', inYear = ''] = month.split('-');
  const place = BigInt(year) * 12n + BigInt(inYear) - 1n + count;
  return `${(place / 12n).toString().padStart(4, '0')}-${((place % 12n) + 1n).toString().padStart(2, '0')}`;
}

/** `count` consecutive months from this one on. */
export const monthsFrom = (month: Month, count: number): Month[] =>
  Array.from({ length: count }, (_, place) => monthAfter(month, BigInt(place)));

/** The number of months from `first` to `last`, both included; 0 or less when `last` comes before `first`. */
export function monthsBetween(first: Month, last: Month): bigint {
  const place = (month: Month): bigint => {
    const [year = '', inYear = ''] = month.split('-');
    return BigInt(year) * 12n + BigInt(inYear);
  };
  return place(last) - place(first) + 1n;
}

function dayFrom(day: Day, count: number): Day {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + count);
  return date.toISOString().slice(0, 10);
}

/** The day after this one. */
export const dayAfter = (day: Day): Day => dayFrom(day, 1);
/** The day before this one. */
export const dayBefore = (day: Day): Day => dayFrom(day, -1);

/** The number of days from `first` to `last`, both included. */
export const daysFrom = (first: Day, last: Day): bigint =>
  (BigInt(Date.parse(last)) - BigInt(Date.parse(first))) / 86_400_000n + 1n;

/**
 * Whether a period is a year: twelve whole calendar months, or 52 or 53 weeks, as fiscal years that always end on the
 * same day of the week have, or a year from any other day on (364 to 371 days).
 */
export function isYearLong(first: Day, last: Day): boolean {
  const months = wholeMonths(first, last);
  if (months !== null) return months === 12n;
  const days = daysFrom(first, last);
  return 364n <= days && days <= 371n;
}

const thirty = new Set(['04', '06', '09', '11']);

/** The last day within a month: "28" to "31". */
export function lastDayOf(month: Month): string {
  const inYear = month.slice(5);
  if (inYear !== '02') return thirty.has(inYear) ? '30' : '31';
  const year = BigInt(month.slice(0, 4));
  return year % 4n === 0n && (year % 100n !== 0n || year % 400n === 0n) ? '29' : '28';
}

/**
 * The number of whole calendar months from `first` to `last`; null unless `first` is the first day of a month and
 * `last` the last day of one.
 */
export function wholeMonths(first: Day, last: Day): bigint | null {
  const [from, to] = [monthOf(first), monthOf(last)];
  if (!first.endsWith('-01') || last.slice(8) !== lastDayOf(to)) return null;
  return from === to ? 1n : monthsBetween(from, to);
}
