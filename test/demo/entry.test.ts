/** The passwords and keys of demo.json give access as they should, and the database stores none of them. */

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadDemo } from '../../database/demo/load.ts';
import { rows } from '../../server/database/statement.ts';
import { hashByRecipe } from '../../server/domain/accounts/password-hashes.ts';
import { apiKeyDigest, enterWithApiKey } from '../../server/domain/clients/api-keys.ts';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import { openService } from '../harness.ts';
import { leads, openDemoService, type DemoService } from './service.ts';

let it: DemoService;
beforeAll(async () => {
  it = await openDemoService();
});
afterAll(() => it?.service.close());

const contacts = (key: keyof DemoService['demo']['keys'], body?: object): Promise<Response> =>
  fetch(`${it.demo.rest_url}/contacts?limit=200`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${it.demo.keys[key]}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });

interface ContactList {
  data: { displayName: string; email: string | null; phone: string | null }[];
}

test('demo.json has the documented shape', () => {
  expect(Object.keys(it.demo).toSorted()).toEqual([
    'brokerage_id',
    'deals',
    'keys',
    'mcp_url',
    'people',
    'redirect_uri',
    'rest_url',
  ]);
  expect(Object.keys(it.demo.people)).toEqual(leads);
  expect(Object.keys(it.demo.people.admin)).toEqual(['email', 'password', 'user_id', 'client_id']);
  expect(Object.keys(it.demo.deals)).toEqual(['with_everything', 'draft', 'without_broker', 'of_other_brokerage']);
  const keys = ['full', 'read_only', 'other_brokerage', 'expired', 'revoked', 'small_ceiling', 'sandbox'];
  expect(Object.keys(it.demo.keys)).toEqual(keys);
});

test('each password in demo.json matches its stored hash', async () => {
  for (const lead of leads) {
    const { user_id, password } = it.demo.people[lead];
    const [stored] = await it.service.sql<{ phc: string }>('select phc from vault.passwords where user_id = $1', [
      user_id,
    ]);
    const recipe = stored?.phc.replace(/\$[^$]*$/, '') ?? '';
    expect(await hashByRecipe(password, recipe)).toBe(stored?.phc);
  }
});

test('each API key has the access that its name says', async () => {
  const made = { type: 'person', displayName: 'Wilhelmina Prout' };
  expect((await contacts('full', made)).status).toBe(201);
  expect((await contacts('read_only')).status).toBe(200);
  expect((await contacts('read_only', made)).status).toBe(403);
  expect((await contacts('expired')).status).toBe(401);
  expect((await contacts('revoked')).status).toBe(401);
  const slow = await contacts('small_ceiling', made);
  expect(slow.status).toBe(201);
  expect(slow.headers.get('x-ratelimit-limit')).toBe('20');
});

test('the full key has every scope, and sees deals of its brokerage except drafts and deals without a broker', async () => {
  const found = await it.service.sql<{ scopes: string[]; environment: string }>(
    `select k.scopes, k.environment from api_keys k join vault.api_key_digests d on d.key_id = k.id where d.digest = any ($1)`,
    [[it.demo.keys.full, it.demo.keys.sandbox].map((token) => apiKeyDigest(token))],
  );
  for (const { scopes } of found) expect(scopes.toSorted()).toEqual(keyScopes.toSorted());
  expect(found.map(({ environment }) => environment).toSorted()).toEqual(['live', 'test']);
  const [, seen] = await it.service.services.database.together(
    enterWithApiKey(apiKeyDigest(it.demo.keys.full)!),
    rows<{ id: string; offers: number }>(
      'deals_of_key',
      'select d.id, (select count(*)::int from offers o where o.deal_id = d.id) as offers from deals d',
    )(),
  );
  const { with_everything, draft, without_broker, of_other_brokerage } = it.demo.deals;
  expect(seen.length).toBeGreaterThan(2);
  expect(seen.find(({ id }) => id === with_everything)?.offers).toBeGreaterThan(1);
  for (const hidden of [draft, without_broker, of_other_brokerage])
    expect(seen.map(({ id }) => id)).not.toContain(hidden);
});

test('the inquiry form of the website adds contacts with a key that has no other scope', async () => {
  const found = await it.service.sql(
    `select k.scopes, exists (select from contacts c where c.created_by_key = k.id) as used
     from api_keys k where k.name = 'Inquiry form of the website'`,
  );
  expect(found).toEqual([{ scopes: ['contacts:write'], used: true }]);
});

test('each brokerage has its own contacts, with reserved example addresses and phone numbers', async () => {
  const main = (await (await contacts('read_only')).json()) as ContactList;
  const other = (await (await contacts('other_brokerage')).json()) as ContactList;
  expect(main.data.length).toBeGreaterThanOrEqual(45);
  expect(other.data).toHaveLength(15);
  const names = new Set(main.data.map(({ displayName }) => displayName));
  expect(other.data.filter(({ displayName }) => names.has(displayName))).toEqual([]);
  for (const { email, phone } of [...main.data, ...other.data]) {
    expect(email ?? 'none.example').toMatch(/\.example$/);
    expect(phone ?? '+1 200-555-0100').toMatch(/^\+1 [2-9]\d\d-555-01\d\d$/);
  }
  const users = await it.service.sql<{ email: string }>('select email from users where sandbox_id is null');
  for (const { email } of users) expect(email).toMatch(/\.example$/);
});

test('no password or API key is stored in the database', async () => {
  const secrets = [...leads.map((lead) => it.demo.people[lead].password), ...Object.values(it.demo.keys)];
  const tables = await it.service.sql<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'vault', 'app', 'limits')`,
  );
  expect(tables.length).toBeGreaterThan(40);
  for (const { name } of tables) {
    const found = await it.service.sql(
      `select from ${name} t, unnest($1::text[]) as s (told)
       where position(s.told in t::text) > 0 or position(encode(convert_to(s.told, 'UTF8'), 'hex') in t::text) > 0`,
      [secrets],
    );
    expect(found, name).toEqual([]);
  }
});

test('loading the demo twice is rejected and changes nothing', async () => {
  const count = () =>
    it.service.sql('select (select count(*) from users) as users, (select count(*) from api_keys) as keys');
  const before = await count();
  await expect(loadDemo(it.service.connections.owner)).rejects.toBeInstanceOf(pg.DatabaseError);
  expect(await count()).toEqual(before);
});

test('every load has new ids, passwords and keys, and a given password is that of every user', async () => {
  const empty = await openService();
  try {
    const password = randomBytes(12).toString('hex');
    const demo = await loadDemo(empty.connections.owner, { password });
    for (const lead of leads) expect(demo.people[lead].password).toBe(password);
    expect(new Set([...Object.values(demo.keys), ...Object.values(it.demo.keys)]).size).toBe(14);
    expect(new Set(leads.map((lead) => it.demo.people[lead].password)).size).toBe(leads.length);
    expect(Object.values(demo.deals)).not.toContain(it.demo.deals.with_everything);
  } finally {
    await empty.close();
  }
});
