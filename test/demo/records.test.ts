/** The records of the demo are complete, add up, and come in an order that could have happened. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { customerConcentration, periodsOnPage } from '../../server/domain/diligence/figures.ts';
import { recentSnapshots } from '../../server/domain/diligence/snapshots.ts';
import { openDemoService, type DemoService } from './service.ts';

let it: DemoService;
beforeAll(async () => {
  it = await openDemoService();
});
afterAll(() => it?.service.close());

/** Returns the distinct values of a column, on the deal with everything or in the whole demo. */
async function kinds(table: string, column: string, everywhere = false): Promise<string[]> {
  const rows = await it.service.sql<{ kind: string }>(
    `select distinct ${column}::text as kind from ${table} where $1::uuid is null or deal_id = $1 order by 1`,
    [everywhere ? null : it.demo.deals.with_everything],
  );
  return rows.map(({ kind }) => kind);
}

describe("the demo's profit and loss", () => {
  const cents = (decimal: string | null) => {
    const [whole = '', places = ''] = (decimal ?? '').split('.');
    return BigInt(whole + places.padEnd(2, '0').slice(0, 2));
  };

  test('covers the 36 months before its snapshot was requested, without a gap', async () => {
    const periods = await it.as('broker', periodsOnPage(it.demo.deals.with_everything, null, null));
    const [snapshot] = await it.service.sql<{ read: Date }>(
      `select max(requested_at) as read from accounting_snapshots s
       where deal_id = $1 and exists (select from pl_periods p where p.snapshot_id = s.id)`,
      [it.demo.deals.with_everything],
    );
    const { read } = snapshot!;
    const expected = Array.from({ length: 36 }, (_, back) => {
      const month = (of: number) =>
        new Date(Date.UTC(read.getUTCFullYear(), read.getUTCMonth() - of, of === back ? 0 : 1));
      return {
        first: month(back + 1)
          .toISOString()
          .slice(0, 10),
        last: month(back).toISOString().slice(0, 10),
      };
    });
    expect(periods.map((period) => ({ first: period.period_start_date, last: period.period_end_date }))).toEqual(
      expected,
    );
  });

  test('is arithmetically consistent in every period of every deal', async () => {
    const wrong = await it.service.sql(
      `select id from pl_periods where gross_profit <> revenue - cost_of_goods_sold
         or ebitda <> net_income + interest_expense + tax_expense + depreciation_amortization
         or ebitda <> gross_profit - operating_expenses - owner_compensation
         or num_nulls(gross_profit, ebitda, net_income, owner_compensation) > 0 or revenue <> round(revenue, 2)`,
    );
    expect(wrong).toEqual([]);
    expect(await it.service.sql('select from pl_periods')).not.toHaveLength(36);
  });

  test('has more revenue in summer than in spring and autumn, and grows every year', async () => {
    const periods = (await it.as('buyer', periodsOnPage(it.demo.deals.with_everything, null, null))).toReversed();
    const sum = (some: typeof periods) => some.reduce((total, period) => total + cents(period.revenue), 0n);
    const inMonths = (...months: string[]) =>
      sum(periods.filter(({ period_label }) => months.includes(period_label.slice(5))));
    expect(inMonths('06', '07', '08')).toBeGreaterThan((inMonths('03', '04', '10', '11') * 9n) / 10n);
    expect(inMonths('07')).toBeGreaterThan(inMonths('04'));
    expect(sum(periods.slice(24))).toBeGreaterThan(sum(periods.slice(12, 24)));
    expect(sum(periods.slice(12, 24))).toBeGreaterThan(sum(periods.slice(0, 12)));
  });

  test('equals the revenue of forty customers in each of the last two years, none of them dominant', async () => {
    const deal = it.demo.deals.with_everything;
    const periods = await it.as('broker', periodsOnPage(deal, null, null));
    for (const year of [periods.slice(0, 12), periods.slice(12, 24)]) {
      const total = year.reduce((sum, period) => sum + cents(period.revenue), 0n);
      const asked = customerConcentration(deal, year[5]?.period_start_date ?? null);
      const { rows: customers } = await it.as('broker', asked);
      expect(customers).toHaveLength(40);
      expect(customers[0]).toMatchObject({
        period_start_date: year.at(-1)?.period_start_date,
        period_end_date: year[0]?.period_end_date,
      });
      expect(customers.reduce((sum, customer) => sum + cents(customer.revenue_total), 0n)).toBe(total);
      const shares = customers.map(({ revenue_share }) => Number(revenue_share));
      expect(shares[0]).toBeGreaterThan(0.1);
      expect(shares[0]).toBeLessThan(0.16);
      const topTen = shares.slice(0, 10).reduce((sum, share) => sum + share, 0);
      expect(topTen).toBeGreaterThan(0.5);
      expect(topTen).toBeLessThan(0.65);
    }
  });
});

