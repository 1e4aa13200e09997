/** What jobs clear of people a month after it ended: withdrawn invitations, the accounts made for them, and clients. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { scheduledJobs } from '../../server/scheduled-jobs.ts';
import { openAccount } from '../auth/scene.ts';
import { openService, type TestService } from '../harness.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { answeredAbout } from './answered.ts';
import { tablesWith } from './tables-with.ts';

let service: TestService;
let admin: SignedIn;
let brokerage: string;
let deal: string;
beforeAll(async () => {
  service = await openService({ scene: true });
  ({ brokerage, deal } = service.scene);
  admin = await signInAs(service, service.scene.people['admin']!);
});
afterAll(() => service?.close());

const day = 86_400_000;

/** Runs every job, that many days from now. */
async function inDays(days: number): Promise<void> {
  service.clock.advance(days * day);
  for (const { job } of scheduledJobs) await service.database.run(job());
  await service.sql('delete from vault.mail_counts');
}

const invited = (email: string) =>
  service.sql<{ status: string; invited_name: string; invited_email: string }>(
    `select m.status, m.invited_name, m.invited_email from members m join users u on u.id = m.user_id where u.email = $1`,
    [email],
  );

/** Invites somebody to the brokerage and withdraws the invitation. */
async function withdrawn(name: string): Promise<string> {
  const email = `${name.toLowerCase()}@people.example`;
  const asked = await admin.ask(`/brokerages/${brokerage}/members`, { email, name, role: 'staff' });
  expect(asked.status).toBe(201);
  const [member] = await service.sql<{ person_id: string }>(
    'select person_id from members where brokerage_id = $1 and invited_email = $2',
    [brokerage, email],
  );
  expect((await admin.ask(`/brokerages/${brokerage}/members/${member!.person_id}`, undefined, 'DELETE')).status).toBe(
    200,
  );
  return email;
}

test('withdrawn invitations lose name and address after thirty days, and so do accounts made for them', async () => {
  const email = await withdrawn('Zyxinvitee');
  const held = await withdrawn('Zyxheld');
  const account = await openAccount(service, { email: 'zyxaccount@people.example', name: 'Zyxaccount' });
  const again = await withdrawn('Zyxaccount');
  expect(again).toBe(account.email);
  const still = 'zyxstill@people.example';
  await admin.ask(`/brokerages/${brokerage}/members`, { email: still, name: 'Zyxstill', role: 'staff' });
  await service.sql(
    `insert into vault.legal_holds (kind, subject_id) select 'person', id from users where email = $1`,
    [held],
  );
  // On a deal, too.
  await service.sql(
    `with made as (insert into users (email, name) values ('zyxguest@people.example', 'Zyxguest') returning id)
     insert into participants (deal_id, user_id, role, status, invited_name, invited_email)
     select $1, id, 'buyer', 'invited', 'Zyxguest', 'zyxguest@people.example' from made`,
    [deal],
  );
  await service.sql(`update participants set status = 'removed' where invited_name = 'Zyxguest'`);

  await inDays(29);
  expect(await invited(email)).toEqual([{ status: 'removed', invited_name: 'Zyxinvitee', invited_email: email }]);

  await inDays(2);
  expect(await tablesWith(service, ['zyxinvitee', 'zyxguest'])).toEqual([]);
  expect(
    await service.sql(
      `select u.erased_at is not null as erased, p.status from participants p join users u on u.id = p.user_id
       where p.deal_id = $1 and p.invited_name = 'Former participant'`,
      [deal],
    ),
  ).toEqual([{ erased: true, status: 'removed' }]);
  // Who has an account keeps it, a legal hold keeps everything, and an invitation that waits for an answer stays.
  expect(await invited(account.email)).toMatchObject([{ invited_name: 'Former participant' }]);
  expect(await invited(held)).toMatchObject([{ invited_name: 'Zyxheld', invited_email: held }]);
  expect(await invited(still)).toMatchObject([{ status: 'invited', invited_name: 'Zyxstill', invited_email: still }]);
  // Somebody invited anew to the same address is a new person.
  admin = await signInAs(service, service.scene.people['admin']!);
  const anew = await admin.ask(`/brokerages/${brokerage}/members`, { email, name: 'Zyxinvitee', role: 'staff' });
  expect(anew.status).toBe(201);
  expect(await invited(email)).toMatchObject([{ status: 'invited', invited_name: 'Zyxinvitee' }]);
});

