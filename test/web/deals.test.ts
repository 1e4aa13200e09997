/** The list and the pages of deals, and actions on a deal as a whole, for each role. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leads, openDemoService } from '../demo/service.ts';
import { atOnce } from '../locks.ts';
import { as, issueKey } from '../rest/scene.ts';
import { signInAs, type Answer } from './person.ts';
import { openScene, trail, type WebScene } from './scene.ts';

let web: WebScene;
const day = 86_400_000;

beforeAll(async () => {
  web = await openScene({ config: { poolSize: 4 } });
});
afterAll(() => web?.close());

const input = {
  title: 'Regional HVAC service',
  industry: 'Services',
  location: 'Ohio',
  summary: 'Two crews.\n\nOne owner.',
  asking_price: '1250000.50',
  currency: 'USD',
};

/** Adds a deal of the broker in this state. */
async function newDeal(state = 'draft', title = input.title): Promise<string> {
  const { body } = await (
    await web.as('broker')
  ).ask('/deals', { organization_id: web.scene.brokerage, ...input, title });
  if (state !== 'draft') {
    // The allowed moves apply to the database owner too, so each state on the way is entered.
    for (const next of ['listed', 'under_offer'].slice(0, state === 'listed' ? 1 : 2))
      await web.service.sql('update deals set state = $2 where id = $1', [body.id, next]);
  }
  return body.id;
}

async function joins(deal: string, caller: string, role: string): Promise<string> {
  const [participant] = await web.service.sql(
    `insert into participants (deal_id, user_id, role, status) values ($1, $2, $3, 'active') returning id`,
    [deal, web.scene.people[caller], role],
  );
  return participant!['id'];
}

describe('a deal', () => {
  test('is opened as a draft by an admin or broker of the brokerage, who becomes its broker', async () => {
    for (const caller of ['admin', 'broker', 'colleague']) {
      const person = await web.as(caller);
      const { status, body } = await person.ask('/deals', { organization_id: web.scene.brokerage, ...input });
      expect(status).toBe(201);
      expect(body).toMatchObject({
        ...input,
        asking_price: '1250000.5',
        state: 'draft',
        organization_name: 'Scene Brokers',
      });
      const page = await person.ask(`/deals/${body.id}`);
      expect(page.body).toMatchObject({
        caller_role: 'broker_assigned',
        side: 'broker',
        moves: ['listed', 'withdrawn'],
        participants: [{ user_id: web.scene.people[caller], role: 'broker', status: 'active', side: 'broker' }],
      });
      const [record] = await trail(web.service, 'deal.open');
      expect(record).toMatchObject({
        user_id: web.scene.people[caller],
        deal_id: body.id,
        subject_id: body.id,
        outcome: 'done',
        address: '127.0.0.1',
        has_request: true,
      });
    }
    for (const caller of ['seller', 'outsider', 'exclusive buyer'])
      expect(
        (await (await web.as(caller)).ask('/deals', { organization_id: web.scene.brokerage, ...input })).status,
      ).toBe(403);
  });

  test('is rejected with an error for each invalid field', async () => {
    const broker = await web.as('broker');
    const { status, body } = await broker.ask('/deals', {
      organization_id: 'x',
      title: ' ',
      currency: 'usd',
      asking_price: '1,5',
      more: 1,
    });
    expect(status).toBe(400);
    expect(body.error.code).toBe('validation_error');
    expect(new Set(body.error.details.map(({ path }: { path: string }) => path))).toEqual(
      new Set(['organization_id', 'title', 'asking_price', 'currency', '']),
    );
  });

  test('keeps the fields that an edit omits, and clears those set to null', async () => {
    const broker = await web.as('broker');
    const deal = await newDeal();
    const edited = await broker.ask(`/deals/${deal}`, { industry: null, asking_price: '2' }, 'PATCH');
    expect(edited.body).toMatchObject({ ...input, industry: null, asking_price: '2' });
    expect((await broker.ask(`/deals/${deal}`, { title: '' }, 'PATCH')).status).toBe(400);
    expect((await broker.ask(`/deals/${deal}`, { state: 'closed' }, 'PATCH')).status).toBe(400);
    expect(await trail(web.service, 'deal.edit')).toHaveLength(1);
  });

  test('is edited and moved only by its brokers', async () => {
    const { deal } = web.scene;
    for (const caller of ['admin', 'seller', 'exclusive buyer', 'other buyer', "broker's advisor", 'viewer']) {
      const person = await web.as(caller);
      for (const [path, body, method] of [
        [`/deals/${deal}`, { title: 'Mine' }, 'PATCH'],
        [`/deals/${deal}/moves`, { to: 'closing' }, 'POST'],
        [
          `/deals/${deal}/exclusivity`,
          { participant_id: web.scene.participants['other buyer'], expires_at: web.service.clock.inDays(3) },
          'POST',
        ],
        [`/deals/${deal}/exclusivity`, { expires_at: web.service.clock.inDays(3) }, 'PATCH'],
        [`/deals/${deal}/exclusivity`, undefined, 'DELETE'],
      ] as const) {
        const { status, body: answer } = await person.ask(path, body, method);
        expect([caller, method, path, status]).toEqual([caller, method, path, 403]);
        expect(answer.error).toEqual({ code: 'denied', message: 'You do not have permission to do this.' });
      }
    }
  });

  test('moves from draft to listed to under offer, and can be withdrawn', async () => {
    const broker = await web.as('broker');
    const deal = await newDeal();
    expect((await broker.ask(`/deals/${deal}/moves`, { to: 'closing' })).body.error.code).toBe('move_not_allowed');
    const listed = await broker.ask(`/deals/${deal}/moves`, { to: 'listed' });
    expect(listed.body).toMatchObject({ deal: { state: 'listed' }, moves: ['under_offer', 'withdrawn'] });
    const byHand = await broker.ask(`/deals/${deal}/moves`, { to: 'exclusivity' });
    expect(byHand).toMatchObject({ status: 409, body: { error: { code: 'exclusivity_missing' } } });
    await broker.ask(`/deals/${deal}/moves`, { to: 'under_offer' });
    const withdrawn = await broker.ask(`/deals/${deal}/moves`, { to: 'withdrawn' });
    expect(withdrawn.body).toMatchObject({ deal: { state: 'withdrawn' }, moves: [] });
    const [record] = await trail(web.service, 'deal.move');
    expect(record).toMatchObject({ deal_id: deal, details: { to: 'withdrawn' } });
  });
});

