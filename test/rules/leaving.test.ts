/** Leaving a brokerage: what a member loses, at once and in every interface, and who takes over their deals. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { erasePerson } from '../../server/domain/accounts/erasure.ts';
import type { KeyScope } from '../../server/domain/clients/key-scopes.ts';
import { createNotifications, queueNotificationMails } from '../../server/domain/notifications/events.ts';
import { mintToken } from '../../server/domain/accounts/secret-tokens.ts';
import { removeMember } from '../../server/domain/people/members.ts';
import { Visitor } from '../auth/scene.ts';
import { openService, type TestService } from '../harness.ts';
import { locksWaited } from '../locks.ts';
import { connect } from '../policies/scene.ts';
import { as, issueKey } from '../rest/scene.ts';
import { addFullDeal, addPerson, addToken, allow, caller, insert, send, type FullDeal } from '../tools/scene.ts';
import { signedInWith, signInAs, type SignedIn } from '../web/person.ts';

const nowhere = '01900000-0000-7000-8000-000000000000';

let service: TestService;
let full: FullDeal;
let admin: SignedIn;
let broker: SignedIn;
let brokerId: string;
let adminId: string;

beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());
beforeEach(async () => {
  full = await addFullDeal(service, { state: 'listed' });
  brokerId = full.people.broker.userId;
  adminId = full.people.admin.userId;
  admin = await signInAs(service, adminId);
  broker = await signInAs(service, brokerId);
});

const member = (id: string, rest = '') => `/brokerages/${full.brokerage}/members/${id}${rest}`;
const remove = (id = brokerId, successor?: string) =>
  admin.ask(member(id, successor === undefined ? '' : `?successor_id=${successor}`), undefined, 'DELETE');
const addMember = async (name: string, role: 'admin' | 'broker' | 'staff') => {
  const id = await addPerson(service, name);
  await insert(service, 'members', { brokerage_id: full.brokerage, user_id: id, role });
  return id;
};
const part = async (userId: string) =>
  (
    await service.sql('select role, status from participants where deal_id = $1 and user_id = $2', [full.deal, userId])
  )[0];
const erase = async (person: string) => {
  const eraser = await connect(service.connections.owner);
  await erasePerson(eraser, person, async () => {}).finally(() => eraser.end());
};
const recorded = (action: string) =>
  service.sql(
    'select user_id, deal_id, details from audit_records where action = $1 and brokerage_id = $2 order by at, id',
    [action, full.brokerage],
  );

describe('a member who is removed', () => {
  test('loses access to their deals in pages, tools and stream, and so do their advisors', async () => {
    const advisor = await addPerson(service, 'Their lawyer');
    await insert(service, 'participants', {
      deal_id: full.deal,
      user_id: advisor,
      role: 'advisor',
      status: 'active',
      advises: full.participants.broker,
    });
    const lawyer = await signInAs(service, advisor);
    const call = caller(service, full.people.broker);
    expect((await broker.ask(`/deals/${full.deal}`)).body.caller_role).toBe('broker_assigned');
    expect((await call('svc_deals_get', { deal_id: full.deal })).structuredContent['deal']).not.toBeNull();
    expect((await lawyer.ask(`/deals/${full.deal}`)).status).toBe(200);
    const stopped = new AbortController();
    const stream = await fetch(`${service.origin}/api/web/events`, { headers: broker.headers, signal: stopped.signal });
    const received: string[] = [];
    void (async () => {
      for await (const text of stream.body!.pipeThrough(new TextDecoderStream()))
        if (text.includes('data: ')) received.push(text);
    })().catch(() => {});

    expect((await remove()).status).toBe(200);
    for (const person of [broker, lawyer]) {
      expect(await person.ask(`/deals/${full.deal}`)).toEqual(await person.ask(`/deals/${nowhere}`));
      expect((await person.ask('/deals')).body.items).toEqual([]);
    }
    expect((await call('svc_deals_get', { deal_id: full.deal })).structuredContent).toMatchObject({
      deal: null,
      participants: [],
    });
    expect((await call('svc_deals_list')).structuredContent['deals']).toEqual([]);
    const patch = await broker.ask(`/deals/${full.deal}`, { title: 'Mine still' }, 'PATCH');
    expect(patch.status).toBe(404);
    expect(await part(brokerId)).toEqual({ role: 'broker', status: 'removed' });
    expect(await part(advisor)).toEqual({ role: 'advisor', status: 'removed' });
    expect(await recorded('participant.remove')).toMatchObject([
      { user_id: adminId, deal_id: full.deal },
      { user_id: adminId, deal_id: full.deal },
    ]);

    // A person who still sees the deal is notified of a change to it; one who was removed is not.
    received.length = 0;
    const seller = await signInAs(service, full.people.seller.userId);
    const other = await fetch(`${service.origin}/api/web/events`, { headers: seller.headers, signal: stopped.signal });
    const told = other.body!.pipeThrough(new TextDecoderStream()).getReader();
    await service.sql(`update deals set industry = 'Bread' where id = $1`, [full.deal]);
    for (let text = ''; !text.includes('data: ');) text += (await told.read()).value;
    // That their own place changed can arrive late, and names no deal.
    expect(received.filter((text) => text.includes(full.deal))).toEqual([]);
    stopped.abort();
  });

  test('loses shared clients and opt-ins on deals, and does not regain them on return', async () => {
    const shared = await insert(service, 'connected_clients', {
      created_by: adminId,
      brokerage_id: full.brokerage,
      name: 'Shared',
      redirect_uris: ['https://client.example/callback'],
    });
    const through = await addToken(service, brokerId, { clientId: shared });
    await allow(service, full.people.broker, ['svc_qoe_normalization_create'], [full.deal]);
    await allow(service, through, ['svc_qoe_normalization_create'], []);
    expect((await send(service, through.token, { jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(200);

    expect((await remove()).status).toBe(200);
    await service.sql(`update members set status = 'active' where user_id = $1`, [brokerId]);
    await service.sql(`update participants set status = 'invited' where user_id = $1`, [brokerId]);
    await service.sql(`update participants set status = 'active' where user_id = $1`, [brokerId]);
    expect((await send(service, through.token, { jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(401);
    const written = await caller(service, full.people.broker)('svc_qoe_normalization_create', {
      deal_id: full.deal,
      period_label: 'FY2025',
      adjustment_category: 'owner_comp',
      adjustment_amount: '1',
      rationale: 'None.',
    });
    expect(written.structuredContent).toMatchObject({ error: 'permission_denied', reason: 'missing_deal_opt_in' });
    expect(await service.sql('select client_id from tool_grants where user_id = $1', [brokerId])).toEqual([
      { client_id: full.people.broker.clientId },
    ]);
  });

  test('leaves deals as viewer, advisor and invited broker, and stays as buyer and seller', async () => {
    const staff = await addMember('Sam', 'staff');
    const parts = {
      viewer: ['viewer', 'active'],
      helper: ['advisor', 'active'],
      asked: ['broker', 'invited'],
      buyer: ['buyer', 'active'],
      seller: ['seller', 'active'],
    } as const;
    const deals: Record<string, string> = {};
    for (const [name, [role, status]] of Object.entries(parts)) {
      const deal = await insert(service, 'deals', { organization_id: full.brokerage, title: name });
      const advised = await insert(service, 'participants', {
        deal_id: deal,
        user_id: adminId,
        role: 'broker',
        status: 'active',
      });
      deals[name] = await insert(service, 'participants', {
        deal_id: deal,
        user_id: staff,
        role,
        status,
        ...(role === 'advisor' ? { advises: advised } : {}),
      });
    }
    expect((await remove(staff)).body).toEqual({ deals: [], count: 0, handed_over: false });
    const left = Object.fromEntries(
      await Promise.all(
        Object.entries(deals).map(async ([name, id]) => {
          const [found] = await service.sql<{ status: string }>('select status from participants where id = $1', [id]);
          return [name, found?.status] as const;
        }),
      ),
    );
    expect(left).toEqual({ viewer: 'removed', helper: 'removed', asked: 'removed', buyer: 'active', seller: 'active' });
  });

  test.each([
    ['the settings', (userId: string) => admin.ask(member(userId), undefined, 'DELETE')],
    [
      'the table itself',
      (userId: string) => service.sql(`update members set status = 'removed' where user_id = $1`, [userId]),
    ],
  ])('leaves their deals when removed through %s', async (_, end) => {
    await end(brokerId);
    expect(await part(brokerId)).toEqual({ role: 'broker', status: 'removed' });
    expect((await broker.ask(`/deals/${full.deal}`)).status).toBe(404);
  });
});

describe('what a member sent out and nobody has answered', () => {
  /** Follows the link of an invitation that was handed on. */
  const follow = async (url: string) =>
    (
      await new Visitor(service.origin).json('/api/auth/invitation', {
        token: new URLSearchParams(new URL(url).hash.slice(1)).get('token'),
      })
    ).status;
  const inviteToDeal = async (by: SignedIn, email: string, role: string, deal = full.deal) => {
    const answer = await by.ask(`/deals/${deal}/participants`, { email, name: email, role, deliver: 'link' });
    expect(answer.status).toBe(201);
    return { id: answer.body.participant.id as string, url: answer.body.invitation_url as string };
  };
  const inviteAsMember = async (by: SignedIn, email: string) => {
    const answer = await by.ask(member('').slice(0, -1), { email, name: email, role: 'admin', deliver: 'link' });
    expect(answer.status).toBe(201);
    return { id: answer.body.member.user_id as string, url: answer.body.invitation_url as string };
  };
  const statusOf = async (participant: string) =>
    (await service.sql<{ status: string }>('select status from participants where id = $1', [participant]))[0]?.status;
  const unique = () => randomUUID().slice(0, 8);

  test.each(['removed', 'made staff', 'erased', 'gone by themselves'])(
    'lets nobody onto a deal once the broker is %s',
    async (how) => {
      const of = unique();
      const friend = await addPerson(service, 'Friend');
      const [{ email: friendly } = { email: '' }] = await service.sql<{ email: string }>(
        'select email from users where id = $1',
        [friend],
      );
      const made = [
        await inviteToDeal(broker, `new-${of}@rival.example`, 'broker'),
        await inviteToDeal(broker, friendly, 'broker'),
        await inviteToDeal(broker, `look-${of}@rival.example`, 'viewer'),
        await inviteToDeal(broker, `buy-${of}@rival.example`, 'buyer'),
      ] as const;
      const others = await inviteToDeal(admin, `others-${of}@example.test`, 'viewer');
      // Sent again by an admin, it is theirs.
      const takenOver = await inviteToDeal(broker, `again-${of}@example.test`, 'buyer');
      const again = await admin.ask(`/deals/${full.deal}/participants/${takenOver.id}/invitation`, { deliver: 'link' });
      const stays = [others.url, again.body.invitation_url as string];
      const second = await addMember('Second', 'broker');
      await insert(service, 'participants', { deal_id: full.deal, user_id: second, role: 'broker', status: 'active' });
      expect((await admin.ask(member(brokerId, '/deals'))).body).toMatchObject({
        deal_invitations: made.length,
        member_invitations: 0,
      });
      expect((await broker.ask(member(adminId, '/deals'))).body).toMatchObject({ deal_invitations: 0, outsiders: [] });

      if (how === 'removed') expect((await remove()).status).toBe(200);
      else if (how === 'made staff')
        expect((await admin.ask(member(brokerId), { role: 'staff' }, 'PATCH')).status).toBe(200);
      else if (how === 'gone by themselves')
        expect((await broker.ask(member(brokerId), undefined, 'DELETE')).status).toBe(200);
      else await erase(brokerId);

      for (const { id, url } of made) {
        expect(await follow(url)).toBe(410);
        expect(await statusOf(id)).toBe('removed');
      }
      const person = await signInAs(service, friend);
      expect((await person.ask(`/invitations/${made[1].id}/accept`, {})).status).toBe(404);
      expect((await person.ask('/home')).body.invitations).toEqual([]);
      for (const url of stays) expect(await follow(url)).toBe(200);
      const withdrawn = (await recorded('participant.remove')).filter(
        ({ details }) => (details as Record<string, unknown>)['withdrawn'] === true,
      );
      expect(withdrawn.map(({ deal_id }) => deal_id)).toEqual(made.map(() => full.deal));
      const again2 = await admin.ask(`/deals/${full.deal}/participants/${made[3].id}/invitation`, { deliver: 'link' });
      expect(await follow(again2.body.invitation_url)).toBe(200);
    },
  );

  test('brings nobody into the brokerage once the admin who sent it is one no longer', async () => {
    const of = unique();
    for (const how of ['removed', 'made broker'] as const) {
      const leaving = await addMember('Second admin', 'admin');
      const person = await signInAs(service, leaving);
      const rival = await inviteAsMember(person, `${how.slice(0, 4)}-${of}@rival.example`);
      const onDeal = await inviteToDeal(person, `${how.slice(0, 4)}-on-deal-${of}@example.test`, 'viewer');
      const taken = await inviteAsMember(person, `${how.slice(0, 4)}-taken-${of}@example.test`);
      const again = await admin.ask(member(taken.id, '/invitation'), { deliver: 'link' });
      expect((await admin.ask(member(leaving, '/deals'))).body).toMatchObject({
        deal_invitations: 1,
        member_invitations: 1,
      });
      const end =
        how === 'removed' ? await remove(leaving) : await admin.ask(member(leaving), { role: 'broker' }, 'PATCH');
      expect(end.status).toBe(200);
      expect(await follow(rival.url)).toBe(410);
      expect(await follow(again.body.invitation_url)).toBe(200);
      // Brokers invite to deals, too.
      expect(await statusOf(onDeal.id)).toBe(how === 'removed' ? 'removed' : 'invited');
      const rows = (await admin.ask(member('').slice(0, -1))).body.items as { user_id: string }[];
      const ids = rows.map(({ user_id }) => user_id);
      expect([ids.includes(rival.id), ids.includes(taken.id)]).toEqual([false, true]);
    }
    expect(await recorded('member.remove')).toEqual(
      expect.arrayContaining([{ user_id: adminId, deal_id: null, details: { withdrawn: true } }]),
    );
  });

  test('lets nobody onto a deal once the admin is removed for whom a key sent it', async () => {
    const leaving = await addMember('Second admin', 'admin');
    await service.sql('update deals set keys_admitted = true where id = $1', [full.deal]);
    const key = await issueKey(
      service,
      { id: full.brokerage, admin: leaving },
      { scopes: ['participants:read', 'participants:write'] },
    );
    const email = `key-${unique()}@rival.example`;
    const sent = { email, name: 'Rival', role: 'seller' };
    const invited = await as(key, service.origin)('POST', `/api/v1/deals/${full.deal}/invitations`, sent);
    expect(invited.status).toBe(201);
    expect((await remove(leaving)).status).toBe(200);
    const left = await service.sql('select status from participants where invited_email = $1', [email]);
    expect(left).toEqual([{ status: 'removed' }]);
  });

  test('stays while somebody becomes an admin, or is no more than staff already', async () => {
    const invited = await inviteToDeal(broker, `stays-${unique()}@example.test`, 'buyer');
    await admin.ask(member(brokerId), { role: 'admin' }, 'PATCH');
    expect(await follow(invited.url)).toBe(200);
    await admin.ask(member(brokerId), { role: 'broker' }, 'PATCH');
    expect(await follow(invited.url)).toBe(200);
  });

  test('is told to the admin beside brokers from elsewhere, who stay on the deals', async () => {
    const outsider = await addPerson(service, 'Friend');
    const former = await addMember('Former', 'broker');
    await service.sql(`update members set status = 'removed' where user_id = $1`, [former]);
    const idle = await insert(service, 'deals', { organization_id: full.brokerage, title: 'Idle' });
    for (const [deal, user, status] of [
      [full.deal, outsider, 'active'],
      [full.deal, adminId, 'active'],
      [idle, outsider, 'active'],
      [full.deal, former, 'active'],
    ] as const)
      await insert(service, 'participants', { deal_id: deal, user_id: user, role: 'broker', status });
    const { body } = await admin.ask(member(brokerId, '/deals'));
    expect(body.outsider_count).toBe(2);
    expect(body.outsiders).toMatchObject([
      { deal_id: full.deal, title: 'Corner bakery', name: 'Friend' },
      { deal_id: full.deal, title: 'Corner bakery', name: 'Former' },
    ]);
  });
});

