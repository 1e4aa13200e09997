/**
 * Webhook deliveries per second to a receiver that accepts them immediately, compared with two bare senders, which sign
 * and send finished bodies: one has them in memory, the other in a PostgreSQL table, to which it writes 500 at once,
 * claims 50 at once and marks them as sent together, as every sender must that loses nothing in a crash.
 */

import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { ClientBackends } from './backends.ts';
import type { Bench } from './bench.ts';
import { largeTenants } from './data.ts';
import { startDealkeep } from './processes.ts';
import { percent, table, whole } from './table.ts';

/** Number of concurrent requests of the service to one webhook, and of deliveries that it claims together. */
const atOnce = 4;
const lot = 50;
/** Number of deliveries before the measurement, for each sender. */
const warmUp = 1_000;

/** Starts a receiver that accepts and counts all deliveries, and keeps one of the bodies. */
async function startReceiver() {
  const taken = { count: 0, body: '' };
  const server = http.createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      taken.count += 1;
      taken.body = text;
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { taken, url: `http://127.0.0.1:${port}/`, stop: () => server.close() };
}

/** Signs and sends one delivery over keep-alive connections, as the service does. */
function sendBare(url: string, body: string, secret: Buffer, agent: http.Agent): Promise<void> {
  const [id, timestamp] = [crypto.randomUUID(), String(Math.floor(Date.now() / 1_000))];
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return new Promise((resolve, reject) => {
    http
      .request(url, {
        method: 'POST',
        agent,
        headers: {
          'Content-Type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${signature}`,
        },
      })
      .on('error', reject)
      .on('response', (response) => response.on('end', resolve).resume())
      .end(body);
  });
}

interface Bare {
  readonly perSecond: number;
  /** Seconds per delivery: of Node.js with the receiver, and of PostgreSQL. */
  readonly processor: number;
  readonly postgres: number;
}

/** Measures a bare sender that sends `count` deliveries. */
async function timed(
  count: number,
  backends: ClientBackends,
  send: (agent: http.Agent) => Promise<unknown>,
): Promise<Bare> {
  const agent = new http.Agent({ keepAlive: true });
  const before = (await backends.spent()) ?? Number.NaN;
  const usage = process.cpuUsage();
  const began = performance.now();
  await send(agent);
  const perSecond = count / ((performance.now() - began) / 1_000);
  const { user, system } = process.cpuUsage(usage);
  agent.destroy();
  return {
    perSecond,
    processor: (user + system) / 1e6 / count,
    postgres: (((await backends.spent()) ?? Number.NaN) - before) / count,
  };
}

/** Runs `work` `count` times concurrently. */
const beside = (count: number, work: (nth: number) => Promise<void>) =>
  Promise.all(Array.from({ length: count }, (_, nth) => work(nth)));

/** Measures the sender whose deliveries are in memory. */
const withoutDatabase = (
  count: number,
  webhooks: number,
  url: string,
  body: string,
  secret: Buffer,
  backends: ClientBackends,
) =>
  timed(count, backends, (agent) => {
    let left = count;
    return beside(atOnce * webhooks, async () => {
      while ((left -= 1) >= 0) await sendBare(url, body, secret, agent);
    });
  });

/** Measures the sender whose deliveries are in a table, from which it claims a batch at once for each webhook. */
async function withOutbox(
  count: number,
  webhooks: number,
  url: string,
  body: string,
  secret: Buffer,
  { cluster, backends }: { cluster: Bench['cluster']; backends: ClientBackends },
): Promise<Bare> {
  const pool = new pg.Pool({ ...cluster.owner, max: 10 });
  await pool.query(`create table bench.outbox (id bigint generated always as identity primary key, webhook int not null, body text not null,
    claimed_until timestamptz, sent_at timestamptz, status int)`);
  try {
    await pool.query('create index on bench.outbox (webhook, id) where sent_at is null');
    return await timed(count, backends, (agent) =>
      beside(webhooks, async (webhook) => {
        // Written 500 at once, as the service writes them.
        for (let written = 0; written < count / webhooks; written += 500) {
          await pool.query({
            name: 'write',
            text: 'insert into bench.outbox (webhook, body) select $1, $2 from generate_series(1, $3)',
            values: [webhook, body, Math.min(500, count / webhooks - written)],
          });
        }
        for (;;) {
          const { rows } = await pool.query<{ id: string; body: string }>({
            name: 'claim',
            text: `update bench.outbox set claimed_until = now() + interval '1 minute' where id in (
              select id from bench.outbox where webhook = $1 and sent_at is null and (claimed_until is null or claimed_until < now())
              order by id limit $2 for update skip locked) returning id, body`,
            values: [webhook, lot],
          });
          if (rows.length === 0) return;
          let next = 0;
          await beside(atOnce, async () => {
            for (let one = rows[next++]; one; one = rows[next++]) await sendBare(url, one.body, secret, agent);
          });
          await pool.query({
            name: 'settle',
            text: 'update bench.outbox set sent_at = now(), status = 204 where id = any ($1)',
            values: [rows.map(({ id }) => id)],
          });
        }
      }),
    );
  } finally {
    await pool.query('drop table bench.outbox');
    await pool.end();
  }
}

