import { generate } from 'otplib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keepDevice } from '../../server/domain/accounts/devices.ts';
import { signInWithPasskey } from '../../server/domain/accounts/passkeys.ts';
import { recoveryDigest } from '../../server/domain/accounts/second-factor.ts';
import { mintToken, tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { openService, type TestService } from '../harness.ts';
import { atOnce, locksWaited, whileChanging } from '../locks.ts';
import {
  addClient,
  answerOf,
  challengeOf,
  decide,
  newVerifier,
  openConsent,
  redeem,
  type Fields,
} from '../oauth/scene.ts';
import { connect as connectTo } from '../policies/scene.ts';
import {
  connectClient,
  mailedToken,
  newPassword,
  openAccount,
  openBrokerage,
  signedInVisitor,
  subscribe,
  Visitor,
  type Account,
} from './scene.ts';

let service: TestService;
const minute = 60_000;

beforeAll(async () => {
  service = await openService({ config: { poolSize: 4 } });
});
afterAll(() => service.close());
beforeEach(() => service.clock.advance(minute));

interface Session {
  id: string;
  is_this: boolean;
  user_agent: string;
  address: string;
}

async function sessionsOf(visitor: Visitor): Promise<Session[]> {
  const response = await visitor.send('/api/auth/sessions');
  return ((await response.json()) as { sessions: Session[] }).sessions;
}

async function with3Sessions(): Promise<{ account: Account; here: Visitor; phone: Visitor; laptop: Visitor }> {
  const account = await openAccount(service);
  const here = await signedInVisitor(service, account);
  const [phone, laptop] = ['Phone', 'Laptop'].map((agent) => new Visitor(service.origin, { 'user-agent': agent }));
  if (!phone || !laptop) throw new Error('no visitors');
  await phone.signIn(account);
  await laptop.signIn(account);
  return { account, here, phone, laptop };
}

/** Locks rows until two requests wait for them, and a third, which does not need the rows, waits for a connection. */
async function whileTwoWait(
  [table, column, value]: readonly [table: string, column: string, value: string],
  waits: () => Promise<unknown>,
  third: () => Promise<unknown>,
): Promise<void> {
  const holder = await connectTo(service.connections.owner);
  try {
    await holder.query('begin');
    await holder.query(`select from ${table} where ${column} = $1 for update`, [value]);
    const two = [waits(), waits()];
    await expect.poll(() => locksWaited(service)).toBe(2);
    const last = third();
    await expect.poll(() => service.database.connections().waiting).toBe(1);
    await holder.query('rollback');
    await Promise.all([...two, last]);
  } finally {
    await holder.end();
  }
}

describe('sessions', () => {
  it('124. are listed with address and browser, the current one first, without those of other users', async () => {
    const { laptop } = await with3Sessions();
    await with3Sessions();
    const sessions = await sessionsOf(laptop);
    expect(sessions).toHaveLength(3);
    expect(sessions[0]).toMatchObject({ is_this: true, user_agent: 'Laptop', address: '127.0.0.1' });
    expect(sessions.filter(({ is_this }) => is_this)).toHaveLength(1);
    expect(sessions.map(({ user_agent }) => user_agent)).toContain('Phone');
    expect(JSON.stringify(sessions)).not.toContain(laptop.cookies.get('dealkeep'));
  });

  it('each use at most half of the connections, even while ending or changing password or second factor', async () => {
    const { account, here } = await with3Sessions();
    const asks = () => here.send('/api/auth/sessions');
    const password = { current_password: account.password, password: newPassword() };
    await whileTwoWait(['users', 'id', account.id], () => here.change('/api/auth/password', password), asks);
    const again = await signedInVisitor(service, { ...account, password: password.password });
    const asksAgain = () => again.send('/api/auth/sessions');
    const { secret } = (await again.change<{ secret: string }>('/api/auth/second-factor/begin')).body;
    const code = await generate({ secret, epoch: Math.floor(service.clock.now().getTime() / 1000) });
    const confirm = () => again.change('/api/auth/second-factor/confirm', { code });
    await whileTwoWait(['users', 'id', account.id], confirm, asksAgain);
    const digest = `\\x${tokenDigest(again.cookies.get('dealkeep') ?? '').toString('hex')}`;
    await whileTwoWait(['vault.sessions', 'digest', digest], () => again.change('/api/auth/sign-out'), asksAgain);
    expect(await again.session()).toBeNull();
  });

  it('124. are ended one by one, with effect on the next request', async () => {
    const { here, phone, laptop } = await with3Sessions();
    const target = (await sessionsOf(here)).find(({ user_agent }) => user_agent === 'Phone');
    expect((await here.change('/api/auth/sessions/end', { id: target?.id })).body).toEqual({ ended: 1 });
    expect(await phone.session()).toBeNull();
    expect(await laptop.session()).not.toBeNull();
    expect((await here.change('/api/auth/sessions/end', { id: target?.id })).status).toBe(404);
  });

  it('124. of other users cannot be ended', async () => {
    const { here } = await with3Sessions();
    const other = await with3Sessions();
    const [theirs] = await sessionsOf(other.here);
    expect((await here.change('/api/auth/sessions/end', { id: theirs?.id })).status).toBe(404);
    expect(await other.here.session()).not.toBeNull();
  });

  it('are all ended except the current one', async () => {
    const { here, phone, laptop } = await with3Sessions();
    expect((await here.change('/api/auth/sessions/end', { id: 'others' })).body).toEqual({ ended: 2 });
    expect(await phone.session()).toBeNull();
    expect(await laptop.session()).toBeNull();
    expect(await here.session()).not.toBeNull();
  });

  it('are limited to 100; one more ends the least recently used, as recorded in the audit trail', async () => {
    const account = await openAccount(service);
    const visitors: Visitor[] = [];
    const signInLater = async () => {
      service.clock.advance(minute);
      visitors.push(await signedInVisitor(service, account));
    };
    for (let n = 0; n < 100; n += 1) await signInLater();
    const [first, second, third] = visitors;
    expect(await first?.session()).not.toBeNull();
    await signInLater();
    expect(await second?.session()).toBeNull();
    expect(await first?.session()).not.toBeNull();
    expect(await third?.session()).not.toBeNull();
    expect(await sessionsOf(first as Visitor)).toHaveLength(100);
    expect(
      await service.sql(`select details from audit_records where user_id = $1 and action = 'session.end'`, [
        account.id,
      ]),
    ).toEqual([{ details: { sessions: 1 } }]);
  });

  it('119. are invalid on the server after signing out', async () => {
    const { here, phone } = await with3Sessions();
    const token = here.cookies.get('dealkeep') ?? '';
    const done = await here.change('/api/auth/sign-out');
    expect(done.body).toEqual({ signed_out: true });
    expect(here.cookies.has('dealkeep')).toBe(false);
    expect(done.headers.get('clear-site-data')).toBe('"cache", "storage"');
    expect(here.cookies.has('dealkeep-device')).toBe(true);
    const thief = new Visitor(service.origin);
    thief.cookies.set('dealkeep', token);
    expect(await thief.session()).toBeNull();
    expect(await phone.session()).not.toBeNull();
  });

  it('are all invalid after signing out everywhere, on every node', async () => {
    const twoNodes = await openService({ nodes: 2 });
    try {
      const account = await openAccount(twoNodes);
      const [here, there] = twoNodes.nodes.map(({ origin }) => new Visitor(origin));
      if (!here || !there) throw new Error('no nodes');
      await here.signIn(account);
      await there.signIn(account);
      expect((await here.change('/api/auth/sign-out-everywhere')).body).toEqual({ signed_out: true });
      expect(await there.session()).toBeNull();
      expect(await here.session()).toBeNull();
    } finally {
      await twoNodes.close();
    }
  });
});

describe('changing the password', () => {
  it('111, 118. requires the current one, renews this session, and ends other sessions and clients', async () => {
    const { account, here, phone } = await with3Sessions();
    const isConnected = await connectClient(service, account, here);
    const isSubscribed = await subscribe(service, here);
    const password = newPassword();
    const wrong = await here.change('/api/auth/password', { current_password: newPassword(), password });
    expect([wrong.status, wrong.body]).toMatchObject([403, { error: { code: 'password_wrong' } }]);
    expect(await phone.session()).not.toBeNull();
    expect([await isConnected(), await isSubscribed()]).toEqual([true, true]);

    const before = here.cookies.get('dealkeep') ?? '';
    const done = await here.change('/api/auth/password', { current_password: account.password, password });
    expect(done.status).toBe(200);
    expect(here.cookies.get('dealkeep')).not.toBe(before);
    expect(await here.session()).not.toBeNull();
    const old = new Visitor(service.origin);
    old.cookies.set('dealkeep', before);
    expect(await old.session()).toBeNull();
    expect(await phone.session()).toBeNull();
    expect([await isConnected(), await isSubscribed()]).toEqual([false, false]);
    expect((await new Visitor(service.origin).signIn(account)).status).toBe(401);
    expect((await new Visitor(service.origin).signIn({ ...account, password })).status).toBe(200);
    expect((await service.deliver()).findLast(({ to }) => to === account.email)?.text).toContain(
      'Your password was changed, and you were signed out everywhere else.',
    );
  });

  it('is rejected for a weak password', async () => {
    const { account, here } = await with3Sessions();
    const { status, body } = await here.change('/api/auth/password', {
      current_password: account.password,
      password: 'Password1',
    });
    expect([status, body]).toMatchObject([400, { error: { code: 'password_refused' } }]);
    expect((await new Visitor(service.origin).signIn(account)).status).toBe(200);
  });

  it('is rate-limited after ten wrong current passwords', async () => {
    const { here } = await with3Sessions();
    service.clock.startMinute();
    const statuses: number[] = [];
    for (let round = 0; round < 11; round += 1) {
      const input = { current_password: newPassword(), password: newPassword() };
      statuses.push((await here.change('/api/auth/password', input)).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 403), 429]);
  });
});