describe('closing', () => {
  const payload = { currency: 'USD', purchase_price: '10' };
  async function withBuyer() {
    const deal = await newDeal('listed', 'Ready to close');
    const buyer = await joins(deal, 'new buyer', 'buyer');
    await joins(deal, 'seller', 'seller');
    return { deal, buyer };
  }
  /** Adds a deal in closing that has everything it needs to be closed. */
  async function complete() {
    const { deal, buyer } = await withBuyer();
    const broker = await web.as('broker');
    const { ask } = await web.as('new buyer');
    const terms = { participant_id: buyer, terms: 'Keep it.', expires_at: null };
    const { body: nda } = await broker.ask(`/deals/${deal}/ndas`, terms);
    await ask(`/ndas/${nda.id}/sign`, { signed_name: 'Nora New' });
    const { body: offer } = await ask(`/deals/${deal}/offers`, { payload });
    const accepted = await broker.ask(`/offers/${offer.id}/accept`, { expires_at: web.service.clock.inDays(9) });
    expect(accepted.status).toBe(200);
    for (const to of ['diligence', 'closing']) await broker.ask(`/deals/${deal}/moves`, { to });
    return deal;
  }

  test('lists what is missing, and needs a confirmation unless nothing is', async () => {
    const broker = await web.as('broker');
    const seller = await web.as('seller');
    const missing = async (deal: string) => (await broker.ask(`/deals/${deal}/closing-warnings`)).body.items;
    const close = (deal: string, confirm?: boolean) =>
      broker.ask(`/deals/${deal}/moves`, { to: 'closed', ...(confirm === undefined ? {} : { confirm }) });

    const bare = await withBuyer();
    await broker.ask(`/deals/${bare.deal}/exclusivity`, {
      participant_id: bare.buyer,
      expires_at: web.service.clock.inDays(9),
    });
    for (const to of ['diligence', 'closing']) await broker.ask(`/deals/${bare.deal}/moves`, { to });
    await broker.ask(`/deals/${bare.deal}/conditions`, { name: 'Lease assigned' });
    const expected = [
      'A closing condition is not met: Lease assigned.',
      'No offer is accepted: the record will not say on which terms.',
      'new buyer has no active NDA.',
    ];
    expect(await missing(bare.deal)).toEqual(expected);
    expect((await seller.ask(`/deals/${bare.deal}/closing-warnings`)).body.items).toEqual([]);
    for (const confirm of [undefined, false])
      expect(await close(bare.deal, confirm)).toMatchObject({
        status: 409,
        body: {
          error: { code: 'closing_unconfirmed', details: expected.map((message) => ({ path: 'confirm', message })) },
        },
      });
    expect((await broker.ask(`/deals/${bare.deal}`)).body.deal.state).toBe('closing');
    await broker.ask(`/deals/${bare.deal}/exclusivity`, undefined, 'DELETE');
    await broker.ask(`/deals/${bare.deal}/conditions`, { name: 'Licence moved' });
    expect(await missing(bare.deal)).toEqual([
      '2 closing conditions are not met: Lease assigned, Licence moved.',
      'No buyer holds the exclusivity: the record will not say who bought.',
      'No offer is accepted: the record will not say on which terms.',
      'Nobody has an active NDA.',
    ]);
    expect((await close(bare.deal, true)).body.deal.state).toBe('closed');

    const full = await complete();
    const buyer = await web.as('new buyer');
    expect(await missing(full)).toEqual([]);
    await buyer.ask(`/deals/${full}/offers`, { payload });
    expect(await missing(full)).toEqual(['A proposed change to the accepted terms is not decided.']);
    const { body: proposals } = await broker.ask(`/deals/${full}/offers`);
    await broker.ask(`/offers/${proposals.items[0].id}/decision`, { decision: 'declined' });
    expect((await close(full)).body.deal.state).toBe('closed');
  });

  test('warns if the buyer who holds the exclusivity was removed', async () => {
    const broker = await web.as('broker');
    const deal = await complete();
    await (await web.as('new buyer')).ask(`/deals/${deal}/offers`, { payload });
    const { body } = await broker.ask(`/deals/${deal}`);
    const buyer = body.participants.find((one: { role: string }) => one.role === 'buyer');
    expect((await broker.ask(`/deals/${deal}/participants/${buyer.id}`, undefined, 'DELETE')).status).toBe(200);
    expect((await broker.ask(`/deals/${deal}/closing-warnings`)).body.items).toEqual([
      'new buyer, who holds the exclusivity, is no longer a buyer on the deal.',
      'A proposed change to the accepted terms is not decided.',
    ]);
    const closed = await broker.ask(`/deals/${deal}/moves`, { to: 'closed', confirm: true });
    expect(closed.body.deal).toMatchObject({ state: 'closed', exclusive_buyer_user_id: buyer.user_id });
  });

  describe('at the same time as a change after which something is missing', () => {
    const writes = {
      'a condition is added': async (deal: string) =>
        (await web.as('broker')).ask(`/deals/${deal}/conditions`, { name: 'Lease assigned' }),
      'other terms are proposed': async (deal: string) =>
        (await web.as('new buyer')).ask(`/deals/${deal}/offers`, { payload }),
    };
    const closes = {
      'on its page': async (deal: string) => {
        const { status, body } = await (await web.as('broker')).ask(`/deals/${deal}/moves`, { to: 'closed' });
        return [status, body.error?.code];
      },
      'with a key': async (deal: string) => {
        const { service, scene } = web;
        const by = { id: scene.brokerage, admin: scene.people['admin']! };
        const key = await issueKey(service, by, { scopes: ['deals:read', 'deals:write'] });
        const { status, body } = await as(key, service.restUrl)('POST', `/deals/${deal}/state`, { to: 'closed' });
        return [status, body?.error?.details['reason']];
      },
    };

    test.each(
      (['a condition is added', 'other terms are proposed'] as const).flatMap((what) =>
        (['on its page', 'with a key'] as const).map((where) => [what, where] as const),
      ),
    )('needs a confirmation: %s, and the deal is closed %s', async (what, where) => {
      const deal = await complete();
      await web.service.sql('update deals set keys_admitted = true where id = $1', [deal]);
      // The write has already locked the deal when it waits for the row of its last activity.
      const [written, closed] = await atOnce(
        web.service,
        ['vault.deal_activity', 'deal_id', deal],
        () => writes[what](deal),
        () => closes[where](deal),
      );
      expect(written.status).toBe(201);
      expect(closed).toEqual([409, 'closing_unconfirmed']);
    });
  });

  test('ends all actions on the deal, except revoking an NDA and removing a participant', async () => {
    const people = await Promise.all(['broker', 'seller', 'new buyer'].map(web.as));
    const [broker, seller, buyer] = people as [(typeof people)[0], (typeof people)[0], (typeof people)[0]];
    const deal = await newDeal('listed', 'Sold');
    const participant_id = await joins(deal, 'new buyer', 'buyer');
    await joins(deal, 'seller', 'seller');
    await broker.ask(`/deals/${deal}/exclusivity`, { participant_id, expires_at: web.service.clock.inDays(9) });
    const { body: condition } = await broker.ask(`/deals/${deal}/conditions`, { name: 'Keys handed over' });
    const { body: nda } = await broker.ask(`/deals/${deal}/ndas`, {
      participant_id,
      terms: 'Keep it.',
      expires_at: null,
    });
    const unsigned = async () => (await broker.ask(`/deals/${deal}`)).body.counts.ndas_waiting;
    expect(await unsigned()).toBe(1);
    for (const to of ['diligence', 'closing', 'closed'])
      await broker.ask(`/deals/${deal}/moves`, { to, confirm: true });
    expect(await unsigned()).toBe(0);
    const tries: [person: typeof broker, path: string, body: unknown, method: string][] = [
      [broker, `/deals/${deal}`, { title: 'Sold twice' }, 'PATCH'],
      [broker, `/deals/${deal}/moves`, { to: 'withdrawn' }, 'POST'],
      [broker, `/deals/${deal}/exclusivity`, { expires_at: web.service.clock.inDays(20) }, 'PATCH'],
      [broker, `/deals/${deal}/exclusivity`, undefined, 'DELETE'],
      [broker, `/deals/${deal}/conditions`, { name: 'Late' }, 'POST'],
      [broker, `/conditions/${condition.id}`, { status: 'satisfied' }, 'PATCH'],
      [broker, `/conditions/${condition.id}`, undefined, 'DELETE'],
      [
        broker,
        `/deals/${deal}/participants`,
        { email: 'x@example.test', name: 'X', role: 'buyer', advises: null },
        'POST',
      ],
      [buyer, `/deals/${deal}/offers`, { payload: { currency: 'USD', purchase_price: '1' } }, 'POST'],
      [buyer, `/ndas/${nda.id}/sign`, { signed_name: 'Nora New' }, 'POST'],
    ];
    for (const [person, path, body, method] of tries)
      expect([path, method, (await person.ask(path, body, method)).body.error]).toEqual([
        path,
        method,
        { code: 'deal_closed', message: 'The deal is closed and can no longer be changed.' },
      ]);
    const left = [
      'can_see',
      'can_read',
      'can_opt_in',
      'can_shut_off',
      'can_remove',
      'can_revoke',
      'can_join',
      'can_admit_keys',
    ];
    for (const person of [broker, seller, buyer]) {
      const { capacities, moves } = (await person.ask(`/deals/${deal}`)).body;
      const open = Object.keys(capacities).filter((name) => capacities[name]);
      expect(open.filter((name) => !left.some((start) => name.startsWith(start)))).toEqual([]);
      expect(moves).toEqual([]);
    }
    // Still possible: revoking an NDA, and removing a participant.
    expect((await broker.ask(`/ndas/${nda.id}/revoke`, {})).status).toBe(200);
    expect((await broker.ask(`/deals/${deal}/participants/${participant_id}`, undefined, 'DELETE')).status).toBe(200);
  });
});

