/** What the audit trail tells of changes: by whom, through which client, from what to what. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import pg from 'pg';
import { keepAudit } from '../../server/domain/accounts/administration.ts';
import { openService, type TestService } from '../harness.ts';
import type { Scene } from '../policies/scene.ts';
import { addToken, allow, caller } from '../tools/scene.ts';
import { signInAs, type SignedIn } from './person.ts';

let service: TestService;
let scene: Scene;
const people: Record<string, SignedIn> = {};
const as = (name: string): SignedIn => people[name]!;

beforeAll(async () => {
  service = await openService({ scene: true, config: { features: { findings: true, financing: false } } });
  scene = service.scene;
  for (const name of ['admin', 'broker', 'colleague', 'seller', 'exclusive buyer', 'other buyer'])
    people[name] = await signInAs(service, scene.people[name]!);
});
afterAll(() => service?.close());

/** The latest record of an action that the person reads, of the brokerage unless it is their own trail. */
async function latest(name: string, action: string, of = `brokerage_id=${scene.brokerage}&`) {
  const { status, body } = await as(name).ask(`/audit?${of}action=${action}`);
  expect(status).toBe(200);
  return body.items[0];
}

test('a change by an assistant names its client to admins and brokers, also after the client is gone', async () => {
  const access = await addToken(service, scene.people['broker']!);
  await allow(service, access, ['svc_findings_create'], [scene.deal]);
  await service.sql('delete from deal_tool_stops where deal_id = $1', [scene.deal]);
  const call = caller(service, access);
  const finding = { deal_id: scene.deal, category: 'tax', title: 'Payroll', severity: 'major' };
  expect(JSON.stringify(await call('svc_findings_create', finding))).not.toMatch(/error/i);
  const path = `/deals/${scene.deal}/activity`;
  const toldTo = async (name: string) => (await as(name).ask(path)).body.items[0];
  for (const gone of [false, true]) {
    if (gone) expect((await as('broker').ask(`/clients/${access.clientId}`, undefined, 'DELETE')).status).toBe(204);
    const told = { client_id: access.clientId, client_name: 'An assistant', user_name: 'broker' };
    for (const name of ['admin', 'broker']) expect(await latest(name, 'finding.add')).toMatchObject(told);
    expect(await latest('broker', 'finding.add', '')).toMatchObject(told);
    for (const name of ['admin', 'broker'])
      expect(await toldTo(name)).toMatchObject({ action: 'finding.add', client_name: 'An assistant' });
    // What somebody else uses is no matter of the other sides.
    expect(await toldTo('seller')).toMatchObject({ action: 'finding.add', client_name: null });
    const home = (await as('broker').ask('/home')).body.activity;
    expect(home[0]).toMatchObject({ action: 'finding.add', client_name: 'An assistant' });
  }
});

test('a client by its document is named with its host, as anybody can publish one with that name', async () => {
  const [made] = await service.sql<{ id: string }>(
    `insert into connected_clients (created_by, name, redirect_uris, metadata_url)
     values ($1, 'Claude', '{https://evil.example/back}', 'https://evil.example:8443/claude.json') returning id`,
    [scene.people['broker']],
  );
  const access = await addToken(service, scene.people['broker']!, { clientId: made!.id });
  await allow(service, access, ['svc_findings_create'], [scene.deal]);
  const finding = { deal_id: scene.deal, category: 'tax', title: 'Sales tax', severity: 'minor' };
  await caller(service, access)('svc_findings_create', finding);
  const told = { action: 'finding.add', client_name: 'Claude (evil.example)' };
  expect(await latest('admin', 'finding.add')).toMatchObject(told);
  expect((await as('admin').ask(`/deals/${scene.deal}/activity`)).body.items[0]).toMatchObject(told);
  expect((await as('broker').ask('/home')).body.activity[0]).toMatchObject(told);
  const { clients } = (await as('broker').ask('/tools')).body;
  expect(clients).toContainEqual(expect.objectContaining({ id: made!.id, name: 'Claude', host: 'evil.example' }));
});

