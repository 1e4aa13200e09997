/**
 * A person who leaves ten thousand deals leaves all of them in one request, which takes longer than the usual statement
 * timeout.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAccount, openBrokerage, mailedToken, signedInVisitor, type Account } from '../auth/scene.ts';
import { openService, type TestService } from '../harness.ts';
import { signInAs } from './person.ts';

let service: TestService;
let brokerage: { id: string; admin: Account };
beforeAll(async () => {
  service = await openService();
  brokerage = await openBrokerage(service);
  // Each removal from a deal fails under a statement timeout of less than 10 seconds, as if there were too many for it.
  await service.sql(
    `create function public.ends_in_time() returns trigger language plpgsql as $$
     begin
       if current_setting('statement_timeout')::interval < interval '10 seconds' then
         raise query_canceled using message = 'canceling statement due to statement timeout';
       end if;
       return new;
     end $$`,
  );
  await service.sql(
    `create trigger zzz_ends_in_time before update of status on participants
     for each row when (new.status = 'removed') execute function public.ends_in_time()`,
  );
});
afterAll(() => service?.close());

/** Adds a broker of a deal that has another broker. */
async function aBroker(status: 'active' | 'invited' = 'active'): Promise<Account> {
  const account = await openAccount(service);
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'broker')`, [
    brokerage.id,
    account.id,
  ]);
  const [deal] = await service.sql<{ id: string }>(
    `insert into deals (organization_id, title) values ($1, 'The bakery') returning id`,
    [brokerage.id],
  );
  for (const [person, as] of [
    [brokerage.admin.id, 'active'],
    [account.id, status],
  ] as const)
    await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', $3)`, [
      deal?.id,
      person,
      as,
    ]);
  return account;
}

const standing = async ({ id }: Account) =>
  (await service.sql<{ status: string }>('select status from participants where user_id = $1', [id]))[0]?.status;

test('an admin removes a broker or makes them staff within the extended statement timeout', async () => {
  const admin = await signInAs(service, brokerage.admin.id);
  for (const [method, body] of [
    ['DELETE', undefined],
    ['PATCH', { role: 'staff' }],
  ] as const) {
    const broker = await aBroker();
    const answer = await admin.ask(`/brokerages/${brokerage.id}/members/${broker.id}`, body, method);
    expect([method, answer.status, await standing(broker)]).toEqual([method, 200, 'removed']);
  }
});

test('a broker erases their own account within the extended statement timeout', async () => {
  const broker = await aBroker();
  const browser = await signedInVisitor(service, broker);
  expect((await browser.change('/api/auth/erase', { confirmation: broker.email })).status).toBe(200);
  expect(await standing(broker)).toBe('removed');
});

test('a person with an unproven address changes it within the extended statement timeout', async () => {
  const broker = await aBroker('invited');
  await service.sql('update vault.passwords set address_proven_at = null where user_id = $1', [broker.id]);
  const browser = await signedInVisitor(service, broker);
  const before = (await service.deliver()).length;
  expect((await browser.change('/api/auth/address', { email: `moved-${broker.email}` })).status).toBe(200);
  await expect.poll(async () => (await service.deliver()).length).toBeGreaterThan(before);
  const token = await mailedToken(service, 'Confirm your new e-mail address');
  expect((await browser.change('/api/auth/address/confirm', { token })).status).toBe(200);
  expect(await standing(broker)).toBe('removed');
});