describe('exclusivity', () => {
  test('is granted, extended and released by a broker, and moves the deal', async () => {
    const broker = await web.as('broker');
    const deal = await newDeal('listed');
    const buyer = await joins(deal, 'new buyer', 'buyer');
    const seller = await joins(deal, 'seller', 'seller');
    const path = `/deals/${deal}/exclusivity`;

    expect((await broker.ask(path, { expires_at: web.service.clock.inDays(9) }, 'PATCH')).body.error.code).toBe(
      'no_exclusivity',
    );
    expect((await broker.ask(path, undefined, 'DELETE')).body.error.code).toBe('no_exclusivity');
    expect(
      (await broker.ask(path, { participant_id: seller, expires_at: web.service.clock.inDays(9) })).body.error.code,
    ).toBe('not_an_active_buyer');
    expect(
      (await broker.ask(path, { participant_id: buyer, expires_at: web.service.clock.inDays(-1) })).body.error.code,
    ).toBe('expires_in_the_past');
    const granted = await broker.ask(path, { participant_id: buyer, expires_at: web.service.clock.inDays(9) });
    expect(granted.body).toMatchObject({
      deal: { state: 'exclusivity', exclusive_buyer_user_id: web.scene.people['new buyer'] },
      moves: ['diligence', 'withdrawn'],
    });
    expect((await (await web.as('new buyer')).ask(`/deals/${deal}`)).body.caller_role).toBe('exclusive_buyer');

    expect((await broker.ask(path, { expires_at: web.service.clock.inDays(-1) }, 'PATCH')).body.error.code).toBe(
      'expires_in_the_past',
    );
    const until = web.service.clock.inDays(20);
    const extended = await broker.ask(path, { expires_at: until }, 'PATCH');
    expect(extended.body.deal.exclusivity_expires_at).toBe(until);

    const released = await broker.ask(path, undefined, 'DELETE');
    expect(released.body).toMatchObject({ deal: { state: 'listed', exclusive_buyer_user_id: null } });
    for (const action of ['exclusivity.grant', 'exclusivity.extend', 'exclusivity.release']) {
      const [record] = await trail(web.service, action);
      expect(record).toMatchObject({ deal_id: deal, subject_id: buyer, outcome: 'done' });
    }
  });

  test('leaves no trace for other buyers in pages, in lists, their order and filters, or on the home page', async () => {
    const broker = await web.as('broker');
    const other = await web.as('other buyer');
    const deal = await newDeal('under_offer', 'Kiln works');
    const next = await newDeal('under_offer', 'Kiln works, the second');
    for (const id of [deal, next]) await joins(id, 'other buyer', 'buyer');
    const buyer = await joins(deal, 'new buyer', 'buyer');
    await joins(deal, 'seller', 'seller');
    const pages = async () => {
      const paths = [
        `/deals/${deal}`,
        `/deals/${deal}/activity`,
        `/deals/${deal}/offers`,
        `/deals/${deal}/conditions`,
        ...['updated_at', '-updated_at', 'state', '-state'].map((sort) => `/deals?search=kiln&sort=${sort}`),
        ...['under_offer', 'exclusivity', 'diligence', 'closing'].map((state) => `/deals?search=kiln&state=${state}`),
        '/home',
      ];
      return Promise.all(paths.map(async (path) => [path, await other.ask(path)]));
    };
    const before = await pages();
    await broker.ask(`/deals/${deal}/exclusivity`, { participant_id: buyer, expires_at: web.service.clock.inDays(9) });
    expect(await pages()).toEqual(before);
    for (const to of ['diligence', 'closing']) {
      await broker.ask(`/deals/${deal}/conditions`, { name: `Before ${to}`, status: 'open' });
      expect((await broker.ask(`/deals/${deal}/moves`, { to })).body.deal.state).toBe(to);
      expect(await pages()).toEqual(before);
    }
    const sellers = await (await web.as('seller')).ask('/deals?search=kiln&state=closing');
    expect(sellers.body.items.map(({ id }: { id: string }) => id)).toEqual([deal]);
  });

  test('counts as ended once it has lapsed, before any scheduled job, and cannot be extended', async () => {
    const broker = await web.as('broker');
    const deal = await newDeal('listed');
    const buyer = await joins(deal, 'new buyer', 'buyer');
    await broker.ask(`/deals/${deal}/exclusivity`, {
      participant_id: buyer,
      expires_at: web.service.clock.inDays(0.04),
    });
    web.service.clock.advance(0.05 * day);
    try {
      const page = await broker.ask(`/deals/${deal}`);
      expect(page.body).toMatchObject({
        deal: { state: 'listed', exclusive_buyer_user_id: null, exclusivity_expires_at: null },
        moves: ['under_offer', 'withdrawn'],
      });
      const extended = await broker.ask(
        `/deals/${deal}/exclusivity`,
        { expires_at: web.service.clock.inDays(9) },
        'PATCH',
      );
      expect(extended.body.error.code).toBe('exclusivity_over');
      const listed = await broker.ask('/deals?state=listed&limit=200');
      expect(listed.body.items.map(({ id }: { id: string }) => id)).toContain(deal);
      const again = await broker.ask(`/deals/${deal}/exclusivity`, {
        participant_id: buyer,
        expires_at: web.service.clock.inDays(2),
      });
      expect(again.body.deal.state).toBe('exclusivity');
    } finally {
      web.service.clock.advance(-0.05 * day);
    }
  });

  test('of a closed deal is kept as the record of its buyer', async () => {
    const broker = await web.as('broker');
    const deal = await newDeal('listed');
    const buyer = await joins(deal, 'new buyer', 'buyer');
    await broker.ask(`/deals/${deal}/exclusivity`, { participant_id: buyer, expires_at: web.service.clock.inDays(2) });
    for (const to of ['diligence', 'closing', 'closed'])
      await broker.ask(`/deals/${deal}/moves`, { to, confirm: true });
    const page = await broker.ask(`/deals/${deal}`);
    expect(page.body).toMatchObject({
      deal: { state: 'closed', exclusive_buyer_user_id: web.scene.people['new buyer'] },
      moves: [],
      capacities: { can_grant_exclusivity: false },
    });
    expect(page.body.deal.closed_at).not.toBeNull();
    expect((await broker.ask(`/deals/${deal}/exclusivity`, undefined, 'DELETE')).body.error.code).toBe('deal_closed');
  });
});