test('a change of name is recorded, and the exported trail has the ids of people beside their names', async () => {
  expect((await as('broker').ask('/me', { name: 'broker' }, 'PATCH')).status).toBe(200);
  expect(await latest('admin', 'person.rename')).toBeUndefined();
  expect((await as('broker').ask('/me', { name: 'colleague' }, 'PATCH')).body.user.name).toBe('colleague');
  const record = { user_id: scene.people['broker'], title: 'Change one’s name', request_id: expect.any(String) };
  expect(await latest('admin', 'person.rename')).toMatchObject(record);
  expect(await latest('broker', 'person.rename', '')).toMatchObject(record);
  const file = await fetch(
    `${service.origin}/api/web/audit/export?brokerage_id=${scene.brokerage}&action=finding.add`,
    { headers: as('admin').headers },
  );
  const [heading, line] = (await file.text()).trim().split('\r\n');
  const at = (name: string) => heading!.replace('\uFEFF', '').split(',').indexOf(name);
  const cells = line!.split(',');
  expect([cells[at('person')], cells[at('person_id')]]).toEqual(['colleague', scene.people['broker']]);
  expect(cells[at('deal_id')]).toBe(scene.deal);
  await as('broker').ask('/me', { name: 'broker' }, 'PATCH');
});

test('exports of contacts and of the trail are recorded, never in a brokerage of which one is no member', async () => {
  const read = async (name: string, path: string) =>
    (await fetch(`${service.origin}/api/web${path}`, { headers: as(name).headers })).text();
  await read('colleague', `/contacts/export?brokerage_id=${scene.brokerage}`);
  expect(await latest('admin', 'contact.export')).toMatchObject({ user_id: scene.people['colleague'], details: {} });
  const from = service.clock.inDays(-1);
  await read('admin', `/audit/export?brokerage_id=${scene.brokerage}&outcome=refused&from=${from}`);
  expect(await latest('admin', 'audit.export')).toMatchObject({
    user_id: scene.people['admin'],
    details: { outcome: 'refused', from },
  });
  await read('seller', `/audit/export?brokerage_id=${scene.brokerage}`);
  await read('seller', `/contacts/export?brokerage_id=${scene.brokerage}`);
  const bySeller = await service.sql<{ action: string; brokerage_id: string | null }>(
    `select action, brokerage_id from audit_records where user_id = $1 and action like '%.export' order by at`,
    [scene.people['seller']],
  );
  expect(bySeller).toEqual([{ action: 'audit.export', brokerage_id: null }]);
});

test('records of deals, exclusivity and closing conditions say what changed, without texts and amounts', async () => {
  const broker = as('broker');
  const { body: made } = await broker.ask('/deals', {
    organization_id: scene.brokerage,
    title: 'Corner bakery',
    industry: null,
    location: null,
    summary: null,
    asking_price: '900000',
    currency: 'USD',
    needs_nda: true,
  });
  const deal = made.id;
  await broker.ask(`/deals/${deal}`, { asking_price: '850000', needs_nda: false, title: 'Corner bakery' }, 'PATCH');
  expect((await latest('admin', 'deal.edit')).details).toEqual({
    changed: ['asking_price', 'needs_nda'],
    needs_nda: false,
  });
  const condition = (
    await broker.ask(`/deals/${deal}/conditions`, { name: 'Lease', owner_user_id: null, deadline: null })
  ).body.id;
  await broker.ask(`/conditions/${condition}`, { deadline: '2031-05-01' }, 'PATCH');
  expect(await latest('admin', 'condition.change')).toMatchObject({
    title: 'Change a closing condition',
    details: { changed: ['deadline'], before: null, deadline: '2031-05-01' },
  });

  const [running] = await service.sql<{ expires_at: Date }>(
    'select expires_at from exclusivities where deal_id = $1 and ended_at is null',
    [scene.deal],
  );
  const until = service.clock.inDays(40);
  expect((await broker.ask(`/deals/${scene.deal}/exclusivity`, { expires_at: until }, 'PATCH')).status).toBe(200);
  const { details } = await latest('admin', 'exclusivity.extend');
  expect([details.before, details.until].map((at) => new Date(at).getTime())).toEqual([
    running!.expires_at.getTime(),
    new Date(until).getTime(),
  ]);
});

