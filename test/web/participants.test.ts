/** Inviting people to a deal, renewing invitations, removing people; answering an invitation. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rows } from '../../server/database/statement.ts';
import { enterWithApiKey, mintApiKey } from '../../server/domain/clients/api-keys.ts';
import { lookUp, mailedToken, newPassword, Visitor } from '../auth/scene.ts';
import { atOnce, whileChanging } from '../locks.ts';
import { as, issueKey } from '../rest/scene.ts';
import { addToken, send } from '../tools/scene.ts';
import { signInAs, type Answer } from './person.ts';
import { openScene, trail, type WebScene } from './scene.ts';

let web: WebScene;
let path: string;

beforeAll(async () => {
  web = await openScene({ config: { poolSize: 4 } });
  path = `/deals/${web.scene.deal}/participants`;
});
afterAll(() => web?.close());

const person = (email: string, role = 'buyer', advises: string | null = null) => ({
  email,
  name: 'New Person',
  role,
  advises,
});

/** Opens an invitation link without being signed in; returns the invitation. */
async function follow({ body }: Answer) {
  const token = new URLSearchParams(new URL(body.invitation_url).hash.slice(1)).get('token');
  const response = await fetch(`${web.service.origin}/api/auth/invitation`, lookUp(token));
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('API keys of the brokerage', () => {
  const keys = () => `/deals/${web.scene.deal}/keys`;
  const admits = async (caller: string, admitted: unknown) => (await web.as(caller)).ask(keys(), { admitted }, 'PUT');
  /** The titles of the deals that an API key of the brokerage sees. */
  const seenByKey = () => web.service.services.database.together(enterWithApiKey(digest), titles());
  const titles = rows<{ title: string }>('titles_of_deals', 'select title from deals order by title');
  const { digest } = mintApiKey('live');

  beforeAll(async () => {
    await web.service.sql('update deals set keys_admitted = false');
    await web.service.sql(`select app.issue_api_key($1, $2, 'Accounting', 'live', $3, null, null, $4, '0000')`, [
      web.scene.brokerage,
      web.scene.people['admin'],
      ['contacts:read', 'offers:read', 'deals:read'],
      digest,
    ]);
    for (const [name, scopes] of [
      ['Contacts alone', '{contacts:read,events:read}'],
      ['Revoked', '{deals:read}'],
    ])
      await web.service.sql(`select app.issue_api_key($1, $2, $3, 'live', $4, null, null, $5, '0000')`, [
        web.scene.brokerage,
        web.scene.people['admin'],
        name,
        scopes,
        mintApiKey('live').digest,
      ]);
    await web.service.sql(`update api_keys set revoked_at = app.now() where name = 'Revoked'`);
  });

  test('are admitted to the deal and shut out by its broker, who also sees their list', async () => {
    const key = expect.objectContaining({
      name: 'Accounting',
      environment: 'live',
      scopes: ['offers:read', 'deals:read'],
      created_by_name: 'admin',
      last_used_at: null,
    });
    const before = await (await web.as('broker')).ask(keys());
    expect(before).toMatchObject({ status: 200, body: { admitted: false } });
    expect(before.body.keys).toContainEqual(key);
    const names = before.body.keys.map(({ name }: { name: string }) => name);
    expect(names).not.toContain('Contacts alone');
    expect(names).not.toContain('Revoked');
    expect((await seenByKey())[1]).toEqual([]);

    expect(await admits('broker', true)).toMatchObject({ status: 200, body: { admitted: true } });
    expect((await seenByKey())[1]).toEqual([{ title: 'Corner bakery' }]);
    expect(await admits('broker', true)).toMatchObject({ status: 200, body: { admitted: true } });
    expect(await admits('broker', false)).toMatchObject({ status: 200, body: { admitted: false } });
    expect((await seenByKey())[1]).toEqual([]);
    // Switching to the present state is not recorded again.
    for (const action of ['deal.admit_keys', 'deal.shut_out_keys'])
      expect(await trail(web.service, action)).toMatchObject([
        { user_id: web.scene.people['broker'], deal_id: web.scene.deal, outcome: 'done' },
      ]);
  });

  test('are visible to an admin, who cannot admit them; other participants get 403, outsiders 404', async () => {
    expect(await (await web.as('admin')).ask(keys())).toMatchObject({ status: 200, body: { admitted: false } });
    expect((await admits('admin', true)).status).toBe(403);
    for (const caller of ['seller', 'exclusive buyer', "broker's advisor", 'viewer']) {
      expect([caller, (await (await web.as(caller)).ask(keys())).status]).toEqual([caller, 403]);
      expect([caller, (await admits(caller, true)).status]).toEqual([caller, 403]);
    }
    for (const caller of ['colleague', 'outsider', 'removed']) {
      expect([caller, (await (await web.as(caller)).ask(keys())).status]).toEqual([caller, 404]);
      expect([caller, (await admits(caller, true)).status]).toEqual([caller, 404]);
    }
    for (const wrong of [null, 'yes', 1]) expect((await admits('broker', wrong)).status).toBe(400);
    expect(await web.service.sql('select from deals where keys_admitted')).toEqual([]);
  });

  test('are omitted from the list of a hundred once their issuer has left', async () => {
    const { brokerage, people } = web.scene;
    await web.service.sql(
      `select app.issue_api_key($1, $2, 'Left behind', 'live', '{deals:read}', null, null, sha256(n::text::bytea), '0000') from generate_series(1, 100) n`,
      [brokerage, people['admin']],
    );
    await web.service.sql(
      `update vault.api_key_digests set issued_by = $1 where key_id in (select id from api_keys where name = 'Left behind')`,
      [people['outsider']],
    );
    const { body } = await (await web.as('broker')).ask(keys());
    expect(body.keys.map(({ name }: { name: string }) => name)).toEqual(['Accounting']);
  });

  test('appear as a key in the activity for brokers and admins, and as the brokerage for others', async () => {
    const { brokerage, people, deal } = web.scene;
    await admits('broker', true);
    const scopes = ['deals:read', 'conditions:read', 'conditions:write'] as const;
    const key = await issueKey(web.service, { id: brokerage, admin: people['admin']! }, { scopes });
    const condition = { name: 'Lease assigned', deadline: null };
    expect((await as(key, web.service.restUrl)('POST', `/deals/${deal}/conditions`, condition)).status).toBe(201);
    await admits('broker', false);
    for (const [caller, actor] of [
      ['broker', 'key'],
      ['admin', 'key'],
      ['seller', 'brokerage'],
      ['exclusive buyer', 'brokerage'],
    ] as const) {
      const { activity } = (await (await web.as(caller)).ask('/home')).body;
      const { items } = (await (await web.as(caller)).ask(`/deals/${deal}/activity`)).body;
      for (const told of [activity, items]) {
        const found = told.find((one: { named: { name: string } | null }) => one.named?.name === 'Lease assigned');
        expect([caller, found]).toMatchObject([caller, { user_id: null, user_name: null, actor }]);
      }
    }
    for (const shown of ['/home', `/deals/${deal}/activity`])
      expect(JSON.stringify((await (await web.as('other buyer')).ask(shown)).body)).not.toContain('Lease assigned');
  });

  test('do not change the deal for other participants when admitted', async () => {
    const buyer = await web.as('exclusive buyer');
    const before = await buyer.ask(`/deals/${web.scene.deal}`);
    await admits('broker', true);
    expect(await buyer.ask(`/deals/${web.scene.deal}`)).toEqual(before);
    await admits('broker', false);
  });
});

describe('an invitation', () => {
  test('is sent by brokers of the deal and admins of its brokerage, and its link works', async () => {
    for (const caller of ['broker', 'admin']) {
      const invited = await (await web.as(caller)).ask(path, person(`By.${caller}@example.test`));
      expect(invited).toMatchObject({
        status: 201,
        body: {
          mailed: false,
          participant: {
            email: `by.${caller}@example.test`,
            role: 'buyer',
            side: 'buyer',
            status: 'invited',
            advises: null,
          },
        },
      });
      expect(await follow(invited)).toMatchObject({
        status: 200,
        body: { email: `by.${caller}@example.test`, kind: 'deal', deal_title: 'Corner bakery', has_password: null },
      });
      const [record] = await trail(web.service, 'participant.invite');
      expect(record).toMatchObject({
        user_id: web.scene.people[caller],
        subject_id: invited.body.participant.id,
        details: { role: 'buyer' },
      });
    }
    for (const caller of ['seller', 'exclusive buyer', "broker's advisor", 'viewer']) {
      const refused = await (await web.as(caller)).ask(path, person('nobody@example.test'));
      expect([caller, refused.status, refused.body.error.code]).toEqual([caller, 403, 'denied']);
    }
    expect(await web.service.sql(`select from users where email = 'nobody@example.test'`)).toEqual([]);
  });

  test('links an advisor to the advised participant, and is rejected for other combinations', async () => {
    const broker = await web.as('broker');
    const { participants } = web.scene;
    const advisor = await broker.ask(path, person('counsel@example.test', 'advisor', participants['seller']));
    expect(advisor.body.participant).toMatchObject({
      role: 'advisor',
      side: 'seller',
      advises: participants['seller'],
    });
    for (const [role, advises] of [
      ['advisor', null],
      ['buyer', participants['seller']!],
    ] as const) {
      const refused = await broker.ask(path, person('x@example.test', role, advises));
      expect(refused).toMatchObject({ status: 400, body: { error: { details: [{ path: 'advises' }] } } });
    }
    const chain = await broker.ask(path, person('x@example.test', 'advisor', participants["seller's advisor"]));
    expect(chain.body.error.code).toBe('advisor_of_advisor');
    // Who waits as an advisor of somebody else waits in the same role.
    const other = await broker.ask(path, person('counsel@example.test', 'advisor', participants['viewer']));
    expect(other).toMatchObject({ status: 409, body: { error: { code: 'already_invited' } } });
    expect(other.body.error.message).toContain(
      'waiting already, in another role or to advise somebody else: withdraw it',
    );
    const nobody = await broker.ask(path, person('x@example.test', 'advisor', randomUUID()));
    expect(nobody).toMatchObject({ status: 400, body: { error: { details: [{ path: 'advises' }] } } });
    // The error does not reveal whether such an advisor exists on another deal.
    const [elsewhere] = await web.service.sql<{ id: string }>(
      `with advised as (insert into participants (deal_id, user_id, role, status) values ($1, $2, 'seller', 'active') returning id, deal_id)
       insert into participants (deal_id, user_id, role, advises) select deal_id, $3, 'advisor', id from advised returning id`,
      [
        web.scene.records['deals/a deal of another brokerage'],
        web.scene.people['outsider'],
        web.scene.people['viewer'],
      ],
    );
    expect(await broker.ask(path, person('x@example.test', 'advisor', elsewhere!.id))).toEqual(nobody);
  });

  test.each(['who is advised', 'the advisor'])(
    'is refused for an advisor of an advisor, also with concurrent invitations: first %s',
    async (first) => {
      const broker = await web.as('broker');
      const { participants, deal } = web.scene;
      const email = `between.${first.length}@example.test`;
      const { body } = await broker.ask(path, person(email));
      // Only an invitation whose link has expired is replaced by one in another role.
      const { id } = body.participant;
      await web.service.sql('update vault.invitations set expires_at = app.now() where participant_id = $1', [id]);
      const becomeAdvisor = () => broker.ask(path, person(email, 'advisor', participants['seller']));
      const beAdvised = () => broker.ask(path, person(`to.${email}`, 'advisor', id));
      const [one, other] = first === 'the advisor' ? [beAdvised, becomeAdvisor] : [becomeAdvisor, beAdvised];
      const answers = await atOnce(web.service, ['deals', 'id', deal], one, other);
      expect(answers.map(({ status, body: { error } }) => [status, error?.code])).toEqual([
        [201, undefined],
        [409, 'advisor_of_advisor'],
      ]);
    },
  );

  test('is refused for the advisor of a participant who is removed meanwhile', async () => {
    const broker = await web.as('broker');
    const { body } = await broker.ask(path, person('leaves@example.test'));
    const { id } = body.participant;
    const answer = await whileChanging(
      web.service,
      [[`update participants set status = 'removed' where id = $1`, [id]]],
      () => broker.ask(path, person('counsel@leaves.test', 'advisor', id)),
    );
    expect([answer.status, answer.body.error?.code]).toEqual([409, 'advised_removed']);
  });

  describe('of an admin to a deal of their brokerage, during their removal from the brokerage,', () => {
    async function addLeaver() {
      const email = `${randomUUID()}@example.test`;
      const [leaver] = await web.service.sql<{ id: string }>(
        `with u as (insert into users (email, name) values ($2, 'Leaver') returning id)
         insert into members (brokerage_id, user_id, role) select $1, id, 'admin' from u returning user_id as id`,
        [web.scene.brokerage, email],
      );
      const { id } = leaver!;
      const { ask } = await signInAs(web.service, id);
      return { id, ask, inviteThemself: () => ask(path, person(email, 'broker')) };
    }
    const parts = (user: string) =>
      web.service.sql<{ id: string }>('select id from participants where deal_id = $1 and user_id = $2', [
        web.scene.deal,
        user,
      ]);

    test('is refused if the removal is first', async () => {
      const { id, inviteThemself } = await addLeaver();
      const removal = [`update members set status = 'removed' where user_id = $1`, [id]] as const;
      const { status, body } = await whileChanging(web.service, [removal], inviteThemself);
      expect([status, body.error?.code]).toEqual([403, 'denied']);
      expect(await parts(id)).toEqual([]);
    });

    test('cannot be accepted if it was sent first', async () => {
      const { id, ask, inviteThemself } = await addLeaver();
      const admin = await web.as('admin');
      const [invited, removed] = await atOnce(web.service, ['deals', 'id', web.scene.deal], inviteThemself, () =>
        admin.ask(`/brokerages/${web.scene.brokerage}/members/${id}`, undefined, 'DELETE'),
      );
      expect([invited.status, removed.status]).toEqual([201, 200]);
      const [part] = await parts(id);
      expect((await ask(`/invitations/${part!.id}/accept`, {})).status).toBe(404);
      expect((await ask(`/deals/${web.scene.deal}`)).status).toBe(404);
      expect((await follow(invited)).status).toBe(410);
    });
  });

  test('is refused for existing participants, and rejected with its invalid fields', async () => {
    const broker = await web.as('broker');
    expect((await broker.ask(path, person('seller@example.test'))).body.error.code).toBe('already_participant');
    const lines = await broker.ask(path, { ...person('lines@example.test'), name: 'Ann\nBcc: everybody@example.test' });
    expect(lines.body.error.details).toEqual([{ path: 'name', message: 'A name must not contain line breaks.' }]);
    const turned = await broker.ask(path, { ...person('lines@example.test'), name: 'Ann\u202eknab' });
    expect(turned.body.error.details).toMatchObject([{ path: 'name' }]);
    const faulty = await broker.ask(path, { email: 'not an address', name: '', role: 'owner', advises: null });
    expect(faulty.status).toBe(400);
    expect(faulty.body.error.details.map((fault: { path: string }) => fault.path)).toEqual(
      expect.arrayContaining(['email', 'name', 'role']),
    );
  });

  test('is renewed with a new link that invalidates the earlier one, also for a removed participant', async () => {
    const broker = await web.as('broker');
    const first = await broker.ask(path, person('again@example.test', 'viewer'));
    const { id } = first.body.participant;
    const second = await broker.ask(`${path}/${id}/invitation`, {});
    expect(second.status).toBe(200);
    expect((await follow(first)).status).toBe(410);
    expect((await follow(second)).status).toBe(200);

    await broker.ask(`${path}/${id}`, undefined, 'DELETE');
    expect((await follow(second)).status).toBe(410);
    const third = await broker.ask(`${path}/${id}/invitation`, {});
    expect(third.body.participant).toMatchObject({ id, status: 'invited', role: 'viewer' });
    expect((await follow(third)).status).toBe(200);

    const active = await broker.ask(`${path}/${web.scene.participants['seller']}/invitation`, {});
    expect(active.body.error.code).toBe('already_participant');
    expect((await broker.ask(`${path}/${randomUUID()}/invitation`, {})).status).toBe(404);
    expect((await (await web.as('seller')).ask(`${path}/${id}/invitation`, {})).status).toBe(403);
    // Other buyers' participations do not exist for a buyer.
    expect((await (await web.as('other buyer')).ask(`${path}/${id}/invitation`, {})).status).toBe(404);
  });

  test('is accepted only by the invited person, and only once', async () => {
    const participation = web.scene.participants['invited']!;
    const invited = await web.as('invited');
    expect((await invited.ask('/home')).body.invitations).toMatchObject([
      { participant_id: participation, role: 'buyer', brokerage_name: 'Scene Brokers', deal_title: 'Corner bakery' },
    ]);
    expect((await (await web.as('outsider')).ask(`/invitations/${participation}/accept`, {})).status).toBe(404);
    expect((await invited.ask(`/deals/${web.scene.deal}`)).status).toBe(404);
    const accepted = await invited.ask(`/invitations/${participation}/accept`, {});
    expect(accepted).toMatchObject({ status: 200, body: { deal_id: web.scene.deal } });
    expect((await invited.ask(`/deals/${web.scene.deal}`)).status).toBe(200);
    expect((await invited.ask(`/invitations/${participation}/decline`, {})).status).toBe(404);
    expect(await trail(web.service, 'invitation.accept')).toMatchObject([
      { user_id: web.scene.people['invited'], deal_id: web.scene.deal, outcome: 'done' },
    ]);
  });

  test('is hidden from an account created with a stranger’s link until its mailbox is proven', async () => {
    const email = 'careful@example.test';
    const invited = (await (await web.as('broker')).ask(path, person(email))).body.participant.id;
    // A broker of another brokerage invites the same address, and keeps the link.
    const [{ id: deal } = { id: '' }] = await web.service.sql<{ id: string }>(
      `insert into deals (organization_id, title) select id, 'A lure' from brokerages where slug = 'elsewhere' returning id`,
    );
    const [{ id: thief } = { id: '' }] = await web.service.sql<{ id: string }>(
      `insert into users (email, name) values ('thief@example.test', 'Thief') returning id`,
    );
    await web.service.sql(
      `insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active')`,
      [deal, thief],
    );
    const lure = await (await signInAs(web.service, thief)).ask(`/deals/${deal}/participants`, person(email));
    const token = new URLSearchParams(new URL(lure.body.invitation_url).hash.slice(1)).get('token');
    const visitor = new Visitor(web.service.origin);
    const opened = await visitor.json('/api/auth/invitation/accept', {
      token,
      name: 'Careful',
      password: newPassword(),
    });
    expect(opened.status).toBe(200);
    const seen = async () =>
      ((await (await visitor.send('/api/web/home')).json()) as { invitations: { participant_id: string }[] })
        .invitations;
    const answer = async (how: string) =>
      (await visitor.change<unknown>(`/api/web/invitations/${invited}/${how}`, {})).status;
    expect(await seen()).toEqual([]);
    expect([await answer('accept'), await answer('decline')]).toEqual([404, 404]);
    expect((await visitor.send(`/api/web/deals/${web.scene.deal}`)).status).toBe(404);

    // They are known to a brokerage whose admin has made them a member.
    const [{ id: user } = { id: '' }] = await web.service.sql<{ id: string }>('select id from users where email = $1', [
      email,
    ]);
    const member = [web.scene.brokerage, user];
    await web.service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'staff')`, member);
    expect(await seen()).toMatchObject([{ participant_id: invited }]);
    await web.service.sql('delete from members where brokerage_id = $1 and user_id = $2', member);
    expect(await seen()).toEqual([]);

    // A person with access to the mailbox takes the account over by resetting its password, and then sees the
    // invitation.
    await visitor.json('/api/auth/reset', { email });
    await expect.poll(() => mailedToken(web.service, 'password')).not.toBe('');
    const password = newPassword();
    await visitor.json('/api/auth/reset/confirm', { token: await mailedToken(web.service, 'password'), password });
    expect((await visitor.signIn({ email, password })).status).toBe(200);
    expect(await seen()).toMatchObject([{ participant_id: invited }]);
    expect(await answer('accept')).toBe(200);
  });

  test('succeeds for 24 people at once', async () => {
    const broker = await web.as('broker');
    const together = Array.from({ length: 24 }, (_, nth) => broker.ask(path, person(`together-${nth}@example.test`)));
    const statuses = (await Promise.all(together)).map(({ status }) => status);
    expect(statuses).toEqual(Array.from({ length: 24 }, () => 201));
  });

  test('is listed even among many invitations from another brokerage', async () => {
    const [{ id: flooded } = { id: '' }] = await web.service.sql<{ id: string }>(
      `insert into users (email, name) values ('flooded@example.test', 'Flooded') returning id`,
    );
    const invite = `insert into participants (deal_id, user_id, role) select id, $1, 'buyer' from`;
    await web.service.sql(`${invite} deals where id = $2`, [flooded, web.scene.deal]);
    await web.service.sql(
      `with lures as (insert into deals (organization_id, title)
         select b.id, 'Lure ' || n from brokerages b, generate_series(1, 30) n where b.slug = 'elsewhere' returning id)
       ${invite} lures`,
      [flooded],
    );
    const { invitations } = (await (await signInAs(web.service, flooded)).ask('/home')).body;
    const titles = (invitations as { deal_title: string }[]).map(({ deal_title }) => deal_title);
    expect([titles.length, titles.filter((title) => title === 'Corner bakery').length]).toEqual([21, 1]);
  });

  test('can be declined, which invalidates its link', async () => {
    const broker = await web.as('broker');
    const invited = await broker.ask(path, person('outsider@example.test'));
    const { id, link_until } = invited.body.participant;
    const left = Date.parse(link_until) - web.service.clock.now().getTime();
    expect(Math.round(left / (24 * 60 * 60_000))).toBe(14);
    const declined = await (await web.as('outsider')).ask(`/invitations/${id}/decline`, {});
    expect(declined.status).toBe(204);
    expect((await follow(invited)).status).toBe(410);
    const page = await broker.ask(`/deals/${web.scene.deal}`);
    expect(page.body.participants.find((one: { id: string }) => one.id === id)).toMatchObject({ status: 'removed' });
    expect((await (await web.as('outsider')).ask('/home')).body.invitations).toEqual([]);
  });
});

describe('a participant', () => {
  test('is removed by a broker and loses access to the deal at once, as do their advisors', async () => {
    const broker = await web.as('broker');
    const other = web.scene.participants['other buyer']!;
    expect((await (await web.as('seller')).ask(`${path}/${other}`, undefined, 'DELETE')).status).toBe(403);
    expect((await (await web.as('new buyer')).ask(`${path}/${other}`, undefined, 'DELETE')).status).toBe(404);
    const page = await broker.ask(`${path}/${other}`, undefined, 'DELETE');
    expect(page.body.participants.find((one: { id: string }) => one.id === other)).toMatchObject({ status: 'removed' });
    expect((await (await web.as('other buyer')).ask(`/deals/${web.scene.deal}`)).status).toBe(404);
    expect((await (await web.as("other buyer's advisor")).ask(`/deals/${web.scene.deal}`)).status).toBe(404);
    expect((await broker.ask(`${path}/${other}`, undefined, 'DELETE')).status).toBe(400);
    expect((await broker.ask(`${path}/${randomUUID()}`, undefined, 'DELETE')).status).toBe(404);
    const removed = (await trail(web.service, 'participant.remove')).slice(0, 2).map(({ subject_id }) => subject_id);
    expect(new Set(removed)).toEqual(new Set([other, web.scene.participants["other buyer's advisor"]]));
  });

  test('is removed together with their advisors, who do not return with them', async () => {
    const broker = await web.as('broker');
    const id = web.scene.participants['new buyer']!;
    const invite = async (caller: string, role: string, advises: string | null = null) => {
      const [{ email } = { email: '' }] = await web.service.sql<{ email: string }>(
        'select email from users where id = $1',
        [web.scene.people[caller]],
      );
      const { participant } = (await broker.ask(path, person(email, role, advises))).body;
      return participant.id as string;
    };
    const accept = async (caller: string, part: string) =>
      expect((await (await web.as(caller)).ask(`/invitations/${part}/accept`, {})).status).toBe(200);
    const advisor = await web.as('outsider');
    const sees = async () => [
      (await advisor.ask(`/deals/${web.scene.deal}`)).status,
      (await advisor.ask('/deals')).body.items.some((one: { id: string }) => one.id === web.scene.deal),
      (await advisor.ask(`/deals/${web.scene.deal}/offers`)).status,
    ];
    const asShown = async () => {
      const { participants } = (await broker.ask(`/deals/${web.scene.deal}`)).body;
      return participants.find((one: { id: string }) => one.id === part);
    };
    const part = await invite('outsider', 'advisor', id);
    const waiting = await invite('removed', 'advisor', id);
    await accept('outsider', part);
    await web.service.sql(
      `insert into qoe_workspace_members (deal_id, participant_id, role) values ($1, $2, 'editor') on conflict do nothing`,
      [web.scene.deal, part],
    );
    expect(await sees()).toEqual([200, true, 200]);

    expect((await broker.ask(`${path}/${id}`, undefined, 'DELETE')).status).toBe(200);
    expect(await sees()).toEqual([404, false, 404]);
    expect(await asShown()).toMatchObject({ status: 'removed' });
    const records = (await trail(web.service, 'participant.remove')).slice(0, 3);
    expect(new Set(records.map(({ subject_id }) => subject_id))).toEqual(new Set([id, part, waiting]));
    expect(new Set(records.map(({ user_id }) => user_id))).toEqual(new Set([web.scene.people['broker']]));
    expect(records.filter(({ details }) => 'withdrawn' in (details as object))).toMatchObject([
      { subject_id: waiting },
    ]);
    expect(await web.service.sql('select from qoe_workspace_members where participant_id = $1', [part])).toEqual([]);

    // Nobody can be invited to advise a removed participant.
    for (const refused of [
      await broker.ask(`${path}/${part}/invitation`, {}),
      await broker.ask(path, person('counsel@late.test', 'advisor', id)),
    ])
      expect(refused).toMatchObject({ status: 409, body: { error: { code: 'advised_removed' } } });

    // The buyer is now a seller. Their accountant must not get access to every buyer's offers without a new invitation.
    await accept('new buyer', await invite('new buyer', 'seller'));
    expect(await sees()).toEqual([404, false, 404]);
    expect((await (await web.as('removed')).ask(`/invitations/${waiting}/accept`, {})).status).toBe(404);
    expect((await broker.ask(`${path}/${part}/invitation`, {})).status).toBe(200);
    await accept('outsider', part);
    expect(await sees()).toEqual([200, true, 200]);
    expect(await asShown()).toMatchObject({ status: 'active', side: 'seller' });
  });

  test('returns in another role with only the access of that role', async () => {
    const broker = await web.as('broker');
    const buyer = await web.as('exclusive buyer');
    const id = web.scene.participants['exclusive buyer']!;
    const seen = async () => {
      const of = async (what: string) => (await buyer.ask(`/deals/${web.scene.deal}/${what}`)).body;
      const kinds = (await of('documents')).items.map((one: { confidentiality: string }) => one.confidentiality);
      return {
        figures: (await of('qoe')).progress.length > 0,
        selected: kinds.includes('selected_buyer_only'),
        gated: kinds.includes('nda_gated'),
        public: kinds.includes('public'),
      };
    };
    const { token } = await addToken(web.service, web.scene.people['exclusive buyer']!, { scopes: ['mcp:read'] });
    const resources = async (): Promise<string[]> => {
      const { body } = await send(web.service, token, { jsonrpc: '2.0', id: 1, method: 'resources/list' });
      return (body!.result['resources'] as { name: string }[]).map(({ name }) => name);
    };
    const gated = (
      await web.service.sql<{ filename: string }>(
        `select filename from documents where deal_id = $1 and confidentiality = 'nda_gated'
         union all select filename from production_documents where deal_id = $1 and confidentiality = 'nda_gated'`,
        [web.scene.deal],
      )
    ).map(({ filename }) => filename);
    expect(await seen()).toEqual({ figures: true, selected: true, gated: true, public: true });
    expect((await resources()).filter((name) => gated.includes(name))).not.toEqual([]);
    await broker.ask(`${path}/${id}`, undefined, 'DELETE');
    const [{ email } = { email: '' }] = await web.service.sql<{ email: string }>(
      'select email from users where id = $1',
      [web.scene.people['exclusive buyer']],
    );
    // The NDA that they signed as a buyer is still active.
    for (const [role, advises] of [
      ['viewer', null],
      ['advisor', web.scene.participants['viewer']!],
    ] as const) {
      await broker.ask(path, person(email, role, advises));
      expect((await buyer.ask(`/invitations/${id}/accept`, {})).status).toBe(200);
      expect([role, await seen()]).toEqual([role, { figures: false, selected: false, gated: false, public: true }]);
      expect([role, (await resources()).filter((name) => gated.includes(name))]).toEqual([role, []]);
      await broker.ask(`${path}/${id}`, undefined, 'DELETE');
    }
  });

  test('gets an empty response after removing themselves', async () => {
    const gone = await (await web.as('broker')).ask(`${path}/${web.scene.participants['broker']}`, undefined, 'DELETE');
    expect(gone).toEqual({ status: 204, body: null });
  });
});

describe('with SMTP', () => {
  test('an invitation is mailed without showing its link, unless the link is requested', async () => {
    const mailing = await openScene({ config: { smtpUrl: 'smtp://mail.example.test' } });
    try {
      const broker = await signInAs(mailing.service, mailing.scene.people['broker']!);
      const people = `/deals/${mailing.scene.deal}/participants`;
      const invited = await broker.ask(people, person('mailed@example.test'));
      expect(invited.body).toMatchObject({ mailed: true, invitation_url: null });
      await expect
        .poll(() => mailing.service.deliver())
        .toMatchObject([
          {
            to: 'mailed@example.test',
            subject: 'broker invites you',
            text: expect.stringContaining('the deal Corner bakery of Scene Brokers'),
          },
        ]);
      const [, token] = /accept-invitation#token=(\S+)/.exec(mailing.service.mails[0]!.text) ?? [];
      const followed = await fetch(`${mailing.service.origin}/api/auth/invitation`, lookUp(token));
      expect(followed.status).toBe(200);
      const copied = await broker.ask(`${people}/${invited.body.participant.id}/invitation`, { deliver: 'link' });
      expect(copied.body).toMatchObject({
        mailed: false,
        invitation_url: expect.stringContaining('/accept-invitation#token='),
      });
      expect(await mailing.service.deliver()).toHaveLength(1);
      expect(mailing.service.log.join('')).not.toContain(String(token));
    } finally {
      await mailing.close();
    }
  });
});

test('whoever is invited again after their account moved to another address shows nowhere that it did', async () => {
  // In a scene of its own: people have left the other.
  const own = await openScene();
  try {
    const { service, scene } = own;
    const lists = {
      deal: { path: `/deals/${scene.deal}/participants`, who: 'broker', role: 'viewer' },
      brokerage: { path: `/brokerages/${scene.brokerage}/members`, who: 'admin', role: 'staff' },
    };
    for (const [of, { path: list, who, role }] of Object.entries(lists)) {
      const { ask } = await own.as(who);
      const before = `moved-from-${of}@example.test`;
      const after = `moved-to-${of}@example.test`;
      const invite = async (email: string) => {
        const { status, body } = await ask(list, { email, name: 'Someone', role, deliver: 'link' });
        expect(status, JSON.stringify(body)).toBe(201);
      };
      const listed = async () => {
        const { body } = await ask(of === 'deal' ? `/deals/${scene.deal}` : list);
        return (body.participants ?? body.items)
          .filter(({ email }: { email: string }) => email === before || email === after)
          .map(({ email, status, user_id, id }: Record<string, string>) => `${email} ${status} ${id ?? user_id}`)
          .toSorted();
      };
      await invite(before);
      const [first] = await listed();
      await service.sql('update users set email = $2 where email = $1', [before, after]);
      if (of === 'deal') await invite(before);
      else expect((await ask(list, { email: before, name: 'Someone', role })).body.error.code).toBe('already_invited');
      expect(await listed(), of).toEqual([first]);
      await invite(after);
      expect(await listed(), of).toEqual([first, expect.stringContaining(`${after} invited`)]);

      // Nor when the present address is invited first: the earlier invitation is then for whoever has its address.
      const earlier = `earlier-${before}`;
      const present = `present-${before}`;
      const all = async () => JSON.stringify((await ask(of === 'deal' ? `/deals/${scene.deal}` : list)).body);
      const typed = { email: earlier, name: 'Someone', role, deliver: 'link' };
      const { body } = await ask(list, typed);
      await service.sql('update users set email = $2 where email = $1', [earlier, present]);
      const again = await ask(list, { ...typed, email: present });
      expect(again.status, JSON.stringify(again.body)).toBe(201);
      const entry = ({ participant, member }: Answer['body']) => participant?.id ?? member.user_id;
      expect(entry(again.body), of).not.toBe(entry(body));
      expect([await all(), await all()], of).toEqual([
        expect.stringContaining(earlier),
        expect.stringContaining(present),
      ]);
      const token = new URLSearchParams(new URL(body.invitation_url).hash.slice(1)).get('token');
      const fields = { token, name: 'Someone else', password: newPassword() };
      const opened = await new Visitor(service.origin).json('/api/auth/invitation/accept', fields);
      expect([opened.status, opened.body], of).toMatchObject([200, { user: { email: earlier } }]);
    }

    // The same by the button: there is one person, with the id of before.
    const { ask } = await own.as('broker');
    const typed = { email: 'button@example.test', name: 'Button', role: 'viewer', deliver: 'link' };
    const { id } = (await ask(lists.deal.path, typed)).body.participant;
    await service.sql(`update users set email = 'moved@example.test' where email = $1`, [typed.email]);
    const again = await ask(`${lists.deal.path}/${id}/invitation`, { deliver: 'link' });
    expect(again.body).toMatchObject({ participant: { id, email: typed.email, status: 'invited' } });
    const { participants } = (await ask(`/deals/${scene.deal}`)).body;
    expect(participants.filter(({ email }: { email: string }) => email === typed.email)).toHaveLength(1);
  } finally {
    await own.close();
  }
});

describe('somebody who left and has moved to another address', () => {
  let own: WebScene;
  let people: string;
  let members: string;
  const mailTo = async (address: string) => {
    await expect.poll(async () => (await own.service.deliver()).at(-1)?.to).toBe(address);
    return /accept-invitation#token=(\S+)/.exec(own.service.mails.at(-1)!.text)?.[1];
  };
  const read = async (token: string | null | undefined) =>
    (await (await fetch(`${own.service.origin}/api/auth/invitation`, lookUp(token))).json()) as { email: string };
  const tokenIn = ({ body }: Answer) => new URLSearchParams(new URL(body.invitation_url).hash.slice(1)).get('token');
  /** Makes them leave the deal, and gives the address that they had to a stranger. */
  async function leavesAndMoves(caller: string) {
    const id = own.scene.people[caller]!;
    const part = own.scene.participants[caller]!;
    const broker = await own.as('broker');
    expect((await broker.ask(`${people}/${part}`, undefined, 'DELETE')).status).toBe(200);
    const [{ email: before } = { email: '' }] = await own.service.sql<{ email: string }>(
      'select email from users where id = $1',
      [id],
    );
    const after = `${randomUUID()}@moved.test`;
    await own.service.sql('update users set email = $2 where id = $1', [id, after]);
    const [{ id: stranger } = { id: '' }] = await own.service.sql<{ id: string }>(
      `insert into users (email, name) values ($1, 'Stranger') returning id`,
      [before],
    );
    return { id, part, before, after, stranger: await signInAs(own.service, stranger), me: await own.as(caller) };
  }

  beforeAll(async () => {
    own = await openScene({ config: { smtpUrl: 'smtp://mail.example.test' } });
    people = `/deals/${own.scene.deal}/participants`;
    members = `/brokerages/${own.scene.brokerage}/members`;
  });
  afterAll(() => own?.close());

  test('is invited again at their own mailbox, and no stranger who has their old address', async () => {
    const broker = await own.as('broker');
    const { id, part, before, after, stranger, me } = await leavesAndMoves('seller');
    const again = await broker.ask(`${people}/${part}/invitation`, {});
    const shown = { id: part, user_id: id, email: before, role: 'seller', status: 'invited' };
    expect(again).toMatchObject({ status: 200, body: { mailed: true, participant: shown } });
    const mailed = await mailTo(after);
    expect(await read(mailed)).toMatchObject({ email: after });
    expect((await stranger.ask('/home')).body.invitations).toEqual([]);
    expect((await stranger.ask(`/invitations/${part}/accept`, {})).status).toBe(404);

    // A link to hand on names the address that the pages show.
    const link = await broker.ask(`${people}/${part}/invitation`, { deliver: 'link' });
    expect(link).toMatchObject({ status: 200, body: { mailed: false, participant: shown } });
    expect(await read(tokenIn(link))).toMatchObject({ email: before });
    expect(JSON.stringify((await broker.ask(`/deals/${own.scene.deal}`)).body)).not.toContain(after);
    expect((await me.ask(`/invitations/${part}/accept`, {})).status).toBe(200);
    expect((await me.ask(`/deals/${own.scene.deal}`)).status).toBe(200);
  });

  test('is invited again in the invitation to the new address that they have not answered', async () => {
    const broker = await own.as('broker');
    const { id, part, before, after } = await leavesAndMoves('viewer');
    const invited = await broker.ask(people, person(after, 'viewer'));
    const shown = { id: part, user_id: id, email: before, status: 'invited' };
    expect(invited).toMatchObject({ status: 201, body: { participant: shown } });
    await mailTo(after);
    expect((await broker.ask(`${people}/${part}/invitation`, {})).body.participant).toMatchObject(shown);
    await mailTo(after);
    const { participants } = (await broker.ask(`/deals/${own.scene.deal}`)).body;
    expect(participants.filter(({ email }: { email: string }) => email === before)).toHaveLength(1);
  });

  test('is told from whoever has the old address when that person is invited', async () => {
    const broker = await own.as('broker');
    const { part, before } = await leavesAndMoves('new buyer');
    const invited = await broker.ask(people, person(before, 'viewer'));
    expect(invited).toMatchObject({ status: 201, body: { participant: { email: before, role: 'viewer' } } });
    expect(invited.body.participant.id).not.toBe(part);
  });

  test('is the answer to a key that invites the one or the other', async () => {
    const { part, before, after } = await leavesAndMoves('other buyer');
    const scopes = ['participants:write', 'participants:read'] as const;
    const { brokerage, people: accounts, deal } = own.scene;
    const key = await issueKey(own.service, { id: brokerage, admin: accounts['admin']! }, { scopes });
    await own.service.sql('update deals set keys_admitted = true where id = $1', [deal]);
    const ask = as(key, own.service.restUrl);
    const invite = (email: string) =>
      ask('POST', `/deals/${deal}/invitations`, { email, name: 'X', role: 'viewer' }, { 'Idempotency-Key': email });
    expect(await invite(after)).toMatchObject({ status: 201, body: { id: part, email: before, role: 'viewer' } });
    const other = await invite(before);
    expect(other).toMatchObject({ status: 201, body: { email: before, role: 'viewer' } });
    expect((other.body as { id: string }).id).not.toBe(part);
  });

  test('is invited back to the brokerage in the same way', async () => {
    const admin = await own.as('admin');
    const id = own.scene.people['colleague']!;
    const [before, after, later] = ['colleague@example.test', 'c@moved.test', 'c@again.test'];
    expect((await admin.ask(`${members}/${id}`, undefined, 'DELETE')).status).toBe(200);
    await own.service.sql('update users set email = $2 where id = $1', [id, after]);
    const shown = { user_id: id, email: before, status: 'invited' };
    const invite = (email: string) => admin.ask(members, { email, name: 'Colleague', role: 'staff' });
    expect(await invite(after)).toMatchObject({ status: 201, body: { member: shown } });
    await mailTo(after);
    const other = await invite(before);
    expect(other).toMatchObject({ status: 201, body: { member: { email: before } } });
    expect(other.body.member.user_id).not.toBe(id);
    await mailTo(before);

    await own.service.sql('update users set email = $2 where id = $1', [id, later]);
    expect(await admin.ask(`${members}/${id}/invitation`, {})).toMatchObject({ status: 200, body: { member: shown } });
    await mailTo(later);
    const listed = (await admin.ask(members)).body.items.filter((one: { email: string }) => one.email === before);
    expect(listed).toHaveLength(2);

    // Nor do the mails that wait name the new mailbox.
    await own.service.sql(
      `update vault.outbox set sent_at = null, given_up_at = app.now(), last_error = recipient || ' is unknown' where recipient = $1`,
      [later],
    );
    const { items } = (await admin.ask(`/brokerages/${own.scene.brokerage}/mails`)).body;
    expect(items).toMatchObject([{ recipient: before, last_error: null }]);
    const link = await admin.ask(`${members}/${id}/invitation`, { deliver: 'link' });
    expect(await read(tokenIn(link))).toMatchObject({ email: before });
  });
});
