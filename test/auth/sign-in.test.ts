import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { hashByRecipe } from '../../server/domain/accounts/password-hashes.ts';
import { openService, type TestService } from '../harness.ts';
import { processorTime } from '../processor-time.ts';
import { newPassword, openAccount, signedInVisitor, Visitor, type Account } from './scene.ts';

const minute = 60_000;
const hour = 60 * minute;

let service: TestService;
let ann: Account;

beforeAll(async () => {
  service = await openService();
  ann = await openAccount(service, { email: 'ann@example.com', name: 'Ann' });
});
afterAll(() => service.close());

function cookieLine(response: { headers: Headers }): string {
  return response.headers.getSetCookie().find((line) => line.includes('dealkeep=')) ?? '';
}

describe('signing in with a password', () => {
  it('117. returns JSON and a session cookie of 256 bits', async () => {
    const visitor = new Visitor(service.origin);
    const answer = await visitor.signIn(ann);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ outcome: 'signed_in', user: { id: ann.id, email: ann.email, name: 'Ann' } });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(cookieLine(answer)).toMatch(/^dealkeep=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
    expect((await visitor.session())?.user.email).toBe(ann.email);
  });

  it('accepts the e-mail address in another case', async () => {
    const visitor = new Visitor(service.origin);
    expect((await visitor.signIn({ ...ann, email: 'ANN@Example.com ' })).status).toBe(200);
    expect(await visitor.session()).not.toBeNull();
  });

  it('opens a session of its own each time', async () => {
    const seen = new Set<string>();
    for (let round = 0; round < 5; round += 1) {
      seen.add((await signedInVisitor(service, ann)).cookies.get('dealkeep') ?? '');
    }
    expect(seen.size).toBe(5);
  });

  it('118. ends the previous session of the browser', async () => {
    const visitor = await signedInVisitor(service, ann);
    const before = visitor.cookies.get('dealkeep') ?? '';
    await visitor.signIn(ann);
    expect(visitor.cookies.get('dealkeep')).not.toBe(before);
    const thief = new Visitor(service.origin);
    thief.cookies.set('dealkeep', before);
    expect(await thief.session()).toBeNull();
  });

  it('118. replaces a session token chosen by another person', async () => {
    const visitor = new Visitor(service.origin);
    visitor.cookies.set('dealkeep', 'A'.repeat(43));
    await visitor.signIn(ann);
    expect(visitor.cookies.get('dealkeep')).not.toBe('A'.repeat(43));
  });

  it('117. marks the cookie __Host- and Secure over HTTPS', async () => {
    const secure = await openService({ config: { baseUrl: 'https://deals.example.com' } });
    try {
      const account = await openAccount(secure);
      const visitor = new Visitor(secure.origin);
      const answer = await visitor.signIn(account);
      expect(cookieLine(answer)).toMatch(
        /^__Host-dealkeep=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      );
      expect(await visitor.session()).not.toBeNull();
      expect((await visitor.get('/sign-out')).headers.get('strict-transport-security')).toBe('max-age=31536000');
      // A cookie without the prefix could have been planted by another host of the domain.
      const planted = new Visitor(secure.origin);
      planted.cookies.set('dealkeep', visitor.cookies.get('__Host-dealkeep') ?? '');
      expect(await planted.session()).toBeNull();
    } finally {
      await secure.close();
    }
  });
});

