/** The tool server as the protected resource of the tokens, called over HTTP as clients do. */

import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { digestOf } from '../../server/domain/clients/tokens.ts';
import { openService, type TestService } from '../harness.ts';
import { addBrokerage, addClient, addPerson, connect, post, redeem, type Grant, type Person } from './scene.ts';

let service: TestService;
let bo: Person;
let brokerage: string;
let deal: string;
let foreignDeal: string;
let clientId: string;
let grant: Grant;
let reading: Grant;

beforeAll(async () => {
  service = await openService();
  brokerage = await addBrokerage(service, 'Harbor');
  bo = await addPerson(service, 'Bo', { brokerage, role: 'admin' });
  const other = await addBrokerage(service, 'Elsewhere');
  const addDeal = async (organization: string, title: string) =>
    (
      await service.sql<{ id: string }>('insert into deals (organization_id, title) values ($1, $2) returning id', [
        organization,
        title,
      ])
    )[0]?.id ?? '';
  deal = await addDeal(brokerage, 'Bakery');
  foreignDeal = await addDeal(other, 'Secret brewery');
  clientId = await addClient(service, bo);
  grant = await connect(service, bo, clientId);
  reading = await connect(service, bo, clientId, ['mcp:read']);
});
afterAll(() => service?.close());
beforeEach(() => service.clock.advance(60_000));

const call = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});

/** Posts to the tool server; the body defaults to a call that lists deals. */
function ask(
  headers: Record<string, string>,
  { path = '/api/mcp', body = call('svc_deals_list', {}) as unknown } = {},
): Promise<Response> {
  return fetch(service.origin + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      'mcp-protocol-version': '2025-06-18',
      ...headers,
    },
    body: JSON.stringify(body),
  });
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** The structured content of a tool's answer. */
async function answered(response: Response): Promise<Record<string, unknown>> {
  expect(response.status).toBe(200);
  const message = (await response.json()) as { result?: { structuredContent?: Record<string, unknown> } };
  return message.result?.structuredContent ?? {};
}

const challenge = (response: Response): string => response.headers.get('www-authenticate') ?? '';

describe('authentication of the tool server', () => {
  test.each(['/api/mcp', '/mcp'])(
    '93. a call to %s without a token gets 401 with the metadata URL and scopes, without an error',
    async (path) => {
      const response = await ask({}, { path });
      expect(response.status).toBe(401);
      expect(challenge(response)).toBe(
        `Bearer resource_metadata="${service.config.baseUrl}/.well-known/oauth-protected-resource${path}", scope="mcp:read mcp:write"`,
      );
      const url = /resource_metadata="([^"]+)"/.exec(challenge(response))?.[1] ?? '';
      expect(((await (await fetch(url)).json()) as { resource: string }).resource).toBe(service.config.baseUrl + path);
    },
  );

  test('94. an unknown, malformed, expired or revoked token gets 401 invalid_token', async () => {
    const revoked = await connect(service, bo, clientId);
    await service.sql('update vault.access_tokens set revoked_at = app.now() where digest = $1', [
      digestOf(revoked.access),
    ]);
    const expired = await connect(service, bo, clientId);
    await service.sql('update vault.access_tokens set expires_at = app.now() where digest = $1', [
      digestOf(expired.access),
    ]);
    for (const token of ['garbage', `dka_${'A'.repeat(43)}`, 'a.b.c', revoked.access, expired.access]) {
      const response = await ask(bearer(token));
      expect([response.status, challenge(response)]).toEqual([401, expect.stringContaining('error="invalid_token"')]);
    }
  });

  test('95. a token in the query is ignored', async () => {
    const response = await ask({}, { path: `/api/mcp?access_token=${grant.access}` });
    expect([response.status, challenge(response).includes('error=')]).toEqual([401, false]);
  });

  test.each(['Bearer', 'bearer', 'BEARER'])('96. the scheme is case-insensitive: %s', async (scheme) => {
    expect((await ask({ authorization: `${scheme} ${grant.access}` })).status).toBe(200);
  });

  test('87. a refresh token is rejected', async () => {
    expect((await ask(bearer(grant.refresh))).status).toBe(401);
  });

  test('98. API keys and sessions are rejected, and the REST API rejects access tokens', async () => {
    const { token, digest, lastFour } = mintApiKey('live');
    await service.sql(`select app.issue_api_key($1, $2, 'key', 'live', '{contacts:read}', null, null, $3, $4)`, [
      brokerage,
      bo.id,
      digest,
      lastFour,
    ]);
    expect((await fetch(`${service.origin}/api/v1/contacts`, { headers: bearer(token) })).status).toBe(200);
    expect((await ask(bearer(token))).status).toBe(401);
    expect((await ask({ cookie: bo.cookie })).status).toBe(401);
    expect((await ask(bearer(bo.session))).status).toBe(401);
    expect((await fetch(`${service.origin}/api/v1/contacts`, { headers: bearer(grant.access) })).status).toBe(401);
  });

  test('99. a token for another resource is rejected', async () => {
    const [other, family] = [`dka_${randomBytes(32).toString('base64url')}`, randomBytes(16).toString('hex')];
    await service.sql(
      `insert into vault.token_families (id, user_id, client_id, scopes, resource, consented_at, ends_at)
       values ($1::uuid, $2, $3, '{mcp:read}', 'https://other.example/api/mcp', app.now(), app.now() + interval '1 day')`,
      [family, bo.id, clientId],
    );
    await service.sql(
      `insert into vault.access_tokens (digest, family_id, scopes, expires_at) values ($1, $2::uuid, '{mcp:read}', app.now() + interval '1 hour')`,
      [createHash('sha256').update(other).digest(), family],
    );
    expect((await ask(bearer(other))).status).toBe(401);
    await service.sql('update vault.token_families set resource = $1 where id = $2::uuid', [
      `${service.config.baseUrl}/api/mcp`,
      family,
    ]);
    expect((await ask(bearer(other))).status).toBe(200);
  });

  test('100. an access token expires after 3600 seconds', async () => {
    const own = await connect(service, bo, clientId);
    service.clock.advance(3_590_000);
    expect((await ask(bearer(own.access))).status).toBe(200);
    service.clock.advance(11_000);
    expect((await ask(bearer(own.access))).status).toBe(401);
    service.clock.advance(-3_601_000);
  });
});

