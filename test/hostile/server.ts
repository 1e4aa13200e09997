/**
 * A node of the service in a process of its own, which reports how long its event loop was blocked; the client's work
 * is not included.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import type pg from 'pg';
import { createApp } from '../../server/app.ts';
import type { Config } from '../../server/config/config.ts';
import { listen } from '../../server/cli/listen.ts';
import { createLog } from '../../server/lib/log.ts';
import { openServices } from '../../server/services.ts';

/** The first message to the process. */
export interface Opening {
  readonly config: Config;
  readonly server: pg.ClientConfig;
}

/** Later messages: advance the clock, or report the measurements and begin new ones. */
export type Asked = { readonly advance: number } | { readonly measured: true };

/** Measurements since the last report, in milliseconds. */
export interface Measured {
  /** How late the event loop was, for any reason: our code, or other work on the machine. */
  readonly p99: number;
  readonly longest: number;
  /** The longest uninterrupted work of the loop's own thread, without the time that other processes took. */
  readonly busiest: number;
  /** The requests in progress during stretches of over 50 ms of work. */
  readonly stalls: readonly { readonly worked: number; readonly late: number; readonly requests: readonly string[] }[];
  readonly errors: readonly string[];
}

const every = 5;
const delay = monitorEventLoopDelay({ resolution: every });
const underWay = new Set<string>();
let seen: string[] = [];
let stalls: { worked: number; late: number; requests: string[] }[] = [];
let errors: string[] = [];
let busiest = 0;
let turn = performance.now();
let before = process.threadCpuUsage();

function look(): void {
  const now = performance.now();
  const { user, system } = process.threadCpuUsage(before);
  before = process.threadCpuUsage();
  const late = Math.round(now - turn - every);
  const worked = Math.round(Math.min((user + system) / 1_000, now - turn));
  turn = now;
  busiest = Math.max(busiest, worked);
  if (worked > 50) stalls.push({ worked, late, requests: [...new Set([...underWay, ...seen])] });
  seen = [];
}

function measured(): Measured {
  const millis = (nanos: number) => Math.round(nanos / 1e6);
  const told = { p99: millis(delay.percentile(99)), longest: millis(delay.max), busiest, stalls, errors };
  delay.reset();
  [stalls, errors, busiest] = [[], [], 0];
  return told;
}

async function open({ config, server }: Opening): Promise<string> {
  let offset = 0;
  const clock = () => new Date(Date.now() + offset);
  const log = createLog('error', { write: (line) => void errors.push(line) });
  const listener = await listen('127.0.0.1', 0);
  const { services } = await openServices(config, server, {
    log,
    clock,
    mail: { send: async () => {}, close: () => {} },
    waitMillis: 30_000,
  });
  const app = createApp(services);
  const { fetch } = app;
  app.fetch = async (request, ...more) => {
    const name = `${request.method} ${new URL(request.url).pathname} ${request.headers.get('x-nth') ?? ''}`;
    underWay.add(name);
    seen.push(name);
    try {
      return await fetch(request, ...more);
    } finally {
      underWay.delete(name);
    }
  };
  listener.answerWith(app);
  process.on('message', (asked: Asked) => {
    if ('advance' in asked) offset += asked.advance;
    else process.send!(measured());
  });
  delay.enable();
  setInterval(look, every);
  return `http://127.0.0.1:${listener.port}`;
}

process.once('message', (opening: Opening) => void open(opening).then((origin) => process.send!({ origin })));
// Ends together with the parent process.
process.once('disconnect', () => process.exit());
