import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { openService, type TestService } from '../harness.ts';
import { signInAs } from '../web/person.ts';
import { as, brokerage, type Brokerage } from './scene.ts';

let service: TestService;
let tenant: Brokerage;

beforeAll(async () => {
  const rateLimits = { ...readConfig({}).rateLimits, rest_auth_failure_ip: 1_000_000 };
  service = await openService({ nodes: 2, config: { rateLimits } });
  tenant = await brokerage(service);
});
afterAll(() => service.close());

const get = (token: string | null, path = '/contacts') =>
  as(token === null ? null : { token }, service.restUrl)('GET', path);

describe('authentication', () => {
  test('126. a token has its fixed form, and only its digest is stored', async () => {
    const { token, id } = await tenant.key({ environment: 'test' });
    expect(token).toMatch(/^dk_test_[0-9a-f]{32}$/);
    const [row] = await service.sql('select digest from vault.api_key_digests where key_id = $1', [id]);
    expect(row?.['digest']).toEqual(createHash('sha256').update(token).digest());
    expect((await get(token)).status).toBe(200);
  });

  test('127. every invalid token gets the same 401', async () => {
    const { token } = await tenant.key();
    const revoked = await tenant.key();
    await service.sql('update api_keys set revoked_at = app.now() where id = $1', [revoked.id]);
    const expired = await tenant.key({ expiresAt: new Date(service.clock.now().getTime() - 1000) });
    const last = token.at(-1) === '0' ? '1' : '0';
    const bad = [
      `${token.slice(0, -1)}${last}`,
      token.replace('live', 'test'),
      token.toUpperCase(),
      token.slice(0, -1),
      `${token}0`,
      mintApiKey('live').token,
      token.replace('dk_', 'dka_'),
      'x',
      revoked.token,
      expired.token,
    ];
    const answers = await Promise.all(bad.map((wrong) => get(wrong)));
    for (const { status, text, headers } of answers) {
      expect(status).toBe(401);
      expect(text).toBe(answers[0]?.text);
      expect(headers.get('www-authenticate')).toBe('Bearer realm="dealkeep", error="invalid_token"');
      expect([...headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
    }
    expect(answers[0]?.body?.error.code).toBe('invalid_token');
  });

  test('no token, another scheme and a token outside the Authorization header are 401', async () => {
    const { token } = await tenant.key();
    const basic = { Authorization: `Basic ${Buffer.from(`${token}:`).toString('base64')}` };
    for (const [path, headers] of [
      ['/contacts', {}],
      [`/contacts?api_key=${token}`, {}],
      [`/contacts?access_token=${token}`, {}],
      [`/contacts?Authorization=Bearer%20${token}`, {}],
      ['/contacts', { 'X-API-Key': token }],
      ['/contacts', { Cookie: `Authorization=Bearer ${token}` }],
    ] as const) {
      const answer = await as(null, service.restUrl)('GET', path, undefined, headers);
      expect([answer.status, answer.body?.error.code]).toEqual([401, 'invalid_token']);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="dealkeep"');
    }
    expect((await as(null, service.restUrl)('GET', '/contacts', undefined, basic)).status).toBe(401);
    for (const scheme of ['bearer', 'BEARER'])
      expect(
        (await as(null, service.restUrl)('GET', '/contacts', undefined, { Authorization: `${scheme} ${token}` }))
          .status,
      ).toBe(200);
  });

  test('128. a token without the scope is 403, whatever else is wrong with the request', async () => {
    const reader = as(await tenant.key({ scopes: ['contacts:read'] }), service.restUrl);
    const writer = as(await tenant.key({ scopes: ['contacts:write'] }), service.restUrl);
    for (const [call, method, path, scope] of [
      [reader, 'POST', '/contacts', 'contacts:write'],
      [writer, 'GET', '/contacts', 'contacts:read'],
      [writer, 'GET', '/contacts?limit=0', 'contacts:read'],
      [writer, 'GET', '/contacts/none', 'contacts:read'],
    ] as const) {
      const { status, headers, body } = await call(method, path, method === 'POST' ? 'no JSON' : undefined);
      expect([status, body?.error.code, body?.error.details['required_scope']]).toEqual([
        403,
        'insufficient_scope',
        scope,
      ]);
      expect(headers.get('www-authenticate')).toContain(`scope="${scope}"`);
      expect(headers.get('x-ratelimit-remaining')).not.toBeNull();
    }
    const [made] = await service.sql('select count(*)::int as n from contacts where created_by_key is not null');
    expect(made).toEqual({ n: 0 });
  });

  test('127. a key expires at its time', async () => {
    const { token } = await tenant.key({ expiresAt: new Date(service.clock.now().getTime() + 60_000) });
    expect((await get(token)).status).toBe(200);
    service.clock.advance(61_000);
    expect((await get(token)).status).toBe(401);
  });
});

describe('the issuer of a key', () => {
  const withAnotherAdmin = async () => {
    const there = await brokerage(service);
    // A brokerage must keep an admin, so a second admin is added, who stays.
    await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
      there.id,
      tenant.admin,
    ]);
    const key = await there.key();
    const onBoth = (token = key.token) =>
      Promise.all(
        service.nodes.map(async (node) => (await as({ ...key, token }, node.restUrl)('GET', '/contacts')).status),
      );
    return { there, key, onBoth };
  };

  test('131. is suspended: the key stops on both nodes with the next request, until the suspension ends', async () => {
    const { there, key, onBoth } = await withAnotherAdmin();
    expect(await onBoth()).toEqual([200, 200]);
    await service.sql('update users set suspended_at = app.now() where id = $1', [there.admin]);
    expect(await onBoth()).toEqual([401, 401]);
    expect((await as(key, service.restUrl)('POST', '/contacts', { type: 'person', displayName: 'x' })).status).toBe(
      401,
    );
    await service.sql('update users set suspended_at = null where id = $1', [there.admin]);
    expect(await onBoth()).toEqual([200, 200]);
  });

  test('131. is removed: the key stops on both nodes and needs a new token, even if the issuer returns', async () => {
    const { there, key, onBoth } = await withAnotherAdmin();
    const remaining = await signInAs(service, tenant.admin);
    const shown = async () => {
      const { body } = await remaining.ask(`/brokerages/${there.id}/keys`);
      return body.items.find(({ id }: { id: string }) => id === key.id);
    };
    // The previous token was issued by the same person.
    const rotated = mintApiKey('live');
    await service.sql(
      `insert into vault.api_key_digests (digest, key_id, issued_by, valid_until) values ($1, $2, $3, app.now() + interval '1 hour')`,
      [rotated.digest, key.id, there.admin],
    );
    await service.sql(
      `update api_keys set previous_last_four = '0000', previous_valid_until = app.now() + interval '1 hour' where id = $1`,
      [key.id],
    );
    expect(await onBoth()).toEqual([200, 200]);
    expect(await onBoth(rotated.token)).toEqual([200, 200]);
    expect(await shown()).toMatchObject({ state: 'active', previous_valid_until: expect.any(String) });

    await service.sql(`update members set status = 'removed' where user_id = $1`, [there.admin]);
    expect(await onBoth()).toEqual([401, 401]);
    for (const role of ['staff', 'admin']) {
      await service.sql(`update members set status = 'active', role = $2 where user_id = $1`, [there.admin, role]);
      expect([role, await onBoth(), await onBoth(rotated.token)]).toEqual([role, [401, 401], [401, 401]]);
      expect(await shown()).toMatchObject({ state: 'stopped', previous_valid_until: null });
    }
    const made = await remaining.ask(`/keys/${key.id}/rotate`, { overlap_seconds: 3600 });
    expect(made.status).toBe(200);
    expect(await onBoth(made.body.token)).toEqual([200, 200]);
    expect(await onBoth()).toEqual([401, 401]);
    expect(await shown()).toMatchObject({ state: 'active' });
  });

  test('131. is no longer an admin: the key keeps only the scopes of every member, and stops on removal', async () => {
    const there = await brokerage(service);
    await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
      there.id,
      tenant.admin,
    ]);
    const scopes = ['contacts:read', 'deals:read', 'offers:read', 'events:read', 'webhooks:read'] as const;
    const { token, id } = await there.key({ scopes });
    const rotated = mintApiKey('live');
    await service.sql('insert into vault.api_key_digests (digest, key_id, issued_by) values ($1, $2, $3)', [
      rotated.digest,
      id,
      tenant.admin,
    ]);
    const of = async (one: string) =>
      Promise.all(
        ['/contacts', '/deals', `/deals/${id}/offers`, '/events', '/webhooks'].map(
          async (path) => (await get(one, path)).status,
        ),
      );
    expect(await of(token)).toEqual([200, 200, 404, 200, 200]);
    for (const role of ['broker', 'staff']) {
      await service.sql(`update members set role = $2 where user_id = $1`, [there.admin, role]);
      expect(await of(token)).toEqual([200, 403, 403, 200, 403]);
      expect((await get(token, '/deals')).body?.error.details).toMatchObject({ required_scope: 'deals:read' });
      expect((await get(token, '/me')).body).toMatchObject({ scopes: ['contacts:read', 'events:read'] });
    }
    // The token that was shown to another admin keeps its scopes.
    expect(await of(rotated.token)).toEqual([200, 200, 404, 200, 200]);
    await service.sql(`update members set role = 'admin' where user_id = $1`, [there.admin]);
    expect(await of(token)).toEqual([200, 200, 404, 200, 200]);
    await service.sql(`update members set role = 'staff' where user_id = $1`, [there.admin]);
    await service.sql(`update members set status = 'removed' where user_id = $1`, [there.admin]);
    expect((await get(token)).status).toBe(401);
  });
});

