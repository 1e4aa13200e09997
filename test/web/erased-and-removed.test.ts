/** People are removed from deals and brokerages, and erased, concurrently: no transaction deadlocks with another. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { erasePerson } from '../../server/domain/accounts/erasure.ts';
import { mintToken, tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { deleteDueBrokerages, scheduledJobs } from '../../server/scheduled-jobs.ts';
import { openService, type TestService } from '../harness.ts';
import { atOnce, whileChanging } from '../locks.ts';
import { connect } from '../policies/scene.ts';
import { as, issueKey } from '../rest/scene.ts';
import { addBrokerage, addPerson, insert } from '../tools/scene.ts';
import { signInAs } from './person.ts';

let service: TestService;
beforeAll(async () => {
  // A single caller, and requests like one that has waited, get at most half of the connections.
  service = await openService({ scene: true, config: { poolSize: 4 } });
});
afterAll(() => service?.close());

async function erase(person: string) {
  const eraser = await connect(service.connections.owner);
  return erasePerson(eraser, person, async () => {}).finally(() => eraser.end());
}

/** Adds a brokerage with an admin and two brokers. Each broker is the only broker of one deal, and sees the other's. */
async function addBrokers() {
  const brokerage = await addBrokerage(service);
  const join = async (role: string, name: string) => {
    const user = await addPerson(service, name);
    await insert(service, 'members', { brokerage_id: brokerage, user_id: user, role });
    return user;
  };
  const admin = await signInAs(service, await join('admin', 'Ada'));
  const takePart = (deal_id: string, user_id: string, role: string) =>
    insert(service, 'participants', { deal_id, user_id, role, status: 'active' });
  const addBroker = async (name: string) => {
    const user = await join('broker', name);
    const deal = await insert(service, 'deals', {
      organization_id: brokerage,
      title: `${name}’s deal`,
      state: 'listed',
    });
    return { user, deal, part: await takePart(deal, user, 'broker') };
  };
  const brokers = [await addBroker('Bo'), await addBroker('Cy')] as const;
  await takePart(brokers[0].deal, brokers[1].user, 'viewer');
  await takePart(brokers[1].deal, brokers[0].user, 'viewer');
  const remove = (member: string, successor?: string) => {
    const more = successor === undefined ? '' : `?successor_id=${successor}`;
    return admin.ask(`/brokerages/${brokerage}/members/${member}${more}`, undefined, 'DELETE');
  };
  return { brokerage, admin, brokers, join, remove };
}

/** The brokers of these deals, in the order in which the deals were created. */
const brokersOf = (...deals: readonly string[]) =>
  service.sql(
    `select deal_id, user_id from participants where deal_id = any ($1) and role = 'broker' and status = 'active' order by deal_id`,
    [deals],
  );

test('a broker is erased while another broker removes them from a deal: both succeed', async () => {
  const { deal, brokerage, people } = service.scene;
  const outsider = people['outsider']!;
  const [part] = await service.sql<{ id: string }>(
    `insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active') returning id`,
    [deal, outsider],
  );
  await service.sql(`insert into members (brokerage_id, user_id, role, status) values ($1, $2, 'broker', 'active')`, [
    brokerage,
    outsider,
  ]);
  const broker = await signInAs(service, people['broker']!);
  // The erasure locks the deals of a broker after their participations.
  const [{ pseudonym }, { status, body }] = await atOnce(
    service,
    ['deals', 'id', deal],
    () => erase(outsider),
    () => broker.ask(`/deals/${deal}/participants/${part!.id}`, undefined, 'DELETE'),
  );
  expect(pseudonym).toMatch(/^Former participant /);
  expect([status, body.error.details]).toEqual([
    400,
    [{ path: '', message: `${pseudonym} has already been removed.` }],
  ]);
  expect(await service.sql('select status from participants where id = $1', [part!.id])).toEqual([
    { status: 'removed' },
  ]);
});

