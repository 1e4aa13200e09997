/**
 * What each interface and /readyz respond while the database is unreachable, does not answer, is full, or accepts no
 * writes.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startNetwork } from '../database/network.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage, type Key } from '../rest/scene.ts';
import { startNode, withoutDatabase } from '../tools/node.ts';
import { addFullDeal, type FullDeal } from '../tools/scene.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { aPdf, upload } from '../web/uploads.ts';

let service: TestService;
let key: Key;
let scene: FullDeal;
beforeAll(async () => {
  service = await openService();
  key = await (await brokerage(service)).key();
  scene = await addFullDeal(service);
});
afterAll(() => service.close());

/** Sends a change as a page does. */
async function send(url: string, { headers }: SignedIn, json: object) {
  const answer = await fetch(url, {
    method: 'PATCH',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(json),
  });
  return {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as { error?: { message: string } },
  };
}

const contact = { type: 'person', displayName: 'Somebody' };

test('while PostgreSQL hangs or is gone, REST answers 503 with Retry-After', async () => {
  const network = await startNetwork(service.connections.server);
  const node = await startNode(service, network.connection, { silenceMillis: 2_000, waitMillis: withoutDatabase });
  onTestFinished(node.stop);
  const ask = as(key, `${node.origin}/api/v1`);
  expect((await ask('GET', '/contacts')).status).toBe(200);
  const refused = async () => {
    const doubt = 'It is not known whether this was done: send it again with the same Idempotency-Key, or check first.';
    for (const method of ['GET', 'POST']) {
      const answer = await ask(method, '/contacts', method === 'POST' ? contact : undefined);
      expect([answer.status, answer.headers.get('retry-after'), answer.body?.error.code]).toEqual([
        503,
        '5',
        'internal_error',
      ]);
      expect(answer.body?.error.message).toContain('try again shortly');
      expect(answer.body?.error.message.includes(doubt)).toBe(method === 'POST');
      expect(answer.text).not.toMatch(/postgres|socket|ECONN|select/i);
    }
    const ready = await fetch(`${node.origin}/readyz`);
    expect(ready.status).toBe(503);
    expect((await fetch(`${node.origin}/healthz`)).status).toBe(200);
  };
  network.state.silent = true;
  await refused();
  network.state.silent = false;
  expect((await ask('POST', '/contacts', contact)).status).toBe(201);
  await network.stop();
  await refused();
});

test("a page's change is reported as uncertain when PostgreSQL hangs, and as not made when it is gone", async () => {
  const network = await startNetwork(service.connections.server);
  const node = await startNode(service, network.connection, { silenceMillis: 2_000, waitMillis: withoutDatabase });
  onTestFinished(node.stop);
  const broker = await signInAs(service, scene.people.broker.userId);
  const ask = async (json: object) => {
    const { status, headers, body } = await send(`${node.origin}/api/web/deals/${scene.deal}`, broker, json);
    return [status, headers.get('retry-after'), body.error?.message];
  };
  expect(await ask({ title: 'A bakery' })).toEqual([200, null, undefined]);
  network.state.silent = true;
  expect(await ask({ title: 'A mill' })).toEqual([
    503,
    '5',
    'The service lost its database connection before it could respond. Your change may have been saved, so check before you send it again.',
  ]);
  await network.stop();
  expect(await ask({ title: 'A dairy' })).toEqual([
    503,
    '5',
    'The service cannot reach its database: try again shortly.',
  ]);
});

test('an uploaded body is kept when PostgreSQL is lost before the document is recorded', async () => {
  const network = await startNetwork(service.connections.server);
  const node = await startNode(service, network.connection, { silenceMillis: 2_000, waitMillis: withoutDatabase });
  onTestFinished(node.stop);
  const bodies = async () => {
    const directory = path.join(service.config.dataDir, 'documents');
    const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isFile()).length;
  };
  const broker = await signInAs(service, scene.people.broker.userId);
  const before = await bodies();
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
  async function* file() {
    yield Buffer.concat([aPdf(), Buffer.alloc(1_000_000)]);
    await goesOn;
    yield Buffer.alloc(1_000);
  }
  const sent = upload(node, broker, scene.deal, ReadableStream.from(file()));
  await expect.poll(bodies).toBe(before + 1);
  await network.stop();
  goOn();
  const { status, body } = await sent;
  expect([status, body.error.code]).toEqual([503, 'unavailable']);
  expect(await bodies()).toBe(before + 1);
});

test("an internal error of a page's change shows its number and advises to check the change first", async () => {
  const broker = await signInAs(service, scene.people.broker.userId);
  await service.sql(
    `create function fail() returns trigger language plpgsql as $$ begin raise 'broken' using errcode = 'XX000'; end $$`,
  );
  await service.sql('create trigger fail before update on deals execute function fail()');
  onTestFinished(() => service.sql('drop trigger fail on deals').then(() => {}));
  const { status, body } = await send(`${service.origin}/api/web/deals/${scene.deal}`, broker, { title: 'A mill' });
  expect([status, body.error?.message]).toEqual([
    500,
    expect.stringMatching(
      /^Something went wrong on our side\. Check whether it was done before you try again\. If it happens again, give whoever runs Dealkeep this request id: [\w-]+\.$/,
    ),
  ]);
});

