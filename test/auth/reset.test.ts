import { randomBytes } from 'node:crypto';
import { dictionary } from '@zxcvbn-ts/language-common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { passwordFault } from '../../server/domain/accounts/password-rules.ts';
import { tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { lifetimes } from '../../server/domain/lifetimes.ts';
import { mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { timeInWords } from '../../server/http/days.ts';
import { openService, type TestService } from '../harness.ts';
import { locksWaited, whileChanging } from '../locks.ts';
import { addBrokerage, addClient, addPerson, connect, openSession, refresh } from '../oauth/scene.ts';
import { issueKey } from '../rest/scene.ts';
import { signInAs } from '../web/person.ts';
import { mailedToken, newPassword, openAccount, signedInVisitor, Visitor } from './scene.ts';

let service: TestService;
const minute = 60_000;

beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());
beforeEach(() => service.clock.advance(minute));

const asked = 'Choose a new password';

async function askReset(email: string): Promise<string> {
  const before = (await service.deliver()).length;
  await new Visitor(service.origin).json('/api/auth/reset', { email });
  await expect.poll(async () => (await service.deliver()).length).toBe(before + 1);
  return mailedToken(service, asked);
}

const confirm = (token: string, password: string) =>
  new Visitor(service.origin).json<{ error?: { code: string; message: string } }>('/api/auth/reset/confirm', {
    token,
    password,
  });

describe('a reset link', () => {
  it('123. sets a new password once, and ends every session', async () => {
    const account = await openAccount(service);
    const elsewhere = await signedInVisitor(service, account);
    const visitor = await signedInVisitor(service, account);
    expect((await visitor.json('/api/auth/reset', { email: account.email.toUpperCase() })).status).toBe(200);
    await expect.poll(() => mailedToken(service, asked)).not.toBe('');
    const mail = service.mails.findLast(({ subject }) => subject === asked);
    expect(mail?.to).toBe(account.email);
    const link = /http\S+/.exec(mail?.text ?? '')?.[0] ?? '';
    expect(link.startsWith(`${service.config.baseUrl}/reset/new#token=`)).toBe(true);

    const token = await mailedToken(service, asked);
    const password = newPassword();
    expect((await visitor.json('/api/auth/reset/confirm', { token, password })).status).toBe(200);
    expect(visitor.cookies.has('dealkeep')).toBe(false);
    expect(await elsewhere.session()).toBeNull();
    expect((await visitor.signIn(account)).status).toBe(401);
    expect((await visitor.signIn({ ...account, password })).status).toBe(200);

    expect((await confirm(token, newPassword())).body.error?.code).toBe('link_expired');
  });

  it('123. is accepted only once when several requests arrive at the same time', async () => {
    const account = await openAccount(service);
    const token = await askReset(account.email);
    const answers = await Promise.all(Array.from({ length: 6 }, () => confirm(token, newPassword())));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 410, 410, 410, 410, 410]);
  });

  it('expires after 30 minutes', async () => {
    const account = await openAccount(service);
    const token = await askReset(account.email);
    const minutes = Number.parseInt(lifetimes.mailedLink, 10);
    const [{ end } = { end: new Date(0) }] = await service.sql<{ end: Date }>(
      'select expires_at as end from vault.password_resets where user_id = $1',
      [account.id],
    );
    expect(service.mails.at(-1)?.text).toContain(`The link works once, until ${timeInWords(end.toISOString())}.`);
    service.clock.advance((minutes - 1) * minute);
    const later = await askReset(account.email);
    service.clock.advance(minute + 1000);
    expect((await confirm(token, newPassword())).status).toBe(410);
    service.clock.advance((minutes - 2) * minute);
    expect((await confirm(later, newPassword())).status).toBe(200);
  });

  it('122. is not used up by a rejected password', async () => {
    const account = await openAccount(service);
    const token = await askReset(account.email);
    expect((await confirm(token, 'short')).body.error?.code).toBe('password_refused');
    expect((await confirm(token, 'password123')).body.error?.code).toBe('password_refused');
    expect((await confirm(token, newPassword())).status).toBe(200);
  });

  it('is rejected after a password change, and for a suspended user', async () => {
    const account = await openAccount(service);
    const token = await askReset(account.email);
    const visitor = await signedInVisitor(service, account);
    await visitor.change('/api/auth/password', { current_password: account.password, password: newPassword() });
    expect((await confirm(token, newPassword())).status).toBe(410);

    const suspended = await openAccount(service);
    const theirs = await askReset(suspended.email);
    await service.sql('update users set suspended_at = app.now() where id = $1', [suspended.id]);
    expect((await confirm(theirs, newPassword())).status).toBe(410);
  });

  it('is not mailed to an account that was suspended meanwhile', async () => {
    const account = await openAccount(service);
    const before = (await service.deliver()).length;
    await new Visitor(service.origin).json('/api/auth/reset', { email: account.email });
    await expect
      .poll(() => service.sql('select from vault.outbox where recipient_id = $1', [account.id]))
      .toHaveLength(1);
    await service.sql('update users set suspended_at = app.now() where id = $1', [account.id]);
    expect(await service.deliver()).toHaveLength(before);
    expect(await service.sql('select from vault.outbox where recipient_id = $1', [account.id])).toEqual([]);
  });

  it('is mailed to a browser that the account knows, however many were asked for elsewhere', async () => {
    const account = await openAccount(service);
    const own = await signedInVisitor(service, account);
    const mails = async () =>
      (await service.deliver()).filter(({ to, subject }) => to === account.email && subject === asked);
    const ask = async (visitor: Visitor, number: number) => {
      for (let nth = 0; nth < number; nth += 1)
        expect((await visitor.json('/api/auth/reset', { email: account.email })).status).toBe(200);
    };
    const stranger = new Visitor(service.origin);
    for (let round = 1; round <= 4; round += 1) {
      await ask(stranger, 5);
      await expect.poll(async () => (await mails()).length).toBe(5 * round);
      service.clock.advance(31 * minute);
    }
    await ask(stranger, 10);
    expect((await stranger.json('/api/auth/reset', { email: account.email })).status).toBe(429);
    const before = (await mails()).length;
    await ask(own, 1);
    await expect.poll(async () => (await mails()).length).toBe(before + 1);
    expect((await confirm(await mailedToken(service, asked), newPassword())).status).toBe(200);
  });

  it('does not replace the second factor at the next sign-in', async () => {
    const account = await openAccount(service);
    await service.sql(`insert into vault.totp (user_id, secret, confirmed_at) values ($1, $2, app.now())`, [
      account.id,
      'A'.repeat(32),
    ]);
    const password = newPassword();
    await confirm(await askReset(account.email), password);
    expect((await new Visitor(service.origin).signIn({ ...account, password })).body).toMatchObject({
      outcome: 'second_factor',
    });
  });

  it('removes a second factor from an account whose mailbox was never verified', async () => {
    const account = await openAccount(service);
    await service.sql('update vault.passwords set address_proven_at = null where user_id = $1', [account.id]);
    await service.sql(`insert into vault.totp (user_id, secret, confirmed_at) values ($1, $2, app.now())`, [
      account.id,
      'A'.repeat(32),
    ]);
    const password = newPassword();
    await confirm(await askReset(account.email), password);
    expect((await new Visitor(service.origin).signIn({ ...account, password })).body).toMatchObject({
      outcome: 'signed_in',
    });
  });

  it('is not mailed to an address that the account gives up at the same time', async () => {
    const account = await openAccount(service);
    const visitor = await signedInVisitor(service, account);
    const email = `new-${account.email}`;
    expect((await visitor.change('/api/auth/address', { email })).status).toBe(200);
    await expect.poll(async () => (await service.deliver()).at(-1)?.to).toBe(email);
    const mail = service.mails.at(-1);
    const digest = tokenDigest(/token=([A-Za-z0-9_-]{43})/.exec(mail?.text ?? '')?.[1] ?? '');
    const mails = service.mails.length;
    await whileChanging(
      service,
      [
        [
          `select app.change_address((select digest from vault.sessions where user_id = $1 and ended_at is null), $2, null, null)`,
          [account.id, digest],
        ],
      ],
      async () => {
        await new Visitor(service.origin).json('/api/auth/reset', { email: account.email });
        // The response comes before the link is made: wait until making the link waits for a lock, or until the link is
        // mailed.
        await expect
          .poll(async () => (await locksWaited(service)) === 1 || (await service.deliver()).length > mails)
          .toBe(true);
      },
    );
    // Links are made one after the other: once this one is mailed, the previous one has been, or never will be.
    const next = await openAccount(service);
    await new Visitor(service.origin).json('/api/auth/reset', { email: next.email });
    await expect
      .poll(async () => (await service.deliver()).slice(mails).map(({ to, subject }) => [to, subject]))
      .toContainEqual([next.email, expect.stringContaining(asked)]);
    const told = service.mails.slice(mails).filter(({ subject }) => subject.includes(asked));
    expect(told.map(({ to }) => to)).toEqual([next.email]);
    expect(await service.sql('select from vault.password_resets where user_id = $1', [account.id])).toEqual([]);
  });

  /**
   * Equips an account with a client of its own with tokens, a shared client, tool grants and opt-ins, an API key and a
   * webhook; returns a function that reports what is left of these.
   */
  async function fitted(account: { id: string }) {
    const brokerage = await addBrokerage(service);
    await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
      brokerage,
      account.id,
    ]);
    const session = await openSession(service, account.id);
    const person = { ...account, name: '', email: '', session, cookie: `dealkeep=${session}` };
    const [own, shared] = [await addClient(service, person), await addClient(service, person, { brokerage })];
    const grant = await connect(service, person, own);
    const colleague = await addPerson(service, 'Colleague', { brokerage, role: 'staff' });
    const colleagues = await connect(service, colleague, shared);
    await service.sql(`insert into tool_grants (user_id, client_id, tool) values ($1, $2, 'svc_questions_create')`, [
      account.id,
      own,
    ]);
    const [deal] = await service.sql<{ id: string }>(
      `insert into deals (organization_id, title) values ($1, 'A bakery') returning id`,
      [brokerage],
    );
    await service.sql('insert into deal_opt_ins (user_id, deal_id) values ($1, $2)', [account.id, deal?.id]);
    const key = mintApiKey('live');
    await service.sql(`select app.issue_api_key($1, $2, 'Sync', 'live', '{contacts:read}', null, null, $3, $4)`, [
      brokerage,
      account.id,
      key.digest,
      key.lastFour,
    ]);
    // A webhook of a key whose token was shown to a colleague and is still in force.
    const manager = await addPerson(service, 'Manager', { brokerage, role: 'admin' });
    const theirs = await issueKey(service, { id: brokerage, admin: manager.id });
    const hook = await (
      await signInAs(service, account.id)
    ).ask(`/keys/${theirs.id}/webhooks`, { url: 'https://hooks.example.com/', types: null });
    expect(hook.status).toBe(201);
    return async () => ({
      webhooks: (await (await signInAs(service, manager.id)).ask(`/brokerages/${brokerage}/webhooks`)).body.items.map(
        ({ state }: { state: string }) => state,
      ),
      clients: (
        await service.sql('select from connected_clients where created_by = $1 and deleted_at is null', [account.id])
      ).length,
      refresh: (await refresh(service, own, grant.refresh)).status,
      colleagues: (await refresh(service, shared, colleagues.refresh)).status,
      tool_grants: (await service.sql('select from tool_grants where user_id = $1', [account.id])).length,
      opt_ins: (await service.sql('select from deal_opt_ins where user_id = $1', [account.id])).length,
      key: (await fetch(`${service.restUrl}/contacts`, { headers: { authorization: `Bearer ${key.token}` } })).status,
    });
  }

  it('removes clients, grants, opt-ins, keys and webhooks when it first verifies the mailbox', async () => {
    const account = await openAccount(service);
    await service.sql('update vault.passwords set address_proven_at = null where user_id = $1', [account.id]);
    const left = await fitted(account);
    expect((await confirm(await askReset(account.email), newPassword())).status).toBe(200);
    expect(await left()).toEqual({
      webhooks: ['off'],
      clients: 0,
      refresh: 401,
      colleagues: 401,
      tool_grants: 0,
      opt_ins: 0,
      key: 401,
    });
    const [recorded] = await service.sql(
      `select details from audit_records where action = 'password.reset' and user_id = $1`,
      [account.id],
    );
    expect(recorded?.['details']).toEqual({
      clients: 2,
      tool_grants: 1,
      deal_opt_ins: 1,
      keys: 1,
      webhooks: 1,
      factors: 0,
    });
    // In the trail of the brokerage, which does not see what people do to their accounts.
    const ended = await service.sql<{ action: string; known: boolean; details: object }>(
      `select action, brokerage_id is not null as known, details from audit_records
       where user_id = $1 and details ->> 'by' = 'reset' order by action`,
      [account.id],
    );
    expect(ended.map(({ action }) => action)).toEqual(['api_key.revoke', 'client.delete', 'client.delete']);
    expect(ended[0]).toMatchObject({ known: true });
  });

  it('always turns off writing through tools, but keeps clients and keys if the mailbox was verified before', async () => {
    const account = await openAccount(service);
    const left = await fitted(account);
    expect((await confirm(await askReset(account.email), newPassword())).status).toBe(200);
    expect(await left()).toEqual({
      webhooks: ['on'],
      clients: 2,
      refresh: 400,
      colleagues: 200,
      tool_grants: 0,
      opt_ins: 0,
      key: 200,
    });
    await expect
      .poll(async () => (await service.deliver()).findLast(({ to }) => to === account.email)?.text)
      .toContain(
        'Your password was reset. You were signed out everywhere, your assistants were disconnected, and none can write in your name until you allow it again.',
      );
  });

  it('121. is requested with the same response for an unknown address, which gets no mail', async () => {
    const account = await openAccount(service);
    const ask = async (email: string) => {
      const { status, body, headers } = await new Visitor(service.origin).json('/api/auth/reset', { email });
      return { status, body, names: [...headers.keys()].toSorted() };
    };
    const before = (await service.deliver()).length;
    expect(await ask('nobody@example.com')).toEqual(await ask(account.email));
    await expect.poll(async () => (await service.deliver()).length).toBe(before + 1);
  });

  it('never appears in the log or the outbox, with or without SMTP', async () => {
    for (const smtpUrl of ['smtp://mail.example.com', undefined]) {
      const other = await openService({ config: { smtpUrl } });
      try {
        const account = await openAccount(other);
        await new Visitor(other.origin).json('/api/auth/reset', { email: account.email });
        await expect.poll(async () => (await other.deliver()).length).toBe(1);
        const token = await mailedToken(other, asked);
        expect(token).toHaveLength(43);
        expect(other.log.join('')).not.toContain(token);
        const [{ kept } = {}] = await other.sql<{ kept: string }>(
          'select string_agg(o::text, chr(10)) as kept from vault.outbox o',
        );
        expect(kept).not.toContain(token);
      } finally {
        await other.close();
      }
    }
  });

  it.each(['', 'x', 'A'.repeat(43), `${'A'.repeat(42)}'`])('is rejected with the token %j', async (token) => {
    expect([400, 410]).toContain((await confirm(token, newPassword())).status);
  });
});

