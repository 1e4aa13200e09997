/** Writing tools: what they check before they write, in which order, and what they store. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import type { GateReason } from '../../server/domain/clients/tool-gate.ts';
import { openService, type TestService } from '../harness.ts';
import { asking } from './ask.ts';
import { addFullDeal, addToken, allow, insert, type Access, type FullDeal, type Role } from './scene.ts';

const normalize = 'svc_qoe_normalization_create';
const askQuestion = 'svc_questions_create';

let service: TestService;
let scene: FullDeal;
const as = (role: Role) => asking(service, scene.people[role]);
const adjustment = (more: Record<string, unknown> = {}) => ({
  deal_id: scene.deal,
  period_label: 'FY2025',
  adjustment_category: 'owner_comp',
  adjustment_amount: '120000.50',
  ...more,
});
const question = (more: Record<string, unknown> = {}) => ({
  deal_id: scene.deal,
  category: 'tax',
  question_text: 'Which years are open?',
  ...more,
});
const kept = (table: string) =>
  service.sql<{ count: number }>(`select count(*)::int as count from ${table} where deal_id = $1`, [scene.deal]);

beforeAll(async () => {
  service = await openService({ config: { rateLimits: { ...readConfig({}).rateLimits, tools: 100_000 } } });
});
afterAll(() => service.close());
beforeEach(async () => {
  scene = await addFullDeal(service);
});

/** Lets a role write through its client, and returns the functions that call tools as that role. */
async function writer(role: Role, tools: readonly string[] = [normalize, askQuestion]) {
  await allow(service, scene.people[role], tools, [scene.deal]);
  return as(role);
}

