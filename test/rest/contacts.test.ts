import { randomBytes } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiKeyDigest } from '../../server/domain/clients/api-keys.ts';
import { contactsPage } from '../../server/domain/contacts/contacts.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage, type Brokerage } from './scene.ts';

let service: TestService;
let ours: Brokerage;
let theirs: Brokerage;
let call: ReturnType<typeof as>;

beforeAll(async () => {
  service = await openService({ config: { rateLimits: { ...(await limits()) } } });
  ours = await brokerage(service);
  theirs = await brokerage(service);
  call = as(await ours.key(), service.restUrl);
});
afterAll(() => service.close());

async function limits() {
  const { readConfig } = await import('../../server/config/config.ts');
  return { ...readConfig({}).rateLimits, rest_ip: 1_000_000, rest_auth_failure_ip: 1_000_000 };
}

/** Sends a request without the headers that fetch adds, and does not decompress the response. */
const request = (url: string, method: string, headers: Record<string, string>) =>
  new Promise<{ status: number; headers: IncomingHttpHeaders & Record<string, string>; bytes: Buffer }>(
    (resolve, reject) => {
      httpRequest(url, { method, headers }, (response) => {
        const answered = { status: response.statusCode ?? 0, headers: response.headers as Record<string, string> };
        buffer(response).then((bytes) => resolve({ ...answered, bytes }), reject);
      })
        .on('error', reject)
        .end();
    },
  );

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('creating and reading', () => {
  test('a contact is returned as created, and the same when read again', async () => {
    const made = await call('POST', '/contacts', {
      type: 'company',
      displayName: 'Harbor Marine Supply',
      email: 'hello@harbor.example',
      phone: '+1 207 555 0114',
    });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.stringMatching(uuid),
      type: 'company',
      displayName: 'Harbor Marine Supply',
      email: 'hello@harbor.example',
      phone: '+1 207 555 0114',
      createdAt: expect.stringMatching(time),
      updatedAt: expect.stringMatching(time),
    });
    expect(made.headers.get('location')).toBe(`/api/v1/contacts/${made.body?.id}`);
    const read = await call('GET', `/contacts/${made.body?.id}`);
    expect([read.status, read.body]).toEqual([200, made.body]);
    expect(read.headers.get('content-type')).toMatch(/^application\/json/);
    expect(read.headers.get('cache-control')).toBe('no-store');
  });

  test('properties that were not sent are null', async () => {
    const made = await call('POST', '/contacts', { type: 'person', displayName: 'Iris Okafor' });
    expect(made.body).toMatchObject({ type: 'person', email: null, phone: null });
  });

  test('names keep every character', async () => {
    for (const displayName of [
      'Łukasz 🏝️ & Söhne "Ltd" \\ </script>',
      '​x',
      "O'Neil\n二",
      'x'.repeat(500),
      '😀'.repeat(501),
      'é'.repeat(20_000),
      // Hardly compressible, so that no index could hold it.
      randomBytes(30_000).toString('base64url'),
    ]) {
      const made = await call('POST', '/contacts', { type: 'person', displayName });
      expect(made.status).toBe(201);
      expect((await call('GET', `/contacts/${made.body?.id}`)).body?.displayName).toBe(displayName);
    }
  });

  test('a name or phone number may be as long as the body allows', async () => {
    const empty = JSON.stringify({ type: 'person', displayName: '', phone: '' }).length;
    const half = (65_536 - empty) / 2;
    const contact = { type: 'person', displayName: 'n'.repeat(Math.ceil(half)), phone: '1'.repeat(Math.floor(half)) };
    const made = await call('POST', '/contacts', contact);
    expect([made.status, made.body]).toMatchObject([201, contact]);
    expect((await call('GET', `/contacts/${made.body?.id}`)).body).toMatchObject(contact);
    expect((await call('POST', '/contacts', { ...contact, phone: `${contact.phone}1` })).status).toBe(413);
  });

  test('a key with contacts:write alone gets the created contact in the response', async () => {
    const writer = as(await ours.key({ scopes: ['contacts:write'] }), service.restUrl);
    const made = await writer('POST', '/contacts', { type: 'person', displayName: 'Written blind' });
    expect(made.status).toBe(201);
    expect((await writer('GET', `/contacts/${made.body?.id}`)).status).toBe(403);
    expect((await call('GET', `/contacts/${made.body?.id}`)).body).toEqual(made.body);
  });

  test("another brokerage's, archived, unknown and malformed ids all return the same 404", async () => {
    const foreign = await as(await theirs.key(), service.restUrl)('POST', '/contacts', {
      type: 'person',
      displayName: 'Theirs',
    });
    const archived = await call('POST', '/contacts', { type: 'person', displayName: 'Archived' });
    await service.sql('update contacts set archived_at = app.now() where id = $1', [archived.body?.id]);
    const answers = [];
    for (const id of [
      foreign.body?.id,
      archived.body?.id,
      crypto.randomUUID(),
      'not-a-uuid',
      `{${foreign.body?.id}}`,
      '%00',
      'a%2Fb',
    ])
      answers.push(await call('GET', `/contacts/${id}`));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.body).toEqual({ error: { code: 'contact_not_found', message: 'There is no such contact.' } });
  });

  test('nothing in the URL, headers or body changes the brokerage', async () => {
    const made = await call(
      'POST',
      `/contacts?brokerage_id=${theirs.id}`,
      { type: 'person', displayName: 'Stays' },
      { 'X-Brokerage-Id': theirs.id },
    );
    const [row] = await service.sql('select brokerage_id, created_by, created_by_key from contacts where id = $1', [
      made.body?.id,
    ]);
    expect(row).toMatchObject({ brokerage_id: ours.id, created_by: null });
    expect(row?.['created_by_key']).not.toBeNull();
    const refused = await call('POST', '/contacts', { type: 'person', displayName: 'x', brokerage_id: theirs.id });
    expect(refused.status).toBe(400);
    expect((await call('GET', `/contacts?limit=200&brokerage_id=${theirs.id}`)).text).not.toContain('Theirs');
  });
});

