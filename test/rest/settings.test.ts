/** Settings, API keys: what an admin does with them in a browser. */

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiKeyDigest, mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { hiddenField, openAccount, signedInVisitor, type Visitor } from '../auth/scene.ts';
import { openService, type TestService } from '../harness.ts';
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
const tokenIn = (markup: string) => /<pre[^>]*>(dk_(?:live|test)_[0-9a-f]{32})<\/pre>/.exec(markup)?.[1] ?? '';

/** Sends a form of the page with its CSRF token. */
async function send(visitor: Visitor, path: string, fields: Record<string, string>) {
  const csrf = hiddenField(await (await visitor.get('/settings/keys')).text(), 'csrf');
  const response = await visitor.form(path, { csrf, ...fields });
  return {
    status: response.status,
    location: response.headers.get('location'),
    markup: await response.text(),
    response,
  };
}

const key = (changes: Record<string, string> = {}) => ({
  brokerage: tenant,
  name: 'Accounting',
  scopes: 'contacts:read',
  environment: 'live',
  ceiling: '',
  expires: '',
  ...changes,
});

async function created(changes: Record<string, string> = {}) {
  const { status, markup, response } = await send(admin, '/settings/keys', key(changes));
  expect(status).toBe(200);
  expect(response.headers.get('cache-control')).toBe('no-store');
  const token = tokenIn(markup);
  const [row] = await service.sql<{ id: string }>(
    'select id from api_keys where name = $1 order by created_at desc limit 1',
    [changes['name'] ?? 'Accounting'],
  );
  return { token, id: row!.id };
}

describe('creating', () => {
  test('126. the token is shown once, works, and is nowhere afterwards', async () => {
    const { token } = await created({ name: 'Shown once', environment: 'test', ceiling: '77' });
    expect(token).toMatch(/^dk_test_[0-9a-f]{32}$/);
    const answer = await read(token);
    expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toEqual([200, '77']);
    expect(
      (await as({ token }, service.restUrl)('POST', '/contacts', { type: 'person', displayName: 'x' })).status,
    ).toBe(403);
    const list = await (await admin.get('/settings/keys')).text();
    expect(list).toContain('Shown once');
    expect(list).toContain(`dk_test_…${token.slice(-4)}`);
    expect(list).toContain('77 requests a minute');
    expect(list).not.toContain(token);
    expect(list).not.toContain(token.slice(8, -4));
  });

  test('the last use is shown', async () => {
    const { token } = await created({ name: 'Used' });
    const card = async () =>
      (await (await admin.get('/settings/keys')).text()).split('<h3>Used</h3>')[1]?.split('</section>')[0];
    expect(await card()).toMatch(/Last used<\/dt>\s*<dd>never/);
    await read(token);
    expect(await card()).toMatch(/Last used<\/dt>\s*<dd>\d{4}-\d\d-\d\d \d\d:\d\d UTC/);
  });

  test.each([
    [{ name: '' }, /name/],
    [{ name: 'x'.repeat(101) }, /name/],
    [{ name: 'a\nb' }, /name/],
    [{ scopes: '' }, /at least one/],
    [{ scopes: 'deals:write' }, /at least one/],
    [{ environment: 'prod' }, /live or test/],
    [{ ceiling: '0' }, /limit/],
    [{ ceiling: '100001' }, /limit/],
    [{ ceiling: '1e3' }, /limit/],
    [{ expires: 'tomorrow' }, /last day/],
    [{ expires: '2020-01-01' }, /future/],
    [{ expires: '0000-01-01' }, /./],
    [{ brokerage: 'x' }, /brokerage/],
  ])('%j is refused with a sentence, and nothing is made', async (changes, says) => {
    const before = await service.sql('select count(*) from api_keys');
    const { status, markup } = await send(admin, '/settings/keys', key(changes as Record<string, string>));
    expect(status).toBe(400);
    expect(/role="alert">([^<]*)/.exec(markup)?.[1]).toMatch(says);
    expect(await service.sql('select count(*) from api_keys')).toEqual(before);
  });

  test('a key ends with its last day', async () => {
    const day = new Date(service.clock.now().getTime() + 86_400_000).toISOString().slice(0, 10);
    const { id } = await created({ name: 'Until tomorrow', expires: day });
    const [row] = await service.sql<{ at: Date }>('select expires_at as at from api_keys where id = $1', [id]);
    expect(row?.at.toISOString()).toBe(`${day}T23:59:59.999Z`);
  });

  test('names are shown as they are written', async () => {
    await created({ name: '<script>alert(1)</script>' });
    const list = await (await admin.get('/settings/keys')).text();
    expect(list).not.toContain('<script>alert(1)');
    expect(list).toContain('&lt;script&gt;alert(1)');
  });

  test('124. it needs a sign-in of the last ten minutes', async () => {
    const account = await openAccount(service);
    await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
      tenant,
      account.id,
    ]);
    const visitor = await signedInVisitor(service, account);
    const csrf = hiddenField(await (await visitor.get('/settings/keys')).text(), 'csrf');
    service.clock.advance(11 * 60_000);
    const page = await (await visitor.get('/settings/keys')).text();
    expect(page).toContain('/re-authenticate?return_to=%2Fsettings%2Fkeys');
    expect(page).not.toContain('id="new"');
    const before = await service.sql('select count(*) from api_keys');
    const refused = await visitor.form('/settings/keys', { csrf, ...key() });
    expect([refused.status, refused.headers.get('location')]).toEqual([
      303,
      '/re-authenticate?return_to=%2Fsettings%2Fkeys',
    ]);
    expect(await service.sql('select count(*) from api_keys')).toEqual(before);
    service.clock.advance(-11 * 60_000);
  });
});

