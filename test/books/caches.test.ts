/** A node caches books: every caller gets the same as from a fresh read, after every change, on pages and by tools. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { readBooks, type Books } from '../../server/domain/diligence/books.ts';
import { bridgeOf } from '../../server/domain/diligence/bridge.ts';
import { contradictions } from '../../server/domain/diligence/contradictions.ts';
import { concentration, customerBridge } from '../../server/domain/diligence/customers.ts';
import { writtenOrNull, writtenOut } from '../../server/domain/diligence/decimals.ts';
import { comparedWith, earnings } from '../../server/domain/diligence/earnings.ts';
import type { ListedPeriod } from '../../server/domain/diligence/period-list.ts';
import { plAmounts } from '../../server/domain/diligence/snapshots.ts';
import { periodsInColumns } from '../../server/tools/compact-rows.ts';
import { callers } from '../policies/scene.ts';
import { addToken, caller as toolCaller } from '../tools/scene.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { random } from './random.ts';

let web: WebScene;
let deal: string;
const people = callers.filter((caller) => caller !== 'API key' && caller !== 'nobody');
const tools = new Map<string, ReturnType<typeof toolCaller>>();

beforeAll(async () => {
  web = await openScene();
  ({ deal } = web.scene);
  for (const caller of people)
    tools.set(caller, toolCaller(web.service, await addToken(web.service, web.scene.people[caller] ?? '')));
  await web.service.sql(`update offers set payload = $2 where id = $1`, [
    web.scene.records["offers/the exclusive buyer's"],
    JSON.stringify({ currency: 'USD', purchase_price: '3900000', cash_at_close: '3900000' }),
  ]);
});
afterAll(() => web?.close());

const ask = async (caller: string, path: string, body?: unknown, method?: string) =>
  (await web.as(caller)).ask(path, body, method);
/** The books as they are in the database, bypassing every cache. */
async function booksNow(): Promise<Books> {
  const [found] = await web.service.sql<{ books: string }>(
    `with u as (select * from accounting_snapshots where deal_id = $1 and status = 'completed')
     select jsonb_build_object('currency', (select currency from deals where id = $1),
       'uploads', (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'source_name', source_name,
         'completed_at', to_char(completed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) order by completed_at desc, id desc), '[]') from u),
       'periods', (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'snapshot_id', p.snapshot_id, 'label', p.period_label, 'first', p.period_start_date,
         'last', p.period_end_date, 'currency', p.currency, 'amounts', jsonb_build_array(${plAmounts.map((name) => `p.${name}::text`).join(', ')}))), '[]')
         from pl_periods p where p.snapshot_id in (select id from u)),
       'customers', (select coalesce(jsonb_agg(jsonb_build_object('ids', c.id, 'snapshot_id', c.snapshot_id, 'names', jsonb_build_array(c.customer_name),
         'first', c.period_start_date, 'last', c.period_end_date, 'currency', c.currency, 'revenues', c.revenue_total::text)), '[]') from customer_revenues c where c.snapshot_id in (select id from u)),
       'adjustments', (select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'period_label', n.period_label, 'category', n.adjustment_category,
         'amount', n.adjustment_amount::text, 'currency', n.currency, 'rationale', n.rationale) order by n.created_at desc, n.id desc), '[]') from normalizations n where n.deal_id = $1)
     )::text as books`,
    [deal],
  );
  return readBooks(found!.books);
}

/** Everything computed from the books that a caller gets, on every page and by every tool. */
async function computedFor(caller: string) {
  const [page, bridge, worth] = await Promise.all(
    ['qoe/computed', 'qoe/bridge', 'offers/worth'].map(async (path) => {
      const { status, body } = await ask(caller, `/deals/${deal}/${path}`);
      return status === 200 ? body : null;
    }),
  );
  const [qoe, periods, customers, offers] = await Promise.all(
    ['svc_qoe_get', 'svc_qoe_pl_periods', 'svc_qoe_customer_concentration', 'svc_offers_list'].map(
      // The answers are compared whole, whatever their shape.
      // eslint-disable-next-line @typescript-eslint/no-explicit-any
      async (tool) => (await tools.get(caller)?.(tool, { deal_id: deal }))?.structuredContent as any,
    ),
  );
  return {
    currency: page?.currency,
    uploads: page?.uploads,
    earnings: page?.earnings,
    contradictions: page?.contradictions.items.map(({ sentence }: { sentence: string }) => sentence),
    largest: page?.concentration?.largest.name,
    kept: page?.bridge?.kept.count,
    bridge,
    basis: worth?.basis?.adjusted_ebitda,
    byTools: [
      qoe?.ebitda_bridge?.adjusted_ebitda,
      periods?.summary?.earnings.map((one: string[]) => [one[0], one[7]]),
      customers?.summary?.total,
      offers?.summary?.basis?.adjusted_ebitda,
    ],
  };
}

