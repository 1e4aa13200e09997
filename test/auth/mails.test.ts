/** How many mails a person can cause. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { erasePerson } from '../../server/domain/accounts/erasure.ts';
import { openService, type TestService } from '../harness.ts';
import { connect } from '../policies/scene.ts';
import { signInAs } from '../web/person.ts';
import { openAccount, openBrokerage, signedInVisitor, Visitor, type Account } from './scene.ts';

let service: TestService;
let admin: Account;
let brokerageId = '';
const minute = 60_000;
const day = 24 * 60 * minute;

beforeAll(async () => {
  service = await openService({ config: { smtpUrl: 'smtp://mail.example.com' } });
  ({ id: brokerageId, admin } = await openBrokerage(service));
});
afterAll(() => service?.close());
// Stops the clock at the start of a day, so that no test crosses the end of a minute, an hour or a day.
beforeEach(() => service.clock.stand(new Date(Math.ceil((service.clock.now().getTime() + 1) / day) * day)));

const mailsTo = async (email: string) => (await service.deliver()).filter(({ to }) => to === email).length;
const statusesOf = (answers: readonly { status: number }[]) =>
  Object.fromEntries(
    Map.groupBy(answers, ({ status }) => status)
      .entries()
      .map(([status, { length }]) => [status, length]),
  );

describe('invitations', () => {
  const invite = async (email: string, deliver?: 'link') => {
    const person = await signInAs(service, admin.id);
    return person.ask(`/brokerages/${brokerageId}/members`, { email, name: 'Guest', role: 'broker', deliver });
  };

  it('are limited to 20 mails a minute, 60 an hour and 100 a day per sender; the excess is not created', async () => {
    const before = (await service.deliver()).length;
    const answers = await Promise.all(Array.from({ length: 80 }, (_, index) => invite(`many${index}@example.com`)));
    expect(statusesOf(answers)).toEqual({ 201: 20, 429: 60 });
    await expect.poll(async () => (await service.deliver()).length).toBe(before + 20);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body).toEqual({
      error: { code: 'too_many_mails', message: 'You have sent 20 e-mails within a minute: continue in a minute.' },
    });
    const made = await service.sql(`select from users where email like 'many%'`);
    expect(made).toHaveLength(20);
    for (let round = 1; round < 5; round += 1) {
      service.clock.advance(minute);
      if (round === 3) {
        const { status, body } = await invite('one-too-many@example.com');
        expect(status).toBe(429);
        expect(body.error.message).toMatch(
          /^You have sent 60 e-mails within this hour: try again after \d\d:00 UTC( on .+)?, or create a link and pass it on\.$/,
        );
        expect((await invite('one-too-many@example.com', 'link')).body).toMatchObject({ mailed: false });
        service.clock.advance(60 * minute);
      }
      const more = Array.from({ length: 20 }, (_, index) => invite(`more${round}-${index}@example.com`));
      expect(statusesOf(await Promise.all(more))).toEqual({ 201: 20 });
    }
    service.clock.advance(minute);
    expect((await invite('one-more@example.com')).body.error.message).toMatch(
      /^You have sent 100 e-mails today: try again after 00:00 UTC on .+, or create a link and pass it on\.$/,
    );
    expect((await invite('one-more@example.com', 'link')).body).toMatchObject({ mailed: false });
    service.clock.advance(day);
    expect((await invite('another@example.com')).status).toBe(201);
  });

  it('are limited to five mails a day per address and brokerage, including renewals', async () => {
    const email = 'again@example.com';
    const visitor = await signedInVisitor(service, admin);
    const { member } = (await invite(email)).body;
    const at = `/brokerages/${brokerageId}/members/${member.user_id}`;
    const renew = () => visitor.change(`/api/web${at}/invitation`, { deliver: 'mail' });
    for (let round = 0; round < 4; round += 1) {
      await service.deliver();
      expect((await renew()).status).toBe(200);
    }
    await service.deliver();
    const refused = await renew();
    expect(refused.status).toBe(429);
    // The wait lasts until the next day; the clock stands at the start of one.
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(86_400 - 3_600);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(86_400);
    // Not by withdrawing it and inviting anew, either.
    expect((await (await signInAs(service, admin.id)).ask(at, undefined, 'DELETE')).status).toBe(200);
    expect((await invite(email)).status).toBe(429);
    expect(await mailsTo(email)).toBe(5);
    service.clock.advance(day);
    expect((await invite(email)).status).toBe(201);
  });

  it('are limited to ten mails an hour per address, across brokerages', async () => {
    const email = 'wanted@example.com';
    const inviters = await Promise.all(
      ['one', 'two', 'three'].map(async (slug) => {
        const person = await openAccount(service);
        const [made] = await service.sql<{ id: string }>(
          'insert into brokerages (slug, name) values ($1, $1) returning id',
          [`asks-${slug}`],
        );
        await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
          made?.id,
          person.id,
        ]);
        const session = await signInAs(service, person.id);
        const at = `/brokerages/${made?.id}/members`;
        let again: string | undefined;
        return async () => {
          const answer = await (again === undefined
            ? session.ask(at, { email, name: 'Guest', role: 'broker' })
            : session.ask(again, {}));
          if (answer.status === 201) again = `${at}/${answer.body.member.user_id}/invitation`;
          return answer;
        };
      }),
    );
    const [one, two, three] = inviters;
    for (const ask of [one, two])
      for (let count = 0; count < 5; count += 1) expect((await ask?.())?.status).toBe(count === 0 ? 201 : 200);
    const refused = await three?.();
    expect(refused?.status).toBe(429);
    expect(refused?.body.error.message).toMatch(/^This address was sent many e-mails within this hour/);
    service.clock.advance(60 * minute);
    expect((await three?.())?.status).toBe(201);
  });

  it('are limited to five mails a day per mailbox and brokerage, with whatever tag in the address', async () => {
    for (let count = 0; count < 5; count += 1) expect((await invite(`tagged+${count}@example.com`)).status).toBe(201);
    expect((await invite('tagged+another@example.com')).status).toBe(429);
    expect((await invite('tagged@example.com')).status).toBe(429);
    expect((await invite('untagged@example.com')).status).toBe(201);
    expect(await service.sql(`select from vault.mail_counts where subject like '%tagged+%'`)).toEqual([]);
  });

  it('are not limited per mailbox between members of a brokerage who have proven theirs', async () => {
    const colleague = await openAccount(service);
    const newcomer = await openAccount(service);
    for (const { id } of [colleague, newcomer])
      await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'broker')`, [
        brokerageId,
        id,
      ]);
    await service.sql('update vault.passwords set address_proven_at = null where user_id = $1', [newcomer.id]);
    const person = await signInAs(service, admin.id);
    const inviteToDeal = async ({ email }: { email: string }) => {
      const [made] = await service.sql<{ id: string }>(
        `insert into deals (organization_id, title) values ($1, 'One of many') returning id`,
        [brokerageId],
      );
      const input = { email, name: 'Colleague', role: 'broker', advises: null };
      return (await person.ask(`/deals/${made?.id}/participants`, input)).status;
    };
    for (let count = 0; count < 12; count += 1) expect(await inviteToDeal(colleague)).toBe(201);
    service.clock.advance(minute);
    for (let count = 0; count < 5; count += 1) expect(await inviteToDeal(newcomer)).toBe(201);
    expect(await inviteToDeal(newcomer)).toBe(429);
  });

  it('count towards no limit when rejected because the sender may not invite', async () => {
    const broker = await openAccount(service);
    const visitor = await signedInVisitor(service, broker);
    await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'broker')`, [
      brokerageId,
      broker.id,
    ]);
    const input = { email: 'x@example.com', name: 'X', role: 'broker', deliver: 'mail' };
    for (let round = 0; round < 6; round += 1)
      expect((await visitor.change(`/api/web/brokerages/${brokerageId}/members`, input)).status).toBe(403);
    expect((await invite('x@example.com')).status).toBe(201);
  });
});

it('address-change mails to a mailbox keep nobody from being invited there', async () => {
  for (let person = 0; person < 2; person += 1) {
    const visitor = await signedInVisitor(service, await openAccount(service));
    for (let round = 0; round < 5; round += 1)
      expect((await visitor.change('/api/auth/address', { email: 'stopped@example.com' })).status).toBe(200);
  }
  const third = await signedInVisitor(service, await openAccount(service));
  expect((await third.change('/api/auth/address', { email: 'stopped@example.com' })).status).toBe(429);
  const person = await signInAs(service, admin.id);
  const input = { email: 'stopped@example.com', name: 'Guest', role: 'broker' };
  expect((await person.ask(`/brokerages/${brokerageId}/members`, input)).status).toBe(201);
});

it('counts of mails to an address with a tag are deleted with its person', async () => {
  const { id, email } = await openAccount(service, { email: 'erased+tag@example.com' });
  await service.sql('select app.count_mail_to($1, $2, $3, false)', [admin.id, brokerageId, email]);
  const counted = () => service.sql(`select subject from vault.mail_counts where subject like '%erased@example.com'`);
  expect(await counted()).toHaveLength(3);
  const owner = await connect(service.connections.owner);
  try {
    await erasePerson(owner, id, async () => {});
  } finally {
    await owner.end();
  }
  expect(await counted()).toEqual([]);
});

it('address-change mails are limited to five a day per new address and twenty a minute per user', async () => {
  const account = await openAccount(service);
  const visitor = await signedInVisitor(service, account);
  const move = async (email: string) => (await visitor.change('/api/auth/address', { email })).status;
  for (let round = 0; round < 5; round += 1) {
    expect(await move('victim@example.com')).toBe(200);
    await service.deliver();
  }
  expect(await move('victim@example.com')).toBe(429);
  for (let round = 0; round < 15; round += 1) expect(await move(`victim${round}@example.com`)).toBe(200);
  expect(await move('victim15@example.com')).toBe(429);
  expect(await mailsTo('victim@example.com')).toBe(5);
  // The last link still works, because rejected requests changed nothing.
  const [pending] = await service.sql('select new_email from vault.address_changes where user_id = $1', [account.id]);
  expect(pending).toEqual({ new_email: 'victim14@example.com' });
});

it('reset mails are limited to twenty a day per mailbox, with an unchanged response', async () => {
  const account = await openAccount(service);
  const said = new Set<string>();
  for (let round = 0; round < 25; round += 1) {
    if (round % 5 === 0) service.clock.advance(31 * minute);
    const { status, body } = await new Visitor(service.origin).json('/api/auth/reset', { email: account.email });
    said.add(JSON.stringify([status, body]));
    // The link is made after the response, so the clock must not advance before the link is mailed.
    if (round < 20) await expect.poll(() => mailsTo(account.email)).toBe(round + 1);
  }
  expect(said.size).toBe(1);
  const other = await openAccount(service);
  await new Visitor(service.origin).json('/api/auth/reset', { email: other.email });
  // This link was requested last, and is sent last.
  await expect.poll(() => mailsTo(other.email)).toBe(1);
  expect(await mailsTo(account.email)).toBe(20);
});

it('security changes of an account are limited to twenty a day, each of them mailed', async () => {
  const account = await openAccount(service);
  const visitor = await signedInVisitor(service, account);
  await service.sql(
    `insert into vault.totp (user_id, secret, confirmed_at) values ($1, 'JBSWY3DPEHPK3PXP', app.now())`,
    [account.id],
  );
  for (let round = 0; round < 20; round += 1)
    expect((await visitor.change('/api/auth/recovery-codes')).status).toBe(200);
  const codes = () =>
    service.sql('select digest from vault.recovery_codes where user_id = $1 order by 1', [account.id]);
  const before = await codes();
  expect((await visitor.change('/api/auth/recovery-codes')).status).toBe(429);
  expect((await visitor.change('/api/auth/second-factor/remove')).status).toBe(429);
  expect(await codes()).toEqual(before);
  expect(await mailsTo(account.email)).toBe(20);
});
