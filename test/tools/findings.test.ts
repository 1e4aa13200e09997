/** The findings tools, switched on: a finding from its creation to its history, and who may do what with it. */

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { atOnce } from '../locks.ts';
import { signInAs } from '../web/person.ts';
import { asking } from './ask.ts';
import { addFullDeal, allowAll, everyTool, roles, type FullDeal, type Role } from './scene.ts';

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

const finding = (more: Record<string, unknown> = {}) => ({
  deal_id: scene.deal,
  category: 'tax',
  title: 'Sales tax filed late',
  severity: 'major',
  ...more,
});

test("changes to findings are in the deal's activity once each, with person and client", async () => {
  const { id } = await as('exclusive buyer').ok('svc_findings_create', finding());
  service.clock.advance(10);
  await as('exclusive buyer').ok('svc_findings_comment', { finding_id: id, body: 'Asked the accountant.' });
  service.clock.advance(10);
  await as('broker').ok('svc_findings_update_status', { finding_id: id, status: 'mitigated' });
  const activity = async (role: Role) => {
    const person = await signInAs(service, scene.people[role].userId);
    const { items } = (await person.ask(`/deals/${scene.deal}/activity`)).body as {
      items: { summary: string; client_name: string | null; user_id: string }[];
    };
    const own = items.filter(({ user_id }) => user_id === scene.people[role].userId);
    expect(own.every(({ client_name }) => client_name !== null)).toBe(true);
    return items.map(({ summary }) => summary);
  };
  const all = ['changed the status of a finding to mitigated', 'commented on a finding', 'recorded a finding'];
  expect(await activity('broker')).toEqual(all);
  expect(await activity('exclusive buyer')).toEqual(all);
  expect(await activity('other buyer')).toEqual([]);
});

