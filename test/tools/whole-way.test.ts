/** From an address and a client_id to every tool, with third-party clients and a person in a real Chromium. */

import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalog } from '../../server/tools/catalog/index.ts';
import { openBrowser } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { check } from './ask.ts';
import type { Peer } from './peers.ts';
import { Keeper, openLoopback, Wire, ways, type Loopback } from './whole-way.ts';

const minutes = (count: number) => count * 60_000;
const normalize = 'svc_qoe_normalization_create';
const askQuestion = 'svc_questions_create';

let service: TestService;
let browser: Browser;
let loopback: Loopback;

beforeAll(async () => {
  service = await openService({ demo: true });
  browser = await openBrowser();
  loopback = await openLoopback();
  // The demo's clients all use one fixed port; this test uses a free one.
  await service.sql('update connected_clients set redirect_uris = array_append(redirect_uris, $1)', [
    loopback.redirectUri,
  ]);
});
afterAll(async () => {
  await browser?.close();
  loopback?.close();
  await service?.close();
});

/** A valid input for each tool. */
function inputOf(tool: string): Record<string, unknown> {
  const deal_id = service.demo.deals.with_everything;
  if (tool === 'svc_deals_list') return {};
  if (tool === askQuestion) return { deal_id, category: 'tax', question_text: 'Which years are open?' };
  if (tool !== normalize) return { deal_id };
  return { deal_id, period_label: 'FY2025', adjustment_category: 'one_time', adjustment_amount: '-12.50' };
}

