/** Quality of earnings through the web application's routes, as each role. */

import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible, loaded, openBrowser, openTestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { whileChanging } from '../locks.ts';
import { insert, insertAll } from '../tools/scene.ts';
import { signInAs, type Answer, type SignedIn } from './person.ts';
import { archive, withHiddenStart, workbook } from './workbook.ts';

let service: TestService;
let deal: string;
const people: Record<string, SignedIn> = {};
const as = (name: string): SignedIn => people[name]!;
const nowhere = '01900000-0000-7000-8000-000000000000';

beforeAll(async () => {
  service = await openService({ demo: true });
  deal = service.demo.deals.with_everything;
  for (const [name, { user_id }] of Object.entries(service.demo.people))
    people[name] = await signInAs(service, user_id);
});
afterAll(() => service?.close());

const reads = ['', '/periods', '/customers', '/normalizations', '/bridge', '/members', '/snapshots', '/computed'];
const get = (name: string, path: string) => as(name).ask(`/deals/${deal}/qoe${path}`);

async function send(name: string, path: string, body: string | Buffer, type = 'profit_and_loss'): Promise<Answer> {
  const query = new URLSearchParams({ snapshot_type: type, filename: 'books' });
  const response = await fetch(`${service.origin}/api/web/deals/${deal}/qoe/snapshots${path}?${query}`, {
    method: 'POST',
    headers: { ...as(name).headers, 'content-type': 'text/csv' },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
  return { status: response.status, body: await response.json() };
}

const stored = async () =>
  (
    await service.sql<{ count: string }>(
      'select ((select count(*) from pl_periods) + (select count(*) from customer_revenues))::text as count',
    )
  )[0]?.count;

describe('the QoE workspace', () => {
  test.each(['broker', 'seller', 'buyer'])('is readable for the %s', async (name) => {
    const [overview, periods, customers, , bridge, members] = await Promise.all(reads.map((path) => get(name, path)));
    expect(overview?.body.editor).toBe(true);
    expect(overview?.body.progress.length).toBeGreaterThan(5);
    const starts = periods?.body.items.map((one: { period_start_date: string }) => one.period_start_date);
    expect(new Set(starts).size).toBe(starts.length);
    const [first, five] = customers!.body.largest;
    expect(Number(first.share)).toBeLessThan(Number(five.share));
    expect(customers?.body.items[0].revenue_share).toBe(first.share);
    expect(bridge?.body).toMatchObject({ period_label: 'TTM', period_count: 12 });
    expect(members?.body.items.length).toBeGreaterThan(2);
  });

  test('is empty for a buyer who is not a member, and does not exist for an outsider', async () => {
    expect((await get('other_buyer', '')).body).toEqual({
      progress: [],
      recent_accounting_snapshots: [],
      editor: false,
    });
    for (const path of ['/periods', '/normalizations', '/members', '/snapshots'])
      expect((await get('other_buyer', path)).body).toEqual({ items: [] });
    expect((await get('other_buyer', '/customers')).body).toEqual({
      period: null,
      items: [],
      largest: [],
      periods: [],
      period_count: 0,
    });
    expect((await get('other_buyer', '/bridge')).body).toMatchObject({ period_label: null, adjustments: [] });
    for (const path of reads)
      expect(await get('outsider', path)).toEqual(await as('outsider').ask(`/deals/${nowhere}/qoe${path}`));
  });

  test('keeps concentration and offer valuations after a newer upload of profit and loss only', async () => {
    const worth = async () => (await as('broker').ask(`/deals/${deal}/offers/worth`)).body;
    const before = [(await get('broker', '/customers')).body, await worth()];
    expect(before[0].items.length).toBeGreaterThan(0);
    expect((await send('broker', '', 'month,revenue,ebitda\n1995-01,1,1\n')).body.status).toBe('completed');
    expect([(await get('broker', '/customers')).body, await worth()]).toEqual(before);
  });

  test('shows the customer concentration of the requested period', async () => {
    const { first, last } = (await get('broker', '/customers')).body.periods.at(-1);
    const { body } = await get('broker', `/customers?start_date=${first}&end_date=${last}`);
    expect(body.period).toMatchObject({ first, last });
    expect(body.items.length).toBeGreaterThan(0);
  });
});

describe('computed figures', () => {
  interface Computed {
    earnings: { label: string; reported_ebitda: string; adjusted_ebitda: string; rows: string[] }[];
    contradictions: { items: { kind: string }[] };
  }
  const computed = async (name: string) => (await get(name, '/computed')).body as Computed;

  test('agree with the bridge of each period, for every member', async () => {
    const { earnings } = await computed('buyer');
    expect(earnings.map(({ label }) => label)).toContain('TTM');
    expect(await computed('seller')).toMatchObject({ earnings });
    for (const { label, reported_ebitda, adjusted_ebitda } of earnings) {
      const { body } = await get('buyer', `/bridge?period_label=${encodeURIComponent(label)}`);
      expect([label, Number(reported_ebitda), Number(adjusted_ebitda)]).toEqual([
        label,
        Number(body.reported_ebitda),
        Number(body.adjusted_ebitda),
      ]);
    }
  });

  test('agree with the bridge for past twelve-month periods and years with custom labels', async () => {
    const own = service.demo.deals.draft;
    const snapshot_id = await insert(service, 'accounting_snapshots', {
      deal_id: own,
      snapshot_type: 'profit_and_loss',
      status: 'completed',
      // Later than the yearly figures of the deal.
      completed_at: '2090-01-01T00:00:00Z',
    });
    const row = (period_label: string, period_start_date: string, period_end_date: string, ebitda: string) => ({
      id: crypto.randomUUID(),
      deal_id: own,
      snapshot_id,
      period_label,
      period_start_date,
      period_end_date,
      currency: 'USD',
      revenue: '1000',
      ebitda,
    });
    const months = Array.from({ length: 13 }, (_, place) => {
      const [first, last] = [new Date(Date.UTC(2024, 11 + place, 1)), new Date(Date.UTC(2024, 12 + place, 0))].map(
        (day) => day.toISOString().slice(0, 10),
      ) as [string, string];
      return row(first.slice(0, 7), first, last, '25.6');
    });
    await insertAll(service, 'pl_periods', [
      ...months,
      row('TTM', '2024-07-01', '2025-06-30', '200'),
      row('2025', '2025-01-01', '2025-12-31', '250'),
    ]);
    const ask = async (path: string) => (await as('broker').ask(`/deals/${own}/qoe${path}`)).body;
    const { earnings } = (await ask('/computed')) as Computed;
    expect(earnings.slice(0, 2).map(({ label, adjusted_ebitda }) => [label, adjusted_ebitda])).toEqual([
      ['TTM', '307.2'],
      ['2025', '250'],
    ]);
    const labels = earnings.map(({ label }) => label);
    expect((await ask('/bridge')).period_labels.toSorted()).toEqual(labels.toSorted());
    for (const { label, adjusted_ebitda } of earnings)
      expect([label, (await ask(`/bridge?period_label=${label}`)).adjusted_ebitda]).toEqual([label, adjusted_ebitda]);
  });

  test('are empty outside the workspace, and include contradictions only for brokers and sellers', async () => {
    expect((await get('other_buyer', '/computed')).body).toEqual({
      currency: 'USD',
      uploads: [],
      earnings: [],
      seasonality: [],
      contradictions: { count: 0, items: [], explained: { count: 0, items: [] }, all: false, may_answer: false },
      concentration: null,
      bridge: null,
      restatements: { count: 0, items: [] },
      counted: { rows: 0, superseded: 0, not_counted: [] },
    });
    const lost = { adjustment_category: 'other', adjustment_amount: '100.10', rationale: null, period_label: 'FY1998' };
    const added = await as('buyer').ask(`/deals/${deal}/qoe/normalizations`, lost);
    const kinds = async (name: string) => (await computed(name)).contradictions.items.map(({ kind }) => kind);
    expect(await kinds('broker')).toContain('period_unmatched');
    expect(await kinds('seller')).toEqual(await kinds('broker'));
    expect(await kinds('buyer')).toEqual([]);
    await as('buyer').ask(`/qoe/normalizations/${added.body.id}`, undefined, 'DELETE');
    expect(await kinds('broker')).not.toContain('period_unmatched');
  });
});

describe('the checklist', () => {
  test('is extended and completed by editors, with audit records', async () => {
    const row = { category: 'Payroll', title: 'Tie payroll to the returns' };
    const added = await as('buyer').ask(`/deals/${deal}/qoe/checklist`, row);
    expect(added).toMatchObject({ status: 201, body: { ...row, status: 'not_started', completed_at: null } });
    const { id } = added.body;
    const done = await as('seller').ask(`/qoe/checklist/${id}`, { status: 'completed' }, 'PATCH');
    expect(done).toMatchObject({ status: 200, body: { id, status: 'completed' } });
    expect(done.body.completed_at).not.toBeNull();
    // Somebody else who completes it at the same time changes nothing, for nobody.
    const changes = () => service.sql('select id from change_events where object_id = $1', [id]);
    const before = await changes();
    expect(await as('buyer').ask(`/qoe/checklist/${id}`, { status: 'completed' }, 'PATCH')).toEqual(done);
    expect(await changes()).toEqual(before);
    const records = await service.sql<{ action: string }>('select action from audit_records where subject_id = $1', [
      id,
    ]);
    expect(records.map(({ action }) => action).toSorted()).toEqual(['qoe.checklist.add', 'qoe.checklist.update']);
    expect(await as('other_buyer').ask(`/qoe/checklist/${id}`, { status: 'completed' }, 'PATCH')).toEqual(
      await as('other_buyer').ask(`/qoe/checklist/${nowhere}`, { status: 'completed' }, 'PATCH'),
    );
    expect((await as('other_buyer').ask(`/deals/${deal}/qoe/checklist`, row)).status).toBe(403);
  });
});

describe('normalizations', () => {
  const input = {
    period_label: 'FY1999',
    adjustment_category: 'one_time',
    adjustment_amount: '-12345678901234567890.123456789012345678',
    rationale: 'A lawsuit.',
  };

  test('keep every digit, appear in the bridge, and can be removed', async () => {
    const added = await as('buyer').ask(`/deals/${deal}/qoe/normalizations`, input);
    expect(added).toMatchObject({ status: 201, body: { ...input, can_delete: true } });
    expect((await get('broker', '/bridge?period_label=FY1999')).body).toMatchObject({
      period_count: 0,
      adjustments: [{ category: 'one_time', amount: '-12345678901234567890.123456789012345678' }],
    });
    const path = `/qoe/normalizations/${added.body.id}`;
    expect((await as('other_buyer').ask(path, undefined, 'DELETE')).status).toBe(404);
    expect((await as('broker').ask(path, undefined, 'DELETE')).status).toBe(204);
  });

  test('for a period without figures are left out of the bridge and reported as unmatched', async () => {
    const before = (await get('broker', '/bridge')).body;
    const added = await as('buyer').ask(`/deals/${deal}/qoe/normalizations`, { ...input, period_label: 'fy 2025' });
    const after = (await get('broker', '/bridge')).body;
    expect(after).toEqual({ ...before, unmatched_labels: ['fy 2025'] });
    expect(after.period_labels).not.toContain('fy 2025');
    expect((await as('buyer').ask(`/qoe/normalizations/${added.body.id}`, undefined, 'DELETE')).status).toBe(204);
  });

  test('are offered a year as FY only if it has twelve months of figures', async () => {
    const { period_labels: labels } = (await get('broker', '/bridge')).body as { period_labels: string[] };
    const months = (await get('broker', '/periods')).body.items as { period_start_date: string }[];
    const perYear = Map.groupBy(months, ({ period_start_date }) => period_start_date.slice(0, 4));
    const expected = [...perYear].map(([year, its]) =>
      its.length === 12 ? `FY${year}` : `${year}, ${its.length} month${its.length === 1 ? '' : 's'}`,
    );
    expect(labels.toSorted()).toEqual([...expected, 'TTM'].toSorted());
    expect(expected.filter((label) => label.startsWith('FY')).length).toBeLessThan(expected.length);
    const partial = expected.find((label) => !label.startsWith('FY'))!;
    const shown = (await get('broker', `/bridge?period_label=${encodeURIComponent(partial)}`)).body;
    expect(shown).toMatchObject({ period_label: partial, period_count: Number(/, (\d+) month/.exec(partial)?.[1]) });
    const whole = `FY${partial.slice(0, 4)}`;
    expect((await get('broker', `/bridge?period_label=${whole}`)).body).toMatchObject({ period_count: 0 });
  });

  test.each(['1e5', '1'.repeat(41), '', 'NaN', '1,000', '.'])('are rejected with the amount %j', async (amount) => {
    const answer = await as('buyer').ask(`/deals/${deal}/qoe/normalizations`, { ...input, adjustment_amount: amount });
    expect(answer).toMatchObject({ status: 400, body: { error: { details: [{ path: 'adjustment_amount' }] } } });
  });
});

test('only brokers add and remove members of the workspace', async () => {
  const { body } = await as('broker').ask(`/deals/${deal}`);
  const partOf = (who: 'buyer' | 'other_buyer' | 'seller'): string =>
    body.participants.find((one: { user_id: string }) => one.user_id === service.demo.people[who].user_id).id;
  const path = `/deals/${deal}/qoe/members/${partOf('buyer')}`;
  expect((await as('seller').ask(path, { role: 'reader' }, 'PUT')).status).toBe(403);
  expect((await as('seller').ask(path, undefined, 'DELETE')).status).toBe(403);
  expect(await as('broker').ask(path, { role: 'reader' }, 'PUT')).toMatchObject({
    status: 200,
    body: { participant_id: partOf('buyer'), role: 'reader', can_remove: true },
  });
  const [row] = (await get('buyer', '')).body.progress;
  expect((await as('buyer').ask(`/qoe/checklist/${row.id}`, { status: 'completed' }, 'PATCH')).status).toBe(403);
  expect((await send('buyer', '', 'month,revenue\n2025-01,1\n')).status).toBe(403);
  expect((await as('broker').ask(path, undefined, 'DELETE')).status).toBe(204);
  expect((await get('buyer', '')).body).toEqual({ progress: [], recent_accounting_snapshots: [], editor: false });
  expect((await as('broker').ask(path, { role: 'editor' }, 'PUT')).status).toBe(200);
  expect((await get('buyer', '')).body.editor).toBe(true);
  for (const [who, code] of [
    ['other_buyer', 'no_active_nda'],
    ['seller', 'not_to_let_in'],
  ] as const)
    expect(
      await as('broker').ask(`/deals/${deal}/qoe/members/${partOf(who)}`, { role: 'editor' }, 'PUT'),
    ).toMatchObject({ status: 409, body: { error: { code } } });
});

test('a participant cannot be added to the workspace during their removal from the deal', async () => {
  const user = (await insert(service, 'users', { name: 'Vic', email: 'vic@people.example' })) as string;
  const part = await insert(service, 'participants', {
    deal_id: deal,
    user_id: user,
    role: 'viewer',
    status: 'active',
  });
  const letIn = () => as('broker').ask(`/deals/${deal}/qoe/members/${part}`, { role: 'editor' }, 'PUT');
  expect((await letIn()).status).toBe(200);
  const removal = [`update participants set status = 'removed' where id = $1`, [part]] as const;
  expect(await whileChanging(service, [removal], letIn)).toMatchObject({
    status: 409,
    body: { error: { code: 'not_to_let_in' } },
  });
  expect(await service.sql('select from qoe_workspace_members where participant_id = $1', [part])).toEqual([]);
});

test('a buyer and their advisors lose membership with the NDA, and do not regain it with a new one', async () => {
  const joins = async (name: string, role: string, advises?: string) => {
    const user = (await insert(service, 'users', { name, email: `${name.toLowerCase()}@people.example` })) as string;
    const part = (await insert(service, 'participants', {
      deal_id: deal,
      user_id: user,
      role,
      status: 'active',
      ...(advises === undefined ? {} : { advises }),
    })) as string;
    return { part, person: await signInAs(service, user) };
  };
  const buyer = await joins('Bea', 'buyer');
  const advisor = await joins('Avery', 'advisor', buyer.part);
  const viewer = await joins('Vera', 'viewer');
  const signNext = async () => {
    const sent = await as('broker').ask(`/deals/${deal}/ndas`, {
      participant_id: buyer.part,
      terms: 'Keep it to yourself.',
      expires_at: null,
    });
    expect(sent.status).toBe(201);
    const { id } = sent.body as { id: string };
    expect((await buyer.person.ask(`/ndas/${id}/sign`, { signed_name: 'Bea' })).status).toBe(200);
    return id;
  };
  const letIn = async () => {
    for (const { part } of [buyer, advisor, viewer])
      expect((await as('broker').ask(`/deals/${deal}/qoe/members/${part}`, { role: 'editor' }, 'PUT')).status).toBe(
        200,
      );
  };
  const edits = async () =>
    Promise.all(
      [buyer, advisor, viewer].map(async ({ person }) => {
        const { body } = await person.ask(`/deals/${deal}/qoe`);
        return body.editor && body.progress.length > 0;
      }),
    );
  const revoke = (id: string) => as('broker').ask(`/ndas/${id}/revoke`, {});

  const places = async ({ person }: { person: SignedIn }) => {
    const { items } = (await person.ask(`/deals/${deal}/qoe/members`)).body;
    return [buyer, advisor].map(
      ({ part }) => items.find((one: { participant_id: string }) => one.participant_id === part)?.role,
    );
  };

  const first = await signNext();
  await letIn();
  expect(await edits()).toEqual([true, true, true]);
  for (const reader of [buyer, advisor]) expect(await places(reader)).toEqual(['editor', 'editor']);
  expect((await revoke(first)).status).toBe(200);
  expect(await edits()).toEqual([false, false, true]);
  const second = await signNext();
  expect(await edits()).toEqual([false, false, true]);

  await letIn();
  await service.sql(`update ndas set expires_at = app.now() - interval '1 second' where id = $1`, [second]);
  await service.sql('select app.sweep()');
  const third = await signNext();
  expect(await edits()).toEqual([false, false, true]);

  // An NDA that has expired but is not yet marked as expired.
  await letIn();
  await service.sql(`update ndas set expires_at = app.now() - interval '1 second' where id = $1`, [third]);
  const fourth = await signNext();
  expect(await edits()).toEqual([false, false, true]);

  // Nobody becomes a member while the NDA is being revoked.
  const ending = [`update ndas set status = 'revoked' where id = $1`, [fourth]] as const;
  expect(
    await whileChanging(service, [ending], () =>
      as('broker').ask(`/deals/${deal}/qoe/members/${buyer.part}`, { role: 'editor' }, 'PUT'),
    ),
  ).toMatchObject({ status: 409, body: { error: { code: 'no_active_nda' } } });
});

describe('an uploaded file', () => {
  const good = [
    'Month;Net Sales;COGS;EBITDA',
    'Jan 1991;"1,234,567,890,123.4567";(12.50);$ 1.5',
    '2/28/1991;1000;;-3',
    '1991-03;0.0001;7-;',
  ].join('\r\n');

  test('is previewed with its errors, and not stored', async () => {
    const before = await stored();
    const bad =
      'month,revenue,cogs\n2025-13,5,1\n2025-02,five,1\n2025-03,,1\n2025-04,1,1.23456\n2025-05,1,1\nMay 2025,2,2\n';
    const { status, body } = await send('buyer', '/preview', bad);
    expect(status).toBe(200);
    expect(body.faults.map(({ row, column }: { row: number; column: string }) => [row, column])).toEqual([
      [2, 'period'],
      [3, 'revenue'],
      [4, 'revenue'],
      [5, 'cost_of_goods_sold'],
      [7, 'period'],
    ]);
    const failed = await send('buyer', '', bad);
    expect(failed).toMatchObject({ status: 201, body: { status: 'failed', source_name: 'books' } });
    expect(failed.body.failure).toMatch(/^5 rows have errors\. Row 2: /);
    expect(await stored()).toBe(before);
  });

  test('is previewed with errors for amounts with too many digits and years out of range', async () => {
    const rows = [
      ['1900-01', '1234567890123456.1234'],
      ['1900-02', '12345678901234567'],
      ['1900-03', '-12,345,678,901,234,567'],
      ['1900-04', '00001234567890123456'],
      ['1899-12', '1'],
      ['12/31/1899', '1'],
      ['FY1899', '1'],
      ['2199-12', '1'],
      ['2200-01', '1'],
      ['Q1 2200', '1'],
    ];
    const { status, body } = await send(
      'buyer',
      '/preview',
      ['month,revenue', ...rows.map(([month, amount]) => `${month},"${amount}"`)].join('\n'),
    );
    const faults = body.faults.map(({ row, column }: { row: number; column: string }) => [row, column]);
    expect([status, faults]).toEqual([
      200,
      [
        [3, 'revenue'],
        [4, 'revenue'],
        [6, 'period'],
        [7, 'period'],
        [8, 'period'],
        [10, 'period'],
        [11, 'period'],
      ],
    ]);
    expect(body.faults[0].message).toContain('at most 16 digits before the point');
  });

  test('is stored with every digit', async () => {
    const preview = await send('seller', '/preview', good);
    expect(preview.body).toMatchObject({ faults: [], row_count: 3 });
    expect(await send('seller', '', good)).toMatchObject({ status: 201, body: { status: 'completed', failure: null } });
    const { body } = await get('buyer', '/periods?end_date=1991-12-31');
    expect(body.items).toMatchObject([
      { period_label: '1991-03', revenue: '0.0001', cost_of_goods_sold: '-7.0000', ebitda: null },
      { period_label: '1991-02', period_end_date: '1991-02-28', cost_of_goods_sold: null, ebitda: '-3.0000' },
      { period_label: '1991-01', revenue: '1234567890123.4567', cost_of_goods_sold: '-12.5000', ebitda: '1.5000' },
    ]);
  });

  test('is stored as previewed, even if a long text is cut within a character', async () => {
    const heading = ['period', 'period_start_date', 'period_end_date', 'revenue', 'note'];
    const rows = [`${'x'.repeat(63)}😀`, '1990-01-01', '1990-12-31', '1', `${'x'.repeat(999)}😀`];
    const csv = [heading, rows].map((cells) => cells.join(',')).join('\n');
    for (const file of [csv, archive(workbook({ Books: [heading, rows] }))]) {
      const { body } = await send('seller', '/preview', file);
      expect(body.faults).toEqual([]);
      expect(await send('seller', '', file)).toMatchObject({
        status: 201,
        body: { status: 'completed', failure: null },
      });
      const periods = await get('buyer', '/periods?end_date=1990-12-31');
      expect(periods.body.items).toMatchObject([{ period_label: body.rows[0].values.period_label }]);
    }
  });

  test('stores only its failure reason if the database rejects a row', async () => {
    const before = await stored();
    await service.sql(`alter table pl_periods add constraint no_such_month check (period_label <> '1992-02')`);
    const answer = await send('seller', '', 'month,revenue\n1992-01,1\n1992-02,1\n');
    await service.sql('alter table pl_periods drop constraint no_such_month');
    expect(answer).toMatchObject({ status: 201, body: { status: 'failed' } });
    expect(answer.body.failure).not.toBeNull();
    expect(await stored()).toBe(before);
  });

  test('can be a workbook, whose numbers are read as written', async () => {
    const n = (number: string) => ({ number });
    const files = workbook({
      'P and L': [
        ['Month', 'Revenue', 'EBITDA'],
        ['1993-01', n('1234567890.1234'), n('0.30000000000000004')],
      ],
      Customers: [
        ['Customer', 'Period', 'Sales'],
        ['Diner', 'FY1993', n('1.5E6')],
      ],
    });
    const { status, body } = await send('broker', '/preview', archive(files), 'full');
    expect({ status, faults: body.faults }).toEqual({ status: 200, faults: [] });
    expect(body.rows.map(({ values }: { values: object }) => values)).toMatchObject([
      { customer_name: 'Diner', revenue_total: '1500000', period_end_date: '1993-12-31' },
      { period_label: '1993-01', revenue: '1234567890.1234', ebitda: '0.3' },
    ]);
    expect((await send('broker', '', archive(files), 'full')).body.status).toBe('completed');
  });

  test('with several readable sheets is rejected with their names, including hidden ones', async () => {
    const heading = ['Month', 'Revenue'];
    const refused = async (sheets: Parameters<typeof workbook>[0], type?: string) => {
      const files = workbook(sheets);
      const at = 'xl/workbook.xml';
      const hidden = {
        ...files,
        [at]: files[at]!.replace('<sheet name="Draft"', '<sheet state="hidden" name="Draft"'),
      };
      const { status, body } = await send('broker', '/preview', archive(hidden), type);
      return `${status} ${body.error?.message ?? body.row_count}`;
    };
    const advice = 'Combine them into one, or upload each separately.';
    const years = {
      2023: [heading, ['2023-01', '1']],
      2024: [heading, ['2024-01', '1']],
      2025: [heading, ['2025-01', '1']],
    };
    expect(await refused(years)).toBe(
      `400 Several sheets could be imported (hidden ones count): “2023”, “2024”, “2025”. ${advice}`,
    );
    const drafts = `400 Several sheets could be imported (hidden ones count): “Draft”, “Final”. ${advice}`;
    const customers = {
      Customers: [
        ['Customer', 'Period', 'Sales'],
        ['Diner', 'FY1994', '1'],
      ],
    };
    const draft = { Draft: [heading, ['1994-01', '1']], Final: [heading, ['1994-01', '2']] };
    expect(await refused({ ...draft, ...customers }, 'full')).toBe(drafts);
    expect(await refused(draft)).toBe(drafts);
    const months = ['', 'Jan 1994', 'Feb 1994'];
    const exported = { Draft: [months, ['Sales', '1', '2']], Final: [months, ['Sales', '3', '4']] };
    expect(await refused(exported)).toBe(drafts);
    // A sheet with nothing but headings, or with nothing more than a date, does not count as a second sheet.
    expect(await refused({ Draft: [heading], Final: [heading, ['1994-01', '2']] })).toBe('200 1');
    expect(
      await refused({
        Cover: [
          ['Prepared', '31 Jan 1994'],
          ['By', 'Ann'],
        ],
        Final: exported.Final,
      }),
    ).toBe('200 1');
  });

  test('is previewed with the names of ignored columns', async () => {
    const heading = 'Month,,Sales,COGS,Rent,Net income,Wages,Amortization,Empty,';
    const { body } = await send(
      'broker',
      '/preview',
      `${heading}\n1994-01,x,100,40,10,30,20,5,,\n1994-02,,1,,,,,,,,,\n`,
    );
    expect(body).toMatchObject({ faults: [], left_out: ['no. 2', 'Rent', 'Wages'] });
    expect(body.rows[0].values).toMatchObject({ net_income: '30', depreciation_amortization: '5' });
    expect((await send('broker', '/preview', good)).body.left_out).toEqual([]);
    const files = workbook({
      'P and L': [
        ['Month', 'Revenue', 'Rent'],
        ['1994-01', '1', '2'],
      ],
      Customers: [
        ['Customer', 'Period', 'Sales', 'Since'],
        ['Diner', 'FY1994', '1', '1990'],
      ],
    });
    expect((await send('broker', '/preview', archive(files), 'full')).body).toMatchObject({
      faults: [],
      left_out: ['Since (Customers)', 'Rent (P and L)'],
    });
  });

  test.each([
    ['Month,Sales,Depreciation,Amortization\n1994-01,9,1,2', 'Depreciation” and “Amortization'],
    ['Month,Gross sales,Tax,Net sales,Income tax\n1994-01,9,1,2,3', 'Gross sales” and “Net sales'],
  ])('with two columns for the same line is rejected with their names: %s', async (csv, names) => {
    for (const path of ['/preview', ''])
      expect(await send('broker', path, csv)).toMatchObject({
        status: 400,
        body: {
          error: {
            message: `“${names}” are read as the same line: add them up in one column, or keep the one that counts.`,
          },
        },
      });
  });

  test('with unquoted commas in amounts is rejected by row', async () => {
    const csv = 'month,revenue,\n2025-01,1,234,567\n2025-02,"1,234,567",\n2025-03,five,6,7';
    const message =
      'This row has more cells than the first line: put quotation marks around amounts with commas, or write them without commas.';
    const { body } = await send('broker', '/preview', csv);
    expect(body.faults).toEqual([2, 4].map((row) => ({ row, column: null, message })));
    expect((await send('broker', '', csv)).body).toMatchObject({ status: 'failed' });
  });

  test('is rejected before it expands to an excessive size', async () => {
    const files = workbook({
      Books: [
        ['Month', 'Revenue'],
        ['2025-01', { number: '1' }],
      ],
    });
    const at = 'xl/worksheets/sheet1.xml';
    const bombs = [
      archive({ ...files, 'xl/worksheets/sheet2.xml': '0'.repeat(40_000_000) }),
      archive(files, 10),
      archive({ ...files, [at]: files[at]!.replace('r="B2"', 'r="XFD1048576"') }),
      // A row so far down that the empty rows before it would fill the memory, with its number in an unusual notation.
      archive({ ...files, [at]: files[at]!.replace('<row r="2">', '<row x:r="&#57;9999999">') }),
      Buffer.from('PK\u0003\u0004 and no more'),
    ];
    for (const bomb of bombs) expect((await send('broker', '/preview', bomb)).status).toBe(400);
    // A small file in which every cell is the same long text.
    const cells = Array.from({ length: 20_000 }, (_, row) => `<row><c r="A${row + 1}" t="s"><v>0</v></c></row>`);
    const sheet = files[at]!.replace(/<sheetData>.*<\/sheetData>/, `<sheetData>${cells.join('')}</sheetData>`);
    const shared = `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>${'x'.repeat(1_000_000)}</t></si></sst>`;
    const peak = process.resourceUsage().maxRSS;
    const repeated = archive({ ...files, [at]: sheet, 'xl/sharedStrings.xml': shared });
    expect((await send('broker', '/preview', repeated)).status).toBe(400);
    expect(process.resourceUsage().maxRSS - peak).toBeLessThan(500_000);
    // The same over many columns: less than a megabyte that expands to hundreds.
    const letters = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index));
    const wide = letters.concat(letters.map((name) => `A${name}`));
    const row = (place: number) =>
      `<row>${wide.map((name) => `<c r="${name}${place}" t="s"><v>0</v></c>`).join('')}</row>`;
    const grid = Array.from({ length: 6_000 }, (_, index) => row(index + 1)).join('');
    const bomb = archive({
      ...files,
      [at]: files[at]!.replace(/<sheetData>.*<\/sheetData>/, `<sheetData>${grid}</sheetData>`),
      'xl/_rels/workbook.xml.rels': files['xl/_rels/workbook.xml.rels']!.replace(
        '</Relationships>',
        '<Relationship Id="rId9" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
      ),
      'xl/sharedStrings.xml': shared.replace(/<t>x+/, `<t>${'x'.repeat(1_000)}`),
    });
    expect(bomb.length).toBeLessThan(1_048_576);
    const highest = process.resourceUsage().maxRSS;
    expect((await send('broker', '/preview', bomb)).body.error.message).toMatch(/workbook is too large/);
    expect(process.resourceUsage().maxRSS - highest).toBeLessThan(150_000);
    // Entries missing in the archive's central directory are ignored, whatever bytes lie between its files.
    const hidden = archive({ 'xl/worksheets/sheet9.xml': '0'.repeat(100_000_000) });
    const seen = archive(files);
    const shifted = withHiddenStart(hidden.subarray(0, hidden.lastIndexOf('PK\u0001\u0002')), seen);
    const before = process.memoryUsage.rss();
    expect(await send('broker', '/preview', shifted)).toMatchObject({
      status: 200,
      body: { row_count: 1, faults: [] },
    });
    expect(process.memoryUsage.rss() - before).toBeLessThan(80_000_000);
    expect((await send('broker', '/preview', 'x'.repeat(5_242_881))).status).toBe(413);
    const rows = `month,revenue\n${'2025-01,1\n'.repeat(5001)}`;
    expect((await send('broker', '/preview', rows)).body.error.message).toMatch(/limit is 5000/);
    expect((await send('broker', '/preview', 'a,b\n1,2\n')).body.error.message).toMatch(/first line must name/);
  });

  test('can be the downloaded template, which has no errors', async () => {
    for (const type of ['profit_and_loss', 'customer_revenue']) {
      const { headers } = as('seller');
      const response = await fetch(`${service.origin}/api/web/qoe/template?snapshot_type=${type}`, { headers });
      expect((await send('seller', '/preview', await response.text(), type)).body).toMatchObject({
        faults: [],
        row_count: 1,
      });
    }
  });
});