test('keys and webhooks that depend on an admin are named before, and show afterwards on whom they depend', async () => {
  const leaving = await addMember('Second admin', 'admin');
  const person = await signInAs(service, leaving);
  const keyOf = (by: string, scopes: KeyScope[]) => issueKey(service, { id: full.brokerage, admin: by }, { scopes });
  const contacts = await keyOf(leaving, ['contacts:read']);
  const both = await keyOf(leaving, ['contacts:read', 'webhooks:read', 'webhooks:write']);
  const deals = await keyOf(leaving, ['deals:read']);
  const others = await keyOf(adminId, ['deals:read']);
  await admin.ask(`/keys/${(await keyOf(leaving, ['deals:read'])).id}/revoke`, {});
  await admin.ask(`/keys/${(await keyOf(leaving, ['deals:read'])).id}/rotate`, { overlap_seconds: 3600 });
  const url = 'https://hooks.example.com/dealkeep';
  const own = await person.ask(`/keys/${others.id}/webhooks`, { url, description: 'Accounting', types: null });
  expect(own.status).toBe(201);
  const byKey = await as(both, service.origin)('POST', '/api/v1/webhooks', { url });
  expect(byKey.status).toBe(201);
  const kept = await admin.ask(`/keys/${deals.id}/webhooks`, { url, description: null, types: null });
  expect(kept.status).toBe(201);

  const depending = async (by = admin) => {
    const { body } = await by.ask(member(leaving, '/deals'));
    return {
      keys: Object.fromEntries(body.keys.map((key: { id: string; kept: string[] }) => [key.id, key.kept])),
      webhooks: body.webhooks.map(({ id }: { id: string }) => id).toSorted(),
    };
  };
  const keys = { [contacts.id]: ['contacts:read'], [both.id]: ['contacts:read'], [deals.id]: [] };
  const turnedOff = [own.body.webhook.id, byKey.body!.id].toSorted();
  expect(await depending()).toEqual({ keys, webhooks: turnedOff });
  expect(await depending(broker)).toEqual({ keys: {}, webhooks: [] });

  const shown = async () => {
    const { items } = (await admin.ask(`/brokerages/${full.brokerage}/keys`)).body;
    return [contacts, both, deals, others].map(({ id }) => {
      const { state, scopes_in_force, works_through } = items.find((key: { id: string }) => key.id === id);
      return [state, scopes_in_force, works_through];
    });
  };
  const unchanged = ['active', ['deals:read'], 'admin'];
  expect((await admin.ask(member(leaving), { role: 'broker' }, 'PATCH')).status).toBe(200);
  expect(await shown()).toEqual([
    ['active', ['contacts:read'], 'Second admin'],
    ['active', ['contacts:read'], 'Second admin'],
    ['active', [], 'Second admin'],
    unchanged,
  ]);
  expect(await depending()).toEqual({ keys, webhooks: [] });
  const webhooks = (await admin.ask(`/brokerages/${full.brokerage}/webhooks`)).body.items;
  const through = (id: string) => webhooks.find((webhook: { id: string }) => webhook.id === id);
  expect(through(own.body.webhook.id)).toMatchObject({
    state: 'off',
    set_up_by: 'Second admin',
    key_works_through: 'admin',
  });
  expect(through(byKey.body!.id)).toMatchObject({
    state: 'off',
    set_up_by: null,
    key_works_through: 'Second admin',
  });
  expect(through(kept.body.webhook.id)).toMatchObject({
    state: 'on',
    set_up_by: 'admin',
    key_works_through: 'Second admin',
  });

  expect((await remove(leaving)).status).toBe(200);
  const stopped = ['stopped', null, 'Second admin'];
  expect(await shown()).toEqual([stopped, stopped, stopped, unchanged]);
});

