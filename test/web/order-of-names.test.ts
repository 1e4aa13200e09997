/** Lists by name are sorted as people expect, regardless of case and accents. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { addBrokerage, addClient, addPerson, authorizeUrl, markupOf, visit, type Person } from '../oauth/scene.ts';
import { signedInWith, type SignedIn } from './person.ts';

const brokerages = ['apple brokers', 'Ázalea brokers', 'Birch brokers', 'cedar brokers'];
const titles = ['apple orchard', 'Birch wood', 'cedar shop'];

let service: TestService;
let ada: Person;
let person: SignedIn;
const deals: string[] = [];

beforeAll(async () => {
  service = await openService();
  const ids: string[] = [];
  for (const name of brokerages) ids.push(await addBrokerage(service, name));
  ada = await addPerson(service, 'Ada', { brokerage: ids[0]!, role: 'admin' });
  for (const id of ids.slice(1))
    await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'broker')`, [id, ada.id]);
  person = signedInWith(service, ada.session);
  const people = [ada, await addPerson(service, 'bertha'), await addPerson(service, 'Carl')];
  for (const title of titles) {
    const [made] = await service.sql<{ id: string }>(
      `insert into deals (organization_id, title) values ($1, $2) returning id`,
      [ids[0], title],
    );
    deals.push(made!.id);
    for (const { id } of people)
      await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, $3, 'active')`, [
        made!.id,
        id,
        id === ada.id ? 'broker' : 'seller',
      ]);
  }
});
afterAll(() => service?.close());

const named = (items: readonly Record<string, string>[], name: string) => items.map((one) => one[name]);

test('the brokerages of a person are sorted by name regardless of case and accents', async () => {
  expect(named((await person.ask('/me')).body.memberships, 'brokerage_name')).toEqual(brokerages);
  const client_id = await addClient(service, ada);
  expect(await markupOf(visit(authorizeUrl(service, { client_id }), ada))).toContain(brokerages.join(', '));
});

test('the deals with notification choices are sorted by title regardless of case', async () => {
  for (const deal of deals)
    expect((await person.ask(`/deals/${deal}/notifications`, { delivery: 'off' }, 'PUT')).status).toBe(204);
  expect(named((await person.ask('/notifications/choices')).body.deals, 'deal_title')).toEqual(titles);
});

test('the members of a QoE workspace are sorted by name regardless of case', async () => {
  const { items } = (await person.ask(`/deals/${deals[0]}/qoe/members`)).body;
  expect(named(items, 'name')).toEqual(['Ada', 'bertha', 'Carl']);
});

test('the members of a brokerage are sorted by name regardless of accents', async () => {
  const [{ brokerage_id: id }] = (await person.ask('/me')).body.memberships;
  for (const name of ['zoe', 'Ágnes']) await addPerson(service, name, { brokerage: id, role: 'broker' });
  const { items } = (await person.ask(`/brokerages/${id}/members`)).body;
  expect(named(items, 'name')).toEqual(['Ada', 'Ágnes', 'zoe']);
  const people = (await person.ask(`/audit/people?brokerage_id=${id}`)).body.items;
  expect(named(people, 'name')).toEqual(['Ada', 'Ágnes', 'zoe']);
});

test('the keys of a member who is removed are sorted by name regardless of case and accents', async () => {
  const [{ brokerage_id: id }] = (await person.ask('/me')).body.memberships;
  const names = ['accounting', 'Épargne', 'Sync'];
  for (const name of names.toReversed())
    await service.sql(
      `select app.issue_api_key($1, $2, $3, 'live', '{contacts:read}', null, null, sha256($4::text::bytea), '0000')`,
      [id, ada.id, name, name],
    );
  expect(named((await person.ask(`/brokerages/${id}/members/${ada.id}/deals`)).body.keys, 'name')).toEqual(names);
});

test('the brokerages that require a second factor are sorted by name regardless of case and accents', async () => {
  await service.sql('update brokerages set requires_second_factor = true where name = any ($1)', [brokerages]);
  expect(named((await person.ask('/me')).body.second_factor_owed, 'brokerage_name')).toEqual(brokerages);
});
