/**
 * Fields beside the specified records of an answer, the length of answers, and writing only once however often a call
 * is sent.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalog, writingTools } from '../../server/tools/catalog/index.ts';
import { openService, type TestService } from '../harness.ts';
import { signInAs } from '../web/person.ts';
import { asking, check, rowsOf } from './ask.ts';
import { leastInput } from './inputs.ts';
import {
  addFullDeal,
  addPerson,
  addToken,
  allow,
  allowAll,
  everyTool,
  insert,
  insertAll,
  roles,
  send,
  type Access,
  type FullDeal,
  type Role,
  type ToolAnswer,
} from './scene.ts';
import { tokensIn } from './tokens.ts';

type Row = Record<string, unknown>;

let service: TestService;
let scene: FullDeal;
const as = (role: Role) => asking(service, scene.people[role]);
const deal = () => ({ deal_id: scene.deal });
const reading = catalog.filter(({ scope }) => scope === 'mcp:read').map(({ name }) => name);

beforeAll(async () => {
  service = await openService({ nodes: 2, config: everyTool });
  scene = await addFullDeal(service);
  await allowAll(service, scene);
});
afterAll(() => service.close());

describe('the people and caller fields', () => {
  let finding: string;
  /** The fields in which records hold the id of a person. */
  const mentions = [
    'user_id',
    'exclusive_buyer_user_id',
    'buyer_user_id',
    'owner_user_id',
    'asked_by',
    'created_by',
    'changed_by',
  ];

  beforeAll(async () => {
    for (const who of ['exclusive buyer', 'other buyer'] as const)
      await insert(service, 'offers', {
        deal_id: scene.deal,
        participant_id: scene.participants[who],
        buyer_user_id: scene.people[who].userId,
        revision_number: 1,
        is_current: true,
        payload: JSON.stringify({ owner_person: ['x', 'y', 'z'], user_id: 'mine' }),
      });
    for (const who of ['exclusive buyer', 'other buyer'] as const)
      await insert(service, 'questions', {
        deal_id: scene.deal,
        category: 'tax',
        question_text: 'Which years are open?',
        asked_by: scene.people[who].userId,
        participant_id: scene.participants[who],
        status: 'with_seller',
      });
    await insert(service, 'closing_conditions', {
      deal_id: scene.deal,
      name: 'Lease',
      status: 'open',
      owner_user_id: scene.people['exclusive buyer'].userId,
    });
    const owner_user_id = scene.people['exclusive buyer'].userId;
    const found = { category: 'tax', title: 'Late', severity: 'major', owner_user_id };
    const { id } = await as('exclusive buyer').ok('svc_findings_create', { ...deal(), ...found });
    finding = String(id);
    await as('broker').ok('svc_findings_comment', { finding_id: finding, body: 'Asked.' });
    await as('seller').ok('svc_findings_update_status', { finding_id: finding, status: 'accepted' });
    const source = { source_type: 'sba_7a', source_name: 'Bank', commitment_amount: 5 };
    await as('exclusive buyer').ok('svc_financing_source_create', { ...deal(), ...source });
  });

  function mentioned(value: unknown): string[] {
    if (Array.isArray(value)) return value.flatMap(mentioned);
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([name, one]) => {
      if (name === 'payload' || name === 'people' || name === 'caller') return [];
      return mentions.includes(name) ? (one === null ? [] : [String(one)]) : mentioned(one);
    });
  }

  test.each(roles)(
    'name to the %s every person whose id is in the result, and only participants visible to them',
    async (role) => {
      const { participants } = await as(role).ok('svc_deals_get', deal());
      const known = new Set((participants as Row[]).map(({ user_id }) => user_id));
      let named = 0;
      for (const tool of reading) {
        const input = leastInput(tool, { deal_id: scene.deal, finding_id: finding });
        const answer = await as(role).ok(tool, input);
        const people = (answer['people'] ?? []) as { user_id: string; name: string; role: string }[];
        expect([tool, people.map(({ user_id }) => user_id).toSorted()]).toEqual([
          tool,
          [...new Set(mentioned(answer))].toSorted(),
        ]);
        for (const person of people) {
          const who = roles.find((one) => scene.people[one].userId === person.user_id);
          expect([tool, person.name, known.has(person.user_id)]).toEqual([tool, who, true]);
          expect(who).toContain(person.role);
          named += 1;
        }
      }
      expect(named > 0).toBe(known.size > 0);
    },
  );

  test('contain the calling person with their role in the brokerage or on the deal', async () => {
    const { broker, admin, 'other buyer': buyer } = scene.people;
    for (const [who, inBrokerage, onDeal] of [
      [broker, 'broker', 'broker'],
      [admin, 'admin', 'admin'],
      [buyer, 'participant', 'buyer'],
    ] as const) {
      const caller = { user_id: who.userId, name: roles.find((role) => scene.people[role] === who) };
      const ask = asking(service, who);
      expect(await ask.ok('svc_deals_list')).toMatchObject({ caller: { ...caller, role: inBrokerage } });
      expect(await ask.ok('svc_deals_get', deal())).toMatchObject({ caller: { ...caller, role: onDeal } });
    }
  });
});