describe('permissions of the tool server', () => {
  test('97, 49. a write tool without mcp:write returns permission_denied with the required scope', async () => {
    const body = call('svc_questions_create', { deal_id: deal, category: 'financials', question_text: 'Why?' });
    const denied = await answered(await ask(bearer(reading.access), { body }));
    expect(denied).toMatchObject({
      error: 'permission_denied',
      reason: 'missing_scope',
      required_scope: 'mcp:write',
      tool: 'svc_questions_create',
    });
    const next = await answered(await ask(bearer(grant.access), { body }));
    expect(next).toMatchObject({ error: 'permission_denied', reason: 'missing_tool_grant' });
  });

  test('101. a reduced role or ended membership takes effect with the next call', async () => {
    const person = await addPerson(service, 'Amy', { brokerage, role: 'admin' });
    const own = await connect(service, person, await addClient(service, person));
    const deals = async () => (await answered(await ask(bearer(own.access))))['deals'] as { id: string }[];
    expect((await deals()).map(({ id }) => id)).toEqual([deal]);
    await service.sql(`update members set role = 'staff' where user_id = $1`, [person.id]);
    expect(await deals()).toEqual([]);
    await service.sql(`update members set role = 'admin' where user_id = $1`, [person.id]);
    expect(await deals()).toHaveLength(1);
    await service.sql(`update members set status = 'removed' where user_id = $1`, [person.id]);
    expect(await deals()).toEqual([]);
  });

  test('102. deals of another brokerage are hidden, also when their ids are known', async () => {
    const list = JSON.stringify(await answered(await ask(bearer(grant.access))));
    expect(list).toContain('Bakery');
    expect(list).not.toContain('Secret brewery');
    const text = async (dealId: string) =>
      (await (await ask(bearer(grant.access), { body: call('svc_deals_get', { deal_id: dealId }) })).text()).replaceAll(
        dealId,
        'ID',
      );
    expect(await text(foreignDeal)).toBe(await text('01900000-0000-7000-8000-000000000000'));
    expect(await text(foreignDeal)).not.toContain('Secret brewery');
  });

  test("tokens are rejected from the next call after a replay, a revocation or the client's deletion", async () => {
    const own = await addClient(service, bo);
    const status = async ({ access }: Grant) => (await ask(bearer(access))).status;
    const [replayed, returned, deleted] = [
      await connect(service, bo, own),
      await connect(service, bo, own),
      await connect(service, bo, own),
    ];
    for (const each of [replayed, returned, deleted]) expect(await status(each)).toBe(200);
    await redeem(service, replayed);
    await post(service, '/api/mcp/revoke', { client_id: own, token: returned.refresh });
    expect([await status(replayed), await status(returned), await status(deleted)]).toEqual([401, 401, 200]);
    await service.sql('update connected_clients set deleted_at = app.now() where id = $1', [own]);
    expect(await status(deleted)).toBe(401);
  });
});
