/** The financing tools, switched on: sources, how their status changes, and their totals. */

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { asking, rowsOf } from './ask.ts';
import { addFullDeal, allow, allowAll, everyTool, insert, roles, send, type FullDeal, type Role } from './scene.ts';

let service: TestService;
let scene: FullDeal;
const as = (role: Role) => asking(service, scene.people[role]);

beforeAll(async () => {
  service = await openService({ config: everyTool });
});
afterAll(() => service.close());
beforeEach(async () => {
  scene = await addFullDeal(service);
  await allowAll(service, scene);
});

const source = (more: Record<string, unknown> = {}) => ({
  deal_id: scene.deal,
  source_type: 'sba_7a',
  source_name: 'First Bank',
  commitment_amount: 1_500_000,
  ...more,
});

test('a financing source is added, moved forward, and listed with totals', async () => {
  const buyer = as('exclusive buyer');
  const { id } = await buyer.ok('svc_financing_source_create', source());
  service.clock.advance(10);
  await buyer.ok(
    'svc_financing_source_create',
    source({
      source_type: 'seller_note',
      source_name: 'Seller',
      commitment_amount: 250_000,
      commitment_status: 'term_sheet',
    }),
  );
  service.clock.advance(10);
  await buyer.ok(
    'svc_financing_source_create',
    source({ source_type: 'other', commitment_amount: Number.MAX_SAFE_INTEGER }),
  );
  service.clock.advance(10);
  await buyer.ok(
    'svc_financing_source_create',
    source({ source_type: 'mezzanine', commitment_amount: Number.MAX_SAFE_INTEGER }),
  );
  expect(
    await buyer.ok('svc_financing_source_update_status', { source_id: id, commitment_status: 'term_sheet' }),
  ).toMatchObject({
    id,
    commitment_status: 'term_sheet',
  });
  const stack = await buyer.ok('svc_financing_stack_get', { deal_id: scene.deal });
  const sources = rowsOf('svc_financing_stack_get', stack);
  const { totals } = stack;
  expect(
    sources.map((row) => [row['source_type'], row['commitment_amount'], row['commitment_status'], row['currency']]),
  ).toEqual([
    ['mezzanine', 9_007_199_254_740_991, 'identified', 'USD'],
    ['other', 9_007_199_254_740_991, 'identified', 'USD'],
    ['seller_note', 250_000, 'term_sheet', 'USD'],
    ['sba_7a', 1_500_000, 'term_sheet', 'USD'],
  ]);
  expect(totals).toEqual([
    { commitment_status: 'identified', currency: 'USD', sources: 2, total: '18014398509481982' },
    { commitment_status: 'term_sheet', currency: 'USD', sources: 2, total: '1750000' },
  ]);
});

test('the open_before_closing prompt names as open the sources that can still be committed', async () => {
  const asked = { jsonrpc: '2.0', id: 1, method: 'prompts/get' };
  const params = { name: 'open_before_closing', arguments: { deal: scene.deal } };
  const { text } = await send(service, scene.people.broker.token, { ...asked, params });
  expect(text).toContain('sources whose commitment_status is identified, applied or term_sheet, and totals by');
  // Totals over the sources of rivals would mean nothing.
  expect(text).toContain('of several sides each on its own (side_user_id)');
});

test('the status of a financing source moves forward only', async () => {
  const buyer = as('exclusive buyer');
  const { id: source_id } = await buyer.ok('svc_financing_source_create', source({ commitment_status: 'committed' }));
  const move = (commitment_status: string) =>
    ['svc_financing_source_update_status', { source_id, commitment_status }] as const;
  expect(await buyer.refused(...move('applied'))).toEqual({
    error: 'submission_rejected',
    message:
      'A financing source cannot go from committed to applied. From committed it can go to: expired, funded, withdrawn.',
  });
  expect(await buyer.ok(...move('committed'))).toMatchObject({ commitment_status: 'committed' });
  expect(await buyer.ok(...move('funded'))).toMatchObject({ commitment_status: 'funded' });
  expect(await buyer.refused(...move('withdrawn'))).toMatchObject({ error: 'submission_rejected' });
});

