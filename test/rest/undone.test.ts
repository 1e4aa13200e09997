/**
 * The operations that change something and are measured by the benchmark of large platforms (bench/scale-undone.ts):
 * they get their usual responses, and leave no change.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startUndoing, type UndoingApp } from '../../bench/scale-undone.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage, type Key } from './scene.ts';

let service: TestService;
let undoing: UndoingApp;
let key: Key;
beforeAll(async () => {
  service = await openService();
  key = await (await brokerage(service)).key();
  undoing = await startUndoing(service.config, service.connections.server);
});
afterAll(async () => {
  await undoing?.stop();
  await service?.close();
});

test('an undone change gets the usual response and leaves nothing behind', async () => {
  const [there, undone] = [service.origin, undoing.origin].map((origin) => as(key, `${origin}/api/v1`));
  const contact = { type: 'person', displayName: 'Somebody' };
  const stays = await there!('POST', '/contacts', contact);
  const archive = `/contacts/archive/${stays.body?.id}`;
  for (let run = 1; run <= 2; run += 1) {
    expect((await undone!('POST', '/contacts', contact)).status).toBe(201);
    const archived = await undone!('POST', archive);
    expect(archived.status).toBe(200);
    expect(JSON.parse(archived.text)).toMatchObject({ archivedAt: expect.any(String) });
    expect((await undone!('POST', '/contacts', { type: 'nobody' })).status).toBe(400);
  }
  const list = await there!('GET', '/contacts?archived=true&expand=record');
  expect(list.body?.data).toMatchObject([{ id: stays.body?.id, archivedAt: null }]);
  expect(await service.sql(`select count(*)::int from audit_records where action like 'contact.%'`)).toEqual([
    { count: 1 },
  ]);
});
