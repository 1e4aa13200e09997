/** What the service does when it receives three times as many requests as it can answer, and what its limits cost. */

import { fork } from 'node:child_process';
import { get } from 'node:http';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { portOf } from './compare.ts';
import type { Outcome } from './load.ts';
import { median } from './median.ts';
import { divideProcessors } from './processors.ts';
import { startDealkeep, type Service } from './processes.ts';
import { contactRequests } from './rest-operations.ts';
import { millis, percent, table, whole } from './table.ts';

/** An order for `rate` requests per second, whether or not they are answered. */
export interface OpenOrder {
  readonly port: number;
  readonly requests: readonly string[];
  readonly rate: number;
  /** Maximum number of connections. */
  readonly connections: number;
  readonly seconds: number;
  readonly warmUp: number;
  /** As in the `Order` of the other generator. */
  readonly staysAwake: boolean;
}

interface Share {
  /** Responses per second. */
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
}

export interface OpenOutcome {
  /** Responses with status 200. */
  readonly served: Share;
  /** Responses with status 503. */
  readonly refused: Share;
  /** Number of other responses, by status. */
  readonly others: Readonly<Record<string, number>>;
  /** Requests for which no connection was free. */
  readonly unsent: number;
  /** Connections that ended without a response. */
  readonly broken: number;
  /** Requests without a response 20 s after the end. */
  readonly hanging: number;
  /** All responses with 200 and with 503, including the warm-up's. */
  readonly answers: { readonly served: number; readonly refused: number };
}

/** Sends the order to the other generator's process, which is started for it and ends with it. */
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

interface Health {
  /** 99th percentile of the response times in milliseconds, for requests of the first second and for all later ones. */
  readonly atFirst: number;
  readonly later: number;
  /** 99th percentile of this process's event loop delay in milliseconds, which is how late it sends requests. */
  readonly late: number;
}

/** Requests /healthz every 20 ms over new connections until the returned function is called. */
function watchHealth(port: number): () => Health {
  const began = performance.now();
  const asked: { readonly atFirst: boolean; readonly took: number }[] = [];
  const resolution = 5;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  const timer = setInterval(() => {
    const begin = performance.now();
    const note = (end: number) => asked.push({ atFirst: begin - began < 1_000, took: end - begin });
    get({ port, host: '127.0.0.1', path: '/healthz', agent: false }, (response) => {
      response.resume();
      response.on('end', () => note(performance.now()));
    }).on('error', () => note(Infinity));
  }, 20);
  return () => {
    clearInterval(timer);
    delay.disable();
    const p99 = (those: typeof asked) =>
      those.map(({ took }) => took).toSorted((a, b) => a - b)[Math.floor(those.length * 0.99)] ?? NaN;
    return {
      atFirst: p99(asked.filter(({ atFirst }) => atFirst)),
      later: p99(asked.filter(({ atFirst }) => !atFirst)),
      // What is measured contains the interval between two samples.
      late: Math.max(0, delay.percentile(99) / 1e6 - resolution),
    };
  };
}

const times = 3;

interface Load {
  readonly requests: readonly string[];
  readonly staysAwake: boolean;
}

interface Round {
  readonly capacity: Outcome;
  readonly normal: OpenOutcome;
  readonly over: OpenOutcome;
  readonly health: Health;
  /** The service's processor time in microseconds, per request at its capacity and per refused request. */
  readonly served: number;
  readonly refused: number;
  /** The service's memory in megabytes, at four fifths of its capacity and at its peak. */
  readonly usual: number;
  readonly peak: number;
}

/**
 * Measures the capacity of the service, how it answers at four fifths of it, and at three times as many requests: in
 * direct succession, since the load of the machine may vary.
 */