test('two brokers are removed with each other as successor: the second removal fails', async () => {
  const { brokers, remove } = await addBrokers();
  const [bo, cy] = brokers;
  const [first, second] = await atOnce(
    service,
    ['participants', 'id', bo.part],
    () => remove(bo.user, cy.user),
    () => remove(cy.user, bo.user),
  );
  expect([first.status, first.body]).toEqual([
    200,
    { deals: [{ id: bo.deal, title: 'Bo’s deal' }], count: 1, handed_over: true },
  ]);
  expect([second.status, second.body.error.code]).toEqual([409, 'not_a_broker']);
  expect(await brokersOf(bo.deal, cy.deal)).toEqual([
    { deal_id: bo.deal, user_id: cy.user },
    { deal_id: cy.deal, user_id: cy.user },
  ]);
});

test('two brokers of each other’s deals are removed with the same successor, who gets both deals', async () => {
  const { brokers, join, remove } = await addBrokers();
  const [bo, cy] = brokers;
  const di = await join('broker', 'Di');
  const removed = await atOnce(
    service,
    ['members', 'user_id', di],
    () => remove(bo.user, di),
    () => remove(cy.user, di),
  );
  expect(removed.map(({ status, body }) => [status, body])).toEqual([
    [200, { deals: [{ id: bo.deal, title: 'Bo’s deal' }], count: 1, handed_over: true }],
    [200, { deals: [{ id: cy.deal, title: 'Cy’s deal' }], count: 1, handed_over: true }],
  ]);
  expect(await brokersOf(bo.deal, cy.deal)).toEqual([
    { deal_id: bo.deal, user_id: di },
    { deal_id: cy.deal, user_id: di },
  ]);
});

test('both brokers of a deal are removed: the second removal reports the deal as left without a broker', async () => {
  const { brokers, remove } = await addBrokers();
  const [bo, cy] = brokers;
  await service.sql(`update participants set role = 'broker' where deal_id = $1`, [bo.deal]);
  const [first, second] = await atOnce(
    service,
    ['deals', 'id', bo.deal],
    () => remove(bo.user),
    () => remove(cy.user),
  );
  expect([first.status, first.body]).toEqual([200, { deals: [], count: 0, handed_over: false }]);
  expect([second.status, second.body]).toEqual([
    200,
    {
      deals: [
        { id: cy.deal, title: 'Cy’s deal' },
        { id: bo.deal, title: 'Bo’s deal' },
      ],
      count: 2,
      handed_over: false,
    },
  ]);
});

test('a broker is erased while an admin removes them from the brokerage: they are erased and removed', async () => {
  const { brokerage, brokers, remove } = await addBrokers();
  const [bo, cy] = brokers;
  await service.sql(`update participants set role = 'broker' where deal_id = $1`, [bo.deal]);
  const [{ pseudonym }, { status }] = await atOnce(
    service,
    ['deals', 'id', bo.deal],
    () => erase(bo.user),
    () => remove(bo.user, cy.user),
  );
  expect(pseudonym).toMatch(/^Former participant /);
  expect(status).toBe(403);
  expect(
    await service.sql('select status from members where brokerage_id = $1 and user_id = $2', [brokerage, bo.user]),
  ).toEqual([{ status: 'removed' }]);
});

test('a broker is erased while another is removed with them as successor: the removal fails', async () => {
  const { brokers, remove } = await addBrokers();
  const [bo, cy] = brokers;
  await service.sql(`update participants set role = 'broker' where deal_id = $1 and user_id = $2`, [cy.deal, bo.user]);
  const [{ pseudonym }, { status, body }] = await atOnce(
    service,
    ['deals', 'id', cy.deal],
    () => erase(cy.user),
    () => remove(bo.user, cy.user),
  );
  expect(pseudonym).toMatch(/^Former participant /);
  expect([status, body.error.code]).toEqual([409, 'not_a_broker']);
  expect(await brokersOf(bo.deal, cy.deal)).toEqual([
    { deal_id: bo.deal, user_id: bo.user },
    { deal_id: cy.deal, user_id: bo.user },
  ]);
});