test('/readyz reports a hanging PostgreSQL after 2 seconds, and uses one connection for several checks', async () => {
  const network = await startNetwork(service.connections.server);
  const node = await startNode(service, network.connection, { silenceMillis: 600_000 });
  onTestFinished(() => network.stop().then(node.stop));
  const ready = async () => {
    const answer = await fetch(`${node.origin}/readyz`);
    return [answer.status, await answer.text()];
  };
  expect(await ready()).toEqual([200, 'ready\n']);
  network.state.silent = true;
  const silent = [503, 'The database has not answered for 2 seconds.\n'];
  expect(await Promise.all([ready(), ready(), ready()])).toEqual([silent, silent, silent]);
  const metrics = await (await fetch(`${node.origin}/metrics`)).text();
  expect(metrics).toContain('dealkeep_database_connections{state="busy"} 1\n');
});

test('a hanging connection for changes is replaced at every stage, and does not block a stop', async () => {
  const network = await startNetwork(service.connections.server);
  onTestFinished(network.stop);
  const { user, password, host, port, database } = network.connection;
  const url = new URL(`postgres://${host}:${port}/${database}`);
  Object.assign(url, { username: user, password });
  const start = () =>
    startNode(service, service.connections.server, { silenceMillis: 1_000, config: { listenDatabaseUrl: url.href } });
  const listeners = async () => {
    const [found] = await service.sql<{ count: string }>(
      `select count(*) from pg_stat_activity where application_name = 'dealkeep changes' and datname = current_database()`,
    );
    return Number(found?.count);
  };
  const others = await listeners();
  const patience = { timeout: 60_000, interval: 100 };

  network.state.silent = true;
  const deaf = await start();
  await expect.poll(() => network.state.opened, patience).toBeGreaterThan(0);
  await deaf.stop();

  const node = await start();
  network.state.silent = false;
  await expect.poll(listeners, patience).toBe(others + 1);
  network.state.silent = true;
  let { opened } = network.state;
  await expect.poll(() => network.state.opened, patience).toBeGreaterThan(opened);
  network.state.silent = false;
  await expect.poll(listeners, patience).toBe(others + 1);
  network.state.silent = true;
  ({ opened } = network.state);
  network.cut();
  await expect.poll(() => network.state.opened, patience).toBeGreaterThan(opened + 1);
  await node.stop();
});

test('/readyz reports a read-only database, and recovers by itself when it is writable again', async () => {
  const node = await startNode(service, service.connections.server);
  onTestFinished(node.stop);
  const ready = async () => {
    const answer = await fetch(`${node.origin}/readyz`);
    return [answer.status, await answer.text()];
  };
  const set = (change: string) =>
    service.sql(`begin read write; alter database ${service.connections.server.database} ${change}; commit`);
  await set('set default_transaction_read_only = on');
  expect(await ready()).toEqual([503, 'The database accepts no writes: it is a standby, or was set to read-only.\n']);
  expect((await as(key, `${node.origin}/api/v1`)('POST', '/contacts', contact)).status).toBe(503);
  await set('reset default_transaction_read_only');
  // Connections that were found read-only have been closed.
  expect(await ready()).toEqual([200, 'ready\n']);
  expect((await as(key, `${node.origin}/api/v1`)('POST', '/contacts', contact)).status).toBe(201);
});

test('a full disk of PostgreSQL is a 507 with Retry-After, and is logged', async () => {
  await service.sql(`create function full_disk() returns trigger language plpgsql as
    $$ begin raise 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
  await service.sql('create trigger full_disk before insert on contacts execute function full_disk()');
  const answer = await as(key, service.restUrl)('POST', '/contacts', contact).finally(() =>
    service.sql('drop trigger full_disk on contacts'),
  );
  expect([answer.status, answer.headers.get('retry-after'), answer.body?.error.code]).toEqual([
    507,
    '60',
    'internal_error',
  ]);
  expect(answer.body?.error.message).toBe(
    'Dealkeep has no room left to store this, and nothing was changed. Tell whoever runs the service.',
  );
  expect(answer.text).not.toMatch(/extend|device/);
  expect(service.log.join()).toContain('no room left to store what is sent');
});

const mount = (...args: string[]) => spawnSync('mount', args).status === 0;

test('a full disk of the document store is a 507, and the partial file is deleted', async ({ skip }) => {
  const directory = path.join(service.config.dataDir, 'documents');
  mkdirSync(directory, { recursive: true });
  if (!mount('-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory))
    return skip('Only root can make a small file system here.');
  onTestFinished(() => void spawnSync('umount', ['-l', directory]));
  const broker = await signInAs(service, scene.people.broker.userId);
  const large = Buffer.concat([aPdf(), Buffer.alloc(300_000)]);
  const { status, body } = await upload(service, broker, scene.deal, large);
  expect([status, body.error.code]).toEqual([507, 'storage_full']);
  // The part that was written has been deleted, so that there is room for a small document.
  expect((await upload(service, broker, scene.deal, aPdf())).status).toBe(201);
});
