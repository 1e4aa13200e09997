/** The reading tools for quality of earnings: checklist, snapshots, profit and loss, customers. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { asking, countsByRole } from './ask.ts';
import { addFullDeal, insert, insertAll, type FullDeal, type Role } from './scene.ts';

let service: TestService;
let scene: FullDeal;
const as = (role: Role) => asking(service, scene.people[role]);
const deal = () => ({ deal_id: scene.deal });
const day = (at: number) => new Date(Date.UTC(2020, 0, 1 + at)).toISOString().slice(0, 10);
const moment = (at: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString();

beforeAll(async () => {
  service = await openService();
  scene = await addFullDeal(service);
});
afterAll(() => service.close());

describe('svc_qoe_get', () => {
  beforeAll(async () => {
    const rows = [
      { category: 'revenue', title: 'Proof of cash', status: 'completed', position: 2 },
      { category: 'tax', title: 'Returns filed', status: 'not_started', position: 1 },
      { category: 'revenue', title: 'Cut-off', status: 'in_progress', position: 3 },
    ];
    for (const row of rows) await insert(service, 'qoe_checklist', { deal_id: scene.deal, ...row });
    for (let at = 0; at < 7; at += 1) {
      const snapshot = { deal_id: scene.deal, snapshot_type: 'full', status: at % 2 ? 'completed' : 'requested' };
      await insert(service, 'accounting_snapshots', { ...snapshot, requested_at: moment(at) });
    }
  });

  test('returns the checklist in order and the five snapshots requested last', async () => {
    const { progress, recent_accounting_snapshots: snapshots } = (await as('seller').ok(
      'svc_qoe_get',
      deal(),
    )) as Record<string, Record<string, unknown>[]>;
    expect(progress?.map((row) => [row['title'], row['status'], row['completed_at'] !== null])).toEqual([
      ['Returns filed', 'not_started', false],
      ['Proof of cash', 'completed', true],
      ['Cut-off', 'in_progress', false],
    ]);
    expect(snapshots?.map((row) => row['requested_at'])).toEqual([6, 5, 4, 3, 2].map(moment));
    expect(snapshots?.map((row) => row['completed_at'] !== null)).toEqual([false, true, false, true, false]);
  });

  test('filters only the checklist by category', async () => {
    const { progress, recent_accounting_snapshots: snapshots } = (await as('broker').ok('svc_qoe_get', {
      ...deal(),
      category: 'tax',
    })) as Record<string, Record<string, unknown>[]>;
    expect([progress?.length, snapshots?.length]).toEqual([1, 5]);
    expect(await as('broker').ok('svc_qoe_get', { ...deal(), category: 'TAX' })).toMatchObject({
      progress: [{ title: 'Returns filed' }],
    });
  });

  test('is limited to the workspace: brokers, sellers, and the exclusive buyer with their advisor', async () => {
    const members = { broker: 3, seller: 3, 'exclusive buyer': 3, "exclusive buyer's advisor": 3 };
    expect(await countsByRole(service, scene, 'svc_qoe_get', 'progress')).toEqual(members);
  });
});

describe('svc_qoe_pl_periods', () => {
  const exact = '1234567890123456.7891';
  beforeAll(async () => {
    const snapshots: string[] = [];
    for (const at of [1, 2]) {
      snapshots.push(
        await insert(service, 'accounting_snapshots', {
          deal_id: scene.deal,
          snapshot_type: 'profit_and_loss',
          status: 'requested',
          requested_at: day(at),
        }),
      );
    }
    const rows = Array.from({ length: 505 }, (_, at) => ({
      id: crypto.randomUUID(),
      deal_id: scene.deal,
      snapshot_id: snapshots[at % 2],
      period_label: `Day ${at}`,
      period_start_date: day(at),
      period_end_date: day(at + 1),
      currency: 'USD',
      revenue: exact,
      net_income: '-0.0001',
      gross_profit: '12.5000',
    }));
    await insertAll(service, 'pl_periods', rows);
  });

  test('returns the 500 latest periods of all snapshots, newest first, with every digit', async () => {
    const rows = await as('exclusive buyer').rows('svc_qoe_pl_periods', deal());
    expect(rows).toHaveLength(500);
    expect(rows.map((row) => row['period_start_date'])).toEqual(Array.from({ length: 500 }, (_, at) => day(504 - at)));
    expect(new Set(rows.map((row) => row['snapshot_id'])).size).toBe(2);
    expect(rows[0]).toMatchObject({ revenue: exact, net_income: '-0.0001', gross_profit: '12.5', ebitda: null });
  });

  test('returns only the periods that lie between two dates', async () => {
    const labels = async (input: Record<string, unknown>) =>
      (await as('broker').rows('svc_qoe_pl_periods', { ...deal(), ...input })).map((row) => row['period_label']);
    expect(await labels({ start_date: day(502) })).toEqual(['Day 504', 'Day 503', 'Day 502']);
    expect(await labels({ end_date: day(2) })).toEqual(['Day 1', 'Day 0']);
    expect(await labels({ start_date: day(10), end_date: day(12) })).toEqual(['Day 11', 'Day 10']);
    expect(await labels({ start_date: day(12), end_date: day(10) })).toEqual([]);
  });

  test('hints at the known dates when no period lies between the dates, only to the workspace', async () => {
    const own = await addFullDeal(service);
    const ask = (role: Role, input: Record<string, unknown>) =>
      asking(service, own.people[role]).ok('svc_qoe_pl_periods', { deal_id: own.deal, ...input });
    const within = { start_date: '2026-03-05', end_date: '2026-03-25' };
    expect(await ask('broker', within)).toEqual({ periods: [] });
    const snapshot_id = await insert(service, 'accounting_snapshots', {
      deal_id: own.deal,
      snapshot_type: 'profit_and_loss',
      status: 'completed',
    });
    for (const [period_label, period_start_date, period_end_date] of [
      ['2026-03', '2026-03-01', '2026-03-31'],
      ['FY2025', '2025-01-01', '2025-12-31'],
      ['2026-02', '2026-02-01', '2026-02-28'],
    ])
      await insert(service, 'pl_periods', {
        deal_id: own.deal,
        snapshot_id,
        period_label,
        period_start_date,
        period_end_date,
        currency: 'USD',
        revenue: '1',
      });
    const known = { start_date: ['2025-01-01'], end_date: ['2026-03-31'] };
    for (const [input, why] of [
      [within, 'No period lies wholly within these dates.'],
      [{ start_date: '2030-01-01' }, 'No period lies wholly within these dates.'],
      [{ start_date: '2026-03-31', end_date: '2026-03-01' }, 'start_date is after end_date.'],
    ] as const) {
      expect(await ask('broker', input)).toEqual({
        periods: [],
        hint: { message: expect.stringContaining(why), known },
      });
      expect(await ask('other buyer', input)).toEqual({ periods: [] });
    }
    expect(await ask('broker', { start_date: '2026-03-01' })).not.toHaveProperty('hint');
  });

  test('states which of two snapshots with rows of the same dates was completed last', async () => {
    const own = await addFullDeal(service);
    const upload = async (completed_at: string, revenues: Record<string, string>) => {
      const snapshot_id = await insert(service, 'accounting_snapshots', {
        deal_id: own.deal,
        snapshot_type: 'profit_and_loss',
        status: 'completed',
        completed_at,
      });
      for (const [period_label, revenue] of Object.entries(revenues))
        await insert(service, 'pl_periods', {
          deal_id: own.deal,
          snapshot_id,
          period_label,
          period_start_date: period_label === 'FY2025' ? '2025-01-01' : '2026-01-01',
          period_end_date: period_label === 'FY2025' ? '2025-12-31' : '2026-01-31',
          currency: 'USD',
          revenue,
        });
      return snapshot_id;
    };
    const ask = (input: Record<string, unknown> = {}) =>
      asking(service, own.people.broker).ok('svc_qoe_pl_periods', { deal_id: own.deal, ...input });
    const [february, march] = ['2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'];
    const first = await upload(february, { FY2025: '900', '2026-01': '70' });
    expect(await ask()).toMatchObject({ snapshots: [{ snapshot_id: first, currency: 'USD' }] });
    const restated = await upload(march, { FY2025: '950' });
    const { snapshots, periods } = await ask();
    expect(snapshots).toEqual([
      { snapshot_id: first, currency: 'USD', completed_at: february },
      { snapshot_id: restated, currency: 'USD', completed_at: march },
    ]);
    const year = { period_start_date: '2025-01-01', period_end_date: '2025-12-31', period_label: 'FY2025' };
    expect(periods).toHaveLength(3);
    expect(periods).toEqual(
      expect.arrayContaining([
        { period_start_date: '2026-01-01', amounts: ['70'] },
        { ...year, amounts: ['900'] },
        { ...year, snapshot: 1, amounts: ['950'] },
      ]),
    );
    expect((await ask({ start_date: '2026-01-01' }))['snapshots']).toEqual([{ snapshot_id: first, currency: 'USD' }]);
  });

  test('accepts only real dates', async () => {
    // PostgreSQL's calendar has no year 0.
    for (const start_date of [
      '2026-02-30',
      '2026-1-1',
      '2026-01-01T00:00:00Z',
      'yesterday',
      '',
      20260101,
      '0000-01-01',
    ]) {
      const refusal = await as('broker').refused('svc_qoe_pl_periods', { ...deal(), start_date });
      expect(refusal).toMatchObject({
        error: 'validation_error',
        details: [{ path: 'start_date', allowed: 'a date, written YYYY-MM-DD' }],
      });
    }
  });

  test('is limited to the workspace', async () => {
    expect(Object.keys(await countsByRole(service, scene, 'svc_qoe_pl_periods', 'periods'))).toEqual([
      'broker',
      'seller',
      'exclusive buyer',
      "exclusive buyer's advisor",
    ]);
  });
});

describe('svc_qoe_customer_concentration', () => {
  let own: FullDeal;
  const january = { period_start_date: '2026-01-01', period_end_date: '2026-01-31' };
  const february = { period_start_date: '2026-02-01', period_end_date: '2026-02-28' };
  const ask = (input: Record<string, unknown> = {}) =>
    asking(service, own.people.broker).rows('svc_qoe_customer_concentration', { deal_id: own.deal, ...input });
  const told = (role: Role, input: Record<string, unknown> = {}) =>
    asking(service, own.people[role]).ok('svc_qoe_customer_concentration', { deal_id: own.deal, ...input });
  const snapshot = (status: string, completed_at: string | null) =>
    insert(service, 'accounting_snapshots', {
      deal_id: own.deal,
      snapshot_type: 'full',
      status,
      ...(completed_at ? { completed_at } : {}),
    });
  const customers = async (snapshot_id: string, period: object, revenues: string[]) =>
    insertAll(
      service,
      'customer_revenues',
      revenues.map((revenue_total, at) => ({
        id: crypto.randomUUID(),
        deal_id: own.deal,
        snapshot_id,
        customer_name: `Customer ${at}`,
        ...period,
        currency: 'USD',
        revenue_total,
      })),
    );

  beforeAll(async () => {
    own = await addFullDeal(service);
  });

  test('is empty without a completed snapshot', async () => {
    expect(await ask()).toEqual([]);
    await customers(await snapshot('requested', null), february, ['10']);
    await customers(await snapshot('failed', moment(900)), february, ['10']);
    expect(await ask()).toEqual([]);
    await snapshot('completed', moment(5));
    expect(await told('broker')).toEqual({ customers: [] });
  });

  test('ranks the customers of the latest period of the snapshot completed last', async () => {
    await customers(await snapshot('completed', moment(10)), february, ['999']);
    const latest = await snapshot('completed', moment(20));
    await customers(latest, january, ['40', '60']);
    await customers(latest, february, ['250.5000', '500.0000', '125.2500', '125.2500']);
    await customers(
      await snapshot('completed', moment(15)),
      { period_start_date: '2026-03-01', period_end_date: '2026-03-31' },
      ['1'],
    );
    const rows = await ask();
    expect(rows.map((row) => [row['revenue_total'], row['revenue_share'], row['rank']])).toEqual([
      ['500', '0.4995', 1],
      ['250.5', '0.25025', 2],
      ['125.25', '0.125125', 3],
      ['125.25', '0.125125', 3],
    ]);
    expect(rows.map((row) => row['cumulative_share'])).toEqual(['0.4995', '0.74975', '0.874875', '1']);
    expect(rows[0]).toMatchObject({ snapshot_id: latest, ...february, currency: 'USD' });
    for (const as_of_period of ['2026-01-01', '2026-01-31']) {
      expect((await ask({ as_of_period })).map((row) => row['revenue_share'])).toEqual(['0.6', '0.4']);
    }
    for (const as_of_period of ['2025-12-31', '2026-03-10']) {
      expect(await told('broker', { as_of_period })).toEqual({
        customers: [],
        hint: {
          message: expect.stringContaining('no customers for a period with this day'),
          known: { as_of_period: ['2026-02-28', '2026-01-31'] },
        },
      });
      expect(await told('other buyer', { as_of_period })).toEqual({ customers: [] });
    }
  });

  test('hints at an earlier upload with customers when the latest has none, only to the workspace', async () => {
    await snapshot('completed', moment(25));
    for (const input of [{}, { as_of_period: '2026-02-10' }]) {
      expect(await told('broker', input)).toEqual({
        customers: [],
        hint: { message: expect.stringContaining('an earlier one has') },
        url: `${service.config.baseUrl}/deals/${own.deal}/qoe`,
      });
      expect(await told('other buyer', input)).toEqual({ customers: [] });
    }
  });

  test('returns the 50 largest customers, with shares of the total of all', async () => {
    await customers(
      await snapshot('completed', moment(30)),
      february,
      Array.from({ length: 60 }, () => '1'),
    );
    const rows = await ask();
    expect(rows).toHaveLength(50);
    expect(rows.every((row) => row['revenue_share'] === '0.016667')).toBe(true);
  });

  test('returns no shares when the total is zero or negative', async () => {
    await customers(await snapshot('completed', moment(40)), february, ['0', '0']);
    expect((await ask()).map((row) => row['revenue_share'])).toEqual([null, null]);
    await customers(await snapshot('completed', moment(41)), february, ['50', '-150']);
    expect((await ask()).map((row) => [row['revenue_share'], row['cumulative_share']])).toEqual([
      [null, null],
      [null, null],
    ]);
  });

  test('uses the period that ends last when no day is given', async () => {
    const latest = await snapshot('completed', moment(50));
    await customers(latest, { period_start_date: '2025-07-01', period_end_date: '2025-09-30' }, ['10']);
    await customers(latest, { period_start_date: '2025-01-01', period_end_date: '2025-12-31' }, ['40']);
    expect((await ask()).map((row) => row['revenue_total'])).toEqual(['40']);
    expect((await ask({ as_of_period: '2025-08-01' })).map((row) => row['revenue_total'])).toEqual(['10']);
  });
});
