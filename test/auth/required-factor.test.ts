/** A second factor that a brokerage requires of its members, and ending a member's sessions. */

import { generate } from 'otplib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { createNotifications, queueNotificationMails } from '../../server/domain/notifications/events.ts';
import { csrfToken } from '../../server/http/csrf.ts';
import { openService, type TestService } from '../harness.ts';
import { whileChanging } from '../locks.ts';
import {
  addClient,
  approve,
  authorizeUrl,
  challengeOf as codeChallengeOf,
  connect,
  decide,
  hiddenFields,
  newVerifier,
  redeem,
  visit,
} from '../oauth/scene.ts';
import { addProgramsPasskey, newProgramsPasskey } from '../passkeys.ts';
import { addFullDeal, addToken, allow, caller, insert, type FullDeal } from '../tools/scene.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { connectClient, openAccount, signedInVisitor, subscribe, Visitor, type Account } from './scene.ts';

let service: TestService;
let full: FullDeal;
let admin: SignedIn;
let broker: SignedIn;
let buyer: SignedIn;

beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());
beforeEach(async () => {
  full = await addFullDeal(service);
  admin = await signInAs(service, full.people.admin.userId);
  broker = await signInAs(service, full.people.broker.userId);
  buyer = await signInAs(service, full.people['other buyer'].userId);
});

const ours = (rest = '') => `/brokerages/${full.brokerage}${rest}`;
const required = (person: SignedIn, value = true) => person.ask(ours('/second-factor'), { required: value }, 'PUT');

