/**
 * `npm run drill`: two nodes behind the real HAProxy are replaced one after the other while eight clients write. Prints how
 * many writes were acknowledged, failed, lost and duplicated, and ends by itself; 1 when one failed, was lost or duplicated.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { openCluster, urlOf } from '../bench/cluster.ts';
import { startDealkeep, type Service } from '../bench/processes.ts';
import { mintApiKey } from '../server/domain/clients/api-keys.ts';
import { certificate, freePort, isInstalled, startProxy } from './proxies.ts';

const writers = 8;
const drainSeconds = 4;

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** An API key of a new brokerage. */
async function newKey(owner: pg.Client): Promise<string> {
  const { rows } = await owner.query<{ brokerage: string; admin: string }>(
    `with b as (insert into brokerages (slug, name) values ('drill', 'Drill') returning id),
       u as (insert into users (email, name) values ('ann@drill.example', 'Ann') returning id)
     insert into members (brokerage_id, user_id, role) select b.id, u.id, 'admin' from b, u
     returning brokerage_id as brokerage, user_id as admin`,
  );
  const { token, digest, lastFour } = mintApiKey('live');
  await owner.query(
    `select app.issue_api_key($1, $2, 'drill', 'live', '{contacts:read,contacts:write}', $3, null, $4, $5)`,
    [rows[0]?.brokerage, rows[0]?.admin, 100_000, digest, lastFour],
  );
  return token;
}

async function rolling(directory: string): Promise<boolean> {
  const { cert: ca } = certificate(directory);
  const [port, ...nodePorts] = [await freePort(), await freePort(), await freePort()];
  const [a = 0, b = 0] = nodePorts;
  const cluster = await openCluster();
  const owner = new pg.Client(cluster.owner);
  await owner.connect();
  const key = await newKey(owner);
  const node = (own: number) =>
    startDealkeep(urlOf(cluster.server), {
      PORT: String(own),
      BASE_URL: `https://localhost:${port}`,
      TRUSTED_PROXIES: '127.0.0.1',
      DATA_DIR: path.join(directory, 'data'),
      DRAIN_SECONDS: String(drainSeconds),
    });
  const nodes: Service[] = [await node(a), await node(b)];
  const stopProxy = await startProxy('haproxy', { directory, port, nodes: [a, b] });
  const agent = new https.Agent({ keepAlive: true, ca });
  const acknowledged: string[] = [];
  const failed: string[] = [];
  const over = new AbortController();

  const create = (displayName: string) =>
    new Promise<number | string>((resolve) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const request = https.request(`https://localhost:${port}/api/v1/contacts`, { method: 'POST', agent, headers });
      request.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      request.once('response', (answer) => answer.resume().once('end', () => resolve(answer.statusCode ?? 0)));
      request.end(JSON.stringify({ type: 'person', displayName }));
    });
  try {
    for (const giveUp = Date.now() + 20_000; (await create('Warming up')) !== 201; await pause(200))
      if (Date.now() > giveUp) throw new Error('The nodes did not become ready behind HAProxy.');
    const writing = Array.from({ length: writers }, async (_, writer) => {
      for (let nth = 0; !over.signal.aborted; nth += 1) {
        const name = `Writer ${writer}, contact ${nth}`;
        const outcome = await create(name);
        if (outcome === 201) acknowledged.push(name);
        else failed.push(`${name}: ${outcome}`);
      }
    });
    for (const [at, own] of [a, b].entries()) {
      await pause(2_000);
      const began = performance.now();
      await nodes[at]?.stop();
      nodes[at] = await node(own);
      say(`node ${at + 1} replaced in ${((performance.now() - began) / 1000).toFixed(1)} s`);
      // Until HAProxy takes it back.
      await pause(3_000);
    }
    over.abort();
    await Promise.all(writing);
    const { rows } = await owner.query<{ display_name: string; times: number }>(
      'select display_name, count(*)::int as times from contacts group by 1',
    );
    const kept = new Map(rows.map(({ display_name, times }) => [display_name, times]));
    const lost = acknowledged.filter((name) => !kept.has(name)).length;
    const duplicated = acknowledged.filter((name) => (kept.get(name) ?? 0) > 1).length;
    say(
      `requests failed ${failed.length}, acknowledged ${acknowledged.length}, lost ${lost}, duplicated ${duplicated}`,
    );
    for (const line of failed.slice(0, 5)) say(`  ${line}`);
    return failed.length + lost + duplicated === 0;
  } finally {
    over.abort();
    agent.destroy();
    await stopProxy();
    await Promise.all(nodes.map((each) => each.stop()));
    await owner.end();
    await cluster.close();
  }
}

const missing = ['haproxy', 'openssl'].find((program) => !isInstalled(program));
if (missing) say(`There is no ${missing} here: the rolling restart is left out.`);
else {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-drill-'));
  say(`Rolling restart: two nodes behind HAProxy, ${writers} clients that write.`);
  const held = await rolling(directory).finally(() => rm(directory, { recursive: true, force: true }));
  process.exitCode = held ? 0 : 1;
}