async function round(bench: Bench, service: Service, name: string, load: Load, isFirst: boolean): Promise<Round> {
  const { generator } = bench;
  const { requests, staysAwake } = load;
  const seconds = Math.max(3, bench.seconds);
  const port = portOf(service);
  const spent = () => (service.processorTime() ?? NaN) * 1e6;
  const closed = { port, requests, connections: 64, warmUp: 0.5, expect: 200, staysAwake };
  // After the overload of the previous round, the service queues fewer than 64 requests for two to four seconds.
  if (!isFirst) await setTimeout(5_000);
  // A process that has answered few requests has not compiled its code yet.
  await generator.send({ ...closed, label: `warm-up ${name}`, seconds: isFirst ? 8 : 1 });
  let before = spent();
  const capacity = await generator.send({ ...closed, label: `${name} ${performance.now()}`, seconds });
  const served = (spent() - before) / capacity.answers;
  const open = { port, requests, connections: 5_000, seconds, warmUp: 1, staysAwake };
  const normal = await sendAt({ ...open, rate: capacity.rate * 0.8 });
  const usual = service.memory();
  let peak = usual;
  const watching = setInterval(() => (peak = Math.max(peak, service.memory())), 50);
  const healthOf = watchHealth(port);
  before = spent();
  const over = await sendAt({ ...open, rate: capacity.rate * times });
  const both = spent() - before;
  const health = healthOf();
  clearInterval(watching);
  const { answers } = over;
  const refused = (both - answers.served * served) / answers.refused;
  const [first, second] = [capacity.rate, over.served.rate].map(whole);
  bench.say(`  capacity ${first} /s; of three times as much ${second} /s served`);
  return { capacity, normal, over, health, served, refused, usual, peak };
}

async function overload(bench: Bench, service: Service, name: string, load: Load): Promise<string[]> {
  const started = service.memory();
  const found: Round[] = [];
  for (let nth = 1; nth <= bench.rounds; nth += 1) {
    bench.say(`${name}, round ${nth} of ${bench.rounds}`);
    found.push(await round(bench, service, name, load, nth === 1));
  }
  // V8 releases memory after it has been idle for a while.
  await setTimeout(60_000);
  const of = (read: (one: Round) => number) => median(found.map(read));
  const lost = new Map<string, number>();
  for (const { over } of found)
    for (const [what, count] of Object.entries({
      ...over.others,
      unsent: over.unsent,
      broken: over.broken,
      hanging: over.hanging,
    }))
      if (count > 0) lost.set(what, (lost.get(what) ?? 0) + count);
  return [
    name,
    whole(of(({ capacity }) => capacity.rate)),
    millis(of(({ capacity }) => capacity.p99)),
    millis(of(({ normal }) => normal.served.p99)),
    whole(of(({ over }) => over.served.rate)),
    percent(
      of(({ capacity, over }) => over.served.rate / capacity.rate),
      1,
    ),
    millis(of(({ over }) => over.served.p99)),
    whole(of(({ over }) => over.refused.rate)),
    millis(of(({ over }) => over.refused.p99)),
    `${whole(of(({ served }) => served))}, ${whole(of(({ refused }) => refused))}`,
    `${millis(of(({ health }) => health.atFirst))}, ${millis(of(({ health }) => health.later))} (${millis(of(({ health }) => health.late))})`,
    [started, found[0]?.usual ?? NaN, Math.max(...found.map(({ peak }) => peak)), service.memory()]
      .map(whole)
      .join(', '),
    [...lost].map(([what, count]) => `${what}: ${whole(count)}`).join(', ') || '–',
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
  'service µs a served, a refused',
  'health p99 ms in the first second, then (asked late)',
  'memory MB before, at 80 %, most, after',
  'else',
];

/** Prints how requests are answered at three times the capacity. */
export async function benchLoad(bench: Bench): Promise<void> {
  const { data, say } = bench;
  await data.growTo(10_000);
  const service = await startDealkeep(bench.databaseUrl);
  try {
    const sample = await data.sample(2_000);
    const ones = sample.map(({ id, tenant }) => contactRequests(data, tenant, `/${id}`).ours);
    const pages = sample.map(({ tenant }) => contactRequests(data, tenant, '').ours);
    const divided = divideProcessors();
    const staysAwake = divided !== null;
    const lines = [
      await overload(bench, service, 'get one', { requests: ones, staysAwake }),
      await overload(bench, service, 'page 1 of 50', { requests: pages, staysAwake }),
    ];
    divided?.();
    say(
      `\nREST at ${times} times the capacity; ${
        divided
          ? 'one processor is that of the generator alone, which never sleeps, the others those of service and PostgreSQL'
          : 'the generator, the service and PostgreSQL have the same processors'
      }\n`,
    );
    say(table(heads, lines));
    say(
      `\nMedians of ${bench.rounds} rounds. Capacity: answers a second to 64 connections that each send the next request when the last is answered, in the ` +
        'same round. The processor time is that of the service alone; what is refused costs what is left of it when each that was served has cost as much as ' +
        'at capacity.',
    );
  } finally {
    await service.stop();
  }
}