test('130. revoking a key takes effect with the next request on every node', async () => {
  const key = await tenant.key();
  const nodes = service.nodes.map((node) => as(key, node.restUrl));
  expect(await Promise.all(nodes.map(async (call) => (await call('GET', '/contacts')).status))).toEqual([200, 200]);
  await service.sql('update api_keys set revoked_at = app.now() where id = $1', [key.id]);
  expect(await Promise.all(nodes.map(async (call) => (await call('GET', '/contacts')).status))).toEqual([401, 401]);
});

test('130. a revoked or restricted key that a node has cached gets no validation errors and writes nothing', async () => {
  const [revoked, reader] = [await tenant.key(), await tenant.key()];
  for (const { token } of [revoked, reader]) expect((await get(token)).status).toBe(200);
  await service.sql('update api_keys set revoked_at = app.now() where id = $1', [revoked.id]);
  await service.sql(`update api_keys set scopes = '{contacts:read}' where id = $1`, [reader.id]);
  const contact = { type: 'person', displayName: 'Never made' };
  for (const body of [contact, { ...contact, type: 'robot' }]) {
    expect((await as(revoked, service.restUrl)('POST', '/contacts', body)).status).toBe(401);
    expect((await as(reader, service.restUrl)('POST', '/contacts', body)).status).toBe(403);
  }
  const records = (key: { id: string }) => service.sql('select outcome from audit_records where key_id = $1', [key.id]);
  expect(await records(revoked)).toEqual([]);
  expect(await records(reader)).toEqual([{ outcome: 'refused' }, { outcome: 'refused' }]);
  expect(await service.sql('select id from contacts where display_name = $1', [contact.displayName])).toEqual([]);
});

