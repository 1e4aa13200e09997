/**
 * The order in which webhooks are served, and the cost of checking for changes: the webhooks of one brokerage, however
 * many there are and whatever waits for them, do not delay those of others.
 */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { claimDeliveries, noteDeliveries, queueWebhooks } from '../../server/domain/webhooks/deliveries.ts';
import { connect } from '../policies/scene.ts';
import { as, brokerage, type Brokerage, type Key } from './scene.ts';
import { webhookScene } from './webhook-scene.ts';

const scene = webhookScene();
const { received, webhook, contact, contacts, settle, deliver } = scene;
const scopes = ['contacts:read', 'contacts:write', 'webhooks:read', 'webhooks:write'] as const;

/** Adds this many webhooks to a key, whose receiver is never contacted; the API would allow 20. */
const addMany = (key: Key, count: number) =>
  scene.service.sql(
    `insert into webhook_endpoints (key_id, url, place, history)
     select $1, 'https://hooks.example.com/' || n, s.published, s.history from vault.change_stream s, generate_series(1, $2::int) n`,
    [key.id, count],
  );
/** Adds this many waiting deliveries to each webhook of a key, due in a day. */
const addWaiting = (key: Key, count: number) =>
  scene.service.sql(
    `insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at, next_attempt_at)
     select e.id, gen_random_uuid(), 'contact.updated', 'contact', gen_random_uuid(), app.now(), app.now() + interval '1 day'
     from webhook_endpoints e, generate_series(1, $2::int) where e.key_id = $1`,
    [key.id, count],
  );

/** How many rows of webhooks, their deliveries, keys and events a statement reads. */
async function rowsReadBy(statement: string): Promise<number> {
  const client = await connect(scene.service.connections.owner);
  try {
    await client.query('begin');
    await client.query(statement);
    const { rows } = await client.query<{ read: number }>(
      `select sum(seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables where relname in ('webhook_endpoints', 'webhook_deliveries', 'change_events', 'api_keys')`,
    );
    await client.query('rollback');
    return rows[0]!.read;
  } finally {
    await client.end();
  }
}

let other: Brokerage;
let key: Key;
let by: ReturnType<typeof as>;
beforeEach(async () => {
  other = await brokerage(scene.service);
  key = await other.key({ scopes: [...scopes] });
  by = as(key, scene.service.restUrl);
});
// Publishes, too, changes that a test has left unpublished.
afterEach(settle);