describe('checks before a write', () => {
  const permission = (reason: GateReason, path: string, more: Record<string, unknown> = {}) => ({
    error: 'permission_denied',
    message: expect.stringMatching(
      {
        missing_scope:
          /needs mcp:write\. Nothing was changed\. The user disconnects it, as resolve_url says, then connects it/,
        missing_tool_grant: /Nothing was changed\. The user can allow it at resolve_url/,
        missing_deal_opt_in: /Nothing was changed\. The user sees at resolve_url what is missing and who can allow it/,
      }[reason],
    ),
    reason,
    tool: normalize,
    deal_id: scene.deal,
    ...more,
    resolve_url: `${service.origin}${path}`,
  });

  test('run in this order: scope, input, tool grant, deal opt-in', async () => {
    const { userId, clientId } = scene.people.broker;
    const reader = asking(service, await addToken(service, userId, { clientId, scopes: ['mcp:read'] }));
    const full = as('broker');
    const invalid = adjustment({ period_label: '' });

    expect(await reader.refused(normalize, invalid)).toMatchObject({ reason: 'missing_scope' });
    expect(await full.refused(normalize, invalid)).toMatchObject({ error: 'validation_error' });
    expect(await reader.refused(normalize, adjustment())).toEqual(
      permission('missing_scope', `/settings/clients/${clientId}/tools`, { required_scope: 'mcp:write' }),
    );
    expect(await full.refused(normalize, adjustment())).toEqual(
      permission('missing_tool_grant', `/settings/clients/${clientId}/tools`),
    );
    await allow(service, scene.people.broker, [askQuestion], []);
    expect(await full.refused(normalize, adjustment())).toMatchObject({ reason: 'missing_tool_grant' });
    await allow(service, scene.people.broker, [normalize], []);
    // Both tokens are of the client that has the grant, but the reader's still lacks the scope.
    expect(await reader.refused(normalize, adjustment())).toMatchObject({ reason: 'missing_scope' });
    expect(await full.refused(normalize, adjustment())).toEqual(
      permission('missing_deal_opt_in', `/settings/deals/${scene.deal}/tools`),
    );
    expect(await kept('normalizations')).toEqual([{ count: 0 }]);
    await allow(service, scene.people.broker, [], [scene.deal]);
    expect(await full.ok(normalize, adjustment())).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      url: `${service.config.baseUrl}/deals/${scene.deal}/qoe`,
      hint: { message: expect.stringContaining('counts nowhere'), known: { period_label: [] } },
    });
    expect(await full.refused(normalize, invalid)).toMatchObject({ error: 'validation_error' });
    expect(await kept('normalizations')).toEqual([{ count: 1 }]);
  });

  test('accept a permission only for its own client, deal and person', async () => {
    await writer('broker');
    const otherClient = asking(service, await addToken(service, scene.people.broker.userId));
    expect(await otherClient.refused(normalize, adjustment())).toMatchObject({ reason: 'missing_tool_grant' });
    const otherDeal = await insert(service, 'deals', {
      organization_id: scene.brokerage,
      title: 'Another',
      state: 'listed',
    });
    await insert(service, 'participants', {
      deal_id: otherDeal,
      user_id: scene.people.broker.userId,
      role: 'broker',
      status: 'active',
    });
    expect(await as('broker').refused(normalize, adjustment({ deal_id: otherDeal }))).toMatchObject({
      reason: 'missing_deal_opt_in',
    });
    expect(await as('seller').refused(normalize, adjustment())).toMatchObject({ reason: 'missing_tool_grant' });
  });

  test('accept a permission until its end only', async () => {
    const broker = await writer('broker');
    const soon = new Date(service.clock.now().getTime() + 60_000);
    await service.sql('update tool_grants set expires_at = $2 where user_id = $1', [scene.people.broker.userId, soon]);
    expect(await broker.ok(normalize, adjustment())).toHaveProperty('id');
    service.clock.advance(61_000);
    expect(await broker.refused(normalize, adjustment())).toMatchObject({ reason: 'missing_tool_grant' });
    await service.sql('update tool_grants set expires_at = null where user_id = $1', [scene.people.broker.userId]);
    await service.sql('update deal_opt_ins set expires_at = $2 where user_id = $1', [scene.people.broker.userId, soon]);
    expect(await broker.refused(normalize, adjustment())).toMatchObject({ reason: 'missing_deal_opt_in' });
  });

  test('reject a withdrawn permission with the next call', async () => {
    const broker = await writer('broker');
    expect(await broker.ok(normalize, adjustment())).toHaveProperty('id');
    await service.sql('delete from tool_grants where user_id = $1 and tool = $2', [
      scene.people.broker.userId,
      normalize,
    ]);
    expect(await broker.refused(normalize, adjustment())).toMatchObject({ reason: 'missing_tool_grant' });
    await allow(service, scene.people.broker, [normalize], []);
    await service.sql('delete from deal_opt_ins where user_id = $1', [scene.people.broker.userId]);
    expect(await broker.refused(normalize, adjustment())).toMatchObject({ reason: 'missing_deal_opt_in' });
  });

  test('reject everybody while a broker of the deal has turned writing off', async () => {
    const buyer = await writer('exclusive buyer');
    expect(await buyer.ok(askQuestion, question())).toHaveProperty('id');
    await service.sql('insert into deal_tool_stops (deal_id, stopped_by) values ($1, $2)', [
      scene.deal,
      scene.people.broker.userId,
    ]);
    const stopped = await buyer.refused(askQuestion, question());
    expect(stopped).toMatchObject({
      reason: 'missing_deal_opt_in',
      message: expect.stringMatching(/or a broker of it has shut it off.*who can allow it/),
    });
    expect(stopped['message']).not.toContain('The user can allow it');
    await service.sql('delete from deal_tool_stops where deal_id = $1', [scene.deal]);
    expect(await buyer.ok(askQuestion, question())).toHaveProperty('id');
  });

  test('reject changes to a closed deal with an explanation', async () => {
    for (const state of ['closing', 'closed'])
      await service.sql('update deals set state = $2 where id = $1', [scene.deal, state]);
    const closed = {
      error: 'submission_rejected',
      message:
        'The deal is closed and can no longer be changed. Its records can still be read; calling again will not help.',
    };
    expect(await (await writer('broker')).refused(normalize, adjustment())).toEqual(closed);
    expect(await (await writer('other buyer')).refused(askQuestion, question())).toEqual(closed);
    expect(await kept('normalizations')).toEqual([{ count: 0 }]);
  });

  test('ignore an opt-in on a deal that the person no longer sees', async () => {
    const seller = await writer('seller');
    await service.sql(`update participants set status = 'removed' where id = $1`, [scene.participants.seller]);
    const hidden = await seller.refused(normalize, adjustment());
    const missing = crypto.randomUUID();
    const nowhere = await seller.refused(normalize, adjustment({ deal_id: missing }));
    expect(hidden).toMatchObject({ reason: 'missing_deal_opt_in' });
    expect(JSON.stringify(hidden)).toBe(JSON.stringify(nowhere).replaceAll(missing, scene.deal));
  });
});