describe('filters', () => {
  beforeAll(async () => {
    await insert(service, 'qoe_checklist', {
      ...deal(),
      category: 'Revenue',
      title: 'Cut-off',
      status: 'completed',
      position: 1,
    });
    for (const table of ['documents', 'production_documents'])
      await insert(service, table, {
        deal_id: scene.deal,
        filename: 'Lease.pdf',
        category: `Leases of ${table}`,
        confidentiality: 'selected_buyer_only',
        size_bytes: 1,
        media_type: 'application/pdf',
        storage_key: crypto.randomUUID(),
        ...(table === 'documents' ? {} : { diligence_request: 'All' }),
      });
  });

  test.each<[string, string, string, string[]]>([
    [
      'svc_deals_list',
      'state',
      'DILIGENCE',
      ['draft', 'listed', 'under_offer', 'exclusivity', 'diligence', 'closing', 'closed', 'withdrawn'],
    ],
    ['svc_qoe_get', 'category', 'rEVENUE', ['Revenue']],
    ['svc_findings_list', 'category', 'TAX', ['tax']],
    [
      'svc_documents_list',
      'category',
      'LEASES OF DOCUMENTS',
      ['Leases of documents', 'Leases of production_documents'],
    ],
  ])(
    '%s compares %s case-insensitively, and a hint lists the known values when none matches',
    async (tool, filter, value, known) => {
      const input = tool === 'svc_deals_list' ? {} : deal();
      const ask = (given: string) => as('broker').ok(tool, { ...input, [filter]: given });
      const found = await ask(value);
      expect(rowsOf(tool, found).length).toBeGreaterThan(0);
      expect(found).not.toHaveProperty('hint');
      const unknown = await ask('no such thing');
      expect(Object.values(unknown)[0]).toEqual([]);
      expect(unknown['hint']).toEqual({ message: expect.stringContaining('known'), known: { [filter]: known } });
    },
  );

  test('enum values are case-insensitive in tools that read, and case-sensitive in tools that write', async () => {
    expect(
      await as('broker').rows('svc_findings_list', { ...deal(), severity: 'MAJOR', status: 'Accepted' }),
    ).toHaveLength(1);
    const written = { ...deal(), category: 'tax', title: 'Late', severity: 'MAJOR' };
    expect(await as('broker').refused('svc_findings_create', written)).toMatchObject({ error: 'validation_error' });
  });

  test('a brokerage is matched by slug or id in any case, and the hint lists slugs', async () => {
    for (const brokerage_id of [scene.slug.toUpperCase(), scene.brokerage.toUpperCase()]) {
      expect(await as('broker').rows('svc_deals_list', { brokerage_id })).toHaveLength(1);
      expect(await as('broker').ok('svc_deals_list', { brokerage_id, state: 'closed' })).toEqual({ deals: [] });
    }
    const both = await as('broker').ok('svc_deals_list', { brokerage_id: 'nobody', state: 'sold' });
    expect(both['hint']).toMatchObject({ known: { brokerage_id: [scene.slug], state: expect.any(Array) } });
  });

  test('give no hint for an existing value, however many others there are', async () => {
    const own = await addFullDeal(service);
    const broker = asking(service, own.people.broker);
    const names = Array.from({ length: 51 }, (_, at) => `category ${String(at).padStart(2, '0')}`);
    const last = { deal_id: own.deal, category: 'Category 50' };
    await insertAll(
      service,
      'findings',
      names.map((category) => ({
        id: crypto.randomUUID(),
        deal_id: own.deal,
        participant_id: own.participants.broker,
        category,
        title: 'Late',
        severity: 'minor',
        status: 'open',
        created_at: service.clock.now(),
        updated_at: service.clock.now(),
      })),
    );
    expect(await broker.ok('svc_findings_list', { ...last, status: 'resolved' })).toEqual({ findings: [] });
    await insertAll(
      service,
      'documents',
      names.map((category) => ({
        id: crypto.randomUUID(),
        deal_id: own.deal,
        filename: 'Lease.pdf',
        category,
        confidentiality: 'public',
        size_bytes: 1,
        media_type: 'application/pdf',
        storage_key: crypto.randomUUID(),
        uploaded_at: service.clock.now(),
      })),
    );
    const closed = { ...last, confidentiality_level: 'selected_buyer_only' };
    expect(await broker.ok('svc_documents_list', closed)).toEqual({ documents: [] });

    const admin = await addToken(service, await addPerson(service, 'Admin of many'));
    let brokerage_id = '';
    for (const at of names.keys()) {
      brokerage_id = await insert(service, 'brokerages', { slug: `many-${String(at).padStart(2, '0')}`, name: 'Many' });
      await insert(service, 'members', { brokerage_id, user_id: admin.userId, role: 'admin' });
    }
    for (const named of ['Many-50', brokerage_id])
      expect(await asking(service, admin).ok('svc_deals_list', { brokerage_id: named, state: 'closed' })).toEqual({
        deals: [],
      });
  });

  test('give no hint about records invisible to the caller or about a hidden deal', async () => {
    const category = 'no such thing';
    for (const tool of ['svc_qoe_get', 'svc_documents_list', 'svc_findings_list']) {
      const hidden = await as('outsider').ok(tool, { ...deal(), category });
      expect(hidden).toEqual(await as('outsider').ok(tool, { deal_id: crypto.randomUUID(), category }));
      expect(hidden).not.toHaveProperty('hint');
      expect(await as('new buyer').ok(tool, { ...deal(), category })).not.toHaveProperty('hint.known');
    }
    const { hint } = await as('broker').ok('svc_questions_list', { ...deal(), status: 'open' });
    expect(hint).toMatchObject({ known: { status: expect.arrayContaining(['pending_broker_review', 'withdrawn']) } });
  });

  test('null equals an omitted optional input, and is rejected for a required one', async () => {
    expect(await as('broker').ok('svc_deals_list', { state: null, brokerage_id: null })).toEqual(
      await as('broker').ok('svc_deals_list'),
    );
    const finding = {
      ...deal(),
      category: 'hr',
      title: 'Overtime',
      severity: 'minor',
      description: null,
      owner_user_id: null,
    };
    await as('exclusive buyer').ok('svc_findings_create', finding);
    expect(await as('broker').refused('svc_findings_list', { deal_id: null })).toMatchObject({
      details: [{ path: 'deal_id' }],
    });
  });
});