const sides = ['broker', 'seller', "broker's advisor", "seller's advisor"];

/**
 * The same, computed afresh from the current books, as far as the lists that the caller gets show that they may see
 * them.
 */
async function computedAnew(caller: string, all: Books): Promise<Awaited<ReturnType<typeof computedFor>>> {
  const listed = await ask(caller, `/deals/${deal}/qoe/periods`);
  const offers = await ask(caller, `/deals/${deal}/offers`);
  const seesBooks = listed.status === 200 && listed.body.items.length > 0;
  const books: Books = seesBooks
    ? all
    : { currency: all.currency, uploads: [], periods: [], customers: [], adjustments: [] };
  const bridge = bridgeOf(books);
  const earned = earnings(books);
  const years = earned.filter(({ kind }) => kind !== 'partial_year');
  const told = [...years, ...earned.filter(({ kind }) => kind === 'partial_year')].slice(0, 4);
  const basis = comparedWith(years, null);
  const adjusted = basis ? (writtenOrNull(basis.adjusted_ebitda) ?? null) : undefined;
  const found = concentration(books);
  const outside = listed.status !== 200;
  return {
    currency: outside ? undefined : bridge.currency,
    uploads: outside ? undefined : books.uploads,
    earnings: outside ? undefined : writtenOut(earned),
    contradictions: outside
      ? undefined
      : sides.includes(caller)
        ? contradictions(books).map(({ sentence }) => sentence)
        : [],
    largest: found?.customers[0]?.name,
    kept: customerBridge(books)?.kept.length,
    bridge: outside ? null : bridge,
    basis: adjusted,
    byTools: [
      basis || bridge.period_label ? bridgeOf(books, basis?.label ?? null).adjusted_ebitda : undefined,
      told.length > 0 ? told.map(({ label, adjusted_ebitda }) => [label, writtenOrNull(adjusted_ebitda)]) : undefined,
      // The tool reports customers only if the latest upload has any.
      books.customers.some(({ snapshot_id }) => snapshot_id === books.uploads[0]?.id)
        ? writtenOrNull(found?.total ?? null)
        : undefined,
      outside || !offers.body.items?.some(({ is_current }: { is_current: boolean }) => is_current)
        ? undefined
        : adjusted,
    ],
  };
}

