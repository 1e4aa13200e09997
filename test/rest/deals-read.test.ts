/** API keys read of deals, over HTTP, exactly what docs/visibility.md lists for the API key. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import type { KeyScope } from '../../server/domain/clients/key-scopes.ts';
import { publishChanges } from '../../server/domain/events/changes.ts';
import type { Scene } from '../policies/scene.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { prepareRefusals } from './refusals.ts';
import { as, dealScopesOf, issueKey } from './scene.ts';

let web: WebScene;
let scene: Scene;
let ask: ReturnType<typeof as>;
let foreign: ReturnType<typeof as>;
let dealScopes: readonly KeyScope[];

const admin = () => ({ id: scene.brokerage, admin: scene.people['admin']! });
const key = (scopes: readonly KeyScope[]) => issueKey(web.service, admin(), { scopes });

beforeAll(async () => {
  const rateLimits = { ...readConfig({}).rateLimits, rest_ip: 1_000_000 };
  web = await openScene({ config: { rateLimits, features: { findings: true, financing: true } } });
  ({ scene } = web);
  await web.service.sql('update deals set keys_admitted = true where id = $1', [scene.deal]);
  dealScopes = await dealScopesOf(web.service);
  ask = as(await key(dealScopes), web.service.restUrl);
  const [elsewhere] = await web.service.sql<{ id: string; admin: string }>(
    'select brokerage_id as id, user_id as admin from members where brokerage_id <> $1',
    [scene.brokerage],
  );
  await web.service.sql('update deals set keys_admitted = true where organization_id = $1', [elsewhere!.id]);
  foreign = as(await issueKey(web.service, elsewhere!, { scopes: dealScopes }), web.service.restUrl);
});
afterAll(() => web.close());

const reads: readonly (readonly [path: string, scope: KeyScope, absent: string])[] = [
  ['', 'deals:read', 'deal_not_found'],
  ['/participants', 'participants:read', 'deal_not_found'],
  ['/offers', 'offers:read', 'deal_not_found'],
  ['/offers/:offer', 'offers:read', 'offer_not_found'],
  ['/offers/:offer/revisions', 'offers:read', 'offer_not_found'],
  ['/questions', 'questions:read', 'deal_not_found'],
  ['/ndas', 'ndas:read', 'deal_not_found'],
  ['/findings', 'findings:read', 'deal_not_found'],
  ['/financing-sources', 'financing:read', 'deal_not_found'],
  ['/documents', 'documents:read', 'deal_not_found'],
  ['/documents/:document', 'documents:read', 'document_not_found'],
  ['/qoe/checklist', 'qoe:read', 'deal_not_found'],
  ['/qoe/snapshots', 'qoe:read', 'deal_not_found'],
  ['/qoe/periods', 'qoe:read', 'deal_not_found'],
  ['/qoe/customers', 'qoe:read', 'deal_not_found'],
  ['/qoe/normalizations', 'qoe:read', 'deal_not_found'],
  ['/conditions', 'conditions:read', 'deal_not_found'],
];

const filled = (path: string, deal: string): string =>
  `/deals/${deal}${path}`
    .replace(':offer', scene.records["offers/the other buyer's"]!)
    .replace(':document', scene.records['documents/nda_gated']!);

const nothing = '018cc251-0000-7000-8000-000000000000';

describe('a key', () => {
  test.each(reads)('%s: is rejected without the scope %s, whatever the deal', async (path, scope) => {
    const others = as(await key(dealScopes.filter((one) => one !== scope)), web.service.restUrl);
    for (const deal of [scene.deal, nothing, 'x']) {
      const { status, body } = await others('GET', filled(path, deal));
      expect([status, body?.error.code, body?.error.details['required_scope']]).toEqual([
        403,
        'insufficient_scope',
        scope,
      ]);
    }
  });

  test.each(reads)('%s: with only that scope reads a deal that admits keys', async (path, scope) => {
    const { status } = await as(await key([scope]), web.service.restUrl)('GET', filled(path, scene.deal));
    expect(status).toBe(200);
  });

  test.each(reads)(
    '%s: gets the same 404 for a deal that admits no keys, a foreign deal and an unknown id',
    async (path, _scope, absent) => {
      const answers = await Promise.all([
        ask('GET', filled(path, scene.idle)),
        ask('GET', filled(path, scene.records['deals/a deal of another brokerage']!)),
        ask('GET', filled(path, nothing)),
        ask('GET', filled(path, 'no-uuid')),
        foreign('GET', filled(path, scene.deal)),
      ]);
      for (const { status, text, body } of answers) {
        expect([status, body?.error.code]).toEqual([404, absent]);
        expect(text).toBe(answers[0].text);
      }
    },
  );

  test('loses a deal from the next request on once the deal no longer admits keys', async () => {
    const shut = (admitted: boolean) =>
      web.service.sql('update deals set keys_admitted = $2 where id = $1', [scene.deal, admitted]);
    await shut(false);
    const [one, list] = await Promise.all([ask('GET', `/deals/${scene.deal}`), ask('GET', '/deals')]);
    await shut(true);
    expect([one.status, list.body?.data]).toEqual([404, []]);
    expect((await ask('GET', `/deals/${scene.deal}`)).status).toBe(200);
  });

  test('lists only the deals of its brokerage that admit keys', async () => {
    const { body } = await ask('GET', '/deals');
    expect(body?.data.map(({ id }) => id)).toEqual([scene.deal]);
    const elsewhere = await foreign('GET', '/deals');
    expect(elsewhere.body?.data.map(({ id }) => id)).toEqual([scene.records['deals/a deal of another brokerage']]);
    const none = as(await key(dealScopes.filter((one) => one !== 'deals:read')), web.service.restUrl);
    expect((await none('GET', '/deals')).status).toBe(403);
  });
});

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;
const list = (...data: unknown[]) => ({ data, pagination: { hasMore: false, nextCursor: null } });

describe('a key reads exactly', () => {
  test('a deal, by itself and in the list', async () => {
    const deal = {
      id: scene.deal,
      title: 'Corner bakery',
      state: 'diligence',
      organizationId: scene.brokerage,
      industry: null,
      location: null,
      summary: null,
      askingPrice: null,
      currency: 'USD',
      needsNda: true,
      exclusiveBuyerUserId: scene.people['exclusive buyer'],
      exclusivityGrantedAt: time,
      exclusivityExpiresAt: time,
      closedAt: null,
      createdAt: time,
      updatedAt: time,
    };
    const one = await ask('GET', `/deals/${scene.deal}`);
    expect(one.body).toEqual(deal);
    expect((await ask('GET', '/deals')).body).toEqual(list(one.body));
  });

  test('the participants of a deal', async () => {
    const { body } = await ask('GET', `/deals/${scene.deal}/participants`);
    expect(body?.data).toHaveLength(12);
    const of = (name: string) => body?.data.find(({ id }) => id === scene.participants[name]);
    expect(of('seller')).toEqual({
      id: scene.participants['seller'],
      userId: scene.people['seller'],
      name: 'seller',
      email: 'seller@example.test',
      role: 'seller',
      status: 'active',
      side: 'seller',
      advises: null,
      createdAt: time,
      updatedAt: time,
    });
    expect(of("other buyer's advisor")).toMatchObject({
      role: 'advisor',
      side: 'buyer',
      advises: scene.participants['other buyer'],
    });
    // Until an invitation is accepted, `userId` is the participant's id instead of the account's.
    expect(of('invited')).toMatchObject({ userId: scene.participants['invited'], status: 'invited' });
  });

  test('offers and their revisions, with unknown payload properties', async () => {
    await web.service.sql(
      `insert into offers (deal_id, participant_id, buyer_user_id, revision_number, is_current, payload)
       values ($1, $2, $3, 2, false, '{"purchase_price": "1250000.50", "target_close_date": "2027-01-31", "extra_digits": 1.100000000000000000001}')`,
      [scene.deal, scene.participants['other buyer'], scene.people['other buyer']],
    );
    const { body } = await ask('GET', `/deals/${scene.deal}/offers`);
    const nulls = {
      currency: null,
      purchasePrice: null,
      cashAtClose: null,
      sellerNote: null,
      earnout: null,
      rolloverEquity: null,
      financingContingency: null,
      targetCloseDate: null,
      expiresAt: null,
      terms: null,
      other: {},
    };
    const others = {
      id: scene.records["offers/the other buyer's"],
      dealId: scene.deal,
      participantId: scene.participants['other buyer'],
      buyerUserId: scene.people['other buyer'],
      buyerName: 'other buyer',
      revisionNumber: 1,
      isCurrent: true,
      agreed: false,
      submittedAt: time,
      acceptedAt: null,
      declinedAt: null,
      payload: nulls,
    };
    expect(body?.data.find(({ id }) => id === others.id)).toEqual(others);
    expect(body?.data.find(({ id }) => id !== others.id)).toMatchObject({ agreed: true, acceptedAt: time });
    expect((await ask('GET', `/deals/${scene.deal}/offers/${others.id}`)).body).toEqual(others);
    const revisions = await ask('GET', `/deals/${scene.deal}/offers/${others.id}/revisions`);
    expect(revisions.body?.data).toEqual([
      expect.objectContaining({
        revisionNumber: 2,
        payload: {
          ...nulls,
          purchasePrice: '1250000.50',
          targetCloseDate: '2027-01-31',
          other: { extra_digits: expect.anything() },
        },
      }),
      others,
    ]);
    expect(revisions.text).toContain('"extra_digits":1.100000000000000000001');
  });

  test('questions, NDAs, findings, financing sources and closing conditions', async () => {
    const of = async (path: string) => (await ask('GET', `/deals/${scene.deal}${path}`)).body?.data ?? [];
    const questions = await of('/questions');
    expect(questions).toHaveLength(4);
    expect(
      questions.find(({ id }) => id === scene.records["questions/the exclusive buyer's, with the seller"]),
    ).toEqual({
      id: scene.records["questions/the exclusive buyer's, with the seller"],
      dealId: scene.deal,
      category: 'financials',
      status: 'with_seller',
      askedAt: time,
      questionText: 'Why?',
      askedByName: 'exclusive buyer',
      answerText: 'Because of the lease.',
      answeredAt: time,
      distributedResponse: null,
      distributedAt: null,
      rejectionReason: null,
    });
    expect((await of('/questions?status=distributed')).map(({ id }) => id)).toEqual([
      scene.records["questions/the other buyer's, distributed"],
    ]);
    const ndas = await of('/ndas');
    expect(ndas).toHaveLength(2);
    expect(ndas.find(({ id }) => id === scene.records["ndas/the other buyer's"])).toEqual({
      id: scene.records["ndas/the other buyer's"],
      dealId: scene.deal,
      participantId: scene.participants['other buyer'],
      status: 'active',
      sentAt: time,
      signedAt: time,
      expiresAt: null,
      revokedAt: null,
      replacedAt: null,
    });
    const findings = await of('/findings?severity=minor&category=Tax&status=open');
    expect(findings.find(({ id }) => id === scene.records["findings/the exclusive buyer's"])).toEqual({
      id: scene.records["findings/the exclusive buyer's"],
      dealId: scene.deal,
      category: 'tax',
      title: 'Sales tax',
      description: null,
      severity: 'minor',
      status: 'open',
      statusNotes: null,
      ownerUserId: null,
      createdBy: null,
      createdAt: time,
      updatedAt: time,
      commentCount: 1,
    });
    expect(await of('/findings?severity=critical')).toEqual([]);
    expect(await of('/financing-sources')).toEqual([
      {
        id: scene.records["financing_sources/the exclusive buyer's"],
        dealId: scene.deal,
        sourceType: 'sba_7a',
        sourceName: 'First Bank',
        commitmentAmount: '1',
        currency: 'USD',
        commitmentStatus: 'identified',
        createdBy: null,
        createdAt: time,
        updatedAt: time,
      },
    ]);
    expect(await of('/conditions?status=open')).toEqual([
      {
        id: scene.records["closing_conditions/the exclusive buyer's to meet"],
        dealId: scene.deal,
        name: 'Lease assigned',
        status: 'open',
        ownerUserId: scene.people['exclusive buyer'],
        deadline: null,
        overdue: false,
        completedAt: null,
        createdAt: time,
        updatedAt: time,
      },
    ]);
  });

  test('documents of both sources and every confidentiality', async () => {
    const { body } = await ask('GET', `/deals/${scene.deal}/documents`);
    expect(body?.data).toHaveLength(6);
    const produced = {
      id: scene.records['production_documents/nda_gated'],
      dealId: scene.deal,
      source: 'production',
      filename: 'nda_gated.pdf',
      category: 'financials',
      confidentiality: 'nda_gated',
      mediaType: 'application/pdf',
      sizeBytes: 1,
      sha256: null,
      uploadedAt: time,
      diligenceRequest: 'Bank statements',
      uploadedByName: null,
    };
    expect(body?.data.find(({ id }) => id === produced.id)).toEqual(produced);
    expect((await ask('GET', `/deals/${scene.deal}/documents/${produced.id}`)).body).toEqual(produced);
    expect(
      (await ask('GET', `/deals/${scene.deal}/documents?confidentiality=public&category=Financials`)).body?.data,
    ).toHaveLength(2);
    await web.service.sql('update documents set removed_at = app.now() where id = $1', [
      scene.records['documents/public'],
    ]);
    expect((await ask('GET', `/deals/${scene.deal}/documents/${scene.records['documents/public']}`)).status).toBe(404);
  });

  test('the quality-of-earnings books', async () => {
    const { records } = scene;
    const snapshot = records['accounting_snapshots/a snapshot'];
    const of = async (path: string) => (await ask('GET', `/deals/${scene.deal}/qoe${path}`)).body;
    expect(await of('/checklist')).toEqual(
      list({
        id: records['qoe_checklist/a row of the checklist'],
        category: 'revenue',
        title: 'Proof of cash',
        status: 'not_started',
        completedAt: null,
      }),
    );
    expect(await of('/snapshots')).toEqual(
      list({
        id: snapshot,
        snapshotType: 'full',
        status: 'requested',
        sourceName: null,
        requestedAt: time,
        completedAt: null,
        failure: null,
      }),
    );
    const period = {
      snapshotId: snapshot,
      periodStartDate: '2026-01-01',
      periodEndDate: '2026-01-31',
      currency: 'USD',
    };
    expect(await of('/periods?startDate=2026-01-01&endDate=2026-01-31')).toEqual(
      list({
        id: records['pl_periods/a month'],
        periodLabel: '2026-01',
        ...period,
        revenue: '1.0000',
        costOfGoodsSold: null,
        grossProfit: null,
        operatingExpenses: null,
        ownerCompensation: null,
        depreciationAmortization: null,
        interestExpense: null,
        taxExpense: null,
        netIncome: null,
        ebitda: null,
      }),
    );
    expect(await of('/periods?startDate=2026-01-02')).toEqual(list());
    // The scene's snapshot is not completed, so it is read only when it is requested by id.
    expect(await of('/customers')).toEqual(list());
    expect(await of(`/customers?snapshotId=${snapshot}&asOf=2026-01-15`)).toEqual(
      list({
        id: records['customer_revenues/a customer'],
        customerName: 'Diner',
        ...period,
        revenueTotal: '1.0000',
        revenueShare: '1.000000',
        rank: 1,
      }),
    );
    expect(await of('/normalizations')).toEqual(
      list({
        id: records['normalizations/an add-back'],
        dealId: scene.deal,
        periodLabel: 'FY2025',
        adjustmentCategory: 'owner_comp',
        adjustmentAmount: '1',
        currency: 'USD',
        rationale: null,
        createdBy: null,
        createdAt: time,
      }),
    );
  });

  test('no names of people without the scope participants:read', async () => {
    const blind = as(await key(dealScopes.filter((one) => one !== 'participants:read')), web.service.restUrl);
    const of = async (path: string) => (await blind('GET', `/deals/${scene.deal}${path}`)).body?.data ?? [];
    expect(new Set((await of('/offers')).map((one) => (one as { buyerName?: unknown }).buyerName))).toEqual(
      new Set([null]),
    );
    expect(new Set((await of('/questions')).map((one) => (one as { askedByName?: unknown }).askedByName))).toEqual(
      new Set([null]),
    );
    expect(await of('/conditions')).toEqual([expect.objectContaining({ ownerUserId: null })]);
  });
});

describe('events with their records', () => {
  interface EventsRead {
    objectType: string;
    objectId: string;
    data: { id: string } | null;
  }
  const publish = () => expect.poll(async () => (await web.service.database.run(publishChanges())).waits).toBe(false);
  async function eventsFor(scopes: readonly KeyScope[]): Promise<EventsRead[]> {
    const reader = as(await key([...scopes, 'events:read']), web.service.restUrl);
    const found: EventsRead[] = [];
    for (let after = ''; ;) {
      const { status, body } = await reader('GET', `/events?limit=200&expand=data${after}`);
      expect(status).toBe(200);
      found.push(...(body!.data as unknown as EventsRead[]));
      if (!body!.pagination.hasMore) return found;
      after = `&after=${body!.pagination.nextCursor}`;
    }
  }
  test('report a changed name or address of a participant, on deals that they have joined', async () => {
    const { sql } = web.service;
    const buyer = await web.as('other buyer');
    const [part] = await sql<{ id: string }>('select id from participants where deal_id = $1 and user_id = $2', [
      scene.deal,
      scene.people['other buyer'],
    ]);
    const [invited] = await sql<{ user_id: string }>(
      `select user_id from participants where deal_id = $1 and joined_at is null`,
      [scene.deal],
    );
    await publish();
    const reader = as(await key(['participants:read', 'events:read']), web.service.restUrl);
    const begin = (await reader('GET', '/events?after=latest')).body!.pagination.nextCursor;
    const told = async () =>
      (await reader('GET', `/events?expand=data&after=${begin}`)).body!.data as unknown as EventsRead[];
    const name = 'Otto, renamed';
    expect((await buyer.ask('/me', { name }, 'PATCH')).status).toBe(200);
    await sql(`update users set name = 'Known from elsewhere' where id = $1`, [invited!.user_id]);
    await publish();
    expect(await told()).toMatchObject([{ type: 'participant.updated', objectId: part!.id, data: { name } }]);
    const email = 'otto.renamed@example.test';
    await sql('update users set email = $2 where id = $1', [scene.people['other buyer'], email]);
    // Changes nothing that anybody sees, and so causes no event.
    await sql('update users set name = name, suspended_at = null where id = $1', [scene.people['other buyer']]);
    await publish();
    expect(await told()).toMatchObject([{ data: { name } }, { objectId: part!.id, data: { name, email } }]);
  });

  /** For each object type, the path that returns its records. */
  const paths: readonly (readonly [type: string, path: string])[] = [
    ['participant', '/participants'],
    ['nda', '/ndas'],
    ['question', '/questions'],
    ['document', '/documents'],
    ['production_document', '/documents'],
    ['qoe_checklist_item', '/qoe/checklist'],
    ['accounting_snapshot', '/qoe/snapshots'],
    ['normalization', '/qoe/normalizations'],
    ['closing_condition', '/conditions'],
    ['finding', '/findings'],
    ['financing_source', '/financing-sources'],
  ];

  test('contain each record as its own path returns it, with and without participants:read', async () => {
    // The scene was written before anything followed its changes, so these records are changed once more.
    for (const table of ['documents', 'production_documents'])
      await web.service.sql(`update ${table} set category = category || ' ' where deal_id = $1`, [scene.deal]);
    await web.service.sql('update deals set updated_at = updated_at where id = $1', [scene.deal]);
    await publish();
    for (const scopes of [dealScopes, dealScopes.filter((scope) => scope !== 'participants:read')]) {
      const events = await eventsFor(scopes);
      const reader = as(await key(scopes), web.service.restUrl);
      const answered = new Map<string, unknown>();
      for (const [type, path] of paths) {
        if (type === 'participant' && !scopes.includes('participants:read')) continue;
        const { body } = await reader('GET', `/deals/${scene.deal}${path}?limit=200`);
        for (const record of body!.data) answered.set(record.id, record);
      }
      const deal = (await reader('GET', `/deals/${scene.deal}`)).body!;
      answered.set(deal.id, deal);
      const offers = new Set(events.filter((one) => one.objectType === 'offer').map(({ objectId }) => objectId));
      for (const id of offers) answered.set(id, (await reader('GET', `/deals/${scene.deal}/offers/${id}`)).body);
      for (const { objectType, objectId, data } of events)
        expect([objectType, objectId, data]).toEqual([objectType, objectId, answered.get(objectId) ?? null]);
      const types = new Set(events.filter(({ data }) => data !== null).map(({ objectType }) => objectType));
      const expected = ['deal', 'offer', ...paths.map(([type]) => type)];
      expect([...types].toSorted()).toEqual(
        expected.filter((type) => type !== 'participant' || scopes.includes('participants:read')).toSorted(),
      );
    }
  });
});

