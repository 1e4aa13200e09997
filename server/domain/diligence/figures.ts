/** Queries of completed snapshots: profit and loss by period, and concentration of customers. */

import { mapped, rows } from '../../database/statement.ts';
import { cut } from '../cut.ts';
import { seenDeal } from '../deals/deals.ts';
import { listOfDeal } from '../visibility/list-of-deal.ts';

/** One period of the profit and loss; amounts are decimal strings. */
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

export interface CustomerRevenue {
  id: string;
  snapshot_id: string;
  customer_name: string;
  period_start_date: string;
  period_end_date: string;
  currency: string;
  /** A decimal string. */
  revenue_total: string;
  /**
   * Share of all customers of the period in this currency, from 0 to 1, as a decimal string; null unless their total is
   * above zero.
   */
  revenue_share: string | null;
  /** 1 for the largest customer in its currency; equal totals have the same rank. */
  rank: number;
}

/**
 * SQL for the customers of one period of a snapshot: the period that contains the day `asOf`, otherwise the period that
 * ends last. Selects the first `most` by `number`. Shares are null where credits exceed sales. Amounts in different
 * currencies are never compared: shares and ranks are within a currency, and `number` counts currency by currency,
 * largest customer first. The currency of the profit and loss comes first; it is taken from uploads completed no later
 * than the snapshot, so that a later upload does not change the order.
 */
const rankedCustomers = ({
  deal,
  snapshot,
  asOf,
  most,
}: Record<'deal' | 'snapshot' | 'asOf' | 'most', string>): string => `
  with period as materialized (
    select o.snapshot_id, o.period_start_date, o.period_end_date, (
      select p.currency from pl_periods p join accounting_snapshots e on e.id = p.snapshot_id and e.status = 'completed'
      join accounting_snapshots own on own.id = o.snapshot_id and (e.completed_at, e.id) <= (own.completed_at, own.id)
      where p.deal_id = ${deal}
      order by p.period_end_date desc, p.period_start_date desc, e.completed_at desc, e.id desc limit 1) as currency
    from customer_revenues o
    where o.deal_id = ${deal} and o.snapshot_id = ${snapshot}
      and (${asOf}::date is null or ${asOf} between o.period_start_date and o.period_end_date)
    order by case when ${asOf}::date is null then o.period_end_date end desc, o.period_start_date desc, o.period_end_date desc limit 1),
  its_customers as materialized (
    select c.*, c.currency is distinct from period.currency as is_foreign
    from period join customer_revenues c on c.deal_id = ${deal} and c.snapshot_id = period.snapshot_id
      and c.period_start_date = period.period_start_date and c.period_end_date = period.period_end_date)
  select c.*, round(c.revenue_total / in_all.total, 6) as revenue_share,
    round(sum(c.revenue_total) over (its order by c.revenue_total desc, c.id) / in_all.total, 6) as cumulative_share,
    (rank() over (its order by c.revenue_total desc))::int as rank,
    row_number() over (order by c.is_foreign, c.currency, c.revenue_total desc, c.id) as number
  from (select * from its_customers i order by i.is_foreign, i.currency, i.revenue_total desc, i.id limit ${most}) c
  join (select i.currency, nullif(greatest(sum(i.revenue_total), 0), 0) as total from its_customers i group by i.currency) in_all on in_all.currency = c.currency
  window its as (partition by c.currency)`;

/** The maximum number of customers in one list. */
export const mostCustomers = 50;

const largest = rows<
  CustomerRevenue & { cumulative_share: string | null; too_many: boolean },
  [dealId: string, asOf: string | null]
>(
  'customer_concentration',
  `with latest as materialized (
     select s.id from accounting_snapshots s where s.deal_id = ${seenDeal('$1')} and s.status = 'completed'
     order by s.completed_at desc, s.id desc limit 1
   )
   select c.id, c.snapshot_id, c.customer_name, c.period_start_date, c.period_end_date, c.currency,
     trim_scale(c.revenue_total) as revenue_total, trim_scale(c.revenue_share) as revenue_share,
     trim_scale(c.cumulative_share) as cumulative_share, c.rank, c.number > ${mostCustomers} as too_many
   from (${rankedCustomers({ deal: '$1', snapshot: '(select l.id from latest l)', asOf: '$2', most: `${mostCustomers + 1}` })}) c
   order by c.revenue_total desc, c.id`,
);

