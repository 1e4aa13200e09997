/** API keys as an admin creates, rotates and revokes them on their page, and what each then gives access to. */

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiKeyDigest, mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import { openAccount, signedInVisitor, type Visitor } from '../auth/scene.ts';
import { openService, type TestService } from '../harness.ts';
import { whileChanging } from '../locks.ts';
import { signedInWith } from '../web/person.ts';
import { as } from './scene.ts';

let service: TestService;
let tenant: string;
let elsewhere: string;
let admin: Visitor;
let broker: Visitor;
let otherAdmin: Visitor;

beforeAll(async () => {
  service = await openService();
  const brokerage = async (slug: string) => {
    const [row] = await service.sql<{ id: string }>(
      'insert into brokerages (slug, name) values ($1, $1) returning id',
      [slug],
    );
    return row!.id;
  };
  const member = async (id: string, role: string) => {
    const account = await openAccount(service);
    await service.sql('insert into members (brokerage_id, user_id, role) values ($1, $2, $3)', [id, account.id, role]);
    return signedInVisitor(service, account);
  };
  tenant = await brokerage('harbor');
  elsewhere = await brokerage('elsewhere');
  admin = await member(tenant, 'admin');
  broker = await member(tenant, 'broker');
  otherAdmin = await member(elsewhere, 'admin');
});
afterAll(() => service.close());

const read = (token: string) => as({ token }, service.restUrl)('GET', '/contacts');

/** Asks /api/web as the page does. */
const ask = (visitor: Visitor, path: string, body?: unknown) =>
  signedInWith(service, visitor.cookies.get('dealkeep') ?? '').ask(path, body);
const keysOf = (brokerage = tenant) => `/brokerages/${brokerage}/keys`;

const key = (changes: Record<string, unknown> = {}) => ({
  name: 'Accounting',
  scopes: ['contacts:read'],
  environment: 'live',
  ceiling: null,
  expires_at: null,
  ...changes,
});

async function created(changes: Record<string, unknown> = {}): Promise<{ token: string; id: string }> {
  const { status, body } = await ask(admin, keysOf(), key(changes));
  expect(status).toBe(201);
  return { token: body.token, id: body.key.id };
}

const rotate = (id: string, overlap_seconds: unknown, visitor = admin) =>
  ask(visitor, `/keys/${id}/rotate`, { overlap_seconds });
const revoke = (id: string, visitor = admin) => ask(visitor, `/keys/${id}/revoke`, {});
const listed = async (id: string) =>
  (await ask(admin, keysOf())).body.items.find((one: { id: string }) => one.id === id);