describe('listing', () => {
  async function pages(get: typeof call, limit: number, between = async () => {}) {
    const seen: string[][] = [];
    let cursor: string | null = null;
    do {
      const page = await get('GET', `/contacts?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`);
      expect(page.status).toBe(200);
      seen.push(page.body!.data.map(({ displayName }) => displayName));
      cursor = page.body!.pagination.nextCursor;
      expect(page.body!.pagination.hasMore).toBe(cursor !== null);
      await between();
    } while (cursor !== null);
    return seen;
  }

  test('pages are newest first, and no contact is repeated or skipped while others are added', async () => {
    const tenant = await brokerage(service);
    const get = as(await tenant.key(), service.restUrl);
    // Several contacts share a millisecond; the id decides their order.
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name, created_at)
       select $1, 'person', 'n' || n, '2026-01-01'::timestamptz + (n / 7) * interval '1 ms' from generate_series(1, 60) n`,
      [tenant.id],
    );
    const expected = await service.sql<{ display_name: string }>(
      'select display_name from contacts where brokerage_id = $1 order by created_at desc, id desc',
      [tenant.id],
    );
    let added = 0;
    const add = async () =>
      void (await get('POST', '/contacts', { type: 'person', displayName: `added ${(added += 1)}` }));
    const seen = await pages(get, 7, add);
    expect(seen.flat()).toEqual(expected.map((row) => row.display_name));
    expect(seen.map((page) => page.length)).toEqual([7, 7, 7, 7, 7, 7, 7, 7, 4]);
    expect((await pages(get, 200))[0]).toHaveLength(60 + added);
  });

  test('a page is a single scan of the index contacts_in_order, wherever it starts', async () => {
    const tenant = await brokerage(service);
    const { token } = await tenant.key();
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name, created_at)
       select $1, 'person', 'n' || n, app.now() - n * interval '1 second' from generate_series(1, 2000) n`,
      [tenant.id],
    );
    await service.sql('analyze contacts');
    const client = new pg.Client(service.connections.server);
    await client.connect();
    await client.query('begin');
    let fetched = 0;
    for (const after of [null, { createdAt: service.clock.now().toISOString(), id: tenant.id }]) {
      const { text, values } = contactsPage(51, after).enter(apiKeyDigest(token)!);
      const { rows } = await client.query<{ answer: string }>(text, [...values]);
      expect(rows[0]!.answer.length).toBeGreaterThan(51 * 36);
      const { rows: read } = await client.query(
        `select coalesce(sum(idx_tup_fetch), 0)::int as fetched, coalesce(sum(seq_tup_read), 0)::int as scanned
         from pg_stat_xact_user_tables where relname = 'contacts'`,
      );
      expect(read).toEqual([{ fetched: (fetched += 51), scanned: 0 }]);
      const { rows: used } = await client.query<{ indexrelname: string }>(
        `select i.indexrelname from pg_stat_user_indexes i where i.relname = 'contacts' and pg_stat_get_xact_numscans(i.indexrelid) > 0`,
      );
      expect(used).toEqual([{ indexrelname: 'contacts_in_order' }]);
    }
    await client.end();
  });

  test('a page holds 50 contacts by default and 1 to 200 by limit, and the last has hasMore false', async () => {
    const tenant = await brokerage(service);
    const get = as(await tenant.key(), service.restUrl);
    expect((await get('GET', '/contacts')).body).toEqual({
      data: [],
      pagination: { hasMore: false, nextCursor: null },
    });
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name) select $1, 'person', 'n' || n from generate_series(1, 201) n`,
      [tenant.id],
    );
    const sizes = async (query: string) => {
      const { body } = await get('GET', `/contacts${query}`);
      return [body!.data.length, body!.pagination.hasMore];
    };
    expect(await sizes('')).toEqual([50, true]);
    expect(await sizes('?limit=1')).toEqual([1, true]);
    expect(await sizes('?limit=200')).toEqual([200, true]);
    expect(await sizes('?unknown=1&limit=3')).toEqual([3, true]);
    const first = await get('GET', '/contacts?limit=200');
    expect(await sizes(`?limit=200&cursor=${first.body!.pagination.nextCursor}`)).toEqual([1, false]);
    await service.sql('update contacts set archived_at = app.now() where brokerage_id = $1 and display_name <> $2', [
      tenant.id,
      'n7',
    ]);
    expect(await sizes('')).toEqual([1, false]);
  });

  test.each([
    '0',
    '201',
    '1e3',
    '-1',
    'abc',
    '',
    '01',
    '+5',
    '5.0',
    '5 ',
    ' 5',
    '٥',
    '0x10',
    '99999999999999999999',
    'NaN',
    '1&limit=2',
  ])('a limit of "%s" is rejected, not clamped', async (limit) => {
    const { status, body } = await call(
      'GET',
      `/contacts?limit=${limit.includes('&') ? limit : encodeURIComponent(limit)}`,
    );
    expect(status).toBe(400);
    expect(body?.error).toMatchObject({
      code: 'validation_error',
      details: { faults: [{ in: 'query', path: 'limit' }] },
    });
  });

  test('a cursor altered in any one character is rejected', async () => {
    for (let n = 0; n < 3; n += 1) await call('POST', '/contacts', { type: 'person', displayName: `c${n}` });
    const cursor = (await call('GET', '/contacts?limit=1')).body!.pagination.nextCursor!;
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const altered: string[] = [];
    for (let at = 0; at < cursor.length; at += 1) {
      const others = at === cursor.length - 1 ? [...alphabet] : [alphabet[(alphabet.indexOf(cursor[at]!) + 1) % 64]!];
      for (const other of others)
        if (other !== cursor[at]) altered.push(cursor.slice(0, at) + other + cursor.slice(at + 1));
    }
    altered.push(
      cursor.slice(0, -1),
      `${cursor}A`,
      `${cursor}=`,
      cursor.slice(4),
      '',
      ' ',
      'abc',
      '💥',
      `${cursor}&cursor=${cursor}`,
    );
    const answers = await Promise.all(
      altered.map((bad) => call('GET', `/contacts?cursor=${bad.includes('&') ? bad : encodeURIComponent(bad)}`)),
    );
    for (const { status, body } of answers) {
      expect(status).toBe(400);
      expect(body?.error).toMatchObject({
        code: 'validation_error',
        details: { faults: [{ in: 'query', path: 'cursor' }] },
      });
    }
    expect((await call('GET', `/contacts?cursor=${cursor}`)).status).toBe(200);
  });

  test('a cursor of another brokerage is rejected', async () => {
    const cursor = (await call('GET', '/contacts?limit=1')).body!.pagination.nextCursor!;
    const other = await as(await theirs.key(), service.restUrl)('GET', `/contacts?cursor=${cursor}`);
    expect([other.status, other.body?.error.code]).toEqual([400, 'validation_error']);
    // Another key of the same brokerage may continue with the cursor.
    expect((await as(await ours.key(), service.restUrl)('GET', `/contacts?cursor=${cursor}`)).status).toBe(200);
  });
});

describe('methods and paths', () => {
  test.each([
    ['DELETE', '/contacts', 'GET, HEAD, POST, OPTIONS'],
    ['PUT', '/contacts', 'GET, HEAD, POST, OPTIONS'],
    ['PUT', '/contacts/1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed', 'GET, HEAD, PATCH, OPTIONS'],
    ['DELETE', '/contacts/1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed', 'GET, HEAD, PATCH, OPTIONS'],
    ['POST', '/openapi.json', 'GET, HEAD, OPTIONS'],
    ['POST', '/docs', 'GET, HEAD, OPTIONS'],
    ['QUERY', '/contacts', 'GET, HEAD, POST, OPTIONS'],
  ])('%s %s is 405 and lists the allowed methods', async (method, path, allow) => {
    const { status, headers, body } = await call(method, path);
    expect([status, headers.get('allow'), body?.error.code]).toEqual([405, allow, 'method_not_allowed']);
    expect(body?.error.message).toContain(allow);
  });

  test.each([
    '',
    '/',
    '/contact',
    '/contacts/',
    '/contacts/a/b',
    '/dealings',
    '/CONTACTS',
    '/%2e%2e',
    '/contacts%2f',
    '/docs/',
    '/docs/nothing',
    '/docs/../openapi',
  ])('an unknown path "%s" is 404 not_found', async (path) => {
    for (const get of [call, as(null, service.restUrl)]) {
      const { status, body } = await get('GET', path);
      expect([status, body?.error.code]).toEqual([404, 'not_found']);
    }
  });

  test('HEAD sends no body, OPTIONS lists the methods, and neither sends CORS headers', async () => {
    const head = await call('HEAD', '/contacts?limit=1', undefined, { Origin: 'https://elsewhere.example' });
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers.get('x-ratelimit-limit')).not.toBeNull();
    const options = await call('OPTIONS', '/contacts', undefined, {
      Origin: 'https://elsewhere.example',
      'Access-Control-Request-Method': 'POST',
    });
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, POST, OPTIONS']);
    for (const { headers } of [head, options])
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('caching and compression', () => {
  const raw = (key: { token: string }, path: string, headers: Record<string, string> = {}, method = 'GET') =>
    request(service.restUrl + path, method, { Authorization: `Bearer ${key.token}`, ...headers });

  test('If-None-Match gets a 304 until the resource changes', async () => {
    const tenant = await brokerage(service);
    const key = await tenant.key();
    const made = await as(key, service.restUrl)('POST', '/contacts', { type: 'person', displayName: 'Ada' });
    for (const path of ['/contacts', '/contacts?limit=3', `/contacts/${made.body!.id}`]) {
      const first = await raw(key, path);
      const tag = first.headers['etag']!;
      expect([first.status, tag]).toEqual([200, expect.stringMatching(/^"[\w.-]+"$/)]);
      expect(first.headers['vary']).toBe('Accept-Encoding');
      for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
        const again = await raw(key, path, { 'If-None-Match': known });
        expect([again.status, again.bytes.length, again.headers['etag']]).toEqual([304, 0, tag]);
        expect(again.headers['x-ratelimit-limit']).toBe('100000');
      }
      for (const other of ['"other"', tag.slice(1, -1), '', ','.repeat(5_000)])
        expect((await raw(key, path, { 'If-None-Match': other })).status).toBe(200);
      const head = await raw(key, path, {}, 'HEAD');
      expect([head.status, head.headers['etag'], head.bytes.length]).toEqual([200, tag, 0]);
      expect(head.headers['content-length']).toBe(first.headers['content-length']);
      expect((await raw(key, path, { 'If-None-Match': tag }, 'HEAD')).status).toBe(304);
    }
    const tag = (await raw(key, '/contacts')).headers['etag']!;
    await as(key, service.restUrl)('POST', '/contacts', { type: 'person', displayName: 'Bo' });
    expect((await raw(key, '/contacts', { 'If-None-Match': tag })).status).toBe(200);
    // Only a key that may read the list learns that it has not changed.
    const writer = await tenant.key({ scopes: ['contacts:write'] });
    expect((await raw(writer, '/contacts', { 'If-None-Match': '*' })).status).toBe(403);
  });

  test('longer responses are compressed as Accept-Encoding allows', async () => {
    const tenant = await brokerage(service);
    const key = await tenant.key();
    const short = await raw(key, '/contacts', { 'Accept-Encoding': 'br, gzip' });
    expect([short.headers['content-encoding'], short.headers['vary']]).toEqual([undefined, 'Accept-Encoding']);
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name) select $1, 'person', 'Zoë ' || n from generate_series(1, 60) n`,
      [tenant.id],
    );
    const plain = await raw(key, '/contacts');
    expect(plain.headers['content-encoding']).toBeUndefined();
    const unpacked = { br: brotliDecompressSync, gzip: gunzipSync };
    for (const [accepted, encoding] of [
      ['gzip', 'gzip'],
      ['gzip, deflate, br', 'br'],
      ['br;q=0.5, gzip;q=1.0', 'gzip'],
      ['GZIP;q=0.1', 'gzip'],
      ['*', 'br'],
      ['*, br;q=0', 'gzip'],
    ] as const) {
      const packed = await raw(key, '/contacts', { 'Accept-Encoding': accepted });
      expect([accepted, packed.headers['content-encoding']]).toEqual([accepted, encoding]);
      expect(unpacked[encoding](packed.bytes).equals(plain.bytes)).toBe(true);
      expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 3);
      expect(packed.headers['etag']).toBe(`${plain.headers['etag']!.slice(0, -1)}-${encoding}"`);
      for (const known of [packed.headers['etag']!, plain.headers['etag']!])
        expect((await raw(key, '/contacts', { 'Accept-Encoding': accepted, 'If-None-Match': known })).status).toBe(304);
      const head = await raw(key, '/contacts', { 'Accept-Encoding': accepted }, 'HEAD');
      expect([head.headers['content-encoding'], head.headers['etag']]).toEqual([encoding, packed.headers['etag']]);
      expect(head.bytes.length).toBe(0);
    }
    for (const accepted of ['', 'identity', 'gzip;q=0', 'br;q=x', 'zstd', 'identity, gzip;q=0.5', ';,q=1'.repeat(400)])
      expect(
        (await raw(key, '/contacts', { 'Accept-Encoding': accepted })).headers['content-encoding'],
      ).toBeUndefined();
    // Error responses are not compressed.
    const refused = await raw(key, `/contacts?cursor=${'x'.repeat(3_000)}`, { 'Accept-Encoding': 'gzip' });
    expect([refused.status, refused.headers['content-encoding']]).toEqual([400, undefined]);
  });
});