describe('the page of a deal', () => {
  const page = async (caller: string) => (await (await web.as(caller)).ask(`/deals/${web.scene.deal}`)).body;
  const allowed = (capacities: Record<string, boolean>) =>
    Object.keys(capacities)
      .filter((name) => capacities[name])
      .toSorted();

  test('names only participants visible to the caller, and shows an NDA only to the people it concerns', async () => {
    const seen = async (caller: string) =>
      (await page(caller)).participants.map((one: { name: string }) => one.name).toSorted();
    const everybody = Object.keys(web.scene.participants).toSorted();
    for (const caller of ['broker', 'seller', 'viewer', 'admin', "seller's advisor"])
      expect([caller, await seen(caller)]).toEqual([caller, everybody]);
    expect(await seen('other buyer')).toEqual(['broker', 'other buyer', "other buyer's advisor", 'seller']);
    expect(await seen("exclusive buyer's advisor")).toEqual([
      'broker',
      'exclusive buyer',
      "exclusive buyer's advisor",
      'seller',
    ]);

    const ndas = async (caller: string) =>
      Object.fromEntries(
        (await page(caller)).participants
          .filter((one: { nda_status: string | null }) => one.nda_status)
          .map((one: { name: string; nda_status: string }) => [one.name, one.nda_status]),
      );
    const both = { 'exclusive buyer': 'active', 'other buyer': 'active' };
    expect(await ndas('broker')).toEqual(both);
    expect(await ndas('seller')).toEqual(both);
    expect(await ndas('other buyer')).toEqual({ 'other buyer': 'active' });
    expect(await ndas('viewer')).toEqual({});

    const advisor = (await page('broker')).participants.find(
      (one: { name: string }) => one.name === "other buyer's advisor",
    );
    expect(advisor).toMatchObject({
      role: 'advisor',
      side: 'buyer',
      advises: web.scene.participants['other buyer'],
      email: 'other-buyer-s-advisor@example.test',
    });
  });

  test('hides an exclusivity from other buyers', async () => {
    const exclusive = web.scene.people['exclusive buyer'];
    for (const caller of ['broker', 'seller', 'viewer', 'admin', 'exclusive buyer', "exclusive buyer's advisor"])
      expect([caller, (await page(caller)).deal.exclusive_buyer_user_id]).toEqual([caller, exclusive]);
    for (const caller of ['other buyer', 'new buyer', "other buyer's advisor"])
      expect((await page(caller)).deal).toMatchObject({
        exclusive_buyer_user_id: null,
        exclusivity_granted_at: null,
        exclusivity_expires_at: null,
      });
  });

  test('offers each person the actions that the database allows them', async () => {
    const looking = ['can_opt_in_tools', 'can_see_activity'];
    expect(allowed((await page('viewer')).capacities)).toEqual([...looking, 'can_see_conditions'].toSorted());
    expect(allowed((await page('admin')).capacities)).toEqual(
      [
        ...looking,
        'can_invite',
        'can_join',
        'can_remove_participants',
        'can_see_conditions',
        'can_see_keys',
      ].toSorted(),
    );
    const newBuyer = [
      ...looking,
      'can_see_financing',
      'can_see_findings',
      'can_see_ndas',
      'can_see_offers',
      'can_see_questions',
      'can_submit_offer',
    ];
    expect(allowed((await page('new buyer')).capacities)).toEqual(newBuyer.toSorted());
    const otherBuyer = [...newBuyer, 'can_ask', 'can_edit_financing', 'can_edit_findings'];
    expect(allowed((await page('other buyer')).capacities)).toEqual(otherBuyer.toSorted());
    expect(allowed((await page("other buyer's advisor")).capacities)).toEqual(
      otherBuyer.filter((name) => name !== 'can_submit_offer').toSorted(),
    );
    expect(allowed((await page('exclusive buyer')).capacities)).toEqual(
      [...otherBuyer, 'can_edit_qoe', 'can_read_qoe', 'can_see_conditions'].toSorted(),
    );
    const seller = await page('seller');
    expect(seller.side).toBe('seller');
    expect(seller.moves).toEqual([]);
    expect(seller.capacities).toMatchObject({
      can_answer_questions: true,
      can_upload_documents: true,
      can_review_questions: false,
      can_send_nda: false,
      can_accept_offer: false,
      can_edit: false,
    });
    const broker = await page('broker');
    expect(broker.capacities).toMatchObject({
      can_edit: true,
      can_move: true,
      can_send_nda: true,
      can_review_questions: true,
      can_answer_questions: false,
      can_accept_offer: false,
      can_edit_conditions: true,
      can_shut_off_tools: true,
      can_see_keys: true,
      can_admit_keys: true,
    });
  });

  test('counts only what the caller sees', async () => {
    const nothing = {
      ndas_waiting: 0,
      questions_waiting: 0,
      offers: 0,
      conditions_open: 0,
      findings_open: 0,
    };
    expect((await page('broker')).counts).toEqual({
      ...nothing,
      questions_waiting: 1,
      offers: 2,
      conditions_open: 1,
      findings_open: 2,
    });
    expect((await page('seller')).counts).toMatchObject({ questions_waiting: 2, offers: 2 });
    expect((await page('other buyer')).counts).toEqual({ ...nothing, questions_waiting: 1, offers: 1 });
    expect((await page('viewer')).counts).toEqual({ ...nothing, conditions_open: 1 });
  });
});