describe('connected clients and calendar links', () => {
  const ends: [string, (account: Account, here: Visitor) => Promise<unknown>][] = [
    ['signing out everywhere', (_, here) => here.change('/api/auth/sign-out-everywhere')],
    ['suspension', ({ id }) => service.sql('update users set suspended_at = app.now() where id = $1', [id])],
    [
      'a reset',
      async ({ email }) => {
        const before = (await service.deliver()).length;
        const visitor = new Visitor(service.origin);
        await visitor.json('/api/auth/reset', { email });
        await expect.poll(async () => (await service.deliver()).length).toBe(before + 1);
        await visitor.json('/api/auth/reset/confirm', {
          token: await mailedToken(service, 'new password'),
          password: newPassword(),
        });
      },
    ],
  ];
  it.each(ends)('end after %s', async (_, end) => {
    const { account, here } = await with3Sessions();
    const isConnected = await connectClient(service, account, here);
    const isSubscribed = await subscribe(service, here);
    expect([await isConnected(), await isSubscribed()]).toEqual([true, true]);
    await end(account, here);
    expect([await isConnected(), await isSubscribed()]).toEqual([false, false]);
    expect(await here.session()).toBeNull();
  });

  it('continue after an ordinary sign-out', async () => {
    const { account, here } = await with3Sessions();
    const isConnected = await connectClient(service, account, here);
    const isSubscribed = await subscribe(service, here);
    await here.change('/api/auth/sign-out');
    expect([await isConnected(), await isSubscribed()]).toEqual([true, true]);
  });
});

