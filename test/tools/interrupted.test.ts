/**
 * Calls during which the database or the client disconnects: each gets a clear answer, and is done and recorded once or
 * not at all.
 */

import { connect, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { openService, type TestService } from '../harness.ts';
import { check } from './ask.ts';
import { addFullDeal, allow, send, type Access, type FullDeal } from './scene.ts';

const normalize = 'svc_qoe_normalization_create';

let service: TestService;
let scene: FullDeal;
let buyer: Access;

beforeAll(async () => {
  service = await openService({
    // Enough connections for several calls in progress at once.
    config: { poolSize: 10, rateLimits: { ...readConfig({}).rateLimits, tools: 100_000 } },
  });
  scene = await addFullDeal(service);
  buyer = scene.people['exclusive buyer'];
  await allow(service, buyer, [normalize], [scene.deal]);
});
afterAll(() => service.close());

const call = (name: string, input: object, id = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: input },
});
const read = (id = 1) => call('svc_deals_get', { deal_id: scene.deal }, id);
const write = (label: string) =>
  call(normalize, {
    deal_id: scene.deal,
    period_label: label,
    adjustment_category: 'one_time',
    adjustment_amount: '1.00',
  });

/**
 * The number of adjustments with a label, and how many of them have an audit record: both have the time of their
 * transaction.
 */
async function written(label: string): Promise<{ kept: number; recorded: number } | undefined> {
  const [found] = await service.sql<{ kept: number; recorded: number }>(
    `select count(*)::int as kept, count(a.id)::int as recorded from normalizations n
     left join audit_records a on a.action = $2 and a.outcome = 'ok' and a.deal_id = n.deal_id and a.at = n.created_at
     where n.period_label = $1`,
    [label, `tool:${normalize}`],
  );
  return found;
}
const once = { kept: 1, recorded: 1 };
const never = { kept: 0, recorded: 0 };

/**
 * Runs a statement in another database of the cluster, which works even when the service's database accepts no
 * connections.
 */
async function beside(who: 'owner' | 'server', text: string): Promise<unknown[]> {
  const client = new pg.Client({ ...service.connections[who], database: 'dealkeep' });
  await client.connect();
  return client
    .query(text)
    .then(({ rows }) => rows)
    .finally(() => client.end());
}
const database = () => service.connections.owner.database ?? '';
// PostgreSQL shows the sessions of the server's role, and lets them be terminated, only to that role.
const sessions = () => `pg_stat_activity where datname = '${database()}' and usename = current_user`;
const terminate = (which: string) =>
  beside('server', `select pg_terminate_backend(pid) from ${sessions()} and ${which}`);
const letIn = (allowed: boolean) => beside('owner', `alter database ${database()} with allow_connections ${allowed}`);

/** Locks a table until released, so that calls stop in the middle of their work. */
async function hold(table: string): Promise<() => Promise<void>> {
  const holder = new pg.Client(service.connections.owner);
  await holder.connect();
  await holder.query('begin');
  await holder.query(`lock table ${table} in access exclusive mode`);
  let held = true;
  const letGo = async () => {
    if (held) await holder.end();
    held = false;
  };
  onTestFinished(letGo);
  return letGo;
}
const heldUp = (count: number) =>
  expect
    .poll(async () => (await beside('server', `select pid from ${sessions()} and wait_event_type = 'Lock'`)).length)
    .toBe(count);

test('calls whose database connections are dropped get an error, and write nothing', async () => {
  const letGo = await hold('normalizations');
  const under = ['A1', 'A2', 'A3'].map((label) => send(service, buyer.token, write(label)));
  await heldUp(3);
  await terminate(`wait_event_type = 'Lock'`);
  for (const { status, body } of await Promise.all(under)) {
    expect(status).toBe(200);
    check(normalize, body!.result);
    expect(body?.result).toMatchObject({
      isError: true,
      structuredContent: {
        error: 'unavailable',
        message: expect.stringMatching(/try again shortly.* It may have been written: check before calling again\./),
        url: `${service.config.baseUrl}/deals/${scene.deal}/qoe`,
      },
    });
  }
  await letGo();
  expect(await Promise.all(['A1', 'A2', 'A3'].map(written))).toEqual([never, never, never]);
  expect((await send(service, buyer.token, write('A4'))).body?.result.isError ?? false).toBe(false);
  expect(await written('A4')).toEqual(once);
});

