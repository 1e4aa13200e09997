/** WORKERS: a service of several processes, from its start to its end. */

import { once } from 'node:events';
import { copyFile, mkdir, rename, symlink, unlink } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { family } from '../../drill/postgres.ts';
import { newKey, startWriters, tally } from '../../drill/writers.ts';
import { urlOf } from '../../bench/cluster.ts';
import { freePort } from '../../bench/free-port.ts';
import { openService, type TestService } from '../harness.ts';
import { cleanUp, dealkeep, dealkeepOn, newDataDir, run, signal, type Addresses, type Program } from './program.ts';

const patience = { timeout: 60_000, interval: 50 };

interface Line {
  readonly msg?: string;
  readonly worker?: number;
  readonly pid?: number;
}

/** Returns a function that returns the lines logged so far. */
function logOf({ written }: Program): () => Line[] {
  return () =>
    written()
      .stdout.split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
}

const childrenOf = (pid: number): number[] => family(pid).slice(1);

let service: TestService;
let env: Record<string, string>;
let log: () => Line[];
let addresses: Addresses;
let owner: pg.ClientConfig;
let key: string;
const start = () => dealkeep(['serve', '--json'], { ...env, DRAIN_SECONDS: '300', SHUTDOWN_SECONDS: '120' });
beforeAll(async () => {
  service = await openService();
  ({ owner } = service.connections);
  const DATABASE_URL = urlOf(service.connections.server);
  env = { DATA_DIR: await newDataDir(), DATABASE_URL, WORKERS: '2' };
  const program = start();
  log = logOf(program);
  addresses = await program.ready;
  const client = new pg.Client(owner);
  await client.connect();
  key = await newKey(client).finally(() => client.end());
});
afterAll(async () => {
  await cleanUp();
  await service.close();
});

const answeringIn = (lines: readonly Line[]) => lines.filter(({ msg }) => msg === 'a worker is answering requests');
const answering = () => answeringIn(log());
const metrics = async () => (await fetch(`${addresses.url}metrics`)).text();
const writers = (insist: boolean, url = addresses.url) =>
  startWriters([new URL(url).origin], { key, count: 4, insist });

test('both workers respond, and /metrics adds up their counts', async () => {
  expect(answering().map(({ worker }) => worker)).toEqual(expect.arrayContaining([1, 2]));
  const writing = await writers(true);
  const requestsOf = (worker: number) =>
    log().filter((line) => line.msg === 'request' && line.worker === worker).length;
  await expect.poll(() => Math.min(requestsOf(1), requestsOf(2)), patience).toBeGreaterThan(10);
  await writing.stop();
  expect(await metrics()).toContain('dealkeep_workers 2\n');
  // Both workers need up to a second to send their counters, and the log takes time to be written.
  const uncounted = async () => {
    const [, counted] = /dealkeep_requests_total\{interface="rest",status="2xx"\} (\d+)/.exec(await metrics()) ?? [];
    return requestsOf(1) + requestsOf(2) - Number(counted);
  };
  await expect.poll(uncounted, patience).toBe(0);
});

test('a killed worker is replaced, the other continues, and no acknowledged write is lost', async () => {
  const before = answering().length;
  const pid = answering().at(-1)?.pid;
  const writing = await writers(true);
  await expect.poll(() => writing.attempts.length, patience).toBeGreaterThan(20);
  signal(pid, 'SIGKILL');
  await expect.poll(() => answering().length, patience).toBe(before + 1);
  const { length } = writing.attempts;
  await expect.poll(() => writing.attempts.length, patience).toBeGreaterThan(length + 20);
  await writing.stop();
  // No request reaches the new worker before it can answer.
  expect(writing.attempts.filter(({ outcome }) => outcome === 503)).toEqual([]);
  const { acknowledged, lost, duplicated } = await tally(writing, owner);
  expect({ acknowledged: acknowledged > 40, lost, duplicated }).toEqual({ acknowledged: true, lost: 0, duplicated: 0 });
  await expect.poll(metrics, patience).toContain('dealkeep_workers 2\n');
});

/**
 * Sends a contact on a connection of its own; resolves with the status, or with the error code when no complete
 * response arrives.
 */
