/** Who is notified of what: each kind by role, once, and never of a record that the recipient could not open. */

import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNotifications } from '../../server/domain/notifications/events.ts';
import { notificationKinds } from '../../server/domain/notifications/kinds.ts';
import { atMostAtOnce } from '../portions.ts';
import { doesIn, notifiedBy, notifiedIn } from './notified.ts';
import { openScene, trail, type WebScene } from './scene.ts';
import { signInAs, type SignedIn } from './person.ts';
import { aPdf, upload } from './uploads.ts';

const day = 86_400_000;

let web: WebScene;
beforeAll(async () => {
  web = await openScene({ config: { features: { findings: true, financing: true } } });
});
afterAll(() => web?.close());

const notified = () => notifiedIn(web);
const does = (who: string, path: string, body?: unknown, method?: string) => doesIn(web, who, path, body, method);

const dealSide = ['broker', "broker's advisor", 'seller', "seller's advisor"];
const but = (left: string, people: readonly string[]) => people.filter((one) => one !== left);

describe('notifications', () => {
  test('report each step of a question to its readers, from asking to the distributed answer', async () => {
    const { id } = await does('exclusive buyer', `/deals/${web.scene.deal}/questions`, {
      category: 'legal',
      question_text: 'Is the lease assignable?',
    });
    expect(await notified()).toEqual({ question_asked: ['broker', "broker's advisor", "exclusive buyer's advisor"] });
    await does('broker', `/questions/${id}/release`);
    const asker = ['exclusive buyer', "exclusive buyer's advisor"];
    expect(await notified()).toEqual({
      question_released: ["broker's advisor", ...asker, 'seller', "seller's advisor"],
    });
    await does('seller', `/questions/${id}/answer`, { answer_text: 'Yes.' });
    // The asker does not see the answer before it is distributed to them.
    expect(await notified()).toEqual({ question_answered: ['broker', "broker's advisor", "seller's advisor"] });
    // Corrected twice before anybody looks: each is told once, as of the first answer.
    for (const answer_text of ['Yes, from June.', 'Yes, from July.'])
      await does('seller', `/questions/${id}/answer`, { answer_text });
    expect(await notified()).toEqual({ question_answered: ['broker', "broker's advisor", "seller's advisor"] });
    await does('broker', `/questions/${id}/distribute`, { distributed_response: 'Yes, it is.' });
    expect(await notified()).toEqual({
      answer_distributed: ["broker's advisor", ...asker, 'seller', "seller's advisor"],
    });
  });

  test('report an NDA being sent and signed, and new documents to the people with access', async () => {
    const { id } = await does('broker', `/deals/${web.scene.deal}/ndas`, {
      participant_id: web.scene.participants['new buyer'],
      terms: 'Keep it to yourself.',
    });
    expect(await notified()).toEqual({ nda_sent: ["broker's advisor", 'new buyer', 'seller', "seller's advisor"] });
    const add = async (confidentiality: string) => {
      const query = { filename: 'Lease 2024.pdf', confidentiality };
      const { status } = await upload(web.service, await web.as('seller'), web.scene.deal, aPdf(), query);
      expect(status).toBe(201);
    };
    const buyers = ['exclusive buyer', "exclusive buyer's advisor", 'other buyer', "other buyer's advisor"];
    const others = but('seller', dealSide);
    await add('nda_gated');
    expect(await notified()).toEqual({ document_added: [...others, ...buyers].toSorted() });
    await does('new buyer', `/ndas/${id}/sign`, { signed_name: 'new buyer' });
    expect(await notified()).toEqual({ nda_signed: dealSide });
    await add('nda_gated');
    expect(await notified()).toEqual({ document_added: [...others, ...buyers, 'new buyer'].toSorted() });
    await add('selected_buyer_only');
    expect(await notified()).toEqual({
      document_added: [...others, 'exclusive buyer', "exclusive buyer's advisor"].toSorted(),
    });
    await add('public');
    expect(await notified()).toEqual({ document_added: [...others, ...buyers, 'new buyer', 'viewer'].toSorted() });
  });

  test('report an offer, its revision, its acceptance and the resulting exclusivity', async () => {
    const { deal, idle } = web.scene;
    await does('new buyer', `/deals/${deal}/offers`, { payload: { currency: 'USD', purchase_price: '100' } });
    expect(await notified()).toEqual({ offer_submitted: dealSide });
    await does('other buyer', `/deals/${deal}/offers`, { payload: { currency: 'USD', purchase_price: '100' } });
    expect(await notified()).toEqual({ offer_revised: [...dealSide, "other buyer's advisor"].toSorted() });
    const at = (days: number) => new Date(web.service.clock.now().getTime() + days * day).toISOString();
    // Once the offer is accepted, nobody is notified that it expires: see the test of deadlines below.
    await does('other buyer', `/deals/${idle}/offers`, {
      payload: { currency: 'USD', purchase_price: '100', expires_at: at(12) },
    });
    expect(await notified()).toEqual({ offer_submitted: ['broker', 'seller'] });
    const { items } = (await (await web.as('broker')).ask(`/deals/${idle}/offers`)).body;
    const expires_at = at(30);
    await does('broker', `/offers/${items[0].id}/accept`, { expires_at });
    expect(await notified()).toEqual({
      offer_accepted: ['other buyer', 'seller'],
      exclusivity_granted: ['other buyer', 'seller', 'viewer'],
    });
  });

  test('report a proposed change to accepted terms as such, and how it was decided', async () => {
    const { idle } = web.scene;
    const propose = (purchase_price: string) =>
      does('other buyer', `/deals/${idle}/offers`, { payload: { currency: 'USD', purchase_price } });
    for (const [price, decision] of [
      ['99', 'declined'],
      ['101', 'accepted'],
    ] as const) {
      const { id } = await propose(price);
      expect(await notified()).toEqual({ change_proposed: ['broker', 'seller'] });
      await does('broker', `/offers/${id}/decision`, { decision });
      expect(await notified()).toEqual({ [`change_${decision}`]: ['other buyer', 'seller'] });
    }
    const latest = async (who: string) =>
      (await all(await web.as(who))).filter(({ kind }) => /^change_|^offer_accepted/.test(kind)).slice(0, 2);
    expect((await latest('other buyer')).map(({ summary }) => summary)).toEqual([
      'Your change to the accepted terms was accepted.',
      'Your change to the accepted terms was declined.',
    ]);
    expect((await latest('seller')).map(({ summary }) => summary)).toEqual([
      'A change to the accepted terms was accepted.',
      'A change to the accepted terms was proposed.',
    ]);
  });

  test('report a condition or finding to its new owner', async () => {
    const { deal, people } = web.scene;
    const { id } = await does('broker', `/deals/${deal}/conditions`, {
      name: 'Lease assigned',
      owner_user_id: people['exclusive buyer'],
    });
    expect(await notified()).toEqual({ condition_assigned: ['exclusive buyer'] });
    await does('broker', `/conditions/${id}`, { name: 'Lease assigned to the buyer' }, 'PATCH');
    expect(await notified()).toEqual({});
    await does('broker', `/conditions/${id}`, { owner_user_id: people['seller'] }, 'PATCH');
    expect(await notified()).toEqual({ condition_assigned: ['seller'] });
    await does('broker', `/conditions/${id}`, { owner_user_id: people['broker'] }, 'PATCH');
    expect(await notified()).toEqual({});
    const finding = await does('exclusive buyer', `/deals/${deal}/findings`, {
      category: 'tax',
      title: 'Sales tax',
      severity: 'minor',
      owner_user_id: people["exclusive buyer's advisor"],
    });
    expect(await notified()).toEqual({ finding_assigned: ["exclusive buyer's advisor"] });
    for (const [owner, told] of [
      ['seller', { finding_assigned: ['seller'] }],
      ['seller', {}],
      ['exclusive buyer', {}],
    ] as const) {
      await does('exclusive buyer', `/findings/${finding.id}/owner`, { owner_user_id: people[owner] });
      expect([owner, await notified()]).toEqual([owner, told]);
    }
  });

  test('remind the responsible person of an NDA, question or condition, once a day', async () => {
    const { service, scene } = web;
    const { deal, idle, people } = scene;
    const nda = await does('broker', `/deals/${idle}/ndas`, {
      participant_id: scene.idleBuyer,
      terms: 'Keep it to yourself.',
    });
    const condition = await does('broker', `/deals/${deal}/conditions`, {
      name: 'Consent of the bank',
      owner_user_id: people['exclusive buyer'],
    });
    await notified();
    const path = (subject: string) => `/deals/${subject === 'ndas' ? idle : deal}/reminders`;
    const remind = (subject: string, subject_id: string) => does('broker', path(subject), { subject, subject_id });
    const refused = async (who: string, subject: string, subject_id: string) => {
      const { status, body } = await (await web.as(who)).ask(path(subject), { subject, subject_id });
      return [status, body.error.code];
    };

    expect(await remind('ndas', nda.id)).toEqual({ reminded: 1 });
    expect(await notified()).toEqual({ nda_reminder: ['new buyer'] });
    expect(await remind('questions', scene.unanswered)).toEqual({ reminded: 1 });
    expect(await notified()).toEqual({ question_reminder: ['seller'] });
    expect(await remind('closing_conditions', condition.id)).toEqual({ reminded: 1 });
    expect(await notified()).toEqual({ condition_reminder: ['exclusive buyer'] });
    const { items } = (await (await web.as('broker')).ask(`/deals/${deal}/reminders`)).body;
    expect(items.map((one: { subject_id: string }) => one.subject_id).toSorted()).toEqual(
      [scene.unanswered, condition.id].toSorted(),
    );
    expect((await (await web.as('broker')).ask(`/deals/${idle}/reminders`)).body.items).toMatchObject([
      { subject: 'ndas', subject_id: nda.id },
    ]);
    expect(await trail(service, 'reminder.send')).toHaveLength(3);

    // Once a day, whichever broker sends it; nobody else can send a reminder, or learns that one was sent.
    expect(await refused('broker', 'ndas', nda.id)).toEqual([409, 'reminded_already']);
    for (const who of ['seller', 'exclusive buyer', "broker's advisor", 'viewer', 'admin']) {
      expect(await refused(who, 'questions', scene.unanswered), who).toEqual([404, 'not_found']);
      expect((await (await web.as(who)).ask(`/deals/${deal}/reminders`)).body, who).toEqual({ items: [] });
    }
    // A record of another deal is not found, and nobody can be reminded of a record that is done.
    expect(await refused('broker', 'questions', randomUUID())).toEqual([404, 'not_found']);
    expect(await refused('broker', 'questions', nda.id)).toEqual([404, 'not_found']);
    await does('exclusive buyer', `/conditions/${condition.id}`, { status: 'satisfied' }, 'PATCH');
    expect(await refused('broker', 'closing_conditions', condition.id)).toEqual([409, 'nobody_to_remind']);
    await does('broker', `/conditions/${condition.id}`, { status: 'open', owner_user_id: people['broker'] }, 'PATCH');
    expect(await refused('broker', 'closing_conditions', condition.id)).toEqual([409, 'nobody_to_remind']);
    await notified();

    // Moves the reminders that were sent into the past.
    const ago = (time: string) =>
      service.sql(`update vault.sent_reminders set sent_at = sent_at - $1::interval`, [time]);
    await ago('25 hours');
    expect(await remind('ndas', nda.id)).toEqual({ reminded: 1 });
    expect(await notified()).toEqual({ nda_reminder: ['new buyer'] });

    // None for a recipient who turned reminders off, and at most 60 within an hour.
    await does('new buyer', '/notifications/choices/nda_reminder', { delivery: 'off' }, 'PUT');
    await ago('25 hours');
    await service.sql(
      `insert into vault.sent_reminders (subject, subject_id, recipient_id, deal_id, sent_by)
       select 'ndas', gen_random_uuid(), $1, $2, $3 from generate_series(1, 59)`,
      [people['seller'], deal, people['broker']],
    );
    expect(await remind('ndas', nda.id)).toEqual({ reminded: 1 });
    expect(await notified()).toEqual({});
    expect(await refused('broker', 'questions', scene.unanswered)).toEqual([409, 'too_many_reminders']);
    await ago('61 minutes');
    expect(await remind('questions', scene.unanswered)).toEqual({ reminded: 1 });
    await notified();
    await does('new buyer', '/notifications/choices/nda_reminder', { delivery: 'at_once' }, 'PUT');
    await does('broker', `/ndas/${nda.id}/revoke`);
    expect(await refused('broker', 'ndas', nda.id)).toEqual([409, 'nobody_to_remind']);
  });

  test('report invitations, joins and removals', async () => {
    const { deal, participants } = web.scene;
    await does('broker', `/deals/${deal}/participants`, {
      email: 'newcomer@example.test',
      name: 'Newcomer',
      role: 'buyer',
      deliver: 'link',
    });
    const whoSees = [...dealSide, 'viewer'].toSorted();
    expect(await notified()).toEqual({ invited: but('broker', whoSees) });
    await does('invited', `/invitations/${participants['invited']}/accept`);
    expect(await notified()).toEqual({ joined: whoSees });
    await does('broker', `/deals/${deal}/participants/${participants['invited']}`, undefined, 'DELETE');
    // A removed person is notified of the removal, without naming the deal.
    expect(await notified()).toEqual({ removed: ['invited', ...but('broker', whoSees)].toSorted() });
    const { body } = await (await web.as('invited')).ask('/notifications');
    expect(body.items[0]).toMatchObject({
      deal_id: null,
      deal_title: null,
      subject_id: null,
      summary: 'You no longer take part in a deal.',
    });
    // Who is invited again takes no part until they accept: the invitation is withdrawn without telling them that again.
    await does('broker', `/deals/${deal}/participants/${participants['invited']}/invitation`, { deliver: 'link' });
    expect(await notified()).toEqual({ invited: but('broker', whoSees) });
    await does('broker', `/deals/${deal}/participants/${participants['invited']}`, undefined, 'DELETE');
    expect(await notified()).toEqual({ removed: but('broker', whoSees) });
    expect((await trail(web.service, 'participant.remove')).map(({ details }) => details)).toEqual([
      { withdrawn: true },
      {},
    ]);
  });

  test('report to the admins, who are not on the deal, that somebody who is no member became its broker', async () => {
    const { deal, people, participants, brokerage } = web.scene;
    const accept = async (role: string) => {
      const part = (
        await does('broker', `/deals/${deal}/participants`, {
          email: 'invited@example.test',
          name: 'Rival',
          role,
          deliver: 'link',
        })
      ).participant.id;
      await notified();
      await does('invited', `/invitations/${part}/accept`);
      return notified();
    };
    expect(Object.keys(await accept('viewer'))).toEqual(['joined']);
    const remove = () => does('broker', `/deals/${deal}/participants/${participants['invited']}`, undefined, 'DELETE');
    await remove();
    const told = await accept('broker');
    expect(told['outside_broker']).toEqual(['admin']);
    const admin = await web.as('admin');
    const { body } = await admin.ask('/notifications');
    expect(body.items[0]).toMatchObject({
      deal_id: deal,
      subject_id: participants['invited'],
      subject_name: 'invited',
      place: 'people',
      summary: 'Somebody who is no member of your brokerage became a broker of the deal.',
    });
    await remove();
    // A member of the brokerage is a broker like any other.
    await web.service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'broker')`, [
      brokerage,
      people['invited'],
    ]);
    expect(Object.keys(await accept('broker'))).toEqual(['joined']);
    await remove();
    await web.service.sql(`update members set status = 'removed' where brokerage_id = $1 and user_id = $2`, [
      brokerage,
      people['invited'],
    ]);
    await notified();
  });

  test('report a new API key to the admins, including its creator', async () => {
    const key = { name: 'Site', environment: 'live', scopes: ['contacts:read'] };
    await does('admin', `/brokerages/${web.scene.brokerage}/keys`, key);
    expect(await notified()).toEqual({ api_key_made: ['admin'] });
  });

  test('report each approaching or missed deadline once', async () => {
    const { service, scene } = web;
    const { deal, idle, people } = scene;
    const from = service.clock.now();
    const at = (days: number) => new Date(from.getTime() + days * day);
    const buyers = ['other buyer', 'seller'];
    await does('broker', `/deals/${deal}/exclusivity`, { expires_at: at(90).toISOString() }, 'PATCH');
    await does('broker', `/deals/${idle}/exclusivity`, { expires_at: at(10).toISOString() }, 'PATCH');
    await does('other buyer', `/deals/${deal}/offers`, {
      payload: { currency: 'USD', purchase_price: '100', expires_at: at(12).toISOString() },
    });
    const nda = await does('broker', `/deals/${idle}/ndas`, {
      participant_id: scene.idleBuyer,
      terms: 'Keep it to yourself.',
      expires_at: at(20).toISOString(),
    });
    await does('new buyer', `/ndas/${nda.id}/sign`, { signed_name: 'new buyer' });
    await does('broker', `/deals/${deal}/conditions`, {
      name: 'Consent of the landlord',
      owner_user_id: people['exclusive buyer'],
      deadline: at(17).toISOString().slice(0, 10),
    });
    const removed = await does('broker', `/deals/${deal}/conditions`, {
      name: 'By mistake',
      deadline: at(17).toISOString().slice(0, 10),
    });
    await does('broker', `/conditions/${removed.id}`, undefined, 'DELETE');
    await notified();

    const pass = (days: number) => notifiedBy(web, at(days));
    expect(await pass(2)).toEqual({});
    expect(await pass(3.1)).toEqual({ exclusivity_ending: ['broker', ...buyers, 'viewer'].toSorted() });
    expect(await pass(3.2)).toEqual({});
    expect(await pass(9.1)).toEqual({ exclusivity_ending: ['broker', ...buyers, 'viewer'].toSorted() });
    expect(await pass(10.1)).toEqual({
      exclusivity_lapsed: ['broker', ...buyers, 'viewer'].toSorted(),
      offer_expiring: [...dealSide, 'other buyer', "other buyer's advisor"].toSorted(),
    });
    expect(await pass(13.2)).toEqual({ nda_ending: ['broker', 'new buyer', 'seller'] });
    // At noon UTC three days before the deadline, whatever the time of day is now.
    expect(await pass(14.5)).toEqual({ condition_due: ['broker', 'exclusive buyer'] });
    expect(await pass(20)).toEqual({
      condition_overdue: ['broker', 'exclusive buyer'],
      nda_ended: ['broker', 'new buyer', 'seller'],
    });
    expect(await pass(30)).toEqual({});
  });

  test('report the end of a question, an offer, an exclusivity and the deal', async () => {
    await signInAnew();
    const { service, scene } = web;
    const { deal, idle, people, records } = scene;
    const { id } = await does('exclusive buyer', `/deals/${deal}/questions`, {
      category: 'legal',
      question_text: 'Who else has asked?',
    });
    await notified();
    await does('broker', `/questions/${id}/reject`, { rejection_reason: 'We cannot tell.' });
    const asker = ['exclusive buyer', "exclusive buyer's advisor"];
    expect(await notified()).toEqual({ question_rejected: ["broker's advisor", ...asker] });

    const [holder] = await service.sql<{ id: string }>(
      'select id from participants where deal_id = $1 and user_id = $2',
      [idle, people['other buyer']],
    );
    const expires_at = new Date(service.clock.now().getTime() + 30 * day).toISOString();
    const grant = () => does('broker', `/deals/${idle}/exclusivity`, { participant_id: holder!.id, expires_at });
    const move = (who: string, of: string, to: string) => does(who, `/deals/${of}/moves`, { to, confirm: true });
    await grant();
    const offer = await does('other buyer', `/deals/${idle}/offers`, {
      payload: { currency: 'USD', purchase_price: '99' },
    });
    await notified();
    await does('broker', `/offers/${offer.id}/decision`, { decision: 'declined' });
    expect(await notified()).toEqual({ offer_declined: ['other buyer', 'seller'] });
    const twice = await (await web.as('broker')).ask(`/offers/${offer.id}/decision`, { decision: 'declined' });
    expect([twice.status, twice.body.error.code]).toEqual([409, 'offer_declined']);
    // Neither do dates that stay as they are, or a move to where the deal is, tell anybody anything.
    await does('broker', `/deals/${idle}/exclusivity`, { expires_at }, 'PATCH');
    await move('broker', idle, 'exclusivity');
    expect(await notified()).toEqual({});
    await does('broker', `/deals/${idle}/exclusivity`, undefined, 'DELETE');
    expect(await notified()).toEqual({ exclusivity_lapsed: ['other buyer', 'seller', 'viewer'] });

    await grant();
    for (const to of ['diligence', 'closing']) await move('broker', idle, to);
    await notified();
    await move('broker', idle, 'closed');
    const buyers = ['exclusive buyer', 'new buyer', 'other buyer'];
    expect(await notified()).toEqual({ deal_closed: [...buyers, 'seller', 'viewer'] });

    const [kiosk] = await service.sql<{ deal_id: string; id: string }>(
      `select p.deal_id, p.id from deals d join participants p on p.deal_id = d.id and p.role = 'buyer' where d.title = 'Ferry kiosk'`,
    );
    await does('colleague', `/deals/${kiosk!.deal_id}/exclusivity`, { participant_id: kiosk!.id, expires_at });
    await notified();
    const seller = records['users/the seller of a deal that needs no NDA'];
    const condition = await does('colleague', `/deals/${kiosk!.deal_id}/conditions`, {
      name: 'Berth',
      owner_user_id: seller,
    });
    await notified();
    await move('colleague', kiosk!.deal_id, 'withdrawn');
    // The exclusivity ends with the deal, without a notification of its own.
    expect(await notified()).toEqual({ deal_withdrawn: [seller, 'new buyer'] });
    await move('colleague', kiosk!.deal_id, 'withdrawn');
    expect(await notified()).toEqual({});
    const moves = await trail(service, 'deal.move');
    expect(moves.filter(({ deal_id }) => deal_id === kiosk!.deal_id)).toHaveLength(1);
    // Nothing is left there that anybody could be reminded of.
    const reminders = await trail(service, 'reminder.send');
    const { status, body } = await (
      await web.as('colleague')
    ).ask(`/deals/${kiosk!.deal_id}/reminders`, { subject: 'closing_conditions', subject_id: condition.id });
    expect([status, body.error.code]).toEqual([409, 'deal_withdrawn']);
    expect(await trail(service, 'reminder.send')).toEqual(reminders);
  });
});

test('that a question came back with the last seller who left is reported to the brokers’ side', async () => {
  const { service, scene } = web;
  const [made] = await service.sql<{ id: string }>(
    `insert into deals (organization_id, title, state) values ($1, 'Without a seller', 'listed') returning id`,
    [scene.brokerage],
  );
  const deal = made!.id;
  const parts: Record<string, string> = {};
  for (const [name, role] of [
    ['broker', 'broker'],
    ['colleague', 'broker'],
    ['seller', 'seller'],
    ['other buyer', 'buyer'],
    ['viewer', 'viewer'],
  ] as const) {
    const [part] = await service.sql<{ id: string }>(
      `insert into participants (deal_id, user_id, role, status) values ($1, $2, $3, 'active') returning id`,
      [deal, scene.people[name], role],
    );
    parts[name] = part!.id;
  }
  await service.sql(
    `insert into questions (deal_id, category, question_text, asked_by, participant_id, status)
     values ($1, 'legal', 'Who answers?', $2, $3, 'with_seller')`,
    [deal, scene.people['other buyer'], parts['other buyer']],
  );
  await signInAnew();
  await notified();
  await does('broker', `/deals/${deal}/participants/${parts['seller']}`, undefined, 'DELETE');
  expect(await notified()).toEqual({
    question_returned: ['colleague'],
    removed: ['colleague', 'seller', 'viewer'],
  });
  await does('other buyer', `/deals/${deal}/participants/${parts['other buyer']}`, undefined, 'DELETE');
  expect(await notified()).toEqual({ left: ['broker', 'colleague', 'viewer'] });
});

test('the stages of a sale are told, and shown in the activity, to those who may know them', async () => {
  const { service, scene } = web;
  const title = 'From draft to closed';
  const [made] = await service.sql<{ id: string }>(
    `insert into deals (organization_id, title, needs_nda) values ($1, $2, false) returning id`,
    [scene.brokerage, title],
  );
  const deal = made!.id;
  const parts: Record<string, string> = {};
  for (const [name, role] of [
    ['broker', 'broker'],
    ['colleague', 'broker'],
    ['seller', 'seller'],
    ['exclusive buyer', 'buyer'],
    ['other buyer', 'buyer'],
    ['new buyer', 'buyer'],
    ['viewer', 'viewer'],
  ] as const) {
    const [part] = await service.sql<{ id: string }>(
      `insert into participants (deal_id, user_id, role, status) values ($1, $2, $3, 'active') returning id`,
      [deal, scene.people[name], role],
    );
    parts[name] = part!.id;
  }
  await signInAnew();
  await notified();
  const step = async (path: string, body?: unknown, method?: string) => {
    service.clock.advance(1000);
    await does('broker', `/deals/${deal}/${path}`, body, method);
    return notified();
  };
  const move = (to: string) => step('moves', { to, confirm: true });
  const grant = (to: string) =>
    step('exclusivity', { participant_id: parts[to], expires_at: service.clock.inDays(30) });
  const everybody = ['colleague', 'exclusive buyer', 'new buyer', 'other buyer', 'seller', 'viewer'];
  const known = (buyer: string) => ['colleague', buyer, 'seller', 'viewer'].toSorted();
  expect(await move('listed')).toEqual({ deal_listed: everybody });
  await grant('exclusive buyer');
  expect(await move('diligence')).toEqual({ deal_moved: known('exclusive buyer') });
  await step('exclusivity', undefined, 'DELETE');
  await grant('other buyer');
  expect(await move('closing')).toEqual({ deal_moved: known('other buyer') });
  expect(await move('closed')).toEqual({ deal_closed: everybody });

  const shown = async (who: string) => {
    const { ask } = await web.as(who);
    const own = ({ action }: { action: string }) => /^(deal\.move|exclusivity\.)/.test(action);
    const tab = (await ask(`/deals/${deal}/activity`)).body.items.filter(own);
    const home = (await ask('/home')).body.activity.filter((one: { deal_title: string }) => one.deal_title === title);
    const summaries = (items: { summary: string }[]) => items.map(({ summary }) => summary);
    expect(summaries(home.filter(own)), who).toEqual(summaries(tab));
    return summaries(tab);
  };
  const everything = [
    'moved the deal to closed',
    'moved the deal to closing',
    'granted exclusivity',
    'released the exclusivity',
    'moved the deal to diligence',
    'granted exclusivity',
    'moved the deal to listed',
  ];
  for (const who of ['colleague', 'seller', 'viewer']) expect(await shown(who), who).toEqual(everything);
  expect(await shown('new buyer')).toEqual([everything[0], everything[6]]);
  // Of the time before their exclusivity, which was another buyer's, they are not told.
  expect(await shown('other buyer')).toEqual([...everything.slice(0, 3), everything[6]]);
  // And after it only what everybody may know.
  expect(await shown('exclusive buyer')).toEqual([everything[0], everything[3], everything[5], everything[6]]);
});

test('whoever is admitted to the QoE workspace is told, once', async () => {
  const { deal, participants } = web.scene;
  const admit = (role: string) =>
    does('broker', `/deals/${deal}/qoe/members/${participants['other buyer']}`, { role }, 'PUT');
  await notified();
  await admit('reader');
  expect(await notified()).toEqual({ workspace_admitted: ['other buyer'] });
  for (const role of ['editor', 'editor']) await admit(role);
  expect(await notified()).toEqual({});
  expect(await trail(web.service, 'qoe.admit')).toMatchObject([
    { details: { role: 'editor' } },
    { details: { role: 'reader' } },
  ]);
});

test('each notification is listed for its recipient', async () => {
  const rows = await web.service.sql<{ id: string; user_id: string; kind: string }>(
    // The invitations, participations and exclusivities of these kinds may have ended since: their notifications are not
    // shown any more.
    `select id, user_id, kind from vault.notifications where kind not in ('joined', 'invited', 'deal_moved')`,
  );
  const kinds = new Set(rows.map(({ kind }) => kind));
  // The other kinds are tested in test/auth, test/oauth and test/rules.
  const elsewhere = new Set([
    'joined',
    'invited',
    'deal_moved',
    'assistant_connected',
    'connection_ended',
    'new_device',
    'sessions_ended',
    'factor_required',
    'api_key_stopped',
    'webhook_stopped',
    'broker_changed',
    'deals_received',
  ]);
  expect(Object.keys(notificationKinds).filter((kind) => !kinds.has(kind) && !elsewhere.has(kind))).toEqual([]);
  for (const [name, id] of Object.entries(web.scene.people)) {
    const person = await signInAs(web.service, id);
    const shown = new Set((await all(person)).map((one) => one.id));
    const own = rows.filter(({ user_id }) => user_id === id);
    for (const { id: notification, kind } of own) expect(shown.has(notification), `${name}: ${kind}`).toBe(true);
  }
});

/** All notifications on a person's list. */
async function all(
  person: SignedIn,
): Promise<{ id: string; kind: string; summary: string; subject_name: string | null }[]> {
  const found = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { body } = await person.ask(`/notifications${cursor && `?cursor=${encodeURIComponent(cursor)}`}`);
    found.push(...body.items);
    cursor = body.next_cursor;
  }
  return found;
}

describe('an event', () => {
  const ask = (text = 'Who repairs the roof?') =>
    does('exclusive buyer', `/deals/${web.scene.deal}/questions`, { category: 'legal', question_text: text });
  const count = async (text: string) => Number((await web.service.sql(`select count(*) from ${text}`))[0]!['count']);

  test('is notified exactly once, even if a node crashes while processing it', async () => {
    await signInAnew();
    await ask();
    const before = await count('vault.notifications');
    // A node that dies while it writes the notifications of the event.
    const { owner } = web.service.connections;
    const dying = new pg.Client(owner);
    await dying.connect();
    dying.on('error', () => {});
    await dying.query(`select set_config('dealkeep.now', $1, false)`, [web.service.clock.now().toISOString()]);
    await dying.query('begin');
    await dying.query('select app.tell_events(10)');
    const { rows } = await dying.query('select pg_backend_pid() as pid');
    // Meanwhile another node finds no event to process.
    expect(await web.service.database.run(createNotifications(10))).toBe(0);
    await web.service.sql('select pg_terminate_backend($1)', [rows[0].pid]);
    await dying.end().catch(() => {});
    expect(await count('vault.notifications')).toBe(before);
    await expect.poll(() => web.service.database.run(createNotifications(10))).toBe(1);
    expect(await web.service.database.run(createNotifications(10))).toBe(0);
    expect(await count('vault.notifications')).toBe(before + 3);
    expect(await count('vault.events')).toBe(0);
  });

  test('that fails is retried later and does not block others', async () => {
    await web.service.sql(
      `insert into vault.events (kind, person_id) values ('new_device', '01900000-0000-7000-8000-000000000000')`,
    );
    await ask();
    const before = await count('vault.notifications');
    await web.service.database.run(createNotifications(10));
    expect(await count('vault.notifications')).toBe(before + 3);
    expect(await web.service.sql('select attempts, last_error is not null as has_error from vault.events')).toEqual([
      { attempts: 1, has_error: true },
    ]);
    await web.service.sql('delete from vault.events');
  });
});

/** Renews the sessions, which expired when the clock was moved; only once. */
let again: Promise<void> | undefined;
const signInAnew = () =>
  (again ??= web.service
    .sql('update vault.sessions set last_seen_at = app.now(), created_at = app.now() where ended_at is null')
    .then(() => {}));

describe('notification choices', () => {
  test('apply from then on: off, and in the application only', async () => {
    await signInAnew();
    await notified();
    const advisor = await web.as("exclusive buyer's advisor");
    const put = (path: string, body: unknown) => advisor.ask(path, body, 'PUT');
    expect((await put('/notifications/choices/question_asked', { delivery: 'off' })).status).toBe(204);
    await does('exclusive buyer', `/deals/${web.scene.deal}/questions`, { category: 'legal', question_text: 'When?' });
    expect(await notified()).toEqual({ question_asked: ['broker', "broker's advisor"] });
    await put('/notifications/choices/question_asked', { delivery: 'app' });
    await does('exclusive buyer', `/deals/${web.scene.deal}/questions`, { category: 'legal', question_text: 'How?' });
    expect(await notified()).toEqual({ question_asked: ['broker', "broker's advisor", "exclusive buyer's advisor"] });
    const [row] = await web.service.sql(
      'select mail, mail_due_at from vault.notifications where user_id = $1 order by id desc limit 1',
      [web.scene.people["exclusive buyer's advisor"]],
    );
    expect(row).toEqual({ mail: null, mail_due_at: null });
  });

  test('turn off a single deal, and are listed even among many for deals left since', async () => {
    const seller = await web.as('seller');
    expect((await seller.ask(`/deals/${web.scene.deal}/notifications`, { delivery: 'off' }, 'PUT')).status).toBe(204);
    expect((await seller.ask(`/deals/${web.scene.deal}/notifications`)).body).toEqual({ delivery: 'off' });
    await does('new buyer', `/deals/${web.scene.deal}/offers`, { payload: { currency: 'USD', purchase_price: '101' } });
    expect((await notified())['offer_revised']).toEqual(but('seller', dealSide));
    // Also listed when there are choices for many deals that they have left, with smaller ids.
    await web.service.sql(
      `with made as (insert into deals (id, organization_id, title)
         select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, 'Left' from generate_series(1, 200) n returning id)
       insert into vault.deal_notification_choices (user_id, deal_id, delivery) select $2, id, 'off' from made`,
      [web.scene.brokerage, web.scene.people['seller']],
    );
    expect((await seller.ask('/notifications/choices')).body.deals).toMatchObject([
      { deal_id: web.scene.deal, deal_title: 'Corner bakery', delivery: 'off' },
    ]);
    await web.service.sql(`delete from vault.deal_notification_choices where deal_id::text like '00000000-%'`);
    await seller.ask(`/deals/${web.scene.deal}/notifications`, { delivery: null }, 'PUT');
    // Nothing can be chosen for a deal that they do not see.
    const outsider = await web.as('outsider');
    expect((await outsider.ask(`/deals/${web.scene.deal}/notifications`, { delivery: 'off' }, 'PUT')).status).toBe(404);
  });

  test('cannot turn off notifications about account security', async () => {
    const seller = await web.as('seller');
    const { status, body } = await seller.ask('/notifications/choices/new_device', { delivery: 'off' }, 'PUT');
    expect({ status, code: body.error?.code ?? body.code }).toMatchObject({ status: 409 });
    expect((await seller.ask('/notifications/choices/new_device', { delivery: 'app' }, 'PUT')).status).toBe(204);
  });

  test('list every kind, with its default delivery if unchanged', async () => {
    const { body } = await (await web.as('viewer')).ask('/notifications/choices');
    expect(body.kinds.map(({ kind }: { kind: string }) => kind)).toEqual(Object.keys(notificationKinds));
    for (const { delivery, standard } of body.kinds) expect(delivery).toBe(standard);
    expect(body.settings).toBeNull();
  });
});

test('notifications are marked as read individually or all at once, only by their recipient', async () => {
  const [broker, seller] = [await web.as('broker'), await web.as('seller')];
  await does('exclusive buyer', `/deals/${web.scene.deal}/questions`, { category: 'legal', question_text: 'Where?' });
  await does('exclusive buyer', `/deals/${web.scene.deal}/questions`, { category: 'legal', question_text: 'Whence?' });
  while ((await web.service.database.run(createNotifications(100))) > 0);
  expect((await broker.ask('/notifications/unread')).body).toMatchObject({ count: 2 });
  const [latest] = (await broker.ask('/notifications')).body.items;
  expect(latest).toMatchObject({
    kind: 'question_asked',
    deal_title: 'Corner bakery',
    actor_name: 'exclusive buyer',
    read_at: null,
  });
  const read = async ({ ask }: typeof broker, ids?: string[]) =>
    expect(await ask('/notifications/read', { ids })).toMatchObject({ status: 204 });
  await read(seller, [latest.id]);
  expect((await broker.ask('/notifications/unread')).body).toMatchObject({ count: 2 });
  await read(broker, [latest.id]);
  expect((await broker.ask('/notifications/unread')).body).toMatchObject({ count: 1 });
  await read(broker);
  expect((await broker.ask('/notifications/unread')).body).toMatchObject({ count: 0 });
});

test('whoever looks at a page of a deal has read the notifications that it shows, and no others', async () => {
  const { service, scene } = web;
  const reader = await web.as('viewer');
  const count = async () => (await reader.ask('/notifications/unread')).body.count;
  await service.sql('delete from vault.notifications where user_id = $1', [scene.people['viewer']]);
  for (const [kind, deal] of [
    ['document_added', scene.deal],
    ['document_added', scene.deal],
    ['document_added', scene.idle],
    ['joined', scene.deal],
    ['new_device', null],
  ])
    await service.sql(
      `insert into vault.notifications (event_id, user_id, kind, deal_id, at) values (app.uuid_v7(), $1, $2, $3, app.now())`,
      [scene.people['viewer'], kind, deal],
    );
  expect(await count()).toBe(5);
  const look = (who: SignedIn, deal: string, place: string) => who.ask(`/deals/${deal}/notifications/read`, { place });
  expect((await look(await web.as('seller'), scene.deal, 'documents')).status).toBe(204);
  expect((await look(reader, scene.deal, 'security')).status).toBe(400);
  expect((await look(await web.as('outsider'), scene.deal, 'documents')).status).toBe(404);
  expect(await count()).toBe(5);
  expect((await look(reader, scene.deal, 'documents')).status).toBe(204);
  expect(await count()).toBe(3);
  await look(reader, scene.deal, 'people');
  expect(
    (await reader.ask('/notifications')).body.items.filter((one: { read_at: string | null }) => !one.read_at),
  ).toEqual([
    expect.objectContaining({ kind: 'new_device' }),
    expect.objectContaining({ kind: 'document_added', deal_id: scene.idle }),
  ]);
});

test('any number of notifications is marked as read at once', async () => {
  const { service, scene } = web;
  const [reader, { ask }] = [scene.people['outsider'], await web.as('outsider')];
  await service.sql(
    `insert into vault.notifications (event_id, user_id, kind, at)
     select app.uuid_v7(), $1, 'new_device', app.now() - n * interval '1 minute' from generate_series(1, 20001) n`,
    [reader],
  );
  await atMostAtOnce(service, 'vault.notifications', 10_000);
  expect((await ask('/notifications/unread')).body).toMatchObject({ count: 100 });
  expect(await ask('/notifications/read', {})).toMatchObject({ status: 204 });
  expect(
    await service.sql('select 1 from vault.notifications where user_id = $1 and read_at is null', [reader]),
  ).toEqual([]);
  expect((await ask('/notifications/unread')).body).toMatchObject({ count: 0 });
});

test('notifications that can no longer be opened do not hide earlier ones', async () => {
  const { service, scene } = web;
  const reader = scene.people['other buyer']!;
  const { ask } = await web.as('other buyer');
  await service.sql('delete from vault.notifications where user_id = $1', [reader]);
  const tell = (kind: string, deal: string, document: string | null, count: number) =>
    service.sql(
      `insert into vault.notifications (event_id, user_id, kind, deal_id, subject, subject_id, at)
       select app.uuid_v7(), $1, $2, $3::uuid, case when $4::uuid is not null then 'documents' end, $4::uuid, app.now()
       from generate_series(1, $5::int)`,
      [reader, kind, deal, document, count],
    );
  const hidden = (count: number) =>
    tell('document_added', scene.deal, scene.records['documents/selected_buyer_only']!, count);
  await tell('question_asked', scene.idle, null, 1);
  await hidden(398);
  const only = [expect.objectContaining({ kind: 'question_asked', deal_title: 'Print shop' })];
  expect((await ask('/notifications')).body).toEqual({ items: only, next_cursor: null });
  expect((await ask('/notifications/unread')).body).toMatchObject({ count: 1 });

  // More than are read for one page, or for the bell's count.
  await hidden(2);
  const { body } = await ask('/notifications');
  expect(body).toEqual({ items: [], next_cursor: expect.any(String) });
  expect((await ask('/notifications/unread')).body).toMatchObject({ count: 0 });
  await hidden(8000);
  expect(await all(await web.as('other buyer'))).toEqual(only);
});