test('each write is audited with key, action, address and outcome, including rejected ones', async () => {
  const key = await tenant.key();
  const reader = await tenant.key({ scopes: ['contacts:read'] });
  const call = as(key, service.restUrl);
  const id = { 'Idempotency-Key': 'audit' };
  const made = await call(
    'POST',
    '/contacts',
    { type: 'person', displayName: 'Secret Name' },
    { ...id, 'X-Request-Id': 'from-the-client' },
  );
  await call('POST', '/contacts', { type: 'person', displayName: 'Secret Name' }, id);
  await call('POST', '/contacts', { type: 'person', displayName: 'Another' }, id);
  await call('POST', '/contacts', { type: 'person' });
  await call('POST', '/contacts', 'x'.repeat(70_000), { 'Content-Type': 'application/json' });
  await as(reader, service.restUrl)('POST', '/contacts', { type: 'person', displayName: 'x' });
  const records = await service.sql(
    `select action, subject_id, outcome, brokerage_id, user_id, key_id, host(address) as address, request_id, details
     from audit_records where key_id = any ($1) order by at, id`,
    [[key.id, reader.id]],
  );
  const common = { action: 'contact.create', brokerage_id: tenant.id, user_id: null, address: '127.0.0.1' };
  const not = (status: number, code: string) => ({
    ...common,
    subject_id: null,
    outcome: 'refused',
    details: { status, code },
  });
  expect(records).toMatchObject([
    {
      ...common,
      key_id: key.id,
      subject_id: made.body?.id,
      outcome: 'done',
      request_id: 'from-the-client',
      details: { type: 'person' },
    },
    { ...common, key_id: key.id, subject_id: made.body?.id, outcome: 'repeated' },
    { ...not(400, 'validation_error'), key_id: key.id },
    { ...not(400, 'validation_error'), key_id: key.id },
    { ...not(413, 'validation_error'), key_id: key.id },
    { ...not(403, 'insufficient_scope'), key_id: reader.id },
  ]);
  expect(JSON.stringify(records)).not.toMatch(/Secret Name|dk_live/);
});