describe('queueing changes for webhooks', () => {
  test('reads no more rows for 300 webhooks of another brokerage, with or without changes', async () => {
    const { id } = await webhook();
    await addMany(key, 300);
    await scene.queue();
    await contacts(1);
    await settle();
    expect(await rowsReadBy('select app.queue_webhooks()')).toBeLessThan(30);
    expect(await scene.service.database.run(queueWebhooks())).toBe(true);
    await contacts(1, other.id);
    await settle();
    // One call queues all of them, and each further call serves one.
    expect(await scene.service.database.run(queueWebhooks())).toBe(true);
    expect(await rowsReadBy('select app.queue_webhooks()')).toBeLessThan(30);
    await scene.queue();
    expect((await scene.log(id)).data).toHaveLength(1);
    expect(await scene.service.sql('select from webhook_deliveries')).toHaveLength(301);
  });

  test('counts the deliveries of a webhook with 10,000 waiting only once', async () => {
    await webhook({ url: `${scene.origin}/full` }, by);
    await addWaiting(key, 10_000);
    await contacts(1, other.id);
    await settle();
    await scene.queue();
    await contacts(1, other.id);
    await settle();
    expect(await scene.service.database.run(queueWebhooks())).toBe(true);
    expect(await rowsReadBy('select app.queue_webhooks()')).toBeLessThan(30);
    expect(received).toEqual([]);
  });

  test('serves a webhook with few changes before one with a long backlog, which continues afterwards', async () => {
    await webhook({ url: `${scene.origin}/far` }, by);
    await contacts(2_000, other.id);
    await settle();
    const told = async () =>
      (
        await scene.service.sql<{ far: number; near: number }>(
          `select count(*) filter (where e.key_id = $1)::int as far, count(*) filter (where e.key_id <> $1)::int as near
           from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id`,
          [key.id],
        )
      )[0]!;
    while ((await told()).far < 1_000) await scene.service.database.run(queueWebhooks());
    await webhook();
    await contacts(1);
    await settle();
    while ((await told()).near === 0) await scene.service.database.run(queueWebhooks());
    expect((await told()).far).toBe(1_000);
    await scene.queue();
    expect(await told()).toEqual({ far: 2_000, near: 1 });
  });

  test('skips webhooks whose keys have ended, and resumes those whose key works again', async () => {
    const { id: trial } = await other.key({ scopes: [...scopes] });
    await addMany({ ...key, id: trial }, 100);
    await webhook({ url: `${scene.origin}/suspended` }, by);
    await scene.queue();
    await scene.service.sql('update api_keys set revoked_at = app.now() where id = $1', [trial]);
    // The key is stopped by a missing second factor and not by a suspension, which would turn webhooks off.
    await scene.service.sql(`update brokerages set requires_second_factor = true where id = $1`, [other.id]);
    await contacts(1, other.id);
    await deliver();
    expect(received).toEqual([]);
    await contacts(1, other.id);
    await settle();
    const looks: number[] = [];
    for (let goesOn = true; goesOn;) {
      looks.push(await rowsReadBy('select app.queue_webhooks()'));
      goesOn = await scene.service.database.run(queueWebhooks());
    }
    expect(looks).toHaveLength(2);
    expect(Math.max(...looks)).toBeLessThan(30);
    await scene.service.sql(`update brokerages set requires_second_factor = false where id = $1`, [other.id]);
    scene.service.clock.advance(11 * 60_000);
    await deliver();
    expect(received.map(({ path }) => path)).toEqual(['/suspended', '/suspended']);
  });

  test('continues past a locked webhook, which is served once it is unlocked', async () => {
    const { id } = await webhook({ url: `${scene.origin}/held` }, by);
    await webhook();
    await scene.queue();
    await contacts(1, other.id);
    const mine = await contact('Not held');
    await settle();
    const holder = await connect(scene.service.connections.owner);
    try {
      await holder.query('begin');
      await holder.query('select from webhook_endpoints where id = $1 for update', [id]);
      for (let nth = 0; nth < 2; nth += 1) await scene.service.database.run(queueWebhooks());
      const written = await scene.service.sql<{ object_id: string }>('select object_id from webhook_deliveries');
      expect(written.map(({ object_id }) => object_id)).toEqual([mine]);
      await holder.query('commit');
    } finally {
      await holder.end();
    }
    await deliver();
    expect(received.map(({ path }) => path).toSorted()).toEqual(['/held', '/in']);
  });
});

