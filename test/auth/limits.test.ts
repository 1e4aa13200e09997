import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHouse, type TestHouse } from '../harness.ts';
import { newPassword, openAccount, Visitor } from './scene.ts';

let house: TestHouse;

beforeAll(async () => {
  house = await openHouse({ config: { trustedProxies: ['127.0.0.1'] } });
});
afterAll(() => house.close());

let addresses = 0;
/** A visitor from an address of their own, as a trusted proxy reports it. */
function fromElsewhere(): Visitor {
  addresses += 1;
  return new Visitor(house.origin, { 'x-forwarded-for': `198.51.100.${addresses}` });
}

/** To the beginning of the next window, so that no test runs across the end of one. */
function nextMinute(): void {
  house.clock.set(new Date(Math.ceil((house.clock.now().getTime() + 1) / 60_000) * 60_000));
}

async function guess(email: string, visitor = fromElsewhere()) {
  const { status, headers, body } = await visitor.signIn({ email, password: newPassword() });
  return { status, retryAfter: Number(headers.get('retry-after')), body };
}

describe('guessing passwords', () => {
  it.each(['known', 'unknown'])(
    '114. stops after ten failures a minute for a %s account, and begins again after it',
    async (kind) => {
      const account = kind === 'known' ? await openAccount(house) : { email: `nobody-${Math.random()}@example.com` };
      nextMinute();
      for (let round = 0; round < 10; round += 1) expect((await guess(account.email)).status).toBe(401);
      const { status, retryAfter, body } = await guess(account.email);
      expect(status).toBe(429);
      expect(retryAfter).toBeGreaterThan(50);
      expect(retryAfter).toBeLessThanOrEqual(60);
      expect(body).toMatchObject({ error: { code: 'rate_limited' } });
      house.clock.advance(retryAfter * 1000);
      expect((await guess(account.email)).status).toBe(401);
    },
  );

  it('114. does not let the right password through in the meantime, and locks nobody else out', async () => {
    const account = await openAccount(house);
    const other = await openAccount(house);
    nextMinute();
    for (let round = 0; round < 10; round += 1) await guess(account.email);
    expect((await fromElsewhere().signIn(account)).status).toBe(429);
    expect((await fromElsewhere().signIn({ ...account, email: account.email.toUpperCase() })).status).toBe(429);
    expect((await fromElsewhere().signIn(other)).status).toBe(200);
    nextMinute();
    expect((await fromElsewhere().signIn(account)).status).toBe(200);
  });

  it('is not helped by trying many at once', async () => {
    const account = await openAccount(house);
    nextMinute();
    const answers = await Promise.all(Array.from({ length: 60 }, () => guess(account.email)));
    const tried = answers.filter(({ status }) => status === 401).length;
    expect(answers.every(({ status }) => status === 401 || status === 429)).toBe(true);
    expect(tried).toBeGreaterThanOrEqual(10);
    // As many may be under way when the tenth has failed as are hashed at once.
    expect(tried).toBeLessThanOrEqual(13);
  });

  it('does not count successes', async () => {
    const account = await openAccount(house);
    nextMinute();
    const visitor = fromElsewhere();
    for (let round = 0; round < 15; round += 1) expect((await visitor.signIn(account)).status).toBe(200);
  });

  it('114. stops after sixty failures a minute from one address, whatever the accounts', async () => {
    nextMinute();
    const visitor = fromElsewhere();
    for (let round = 0; round < 60; round += 1) {
      expect((await guess(`stuffing${round}@example.com`, visitor)).status).toBe(401);
    }
    const account = await openAccount(house);
    expect((await visitor.signIn(account)).status).toBe(429);
    // The next address of the same IPv6 subscriber is the same; another IPv4 address is not.
    expect((await fromElsewhere().signIn(account)).status).toBe(200);
  });

  it('is told to a person on the page, with the form again', async () => {
    const account = await openAccount(house);
    nextMinute();
    for (let round = 0; round < 10; round += 1) await guess(account.email);
    const answer = await fromElsewhere().form('/sign-in', { email: account.email, password: account.password });
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await answer.text()).toMatch(/Too many attempts: try again in \d+ seconds/);
  });
});

it('asks for reset links are limited for an account, known or not, without touching its sign-in', async () => {
  const account = await openAccount(house);
  for (const email of [account.email, 'nobody-at-all@example.com']) {
    nextMinute();
    for (let round = 0; round < 10; round += 1) {
      expect((await fromElsewhere().json('/api/auth/reset', { email })).status).toBe(200);
    }
    expect((await fromElsewhere().json('/api/auth/reset', { email })).status).toBe(429);
  }
  expect((await fromElsewhere().signIn(account)).status).toBe(200);
  // No more than five links at a time go to one mailbox.
  expect(house.mails.filter(({ to }) => to === account.email)).toHaveLength(5);
});

it('a flood of sign-ins is answered in bounded memory: some are told to wait', { timeout: 90_000 }, async () => {
  nextMinute();
  const answers = await Promise.all(
    Array.from({ length: 400 }, (_, index) => {
      const visitor = new Visitor(house.origin, { 'x-forwarded-for': `203.0.113.${index % 250}` });
      return guess(`flood${index}@example.com`, visitor);
    }),
  );
  const statuses = new Set(answers.map(({ status }) => status));
  expect([...statuses].toSorted()).toEqual([401, 503]);
  expect(answers.filter(({ status }) => status === 503).every(({ retryAfter }) => retryAfter > 0)).toBe(true);
});