test('an admin is erased while another admin is removed: both succeed', async () => {
  const { brokers, join, remove } = await addBrokers();
  const [bo] = brokers;
  const [left, erased] = [await join('admin', 'Di'), await join('admin', 'Ed')];
  for (const user of [left, erased])
    await insert(service, 'participants', { deal_id: bo.deal, user_id: user, role: 'broker', status: 'active' });
  const [{ status }, { pseudonym }] = await atOnce(
    service,
    ['deals', 'id', bo.deal],
    () => remove(left),
    () => erase(erased),
  );
  expect(status).toBe(200);
  expect(pseudonym).toMatch(/^Former participant /);
});

test('a broker is erased while an admin makes them staff: the role change finds no member', async () => {
  const { brokerage, brokers, admin } = await addBrokers();
  const [bo, cy] = brokers;
  await service.sql(`update participants set role = 'broker' where deal_id = $1 and user_id = $2`, [cy.deal, bo.user]);
  const [{ pseudonym }, { status }] = await atOnce(
    service,
    ['deals', 'id', cy.deal],
    () => erase(cy.user),
    () => admin.ask(`/brokerages/${brokerage}/members/${cy.user}`, { role: 'staff' }, 'PATCH'),
  );
  expect(pseudonym).toMatch(/^Former participant /);
  expect(status).toBe(404);
});

test('a member changes their e-mail address during their removal: pending invitations to deals are removed', async () => {
  const { brokers, join, remove } = await addBrokers();
  const person = await join('broker', 'Di');
  // Of the two invitations, the one with the later id is first in the table.
  const [earlier, later] = [randomUUID(), randomUUID()].toSorted();
  for (const [id, { deal }] of [
    [later, brokers[0]],
    [earlier, brokers[1]],
  ] as const)
    await insert(service, 'participants', { id, deal_id: deal, user_id: person, role: 'viewer', status: 'invited' });
  const { headers } = await signInAs(service, person);
  const token = mintToken();
  await service.sql('insert into vault.passwords (user_id, phc) values ($1, $2)', [
    person,
    `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`,
  ]);
  await service.sql('insert into vault.address_changes (user_id, digest, new_email) values ($1, $2, $3)', [
    person,
    tokenDigest(token),
    `${person}@else.example`,
  ]);
  const answers = await atOnce(
    service,
    ['participants', 'id', earlier!],
    () => remove(person),
    () =>
      fetch(`${service.origin}/api/auth/address/confirm`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      }),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(await service.sql(`select from participants where user_id = $1 and status <> 'removed'`, [person])).toEqual(
    [],
  );
});

describe.each<[string, (team: Awaited<ReturnType<typeof addBrokers>>) => Promise<{ status: number }>]>([
  ['removed', ({ brokers: [bo], remove }) => remove(bo.user)],
  [
    'made staff',
    ({ admin, brokerage, brokers: [bo] }) =>
      admin.ask(`/brokerages/${brokerage}/members/${bo.user}`, { role: 'staff' }, 'PATCH'),
  ],
])('a broker is %s while opening a deal', (_, end) => {
  const title = 'A last deal';
  /** Adds a team; returns with it the ways to open a deal and the status with which the person reads it. */
  async function addOpeners(how: 'by themselves' | 'with a key that they made') {
    const team = await addBrokers();
    const { brokerage: id, brokers } = team;
    const [{ user }] = brokers;
    const bo = await signInAs(service, user);
    // A key opens deals only for an admin who created it.
    if (how === 'with a key that they made')
      await service.sql(`update members set role = 'admin' where brokerage_id = $1 and user_id = $2`, [id, user]);
    const key = await issueKey(service, { id, admin: user }, { scopes: ['deals:read', 'deals:write'] });
    const input = { industry: null, location: null, summary: null, asking_price: null, currency: 'USD' };
    return {
      ...team,
      seen: async (deal: string) => (await bo.ask(`/deals/${deal}`)).status,
      'by themselves': () => bo.ask('/deals', { organization_id: id, title, ...input }),
      'with a key that they made': () => as(key, service.restUrl)('POST', '/deals', { title }),
    };
  }
  const opened = (brokerage: string) =>
    service.sql<{ id: string; status: string }>(
      `select d.id, p.status from participants p join deals d on d.id = p.deal_id
       where d.organization_id = $1 and d.title = $2`,
      [brokerage, title],
    );

  describe.each(['by themselves', 'with a key that they made'] as const)('%s', (how) => {
    test('they are removed from the deal as well if it was opened first', async () => {
      const team = await addOpeners(how);
      const { brokerage, seen } = team;
      // The request to open a deal waits for the brokerage's row after it has checked that the person is a broker
      // there.
      const [, { status }] = await atOnce(service, ['brokerages', 'id', brokerage], team[how], () => end(team));
      expect(status).toBe(200);
      const [deal, ...more] = await opened(brokerage);
      expect([deal?.status, ...more]).toEqual(['removed']);
      expect(await seen(deal!.id)).toBe(404);
    });

    test('the deal cannot be opened if their role ended first', async () => {
      const team = await addOpeners(how);
      const { brokerage, brokers } = team;
      const answers = await atOnce(service, ['members', 'user_id', brokers[0].user], () => end(team), team[how]);
      expect(answers[0].status).toBe(200);
      // The key of a removed person has ended, and that of a staff member cannot open deals.
      expect([401, 403, 409]).toContain(answers[1].status);
      expect(await opened(brokerage)).toEqual([]);
    });
  });
});

