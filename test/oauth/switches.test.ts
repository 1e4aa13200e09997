import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { row, type Statement } from '../../server/database/statement.ts';
import { dealTools, optInDeal, optOutDeal, stopDealTools } from '../../server/domain/clients/deal-opt-ins.ts';
import { tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { enterWithSession } from '../../server/domain/accounts/sessions.ts';
import { digestOf, enterWithAccessToken } from '../../server/domain/clients/tokens.ts';
import { grantTool, liveToolGrants } from '../../server/domain/clients/tool-grants.ts';
import { canonicalResource } from '../../server/http/resource-metadata.ts';
import { writingTools } from '../../server/tools/catalog/index.ts';
import { openService, type TestService } from '../harness.ts';
import { resetOf } from '../auth/scene.ts';
import { whileChanging } from '../locks.ts';
import { connect as connectTo } from '../policies/scene.ts';
import { signedInWith } from '../web/person.ts';
import { addBrokerage, addClient, addPerson, connect, type Grant, type Person } from './scene.ts';

let service: TestService;
let broker: Person;
let buyer: Person;
let stranger: Person;
let deal: string;
let brokerage: string;
let clientId: string;
let grant: Grant;

// Every writing tool calls this gate first.
const gate = row('test_tool_gate', 'select app.pass_tool_gate($1, $2)');

const from = { address: '192.0.2.1', requestId: null };
const tool = 'svc_questions_create';

beforeAll(async () => {
  service = await openService();
  brokerage = await addBrokerage(service);
  broker = await addPerson(service, 'Bo', { brokerage });
  buyer = await addPerson(service, 'Bea');
  stranger = await addPerson(service, 'Stan');
  const [made] = await service.sql<{ id: string }>(
    `insert into deals (organization_id, title) values ($1, 'Bakery') returning id`,
    [brokerage],
  );
  deal = made?.id ?? '';
  await service.sql(
    `insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active'), ($1, $3, 'buyer', 'active')`,
    [deal, broker.id, buyer.id],
  );
  clientId = await addClient(service, buyer);
  grant = await connect(service, buyer, clientId);
});
afterAll(() => service?.close());
beforeEach(async () => {
  service.clock.advance(60_000);
  await service.sql('delete from tool_grants');
  await service.sql('delete from deal_opt_ins');
  await service.sql('delete from deal_tool_stops');
});

/** The result of the statement for a signed-in person. */
async function as<T>(person: Person, statement: Statement<T>): Promise<T> {
  const [, answer] = await service.asServer(enterWithSession(tokenDigest(person.session)), statement);
  return answer;
}

/** The result of the statement for the buyer's client. */
async function through<T>(statement: Statement<T>): Promise<T> {
  const enter = enterWithAccessToken(digestOf(grant.access), canonicalResource(service.config.baseUrl));
  const [, answer] = await service.asServer(enter, statement);
  return answer;
}

/** Why the gate refuses a call by the buyer's client with a valid token; null if it lets the call pass. */
async function refusal(name: string): Promise<string | null> {
  grant = await connect(service, buyer, clientId);
  try {
    await through(gate(name, deal));
    return null;
  } catch (error) {
    return (error as { reason: string }).reason;
  }
}
/** Whether the call is refused for this reason; expects no other reason than the grant or the opt-in. */
async function isMissing(reason: 'missing_tool_grant' | 'missing_deal_opt_in', name = tool): Promise<boolean> {
  const refused = await refusal(name);
  expect([null, 'missing_tool_grant', 'missing_deal_opt_in']).toContain(refused);
  return refused === reason;
}
const isToolGranted = async (name: string) => !(await isMissing('missing_tool_grant', name));
const isDealOptedIn = async () => !(await isMissing('missing_deal_opt_in'));

const ask = (path: string, body?: unknown, person = buyer, method?: string) =>
  signedInWith(service, person.session).ask(path, body, method);

describe('tool grants', () => {
  const turnOn = (name: string, expires_at: string | null = null, person = buyer) =>
    ask('/tools/grants', { client_id: clientId, tool: name, expires_at }, person, 'PUT');
  const turnOff = (name: string) => ask(`/tools/grants/${clientId}/${name}`, undefined, buyer, 'DELETE');

  test('a tool works only while its person has turned it on', async () => {
    expect(await isToolGranted(tool)).toBe(false);
    const { status, body } = await turnOn(tool);
    expect([status, body.grants]).toMatchObject([200, [{ client_id: clientId, tool, expires_at: null }]]);
    expect(await isToolGranted(tool)).toBe(true);
    expect(await isToolGranted('svc_findings_create')).toBe(false);
    expect((await turnOff(tool)).body.grants).toEqual([]);
    expect(await isToolGranted(tool)).toBe(false);
  });

  test('the page lists every write tool, also unavailable ones', async () => {
    const told = (await ask('/tools')).body.write_tools;
    expect(told.map(({ name }: { name: string }) => name)).toEqual(writingTools);
  });

  test('a tool is off after the end of its grant', async () => {
    // The end is before that of the session, whatever the time of day.
    const end = service.clock.inDays(1 / 24);
    expect((await turnOn(tool, end)).status).toBe(200);
    const [kept] = await as(buyer, liveToolGrants());
    expect(kept?.expires_at).toBe(end);
    const start = service.clock.now();
    service.clock.set(new Date(end));
    expect(await isToolGranted(tool)).toBe(false);
    service.clock.set(start);
  });

  test('an end in the past or an invalid time is rejected with an explanation', async () => {
    for (const [until, status] of [
      ['2020-01-01T00:00:00Z', 409],
      ['2027-02-31T00:00:00Z', 400],
      ['soon', 400],
    ] as const) {
      const answer = await turnOn(tool, until);
      expect([until, answer.status]).toEqual([until, status]);
      expect(answer.body.error.message).toMatch(/\w+ \w+/);
    }
    expect(await service.sql('select from tool_grants')).toEqual([]);
  });

  test("a person cannot turn on tools for another person's client, nor see its grants", async () => {
    await as(buyer, grantTool(clientId, tool, null, from));
    expect(await as(stranger, grantTool(clientId, tool, null, from))).toBe(false);
    expect(await as(stranger, liveToolGrants())).toEqual([]);
    expect((await turnOn(tool, null, stranger)).status).toBe(404);
  });

  test('a client cannot turn on its own tools', async () => {
    expect(await through(grantTool(clientId, tool, null, from))).toBe(false);
    expect(await isToolGranted(tool)).toBe(false);
  });

  test('an unknown or read-only tool cannot be turned on', async () => {
    for (const name of ['svc_deals_list', 'nothing', '']) expect((await turnOn(name)).status).toBe(400);
  });

  test('a grant is for one client, and ends when that client is disconnected', async () => {
    const other = await connect(service, buyer, await addClient(service, buyer));
    await as(buyer, grantTool(other.clientId, tool, null, from));
    expect(await isToolGranted(tool)).toBe(false);
    await ask(`/clients/${other.clientId}/disconnect`, {});
    expect(await service.sql('select from tool_grants')).toEqual([]);
  });
});

describe('deal opt-ins', () => {
  beforeEach(() => as(buyer, grantTool(clientId, tool, null, from)));

  const turn = (which: 'opt-in' | 'shut-off', on: boolean, person = buyer) =>
    ask(`/deals/${deal}/tools/${which}`, on ? {} : undefined, person, on ? 'PUT' : 'DELETE');

  test('a deal is open to tools only while its person has opted in, and for that person alone', async () => {
    expect(await isDealOptedIn()).toBe(false);
    expect((await turn('opt-in', true)).status).toBe(200);
    expect(await isDealOptedIn()).toBe(true);
    expect(await service.sql('select distinct user_id from deal_opt_ins')).toEqual([{ user_id: buyer.id }]);
    expect((await turn('opt-in', false)).status).toBe(200);
    expect(await isDealOptedIn()).toBe(false);
  });

  test('an opt-in ends at its time, which must be in the future', async () => {
    await as(buyer, optInDeal(deal, service.clock.inDays(0.01), from));
    expect(await isDealOptedIn()).toBe(true);
    service.clock.advance(15 * 60_000);
    expect(await isDealOptedIn()).toBe(false);
    await expect(as(buyer, optInDeal(deal, service.clock.inDays(-1), from))).rejects.toMatchObject({
      reason: 'ends_in_the_past',
    });
  });

  test('a deal cannot be opened without access to it, and is closed when access ends', async () => {
    expect(await as(stranger, optInDeal(deal, null, from))).toBe(false);
    expect((await ask(`/deals/${deal}/tools`, undefined, stranger)).status).toBe(404);
    expect((await turn('opt-in', true, stranger)).status).toBe(404);
    await as(buyer, optInDeal(deal, null, from));
    await service.sql(`update participants set status = 'removed' where user_id = $1`, [buyer.id]);
    expect(await isDealOptedIn()).toBe(false);
    expect(await through(dealTools(deal))).toBeNull();
    await service.sql(`update participants set status = 'invited' where user_id = $1`, [buyer.id]);
    await service.sql(`update participants set status = 'active' where user_id = $1`, [buyer.id]);
  });

  test('a client cannot open a deal, close it or shut off writing', async () => {
    expect(await through(optInDeal(deal, null, from))).toBe(false);
    await as(buyer, optInDeal(deal, null, from));
    expect(await through(optOutDeal(deal, from))).toBe(false);
    expect(await through(stopDealTools(deal, true, from))).toBe(false);
  });

  test('only a broker of the deal can shut off writing for everybody on it', async () => {
    await as(buyer, optInDeal(deal, null, from));
    expect((await turn('shut-off', true)).status).toBe(403);
    expect(await isDealOptedIn()).toBe(true);
    expect((await turn('shut-off', true, broker)).status).toBe(200);
    expect(await isDealOptedIn()).toBe(false);
    expect((await ask(`/deals/${deal}/tools`)).body.shut_off).toEqual({ by_name: 'Bo', at: expect.any(String) });
    expect((await turn('shut-off', false, broker)).status).toBe(200);
    expect(await isDealOptedIn()).toBe(true);
  });

  test('the overview lists every client and every deal that is open to tools', async () => {
    await turn('opt-in', true);
    const { clients, opt_ins } = (await ask('/tools')).body;
    expect(clients.map(({ id }: { id: string }) => id)).toContain(clientId);
    expect(opt_ins).toMatchObject([{ deal_id: deal, deal_title: 'Bakery' }]);
  });
});

describe('a switch turned on during a password reset is not kept', () => {
  test.each(['tool_grants', 'deal_opt_ins'] as const)('%s', async (table) => {
    const person = await addPerson(service, 'Rita');
    await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, 'buyer', 'active')`, [
      deal,
      person.id,
    ]);
    const client_id = await addClient(service, person);
    const turnOn = {
      tool_grants: () => ask('/tools/grants', { client_id, tool, expires_at: null }, person, 'PUT'),
      deal_opt_ins: () => ask(`/deals/${deal}/tools/opt-in`, {}, person, 'PUT'),
    }[table];
    expect((await turnOn()).status).toBe(200);
    await service.sql(`delete from ${table}`);
    expect((await whileChanging(service, resetOf(person.id), turnOn)).status).not.toBe(200);
    expect(await service.sql(`select from ${table}`)).toEqual([]);
  });
});

test('an opt-in during the removal of its person from the deal is not kept', async () => {
  const leaver = await addPerson(service, 'Lea');
  const optIn = () => ask(`/deals/${deal}/tools/opt-in`, {}, leaver, 'PUT');
  const kept = () => service.sql('select from deal_opt_ins where user_id = $1', [leaver.id]);
  await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, 'buyer', 'active')`, [
    deal,
    leaver.id,
  ]);
  expect((await optIn()).status).toBe(200);
  const removal = [`update participants set status = 'removed' where user_id = $1`, [leaver.id]] as const;
  expect((await whileChanging(service, [removal], optIn)).status).toBe(403);
  expect(await kept()).toEqual([]);
  // An admin who was on the deal still sees it.
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
    brokerage,
    leaver.id,
  ]);
  expect((await optIn()).status).toBe(200);
});