describe('creating a key', () => {
  test('126. the token is shown once, works, and is never listed', async () => {
    const { token, id } = await created({ name: 'Shown once', environment: 'test', ceiling: 77 });
    expect(token).toMatch(/^dk_test_[0-9a-f]{32}$/);
    const answer = await read(token);
    expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toEqual([200, '77']);
    expect(
      (await as({ token }, service.restUrl)('POST', '/contacts', { type: 'person', displayName: 'x' })).status,
    ).toBe(403);
    expect(await listed(id)).toMatchObject({ name: 'Shown once', hint: `dk_test_…${token.slice(-4)}`, ceiling: 77 });
    const list = JSON.stringify((await ask(admin, keysOf())).body);
    expect(list).not.toContain(token);
    expect(list).not.toContain(token.slice(8, -4));
  });

  test('126. the response with a token must not be cached', async () => {
    const { headers } = signedInWith(service, admin.cookies.get('dealkeep') ?? '');
    const response = await fetch(`${service.origin}/api/web${keysOf()}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(key()),
    });
    expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store']);
  });

  test('the last use of the key is listed', async () => {
    const { token, id } = await created({ name: 'Used' });
    expect((await listed(id)).last_used_at).toBeNull();
    await read(token);
    await service.noteUses();
    expect((await listed(id)).last_used_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d/);
  });

  test.each([
    [{ name: '' }, 400, 'name'],
    [{ name: 'x'.repeat(101) }, 400, 'name'],
    [{ name: 'a\nb' }, 400, 'name'],
    [{ scopes: [] }, 400, 'scopes'],
    [{ scopes: ['deals:all'] }, 400, 'scopes.0'],
    [{ environment: 'prod' }, 400, 'environment'],
    [{ ceiling: 0 }, 400, 'ceiling'],
    [{ ceiling: 100_001 }, 400, 'ceiling'],
    [{ ceiling: '1e3' }, 400, 'ceiling'],
    [{ expires_at: 'tomorrow' }, 400, 'expires_at'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 409, undefined],
    [{ expires_at: '0000-01-01T00:00:00Z' }, 400, 'expires_at'],
  ])('%j is rejected with a message, and no key is created', async (changes, expected, path) => {
    const before = await service.sql('select count(*) from api_keys');
    const { status, body } = await ask(admin, keysOf(), key(changes));
    expect([status, body.error.details?.[0].path]).toEqual([expected, path]);
    expect(body.error.message).toMatch(/\w+ \w+/);
    expect(await service.sql('select count(*) from api_keys')).toEqual(before);
  });

  test('a brokerage has at most 200 keys in force, even when the last are created concurrently', async () => {
    await service.sql(
      `insert into api_keys (brokerage_id, name, environment, scopes, last_four, created_by, expires_at)
       select b.id, 'Key ' || n, 'live', '{contacts:read}', '0000', m.user_id, case when n > 199 then app.now() end
       from brokerages b join members m on m.brokerage_id = b.id, generate_series(1, 210) n where b.id = $1`,
      [elsewhere],
    );
    const make = () => ask(otherAdmin, keysOf(elsewhere), key());
    const refused = { status: 409, body: { error: { code: 'too_many_api_keys' } } };
    const another = [
      ['select from brokerages where id = $1 for no key update', [elsewhere]],
      [
        'update api_keys set expires_at = null where id = (select id from api_keys where brokerage_id = $1 and expires_at is not null limit 1)',
        [elsewhere],
      ],
    ] as const;
    expect(await whileChanging(service, another, make)).toMatchObject(refused);
    const { body } = await ask(otherAdmin, keysOf(elsewhere));
    await revoke(body.items[0].id, otherAdmin);
    expect((await make()).status).toBe(201);
    expect(await make()).toMatchObject(refused);
    await service.sql('delete from vault.api_key_digests where brokerage_id = $1', [elsewhere]);
    await service.sql('delete from api_keys where brokerage_id = $1', [elsewhere]);
  });

  test('an unknown brokerage is 404', async () => {
    expect((await ask(admin, keysOf('x'), key())).status).toBe(404);
  });

  test('a key keeps the chosen expiry time', async () => {
    const end = `${service.clock.inDays(1).slice(0, 10)}T23:59:59.999Z`;
    const { id } = await created({ name: 'Until tomorrow', expires_at: end });
    const [row] = await service.sql<{ at: Date }>('select expires_at as at from api_keys where id = $1', [id]);
    expect(row?.at.toISOString()).toBe(end);
  });

  test('124. a sign-in within the last ten minutes is required', async () => {
    const account = await openAccount(service);
    await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
      tenant,
      account.id,
    ]);
    const visitor = await signedInVisitor(service, account);
    service.clock.advance(11 * 60_000);
    const before = await service.sql('select count(*) from api_keys');
    expect(await ask(visitor, keysOf(), key())).toMatchObject({
      status: 403,
      body: { error: { code: 'recent_sign_in_required' } },
    });
    expect(await service.sql('select count(*) from api_keys')).toEqual(before);
    service.clock.advance(-11 * 60_000);
  });
});

describe('rotating and revoking', () => {
  test.each([
    [3600, 3_600_000],
    [0, 0],
  ])(
    '129. an overlap of %s s keeps the old token valid until then; the new one works at once',
    async (overlap, millis) => {
      const { token: old, id } = await created({ name: `Rotated ${overlap}` });
      const now = service.clock.now();
      const { status, body } = await rotate(id, overlap);
      const fresh = body.token;
      expect([status, fresh === old]).toEqual([200, false]);
      expect((await read(fresh)).status).toBe(200);
      if (millis > 0) {
        expect((await read(old)).status).toBe(200);
        expect((await listed(id)).previous_hint).toBe(`dk_live_…${old.slice(-4)}`);
        service.clock.set(new Date(now.getTime() + millis - 30_000));
        expect((await read(old)).status).toBe(200);
        service.clock.set(new Date(now.getTime() + millis + 30_000));
      }
      expect((await read(old)).status).toBe(401);
      expect((await read(fresh)).status).toBe(200);
      service.clock.set(now);
    },
  );

  test('both tokens of a key share its rate limit and its idempotency keys', async () => {
    const { token: old, id } = await created({ name: 'Shared', scopes: ['contacts:write'], ceiling: 50 });
    const fresh = (await rotate(id, 3600)).body.token;
    const post = (token: string) =>
      as({ token }, service.restUrl)(
        'POST',
        '/contacts',
        { type: 'person', displayName: 'Once' },
        { 'Idempotency-Key': 'k' },
      );
    service.clock.startMinute();
    const [first, second] = [await post(old), await post(fresh)];
    expect(second.text).toBe(first.text);
    expect(
      Number(first.headers.get('x-ratelimit-remaining')) - Number(second.headers.get('x-ratelimit-remaining')),
    ).toBe(1);
  });

  test('129. a second rotation without overlap ends all older tokens', async () => {
    const { token: first, id } = await created({ name: 'Twice' });
    const second = (await rotate(id, 3600)).body.token;
    const third = (await rotate(id, 0)).body.token;
    expect(await Promise.all([first, second, third].map(async (token) => (await read(token)).status))).toEqual([
      401, 401, 200,
    ]);
  });

  test('130. a revoked key stops with the next request and cannot be rotated', async () => {
    const { token, id } = await created({ name: 'Revoked' });
    expect(await revoke(id)).toMatchObject({ status: 200, body: { state: 'revoked' } });
    expect((await read(token)).status).toBe(401);
    const rotated = await rotate(id, 0);
    expect([rotated.status, rotated.body.token]).toEqual([409, undefined]);
    expect((await revoke(id)).status).toBe(200);
  });

  test('an invalid overlap is rejected', async () => {
    const { id } = await created({ name: 'Overlap' });
    for (const overlap of [null, '', -1, 99_999_999, 1.5, 'toString'])
      expect([overlap, (await rotate(id, overlap)).status]).toEqual([overlap, 400]);
  });

  test('creating, rotating and revoking leave audit records with the person', async () => {
    const { id } = await created({ name: 'Recorded' });
    await rotate(id, 0);
    await revoke(id);
    const records = await service.sql(
      `select action, outcome, brokerage_id, user_id is not null as person, host(address) as address, request_id is not null as request
       from audit_records where subject_id = $1 order by at, id`,
      [id],
    );
    const common = { outcome: 'done', brokerage_id: tenant, person: true, address: '127.0.0.1', request: true };
    expect(records).toEqual(['create', 'rotate', 'revoke'].map((what) => ({ action: `api_key.${what}`, ...common })));
  });
});

describe('permissions for keys', () => {
  test('a broker sees no keys, and cannot create, rotate or revoke any', async () => {
    const { id } = await created({ name: 'Not for brokers' });
    expect((await ask(broker, keysOf())).body.items).toEqual([]);
    const made = await ask(broker, keysOf(), key());
    expect([made.status, made.body.token]).toEqual([409, undefined]);
    expect((await rotate(id, 0, broker)).status).toBe(404);
    expect((await revoke(id, broker)).status).toBe(404);
    const [row] = await service.sql('select revoked_at, rotated_at from api_keys where id = $1', [id]);
    expect(row).toEqual({ revoked_at: null, rotated_at: null });
  });

  test('an admin of another brokerage cannot see, create, rotate or revoke keys', async () => {
    const { token, id } = await created({ name: 'Ours' });
    expect((await ask(otherAdmin, keysOf())).status).toBe(404);
    expect((await ask(otherAdmin, keysOf(elsewhere))).body.items).toEqual([]);
    expect((await ask(otherAdmin, keysOf(), key({ name: 'Forged' }))).status).toBe(404);
    expect((await rotate(id, 0, otherAdmin)).status).toBe(404);
    expect((await revoke(id, otherAdmin)).status).toBe(404);
    expect((await read(token)).status).toBe(200);
  });

  test('133. an API key and a connected client create no keys, even those of an admin', async () => {
    const { token, id } = await created({ name: 'Would be maker' });
    const [row] = await service.sql<{ by: string }>('select created_by as by from api_keys where id = $1', [id]);
    const client = new pg.Client(service.connections.owner);
    await client.connect();
    const makes = async (identity: string, values: unknown[]) => {
      await client.query('begin');
      await client.query(`select ${identity}`, values);
      const made = client.query(
        `select app.create_api_key($1, 'Made', 'live', '{contacts:read}', null, null, $2, '0000', null, null)`,
        [tenant, mintApiKey('live').digest],
      );
      const reason = await made.then(
        () => 'done',
        (error: pg.DatabaseError) => error.hint,
      );
      await client.query('rollback');
      return reason;
    };
    expect(await makes('app.enter($1, null, null, null, null)', [row?.by])).toBe('done');
    expect(await makes('app.enter($1, app.uuid_v7(), null, null, null)', [row?.by])).toBe('not_an_admin');
    expect(await makes('app.enter_with_api_key($1)', [apiKeyDigest(token)])).toBe('not_an_admin');
    await client.end();
  });

  test('every scope can be chosen, and only an admin decides whether new deals admit keys', async () => {
    const { id } = await created({ name: 'All', scopes: keyScopes });
    expect((await listed(id)).scopes).toEqual(keyScopes);
    const admit = (visitor: Visitor, admitted: unknown) =>
      signedInWith(service, visitor.cookies.get('dealkeep') ?? '').ask(
        `/brokerages/${tenant}/key-admission`,
        { admitted },
        'PUT',
      );
    expect((await ask(admin, `/brokerages/${tenant}`)).body.admit_keys_by_default).toBe(false);
    expect((await admit(broker, true)).status).toBe(403);
    expect((await admit(otherAdmin, true)).status).toBe(404);
    expect((await admit(admin, 'yes')).status).toBe(400);
    expect(await admit(admin, true)).toMatchObject({ status: 200, body: { admit_keys_by_default: true } });
    const said = { industry: null, location: null, summary: null, asking_price: null, currency: 'USD' };
    const opened = await ask(broker, '/deals', { organization_id: tenant, title: 'A new deal', ...said });
    expect(opened.status).toBe(201);
    expect(await service.sql('select title, keys_admitted from deals where organization_id = $1', [tenant])).toEqual([
      { title: 'A new deal', keys_admitted: true },
    ]);
    expect(await admit(admin, false)).toMatchObject({ status: 200, body: { admit_keys_by_default: false } });
    const trail = await service.sql(
      `select details from audit_records where action = 'brokerage.admit_keys' and brokerage_id = $1 order by at, id`,
      [tenant],
    );
    expect(trail).toEqual([{ details: { admitted: true } }, { details: { admitted: false } }]);
  });

  test('requests without the CSRF token or a session are rejected', async () => {
    const before = await service.sql('select count(*) from api_keys');
    const post = (headers: Record<string, string>) =>
      fetch(`${service.origin}/api/web${keysOf()}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(key()),
      });
    expect((await post({ cookie: `dealkeep=${admin.cookies.get('dealkeep')}` })).status).toBe(403);
    expect((await post({})).status).toBe(403);
    expect((await fetch(`${service.origin}/api/web${keysOf()}`)).status).toBe(401);
    expect(await service.sql('select count(*) from api_keys')).toEqual(before);
  });
});
