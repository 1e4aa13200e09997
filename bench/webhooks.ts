/** Webhooks a second to a receiver that takes them at once, beside what a bare loop of signing and sending comes to. */

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

/** How many the service sends at once to one webhook. */
const atOnce = 4;

/** Takes whatever comes; counts it, and keeps one of the bodies. */
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

/** Signs and sends one, on a connection of its own, as the service does. */
function sendBare(url: string, body: string, secret: Buffer): Promise<void> {
  const [id, timestamp] = [crypto.randomUUID(), String(Math.floor(Date.now() / 1_000))];
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return new Promise((resolve, reject) => {
    http
      .request(url, {
        method: 'POST',
        agent: false,
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

/** Prints one table: to one webhook, and to ten of as many brokerages. */
export async function benchWebhooks({ cluster, databaseUrl, data, rows, say }: Bench): Promise<void> {
  const each = rows >= 1_000_000 ? 2_000 : 500;
  const owner = new pg.Client(cluster.owner);
  await owner.connect();
  const backends = new ClientBackends(owner);
  const receiver = await startReceiver();
  const service = await startDealkeep(databaseUrl, { WEBHOOKS_ALLOW_LOOPBACK: 'on' });
  const lines: string[][] = [];
  try {
    for (const webhooks of [1, largeTenants]) {
      say(`Measuring ${whole(webhooks * each)} deliveries to ${webhooks}`);
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
      // The last ones are noted as delivered after they were answered.
      await pause(500);
      const processor = ((service.processorTime() ?? Number.NaN) - before.processor) / wanted;
      const postgres = (((await backends.spent()) ?? Number.NaN) - before.postgres) / wanted;
      await owner.query(`update webhook_endpoints set state = 'off', off_reason = 'asked', off_since = now()`);

      const { body } = receiver.taken;
      const secret = randomBytes(32);
      const usage = process.cpuUsage();
      const bareBegan = performance.now();
      let left = wanted;
      const sending = async () => {
        while ((left -= 1) >= 0) await sendBare(receiver.url, body, secret);
      };
      await Promise.all(Array.from({ length: atOnce * webhooks }, sending));
      const bare = wanted / ((performance.now() - bareBegan) / 1_000);
      const { user, system } = process.cpuUsage(usage);
      const ours = wanted / ((ended - first) / 1_000);
      lines.push([
        String(webhooks),
        whole(wanted),
        whole(bare),
        whole((user + system) / wanted),
        whole(ours),
        whole(processor * 1e6),
        whole(postgres * 1e6),
        percent(ours, bare),
      ]);
    }
  } finally {
    await service.stop();
    receiver.stop();
    await owner.end();
  }
  say('\nWebhooks, from the first to the last that arrives\n');
  const heads = ['webhooks', 'sent', 'bare /s', 'CPU µs', 'ours /s', 'CPU µs', 'PostgreSQL µs', 'ours of bare'];
  say(table(heads, lines));
  say("\nThe processor time of the bare loop holds the receiver's, which is in the same process.\n");
}