describe('a rejected sign-in', () => {
  it('121. looks the same for an unknown address, a wrong or missing password, and a suspended user', async () => {
    const suspended = await openAccount(service);
    await service.sql('update users set suspended_at = app.now() where id = $1', [suspended.id]);
    await service.sql(`insert into users (email, name) values ('invited@example.com', 'Invited')`);
    const tries = [
      { email: 'nobody@example.com', password: newPassword() },
      { email: ann.email, password: newPassword() },
      { email: suspended.email, password: suspended.password },
      { email: 'invited@example.com', password: newPassword() },
    ];
    const answers = await Promise.all(
      tries.map(async (one) => {
        const { status, body, headers } = await new Visitor(service.origin).signIn(one);
        return { status, body, names: [...headers.keys()].toSorted() };
      }),
    );
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ status: 401, body: { error: { code: 'sign_in_refused' } } });
  });

  it('121. takes as long for an unknown address as for a wrong password', async () => {
    // Hashing takes a hundred times as long as the rest of a response, so hashing alone decides.
    const slow = await openService({ config: { passwordParameters: '$argon2id$v=19$m=19456,t=16,p=1' } });
    const { email: address } = await openAccount(slow);
    // No other request is in progress at this service.
    const time = (email: string) =>
      processorTime(async () => {
        expect((await new Visitor(slow.origin).signIn({ email, password: newPassword() })).status).toBe(401);
      });
    const known: number[] = [];
    const unknown: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      known.push(await time(address));
      unknown.push(await time(`nobody${round}@example.com`));
    }
    await slow.close();
    const ratio = Math.min(...unknown) / Math.min(...known);
    expect(ratio).toBeGreaterThan(0.5);
    expect(ratio).toBeLessThan(2);
  });

  it('does not repeat the entered address or password', async () => {
    const password = newPassword();
    const answer = await new Visitor(service.origin).signIn({ email: 'script-x@example.com', password });
    expect(answer.status).toBe(401);
    expect(JSON.stringify(answer.body)).not.toMatch(new RegExp(`script-x|${password}`));
  });

  it.each([
    ['no JSON', '{', 'application/json', 400],
    ['an array', '[]', 'application/json', 400],
    ['no password', '{"email":"a@example.com"}', 'application/json', 400],
    ['numbers', '{"email":1,"password":2}', 'application/json', 400],
    ['another type', 'x', 'text/plain', 415],
    ['a form', 'email=a%40example.com&password=x', 'application/x-www-form-urlencoded', 415],
    ['too much', `{"email":"a@example.com","password":"${'x'.repeat(70_000)}"}`, 'application/json', 413],
    ['a zero byte', '{"email":"a\\u0000@example.com","password":"x"}', 'application/json', 400],
  ])('is answered with a 4xx error for %s', async (_, body, type, status) => {
    const response = await fetch(`${service.origin}/api/auth/sign-in`, {
      method: 'POST',
      body,
      headers: { 'content-type': type },
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toHaveProperty('error.message');
  });
});

describe('passwords', () => {
  it.each([
    ['of 64 characters', () => randomBytes(48).toString('base64')],
    ['of 1,000 characters', () => randomBytes(750).toString('base64').slice(0, 1000)],
    ['in many scripts', () => `пароль-密码-🗝️-${randomBytes(6).toString('hex')}`],
    ['of eight emoji', () => '🦀🌵🪐🧭🥁🪁🧊🦉'],
  ])('122. %s are compared to the last character', async (_, make) => {
    const password = make();
    const account = await openAccount(service, { password });
    expect((await new Visitor(service.origin).signIn(account)).status).toBe(200);
    const characters = [...password];
    const shorter = characters.slice(0, -1).join('');
    const changed = `${shorter}${characters.at(-1) === 'x' ? 'y' : 'x'}`;
    expect((await new Visitor(service.origin).signIn({ ...account, password: shorter })).status).toBe(401);
    expect((await new Visitor(service.origin).signIn({ ...account, password: changed })).status).toBe(401);
  });

  it('122. match in composed and decomposed Unicode form', async () => {
    const account = await openAccount(service, {
      password: `Grüße ${randomBytes(6).toString('hex')}`.normalize('NFC'),
    });
    const decomposed = { ...account, password: account.password.normalize('NFD') };
    expect(decomposed.password).not.toBe(account.password);
    expect((await new Visitor(service.origin).signIn(decomposed)).status).toBe(200);
  });

  it('are hashed with the parameters that OWASP recommends, and weaker hashes replaced at sign-in', async () => {
    const { passwordParameters } = readConfig({});
    expect(passwordParameters).toBe('$argon2id$v=19$m=19456,t=2,p=1');
    const real = await openService({ config: { passwordParameters } });
    const account = await openAccount(real);
    const weak = await hashByRecipe(
      account.password,
      `$argon2id$v=19$m=8192,t=1,p=1$${randomBytes(16).toString('base64').replace(/=+$/, '')}`,
    );
    await real.sql('update vault.passwords set phc = $1 where user_id = $2', [weak, account.id]);
    expect((await new Visitor(real.origin).signIn(account)).status).toBe(200);
    const [stored] = await real.sql<{ phc: string }>('select phc from vault.passwords where user_id = $1', [
      account.id,
    ]);
    expect(stored?.phc).toContain('$m=19456,t=2,p=1$');
    expect((await new Visitor(real.origin).signIn(account)).status).toBe(200);
    await real.close();
  });
});

