import { once } from 'node:events';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from '../../drill/writers.ts';
import { runningOwner } from '../../server/database/embedded.ts';
import { isAlive } from '../../server/database/processes.ts';
import {
  cleanUp,
  dealkeep,
  dealkeepOn,
  migratedDataDir,
  newDataDir,
  run,
  serve,
  signal,
  type Addresses,
  type Program,
} from './program.ts';

afterAll(cleanUp);

/** Starts a service with one brokerage, an admin, and an API key of the brokerage. */
async function startWithKey(
  dataDir: string,
  more: Readonly<Record<string, string>> = {},
): Promise<{ program: Program; addresses: Addresses; key: string }> {
  const program = dealkeep(['serve', '--json'], { DATA_DIR: dataDir, ...more });
  const addresses = await program.ready;
  const owner = new pg.Client((await runningOwner(dataDir)) ?? {});
  await owner.connect();
  const key = await newKey(owner).finally(() => owner.end());
  return { program, addresses, key };
}

async function asOwner(dataDir: string, text: string): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client((await runningOwner(dataDir)) ?? {});
  await client.connect();
  return (await client.query(text).finally(() => client.end())).rows;
}

function createContact(addresses: Addresses, key: string, displayName: string): Promise<Response> {
  return fetch(`${addresses.rest_url}/contacts`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ type: 'person', displayName }),
  });
}

async function contactNames(addresses: Addresses, key: string): Promise<string[]> {
  const answer = await fetch(`${addresses.rest_url}/contacts`, { headers: { Authorization: `Bearer ${key}` } });
  const { data } = (await answer.json()) as { data: { displayName: string }[] };
  return data.map(({ displayName }) => displayName).toSorted();
}

