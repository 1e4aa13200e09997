/** NDAs sent, signed and revoked; offers submitted, revised and accepted into exclusivity. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addPerson } from '../oauth/scene.ts';
import { insert } from '../tools/scene.ts';
import { signInAs } from './person.ts';
import { openScene, trail, type WebScene } from './scene.ts';

let web: WebScene;
let deal: string;

beforeAll(async () => {
  web = await openScene();
  ({ deal } = web.scene);
});
afterAll(() => web?.close());

describe('an NDA', () => {
  test('has the standard terms as template, or the terms sent last on the deal', async () => {
    const broker = await web.as('broker');
    const standard = await broker.ask(`/deals/${web.scene.idle}/ndas/template`);
    expect(standard.body.terms).toContain(
      'This agreement is between Scene Brokers ("Broker"), on behalf of the owner ("Seller") of the business described as "Print shop"',
    );
    expect((await broker.ask(`/deals/${deal}/ndas/template`)).body).toEqual({ terms: 'Keep it to yourself.' });
  });

  test('is visible to the deal side and to the signing buyer’s side', async () => {
    const names = async (caller: string) =>
      (await (await web.as(caller)).ask(`/deals/${deal}/ndas`)).body.items
        .map((one: { participant_name: string }) => one.participant_name)
        .toSorted();
    expect(await names('broker')).toEqual(['exclusive buyer', 'other buyer']);
    expect(await names('seller')).toEqual(['exclusive buyer', 'other buyer']);
    expect(await names('other buyer')).toEqual(['other buyer']);
    expect(await names("other buyer's advisor")).toEqual(['other buyer']);
    for (const caller of ['new buyer', 'viewer', 'admin']) expect(await names(caller)).toEqual([]);
  });

  test('is sent only by a broker and to a buyer, with one pending at a time', async () => {
    const { participants } = web.scene;
    const nda = {
      participant_id: participants['new buyer'],
      terms: 'Say nothing.\n\nTo nobody.',
      expires_at: web.service.clock.inDays(700),
    };
    const path = `/deals/${deal}/ndas`;
    for (const caller of ['seller', 'new buyer', 'admin', "broker's advisor"])
      expect([caller, (await (await web.as(caller)).ask(path, nda)).status]).toEqual([caller, 403]);
    const broker = await web.as('broker');
    const reason = async (changes: object) => (await broker.ask(path, { ...nda, ...changes })).body.error.code;
    expect(await reason({ participant_id: participants['seller'] })).toBe('not_a_buyer');
    expect(await reason({ participant_id: web.scene.idleBuyer })).toBe('not_a_buyer');
    expect(await reason({ expires_at: web.service.clock.inDays(-1) })).toBe('expires_in_the_past');
    expect(await reason({ terms: ' ' })).toBe('validation_error');
    const sent = await broker.ask(path, nda);
    expect(sent).toMatchObject({
      status: 201,
      body: {
        status: 'sent',
        participant_name: 'new buyer',
        sent_by_name: 'broker',
        terms: nda.terms,
        expires_at: nda.expires_at,
        signed_at: null,
        mine: false,
      },
    });
    expect(await reason({})).toBe('nda_there_already');
    expect((await trail(web.service, 'nda.send'))[0]).toMatchObject({
      deal_id: deal,
      subject_id: sent.body.id,
      details: {},
    });
  });

  test('is signed only by its buyer, with name, time and address recorded, and grants access', async () => {
    const buyer = await web.as('new buyer');
    const before = (await buyer.ask(`/deals/${deal}`)).body;
    expect(before).toMatchObject({ capacities: { can_sign_nda: true, can_ask: false }, counts: { ndas_waiting: 1 } });
    expect((await buyer.ask('/home')).body.queue).toMatchObject([{ kind: 'ndas_to_sign', deal_id: deal, count: 1 }]);
    const [{ id }] = (await buyer.ask(`/deals/${deal}/ndas`)).body.items;

    expect((await (await web.as('other buyer')).ask(`/ndas/${id}/sign`, { signed_name: 'Xi' })).status).toBe(404);
    expect((await (await web.as('broker')).ask(`/ndas/${id}/sign`, { signed_name: 'Xi' })).status).toBe(403);
    expect((await buyer.ask(`/ndas/${id}/sign`, { signed_name: ' ' })).status).toBe(400);
    for (const signed_name of ['x', 'X.', '1 2'])
      expect(await buyer.ask(`/ndas/${id}/sign`, { signed_name })).toMatchObject({
        status: 400,
        body: { error: { details: [{ path: 'signed_name', message: 'Enter your full name to sign.' }] } },
      });
    const signed = await buyer.ask(`/ndas/${id}/sign`, { signed_name: ' New B. Uyer ' });
    expect(signed).toMatchObject({
      status: 200,
      body: { status: 'active', signed_name: 'New B. Uyer', signed_address: '127.0.0.1', mine: true },
    });
    expect(signed.body.signed_at).toMatch(/Z$/);
    expect((await buyer.ask(`/ndas/${id}/sign`, { signed_name: 'Again' })).body.error.code).toBe('nda_not_waiting');
    expect((await trail(web.service, 'nda.sign'))[0]).toMatchObject({
      user_id: web.scene.people['new buyer'],
      subject_id: id,
    });

    const after = (await buyer.ask(`/deals/${deal}`)).body;
    expect(after).toMatchObject({ capacities: { can_sign_nda: false, can_ask: true }, counts: { ndas_waiting: 0 } });
    expect(after.participants.find((one: { name: string }) => one.name === 'new buyer').nda_status).toBe('active');
  });

  test('is revoked only by a broker, which ends the access it granted', async () => {
    const broker = await web.as('broker');
    const { items } = (await broker.ask(`/deals/${deal}/ndas`)).body;
    const { id } = items.find((one: { participant_name: string }) => one.participant_name === 'new buyer');
    expect((await (await web.as('seller')).ask(`/ndas/${id}/revoke`, {})).status).toBe(403);
    expect((await (await web.as('new buyer')).ask(`/ndas/${id}/revoke`, {})).status).toBe(403);
    expect((await (await web.as('other buyer')).ask(`/ndas/${id}/revoke`, {})).status).toBe(404);
    const revoked = await broker.ask(`/ndas/${id}/revoke`, {});
    expect(revoked.body).toMatchObject({ status: 'revoked', signed_name: 'New B. Uyer' });
    expect(revoked.body.revoked_at).not.toBeNull();
    expect((await broker.ask(`/ndas/${id}/revoke`, {})).status).toBe(200);
    expect(await trail(web.service, 'nda.revoke')).toHaveLength(1);
    expect((await (await web.as('new buyer')).ask(`/deals/${deal}`)).body.capacities.can_ask).toBe(false);
  });

  test('is followed by the next before it ends, which replaces it without a gap', async () => {
    const { participants, people } = web.scene;
    const [broker, buyer] = [await web.as('broker'), await web.as('exclusive buyer')];
    const participant_id = participants['exclusive buyer'];
    const list = async (of = broker) =>
      (await of.ask(`/deals/${deal}/ndas`)).body.items.filter(
        (one: { participant_id: string }) => one.participant_id === participant_id,
      );
    const send = (expires_at: string | null) =>
      broker.ask(`/deals/${deal}/ndas`, { participant_id, terms: 'For longer.', expires_at });
    const isLetIn = async () => (await buyer.ask(`/deals/${deal}`)).body.capacities.can_read_qoe;
    const [inForce] = await list();
    expect(await isLetIn()).toBe(true);
    // The one in the scene has no end, and so needs none to follow it.
    expect((await send(null)).body.error.code).toBe('nda_there_already');
    await web.service.sql('update ndas set expires_at = $2 where id = $1', [inForce.id, web.service.clock.inDays(9)]);

    const sent = await send(web.service.clock.inDays(700));
    expect(sent).toMatchObject({ status: 201, body: { status: 'sent' } });
    expect((await send(null)).body.error.code).toBe('nda_there_already');
    expect(await list()).toMatchObject([{ status: 'sent' }, { id: inForce.id, status: 'active' }]);
    expect((await buyer.ask(`/deals/${deal}`)).body).toMatchObject({
      capacities: { can_ask: true, can_sign_nda: true, can_read_qoe: true },
      counts: { ndas_waiting: 1 },
    });
    const status = async () =>
      (await broker.ask(`/deals/${deal}`)).body.participants.find((one: { id: string }) => one.id === participant_id)
        .nda_status;
    expect(await status()).toBe('active');

    expect((await buyer.ask(`/ndas/${sent.body.id}/sign`, { signed_name: 'E. Buyer' })).status).toBe(200);
    expect(await list()).toMatchObject([
      { id: sent.body.id, status: 'active', replaced_at: null },
      { id: inForce.id, status: 'expired', replaced_at: expect.any(String), revoked_at: null },
    ]);
    expect(await isLetIn()).toBe(true);
    expect(await status()).toBe('active');
    // The days on which the first would have ended pass without effect, and one revocation ends all access.
    web.service.clock.advance(10 * 86_400_000);
    try {
      const fresh = await signInAs(web.service, people['exclusive buyer']!);
      expect((await fresh.ask(`/deals/${deal}`)).body.capacities).toMatchObject({ can_ask: true, can_read_qoe: true });
    } finally {
      web.service.clock.advance(-10 * 86_400_000);
    }
  });

  test('that ended unnoticed is recorded as ended when the next is signed', async () => {
    const { service, scene } = web;
    const [broker, buyer] = [await web.as('broker'), await web.as('exclusive buyer')];
    const participant_id = scene.participants['exclusive buyer'];
    const [inForce] = await service.sql<{ id: string }>(
      `update ndas set expires_at = $2 where participant_id = $1 and status = 'active' returning id`,
      [participant_id, service.clock.inDays(0.04)],
    );
    const sent = await broker.ask(`/deals/${deal}/ndas`, { participant_id, terms: 'Anew.', expires_at: null });
    expect(sent.status).toBe(201);
    service.clock.advance(0.05 * 86_400_000);
    try {
      expect((await buyer.ask(`/ndas/${sent.body.id}/sign`, { signed_name: 'E. Buyer' })).status).toBe(200);
      expect((await trail(service, 'nda.expire')).filter(({ subject_id }) => subject_id === inForce!.id)).toEqual([
        expect.objectContaining({ user_id: null, deal_id: deal, outcome: 'done', details: {} }),
      ]);
      expect(
        await service.sql(`select actor_id from vault.events where kind = 'nda_ended' and subject_id = $1`, [
          inForce!.id,
        ]),
      ).toEqual([{ actor_id: null }]);
    } finally {
      service.clock.advance(-0.05 * 86_400_000);
    }
  });

  test('counts as expired right after its expiry, and a new one can be sent', async () => {
    const broker = await web.as('broker');
    const participant_id = web.scene.participants['new buyer'];
    const sent = await broker.ask(`/deals/${deal}/ndas`, {
      participant_id,
      terms: 'Briefly.',
      expires_at: web.service.clock.inDays(0.04),
    });
    web.service.clock.advance(0.05 * 86_400_000);
    try {
      const { items } = (await broker.ask(`/deals/${deal}/ndas`)).body;
      expect(items.find((one: { id: string }) => one.id === sent.body.id).status).toBe('expired');
      const late = await (await web.as('new buyer')).ask(`/ndas/${sent.body.id}/sign`, { signed_name: 'Late' });
      expect(late.body.error.code).toBe('nda_not_waiting');
      expect(
        (await broker.ask(`/deals/${deal}/ndas`, { participant_id, terms: 'Again.', expires_at: null })).status,
      ).toBe(201);
    } finally {
      web.service.clock.advance(-0.05 * 86_400_000);
    }
  });

  test('is listed page by page: pending ones first, then active ones, then the others', async () => {
    const of = await insert(web.service, 'deals', {
      organization_id: web.scene.brokerage,
      title: 'Many',
      state: 'listed',
    });
    const takesPart = (person: string, role: string) =>
      insert(web.service, 'participants', { deal_id: of, user_id: web.scene.people[person], role, status: 'active' });
    await takesPart('broker', 'broker');
    const buyers = [await takesPart('new buyer', 'buyer'), await takesPart('other buyer', 'buyer')];
    const sent = async (buyer: number, status: string, day: number) => {
      const at = `2026-01-0${day}T00:00:00Z`;
      const signed = status === 'sent' ? {} : { signed_at: at, signed_name: 'Me' };
      const nda = { deal_id: of, participant_id: buyers[buyer], status, terms: 'Keep it.', sent_at: at, ...signed };
      return insert(web.service, 'ndas', nda);
    };
    const waits = await sent(0, 'sent', 2);
    const active = await sent(1, 'active', 1);
    const over = [await sent(0, 'revoked', 4), await sent(1, 'expired', 3)];
    const broker = await web.as('broker');
    const read: string[] = [];
    let cursor: string | null = '';
    for (let pages = 0; cursor !== null && pages < 9; pages += 1) {
      const { body } = await broker.ask(
        `/deals/${of}/ndas?limit=1${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      read.push(...body.items.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    }
    expect(read).toEqual([waits, active, ...over]);
    expect((await broker.ask(`/deals/${of}/ndas`)).body.items.map(({ id }: { id: string }) => id)).toEqual(read);
  });
});

test('an NDA on a withdrawn deal can be neither sent nor signed, but can be revoked', async () => {
  const { service, scene } = web;
  const deal_id = await insert(service, 'deals', { organization_id: scene.brokerage, title: 'Ends', state: 'listed' });
  const joins = (name: string, role: string) =>
    insert(service, 'participants', { deal_id, user_id: scene.people[name], role, status: 'active' });
  await joins('broker', 'broker');
  const [participant_id, another] = [await joins('new buyer', 'buyer'), await joins('other buyer', 'buyer')];
  const [broker, buyer] = [await web.as('broker'), await web.as('new buyer')];
  const path = `/deals/${deal_id}`;
  const send = (to: string) =>
    broker.ask(`${path}/ndas`, { participant_id: to, terms: 'Briefly.', expires_at: service.clock.inDays(1) });
  const { id } = (await send(participant_id)).body;
  expect((await buyer.ask(path)).body.capacities.can_sign_nda).toBe(true);
  expect((await broker.ask(`${path}/moves`, { to: 'withdrawn' })).status).toBe(200);

  expect((await buyer.ask(path)).body.capacities.can_sign_nda).toBe(false);
  const signed = await buyer.ask(`/ndas/${id}/sign`, { signed_name: 'Late' });
  expect([signed.status, signed.body.error.code]).toEqual([409, 'deal_withdrawn']);
  expect((await buyer.ask(`${path}/ndas`)).body.items).toMatchObject([{ status: 'sent', signed_name: null }]);
  expect((await send(another)).body.error.code).toBe('deal_withdrawn');
  expect((await broker.ask(`/ndas/${id}/revoke`, {})).body.status).toBe('revoked');
});

describe('before the NDA is active', () => {
  const sellers = ['seller', "seller's advisor"];
  /** Returns which names of the seller's side appear anywhere in a caller's responses about a deal. */
  const named = async (caller: string, on: string) => {
    const person = await web.as(caller);
    const paths = ['', '/documents', '/activity', '/questions', '/conditions', '/tools', '/ndas', '/offers'];
    const read = await Promise.all(paths.map(async (part) => (await person.ask(`/deals/${on}${part}`)).body));
    const said = JSON.stringify(read);
    return sellers.filter((name) => said.includes(`"${name}"`) || said.includes(web.scene.people[name]!));
  };
  const sees = async (caller: string, on: string) =>
    (await (await web.as(caller)).ask(`/deals/${on}`)).body.participants.some(
      (one: { name: string }) => one.name === 'seller',
    );

  beforeAll(async () => {
    await web.service.sql(`update documents set uploaded_by = $1 where deal_id = $2`, [
      web.scene.people['seller'],
      deal,
    ]);
    await web.service.sql(
      `insert into documents (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key, uploaded_by)
       values ($1, 'teaser.pdf', 'legal', 'public', 1, 'application/pdf', 'teaser', $2)`,
      [web.scene.idle, web.scene.people['seller']],
    );
  });

  test('a buyer and their advisors see no name of the seller’s side, even if known from another deal', async () => {
    const { idle } = web.scene;
    expect(await named('new buyer', deal)).toEqual([]);
    expect(await named('other buyer', deal)).toEqual(['seller']);
    // They know the seller of one deal, but not that the same person sells the other.
    for (const caller of ['exclusive buyer', 'other buyer']) expect(await named(caller, idle)).toEqual([]);
    expect(await named('broker', idle)).toEqual(['seller']);
    const { items } = (await (await web.as('exclusive buyer')).ask(`/deals/${idle}/documents`)).body;
    expect(items).toMatchObject([{ filename: 'teaser.pdf', uploaded_by_name: null }]);
  });

  test('the seller is hidden in every state of the deal, also after the NDA is revoked or expires', async () => {
    for (const state of ['draft', 'listed', 'under_offer']) {
      const deal_id = await insert(web.service, 'deals', { organization_id: web.scene.brokerage, title: state, state });
      const joins = (name: string, role: string) =>
        insert(web.service, 'participants', { deal_id, user_id: web.scene.people[name], role, status: 'active' });
      await joins('seller', 'seller');
      const participant_id = await joins('new buyer', 'buyer');
      const nda = { deal_id, participant_id, terms: 'Briefly.', signed_at: new Date(), signed_name: 'N. Buyer' };
      for (const [status, days] of [
        ['sent', 1],
        ['revoked', 1],
        ['expired', 1],
        ['active', -1],
      ] as const) {
        await insert(web.service, 'ndas', { ...nda, status, expires_at: web.service.clock.inDays(days) });
        expect([state, status, await sees('new buyer', deal_id)]).toEqual([state, status, false]);
      }
      await insert(web.service, 'ndas', { ...nda, status: 'active', expires_at: web.service.clock.inDays(1) });
      expect([state, await sees('new buyer', deal_id)]).toEqual([state, true]);
    }
  });

  test('buyers see the seller of a deal that a broker has marked as needing no NDA', async () => {
    const { idle } = web.scene;
    const broker = await web.as('broker');
    expect((await broker.ask(`/deals/${idle}`)).body.deal.needs_nda).toBe(true);
    expect((await (await web.as('seller')).ask(`/deals/${idle}`, { needs_nda: false }, 'PATCH')).status).toBe(403);
    expect((await broker.ask(`/deals/${idle}`, { needs_nda: 'no' }, 'PATCH')).status).toBe(400);
    expect((await broker.ask(`/deals/${idle}`, { needs_nda: false }, 'PATCH')).body.needs_nda).toBe(false);
    expect(await sees('new buyer', idle)).toBe(true);
    expect((await (await web.as('new buyer')).ask(`/deals/${idle}`)).body.deal.needs_nda).toBe(false);
    await broker.ask(`/deals/${idle}`, { needs_nda: true }, 'PATCH');
    expect(await sees('new buyer', idle)).toBe(false);
    const opened = { organization_id: web.scene.brokerage, title: 'Kiosk', currency: 'USD' };
    expect((await broker.ask('/deals', opened)).body.needs_nda).toBe(true);
    expect((await broker.ask('/deals', { ...opened, needs_nda: false })).body.needs_nda).toBe(false);
  });
});

