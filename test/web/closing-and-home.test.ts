/** Closing conditions, the home page, a deal's activity, assistants on a deal, and the scheduled jobs. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startScheduledJobs } from '../../server/scheduled-jobs.ts';
import { asking } from '../tools/ask.ts';
import { addToken, insert } from '../tools/scene.ts';
import { aPdf, upload } from './uploads.ts';
import { signInAs } from './person.ts';
import { openScene, trail, type WebScene } from './scene.ts';

let web: WebScene;
let deal: string;
const dateIn = (days: number) => web.service.clock.inDays(days).slice(0, 10);

beforeAll(async () => {
  web = await openScene();
  ({ deal } = web.scene);
});
afterAll(() => web?.close());

describe('a closing condition', () => {
  const path = () => `/deals/${deal}/conditions`;

  test('is added only by a broker, with an owner who takes part in the deal', async () => {
    const broker = await web.as('broker');
    const deadline = dateIn(3);
    const added = await broker.ask(path(), {
      name: 'Landlord consents',
      owner_user_id: web.scene.people['seller'],
      deadline,
    });
    expect(added).toMatchObject({
      status: 201,
      body: {
        status: 'open',
        owner_name: 'seller',
        deadline,
        overdue: false,
        completed_at: null,
        moves: ['in_progress', 'satisfied', 'waived'],
      },
    });
    expect((await broker.ask(path(), { name: 'By nobody' })).body).toMatchObject({
      owner_user_id: null,
      deadline: null,
    });
    const mistyped = await broker.ask(path(), { name: 'Lease', deadline: '0202-01-05' });
    expect([mistyped.status, mistyped.body.error.details]).toEqual([
      400,
      [{ path: 'deadline', message: 'Check the year.' }],
    ]);
    const stranger = await broker.ask(path(), {
      name: 'X',
      owner_user_id: web.scene.people['outsider'],
      deadline: null,
    });
    expect(stranger.body.error.code).toBe('owner_takes_no_part');
    for (const caller of ['seller', 'exclusive buyer', 'viewer', 'admin'])
      expect([caller, (await (await web.as(caller)).ask(path(), { name: 'X' })).status]).toEqual([caller, 403]);
  });

  test('is denied without permission alike on empty and full deals, as is a checklist row', async () => {
    const may = {
      conditions: ['broker'],
      'qoe/checklist': ['broker', 'seller', 'exclusive buyer'],
    };
    const callers = [...may['qoe/checklist'], 'other buyer', 'new buyer', 'viewer', "seller's advisor"];
    const add = async (caller: string, what: string) =>
      (await web.as(caller)).ask(
        `/deals/${deal}/${what}`,
        what === 'conditions' ? { name: 'N' } : { category: 'C', title: 'T' },
      );
    const refused = async () => {
      const answers = [];
      for (const [what, able] of Object.entries(may))
        for (const caller of callers.filter((one) => !able.includes(one)))
          answers.push([what, caller, await add(caller, what)]);
      return answers;
    };
    const onEmpty = await refused();
    await web.service.sql(
      `with conditions as (
         insert into closing_conditions (deal_id, name) select $1, 'Number ' || n from generate_series(1, 500) n)
       insert into qoe_checklist (deal_id, category, title) select $1, 'C', 'Number ' || n from generate_series(1, 500) n`,
      [deal],
    );
    expect(await refused()).toEqual(onEmpty);
    for (const [what, able] of Object.entries(may))
      for (const caller of able) {
        const full = { status: 409, body: { error: { code: 'deal_full' } } };
        expect([what, caller, await add(caller, what)]).toMatchObject([what, caller, full]);
      }
    for (const [table, column] of [
      ['closing_conditions', 'name'],
      ['qoe_checklist', 'title'],
    ])
      await web.service.sql(`delete from ${table} where ${column} like 'Number %'`);
  });

  test('shows its owner only to people who know them, and accepts only owners known to the selected buyer', async () => {
    const { people, participants } = web.scene;
    const broker = await web.as('broker');
    const { id } = (await broker.ask(path(), { name: 'Tax clearance', owner_user_id: people['seller'] })).body;
    const seen = async (caller: string) => {
      const { items } = (await (await web.as(caller)).ask(path())).body;
      const found = items.find((one: { name: string }) => one.name === 'Tax clearance');
      const told = await asking(web.service, await addToken(web.service, people[caller]!)).rows(
        'svc_closing_conditions_list',
        { deal_id: deal },
      );
      expect(found.owner_user_id).toBe(told.find((one) => one['id'] === id)!['owner_user_id']);
      return [found.owner_user_id, found.owner_name, found.has_owner];
    };
    const known = [people['seller'], 'seller', true];
    for (const caller of ['broker', 'seller', 'viewer', 'exclusive buyer', "exclusive buyer's advisor"])
      expect([caller, await seen(caller)]).toEqual([caller, known]);
    // Without an NDA, the exclusive buyer no longer knows the seller.
    const end = `update ndas set expires_at = app.now() where participant_id = $1`;
    await web.service.sql(end, [participants['exclusive buyer']]);
    for (const caller of ['exclusive buyer', "exclusive buyer's advisor"])
      expect([caller, await seen(caller)]).toEqual([caller, [null, null, true]]);
    expect(await seen('broker')).toEqual(known);

    const owned = (owner: string) => broker.ask(path(), { name: owner, owner_user_id: people[owner] });
    for (const owner of ['seller', 'other buyer', "seller's advisor", "broker's advisor"])
      expect([owner, (await owned(owner)).body.error.code]).toEqual([owner, 'owner_not_known_to_buyer']);
    expect((await owned('viewer')).body.error.code).toBe('owner_is_viewer');
    // An owner that does not change is not checked again.
    expect(
      (await broker.ask(`/conditions/${id}`, { name: 'Tax clearance', deadline: dateIn(9) }, 'PATCH')).status,
    ).toBe(200);
    const able = (await broker.ask(`/deals/${deal}`)).body.participants
      .filter((one: { can_own_conditions: boolean }) => one.can_own_conditions)
      .map((one: { name: string }) => one.name)
      .toSorted();
    expect(able).toEqual(['broker', 'exclusive buyer', "exclusive buyer's advisor"]);
    for (const owner of able) {
      const made = await owned(owner);
      expect([owner, made.status]).toEqual([owner, 201]);
      await broker.ask(`/conditions/${made.body.id}`, undefined, 'DELETE');
    }
    await web.service.sql('update ndas set expires_at = null where participant_id = $1', [
      participants['exclusive buyer'],
    ]);
    await broker.ask(`/conditions/${id}`, undefined, 'DELETE');
  });

  test('of an owner who left waits for the broker a week ahead; who may not know the owner sees no difference', async () => {
    const { people, participants } = web.scene;
    const id = await insert(web.service, 'closing_conditions', {
      deal_id: deal,
      name: 'Inventory counted',
      owner_user_id: people["broker's advisor"],
      deadline: dateIn(3),
    });
    const due = async () =>
      (await (await web.as('broker')).ask('/home')).body.queue.filter(
        ({ kind }: { kind: string }) => kind === 'conditions_due',
      ).length;
    const told = async () => (await (await web.as('exclusive buyer')).ask(path())).body;
    const setStatus = (status: string) =>
      web.service.sql('update participants set status = $2 where id = $1', [participants["broker's advisor"], status]);
    const before = await told();
    expect(await due()).toBe(0);
    await setStatus('removed');
    expect(await due()).toBe(1);
    expect(await told()).toEqual(before);
    for (const status of ['invited', 'active']) await setStatus(status);
    await web.service.sql('delete from closing_conditions where id = $1', [id]);
  });

  test('is hidden from buyers who were not selected', async () => {
    const names = async (caller: string) =>
      (await (await web.as(caller)).ask(path())).body.items.map((one: { name: string }) => one.name);
    for (const caller of ['broker', 'seller', 'viewer', 'admin', 'exclusive buyer', "exclusive buyer's advisor"])
      expect([caller, await names(caller)]).toEqual([caller, ['Landlord consents', 'Lease assigned', 'By nobody']]);
    for (const caller of ['other buyer', 'new buyer']) expect(await names(caller)).toEqual([]);
  });

  test('is moved forward by its owner, and reworded, rescheduled or waived only by a broker', async () => {
    const broker = await web.as('broker');
    const seller = await web.as('seller');
    const { items } = (await broker.ask(path())).body;
    const { id } = items.find((one: { name: string }) => one.name === 'Landlord consents');
    const change = async (caller: string, body: object) =>
      (await web.as(caller)).ask(`/conditions/${id}`, body, 'PATCH');

    expect((await change('seller', { status: 'in_progress' })).body).toMatchObject({
      status: 'in_progress',
      moves: ['open', 'satisfied'],
    });
    expect((await change('seller', { deadline: dateIn(90) })).body.error.code).toBe('broker_only');
    expect((await change('seller', { name: 'Nothing' })).body.error.code).toBe('broker_only');
    expect((await change('seller', { status: 'waived' })).body.error.code).toBe('broker_only');
    expect((await change('exclusive buyer', { status: 'satisfied' })).status).toBe(403);
    expect((await change('other buyer', { status: 'satisfied' })).status).toBe(404);
    const satisfied = await change('seller', { status: 'satisfied' });
    expect(satisfied.body.completed_at).not.toBeNull();
    const reopened = await change('broker', { status: 'open', deadline: null, name: 'Landlord agrees' });
    expect(reopened.body).toMatchObject({
      completed_at: null,
      deadline: null,
      name: 'Landlord agrees',
      owner_name: 'seller',
    });
    expect((await change('broker', { status: 'waived' })).body).toMatchObject({ status: 'waived', moves: ['open'] });
    const movesOf = async (caller: string) =>
      (await (await web.as(caller)).ask(path())).body.items.find((one: { id: string }) => one.id === id).moves;
    for (const caller of ['seller', 'exclusive buyer', 'viewer'])
      expect([caller, await movesOf(caller)]).toEqual([caller, []]);
    expect((await change('broker', { status: 'in_progress' })).body.error.code).toBe('move_not_allowed');
    expect((await trail(web.service, 'condition.change'))[0]).toMatchObject({
      subject_id: id,
      details: { status: 'waived' },
    });

    expect((await seller.ask(`/conditions/${id}`, undefined, 'DELETE')).status).toBe(403);
    expect((await broker.ask(`/conditions/${id}`, undefined, 'DELETE')).status).toBe(204);
    expect((await broker.ask(`/conditions/${id}`, undefined, 'DELETE')).status).toBe(404);
  });

  test('is overdue once its day is over everywhere on earth', async () => {
    const broker = await web.as('broker');
    const { body } = await broker.ask(path(), {
      name: 'Due',
      deadline: '2031-05-10',
      owner_user_id: web.scene.people['exclusive buyer'],
    });
    const [end] = await web.service.sql(`select app.end_of('2031-05-10') = '2031-05-11T12:00:00Z' as everywhere`);
    expect(end).toEqual({ everywhere: true });
    expect(body.overdue).toBe(false);
    await web.service.sql('update closing_conditions set deadline = $2 where id = $1', [body.id, dateIn(-2)]);
    const { items } = (await broker.ask(path())).body;
    expect(items.find((one: { id: string }) => one.id === body.id).overdue).toBe(true);
    for (const caller of ['exclusive buyer', 'broker'])
      expect((await (await web.as(caller)).ask('/home')).body.queue).toContainEqual(
        expect.objectContaining({
          kind: 'conditions_due',
          deal_id: deal,
          count: 1,
          due_on: dateIn(-2),
          waiting_since: null,
        }),
      );
    await (await web.as('exclusive buyer')).ask(`/conditions/${body.id}`, { status: 'satisfied' }, 'PATCH');
    const after = (await broker.ask(path())).body.items;
    expect(after.find((one: { id: string }) => one.id === body.id).overdue).toBe(false);
  });
});

describe('the home page', () => {
  test('shows each person the work that waits for them, and no other', async () => {
    const kinds = async (caller: string) =>
      (await (await web.as(caller)).ask('/home')).body.queue.map((entry: { kind: string; count: number }) => [
        entry.kind,
        entry.count,
      ]);
    expect(await kinds('broker')).toEqual([['questions_to_review', 1]]);
    expect(await kinds('seller')).toEqual([['questions_to_answer', 2]]);
    for (const caller of ['other buyer', "other buyer's advisor"])
      expect([caller, await kinds(caller)]).toEqual([caller, [['answers_to_read', 1]]]);
    for (const caller of ['exclusive buyer', 'viewer', 'admin', 'outsider', "broker's advisor"])
      expect([caller, await kinds(caller)]).toEqual([caller, []]);
  });

  test('counts answers until they are read, for each person of a side separately', async () => {
    const buyer = await web.as('other buyer');
    const advisor = await web.as("other buyer's advisor");
    const waiting = async (person: typeof buyer) => (await person.ask(`/deals/${deal}`)).body.counts.questions_waiting;
    expect(await waiting(buyer)).toBe(1);
    expect((await buyer.ask(`/deals/${deal}/questions/read`, {})).status).toBe(204);
    expect(await waiting(buyer)).toBe(0);
    expect((await buyer.ask('/home')).body.queue).toEqual([]);
    expect(await waiting(advisor)).toBe(1);
    await web.service.sql(
      `insert into questions (deal_id, participant_id, asked_by, category, question_text, status, distributed_response, distributed_at)
       values ($1, $2, $3, 'tax', 'When?', 'distributed', 'Then.', app.now())`,
      [deal, web.scene.participants['other buyer'], web.scene.people['other buyer']],
    );
    expect(await waiting(buyer)).toBe(1);
    expect(await waiting(await web.as('exclusive buyer'))).toBe(0);
    for (const caller of ['broker', 'seller', 'viewer'])
      expect((await (await web.as(caller)).ask(`/deals/${deal}/questions/read`, {})).status).toBe(403);
  });

  test("shows the states of the caller's deals, and the exclusivities visible to them", async () => {
    const home = async (caller: string) => (await (await web.as(caller)).ask('/home')).body;
    expect((await home('admin')).deals_by_state).toEqual([
      { state: 'diligence', count: 1 },
      { state: 'draft', count: 2 },
      { state: 'listed', count: 2 },
    ]);
    expect((await home('outsider')).deals_by_state).toEqual([]);
    expect((await home('seller')).exclusivities).toMatchObject([{ deal_id: deal, deal_title: 'Corner bakery' }]);
    expect((await home('other buyer')).exclusivities).toEqual([]);
  });
});

describe('activity', () => {
  test('shows brokers and admins everything on the deal, others their own actions and what they can open', async () => {
    const seen = async (caller: string, from: string) => {
      const { body } = await (await web.as(caller)).ask(from);
      return (body.items ?? body.activity).map(
        (one: { user_name: string; summary: string }) => `${one.user_name} ${one.summary}`,
      );
    };
    const path = `/deals/${deal}/activity`;
    const broker = await seen('broker', path);
    expect(broker).toContain('seller answered a question');
    expect(broker).toContain('broker added a closing condition');
    expect(broker).toContain('seller changed a closing condition, now satisfied');
    expect(await seen('admin', path)).toEqual(broker);
    const seller = await seen('seller', path);
    expect(seller).toEqual(expect.arrayContaining(['seller answered a question', 'broker added a closing condition']));
    expect(await seen('other buyer', path)).toEqual([]);
    expect((await (await web.as('outsider')).ask(path)).status).toBe(404);
    expect((await seen('broker', '/home')).length).toBe(8);
    expect(await seen('other buyer', '/home')).toEqual([]);
  });

  test('names documents on the home page, and shows actions of others only on what the reader can open', async () => {
    const query = { filename: 'Lease 2024.pdf', confidentiality: 'selected_buyer_only' };
    expect((await upload(web.service, await web.as('seller'), deal, aPdf(), query)).status).toBe(201);
    const activityOf = async (caller: string) => (await (await web.as(caller)).ask('/home')).body.activity;
    const uploaded = {
      summary: 'uploaded a document',
      named: { before: 'uploaded ', name: 'Lease 2024.pdf', after: '' },
    };
    expect((await activityOf('broker'))[0]).toMatchObject({ user_name: 'seller', ...uploaded });
    expect((await activityOf('exclusive buyer'))[0]).toMatchObject({ user_name: 'seller', ...uploaded });
    for (const caller of ['other buyer', 'new buyer', 'viewer'])
      expect(JSON.stringify(await activityOf(caller))).not.toMatch(/Lease 2024|document/);
    // The deal's own activity tab shows the same, in pages.
    const tabOf = async (caller: string) => (await (await web.as(caller)).ask(`/deals/${deal}/activity`)).body.items;
    expect((await tabOf('exclusive buyer'))[0]).toMatchObject({ user_name: 'seller', ...uploaded });
    for (const caller of ['other buyer', 'new buyer', 'viewer'])
      expect(JSON.stringify(await tabOf(caller))).not.toMatch(/Lease 2024|document/);
  });

  test('omits reading tool calls and refused actions, and is paged', async () => {
    await web.service.sql(
      `insert into audit_records (brokerage_id, deal_id, user_id, action, outcome, noted, at)
       select $1, $2, $3, case when n % 2 = 0 then 'tool:svc_deals_get' else 'deal.edit' end,
         case when n % 3 = 0 then 'rls_denied' else 'done' end, n % 2 > 0 and n % 3 > 0, app.now() - make_interval(mins => n / 6)
       from generate_series(1, 360) n`,
      [web.scene.brokerage, deal, web.scene.people['broker']],
    );
    const broker = await web.as('broker');
    const shown: { id: string; action: string; outcome: string }[] = [];
    let cursor: string | null = null;
    do {
      const { body } = await broker.ask(`/deals/${deal}/activity${cursor ? `?cursor=${cursor}` : ''}`);
      expect(body.items.length).toBeLessThanOrEqual(50);
      shown.push(...body.items);
      cursor = body.next_cursor;
    } while (cursor);
    expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length);
    expect(shown.filter(({ action }) => action === 'deal.edit')).toHaveLength(120);
    expect(
      shown.filter(({ action, outcome }) => action.startsWith('tool:svc_deals') || outcome === 'rls_denied'),
    ).toEqual([]);
    const [{ next_cursor: another }] = [(await broker.ask(`/deals/${deal}/activity`)).body];
    expect((await broker.ask(`/deals/${web.scene.idle}/activity?cursor=${another}`)).status).toBe(400);
  });
});

test('the activity of a deal continues after records that its reader cannot see', async () => {
  const { service, scene } = web;
  const deal_id = await insert(service, 'deals', { organization_id: scene.brokerage, title: 'Long', state: 'listed' });
  for (const [name, role] of [
    ['broker', 'broker'],
    ['new buyer', 'buyer'],
  ] as const)
    await insert(service, 'participants', { deal_id, user_id: scene.people[name], role, status: 'active' });
  const documents = await Promise.all(
    ['public', 'nda_gated'].map((confidentiality) =>
      insert(service, 'documents', {
        deal_id,
        filename: `${confidentiality}.pdf`,
        category: 'legal',
        confidentiality,
        size_bytes: 1,
        media_type: 'application/pdf',
        storage_key: confidentiality,
        uploaded_by: scene.people['broker'],
      }),
    ),
  );
  const record = (name: string, action: string, subject: string, hours: number, count = 1) =>
    service.sql(
      `insert into audit_records (brokerage_id, deal_id, user_id, action, subject_id, outcome, noted, at)
       select $1, $2, $3, $4, $5, 'done', true, app.now() - make_interval(hours => $6) from generate_series(1, $7::int)`,
      [scene.brokerage, deal_id, scene.people[name], action, subject, hours, count],
    );
  const [shown, hidden] = documents as [string, string];
  await record('broker', 'document.upload', shown, 5);
  await record('new buyer', 'deal_opt_in.on', deal_id, 4);
  await record('broker', 'document.upload', hidden, 3, 1998);
  await record('new buyer', 'deal_opt_in.on', deal_id, 2);
  const { ask } = await web.as('new buyer');
  const page = async (cursor: string | null) => {
    const { body } = await ask(`/deals/${deal_id}/activity${cursor ? `?cursor=${cursor}` : ''}`);
    return { actions: body.items.map(({ action }: { action: string }) => action), next: body.next_cursor };
  };
  const all = ['deal_opt_in.on', 'deal_opt_in.on', 'document.upload'];
  expect(await page(null)).toEqual({ actions: all, next: null });

  // First as many hidden records as one page reads, and then more: the reader's own earlier records come after them in
  // both cases.
  await record('broker', 'document.upload', hidden, 3);
  const whole = await page(null);
  expect(whole).toEqual({ actions: all, next: expect.any(String) });
  expect(await page(whole.next)).toEqual({ actions: [], next: null });
  await record('broker', 'document.upload', hidden, 3);
  const first = await page(null);
  expect(first).toEqual({ actions: all.slice(0, 1), next: expect.any(String) });
  // The next page begins at a hidden record, whose time the cursor must not reveal.
  expect(Buffer.from(first.next, 'base64url').toString('latin1')).not.toMatch(/\d{4}-\d\d-\d\d/);
  expect(await page(first.next)).toEqual({ actions: all.slice(1), next: null });
});

test('the home page shows what others did further back than many records that its reader cannot see', async () => {
  const { service, scene } = web;
  const reader = await insert(service, 'users', { name: 'A reader', email: 'reader@example.test' });
  const busyDeal = async (title: string, at: string) => {
    const deal_id = await insert(service, 'deals', { organization_id: scene.brokerage, title, state: 'listed' });
    for (const [user_id, role] of [
      [scene.people['broker'], 'broker'],
      [reader, 'buyer'],
    ])
      await insert(service, 'participants', { deal_id, user_id, role, status: 'active' });
    for (const [confidentiality, hours, count] of [
      ['public', 5, 3],
      ['nda_gated', 3, 2500],
    ] as const) {
      const subject = await insert(service, 'documents', {
        deal_id,
        filename: `${confidentiality}.pdf`,
        category: 'legal',
        confidentiality,
        size_bytes: 1,
        media_type: 'application/pdf',
        storage_key: `${title} ${confidentiality}`,
        uploaded_by: scene.people['broker'],
      });
      await service.sql(
        `insert into audit_records (brokerage_id, deal_id, user_id, action, subject_id, outcome, details, noted, at)
         select $1, $2, $3, 'document.upload', $4, 'done', '{"source": "simple"}', true,
           app.now() - $5::interval - make_interval(hours => $6) - n * interval '1 second'
         from generate_series(1, $7::int) n`,
        [scene.brokerage, deal_id, scene.people['broker'], subject, at, hours, count],
      );
    }
  };
  const { ask } = await signInAs(service, reader);
  const titles = async () => (await ask('/home')).body.activity.map((one: { deal_title: string }) => one.deal_title);
  await busyDeal('Busy', '0');
  expect(await titles()).toEqual(['Busy', 'Busy', 'Busy']);
  // On several deals the latest eight of all: the third is older than these.
  await busyDeal('Busy a day ago', '1 day');
  await busyDeal('Busy two days ago', '2 days');
  expect(await titles()).toEqual([
    'Busy',
    'Busy',
    'Busy',
    'Busy a day ago',
    'Busy a day ago',
    'Busy a day ago',
    'Busy two days ago',
    'Busy two days ago',
  ]);
});

describe('assistants on a deal', () => {
  const path = () => `/deals/${deal}/tools`;

  test('are allowed by each person for themselves, until a time or until turned off', async () => {
    const buyer = await web.as('other buyer');
    expect((await buyer.ask(path())).body).toMatchObject({ opt_in: null, shut_off: { by_name: 'broker' } });
    const until = web.service.clock.inDays(1);
    expect((await buyer.ask(`${path()}/opt-in`, { expires_at: until }, 'PUT')).body.opt_in).toMatchObject({
      expires_at: until,
    });
    expect((await (await web.as('seller')).ask(path())).body.opt_in).toBeNull();
    expect(
      (await buyer.ask(`${path()}/opt-in`, { expires_at: web.service.clock.inDays(-1) }, 'PUT')).body.error.code,
    ).toBe('ends_in_the_past');
    await web.service.sql(`update deal_opt_ins set expires_at = app.now() where user_id = $1`, [
      web.scene.people['other buyer'],
    ]);
    expect((await buyer.ask(path())).body.opt_in).toBeNull();
    expect((await buyer.ask(`${path()}/opt-in`, { expires_at: null }, 'PUT')).body.opt_in).toMatchObject({
      expires_at: null,
    });
    expect((await buyer.ask(`${path()}/opt-in`, undefined, 'DELETE')).body.opt_in).toBeNull();
    expect((await buyer.ask(`${path()}/opt-in`, undefined, 'DELETE')).status).toBe(200);
  });

  test('are turned off for everybody only by a broker of the deal', async () => {
    const broker = await web.as('broker');
    for (const caller of ['seller', 'admin', "broker's advisor", 'viewer'])
      for (const method of ['PUT', 'DELETE'])
        expect([caller, (await (await web.as(caller)).ask(`${path()}/shut-off`, undefined, method)).status]).toEqual([
          caller,
          403,
        ]);
    expect((await broker.ask(`${path()}/shut-off`, undefined, 'DELETE')).body.shut_off).toBeNull();
    expect((await broker.ask(`${path()}/shut-off`, undefined, 'PUT')).body.shut_off).toMatchObject({
      by_name: 'broker',
    });
    expect((await (await web.as('seller')).ask(path())).body.shut_off).toMatchObject({ by_name: 'broker' });
  });
});

test('an NDA whose date has passed is marked as expired while the service runs', async () => {
  const [nda] = await web.service.sql(
    `insert into ndas (deal_id, participant_id, terms, expires_at, status) values ($1, $2, 'Briefly.', app.now() - interval '1 minute', 'sent')
     returning id`,
    [deal, web.scene.participants['new buyer']],
  );
  const stop = startScheduledJobs(web.service.services);
  try {
    const status = async () =>
      (await web.service.sql('select status from ndas where id = $1', [nda!['id']]))[0]!['status'];
    await expect.poll(status).toBe('expired');
  } finally {
    stop();
  }
});
