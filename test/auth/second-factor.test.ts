import { generate } from 'otplib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { openAccount, signedInVisitor, Visitor, type Account } from './scene.ts';

let service: TestService;
const minute = 60_000;

beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());
beforeEach(() => service.clock.advance(16 * minute));

const codeAt = (secret: string, date: Date) => generate({ secret, epoch: Math.floor(date.getTime() / 1000) });
const codeNow = (secret: string) => codeAt(secret, service.clock.now());

interface WithFactor extends Account {
  readonly secret: string;
  readonly recoveryCodes: string[];
  readonly visitor: Visitor;
}

async function withSecondFactor(): Promise<WithFactor> {
  const account = await openAccount(service);
  const visitor = await signedInVisitor(service, account);
  const begun = await visitor.change<{ secret: string }>('/api/auth/second-factor/begin');
  const { secret } = begun.body;
  const confirmed = await visitor.change<{ recovery_codes: string[] }>('/api/auth/second-factor/confirm', {
    code: await codeNow(secret),
  });
  if (confirmed.status !== 200) throw new Error(JSON.stringify(confirmed.body));
  service.clock.advance(minute);
  return { ...account, secret, recoveryCodes: confirmed.body.recovery_codes, visitor };
}

async function passwordStep(account: Account) {
  const visitor = new Visitor(service.origin);
  const answer = await visitor.signIn(account);
  expect(answer.body).toMatchObject({ outcome: 'second_factor', second_factor_required: true });
  expect(answer.body.user).toBeUndefined();
  expect(visitor.cookies.has('dealkeep')).toBe(false);
  return visitor;
}