describe('nothing begun while a password is replaced remains valid', () => {
  /** An action to begin, and a check whether its result works afterwards. */
  type Begun = readonly [begin: () => Promise<unknown>, works: () => Promise<boolean>];
  const beginnings: [string, (account: Account, here: Visitor) => Begun | Promise<Begun>][] = [
    [
      'a session by the old one',
      (account) => {
        const thief = new Visitor(service.origin);
        return [() => thief.signIn(account), async () => (await thief.session()) !== null];
      },
    ],
    [
      'a session by the old one and a recovery code',
      async (account) => {
        const code = 'abcd-efgh-ijkm-npqr-stuv-wxyz-2345';
        await service.sql(`insert into vault.totp (user_id, secret, confirmed_at) values ($1, $2, app.now())`, [
          account.id,
          'A'.repeat(32),
        ]);
        await service.sql(`insert into vault.recovery_codes (user_id, digest) values ($1, $2)`, [
          account.id,
          recoveryDigest(code),
        ]);
        const thief = new Visitor(service.origin);
        await thief.signIn(account);
        return [() => thief.json('/api/auth/second-factor', { code }), async () => (await thief.session()) !== null];
      },
    ],
    [
      'a link to the calendar',
      (_, here) => {
        let works: (() => Promise<boolean>) | undefined;
        return [
          async () => {
            works = await subscribe(service, here).catch(() => undefined);
          },
          async () => (await works?.()) ?? false,
        ];
      },
    ],
    [
      'a connection of a client',
      async ({ id, name, email }, here) => {
        const session = here.cookies.get('dealkeep') ?? '';
        const person = { id, name, email, session, cookie: `dealkeep=${session}` };
        const clientId = await addClient(service, person);
        const verifier = newVerifier();
        const fields = await openConsent(service, person, {
          client_id: clientId,
          code_challenge: challengeOf(verifier),
        });
        let code: string | null = null;
        return [
          async () => {
            const asked: Fields = [...Object.entries(fields), ['scope', 'mcp:read'], ['decision', 'approve']];
            const answer = await decide(service, person, asked);
            code = answer.status === 302 ? answerOf(answer).get('code') : null;
          },
          async () => code !== null && (await redeem(service, { clientId, code, verifier })).status === 200,
        ];
      },
    ],
  ];
  const ends: [string, (account: Account, owner: Visitor) => Promise<() => Promise<{ status: number }>>][] = [
    [
      'a reset',
      async ({ id }) => {
        const token = mintToken();
        await service.sql('insert into vault.password_resets (digest, user_id) values ($1, $2)', [
          tokenDigest(token),
          id,
        ]);
        return () => new Visitor(service.origin).json('/api/auth/reset/confirm', { token, password: newPassword() });
      },
    ],
    [
      'a change',
      async ({ password }, owner) =>
        () =>
          owner.change('/api/auth/password', { current_password: password, password: newPassword() }),
    ],
  ];
  describe.each(ends)('after %s', (_, end) => {
    it.each(beginnings)('%s', async (_name, prepare) => {
      const { account, here, phone } = await with3Sessions();
      const [begin, works] = await prepare(account, phone);
      const [, { status }] = await atOnce(service, ['users', 'id', account.id], begin, await end(account, here));
      expect(status).toBe(200);
      expect(await works()).toBe(false);
    });
  });
});

