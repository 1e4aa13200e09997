/**
 * The REST list of contacts as read by systems that synchronise with it: filtered, sorted, page by page, by an index.
 */

import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { apiKeyDigest } from '../../server/domain/clients/api-keys.ts';
import { contactsThatFit } from '../../server/domain/contacts/records.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage, codeOf, type Brokerage, type ContactRecord } from './scene.ts';

let service: TestService;
let tenant: Brokerage;
let get: ReturnType<typeof as>;
beforeAll(async () => {
  service = await openService({ config: { rateLimits: { ...readConfig({}).rateLimits, rest_ip: 1_000_000 } } });
  tenant = await brokerage(service);
  get = as(await tenant.key(), service.restUrl);
  // Every seventh is a company and every fifth archived; three share each name, and three were changed in each
  // millisecond.
  await service.sql(
    `insert into contacts (brokerage_id, type, display_name, email, phone, external_id, created_at, updated_at, archived_at)
     select $1, case when n % 7 = 0 then 'company' else 'person' end, (array['Ödön', 'adam', 'Zoe', 'Bea'])[n % 4 + 1] || ' ' || n % 10,
       case when n % 3 = 0 then 'Info' || n % 9 || '@Example.test' end, '+1 555 ' || lpad(n::text, 4, '0'), 'x-' || n,
       '2026-01-01'::timestamptz + n * interval '1 minute', '2026-02-01'::timestamptz + ((n * 37) % 60 / 3) * interval '1 ms',
       case when n % 5 = 0 then '2026-03-01'::timestamptz end from generate_series(1, 60) n`,
    [tenant.id],
  );
});
afterAll(() => service.close());

type Reply = Awaited<ReturnType<typeof get>>;