describe('rotating and revoking', () => {
  test.each([
    ['3600', 3_600_000],
    ['0', 0],
  ])('129. with an overlap of %s s the old token works until then, the new one at once', async (overlap, millis) => {
    const { token: old, id } = await created({ name: `Rotated ${overlap}`, scopes: 'contacts:read' });
    const now = service.clock.now();
    const { status, markup } = await send(admin, `/settings/keys/${id}/rotate`, { overlap });
    const fresh = tokenIn(markup);
    expect([status, fresh === old]).toEqual([200, false]);
    expect((await read(fresh)).status).toBe(200);
    if (millis > 0) {
      expect((await read(old)).status).toBe(200);
      expect(await (await admin.get('/settings/keys')).text()).toContain(`…${old.slice(-4)}`);
      service.clock.set(new Date(now.getTime() + millis - 30_000));
      expect((await read(old)).status).toBe(200);
      service.clock.set(new Date(now.getTime() + millis + 30_000));
    }
    expect((await read(old)).status).toBe(401);
    expect((await read(fresh)).status).toBe(200);
    service.clock.set(now);
  });

  test('both tokens of a key count together and share what may be repeated', async () => {
    const { token: old, id } = await created({ name: 'Shared', scopes: 'contacts:write', ceiling: '50' });
    const fresh = tokenIn((await send(admin, `/settings/keys/${id}/rotate`, { overlap: '3600' })).markup);
    const post = (token: string) =>
      as({ token }, service.restUrl)(
        'POST',
        '/contacts',
        { type: 'person', displayName: 'Once' },
        { 'Idempotency-Key': 'k' },
      );
    const [first, second] = [await post(old), await post(fresh)];
    expect(second.text).toBe(first.text);
    expect(
      Number(first.headers.get('x-ratelimit-remaining')) - Number(second.headers.get('x-ratelimit-remaining')),
    ).toBe(1);
  });

  test('129. a second rotation ends what is older, and never prolongs it', async () => {
    const { token: first, id } = await created({ name: 'Twice' });
    const second = tokenIn((await send(admin, `/settings/keys/${id}/rotate`, { overlap: '3600' })).markup);
    const third = tokenIn((await send(admin, `/settings/keys/${id}/rotate`, { overlap: '0' })).markup);
    expect(await Promise.all([first, second, third].map(async (token) => (await read(token)).status))).toEqual([
      401, 401, 200,
    ]);
  });

  test('130. a revoked key stops with the next request and cannot come back', async () => {
    const { token, id } = await created({ name: 'Revoked' });
    const revoked = await send(admin, `/settings/keys/${id}/revoke`, {});
    expect([revoked.status, revoked.location]).toEqual([303, '/settings/keys?done=revoked']);
    expect((await read(token)).status).toBe(401);
    const rotated = await send(admin, `/settings/keys/${id}/rotate`, { overlap: '0' });
    expect([rotated.status, tokenIn(rotated.markup)]).toEqual([400, '']);
    expect((await send(admin, `/settings/keys/${id}/revoke`, {})).status).toBe(303);
  });

  test('an overlap that is not offered is refused', async () => {
    const { id } = await created({ name: 'Overlap' });
    for (const overlap of ['', '-1', '99999999', 'toString'])
      expect((await send(admin, `/settings/keys/${id}/rotate`, { overlap })).status).toBe(400);
  });

  test('each leaves a record of who did it', async () => {
    const { id } = await created({ name: 'Recorded' });
    await send(admin, `/settings/keys/${id}/rotate`, { overlap: '0' });
    await send(admin, `/settings/keys/${id}/revoke`, {});
    const records = await service.sql(
      `select action, outcome, brokerage_id, user_id is not null as person, host(address) as address, request_id is not null as request
       from audit_records where subject_id = $1 order by at, id`,
      [id],
    );
    const common = { outcome: 'done', brokerage_id: tenant, person: true, address: '127.0.0.1', request: true };
    expect(records).toEqual(['create', 'rotate', 'revoke'].map((what) => ({ action: `api_key.${what}`, ...common })));
  });
});