describe('the first three operations never change, byte for byte', () => {
  /** Headers that a response may have in addition, because a client that does not know them ignores them. */
  const besides = new Set(['etag', 'vary', 'link', 'connection', 'keep-alive', 'date', 'transfer-encoding']);
  const told = {
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'content-type': 'application/json',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'x-request-id': 'pinned',
  };
  const counted = { ...told, 'x-ratelimit-limit': '100000', 'x-ratelimit-remaining': 'n', 'x-ratelimit-reset': 'n' };

  async function pinned(key: { token: string } | null, method: string, path: string, body?: string, more = {}) {
    const answer = await as(key, service.restUrl)(method, path, body, {
      'X-Request-Id': 'pinned',
      'Accept-Encoding': 'identity',
      ...more,
    });
    const headers = Object.fromEntries([...answer.headers].filter(([name]) => !besides.has(name)));
    for (const name of ['x-ratelimit-remaining', 'x-ratelimit-reset'])
      if (name in headers) headers[name] = headers[name]!.replace(/^\d+$/, 'n');
    return { status: answer.status, headers, text: answer.text };
  }
  const sized = (headers: object, text: string) => ({
    ...headers,
    'content-length': String(Buffer.byteLength(text)),
  });

  test('status, headers and bodies of successful requests', async () => {
    const tenant = await brokerage(service);
    const key = await tenant.key();
    const body = '{"phone":"+1 207 555 0114","type":"company","displayName":"Zoë & <Söhne>","email":"Z@Example.test"}';
    const made = await pinned(key, 'POST', '/contacts', body, { 'Idempotency-Key': 'pin' });
    const id = made.text.slice(7, 43);
    const at = made.text.slice(-26, -2);
    expect(at).toMatch(time);
    const contact = `{"id":"${id}","type":"company","displayName":"Zoë & <Söhne>","email":"Z@Example.test","phone":"+1 207 555 0114","createdAt":"${at}","updatedAt":"${at}"}`;
    const created = { ...counted, location: `/api/v1/contacts/${id}` };
    expect(made).toEqual({ status: 201, headers: sized(created, contact), text: contact });
    expect(await pinned(key, 'POST', '/contacts', body, { 'Idempotency-Key': 'pin' })).toEqual({
      status: 201,
      headers: { ...sized(created, contact), 'idempotent-replayed': 'true' },
      text: contact,
    });
    expect(await pinned(key, 'GET', `/contacts/${id}`)).toEqual({
      status: 200,
      headers: sized(counted, contact),
      text: contact,
    });
    const list = `{"data":[${contact}],"pagination":{"hasMore":false,"nextCursor":null}}`;
    expect(await pinned(key, 'GET', '/contacts')).toEqual({ status: 200, headers: sized(counted, list), text: list });
    const plain = await pinned(key, 'POST', '/contacts', '{"type":"person","displayName":"A"}');
    expect(plain.text).toBe(
      `{"id":"${plain.text.slice(7, 43)}","type":"person","displayName":"A","email":null,"phone":null,"createdAt":"${plain.text.slice(-26, -2)}","updatedAt":"${plain.text.slice(-26, -2)}"}`,
    );
    const page = await pinned(key, 'GET', '/contacts?limit=1&unknown=1');
    expect(page.text).toMatch(/^\{"data":\[\{"id":.*\}\],"pagination":\{"hasMore":true,"nextCursor":"[\w-]{51}"\}\}$/);
    // The cursor is sealed for the plain list, as it always was.
    const cursor = (JSON.parse(page.text) as { pagination: { nextCursor: string } }).pagination.nextCursor;
    expect((await pinned(key, 'GET', `/contacts?limit=1&cursor=${cursor}`)).text).toBe(list);
  });

  test('status, headers and bodies of rejected requests', async () => {
    const tenant = await brokerage(service);
    const full = await tenant.key();
    const reader = await tenant.key({ scopes: ['contacts:read'] });
    const writer = await tenant.key({ scopes: ['contacts:write'] });
    const envelope = (code: string, message: string, details?: string) =>
      `{"error":{"code":"${code}","message":"${message}"${details === undefined ? '' : `,"details":${details}`}}}`;
    const fault = (where: string, path: string, message: string) =>
      `{"in":"${where}","path":"${path}","message":"${message}"}`;
    const invalid = (where: string, path: string, message: string) =>
      envelope('validation_error', `${path}: ${message}`, `{"faults":[${fault(where, path, message)}]}`);
    const refuse = async (asked: Promise<unknown>, status: number, headers: object, text: string) =>
      expect(await asked).toEqual({ status, headers: sized(headers, text), text });
    const realm = 'Bearer realm="dealkeep"';

    await refuse(
      pinned(null, 'GET', '/contacts'),
      401,
      { ...told, 'www-authenticate': realm },
      envelope('invalid_token', 'Send an API key in the header Authorization: Bearer <key>.'),
    );
    await refuse(
      pinned({ token: 'dk_live_x' }, 'GET', '/contacts'),
      401,
      { ...told, 'www-authenticate': `${realm}, error="invalid_token"` },
      envelope('invalid_token', 'This API key is not valid: it is unknown, expired, revoked or replaced.'),
    );
    for (const [key, method, scope] of [
      [reader, 'POST', 'contacts:write'],
      [writer, 'GET', 'contacts:read'],
    ] as const)
      await refuse(
        pinned(key, method, '/contacts', method === 'POST' ? '{"type":"person","displayName":"A"}' : undefined),
        403,
        { ...counted, 'www-authenticate': `${realm}, error="insufficient_scope", scope="${scope}"` },
        envelope(
          'insufficient_scope',
          `This needs an API key with the scope ${scope}.`,
          `{"required_scope":"${scope}"}`,
        ),
      );
    await refuse(
      pinned(full, 'GET', '/contacts/none'),
      404,
      counted,
      envelope('contact_not_found', 'There is no such contact.'),
    );
    await refuse(
      pinned(full, 'GET', '/contacts?limit=0'),
      400,
      counted,
      invalid('query', 'limit', 'Send one whole number from 1 to 200.'),
    );
    await refuse(
      pinned(full, 'GET', '/contacts?cursor=x'),
      400,
      counted,
      invalid(
        'query',
        'cursor',
        'Send nextCursor from an earlier response for this brokerage, unchanged, or leave it out to start again.',
      ),
    );
    await refuse(
      pinned(full, 'POST', '/contacts', '{"type":"person","displayName":"A","externalId":"1"}'),
      400,
      counted,
      invalid('body', 'externalId', 'There is no such property: leave it out.'),
    );
    await refuse(
      pinned(full, 'POST', '/contacts', '{"type":"person","displayName":"A","email":null}'),
      400,
      counted,
      invalid('body', 'email', 'Send a text, or leave the property out.'),
    );
    await refuse(
      pinned(full, 'POST', '/contacts', '{}', { 'Content-Type': 'text/plain' }),
      415,
      counted,
      invalid('header', 'Content-Type', 'Send JSON with the header Content-Type: application/json.'),
    );
    await refuse(
      pinned(full, 'POST', '/contacts', '{"type":"person","displayName":"A"}', { 'Idempotency-Key': '' }),
      400,
      counted,
      invalid(
        'header',
        'Idempotency-Key',
        'Send one key of 1 to 255 visible ASCII characters, or leave the header out.',
      ),
    );
    await pinned(full, 'POST', '/contacts', '{"type":"person","displayName":"A"}', { 'Idempotency-Key': 'k' });
    await refuse(
      pinned(full, 'POST', '/contacts', '{"type":"person","displayName":"B"}', { 'Idempotency-Key': 'k' }),
      400,
      counted,
      invalid(
        'header',
        'Idempotency-Key',
        'This Idempotency-Key was used with another body within the last 24 hours: send the same body, or use a new key.',
      ),
    );
    const allow = 'GET, HEAD, POST, OPTIONS';
    await refuse(
      pinned(full, 'PUT', '/contacts', '{}'),
      405,
      { ...told, allow },
      envelope('method_not_allowed', `PUT is not allowed here, only ${allow}.`),
    );
  });
});