describe('the list of deals', () => {
  const ids = (body: { items: { id: string }[] }) => body.items.map(({ id }) => id);

  test('shows each person the deals visible to them, with their role', async () => {
    const { deal, idle, records } = web.scene;
    const of = async (caller: string) => (await (await web.as(caller)).ask('/deals?limit=200')).body;
    expect(ids(await of('outsider'))).toEqual([]);
    expect(ids(await of('removed'))).toEqual([]);
    expect(ids(await of('invited'))).toEqual([]);
    expect(ids(await of("seller's advisor"))).toEqual([deal]);
    expect(ids(await of('colleague'))).toContain(records["deals/a colleague's draft"]);
    const exclusive = await of('exclusive buyer');
    expect(exclusive.items.find((one: { id: string }) => one.id === deal)).toMatchObject({
      caller_role: 'exclusive_buyer',
      side: 'buyer',
      questions_waiting: 0,
      offers: 1,
    });
    expect(exclusive.items.find((one: { id: string }) => one.id === idle)).toMatchObject({
      caller_role: 'participant',
    });
    const admins = await of('admin');
    expect(admins.items.find((one: { id: string }) => one.id === deal)).toMatchObject({
      caller_role: 'viewer',
      side: 'viewer',
      questions_waiting: 0,
      offers: 0,
    });
  });

  test('does not count answers to a former buyer who is a viewer now', async () => {
    const { scene, service } = web;
    const deal = await newDeal('listed');
    const part = await joins(deal, 'outsider', 'buyer');
    await service.sql(
      `insert into questions (deal_id, participant_id, asked_by, category, question_text, status, distributed_response, distributed_at)
       values ($1, $2, $3, 'financials', 'Why?', 'distributed', 'Because.', app.now())`,
      [deal, part, scene.people['outsider']],
    );
    const broker = await web.as('broker');
    const outsider = await web.as('outsider');
    const waiting = async () => {
      const { body } = await outsider.ask('/deals?limit=200');
      const listed = body.items.find(({ id }: { id: string }) => id === deal);
      return [listed.questions_waiting, (await outsider.ask(`/deals/${deal}`)).body.counts.questions_waiting];
    };
    expect(await waiting()).toEqual([1, 1]);

    const [{ email }] = (await service.sql<{ email: string }>('select email from users where id = $1', [
      scene.people['outsider'],
    ])) as [{ email: string }];
    await broker.ask(`/deals/${deal}/participants/${part}`, undefined, 'DELETE');
    const invitation = { email, name: 'Ora', role: 'viewer', deliver: 'link' };
    expect((await broker.ask(`/deals/${deal}/participants`, invitation)).status).toBe(201);
    expect((await outsider.ask(`/invitations/${part}/accept`, {})).status).toBe(200);
    expect(await waiting()).toEqual([0, 0]);
    expect((await outsider.ask(`/deals/${deal}/questions/read`, {})).status).toBe(403);
    await service.sql(`update participants set status = 'removed' where id = $1`, [part]);
  });

  test('counts no question of a buyer who has left, until they are invited again; nor does the home page', async () => {
    const { scene, service } = web;
    const deal = await newDeal('listed');
    await joins(deal, 'seller', 'seller');
    const part = await joins(deal, 'outsider', 'buyer');
    const made = await service.sql<{ id: string; status: string }>(
      `insert into questions (deal_id, participant_id, asked_by, category, question_text, status)
       select $1, $2, $3, 'financials', 'Why?', s from unnest('{pending_broker_review,with_seller,answered}'::text[]) s
       returning id, status`,
      [deal, part, scene.people['outsider']],
    );
    const waiting = async () => {
      const all: unknown[] = [];
      for (const name of ['broker', 'seller']) {
        const { ask } = await web.as(name);
        const { items } = (await ask('/deals?limit=200')).body;
        const { queue } = (await ask('/home')).body;
        all.push(
          items.find(({ id }: { id: string }) => id === deal).questions_waiting,
          (await ask(`/deals/${deal}`)).body.counts.questions_waiting,
          queue.filter((one: { deal_id: string }) => one.deal_id === deal).length,
          (await ask(`/deals/${deal}/questions`)).body.items.map((one: { is_awaited: boolean }) => one.is_awaited),
        );
      }
      return all;
    };
    expect(await waiting()).toEqual([2, 2, 2, [true, true, true], 1, 1, 1, [true, true]]);
    await service.sql(`update participants set status = 'removed' where id = $1`, [part]);
    expect(await waiting()).toEqual([0, 0, 0, [false, false, false], 0, 0, 0, [false, false]]);
    const subject_id = made.find(({ status }) => status === 'with_seller')!.id;
    const remind = () =>
      web.as('broker').then(({ ask }) => ask(`/deals/${deal}/reminders`, { subject: 'questions', subject_id }));
    expect(await remind()).toMatchObject({ status: 409, body: { error: { code: 'nobody_to_remind' } } });
    await service.sql(`update participants set status = 'invited' where id = $1`, [part]);
    expect(await waiting()).toEqual([2, 2, 2, [true, true, true], 1, 1, 1, [true, true]]);
    expect(await remind()).toMatchObject({ status: 201 });
  });

  test('counts on ended deals only answers that buyers have not read', async () => {
    const { scene, service } = web;
    const counted = async (state: string) => {
      const [made] = await service.sql(
        `insert into deals (organization_id, title, state) values ($1, $2, $2) returning id`,
        [scene.brokerage, state],
      );
      const deal = made!['id'] as string;
      for (const role of ['broker', 'seller']) await joins(deal, role, role);
      const part = await joins(deal, 'new buyer', 'buyer');
      await service.sql(
        `insert into questions (deal_id, participant_id, asked_by, category, question_text, status, distributed_response, distributed_at)
         select $1, $2, $3, 'financials', 'Why?', s, case when s = 'distributed' then 'Because.' end, case when s = 'distributed' then app.now() end
         from unnest('{pending_broker_review,with_seller,answered,distributed}'::text[]) s`,
        [deal, part, scene.people['new buyer']],
      );
      const all: number[] = [];
      for (const name of ['broker', 'seller', 'new buyer']) {
        const { ask } = await web.as(name);
        const { items } = (await ask('/deals?limit=200')).body;
        all.push(
          items.find(({ id }: { id: string }) => id === deal).questions_waiting,
          (await ask(`/deals/${deal}`)).body.counts.questions_waiting,
        );
      }
      return all;
    };
    expect(await counted('listed')).toEqual([2, 2, 1, 1, 1, 1]);
    for (const over of ['closed', 'withdrawn']) expect([over, await counted(over)]).toEqual([over, [0, 0, 0, 0, 1, 1]]);
  });

  test('dates a deal by its latest recorded action, in whatever order actions are written', async () => {
    const { scene, service } = web;
    const { deal } = scene;
    const done = (at: string, action: string, outcome = 'done') =>
      service.sql('insert into audit_records (at, deal_id, user_id, action, outcome) values ($1, $2, $3, $4, $5)', [
        at,
        deal,
        scene.people['seller'],
        action,
        outcome,
      ]);
    const [later, latest] = [new Date(Date.now() + 3_600_000), new Date(Date.now() + 7_200_000)];
    await done(latest.toISOString(), 'deal.edit');
    await done(later.toISOString(), 'deal.edit');
    await done(new Date(Date.now() + 9_000_000).toISOString(), 'tool:svc_deals_get');
    await done(new Date(Date.now() + 9_000_000).toISOString(), 'deal.edit', 'refused');
    const dated = async (name: string) =>
      (await (await web.as(name)).ask('/deals')).body.items.find(({ id }: { id: string }) => id === deal).updated_at;
    for (const name of ['broker', 'admin', 'seller'])
      expect([name, await dated(name)]).toEqual([name, latest.toISOString()]);
    // Actions of others do not change the time that a buyer sees.
    expect(Date.parse(await dated('other buyer'))).toBeLessThan(Date.parse(later.toISOString()));
    const kept = await service.sql(
      `select 1 from (select distinct on (deal_id) deal_id, at, id from audit_records
         where outcome = 'done' and action not like 'tool:%' and deal_id is not null order by deal_id, at desc, id desc) r
       full join vault.deal_activity a using (deal_id) where (r.at, r.id) is distinct from (a.at, a.record_id)
       union all
       select 2 from (select distinct on (user_id, deal_id) user_id, deal_id, at, id from audit_records
         where outcome = 'done' and action not like 'tool:%' and deal_id is not null and user_id is not null
         order by user_id, deal_id, at desc, id desc) r
       full join vault.own_activity a using (user_id, deal_id) where (r.at, r.id) is distinct from (a.at, a.record_id)`,
    );
    expect(kept).toEqual([]);
    await service.sql(`delete from audit_records where at > app.now() + interval '30 minutes'`);
    await service.sql('delete from vault.deal_activity where deal_id = $1', [deal]);
    await service.sql('delete from vault.own_activity where deal_id = $1', [deal]);
  });

  test('counts and dates each deal as its own page does, for every person', async () => {
    const { service, demo } = await openDemoService();
    try {
      const seen = { questions_waiting: 0, offers: 0, later: 0 };
      // Loading the demo did not change any of its deals.
      expect(
        await service.sql(
          `select d.title from deal_stages g join deals d on d.id = g.deal_id join brokerages b on b.id = d.organization_id
           where b.sandbox_of is null and g.updated_at > d.updated_at`,
        ),
      ).toEqual([]);
      for (const lead of leads) {
        const person = await signInAs(service, demo.people[lead].user_id);
        const { items } = (await person.ask('/deals?limit=200')).body;
        for (const { id, updated_at, state, questions_waiting, offers } of items) {
          const { deal, counts, capacities } = (await person.ask(`/deals/${id}`)).body;
          const { body: questions } = await person.ask(`/deals/${id}/questions`);
          const { body: activity } = await person.ask(`/deals/${id}/activity`);
          expect([lead, id, { updated_at, state, questions_waiting, offers }]).toEqual([
            lead,
            id,
            {
              updated_at: deal.updated_at,
              state: deal.state,
              questions_waiting: counts.questions_waiting,
              offers: counts.offers,
            },
          ]);
          expect(questions_waiting).toBeLessThanOrEqual(questions?.items?.length ?? 0);
          // People who do not run a deal see the time of their own last action on it.
          const all = capacities.can_revoke_nda || capacities.can_join;
          const last =
            activity.items.find((one: { user_id: string }) => all || one.user_id === demo.people[lead].user_id)?.at ??
            deal.created_at;
          expect(Date.parse(updated_at)).toBeGreaterThanOrEqual(Date.parse(last));
          seen.questions_waiting += questions_waiting;
          seen.offers += offers;
          seen.later += Date.parse(last) === Date.parse(updated_at) ? 1 : 0;
        }
        const times = items.map((one: { updated_at: string }) => Date.parse(one.updated_at));
        expect(times).toEqual(times.toSorted((one: number, other: number) => other - one));
      }
      for (const [what, count] of Object.entries(seen)) expect([what, count > 0]).toEqual([what, true]);
    } finally {
      await service.close();
    }
  });

  test('is searched by words, and filtered by several states and roles', async () => {
    const broker = await web.as('broker');
    const found = await newDeal('listed', 'Bäckerei 100% organic_');
    expect(ids((await broker.ask(`/deals?search=${encodeURIComponent('OHIO bäck')}`)).body)).toEqual([found]);
    expect(ids((await broker.ask(`/deals?search=${encodeURIComponent('100%')}`)).body)).toEqual([found]);
    expect(ids((await broker.ask(`/deals?search=${encodeURIComponent('1%o')}`)).body)).toEqual([]);
    await web.service.sql(`update deals set location = 'São Paulo' where id = $1`, [found]);
    for (const search of [
      'sao paulo backerei',
      'Paulo, São',
      'BÄCKEREI 100%.',
      'sao paulo 100% b a c k e r e i organic',
    ])
      expect(ids((await broker.ask(`/deals?search=${encodeURIComponent(search)}`)).body), search).toEqual([found]);
    for (const title of ['Φούρνος ΟΔΟΣ', 'İstanbul kebab']) {
      const id = await newDeal('listed', title);
      expect(ids((await broker.ask(`/deals?search=${encodeURIComponent(title)}`)).body), title).toEqual([id]);
    }
    const both = await broker.ask('/deals?state=diligence&state=withdrawn&limit=200');
    expect(new Set(both.body.items.map((one: { state: string }) => one.state))).toEqual(
      new Set(['diligence', 'withdrawn']),
    );
    const held = await (await web.as('exclusive buyer')).ask('/deals?role=exclusive_buyer&role=viewer');
    expect(ids(held.body)).toEqual([web.scene.deal]);
  });

  test('is paged in every order without gaps or duplicates', async () => {
    const admin = await web.as('admin');
    for (const [title, price] of [
      ['beta', '5'],
      ['Alpha', null],
      ['alpha', '5'],
      ['Gamma', '12'],
      ['delta', null],
      ['Épsilon', '7'],
    ] as const)
      await web.service.sql('insert into deals (organization_id, title, asking_price) values ($1, $2, $3)', [
        web.scene.brokerage,
        title,
        price,
      ]);
    for (const sort of ['title', 'asking_price', 'state', 'updated_at', 'created_at'].flatMap((key) => [
      key,
      `-${key}`,
    ])) {
      const whole = (await admin.ask(`/deals?sort=${sort}&limit=200`)).body;
      expect(whole.next_cursor).toBeNull();
      const paged: string[] = [];
      let cursor: string | null = '';
      do {
        const { status, body }: Answer = await admin.ask(
          `/deals?sort=${sort}&limit=3${cursor ? `&cursor=${cursor}` : ''}`,
        );
        expect(status).toBe(200);
        paged.push(...ids(body));
        cursor = body.next_cursor;
      } while (cursor);
      expect([sort, paged]).toEqual([sort, ids(whole)]);
      expect(new Set(paged).size).toBe(paged.length);
    }
    const titles = (await admin.ask('/deals?sort=title&limit=200')).body.items.map(
      ({ title }: { title: string }) => title,
    );
    const added = new Set(['Alpha', 'beta', 'delta', 'Épsilon', 'Gamma']);
    expect(titles.filter((title: string) => added.has(title))).toEqual([...added]);
    const prices = (await admin.ask('/deals?sort=asking_price&limit=200')).body.items.map(
      (one: { asking_price: string | null }) => one.asking_price,
    );
    expect(prices.at(-1)).toBeNull();
    expect(prices.filter((price: string | null) => price !== null).map(Number)).toEqual(
      prices
        .filter((price: string | null) => price !== null)
        .map(Number)
        .toSorted((a: number, b: number) => a - b),
    );
  });

  test('rejects an unknown limit, order, state or cursor', async () => {
    const admin = await web.as('admin');
    const { next_cursor: cursor } = (await admin.ask('/deals?limit=1')).body;
    const forged = `${cursor.slice(0, -2)}${cursor.endsWith('AA') ? 'BB' : 'AA'}`;
    for (const query of [
      'limit=0',
      'limit=201',
      'limit=x',
      'sort=price',
      'state=sold',
      'role=owner',
      'cursor=x',
      `cursor=${forged}`,
      `cursor=${cursor}&sort=title`,
    ]) {
      const { status, body } = await admin.ask(`/deals?${query}`);
      expect([query, status, body.error?.code]).toEqual([query, 400, 'validation_error']);
    }
    const another = await (await web.as('broker')).ask(`/deals?cursor=${cursor}`);
    expect(another.status).toBe(400);
  });
});

test('an invisible deal and a nonexistent one get the same response', async () => {
  const outsider = await web.as('outsider');
  const bodies = await Promise.all(
    [web.scene.deal, randomUUID(), 'no-id'].map(async (id) => {
      const { status, body } = await outsider.ask(`/deals/${id}`);
      return JSON.stringify({ status, body });
    }),
  );
  expect(new Set(bodies)).toEqual(
    new Set([
      JSON.stringify({
        status: 404,
        body: { error: { code: 'not_found', message: 'It does not exist, or you do not have access to it.' } },
      }),
    ]),
  );
});