describe('nothing that a session begins while it ends remains valid', () => {
  type Changes = readonly (readonly [text: string, values: readonly unknown[]])[];
  const phc = '$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$dGhlaGFzaG9mbm90aGluZw';

  /** Prepares a password reset; returns its statements. */
  async function reset({ id }: Account): Promise<Changes> {
    const token = tokenDigest(mintToken());
    await service.sql('insert into vault.password_resets (digest, user_id) values ($1, $2)', [token, id]);
    return [['select app.reset_password($1, $2, null, null)', [token, phc]]];
  }

  const ends: [string, (account: Account) => Changes | Promise<Changes>][] = [
    ['a reset', reset],
    ['signing out everywhere', ({ id }) => [['select app.end_sessions_of($1)', [id]]]],
    ['its end alone', ({ id }) => [['update vault.sessions set ended_at = app.now() where user_id = $1', [id]]]],
  ];
  it.each(ends)('a second factor: %s', async (_, changes) => {
    const account = await openAccount(service);
    const thief = await signedInVisitor(service, account);
    const { secret } = (await thief.change<{ secret: string }>('/api/auth/second-factor/begin')).body;
    const code = await generate({ secret, epoch: Math.floor(service.clock.now().getTime() / 1000) });
    await whileChanging(service, await changes(account), () =>
      thief.change('/api/auth/second-factor/confirm', { code }),
    );
    expect(await thief.session()).toBeNull();
    expect(
      await service.sql('select from vault.totp where user_id = $1 and confirmed_at is not null', [account.id]),
    ).toEqual([]);
  });

  it('a record of its browser as a known device', async () => {
    const account = await openAccount(service);
    const thief = await signedInVisitor(service, account);
    const session = tokenDigest(thief.cookies.get('dealkeep') ?? '');
    await whileChanging(service, await reset(account), () =>
      service.asServer(keepDevice(session, null, tokenDigest(mintToken()))),
    );
    expect(await service.sql('select from vault.known_devices where user_id = $1', [account.id])).toEqual([]);
  });

  it('a passkey sign-in during the suspension of its owner, even after the suspension is lifted', async () => {
    const { id } = await openAccount(service);
    const challenge = tokenDigest(mintToken());
    const token = mintToken();
    await service.sql('insert into vault.challenges (digest) values ($1)', [challenge]);
    await service.sql(
      `insert into vault.passkeys (user_id, credential_id, public_key, counter, transports, name) values ($1, 'theirs', '', 0, '{}', 'Theirs')`,
      [id],
    );
    const from = { address: '127.0.0.1', agent: null, requestId: 'a-request' };
    await whileChanging(service, [['update users set suspended_at = app.now() where id = $1', [id]]], () =>
      service.asServer(signInWithPasskey('theirs', challenge, 0, { token: tokenDigest(token), earlier: null }, from)),
    );
    await service.sql('update users set suspended_at = null where id = $1', [id]);
    const visitor = new Visitor(service.origin);
    visitor.cookies.set('dealkeep', token);
    expect(await visitor.session()).toBeNull();
  });

  const erasure = ({ id }: Account): Changes => [["select app.erase_person($1, 'operator', null)", [id]]];
  const endsOfAll: [string, (account: Account) => Changes | Promise<Changes>][] = [
    ['a reset that is the first proof of the address', reset],
    ['an erasure', erasure],
  ];
  it.each(endsOfAll)('tool grants, deal opt-ins, clients, API keys and calendar links: %s', async (_, changes) => {
    /**
     * Creates an admin with a deal, a client and an API key, and the requests that their session begins, each with
     * the rows of which none may be left.
     */
    async function prepare() {
      const { id: brokerage, admin } = await openBrokerage(service);
      const other = await openAccount(service);
      await service.sql(
        `insert into members (brokerage_id, user_id, role, status) values ($1, $2, 'admin', 'active')`,
        [brokerage, other.id],
      );
      const visitor = await signedInVisitor(service, admin);
      const client = { name: 'Theirs', redirect_uris: ['http://127.0.0.1/back'] };
      const { id: clientId } = (await visitor.change<{ id: string }>('/api/web/clients', client)).body;
      const deal = { organization_id: brokerage, title: 'Bakery', currency: 'USD' };
      const { id: dealId } = (await visitor.change<{ id: string }>('/api/web/deals', deal)).body;
      await service.sql(
        `insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active')`,
        [dealId, other.id],
      );
      const key = { name: 'Theirs', environment: 'live', scopes: ['contacts:read'] };
      const { key: made } = (
        await visitor.change<{ key: { id: string } }>(`/api/web/brokerages/${brokerage}/keys`, key)
      ).body;
      const begun: [method: string, path: string, body: object, left: string][] = [
        [
          'PUT',
          '/tools/grants',
          { client_id: clientId, tool: 'svc_questions_create' },
          'tool_grants where user_id = $1',
        ],
        ['PUT', `/deals/${dealId}/tools/opt-in`, {}, 'deal_opt_ins where user_id = $1'],
        ['POST', `/brokerages/${brokerage}/keys`, key, 'api_keys where revoked_at is null and created_by = $1'],
        [
          'POST',
          `/keys/${made.id}/rotate`,
          { overlap_seconds: 0 },
          `vault.api_key_digests d where valid_until is null and issued_by = $1
            and (select count(*) from vault.api_key_digests o where o.key_id = d.key_id) > 1`,
        ],
        ['POST', '/clients', client, 'connected_clients where deleted_at is null and created_by = $1'],
        ['POST', '/notifications/calendar', {}, 'vault.calendar_links where user_id = $1'],
      ];
      return { admin, begun };
    }

    for (let place = 0, all = 1; place < all; place += 1) {
      const { admin, begun } = await prepare();
      all = begun.length;
      const [method, path, body, left] = begun[place]!;
      await service.sql('update vault.passwords set address_proven_at = null where user_id = $1', [admin.id]);
      const thief = await signedInVisitor(service, admin);
      const headers = {
        'content-type': 'application/json',
        'x-csrf-token': (await thief.session())?.csrf_token ?? '',
      };
      await whileChanging(service, await changes(admin), () =>
        thief.send(`/api/web${path}`, { method, headers, body: JSON.stringify(body) }),
      );
      expect(await service.sql(`select from ${left}`, [admin.id]), path).toEqual([]);
    }
  });
});