describe('somebody who leaves by themselves', () => {
  const path = (participant: string) => `/deals/${full.deal}/participants/${participant}`;
  const notified = async () => {
    while ((await service.database.run(createNotifications(100))) > 0);
    const found = await service.sql<{ kind: string; user_id: string }>(
      'select kind, user_id from vault.notifications where user_id = any ($1)',
      [Object.values(full.people).map(({ userId }) => userId)],
    );
    const names = new Map(Object.entries(full.people).map(([name, { userId }]) => [userId, name]));
    return found.map(({ kind, user_id }) => `${kind}: ${names.get(user_id)}`).toSorted();
  };

  test.each([
    ['broker', ['left: seller', 'left: viewer']],
    ['seller', ['left: broker', 'left: viewer']],
    ['exclusive buyer', ['left: broker', 'left: seller', 'left: viewer', 'removed: broker', 'removed: seller']],
    ['new buyer', ['left: broker', 'left: seller', 'left: viewer']],
    ["exclusive buyer's advisor", ['left: broker', 'left: exclusive buyer', 'left: seller', 'left: viewer']],
    ['viewer', ['left: broker', 'left: seller']],
  ] as const)('leaves a deal as %s, and nobody else with them but their advisors', async (who, told) => {
    const { userId } = full.people[who];
    const person = await signInAs(service, userId);
    const own = full.participants[who];
    if (who !== 'broker') {
      const others = full.participants[who === 'viewer' ? 'seller' : 'viewer'];
      expect([403, 404]).toContain((await person.ask(path(others), undefined, 'DELETE')).status);
    }
    expect(await person.ask(path(own), undefined, 'DELETE')).toEqual({ status: 204, body: null });
    expect((await person.ask(`/deals/${full.deal}`)).status).toBe(404);
    expect((await person.ask(path(own), undefined, 'DELETE')).status).toBe(404);
    const left = await service.sql<{ user_id: string }>(
      `select user_id from participants where deal_id = $1 and status = 'removed'`,
      [full.deal],
    );
    const advisor = full.people["exclusive buyer's advisor"].userId;
    expect(new Set(left.map(({ user_id }) => user_id))).toEqual(
      new Set(who === 'exclusive buyer' ? [userId, advisor] : [userId]),
    );
    expect((await recorded('participant.remove')).filter(({ details }) => 'left' in (details as object))).toEqual([
      { user_id: userId, deal_id: full.deal, details: { left: true } },
    ]);
    const seen = await notified();
    expect(seen).toEqual(expect.arrayContaining([...told]));
    expect(seen.filter((one) => one.startsWith('left: '))).toEqual(told.filter((one) => one.startsWith('left: ')));
    if (who === 'exclusive buyer')
      expect(
        await service.sql(
          `select n.status, x.ended_at from ndas n join exclusivities x using (participant_id) where participant_id = $1`,
          [own],
        ),
      ).toEqual([{ status: 'active', ended_at: null }]);
    const { items } = (await admin.ask(`/deals/${full.deal}/activity`)).body;
    expect(items.map(({ summary }: { summary: string }) => summary)).toContain('left the deal');
  });

  test('does not leave a deal to which they are only invited: they decline', async () => {
    const invited = await addPerson(service, 'Ivo');
    const waiting = await insert(service, 'participants', {
      deal_id: full.deal,
      user_id: invited,
      role: 'buyer',
      status: 'invited',
    });
    expect((await (await signInAs(service, invited)).ask(path(waiting), undefined, 'DELETE')).status).toBe(404);
  });

  test('leaves a brokerage as staff and as a broker with others, who hear of it on the deals', async () => {
    const second = await addMember('Second', 'broker');
    await insert(service, 'participants', { deal_id: full.deal, user_id: second, role: 'broker', status: 'active' });
    const staff = await addMember('Sam', 'staff');
    const sam = await signInAs(service, staff);
    const leave = (person: SignedIn, id: string, rest = '') => person.ask(member(id, rest), undefined, 'DELETE');
    expect((await leave(sam, brokerId)).status).toBe(403);
    expect((await leave(sam, staff, `?successor_id=${second}`)).status).toBe(403);
    expect(await leave(sam, staff)).toEqual({ status: 200, body: { deals: [], count: 0, handed_over: false } });
    expect((await sam.ask('/me')).body.memberships).toEqual([]);
    expect((await leave(sam, staff)).status).toBe(404);
    expect((await leave(broker, brokerId)).status).toBe(200);
    expect(await part(brokerId)).toEqual({ role: 'broker', status: 'removed' });
    expect(await recorded('member.remove')).toEqual([
      { user_id: staff, deal_id: null, details: { left: true } },
      { user_id: brokerId, deal_id: null, details: { left: true } },
    ]);
    expect(await recorded('participant.remove')).toEqual([
      { user_id: brokerId, deal_id: full.deal, details: { left: true } },
    ]);
    expect(await notified()).toEqual(['left: seller', 'left: viewer']);
    // The admin hands over what they run themselves; nobody is left to manage the brokerage otherwise.
    expect(await leave(admin, adminId)).toMatchObject({ status: 409, body: { error: { code: 'last_admin' } } });
  });

  test('is removed by nobody whose session was made up or has ended', async () => {
    const staff = await addMember('Sam', 'staff');
    const ended = await signInAs(service, staff);
    await service.sql('update vault.sessions set ended_at = app.now() where user_id = $1', [staff]);
    for (const nobody of [signedInWith(service, mintToken()), ended]) {
      expect((await nobody.ask(member(staff), undefined, 'DELETE')).status).toBe(401);
      expect((await nobody.ask(path(full.participants.viewer), undefined, 'DELETE')).status).toBe(401);
    }
    // Nor does the function itself, if it is ever called before somebody has entered.
    await service.database
      .run(removeMember(full.brokerage, staff, null, { address: null, requestId: null }))
      .catch(() => {});
    const [found] = await service.sql('select status from members where user_id = $1', [staff]);
    expect(found).toEqual({ status: 'active' });
    expect(await recorded('member.remove')).toEqual([]);
  });

  test('stays as the only broker of an open deal, until an admin has chosen another', async () => {
    const leave = () => broker.ask(member(brokerId), undefined, 'DELETE');
    expect(await leave()).toMatchObject({ status: 409, body: { error: { code: 'only_broker' } } });
    expect(await part(brokerId)).toEqual({ role: 'broker', status: 'active' });
    await service.sql(`update deals set state = 'withdrawn' where id = $1`, [full.deal]);
    expect((await leave()).status).toBe(200);
  });

  test('leaves a brokerage that bars them without a second factor, and works elsewhere again', async () => {
    const elsewhere = await addFullDeal(service);
    const { 'new buyer': buyer } = elsewhere.people;
    await insert(service, 'members', { brokerage_id: full.brokerage, user_id: buyer.userId, role: 'staff' });
    await service.sql('update brokerages set requires_second_factor = true where id = $1', [full.brokerage]);
    const person = await signInAs(service, buyer.userId);
    const assistant = caller(service, buyer);
    const asked = async () => (await assistant('svc_deals_list')).structuredContent;
    expect(await asked()).toMatchObject({ error: 'second_factor_required' });
    expect((await person.ask('/me')).body.second_factor_owed).toHaveLength(1);
    expect((await person.ask(member(brokerId), undefined, 'DELETE')).status).toBe(404);
    expect((await person.ask(member(buyer.userId), undefined, 'DELETE')).status).toBe(200);
    expect((await person.ask('/me')).body.second_factor_owed).toEqual([]);
    expect((await asked())['deals']).toHaveLength(1);
  });
});

