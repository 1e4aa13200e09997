/** Quality of earnings: the checklist and the accounting snapshots of a deal (specification, sections 2.2 and 4.3). */

import { rows } from '../../database/statement.ts';
import { seenDeal } from '../deals/deals.ts';

export interface ChecklistRow {
  id: string;
  status: 'not_started' | 'in_progress' | 'completed' | 'not_applicable';
  completed_at: string | null;
  category: string;
  title: string;
}

/** The checklist of a deal in its own order; of one category where that is given. */
export const checklist = rows<ChecklistRow, [dealId: string, category: string | null]>(
  'qoe_checklist',
  `select id, status, completed_at, category, title from qoe_checklist
   where deal_id = ${seenDeal('$1')} and ($2::text is null or category = $2)
   order by position, id`,
);

export interface Snapshot {
  id: string;
  snapshot_type: 'profit_and_loss' | 'customer_revenue' | 'full';
  status: 'requested' | 'processing' | 'completed' | 'failed';
  requested_at: string;
  completed_at: string | null;
}

/** The five accounting snapshots of a deal that were requested last, the latest first. */
export const recentSnapshots = rows<Snapshot, [dealId: string]>(
  'recent_snapshots',
  `select id, snapshot_type, status, requested_at, completed_at from accounting_snapshots
   where deal_id = ${seenDeal('$1')} order by requested_at desc, id desc limit 5`,
);

/** One period of profit and loss; amounts are decimal strings. */
export interface PlPeriod {
  id: string;
  snapshot_id: string;
  period_label: string;
  period_start_date: string;
  period_end_date: string;
  currency: string;
  revenue: string;
  cost_of_goods_sold: string | null;
  gross_profit: string | null;
  operating_expenses: string | null;
  owner_compensation: string | null;
  depreciation_amortization: string | null;
  interest_expense: string | null;
  tax_expense: string | null;
  net_income: string | null;
  ebitda: string | null;
}

/** The periods of every snapshot of a deal, the latest first, at most 500; those from `start` on and up to `end`, where given. */
export const plPeriods = rows<PlPeriod, [dealId: string, start: string | null, end: string | null]>(
  'pl_periods',
  `select id, snapshot_id, period_label, period_start_date, period_end_date, currency, revenue, cost_of_goods_sold,
     gross_profit, operating_expenses, owner_compensation, depreciation_amortization, interest_expense, tax_expense,
     net_income, ebitda
   from pl_periods
   where deal_id = ${seenDeal('$1')} and ($2::date is null or period_start_date >= $2) and ($3::date is null or period_end_date <= $3)
   order by period_start_date desc, id desc
   limit 500`,
);

export interface CustomerRevenue {
  id: string;
  snapshot_id: string;
  customer_name: string;
  period_start_date: string;
  period_end_date: string;
  currency: string;
  /** A decimal string. */
  revenue_total: string;
  /** Of all customers of the period, from 0 to 1, as a decimal string; null when they come to nothing. */
  revenue_share: string | null;
  /** 1 for the largest; the same for equal totals. */
  rank: number;
}

/**
 * The largest customers of a deal, at most 50, in one period of the snapshot that was completed last: the one that
 * contains `asOf`, or else the latest.
 */
export const customerConcentration = rows<CustomerRevenue, [dealId: string, asOf: string | null]>(
  'customer_concentration',
  `with latest as materialized (
     select id from accounting_snapshots where deal_id = ${seenDeal('$1')} and status = 'completed'
     order by completed_at desc, id desc limit 1
   ), period as materialized (
     select c.snapshot_id, c.period_start_date, c.period_end_date from customer_revenues c join latest l on l.id = c.snapshot_id
     where c.deal_id = $1 and ($2::date is null or $2 between c.period_start_date and c.period_end_date)
     order by c.period_start_date desc, c.period_end_date desc limit 1
   )
   select c.id, c.snapshot_id, c.customer_name, c.period_start_date, c.period_end_date, c.currency, c.revenue_total,
     round(c.revenue_total / nullif(sum(c.revenue_total) over (), 0), 6) as revenue_share,
     (rank() over (order by c.revenue_total desc))::int as rank
   from customer_revenues c join period p using (snapshot_id, period_start_date, period_end_date)
   where c.deal_id = $1
   order by c.revenue_total desc, c.id
   limit 50`,
);