test('a declined invitation to a deal leaves no name in the trail, nor in answers of webhooks, and cannot be repeated', async () => {
  const account = await openAccount(service, { email: 'zyxdeclines@people.example', name: 'Somebody Real' });
  admin = await signInAs(service, service.scene.people['admin']!);
  const guest = { email: account.email, name: 'Zyxdeclined', role: 'buyer', deliver: 'link' };
  const part = (await admin.ask(`/deals/${deal}/participants`, guest)).body.participant.id as string;
  const invitation = `/deals/${deal}/participants/${part}/invitation`;
  const decline = async () =>
    expect((await (await signInAs(service, account.id)).ask(`/invitations/${part}/decline`, {})).status).toBe(204);
  await decline();
  // Twice, on different days.
  await inDays(3);
  admin = await signInAs(service, service.scene.people['admin']!);
  expect((await admin.ask(invitation, { deliver: 'link' })).status).toBe(200);
  await decline();
  await answeredAbout(service, { id: brokerage, admin: service.scene.people['admin']! }, part, 'I got Zyxdeclined.');
  const names = () =>
    service.sql<{ name: string }>(
      `select details ->> 'name' as name from audit_records where action = 'invitation.decline' and subject_id = $1`,
      [part],
    );

  await inDays(29);
  expect(await names()).toEqual([{ name: 'Zyxdeclined' }, { name: 'Zyxdeclined' }]);
  await inDays(2);
  expect(await names()).toEqual([{ name: 'Former participant' }, { name: 'Former participant' }]);
  expect(await tablesWith(service, ['zyxdeclined'])).toEqual([]);

  admin = await signInAs(service, service.scene.people['admin']!);
  const count = async () => (await service.sql('select count(*)::int as people from users'))[0];
  const before = await count();
  const [placeholder] = await service.sql<{ email: string; mails: number }>(
    'select invited_email as email from participants where id = $1',
    [part],
  );
  for (const [path, body] of [
    [invitation, { deliver: 'mail' }],
    [`/deals/${deal}/participants`, { ...guest, email: placeholder!.email }],
    [`/brokerages/${brokerage}/members`, { ...guest, email: placeholder!.email, role: 'staff' }],
  ] as const) {
    const { status, body: answer } = await admin.ask(path, body);
    expect([path, status, answer.error?.code]).toEqual([path, 409, 'address_not_taken']);
  }
  expect(await count()).toEqual(before);
  expect(await service.sql(`select from vault.outbox where recipient like '%@erased.invalid'`)).toEqual([]);
  expect(await service.sql('select user_id, status from participants where id = $1', [part])).toEqual([
    { user_id: account.id, status: 'removed' },
  ]);
});

test('a deleted client loses its name and addresses after thirty days', async () => {
  const add = (name: string) =>
    service.sql(
      `insert into connected_clients (created_by, name, redirect_uris) values ($1, $2, '{https://zyxhome.example/callback}')`,
      [service.scene.people['seller'], name],
    );
  await add('Zyxclient');
  await add('Zyxkept');
  await service.sql(`update connected_clients set deleted_at = app.now() where name = 'Zyxclient'`);
  const clients = () =>
    service.sql(
      `select name, redirect_uris from connected_clients where created_by = $1 and (name like 'Zyx%' or name like 'Deleted%') order by name`,
      [service.scene.people['seller']],
    );
  const kept = { name: 'Zyxkept', redirect_uris: ['https://zyxhome.example/callback'] };
  await inDays(29);
  expect(await clients()).toEqual([{ ...kept, name: 'Zyxclient' }, kept]);
  await inDays(2);
  expect(await clients()).toEqual([{ name: 'Deleted client', redirect_uris: [] }, kept]);
});