async function upload(content: string, type: string): Promise<void> {
  const { headers } = await web.as('exclusive buyer');
  const query = new URLSearchParams({ snapshot_type: type, filename: 'books.csv' });
  await fetch(`${web.service.origin}/api/web/deals/${deal}/qoe/snapshots?${query}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'text/csv' },
    body: content,
  });
}

const next = random(20_261_122);
const months = () => {
  const rows = Array.from({ length: 14 }, (_, place) => {
    const month = `${2024 + Math.floor(place / 12)}-${String((place % 12) + 1).padStart(2, '0')}`;
    return [month, 400_000 + next(1000), 60_000 + next(1000)].join(',');
  });
  return ['month,revenue,ebitda', ...rows].join('\n');
};
const listing = () => {
  const rows = ['2024', '2025'].flatMap((year) =>
    ['Harbor Diner', 'Oak Terrace', 'St. Brendan'].map(
      (name) => `${name},${year}-01-01,${year}-12-31,${90_000 + next(3) * 1000}`,
    ),
  );
  return ['customer_name,period_start_date,period_end_date,revenue_total', ...rows].join('\n');
};

/** Changes of the books, or of who sees them, through the routes of the product. */
const changes: Readonly<Record<string, () => Promise<unknown>>> = {
  'an upload of profit and loss': () => upload(months(), 'profit_and_loss'),
  'an upload of customers': () => upload(listing(), 'customer_revenue'),
  'an upload that is refused': () => upload('month,revenue\n2025-13,1', 'profit_and_loss'),
  'an adjustment more': () =>
    ask('broker', `/deals/${deal}/qoe/normalizations`, {
      period_label: next(2) === 0 ? 'FY2024' : 'TTM',
      adjustment_category: 'one_time',
      adjustment_amount: String(1000 + next(1000)),
      rationale: null,
    }),
  'an adjustment less': async () => {
    const { body } = await ask('broker', `/deals/${deal}/qoe/normalizations`);
    const [first] = body.items as { id: string }[];
    if (first) await ask('broker', `/qoe/normalizations/${first.id}`, undefined, 'DELETE');
  },
  'another currency': async () => {
    const { body } = await ask('broker', `/deals/${deal}/qoe/computed`);
    await ask('broker', `/deals/${deal}`, { currency: body.currency === 'EUR' ? 'USD' : 'EUR' }, 'PATCH');
  },
  'a buyer let in': () => ask('broker', place(), { role: 'editor' }, 'PUT'),
  'a buyer let go': () => ask('broker', place(), undefined, 'DELETE'),
};
const place = () => `/deals/${deal}/qoe/members/${web.scene.participants['exclusive buyer']}`;

test('every caller gets the same figures as from a fresh read, after every change', async () => {
  const begin = ['an upload of profit and loss', 'an upload of customers', 'an adjustment more', 'another currency'];
  const last = [
    'a buyer let go',
    'an adjustment less',
    'a buyer let in',
    'an upload that is refused',
    'an adjustment less',
  ];
  for (const change of [...begin, ...last, ...begin]) {
    await changes[change]?.();
    const asked = () => Promise.all(people.map(async (caller) => [caller, await computedFor(caller)]));
    // The first round meets what was cached before the change, the second what the first round cached.
    const first = await asked();
    const now = await booksNow();
    const anew = await Promise.all(people.map(async (caller) => [caller, await computedAnew(caller, now)]));
    const again = await asked();
    expect([change, first, again]).toEqual([change, anew, anew]);
  }
  const { body } = await ask('broker', `/deals/${deal}/qoe/computed`);
  expect(body.earnings.length).toBeGreaterThan(2);
  expect(body.bridge.kept.count).toBeGreaterThan(0);
}, 240_000);

/** The tool's list of periods, from the rows as they are in the database. */
async function listedNow(start: string | null, end: string | null) {
  const rows = await web.service.sql<ListedPeriod>(
    `select snapshot_id, period_label, period_start_date::text, period_end_date::text, currency,
       ${plAmounts.map((name) => `trim_scale(${name})::text as ${name}`).join(', ')}
     from pl_periods where deal_id = $1 and ($2::date is null or period_start_date >= $2) and ($3::date is null or period_end_date <= $3)
     order by period_start_date desc, id desc limit 500`,
    [deal, start, end],
  );
  return periodsInColumns(rows, (await booksNow()).uploads);
}

test('the list of periods matches the database: cached, with an upload in progress, or too long for the cache', async () => {
  const { sql } = web.service;
  const dates = [
    [null, null],
    ['2024-06-01', null],
    [null, '2024-12-31'],
    ['2024-03-15', '2025-01-31'],
  ] as const;
  const compared = async () => {
    for (const time of ['first', 'again'])
      for (const [start, end] of dates) {
        const asked = { deal_id: deal, ...(start ? { start_date: start } : {}), ...(end ? { end_date: end } : {}) };
        const { structuredContent } = await tools.get('seller')!('svc_qoe_pl_periods', asked);
        expect([time, start, end, structuredContent]).toEqual([
          time,
          start,
          end,
          expect.objectContaining(await listedNow(start, end)),
        ]);
      }
  };
  await upload(months(), 'profit_and_loss');
  await compared();
  // Rows of uploads that have not completed are deleted: with them, all rows are read from the database each time.
  await sql(
    `delete from pl_periods where deal_id = $1 and snapshot_id in (select id from accounting_snapshots where status <> 'completed')`,
    [deal],
  );
  await compared();
  const rows = (
    count: number,
  ) => `with s as (insert into accounting_snapshots (deal_id, snapshot_type, status, requested_by)
      select $1, 'profit_and_loss', 'processing', id from users limit 1 returning id)
    insert into pl_periods (deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, revenue, ebitda)
    select $1, s.id, 'Day ' || n, date '2015-01-01' + n, date '2015-01-01' + n, 'USD', n + 0.5, n - 20 from s, generate_series(1, ${count}) n
    returning snapshot_id`;
  const [under] = await sql<{ snapshot_id: string }>(rows(40), [deal]);
  await compared();
  const completed = async (id: string | undefined) => {
    await sql(`update accounting_snapshots set status = 'completed' where id = $1`, [id]);
    // Completed last, so that when there are too many rows, those of the other uploads are left out.
    await sql(
      `update accounting_snapshots set completed_at = (select max(completed_at) from accounting_snapshots) + interval '1 minute' where id = $1`,
      [id],
    );
  };
  await completed(under?.snapshot_id);
  await compared();
  const [many] = await sql<{ snapshot_id: string }>(rows(3100), [deal]);
  await completed(many?.snapshot_id);
  await compared();
  for (const id of [under?.snapshot_id, many?.snapshot_id]) {
    await sql('delete from pl_periods where snapshot_id = $1', [id]);
    await sql('delete from accounting_snapshots where id = $1', [id]);
  }
});

test('cached books are not read from the database again', async () => {
  const earned = async () => (await ask('seller', `/deals/${deal}/qoe/computed`)).body.earnings;
  const before = await earned();
  // The product never changes rows like this; here it shows whether they are read again.
  await web.service.sql('update pl_periods set revenue = revenue + 1 where deal_id = $1', [deal]);
  expect(await earned()).toEqual(before);
  await web.service.sql('update pl_periods set revenue = revenue - 1 where deal_id = $1', [deal]);
});

test('rows of a completed upload are never updated, and have the same read policy as the upload', async () => {
  const { sql } = web.service;
  const tables = ['accounting_snapshots', 'pl_periods', 'customer_revenues', 'normalizations'];
  const changed = await sql(
    `select table_name::text, column_name::text from information_schema.column_privileges
     where grantee = 'dealkeep_server' and privilege_type = 'UPDATE' and table_name = any ($1) order by 1, 2`,
    [tables],
  );
  expect(changed).toEqual(
    ['failure', 'status'].map((column_name) => ({ table_name: 'accounting_snapshots', column_name })),
  );
  const writers = await sql(
    `select p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname = 'app' and p.prosrc ~* 'update\\s+(public\\.)?(pl_periods|customer_revenues|normalizations)\\M'`,
  );
  expect(writers).toEqual([]);
  const readers = await sql(
    `select distinct qual from pg_policies where tablename = any ($1) and cmd = 'SELECT' and 'dealkeep_server' = any (roles)`,
    [tables],
  );
  expect(readers).toHaveLength(1);
});

test('customers are computed from whole uploads, the latest first, up to 20,000 rows', async () => {
  const add = (year: number, rows: number, hours: number) =>
    web.service.sql(
      `with upload as (
         insert into accounting_snapshots (deal_id, snapshot_type, status, requested_at, completed_at)
         values ($1, 'customer_revenue', 'completed', app.now(), app.now() + $4 * interval '1 hour') returning id)
       insert into customer_revenues (deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total)
       select $1, upload.id, 'Customer ' || n, make_date($2, 1, 1), make_date($2, 12, 31), 'USD', 100 from upload, generate_series(1, $3) n`,
      [deal, year, rows, hours],
    );
  const latest = async () => {
    const { body } = await ask('broker', `/deals/${deal}/qoe/computed`);
    return [body.concentration.first, body.concentration.count];
  };
  await add(2098, 2, 1);
  for (const year of [2090, 2091, 2092]) await add(year, 5_000, 2);
  await add(2093, 4_998, 2);
  expect(await latest()).toEqual(['2098-01-01', 2]);
  await add(2089, 1, 3);
  expect(await latest()).toEqual(['2093-01-01', 4_998]);
});