describe('compact results', () => {
  let own: FullDeal;
  const amounts = [
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
  ];

  /** Monthly rows of an upload, back from September 2026, with amounts to the cent. */
  const months = (snapshot_id: string, count: number): Row[] =>
    Array.from({ length: count }, (_, back) => {
      const first = new Date(Date.UTC(2026, 8 - back, 1)).toISOString().slice(0, 10);
      return {
        id: crypto.randomUUID(),
        deal_id: own.deal,
        snapshot_id,
        period_label: first.slice(0, 7),
        period_start_date: first,
        period_end_date: new Date(Date.UTC(2026, 9 - back, 0)).toISOString().slice(0, 10),
        currency: 'USD',
        ...Object.fromEntries(
          amounts.map((name, at) => [
            name,
            ((100_000_00 + ((back * 7919 + at * 104_729) % 800_000_00)) / 100).toFixed(2),
          ]),
        ),
      };
    });
  const addSnapshot = (at: number) =>
    insert(service, 'accounting_snapshots', {
      deal_id: own.deal,
      snapshot_type: 'full',
      status: 'completed',
      completed_at: new Date(Date.UTC(2026, 8, 1, 0, at)).toISOString(),
    });
  const call = async (tool: string): Promise<ToolAnswer> => {
    const { body } = await send(service, own.people.broker.token, {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: tool, arguments: { deal_id: own.deal } },
    });
    check(tool, body!.result);
    return body!.result;
  };
  const plain = (rows: Row[]) =>
    rows.map(({ id: _id, deal_id: _deal, ...row }) => ({
      ...row,
      ...Object.fromEntries(amounts.map((name) => [name, String(row[name]).replace(/\.?0+$/, '')])),
    }));

  beforeAll(async () => {
    own = await addFullDeal(service);
  });

  test('36 months of profit and loss take at most 2,500 tokens, 500 rows at most 35,000, without loss', async () => {
    const kept = months(await addSnapshot(1), 36);
    await insertAll(service, 'pl_periods', kept);
    const some = await call('svc_qoe_pl_periods');
    const { summary, ...rows } = some.structuredContent;
    expect(tokensIn(JSON.stringify(rows))).toBeLessThanOrEqual(2_500);
    // These figures contradict each other in every month: two contradictions of each kind are named, with the total
    // number.
    expect(summary).toMatchObject({ contradictions: { length: 4 }, contradictions_in_all: 72 });
    expect(tokensIn(some.content[0]!.text)).toBeLessThanOrEqual(2_900);
    expect(tokensIn(JSON.stringify(some.structuredContent))).toBeLessThanOrEqual(2_900);
    expect(rowsOf('svc_qoe_pl_periods', some.structuredContent)).toEqual(plain(kept));
    // Also with explanations of the maximum length.
    const broker = await signInAs(service, own.people.broker.userId);
    const { contradictions } = (await broker.ask(`/deals/${own.deal}/qoe/computed`)).body;
    const why = 'The accountant booked the prepaid rent of the second half of the year in one month. '
      .repeat(24)
      .slice(0, 2000);
    const explain = async (its: readonly { key: string; figures: string }[]) => {
      for (const { key, figures } of its)
        await insert(service, 'contradiction_answers', {
          deal_id: own.deal,
          contradiction: key,
          figures,
          status: 'explained',
          why,
        });
    };
    const [first, ...others]: { key: string; figures: string; kind: string }[] = contradictions.items;
    // With one of a kind still open, its explained ones come after the open ones of the other kind.
    await explain(others.filter(({ kind }) => kind === first?.kind));
    const { contradictions: named } = (await call('svc_qoe_pl_periods')).structuredContent['summary'] as {
      contradictions: string[];
    };
    expect(named.slice(0, 3).join(' ')).not.toContain('Explained:');
    await explain([...(first ? [first] : []), ...others.filter(({ kind }) => kind !== first?.kind)]);
    const answered = await call('svc_qoe_pl_periods');
    expect(answered.structuredContent['summary']).toMatchObject({
      contradictions: Array.from({ length: 2 }, () => expect.stringContaining(' Explained: “The accountant booked')),
      contradictions_in_all: 72,
    });
    expect(tokensIn(JSON.stringify(answered.structuredContent))).toBeLessThanOrEqual(2_900);
    await service.sql('delete from contradiction_answers where deal_id = $1', [own.deal]);
    for (const [at, count] of [
      [2, 200],
      [3, 300],
    ] as const)
      await insertAll(service, 'pl_periods', months(await addSnapshot(at), count));
    const all = await call('svc_qoe_pl_periods');
    expect(all.structuredContent['periods']).toHaveLength(500);
    expect(tokensIn(all.content[0]!.text)).toBeLessThanOrEqual(35_000);
  });

  test('periods state an end and label only if they are no plain month; columns without values are omitted', async () => {
    own = await addFullDeal(service);
    const snapshot_id = await addSnapshot(4);
    const of = (period_label: string, period_start_date: string, period_end_date: string, currency = 'USD') => ({
      id: crypto.randomUUID(),
      deal_id: own.deal,
      snapshot_id,
      period_label,
      period_start_date,
      period_end_date,
      currency,
      revenue: '120.5000',
      ebitda: period_label === 'FY2024' ? null : '-0.5',
    });
    await insertAll(service, 'pl_periods', [
      of('2025-03', '2025-03-01', '2025-03-31'),
      of('Feb', '2025-02-01', '2025-02-28'),
      of('2025-01', '2025-01-01', '2025-01-31', 'EUR'),
      of('FY2024', '2024-01-01', '2024-12-31'),
    ]);
    const { structuredContent } = await call('svc_qoe_pl_periods');
    expect(structuredContent).toEqual({
      snapshots: [
        { snapshot_id, currency: 'USD', completed_at: '2026-09-01T00:04:00.000Z' },
        { snapshot_id, currency: 'EUR', completed_at: '2026-09-01T00:04:00.000Z' },
      ],
      columns: ['revenue', 'ebitda'],
      periods: [
        { period_start_date: '2025-03-01', amounts: ['120.5', '-0.5'] },
        { period_start_date: '2025-02-01', period_label: 'Feb', amounts: ['120.5', '-0.5'] },
        { period_start_date: '2025-01-01', snapshot: 1, amounts: ['120.5', '-0.5'] },
        {
          period_start_date: '2024-01-01',
          period_end_date: '2024-12-31',
          period_label: 'FY2024',
          amounts: ['120.5', null],
        },
      ],
      summary: {
        currency: 'USD',
        columns: [
          'period',
          'period_start_date',
          'period_end_date',
          'revenue',
          'gross_margin',
          'ebitda',
          'ebitda_margin',
          'adjusted_ebitda',
          'sde',
        ],
        earnings: [
          ['FY2024', '2024-01-01', '2024-12-31', '120.5', null, null, null, null, null],
          ['2025, 2 months', '2025-02-01', '2025-03-31', '241', null, '-1', '-0.0041', '-1', null],
        ],
        left_out: ['Left out because they are in another currency than USD: 1 row in EUR.'],
        contradictions: [
          '2025-01 is in EUR, the others in USD: revenue of 120.50 EUR is in no total.',
          '2025-02 and 2025-03 are equal to the cent in every line, with revenue of 120.50.',
        ],
      },
      url: expect.any(String),
    });
  });

  test('values shared by all customers appear once', async () => {
    const period = { period_start_date: '2026-01-01', period_end_date: '2026-12-31' };
    const snapshot_id = await addSnapshot(5);
    const customer = (customer_name: string, revenue_total: string, currency = 'USD') => ({
      id: crypto.randomUUID(),
      deal_id: own.deal,
      snapshot_id,
      customer_name,
      ...period,
      currency,
      revenue_total,
    });
    await insertAll(service, 'customer_revenues', [customer('A', '75'), customer('B', '25.00')]);
    const { structuredContent: told } = await call('svc_qoe_customer_concentration');
    const row = (
      customer_name: string,
      ...[revenue_total, revenue_share, cumulative_share, rank]: [string, string, string, number]
    ) => ({
      id: expect.any(String),
      customer_name,
      revenue_total,
      revenue_share,
      cumulative_share,
      rank,
    });
    expect(told).toEqual({
      snapshot_id,
      ...period,
      currency: 'USD',
      customers: [row('A', '75', '0.75', '0.75', 1), row('B', '25', '0.25', '1', 2)],
      summary: { customers_in_all: 2, total: '100', half_of_it_from_largest: 1, hhi: '6250' },
      url: expect.any(String),
    });
    await insertAll(service, 'customer_revenues', [customer('C', '1', 'EUR')]);
    const mixed = (await call('svc_qoe_customer_concentration')).structuredContent;
    expect([mixed['currency'], (mixed['customers'] as Row[]).map(({ currency }) => currency)]).toEqual([
      undefined,
      ['USD', 'USD', 'EUR'],
    ]);
  });

  test('conditions have an overdue flag, and offers an expired flag', async () => {
    const now = service.clock.now().getTime();
    const day = (ahead: number) => new Date(now + ahead * 86_400_000).toISOString();
    for (const [name, status, ahead] of [
      ['late', 'open', -9],
      ['due', 'open', 9],
      ['done', 'satisfied', -9],
    ] as const)
      await insert(service, 'closing_conditions', {
        deal_id: own.deal,
        name,
        status,
        deadline: day(ahead).slice(0, 10),
      });
    const conditions = await asking(service, own.people.broker).rows<Row>('svc_closing_conditions_list', {
      deal_id: own.deal,
    });
    expect(Object.fromEntries(conditions.map(({ name, overdue }) => [name, overdue]))).toEqual({
      late: true,
      due: false,
      done: false,
    });
    const ends = [day(-1), day(1), 'soon', null];
    for (const [at, expires_at] of ends.entries())
      await insert(service, 'offers', {
        deal_id: own.deal,
        participant_id: own.participants['other buyer'],
        buyer_user_id: own.people['other buyer'].userId,
        revision_number: at + 1,
        is_current: at === 3,
        payload: JSON.stringify({ expires_at }),
      });
    const offers = await asking(service, own.people.broker).rows<Row>('svc_offers_list', { deal_id: own.deal });
    const byRevision = offers.toSorted((a, b) => Number(a['revision_number']) - Number(b['revision_number']));
    expect(byRevision.map(({ expired }) => expired)).toEqual([true, false, false, false]);
  });
});

