/** Days (`YYYY-MM-DD`) and calendar months (`YYYY-MM`) as text, which sorts as they follow each other. */

export type Day = string;
export type Month = string;

export const monthOf = (day: Day): Month => day.slice(0, 7);
export const yearOf = (day: Day): string => day.slice(0, 4);

export const firstDayOf = (month: Month): Day => `${month}-01`;

/** The month that comes `count` after this one, or before it where `count` is negative. */
export function monthAfter(month: Month, count: bigint): Month {
  const [year = '', inYear = ''] = month.split('-');
  const place = BigInt(year) * 12n + BigInt(inYear) - 1n + count;
  return `${(place / 12n).toString().padStart(4, '0')}-${((place % 12n) + 1n).toString().padStart(2, '0')}`;
}

/** `count` months from this one on. */
export const monthsFrom = (month: Month, count: number): Month[] =>
  Array.from({ length: count }, (_, place) => monthAfter(month, BigInt(place)));

/** How many months lie from `first` up to `last`, both among them; 0 or less when `last` comes before. */
export function monthsBetween(first: Month, last: Month): bigint {
  const place = (month: Month): bigint => {
    const [year = '', inYear = ''] = month.split('-');
    return BigInt(year) * 12n + BigInt(inYear);
  };
  return place(last) - place(first) + 1n;
}

export function dayAfter(day: Day): Day {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + 1);
  return date.toISOString().slice(0, 10);
}

/** Whole calendar months are what dates hold from the first of one up to the last of one. */
export const isWholeMonths = (first: Day, last: Day): boolean =>
  first.endsWith('-01') && dayAfter(last).endsWith('-01');

/** How many whole calendar months the dates hold; null when they begin or end amid one. */
export const wholeMonths = (first: Day, last: Day): bigint | null =>
  isWholeMonths(first, last) ? monthsBetween(monthOf(first), monthOf(last)) : null;