describe('a member with another role', () => {
  test('as staff loses the deals that they ran, and keeps those that they view', async () => {
    const idle = await insert(service, 'deals', { organization_id: full.brokerage, title: 'Idle' });
    await insert(service, 'participants', { deal_id: idle, user_id: brokerId, role: 'viewer', status: 'active' });
    await admin.ask(member(brokerId), { role: 'staff' }, 'PATCH');
    expect((await broker.ask(`/deals/${full.deal}`)).status).toBe(404);
    expect((await broker.ask(`/deals/${idle}`)).status).toBe(200);
  });

  test('loses deals without participation, and opt-ins, when no longer an admin', async () => {
    const second = await addMember('Second admin', 'admin');
    const person = await signInAs(service, second);
    await service.sql('insert into deal_opt_ins (user_id, deal_id) values ($1, $2)', [second, full.deal]);
    expect((await person.ask(`/deals/${full.deal}`)).status).toBe(200);
    await admin.ask(member(second), { role: 'broker' }, 'PATCH');
    expect((await person.ask(`/deals/${full.deal}`)).status).toBe(404);
    expect(await service.sql('select from deal_opt_ins where user_id = $1', [second])).toEqual([]);
  });
});

describe('deals left without a broker', () => {
  const left = () => [{ id: full.deal, title: 'Corner bakery' }];

  test('are listed before and after the removal, and only for admins', async () => {
    const over = await insert(service, 'deals', { organization_id: full.brokerage, title: 'Over', state: 'withdrawn' });
    await insert(service, 'participants', { deal_id: over, user_id: brokerId, role: 'broker', status: 'active' });
    expect((await admin.ask(member(brokerId, '/deals'))).body).toMatchObject({ items: left(), count: 1 });
    expect((await broker.ask(member(adminId, '/deals'))).body).toMatchObject({ items: [], count: 0 });
    const stranger = await signInAs(service, full.people.outsider.userId);
    expect((await stranger.ask(member(brokerId, '/deals'))).status).toBe(404);
    expect((await remove()).body).toEqual({ deals: left(), count: 1, handed_over: false });
    expect((await admin.ask(member(brokerId, '/deals'))).status).toBe(404);
  });

  test('are none while another broker is active; a suspended one does not count', async () => {
    const second = await addMember('Second', 'broker');
    await insert(service, 'participants', { deal_id: full.deal, user_id: second, role: 'broker', status: 'active' });
    expect((await admin.ask(member(brokerId, '/deals'))).body).toMatchObject({ items: [], count: 0 });
    await service.sql('update users set suspended_at = app.now() where id = $1', [second]);
    expect((await admin.ask(member(brokerId, '/deals'))).body).toMatchObject({ items: left(), count: 1 });
  });

  test.each(['nobody of the brokerage', 'somebody who left it'])(
    'are none of the brokerage’s any more when the other broker is %s',
    async (who) => {
      const other = await addPerson(service, 'Friend');
      if (who === 'somebody who left it')
        await insert(service, 'members', {
          brokerage_id: full.brokerage,
          user_id: other,
          role: 'broker',
          status: 'removed',
        });
      await insert(service, 'participants', { deal_id: full.deal, user_id: other, role: 'broker', status: 'active' });
      expect((await admin.ask(member(brokerId, '/deals'))).body).toMatchObject({ items: left(), count: 1 });
      expect(await broker.ask(member(brokerId), undefined, 'DELETE')).toMatchObject({
        status: 409,
        body: { error: { code: 'only_broker' } },
      });
      const successor = await addMember('Suki', 'broker');
      expect((await remove(brokerId, successor)).body).toEqual({ deals: left(), count: 1, handed_over: true });
      expect(await part(successor)).toEqual({ role: 'broker', status: 'active' });
      expect(await part(other)).toEqual({ role: 'broker', status: 'active' });
    },
  );

  test('are counted, and the newest hundred are listed', async () => {
    await service.sql(
      `with made as (insert into deals (organization_id, title, created_at)
         select $1, 'Old ' || n, app.now() - interval '1 year' from generate_series(1, 100) n returning id)
       insert into participants (deal_id, user_id, role, status) select id, $2, 'broker', 'active' from made`,
      [full.brokerage, brokerId],
    );
    const { items, count } = (await admin.ask(member(brokerId, '/deals'))).body;
    expect([items.length, items[0], count]).toEqual([100, left()[0], 101]);
    const { deals, ...removed } = (await remove()).body;
    expect([deals, removed]).toEqual([items, { count: 101, handed_over: false }]);
  });

  test('are handed over with notice to the successor, once for all of them, and to the others on each', async () => {
    const successor = await addMember('Suki', 'broker');
    const mails = async () => {
      while ((await service.database.run(createNotifications(100))) > 0);
      await service.database.run(queueNotificationMails(200));
      const before = service.mails.length;
      await service.deliver();
      return service.mails.slice(before);
    };
    const mailsOfSuki = async () => {
      const [{ email }] = (await service.sql<{ email: string }>('select email from users where id = $1', [
        successor,
      ])) as [{ email: string }];
      return (await mails()).filter(({ to }) => to === email);
    };
    const latest = async (userId: string) =>
      (await (await signInAs(service, userId)).ask('/notifications')).body.items.filter(
        ({ kind }: { kind: string }) => kind !== 'removed',
      );
    await remove(brokerId, successor);
    const [one, ...others] = await mailsOfSuki();
    expect(others).toEqual([]);
    expect(one).toMatchObject({ subject: 'Corner bakery: You now run the deal as its broker' });
    expect(one!.text).toContain(`/deals/${full.deal}`);
    expect(await latest(successor)).toMatchObject([{ kind: 'deals_received', deal_id: full.deal }]);
    for (const who of ['seller', 'exclusive buyer'] as const)
      expect(await latest(full.people[who].userId), who).toMatchObject([
        { kind: 'broker_changed', summary: 'The deal has a new broker.', subject_name: 'Suki', place: 'people' },
      ]);
    // Several deals at once.
    service.clock.advance(600_000);
    const second = await insert(service, 'deals', {
      organization_id: full.brokerage,
      title: 'Print shop',
      state: 'listed',
    });
    await insert(service, 'participants', { deal_id: second, user_id: successor, role: 'broker', status: 'active' });
    const next = await addMember('Sam', 'broker');
    await remove(successor, next);
    const [{ name }] = (await service.sql<{ name: string }>('select name from brokerages where id = $1', [
      full.brokerage,
    ])) as [{ name: string }];
    expect(await latest(next)).toEqual([]);
    const about = (await mails()).filter(({ subject }) => subject.includes('as their broker'));
    expect(about).toMatchObject([{ subject: `You now run more deals of ${name} as their broker` }]);
    expect(about[0]!.text).toContain(`${service.config.baseUrl}/deals\n`);
    expect(await latest(next)).toMatchObject([
      {
        kind: 'deals_received',
        deal_id: null,
        place: 'deals',
        summary: `You now run more deals of ${name} as their broker.`,
      },
    ]);
  });

  test.each(['nothing', 'viewer', 'invited', 'removed'])(
    'are handed over with the removal, unless the successor is an invited buyer (was: %s)',
    async (was) => {
      const successor = await addMember('Suki', 'broker');
      const role = was === 'viewer' ? 'viewer' : 'buyer';
      const status = was === 'viewer' ? 'active' : was;
      if (was !== 'nothing')
        await insert(service, 'participants', { deal_id: full.deal, user_id: successor, role, status });
      const answer = await remove(brokerId, successor);
      if (was === 'invited') {
        expect(answer.body.error.code).toBe('successor_takes_part');
        return;
      }
      expect(answer).toMatchObject({ status: 200, body: { deals: left(), handed_over: true } });
      expect(await part(successor)).toEqual({ role: 'broker', status: 'active' });
      expect((await (await signInAs(service, successor)).ask(`/deals/${full.deal}`)).body.caller_role).toBe(
        'broker_assigned',
      );
      expect(await recorded('deal.hand_over')).toMatchObject([{ user_id: adminId, deal_id: full.deal }]);
      expect(await recorded('member.remove')).toMatchObject([{ user_id: adminId, details: { deals: 1 } }]);
    },
  );

  test('are handed over without the advisors that the successor had as a viewer', async () => {
    const successor = await addMember('Suki', 'broker');
    const looking = await insert(service, 'participants', {
      deal_id: full.deal,
      user_id: successor,
      role: 'viewer',
      status: 'active',
    });
    const advisor = await addPerson(service, 'Their lawyer');
    await insert(service, 'participants', {
      deal_id: full.deal,
      user_id: advisor,
      role: 'advisor',
      status: 'active',
      advises: looking,
    });
    const lawyer = await signInAs(service, advisor);
    expect((await lawyer.ask(`/deals/${full.deal}`)).status).toBe(200);
    expect((await remove(brokerId, successor)).body).toMatchObject({ handed_over: true });
    expect(await part(successor)).toEqual({ role: 'broker', status: 'active' });
    expect(await part(advisor)).toEqual({ role: 'advisor', status: 'removed' });
    expect((await lawyer.ask(`/deals/${full.deal}`)).status).toBe(404);
  });

  test('go only to an active admin or broker without another part; a rejection changes nothing', async () => {
    const gone = await addMember('Gone', 'broker');
    await service.sql(`update members set status = 'removed' where user_id = $1`, [gone]);
    const suspended = await addMember('Suspended', 'broker');
    await service.sql('update users set suspended_at = app.now() where id = $1', [suspended]);
    const refused = [await addMember('Sam', 'staff'), full.people.outsider.userId, gone, suspended, brokerId, nowhere];
    for (const successor of refused) {
      expect(await remove(brokerId, successor)).toMatchObject({
        status: 409,
        body: { error: { code: 'not_a_broker' } },
      });
    }
    expect((await remove(brokerId, 'x')).status).toBe(400);
    await insert(service, 'members', {
      brokerage_id: full.brokerage,
      user_id: full.people.seller.userId,
      role: 'broker',
    });
    expect((await remove(brokerId, full.people.seller.userId)).body.error.code).toBe('successor_takes_part');
    const advisor = await addMember("The seller's advisor", 'broker');
    const [{ id: selling } = { id: '' }] = await service.sql<{ id: string }>(
      `select id from participants where deal_id = $1 and user_id = $2`,
      [full.deal, full.people.seller.userId],
    );
    await insert(service, 'participants', {
      deal_id: full.deal,
      user_id: advisor,
      role: 'advisor',
      status: 'active',
      advises: selling,
    });
    expect((await remove(brokerId, advisor)).body.error.code).toBe('successor_takes_part');
    expect(await part(brokerId)).toEqual({ role: 'broker', status: 'active' });
    expect((await broker.ask(`/deals/${full.deal}`)).body.caller_role).toBe('broker_assigned');
  });
});