describe('claiming due deliveries', () => {
  test('reads no rows of webhooks with nothing due or whose key has ended', async () => {
    const { id: ended } = await other.key({ scopes: [...scopes] });
    await addMany(key, 300);
    await addWaiting(key, 1);
    await addMany({ ...key, id: ended }, 300);
    await addWaiting({ ...key, id: ended }, 1);
    await scene.service.sql('update api_keys set revoked_at = app.now() where id = $1', [ended]);
    await scene.service.sql(
      `update webhook_deliveries d set next_attempt_at = app.now() from webhook_endpoints e where e.id = d.endpoint_id and e.key_id = $1`,
      [ended],
    );
    await scene.service.database.run(claimDeliveries(32));
    expect(await rowsReadBy('select app.claim_deliveries(32)')).toBeLessThan(30);
    await webhook();
    await contacts(1);
    await deliver();
    expect(received).toHaveLength(1);
  });

  test('of slow receivers leaves places for others, until they answer quickly again', async () => {
    const { database, sql } = scene.service;
    const slow = await Promise.all(['/a', '/b', '/c'].map((path) => webhook({ url: scene.origin + path })));
    const ids = slow.map(({ id }) => id);
    const due = async () => {
      await sql(
        `update webhook_endpoints set claim = null, claimed_until = null, send_at = app.now() - case when id = any ($1) then interval '1 minute' else '0' end`,
        [ids],
      );
    };
    const claimed = async (most: number, mostSlow: number) => {
      await due();
      return database.run(claimDeliveries(most, mostSlow));
    };
    /** Notes one delivery of each claimed batch as sent in so many milliseconds. */
    const answered = async (millis: number) => {
      const batches = await claimed(3, 3);
      expect(batches.map(({ endpoint_id }) => endpoint_id).toSorted()).toEqual(ids.toSorted());
      await database.run(
        noteDeliveries(
          batches.map(({ endpoint_id: endpoint, claim, deliveries: [first] }) => ({
            endpoint,
            claim,
            is_over: true,
            more: 0,
            held: [],
            attempts: [
              {
                id: first!.id,
                nth: 1,
                outcome: 'delivered',
                url: null,
                bytes: 1,
                digest: null,
                status: 204,
                error: null,
                answer: null,
                answer_type: null,
                millis,
              },
            ],
          })),
        ),
      );
    };
    await contacts(4);
    await settle();
    await scene.queue();
    await answered(9_000);
    const quick = await webhook();
    await contacts(1);
    await settle();
    await scene.queue();
    const some = await claimed(3, 2);
    expect(some.map(({ is_slow }) => is_slow).toSorted()).toEqual([false, true, true]);
    expect(some.find(({ is_slow }) => !is_slow)!.endpoint_id).toBe(quick.id);
    expect((await claimed(3, 0)).map(({ endpoint_id }) => endpoint_id)).toEqual([quick.id]);
    await answered(80);
    expect(await claimed(4, 0)).toHaveLength(4);
  });

  test('of slow receivers leaves half of the places of their brokerage to its others', async () => {
    const { database, sql } = scene.service;
    const slow = [];
    for (let nth = 0; nth < 9; nth += 1) slow.push((await webhook({ url: `${scene.origin}/slow/${nth}` })).id);
    const quick = (await webhook()).id;
    await contacts(1);
    await settle();
    await scene.queue();
    await sql(
      `update webhook_endpoints set is_slow = true, send_at = app.now() - interval '1 minute' where id = any ($1)`,
      [slow],
    );
    const claimed = async () => (await database.run(claimDeliveries(32))).map(({ endpoint_id }) => endpoint_id);
    const first = await claimed();
    expect([first.length, first.includes(quick)]).toEqual([5, true]);
    expect(await claimed()).toEqual([]);
    const ended = first.filter((id) => id !== quick).slice(0, 2);
    await sql('update webhook_endpoints set claim = null, claimed_until = null, send_at = null where id = any ($1)', [
      ended,
    ]);
    expect(await claimed()).toHaveLength(2);
  });

  test('claims the longest-waiting webhook first, and puts a served one behind the others', async () => {
    const first = await webhook({ url: `${scene.origin}/first` });
    await webhook({ url: `${scene.origin}/second` });
    await contacts(120);
    await settle();
    await scene.queue();
    await scene.service.sql(`update webhook_endpoints set send_at = send_at - interval '1 second' where id = $1`, [
      first.id,
    ]);
    const taken: string[] = [];
    for (let nth = 0; nth < 2; nth += 1)
      for (const { endpoint_id, url } of await scene.service.database.run(claimDeliveries(1))) {
        taken.push(new URL(url).pathname);
        await scene.service.sql(
          'update webhook_endpoints set claim = null, claimed_until = null, send_at = app.now() where id = $1',
          [endpoint_id],
        );
      }
    expect(taken).toEqual(['/first', '/second']);
  });
});