function postAlone(url: string, name: string): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sent = request(url, { method: 'POST', agent: false, headers }, (answer) => {
      answer.resume();
      answer.once('error', ({ code }: NodeJS.ErrnoException) => resolve(`${code} in the answer`));
      answer.once('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.once('error', ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message));
    sent.end(JSON.stringify({ type: 'person', displayName: name }));
  });
}

test('a hanging worker delays one connection, which the other worker serves once the hanging one is killed', async () => {
  const pid = answering().at(-1)?.pid;
  signal(pid, 'SIGSTOP');
  let answered = 0;
  const sent = ['1', '2', '3', '4'].map(async (name) => {
    const outcome = await postAlone(`${addresses.rest_url}/contacts`, name);
    answered += 1;
    return outcome;
  });
  await expect.poll(() => answered, patience).toBe(3);
  signal(pid, 'SIGKILL');
  expect(await Promise.all(sent)).toEqual([201, 201, 201, 201]);
  await expect.poll(metrics, patience).toContain('dealkeep_workers 2\n');
});

test('SIGTERM makes all workers unready, fails no request, finishes those in flight, and exits with 0', async () => {
  const own = start();
  const { url, rest_url } = await own.ready;
  const writing = await writers(false, url);
  await expect.poll(() => writing.attempts.length, patience).toBeGreaterThan(20);
  own.child.kill('SIGTERM');
  // Repeated until each of the workers has been asked.
  const ready = async () => (await fetch(`${url}readyz`)).status;
  await expect.poll(async () => [await ready(), await ready(), await ready()], patience).toEqual([503, 503, 503]);
  await writing.stop();
  expect(writing.attempts.filter(({ outcome }) => outcome !== 201)).toEqual([]);

  // The request's body is still being sent, and the worker has answered 100 Continue.
  const inFlight = request(`${rest_url}/contacts`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', expect: '100-continue' },
  });
  const answered = once(inFlight, 'response') as Promise<[IncomingMessage]>;
  inFlight.flushHeaders();
  await once(inFlight, 'continue');
  inFlight.write('{"type": "person", ');
  const client = new pg.Client(owner);
  await client.connect();
  await client.query('update api_keys set last_used_at = null');
  own.child.kill('SIGTERM');
  const refused = () =>
    fetch(`${url}healthz`).then(
      () => false,
      () => true,
    );
  await expect.poll(refused, patience).toBe(true);
  inFlight.end('"displayName": "In flight"}');
  expect((await answered)[0].statusCode).toBe(201);
  const { code, stdout } = await own.ended;
  expect(code).toBe(0);
  expect(stdout).toContain('"msg":"stopped"');
  expect(stdout).not.toContain('"level":"fatal"');
  // The workers store the times of last use that they have collected before they end.
  const { rows: keys } = await client.query('select last_used_at from api_keys').finally(() => client.end());
  expect(keys).toEqual([{ last_used_at: expect.any(Date) }]);
});

test('during a stop, clients that reconnect for each request get responses until connections are refused', async () => {
  const outcomes: (number | string)[] = [];
  for (const ending of ['SIGTERM', 'SIGTERM', 'SIGINT'] as const) {
    const node = dealkeep(['serve', '--json'], { ...env, DRAIN_SECONDS: '1' });
    const { rest_url } = await node.ready;
    let answered = 0;
    const clients = Array.from({ length: 12 }, async (_, nth) => {
      for (let outcome: number | string = 0; outcome !== 'ECONNREFUSED'; answered += 1)
        outcomes.push((outcome = await postAlone(`${rest_url}/contacts`, `Client ${nth}`)));
    });
    await expect.poll(() => answered, patience).toBeGreaterThan(50);
    node.child.kill(ending);
    await Promise.all(clients);
    expect((await node.ended).code).toBe(0);
  }
  const failed = outcomes.filter((outcome) => outcome !== 201 && outcome !== 'ECONNREFUSED');
  // While a socket is being closed, the system may still connect a client to it, about once in many stops.
  expect(failed.length, failed.join(', ')).toBeLessThan(3);
});

