import { afterAll, beforeAll, expect, test } from 'vitest';
import { row } from '../../server/database/statement.ts';
import { openService, type TestService } from '../harness.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

test('a service is healthy and ready, and gives every request an id', async () => {
  const health = await fetch(`${service.origin}/healthz`);
  expect(health.status).toBe(200);
  expect(health.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  const ready = await fetch(`${service.origin}/readyz`);
  expect([ready.status, await ready.text()]).toEqual([200, 'ready\n']);
});

test("the test's clock is the database's clock, for both the server and the owner", async () => {
  service.clock.set(new Date('2031-02-03T04:05:06Z'));
  const now = await service.database.run(row<{ now: string }>('runtime_test_now', 'select app.now() as now')());
  expect(now?.now).toMatch(/^2031-02-03T04:05:/);
  const [owner] = await service.sql('select app.now()::text as now');
  expect(owner?.['now']).toMatch(/^2031-02-03 04:05:/);
  service.clock.set(new Date());
});
