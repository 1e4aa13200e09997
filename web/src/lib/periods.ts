/** The periods that figures are of. */
import type { PlPeriod } from '../api/shapes.ts';

/** Whether figures are of one month; else of a quarter, a year, or whatever their label says. */
export const isMonth = ({
  period_start_date: first,
  period_end_date: last,
}: Pick<PlPeriod, 'period_start_date' | 'period_end_date'>): boolean =>
  Date.parse(last) - Date.parse(first) < 32 * 86_400_000;

/** The months where there are any, in the currency of the first; else what there is. */
export function charted<Period extends Pick<PlPeriod, 'period_start_date' | 'period_end_date' | 'currency'>>(
  periods: readonly Period[],
): Period[] {
  const months = periods.some(isMonth) ? periods.filter(isMonth) : periods;
  return months.filter(({ currency }) => currency === months[0]?.currency);
}