const postmaster = async (dataDir: string) =>
  Number((await readFile(path.join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8')).split('\n')[0]);

test('a first start offers a set-up link, keeps its secrets private, and stops PostgreSQL on SIGTERM', async () => {
  const dataDir = await newDataDir();
  const program = dealkeep(['serve', '--json'], { DATA_DIR: dataDir });
  const { url, set_up_url } = await program.ready;
  expect(set_up_url).toMatch(new RegExp(`^${url}set-up#token=[A-Za-z0-9_-]{43}$`));
  expect(await (await fetch(`${url}readyz`)).text()).toBe('ready\n');
  const secrets = await stat(path.join(dataDir, 'postgres-passwords.json'));
  expect(secrets.mode & 0o777).toBe(0o600);
  const database = await postmaster(dataDir);

  program.child.kill('SIGTERM');
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  expect(stdout).toContain('"msg":"stopped"');
  expect(isAlive(database)).toBe(false);
});

test('the password check is loaded again after its first load has failed', async () => {
  const directory = await newDataDir();
  const [node, preloaded] = ['node', 'preloaded.mjs'].map((file) => path.join(directory, file)) as [string, string];
  await mkdir(directory);
  await writeFile(
    preloaded,
    `import { registerHooks } from 'node:module';
let failures = 0;
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (failures > 0 || !/class ZxcvbnFactory|ZxcvbnFactory = class/.test(String(loaded.source))) return loaded;
    failures += 1;
    throw Object.assign(new Error('EMFILE: too many open files, open'), { code: 'EMFILE' });
  },
});
`,
  );
  await writeFile(node, `#!/bin/sh\nexec '${process.execPath}' --import '${preloaded}' "$@"\n`, { mode: 0o755 });
  const program = dealkeepOn(node, ['serve', '--json'], { DATA_DIR: await migratedDataDir() });
  const { url, set_up_url } = await program.ready;
  const setUp = async (password: string) => {
    const [, token] = (set_up_url ?? '').split('#token=');
    const first = { token, brokerage_name: 'Harbor Brokers', name: 'Ada Admin', email: 'ada@example.com', password };
    const headers = { 'Content-Type': 'application/json' };
    return (await fetch(`${url}api/auth/set-up`, { method: 'POST', headers, body: JSON.stringify(first) })).status;
  };
  expect(await setUp('a long enough passphrase')).toBe(500);
  expect(await setUp('password')).toBe(400);
  expect(await setUp('a long enough passphrase')).toBe(200);
  program.child.kill('SIGTERM');
  expect((await program.ended).code).toBe(0);
});

test('after kill -9 the next start recovers, and every contact answered with 201 is there', async () => {
  const dataDir = await migratedDataDir();
  const { program, addresses, key } = await startWithKey(dataDir);
  const [server, orphan] = [await program.serverPid(), await postmaster(dataDir)];
  const kept: string[] = [];
  // Writes until the server is killed; the last requests fail.
  const writing = (async () => {
    for (let nth = 0; nth < 10_000; nth += 1) {
      const answer = await createContact(addresses, key, `Contact ${nth}`).catch(() => null);
      if (answer === null) return;
      if (answer.status === 201) kept.push(`Contact ${nth}`);
    }
  })();
  await expect.poll(() => kept.length).toBeGreaterThan(20);
  signal(server, 'SIGKILL');
  await writing;
  await program.ended;
  expect(isAlive(orphan)).toBe(true);

  const next = serve({ DATA_DIR: dataDir });
  const again = await next.ready;
  expect(again.set_up_url).toBeNull();
  expect(isAlive(orphan)).toBe(false);
  const found = new Set(await allNames(dataDir));
  expect(kept.filter((name) => !found.has(name))).toEqual([]);
  expect((await createContact(again, key, 'Afterwards')).status).toBe(201);
  next.child.kill('SIGTERM');
  expect((await next.ended).code).toBe(0);
});

async function allNames(dataDir: string): Promise<string[]> {
  return (await asOwner(dataDir, 'select display_name from public.contacts')).map((row) => String(row['display_name']));
}

test('after PostgreSQL and the server are killed together, the write-ahead log restores everything', async () => {
  const dataDir = await migratedDataDir();
  const { program, addresses, key } = await startWithKey(dataDir);
  expect((await createContact(addresses, key, 'Written just before')).status).toBe(201);
  for (const pid of [await program.serverPid(), await postmaster(dataDir)]) signal(pid, 'SIGKILL');
  await program.ended;
  const next = serve({ DATA_DIR: dataDir });
  expect(await contactNames(await next.ready, key)).toEqual(['Written just before']);
  next.child.kill('SIGTERM');
  expect((await next.ended).code).toBe(0);
});

test.for(['1', '2'])('with WORKERS=%s, the server logs the end of PostgreSQL and exits with 1', async (WORKERS) => {
  const dataDir = await migratedDataDir();
  const program = serve({ DATA_DIR: dataDir, WORKERS });
  await program.ready;
  signal(await postmaster(dataDir), 'SIGKILL');
  const { code, stdout } = await program.ended;
  expect(code).toBe(1);
  expect(stdout).toMatch(/"level":"fatal".*PostgreSQL ended by SIGKILL/);
});

test('killing bin/dealkeep.js stops the server behind it, and an immediate restart waits for that', async () => {
  const dataDir = await migratedDataDir();
  const program = dealkeep(['serve', '--json'], { DATA_DIR: dataDir });
  await program.ready;
  const server = await program.serverPid();
  program.child.kill('SIGKILL');
  const next = dealkeep(['serve', '--json'], { DATA_DIR: dataDir });
  await next.ready;
  expect(isAlive(server)).toBe(false);
  next.child.kill('SIGTERM');
  expect((await next.ended).code).toBe(0);
});

describe('beside a running service', () => {
  let firstDir: string;
  let first: Program;
  let url: string;
  beforeAll(async () => {
    firstDir = await migratedDataDir();
    first = serve({ DATA_DIR: firstDir });
    ({ url } = await first.ready);
  });

  test('a second start on the same DATA_DIR fails with a message, and the first continues', async () => {
    const second = await run(['serve'], { DATA_DIR: firstDir });
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(`Dealkeep is already running on ${firstDir} (process ${await first.serverPid()}).`);
    expect((await fetch(`${url}readyz`)).status).toBe(200);
  });

  test('a start on a used port fails with a message, and its PostgreSQL does not stay behind', async () => {
    const { port } = new URL(url);
    const dataDir = await migratedDataDir();
    const second = await run(['serve'], { DATA_DIR: dataDir, PORT: port });
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining(`Port ${port} on 127.0.0.1 is taken`) });
    await expect(postmaster(dataDir)).rejects.toThrow('ENOENT');
  });
});

test('SIGTERM finishes the request in flight, accepts no new connection, and exits with 0', async () => {
  const dataDir = await migratedDataDir();
  const { program, addresses, key } = await startWithKey(dataDir);
  const blocker = new pg.Client((await runningOwner(dataDir)) ?? {});
  await blocker.connect();
  await blocker.query('begin; lock table public.contacts in share mode');
  const answer = createContact(addresses, key, 'In flight');
  await expect
    .poll(async () => (await asOwner(dataDir, `select from pg_locks where not granted`)).length)
    .toBeGreaterThan(0);

  program.child.kill('SIGTERM');
  await expect.poll(() => refuses(addresses)).toBe(true);
  await blocker.query('commit');
  await blocker.end();
  expect((await answer).status).toBe(201);
  expect((await program.ended).code).toBe(0);
});

test('SIGTERM with DRAIN_SECONDS ends readiness at once, and responses then close their connections', async () => {
  const program = dealkeep(['serve', '--json'], { DATA_DIR: await migratedDataDir(), DRAIN_SECONDS: '300' });
  const addresses = await program.ready;
  const ask = (name: string) => fetch(`${addresses.url}${name}`);
  const before = await ask('healthz');
  expect([before.status, before.headers.get('connection')]).toEqual([200, 'keep-alive']);
  program.child.kill('SIGTERM');
  await expect.poll(async () => (await ask('readyz')).status).toBe(503);
  const during = await ask('healthz');
  expect([during.status, during.headers.get('connection')]).toEqual([200, 'close']);
  // A second signal stops it without waiting.
  program.child.kill('SIGTERM');
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  expect(stdout).toContain('"shutting down: no longer ready, still answering"');
  expect(await refuses(addresses)).toBe(true);
});

function refuses({ url }: Addresses): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = createConnection(Number(port), hostname);
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', () => resolve(true));
  });
}