test.each(['erased', 'made staff'])(
  'an admin who is %s has whom they invited before parts of deals, as in a removal',
  async (how) => {
    const other = await addMember('Ada', 'admin');
    const asOther = await signInAs(service, other);
    await insert(service, 'participants', { deal_id: full.deal, user_id: other, role: 'broker', status: 'active' });
    const invitation = { email: 'ines@people.example', name: 'Ines', role: 'staff', deliver: 'link' };
    const { body } = await asOther.ask(`/brokerages/${full.brokerage}/members`, invitation);
    const holder = await connect(service.connections.owner);
    try {
      await holder.query('begin');
      await holder.query(`select from members m where m.brokerage_id = $1 and m.person_id = $2 for update`, [
        full.brokerage,
        body.member.user_id,
      ]);
      const leaving =
        how === 'erased' ? erase(other) : admin.ask(member(other), { role: 'staff', successor_id: brokerId }, 'PATCH');
      await expect.poll(() => locksWaited(service)).toBe(1);
      await holder.query('select from participants where deal_id = $1 and user_id = $2 for update nowait', [
        full.deal,
        other,
      ]);
      await holder.query('commit');
      await leaving;
    } finally {
      await holder.end();
    }
    expect(await part(other)).toEqual({ role: 'broker', status: 'removed' });
  },
);