async function walk(query: string, limit = 7, ask = get): Promise<ContactRecord[]> {
  const seen: ContactRecord[] = [];
  let cursor: string | null = null;
  do {
    const page: Reply = await ask(
      'GET',
      `/contacts?limit=${limit}&${query}${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    expect([query, page.status]).toEqual([query, 200]);
    seen.push(...(page.body!.data as ContactRecord[]));
    cursor = page.body!.pagination.nextCursor;
  } while (cursor !== null);
  return seen;
}

test('a page may end with a name of which nothing is left to sort by', async () => {
  const ask = as(await (await brokerage(service)).key(), service.restUrl);
  for (const displayName of ['b', '\u0301', 'a'])
    expect((await ask('POST', '/contacts', { type: 'person', displayName })).status).toBe(201);
  const found = await walk('sort=displayName', 1, ask);
  expect(found.map(({ displayName }) => displayName)).toEqual(['\u0301', 'a', 'b']);
});

const since = encodeURIComponent('2026-02-01T01:00:00.008+01:00');
test.each([
  ['', 'archived_at is null', 'created_at desc, id desc'],
  ['archived=false&sort=-createdAt', 'archived_at is null', 'created_at desc, id desc'],
  ['archived=only', 'archived_at is not null', 'created_at desc, id desc'],
  ['archived=true', 'true', 'created_at desc, id desc'],
  ['sort=displayName', 'archived_at is null', `translate(lower(display_name), 'ö', 'o'), id`],
  ['sort=displayName&archived=true&type=person', `type = 'person'`, `translate(lower(display_name), 'ö', 'o'), id`],
  ['sort=updatedAt', 'archived_at is null', 'updated_at, id'],
  ['sort=updatedAt&archived=true', 'true', 'updated_at, id'],
  ['type=company&archived=true', `type = 'company'`, 'created_at desc, id desc'],
  [`updatedSince=${since}`, `archived_at is null and updated_at >= '2026-02-01 00:00:00.008Z'`, 'updated_at, id'],
  // Offsets and fractions of a second that PostgreSQL does not accept.
  [`updatedSince=1970-01-01T23:58:59.${'9'.repeat(150)}%2B23:59`, 'archived_at is null', 'updated_at, id'],
  [`updatedSince=1969-12-31t23:59:59z`, 'archived_at is null', 'updated_at, id'],
  [
    `updatedSince=${since}&sort=updatedAt&archived=true&type=company`,
    `type = 'company' and updated_at >= '2026-02-01 00:00:00.008Z'`,
    'updated_at, id',
  ],
  ['email=iNFO3%40example.TEST', `archived_at is null and email = 'Info3@Example.test'`, 'created_at desc, id desc'],
  [
    'email=info3%40example.test&archived=true&sort=displayName',
    `email = 'Info3@Example.test'`,
    `translate(lower(display_name), 'ö', 'o'), id`,
  ],
  [
    'search=INFO3%20%20be',
    `archived_at is null and email = 'Info3@Example.test' and display_name like 'Bea%'`,
    'created_at desc, id desc',
  ],
  [
    'search=555%20001&sort=updatedAt&archived=only',
    `archived_at is not null and phone like '%555%001%'`,
    'updated_at, id',
  ],
  ['search=%25', 'false', 'id'],
  ['search=%C3%B6d%C3%B6n', `archived_at is null and display_name like 'Öd%'`, 'created_at desc, id desc'],
])('with "%s" returns the matching contacts in order, page by page', async (query, condition, order) => {
  const expected = await service.sql<{ id: string }>(
    `select id from contacts where brokerage_id = $1 and ${condition} order by ${order}`,
    [tenant.id],
  );
  if (condition !== 'false') expect(expected.length).toBeGreaterThan(0);
  for (const limit of [3, 200])
    expect((await walk(query, limit)).map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
  const plain = await walk(query);
  const whole = await walk(`${query}&expand=record`);
  expect(
    whole.map(({ externalId: _e, archivedAt: _a, mergedInto: _m, erasedAt: _r, etag: _t, ...contact }) => contact),
  ).toEqual(plain);
  if (whole.length > 0) expect(whole[0]!.externalId).toMatch(/^x-\d+$/);
});

test('finds names whose lower case differs between PostgreSQL and JavaScript', async () => {
  const greek = await brokerage(service);
  const ask = as(await greek.key(), service.restUrl);
  for (const displayName of ['ΟΔΟΣ ΑΕ', 'İstanbul Ltd'])
    await ask('POST', '/contacts', { type: 'company', displayName });
  for (const [word, found] of [
    ['ΟΔΟΣ', 'ΟΔΟΣ ΑΕ'],
    ['İstanbul', 'İstanbul Ltd'],
    ['İSTANBUL', 'İstanbul Ltd'],
  ] as const) {
    const { body } = await ask('GET', `/contacts?search=${encodeURIComponent(word)}`);
    expect([word, body!.data.map(({ displayName }) => displayName)]).toEqual([word, [found]]);
  }
  // A cursor is also valid for the same words in another letter case.
  await ask('POST', '/contacts', { type: 'company', displayName: 'ΟΔΟΣ ΕΠΕ' });
  const first = await ask('GET', `/contacts?limit=1&search=${encodeURIComponent('Ε ΟΔΟΣ')}`);
  const next = `/contacts?limit=1&search=${encodeURIComponent('ε ΟΔΟΣ')}&cursor=${first.body!.pagination.nextCursor}`;
  expect((await ask('GET', next)).status).toBe(200);
});

test('finds the same contacts in a large brokerage as in a small one, for frequent, rare and absent words', async () => {
  const large = await brokerage(service);
  const ask = as(await large.key(), service.restUrl);
  // Every third contact has the word "often", every thousandth "seldom", and the hundred oldest "late".
  await service.sql(
    `insert into contacts (brokerage_id, type, display_name, email, created_at, updated_at, archived_at)
     select $1, case when n % 7 = 0 then 'company' else 'person' end,
       concat(lpad((n * 7919 % 5600)::text, 4, '0'), case when n % 3 = 0 then ' often' end, case when n % 1000 = 1 then ' seldom' end,
         case when n <= 100 then ' late' end),
       case when n % 3 = 0 then 'often@example.test' end, '2026-01-01'::timestamptz + n * interval '1 minute',
       '2026-02-01'::timestamptz + (n * 37 % 5600) * interval '1 ms', case when n % 50 = 0 then '2026-03-01'::timestamptz end
     from generate_series(1, 5600) n`,
    [large.id],
  );
  const orders = {
    '': 'created_at desc, id desc',
    'sort=displayName': `translate(lower(display_name), 'ö', 'o'), id`,
    'sort=updatedAt': 'updated_at, id',
  };
  const archives = {
    'archived=false': 'archived_at is null',
    'archived=only': 'archived_at is not null',
    'archived=true': 'true',
  };
  for (const [sort, order] of Object.entries(orders))
    for (const [archived, condition] of Object.entries(archives))
      for (const [more, also] of [
        ['search=often', `display_name like '%often%'`],
        ['search=often&type=company', `display_name like '%often%' and type = 'company'`],
        ['search=seldom', `display_name like '%seldom%'`],
        ['search=late', `display_name like '%late%'`],
        ['search=often%20late', `display_name like '%often%late%'`],
        ['search=never', 'false'],
        ['email=often@example.test', `email is not null`],
      ]) {
        const expected = await service.sql<{ id: string }>(
          `select id from contacts where brokerage_id = $1 and ${condition} and ${also} order by ${order} limit 450`,
          [large.id],
        );
        const found = await walk(`${more}&${archived}&${sort}`, 200, ask);
        expect([more, archived, sort, found.slice(0, 450).map(({ id }) => id)]).toEqual([
          more,
          archived,
          sort,
          expected.map(({ id }) => id),
        ]);
      }
});

test('contacts changed during a walk by updatedAt come again at the end, so a sync sees the last version', async () => {
  const seen = new Map<string, string>();
  let cursor: string | null = null;
  let changes = 0;
  do {
    const page: Reply = await get(
      'GET',
      `/contacts?sort=updatedAt&archived=true&limit=9${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    for (const contact of page.body!.data) seen.set(contact.id, contact.phone!);
    cursor = page.body!.pagination.nextCursor;
    const [first] = page.body!.data;
    if ((changes += 1) < 5 && first) {
      service.clock.advance(3);
      await get('PATCH', `/contacts/${first.id}`, { phone: `changed ${changes}` });
    }
  } while (cursor !== null);
  const now = await service.sql<{ id: string; phone: string }>(
    'select id, phone from contacts where brokerage_id = $1',
    [tenant.id],
  );
  expect([...seen].toSorted()).toEqual(now.map(({ id, phone }) => [id, phone]).toSorted());
});

test.each([
  'archived=yes',
  'archived=',
  'archived=true&archived=true',
  'type=dog',
  'type=',
  'email=nobody',
  'email=',
  `email=${'x'.repeat(300)}%40example.com`,
  'search=',
  'search=%20%20',
  `search=${'x'.repeat(201)}`,
  'search=a%20b%20c%20d%20e%20f%20g%20h%20i',
  'search=%00',
  'updatedSince=yesterday',
  'updatedSince=2026-02-30T00:00:00Z',
  'updatedSince=2026-01-01',
  'updatedSince=2026-01-01T00:00:00',
  'updatedSince=2026-01-01T00:00:00+01:00',
  'updatedSince=0000-01-01T00:00:00Z',
  'updatedSince=0001-01-01T00:00:00%2B01:00',
  'updatedSince=9999-12-31T23:59:59-01:00',
  'sort=name',
  'sort=createdAt',
  'sort=updatedAt&sort=updatedAt',
  'updatedSince=2026-01-01T00:00:00Z&sort=displayName',
  'expand=all',
  'expand=',
])('"%s" is rejected', async (query) => {
  const refused = await get('GET', `/contacts?${query}`);
  expect(codeOf(refused)).toEqual([400, 'validation_error']);
  expect(refused.body?.error.details.faults[0]).toMatchObject({ in: 'query' });
});

test('a cursor is valid only for its own filters, sort order and brokerage', async () => {
  const queries = [
    '',
    'archived=true',
    'type=person',
    'sort=displayName',
    'sort=displayName&archived=true',
    'sort=updatedAt',
    'search=555',
    'search=55',
  ];
  const cursors = [];
  for (const query of queries)
    cursors.push((await get('GET', `/contacts?limit=2&${query}`)).body!.pagination.nextCursor!);
  for (const [at, query] of queries.entries())
    for (const [from, cursor] of cursors.entries()) {
      const answer = await get('GET', `/contacts?limit=2&${query}&cursor=${cursor}`);
      expect([query, queries[from], answer.status]).toEqual([query, queries[from], at === from ? 200 : 400]);
      // The format of the contacts and the page size may differ.
      if (at === from)
        expect((await get('GET', `/contacts?limit=5&${query}&cursor=${cursor}&expand=record`)).status).toBe(200);
    }
  const key = as(await (await brokerage(service)).key(), service.restUrl);
  for (const [at, query] of queries.entries())
    expect((await key('GET', `/contacts?${query}&cursor=${cursors[at]}`)).status).toBe(400);
  for (const made of ['A'.repeat(43), 'A'.repeat(51), 'A'.repeat(60), '_'.repeat(60), `${'A'.repeat(43)}gIA`])
    for (const query of queries)
      expect(codeOf(await get('GET', `/contacts?${query}&cursor=${made}`))).toEqual([400, 'validation_error']);
});

test('reads few rows by an index, for every filter and sort order', async () => {
  const large = await brokerage(service);
  const { token } = await large.key();
  await service.sql(
    `insert into contacts (brokerage_id, type, display_name, email, created_at, updated_at, archived_at)
     select $1, case when n % 50 = 0 then 'company' else 'person' end, 'Name ' || n, 'a' || n || '@example.test', app.now() - n * interval '1 second',
       app.now() - n % 977 * interval '1 minute', case when n % 4 = 0 then app.now() end from generate_series(1, 12000) n`,
    [large.id],
  );
  await service.sql('analyze contacts');
  const client = new pg.Client(service.connections.owner);
  await client.connect();
  onTestFinished(() => client.end());
  const filter = {
    archived: 'false',
    type: null,
    email: null,
    words: [],
    updatedSince: null,
    sort: '-createdAt',
  } as const;
  const recent = new Date(service.clock.now().getTime() - 60_000).toISOString();
  for (const [given, most] of [
    [{}, 60],
    [{ archived: 'true' }, 130],
    [{ sort: 'displayName' }, 60],
    [{ sort: 'updatedAt', archived: 'true' }, 230],
    [{ sort: 'updatedAt', updatedSince: recent, archived: 'true' }, 230],
    [{ type: 'company' }, 60],
    [{ type: 'company', sort: 'displayName' }, 60],
    [{ email: 'a77@example.test', archived: 'true' }, 10],
  ] as const) {
    await client.query('begin');
    await client.query('select app.enter_with_api_key($1)', [apiKeyDigest(token)]);
    const { text, values } = contactsThatFit({ ...filter, ...given }, 51, null);
    const read = async () => {
      await client.query('select pg_stat_clear_snapshot()');
      const { rows } = await client.query<{ n: string }>(
        `select sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid)) as n from pg_class c
         where c.oid = 'contacts'::regclass`,
      );
      return Number(rows[0]!.n);
    };
    const before = await read();
    const { rows } = await client.query(
      text,
      values.map((value) => value ?? null),
    );
    expect([given, rows.length > 0, (await read()) - before <= most]).toEqual([given, true, true]);
    await client.query('rollback');
  }
});