test('a record of an invitation says whether the link was mailed or handed to the inviter', async () => {
  const invited = { email: 'guest@scene.example', name: 'Guest', role: 'buyer', advises: null };
  const { status } = await as('broker').ask(`/deals/${scene.deal}/participants`, { ...invited, deliver: 'link' });
  expect(status).toBeLessThan(300);
  expect((await latest('admin', 'participant.invite')).details).toEqual({ role: 'buyer', mailed: false });
});

test('a record of a changed client or webhook says which hosts it had and has', async () => {
  const { id } = (
    await as('exclusive buyer').ask('/clients', { name: 'Editor', redirect_uris: ['https://old.example/callback'] })
  ).body;
  const changed = { name: 'Editor', redirect_uris: ['https://new.example/callback?x=1'] };
  expect((await as('exclusive buyer').ask(`/clients/${id}`, changed, 'PATCH')).status).toBe(200);
  expect((await latest('exclusive buyer', 'client.change', '')).details).toEqual({
    changed: ['redirect_uris'],
    hosts_before: ['https://old.example'],
    hosts: ['https://new.example'],
  });

  const key = (
    await as('admin').ask(`/brokerages/${scene.brokerage}/keys`, {
      name: 'Sync',
      environment: 'live',
      scopes: ['contacts:read', 'webhooks:write'],
      ceiling: null,
      expires_at: null,
    })
  ).body.key;
  const { webhook } = (
    await as('admin').ask(`/keys/${key.id}/webhooks`, { url: 'https://hooks.example:8443/in?token=s', types: null })
  ).body;
  expect((await latest('admin', 'webhook.create')).details).toMatchObject({ host: 'hooks.example:8443' });
  await as('admin').ask(`/webhooks/${webhook.id}`, { url: 'https://evil.example/in' }, 'PATCH');
  expect((await latest('admin', 'webhook.update')).details).toEqual({
    changed: ['url'],
    host_before: 'hooks.example:8443',
    host: 'evil.example',
  });
});

test('what ends on its date is in the trail and the activity of brokers and admins; an exclusivity also for seller and buyer', async () => {
  await service.sql(
    `update exclusivities set granted_at = app.now() - interval '9 days', expires_at = app.now() - interval '1 hour' where ended_at is null`,
  );
  await service.sql(
    `update deal_stages set state = 'exclusivity' where deal_id in (select deal_id from exclusivities where ended_at is null)`,
  );
  await service.sql(`update ndas set expires_at = app.now() - interval '1 minute' where status = 'active'`);
  await service.sql('select app.sweep()');
  for (const action of ['exclusivity.lapse', 'nda.expire'])
    expect(await latest('admin', action)).toMatchObject({ user_id: null, user_name: null, deal_id: scene.deal });
  const toldTo = async (name: string) =>
    (await as(name).ask(`/deals/${scene.deal}/activity`)).body.items.map(({ action }: { action: string }) => action);
  expect(await toldTo('broker')).toEqual(expect.arrayContaining(['exclusivity.lapse', 'nda.expire']));
  for (const name of ['seller', 'exclusive buyer'])
    expect((await toldTo(name)).filter((action: string) => /lapse|expire/.test(action))).toEqual(['exclusivity.lapse']);
  expect(await toldTo('other buyer')).not.toContain('exclusivity.lapse');
});