test('a request that never ends is dropped after SHUTDOWN_SECONDS', async () => {
  const { program, addresses, key } = await startWithKey(await migratedDataDir(), { SHUTDOWN_SECONDS: '1' });
  const { hostname, port } = new URL(addresses.url);
  const socket = createConnection(Number(port), hostname);
  let answered = '';
  socket.on('data', (part: Buffer) => (answered += part.toString()));
  socket.on('error', () => {});
  const dropped = once(socket, 'close');
  const head = ['POST /api/v1/contacts HTTP/1.1', 'Host: localhost', 'Content-Type: application/json'];
  const body = ['Content-Length: 100', 'Expect: 100-continue', '', '{'];
  socket.write([...head, `Authorization: Bearer ${key}`, ...body].join('\r\n'));
  const taken = 'HTTP/1.1 100 Continue\r\n\r\n';
  await expect.poll(() => answered).toBe(taken);

  program.child.kill('SIGINT');
  await dropped;
  // A body that arrives too slowly gets an error response after a minute; the shutdown did not wait for that.
  expect(answered).toBe(taken);
  expect((await program.ended).code).toBe(0);
});

test('a configuration error exits with 2 before anything is created', async () => {
  const dataDir = await newDataDir();
  const { code, stderr } = await run(['serve'], { DATA_DIR: dataDir, PORT: 'eighty', SMTP_URL: 'hunter2' });
  expect(code).toBe(2);
  expect(stderr).toContain('PORT holds "eighty"');
  expect(stderr).toContain('SMTP_URL');
  expect(stderr).not.toContain('hunter2');
  await expect(stat(dataDir)).rejects.toThrow('ENOENT');
});
