/**
 * Accounting snapshots of a deal: requested, processed, then completed with all of their rows or failed without any.
 */

import { row, rows, type Statement } from '../../database/statement.ts';
import { seenDeal } from '../deals/deals.ts';
import { addedId, audited, from, type Origin } from '../audit/audited.ts';
import { listOfDeal, recordsByIds } from '../visibility/list-of-deal.ts';

/** The kinds of figures in a snapshot. */
export const snapshotTypes = ['profit_and_loss', 'customer_revenue', 'full'] as const;

/**
 * The maximum number of profit and loss rows, and of customer rows, in one upload or delivery. The pages use the same
 * number.
 */
export const mostSnapshotRows = 5_000;

export const snapshotStatuses = ['requested', 'processing', 'completed', 'failed'] as const;

export interface Snapshot {
  id: string;
  snapshot_type: (typeof snapshotTypes)[number];
  status: (typeof snapshotStatuses)[number];
  requested_at: string;
  completed_at: string | null;
}

/** The five accounting snapshots of a deal that were requested last, newest first. */
export const recentSnapshots = rows<SnapshotOnPage, [dealId: string]>(
  'recent_snapshots',
  `select id, snapshot_type, status, requested_at, completed_at, source_name, failure from accounting_snapshots
   where deal_id = ${seenDeal('$1')} order by requested_at desc, id desc limit 5`,
);

interface SnapshotOnPage extends Snapshot {
  source_name: string | null;
  failure: string | null;
}

const snapshotFields = 's.id, s.snapshot_type, s.status, s.source_name, s.requested_at, s.completed_at, s.failure';

/** The accounting snapshots of a deal, newest first, at most 200. */
export const snapshotsOnPage = rows<SnapshotOnPage, [dealId: string]>(
  'snapshots_on_page',
  `select ${snapshotFields} from accounting_snapshots s where s.deal_id = $1 order by s.requested_at desc, s.id desc limit 200`,
);

/** The snapshot with this id if the caller may see it, otherwise null. */
export const snapshotOnPage = row<SnapshotOnPage, [id: string]>(
  'snapshot_on_page',
  `select ${snapshotFields} from accounting_snapshots s where s.id = $1`,
);

/** The columns of pl_periods that hold amounts. */
export const plAmounts = [
  'revenue',
  'cost_of_goods_sold',
  'gross_profit',
  'operating_expenses',
  'owner_compensation',
  'depreciation_amortization',
  'interest_expense',
  'tax_expense',
  'net_income',
  'ebitda',
] as const;
export type PlAmount = (typeof plAmounts)[number];

/** The names of these lines in reports, in contradictions and on the pages. */
export const lineWords = {
  revenue: 'Revenue',
  cost_of_goods_sold: 'Cost of goods sold',
  gross_profit: 'Gross profit',
  operating_expenses: 'Operating expenses',
  owner_compensation: 'Owner compensation',
  depreciation_amortization: 'Depreciation and amortization',
  interest_expense: 'Interest',
  tax_expense: 'Income tax',
  net_income: 'Net income',
  ebitda: 'EBITDA',
} as const satisfies Record<PlAmount, string>;

interface InPeriod {
  readonly period_start_date: string;
  readonly period_end_date: string;
  readonly currency: string;
}

/** Amounts are decimal strings that fit numeric(20,4). */
export type PlRow = InPeriod & { readonly period_label: string } & { readonly [A in PlAmount]: string | null };
export type CustomerRow = InPeriod & { readonly customer_name: string; readonly revenue_total: string };

/** Whether the caller may import into a deal, and the currency for rows without one. */
export const importsInto = row<{ editor: boolean; currency: string; organization_id: string }, [dealId: string]>(
  'imports_into',
  `select id = any ((select app.qoe_deals(true))::uuid[]) as editor, currency, organization_id from deals where id = $1`,
);

/** Marks abandoned snapshots as failed. */
export const failAbandonedSnapshots = row<unknown, []>(
  'fail_abandoned_snapshots',
  'select app.fail_abandoned_snapshots()',
);

const request = row<{ id: string }>(
  'request_snapshot',
  `with changed as (
     insert into accounting_snapshots (deal_id, snapshot_type, source_name, account_lines) values ($3, $4, $5, $6::jsonb)
     returning id, deal_id)
   select changed.id from changed
   ${audited('qoe.snapshot.request', { details: `jsonb_build_object('type', $4::text)` })}`,
);

/**
 * Requests a snapshot; returns its id. `accountLines` has the line of each account in an export and is remembered for
 * the next export. Denied to all but editors.
 */
export const requestSnapshot = (
  dealId: string,
  type: Snapshot['snapshot_type'],
  sourceName: string | null,
  accountLines: ReadonlyMap<string, string | null> | null,
  origin: Origin,
): Statement<string> => {
  const lines = accountLines && JSON.stringify(Object.fromEntries(accountLines));
  return addedId(request(...from(origin), dealId, type, sourceName, lines));
};

