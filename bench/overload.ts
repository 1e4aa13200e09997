/** What the service does when three times as much is asked of it as it can do, and what its limits cost. */

import { fork } from 'node:child_process';
import { get } from 'node:http';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { portOf } from './compare.ts';
import { startDealkeep, type Service } from './processes.ts';
import { contactRequests } from './rest-operations.ts';
import { millis, percent, table, whole } from './table.ts';

/** So many requests a second, whether or not they are answered. */
export interface OpenOrder {
  readonly port: number;
  readonly requests: readonly string[];
  readonly rate: number;
  /** The most connections. */
  readonly connections: number;
  readonly seconds: number;
  readonly warmUp: number;
}

interface Share {
  /** Answers a second. */
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
}

export interface OpenOutcome {
  /** Answered with 200. */
  readonly served: Share;
  /** Answered with 503. */
  readonly refused: Share;
  /** Other answers, by status. */
  readonly others: Readonly<Record<string, number>>;
  /** Requests that no connection was free for. */
  readonly unsent: number;
  /** Connections that ended without an answer. */
  readonly broken: number;
  /** Requests that had no answer 20 s after the end. */
  readonly hanging: number;
}

/** Orders load from the other generator's process, which ends with it. */
async function sendAt(order: OpenOrder): Promise<OpenOutcome> {
  const child = fork(path.join(import.meta.dirname, 'open-generator.ts'), { stdio: 'inherit' });
  try {
    return await new Promise((resolve, reject) => {
      child.once('message', resolve);
      child.once('exit', () => reject(new Error('The load generator ended.')));
      child.send(order);
    });
  } finally {
    child.disconnect();
  }
}

/** Asks /healthz every 20 ms on new connections until it is stopped; then tells the time within which 99 % were answered. */
function watchHealth(port: number): () => number {
  const times: number[] = [];
  const timer = setInterval(() => {
    const begin = performance.now();
    get({ port, host: '127.0.0.1', path: '/healthz', agent: false }, (response) => {
      response.resume();
      response.on('end', () => times.push(performance.now() - begin));
    }).on('error', () => times.push(Infinity));
  }, 20);
  return () => {
    clearInterval(timer);
    return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? NaN;
  };
}

const times = 3;

async function overload(bench: Bench, service: Service, name: string, requests: readonly string[]): Promise<string[]> {
  const { generator, seconds, say } = bench;
  const port = portOf(service);
  say(`Finding the capacity for ${name}`);
  await generator.send({
    label: `warm-up ${name}`,
    port,
    requests,
    connections: 64,
    seconds: 1,
    warmUp: 2,
    expect: 200,
  });
  const capacity = await generator.send({
    label: name,
    port,
    requests,
    connections: 64,
    seconds,
    warmUp: 0.5,
    expect: 200,
  });
  const order = { port, requests, connections: 5_000, seconds, warmUp: 1 };
  const normal = await sendAt({ ...order, rate: capacity.rate * 0.8 });
  const before = service.memory();
  say(`Offering ${whole(capacity.rate * times)} requests/s of ${name}`);
  let peak = before;
  const watching = setInterval(() => (peak = Math.max(peak, service.memory())), 50);
  const healthOf = watchHealth(port);
  const outcome = await sendAt({ ...order, rate: capacity.rate * times, seconds: seconds * 2 });
  const health = healthOf();
  await setTimeout(10_000);
  clearInterval(watching);
  const after = service.memory();
  const lost = Object.entries({
    ...outcome.others,
    unsent: outcome.unsent,
    broken: outcome.broken,
    hanging: outcome.hanging,
  })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${what}: ${whole(count)}`);
  return [
    name,
    whole(capacity.rate),
    millis(capacity.p99),
    millis(normal.served.p99),
    whole(outcome.served.rate),
    percent(outcome.served.rate, capacity.rate),
    millis(outcome.served.p99),
    whole(outcome.refused.rate),
    millis(outcome.refused.p99),
    millis(health),
    `${whole(before)}, ${whole(peak)}, ${whole(after)}`,
    lost.join(', ') || '–',
  ];
}

const heads = [
  '',
  'capacity /s',
  'p99 ms',
  'at 80 %: p99 ms',
  `at ${times}×: served /s`,
  'of capacity',
  'p99 ms',
  '503 /s',
  'p99 ms',
  'health p99 ms',
  'memory MB before, peak, after',
  'else',
];

/** Prints what becomes of requests at three times the capacity. */
export async function benchLoad(bench: Bench): Promise<void> {
  const { data, say } = bench;
  await data.growTo(10_000);
  const service = await startDealkeep(bench.databaseUrl);
  try {
    const sample = await data.sample(2_000);
    const ones = sample.map(({ id, tenant }) => contactRequests(data, tenant, `/${id}`).ours);
    const pages = sample.map(({ tenant }) => contactRequests(data, tenant, '').ours);
    const lines = [
      await overload(bench, service, 'get one', ones),
      await overload(bench, service, 'page 1 of 50', pages),
    ];
    say(`\nREST at ${times} times the capacity; the generator and PostgreSQL have the same processors\n`);
    say(table(heads, lines));
  } finally {
    await service.stop();
  }
}
