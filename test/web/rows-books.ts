/** Quality of earnings in the scene: a checklist in every state, and books in several snapshots. */

import { insert, insertAll } from '../tools/scene.ts';
import type { WebScene } from './scene.ts';

const minute = 60_000;

/** The first and the last day of a month, counted from January 2025. */
export const month = (at: number) => {
  const date = (shift: number, on: number) => new Date(Date.UTC(2025, at + shift, on)).toISOString().slice(0, 10);
  return { period_start_date: date(0, 1), period_end_date: date(1, 0), currency: 'USD' };
};

/**
 * Adds a checklist in every state, and seven snapshots of which two are completed and overlap; returns the ends of the
 * customers' periods.
 */
export async function addBooks({ service, scene }: WebScene): Promise<string[]> {
  const deal_id = scene.deal;
  const states = ['not_started', 'in_progress', 'completed', 'not_applicable'];
  const checklist = ['proof_of_cash', 'payroll'].flatMap((category, row) =>
    states.map((status, at) => ({ deal_id, category, title: `Row ${row}.${at}`, status, position: 4 * row + at })),
  );
  await insertAll(service, 'qoe_checklist', checklist);
  const snapshot = (status: string, hoursAgo: number, snapshot_type = 'full') => {
    const requested_at = new Date(Date.now() - hoursAgo * 60 * minute);
    const completed_at = ['completed', 'failed'].includes(status) ? new Date(requested_at.getTime() + minute) : null;
    return insert(service, 'accounting_snapshots', { deal_id, snapshot_type, status, requested_at, completed_at });
  };
  await snapshot('failed', 9);
  await snapshot('failed', 8, 'customer_revenue');
  await snapshot('requested', 7);
  const earlier = await snapshot('completed', 6);
  const later = await snapshot('completed', 5);
  const processing = await snapshot('processing', 4);
  await snapshot('failed', 3, 'profit_and_loss');
  const period = (snapshot_id: string, at: number, revenue: number, ebitda: number | null) => {
    const dates = month(at);
    return { deal_id, snapshot_id, period_label: dates.period_start_date.slice(0, 7), ...dates, revenue, ebitda };
  };
  const year = { period_label: 'FY2025', period_start_date: '2025-01-01', period_end_date: '2025-12-31' };
  await insertAll(service, 'pl_periods', [
    ...Array.from({ length: 12 }, (_, at) => period(earlier, at, 10_000.5 + at, 2_000 + at)),
    ...Array.from({ length: 9 }, (_, at) => period(later, 6 + at, 20_000.25 + at, at === 0 ? null : 4_000 + at)),
    { ...period(later, 0, 123_456, 23_456), ...year },
    period(processing, 20, 99_999, 1),
  ]);
  const periods = [month(12), month(13)];
  const customer = (snapshot_id: string, at: number, place: number) => ({
    deal_id,
    snapshot_id,
    ...periods[at],
    customer_name: `Customer ${at}.${place}`,
    revenue_total: 1_000 * (14 - place) + at,
  });
  const customers = [0, 1].flatMap((at) => Array.from({ length: 13 }, (_, place) => customer(later, at, place)));
  await insertAll(service, 'customer_revenues', [
    ...customers,
    { ...customer(earlier, 1, 0), customer_name: 'Of old' },
  ]);
  return periods.map(({ period_end_date }) => period_end_date);
}