describe('a tool turned on for a shared client is not kept', () => {
  const changes: Record<string, (leaver: string, client: string) => readonly [string, readonly unknown[]]> = {
    'while the person leaves': (leaver) => [`update members set status = 'removed' where user_id = $1`, [leaver]],
    'while the client is turned off': (_, client) => [
      'update connected_clients set disabled = true where id = $1',
      [client],
    ],
  };
  test.each(Object.entries(changes))('%s', async (_, changing) => {
    const leaver = await addPerson(service, 'Lou', { brokerage });
    const client_id = await addClient(service, broker, { brokerage });
    const turnOn = () => ask('/tools/grants', { client_id, tool, expires_at: null }, leaver, 'PUT');
    expect((await turnOn()).status).toBe(200);
    expect((await whileChanging(service, [changing(leaver.id, client_id)], turnOn)).status).toBe(404);
    expect(await service.sql('select from tool_grants where user_id = $1', [leaver.id])).toEqual([]);
  });
});

test('an opt-in of an admin during the loss of that role is not kept', async () => {
  const admin = await addPerson(service, 'Ada', { brokerage, role: 'admin' });
  await addPerson(service, 'Abe', { brokerage, role: 'admin' });
  const optIn = () => ask(`/deals/${deal}/tools/opt-in`, {}, admin, 'PUT');
  expect((await optIn()).status).toBe(200);
  const change = [`update members set role = 'staff' where user_id = $1`, [admin.id]] as const;
  expect((await whileChanging(service, [change], optIn)).status).toBe(403);
  expect(await service.sql('select from deal_opt_ins where user_id = $1', [admin.id])).toEqual([]);
});