/** The same person with the session token that a change gave to the browser. */
function renewed(person: SignedIn, token: string): SignedIn {
  const headers = { ...person.headers, cookie: `dealkeep=${token}`, 'x-csrf-token': csrfToken(token) };
  return {
    cookie: { name: 'dealkeep', value: token },
    headers,
    async ask(path, body, method = body === undefined ? 'GET' : 'POST') {
      const response = await fetch(`${service.origin}/api/web${path}`, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    },
  };
}

async function auth(person: SignedIn, path: string, body: object = {}) {
  const response = await fetch(`${service.origin}/api/auth/${path}`, {
    method: 'POST',
    headers: { ...person.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const cookie = response.headers.getSetCookie().find((line) => line.startsWith('dealkeep='));
  const answer = (await response.json()) as Record<string, string>;
  return { status: response.status, body: answer, token: /^dealkeep=([^;]+)/.exec(cookie ?? '')?.[1] };
}

/** Sets up an authenticator as the pages do; the session continues under a new token. */
async function setUp(person: SignedIn): Promise<SignedIn> {
  const { secret = '' } = (await auth(person, 'second-factor/begin')).body;
  const code = await generate({ secret, epoch: Math.floor(service.clock.now().getTime() / 1000) });
  const { token } = await auth(person, 'second-factor/confirm', { code });
  return renewed(person, token ?? '');
}

const keyOf = async (userId: string) => {
  const key = mintApiKey('live');
  await service.sql(`select app.issue_api_key($1, $2, 'Sync', 'live', '{contacts:read}', null, null, $3, $4)`, [
    full.brokerage,
    userId,
    key.digest,
    key.lastFour,
  ]);
  return async () =>
    (await fetch(`${service.restUrl}/contacts`, { headers: { authorization: `Bearer ${key.token}` } })).status;
};

/** What the person can reach of the brokerage as a member. */
async function reach(person: SignedIn) {
  const { memberships } = (await person.ask('/me')).body;
  return {
    memberships: memberships.length,
    brokerage: (await person.ask(ours())).status,
    members: (await person.ask(ours('/members'))).status,
    deal: (await person.ask(`/deals/${full.deal}`)).status,
    deals: (await person.ask('/deals')).body.items.length,
    contact: (await person.ask('/contacts', { brokerage_id: full.brokerage, type: 'person', display_name: 'X' }))
      .status,
  };
}
const all = { memberships: 1, brokerage: 200, members: 200, deal: 200, deals: 1, contact: 201 };
const nothing = { memberships: 0, brokerage: 404, members: 404, deal: 404, deals: 0 };

describe('a brokerage that requires a second factor', () => {
  it('blocks a member without one on pages, tools and API keys until one is set up', async () => {
    admin = await setUp(admin);
    const key = await keyOf(full.people.broker.userId);
    // The assistant was connected with a second factor, which has been removed since.
    broker = await setUp(broker);
    const { userId: id, clientId } = full.people.broker;
    const { value: session } = broker.cookie;
    const known = { id, name: 'broker', email: '', session, cookie: `dealkeep=${session}` };
    const assistant = caller(service, { token: (await connect(service, known, clientId)).access });
    await auth(broker, 'second-factor/remove');
    await allow(service, full.people.broker, ['svc_qoe_normalization_create'], [full.deal]);
    const elsewhere = await signInAs(service, full.people.broker.userId);
    expect([await reach(broker), await key()]).toEqual([all, 200]);

    expect((await required(admin)).body.requires_second_factor).toBe(true);
    expect(await reach(broker)).toMatchObject(nothing);
    expect(await broker.ask(`/deals/${full.deal}`)).toEqual(
      await broker.ask('/deals/01900000-0000-7000-8000-000000000000'),
    );
    expect((await broker.ask('/me')).body.second_factor_owed).toEqual([
      { brokerage_id: full.brokerage, brokerage_name: 'Harbor Brokers', has_one: false },
    ]);
    expect(await key()).toBe(401);
    for (const [tool, input] of [
      ['svc_deals_list', {}],
      ['svc_deals_get', { deal_id: full.deal }],
      [
        'svc_qoe_normalization_create',
        { deal_id: full.deal, period_label: 'FY2025', adjustment_category: 'other', adjustment_amount: '1' },
      ],
    ] as const) {
      const refused = await assistant(tool, input);
      expect(refused).toMatchObject({
        isError: true,
        structuredContent: {
          error: 'second_factor_required',
          tool,
          resolve_url: `${service.config.baseUrl}/settings/security`,
        },
      });
    }
    expect(await service.sql('select from normalizations where deal_id = $1', [full.deal])).toEqual([]);
    // Nothing changes for others, nor for the admin who turned the requirement on.
    expect((await buyer.ask(`/deals/${full.deal}`)).status).toBe(200);
    expect(await reach(admin)).toMatchObject({ ...all, contact: 201 });

    broker = await setUp(broker);
    expect([await reach(broker), await key()]).toEqual([all, 200]);
    expect((await assistant('svc_deals_list', {})).structuredContent['deals']).toHaveLength(1);
    // A session that began with the password alone still gives no access.
    expect(await reach(elsewhere)).toMatchObject(nothing);
    expect((await elsewhere.ask('/me')).body.second_factor_owed).toMatchObject([{ has_one: true }]);

    await auth(broker, 'second-factor/remove');
    expect([(await reach(broker)).deal, await key()]).toEqual([404, 401]);
  });

  it('mails the members without one, and nobody else, when it begins to require it', async () => {
    admin = await setUp(admin);
    await service.sql('delete from vault.events');
    expect((await required(admin)).status).toBe(200);
    while ((await service.database.run(createNotifications(100))) > 0);
    await service.database.run(queueNotificationMails(200));
    const said = 'Harbor Brokers now requires a second factor: set one up to open its deals';
    const told = (await service.deliver()).filter(({ subject }) => subject === said);
    const members = await service.sql<{ email: string }>(
      `select u.email from members m join users u on u.id = m.user_id
       where m.brokerage_id = $1 and m.status = 'active' and u.id <> $2 order by u.email`,
      [full.brokerage, full.people.admin.userId],
    );
    expect(members.length).toBeGreaterThan(0);
    expect(told.map(({ to }) => to).toSorted()).toEqual(members.map(({ email }) => email));
    expect(told[0]!.text).toContain('/settings/security');
    expect(told[0]!.text).not.toContain('set a new password');
    expect((await broker.ask('/notifications')).body.items[0]).toMatchObject({
      kind: 'factor_required',
      summary: 'Your brokerage now requires a second factor: set one up to open its deals.',
    });
  });

  it('tells its other admins which keys stop because their person has none, when it is required or removed', async () => {
    admin = await setUp(admin);
    await keyOf(full.people.broker.userId);
    const told = async () => {
      while ((await service.database.run(createNotifications(100))) > 0);
      await service.database.run(queueNotificationMails(200));
      const before = service.mails.length;
      const said =
        'An API key of Harbor Brokers stopped or can do less: the person through whom it works lost the right to it';
      const sent = (await service.deliver()).slice(before);
      return sent.filter(({ subject }) => subject === said).map(({ to }) => to);
    };
    await told();
    const { email } = (await admin.ask('/me')).body.user;
    expect((await required(admin)).status).toBe(200);
    expect(await told()).toEqual([email]);
    broker = await setUp(broker);
    await auth(broker, 'second-factor/begin');
    expect(await told()).toEqual([]);
    await auth(broker, 'second-factor/remove');
    expect(await told()).toEqual([email]);
    // Without the requirement, nothing stops.
    broker = await setUp(broker);
    expect((await required(admin, false)).status).toBe(200);
    await auth(broker, 'second-factor/remove');
    expect(await told()).toEqual([]);
  });

  it('hides the invitations to its deals from a session without one, and accepts no answer to them', async () => {
    const { email } = (await admin.ask('/me')).body.user;
    admin = await setUp(admin);
    const elsewhere = await signInAs(service, full.people.admin.userId);
    const people = `/deals/${full.deal}/participants`;
    const { body } = await broker.ask(people, { email, name: 'A', role: 'viewer', advises: null, deliver: 'link' });
    const { id } = body.participant;
    const token = new URLSearchParams(new URL(body.invitation_url).hash.slice(1)).get('token');
    const waiting = async (person: SignedIn) => (await person.ask('/home')).body.invitations.length;
    expect([await waiting(elsewhere), (await required(admin)).status]).toEqual([1, 200]);

    expect([await waiting(elsewhere), await waiting(admin)]).toEqual([0, 1]);
    for (const answer of [
      await elsewhere.ask(`/invitations/${id}/accept`, {}),
      await elsewhere.ask(`/invitations/${id}/decline`, {}),
      await auth(elsewhere, 'invitation/join', { token: token ?? '' }),
    ])
      expect(answer).toMatchObject({ status: 403, body: { error: { code: 'second_factor_required' } } });
    expect(await waiting(admin)).toBe(1);
    expect(await auth(admin, 'invitation/join', { token: token ?? '' })).toMatchObject({ status: 200 });
  });

  it('is configured only by an admin session with a second factor, after a recent sign-in', async () => {
    expect((await required(broker)).status).toBe(403);
    expect((await required(buyer)).status).toBe(404);
    expect((await required(admin)).body.error.code).toBe('second_factor_missing');
    const before = admin;
    admin = await setUp(admin);
    const plain = await signInAs(service, full.people.admin.userId);
    expect((await required(plain)).body.error.code).toBe('second_factor_missing');
    await service.sql(`update vault.sessions set authenticated_at = app.now() - interval '1 hour' where user_id = $1`, [
      full.people.admin.userId,
    ]);
    expect((await required(admin)).body.error.code).toBe('recent_sign_in_required');
    await service.sql(`update vault.sessions set authenticated_at = app.now() where user_id = $1`, [
      full.people.admin.userId,
    ]);
    expect((await required(admin)).status).toBe(200);
    expect((await before.ask('/me')).status).toBe(401);
    expect((await required(plain, false)).status).toBe(404);
    expect((await required(admin, false)).body.requires_second_factor).toBe(false);
    expect((await reach(broker)).deal).toBe(200);
    const records = await service.sql(
      `select details from audit_records where action = 'brokerage.second_factor' and brokerage_id = $1 order by at, id`,
      [full.brokerage],
    );
    // Both members have a client that was connected without a factor.
    expect(records).toEqual([
      { details: { required: true, grants: 2, calendar_links: 0 } },
      { details: { required: false } },
    ]);
  });

  it('accepts a session signed in with a passkey, but no other session of the member', async () => {
    admin = await setUp(admin);
    await required(admin);
    await insert(service, 'vault.passkeys', {
      user_id: full.people.broker.userId,
      credential_id: full.deal,
      public_key: Buffer.from('k'),
      counter: 0,
      transports: [],
      name: 'Phone',
    });
    expect((await reach(broker)).deal).toBe(404);
    const [session] = await service.sql<{ token: string }>(
      `select encode(gen_random_uuid()::text::bytea, 'hex') as token`,
    );
    const token = (session?.token ?? '').slice(0, 43);
    await service.sql(`select app.open_session($1, sha256($2::bytea), null, 'passkey', null, 'test', null)`, [
      full.people.broker.userId,
      token,
    ]);
    expect((await reach(renewed(broker, token))).deal).toBe(200);
  });

  it('shows only its admins which members have a second factor', async () => {
    admin = await setUp(admin);
    const seen = async (person: SignedIn) =>
      (await person.ask(ours('/members'))).body.items.map(({ name, second_factor }: Record<string, unknown>) => [
        name,
        second_factor,
      ]);
    expect(await seen(admin)).toEqual([
      ['admin', true],
      ['broker', false],
    ]);
    expect(await seen(broker)).toEqual([
      ['admin', null],
      ['broker', null],
    ]);
  });
});

describe('ending a member’s sessions', () => {
  const end = (person: SignedIn, userId = full.people.broker.userId) =>
    person.ask(ours(`/members/${userId}/sessions/end`), {});

  it('ends all sessions and client grants, and is recorded in the audit trail', async () => {
    const second = await signInAs(service, full.people.broker.userId);
    const assistant = await addToken(service, full.people.broker.userId);
    expect((await end(admin)).body).toEqual({ ended: 2 });
    for (const session of [broker, second]) expect((await session.ask('/me')).status).toBe(401);
    await expect(caller(service, assistant)('svc_deals_list')).rejects.toThrow('401');
    expect((await admin.ask('/me')).status).toBe(200);
    const records = await service.sql(
      `select user_id, subject_id, details from audit_records where action = 'member.end_sessions' and brokerage_id = $1`,
      [full.brokerage],
    );
    expect(records).toEqual([
      {
        user_id: full.people.admin.userId,
        subject_id: full.people.broker.userId,
        details: { sessions: 2, grants: 2, calendar_links: 0 },
      },
    ]);
    // The member finds it in their own trail, which nobody else reads.
    const { items } = (await (await signInAs(service, full.people.broker.userId)).ask('/audit?action=session.end'))
      .body;
    expect(items).toMatchObject([
      {
        title: 'Signed out everywhere by an admin',
        details: { by: 'admin', sessions: 2, grants: 2, calendar_links: 0 },
        address: null,
      },
    ]);
    expect((await admin.ask(`/audit?brokerage_id=${full.brokerage}&action=session.end`)).body.items).toEqual([]);
  });

  it('requires an admin with a recent sign-in, and a member of the brokerage', async () => {
    expect((await end(broker, full.people.admin.userId)).status).toBe(403);
    expect((await end(buyer)).status).toBe(404);
    expect((await end(admin, full.people['other buyer'].userId)).status).toBe(404);
    await service.sql(`update vault.sessions set authenticated_at = app.now() - interval '1 hour' where user_id = $1`, [
      full.people.admin.userId,
    ]);
    expect(await end(admin)).toMatchObject({ status: 403, body: { error: { code: 'recent_sign_in_required' } } });
    expect((await broker.ask('/me')).status).toBe(200);
  });
});

describe('a password-only session of a member with a passkey', () => {
  let ann: Account;
  let passkey: Awaited<ReturnType<typeof addProgramsPasskey>>;
  /** A visitor who is signed in with the password alone. */
  let thief: Visitor;

  const requires = (value: boolean) =>
    service.sql('update brokerages set requires_second_factor = $2 where id = $1', [full.brokerage, value]);
  const reaches = async (visitor: Visitor) => (await visitor.send(`/api/web/brokerages/${full.brokerage}`)).status;
  const owed = { status: 403, body: { error: { code: 'second_factor_required' } } };

  async function withPasskey(): Promise<Visitor> {
    const visitor = new Visitor(service.origin);
    const { challenge } = (await visitor.json<{ challenge: string }>('/api/auth/passkey/options')).body;
    expect((await visitor.json('/api/auth/passkey/sign-in', passkey.answerTo(challenge))).status).toBe(200);
    return visitor;
  }
  const begin = (visitor: Visitor) =>
    visitor.change<{ secret: string; error?: { message: string } }>('/api/auth/second-factor/begin');
  const confirm = async (visitor: Visitor, secret: string) =>
    visitor.change('/api/auth/second-factor/confirm', {
      code: await generate({ secret, epoch: Math.floor(service.clock.now().getTime() / 1000) }),
    });
  const challengeOf = async (visitor: Visitor) =>
    (await visitor.change<{ challenge: string }>('/api/auth/passkey/registration')).body.challenge;
  const addTo = (visitor: Visitor, challenge: string) =>
    visitor.change('/api/auth/passkey/add', {
      ...newProgramsPasskey(service).registrationOf(challenge),
      name: 'Another',
    });
  const passkeysOf = async (visitor: Visitor) =>
    ((await (await visitor.send('/api/auth/passkeys')).json()) as { passkeys: { id: string }[] }).passkeys;
  const factorsOf = (id: string) =>
    service.sql(
      `select (select count(*)::int from vault.passkeys where user_id = $1) as passkeys,
         (select count(*)::int from vault.totp where user_id = $1 and confirmed_at is not null) as authenticators`,
      [id],
    );

  beforeEach(async () => {
    ann = await openAccount(service);
    await insert(service, 'members', { brokerage_id: full.brokerage, user_id: ann.id, role: 'admin' });
    passkey = await addProgramsPasskey(service, ann.id);
    await requires(true);
    thief = await signedInVisitor(service, ann);
    expect(await reaches(thief)).toBe(404);
  });

  it('cannot set up an authenticator, and gains no access', async () => {
    const begun = await begin(thief);
    expect(begun).toMatchObject(owed);
    expect(begun.body.error?.message).toContain('Sign in again with your passkey');
    // Nor does it help to have begun while no factor was required.
    await requires(false);
    const { secret } = (await begin(thief)).body;
    await requires(true);
    expect(await confirm(thief, secret)).toMatchObject(owed);
    expect(await reaches(thief)).toBe(404);
    expect(await factorsOf(ann.id)).toEqual([{ passkeys: 1, authenticators: 0 }]);
  });

  it('a copied session ends when the owner adds a passkey in the original', async () => {
    const bob = await openAccount(service);
    await insert(service, 'members', { brokerage_id: full.brokerage, user_id: bob.id, role: 'admin' });
    const owner = await signedInVisitor(service, bob);
    const copy = new Visitor(service.origin);
    for (const [name, value] of owner.cookies) copy.cookies.set(name, value);
    expect([await reaches(owner), await reaches(copy)]).toEqual([404, 404]);
    const added = await addTo(owner, await challengeOf(owner));
    expect(added).toMatchObject({ status: 200, body: { csrf_token: (await owner.session())?.csrf_token } });
    expect([await reaches(owner), await reaches(copy)]).toEqual([200, 401]);
  });

  it('cannot add or remove a passkey', async () => {
    expect(await thief.change('/api/auth/passkey/registration')).toMatchObject(owed);
    await requires(false);
    const challenge = await challengeOf(thief);
    await requires(true);
    expect(await addTo(thief, challenge)).toMatchObject(owed);
    const [first] = await passkeysOf(thief);
    expect(await thief.change('/api/auth/passkey/remove', { id: first?.id })).toMatchObject(owed);
    expect(await reaches(thief)).toBe(404);
    expect(await factorsOf(ann.id)).toEqual([{ passkeys: 1, authenticators: 0 }]);
  });

  it('cannot change the address, export the account’s data or erase the account', async () => {
    expect(await thief.change('/api/auth/address', { email: 'thief@example.com' })).toMatchObject(owed);
    expect(await thief.change('/api/auth/export')).toMatchObject(owed);
    expect(await thief.change('/api/auth/erase', { confirmation: ann.email })).toMatchObject(owed);
    expect((await signedInVisitor(service, ann)).cookies.has('dealkeep')).toBe(true);
  });

  it('cannot renew recovery codes or remove an authenticator that was set up after it began', async () => {
    const owner = await withPasskey();
    expect((await confirm(owner, (await begin(owner)).body.secret)).status).toBe(200);
    expect(await thief.change('/api/auth/recovery-codes')).toMatchObject(owed);
    expect(await thief.change('/api/auth/second-factor/remove')).toMatchObject(owed);
    expect(await factorsOf(ann.id)).toEqual([{ passkeys: 1, authenticators: 1 }]);
    expect((await owner.change('/api/auth/second-factor/remove')).body).toEqual({ removed: true });
  });

  it('cannot connect a client with any scope, and shows how to continue', async () => {
    const clientId = await addClient(service, { ...ann, session: '', cookie: '' });
    const consent = async (visitor: Visitor, scopes: readonly string[]) => {
      const session = visitor.cookies.get('dealkeep') ?? '';
      const person = { ...ann, session, cookie: `dealkeep=${session}` };
      const page = await visit(authorizeUrl(service, { client_id: clientId }), person);
      const { scope: _, ...fields } = hiddenFields(await page.text());
      const ticked = scopes.map((scope) => ['scope', scope] as const);
      return decide(service, person, [...Object.entries(fields), ...ticked, ['decision', 'approve']]);
    };
    for (const scopes of [['mcp:read'], ['mcp:read', 'mcp:write']]) {
      const refused = await consent(thief, scopes);
      expect([refused.status, refused.headers.get('location')]).toEqual([403, null]);
      const text = await refused.text();
      expect(text).toContain('Sign in again with your passkey');
      expect(text).toContain('/re-authenticate?return_to=%2Fapi%2Fmcp%2Fauthorize');
    }
    expect(await service.sql('select from vault.authorization_codes where user_id = $1', [ann.id])).toEqual([]);
    const given = await consent(await withPasskey(), ['mcp:read', 'mcp:write']);
    expect([given.status, given.headers.get('location')]).toEqual([302, expect.stringContaining('code=')]);
  });

  it('cannot create a calendar link', async () => {
    expect(await thief.change('/api/web/notifications/calendar')).toMatchObject(owed);
    expect(await service.sql('select from vault.calendar_links where user_id = $1', [ann.id])).toEqual([]);
    expect((await (await withPasskey()).change('/api/web/notifications/calendar')).status).toBe(201);
  });

  it('differs from a passkey session, which can change passkeys and authenticators', async () => {
    const owner = await withPasskey();
    expect(await reaches(owner)).toBe(200);
    expect((await addTo(owner, await challengeOf(owner))).body).toMatchObject({ added: true });
    const [first] = await passkeysOf(owner);
    // Removing a passkey signs out everybody else who signed in with it. The session that began without a factor
    // continues, still without one.
    const stolen = await withPasskey();
    expect(await reaches(stolen)).toBe(200);
    expect((await owner.change('/api/auth/passkey/remove', { id: first?.id })).body).toEqual({ removed: true });
    expect(await reaches(stolen)).toBe(401);
    expect((await thief.session())?.user.id).toBe(ann.id);
    expect(await reaches(owner)).toBe(200);
    expect((await confirm(owner, (await begin(owner)).body.secret)).status).toBe(200);
    expect(await factorsOf(ann.id)).toEqual([{ passkeys: 1, authenticators: 1 }]);
  });

  it('can replace a lost passkey if no brokerage requires a second factor', async () => {
    await requires(false);
    const [lost] = await passkeysOf(thief);
    expect((await addTo(thief, await challengeOf(thief))).body).toMatchObject({ added: true });
    expect((await thief.change('/api/auth/passkey/remove', { id: lost?.id })).body).toEqual({ removed: true });
    await requires(true);
    expect(await reaches(thief)).toBe(200);
  });

  it('a member without a second factor sets one up with the password, and then creates a calendar link', async () => {
    const bob = await openAccount(service);
    await insert(service, 'members', { brokerage_id: full.brokerage, user_id: bob.id, role: 'broker' });
    const visitor = await signedInVisitor(service, bob);
    const refused = await visitor.change<{ error: { message: string } }>('/api/web/notifications/calendar');
    expect(refused).toMatchObject(owed);
    expect(refused.body.error.message).toContain('Set up an authenticator or a passkey');
    expect((await addTo(visitor, await challengeOf(visitor))).body).toMatchObject({ added: true });
    expect(await reaches(visitor)).toBe(200);
    expect((await visitor.change('/api/web/notifications/calendar')).status).toBe(201);
  });
});

describe('clients and calendar links from before a brokerage required a second factor', () => {
  let ann: Account;
  let withPassword: Visitor;
  let withPasskey: Visitor;

  const join = () => insert(service, 'members', { brokerage_id: full.brokerage, user_id: ann.id, role: 'staff' });
  const require = async () => {
    expect((await required((admin = await setUp(admin)))).status).toBe(200);
  };
  /** The audit records in a person's name of the end of their connections. */
  const endedOf = (userId: string) =>
    service.sql(
      `select outcome, details, brokerage_id, address from audit_records where action = 'consent.end' and user_id = $1`,
      [userId],
    );

  beforeEach(async () => {
    ann = await openAccount(service);
    const passkey = await addProgramsPasskey(service, ann.id);
    withPassword = await signedInVisitor(service, ann);
    withPasskey = new Visitor(service.origin);
    const { challenge } = (await withPasskey.json<{ challenge: string }>('/api/auth/passkey/options')).body;
    expect((await withPasskey.json('/api/auth/passkey/sign-in', passkey.answerTo(challenge))).status).toBe(200);
  });

  it('end if their session had no second factor, and continue if it had one', async () => {
    await join();
    const isConnected = await connectClient(service, ann, withPassword);
    const isSubscribed = await subscribe(service, withPassword);
    const isConnectedWithPasskey = await connectClient(service, ann, withPasskey);
    expect([await isConnected(), await isSubscribed(), await isConnectedWithPasskey()]).toEqual([true, true, true]);

    await require();
    expect([await isConnected(), await isSubscribed(), await isConnectedWithPasskey()]).toEqual([false, false, true]);
    expect(await endedOf(ann.id)).toEqual([
      { outcome: 'done', details: { grants: 1, calendar_links: 1 }, brokerage_id: null, address: null },
    ]);
    const { items } = (await admin.ask(`/audit?brokerage_id=${full.brokerage}`)).body;
    expect(items[0]).toMatchObject({
      action: 'brokerage.second_factor',
      details: { required: true, grants: 3, calendar_links: 1 },
    });
    // Whatever is connected from then on is connected with the factor, and stays when the requirement is turned on
    // again.
    const isConnectedAnew = await connectClient(service, ann, withPasskey);
    const isSubscribedAnew = await subscribe(service, withPasskey);
    await required(admin, false);
    await required(admin);
    expect([await isConnectedAnew(), await isSubscribedAnew()]).toEqual([true, true]);
  });

  it('continue for users who are not members, such as a buyer', async () => {
    const isConnected = await connectClient(service, ann, withPassword);
    const isSubscribed = await subscribe(service, withPassword);
    await require();
    expect([await isConnected(), await isSubscribed()]).toEqual([true, true]);
    expect((await caller(service, full.people['other buyer'])('svc_deals_list')).isError).not.toBe(true);
    expect(await endedOf(ann.id)).toEqual([]);
  });

  describe('end when their owner joins a brokerage', () => {
    const joined = async (through: (accept: () => Promise<{ status: number }>) => Promise<{ status: number }>) => {
      const isConnected = await connectClient(service, ann, withPassword);
      const isSubscribed = await subscribe(service, withPassword);
      const isConnectedWithPasskey = await connectClient(service, ann, withPasskey);
      const { email, name } = ann;
      const invited = await admin.ask(ours('/members'), { email, name, role: 'broker', deliver: 'link' });
      const token = new URLSearchParams(new URL(invited.body.invitation_url).hash.slice(1)).get('token');
      expect([await isConnected(), await isSubscribed()]).toEqual([true, true]);
      const { status } = await through(() => withPasskey.change('/api/auth/invitation/join', { token }));
      expect(status).toBe(200);
      expect([await isConnected(), await isSubscribed(), await isConnectedWithPasskey()]).toEqual([false, false, true]);
      expect(await endedOf(ann.id)).toMatchObject([{ details: { grants: 1, calendar_links: 1 } }]);
    };

    it('that requires a second factor', async () => {
      await require();
      await joined((accept) => accept());
    });

    it('that starts to require a second factor at the same time', async () => {
      const requiring = [
        'update brokerages set requires_second_factor = true where id = $1',
        [full.brokerage],
      ] as const;
      await joined((accept) => whileChanging(service, [requiring], accept));
    });
  });

  describe('cannot be created', () => {
    const known = (visitor: Visitor) => {
      const session = visitor.cookies.get('dealkeep') ?? '';
      return { ...ann, session, cookie: `dealkeep=${session}` };
    };
    async function codeOf(visitor: Visitor) {
      const clientId = await addClient(service, known(visitor));
      const verifier = newVerifier();
      const parameters = { client_id: clientId, code_challenge: codeChallengeOf(verifier) };
      return { clientId, verifier, code: await approve(service, known(visitor), parameters) };
    }
    beforeEach(join);

    it('with an authorization code from before the requirement', async () => {
      const codes = [await codeOf(withPassword), await codeOf(withPasskey)];
      await require();
      expect(await Promise.all(codes.map(async (given) => (await redeem(service, given)).status))).toEqual([400, 200]);
    });

    it('while the requirement is being turned on', async () => {
      // The statement that ends connections does not see those granted while the requirement is being turned on.
      const whileRequiring = async <T>(ask: () => Promise<T>) => {
        await service.sql('update brokerages set requires_second_factor = false where id = $1', [full.brokerage]);
        return whileChanging(
          service,
          [
            ['update brokerages set requires_second_factor = true where id = $1', [full.brokerage]],
            ['select from users where id = $1 for no key update', [ann.id]],
          ],
          ask,
        );
      };
      const given = await codeOf(withPassword);
      expect((await whileRequiring(() => redeem(service, given))).body.error).toBe('invalid_grant');
      expect(await whileRequiring(() => withPassword.change('/api/web/notifications/calendar'))).toMatchObject({
        status: 403,
        body: { error: { code: 'second_factor_required' } },
      });
      await expect(whileRequiring(() => codeOf(withPassword))).rejects.toThrow('not approved: 403');
      const later = await codeOf(withPasskey);
      expect((await whileRequiring(() => redeem(service, later))).status).toBe(200);
    });
  });
});