test('calls get 503 while the database accepts no connections, and succeed once it is back', async () => {
  expect((await send(service, buyer.token, write('B0'))).status).toBe(200);
  const letGo = await hold('deals');
  const under = [...Array(4).keys()].map((id) => send(service, buyer.token, read(id)));
  await heldUp(4);
  await letIn(false);
  try {
    await terminate('true');
    const meanwhile = await Promise.all([
      ...under,
      send(service, buyer.token, write('B1')),
      send(service, buyer.token, { jsonrpc: '2.0', id: 9, method: 'tools/list' }),
    ]);
    for (const { status, headers, body } of meanwhile) {
      expect([status, headers.get('retry-after'), body?.error.code]).toEqual([503, '5', 503]);
      expect(body?.error.message).toMatch(/^The service cannot reach its database: try again shortly\./);
    }
    expect(meanwhile.map(({ body }) => body?.id)).toEqual([0, 1, 2, 3, 1, 9]);
  } finally {
    await letIn(true);
  }
  await letGo();
  await expect.poll(async () => (await send(service, buyer.token, read())).status).toBe(200);
  expect((await send(service, buyer.token, write('B2'))).body?.result.isError ?? false).toBe(false);
  expect(await Promise.all(['B0', 'B1', 'B2'].map(written))).toEqual([once, never, once]);
});

const raw = (): Promise<Socket> =>
  new Promise((resolve) => {
    const socket = connect(Number(new URL(service.mcpUrl).port), '127.0.0.1', () => resolve(socket));
    socket.on('error', () => {});
  });
const head = (length: number) =>
  `POST /api/mcp HTTP/1.1\r\nHost: ${new URL(service.mcpUrl).host}\r\nAuthorization: Bearer ${buyer.token}\r\n` +
  `Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${length}\r\n\r\n`;

test('calls whose clients disconnect are completed and recorded once, and log no error', async () => {
  const from = service.log.length;
  const letGo = await hold('normalizations');
  const labels = ['C1', 'C2', 'C3'];
  const sockets = await Promise.all(labels.map(() => raw()));
  for (const [at, label] of labels.entries()) {
    const body = JSON.stringify(write(label));
    sockets[at]?.write(head(body.length) + body);
    await heldUp(at + 1);
    // The transaction's time tells to which adjustment a record belongs.
    service.clock.advance(1);
  }
  for (const socket of sockets) socket.destroy();
  // Other callers are answered although those calls still wait.
  expect((await send(service, buyer.token, read())).status).toBe(200);
  await letGo();
  await expect.poll(() => Promise.all(labels.map(written))).toEqual([once, once, once]);
  const { connections } = service.services.database;
  await expect.poll(() => connections().waiting + connections().total - connections().idle).toBe(0);
  expect(service.log.slice(from).filter((line) => line.includes('"level":"error"'))).toEqual([]);
});

test('requests whose clients disconnect during the body do nothing and log no warning', async () => {
  const body = JSON.stringify(write('D'));
  const from = service.log.length;
  for (const part of [0, 1, Math.floor(body.length / 2), body.length - 1]) {
    const socket = await raw();
    socket.write(head(body.length) + body.slice(0, part));
    await expect.poll(() => socket.writableLength).toBe(0);
    socket.destroy();
  }
  expect((await send(service, buyer.token, read())).status).toBe(200);
  expect(await written('D')).toEqual(never);
  expect(service.log.slice(from).filter((line) => /"level":"(warn|error|fatal)"/.test(line))).toEqual([]);
});