test('in the browser, an adjustment, a corrected file and a QuickBooks export are saved', async () => {
  const browser = await openBrowser();
  try {
    const testPage = await openTestPage(browser, service.origin, { cookie: as('buyer').cookie });
    const { page } = testPage;
    await testPage.go(`/deals/${deal}/qoe`);
    await page.getByText('Largest customer').waitFor();
    await expectAccessible(page);
    // Each row header is unique.
    const earned = page.getByRole('region', { name: 'Earnings and margins' }).first().getByRole('rowheader');
    await expect.poll(() => earned.count()).toBeGreaterThan(5);
    const named = await earned.allInnerTexts();
    expect(new Set(named).size).toBe(named.length);

    const stray = { period_label: 'fy 2025', adjustment_category: 'other', adjustment_amount: '7' };
    const { id } = (await as('buyer').ask(`/deals/${deal}/qoe/normalizations`, stray)).body;
    await page.getByText('Some adjustments are not in any bridge').waitFor();
    await page.getByText('There are no figures with an EBITDA of “fy 2025”.').waitFor();
    const marked = page
      .getByRole('region', { name: /^Add-backs and adjustments of / })
      .filter({ hasText: 'Not in any bridge' });
    await expect.poll(() => marked.getByRole('heading').allInnerTexts()).toHaveLength(1);
    expect(await marked.getAttribute('aria-label')).toBe('Add-backs and adjustments of fy 2025');
    await expectAccessible(page);
    expect((await as('buyer').ask(`/qoe/normalizations/${id}`, undefined, 'DELETE')).status).toBe(204);
    await page.getByText('Some adjustments are not in any bridge').waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'Add adjustment' }).click();
    await page.getByLabel('Period', { exact: true }).selectOption('TTM');
    await page.getByLabel('Category').selectOption('one_time');
    await page.getByLabel('Amount').fill('12,345.67');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('+$12,345.67').first().waitFor();

    await page.getByRole('button', { name: 'Upload financials' }).click();
    const choose = (csv: string) =>
      page
        .locator('input[type=file]')
        .setInputFiles({ name: 'books.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await choose('month,revenue\n1994-01,1\n1994-02,none\n');
    await page.getByText('Fix these').waitFor();
    await expectAccessible(page);
    expect(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true);
    await choose('month,revenue\n1994-01,1\n1994-02,2\n');
    await page.getByRole('button', { name: 'Save 2 rows' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Keep editing' }).click();
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Save 2 rows' }).click();
    await page.getByText('The financials are saved').first().waitFor();
    await page.getByText('books.csv').waitFor();

    // A QuickBooks export: the category of an account is changed with the keyboard, and stored.
    await page.getByRole('button', { name: 'Upload financials' }).click();
    await choose(await readFile(new URL('../books/exports/quickbooks.csv', import.meta.url), 'utf8'));
    await page.getByText('A QuickBooks export: accrual basis').waitFor();
    await expectAccessible(page);
    const comparison = page.getByRole('region', { name: 'Compared with the export’s own totals' });
    await expect.poll(() => comparison.getByRole('row', { name: /^Net income/ }).innerText()).toMatch(/None$/);
    await page.getByLabel('Rent', { exact: true }).focus();
    await page.keyboard.press('End');
    await page.getByText('Net income differs in Jan 2025 (800)').waitFor();
    const rent = await page.getByLabel('Rent', { exact: true }).getAttribute('id');
    expect(await page.evaluate('document.activeElement.id')).toBe(rent);
    await page.getByLabel('Rent', { exact: true }).selectOption('Operating expenses');
    await page.getByText('Net income differs in').waitFor({ state: 'detached' });
    // A preview that fails keeps what was chosen.
    await page.route('**/qoe/snapshots/preview?*', (route) => route.abort(), { times: 1 });
    await page.getByLabel('Wages', { exact: true }).selectOption('Owner compensation');
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Keep editing' }).click();
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('button', { name: 'Save 3 periods' }).waitFor();
    // Figures that could not be saved can be saved again with the same choices.
    await page.route(
      '**/qoe/snapshots?*',
      (route) => route.fulfill({ contentType: 'text/html', body: '<title>Sign in to the network</title>' }),
      { times: 1 },
    );
    await page.getByRole('button', { name: 'Save 3 periods' }).click();
    await page.getByText('Something went wrong on our side.').waitFor();
    await page.getByRole('button', { name: 'Save 3 periods' }).click();
    await page.getByText('The financials are saved').first().waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { items } = (await get('buyer', '/periods?start_date=2025-01-01&end_date=2025-01-31')).body;
    expect(items).toContainEqual(expect.objectContaining({ revenue: '9900.0000', owner_compensation: '3500.0000' }));

    // A list that is not complete shows no total.
    const adjusted = page.getByRole('region', { name: 'Add-backs and adjustments of TTM' });
    await adjusted.getByText('Total').waitFor();
    await service.sql(
      `insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount)
       select $1, 'TTM', 'other', 1 from generate_series(1, 501)`,
      [deal],
    );
    await page.reload();
    await page.getByText('These are 500 adjustments, the latest ones').waitFor();
    expect(await adjusted.getByText('Total').count()).toBe(0);
    expect(testPage.complaints).toEqual([]);
    await testPage.close();
    // Most of the work of axe and of the layout on the following page would be about these.
    await service.sql(
      `delete from normalizations where deal_id = $1 and adjustment_category = 'other' and adjustment_amount = 1`,
      [deal],
    );

    const phone = await openTestPage(browser, service.origin, {
      cookie: as('broker').cookie,
      viewport: { width: 390, height: 844 },
    });
    await phone.go(`/deals/${deal}/qoe`);
    await loaded(phone.page);
    expect(await phone.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await expectAccessible(phone.page);
    await phone.page.getByRole('button', { name: 'Upload financials' }).click();
    const xero = await readFile(new URL('../books/exports/xero.csv', import.meta.url));
    await phone.page
      .locator('input[type=file]')
      .setInputFiles({ name: 'xero.csv', mimeType: 'text/csv', buffer: xero });
    await phone.page.getByText('A Xero export').waitFor();
    expect(await phone.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await expectAccessible(phone.page);
    await phone.close();
  } finally {
    await browser.close();
  }
}, 480_000);