/** Prints one table: for one webhook, and for ten of as many brokerages. */
export async function benchWebhooks({ cluster, databaseUrl, data, rows, say }: Bench): Promise<void> {
  // At most as many per webhook as can be queued.
  const sent = rows >= 1_000_000 ? 10_000 : 5_000;
  const owner = new pg.Client(cluster.owner);
  await owner.connect();
  const backends = new ClientBackends(owner);
  const receiver = await startReceiver();
  const service = await startDealkeep(databaseUrl, { WEBHOOKS_ALLOW_LOOPBACK: 'on' });
  const lines: string[][] = [];
  try {
    for (const [webhooks, count] of [
      [1, warmUp],
      [1, sent],
      [largeTenants, sent],
    ] as const) {
      const each = count / webhooks;
      const isWarm = count > warmUp;
      if (isWarm) say(`Measuring ${whole(webhooks * each)} deliveries to ${webhooks}`);
      for (let tenant = 1; tenant <= webhooks; tenant += 1) {
        const answer = await fetch(`${service.origin}/api/v1/webhooks`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${data.tokenOf(tenant)}`, 'Content-Type': 'application/json' },
          body: JSON.stringify({ url: receiver.url }),
        });
        if (answer.status !== 201) throw new Error(`A webhook was answered ${answer.status}: ${await answer.text()}`);
      }
      receiver.taken.count = 0;
      const wanted = webhooks * each;
      const before = {
        processor: service.processorTime() ?? Number.NaN,
        postgres: (await backends.spent()) ?? Number.NaN,
      };
      await owner.query(
        `insert into contacts (brokerage_id, type, display_name, email)
         select bench.brokerage_of(t), 'person', 'Told of ' || n, 'told-' || n || '@example.com' from generate_series(1, $1::int) t, generate_series(1, $2::int) n`,
        [webhooks, each],
      );
      const began = performance.now();
      let first = 0;
      while (receiver.taken.count < wanted) {
        if (first === 0 && receiver.taken.count > 0) first = performance.now();
        if (performance.now() - began > 300_000) throw new Error(`${receiver.taken.count} of ${wanted} came.`);
        await pause(5);
      }
      const ended = performance.now();
      // The last deliveries are stored as delivered after their responses.
      await pause(500);
      const processor = ((service.processorTime() ?? Number.NaN) - before.processor) / wanted;
      const postgres = (((await backends.spent()) ?? Number.NaN) - before.postgres) / wanted;
      await owner.query(`update webhook_endpoints set state = 'off', off_reason = 'asked', off_since = now()`);

      const { body } = receiver.taken;
      const secret = randomBytes(32);
      const ours = wanted / ((ended - first) / 1_000);
      const inMemory = await withoutDatabase(wanted, webhooks, receiver.url, body, secret, backends);
      const kept = await withOutbox(wanted, webhooks, receiver.url, body, secret, { cluster, backends });
      if (!isWarm) continue;
      const micros = (seconds: number) => whole(seconds * 1e6);
      lines.push(
        [String(webhooks), 'ours', whole(ours), '', micros(processor), micros(postgres)],
        [
          '',
          'bare, from a table',
          whole(kept.perSecond),
          percent(ours, kept.perSecond),
          micros(kept.processor),
          micros(kept.postgres),
        ],
        [
          '',
          'bare, from memory',
          whole(inMemory.perSecond),
          percent(ours, inMemory.perSecond),
          micros(inMemory.processor),
          '',
        ],
      );
    }
  } finally {
    await service.stop();
    receiver.stop();
    await owner.end();
  }
  say('\nWebhooks, from the first to the last that arrives\n');
  const heads = ['webhooks', 'sender', '/s', 'ours of it', 'Node.js µs', 'PostgreSQL µs'];
  say(table(heads, lines));
  say("\nThe processor time of the bare senders holds the receiver's, which is in the same process.\n");
}