/** Marks a snapshot as being processed. */
export const processSnapshot = row<unknown, [id: string]>(
  'process_snapshot',
  `update accounting_snapshots set status = 'processing' where id = $1`,
);

const ended = (status: 'completed' | 'failed') =>
  row<{ id: string }>(
    `snapshot_${status}`,
    `with changed as (
       update accounting_snapshots set status = '${status}', failure = $4 where id = $3 returning id, deal_id)
     select changed.id from changed
     ${audited(`qoe.snapshot.${status === 'completed' ? 'complete' : 'fail'}`)}`,
  );
const complete = ended('completed');
const fail = ended('failed');

/** Marks a snapshot as failed, with a reason of at most 2,000 characters. */
export const failSnapshot = (id: string, failure: string, origin: Origin) => fail(...from(origin), id, failure);

const storePeriods = row<unknown, [dealId: string, id: string, rows: string]>(
  'store_pl_periods',
  `insert into pl_periods (deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, ${plAmounts.join(', ')})
   select $1, $2, period_label, period_start_date, period_end_date, currency, ${plAmounts.join(', ')}
   from jsonb_to_recordset($3::jsonb) r (period_label text, period_start_date date, period_end_date date, currency text,
     ${plAmounts.map((name) => `${name} numeric(20, 4)`).join(', ')})`,
);

const storeCustomers = row<unknown, [dealId: string, id: string, rows: string]>(
  'store_customer_revenues',
  `insert into customer_revenues (deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total)
   select $1, $2, customer_name, period_start_date, period_end_date, currency, revenue_total
   from jsonb_to_recordset($3::jsonb) r (customer_name text, period_start_date date, period_end_date date, currency text,
     revenue_total numeric(20, 4))`,
);

/** Stores the rows of a snapshot and completes it: statements for one transaction. */
export const completeSnapshot = (
  dealId: string,
  id: string,
  books: { readonly periods: readonly PlRow[]; readonly customers: readonly CustomerRow[] },
  origin: Origin,
): Statement<unknown>[] => [
  storePeriods(dealId, id, JSON.stringify(books.periods)),
  storeCustomers(dealId, id, JSON.stringify(books.customers)),
  complete(...from(origin), id, null),
];

const inOrder = {
  columns: snapshotFields,
  tables: 'accounting_snapshots s',
  deal: 's.deal_id',
  key: 's.requested_at',
  type: 'timestamptz',
  id: 's.id',
  direction: 'desc',
} as const;

/** The accounting snapshots of a deal, newest first, in pages. */
export const snapshotsOfDeal = listOfDeal<SnapshotOnPage>('snapshots_of_deal', inOrder);

/** The snapshots with these ids that the caller may see. */
export const snapshotsByIds = recordsByIds<SnapshotOnPage>('snapshots_by_ids', inOrder);

/** A snapshot that another system delivers completely. Rows without a currency are in the deal's currency. */
export interface DeliveredBooks {
  readonly periods: readonly (Omit<PlRow, 'currency'> & { readonly currency: string | null })[];
  readonly customers: readonly (Omit<CustomerRow, 'currency'> & { readonly currency: string | null })[];
}

const money = `coalesce(r.currency, (select d.currency from deals d where d.id = $3))`;

const deliver = row<SnapshotOnPage>(
  'deliver_snapshot',
  `with s as (
     insert into accounting_snapshots (deal_id, snapshot_type, source_name, status) values ($3, $4, $5, 'completed')
     returning id, deal_id, snapshot_type, status, source_name, requested_at, completed_at, failure),
   periods as (
     insert into pl_periods (deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, ${plAmounts.join(', ')})
     select s.deal_id, s.id, r.period_label, r.period_start_date, r.period_end_date, ${money}, ${plAmounts.map((name) => `r.${name}`).join(', ')}
     from s, jsonb_to_recordset($6::jsonb) r (period_label text, period_start_date date, period_end_date date, currency text,
       ${plAmounts.map((name) => `${name} numeric(20, 4)`).join(', ')})),
   customers as (
     insert into customer_revenues (deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total)
     select s.deal_id, s.id, r.customer_name, r.period_start_date, r.period_end_date, ${money}, r.revenue_total
     from s, jsonb_to_recordset($7::jsonb) r (customer_name text, period_start_date date, period_end_date date, currency text,
       revenue_total numeric(20, 4)))
   select ${snapshotFields} from s
   ${audited('qoe.snapshot.request', { subject: 's.id', deal: 's.deal_id', details: `jsonb_build_object('type', $4::text)` })}`,
);

/** Stores a completed snapshot with all of its rows. Denied to callers who may not write to the deal's books. */
export const deliverSnapshot = (
  dealId: string,
  type: Snapshot['snapshot_type'],
  sourceName: string | null,
  { periods, customers }: DeliveredBooks,
  origin: Origin,
): Statement<SnapshotOnPage | null> =>
  deliver(...from(origin), dealId, type, sourceName, JSON.stringify(periods), JSON.stringify(customers));
