/** What every call leaves behind: an audit record and a log line, without confidential content. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { asking } from './ask.ts';
import { addFullDeal, addToken, allow, send, type FullDeal } from './scene.ts';

let service: TestService;
let scene: FullDeal;

beforeAll(async () => {
  service = await openService();
  scene = await addFullDeal(service);
});
afterAll(() => service.close());

interface AuditRecord {
  action: string;
  outcome: string;
  deal_id: string | null;
  subject_id: string | null;
  brokerage_id: string | null;
  user_id: string | null;
  client_id: string | null;
  key_id: string | null;
  address: string | null;
  request_id: string | null;
  details: Record<string, unknown>;
}

const recordsOf = (requestId: string) =>
  service.sql<AuditRecord>(
    `select action, outcome, deal_id, subject_id, brokerage_id, user_id, client_id, key_id, host(address) as address, request_id, details
     from audit_records where request_id = $1`,
    [requestId],
  );

let requests = 0;
async function call(token: string, name: string, input: Record<string, unknown>): Promise<string> {
  requests += 1;
  const requestId = `audited-${requests}`;
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } };
  await send(service, token, message, { headers: { 'X-Request-Id': requestId } });
  return requestId;
}

const lineOf = (requestId: string) =>
  service.log
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .find((line) => line['requestId'] === requestId && line['msg'] === 'tool call');

test('every outcome of a call leaves an audit record with person, client, tool, subject, address and outcome', async () => {
  const { broker } = scene.people;
  await allow(service, broker, ['svc_qoe_normalization_create', 'svc_questions_create'], [scene.deal]);
  const reader = await addToken(service, broker.userId, { clientId: broker.clientId, scopes: ['mcp:read'] });
  const amount = { period_label: 'FY', adjustment_category: 'other', adjustment_amount: '1' };
  const deal_id = scene.deal;
  const nowhere = crypto.randomUUID();
  const finding_id = crypto.randomUUID();
  const expected: [
    token: string,
    name: string,
    input: Record<string, unknown>,
    outcome: string,
    deal: string | null,
    subject?: string,
  ][] = [
    [broker.token, 'svc_deals_list', {}, 'ok', null],
    [broker.token, 'svc_deals_get', { deal_id }, 'ok', deal_id],
    [broker.token, 'svc_deals_get', { deal_id: nowhere }, 'ok', null, nowhere],
    [broker.token, 'svc_deals_get', { deal_id: deal_id.toUpperCase(), extra: 1 }, 'validation_error', deal_id],
    [broker.token, 'svc_deals_get', { deal_id: 'nonsense' }, 'validation_error', null],
    [broker.token, 'svc_findings_get', { finding_id }, 'feature_not_available', null, finding_id],
    [broker.token, 'svc_qoe_normalization_create', { deal_id, ...amount }, 'ok', deal_id],
    [reader.token, 'svc_qoe_normalization_create', { deal_id, ...amount }, 'permission_denied', deal_id],
    [
      broker.token,
      'svc_questions_create',
      { deal_id, category: 'tax', question_text: 'Q' },
      'submission_rejected',
      deal_id,
    ],
  ];
  for (const [token, name, input, outcome, deal, subject = null] of expected) {
    const requestId = await call(token, name, input);
    const records = await recordsOf(requestId);
    expect(records.filter(({ action }) => action.startsWith('tool:'))).toEqual([
      {
        action: `tool:${name}`,
        outcome,
        deal_id: deal,
        subject_id: subject,
        brokerage_id: deal === deal_id ? scene.brokerage : null,
        user_id: broker.userId,
        client_id: broker.clientId,
        key_id: null,
        address: '127.0.0.1',
        request_id: requestId,
        details: {},
      },
    ]);
    // A change has a record of its own, the same as a change on a page.
    const written = name === 'svc_qoe_normalization_create' && outcome === 'ok';
    expect(records.filter(({ action }) => !action.startsWith('tool:'))).toEqual(
      written
        ? [
            {
              action: 'qoe.normalization.add',
              outcome: 'done',
              deal_id,
              subject_id: expect.any(String),
              brokerage_id: scene.brokerage,
              user_id: broker.userId,
              client_id: broker.clientId,
              key_id: null,
              address: '127.0.0.1',
              request_id: requestId,
              details: {},
            },
          ]
        : [],
    );
    const line = {
      requestId,
      tool: name,
      outcome,
      ms: expect.any(Number),
      level: 'info',
      time: expect.any(String),
      msg: 'tool call',
    };
    expect(lineOf(requestId)).toEqual(line);
  }
  const other = scene.people['other buyer'];
  await allow(service, other, ['svc_qoe_normalization_create'], [deal_id]);
  const denied = await call(other.token, 'svc_qoe_normalization_create', { deal_id, ...amount });
  expect(await recordsOf(denied)).toMatchObject([{ outcome: 'rls_denied', user_id: other.userId }]);
});

test('a call on a deal invisible to the caller is not in the audit trail of its brokerage', async () => {
  const own = await addFullDeal(service);
  const { outsider, 'other buyer': removed } = own.people;
  await service.sql(`update participants set status = 'removed' where id = $1`, [own.participants['other buyer']]);
  const deal_id = own.deal;
  const question = { deal_id, category: 'tax', question_text: 'Is there a lease?' };
  const calls: [name: string, input: Record<string, unknown>][] = [
    ['svc_deals_get', { deal_id }],
    ['svc_offers_list', { deal_id }],
    ['svc_documents_list', { deal_id }],
    ['svc_documents_list', { deal_id, limit: 'all' }],
    ['svc_questions_create', question],
  ];
  for (const { token, userId } of [removed, outsider]) {
    for (const [name, input] of calls) {
      const records = await recordsOf(await call(token, name, input));
      const expected = { deal_id: null, brokerage_id: null, subject_id: deal_id, user_id: userId };
      expect([name, records]).toEqual([name, [expect.objectContaining(expected)]]);
    }
  }
});

test('a call refused for a missing second factor is told to no other brokerage than the one that requires it', async () => {
  const own = await addFullDeal(service);
  const requiring = await addFullDeal(service);
  const { token, userId } = own.people['exclusive buyer'];
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'staff')`, [
    requiring.brokerage,
    userId,
  ]);
  await service.sql('update brokerages set requires_second_factor = true where id = $1', [requiring.brokerage]);
  const amount = { period_label: 'FY', adjustment_category: 'other', adjustment_amount: '1' };
  for (const [name, input, subject_id, brokerage_id] of [
    ['svc_deals_get', { deal_id: own.deal }, own.deal, null],
    ['svc_qoe_normalization_create', { deal_id: own.deal, ...amount }, own.deal, null],
    ['svc_deals_get', { deal_id: requiring.deal }, requiring.deal, requiring.brokerage],
    ['svc_deals_list', {}, null, null],
  ] as const) {
    const refused = {
      action: `tool:${name}`,
      outcome: 'second_factor_required',
      deal_id: null,
      subject_id,
      brokerage_id,
      user_id: userId,
    };
    expect(await recordsOf(await call(token, name, input))).toEqual([expect.objectContaining(refused)]);
  }
});

test('every call of an array has its own audit record', async () => {
  const message = (id: number, name: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: { deal_id: scene.deal } },
  });
  const headers = { 'X-Request-Id': 'audited-array' };
  await send(service, scene.people.broker.token, [message(1, 'svc_deals_get'), message(2, 'svc_offers_list')], {
    headers,
  });
  expect((await recordsOf('audited-array')).map(({ action }) => action).toSorted()).toEqual([
    'tool:svc_deals_get',
    'tool:svc_offers_list',
  ]);
});

test('messages that call no tool and calls with a revoked token leave no audit record', async () => {
  const headers = { 'X-Request-Id': 'no-call' };
  await send(service, scene.people.broker.token, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { headers });
  await send(
    service,
    scene.people.broker.token,
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'svc_none' } },
    { headers },
  );
  expect(await recordsOf('no-call')).toEqual([]);

  for (const [name, input] of [
    ['svc_deals_get', { deal_id: scene.deal }],
    ['svc_deals_get', {}],
    ['svc_findings_list', {}],
    ['svc_questions_create', { deal_id: scene.deal, category: 'tax', question_text: 'Q' }],
  ] as const) {
    const { token, familyId } = await addToken(service, scene.people.seller.userId);
    await asking(service, { token }).ok('svc_deals_get', { deal_id: scene.deal });
    await service.sql('update vault.token_families set revoked_at = $2 where id = $1', [familyId, service.clock.now()]);
    const requestId = await call(token, name, input);
    expect(await recordsOf(requestId)).toEqual([]);
    expect(lineOf(requestId)).toMatchObject({ outcome: 'invalid_token' });
  }
});

test('neither the audit trail nor the log contains a token, a question or an amount', async () => {
  const buyer = scene.people['exclusive buyer'];
  await allow(service, buyer, ['svc_qoe_normalization_create', 'svc_questions_create'], [scene.deal]);
  const secretText = 'Is the owner about to divorce?';
  const amount = '987654321.1234';
  await call(buyer.token, 'svc_questions_create', {
    deal_id: scene.deal,
    category: 'other',
    question_text: secretText,
  });
  await call(buyer.token, 'svc_questions_create', {
    deal_id: scene.deal,
    category: secretText,
    question_text: secretText,
  });
  const adjustment = {
    deal_id: scene.deal,
    period_label: 'FY',
    adjustment_category: 'other',
    adjustment_amount: amount,
    rationale: secretText,
  };
  await call(buyer.token, 'svc_qoe_normalization_create', adjustment);
  await call(buyer.token, 'svc_qoe_normalization_create', { ...adjustment, adjustment_amount: `${amount}9` });
  const [trail] = await service.sql<{ text: string }>(
    'select string_agg(r::text, chr(10)) as text from audit_records r',
  );
  for (const text of [trail?.text ?? '', service.log.join('')]) {
    expect(text.length).toBeGreaterThan(0);
    for (const secret of [buyer.token, buyer.token.slice(4), secretText, amount]) expect(text).not.toContain(secret);
  }
});

test('a call that loads uncached books leaves a single audit record, with its final outcome', async () => {
  const own = await addFullDeal(service);
  const { token } = own.people.broker;
  const outcomes = async () => {
    const records = await recordsOf(await call(token, 'svc_offers_list', { deal_id: own.deal }));
    return records.map(({ outcome }) => outcome);
  };
  // Only the transaction that reads the books calls this function.
  await service.sql('alter function app.books_in_sight(uuid, integer, integer) rename to books_gone');
  try {
    expect(await outcomes()).toEqual(['internal_error']);
  } finally {
    await service.sql('alter function app.books_gone(uuid, integer, integer) rename to books_in_sight');
  }
  // The books are read, then cached, then changed.
  expect([await outcomes(), await outcomes()]).toEqual([['ok'], ['ok']]);
  await service.sql(`update deals set currency = 'EUR' where id = $1`, [own.deal]);
  expect([await outcomes(), await outcomes()]).toEqual([['ok'], ['ok']]);
});

test('an internal error is reported in fixed words with the request id, and details are only in the log', async () => {
  await service.sql('alter table public.offers rename column payload to payload_gone');
  try {
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'svc_offers_list', arguments: { deal_id: scene.deal } },
    };
    const { status, body, text } = await send(service, scene.people.broker.token, message, {
      headers: { 'X-Request-Id': 'broken-1' },
    });
    expect([status, body?.result.isError]).toEqual([200, true]);
    expect(body?.result.structuredContent).toEqual({
      error: 'internal_error',
      message:
        'Something went wrong on our side, and nothing was changed. Try again once; if it fails again, tell the user the request id broken-1, under which the operator finds it in the log.',
    });
    expect(text).not.toMatch(/payload|column|offers_|postgres/i);
    expect(await recordsOf('broken-1')).toMatchObject([{ outcome: 'internal_error' }]);
    expect(service.log.some((line) => line.includes('broken-1') && line.includes('payload'))).toBe(true);
  } finally {
    await service.sql('alter table public.offers rename column payload_gone to payload');
  }
});