describe('an offer', () => {
  const payload = {
    currency: 'USD',
    purchase_price: '1200000.25',
    cash_at_close: '900000',
    financing_contingency: true,
    target_close_date: new Date(Date.now() + 60 * 86_400_000).toISOString().slice(0, 10),
    terms: 'Subject to lease.',
    escrow_agent: { name: 'First Title' },
  };
  let path: string;
  beforeAll(() => {
    path = `/deals/${web.scene.idle}/offers`;
  });

  test('is submitted and revised by buyers, and keeps unknown fields', async () => {
    const buyer = await web.as('new buyer');
    const first = await buyer.ask(path, { payload });
    expect(first).toMatchObject({
      status: 201,
      body: { revision_number: 1, is_current: true, mine: true, accepted_at: null, buyer_name: 'new buyer', payload },
    });
    const second = await buyer.ask(path, { payload: { ...payload, purchase_price: '1300000', seller_note: null } });
    expect(second.body).toMatchObject({
      revision_number: 2,
      payload: { purchase_price: '1300000', seller_note: null },
    });
    const numbers = ({ items }: { items: { revision_number: number; is_current: boolean }[] }) =>
      items.map((one) => [one.revision_number, one.is_current]);
    expect(numbers((await buyer.ask(path)).body)).toEqual([[2, true]]);
    const history = `${path}/${web.scene.people['new buyer']}/revisions`;
    expect(numbers((await buyer.ask(history)).body)).toEqual([
      [2, true],
      [1, false],
    ]);
    expect((await (await web.as('other buyer')).ask(history)).body.items).toEqual([]);
    expect((await trail(web.service, 'offer.submit')).map(({ details }) => details)).toEqual([
      { revision: 2 },
      { revision: 1 },
    ]);
    for (const caller of ['broker', 'seller', 'viewer'])
      expect([caller, (await (await web.as(caller)).ask(path, { payload })).status]).toEqual([caller, 403]);
  });

  test('is rejected with a list of its invalid fields', async () => {
    const buyer = await web.as('new buyer');
    const faulty = await buyer.ask(path, {
      payload: {
        ...payload,
        purchase_price: '1e9',
        cash_at_close: '-5',
        target_close_date: '2030-02-31',
        financing_contingency: 'yes',
      },
    });
    expect(faulty.body.error.details.map((fault: { path: string }) => fault.path)).toEqual([
      'payload.purchase_price',
      'payload.cash_at_close',
      'payload.financing_contingency',
      'payload.target_close_date',
    ]);
  });

  test('keeps every digit of unknown numbers, and is rejected for extreme numbers or deep nesting', async () => {
    const buyer = await web.as('new buyer');
    const send = async (more: string) => {
      const response = await fetch(`${web.service.origin}/api/web${path}`, {
        method: 'POST',
        headers: { ...buyer.headers, 'content-type': 'application/json' },
        body: `{"payload":{"currency":"USD","purchase_price":"1300000","seller_note":null,${more}}}`,
      });
      return { status: response.status, text: await response.text() };
    };
    const kept = await send('"shares":12345678901234567890.1250');
    expect([kept.status, kept.text]).toEqual([201, expect.stringMatching(/"shares": ?12345678901234567890\.1250[,}]/)]);
    for (const [more, message] of [
      ['"shares":1e131071', 'A number in the offer is too large or too small.'],
      ['"shares":[{"of":1E-16000}]', 'A number in the offer is too large or too small.'],
      [`"shares":${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'The body is nested too deeply.'],
    ] as const) {
      const refused = await send(more);
      expect([more.slice(0, 40), refused.status]).toEqual([more.slice(0, 40), 400]);
      expect(refused.text).toContain(message);
    }
    expect((await (await web.as('broker')).ask(path)).status).toBe(200);
  });

  test('is rejected over 32 kB as stored, or with an expiry or close date in the past', async () => {
    const buyer = await web.as('new buyer');
    const { length } = (await buyer.ask(`${path}/${web.scene.people['new buyer']}/revisions`)).body.items;
    const send = async (more: string) => {
      const response = await fetch(`${web.service.origin}/api/web${path}`, {
        method: 'POST',
        headers: { ...buyer.headers, 'content-type': 'application/json' },
        body: `{"payload":{"currency":"USD","purchase_price":"1300000",${more}}}`,
      });
      const { error } = (await response.json()) as { error: { code: string; details: { path: string }[] } };
      return [response.status, error.code, error.details.map((fault) => fault.path)];
    };
    const nines = (count: number) => `"other":[${Array.from({ length: count }, () => '1e99').join(',')}]`;
    // A payload that is small in the request but large in the database; and one that is large in both.
    for (const more of [nines(1000), nines(10_000)])
      expect(await send(more)).toEqual([400, 'validation_error', ['payload']]);
    for (const [more, field] of [
      [`"expires_at":"${web.service.clock.inDays(-0.01)}"`, 'payload.expires_at'],
      [`"target_close_date":"2020-01-01"`, 'payload.target_close_date'],
    ] as const)
      expect(await send(more)).toEqual([400, 'validation_error', [field]]);
    expect((await buyer.ask(`${path}/${web.scene.people['new buyer']}/revisions`)).body.items).toHaveLength(length);
  });

  test('is listed page by page, one current offer per buyer, with revisions listed separately', async () => {
    const broker = await web.as('broker');
    const [{ id: many }] = (await web.service.sql(
      `insert into deals (organization_id, title, state) values ($1, 'Many bids', 'listed') returning id`,
      [web.scene.brokerage],
    )) as [{ id: string }];
    await web.service.sql(
      `insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active')`,
      [many, web.scene.people['broker']],
    );
    await web.service.sql(
      `with bidders as (
         insert into users (email, name) select 'bidder' || n || '@example.test', 'Bidder ' || n from generate_series(1, 55) n returning id),
       parts as (
         insert into participants (deal_id, user_id, role, status) select $1, id, 'buyer', 'active' from bidders returning id, user_id)
       insert into offers (deal_id, participant_id, buyer_user_id, revision_number, is_current, submitted_at, payload)
       select $1, id, user_id, n, n = 30, app.now() - make_interval(mins => 40 - n), '{"currency": "USD", "purchase_price": "1"}'
       from parts, generate_series(1, 30) n`,
      [many],
    );
    const first = await broker.ask(`/deals/${many}/offers`);
    expect(first.body.items).toHaveLength(50);
    const rest = await broker.ask(`/deals/${many}/offers?cursor=${first.body.next_cursor}`);
    expect(rest.body).toMatchObject({ next_cursor: null });
    const all = [...first.body.items, ...rest.body.items];
    expect([all.length, new Set(all.map(({ buyer_user_id: buyer }) => buyer)).size]).toEqual([55, 55]);
    expect(new Set(all.map(({ revision_number: number }) => number))).toEqual(new Set([30]));
    const history = `/deals/${many}/offers/${all[0].buyer_user_id}/revisions?limit=20`;
    const latest = await broker.ask(history);
    const earlier = await broker.ask(`${history}&cursor=${latest.body.next_cursor}`);
    expect([...latest.body.items, ...earlier.body.items].map(({ revision_number: number }) => number)).toEqual(
      Array.from({ length: 30 }, (_, at) => 30 - at),
    );
    for (const wrong of ['limit=51', 'limit=0', 'cursor=x', `cursor=${latest.body.next_cursor}`])
      expect([wrong, (await broker.ask(`/deals/${many}/offers?${wrong}`)).status]).toEqual([wrong, 400]);
  });

  test('of a removed buyer stays on record, but neither it nor their NDA counts as waiting', async () => {
    const broker = await web.as('broker');
    const [{ id: left }] = (await web.service.sql(
      `insert into deals (organization_id, title, state) values ($1, 'Left by a buyer', 'listed') returning id`,
      [web.scene.brokerage],
    )) as [{ id: string }];
    await web.service.sql(
      `insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active')`,
      [left, web.scene.people['broker']],
    );
    const [one] = await web.service.sql<{ id: string; user_id: string }>(
      `with bidders as (insert into users (email, name) values ('stays@example.test', 'Stays'), ('leaves@example.test', 'Leaves') returning id, name),
       parts as (
         insert into participants (deal_id, user_id, role, status) select $1, id, 'buyer', 'active' from bidders returning id, user_id),
       signing as (insert into ndas (deal_id, participant_id, terms) select $1, id, 'Say nothing.' from parts),
       bids as (
         insert into offers (deal_id, participant_id, buyer_user_id, revision_number, payload)
         select $1, parts.id, user_id, 1,
           jsonb_build_object('currency', 'USD', 'purchase_price', length(name)::text, 'expires_at', app.now() + interval '30 days')
         from parts join bidders on bidders.id = user_id)
       select parts.id, user_id from parts join bidders on bidders.id = user_id where name = 'Leaves'`,
      [left],
    );
    const { url: calendar } = (await broker.ask('/notifications/calendar', {})).body;
    const waiting = async () => {
      const { queue } = (await broker.ask('/home')).body;
      const of = (kind: string) =>
        queue.find((entry: { kind: string; deal_id: string }) => entry.kind === kind && entry.deal_id === left)?.count;
      const { ndas_waiting } = (await broker.ask(`/deals/${left}`)).body.counts;
      const text = (await (await fetch(calendar)).text()).replaceAll('\r\n ', '');
      const ending = [...text.matchAll(/^SUMMARY.*Left by a buyer/gm)].length;
      return { offers: of('offers_to_consider'), unsigned: of('ndas_unsigned'), ndas_waiting, ending };
    };
    expect(await waiting()).toEqual({ offers: 2, unsigned: 2, ndas_waiting: 2, ending: 2 });
    expect((await broker.ask(`/deals/${left}/participants/${one!.id}`, undefined, 'DELETE')).status).toBe(200);
    expect(await waiting()).toEqual({ offers: 1, unsigned: 1, ndas_waiting: 1, ending: 1 });
    // Nor for a person who comes back as a viewer: they cannot sign the NDA that was sent to them as a buyer.
    for (const change of [`role = 'viewer', status = 'invited'`, `status = 'active'`])
      await web.service.sql(`update participants set ${change} where id = $1`, [one!.id]);
    const viewer = await signInAs(web.service, one!.user_id);
    expect((await viewer.ask(`/deals/${left}`)).body.capacities).toMatchObject({ can_sign_nda: false });
    const [sent] = await web.service.sql<{ id: string }>('select id from ndas where participant_id = $1', [one!.id]);
    expect((await viewer.ask(`/ndas/${sent!.id}/sign`, { signed_name: 'Lea Leaves' })).status).toBeGreaterThan(399);
    expect(await waiting()).toEqual({ offers: 1, unsigned: 1, ndas_waiting: 1, ending: 1 });
    const { items } = (await broker.ask(`/deals/${left}/offers`)).body;
    const gone = items.find((item: { buyer_left: boolean }) => item.buyer_left);
    expect([items.length, gone.buyer_user_id]).toEqual([2, one!.user_id]);
    const worth = (await broker.ask(`/deals/${left}/offers/worth`)).body.offers;
    expect(worth.map(({ offer_id }: { offer_id: string }) => offer_id)).toEqual(
      items.filter(({ id }: { id: string }) => id !== gone.id).map(({ id }: { id: string }) => id),
    );
    const accept = { expires_at: web.service.clock.inDays(30) };
    expect((await broker.ask(`/offers/${gone.id}/accept`, accept)).body.error.code).toBe('not_an_active_buyer');
  });

  test('is visible to the deal side and to its own buyer', async () => {
    await (await web.as('other buyer')).ask(path, { payload: { ...payload, purchase_price: '1250000' } });
    const buyers = async (caller: string) =>
      new Set((await (await web.as(caller)).ask(path)).body.items.map((one: { buyer_name: string }) => one.buyer_name));
    expect(await buyers('broker')).toEqual(new Set(['new buyer', 'other buyer']));
    expect(await buyers('seller')).toEqual(new Set(['new buyer', 'other buyer']));
    expect(await buyers('new buyer')).toEqual(new Set(['new buyer']));
    expect(await buyers('viewer')).toEqual(new Set());
    expect((await (await web.as('broker')).ask('/home')).body.queue).toContainEqual(
      expect.objectContaining({ kind: 'offers_to_consider', deal_id: web.scene.idle, count: 2 }),
    );
  });

  test('is accepted into exclusivity only by a broker, and only in its latest unexpired revision', async () => {
    const broker = await web.as('broker');
    const items = (
      await Promise.all(
        ['new buyer', 'other buyer'].map((who) => broker.ask(`${path}/${web.scene.people[who]}/revisions`)),
      )
    ).flatMap(({ body }) => body.items);
    const of = (name: string, revision: number) =>
      items.find(
        (one: { buyer_name: string; revision_number: number }) =>
          one.buyer_name === name && one.revision_number === revision,
      ).id;
    const accept = (caller: Awaited<ReturnType<typeof web.as>>, offer: string, until = web.service.clock.inDays(30)) =>
      caller.ask(`/offers/${offer}/accept`, { expires_at: until });

    expect((await accept(await web.as('seller'), of('new buyer', 3))).status).toBe(403);
    expect((await accept(await web.as('new buyer'), of('new buyer', 3))).status).toBe(403);
    expect((await accept(await web.as('new buyer'), of('other buyer', 1))).status).toBe(404);
    expect((await accept(broker, of('new buyer', 1))).body.error.code).toBe('offer_superseded');
    expect((await accept(broker, of('new buyer', 3), web.service.clock.inDays(-1))).body.error.code).toBe(
      'expires_in_the_past',
    );
    // The offer has expired.
    const standsUntil = async (expires_at: string | null) =>
      web.service.sql(
        `update offers set payload = payload || jsonb_build_object('expires_at', $2::text) where id = $1`,
        [of('new buyer', 3), expires_at],
      );
    const toConsider = async () =>
      (await broker.ask('/home')).body.queue.find(
        (entry: { kind: string; deal_id: string }) =>
          entry.kind === 'offers_to_consider' && entry.deal_id === web.scene.idle,
      ).count;
    expect(await toConsider()).toBe(2);
    await standsUntil('2026-01-31T12:00:00Z');
    expect(await toConsider()).toBe(1);
    expect((await accept(broker, of('new buyer', 3))).body.error).toMatchObject({
      code: 'offer_expired',
      message: 'This offer expired on 31 January 2026 at 12:00 UTC: ask the buyer to submit it again.',
    });
    await standsUntil(null);
    const accepted = await accept(broker, of('new buyer', 3));
    expect(accepted).toMatchObject({
      status: 200,
      body: { deal: { state: 'exclusivity', exclusive_buyer_user_id: web.scene.people['new buyer'] } },
    });
    expect((await accept(broker, of('other buyer', 1))).body.error.code).toBe('exclusivity_runs');
    expect((await trail(web.service, 'offer.accept'))[0]).toMatchObject({
      subject_id: of('new buyer', 3),
      deal_id: web.scene.idle,
    });

    const acceptedFor = async (caller: string) =>
      (await (await web.as(caller)).ask(path)).body.items
        .filter((one: { accepted_at: string | null }) => one.accepted_at)
        .map((one: { buyer_name: string; revision_number: number }) => [one.buyer_name, one.revision_number]);
    for (const caller of ['broker', 'seller', 'new buyer'])
      expect(await acceptedFor(caller)).toEqual([['new buyer', 3]]);
    expect(await acceptedFor('other buyer')).toEqual([]);
    expect((await broker.ask(path)).body.agreed).toMatchObject({ buyer_name: 'new buyer', revision_number: 3 });
    expect((await (await web.as('other buyer')).ask(path)).body.agreed).toBeNull();
    // The other buyer does not learn that the deal goes to somebody else, and may submit further offers.
    expect((await (await web.as('other buyer')).ask(path, { payload })).status).toBe(201);
  });

  test('stays agreed once accepted: later revisions are proposals for the broker to decide', async () => {
    const [broker, seller, buyer, other] = await Promise.all(
      ['broker', 'seller', 'new buyer', 'other buyer'].map(web.as),
    );
    const people = { broker, seller, buyer, other } as Record<string, Awaited<ReturnType<typeof web.as>>>;
    // Who advises the one side or the other sees the same offers.
    for (const who of ['seller', 'new buyer']) {
      const { id } = await addPerson(web.service, `Advisor of ${who}`);
      await web.service.sql(
        `insert into participants (deal_id, user_id, role, status, advises)
         select deal_id, $3, 'advisor', 'active', id from participants where deal_id = $1 and user_id = $2`,
        [web.scene.idle, web.scene.people[who], id],
      );
      people[`${who}'s advisor`] = await signInAs(web.service, id);
    }
    const queueOf = async (who: string) =>
      (await people[who]!.ask('/home')).body.queue
        .filter(
          (entry: { kind: string; deal_id: string }) =>
            entry.kind.startsWith('offer_changes') && entry.deal_id === web.scene.idle,
        )
        .map((entry: { kind: string; count: number }) => [entry.kind, entry.count]);
    const seen = async (who: string) => {
      const { items, agreed, selected } = (await people[who]!.ask(path)).body;
      const current = items.find((one: { buyer_name: string }) => one.buyer_name === 'new buyer');
      expect(selected).toEqual(current ?? null);
      return { current, agreed };
    };
    await broker!.ask(`/deals/${web.scene.idle}/moves`, { to: 'diligence' });
    for (const who of Object.keys(people)) expect([who, await queueOf(who)]).toEqual([who, []]);

    const cut = await buyer!.ask(path, { payload: { ...payload, purchase_price: '800000' } });
    expect(cut.body).toMatchObject({ revision_number: 4, is_current: true, proposed: true, accepted_at: null });
    for (const who of ['broker', 'seller', 'buyer'])
      expect([who, await seen(who)]).toEqual([
        who,
        {
          current: expect.objectContaining({ revision_number: 4, proposed: true, agreed: false }),
          agreed: expect.objectContaining({ revision_number: 3, agreed: true, proposed: false }),
        },
      ]);
    expect(await seen('other')).toEqual({ current: undefined, agreed: null });
    expect(await queueOf('broker')).toEqual([['offer_changes_to_decide', 1]]);
    for (const who of ['seller', 'buyer', "seller's advisor", "new buyer's advisor"])
      expect([who, await queueOf(who)]).toEqual([who, [['offer_changes_with_broker', 1]]]);
    expect(await queueOf('other')).toEqual([]);

    const decide = (who: string, id: string, decision: string) =>
      people[who]!.ask(`/offers/${id}/decision`, { decision });
    for (const who of ['seller', 'buyer']) expect((await decide(who, cut.body.id, 'accepted')).status).toBe(403);
    expect((await decide('other', cut.body.id, 'accepted')).status).toBe(404);
    expect((await decide('broker', cut.body.id, 'declined')).status).toBe(200);
    expect(await seen('buyer')).toMatchObject({
      current: { revision_number: 4, proposed: false, declined_at: expect.any(String) },
      agreed: { revision_number: 3 },
    });
    for (const who of Object.keys(people)) expect([who, await queueOf(who)]).toEqual([who, []]);

    const second = await buyer!.ask(path, { payload: { ...payload, purchase_price: '1100000' } });
    expect((await decide('broker', cut.body.id, 'accepted')).body.error.code).toBe('offer_superseded');
    web.service.clock.advance(1000);
    const standsUntil = (expires_at: string | null) =>
      web.service.sql(
        `update offers set payload = payload || jsonb_build_object('expires_at', $2::text) where id = $1`,
        [second.body.id, expires_at],
      );
    await standsUntil('2026-01-31T12:00:00Z');
    expect((await decide('broker', second.body.id, 'accepted')).body.error.code).toBe('offer_expired');
    expect((await decide('broker', second.body.id, 'declined')).status).toBe(200);
    await standsUntil(null);
    expect((await decide('broker', second.body.id, 'accepted')).status).toBe(200);
    expect(await seen('seller')).toMatchObject({
      current: { revision_number: 5, proposed: false, agreed: true },
      agreed: { revision_number: 5, payload: { purchase_price: '1100000' } },
    });
    expect((await decide('broker', second.body.id, 'declined')).body.error.code).toBe('offer_accepted');
    for (const [action, count] of [
      ['offer.accept_change', 1],
      ['offer.decline_change', 2],
    ] as const)
      expect(await trail(web.service, action)).toHaveLength(count);
    // The broker cannot decide this way on an offer of a buyer without exclusivity.
    const theirs = (await other!.ask(path, { payload })).body;
    expect((await decide('broker', theirs.id, 'accepted')).body.error.code).toBe('no_exclusivity');
  });

  test('can be accepted again in a later exclusivity of the same buyer', async () => {
    const { service, scene } = web;
    const [{ id: kiln }] = (await service.sql(
      `insert into deals (organization_id, title, state) values ($1, 'Kiln', 'listed') returning id`,
      [scene.brokerage],
    )) as [{ id: string }];
    for (const [person, role] of [
      ['broker', 'broker'],
      ['new buyer', 'buyer'],
    ] as const)
      await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, $3, 'active')`, [
        kiln,
        scene.people[person],
        role,
      ]);
    const [broker, buyer] = await Promise.all(['broker', 'new buyer'].map(web.as));
    const at = `/deals/${kiln}`;
    const { body: offer } = await buyer!.ask(`${at}/offers`, { payload });
    const expires_at = service.clock.inDays(30);
    expect((await broker!.ask(`/offers/${offer.id}/accept`, { expires_at })).status).toBe(200);
    expect((await broker!.ask(`${at}/exclusivity`, undefined, 'DELETE')).status).toBe(200);
    service.clock.advance(1000);
    const { participant_id } = offer;
    const granted = await broker!.ask(`${at}/exclusivity`, { participant_id, expires_at });
    // The fields by which the offers page shows the decision.
    expect(granted.body).toMatchObject({
      deal: { exclusive_buyer_user_id: offer.buyer_user_id },
      capacities: { can_accept_offer: false, can_decide_offer_changes: true },
    });
    const agreed = async () => (await broker!.ask(`${at}/offers`)).body.agreed;
    expect(await agreed()).toBeNull();
    const decide = (decision: string) => broker!.ask(`/offers/${offer.id}/decision`, { decision });
    // The earlier acceptance stays on record.
    expect((await decide('declined')).body.error.code).toBe('offer_accepted');
    expect((await decide('accepted')).status).toBe(200);
    expect(await agreed()).toMatchObject({ revision_number: 1 });
    expect((await decide('accepted')).body.error.code).toBe('offer_accepted');
    const { body: change } = await buyer!.ask(`${at}/offers`, { payload: { ...payload, purchase_price: '1' } });
    expect((await broker!.ask(`/offers/${change.id}/decision`, { decision: 'declined' })).status).toBe(200);
    const { items } = (await broker!.ask(`${at}/activity`)).body;
    expect(items.slice(0, 3).map(({ summary }: { summary: string }) => summary)).toEqual([
      'declined a change to the accepted terms',
      'revised an offer',
      'accepted an offer',
    ]);
  });

  test('counts as waiting for nobody once declined, until it is revised', async () => {
    const { service, scene } = web;
    const [{ id: forge }] = (await service.sql(
      `insert into deals (organization_id, title, state) values ($1, 'Forge', 'listed') returning id`,
      [scene.brokerage],
    )) as [{ id: string }];
    for (const [person, role] of [
      ['broker', 'broker'],
      ['seller', 'seller'],
      ['new buyer', 'buyer'],
      ['other buyer', 'buyer'],
    ] as const)
      await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, $3, 'active')`, [
        forge,
        scene.people[person],
        role,
      ]);
    const [broker, seller, buyer, other] = await Promise.all(
      ['broker', 'seller', 'new buyer', 'other buyer'].map(web.as),
    );
    const at = `/deals/${forge}`;
    const toConsider = async () => {
      const counts = [];
      for (const person of [broker!, seller!])
        counts.push(
          (await person.ask('/home')).body.queue.find(
            (entry: { kind: string; deal_id: string }) =>
              entry.kind === 'offers_to_consider' && entry.deal_id === forge,
          )?.count ?? 0,
        );
      return counts;
    };
    const submit = async (purchase_price: string) =>
      (await buyer!.ask(`${at}/offers`, { payload: { ...payload, purchase_price } })).body;
    const { participant_id } = await submit('900000');
    expect(await toConsider()).toEqual([1, 1]);
    const expires_at = service.clock.inDays(30);
    expect((await broker!.ask(`${at}/exclusivity`, { participant_id, expires_at })).status).toBe(200);
    const { id } = await submit('800000');
    expect((await broker!.ask(`/offers/${id}/decision`, { decision: 'declined' })).status).toBe(200);
    expect((await broker!.ask(`${at}/exclusivity`, undefined, 'DELETE')).status).toBe(200);
    expect((await broker!.ask(`${at}/offers`)).body.items).toMatchObject([{ id, declined_at: expect.any(String) }]);
    expect(await toConsider()).toEqual([0, 0]);
    expect((await other!.ask(`${at}/offers`, { payload })).status).toBe(201);
    expect(await toConsider()).toEqual([1, 1]);
    await submit('950000');
    expect(await toConsider()).toEqual([2, 2]);
  });

  test('is declined by a broker also before and beside an exclusivity, which its buyer reads and nothing more', async () => {
    const { service, scene } = web;
    const [{ id: mill }] = (await service.sql(
      `insert into deals (organization_id, title, state) values ($1, 'Mill', 'listed') returning id`,
      [scene.brokerage],
    )) as [{ id: string }];
    for (const [person, role] of [
      ['broker', 'broker'],
      ['seller', 'seller'],
      ['new buyer', 'buyer'],
      ['other buyer', 'buyer'],
    ] as const)
      await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, $3, 'active')`, [
        mill,
        scene.people[person],
        role,
      ]);
    const at = `/deals/${mill}`;
    const as = async (who: string, route: string, json?: unknown) => (await web.as(who)).ask(route, json);
    const submit = async (who: string) => (await as(who, `${at}/offers`, { payload })).body;
    const decide = async (id: string, decision: string, who = 'broker') => {
      const { status, body } = await as(who, `/offers/${id}/decision`, { decision });
      return status === 200 ? 200 : body.error.code;
    };
    const [theirs, ours] = [await submit('other buyer'), await submit('new buyer')];
    expect(await decide(theirs.id, 'accepted')).toBe('no_exclusivity');
    for (const who of ['seller', 'other buyer']) expect(await decide(theirs.id, 'declined', who), who).toBe('denied');
    expect(await decide(theirs.id, 'declined')).toBe(200);
    expect(await decide(theirs.id, 'declined')).toBe('offer_declined');
    expect((await as('other buyer', `${at}/offers`)).body.items).toMatchObject([
      { id: theirs.id, declined_at: expect.any(String), accepted_at: null },
    ]);

    expect((await as('broker', `/offers/${ours.id}/accept`, { expires_at: service.clock.inDays(30) })).status).toBe(
      200,
    );
    const again = await submit('other buyer');
    expect(await decide(again.id, 'declined')).toBe(200);
    const { items } = (await as('other buyer', `${at}/activity`)).body;
    expect(items.slice(0, 2).map(({ summary }: { summary: string }) => summary)).toEqual([
      'declined an offer',
      'revised an offer',
    ]);
    expect(JSON.stringify(items)).not.toMatch(/exclusivity|accepted/);
    await as('broker', `${at}/moves`, { to: 'withdrawn' });
    expect(await decide(again.id, 'declined')).toBe('no_offers_now');
  });

  test('is refused while the deal is a draft or withdrawn', async () => {
    const [draft] = await web.service.sql<{ id: string }>(
      `insert into deals (organization_id, title, state) values ($1, 'Not listed yet', 'draft') returning id`,
      [web.scene.brokerage],
    );
    await web.service.sql(
      `insert into participants (deal_id, user_id, role, status) values ($1, $2, 'buyer', 'active')`,
      [draft!.id, web.scene.people['new buyer']],
    );
    const buyer = await web.as('new buyer');
    const early = await buyer.ask(`/deals/${draft!.id}/offers`, { payload });
    expect(early).toMatchObject({ status: 409, body: { error: { code: 'deal_takes_no_offers' } } });
    expect(early.body.error.message).toBe(
      'This deal is not listed yet: offers can be made once a broker has listed it.',
    );
    expect((await buyer.ask(`/deals/${draft!.id}`)).body.capacities.can_submit_offer).toBe(false);
    await web.service.sql(`update deals set state = 'withdrawn' where id = $1`, [web.scene.idle]);
    const late = await (await web.as('other buyer')).ask(path, { payload });
    expect(late.body.error).toEqual({
      code: 'deal_takes_no_offers',
      message: 'The deal is withdrawn and does not accept offers.',
    });
    expect((await (await web.as('other buyer')).ask(`/deals/${web.scene.idle}`)).body.capacities.can_submit_offer).toBe(
      false,
    );
  });
});
