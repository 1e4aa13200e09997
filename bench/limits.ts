/** What counting requests costs in each store, and how a tenant over the limit affects another one. */

import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { ClientBackends } from './backends.ts';
import type { Bench } from './bench.ts';
import { inTurns, portOf, type Side } from './compare.ts';
import { freePort } from './free-port.ts';
import { startGenerator } from './load.ts';
import { startDealkeep, type Service } from './processes.ts';
import { contactRequests } from './rest-operations.ts';
import { millis, table, whole } from './table.ts';

interface Redis {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a Redis without persistence; null where none is installed. */
async function startRedis(): Promise<Redis | null> {
  if (spawnSync('redis-server', ['--version']).error) return null;
  const directory = await mkdtemp(path.join(os.tmpdir(), 'dealkeep-bench-redis-'));
  const port = await freePort();
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--dir', directory];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await setTimeout(500);
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      child.kill();
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Prints the rate with counters in memory, in PostgreSQL and in Redis. */
async function cost(bench: Bench, redis: Redis | null): Promise<void> {
  const { cluster, data, databaseUrl, say } = bench;
  const requests = (await data.sample(2_000)).map(({ id, tenant }) => contactRequests(data, tenant, `/${id}`).ours);
  const stores: Record<string, NodeJS.ProcessEnv> = {
    memory: {},
    PostgreSQL: { RATE_LIMIT_STORE: 'postgres' },
    ...(redis && { Redis: { RATE_LIMIT_STORE: 'redis', REDIS_URL: redis.url } }),
  };
  const client = new pg.Client(cluster.owner);
  await client.connect();
  const services: Service[] = [];
  try {
    const sides: Record<string, Side> = {};
    for (const [name, env] of Object.entries(stores)) {
      const service = await startDealkeep(databaseUrl, env);
      services.push(service);
      sides[name] = { service, requests, expect: 200 };
    }
    say('Counting in turns');
    const measured = await inTurns(bench, 'limits', 16, sides, new ClientBackends(client));
    const { memory } = measured;
    const lines = Object.entries(measured).map(([name, { rate, p99, processor, postgres }]) => [
      name,
      whole(rate),
      `${((rate / memory!.rate - 1) * 100).toFixed(1)} %`,
      millis(p99),
      processor === null ? '–' : whole(processor),
      postgres === null ? '–' : whole(postgres),
    ]);
    say('\nA read by REST over 16 connections, 200 tenants, counted twice (address and key) in\n');
    say(table(['', 'rate /s', 'to memory', 'p99 ms', 'service µs', 'PostgreSQL µs'], lines));
    say(redis ? '' : 'Redis is left out: there is no redis-server here.\n');
  } finally {
    for (const service of services) await service.stop();
    await client.end();
  }
}

async function tenantWithCeiling({ cluster }: Bench, tenant: number, ceiling: number): Promise<void> {
  const client = new pg.Client(cluster.owner);
  await client.connect();
  await client.query('update api_keys set ceiling = $2 where brokerage_id = bench.brokerage_of($1)', [tenant, ceiling]);
  await client.end();
}

/**
 * Waits for the next minute if less than this many seconds are left of the current one: limits begin anew with each
 * minute.
 */
async function waitForTimeInMinute(seconds: number): Promise<void> {
  const left = 60_000 - (Date.now() % 60_000);
  if (left < seconds * 1_000) await setTimeout(left);
}

/**
 * Prints how long a client waits that sends one request after the other, alone and beside clients whose every request
 * gets 429.
 */
async function flood(bench: Bench): Promise<void> {
  const { data, databaseUrl, generator, rounds, seconds, say } = bench;
  const service = await startDealkeep(databaseUrl, { RATE_LIMIT_STORE: 'postgres' });
  const others = startGenerator();
  const port = portOf(service);
  const sample = await data.sample(2_000);
  const flooding = sample[0]!.tenant;
  const requestOf = ({ id, tenant }: { id: string; tenant: number }) => contactRequests(data, tenant, `/${id}`).ours;
  const quiet = sample.filter(({ tenant }) => tenant !== flooding).map(requestOf);
  const over = [requestOf(sample[0]!)];
  const kinds = { 'nobody else': 0, '1 connection': 1, '16 connections': 16, '64 connections': 64 };
  const ask = (label: string, connections: number) => {
    const order = { port, seconds: seconds / rounds, warmUp: 0.3 };
    const own = generator.send({ ...order, label: `quiet ${label}`, requests: quiet, connections: 1, expect: 200 });
    const flooded = { ...order, label: `flood ${label}`, requests: over, connections, expect: 429 };
    return Promise.all([own, connections === 0 ? null : others.send(flooded)]);
  };
  try {
    await tenantWithCeiling(bench, flooding, 600);
    const address = `${service.origin}/api/v1/contacts`;
    const headers = { Authorization: `Bearer ${data.tokenOf(flooding)}` };
    const statusOf = async () => {
      const answer = await fetch(address, { headers });
      await answer.text();
      return answer.status;
    };
    await ask('warm-up', 0);
    const found = new Map<string, Awaited<ReturnType<typeof ask>>>();
    for (let round = 0; round < rounds; round += 1)
      for (const [label, connections] of Object.entries(kinds)) {
        // Long enough to bring the other clients over their limit, and to measure.
        await waitForTimeInMinute(5 + seconds / rounds);
        // A new minute may have begun, in which the other clients are not over their limit.
        for (let sent = 0; (await statusOf()) !== 429; sent += 50) {
          if (sent > 2_000) throw new Error('The others never got to their limit.');
          await Promise.all(Array.from({ length: 20 }, statusOf));
        }
        found.set(label, await ask(label, connections));
      }
    const [alone] = found.get('nobody else')!;
    const lines = [...found].map(([label, [own, flooded]]) => [
      label,
      flooded ? whole(flooded.rate) : '–',
      millis(own.p50),
      `${((own.p50 / alone.p50 - 1) * 100).toFixed(0)} %`,
      millis(own.p99),
    ]);
    say('\nOne connection that reads, beside others of a tenant who is over the limit\n');
    say(table(['the others', '429 /s', 'p50 ms', 'more than alone', 'p99 ms'], lines));
    say('');
    await tenantWithCeiling(bench, flooding, 100_000);
  } finally {
    others.stop();
    await service.stop();
  }
}

/** Prints what limits cost, and how they protect other tenants. */
export async function benchLimits(bench: Bench): Promise<void> {
  await bench.data.growTo(10_000);
  const redis = await startRedis();
  try {
    await flood(bench);
    await cost(bench, redis);
  } finally {
    await redis?.stop();
  }
}
