/**
 * The stream of changes has every change once, in the order in which they were committed, and none while an earlier one
 * may still be committed.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import pg from 'pg';
import { followStream } from '../../drill/stream.ts';
import { enterWithApiKey, apiKeyDigest } from '../../server/domain/clients/api-keys.ts';
import { changesAfter, publishChanges } from '../../server/domain/events/changes.ts';
import { openService, type TestService } from '../harness.ts';
import { brokerage, type Brokerage } from '../rest/scene.ts';

let service: TestService;
let tenant: Brokerage;
let token: string;
const clients: pg.Client[] = [];

beforeAll(async () => {
  service = await openService();
  tenant = await brokerage(service);
  ({ token } = await tenant.key());
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await service?.close();
});

async function transaction(): Promise<pg.Client> {
  const client = new pg.Client(service.connections.owner);
  await client.connect();
  clients.push(client);
  await client.query('begin');
  return client;
}

const added = (name: string) =>
  `insert into contacts (brokerage_id, type, display_name) values ('${tenant.id}', 'person', '${name}') returning id`;

/** Reads the events now available after a cursor. */
const read = async (place: string | null) =>
  (await service.asServer(enterWithApiKey(apiKeyDigest(token)!), changesAfter(place, 1_000, null)))[1];

/** Publishes several times; whether something still holds the stream back. */
async function published(): Promise<boolean> {
  for (let look = 0; look < 3; look += 1) await service.database.run(publishChanges());
  return (await service.database.run(publishChanges())).waits;
}

test('no event is read before an earlier transaction has ended; then all events are read in order', async () => {
  const { reached } = await read(null);
  const long = await transaction();
  const [early] = (await long.query<{ id: string }>(added('Early'))).rows;
  const [late] = await service.sql<{ id: string }>(added('Late'));
  expect(await published()).toBe(true);
  expect((await read(reached.seq)).events).toEqual([]);

  // The transaction with the lower id changes the same contact after the one for which it waited.
  const [later] = await service.sql<{ id: string }>(added('Later'));
  await service.sql(`update contacts set phone = '1' where id = $1`, [late!.id]);
  await long.query(`update contacts set phone = '2' where id = $1`, [late!.id]);
  await long.query(`update contacts set archived_at = app.now() where id = $1`, [late!.id]);
  await long.query('commit');
  await expect.poll(published).toBe(false);
  const { events, hasMore } = await read(reached.seq);
  expect(events.map(({ type, objectId }) => [type, objectId])).toEqual([
    ['contact.created', early!.id],
    ['contact.created', late!.id],
    ['contact.created', later!.id],
    ['contact.updated', late!.id],
    ['contact.updated', late!.id],
    ['contact.archived', late!.id],
  ]);
  expect(hasMore).toBe(false);
});

test('a rolled-back change is never read, and a reading transaction delays nothing', async () => {
  const { reached } = await read(null);
  const reading = await transaction();
  await reading.query('select count(*) from contacts');
  const undone = await transaction();
  await undone.query(added('Undone'));
  await service.sql(added('Done'));
  expect(await published()).toBe(true);
  await undone.query('rollback');
  await expect.poll(published).toBe(false);
  expect((await read(reached.seq)).events.map(({ type }) => type)).toEqual(['contact.created']);
  await reading.query('rollback');
});

test('a transaction in another database of the cluster delays nothing', async () => {
  const elsewhere = new pg.Client({ ...service.connections.owner, database: 'dealkeep' });
  await elsewhere.connect();
  clients.push(elsewhere);
  await elsewhere.query('begin');
  await elsewhere.query('select pg_current_xact_id()');
  const { reached } = await read(null);
  await service.sql(added('Here'));
  await expect.poll(published).toBe(false);
  expect((await read(reached.seq)).events).toHaveLength(1);
  await elsewhere.query('rollback');
});

test('ten thousand contacts created at once give ten thousand events', async () => {
  const { reached } = await read(null);
  await service.sql(
    `insert into contacts (brokerage_id, type, display_name) select $1, 'company', 'Company ' || n from generate_series(1, 10000) n`,
    [tenant.id],
  );
  await expect.poll(published).toBe(false);
  const seen = new Set<string>();
  for (let place = reached.seq; ;) {
    const { events } = await read(place);
    if (events.length === 0) break;
    for (const { objectId } of events) seen.add(objectId);
    place = events.at(-1)!.seq;
  }
  expect(seen.size).toBe(10_000);
});

test('after a restore into another cluster the stream continues, with another history', async () => {
  const { reached } = await read(null);
  // Transaction ids of the other cluster were far higher.
  await service.sql(
    `update vault.change_stream set origin = 'elsewhere', mark = 1, mark_xid = '1000000000000', mark_at = app.now()`,
  );
  await service.sql(added('After'));
  await expect.poll(published).toBe(false);
  const { events, reached: then } = await read(reached.seq);
  expect(events).toHaveLength(1);
  expect(then.history).not.toBe(reached.history);
});

test('concurrent long and short transactions and several readers lose, repeat and reorder no event', async () => {
  const { owner, server } = service.connections;
  const found = await followStream({
    owner,
    server,
    brokerage: tenant.id,
    token,
    changes: 1_500,
    writers: 8,
    longest: 60,
  });
  expect(found.faults).toEqual([]);
  expect(found.committed).toBeGreaterThanOrEqual(1_500);
  expect(found.rolledBack).toBeGreaterThan(0);
  expect(found.publications).toBeGreaterThan(3);
});
