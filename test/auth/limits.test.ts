import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { generate } from 'otplib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { readConfig } from '../../server/config/config.ts';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { mintToken } from '../../server/domain/accounts/secret-tokens.ts';
import { addProgramsPasskey } from '../passkeys.ts';
import { newPassword, openAccount, Visitor, type Account } from './scene.ts';

let service: TestService;

beforeAll(async () => {
  const { rateLimits } = readConfig({});
  service = await openService({
    config: { trustedProxies: ['127.0.0.1'], rateLimits: { ...rateLimits, sign_in_success: 30 } },
  });
});
afterAll(() => service.close());

let addresses = 0;
/** A visitor with an address of their own, as reported by a trusted proxy. */
function fromElsewhere(): Visitor {
  addresses += 1;
  return new Visitor(service.origin, {
    'x-forwarded-for': `198.51.${100 + Math.floor(addresses / 256)}.${addresses % 256}`,
  });
}

/** Moves the clock to the start of the next window, so that no test crosses the end of one. */
function nextMinute(): void {
  service.clock.set(new Date(Math.ceil((service.clock.now().getTime() + 1) / 60_000) * 60_000));
}

async function guess(email: string, visitor = fromElsewhere()) {
  const { status, headers, body } = await visitor.signIn({ email, password: newPassword() });
  return { status, retryAfter: Number(headers.get('retry-after')), body };
}

/**
 * Blocks all hashing until `work` calls `goOn`, so that the queue fills up however fast the machine is: every thread
 * that hashes waits to open a pipe without a writer.
 */
async function whileNothingIsHashed<T>(work: (goOn: () => void) => Promise<T>): Promise<T> {
  const threads = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'queue-'));
  const pipe = path.join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const readers = Promise.all(Array.from({ length: threads }, () => open(pipe)));
  let writer: number | undefined;
  const goOn = () => void (writer ??= openSync(pipe, 'r+'));
  // If the queue had room for all requests, none would ever get a response.
  const timer = setTimeout(goOn, 120_000);
  try {
    return await work(goOn);
  } finally {
    clearTimeout(timer);
    goOn();
    await Promise.all((await readers).map((reader) => reader.close()));
    closeSync(writer!);
    await rm(folder, { recursive: true });
  }
}

