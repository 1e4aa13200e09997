/** What an erasure leaves where a person is known by something else than their account. */

import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import { scheduledJobs } from '../../server/scheduled-jobs.ts';
import { openAccount, signedInVisitor, Visitor, type Account } from '../auth/scene.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage } from '../rest/scene.ts';
import { signInAs } from '../web/person.ts';
import { tablesWith } from './tables-with.ts';

let service: TestService;

beforeAll(async () => {
  service = await openService({ config: { smtpUrl: 'smtp://127.0.0.1:1' } });
});
afterAll(() => service?.close());

/** Erases a person as they do it themselves, and returns their pseudonym. */
async function erase(account: Account): Promise<string> {
  const browser = await signedInVisitor(service, account);
  const { status, body } = await browser.change('/api/auth/erase', { confirmation: account.email });
  expect(status).toBe(200);
  return body['pseudonym'] as string;
}

const runJob = (name: string) => service.database.run(scheduledJobs.find((one) => one.name === name)!.job());

const addDeal = async (of: string) =>
  (
    await service.sql<{ id: string }>(`insert into deals (organization_id, title) values ($1, 'A deal') returning id`, [
      of,
    ])
  )[0]!.id;

const join = (deal: string, who: string, role: string) =>
  service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, $3, 'active')`, [
    deal,
    who,
    role,
  ]);

test('contacts merged into one of the person, and the one into which theirs was merged, lose what they are called', async () => {
  const tenant = await brokerage(service);
  const ask = as(await tenant.key({ scopes: keyScopes }), service.restUrl);
  const account = await openAccount(service, { email: 'zyxmerge@people.example', name: 'Zyxmerge Account' });
  let made = 0;
  const contact = async (fields: object) =>
    (await ask('PUT', `/contacts/by-external-id/crm-${(made += 1)}`, { type: 'person', ...fields })).body![
      'id'
    ] as string;
  const merge = async (kept: string, from: string) =>
    expect((await ask('POST', `/contacts/merge/${kept}`, { from })).status).toBe(200);
  // With another address, and with none, into which theirs was merged; and further duplicates of those.
  const kept = await contact({ displayName: 'Zyxmerge Kept', email: 'zyxmerge@work.example', phone: '+1 555 0100' });
  const known = await contact({ displayName: 'Zyxmerge Known', email: account.email });
  const duplicate = await contact({ displayName: 'Zyxmerge Duplicate', phone: '+1 555 0199' });
  const another = await contact({ displayName: 'Zyxmerge Another', phone: '+1 555 0198' });
  await merge(known, duplicate);
  await merge(kept, known);
  await merge(kept, another);
  const firm = await contact({ type: 'company', displayName: 'Other & Co.', email: 'firm@people.example' });
  const other = await contact({ displayName: 'Somebody Else', phone: '+1 555 0197' });

  await erase(account);
  const contacts = await service.sql(
    `select id, display_name, num_nonnulls(email, phone, external_id) as rest, archived_at is null as current
     from contacts where brokerage_id = $1 order by id`,
    [tenant.id],
  );
  const gone = { display_name: 'Former participant', rest: 0, current: false };
  expect(contacts).toEqual([
    ...[kept, known, duplicate, another].map((id) => ({ id, ...gone })),
    { id: firm, display_name: 'Other & Co.', rest: 2, current: true },
    { id: other, display_name: 'Somebody Else', rest: 2, current: true },
  ]);
  expect(await tablesWith(service, ['zyxmerge', '555 0199'])).toEqual([]);
});

test('neither a contact nor an invitation nor their audit records lead to what the person did elsewhere', async () => {
  const [works, knows, invites] = [await brokerage(service), await brokerage(service), await brokerage(service)];
  const account = await openAccount(service, { email: 'zyxlink@people.example', name: 'Zyxlink Account' });
  await join(await addDeal(works.id), account.id, 'buyer');
  const contacts: string[] = [];
  for (const { id } of [works, knows])
    contacts.push(
      (
        await service.sql<{ id: string }>(
          `insert into contacts (brokerage_id, type, display_name, email) values ($1, 'person', 'Zyxlink', $2) returning id`,
          [id, account.email],
        )
      )[0]!.id,
    );
  const admin = await signInAs(service, invites.admin);
  const invitation = { email: account.email, name: 'Zyxlink', role: 'staff' };
  expect((await admin.ask(`/brokerages/${invites.id}/members`, invitation)).status).toBe(201);
  const [invited] = await service.sql<{ person_id: string }>(
    `select person_id from members where brokerage_id = $1 and status = 'invited'`,
    [invites.id],
  );

  expect(await erase(account)).toMatch(/^Former participant [0-9A-F]{4}$/);
  const names = await service.sql<{ name: string }>('select display_name as name from contacts where id = any ($1)', [
    contacts,
  ]);
  expect(names).toEqual([{ name: 'Former participant' }, { name: 'Former participant' }]);
  const trail = await service.sql(
    `select brokerage_id, user_id, subject_id, details from audit_records where action = 'person.erase' and brokerage_id = any ($1)`,
    [[works.id, knows.id, invites.id]],
  );
  const details = { by: 'oneself' };
  const expected = [
    { brokerage_id: works.id, user_id: account.id, subject_id: account.id, details },
    { brokerage_id: knows.id, user_id: null, subject_id: contacts[1], details },
    { brokerage_id: invites.id, user_id: null, subject_id: invited?.person_id, details },
  ];
  expect(trail).toHaveLength(expected.length);
  expect(trail).toEqual(expect.arrayContaining(expected));
  const addresses = await service.sql<{ same: boolean }>(
    `select m.invited_email = u.email as same from members m join users u on u.id = m.user_id where m.brokerage_id = $1 and u.id = $2`,
    [invites.id, account.id],
  );
  expect(addresses).toEqual([{ same: false }]);
  // What stands there in place of an address is nobody's.
  const [left] = await service.sql<{ email: string }>(
    'select invited_email as email from members where brokerage_id = $1 and user_id = $2',
    [invites.id, account.id],
  );
  const again = await admin.ask(`/brokerages/${invites.id}/members`, { ...invitation, email: left!.email });
  expect([again.status, again.body.error.code]).toEqual([409, 'address_not_taken']);
  expect(await service.sql('select from users where email = $1', [left!.email])).toEqual([]);
});

test('no mail names the person as they were called when they caused it', async () => {
  const tenant = await brokerage(service);
  const account = await openAccount(service, { email: 'zyxwed@people.example', name: 'Zyxwed Oldname' });
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
    tenant.id,
    account.id,
  ]);
  const guest = { email: 'guest.of.zed@people.example', name: 'Gus Guest', role: 'staff' };
  const asThem = await signInAs(service, account.id);
  expect((await asThem.ask(`/brokerages/${tenant.id}/members`, guest)).status).toBe(201);
  const browser = await signedInVisitor(service, account);
  expect((await browser.change('/api/auth/profile', { name: 'Zed New' })).status).toBe(200);
  const pseudonym = await erase(account);
  const mails = await service.sql<{ facts: object }>('select facts from vault.outbox where recipient = $1', [
    guest.email,
  ]);
  expect(mails).toEqual([{ facts: expect.objectContaining({ by: pseudonym, name: 'Gus Guest' }) }]);
  expect(await tablesWith(service, ['zyxwed', 'Zed New'])).toEqual([]);
});

test('no digest of the address stays in sandboxes', async () => {
  const tenant = await brokerage(service);
  const ask = as(await tenant.key({ scopes: keyScopes, environment: 'test' }), service.restUrl);
  const account = await openAccount(service, { email: 'zyxsandbox@people.example', name: 'Zyxsandbox Account' });
  const deal = (await ask('POST', '/deals', { title: 'Of a test' })).body!;
  const invitation = { email: account.email, name: 'Zyxsandbox typed', role: 'buyer' };
  expect((await ask('POST', `/deals/${deal['id']}/invitations`, invitation)).status).toBe(201);
  const digest = createHash('md5').update(account.email).digest('hex');
  expect(await tablesWith(service, [digest])).toEqual(['public.users', 'vault.mail_counts']);
  await erase(account);
  expect(await tablesWith(service, [digest, 'zyxsandbox'])).toEqual([]);
  // The invitation is answered in the sandbox as before.
  const people = await ask('GET', `/deals/${deal['id']}/participants`);
  expect(people.body!['data']).toContainEqual(expect.objectContaining({ name: 'Former participant', role: 'buyer' }));
  const [left] = await service.sql<{ email: string }>(
    `select invited_email as email from participants where deal_id = $1 and invited_name = 'Former participant'`,
    [deal['id']],
  );
  const again = await ask('POST', `/deals/${deal['id']}/invitations`, { ...invitation, email: left!.email });
  expect(again.status).toBe(409);
  expect(again.text).toContain('No e-mail can be sent to this address.');
});

test('the audit trail keeps no address from which only they used a key, nor that of a failed sign-in for more than 30 days', async () => {
  const tenant = await brokerage(service);
  const account = await openAccount(service, { email: 'zyxkeys@people.example', name: 'Zyxkeys Account' });
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
    tenant.id,
    account.id,
  ]);
  const asThem = await signInAs(service, account.id);
  const make = async (name: string) => {
    const fields = { environment: 'live', scopes: keyScopes, ceiling: 120, expires_at: null };
    return (await asThem.ask(`/brokerages/${tenant.id}/keys`, { name, ...fields })).body;
  };
  const [own, handedOn] = [await make('Own'), await make('Handed on')];
  const contact = { type: 'person', displayName: 'Somebody' };
  for (const { token } of [own, handedOn])
    expect((await as({ token }, service.restUrl)('POST', '/contacts', contact)).status).toBe(201);
  const admin = await signInAs(service, tenant.admin);
  await admin.ask(`/keys/${handedOn.key.id}/rotate`, { overlap_seconds: 0 });
  await erase(account);
  const trail = await service.sql(
    `select key_id, address is not null as has_address from audit_records where brokerage_id = $1 and action = 'contact.create' order by id`,
    [tenant.id],
  );
  expect(trail).toEqual([
    { key_id: own.key.id, has_address: false },
    { key_id: handedOn.key.id, has_address: true },
  ]);

  expect((await new Visitor(service.origin).signIn(account)).status).toBe(401);
  const failed = () =>
    service.sql<{ has_address: boolean }>(
      `select address is not null as has_address from audit_records
       where action = 'session.sign_in' and user_id is null and brokerage_id is null order by at desc limit 1`,
    );
  const day = 86_400_000;
  for (const [days, has_address] of [
    [29, true],
    [2, false],
  ] as const) {
    service.clock.advance(days * day);
    await runJob('purge_sign_in');
    expect(await failed()).toEqual([{ has_address }]);
  }
  // The addresses of brokerages stay in their trail as long as the record.
  expect(
    await service.sql(
      `select from audit_records where brokerage_id = $1 and address is not null and action = 'api_key.rotate'`,
      [tenant.id],
    ),
  ).toHaveLength(1);
});