test("a switch does not wait for a change to another person's account", async () => {
  const owner = await connectTo(service.connections.owner);
  try {
    await owner.query('begin');
    await owner.query(`update users set name = 'Stanley' where id = $1`, [stranger.id]);
    expect((await ask(`/deals/${deal}/tools/opt-in`, {}, buyer, 'PUT')).status).toBe(200);
  } finally {
    await owner.end();
  }
});

test('every switch leaves an audit record with person, client or deal, and address', async () => {
  await service.sql('delete from audit_records');
  await ask('/tools/grants', { client_id: clientId, tool, expires_at: null }, buyer, 'PUT');
  await ask(`/tools/grants/${clientId}/${tool}`, undefined, buyer, 'DELETE');
  await ask(`/deals/${deal}/tools/opt-in`, {}, buyer, 'PUT');
  await ask(`/deals/${deal}/tools/opt-in`, undefined, buyer, 'DELETE');
  await ask(`/deals/${deal}/tools/shut-off`, {}, broker, 'PUT');
  await ask(`/deals/${deal}/tools/shut-off`, undefined, broker, 'DELETE');
  const records = await service.sql(
    `select action, user_id, subject_id, deal_id, brokerage_id, host(address) as address, length(request_id) > 0 as named, details
     from audit_records order by at, id`,
  );
  const onClient = {
    user_id: buyer.id,
    subject_id: clientId,
    deal_id: null,
    brokerage_id: null,
    address: '127.0.0.1',
    named: true,
  };
  const withDeal = {
    user_id: buyer.id,
    subject_id: deal,
    deal_id: deal,
    brokerage_id: brokerage,
    address: '127.0.0.1',
    named: true,
  };
  expect(records).toEqual([
    { ...onClient, action: 'tool_grant.on', details: { tool, expires_at: null } },
    { ...onClient, action: 'tool_grant.off', details: { tool } },
    { ...withDeal, action: 'deal_opt_in.on', details: { expires_at: null } },
    { ...withDeal, action: 'deal_opt_in.off', details: {} },
    { ...withDeal, action: 'deal_tools.stop', user_id: broker.id, details: {} },
    { ...withDeal, action: 'deal_tools.allow', user_id: broker.id, details: {} },
  ]);
});

test('the database role of the server can only read the switches', async () => {
  for (const text of [
    `insert into tool_grants (user_id, client_id, tool) values ('${buyer.id}', '${clientId}', '${tool}')`,
    `insert into deal_opt_ins (user_id, deal_id) values ('${buyer.id}', '${deal}')`,
    `delete from deal_tool_stops`,
  ]) {
    const forged = row(`switches_test_${text.slice(0, 24).replaceAll(/\W+/g, '_')}`, text)();
    await expect(as(buyer, forged)).rejects.toThrow();
  }
});