describe('guessing passwords', () => {
  it.each(['known', 'unknown'])(
    '114. is limited to ten failures a minute for a %s account, and possible again afterwards',
    async (kind) => {
      const account = kind === 'known' ? await openAccount(service) : { email: `nobody-${Math.random()}@example.com` };
      nextMinute();
      for (let round = 0; round < 10; round += 1) expect((await guess(account.email)).status).toBe(401);
      const { status, retryAfter, body } = await guess(account.email);
      expect(status).toBe(429);
      expect(retryAfter).toBeGreaterThan(0);
      expect(retryAfter).toBeLessThanOrEqual(60);
      expect(body).toMatchObject({ error: { code: 'rate_limited' } });
      service.clock.advance(retryAfter * 1000);
      expect((await guess(account.email)).status).toBe(401);
    },
  );

  it('114. blocks even the right password meanwhile, without affecting other accounts', async () => {
    const account = await openAccount(service);
    const other = await openAccount(service);
    nextMinute();
    for (let round = 0; round < 10; round += 1) await guess(account.email);
    expect((await fromElsewhere().signIn(account)).status).toBe(429);
    expect((await fromElsewhere().signIn({ ...account, email: account.email.toUpperCase() })).status).toBe(429);
    expect((await fromElsewhere().signIn(other)).status).toBe(200);
    nextMinute();
    expect((await fromElsewhere().signIn(account)).status).toBe(200);
  });

  it('is limited to about ten attempts even with 60 parallel requests', async () => {
    const account = await openAccount(service);
    nextMinute();
    const answers = await Promise.all(Array.from({ length: 60 }, () => guess(account.email)));
    const tried = answers.filter(({ status }) => status === 401).length;
    expect(answers.every(({ status }) => status === 401 || status === 429)).toBe(true);
    expect(tried).toBeGreaterThanOrEqual(10);
    // While the tenth failure is counted, others may be in progress; at most three passwords are hashed at once.
    expect(tried).toBeLessThanOrEqual(12);
  });

  it('does not count successful sign-ins as failures', async () => {
    const account = await openAccount(service);
    nextMinute();
    const visitor = fromElsewhere();
    for (let round = 0; round < 15; round += 1) expect((await visitor.signIn(account)).status).toBe(200);
  });

  it('114. is limited to sixty failures a minute from one address, across accounts', async () => {
    nextMinute();
    const visitor = fromElsewhere();
    for (let round = 0; round < 60; round += 1) {
      expect((await guess(`stuffing${round}@example.com`, visitor)).status).toBe(401);
    }
    const account = await openAccount(service);
    expect((await visitor.signIn(account)).status).toBe(429);
    // Another address is not limited.
    expect((await fromElsewhere().signIn(account)).status).toBe(200);
    expect((await visitor.json('/api/auth/reset', { email: account.email })).status).toBe(200);
  });

  it('114. is limited by successful sign-ins per account, too', async () => {
    const account = await openAccount(service);
    const other = await openAccount(service);
    nextMinute();
    for (let round = 0; round < 30; round += 1) expect((await fromElsewhere().signIn(account)).status).toBe(200);
    const { status, headers } = await fromElsewhere().signIn(account);
    expect([status, Number(headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
    expect((await fromElsewhere().signIn(other)).status).toBe(200);
    nextMinute();
    expect((await fromElsewhere().signIn(account)).status).toBe(200);
  });

  describe('in a browser known from an earlier sign-in', () => {
    async function knownBrowser() {
      const account = await openAccount(service);
      const browser = fromElsewhere();
      expect((await browser.signIn(account)).status).toBe(200);
      await browser.change('/api/auth/sign-out');
      expect(await browser.session()).toBeNull();
      nextMinute();
      return { account, browser };
    }
    const lockOut = async ({ email }: Account) => {
      for (let round = 0; round < 10; round += 1) await guess(email);
      expect((await guess(email)).status).toBe(429);
    };

    it('the right password is accepted, even while guesses by others exceed the limit', async () => {
      const { account, browser } = await knownBrowser();
      await lockOut(account);
      for (let round = 0; round < 60; round += 1) await guess(`nobody${round}@example.com`, browser);
      expect((await browser.signIn({ ...account, email: account.email.toUpperCase() })).status).toBe(200);
      // Other browsers gain nothing by this.
      expect((await fromElsewhere().signIn(account)).status).toBe(429);
    });

    it('ten wrong passwords are allowed; then the browser is limited like any other', async () => {
      const { account, browser } = await knownBrowser();
      await lockOut(account);
      for (let round = 0; round < 10; round += 1) expect((await guess(account.email, browser)).status).toBe(401);
      expect((await browser.signIn(account)).status).toBe(429);
      nextMinute();
      expect((await browser.signIn(account)).status).toBe(200);
    });

    it('only accounts known there are exempt, and only with the latest device cookie', async () => {
      const { account, browser } = await knownBrowser();
      const victim = await openAccount(service);
      await lockOut(victim);
      expect((await browser.signIn(victim)).status).toBe(429);
      const earlier = browser.cookies.get('dealkeep-device') ?? '';
      expect((await browser.signIn(account)).status).toBe(200);
      const thief = fromElsewhere();
      thief.cookies.set('dealkeep-device', earlier);
      await lockOut(account);
      expect((await thief.signIn(account)).status).toBe(429);
      // Two people who share a browser are both known in that browser.
      nextMinute();
      expect((await browser.signIn(victim)).status).toBe(200);
      await lockOut(account);
      await lockOut(victim);
      expect((await browser.signIn(account)).status).toBe(200);
      expect((await browser.signIn(victim)).status).toBe(200);
    });

    it('the exemption ends after 180 days, on sign-out everywhere, and on a password change', async () => {
      const ends: ((account: Account, elsewhere: Visitor) => Promise<unknown>)[] = [
        async () => service.clock.advance(181 * 24 * 3_600_000),
        async (_, elsewhere) => elsewhere.change('/api/auth/sign-out-everywhere'),
        async ({ password }, elsewhere) =>
          elsewhere.change('/api/auth/password', { current_password: password, password }),
      ];
      for (const end of ends) {
        const { account, browser } = await knownBrowser();
        const elsewhere = fromElsewhere();
        await elsewhere.signIn(account);
        await end(account, elsewhere);
        nextMinute();
        await lockOut(account);
        expect((await browser.signIn(account)).status).toBe(429);
      }
    });
  });

  it('returns 429 with a Retry-After header and the wait in the message', async () => {
    const account = await openAccount(service);
    nextMinute();
    for (let round = 0; round < 10; round += 1) await guess(account.email);
    const answer = await fromElsewhere().signIn(account);
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(answer.body.error?.message).toMatch(/Too many attempts: try again in \d+ seconds/);
  });
});

describe('guessing second-factor codes', () => {
  const codeNow = (secret: string) => generate({ secret, epoch: Math.floor(service.clock.now().getTime() / 1000) });

  /** A signed-in person who has begun to set up an authenticator. */
  async function settingUp() {
    const account = await openAccount(service);
    const visitor = fromElsewhere();
    await visitor.signIn(account);
    const { secret } = (await visitor.change<{ secret: string }>('/api/auth/second-factor/begin')).body;
    const confirm = async (code: string) =>
      visitor.change<{ recovery_codes: string[] }>('/api/auth/second-factor/confirm', { code });
    return { account, secret, confirm };
  }

  it('is limited to ten wrong codes a minute per account across browsers, and delays the right code, too', async () => {
    const { account, secret, confirm } = await settingUp();
    const [recovery = ''] = (await confirm(await codeNow(secret))).body.recovery_codes;
    const browsers = [fromElsewhere(), fromElsewhere(), fromElsewhere()] as const;
    for (const browser of browsers)
      expect((await browser.signIn(account)).body).toMatchObject({ outcome: 'second_factor' });
    nextMinute();
    const enter = async (browser: Visitor, code: string) => {
      const { status, body } = await browser.json<{ error?: { code: string } }>('/api/auth/second-factor', { code });
      return `${status} ${body.error?.code ?? 'signed_in'}`;
    };
    const [first, second, third] = browsers;
    for (const browser of [first, second]) {
      for (let round = 0; round < 4; round += 1) expect(await enter(browser, '00000')).toBe('401 code_refused');
      // A browser's fifth wrong code ends its sign-in, and counts as a guess like the others.
      expect(await enter(browser, '00000')).toBe('401 sign_in_expired');
    }
    for (const code of ['00000', await codeNow(secret), recovery])
      expect(await enter(third, code)).toBe('429 rate_limited');
    nextMinute();
    expect(await enter(third, recovery)).toBe('200 signed_in');
  });

  it('is limited to ten wrong codes a minute while an authenticator is set up, and possible again afterwards', async () => {
    const { secret, confirm } = await settingUp();
    nextMinute();
    for (let round = 0; round < 10; round += 1) expect((await confirm('00000')).status).toBe(400);
    expect((await confirm('00000')).status).toBe(429);
    expect((await confirm(await codeNow(secret))).status).toBe(429);
    nextMinute();
    expect((await confirm(await codeNow(secret))).status).toBe(200);
  });
});

describe('rejected passkeys', () => {
  const send = (visitor: Visitor, answer: object) => visitor.json('/api/auth/passkey/sign-in', answer);
  const challengeFor = async (visitor: Visitor) =>
    (await visitor.json<{ challenge: string }>('/api/auth/passkey/options')).body.challenge;

  it('include a passkey whose user handle names another account', async () => {
    const [owner, other] = [await openAccount(service), await openAccount(service)];
    const passkey = await addProgramsPasskey(service, owner.id);
    nextMinute();
    const signInAs = async (account: Account) => {
      const visitor = fromElsewhere();
      const answer = passkey.answerTo(await challengeFor(visitor));
      const userHandle = Buffer.from(account.id.replaceAll('-', ''), 'hex').toString('base64url');
      Object.assign(answer.response.response, { userHandle });
      const { status } = await send(visitor, answer);
      return [status, (await visitor.session())?.user.id ?? null];
    };
    expect(await signInAs(other)).toEqual([401, null]);
    expect(await signInAs(owner)).toEqual([200, owner.id]);
  });

  it.each(['over a challenge that was made up', 'with another signature', 'that nobody has'])(
    'count as failures of the address: %s',
    async (kind) => {
      const account = await openAccount(service);
      const passkey = await addProgramsPasskey(service, account.id);
      const forged = () => {
        const answer = passkey.answerTo(mintToken());
        if (kind === 'with another signature') answer.response.response.signature = 'AAAA';
        if (kind === 'that nobody has') answer.response.id = answer.response.rawId = mintToken();
        return answer;
      };
      nextMinute();
      const visitor = fromElsewhere();
      const statuses: number[] = [];
      for (let round = 0; round < 65; round += 1) statuses.push((await send(visitor, forged())).status);
      expect(statuses).toEqual([...Array.from({ length: 60 }, () => 401), ...Array.from({ length: 5 }, () => 429)]);
      const { status, headers, body } = await send(visitor, forged());
      expect([status, Number(headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
      expect(body).toMatchObject({ error: { code: 'rate_limited' } });
      // Attempts over the limit are not examined and leave no record.
      const records = await service.sql(
        `select from audit_records where action = 'session.sign_in' and outcome = 'refused' and user_id = $1`,
        [account.id],
      );
      expect(records).toHaveLength(kind === 'over a challenge that was made up' ? 60 : 0);
      expect((await visitor.signIn(account)).status).toBe(429);

      // No other address is limited, and neither is this address after the minute.
      const other = fromElsewhere();
      expect((await send(other, passkey.answerTo(await challengeFor(other)))).status).toBe(200);
      nextMinute();
      expect((await send(visitor, passkey.answerTo(await challengeFor(visitor)))).status).toBe(200);
    },
  );
});

it('reset-link requests are limited per account, known or not, and per address, without limiting sign-in', async () => {
  const account = await openAccount(service);
  for (const email of [account.email, 'nobody-at-all@example.com']) {
    nextMinute();
    for (let round = 0; round < 10; round += 1) {
      expect((await fromElsewhere().json('/api/auth/reset', { email })).status).toBe(200);
    }
    expect((await fromElsewhere().json('/api/auth/reset', { email })).status).toBe(429);
  }
  const office = fromElsewhere();
  nextMinute();
  const emails = Array.from({ length: 60 }, (_, round) => `nobody-${round}@example.com`);
  const asked = await Promise.all(emails.map((email) => office.json('/api/auth/reset', { email })));
  expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await office.json('/api/auth/reset', { email: 'nobody-60@example.com' })).status).toBe(429);
  expect((await office.signIn(account)).status).toBe(200);
  // At most five links at a time are sent to one mailbox.
  await expect.poll(async () => (await service.deliver()).filter(({ to }) => to === account.email)).toHaveLength(5);
});

describe('the password-hashing queue', () => {
  /** Starts many sign-ins at once, of which `room` find a place in the queue; others sign in after them. */
  async function floodAndOthers(flood: readonly (() => Promise<{ status: number }>)[], room: number) {
    const others = await Promise.all(Array.from({ length: 3 }, () => openAccount(service)));
    nextMinute();
    await whileNothingIsHashed(async (goOn) => {
      const refused: number[] = [];
      const { promise: queueIsFull, resolve } = Promise.withResolvers<void>();
      const answers = flood.map(async (send) => {
        const { status } = await send();
        if (refused.push(status) === flood.length - room) resolve();
        return status;
      });
      // The others come when the queue is full.
      await queueIsFull;
      expect(new Set(refused)).toEqual(new Set([429]));
      const theirs = Promise.all(others.map(async (one) => (await fromElsewhere().signIn(one)).status));
      goOn();
      expect(await theirs).toEqual([200, 200, 200]);
      expect((await Promise.all(answers)).filter((status) => status === 200)).toHaveLength(room);
    });
  }

  it('holds ten sign-ins of one account, and serves other accounts before them', async () => {
    const account = await openAccount(service);
    await floodAndOthers(
      Array.from({ length: 215 }, () => () => fromElsewhere().signIn(account)),
      10,
    );
  });

  it('holds twenty sign-ins from one address or IPv6 /64, whatever the accounts', async () => {
    const accounts = await Promise.all(Array.from({ length: 30 }, () => openAccount(service)));
    await floodAndOthers(
      accounts.map(
        (account, index) => () =>
          new Visitor(service.origin, { 'x-forwarded-for': `2001:db8:0:7::${index.toString(16)}` }).signIn(account),
      ),
      20,
    );
  });

  it('serves addresses with few waiting hashes before an address with many', async () => {
    const order: string[] = [];
    const hashFor = async (address: string) => {
      await hashPassword(newPassword(), service.config.passwordParameters, { address });
      order.push(address);
    };
    await Promise.all([...Array.from({ length: 20 }, () => hashFor('greedy')), hashFor('modest'), hashFor('patient')]);
    // First come the hashes in progress, then as many that end at the same time, and then these two.
    expect(order.slice(0, 8)).toEqual(expect.arrayContaining(['modest', 'patient']));
    await expect(Promise.all(Array.from({ length: 21 }, () => hashFor('greedy')))).rejects.toThrow('from your network');
  });
});

it('a flood of sign-ins is answered in bounded memory, with 503 and Retry-After for the excess', async () => {
  nextMinute();
  const answers = await whileNothingIsHashed((goOn) =>
    Promise.all(
      Array.from({ length: 400 }, async (_, index) => {
        const visitor = new Visitor(service.origin, { 'x-forwarded-for': `203.0.113.${index % 250}` });
        const answer = await guess(`flood${index}@example.com`, visitor);
        goOn();
        return answer;
      }),
    ),
  );
  const statuses = new Set(answers.map(({ status }) => status));
  expect([...statuses].toSorted()).toEqual([401, 503]);
  expect(answers.filter(({ status }) => status === 503).every(({ retryAfter }) => retryAfter > 0)).toBe(true);
});

describe('a user’s name', () => {
  it('can be changed twenty times a day, and again the next day', async () => {
    service.clock.set(
      new Date(`${new Date(service.clock.now().getTime() + 86_400_000).toISOString().slice(0, 10)}T10:00:00Z`),
    );
    const account = await openAccount(service);
    const visitor = fromElsewhere();
    await visitor.signIn(account);
    const rename = (name: string) => visitor.change('/api/auth/profile', { name });
    for (let round = 1; round <= 20; round += 1) expect((await rename(`Name ${round}`)).status).toBe(200);
    expect(await rename('One more')).toMatchObject({
      status: 409,
      body: {
        error: { code: 'too_many_today', message: expect.stringContaining('change it again after 00:00 UTC on ') },
      },
    });
    expect((await rename('Name 20')).status).toBe(200);
    service.clock.advance(86_400_000);
    await visitor.signIn(account);
    expect((await rename('One more')).status).toBe(200);
  });
});