describe('deals of a member who stays', () => {
  const handOver = (successor_id: string, deal_ids: string[] | null = null, leaves = false, who = admin) =>
    who.ask(member(brokerId, '/hand-over'), { successor_id, deal_ids, leaves });
  /** Adds a deal that the broker runs, alone or beside an admin. */
  const addDeal = async (title: string, state = 'listed', beside = false) => {
    const deal = await insert(service, 'deals', { organization_id: full.brokerage, title, state });
    for (const user_id of beside ? [brokerId, adminId] : [brokerId])
      await insert(service, 'participants', { deal_id: deal, user_id, role: 'broker', status: 'active' });
    return deal;
  };
  const brokersOf = async (deal: string) =>
    (
      await service.sql<{ user_id: string }>(
        `select user_id from participants where deal_id = $1 and role = 'broker' and status = 'active'`,
        [deal],
      )
    ).map(({ user_id }) => user_id);

  test('are listed for admins: the open ones, with whether another member runs them', async () => {
    const [shared, alone] = [await addDeal('Shared', 'listed', true), await addDeal('Alone')];
    await addDeal('Over', 'closed');
    const answer = await admin.ask(member(brokerId, '/run-deals'));
    expect(answer.body).toEqual({
      items: [
        { id: alone, title: 'Alone', alone: true },
        { id: shared, title: 'Shared', alone: false },
        expect.objectContaining({ id: full.deal, alone: true }),
      ],
      count: 3,
    });
    expect((await broker.ask(member(brokerId, '/run-deals'))).body).toEqual({ items: [], count: 0 });
    expect((await admin.ask(member(nowhere, '/run-deals'))).status).toBe(404);
  });

  test('go to a colleague at once: the chosen ones, and the member keeps them all', async () => {
    const [one, two, over] = [await addDeal('One'), await addDeal('Two'), await addDeal('Over', 'closed')];
    const colleague = await addMember('Suki', 'broker');
    const answer = await handOver(colleague, [one, over, nowhere]);
    expect(answer).toMatchObject({ status: 200, body: { count: 1 } });
    expect((await brokersOf(one)).toSorted()).toEqual([brokerId, colleague].toSorted());
    for (const deal of [two, over, full.deal]) expect(await brokersOf(deal)).toEqual([brokerId]);
    expect((await (await signInAs(service, colleague)).ask(`/deals/${one}`)).body.caller_role).toBe('broker_assigned');
    expect(await recorded('deal.hand_over')).toMatchObject([{ user_id: adminId, deal_id: one }]);
    expect(await recorded('participant.remove')).toEqual([]);
    // Again, for all: one more broker for those who had none but the member.
    expect((await handOver(colleague)).body).toEqual({ count: 3 });
    expect(await recorded('deal.hand_over')).toHaveLength(3);
    expect((await broker.ask(`/deals/${full.deal}`)).status).toBe(200);
  });

  test('are left by the member if the admin says so, and the member stays in the brokerage', async () => {
    const [kept, left] = [await addDeal('Kept'), await addDeal('Left')];
    const colleague = await addMember('Suki', 'broker');
    expect((await handOver(colleague, [left], true)).body).toEqual({ count: 1 });
    expect(await brokersOf(left)).toEqual([colleague]);
    expect((await broker.ask(`/deals/${left}`)).status).toBe(404);
    expect((await broker.ask(`/deals/${kept}`)).status).toBe(200);
    expect(await recorded('participant.remove')).toMatchObject([{ user_id: adminId, deal_id: left }]);
    expect((await broker.ask(`/brokerages/${full.brokerage}/members`)).status).toBe(200);
  });

  test('are handed over by admins only, to another active admin or broker with no other part in them', async () => {
    const colleague = await addMember('Suki', 'broker');
    const seller = full.people.seller.userId;
    await insert(service, 'members', { brokerage_id: full.brokerage, user_id: seller, role: 'broker' });
    expect((await handOver(colleague, null, false, broker)).status).toBe(403);
    const outsider = await signInAs(service, full.people.outsider.userId);
    expect((await handOver(colleague, null, false, outsider)).status).toBe(404);
    for (const refused of [await addMember('Sam', 'staff'), full.people.outsider.userId, brokerId, nowhere])
      expect((await handOver(refused)).body.error?.code, refused).toBe('not_a_broker');
    expect((await handOver(seller)).body.error.code).toBe('successor_takes_part');
    expect((await handOver(colleague, [])).status).toBe(400);
    expect(await brokersOf(full.deal)).toEqual([brokerId]);
    expect(await recorded('deal.hand_over')).toEqual([]);
  });

  test('go to the successor when the member becomes staff: those without another broker', async () => {
    const shared = await addDeal('Shared', 'listed', true);
    const colleague = await addMember('Suki', 'broker');
    const become = (role: string, successor_id: string) => admin.ask(member(brokerId), { role, successor_id }, 'PATCH');
    expect((await become('broker', colleague)).status).toBe(400);
    expect((await become('staff', nowhere)).body.error.code).toBe('not_a_broker');
    expect(await brokersOf(full.deal)).toEqual([brokerId]);
    expect((await become('staff', colleague)).body).toMatchObject({ user_id: brokerId, role: 'staff' });
    expect(await brokersOf(full.deal)).toEqual([colleague]);
    expect(await brokersOf(shared)).toEqual([adminId]);
    expect(await recorded('deal.hand_over')).toMatchObject([{ user_id: adminId, deal_id: full.deal }]);
  });
});