describe('signing in with a second factor', () => {
  it('118. opens a session only after the code', async () => {
    const account = await withSecondFactor();
    const visitor = await passwordStep(account);
    expect(await visitor.session()).toBeNull();
    // The step cookie is not a session.
    const thief = new Visitor(service.origin);
    thief.cookies.set('dealkeep', visitor.cookies.get('dealkeep-step') ?? '');
    expect(await thief.session()).toBeNull();
    const done = await visitor.json('/api/auth/second-factor', { code: await codeNow(account.secret) });
    expect(done.body).toMatchObject({ outcome: 'signed_in', user: { email: account.email } });
    expect(visitor.cookies.get('dealkeep')).not.toBe(thief.cookies.get('dealkeep'));
    expect(visitor.cookies.has('dealkeep-step')).toBe(false);
    expect((await visitor.session())?.user.id).toBe(account.id);
  });

  it('accepts the password and the code in one request', async () => {
    const account = await withSecondFactor();
    const visitor = new Visitor(service.origin);
    expect((await visitor.signIn(account, { code: await codeNow(account.secret) })).status).toBe(200);
    expect(await visitor.session()).not.toBeNull();
  });

  it('accepts codes in full-width and Arabic digits, as input methods and keypads type them', async () => {
    const account = await withSecondFactor();
    const [recovery = ''] = account.recoveryCodes;
    const inDigitsFrom = (zero: number, code: string) =>
      code.replace(/\d/g, (digit) => String.fromCharCode(zero + Number(digit)));
    for (const zero of [0xff10, 0x0660, 0x06f0]) {
      const code = inDigitsFrom(zero, await codeNow(account.secret));
      const visitor = await passwordStep(account);
      expect([code, (await visitor.json('/api/auth/second-factor', { code })).status]).toEqual([code, 200]);
      service.clock.advance(30_000);
    }
    const visitor = await passwordStep(account);
    const code = inDigitsFrom(0xff10, recovery).replaceAll('-', '－');
    expect((await visitor.json('/api/auth/second-factor', { code })).status).toBe(200);
  });

  it('123. accepts each code once, across sign-ins and parallel requests', async () => {
    const account = await withSecondFactor();
    const code = await codeNow(account.secret);
    const visitors = await Promise.all(Array.from({ length: 4 }, () => passwordStep(account)));
    const answers = await Promise.all(visitors.map((visitor) => visitor.json('/api/auth/second-factor', { code })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401]);
    const later = await passwordStep(account);
    expect((await later.json('/api/auth/second-factor', { code })).status).toBe(401);
    service.clock.advance(30_000);
    expect((await later.json('/api/auth/second-factor', { code: await codeNow(account.secret) })).status).toBe(200);
  });

  it('accepts the codes of the previous, current and next time step, and no other', async () => {
    const account = await withSecondFactor();
    // The clock runs during the test: from the start of a step it does not reach the next one.
    service.clock.advance(30_000 - (service.clock.now().getTime() % 30_000));
    const now = service.clock.now().getTime();
    for (const [offset, status] of [
      [-60_000, 401],
      [60_000, 401],
      [-30_000, 200],
      [0, 200],
      // Older than the last accepted code, although its step is near enough.
      [-30_000, 401],
      [30_000, 200],
      [0, 401],
    ] as const) {
      const visitor = await passwordStep(account);
      const code = await codeAt(account.secret, new Date(now + offset));
      expect([offset, (await visitor.json('/api/auth/second-factor', { code })).status]).toEqual([offset, status]);
    }
  });

  it('rejects the code that confirmed the set-up', async () => {
    const account = await openAccount(service);
    const visitor = await signedInVisitor(service, account);
    const { secret } = (await visitor.change<{ secret: string }>('/api/auth/second-factor/begin')).body;
    const code = await codeNow(secret);
    expect((await visitor.change('/api/auth/second-factor/confirm', { code })).status).toBe(200);
    const again = await passwordStep(account);
    expect((await again.json('/api/auth/second-factor', { code })).status).toBe(401);
  });

  it('123. accepts each recovery code once, whatever its case and spacing', async () => {
    const account = await withSecondFactor();
    expect(new Set(account.recoveryCodes).size).toBe(10);
    const [code = ''] = account.recoveryCodes;
    expect(code).toMatch(/^([a-km-np-z2-9]{4}-){6}[a-km-np-z2-9]{4}$/);
    const visitor = await passwordStep(account);
    const typed = ` ${code.toUpperCase().replaceAll('-', ' ')} `;
    expect((await visitor.json('/api/auth/second-factor', { code: typed })).status).toBe(200);
    const again = await passwordStep(account);
    expect((await again.json('/api/auth/second-factor', { code })).status).toBe(401);
    const me = (await (await visitor.send('/api/web/me')).json()) as { second_factor: object };
    expect(me.second_factor).toMatchObject({ recovery_codes_left: 9 });
  });

  it('succeeds in a known browser, however many wrong codes another browser enters', async () => {
    const account = await withSecondFactor();
    const known = new Visitor(service.origin);
    await known.signIn(account, { code: await codeNow(account.secret) });
    const guess = async (visitor: Visitor) =>
      (await visitor.signIn(account, { code: '000000' })).body.error?.code ?? 'none';
    const stranger = new Visitor(service.origin);
    for (let round = 0; round < 10; round += 1) {
      expect(await guess(stranger)).toBe('code_refused');
      if (round === 4) service.clock.advance(minute);
    }
    service.clock.advance(minute);
    expect((await stranger.signIn(account, { code: await codeNow(account.secret) })).status).toBe(401);
    expect((await known.signIn(account, { code: await codeNow(account.secret) })).status).toBe(200);
    // The stranger gains nothing by this, and a known browser has at most ten attempts of its own.
    service.clock.advance(minute);
    expect((await stranger.signIn(account, { code: await codeNow(account.secret) })).status).toBe(401);
    for (let round = 0; round < 10; round += 1) {
      expect(await guess(known)).toBe('code_refused');
      if (round === 4) service.clock.advance(minute);
    }
    service.clock.advance(minute);
    expect((await known.signIn(account, { code: await codeNow(account.secret) })).status).toBe(401);
    service.clock.advance(16 * minute);
    expect((await known.signIn(account, { code: await codeNow(account.secret) })).status).toBe(200);
  });

  it('treats a known browser with ten wrong codes like any other browser', async () => {
    const account = await withSecondFactor();
    const known = new Visitor(service.origin);
    await known.signIn(account, { code: await codeNow(account.secret) });
    const failed = (table: string, column: string) =>
      service.sql(
        `update vault.${table} set ${column}s = 10, ${column.replace('failure', 'failed')}_at = app.now()
         where user_id = (select id from users where email = $1)`,
        [account.email],
      );
    await failed('known_devices', 'code_failure');
    service.clock.advance(minute);
    expect((await known.signIn(account, { code: await codeNow(account.secret) })).status).toBe(200);
    await failed('known_devices', 'code_failure');
    await failed('totp', 'failure');
    service.clock.advance(minute);
    expect((await known.signIn(account, { code: await codeNow(account.secret) })).status).toBe(401);
  });

  it('starts over after five wrong codes or ten minutes', async () => {
    const account = await withSecondFactor();
    const visitor = await passwordStep(account);
    const codes: (string | undefined)[] = [];
    for (let round = 0; round < 5; round += 1) {
      const { body } = await visitor.json<{ error: { code: string } }>('/api/auth/second-factor', { code: 'wrong' });
      codes.push(body.error.code);
    }
    expect(codes).toEqual(['code_refused', 'code_refused', 'code_refused', 'code_refused', 'sign_in_expired']);
    expect((await visitor.json('/api/auth/second-factor', { code: await codeNow(account.secret) })).status).toBe(401);
    const slow = await passwordStep(account);
    service.clock.advance(10 * minute + 1000);
    expect((await slow.json('/api/auth/second-factor', { code: await codeNow(account.secret) })).status).toBe(401);
  });

  it('rejects every authenticator code for 15 minutes after ten wrong ones in a row', async () => {
    const account = await withSecondFactor();
    for (let round = 0; round < 10; round += 1) {
      service.clock.advance(minute);
      const visitor = await passwordStep(account);
      expect((await visitor.json('/api/auth/second-factor', { code: '00000' })).status).toBe(401);
    }
    const right = await passwordStep(account);
    expect((await right.json('/api/auth/second-factor', { code: await codeNow(account.secret) })).status).toBe(401);
    // A recovery code is too long to be guessed, so it is still accepted.
    const rescued = await passwordStep(account);
    expect((await rescued.json('/api/auth/second-factor', { code: account.recoveryCodes[1] })).status).toBe(200);
    service.clock.advance(15 * minute);
    const later = await passwordStep(account);
    expect((await later.json('/api/auth/second-factor', { code: await codeNow(account.secret) })).status).toBe(200);
  });

  it('is rejected if the user is suspended between password and code', async () => {
    const account = await withSecondFactor();
    const visitor = await passwordStep(account);
    await service.sql('update users set suspended_at = app.now() where id = $1', [account.id]);
    expect((await visitor.json('/api/auth/second-factor', { code: await codeNow(account.secret) })).status).toBe(401);
  });

  it('does not reveal a second factor after a wrong password', async () => {
    const account = await withSecondFactor();
    const { status, body } = await new Visitor(service.origin).signIn({ ...account, password: `${account.password}x` });
    expect(status).toBe(401);
    expect(body.error?.code).toBe('sign_in_refused');
  });
});

