/** The periods that figures are of. */
import type { PlPeriod } from '../../../api/shapes.ts';

/** Whether figures are of one month; else of a quarter, a year, or whatever their label says. */
export const isMonth = ({
  period_start_date: first,
  period_end_date: last,
}: Pick<PlPeriod, 'period_start_date' | 'period_end_date'>): boolean =>
  Date.parse(last) - Date.parse(first) < 32 * 86_400_000;
