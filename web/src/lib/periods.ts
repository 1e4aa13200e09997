/** The periods that figures are of. */
import type { Day, PlPeriod } from '../api/shapes.ts';

type Dates = Pick<PlPeriod, 'period_start_date' | 'period_end_date'>;

/** The last day of the month of a day. */
export function lastDayOfMonth(day: Day): Day {
  const date = new Date(`${day.slice(0, 7)}-01T00:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + 1, 0);
  return date.toISOString().slice(0, 10);
}

/** Whether figures are of one calendar month, as the server says it; else of four weeks, a quarter, a year, or whatever their label says. */
export const isMonth = ({ period_start_date: first, period_end_date: last }: Dates): boolean =>
  first.endsWith('-01') && last === lastDayOfMonth(first);

/** Whether figures are of days of one calendar month, all of them or some. */
export const isWithinMonth = ({ period_start_date: first, period_end_date: last }: Dates): boolean =>
  first.slice(0, 7) === last.slice(0, 7);

/** As long as a period gets where a quarter has three: six weeks, the last of a year of 53 weeks in periods of 4, 4 and 5. */
const mostDays = 42;

const isShort = ({ period_start_date: first, period_end_date: last }: Dates): boolean =>
  Date.parse(last) - Date.parse(first) < mostDays * 86_400_000;

/** The months, or periods about as long, where there are any, in the currency of the first; else what there is. */
export function charted<Period extends Dates & Pick<PlPeriod, 'currency'>>(periods: readonly Period[]): Period[] {
  const shown = periods.some(isShort) ? periods.filter(isShort) : periods;
  return shown.filter(({ currency }) => currency === shown[0]?.currency);
}