describe('setting up an authenticator', () => {
  it('118. renews the session token and ends the old one', async () => {
    const account = await openAccount(service);
    const visitor = await signedInVisitor(service, account);
    const { secret } = (await visitor.change<{ secret: string }>('/api/auth/second-factor/begin')).body;
    const before = visitor.cookies.get('dealkeep') ?? '';
    await visitor.change('/api/auth/second-factor/confirm', { code: await codeNow(secret) });
    const old = new Visitor(service.origin);
    old.cookies.set('dealkeep', before);
    expect(await old.session()).toBeNull();
    expect(await visitor.session()).not.toBeNull();
  });

  it('has no effect before a first valid code', async () => {
    const account = await openAccount(service);
    const visitor = await signedInVisitor(service, account);
    await visitor.change('/api/auth/second-factor/begin');
    expect((await visitor.change('/api/auth/second-factor/confirm', { code: '123' })).status).toBe(400);
    expect((await new Visitor(service.origin).signIn(account)).body).toMatchObject({ outcome: 'signed_in' });
  });

  it('118, 124. requires a recent sign-in, as do removal and new recovery codes; re-authentication suffices', async () => {
    const account = await withSecondFactor();
    service.clock.advance(10 * minute);
    for (const path of ['begin', 'confirm', 'remove'].map((name) => `/api/auth/second-factor/${name}`)) {
      const { status, body } = await account.visitor.change(path, { code: '123456' });
      expect([path, status, body]).toMatchObject([path, 403, { error: { code: 'recent_sign_in_required' } }]);
    }
    expect((await account.visitor.change('/api/auth/recovery-codes')).status).toBe(403);

    const before = account.visitor.cookies.get('dealkeep');
    const proof = await account.visitor.change('/api/auth/re-authenticate', { password: account.password });
    expect(proof.body).toMatchObject({ outcome: 'second_factor' });
    // The session is not renewed before the code is entered.
    expect((await account.visitor.change('/api/auth/recovery-codes')).status).toBe(403);
    await account.visitor.json('/api/auth/second-factor', { code: await codeNow(account.secret) });
    expect(account.visitor.cookies.get('dealkeep')).not.toBe(before);
    const earlier = new Visitor(service.origin);
    earlier.cookies.set('dealkeep', before ?? '');
    expect(await earlier.session()).toBeNull();

    const renewed = await account.visitor.change<{ recovery_codes: string[] }>('/api/auth/recovery-codes');
    expect(renewed.body.recovery_codes).toHaveLength(10);
    const old = await passwordStep(account);
    expect((await old.json('/api/auth/second-factor', { code: account.recoveryCodes[0] })).status).toBe(401);
    expect((await account.visitor.change('/api/auth/second-factor/remove')).body).toEqual({ removed: true });
    expect((await new Visitor(service.origin).signIn(account)).body).toMatchObject({ outcome: 'signed_in' });
  });

  it('and removing it ends other sessions that used it, but not this one or password-only sessions', async () => {
    const account = await openAccount(service);
    const withPassword = await signedInVisitor(service, account);
    const owner = await signedInVisitor(service, account);
    const begun = await owner.change<{ secret: string }>('/api/auth/second-factor/begin');
    const code = () => codeNow(begun.body.secret);
    expect((await owner.change('/api/auth/second-factor/confirm', { code: await code() })).status).toBe(200);
    service.clock.advance(minute);
    const stolen = await passwordStep(account);
    expect((await stolen.json('/api/auth/second-factor', { code: await code() })).status).toBe(200);
    expect(await stolen.session()).not.toBeNull();

    expect((await owner.change('/api/auth/second-factor/remove')).body).toEqual({ removed: true });
    expect(await stolen.session()).toBeNull();
    for (const visitor of [owner, withPassword]) expect((await visitor.session())?.user.id).toBe(account.id);
    expect(
      await service.sql(`select details from audit_records where user_id = $1 and action = 'session.end'`, [
        account.id,
      ]),
    ).toEqual([{ details: { sessions: 1 } }]);
  });

  it('is rejected while another authenticator is active', async () => {
    const account = await withSecondFactor();
    const { status, body } = await account.visitor.change('/api/auth/second-factor/begin');
    expect([status, body]).toMatchObject([409, { error: { code: 'second_factor_on' } }]);
    expect((await passwordStep(account)).cookies.has('dealkeep-step')).toBe(true);
  });
});