describe('a session', () => {
  it('120. expires after 12 hours without use, and is extended by use', async () => {
    const visitor = await signedInVisitor(service, ann);
    service.clock.advance(11 * hour);
    expect(await visitor.session()).not.toBeNull();
    service.clock.advance(11 * hour);
    expect(await visitor.session()).not.toBeNull();
    service.clock.advance(12 * hour + minute);
    expect(await visitor.session()).toBeNull();
  });

  it('120. expires after 30 days of continuous use', async () => {
    const visitor = await signedInVisitor(service, ann);
    for (let half = 0; half < 71; half += 1) {
      service.clock.advance(10 * hour);
      if ((await visitor.session()) === null) throw new Error(`over after ${half * 10} hours`);
    }
    service.clock.advance(10 * hour + minute);
    expect(await visitor.session()).toBeNull();
  });

  it('writes its last use in the background, and immediately after an hour without use', async () => {
    const visitor = await signedInVisitor(service, ann);
    const lastSeen = async () => {
      const [row] = await service.sql<{ last_seen_at: Date }>(
        'select last_seen_at from vault.sessions where user_id = $1 order by created_at desc limit 1',
        [ann.id],
      );
      return row?.last_seen_at.getTime();
    };
    const first = (await lastSeen()) ?? 0;
    service.clock.advance(61_000);
    await Promise.all(Array.from({ length: 10 }, () => visitor.session()));
    expect(await lastSeen()).toBe(first);
    await service.noteUses();
    expect(await lastSeen()).toBeGreaterThan(first + minute);
    service.clock.advance(hour + minute);
    await Promise.all(Array.from({ length: 10 }, () => visitor.session()));
    expect(await lastSeen()).toBeGreaterThan(first + hour);
  });

  it('is not revived by a use that is written after its expiry', async () => {
    const account = await openAccount(service);
    const visitor = await signedInVisitor(service, account);
    expect(await visitor.session()).not.toBeNull();
    service.clock.advance(12 * hour + minute);
    await service.noteUses();
    expect(await visitor.session()).toBeNull();
  });

  it('ends immediately when the user is suspended', async () => {
    const account = await openAccount(service);
    const visitor = await signedInVisitor(service, account);
    await service.sql('update users set suspended_at = app.now() where id = $1', [account.id]);
    expect(await visitor.session()).toBeNull();
    await service.sql('update users set suspended_at = null where id = $1', [account.id]);
    expect(await visitor.session()).toBeNull();
  });

  it.each(['', 'x', 'A'.repeat(42), 'A'.repeat(44), 'A'.repeat(43), `${'A'.repeat(42)}=`])(
    'is not opened by the cookie %s',
    async (token) => {
      const visitor = new Visitor(service.origin);
      visitor.cookies.set('dealkeep', token);
      expect((await visitor.send('/api/auth/session')).status).toBe(401);
    },
  );
});

it('failed sign-ins, sign-ins and sign-outs are recorded in the audit trail', async () => {
  const account = await openAccount(service);
  const visitor = new Visitor(service.origin);
  await visitor.signIn({ ...account, password: newPassword() });
  await visitor.signIn(account);
  await visitor.change('/api/auth/sign-out');
  const records = await service.sql(
    'select action, outcome, details, host(address) as address, request_id from audit_records where user_id = $1 order by id',
    [account.id],
  );
  expect(records).toMatchObject([
    { action: 'session.sign_in', outcome: 'refused', details: { reason: 'password' }, address: '127.0.0.1' },
    { action: 'session.sign_in', outcome: 'done', details: { method: 'password' } },
    { action: 'session.sign_out', outcome: 'done' },
  ]);
  for (const { request_id } of records) expect(request_id).toMatch(/^[0-9a-f-]{36}$/);
});
