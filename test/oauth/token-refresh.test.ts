import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { digestOf, mint, openAnswer } from '../../server/domain/clients/tokens.ts';
import { openService, type TestService } from '../harness.ts';
import { startNode } from '../tools/node.ts';
import { scopesOf } from './bearer.ts';
import { addClient, addPerson, beginRefreshes, connect, refresh, type Person, type TokenAnswer } from './scene.ts';

const day = 86_400_000;

describe.each([
  ['on', 1],
  ['on', 2],
  ['off', 2],
] as const)('REFRESH_OVERLAP=%s, %i node(s)', (overlap, nodes) => {
  let service: TestService;
  let ada: Person;
  let clientId: string;

  beforeAll(async () => {
    service = await openService({
      nodes,
      config: { refreshOverlapMillis: overlap === 'on' ? 2_000 : 0, rateLimitStore: 'memory' },
    });
    ada = await addPerson(service, 'Ada');
    clientId = await addClient(service, ada);
  });
  afterAll(() => service?.close());
  beforeEach(() => service.clock.advance(60_000));

  const node = (index: number) => service.nodes[index % nodes] ?? service;
  const grant = () => connect(service, ada, clientId);

  async function refused(answer: Promise<TokenAnswer>, error = 'invalid_grant'): Promise<void> {
    const { status, body, headers } = await answer;
    expect([status, body.error, headers.get('cache-control')]).toEqual([400, error, 'no-store']);
  }

  /** Refreshes successfully; returns the new tokens. */
  async function rotated(token: string, changes = {}): Promise<{ access: string; refresh: string; scope: string }> {
    const { status, body } = await refresh(service, clientId, token, changes);
    expect([status, body.error]).toEqual([200, undefined]);
    return { access: body.access_token ?? '', refresh: body.refresh_token ?? '', scope: body.scope ?? '' };
  }

  test('78. a refresh returns a new access token and a new refresh token, by form and by JSON', async () => {
    const first = await grant();
    const { status, headers, body } = await refresh(service, clientId, first.refresh);
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^dka_/),
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: expect.stringMatching(/^dkr_/),
      scope: 'mcp:read mcp:write',
    });
    expect([body.access_token, body.refresh_token]).not.toContain(first.access);
    expect(body.refresh_token).not.toBe(first.refresh);
    const json = await fetch(`${service.origin}/api/mcp/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'refresh_token', client_id: clientId, refresh_token: body.refresh_token }),
    });
    expect(json.status).toBe(200);
    expect(await scopesOf(service, body.access_token ?? '')).toEqual(['mcp:read', 'mcp:write']);
  });

  test("78. an access token issued in the grant's last hour ends with the grant, as expires_in says", async () => {
    const first = await grant();
    await service.sql(
      `update vault.token_families f set ends_at = app.now() + interval '10 minutes 0.5 seconds'
       from vault.refresh_tokens t where t.family_id = f.id and t.digest = $1`,
      [digestOf(first.refresh)],
    );
    const { status, body } = await refresh(service, clientId, first.refresh);
    expect(status).toBe(200);
    expect(body.expires_in).toBeGreaterThan(540);
    expect(body.expires_in).toBeLessThanOrEqual(600);
    const ends = await service.sql(
      `select t.expires_at = f.ends_at as together from vault.access_tokens t join vault.token_families f on f.id = t.family_id
       where t.digest = $1`,
      [digestOf(body.access_token ?? '')],
    );
    expect(ends).toEqual([{ together: true }]);
  });

  test('79. reuse of a rotated token is rejected and revokes the family', async () => {
    const first = await grant();
    const second = await rotated(first.refresh);
    await refused(refresh(service, clientId, first.refresh));
    await refused(refresh(service, clientId, second.refresh));
    for (const { access } of [first, second]) expect(await scopesOf(service, access)).toBeNull();
  });

  test('80. reuse of a token from two rotations ago is rejected and revokes the family', async () => {
    const first = await grant();
    const second = await rotated(first.refresh);
    const third = await rotated(second.refresh);
    await refused(refresh(service, clientId, first.refresh));
    await refused(refresh(service, clientId, third.refresh));
    for (const { access } of [first, second, third]) expect(await scopesOf(service, access)).toBeNull();
  });

  test('81. a replay revokes its own family and no other', async () => {
    const [replayed, same] = [await grant(), await grant()];
    const other = await connect(service, ada, await addClient(service, ada));
    await rotated(replayed.refresh);
    await refused(refresh(service, clientId, replayed.refresh));
    expect(await scopesOf(service, same.access)).not.toBeNull();
    await rotated(same.refresh);
    expect((await refresh(service, other.clientId, other.refresh)).status).toBe(200);
  });

  test('82. the revocation after a replay is stored, and applies on every node, also on a new one', async () => {
    const first = await grant();
    const second = await rotated(first.refresh);
    await refused(refresh(service, clientId, first.refresh));
    const [family] = await service.sql(
      `select f.revoked_at is not null as revoked from vault.token_families f join vault.refresh_tokens t on t.family_id = f.id where t.digest = $1`,
      [digestOf(first.refresh)],
    );
    expect(family).toEqual({ revoked: true });
    await refused(refresh(node(1), clientId, second.refresh));
    const later = await startNode(service, service.connections.server);
    await refused(refresh({ origin: later.mcpUrl }, clientId, second.refresh)).finally(() => later.stop());
  });

  // The last bytes of all requests are sent at once, so that they arrive together however busy the machine is. The
  // machine may still delay answering for longer than the two seconds that overlapping requests may be apart: this test
  // has a service of its own, with a minute instead.
  test('83. 50 parallel refreshes all get the same tokens, or revoke the family without overlap', async () => {
    const config = { refreshOverlapMillis: overlap === 'on' ? 60_000 : 0, rateLimitStore: 'memory' } as const;
    const together = await openService({ nodes, config });
    onTestFinished(() => together.close());
    const bob = await addPerson(together, 'Bob');
    const client = await addClient(together, bob);
    const first = await connect(together, bob, client);
    const origins = Array.from({ length: 50 }, (_, index) => (together.nodes[index % nodes] ?? together).origin);
    const begun = await beginRefreshes(together, origins, client, first.refresh);
    const answers = await Promise.all(begun.map((one) => one.finish()));
    expect(answers.filter(({ status }) => status !== 200 && status !== 400)).toEqual([]);
    const good = answers.filter(({ status }) => status === 200);
    expect(new Set(good.map(({ body }) => body.refresh_token)).size).toBe(1);
    expect(new Set(good.map(({ body }) => body.access_token)).size).toBe(1);
    const { access_token: access = '', refresh_token: successor = '' } = good[0]?.body ?? {};
    if (overlap === 'off') {
      expect(good).toHaveLength(1);
      expect(await scopesOf(together, access)).toBeNull();
      return;
    }
    expect(good).toHaveLength(50);
    expect(await scopesOf(together, access)).not.toBeNull();
    const next = await refresh(together, client, successor);
    expect(next.status).toBe(200);
    await refused(refresh(together, client, first.refresh));
    await refused(refresh(together, client, next.body.refresh_token ?? ''));
  });

  test('84. a replay during a rotation leaves no usable successor', async () => {
    const first = await grant();
    const second = await rotated(first.refresh);
    const [replay, rotation] = await Promise.all([
      refresh(node(0), clientId, first.refresh),
      refresh(node(1), clientId, second.refresh),
    ]);
    expect(replay.status).toBe(400);
    await refused(refresh(service, clientId, rotation.body.refresh_token ?? second.refresh));
    expect(await scopesOf(service, rotation.body.access_token ?? second.access)).toBeNull();
  });

  test('a request whose last byte arrives after the rotation is a replay, however early it began', async () => {
    const first = await grant();
    const [held] = await beginRefreshes(service, [node(1).origin], clientId, first.refresh);
    const second = await rotated(first.refresh);
    expect(await held!.finish()).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await scopesOf(service, second.access)).toBeNull();
    await refused(refresh(service, clientId, second.refresh));
  });

  test.runIf(overlap === 'on')('a refresh whose client has gone meanwhile leaves the token as it is', async () => {
    const first = await grant();
    const ended = async () => {
      const metrics = await (await fetch(`${service.origin}/metrics`)).text();
      const counts = metrics.matchAll(/^dealkeep_route_requests_total\{.*route="\/api\/mcp\/token".*\} (\d+)$/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const before = await ended();
    const [left] = await beginRefreshes(service, [service.origin], clientId, first.refresh);
    left!.leave();
    await expect.poll(ended).toBe(before + 1);
    const { refresh: successor } = await rotated(first.refresh);
    await rotated(successor);
  });

  test("85. another client's client_id is rejected and revokes nothing", async () => {
    const first = await grant();
    const second = await rotated(first.refresh);
    const other = await addClient(service, ada);
    await refused(refresh(service, other, second.refresh));
    await refused(refresh(service, other, first.refresh));
    await rotated(second.refresh);
  });

  test('86. an unknown or malformed token is rejected and revokes nothing', async () => {
    const first = await grant();
    for (const token of [mint('refresh').token, 'garbage', '%', 'dkr_', `${first.refresh}x`])
      await refused(refresh(service, clientId, token));
    await rotated(first.refresh);
  });

  test('87. an access token cannot be used as a refresh token, nor the reverse', async () => {
    const first = await grant();
    await refused(refresh(service, clientId, first.access));
    expect(await scopesOf(service, first.refresh)).toBeNull();
    await rotated(first.refresh);
  });

  test('88. a token is valid for 30 days, extended by each rotation up to 180 days', async () => {
    const idle = await grant();
    let used = await grant();
    const start = service.clock.now();
    service.clock.advance(30 * day - 60_000);
    used = { ...used, ...(await rotated(used.refresh)) };
    service.clock.advance(120_000);
    await refused(refresh(service, clientId, idle.refresh));
    for (const days of [59, 88, 117, 146, 175, 179.99]) {
      service.clock.set(new Date(start.getTime() + days * day));
      used = { ...used, ...(await rotated(used.refresh)) };
    }
    service.clock.set(new Date(start.getTime() + 180 * day + 1000));
    expect(await scopesOf(service, used.access)).toBeNull();
    await refused(refresh(service, clientId, used.refresh));
    service.clock.set(start);
  });

  test('a grant can be refreshed 1,000 times a day, and again the next day', async () => {
    const start = service.clock.now();
    const [first, other] = [await grant(), await grant()];
    service.clock.set(new Date(`${start.toISOString().slice(0, 10)}T10:00:00Z`));
    service.clock.advance(day);
    await service.sql(
      `update vault.token_families f set refreshed_on = (app.now() at time zone 'UTC')::date, refreshes = 999
       from vault.refresh_tokens t where t.family_id = f.id and t.digest = $1`,
      [digestOf(first.refresh)],
    );
    const last = await rotated(first.refresh);
    const { status, body, headers } = await refresh(service, clientId, last.refresh);
    expect([status, body.error]).toEqual([429, 'temporarily_unavailable']);
    const again = new Date(service.clock.now().getTime() + Number(headers.get('retry-after')) * 1_000);
    // The next midnight, less than a second off.
    expect(Math.round(again.getTime() / 10_000) % 8_640).toBe(0);
    expect(body.error_description).toMatch(
      /1,000 times today.* refresh again after 00:00 UTC on \d{1,2} [A-Z][a-z]+\.$/,
    );
    // The refusal ends nothing: neither the tokens of this grant nor another grant.
    expect(await scopesOf(service, last.access)).toEqual(['mcp:read', 'mcp:write']);
    await rotated(other.refresh);
    service.clock.advance(day);
    await rotated((await rotated(last.refresh)).refresh);
    service.clock.set(start);
  });

  test('89. a narrower scope narrows the access token and not the grant', async () => {
    const first = await grant();
    const narrow = await rotated(first.refresh, { scope: 'mcp:read' });
    expect(narrow.scope).toBe('mcp:read');
    expect(await scopesOf(service, narrow.access)).toEqual(['mcp:read']);
    const full = await rotated(narrow.refresh);
    expect(full.scope).toBe('mcp:read mcp:write');
  });

  test('89. offline_access in the scope is ignored', async () => {
    const first = await grant();
    const narrow = await rotated(first.refresh, { scope: 'mcp:read offline_access' });
    expect(narrow.scope).toBe('mcp:read');
    expect((await rotated(narrow.refresh, { scope: 'offline_access' })).scope).toBe('mcp:read mcp:write');
  });

  test('90. a wider or empty scope is rejected without consuming the token', async () => {
    const reading = await connect(service, ada, clientId, ['mcp:read']);
    for (const scope of ['mcp:read mcp:write', 'mcp:write', 'mcp:read admin', ' ']) {
      await refused(refresh(service, clientId, reading.refresh, { scope }), 'invalid_scope');
    }
    await rotated(reading.refresh);
  });

  test('91. another resource is rejected without consuming the token, and an alias is accepted', async () => {
    const first = await grant();
    await refused(
      refresh(service, clientId, first.refresh, { resource: 'https://evil.example/api/mcp' }),
      'invalid_target',
    );
    await rotated(first.refresh, { resource: `${service.config.baseUrl}/mcp` });
  });

  test('92. the old token still works after a database error during the refresh', async () => {
    const first = await grant();
    await service.sql(
      `create function pg_temp_failure() returns trigger language plpgsql as $$ begin raise exception 'disk full'; end $$`,
    );
    await service.sql(
      'create trigger failing before insert on vault.refresh_tokens for each row execute function pg_temp_failure()',
    );
    const { status, body } = await refresh(service, clientId, first.refresh);
    await service.sql('drop trigger failing on vault.refresh_tokens');
    await service.sql('drop function pg_temp_failure()');
    expect([status, body.error]).toEqual([500, 'server_error']);
    expect(JSON.stringify(body)).not.toContain('disk full');
    await rotated(first.refresh);
  });

  test('the token of a suspended person is rejected, also after the suspension was lifted', async () => {
    const bert = await addPerson(service, 'Bert');
    const own = await connect(service, bert, await addClient(service, bert));
    await service.sql('update users set suspended_at = app.now() where id = $1', [bert.id]);
    await refused(refresh(service, own.clientId, own.refresh));
    await service.sql('update users set suspended_at = null where id = $1', [bert.id]);
    await refused(refresh(service, own.clientId, own.refresh));
  });
});

describe('the response stored for overlapping requests', () => {
  let service: TestService;
  let ada: Person;
  beforeAll(async () => {
    service = await openService();
    ada = await addPerson(service, 'Ada');
  });
  afterAll(() => service?.close());

  const kept = () =>
    service.sql<{ answer: Buffer }>('select answer from vault.refresh_tokens where answer is not null');

  test('is deleted once no request can overlap any more', async () => {
    const { config } = service.nodes[0]!.services;
    Object.assign(config, { refreshOverlapMillis: 1 });
    const first = await connect(service, ada, await addClient(service, ada));
    await refresh(service, first.clientId, first.refresh);
    await expect.poll(async () => (await kept()).length).toBe(0);
    Object.assign(config, { refreshOverlapMillis: 60_000 });
  });

  test('is encrypted, and only the presented token decrypts it', async () => {
    const first = await connect(service, ada, await addClient(service, ada));
    const { body } = await refresh(service, first.clientId, first.refresh);
    const [{ answer } = { answer: Buffer.alloc(0) }] = await kept();
    expect(answer.includes(body.refresh_token ?? '')).toBe(false);
    expect(openAnswer(first.refresh, answer)).toEqual({ access: body.access_token, refresh: body.refresh_token });
    expect(() => openAnswer(body.refresh_token ?? '', answer)).toThrow();
    await refresh(service, first.clientId, body.refresh_token ?? '');
    expect(await kept()).toHaveLength(1);
  });

  test('is deleted by the scheduled jobs when the node that stored it is gone', async () => {
    const { config } = service.nodes[0]!.services;
    Object.assign(config, { refreshOverlapMillis: 3_600_000 });
    const first = await connect(service, ada, await addClient(service, ada));
    await refresh(service, first.clientId, first.refresh);
    await service.sql('select app.purge_authorization()');
    expect((await kept()).length).toBeGreaterThan(0);
    await service.sql(`update vault.refresh_tokens set consumed_clock = consumed_clock - interval '61 seconds'`);
    await service.sql('select app.purge_authorization()');
    expect(await kept()).toHaveLength(0);
  });
});
