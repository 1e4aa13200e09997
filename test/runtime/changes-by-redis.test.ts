/** Live changes of several nodes that receive them through Redis. */

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { urlOf } from '../../bench/cluster.ts';
import { openRedis } from '../../server/redis/connection.ts';
import { startNetwork } from '../database/network.ts';
import { openService, type TestService } from '../harness.ts';
import type { Scene } from '../policies/scene.ts';
import { openTestRedis, withoutRedis, type TestRedis } from '../redis.ts';
import { startNode } from '../tools/node.ts';
import { signInAs } from '../web/person.ts';

describe.skipIf(withoutRedis !== null)(`with Redis${withoutRedis === null ? '' : `, but ${withoutRedis}`}`, () => {
  let redis: TestRedis;
  let service: TestService;
  let scene: Scene;
  beforeAll(async () => {
    redis = await openTestRedis();
    service = await openService({
      scene: true,
      nodes: 2,
      config: { redisUrl: redis.url, streamHeartbeatSeconds: 60 },
    });
    scene = service.scene;
    // Set by an installation whose database has the same name, or by a node of an earlier release, which uses only the
    // name.
    const client = await openRedis(redis.url);
    await client.set(`dealkeep:changes:${service.connections.server.database}:listener`, 'another');
    client.destroy();
  });
  afterAll(async () => {
    await service?.close();
    await redis?.close();
  });

  const patience = { timeout: 60_000, interval: 100 };
  const anything = { topic: 'deal', deal_id: null };

  /** Returns how many connections listen to the database. */
  async function listening(): Promise<number> {
    const [found] = await service.sql<{ count: string }>(
      `select count(*) from pg_stat_activity where application_name = 'dealkeep changes' and datname = current_database()`,
    );
    return Number(found?.count);
  }

  /** Returns the database's name in Redis keys. */
  async function identity(): Promise<string> {
    const [found] = await service.sql<{ name: string }>(
      `select concat_ws('/', (pg_control_system()).system_identifier, oid, datname) as name from pg_database where datname = current_database()`,
    );
    return found?.name ?? '';
  }

  /** Opens a stream from each node; returns what each has received so far, and whether it has ended. */
  async function follow(caller: string, nodes: readonly { readonly origin: string }[] = service.nodes) {
    const person = await signInAs(service, scene.people[caller]!);
    return Promise.all(
      nodes.map(async ({ origin }) => {
        const response = await fetch(`${origin}/api/web/events`, { headers: person.headers });
        const stream = { received: [] as unknown[], ended: false };
        void (async () => {
          for await (const part of response.body!.pipeThrough(new TextDecoderStream()))
            for (const line of part.split('\n'))
              if (line.startsWith('data: ')) stream.received.push(JSON.parse(line.slice(6)));
          stream.ended = true;
        })().catch(() => {});
        return stream;
      }),
    );
  }

  let changes = 0;
  /** Changes the deal until every stream has received the event. */
  async function isReceived(streams: readonly { received: unknown[] }[]): Promise<void> {
    const deal = { topic: 'deal', deal_id: scene.deal };
    for (const stream of streams) stream.received.length = 0;
    await expect
      .poll(async () => {
        await service.sql('update deals set industry = $2 where id = $1', [scene.deal, `Trade ${(changes += 1)}`]);
        return streams.every(({ received }) =>
          received.some((event) => JSON.stringify(event) === JSON.stringify(deal)),
        );
      }, patience)
      .toBe(true);
  }

  /** Waits until every stream has received the event that anything may have changed. */
  async function isReceivedByAll(streams: readonly { received: unknown[] }[]): Promise<void> {
    const isSaid = ({ received }: { received: unknown[] }) =>
      received.some((event) => JSON.stringify(event) === JSON.stringify(anything));
    await expect.poll(() => streams.map(isSaid), patience).toEqual([true, true]);
  }

  test('one node listens to the database, and streams on every node get the changes visible to them', async () => {
    await expect.poll(listening, patience).toBe(1);
    const [brokers, outsiders] = await Promise.all(['broker', 'outsider'].map((caller) => follow(caller)));
    await isReceived(brokers!);
    const { length } = outsiders!
      .flatMap(({ received }) => received)
      .filter((event) => JSON.stringify(event) !== JSON.stringify(anything));
    expect(length).toBe(0);
    expect(await listening()).toBe(1);
  });

  test('a session that ends closes its streams on every node', async () => {
    const streams = await follow('viewer');
    await isReceived(streams);
    await service.sql('update vault.sessions set ended_at = app.now() where user_id = $1', [scene.people['viewer']]);
    await expect.poll(() => streams.map(({ ended }) => ended), patience).toEqual([true, true]);
  });

  test('without Redis each node listens, and after its return only one does', async () => {
    const streams = await follow('broker');
    await isReceived(streams);
    await redis.stop();
    await expect.poll(listening, patience).toBe(2);
    await isReceived(streams);
    for (const stream of streams) stream.received.length = 0;
    await redis.start();
    await expect.poll(listening, patience).toBe(1);
    // Changes in the meantime may have been missed.
    await isReceivedByAll(streams);
    await isReceived(streams);
  });

  test('when the listening node is killed, another takes over and reports possibly missed changes', async () => {
    const streams = await follow('broker');
    await isReceived(streams);
    for (const stream of streams) stream.received.length = 0;
    const client = await openRedis(redis.url);
    const key = `dealkeep:changes:${await identity()}:listener`;
    // The state that a killed node leaves: it no longer listens, and its key in Redis expires after some seconds.
    await client.set(key, 'somebody who was killed', { expiration: { type: 'PX', value: 5_000 } });
    await expect.poll(listening, patience).toBe(0);
    await expect.poll(listening, patience).toBe(1);
    expect(await client.get(key)).not.toBe('somebody who was killed');
    client.destroy();
    await isReceivedByAll(streams);
    await isReceived(streams);
  });

  test('when a node stops, the other one listens', async () => {
    const streams = await follow('broker');
    await isReceived(streams);
    for (const stream of streams) stream.received.length = 0;
    await service.nodes[0]!.services.changes.close();
    await expect.poll(listening, patience).toBe(1);
    await isReceived(streams.slice(1));
  });

  test('when the listening node loses the database, another takes over for both', async () => {
    const network = await startNetwork(service.connections.server);
    onTestFinished(network.stop);
    const cutOff = await startNode(service, service.connections.server, {
      config: { listenDatabaseUrl: urlOf(network.connection) },
    });
    onTestFinished(cutOff.stop);
    // No other node is left to listen.
    await service.nodes[1]!.services.changes.close();
    await expect.poll(() => network.state.opened, patience).toBe(1);
    const other = await startNode(service, service.connections.server);
    onTestFinished(other.stop);
    const streams = await follow('broker', [cutOff, other]);
    await isReceived(streams);
    expect(network.state.opened).toBe(1);

    for (const stream of streams) stream.received.length = 0;
    await network.stop();
    await isReceivedByAll(streams);
    await isReceived(streams);
    expect(await listening()).toBe(1);
  });
});
