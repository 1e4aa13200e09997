/** The HTTP side of the tool server: paths, methods, tokens, origins and limits, before any tool is called. */

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Ceilings } from '../../server/config/config.ts';
import { mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { mint } from '../../server/domain/clients/tokens.ts';
import { catalog } from '../../server/tools/catalog/index.ts';
import { serverCard } from '../../server/tools/server-card.ts';
import { openService, type TestService } from '../harness.ts';
import { addPerson, addToken, send, type Access } from './scene.ts';

let service: TestService;
let access: Access;

beforeAll(async () => {
  service = await openService();
  access = await addToken(service, await addPerson(service, 'Ann Bell'));
});
afterAll(() => service.close());

const message = (method: string, params: object = {}, id: string | number = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const list = message('tools/list');
const deals = message('tools/call', { name: 'svc_deals_list', arguments: {} });

describe('the endpoint', () => {
  test.each(['/api/mcp', '/api/mcp/', '/mcp', '/mcp/', '/', ''])('%s responds without a redirect', async (path) => {
    const { status, body } = await send(service, access.token, list, { path });
    expect(status).toBe(200);
    expect(body?.result['tools']).toHaveLength(catalog.length);
  });

  test.each(['GET', 'DELETE', 'PUT', 'PATCH'])('%s is 405 with an Allow header', async (method) => {
    const { status, headers, body } = await send(service, access.token, undefined, { method });
    expect([status, headers.get('allow'), body?.error.message]).toEqual([
      405,
      'POST',
      'Use POST: this server has no streams or sessions.',
    ]);
  });

  test('the origin is the tool server to programs, and the home page to a browser', async () => {
    for (const options of [{ method: 'DELETE' }, { method: 'GET', headers: { Accept: 'text/event-stream' } }]) {
      const { status, headers } = await send(service, access.token, undefined, { path: '/', ...options });
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
      expect((await send(service, null, undefined, { path: '/', ...options })).status).toBe(401);
    }
    for (const Accept of ['text/html,application/xhtml+xml', '*/*', 'application/json']) {
      const { headers } = await send(service, null, undefined, { path: '/', method: 'GET', headers: { Accept } });
      expect(headers.get('www-authenticate')).toBeNull();
    }
    const asked = { Origin: 'https://claude.ai', 'Access-Control-Request-Method': 'POST' };
    expect((await send(service, null, undefined, { path: '/', method: 'OPTIONS', headers: asked })).status).toBe(204);
  });

  test('responses are JSON, not cached, and carry the request id', async () => {
    const { headers } = await send(service, access.token, list, { headers: { 'X-Request-Id': 'from-the-client' } });
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-request-id')).toBe('from-the-client');
    expect(headers.get('mcp-session-id')).toBeNull();
  });

  test('a session id of an earlier server is ignored', async () => {
    const headers = { 'Mcp-Session-Id': '4f1d5b7e-0000-4000-8000-000000000000' };
    expect((await send(service, access.token, deals, { headers })).body?.result.structuredContent).toEqual({
      deals: [],
    });
  });
});

describe('tokens', () => {
  const metadata = (path: string) => `${service.origin}/.well-known/oauth-protected-resource${path}`;

  test.each([
    ['/api/mcp', '/api/mcp'],
    ['/api/mcp/', '/api/mcp/'],
    ['/mcp', '/mcp'],
    ['/mcp/', '/mcp/'],
    ['/', ''],
  ])('a missing token at %s is 401 with the metadata URL of that path as it was called', async (path, resource) => {
    const { status, headers, body } = await send(service, null, deals, { path });
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${metadata(resource)}", scope="mcp:read mcp:write"`,
    );
    expect(body).toEqual({ error: 'invalid_token', error_description: expect.stringMatching(/^Send an access token/) });
    const document = await (await fetch(metadata(resource))).json();
    expect(document).toMatchObject({ resource: service.origin + resource });
  });

  test('an invalid token of any kind is 401 with invalid_token', async () => {
    const other = `dka_${'A'.repeat(43)}`;
    for (const token of [
      other,
      'nonsense',
      mintApiKey('live').token,
      access.token.replace('dka_', 'dkr_'),
      `${access.token}A`,
    ]) {
      const { status, headers, body } = await send(service, token, deals);
      expect([status, body]).toEqual([
        401,
        { error: 'invalid_token', error_description: expect.stringMatching(/^[ !#-[\]-~]+$/) },
      ]);
      expect(headers.get('www-authenticate')).toMatch(
        /^Bearer error="invalid_token", error_description="[^"]+", resource_metadata="[^"]+", scope="mcp:read mcp:write"$/,
      );
    }
  });

  test('a token error takes precedence over request errors', async () => {
    const ended = await addToken(service, access.userId);
    expect((await send(service, ended.token, deals)).status).toBe(200);
    await service.sql('update vault.token_families set revoked_at = app.now() where id = $1', [ended.familyId]);
    const wrong: Parameters<typeof send>[3][] = [
      { headers: { Origin: 'https://evil.example' } },
      { method: 'GET' },
      { method: 'DELETE' },
      { headers: { Accept: 'text/html' } },
      { headers: { 'Content-Type': 'text/plain' } },
      { headers: { 'MCP-Protocol-Version': '2020-01-01' } },
    ];
    for (const options of wrong)
      for (const token of [null, 'nonsense', `dka_${'D'.repeat(43)}`, ended.token]) {
        const { status, body } = await send(service, token, options?.method ? undefined : deals, options);
        expect([status, body]).toMatchObject([401, { error: 'invalid_token' }]);
        if (token !== ended.token) continue;
        // The node caches the token again, so that the next invalid request meets a cached token.
        await service.sql('update vault.token_families set revoked_at = null where id = $1', [ended.familyId]);
        expect((await send(service, ended.token, list)).status).toBe(200);
        await service.sql('update vault.token_families set revoked_at = app.now() where id = $1', [ended.familyId]);
      }
    const large = JSON.stringify(message('tools/list', { padding: 'x'.repeat(2_000_000) }));
    expect((await send(service, ended.token, large)).status).toBe(401);
  });

  test('a revoked token does not use up the rate limit of its person', async () => {
    const ended = await addToken(service, access.userId);
    const { token } = await addToken(service, access.userId, { clientId: ended.clientId });
    expect((await send(service, ended.token, deals)).headers.get('x-ratelimit-remaining')).toBe('299');
    await service.sql('update vault.token_families set revoked_at = app.now() where id = $1', [ended.familyId]);
    for (let count = 0; count < 5; count += 1) expect((await send(service, ended.token, deals)).status).toBe(401);
    expect(Number((await send(service, token, deals)).headers.get('x-ratelimit-remaining'))).toBeGreaterThanOrEqual(
      297,
    );
  });

  test('a token in the URL, in a cookie or behind another scheme is ignored', async () => {
    const refused = await Promise.all([
      send(service, null, deals, { path: `/api/mcp?access_token=${access.token}` }),
      send(service, null, deals, { headers: { Cookie: `dealkeep=${access.token.slice(4)}` } }),
      send(service, null, deals, { headers: { Authorization: `Basic ${btoa(`x:${access.token}`)}` } }),
      send(service, null, deals, { headers: { Authorization: access.token } }),
    ]);
    for (const { status, headers } of refused) {
      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).not.toContain('error=');
    }
    expect(service.log.join('')).not.toContain(access.token);
  });

  test('a token in the URL neither spoils a valid one in the header nor replaces an invalid one', async () => {
    const path = `/api/mcp?access_token=${access.token}`;
    expect((await send(service, access.token, deals, { path })).status).toBe(200);
    expect((await send(service, `dka_${'B'.repeat(43)}`, deals, { path })).status).toBe(401);
  });

  test('the Bearer scheme is case-insensitive', async () => {
    for (const scheme of ['bearer', 'BEARER', 'Bearer ']) {
      const headers = { Authorization: `${scheme} ${access.token}` };
      expect((await send(service, null, deals, { headers })).status).toBe(200);
    }
  });

  test('every message without a valid token is 401', async () => {
    for (const body of [list, message('initialize', {}), message('nonsense'), '{', [], { id: 3 }]) {
      expect((await send(service, `dka_${'C'.repeat(43)}`, body)).status).toBe(401);
    }
  });

  test('a token for another audience is rejected', async () => {
    const { token, familyId } = await addToken(service, access.userId);
    await service.sql(`update vault.token_families set resource = 'https://other.example/api/mcp' where id = $1`, [
      familyId,
    ]);
    expect((await send(service, token, list)).status).toBe(401);
  });
});

describe('web pages of other origins', () => {
  const allowed = () => [
    service.origin,
    'https://claude.ai',
    'https://claude.com',
    'https://chatgpt.com',
    'https://vscode.dev',
    'https://insiders.vscode.dev',
    'https://github.dev',
    'https://www.cursor.com',
    'http://localhost:5173',
    'http://127.0.0.1:6274',
    'http://[::1]:8080',
    'https://localhost',
  ];

  test('can call and read the response if their origin is allowed', async () => {
    for (const Origin of allowed()) {
      const { status, headers } = await send(service, access.token, deals, { headers: { Origin } });
      expect([status, headers.get('access-control-allow-origin')]).toEqual([200, Origin]);
      expect(headers.get('access-control-expose-headers')).toContain(
        'WWW-Authenticate, Retry-After, X-RateLimit-Limit',
      );
      expect(headers.get('access-control-allow-credentials')).toBeNull();
    }
  });

  test('are rejected if their origin is not allowed, before the body is parsed', async () => {
    for (const Origin of [
      'https://evil.example',
      'http://claude.ai',
      'https://claude.ai.evil.example',
      'https://evil-claude.ai',
      'https://claude.ai:8443',
      'null',
      'http://localhost.evil.example',
      'http://127.0.0.1@evil.example',
      'file://',
    ]) {
      const { status, headers } = await send(service, access.token, '{', { headers: { Origin } });
      expect([status, headers.get('access-control-allow-origin')]).toEqual([403, null]);
      const unknown = await send(service, null, deals, { headers: { Origin } });
      expect([unknown.status, unknown.headers.get('access-control-allow-origin')]).toEqual([401, null]);
      expect((await send(service, null, undefined, { method: 'OPTIONS', headers: { Origin } })).status).toBe(403);
    }
  });

  test('get the allowed methods and headers from a preflight request without a token', async () => {
    const { status, headers, text } = await send(service, null, undefined, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://claude.ai',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,content-type,mcp-protocol-version,mcp-method,mcp-name',
      },
    });
    expect([status, text]).toEqual([204, '']);
    expect(headers.get('access-control-allow-origin')).toBe('https://claude.ai');
    expect(headers.get('access-control-allow-methods')).toBe('POST');
    expect(headers.get('access-control-allow-headers')).toBe(
      'authorization,content-type,mcp-protocol-version,mcp-method,mcp-name',
    );
    expect(headers.get('vary')).toBe('Origin');
  });

  test('can read the reason of a rejection', async () => {
    const { status, headers } = await send(service, null, deals, { headers: { Origin: 'https://claude.ai' } });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([401, 'https://claude.ai']);
  });
});

describe('discovery before connecting', () => {
  const get = async (url: string, headers: Record<string, string> = {}) => {
    const response = await fetch(url, { headers });
    return { response, body: response.status === 200 ? ((await response.json()) as Record<string, unknown>) : {} };
  };

  test('the AI catalog of the host leads to the server card, and the card to the tool server', async () => {
    const { response, body } = await get(`${service.origin}/.well-known/ai-catalog.json`);
    expect(response.headers.get('content-type')).toBe('application/ai-catalog+json');
    const [entry] = body['entries'] as { type: string; url: string; identifier: string }[];
    expect([body['specVersion'], entry?.type]).toEqual(['1.0', 'application/mcp-server-card+json']);
    expect(entry?.identifier).toMatch(/^urn:air:127\.0\.0\.1:mcp:dealkeep$/);
    expect(entry?.url).toBe(`${service.origin}/api/mcp/server-card`);
    const card = await get(entry?.url ?? '', {
      accept: 'application/mcp-server-card+json',
      origin: 'https://any.example',
    });
    expect(card.response.headers.get('content-type')).toBe('application/mcp-server-card+json');
    expect(card.response.headers.get('access-control-allow-origin')).toBe('*');
    expect(card.response.headers.get('access-control-expose-headers')).toBe('ETag');
    expect(card.response.headers.get('cache-control')).toBe('public, max-age=3600');
    const [remote] = card.body['remotes'] as { url: string; supportedProtocolVersions: string[] }[];
    const discovered = await send(
      service,
      access.token,
      message('initialize', {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'test', version: '1' },
      }),
    );
    const serverInfo = discovered.body?.result['serverInfo'] as { name: string; version: string; title: string };
    expect(card.body).toMatchObject({
      $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
      name: `127.0.0.1/${serverInfo.name}`,
      version: serverInfo.version,
      title: serverInfo.title,
    });
    expect((card.body['description'] as string).length).toBeLessThanOrEqual(100);
    expect(card.body['name']).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
    expect(remote?.supportedProtocolVersions).toEqual(['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26']);
    expect((await send({ mcpUrl: '' }, access.token, list, { path: remote?.url ?? '' })).status).toBe(200);
    // The card lists no tools: those are for signed-in clients.
    expect(JSON.stringify(card.body)).not.toContain('svc_');
  });

  test('the server card is below every path, and is 304 for a matching ETag', async () => {
    for (const path of ['/api/mcp', '/mcp', '']) {
      const { response } = await get(`${service.origin}${path}/server-card`);
      const etag = response.headers.get('etag') ?? '';
      expect(etag).toMatch(/^"[\w-]{27}"$/);
      expect((await get(`${service.origin}${path}/server-card`, { 'if-none-match': etag })).response.status).toBe(304);
    }
  });

  test('the name of the server card is the reversed host name', () => {
    expect(serverCard('https://deals.example.com').name).toBe('com.example.deals/dealkeep');
    expect(serverCard('http://[::1]:3000').name).toMatch(/^[a-zA-Z0-9.-]+\/dealkeep$/);
  });
});