it.each([
  ['/api/auth/sessions/end', { id: 'others' }],
  ['/api/auth/sign-out-everywhere', {}],
])('124. ending sessions requires a recent sign-in: %s', async (path, input) => {
  const { here, phone } = await with3Sessions();
  service.clock.advance(10 * minute);
  const { status, body } = await here.change(path, input);
  expect([status, body]).toMatchObject([403, { error: { code: 'recent_sign_in_required' } }]);
  expect(await phone.session()).not.toBeNull();
});

describe('changing the address', () => {
  const confirmMail = 'Confirm your new e-mail address';

  async function ask(here: Visitor, email: string): Promise<string> {
    const before = (await service.deliver()).length;
    const { status } = await here.change('/api/auth/address', { email });
    expect(status).toBe(200);
    await expect.poll(async () => (await service.deliver()).length).toBe(before + 1);
    expect(service.mails.at(-1)?.to).toBe(email);
    return mailedToken(service, confirmMail);
  }

  it('takes effect once, with the link in the new mailbox, and notifies the old address', async () => {
    const { account, here } = await with3Sessions();
    const email = `moved-${account.email}`;
    const token = await ask(here, email);
    expect((await here.session())?.user.email).toBe(account.email);
    const confirm = () => here.change('/api/auth/address/confirm', { token });
    expect((await confirm()).body).toEqual({ email });
    expect((await here.session())?.user.email).toBe(email);
    expect((await confirm()).status).toBe(410);
    await expect.poll(async () => (await service.deliver()).at(-1)?.to).toBe(account.email);
    expect((await new Visitor(service.origin).signIn(account)).status).toBe(401);
    expect((await new Visitor(service.origin).signIn({ ...account, email })).status).toBe(200);
  });

  it('124. requires a recent sign-in', async () => {
    const { here } = await with3Sessions();
    service.clock.advance(10 * minute);
    const { status, body } = await here.change('/api/auth/address', { email: 'later@example.com' });
    expect([status, body]).toMatchObject([403, { error: { code: 'recent_sign_in_required' } }]);
  });

  it('is rejected for another user with the link, and after 30 minutes', async () => {
    const { here } = await with3Sessions();
    const other = await with3Sessions();
    const token = await ask(here, 'typo@example.com');
    expect((await other.here.change('/api/auth/address/confirm', { token })).status).toBe(410);
    service.clock.advance(30 * minute);
    expect((await here.change('/api/auth/address/confirm', { token })).status).toBe(410);
  });

  it('shows the new address before confirmation only to the user who requested it', async () => {
    const { here } = await with3Sessions();
    const other = await with3Sessions();
    const token = await ask(here, 'to-be-read@example.com');
    const look = (by: Visitor) => by.change('/api/auth/address/link', { token });
    expect((await look(here)).body).toEqual({ email: 'to-be-read@example.com' });
    expect((await look(other.here)).status).toBe(410);
    service.clock.advance(30 * minute);
    expect((await look(here)).status).toBe(410);
  });

  it('requested by an intruder is cancelled by a password change, a sign-out everywhere or a suspension', async () => {
    for (const react of ['password', 'sign-out-everywhere', 'suspension'] as const) {
      const { account, here, phone } = await with3Sessions();
      const token = await ask(phone, `${react}@example.com`);
      if (react === 'password')
        await here.change('/api/auth/password', {
          current_password: account.password,
          password: 'quiet meadow lantern 7',
        });
      else if (react === 'sign-out-everywhere') await here.change('/api/auth/sign-out-everywhere', {});
      else
        for (const at of ['app.now()', 'null'])
          await service.sql(`update users set suspended_at = ${at} where id = $1`, [account.id]);
      const again = react === 'password' ? here : new Visitor(service.origin);
      if (react !== 'password') expect((await again.signIn(account)).status).toBe(200);
      expect([react, (await again.change('/api/auth/address/confirm', { token })).status]).toEqual([react, 410]);
      expect((await again.session())?.user.email).toBe(account.email);
    }
  });

  it('is rejected for an address with an account only after the link has proved the mailbox', async () => {
    const { here } = await with3Sessions();
    const other = await openAccount(service);
    const token = await ask(here, other.email);
    const { status, body } = await here.change('/api/auth/address/confirm', { token });
    expect([status, body]).toMatchObject([409, { error: { code: 'address_taken' } }]);
  });
});

it('session endpoints return 401 as JSON to a browser without a session', async () => {
  for (const path of ['/api/auth/session', '/api/auth/sessions', '/api/auth/passkeys']) {
    const answer = await new Visitor(service.origin).get(path);
    expect([path, answer.status, await answer.json()]).toMatchObject([path, 401, { error: { code: 'not_signed_in' } }]);
  }
});
