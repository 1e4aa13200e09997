import { afterAll, beforeAll, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage, type Brokerage } from './scene.ts';

let service: TestService;
let tenant: Brokerage;

beforeAll(async () => {
  service = await openService({ nodes: 2 });
  tenant = await brokerage(service);
});
afterAll(() => service.close());

const repeatable = (key: string) => ({ 'Idempotency-Key': key });
const body = (displayName: string) => ({ type: 'person', displayName, email: 'same@example.com' });

async function stored(displayName: string): Promise<number> {
  const [row] = await service.sql<{ n: number }>('select count(*)::int as n from contacts where display_name = $1', [
    displayName,
  ]);
  return row!.n;
}

test('the same key and body replay the first response, whatever the formatting of the body', async () => {
  const call = as(await tenant.key(), service.restUrl);
  const first = await call('POST', '/contacts', body('Once'), repeatable('order-1'));
  expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null]);
  // Later changes of the contact do not affect the replay.
  await service.sql(`update contacts set display_name = 'Once', phone = '1' where id = $1`, [first.body?.id]);
  for (const again of [body('Once'), '{ "email":"same@example.com",\n "displayName":"\\u004fnce", "type":"person" }']) {
    const second = await call('POST', '/contacts', again, {
      ...repeatable('order-1'),
      'Content-Type': 'application/json',
    });
    expect([second.status, second.text, second.headers.get('idempotent-replayed')]).toEqual([201, first.text, 'true']);
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
  }
  expect(await stored('Once')).toBe(1);
});

test('the same key with another body is rejected and creates nothing', async () => {
  const call = as(await tenant.key(), service.restUrl);
  await call('POST', '/contacts', body('First body'), repeatable('order-2'));
  const other = await call('POST', '/contacts', body('Second body'), repeatable('order-2'));
  expect(other.status).toBe(400);
  expect(other.body?.error).toMatchObject({
    code: 'validation_error',
    details: { faults: [{ in: 'header', path: 'Idempotency-Key', message: expect.stringMatching(/another body/) }] },
  });
  expect(await stored('Second body')).toBe(0);
  expect((await call('POST', '/contacts', body('First body'), repeatable('order-2'))).status).toBe(201);
});

test('a rejected request may be corrected under the same key', async () => {
  const call = as(await tenant.key(), service.restUrl);
  expect((await call('POST', '/contacts', { type: 'person' }, repeatable('order-3'))).status).toBe(400);
  expect((await call('POST', '/contacts', body('Corrected'), repeatable('order-3'))).status).toBe(201);
});

test('equal idempotency keys of different API keys, and requests without one, are independent', async () => {
  const [one, two] = [await tenant.key(), await tenant.key()];
  for (const key of [one, two])
    await as(key, service.restUrl)('POST', '/contacts', body('Apart'), repeatable('order-4'));
  for (let n = 0; n < 2; n += 1) await as(one, service.restUrl)('POST', '/contacts', body('Apart'));
  expect(await stored('Apart')).toBe(4);
});

test('30 concurrent requests on two nodes create one contact and get one response', async () => {
  const key = await tenant.key();
  const nodes = service.nodes.map((node) => as(key, node.restUrl));
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) => nodes[n % 2]!('POST', '/contacts', body('At once'), repeatable('order-5'))),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
  expect(await stored('At once')).toBe(1);
});

test('20 concurrent bodies under one key create one contact; the others are rejected', async () => {
  const call = as(await tenant.key(), service.restUrl);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      call('POST', '/contacts', { ...body('Race'), phone: String(n) }, repeatable('order-6')),
    ),
  );
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array.from({ length: 19 }, () => 400)]);
  expect(await stored('Race')).toBe(1);
});

test('the key is free again after 24 hours, and expired keys are deleted', async () => {
  const call = as(await tenant.key(), service.restUrl);
  const first = await call('POST', '/contacts', body('Daily'), repeatable('daily'));
  service.clock.advance(24 * 3_600_000 - 60_000);
  expect((await call('POST', '/contacts', body('Daily'), repeatable('daily'))).body?.id).toBe(first.body?.id);
  service.clock.advance(120_000);
  const next = await call('POST', '/contacts', body('Daily, changed'), repeatable('daily'));
  expect([next.status, next.body?.id === first.body?.id]).toEqual([201, false]);
  const kept = () =>
    service.sql<{ n: number }>(
      `select count(*)::int as n from vault.idempotency_keys where made_at <= app.now() - interval '24 hours'`,
    );
  for (let n = 0; n < 5; n += 1) await call('POST', '/contacts', body('Sweep'), repeatable(`sweep-${n}`));
  expect(await kept()).toEqual([{ n: 0 }]);
});

test('a change whose stored response was erased is answered 503 with Retry-After and not made again', async () => {
  const call = as(await tenant.key(), service.restUrl);
  const made = await call('POST', '/contacts', body('Forgotten'));
  const change = () => call('PATCH', `/contacts/${made.body!.id}`, { phone: '1' }, repeatable('forgotten'));
  expect((await change()).status).toBe(200);
  // The erasure of the person does the same.
  await service.sql(`update vault.idempotency_keys set answer = null where idempotency_key = 'forgotten'`);
  await service.sql('update contacts set phone = null where id = $1', [made.body!.id]);
  const again = await change();
  expect([again.status, again.headers.get('retry-after'), again.headers.get('idempotent-replayed')]).toEqual([
    503,
    '2',
    null,
  ]);
  expect((await call('GET', `/contacts/${made.body!.id}`)).body).toMatchObject({ phone: null });
});

test('a write whose transaction fails leaves nothing behind, and may be retried', async () => {
  const call = as(await tenant.key(), service.restUrl);
  await service.sql(`alter table contacts add constraint arranged check (display_name <> 'Fails') not valid`);
  const failed = await call('POST', '/contacts', body('Fails'), repeatable('order-7'));
  expect(failed.status).toBeGreaterThanOrEqual(400);
  await service.sql('alter table contacts drop constraint arranged');
  expect((await call('POST', '/contacts', body('Fails'), repeatable('order-7'))).status).toBe(201);
  expect(await stored('Fails')).toBe(1);
});