test('a call on a finding that is refused for a missing second factor is in the trail of the brokerage that requires it', async () => {
  const elsewhere = await addFullDeal(service);
  const { broker } = scene.people;
  const { id } = await as('broker').ok('svc_findings_create', finding());
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'staff')`, [
    elsewhere.brokerage,
    broker.userId,
  ]);
  const requires = (brokerage: string, required: boolean) =>
    service.sql('update brokerages set requires_second_factor = $2 where id = $1', [brokerage, required]);
  const filed = async () => {
    await as('broker').refused('svc_findings_get', { finding_id: id });
    return service.sql(
      `select brokerage_id, deal_id, subject_id from audit_records
       where user_id = $1 and outcome = 'second_factor_required' order by at desc, id desc limit 1`,
      [broker.userId],
    );
  };
  await requires(elsewhere.brokerage, true);
  expect(await filed()).toEqual([{ brokerage_id: null, deal_id: null, subject_id: id }]);
  service.clock.advance(10);
  await requires(scene.brokerage, true);
  expect(await filed()).toEqual([{ brokerage_id: scene.brokerage, deal_id: null, subject_id: id }]);
});

test("calls on a visible finding are in the brokerage's audit trail, and calls on a hidden one are not", async () => {
  const buyer = as('exclusive buyer');
  const { id } = await buyer.ok('svc_findings_create', finding());
  await buyer.ok('svc_findings_get', { finding_id: id });
  await buyer.ok('svc_findings_comment', { finding_id: id, body: 'Asked the accountant.' });
  await buyer.ok('svc_findings_update_status', { finding_id: id, status: 'mitigated' });
  await buyer.refused('svc_findings_update_status', { finding_id: id, status: 'nonsense' });
  const { id: hidden } = await as('broker').ok('svc_findings_create', finding());
  await buyer.ok('svc_findings_get', { finding_id: hidden });
  await buyer.refused('svc_findings_comment', { finding_id: hidden, body: 'Mine?' });
  const broker = await signInAs(service, scene.people.broker.userId);
  const { items } = (
    await broker.ask(
      `/audit?brokerage_id=${scene.brokerage}&user_id=${scene.people['exclusive buyer'].userId}&action=tool:`,
    )
  ).body as {
    items: { action: string; deal_id: string | null; subject_id: string | null; outcome: string }[];
  };
  const of = (finding_id: unknown) =>
    items
      .filter(({ subject_id, deal_id }) => subject_id === finding_id && deal_id === scene.deal)
      .map(({ action, outcome }) => [action, outcome])
      .toReversed();
  expect(of(id)).toEqual([
    ['tool:svc_findings_get', 'ok'],
    ['tool:svc_findings_comment', 'ok'],
    ['tool:svc_findings_update_status', 'ok'],
    ['tool:svc_findings_update_status', 'validation_error'],
  ]);
  expect(items.filter(({ subject_id }) => subject_id === hidden)).toEqual([]);
  const own = await service.sql(
    'select deal_id, brokerage_id from audit_records where subject_id = $1 and user_id = $2',
    [hidden, scene.people['exclusive buyer'].userId],
  );
  expect(own).toEqual([
    { deal_id: null, brokerage_id: null },
    { deal_id: null, brokerage_id: null },
  ]);
});

test('a finding is created, listed, commented on, moved, and returned in full with its history', async () => {
  const buyer = as('exclusive buyer');
  const owner_user_id = scene.people['exclusive buyer'].userId;
  const { id } = await buyer.ok('svc_findings_create', finding({ description: 'Two quarters.', owner_user_id }));
  service.clock.advance(10);
  const first = await buyer.ok('svc_findings_comment', { finding_id: id, body: 'Asked the accountant.' });
  await as('broker').ok('svc_findings_comment', { finding_id: id, body: '<b>Noted</b>"}' });
  service.clock.advance(10);
  expect(
    await as('seller').ok('svc_findings_update_status', {
      finding_id: id,
      status: 'mitigated',
      status_notes: 'Paid in May.',
    }),
  ).toEqual({
    id,
    status: 'mitigated',
    updated_at: expect.any(String),
    url: `${service.config.baseUrl}/deals/${scene.deal}/findings`,
  });
  service.clock.advance(10);
  await buyer.ok('svc_findings_update_status', { finding_id: id, status: 'open' });
  const { finding: found } = (await buyer.ok('svc_findings_get', { finding_id: id })) as {
    finding: Record<string, unknown>;
  };
  expect(found).toMatchObject({
    id,
    deal_id: scene.deal,
    title: 'Sales tax filed late',
    description: 'Two quarters.',
    severity: 'major',
    status: 'open',
    status_notes: null,
    owner_user_id,
    created_by: owner_user_id,
    comments: [
      { id: first['id'], body: 'Asked the accountant.', created_by: owner_user_id },
      { body: '<b>Noted</b>"}', created_by: scene.people.broker.userId },
    ],
    history: [
      { from_status: null, to_status: 'open', notes: null, changed_by: owner_user_id },
      {
        from_status: 'open',
        to_status: 'mitigated',
        notes: 'Paid in May.',
        changed_by: scene.people.seller.userId,
      },
      { from_status: 'mitigated', to_status: 'open', notes: null, changed_by: owner_user_id },
    ],
  });
  const [listed] = await buyer.rows('svc_findings_list', { deal_id: scene.deal });
  const { comments: _comments, history: _history, ...same } = found;
  expect(listed).toEqual({ ...same, comment_count: 2 });
});

test("setting a finding's current status again changes nothing, and leaves an audit record of the call", async () => {
  const buyer = as('exclusive buyer');
  const { id: finding_id } = await buyer.ok('svc_findings_create', finding());
  const give = (more: Record<string, unknown>) =>
    buyer.ok('svc_findings_update_status', { finding_id, status: 'resolved', ...more });
  const kept = () =>
    Promise.all([
      buyer.ok('svc_findings_get', { finding_id }),
      service.sql('select id from change_events where object_id = $1', [finding_id]),
      service.sql(`select id from audit_records where subject_id = $1 and action = 'finding.status'`, [finding_id]),
    ]);
  const first = await give({ status_notes: 'Paid in May.' });
  const before = await kept();
  expect([before[1].length, before[2].length]).toEqual([2, 1]);
  for (const again of [{}, { status_notes: null }, { status_notes: 'Paid in May.' }]) {
    service.clock.advance(1000);
    expect(await give(again)).toEqual(first);
    expect(await kept()).toEqual(before);
  }
  const calls = await service.sql(
    `select outcome from audit_records where subject_id = $1 and action = 'tool:svc_findings_update_status'`,
    [finding_id],
  );
  expect(calls).toEqual(Array.from({ length: 4 }, () => ({ outcome: 'ok' })));
  const { updated_at } = await give({ status_notes: 'Paid in June.' });
  expect(updated_at).not.toBe(first['updated_at']);
  expect(await buyer.ok('svc_findings_get', { finding_id })).toMatchObject({
    finding: { updated_at, status_notes: 'Paid in June.', history: { length: 3 } },
  });
});

test('two simultaneous status changes both apply, even if the second restores the earlier status', async () => {
  const buyer = as('exclusive buyer');
  const { id: finding_id } = await buyer.ok('svc_findings_create', finding());
  const give = (role: Role, status: string) => as(role).ok('svc_findings_update_status', { finding_id, status });
  const answers = await atOnce(
    service,
    ['findings', 'id', String(finding_id)],
    () => give('broker', 'resolved'),
    () => give('exclusive buyer', 'open'),
  );
  expect(answers).toMatchObject([{ status: 'resolved' }, { status: 'open' }]);
  expect(await buyer.ok('svc_findings_get', { finding_id })).toMatchObject({
    finding: { status: 'open', history: [{}, { to_status: 'resolved' }, { to_status: 'open' }] },
  });
});

test('setting a status without permission is rejected, even if it is the current status', async () => {
  const { id: finding_id } = await as('other buyer').ok('svc_findings_create', finding());
  const same = { finding_id, status: 'open' };
  const again = (role: Role) => as(role).refused('svc_findings_update_status', same);
  expect(await again('exclusive buyer')).toMatchObject({ reason: 'missing_deal_opt_in' });
  await service.sql(`update ndas set status = 'revoked' where participant_id = $1`, [
    scene.participants['other buyer'],
  ]);
  expect(await again('other buyer')).toMatchObject({ error: 'rls_denied' });
  for (const state of ['closing', 'closed'])
    await service.sql('update deals set state = $2 where id = $1', [scene.deal, state]);
  expect(await again('broker')).toEqual(
    await as('broker').refused('svc_findings_update_status', { ...same, status: 'resolved' }),
  );
  expect(await again('broker')).toMatchObject({ message: expect.stringContaining('The deal is closed') });
});

test('a finding has its latest 200 comments, or fewer if they are very long, and their total number', async () => {
  const buyer = as('exclusive buyer');
  const { id: finding_id } = await buyer.ok('svc_findings_create', finding());
  const told = async () => {
    const { finding: found } = (await buyer.ok('svc_findings_get', { finding_id })) as {
      finding: { comment_count: number; comments: { body: string }[] };
    };
    return { count: found.comment_count, comments: found.comments.map(({ body }) => body.slice(0, 12)) };
  };
  const add = (from: number, to: number, text: string) =>
    service.sql(
      `insert into finding_comments (finding_id, body, created_by, created_at)
       select $1, n || $4, $5, '2026-01-01'::timestamptz + n * interval '1 s' from generate_series($2::int, $3::int) n`,
      [finding_id, from, to, text, scene.people['exclusive buyer'].userId],
    );
  await add(1, 201, '');
  expect(await told()).toEqual({ count: 201, comments: Array.from({ length: 200 }, (_, at) => String(at + 2)) });
  await add(300, 340, 'x'.repeat(7997));
  const { count, comments } = await told();
  expect([count, comments.length, comments.at(-1)]).toEqual([242, 32, '340xxxxxxxxx']);
});

test('findings are filtered, and the 200 latest are listed newest first', async () => {
  const broker = as('broker');
  await broker.ok('svc_findings_create', finding());
  await broker.ok('svc_findings_create', finding({ category: 'legal', severity: 'minor' }));
  const count = async (input: Record<string, unknown>) =>
    (await broker.rows('svc_findings_list', { deal_id: scene.deal, ...input })).length;
  expect(
    await Promise.all(
      [
        {},
        { category: 'legal' },
        { severity: 'minor' },
        { status: 'open' },
        { status: 'resolved' },
        { category: 'legal', severity: 'major' },
      ].map(count),
    ),
  ).toEqual([2, 1, 1, 2, 0, 0]);
  await service.sql(
    `insert into findings (deal_id, participant_id, category, title, severity, created_at)
     select $1, $2, 'c', 'Finding ' || n, 'minor', '2026-01-01'::timestamptz + n * interval '1 s' from generate_series(1, 203) n`,
    [scene.deal, scene.participants.broker],
  );
  const rows = await broker.rows('svc_findings_list', { deal_id: scene.deal, category: 'c' });
  expect(rows.map((row) => row['title'])).toEqual(Array.from({ length: 200 }, (_, at) => `Finding ${203 - at}`));
});

test('findings are visible to the side that recorded them, brokers and sellers', async () => {
  const { id } = await as('other buyer').ok('svc_findings_create', finding());
  const seen: Role[] = [];
  for (const role of roles) {
    const rows = await as(role).rows('svc_findings_list', { deal_id: scene.deal });
    const { finding: one } = await as(role).ok('svc_findings_get', { finding_id: id });
    expect(rows.length > 0 === (one !== null)).toBe(true);
    if (one !== null) seen.push(role);
  }
  expect(seen).toEqual(['broker', 'seller', 'other buyer']);
});

test('participants in diligence can write findings; others get rls_denied', async () => {
  for (const role of ['broker', 'seller', 'exclusive buyer', 'other buyer', "exclusive buyer's advisor"] as const) {
    expect(await as(role).ok('svc_findings_create', finding())).toHaveProperty('id');
  }
  for (const role of ['new buyer', 'viewer', 'admin'] as const) {
    expect(await as(role).refused('svc_findings_create', finding())).toMatchObject({ error: 'rls_denied' });
  }
  const { id: finding_id } = await as('other buyer').ok('svc_findings_create', finding());
  await service.sql(`update ndas set status = 'revoked' where participant_id = $1`, [
    scene.participants['other buyer'],
  ]);
  for (const [name, input] of [
    ['svc_findings_update_status', { finding_id, status: 'resolved' }],
    ['svc_findings_comment', { finding_id, body: 'Still here.' }],
  ] as const) {
    expect(await as('other buyer').refused(name, input)).toMatchObject({ error: 'rls_denied' });
  }
  const [record] = await service.sql(
    `select outcome from audit_records where action = 'tool:svc_findings_update_status' and subject_id = $1`,
    [finding_id],
  );
  expect(record).toEqual({ outcome: 'rls_denied' });
});

test('an invisible finding and a nonexistent one are rejected alike', async () => {
  const { id } = await as('exclusive buyer').ok('svc_findings_create', finding());
  const missing = crypto.randomUUID();
  for (const [name, input] of [
    ['svc_findings_update_status', { status: 'resolved' }],
    ['svc_findings_comment', { body: 'Hm.' }],
  ] as const) {
    const hidden = await as('other buyer').refused(name, { ...input, finding_id: id });
    expect(hidden).toMatchObject({
      error: 'permission_denied',
      reason: 'missing_deal_opt_in',
      resolve_url: `${service.origin}/settings/tools`,
    });
    expect(await as('other buyer').refused(name, { ...input, finding_id: missing })).toEqual(hidden);
  }
});

test('the owner of a finding must be a participant whom the caller can see and who can open it', async () => {
  const rejected = {
    error: 'validation_error',
    message: expect.stringContaining('owner_user_id must be the id of an active participant of the deal'),
    details: [
      {
        path: 'owner_user_id',
        message: 'It is not the id of a person on this deal whom the user can see.',
        allowed: 'the id of an active participant of the deal, from svc_deals_get',
      },
    ],
  };
  expect(
    await as('broker').refused('svc_findings_create', finding({ owner_user_id: scene.people.outsider.userId })),
  ).toEqual(rejected);
  expect(await as('broker').refused('svc_findings_create', finding({ owner_user_id: crypto.randomUUID() }))).toEqual(
    rejected,
  );
  for (const owner_user_id of ['me', '', 'x'.repeat(5_000), 'a\u0000b'])
    expect(await as('broker').refused('svc_findings_create', finding({ owner_user_id }))).toEqual(rejected);
  expect(
    await as('broker').ok('svc_findings_create', finding({ owner_user_id: scene.people['seller'].userId })),
  ).toHaveProperty('id');
  // Buyers cannot open a finding of the deal's side.
  expect(
    await as('broker').refused('svc_findings_create', finding({ owner_user_id: scene.people['other buyer'].userId })),
  ).toMatchObject({
    ...rejected,
    message: expect.stringContaining('cannot open the finding'),
    details: [{ path: 'owner_user_id', message: expect.stringContaining('cannot open the finding') }],
  });
  // A buyer must not learn from the message whether another person is a buyer too.
  expect(
    await as('exclusive buyer').refused(
      'svc_findings_create',
      finding({ owner_user_id: scene.people['other buyer'].userId }),
    ),
  ).toEqual(rejected);
});

test('a category filter may have any length', async () => {
  for (const category of ['', 'x'.repeat(65), '😀'.repeat(10_000)])
    expect(await as('broker').ok('svc_findings_list', { deal_id: scene.deal, category })).toEqual({ findings: [] });
});

test('a finding with a field outside its limits is rejected', async () => {
  for (const wrong of [
    { category: '' },
    { category: 'x'.repeat(65) },
    { title: '' },
    { title: 'x'.repeat(121) },
    { description: 'x'.repeat(8001) },
    { severity: 'grave' },
    { severity: undefined },
    { status: 'open' },
  ]) {
    expect(await as('broker').refused('svc_findings_create', finding(wrong))).toMatchObject({
      error: 'validation_error',
    });
  }
  expect(
    await as('broker').ok(
      'svc_findings_create',
      finding({ category: 'x'.repeat(64), title: 'x'.repeat(120), description: '' }),
    ),
  ).toHaveProperty('id');
});