/** Kills a process that may have ended meanwhile. */
function kill(pid: number): void {
  try {
    signal(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

test('workers that end at each start stop the service with an explanation', async () => {
  const other = dealkeep(['serve', '--json'], env);
  await other.ready;
  const killing = setInterval(() => {
    // The child of bin/dealkeep.js is the process that manages the workers; its children are the workers.
    for (const holder of childrenOf(other.child.pid ?? 0)) for (const pid of childrenOf(holder)) kill(pid);
  }, 100);
  const { code, stdout } = await other.ended.finally(() => clearInterval(killing));
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /"reason":"Workers could not be started: worker \d+ ended with SIGKILL before it was ready; see the log."/,
  );
});

test('each worker may fail to start several times, even when all do', async () => {
  const other = dealkeep(['serve', '--json'], env);
  const told = logOf(other);
  await other.ready;
  const killed = new Set<number>();
  const started = () =>
    childrenOf(other.child.pid ?? 0)
      .flatMap(childrenOf)
      .filter((pid) => !killed.has(pid));
  // First the workers that answer, then three times those that would replace them.
  for (let round = 0; round < 4; round += 1) {
    await expect.poll(() => started().length, patience).toBe(2);
    for (const pid of started()) {
      killed.add(pid);
      kill(pid);
    }
  }
  await expect.poll(() => answeringIn(told()).length, patience).toBeGreaterThanOrEqual(4);
  other.child.kill('SIGTERM');
  expect((await other.ended).code).toBe(0);
});

/** Starts a service on a Node.js that can be moved away, as happens while another is installed. */
async function openOnOwnNode() {
  const directory = await newDataDir();
  const node = path.join(directory, 'node');
  const away = path.join(directory, 'away');
  await mkdir(directory);
  await copyFile(process.execPath, node);
  const own = dealkeepOn(node, ['serve', '--json'], env);
  const told = logOf(own);
  await own.ready;
  // The service is ready once one worker answers; the log may be read later.
  await expect.poll(() => answeringIn(told()).length, patience).toBe(2);
  const killFirst = () => signal(answeringIn(told())[0]?.pid, 'SIGKILL');
  return { node, away, own, told, killFirst };
}

test.each([
  ['is not there', async () => {}],
  ['cannot be opened', async (node: string) => symlink(node, node)],
])('a worker is replaced even if Node.js %s at first', async (_, instead) => {
  const { node, away, own, told, killFirst } = await openOnOwnNode();
  await rename(node, away);
  await instead(node);
  killFirst();
  await expect.poll(() => told().filter(({ msg }) => msg?.startsWith('a worker ended')).length, patience).toBe(2);
  await rename(away, node);
  await expect.poll(() => answeringIn(told()).length, patience).toBe(3);
  own.child.kill('SIGTERM');
  expect((await own.ended).code).toBe(0);
});

test('a worker that can never be started stops the service with an explanation', async () => {
  const { node, own, killFirst } = await openOnOwnNode();
  await unlink(node);
  killFirst();
  const { code, stdout } = await own.ended;
  expect(code).toBe(1);
  expect(stdout).toMatch(/"reason":"A worker cannot be started: spawn \S+ ENOENT."/);
});

test.for(['1', '2'])('beside other nodes, WORKERS=%s opens its port only when it can respond', async (WORKERS) => {
  const port = await freePort();
  const node = dealkeep(['serve', '--json'], { ...env, WORKERS, PORT: String(port) });
  const ask = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ status }) => status,
      () => 'refused',
    );
  const answers = new Set<number | string>();
  await expect.poll(async () => answers.add(await ask()).has(200), { ...patience, interval: 5 }).toBe(true);
  expect([...answers]).toEqual(['refused', 200]);
  node.child.kill('SIGTERM');
  expect((await node.ended).code).toBe(0);
});

test('a port in use is reported, as with one process', async () => {
  const { port } = new URL(service.origin);
  const { code, stderr } = await run(['serve'], { ...env, PORT: port });
  expect([code, stderr]).toEqual([1, expect.stringContaining(`Port ${port} on 127.0.0.1 is taken`)]);
});