describe('an invitation during the erasure of the invited person', () => {
  /** The accounts that have an address, and the people invited under that address. */
  async function known(email: string) {
    const accounts = await service.sql<{ id: string }>('select id from users where email = $1', [email]);
    const named = await service.sql<{ user_id: string }>(
      `select user_id from participants where invited_email = $1 and status = 'invited'
       union all select user_id from members where invited_email = $1 and status = 'invited'`,
      [email],
    );
    return { accounts: accounts.map(({ id }) => id), invited: named.map(({ user_id }) => user_id) };
  }

  test.each([
    ['to a deal', ({ deal }: { deal: string }) => `/deals/${deal}/participants`, { role: 'buyer', advises: null }],
    [
      'to a brokerage',
      ({ brokerage }: { brokerage: string }) => `/brokerages/${brokerage}/members`,
      { role: 'broker' },
    ],
  ])('%s creates a new account for the address, separate from the erased one', async (_, path, role) => {
    const { brokers, brokerage, admin } = await addBrokers();
    const [bo, cy] = brokers;
    const person = await addPerson(service, 'Eve');
    const [{ email }] = (await service.sql<{ email: string }>('select email from users where id = $1', [person])) as [
      { email: string },
    ];
    const part = await insert(service, 'participants', {
      deal_id: cy.deal,
      user_id: person,
      role: 'viewer',
      status: 'active',
    });
    const [{ pseudonym }, { status }] = await atOnce(
      service,
      ['participants', 'id', part],
      () => erase(person),
      () => admin.ask(path({ deal: bo.deal, brokerage }), { email, name: 'Eve', deliver: 'link', ...role }),
    );
    expect(pseudonym).toMatch(/^Former participant /);
    expect(status).toBe(201);
    const { accounts, invited } = await known(email);
    expect(accounts).toHaveLength(1);
    expect(accounts).not.toContain(person);
    expect(invited).toEqual(accounts);
  });
});

test('a person accepts an invitation to a brokerage while invited again: the second invitation is refused', async () => {
  const { brokerage, admin } = await addBrokers();
  const person = await addPerson(service, 'Eve');
  await insert(service, 'members', { brokerage_id: brokerage, user_id: person, role: 'broker', status: 'invited' });
  const link = mintToken();
  await service.sql(
    'insert into vault.invitations (digest, user_id, brokerage_id, mailed) values ($1, $2, $3, false)',
    [tokenDigest(link), person, brokerage],
  );
  const [{ email }] = (await service.sql<{ email: string }>('select email from users where id = $1', [person])) as [
    { email: string },
  ];
  const { headers } = await signInAs(service, person);
  const [accepted, again] = await atOnce(
    service,
    ['members', 'user_id', person],
    () =>
      fetch(`${service.origin}/api/auth/invitation/join`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ token: link }),
      }),
    () => admin.ask(`/brokerages/${brokerage}/members`, { email, name: 'Eve', role: 'staff', deliver: 'link' }),
  );
  expect([accepted.status, again.status, again.body.error.code]).toEqual([200, 409, 'already_member']);
  expect(await service.sql('select role, status from members where user_id = $1', [person])).toEqual([
    { role: 'broker', status: 'active' },
  ]);
});