describe('svc_questions_create', () => {
  test("submits a question for broker review, for the caller's side", async () => {
    for (const role of ['exclusive buyer', 'other buyer', "exclusive buyer's advisor"] as const) {
      const { id } = await (await writer(role)).ok(askQuestion, question());
      const [row] = await service.sql(
        'select status, asked_by, participant_id, question_text from questions where id = $1',
        [id],
      );
      expect(row).toEqual({
        status: 'pending_broker_review',
        asked_by: scene.people[role].userId,
        participant_id: scene.participants[role === 'other buyer' ? role : 'exclusive buyer'],
        question_text: 'Which years are open?',
      });
    }
  });

  test('rejects a question with a reason', async () => {
    const rejected = (message: string | RegExp) => ({
      error: 'submission_rejected',
      message: expect.stringMatching(message),
    });
    expect(await (await writer('new buyer')).refused(askQuestion, question())).toEqual(
      rejected(
        "There is no active NDA for the buyer's side on this deal. If one waits, the buyer signs it on the deal's NDA page; otherwise ask a broker of the deal to send one.",
      ),
    );
    expect(await (await writer('broker')).refused(askQuestion, question())).toEqual(rejected('asked by the buyer'));
    expect(await (await writer('admin')).refused(askQuestion, question())).toEqual(
      rejected('^The question was not submitted'),
    );
    const buyer = await writer('exclusive buyer');
    await service.sql(`update participants set status = 'removed' where id = $1`, [scene.participants.broker]);
    expect(await buyer.refused(askQuestion, question())).toEqual(rejected('No broker is on this deal'));
    await service.sql(`update ndas set expires_at = $2 where participant_id = $1`, [
      scene.participants['exclusive buyer'],
      new Date(service.clock.now().getTime() - 1000),
    ]);
    expect(await buyer.refused(askQuestion, question())).toEqual(rejected('There is no active NDA'));
    // Once the deal has ended, the refusal no longer asks for an NDA to be signed.
    await service.sql(`update deals set state = 'withdrawn' where id = $1`, [scene.deal]);
    expect(await buyer.refused(askQuestion, question())).toEqual(
      rejected('^The deal is withdrawn and no longer accepts questions'),
    );
    expect(await kept('questions')).toEqual([{ count: 0 }]);
  });

  test('accepts only the categories and lengths of its schema', async () => {
    const buyer = await writer('exclusive buyer');
    for (const question_text of ['x', 'x'.repeat(4000), '😀'.repeat(4000)]) {
      expect(await buyer.ok(askQuestion, question({ question_text }))).toHaveProperty('id');
    }
    for (const wrong of [
      { question_text: '' },
      { question_text: 'x'.repeat(4001) },
      { question_text: '😀'.repeat(4001) },
      { category: 'weather' },
      { category: undefined },
      { urgent: true },
      { deal_id: 'x' },
    ]) {
      expect(await buyer.refused(askQuestion, question(wrong))).toMatchObject({ error: 'validation_error' });
    }
    for (const question_text of ['a\u0000b', 'a\ud83d', '\ude00b'])
      expect(await buyer.refused(askQuestion, question({ question_text }))).toMatchObject({
        error: 'validation_error',
        details: [{ path: 'question_text', message: expect.stringContaining('It contains') }],
      });
  });

  test('rejects a read-only token with permission_denied before it checks the input', async () => {
    const reader = asking(
      service,
      await addToken(service, scene.people['exclusive buyer'].userId, { scopes: ['mcp:read'] }),
    );
    for (const input of [question(), question({ question_text: '' }), question({ deal_id: 'x' }), {}])
      expect(await reader.refused(askQuestion, input)).toMatchObject({
        error: 'permission_denied',
        reason: 'missing_scope',
        required_scope: 'mcp:write',
      });
  });
});