/**
 * The largest customers of a deal, at most {@link mostCustomers}, in one period of the snapshot completed last, whatever
 * its type: the period that contains `asOf`, otherwise the latest. `cumulative_share` is the share of a customer and all
 * before it together. Of several currencies, customers in the currency of the profit and loss are selected first.
 */
export const customerConcentration = (dealId: string, asOf: string | null) =>
  mapped(largest(dealId, asOf), (found) => {
    const { rows: listed, more } = cut(found, mostCustomers, ({ too_many }) => (too_many ? 1 : 0));
    return { rows: listed.map(({ too_many: _tooMany, ...customer }) => customer), more };
  });

// EBITDA as uploaded, otherwise computed by its definition.
const ebitda = 'coalesce(p.ebitda, p.net_income + p.interest_expense + p.tax_expense + p.depreciation_amortization)';

// Later snapshots supersede earlier ones: each period is taken from the last completed snapshot that has it.
const latestPeriods = `
  select distinct on (p.period_start_date, p.period_end_date) p.*
  from pl_periods p join accounting_snapshots s on s.id = p.snapshot_id and s.status = 'completed'
  where p.deal_id = $1
  order by p.period_start_date desc, p.period_end_date desc, s.completed_at desc, s.id desc`;

/**
 * The periods of a deal's profit and loss, each once, latest first, at most 500; optionally only from `start` on and up
 * to `end`.
 */
export const periodsOnPage = rows<PlPeriod, [dealId: string, start: string | null, end: string | null]>(
  'periods_on_page',
  `select p.id, p.snapshot_id, p.period_label, p.period_start_date, p.period_end_date, p.currency, p.revenue,
     p.cost_of_goods_sold, p.gross_profit, p.operating_expenses, p.owner_compensation, p.depreciation_amortization,
     p.interest_expense, p.tax_expense, p.net_income, ${ebitda} as ebitda
   from (${latestPeriods}) p
   where ($2::date is null or p.period_start_date >= $2) and ($3::date is null or p.period_end_date <= $3)
   order by p.period_start_date desc, p.period_end_date desc
   limit 500`,
);

/**
 * The periods in the snapshots of a deal, latest first, in pages; optionally of one snapshot, from `start` on and up to
 * `end`.
 */
export const periodsOfDeal = listOfDeal<PlPeriod, [snapshot: string | null, start: string | null, end: string | null]>(
  'periods_of_deal',
  {
    columns: `p.id, p.snapshot_id, p.period_label, p.period_start_date, p.period_end_date, p.currency, p.revenue,
      p.cost_of_goods_sold, p.gross_profit, p.operating_expenses, p.owner_compensation, p.depreciation_amortization,
      p.interest_expense, p.tax_expense, p.net_income, p.ebitda`,
    tables: 'pl_periods p',
    deal: 'p.deal_id',
    where: `($5::uuid is null or p.snapshot_id = $5) and ($6::date is null or p.period_start_date >= $6)
      and ($7::date is null or p.period_end_date <= $7)`,
    key: 'p.period_start_date',
    type: 'date',
    id: 'p.id',
    direction: 'desc',
  },
);

/**
 * The customers in one snapshot of a deal, largest first, in the period that contains `asOf`, otherwise in its latest
 * period. Pages begin after a `number`, as a completed snapshot never changes. Without a snapshot id, the first page
 * uses the snapshot completed last, and later pages the snapshot of the customer after whom they begin.
 */
export const customersOfDeal = listOfDeal<CustomerRevenue, [snapshot: string | null, asOf: string | null]>(
  'customers_of_deal',
  `select c.id, c.snapshot_id, c.customer_name, c.period_start_date, c.period_end_date, c.currency, c.revenue_total,
     c.revenue_share, c.rank, c.number::text as place
   from (${rankedCustomers({
     deal: 'seen.deal',
     snapshot: `coalesce($5::uuid, (select b.snapshot_id from customer_revenues b where b.id = $3), (
       select s.id from accounting_snapshots s where s.deal_id = seen.deal and s.status = 'completed'
       order by s.completed_at desc, s.id desc limit 1))`,
     asOf: '$6',
     most: 'coalesce($2::bigint, 0) + $4',
   })}) c
   where (c.number, c.id) > (coalesce($2::bigint, 0), coalesce($3::uuid, '00000000-0000-0000-0000-000000000000'))
   order by c.number limit $4`,
);