test('the customer revenues of the listing add up to the revenue of its twelve months', async () => {
  const [year] = await it.service.sql(
    `with listing as (
       select c.period_start_date as first, c.period_end_date as last, sum(c.revenue_total) as revenue
       from customer_revenues c join accounting_snapshots s on s.id = c.snapshot_id
       where c.deal_id = $1 and s.snapshot_type = 'customer_revenue' group by 1, 2)
     select l.revenue as of_customers, sum(p.revenue) as of_months, count(*)::int as months from listing l
     join pl_periods p on p.deal_id = $1 and p.period_start_date >= l.first and p.period_end_date <= l.last
     group by l.revenue`,
    [it.demo.deals.with_everything],
  );
  expect(year?.['months']).toBe(12);
  expect(year?.['of_customers']).toBe(year?.['of_months']);
});

test('the deal with everything has records in every status of their kind', async () => {
  const snapshots = await it.as('broker', recentSnapshots(it.demo.deals.with_everything));
  expect(snapshots.map(({ status }) => status)).toEqual([
    'requested',
    'processing',
    'completed',
    'failed',
    'completed',
  ]);
  expect(await kinds('questions', 'status')).toEqual([
    'answered',
    'distributed',
    'pending_broker_review',
    'rejected',
    'with_seller',
    'withdrawn',
  ]);
  expect(await kinds('qoe_checklist', 'status')).toEqual(['completed', 'in_progress', 'not_applicable', 'not_started']);
  expect((await kinds('qoe_checklist', 'category')).length).toBeGreaterThanOrEqual(8);
  expect(await kinds('normalizations', 'adjustment_category')).toEqual([
    'one_time',
    'other',
    'owner_comp',
    'related_party',
  ]);
  expect(await kinds('closing_conditions', 'status')).toEqual(['in_progress', 'open', 'satisfied', 'waived']);
  expect(await kinds('findings', 'status')).toEqual(['accepted', 'mitigated', 'open', 'resolved']);
  expect(await kinds('findings', 'severity')).toEqual(['critical', 'informational', 'major', 'minor']);
  expect((await kinds('financing_sources', 'commitment_status')).length).toBe(7);
  for (const table of ['documents', 'production_documents'])
    expect(await kinds(table, 'confidentiality')).toEqual(['nda_gated', 'public', 'selected_buyer_only']);
});

test('the demo has deals, NDAs and memberships in every state', async () => {
  const states = await it.service.sql<{ state: string }>(
    'select distinct app.actual_state(id) as state from deals order by 1',
  );
  expect(states.map(({ state }) => state)).toEqual([
    'closed',
    'closing',
    'diligence',
    'draft',
    'exclusivity',
    'listed',
    'under_offer',
    'withdrawn',
  ]);
  expect(await kinds('ndas', 'status', true)).toEqual(['active', 'expired', 'revoked', 'sent']);
  const members = await it.service.sql('select distinct role, status from members');
  expect(members).toHaveLength(5);
});

test('each buyer has one current offer, the latest in an unbroken sequence of revisions', async () => {
  const offers = await it.service.sql<{ revisions: number[]; current: number[] }>(
    `select array_agg(revision_number order by submitted_at) as revisions,
       array_agg(revision_number) filter (where is_current) as current
     from offers group by deal_id, buyer_user_id`,
  );
  for (const { revisions, current } of offers) {
    expect(revisions).toEqual(revisions.map((_, index) => index + 1));
    expect(current).toEqual([revisions.length]);
  }
  expect(Math.max(...offers.map(({ revisions }) => revisions.length))).toBe(3);
});