describe('who may', () => {
  test('a broker sees no keys and makes none', async () => {
    const { id } = await created({ name: 'Not for brokers' });
    const page = await (await broker.get('/settings/keys')).text();
    expect(page).toContain('You are not one.');
    expect(page).not.toContain('Not for brokers');
    const made = await send(broker, '/settings/keys', key());
    expect([made.status, tokenIn(made.markup)]).toEqual([400, '']);
    expect((await send(broker, `/settings/keys/${id}/rotate`, { overlap: '0' })).status).toBe(404);
    expect((await send(broker, `/settings/keys/${id}/revoke`, {})).status).toBe(400);
    const [row] = await service.sql('select revoked_at, rotated_at from api_keys where id = $1', [id]);
    expect(row).toEqual({ revoked_at: null, rotated_at: null });
  });

  test('an admin of another brokerage has nothing to do with it', async () => {
    const { token, id } = await created({ name: 'Ours' });
    expect(await (await otherAdmin.get('/settings/keys')).text()).not.toContain('Ours');
    expect((await send(otherAdmin, '/settings/keys', key({ name: 'Forged' }))).status).toBe(400);
    expect((await send(otherAdmin, `/settings/keys/${id}/rotate`, { overlap: '0' })).status).toBe(404);
    expect((await send(otherAdmin, `/settings/keys/${id}/revoke`, {})).status).toBe(400);
    expect((await read(token)).status).toBe(200);
  });

  test('133. an API key and a connected client make no keys, even of an admin', async () => {
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

  test('nothing happens without the CSRF token or a session', async () => {
    const before = await service.sql('select count(*) from api_keys');
    expect((await admin.form('/settings/keys', key())).status).toBe(403);
    const nobody = await fetch(`${service.origin}/settings/keys`, {
      redirect: 'manual',
      headers: { accept: 'text/html' },
    });
    expect([nobody.status, nobody.headers.get('location')]).toEqual([303, '/sign-in?return_to=%2Fsettings%2Fkeys']);
    expect(await service.sql('select count(*) from api_keys')).toEqual(before);
  });
});