test('an internal error is a 500 with the request id and no internals, and is logged', async () => {
  const key = await tenant.key();
  await service.sql('alter table change_events rename to change_events_away');
  const answers = await Promise.all([
    as(key, service.restUrl)(
      'POST',
      '/contacts',
      { type: 'person', displayName: 'x' },
      { 'X-Request-Id': 'report-me' },
    ),
    as(key, service.restUrl)('POST', '/contacts', { type: 'person', displayName: 'x' }),
  ]).finally(() => service.sql('alter table change_events_away rename to change_events'));
  for (const { status, body, text, headers } of answers) {
    expect([status, body?.error.code]).toEqual([500, 'internal_error']);
    expect(body?.error.details).toEqual({ request_id: headers.get('x-request-id') });
    expect(text).not.toMatch(/change_events|relation|public\.|PL\/pgSQL|at \//);
  }
  expect(answers[0].body?.error.message).toContain('report-me');
  expect(service.log.filter((line) => line.includes('report-me')).join()).toContain('change_events');
});

test('113, 126. no token is in the database or in the log', async () => {
  const key = await tenant.key();
  await as(key, service.restUrl)(
    'POST',
    '/contacts',
    { type: 'person', displayName: 'x' },
    { 'Idempotency-Key': 'dump' },
  );
  await get(key.token, '/contacts?limit=x');
  await get(key.token, `/contacts?api_key=${key.token}`);
  await get(`${key.token}x`);
  const tables = await service.sql<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'vault', 'app', 'limits')`,
  );
  expect(tables.length).toBeGreaterThan(10);
  const secret = key.token.slice(8);
  for (const { name } of tables) {
    const [found] = await service.sql<{ n: number }>(
      `select count(*)::int as n from ${name} t where t::text like '%' || $1 || '%'`,
      [secret],
    );
    expect([name, found?.n]).toEqual([name, 0]);
    const [asHex] = await service.sql<{ n: number }>(
      `select count(*)::int as n from ${name} t where t::text like '%' || $1 || '%'`,
      [Buffer.from(key.token).toString('hex')],
    );
    expect([name, asHex?.n]).toEqual([name, 0]);
  }
  expect(service.log.length).toBeGreaterThan(0);
  expect(service.log.join('\n')).not.toContain(secret);
});