describe('deals are found by their broker', () => {
  const found = async (who: SignedIn, value: string, more = '') => {
    const { items } = (await who.ask(`/deals?broker=${value}${more}&sort=title`)).body;
    return items.map(({ title }: { title: string }) => title);
  };
  const addDeal = async (title: string, brokers: readonly string[], state = 'listed') => {
    const deal = await insert(service, 'deals', { organization_id: full.brokerage, title, state });
    for (const user_id of brokers)
      await insert(service, 'participants', { deal_id: deal, user_id, role: 'broker', status: 'active' });
    return deal;
  };
  const without = async (who: SignedIn) => (await who.ask('/home')).body.deals_without_broker;
  const says = async (who: SignedIn, deal: string) => (await who.ask(`/deals/${deal}`)).body.without_broker;

  test('by admins in the brokerage, and by brokers among the deals that they run', async () => {
    const colleague = await addMember('Suki', 'broker');
    await addDeal('Both', [brokerId, colleague]);
    await addDeal('Hers', [colleague], 'diligence');
    const watched = await addDeal('Watched', [colleague]);
    await insert(service, 'participants', { deal_id: watched, user_id: brokerId, role: 'viewer', status: 'active' });
    expect(await found(admin, colleague)).toEqual(['Both', 'Hers', 'Watched']);
    expect(await found(admin, colleague, '&state=diligence')).toEqual(['Hers']);
    expect(await found(admin, colleague, '&search=bot')).toEqual(['Both']);
    expect(await found(admin, brokerId)).toEqual(['Both', 'Corner bakery']);
    expect(await found(broker, colleague)).toEqual(['Both']);
    for (const nobody of [nowhere, full.people.seller.userId]) expect(await found(admin, nobody)).toEqual([]);
    const seller = await signInAs(service, full.people.seller.userId);
    expect(await found(seller, brokerId)).toEqual([]);
    expect((await admin.ask('/deals?broker=somebody')).status).toBe(400);
  });

  test('or as deals without one, by admins: in the list, on the home page and on the deal', async () => {
    const outside = full.people.outsider.userId;
    const suspended = await addMember('Suspended', 'broker');
    await service.sql('update users set suspended_at = app.now() where id = $1', [suspended]);
    const nobodys = await addDeal('Nobody’s', []);
    const outsiders = await addDeal('Outsider’s', [outside]);
    await addDeal('Suspended', [suspended]);
    await addDeal('Over', [], 'closed');
    expect(await found(admin, 'none')).toEqual(['Nobody’s', 'Outsider’s', 'Suspended']);
    expect(await without(admin)).toBe(3);
    expect([await says(admin, nobodys), await says(admin, outsiders), await says(admin, full.deal)]).toEqual([
      true,
      true,
      false,
    ]);
    const guest = await signInAs(service, outside);
    for (const who of [guest, broker]) {
      expect(await found(who, 'none')).toEqual([]);
      expect(await without(who)).toBe(0);
    }
    expect(await says(guest, outsiders)).toBe(false);

    expect((await remove()).status).toBe(200);
    expect(await without(admin)).toBe(4);
    expect(await says(admin, full.deal)).toBe(true);
    await addDeal('Run again', [adminId]);
    expect(await without(admin)).toBe(4);
  });
});