test('the operator’s change of how long the trail is kept is recorded', async () => {
  const owner = new pg.Client(service.connections.owner);
  await owner.connect();
  await keepAudit(owner, 24);
  await keepAudit(owner, null);
  await owner.end();
  const kept = await service.sql<{ details: object }>(
    `select details from audit_records where action = 'audit.keep' order by at`,
  );
  expect(kept.map(({ details }) => details)).toEqual([
    { before: null, months: 24, by: 'command line' },
    { before: 24, months: null, by: 'command line' },
  ]);
});

test('admins, and nobody else, choose among the present and former members', async () => {
  const path = `/audit/people?brokerage_id=${scene.brokerage}`;
  const listed = async (name: string) =>
    (await as(name).ask(path)).body.items.map((one: { name: string; is_member: boolean }) => [one.name, one.is_member]);
  expect(await listed('admin')).toContainEqual(['colleague', true]);
  const removed = `/brokerages/${scene.brokerage}/members/${scene.people['colleague']}`;
  expect((await as('admin').ask(removed, undefined, 'DELETE')).status).toBeLessThan(300);
  const told = await listed('admin');
  expect(told.at(-1)).toEqual(['colleague', false]);
  expect(told).toContainEqual(['admin', true]);
  for (const name of ['broker', 'seller']) expect(await listed(name)).toEqual([]);
  const { body } = await as('admin').ask(
    `/audit?brokerage_id=${scene.brokerage}&user_id=${scene.people['colleague']}&action=contact.export`,
  );
  expect(body.items).toHaveLength(1);
});

test('the trail and its file can be limited to one deal', async () => {
  const { deal, brokerage } = scene;
  const all = (await as('admin').ask(`/audit?brokerage_id=${brokerage}&limit=200`)).body.items;
  const onDeal = all.filter(({ deal_id }: { deal_id: string | null }) => deal_id === deal);
  expect(onDeal.length).toBeGreaterThan(2);
  expect(onDeal.length).toBeLessThan(all.length);
  const only = `brokerage_id=${brokerage}&deal_id=${deal}`;
  expect((await as('admin').ask(`/audit?${only}&limit=200`)).body.items).toEqual(onDeal);
  const first = (await as('admin').ask(`/audit?${only}&limit=2`)).body;
  const second = (await as('admin').ask(`/audit?${only}&limit=2&cursor=${first.next_cursor}`)).body;
  expect([...first.items, ...second.items]).toEqual(onDeal.slice(0, 4));
  for (const [filter, fits] of [
    ['action=participant.', ({ action }) => action.startsWith('participant.')],
    ['outcome=refused', ({ outcome }) => !['done', 'ok', 'repeated'].includes(outcome)],
    [`user_id=${scene.people['broker']}`, ({ user_id }) => user_id === scene.people['broker']],
  ] satisfies [string, (record: { action: string; outcome: string; user_id: string }) => boolean][])
    expect((await as('admin').ask(`/audit?${only}&limit=200&${filter}`)).body.items).toEqual(onDeal.filter(fits));
  const file = await fetch(`${service.origin}/api/web/audit/export?${only}`, { headers: as('admin').headers });
  expect((await file.text()).trim().split('\r\n')).toHaveLength(onDeal.length + 1);
  expect(await latest('admin', 'audit.export')).toMatchObject({ details: { deal } });
  // Whoever is no admin reads their own records, and nothing of a deal that they do not see.
  const own = (await as('broker').ask(`/audit?deal_id=${deal}&limit=200`)).body.items;
  expect(own.every(({ user_id }: { user_id: string }) => user_id === scene.people['broker'])).toBe(true);
  for (const name of ['seller', 'other buyer']) {
    const { body } = await as(name).ask(`/audit?${only}`);
    expect(body.items.every(({ user_id }: { user_id: string }) => user_id === scene.people[name])).toBe(true);
  }
});