test('exactly one closing condition of the deal with everything is overdue', async () => {
  const overdue = await it.service.sql(
    `select name from closing_conditions where deal_id = $1 and completed_at is null and deadline < current_date`,
    [it.demo.deals.with_everything],
  );
  expect(overdue).toHaveLength(1);
});

test('the status history of each finding leads from open to its current status', async () => {
  const broken = await it.service.sql(
    `select f.id from findings f
     join lateral (select array_agg(c.from_status order by c.changed_at) as froms,
       array_agg(c.to_status order by c.changed_at) as tos, bool_and(c.changed_by is not null) as known
       from finding_changes c where c.finding_id = f.id) h on true
     where h.tos[1] <> 'open' or h.tos[cardinality(h.tos)] <> f.status or not h.known
       or h.froms[2:] is distinct from h.tos[:cardinality(h.tos) - 1]`,
  );
  expect(broken).toEqual([]);
});

test('no timestamp is in the future, and no event precedes the event that it follows from', async () => {
  const columns = await it.service.sql<{ of_table: string; name: string }>(
    `select format('%I.%I', table_schema, table_name) as of_table, column_name as name from information_schema.columns
     join pg_tables on schemaname = table_schema and tablename = table_name
     where table_schema in ('public', 'vault') and data_type like 'timestamp%' and table_name <> 'audit_months'
       and column_name not in ('expires_at', 'remind_at', 'due_at', 'next_attempt_at', 'give_up_at')`,
  );
  for (const { of_table, name } of columns) {
    const later = await it.service.sql(`select from ${of_table} where ${name} > now()`);
    expect(later, `${of_table}.${name}`).toEqual([]);
  }
  const disorders: Record<string, string> = {
    'answered before asked': `select q.id from questions q join question_answers a on a.question_id = q.id
      where a.answered_at <= q.asked_at or q.distributed_at <= a.answered_at`,
    'changed before made': `select id from deals where updated_at < created_at union all
      select id from participants where updated_at < created_at union all
      select id from contacts where updated_at < created_at union all
      select id from questions where updated_at < asked_at union all
      select id from closing_conditions where updated_at < created_at or completed_at < created_at`,
    'takes part before the deal or the account': `select p.id from participants p join deals d on d.id = p.deal_id
      join users u on u.id = p.user_id where p.created_at < d.created_at or p.created_at < u.created_at`,
    'signed before sent': 'select id from ndas where signed_at <= sent_at or revoked_at <= signed_at',
    'asked without an NDA': `select q.id from questions q where not exists (select from ndas n
      where n.participant_id = q.participant_id and n.signed_at < q.asked_at and n.expires_at > q.asked_at)`,
    'offered before joining': `select o.id from offers o join participants p on p.id = o.participant_id
      where o.submitted_at < p.created_at`,
    'uploaded or opened too early': `select d.id from documents d join deals l on l.id = d.deal_id
      where d.uploaded_at < l.created_at union all select o.id from document_openings o
      join documents d on d.id = o.document_id where o.opened_at < d.uploaded_at union all select o.id
      from document_openings o join production_documents d on d.id = o.document_id where o.opened_at < d.uploaded_at`,
    'opened before joining': `select o.id from document_openings o join participants p
      on p.deal_id = o.deal_id and p.user_id = o.user_id where o.opened_at < p.created_at`,
    'read before the period was over': `select s.id from accounting_snapshots s
      join pl_periods p on p.snapshot_id = s.id where s.completed_at <= p.period_end_date union all
      select s.id from accounting_snapshots s join customer_revenues c on c.snapshot_id = s.id
      where s.completed_at <= c.period_end_date`,
    'commented before found': `select c.id from finding_comments c join findings f on f.id = c.finding_id
      where c.created_at < f.created_at`,
  };
  for (const [disorder, query] of Object.entries(disorders)) expect(await it.service.sql(query), disorder).toEqual([]);
});

test('ids sort in the order of creation, except the fixed ids of the sandbox', async () => {
  for (const table of ['deals', 'contacts', 'users']) {
    const [byTime, byId] = await Promise.all(
      ['created_at, id', 'id'].map((order) =>
        it.service.sql(`select id from ${table} where id::text not like '01900000-0000-%' order by ${order}`),
      ),
    );
    expect(byId).toEqual(byTime);
  }
});