describe('svc_qoe_normalization_create', () => {
  test('stores every digit of an amount', async () => {
    const broker = await writer('broker');
    for (const [amount, stored] of [
      ['120000.50', '120000.50'],
      ['1.50000000', '1.50000000'],
      ['-0.0001', '-0.0001'],
      ['+5', '5'],
      ['.5', '0.5'],
      ['-5.', '-5'],
      ['0', '0'],
      ['0.000', '0.000'],
      ['007.50', '7.50'],
      ['9'.repeat(40), '9'.repeat(40)],
      [`-${'9'.repeat(39)}`, `-${'9'.repeat(39)}`],
      [`0.${'0'.repeat(37)}1`, `0.${'0'.repeat(37)}1`],
      [`.${'7'.repeat(39)}`, `0.${'7'.repeat(39)}`],
      ['12345678901234567890.1234567890123456789', '12345678901234567890.1234567890123456789'],
    ] as const) {
      const { id } = await broker.ok(normalize, adjustment({ adjustment_amount: amount }));
      const [row] = await service.sql(
        'select adjustment_amount::text as amount, created_by from normalizations where id = $1',
        [id],
      );
      expect(row).toEqual({ amount: stored, created_by: scene.people.broker.userId });
    }
  });

  test.each([
    ['1'.repeat(41), 'It has more than 40 characters.'],
    ...[
      '',
      '1e5',
      '1E5',
      'NaN',
      'Infinity',
      '-Infinity',
      ' 5',
      '5 ',
      '1,000',
      '0x10',
      '--5',
      '٣',
      '1_000',
      '$5',
      '+',
      '-',
      '.',
    ].map((amount) => [amount, 'It is not a decimal number.']),
  ])('rejects %j as an amount', async (amount, message) => {
    const refusal = await as('broker').refused(normalize, adjustment({ adjustment_amount: amount }));
    expect(refusal).toMatchObject({
      error: 'validation_error',
      message: expect.stringContaining('Nothing was done'),
      details: [
        {
          path: 'adjustment_amount',
          message,
          allowed: expect.stringContaining('text of 1 to 40 characters with a decimal number'),
        },
      ],
    });
  });

  test('rejects a JSON number as an amount', async () => {
    expect(await as('broker').refused(normalize, adjustment({ adjustment_amount: 5 }))).toMatchObject({
      error: 'validation_error',
    });
  });

  test('reports all input errors at once', async () => {
    const refusal = await as('broker').refused(normalize, {
      deal_id: 'x',
      adjustment_category: 'other',
      adjustment_amount: '1',
      rationale: 'x'.repeat(2001),
      extra: 1,
    });
    expect(refusal['details']).toEqual([
      { path: 'deal_id', message: 'It is not a UUID.', allowed: 'a UUID, from svc_deals_list' },
      { path: 'period_label', message: 'It is missing.', allowed: 'text of 1 to 64 characters' },
      { path: 'rationale', message: 'It has 2001 characters.', allowed: 'text of at most 2000 characters' },
      {
        path: 'extra',
        message: 'There is no such input.',
        allowed: 'left out: the inputs are deal_id, period_label, adjustment_category, adjustment_amount, rationale',
      },
    ]);
  });

  test('rejects a blank label or a blank reason, and trims a label', async () => {
    const broker = await writer('broker');
    for (const [path, allowed] of [
      ['period_label', 'text of 1 to 64 characters'],
      ['rationale', 'text of at most 2000 characters'],
    ] as const)
      expect((await broker.refused(normalize, adjustment({ [path]: ' \n' })))['details']).toEqual([
        { path, message: expect.stringContaining('blank'), allowed },
      ]);
    const { id } = await broker.ok(normalize, adjustment({ period_label: ' FY2025 ' }));
    const [row] = await service.sql('select period_label from normalizations where id = $1', [id]);
    expect(row).toEqual({ period_label: 'FY2025' });
  });

  /** Adds an upload with profit and loss rows, given their labels, first and last days. */
  async function addFigures(...periods: [label: string, first: string, last: string][]): Promise<void> {
    const snapshot_id = await insert(service, 'accounting_snapshots', {
      deal_id: scene.deal,
      snapshot_type: 'full',
      status: 'completed',
    });
    for (const [period_label, period_start_date, period_end_date] of periods)
      await insert(service, 'pl_periods', {
        deal_id: scene.deal,
        snapshot_id,
        period_label,
        period_start_date,
        period_end_date,
        currency: 'USD',
        revenue: '500',
        ebitda: '100',
      });
  }

  test('hints that an adjustment of a period without figures counts nowhere, with the known periods', async () => {
    await addFigures(['FY2025', '2025-01-01', '2025-12-31'], ['2026-01', '2026-01-01', '2026-01-31']);
    const broker = await writer('broker');
    const { hint } = await broker.ok(normalize, adjustment({ period_label: 'FY 2025' }));
    expect(hint).toEqual({
      message: expect.stringContaining('recorded, but counts nowhere until there are figures in USD'),
      known: { period_label: ['FY2025', '2026, 1 month', '2026-01'] },
    });
    expect(await broker.ok(normalize, adjustment({ period_label: 'FY2025' }))).not.toHaveProperty('hint');
    expect(await kept('normalizations')).toEqual([{ count: 2 }]);
  });

  test('is visible in svc_qoe_get to the workspace, with its rationale and whether it counts', async () => {
    const latest = async (role: Role) =>
      (await as(role).ok('svc_qoe_get', { deal_id: scene.deal }))['latest_adjustments'];
    const broker = await writer('broker');
    expect(await latest('broker')).toBeUndefined();
    await addFigures(['FY2025', '2025-01-01', '2025-12-31']);
    const long = `${'x'.repeat(299)}😀`;
    for (let at = 0; at < 51; at += 1) {
      service.clock.advance(1000);
      const rationale = [undefined, 'Paid to a cousin.', long, `${long}!`][at % 4];
      await broker.ok(normalize, adjustment({ period_label: at % 2 ? 'FY2025' : `FY${2000 + at}`, rationale }));
    }
    const expected = Array.from({ length: 50 }, (_, back) => 50 - back).map((at) => ({
      period_label: at % 2 ? 'FY2025' : `FY${2000 + at}`,
      category: 'owner_comp',
      amount: '120000.5',
      ...(at % 4 > 0 && { rationale: ['Paid to a cousin.', long, `${long}…`][(at % 4) - 1] }),
      ...(at % 2 === 0 && { counts: false }),
      created_at: expect.stringMatching(/Z$/),
      created_by: scene.people.broker.userId,
    }));
    for (const role of ['broker', 'seller', 'exclusive buyer', "exclusive buyer's advisor"] as const)
      expect([role, await latest(role)]).toEqual([role, expected]);
    for (const role of ['other buyer', 'new buyer', 'viewer', 'outsider'] as const)
      expect([role, await latest(role)]).toEqual([role, undefined]);
  });

  test('is limited to editors of the workspace; others get rls_denied', async () => {
    for (const role of ['broker', 'seller', 'exclusive buyer'] as const) {
      expect(await (await writer(role)).ok(normalize, adjustment())).toHaveProperty('id');
    }
    for (const role of ["exclusive buyer's advisor", 'other buyer', 'new buyer', 'viewer', 'admin'] as const) {
      expect(await (await writer(role)).refused(normalize, adjustment())).toEqual({
        error: 'rls_denied',
        message: expect.stringContaining('not an editor of the deal’s QoE workspace'),
      });
    }
    await service.sql(`update ndas set status = 'revoked' where participant_id = $1`, [
      scene.participants['exclusive buyer'],
    ]);
    expect(await as('exclusive buyer').refused(normalize, adjustment())).toMatchObject({ error: 'rls_denied' });
    expect(await kept('normalizations')).toEqual([{ count: 3 }]);
  });
});

test('a revoked token writes nothing', async () => {
  const broker: Access = scene.people.broker;
  await writer('broker');
  expect(await as('broker').ok(normalize, adjustment())).toHaveProperty('id');
  await service.sql('update vault.token_families set revoked_at = $2 where id = $1', [
    broker.familyId,
    service.clock.now(),
  ]);
  await expect(as('broker').ok(normalize, adjustment())).rejects.toThrow(/401/);
  expect(await kept('normalizations')).toEqual([{ count: 1 }]);
});