test('every response to a GET matches the OpenAPI document, and every announced response occurs', async () => {
  const { sql, restUrl } = web.service;
  const { document, limited, away } = await prepareRefusals(web.service, admin());
  const full = await key(dealScopes);
  const none = as(await key(['contacts:read']), restUrl);
  const operations = [['', ''], ...reads.map(([path]) => ['/{dealId}', path] as const)] as const;
  for (const [one, path] of operations) {
    const template = `/deals${one}${path.replace(':offer', '{offerId}').replace(':document', '{documentId}')}`;
    const asked = one === '' ? '/deals' : filled(path, scene.deal);
    const check = (answer: Awaited<ReturnType<typeof ask>>) => document.check(`GET ${template}`, answer);
    const first = await ask('GET', asked);
    check(first);
    const tag = first.headers.get('etag');
    if (tag !== null) check(await ask('GET', asked, undefined, { 'If-None-Match': tag }));
    check(await none('GET', asked));
    check(await as(null, restUrl)('GET', asked));
    check(await limited('GET', asked));
    check(await as(full, away)('GET', asked));
    if (one !== '') check(await ask('GET', filled(path, nothing)));
    if (document.announced(template).includes(`GET ${template} 400`)) check(await ask('GET', `${asked}?limit=0`));
    // A view still finds a renamed table, so the view is renamed, too.
    await sql('alter table deals rename to deals_away; alter view vault.deals_told rename to deals_told_away');
    const back = 'alter table deals_away rename to deals; alter view vault.deals_told_away rename to deals_told';
    check(await ask('GET', asked).finally(() => sql(back)));
  }
  const reading = (operation: string) => operation.startsWith('GET ') && !operation.includes('/content ');
  expect(document.checked('/deals')).toEqual(document.announced('/deals').filter(reading));
});

