/**
 * What stands beside the records: who is never shown them, what a list leaves out, what is offered for sale, by whom
 * something was recorded, and the next step of a refusal.
 */

import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { asking } from './ask.ts';
import { addFullDeal, allow, allowAll, everyTool, insert, insertAll, send, type FullDeal, type Role } from './scene.ts';

type Row = Record<string, unknown>;

let service: TestService;
let scene: FullDeal;
const as = (role: Role) => asking(service, scene.people[role]);
const moment = (at: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString();
const url = (page: string) => `${service.config.baseUrl}/deals/${scene.deal}/${page}`;

beforeAll(async () => {
  service = await openService({ config: everyTool });
  scene = await addFullDeal(service);
  await allowAll(service, scene);
});
afterAll(() => service.close());

describe('an empty list', () => {
  const lists = [
    ['svc_offers_list', { offers: [] }, 'offers'],
    ['svc_questions_list', { questions: [] }, 'questions'],
    ['svc_findings_list', { findings: [] }, 'findings'],
    ['svc_financing_stack_get', { sources: [], totals: [] }, 'sources of financing'],
  ] as const;

  test.each(lists)('of %s says who is never shown such records, only to them', async (tool, empty, things) => {
    const asked = (role: Role) => as(role).ok(tool, { deal_id: scene.deal });
    for (const [role, who] of [
      ['viewer', 'a viewer of this deal'],
      ['admin', 'an admin of the brokerage and not on this deal'],
    ] as const)
      expect(await asked(role)).toEqual({
        ...empty,
        hint: {
          message: `The user is ${who}, who is not shown its ${things}: there may be some.`,
        },
      });
    for (const role of ['broker', 'seller', 'new buyer', "exclusive buyer's advisor", 'outsider'] as const)
      expect(await asked(role)).toEqual(empty);
    for (const role of ['viewer', 'admin'] as const)
      expect(await as(role).ok(tool, { deal_id: crypto.randomUUID() })).toEqual(empty);
  });

  test('of documents says that more open under an NDA, to a buyer without an active one', async () => {
    const asked = (role: Role, input: Row = {}) => as(role).ok('svc_documents_list', { deal_id: scene.deal, ...input });
    const awaiting = {
      documents: [],
      hint: { message: 'Documents under NDA, if there are any, open to the user once their NDA is active: see url.' },
      url: url('documents'),
    };
    expect(await asked('new buyer')).toEqual(awaiting);
    expect(await asked('new buyer', { confidentiality_level: 'nda_gated' })).toEqual(awaiting);
    for (const role of ['broker', 'exclusive buyer', 'viewer', 'admin', 'outsider'] as const)
      expect(await asked(role)).toEqual({ documents: [] });
    const file = { deal_id: scene.deal, category: 'tax', size_bytes: 7, media_type: 'application/pdf' };
    const stored = { filename: 'A.pdf', storage_key: crypto.randomUUID(), uploaded_at: moment(1) };
    await insert(service, 'documents', { ...file, ...stored, confidentiality: 'public' });
    const { documents, hint } = await asked('new buyer');
    expect([documents, hint]).toEqual([[expect.objectContaining({ filename: 'A.pdf' })], undefined]);
  });
});

describe('a list that is cut says so', () => {
  let own: FullDeal;
  const ask = (tool: string, input: Row = {}) =>
    asking(service, own.people.broker).ok(tool, { deal_id: own.deal, ...input });
  const rows = (count: number, row: (at: number) => Row) =>
    Array.from({ length: count }, (_, at) => ({ id: crypto.randomUUID(), deal_id: own.deal, ...row(at) }));

  beforeAll(async () => {
    own = await addFullDeal(service);
    await allowAll(service, own);
  });

  test('questions', async () => {
    const question = {
      category: 'tax',
      question_text: 'Why?',
      asked_by: own.people['other buyer'].userId,
      participant_id: own.participants['other buyer'],
    };
    const made = rows(201, (at) => ({ ...question, status: 'pending_broker_review', asked_at: moment(at) }));
    await insertAll(service, 'questions', made.slice(1));
    expect(await ask('svc_questions_list')).not.toHaveProperty('hint');
    await insertAll(service, 'questions', made.slice(0, 1));
    const { questions, hint } = await ask('svc_questions_list');
    expect(questions).toHaveLength(200);
    expect((questions as Row[]).map(({ id }) => id)).not.toContain(made[0]?.id);
    expect(hint).toEqual({ message: 'These are the newest 200, and there are more: narrow with status, or see url.' });
    expect((await ask('svc_questions_list', { status: 'pending_broker_review' }))['hint']).toEqual({
      message: 'These are the newest 200, and there are more: see url.',
    });
  });

  test('findings and sources of financing', async () => {
    const finding = { participant_id: own.participants.broker, category: 'c', title: 'T', severity: 'minor' };
    const source = {
      participant_id: own.participants.broker,
      source_type: 'other',
      source_name: 'Bank',
      commitment_amount: 1,
      currency: 'USD',
      commitment_status: 'identified',
    };
    await insertAll(
      service,
      'findings',
      rows(201, (at) => ({ ...finding, status: 'open', created_at: moment(at), updated_at: moment(at) })),
    );
    await insertAll(
      service,
      'financing_sources',
      rows(201, (at) => ({ ...source, created_at: moment(at), updated_at: moment(at) })),
    );
    const { findings, hint } = await ask('svc_findings_list', { severity: 'minor' });
    expect([(findings as Row[]).length, hint]).toEqual([
      200,
      { message: 'These are the newest 200, and there are more: narrow with status or category, or see url.' },
    ]);
    const { sources, totals, hint: other } = await ask('svc_financing_stack_get');
    expect([(sources as Row[]).length, other]).toEqual([
      200,
      { message: 'These are the newest 200, and there are more: see url.' },
    ]);
    expect(totals).toMatchObject([{ sources: 201 }]);
  });

  test('closing conditions, and keeps those that are not met', async () => {
    const made = rows(102, (at) => ({
      name: `Condition ${at}`,
      status: at < 2 ? 'open' : 'satisfied',
      deadline: '2025-12-01',
      created_at: moment(at),
      updated_at: moment(at),
    }));
    await insertAll(service, 'closing_conditions', made);
    const { closing_conditions, hint } = await ask('svc_closing_conditions_list');
    const names = (closing_conditions as Row[]).map(({ name }) => name);
    // Newest first; the two oldest are still open, so the oldest of the others are left out.
    expect(names).toEqual([...made.slice(4).toReversed(), made[1], made[0]].map((one) => (one as Row)['name']));
    expect(hint).toEqual({
      message: 'These are 100, those that are not met before others, and there are more: see url.',
    });
  });

  test('documents of a source', async () => {
    const file = { category: 'tax', confidentiality: 'public', size_bytes: 7, media_type: 'application/pdf' };
    const made = rows(201, (at) => ({
      ...file,
      filename: `${at}.pdf`,
      storage_key: crypto.randomUUID(),
      uploaded_at: moment(at),
    }));
    await insertAll(service, 'documents', made);
    const produced = { id: crypto.randomUUID(), storage_key: crypto.randomUUID(), diligence_request: 'All' };
    await insertAll(service, 'production_documents', [{ ...made[0]!, ...produced }]);
    const { documents, hint } = await ask('svc_documents_list');
    expect(documents).toHaveLength(201);
    expect(hint).toEqual({
      message:
        'These are the newest 200 of each source, and there are more: narrow with category or confidentiality_level, or see url.',
    });
  });

  test('offers', async () => {
    const offer = { participant_id: own.participants['other buyer'], buyer_user_id: own.people['other buyer'].userId };
    const made = rows(51, (at) => ({
      ...offer,
      revision_number: at + 1,
      is_current: at === 0,
      submitted_at: moment(at),
      payload: {},
    }));
    await insertAll(service, 'offers', made);
    // The first call may load the books into the node's cache; the entering statement answers the later calls.
    for (let time = 0; time < 3; time += 1) {
      const { offers, hint } = await ask('svc_offers_list');
      expect((offers as Row[]).map(({ revision_number }) => revision_number)).toEqual([
        ...Array.from({ length: 49 }, (_, at) => 51 - at),
        1,
      ]);
      expect(hint).toEqual({
        message: 'These are 50, the current ones and the newest of the earlier ones, and there are more: see url.',
      });
    }
  });

  test('periods and customers', async () => {
    const snapshot_id = await insert(service, 'accounting_snapshots', {
      deal_id: own.deal,
      snapshot_type: 'full',
      status: 'completed',
      completed_at: moment(1),
    });
    const day = (at: number) => new Date(Date.UTC(2024, 0, 1 + at)).toISOString().slice(0, 10);
    await insertAll(
      service,
      'pl_periods',
      rows(501, (at) => ({
        snapshot_id,
        period_label: day(at),
        period_start_date: day(at),
        period_end_date: day(at),
        currency: 'USD',
        revenue: '1',
      })),
    );
    const period = { period_start_date: '2025-01-01', period_end_date: '2025-12-31', currency: 'USD' };
    await insertAll(
      service,
      'customer_revenues',
      rows(51, (at) => ({ snapshot_id, customer_name: `Customer ${at}`, ...period, revenue_total: at + 1 })),
    );
    for (let time = 0; time < 2; time += 1) {
      const { periods, hint } = await ask('svc_qoe_pl_periods');
      expect([(periods as Row[]).length, hint]).toEqual([
        500,
        { message: 'These are the latest 500, and there are more: narrow with end_date, or see url.' },
      ]);
    }
    expect(await ask('svc_qoe_pl_periods', { start_date: day(1) })).not.toHaveProperty('hint');
    const { customers, hint } = await ask('svc_qoe_customer_concentration');
    expect((customers as Row[]).map(({ revenue_total }) => revenue_total)).toEqual(
      Array.from({ length: 50 }, (_, at) => String(51 - at)),
    );
    expect(hint).toEqual({ message: 'These are the 50 largest, and there are more: see url.' });
  });

  test('people of a deal, and leaves out those who were removed', async () => {
    const userIds = await service.sql<{ id: string }>(
      `insert into users (email, name) select 'many.' || n || '@people.test', 'Person ' || n from generate_series(1, 200) n returning id`,
    );
    const before = (await ask('svc_deals_get'))['participants'] as Row[];
    await insertAll(
      service,
      'participants',
      rows(200, (at) => ({
        user_id: userIds[at]?.id,
        role: 'viewer',
        status: at < 100 ? 'removed' : 'active',
        created_at: moment(at),
        updated_at: moment(at),
        joined_at: moment(at),
        brokerage_id: own.brokerage,
      })),
    );
    const { participants, hint, people } = await ask('svc_deals_get');
    const statuses = (participants as Row[]).map(({ status }) => status);
    expect([statuses.length, statuses.filter((one) => one === 'active').length]).toEqual([200, 100 + before.length]);
    expect(people).toHaveLength(200);
    expect(hint).toEqual({ message: expect.stringMatching(/^These are 200 of the people on the deal/) });
  });
});

describe('a deal', () => {
  test('has what is offered for sale, as its overview shows it to everybody on it', async () => {
    await service.sql(
      `update deals set asking_price = '1250000.50', industry = 'Bakeries', location = 'Portland', needs_nda = true,
         summary = 'Sold by a couple.' where id = $1`,
      [scene.deal],
    );
    for (const role of ['broker', 'seller', 'new buyer', 'viewer', 'admin'] as const) {
      const answer = await as(role).ok('svc_deals_get', { deal_id: scene.deal });
      expect(answer['listing']).toEqual({
        asking_price: '1250000.5',
        currency: 'USD',
        industry: 'Bakeries',
        location: 'Portland',
        needs_nda: true,
        brokerage_name: 'Harbor Brokers',
      });
      expect(JSON.stringify(answer)).not.toContain('Sold by a couple');
    }
    expect(await as('outsider').ok('svc_deals_get', { deal_id: scene.deal })).toEqual({ deal: null, participants: [] });
  });

  test('says whom an advisor advises', async () => {
    const advisor = scene.people["exclusive buyer's advisor"].userId;
    const advises = scene.people['exclusive buyer'].userId;
    for (const role of ['broker', 'viewer', 'exclusive buyer', "exclusive buyer's advisor"] as const) {
      const { people } = await as(role).ok('svc_deals_get', { deal_id: scene.deal });
      const found = (people as Row[]).filter((one) => 'advises' in one);
      expect(found).toEqual([expect.objectContaining({ user_id: advisor, side: 'buyer', advises })]);
    }
    const { people } = await as('other buyer').ok('svc_deals_get', { deal_id: scene.deal });
    expect((people as Row[]).filter((one) => 'advises' in one)).toEqual([]);
  });
});

describe('the quality of earnings', () => {
  let own: FullDeal;
  beforeAll(async () => {
    own = await addFullDeal(service);
    await allowAll(service, own);
    const snapshot_id = await insert(service, 'accounting_snapshots', {
      deal_id: own.deal,
      snapshot_type: 'full',
      status: 'completed',
      completed_at: moment(1),
      source_name: 'Books.xlsx',
    });
    for (const [period_label, period_start_date, period_end_date] of [
      ['2026-01', '2026-01-01', '2026-01-31'],
      ['FY2025', '2025-01-01', '2025-12-31'],
    ])
      await insert(service, 'pl_periods', {
        deal_id: own.deal,
        snapshot_id,
        period_label,
        period_start_date,
        period_end_date,
        currency: 'USD',
        revenue: '100',
        ebitda: '10',
      });
  });
  const adjust = (role: Role, period_label: string) =>
    asking(service, own.people[role]).ok('svc_qoe_normalization_create', {
      deal_id: own.deal,
      period_label,
      adjustment_category: 'other',
      adjustment_amount: '5',
    });

  test('says that an adjustment of a month is in no year, and which labels are', async () => {
    expect((await adjust('broker', '2026-01'))['hint']).toEqual({
      message:
        'Recorded for this month alone; it is in no year, TTM or multiple. known has the labels that count. The user can remove it at url.',
      known: { period_label: ['FY2025', '2026, 1 month'] },
    });
    expect(await adjust('exclusive buyer', 'FY2025')).not.toHaveProperty('hint');
  });

  test('names when an adjustment was recorded and by whom, to whom may know', async () => {
    for (const role of ['broker', 'exclusive buyer'] as const) {
      const { latest_adjustments, people } = await asking(service, own.people[role]).ok('svc_qoe_get', {
        deal_id: own.deal,
      });
      const by = Object.fromEntries(
        (latest_adjustments as Row[]).map((one) => [one['period_label'], [one['created_by'], one['created_at']]]),
      );
      const at = expect.stringMatching(/^\d{4}-.*Z$/);
      expect(by).toEqual({
        '2026-01': [own.people.broker.userId, at],
        FY2025: [own.people['exclusive buyer'].userId, at],
      });
      expect((people as Row[]).map(({ name }) => name).toSorted()).toEqual(['broker', 'exclusive buyer']);
    }
    await insert(service, 'normalizations', {
      deal_id: own.deal,
      period_label: 'FY2024',
      adjustment_category: 'other',
      adjustment_amount: '1',
      created_by: own.people.outsider.userId,
    });
    const { latest_adjustments: found } = await asking(service, own.people.broker).ok('svc_qoe_get', {
      deal_id: own.deal,
    });
    const unknown = (found as Row[]).find(({ period_label }) => period_label === 'FY2024');
    expect(unknown).toHaveProperty('created_at');
    expect(unknown).not.toHaveProperty('created_by');
  });

  test('says why an upload failed, and what was uploaded', async () => {
    await insert(service, 'accounting_snapshots', {
      deal_id: own.deal,
      snapshot_type: 'full',
      status: 'failed',
      source_name: 'Old.csv',
      failure: 'Row 7 has no date.',
    });
    const { recent_accounting_snapshots: found } = await asking(service, own.people.broker).ok('svc_qoe_get', {
      deal_id: own.deal,
    });
    const uploads = (found as Row[]).map(({ status, source_name, failure }) => ({ status, source_name, failure }));
    expect(uploads).toHaveLength(2);
    expect(uploads).toEqual(
      expect.arrayContaining([
        { status: 'failed', source_name: 'Old.csv', failure: 'Row 7 has no date.' },
        { status: 'completed', source_name: 'Books.xlsx', failure: undefined },
      ]),
    );
  });
});

describe('a refusal names the next step', () => {
  test('for an id of no finding or source that the user can see, in the same words whatever it is', async () => {
    const own = await addFullDeal(service);
    await allow(service, own.people.broker, ['svc_findings_comment', 'svc_financing_source_update_status'], [own.deal]);
    const finding = { category: 'c', title: 'T', severity: 'minor', status: 'open' };
    const hidden = await insert(service, 'findings', {
      deal_id: scene.deal,
      participant_id: scene.participants.broker,
      ...finding,
    });
    const comment = (finding_id: string) =>
      asking(service, own.people.broker).refused('svc_findings_comment', { finding_id, body: 'Hello.' });
    const missing = await comment(crypto.randomUUID());
    expect(missing).toMatchObject({ error: 'permission_denied', reason: 'missing_deal_opt_in' });
    expect(missing['message']).toMatch(
      / Or the id is not that of a record that the user can see: ids come from svc_findings_list\.$/,
    );
    expect(await comment(hidden)).toEqual(missing);
    const moved = await asking(service, own.people.broker).refused('svc_financing_source_update_status', {
      source_id: crypto.randomUUID(),
      commitment_status: 'applied',
    });
    expect(moved['message']).toMatch(/: ids come from svc_financing_stack_get\.$/);
    const named = await asking(service, own.people.broker).refused('svc_findings_comment', {
      finding_id: 'x',
      body: 'y',
    });
    expect(named).toMatchObject({ details: [{ path: 'finding_id', allowed: 'a UUID, from svc_findings_list' }] });
  });

  test('and opens no page for a record whose deal is not known', async () => {
    const own = await addFullDeal(service);
    await allow(service, own.people.broker, ['svc_findings_comment', 'svc_findings_create'], []);
    const call = async (name: string, input: Row) => {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'A host', version: '1' },
        [CLIENT_CAPABILITIES_META_KEY]: { elicitation: { url: {} } },
      };
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input, _meta: meta } };
      const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': name };
      const { body, text } = await send(service, own.people.broker.token, message, { headers });
      if (!body?.result) throw new Error(text);
      return body.result as unknown as Row;
    };
    const finding = { deal_id: own.deal, category: 'c', title: 'T', severity: 'minor' };
    expect(await call('svc_findings_create', finding)).toMatchObject({ resultType: 'input_required' });
    expect(await call('svc_findings_comment', { finding_id: crypto.randomUUID(), body: 'x' })).toMatchObject({
      isError: true,
      structuredContent: { reason: 'missing_deal_opt_in' },
    });
  });

  test('where a tool is not turned on, where an id is no UUID, and where a source cannot move any more', async () => {
    const own = await addFullDeal(service);
    const { broker } = own.people;
    const moving = 'svc_financing_source_update_status';
    const source_id = await insert(service, 'financing_sources', {
      deal_id: own.deal,
      participant_id: own.participants.broker,
      source_type: 'other',
      source_name: 'Bank',
      commitment_amount: 1,
      currency: 'USD',
      commitment_status: 'withdrawn',
    });
    const move = () => asking(service, broker).refused(moving, { source_id, commitment_status: 'applied' });
    expect((await move())['message']).toMatch(
      /The user can allow it at resolve_url, and on the deal's page, if writing is not allowed on this deal yet; calling again/,
    );
    await allow(service, broker, [moving], [own.deal]);
    const { error, message } = await move();
    expect([error, message]).toEqual([
      'submission_rejected',
      expect.stringMatching(/From withdrawn it can go to: nothing\. Add a new source instead\.$/),
    ]);
    expect(await asking(service, broker).refused('svc_deals_get', { deal_id: 'Corner bakery' })).toMatchObject({
      details: [{ path: 'deal_id', allowed: 'a UUID, from svc_deals_list' }],
    });
  });
});

test('a new source of financing says whose side it belongs to', async () => {
  const own = await addFullDeal(service);
  await allowAll(service, own);
  const source = { source_type: 'other', source_name: 'Bank', commitment_amount: 1 };
  for (const role of ['exclusive buyer', "exclusive buyer's advisor"] as const) {
    const made = await asking(service, own.people[role]).ok('svc_financing_source_create', {
      deal_id: own.deal,
      ...source,
    });
    const { userId } = own.people['exclusive buyer'];
    expect(made).toMatchObject({ side_user_id: userId, people: [{ user_id: userId, name: 'exclusive buyer' }] });
  }
});