describe('the rate limit', () => {
  test('is 300 calls a minute per person and client, with headers that state when it resets', async () => {
    const { token, userId, clientId } = await addToken(service, access.userId);
    service.clock.stand(new Date('2030-01-01T12:00:10Z'));
    const { token: again } = await addToken(service, userId, { clientId });
    const statuses: number[] = [];
    for (let at = 0; at < 30; at += 1) {
      const batch = Array.from({ length: 10 }, (_, n) => send(service, again, { ...deals, id: n }));
      statuses.push(...(await Promise.all(batch)).map(({ status }) => status));
    }
    expect(statuses.every((status) => status === 200)).toBe(true);
    const { status, headers, body } = await send(service, again, deals);
    expect(status).toBe(429);
    expect(Number(headers.get('retry-after'))).toSatisfy((seconds: number) => seconds > 30 && seconds <= 50);
    expect(headers.get('x-ratelimit-limit')).toBe('300');
    expect(headers.get('x-ratelimit-remaining')).toBe('0');
    expect(Number(headers.get('x-ratelimit-reset'))).toBe(Date.parse('2030-01-01T12:01:00Z') / 1000);
    expect(body).toMatchObject({
      id: 1,
      error: { code: 429, message: expect.stringMatching(/^At most 300 calls a minute: try again in \d+ s.$/) },
    });

    // Another token of the same person and client shares the count; another client has its own, and listing tools does
    // not count as a call.
    const { token: third } = await addToken(service, userId, { clientId });
    expect((await send(service, third, deals)).status).toBe(429);
    expect((await send(service, again, list)).status).toBe(200);
    const { token: elsewhere } = await addToken(service, userId);
    const other = await send(service, elsewhere, deals);
    expect([other.status, other.headers.get('x-ratelimit-remaining')]).toEqual([200, '299']);

    service.clock.set(new Date('2030-01-01T12:01:01Z'));
    expect((await send(service, again, deals)).status).toBe(200);
    expect(token).not.toBe(again);
  });

  test('counts every call of an array', async () => {
    const { token } = await addToken(service, access.userId);
    const seven = Array.from({ length: 7 }, (_, id) => ({ ...deals, id }));
    expect((await send(service, token, seven)).headers.get('x-ratelimit-remaining')).toBe('293');
  });

  test('counts other messages of an array too, separately from calls', async () => {
    service.clock.stand(new Date('2030-01-01T12:02:10Z'));
    const { token } = await addToken(service, access.userId);
    const left = async (body: unknown) => {
      const { status, headers } = await send(service, token, body);
      return [status, headers.get('x-ratelimit-remaining')];
    };
    const arrayOf = (length: number) => Array.from({ length }, (_, id) => ({ ...list, id }));
    expect(await left(arrayOf(100))).toEqual([200, '200']);
    expect(await left([{ jsonrpc: '2.0', method: 'notifications/initialized' }, ...arrayOf(98)])).toEqual([200, '101']);
    // In an array with a call they count all the same; the header then says how many calls are left.
    expect(await left([deals, ...arrayOf(99)])).toEqual([200, '299']);
    expect(await left(list)).toEqual([200, '1']);
    // An array that exceeds the limit is rejected as a whole, and calls still succeed.
    expect(await left(arrayOf(2))).toEqual([429, '0']);
    expect(await left(list)).toEqual([429, '0']);
    expect(await left([deals, list])).toEqual([429, '0']);
    expect(await left(deals)).toEqual([200, '297']);
    // An empty array counts as one message.
    const { token: another } = await addToken(service, access.userId);
    expect((await send(service, another, [])).status).toBe(400);
    expect((await send(service, another, list)).headers.get('x-ratelimit-remaining')).toBe('298');
  });

  /** Changes rate limits for one test. */
  function limitTo(changes: Partial<Ceilings>): void {
    const { rateLimits } = (service.nodes[0]?.services ?? service).config;
    const before = { ...rateLimits };
    Object.assign(rateLimits, changes);
    onTestFinished(() => void Object.assign(rateLimits, before));
  }

  test('counts unreadable requests with other messages, not with calls', async () => {
    limitTo({ tools: 4 });
    service.clock.stand(new Date('2030-01-01T12:03:10Z'));
    const { token } = await addToken(service, access.userId);
    const left = async (body: unknown, options?: Parameters<typeof send>[3]) => {
      const { status, headers } = await send(service, token, body, options);
      return [status, headers.get('x-ratelimit-remaining')];
    };
    expect(await left('{')).toEqual([400, '3']);
    expect(await left(list, { headers: { 'Content-Type': 'text/plain' } })).toEqual([415, '2']);
    expect(await left('x'.repeat(1_100_000))).toEqual([413, '1']);
    expect(await left(undefined, { method: 'GET' })).toEqual([405, '0']);
    expect(await left('{')).toEqual([429, '0']);
    expect(await left(deals)).toEqual([200, '3']);
  });

  test('of invalid tokens applies per address, allows twice as many lookups, and exempts known tokens', async () => {
    limitTo({ tools_auth_failure_ip: 2 });
    service.clock.stand(new Date('2030-01-01T12:04:10Z'));
    const [known, good, late] = [1, 2, 3].map(() => addToken(service, access.userId));
    const answer = async (token: string | null) => {
      const { status, headers, body } = await send(service, token, list);
      return status === 429 ? [429, headers.get('retry-after'), body?.error.code] : status;
    };
    const refused = [429, '50', 429];
    expect(await answer((await known!).token)).toBe(200);
    expect([await answer(mint('access').token), await answer('nonsense')]).toEqual([401, 401]);
    expect([await answer(mint('access').token), await answer((await good!).token)]).toEqual([refused, 200]);
    expect([await answer('nonsense'), await answer((await late!).token)]).toEqual([refused, refused]);
    expect([await answer((await known!).token), await answer((await good!).token), await answer(null)]).toEqual([
      200, 200, 401,
    ]);
    service.clock.set(new Date('2030-01-01T12:05:01Z'));
    expect([await answer((await late!).token), await answer(mint('access').token)]).toEqual([200, 401]);
  });
});