describe('an idempotency key in _meta', () => {
  const meta = 'com.dealkeep/idempotency-key';
  const tool = 'svc_qoe_normalization_create';
  const input = (more: Row = {}) => ({
    ...deal(),
    period_label: 'TTM',
    adjustment_category: 'one_time',
    adjustment_amount: '10.50',
    ...more,
  });
  async function call(access: Pick<Access, 'token'>, key: unknown, given: Row = input(), name = tool, node = 0) {
    const params = { name, arguments: given, _meta: { [meta]: key } };
    const { body } = await send(service.nodes[node]!, access.token, {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params,
    });
    check(name, body!.result);
    return body!.result;
  }
  const stored = async (rationale: string) =>
    (await service.sql('select id from normalizations where rationale = $1', [rationale])).length;

  test('makes a repeated call return the first result and write nothing more, even if written differently', async () => {
    const { broker } = scene.people;
    const first = await call(broker, 'k1', input({ rationale: 'once' }));
    expect(first.isError).toBeUndefined();
    expect(first['_meta']).toBeUndefined();
    const { deal_id, ...rest } = input({ rationale: 'once' });
    const again = await call(broker, 'k1', { ...rest, deal_id: deal_id.toUpperCase() });
    expect(again.structuredContent).toEqual(first.structuredContent);
    expect(again['_meta']).toEqual({ 'com.dealkeep/idempotent-replayed': true });
    expect(await stored('once')).toBe(1);
    const outcomes = await service.sql<{ outcome: string }>(
      `select outcome from audit_records where action = $1 and user_id = $2 order by at, id`,
      [`tool:${tool}`, broker.userId],
    );
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['ok', 'repeated']);
  });

  test('is rejected with different input, and when malformed', async () => {
    const { broker } = scene.people;
    await call(broker, 'k2', input({ rationale: 'this' }));
    const other = await call(broker, 'k2', input({ rationale: 'that' }));
    expect(other.structuredContent).toMatchObject({ error: 'validation_error', details: [{ path: `_meta.${meta}` }] });
    expect(await stored('that')).toBe(0);
    for (const key of ['', 'with space', 'é', 'x'.repeat(256), 7, {}])
      expect((await call(broker, key)).structuredContent).toMatchObject({
        error: 'validation_error',
        details: [{ path: `_meta.${meta}` }],
      });
  });

  test('applies per person, client and tool; rejected calls do not use it, and a replay needs the permission', async () => {
    const { broker, seller } = scene.people;
    const rationale = 'apart';
    const second = await addToken(service, broker.userId);
    await allow(service, second, writingTools, []);
    for (const access of [broker, seller, second]) await call(access, 'k3', input({ rationale }));
    expect(await stored(rationale)).toBe(3);
    const finding = { ...deal(), category: 'tax', title: 'Late', severity: 'major' };
    expect((await call(broker, 'k3', finding, 'svc_findings_create')).isError).toBeUndefined();
    expect((await call(broker, 'k4', input({ adjustment_amount: 'x' }))).isError).toBe(true);
    expect((await call(broker, 'k4', input({ rationale: 'mended' }))).isError).toBeUndefined();
    await service.sql('delete from tool_grants where client_id = $1', [second.clientId]);
    expect((await call(second, 'k3', input({ rationale }))).structuredContent).toMatchObject({
      error: 'permission_denied',
    });
  });

  test('makes 50 concurrent calls over two nodes write one row and return one result', async () => {
    const given = input({ rationale: 'at once' });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => call(scene.people.broker, 'k5', given, tool, at % 2)),
    );
    expect(answers.filter(({ isError }) => isError)).toEqual([]);
    expect(new Set(answers.map(({ structuredContent }) => structuredContent['id'])).size).toBe(1);
    expect(answers.filter((answer) => answer['_meta'] === undefined)).toHaveLength(1);
    expect(await stored('at once')).toBe(1);
  });

  test('is valid for 24 hours, and deleted afterwards', async () => {
    const own = await addFullDeal(service);
    const given = { ...input({ rationale: 'daily' }), deal_id: own.deal };
    const token = async (access: Access) => {
      const fresh = await addToken(service, access.userId, { clientId: access.clientId });
      await allow(service, fresh, writingTools, [own.deal]);
      return fresh;
    };
    await call(await token(own.people.broker), 'k6', given);
    service.clock.advance(24 * 3_600_000 - 60_000);
    await call(await token(own.people.broker), 'k6', given);
    expect(await stored('daily')).toBe(1);
    service.clock.advance(120_000);
    await call(await token(own.people.broker), 'k6', given);
    expect(await stored('daily')).toBe(2);
    service.clock.advance(25 * 3_600_000);
    const past = async () =>
      (await service.sql(`select from vault.tool_call_keys where made_at <= app.now() - interval '24 hours'`)).length;
    const before = await past();
    expect(before).toBeGreaterThan(0);
    await call(await token(own.people.broker), 'k7', given);
    expect(await past()).toBe(Math.max(0, before - 5));
    await service.services.database.run({
      name: 'purge_now',
      text: 'select app.purge_idempotency_keys()',
      values: [],
      read: () => null,
    });
    expect(await past()).toBe(0);
    expect(await service.sql('select from vault.tool_call_keys')).toHaveLength(1);
  });
});
