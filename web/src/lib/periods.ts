/** The periods of financial figures. */
import type { Day, PlPeriod } from '../api/shapes.ts';
import { formatCount } from './format.ts';

type Dates = Pick<PlPeriod, 'period_start_date' | 'period_end_date'>;

/** Returns the last day of a day's month. */
export function lastDayOfMonth(day: Day): Day {
  const date = new Date(`${day.slice(0, 7)}-01T00:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + 1, 0);
  return date.toISOString().slice(0, 10);
}

/**
 * Whether figures cover exactly one calendar month, by the server's definition; otherwise they cover four weeks, a
 * quarter, a year, or another period that their label names.
 */
export const isMonth = ({ period_start_date: first, period_end_date: last }: Dates): boolean =>
  first.endsWith('-01') && last === lastDayOfMonth(first);

/** Whether all days of the figures are in one calendar month, which they may cover partly. */
export const isWithinMonth = ({ period_start_date: first, period_end_date: last }: Dates): boolean =>
  first.slice(0, 7) === last.slice(0, 7);

/**
 * Days in the longest period of which a quarter has three: six weeks, the last of a year of 53 weeks in periods of 4, 4
 * and 5.
 */
const mostDays = 42;

const isShort = ({ period_start_date: first, period_end_date: last }: Dates): boolean =>
  Date.parse(last) - Date.parse(first) < mostDays * 86_400_000;

/**
 * Returns the months, or periods of about that length, and all periods when there are none; only those in the currency
 * of the first.
 */
export function charted<Period extends Dates & Pick<PlPeriod, 'currency'>>(periods: readonly Period[]): Period[] {
  const shown = periods.some(isShort) ? periods.filter(isShort) : periods;
  return shown.filter(({ currency }) => currency === shown[0]?.currency);
}

/** Says that a period with customers was uploaded by shorter ones: ", added up from 12 uploaded periods"; else empty. */
export const addedUp = (uploadedPeriods: number): string =>
  uploadedPeriods > 1 ? `, added up from ${formatCount(uploadedPeriods)} uploaded periods` : '';