/** The buyer signs in if necessary, and allows what the client requests, or reading alone. */
function consenting(context: BrowserContext, { writing = true } = {}) {
  return async (url: URL): Promise<URLSearchParams> => {
    const page = await context.newPage();
    await page.goto(url.href);
    if (new URL(page.url()).pathname === '/sign-in') {
      await page.fill('input[name=email]', service.demo.people.buyer.email);
      await page.fill('input[name=password]', service.demo.people.buyer.password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    }
    if (!writing) await page.getByRole('checkbox', { name: /Write in your name/ }).uncheck();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${loopback.redirectUri}?**`);
    await page.close();
    return loopback.last();
  };
}

describe.each(Object.entries(ways))('%s', (_name, way) => {
  let context: BrowserContext;
  let keeper: Keeper;
  let wire: Wire;
  let peer: Peer;
  const open: Peer[] = [];

  beforeAll(async () => {
    context = await browser.newContext();
  });
  afterAll(async () => {
    for (const one of open) await one.close();
    await context.close();
  });

  async function goes(options: { writing?: boolean } = {}) {
    const { client_id } = service.demo.people.buyer;
    const own = { keeper: new Keeper(client_id, loopback.redirectUri), wire: new Wire() };
    const connected = await way.go(`${service.mcpUrl}/api/mcp`, own.keeper, own.wire, consenting(context, options));
    open.push(connected);
    return { ...own, peer: connected };
  }
  const called = async (by: Peer, tool: string, input = inputOf(tool)) => {
    const answer = await by.call(tool, input);
    check(tool, answer);
    return answer;
  };
  const refused = async (by: Peer, tool: string) => {
    const { isError, structuredContent } = await called(by, tool);
    expect(isError).toBe(true);
    return structuredContent;
  };
  const families = () =>
    service.sql('select id from vault.token_families where revoked_at is not null') as Promise<unknown[]>;

  test('gets from the bare address through sign-in and consent to the list of tools', async () => {
    ({ keeper, wire, peer } = await goes());
    const lines = wire.exchanged.map(({ line }) => line);
    const first = (line: string) => lines.indexOf(line);
    const [challenged, resource, server, token] = [
      'POST /api/mcp 401',
      'GET /.well-known/oauth-protected-resource/api/mcp 200',
      'GET /.well-known/oauth-authorization-server 200',
      'POST /api/mcp/token 200',
    ].map(first) as [number, number, number, number];
    expect([challenged, resource, server, token]).toEqual([0, 1, 2, 3]);
    expect(lines.slice(4).filter((line) => !/ 20[02]$/.test(line) && line !== 'GET /api/mcp 405')).toEqual([]);
    expect(keeper.sentTo?.searchParams.get('scope')).toBe('mcp:read mcp:write');
    expect(keeper.sentTo?.searchParams.get('code_challenge_method')).toBe('S256');
    expect(keeper.tokens()).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'mcp:read mcp:write' });
    expect(peer.version).toBe(way.version);
    expect(await peer.list()).toEqual(catalog.map((tool) => tool.name));
  });

  test('calls every tool', async () => {
    for (const { name, feature } of catalog) {
      const { isError, structuredContent } = await called(peer, name);
      if (feature) expect(structuredContent).toMatchObject({ error: 'feature_not_available' });
      else expect([name, isError ?? false, structuredContent]).toEqual([name, false, expect.anything()]);
    }
  });

  test.each([normalize, askQuestion])('gets the missing permission named for %s', async (tool) => {
    const { user_id, client_id } = service.demo.people.buyer;
    const of = [user_id, client_id, tool];
    await service.sql('delete from tool_grants where user_id = $1 and client_id = $2 and tool = $3', of);
    expect(await refused(peer, tool)).toMatchObject({ error: 'permission_denied', reason: 'missing_tool_grant' });
    await service.sql('insert into tool_grants (user_id, client_id, tool) values ($1, $2, $3)', of);

    const on = [user_id, service.demo.deals.with_everything];
    await service.sql('delete from deal_opt_ins where user_id = $1 and deal_id = $2', on);
    expect(await refused(peer, tool)).toMatchObject({ error: 'permission_denied', reason: 'missing_deal_opt_in' });
    await service.sql('insert into deal_opt_ins (user_id, deal_id) values ($1, $2)', on);
    expect((await called(peer, tool)).isError ?? false).toBe(false);
  });

  test('reads but cannot write if the person unticked writing at consent', async () => {
    const reader = await goes({ writing: false });
    expect(reader.keeper.tokens()?.scope).toBe('mcp:read');
    expect((await called(reader.peer, 'svc_deals_get')).isError ?? false).toBe(false);
    for (const tool of [normalize, askQuestion])
      expect(await refused(reader.peer, tool)).toMatchObject({
        error: 'permission_denied',
        reason: 'missing_scope',
        required_scope: 'mcp:write',
      });
  });

  test('refreshes an expired token by itself', async () => {
    const before = keeper.tokens();
    service.clock.advance(minutes(61));
    expect((await called(peer, 'svc_deals_get')).isError ?? false).toBe(false);
    expect(keeper.given).toHaveLength(2);
    expect(keeper.tokens()).toMatchObject({ expires_in: 3600, scope: 'mcp:read mcp:write' });
    expect(keeper.tokens()?.access_token).not.toBe(before?.access_token);
    expect(keeper.tokens()?.refresh_token).not.toBe(before?.refresh_token);
  });

  test('five calls that refresh an expired token at once all succeed', async () => {
    const presented = keeper.tokens()?.refresh_token;
    service.clock.advance(minutes(61));
    const [seen, given] = [wire.exchanged.length, keeper.given.length];
    wire.gather(5);
    const answers = await Promise.all(Array.from({ length: 5 }, () => called(peer, 'svc_deals_get')));
    expect(answers.map(({ isError }) => isError ?? false)).toEqual(Array(5).fill(false));

    const refreshes = wire.exchanged.slice(seen).filter(({ form }) => form !== null);
    expect(refreshes.map(({ line }) => line)).toEqual(Array(5).fill('POST /api/mcp/token 200'));
    expect(refreshes.map(({ form }) => form?.get('refresh_token'))).toEqual(Array(5).fill(presented));
    const successors = keeper.given.slice(given).map((tokens) => tokens.refresh_token);
    expect([successors.length, new Set(successors).size]).toEqual([5, 1]);

    expect(await families()).toEqual([]);
    expect((await called(peer, 'svc_deals_get')).isError ?? false).toBe(false);
    service.clock.advance(minutes(61));
    expect((await called(peer, 'svc_deals_get')).isError ?? false).toBe(false);
  });
});