test("setting a source's current status again changes nothing, and leaves an audit record of the call", async () => {
  const buyer = as('exclusive buyer');
  const { id: source_id } = await buyer.ok('svc_financing_source_create', source());
  const again = () => buyer.ok('svc_financing_source_update_status', { source_id, commitment_status: 'applied' });
  const kept = () =>
    Promise.all([
      buyer.ok('svc_financing_stack_get', { deal_id: scene.deal }),
      service.sql('select id from change_events where object_id = $1', [source_id]),
      service.sql(`select id from audit_records where subject_id = $1 and action = 'financing.status'`, [source_id]),
    ]);
  const first = await again();
  const before = await kept();
  expect([before[1].length, before[2].length]).toEqual([2, 1]);
  service.clock.advance(1000);
  expect(await again()).toEqual(first);
  expect(await kept()).toEqual(before);
  const calls = await service.sql(
    `select outcome from audit_records where subject_id = $1 and action = 'tool:svc_financing_source_update_status'`,
    [source_id],
  );
  expect(calls).toEqual([{ outcome: 'ok' }, { outcome: 'ok' }]);
});

test('setting a status without permission is rejected, even if it is the current status', async () => {
  const { id: source_id } = await as('exclusive buyer').ok('svc_financing_source_create', source());
  const same = { source_id, commitment_status: 'identified' };
  const again = (role: Role) => as(role).refused('svc_financing_source_update_status', same);
  expect(await again('other buyer')).toMatchObject({ reason: 'missing_deal_opt_in' });
  await service.sql(`update ndas set status = 'revoked' where participant_id = $1`, [
    scene.participants['exclusive buyer'],
  ]);
  expect(await again('exclusive buyer')).toMatchObject({ error: 'rls_denied' });
  for (const state of ['closing', 'closed'])
    await service.sql('update deals set state = $2 where id = $1', [scene.deal, state]);
  expect(await again('broker')).toMatchObject({ message: expect.stringContaining('The deal is closed') });
});

test('a source is visible only to its side, brokers and sellers; others can neither add nor change one', async () => {
  const { id: source_id } = await as('exclusive buyer').ok('svc_financing_source_create', source());
  const seen: Role[] = [];
  for (const role of roles) {
    const { sources, totals } = (await as(role).ok('svc_financing_stack_get', { deal_id: scene.deal })) as Record<
      string,
      unknown[]
    >;
    expect(sources?.length).toBe(totals?.length);
    if (sources?.length) seen.push(role);
  }
  expect(seen).toEqual(['broker', 'seller', 'exclusive buyer', "exclusive buyer's advisor"]);
  for (const role of ['new buyer', 'viewer', 'admin'] as const) {
    expect(await as(role).refused('svc_financing_source_create', source())).toMatchObject({ error: 'rls_denied' });
  }
  const hidden = await as('other buyer').refused('svc_financing_source_update_status', {
    source_id,
    commitment_status: 'applied',
  });
  expect(hidden).toMatchObject({ reason: 'missing_deal_opt_in' });
  const missing = { source_id: crypto.randomUUID(), commitment_status: 'applied' };
  expect(await as('other buyer').refused('svc_financing_source_update_status', missing)).toEqual(hidden);
  await service.sql(`update ndas set status = 'revoked' where participant_id = $1`, [
    scene.participants['exclusive buyer'],
  ]);
  expect(
    await as('exclusive buyer').refused('svc_financing_source_update_status', {
      source_id,
      commitment_status: 'applied',
    }),
  ).toMatchObject({ error: 'rls_denied' });
});