describe('pages', () => {
  const walk = async (path: string, limit: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let cursor: string | null = null, n = 0; n < 50; n += 1) {
      const { status, body } = await ask(
        'GET',
        `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${cursor ? `&cursor=${cursor}` : ''}`,
      );
      expect(status).toBe(200);
      ids.push(...body!.data.map(({ id }) => id));
      cursor = body!.pagination.nextCursor;
      expect(body!.pagination.hasMore).toBe(cursor !== null);
      if (cursor === null) return ids;
    }
    throw new Error('The list does not end.');
  };

  test('contain each row once, in the order of the whole list', async () => {
    const { sql } = web.service;
    await sql('update accounting_snapshots set status = $2 where deal_id = $1', [scene.deal, 'processing']);
    await sql('update accounting_snapshots set status = $2 where deal_id = $1', [scene.deal, 'completed']);
    await sql(
      `insert into customer_revenues (deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total)
       select $1, $2, 'Customer ' || n, '2026-01-01', '2026-01-31', 'USD', n / 2 from generate_series(1, 7) n`,
      [scene.deal, scene.records['accounting_snapshots/a snapshot']],
    );
    await sql(
      `insert into pl_periods (deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, revenue)
       select $1, $2, n, make_date(2025, n, 1), make_date(2025, n, 28), 'USD', n from generate_series(1, 4) n`,
      [scene.deal, scene.records['accounting_snapshots/a snapshot']],
    );
    await sql(
      `insert into qoe_checklist (deal_id, category, title, position) select $1, 'revenue', 'Row ' || n, n % 3 from generate_series(1, 6) n`,
      [scene.deal],
    );
    for (const path of [
      '/participants',
      '/offers',
      `/offers/${scene.records["offers/the other buyer's"]}/revisions`,
      '/questions',
      '/ndas',
      '/findings',
      '/documents',
      '/qoe/checklist',
      '/qoe/periods',
      '/qoe/customers',
    ]) {
      const whole = await walk(`/deals/${scene.deal}${path}`, 200);
      expect(whole.length, path).toBeGreaterThan(1);
      expect(await walk(`/deals/${scene.deal}${path}`, 1), path).toEqual(whole);
      expect(new Set(whole).size, path).toBe(whole.length);
    }
  });

  test('of offers contain each buyer once, also those who submit again meanwhile', async () => {
    const path = `/deals/${scene.deal}/offers?limit=1`;
    const submitAgain = (buyer: string) =>
      web.service.sql(
        `with earlier as (update offers set is_current = false where deal_id = $1 and buyer_user_id = $2 and is_current returning 1)
         insert into offers (deal_id, participant_id, buyer_user_id, revision_number, submitted_at, payload)
         select $1, $3, $2, (select max(revision_number) from offers where deal_id = $1 and buyer_user_id = $2) + 1,
           app.now() + interval '1 minute', '{}' from earlier`,
        [scene.deal, scene.people[buyer], scene.participants[buyer]],
      );
    await submitAgain('other buyer');
    const [newest, oldest] = ['other buyer', 'exclusive buyer'];
    const first = await ask('GET', path);
    expect(first.body?.data).toMatchObject([{ participantId: scene.participants[newest] }]);
    web.service.clock.advance(120_000);
    await submitAgain(oldest);
    const newer = (await ask('GET', path)).body!.data.at(0) as { submittedAt?: string } | undefined;
    await submitAgain(newest);
    const second = await ask('GET', `${path}&cursor=${first.body?.pagination.nextCursor}`);
    expect(second.body).toMatchObject({
      data: [{ participantId: scene.participants[oldest], submittedAt: newer?.submittedAt, isCurrent: true }],
      pagination: { hasMore: false },
    });
  });

  test('of customers stay in the snapshot and period of the first page', async () => {
    const path = `/deals/${scene.deal}/qoe/customers`;
    const deliver = async (names: readonly string[], month: string) => {
      const period = { periodStartDate: `${month}-01`, periodEndDate: `${month}-28`, currency: 'USD' };
      const customers = names.map((customerName, at) => ({ customerName, ...period, revenueTotal: `${9 - at}` }));
      expect((await ask('POST', `/deals/${scene.deal}/qoe/snapshots`, { customers })).status).toBe(201);
    };
    const names = ({ body }: Awaited<ReturnType<typeof ask>>) =>
      body?.data.map((row) => (row as { customerName?: unknown }).customerName);
    await deliver(['Anvil', 'Birch', 'Cedar'], '2126-01');
    const first = await ask('GET', `${path}?limit=1`);
    expect(names(first)).toEqual(['Anvil']);
    await deliver(['Drum', 'Elm', 'Fir', 'Gate'], '2126-02');
    const second = await ask('GET', `${path}?limit=1&cursor=${first.body?.pagination.nextCursor}`);
    const third = await ask('GET', `${path}?cursor=${second.body?.pagination.nextCursor}`);
    expect([names(second), names(third), third.body?.pagination.hasMore]).toEqual([['Birch'], ['Cedar'], false]);
    expect(names(await ask('GET', path))).toEqual(['Drum', 'Elm', 'Fir', 'Gate']);
  });

  test('of customers are ordered by currency, with shares and ranks per currency', async () => {
    const path = `/deals/${scene.deal}/qoe/customers`;
    const period = { periodStartDate: '2126-03-01', periodEndDate: '2126-03-31' };
    const customers = [
      { customerName: 'Fuji', ...period, currency: 'JPY', revenueTotal: '12000000' },
      { customerName: 'Birch', ...period, currency: 'USD', revenueTotal: '100000' },
      { customerName: 'Anvil', ...period, currency: 'USD', revenueTotal: '900000' },
      { customerName: 'Euler', ...period, currency: 'EUR', revenueTotal: '1' },
    ];
    expect((await ask('POST', `/deals/${scene.deal}/qoe/snapshots`, { customers })).status).toBe(201);
    const { body } = await ask('GET', path);
    // The currency of the profit and loss is USD, so customers in USD come first.
    expect(body?.data).toMatchObject([
      { customerName: 'Anvil', currency: 'USD', revenueShare: '0.900000', rank: 1 },
      { customerName: 'Birch', currency: 'USD', revenueShare: '0.100000', rank: 2 },
      { customerName: 'Euler', currency: 'EUR', revenueShare: '1.000000', rank: 1 },
      { customerName: 'Fuji', currency: 'JPY', revenueShare: '1.000000', rank: 1 },
    ]);
    expect(await walk(path, 1)).toEqual(body?.data.map(({ id }) => id));
  });

  test('a cursor is valid only for its list, its deal and its filters', async () => {
    const first = await ask('GET', `/deals/${scene.deal}/questions?limit=1`);
    const cursor = first.body?.pagination.nextCursor;
    expect((await ask('GET', `/deals/${scene.deal}/questions?cursor=${cursor}`)).status).toBe(200);
    for (const path of [
      `/deals/${scene.deal}/offers?cursor=${cursor}`,
      `/deals/${scene.deal}/questions?status=distributed&cursor=${cursor}`,
      `/deals?cursor=${cursor}`,
      `/deals/${scene.deal}/questions?cursor=${cursor}x`,
      `/deals/${scene.deal}/questions?cursor=`,
    ]) {
      const { status, body } = await ask('GET', path);
      expect([path, status, body?.error.details.faults[0]?.path]).toEqual([path, 400, 'cursor']);
    }
  });

  test('an invalid filter is rejected', async () => {
    for (const [query, name] of [
      ['?limit=0', 'limit'],
      ['?state=open', 'state'],
      ['?state=listed&state=closed', 'state'],
      ['?updatedSince=yesterday', 'updatedSince'],
      ['?updatedSince=0000-01-01T00:00:00Z', 'updatedSince'],
      ['?search=', 'search'],
      ['?search=%20%20', 'search'],
      ['?search=a%20b%20c%20d%20e%20f%20g%20h%20i', 'search'],
      [`?search=${'x'.repeat(201)}`, 'search'],
    ] as const) {
      const { status, body } = await ask('GET', `/deals${query}`);
      expect([query, status, body?.error.details.faults[0]?.path]).toEqual([query, 400, name]);
    }
    const periods = await ask('GET', `/deals/${scene.deal}/qoe/periods?snapshotId=x`);
    expect([periods.status, periods.body?.error.details.faults[0]?.path]).toEqual([400, 'snapshotId']);
  });

  test('deals are listed newest first and filtered by state, search and updatedSince, if they admit keys', async () => {
    const { sql } = web.service;
    const made = await sql<{ id: string }>(
      `insert into deals (organization_id, title, industry, state, keys_admitted, created_at)
       select $1, case n when 3 then 'ΟΔΟΣ' when 4 then 'İshop 4' else 'Shop ' || n end, case when n % 2 = 0 then 'Retail' end, case when n < 3 then 'listed' else 'draft' end, n <> 5,
         app.now() + n * interval '1 second'
       from generate_series(1, 6) n returning id`,
      [scene.brokerage],
    );
    const [one, two, three, four, five, six] = made.map(({ id }) => id);
    expect(await walk('/deals', 2)).toEqual([six, four, three, two, one, scene.deal]);
    expect(await walk('/deals?state=draft', 1)).toEqual([six, four, three]);
    expect(await walk('/deals?state=diligence', 1)).toEqual([scene.deal]);
    expect(await walk('/deals?search=SHOP%20retail', 200)).toEqual([six, four, two]);
    expect(await walk('/deals?search=%25', 200)).toEqual([]);
    expect(await walk(`/deals?search=${encodeURIComponent('ΟΔΟΣ')}`, 200)).toEqual([three]);
    expect(await walk(`/deals?search=${encodeURIComponent('İSHOP')}`, 200)).toEqual([four]);
    const change = async (...ids: (string | undefined)[]) => {
      const changed = await sql<{ at: string }>(
        `update deals set needs_nda = false where id = any ($1) returning to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at`,
        [ids],
      );
      return changed[0]!.at;
    };
    const since = await change(three);
    expect(await walk(`/deals?updatedSince=${since}`, 200)).toEqual([three]);
    expect(await walk(`/deals?updatedSince=${since}&search=${encodeURIComponent('ΟΔΟΣ')}`, 200)).toEqual([three]);
    // A deal also counts as changed when its sale has advanced, and it is listed alike among many changed deals and
    // among few.
    const later = await change(one, five);
    const stage = `insert into deal_stages (deal_id, state, updated_at) values ($1, 'diligence', '2099-01-01')`;
    await sql(stage, [two]);
    expect(await walk(`/deals?updatedSince=${later}`, 1)).toEqual([two, one]);
    expect(await walk(`/deals?updatedSince=${later}&state=diligence`, 1)).toEqual([two]);
    expect(await walk(`/deals?updatedSince=${later}&search=retail`, 1)).toEqual([two]);
    const many = await sql<{ id: string }>(
      `insert into deals (organization_id, title, keys_admitted, created_at, updated_at)
       select $1, 'One of many', true, '2020-01-01'::timestamptz + n * interval '1 second', '2099-01-01' from generate_series(1, 1100) n returning id`,
      [scene.brokerage],
    );
    expect(await walk(`/deals?updatedSince=${later}`, 200)).toEqual([
      two,
      one,
      ...many.map(({ id }) => id).toReversed(),
    ]);
    expect(await walk(`/deals?updatedSince=${later}&search=retail`, 1)).toEqual([two]);
    await sql('delete from deal_stages where deal_id = $1', [two]);
    await sql('delete from deals where id = any ($1)', [[...made, ...many].map(({ id }) => id)]);
  });

  test('a deal whose exclusivity has lapsed is listed again, in the list and by itself', async () => {
    const { sql, clock } = web.service;
    const { id } = (
      await sql<{ id: string }>(
        `insert into deals (organization_id, title, state, keys_admitted) values ($1, 'Lapsed', 'exclusivity', true) returning id`,
        [scene.brokerage],
      )
    )[0]!;
    await sql(
      `with p as (insert into participants (deal_id, user_id, role, status) values ($1, $2, 'buyer', 'active') returning id)
       insert into exclusivities (deal_id, participant_id, expires_at) select $1, id, $3 from p`,
      [id, scene.people['other buyer'], new Date(clock.now().getTime() + 3_600_000)],
    );
    const running = await ask('GET', `/deals/${id}`);
    expect(running.body).toMatchObject({ state: 'exclusivity', exclusiveBuyerUserId: scene.people['other buyer'] });
    clock.advance(7_200_000);
    const [alone, inList] = [await ask('GET', `/deals/${id}`), await ask('GET', '/deals?state=listed')];
    expect(alone.body).toMatchObject({ state: 'listed', exclusiveBuyerUserId: null, exclusivityExpiresAt: null });
    expect(inList.body?.data).toEqual([alone.body]);
  });

  test('extending, releasing or granting exclusivity in diligence counts as a change of the deal', async () => {
    const { sql, clock } = web.service;
    const broker = await web.as('broker');
    const path = `/deals/${scene.deal}/exclusivity`;
    const until = (days: number) => new Date(clock.now().getTime() + days * 86_400_000).toISOString();
    const [part] = await sql<{ id: string }>('select id from participants where deal_id = $1 and user_id = $2', [
      scene.deal,
      scene.people['other buyer'],
    ]);
    const changes = [
      () => broker.ask(path, { expires_at: until(20) }, 'PATCH'),
      () => broker.ask(path, undefined, 'DELETE'),
      () => broker.ask(path, { participant_id: part!.id, expires_at: until(30) }),
    ];
    for (const change of changes) {
      clock.advance(60_000);
      const since = clock.now().toISOString();
      expect(await walk(`/deals?updatedSince=${since}`, 200)).toEqual([]);
      expect((await change()).status).toBe(200);
      expect(await walk(`/deals?updatedSince=${since}`, 200)).toEqual([scene.deal]);
    }
  });
});
