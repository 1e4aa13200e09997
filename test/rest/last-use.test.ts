import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage, type Brokerage } from './scene.ts';

let service: TestService;
let tenant: Brokerage;
beforeAll(async () => {
  service = await openService({ nodes: 2 });
  tenant = await brokerage(service);
});
afterAll(() => service?.close());

const minute = 60_000;
/** The last use in the row of a key, and the row's version, which any write changes. */
const row = async (id: string) => {
  const [found] = await service.sql<{ at: Date | null; version: string }>(
    'select last_used_at as at, xmin::text as version from api_keys where id = $1',
    [id],
  );
  return { at: found!.at?.getTime() ?? null, version: found!.version };
};
/** Stops the clock this many milliseconds into the next minute; returns that time. */
const stand = (millis: number) => {
  const next = Math.ceil((service.clock.now().getTime() + 1) / minute) * minute;
  service.clock.stand(new Date(next + millis));
  return next + millis;
};

test('132. the last use is written after the request with the time of the use, once a minute across nodes', async () => {
  const { id, token } = await tenant.key();
  const before = await row(id);
  const call = (node: number) => as({ token }, service.nodes[node]!.restUrl)('GET', '/contacts');
  const first = stand(10_000);
  expect([(await call(0)).status, (await call(1)).status]).toEqual([200, 200]);
  expect(await row(id)).toEqual(before);
  service.clock.advance(30_000);
  await service.noteUses();
  const written = await row(id);
  expect(written.at).toBe(first);
  // Further uses within that minute, also on the other node, are not written.
  await Promise.all([call(0), call(1)]);
  await service.noteUses();
  expect(await row(id)).toEqual(written);
  // Without further use nothing is written either.
  stand(0);
  await service.noteUses();
  expect(await row(id)).toEqual(written);
  const second = stand(5_000);
  await Promise.all([call(0), call(1)]);
  await service.noteUses();
  expect(await row(id)).toMatchObject({ at: second });
});

test('132. a rejected request with a revoked key does not count as its last use', async () => {
  const { id, token } = await tenant.key();
  await service.sql('update api_keys set revoked_at = app.now() where id = $1', [id]);
  expect((await as({ token }, service.restUrl)('GET', '/contacts')).status).toBe(401);
  await service.noteUses();
  expect((await row(id)).at).toBeNull();
});

test('132. writing last uses skips a locked key, and a use is kept until the database accepts it', async () => {
  const [held, other] = [await tenant.key(), await tenant.key()];
  for (const { token } of [held, other])
    expect((await as({ token }, service.restUrl)('GET', '/contacts')).status).toBe(200);
  const client = new pg.Client(service.connections.owner);
  await client.connect();
  await client.query('begin');
  await client.query('select from api_keys where id = $1 for update', [held.id]);
  await service.noteUses();
  await client.query('rollback').finally(() => client.end());
  expect([(await row(held.id)).at, (await row(other.id)).at !== null]).toEqual([null, true]);

  await service.sql('alter function app.note_uses rename to note_uses_away');
  expect((await as(held, service.restUrl)('GET', '/contacts')).status).toBe(200);
  await expect(service.noteUses()).rejects.toThrow();
  await service.sql('alter function app.note_uses_away rename to note_uses');
  await service.noteUses();
  expect((await row(held.id)).at).not.toBeNull();
});