test('each source is listed with its side, and totals are given by side', async () => {
  const sides = ['exclusive buyer', 'other buyer'] as const;
  // Before one of them is selected, both rivals are in diligence.
  for (const [at, role] of sides.entries())
    for (const commitment_amount of [1000 * (at + 1), 10])
      await insert(service, 'financing_sources', {
        ...source({ commitment_amount, currency: 'USD' }),
        participant_id: scene.participants[role],
        created_by: scene.people[role].userId,
      });
  const of = (role: Role) => scene.people[role].userId;
  const asked = async (role: Role) => {
    const stack = await as(role).ok('svc_financing_stack_get', { deal_id: scene.deal });
    const rows = rowsOf('svc_financing_stack_get', stack);
    return { ...stack, mine: rows.map(({ side_user_id }) => side_user_id) };
  };
  const total = (sum: string, sources: number) => ({
    commitment_status: 'identified',
    currency: 'USD',
    sources,
    total: sum,
  });
  for (const role of ['broker', 'seller'] as const) {
    const stack = (await asked(role)) as Record<string, unknown>;
    expect(new Set(stack['mine'] as string[])).toEqual(new Set(sides.map(of)));
    // The rivals' money is never added up.
    expect(stack['totals']).toHaveLength(2);
    expect(stack['totals']).toEqual(
      expect.arrayContaining([
        { side_user_id: of('exclusive buyer'), ...total('1010', 2) },
        { side_user_id: of('other buyer'), ...total('2010', 2) },
      ]),
    );
    expect(stack['people']).toEqual(
      expect.arrayContaining(sides.map((name) => ({ user_id: of(name), name, role: 'buyer' }))),
    );
  }
  const own = (await asked('other buyer')) as Record<string, unknown>;
  expect(own).toMatchObject({ side_user_id: of('other buyer'), totals: [total('2010', 2)] });
});

test('commitment amounts are whole numbers within the exact range of JSON', async () => {
  for (const [commitment_amount, message] of [
    [-1, 'It is too small.'],
    [1.5, 'It is not a whole number.'],
    ['1000', 'It has the wrong type.'],
    [2 ** 53, 'It is too large.'],
    [1e300, 'It is too large.'],
    [null, 'It has the wrong type.'],
    [undefined, 'It is missing.'],
  ]) {
    expect(await as('broker').refused('svc_financing_source_create', source({ commitment_amount }))).toMatchObject({
      error: 'validation_error',
      details: [
        { path: 'commitment_amount', message, allowed: 'a whole number (not text) from 0 to 9007199254740991' },
      ],
    });
  }
  expect(await as('broker').ok('svc_financing_source_create', source({ commitment_amount: 0 }))).toHaveProperty('id');
});

test("sources are in the deal's currency; the 200 latest are listed, and all are in the totals", async () => {
  const euro = await insert(service, 'deals', {
    organization_id: scene.brokerage,
    title: 'Elsewhere',
    state: 'diligence',
    currency: 'EUR',
  });
  await insert(service, 'participants', {
    deal_id: euro,
    user_id: scene.people.broker.userId,
    role: 'broker',
    status: 'active',
  });
  await allow(service, scene.people.broker, [], [euro]);
  for (let at = 0; at < 3; at += 1)
    expect(
      await as('broker').ok('svc_financing_source_create', source({ deal_id: euro, commitment_amount: 2 })),
    ).toMatchObject({ currency: 'EUR' });
  await service.sql(
    `insert into financing_sources (deal_id, participant_id, source_type, source_name, commitment_amount, currency)
     select deal_id, participant_id, source_type, source_name, commitment_amount, currency
     from financing_sources, generate_series(1, 100) where deal_id = $1`,
    [euro],
  );
  const { sources, totals } = (await as('broker').ok('svc_financing_stack_get', { deal_id: euro })) as Record<
    string,
    Record<string, unknown>[]
  >;
  expect(sources).toHaveLength(200);
  expect(totals).toEqual([{ commitment_status: 'identified', currency: 'EUR', sources: 303, total: '606' }]);
});