test('a person is invited to a brokerage while their only other brokerage is deleted: the account remains', async () => {
  const { brokerage, admin } = await addBrokers();
  const deleted = await addBrokerage(service);
  const person = await addPerson(service, 'Eve');
  await insert(service, 'members', { brokerage_id: deleted, user_id: person, role: 'staff' });
  await service.sql('insert into vault.brokerage_deletions (brokerage_id, due_at) values ($1, app.now())', [deleted]);
  const [{ email }] = (await service.sql<{ email: string }>('select email from users where id = $1', [person])) as [
    { email: string },
  ];
  const [{ status }] = await atOnce(
    service,
    ['brokerages', 'id', brokerage],
    () => admin.ask(`/brokerages/${brokerage}/members`, { email, name: 'Eve', role: 'staff', deliver: 'link' }),
    () => deleteDueBrokerages(service.services),
  );
  expect(status).toBe(201);
  expect(await service.sql('select slug from brokerages where id = $1', [deleted])).toEqual([]);
  expect(await service.sql('select erased_at, email from users where id = $1', [person])).toEqual([
    { erased_at: null, email },
  ]);
});

test('an erased person cannot be invited again from the list of former participants', async () => {
  const { brokers, admin } = await addBrokers();
  const [bo] = brokers;
  const person = await addPerson(service, 'Eve');
  const part = await insert(service, 'participants', {
    deal_id: bo.deal,
    user_id: person,
    role: 'viewer',
    status: 'active',
  });
  await erase(person);
  const { status, body } = await admin.ask(`/deals/${bo.deal}/participants/${part}/invitation`, { deliver: 'link' });
  expect([status, body.error.code]).toEqual([409, 'address_not_taken']);
  expect(await service.sql('select status from participants where id = $1', [part])).toEqual([{ status: 'removed' }]);
});

test('data written by requests during the person’s erasure is deleted by the next run of purge_sign_in', async () => {
  const { deal } = service.scene;
  const written: [method: string, path: string, body: object | undefined, left: string][] = [
    ['GET', `/deals/${deal}/report.xlsx`, undefined, 'audit_records where address is not null and user_id'],
    [
      'PUT',
      '/notifications/settings',
      { time_zone: 'Europe/Paris', digest_hour: 8 },
      'vault.notification_settings where user_id',
    ],
    ['PUT', '/notifications/choices/question_asked', { delivery: 'daily' }, 'vault.notification_choices where user_id'],
    ['PUT', `/deals/${deal}/notifications`, { delivery: 'daily' }, 'vault.deal_notification_choices where user_id'],
  ];
  const people: string[] = [];
  const left = async () => {
    const counts = await Promise.all(
      written.map(([, , , of]) => service.sql(`select from ${of} = any ($1)`, [people])),
    );
    return counts.map(({ length }) => length);
  };
  for (const [method, path, body] of written) {
    const person = await addPerson(service, 'Eve');
    people.push(person);
    await insert(service, 'participants', { deal_id: deal, user_id: person, role: 'seller', status: 'active' });
    const { headers } = await signInAs(service, person);
    const { status } = await whileChanging(service, [[`select app.erase_person($1, 'operator', null)`, [person]]], () =>
      fetch(`${service.origin}/api/web${path}`, {
        method,
        headers: { ...headers, 'content-type': 'application/json' },
        body: body && JSON.stringify(body),
      }),
    );
    expect(status, path).toBeLessThan(300);
  }
  expect(await left()).toEqual([1, 1, 1, 1]);
  for (const { name, job } of scheduledJobs) if (name === 'purge_sign_in') await service.database.run(job());
  expect(await left()).toEqual([0, 0, 0, 0]);
});