describe('choosing a password', () => {
  it('122. rejects the 3,000 most common passwords, and every 25th of the rest of the list', async () => {
    const common = dictionary['passwords-common'] as string[];
    expect(common.length).toBeGreaterThan(40_000);
    const accepted: string[] = [];
    for (const password of [...common.slice(0, 3000), ...common.slice(3000).filter((_, index) => index % 25 === 0)]) {
      if ((await passwordFault(password, [])) === null) accepted.push(password);
    }
    expect(accepted).toEqual([]);
  });

  it.each([
    ['seven characters', 'xK9!vQ2', /at least 8/],
    ['seven emoji', '🦀🌵🪐🧭🥁🪁🧊', /at least 8/],
    ['a common password in other case', 'PassWord123', /easy to guess/],
    ['a keyboard walk', 'qwertzuiop', /easy to guess/],
    ['their own name', 'annamiller', /easy to guess/],
    ['their own address', 'anna.miller@example.com', /easy to guess/],
    ['the name of the product', 'dealkeep2026', /easy to guess/],
    ['a repeated letter', 'zzzzzzzzzzzz', /easy to guess/],
    ['5,000 characters', randomBytes(4000).toString('base64').slice(0, 5000), /at most 4096/],
  ])('122. rejects %s', async (_, password, message) => {
    expect(await passwordFault(password, ['anna.miller@example.com', 'Anna Miller'])).toMatch(message);
  });

  it.each([
    ['eight random characters', () => 'xK9!vQ2p'],
    ['eight emoji', () => '🦀🌵🪐🧭🥁🪁🧊🦉'],
    ['a few words', () => 'harbour violin pepper nine'],
    ['64 characters', () => randomBytes(48).toString('base64')],
    ['1,000 characters', () => randomBytes(750).toString('base64').slice(0, 1000)],
    ['another script', () => 'смородина и кит'],
  ])('122. accepts %s', async (_, make) => {
    expect(await passwordFault(make(), ['anna.miller@example.com', 'Anna Miller'])).toBeNull();
  });
});
