/** Who is notified of deadlines late in a sale, and of changes close to a deadline. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { insert } from '../tools/scene.ts';
import { doesIn, notifiedBy, notifiedIn } from './notified.ts';
import { openScene, type WebScene } from './scene.ts';
import { aPdf, upload } from './uploads.ts';

const day = 86_400_000;

let web: WebScene;
beforeAll(async () => {
  web = await openScene();
});
afterAll(() => web?.close());

async function does(who: string, path: string, body?: unknown, method?: string) {
  // Keeps the sessions alive, however far the clock has moved.
  await web.service.sql('update vault.sessions set last_seen_at = app.now(), created_at = app.now()');
  return doesIn(web, who, path, body, method);
}
const notified = () => notifiedIn(web);

/** The time this many days from now. */
const inDays = (days: number) => new Date(web.service.clock.now().getTime() + days * day);

/** Adds a deal in this state, with a broker, a seller and a buyer who has exclusivity for two days; returns its id. */
async function saleIn(state: 'exclusivity' | 'diligence' | 'closing'): Promise<string> {
  const { service, scene } = web;
  const deal = await insert(service, 'deals', { organization_id: scene.brokerage, title: 'Mill', state: 'listed' });
  const parts: Record<string, string> = {};
  for (const [name, role] of Object.entries({ broker: 'broker', seller: 'seller', 'other buyer': 'buyer' }))
    parts[name] = await insert(service, 'participants', {
      deal_id: deal,
      user_id: scene.people[name],
      role,
      status: 'active',
    });
  await does('broker', `/deals/${deal}/exclusivity`, {
    participant_id: parts['other buyer'],
    expires_at: inDays(2).toISOString(),
  });
  for (const to of ['diligence', 'closing']) {
    if (state === 'exclusivity') break;
    await does('broker', `/deals/${deal}/moves`, { to, confirm: true });
    if (to === state) break;
  }
  await notified();
  return deal;
}

const everybody = ['broker', 'other buyer', 'seller'];

test('opening a document to more people notifies only the people who gain access', async () => {
  const { deal } = web.scene;
  const under = (name: string) => [name, `${name}'s advisor`];
  const query = { filename: 'Lease 2024.pdf', confidentiality: 'selected_buyer_only' };
  const { body } = await upload(web.service, await web.as('seller'), deal, aPdf(), query);
  expect(await notified()).toEqual({
    document_added: ['broker', "broker's advisor", ...under('exclusive buyer'), "seller's advisor"],
  });
  const change = (values: Record<string, unknown>) => does('broker', `/documents/simple/${body.id}`, values, 'PATCH');
  await change({ confidentiality: 'nda_gated' });
  expect(await notified()).toEqual({ document_added: under('other buyer') });
  await change({ confidentiality: 'public' });
  expect(await notified()).toEqual({ document_added: ['new buyer', 'viewer'] });
  await change({ filename: 'Lease 2025.pdf', confidentiality: 'public' });
  await change({ confidentiality: 'selected_buyer_only' });
  expect(await notified()).toEqual({});
  // Soon afterwards it is no news.
  await change({ confidentiality: 'public' });
  expect(await notified()).toEqual({});
  await change({ confidentiality: 'selected_buyer_only' });
  web.service.clock.advance(25 * 60 * 60 * 1000);
  await change({ confidentiality: 'public' });
  expect(await notified()).toEqual({ document_added: ['new buyer', ...under('other buyer'), 'viewer'] });
  await change({ confidentiality: 'selected_buyer_only' });
  await notified();
  web.service.clock.advance(25 * 60 * 60 * 1000);
  // Two changes before the event of the first is processed.
  for (const confidentiality of ['nda_gated', 'public']) await change({ confidentiality });
  expect(await notified()).toEqual({ document_added: ['new buyer', ...under('other buyer'), 'viewer'] });
});

test('revoking a signed NDA notifies everybody who sees it except the broker; an unsigned one, nobody', async () => {
  const { deal, records, participants } = web.scene;
  await does('broker', `/ndas/${records["ndas/the other buyer's"]}/revoke`);
  expect(await notified()).toEqual({
    nda_ended: ["broker's advisor", 'other buyer', "other buyer's advisor", 'seller', "seller's advisor"],
  });
  const waiting = await does('broker', `/deals/${deal}/ndas`, {
    participant_id: participants['other buyer'],
    terms: 'Keep it to yourself.',
  });
  await notified();
  await does('broker', `/ndas/${waiting.id}/revoke`);
  expect(await notified()).toEqual({});
});

test('the expiry of an NDA is notified once if it was signed, its buyer remains, and the deal is open', async () => {
  /** Adds a deal on which the buyer has an NDA that ends in one day. */
  const withNda = async (signed: boolean) => {
    const deal = await saleIn('closing');
    const [buyer] = await web.service.sql<{ id: string }>(
      `select id from participants where deal_id = $1 and role = 'buyer'`,
      [deal],
    );
    const nda = await does('broker', `/deals/${deal}/ndas`, {
      participant_id: buyer!.id,
      terms: 'Keep it to yourself.',
      expires_at: inDays(1).toISOString(),
    });
    if (signed) await does('other buyer', `/ndas/${nda.id}/sign`, { signed_name: 'other buyer' });
    return { deal, buyer: buyer!.id };
  };
  await withNda(true);
  await withNda(false);
  const left = await withNda(true);
  await does('broker', `/deals/${left.deal}/participants/${left.buyer}`, undefined, 'DELETE');
  for (const to of ['closed', 'withdrawn']) {
    const over = await withNda(true);
    await does('broker', `/deals/${over.deal}/moves`, { to, confirm: true });
  }
  await notified();
  expect((await notifiedBy(web, inDays(1.1)))['nda_ended']).toEqual(everybody);
  expect((await notifiedBy(web, inDays(0.1)))['nda_ended']).toBeUndefined();
});

test.each(['exclusivity', 'diligence', 'closing'] as const)(
  'an exclusivity that passes its end date in %s is notified once',
  async (state) => {
    const deal = await saleIn(state);
    const lapsed = inDays(2.1);
    await notifiedBy(web, inDays(1.5));
    expect(await notifiedBy(web, lapsed)).toEqual({ exclusivity_lapsed: everybody });
    expect(await notifiedBy(web, inDays(1))).toEqual({});
    if (state === 'exclusivity') return;
    await does('broker', `/deals/${deal}/exclusivity`, { expires_at: inDays(2).toISOString() }, 'PATCH');
    await notifiedBy(web, inDays(1.5));
    expect(await notifiedBy(web, inDays(1))).toEqual({ exclusivity_lapsed: everybody });
    await does('broker', `/deals/${deal}/exclusivity`, undefined, 'DELETE');
    expect(await notified()).toEqual({});
  },
);

test('a changed end of an exclusivity is notified to everybody who sees it except its author', async () => {
  const { deal } = web.scene;
  const change = (end: Date) =>
    does('broker', `/deals/${deal}/exclusivity`, { expires_at: end.toISOString() }, 'PATCH');
  const told = [
    "broker's advisor",
    'exclusive buyer',
    "exclusive buyer's advisor",
    'seller',
    "seller's advisor",
    'viewer',
  ];
  await notified();
  const sooner = inDays(30);
  for (const end of [inDays(90), sooner]) {
    await change(end);
    expect(await notified()).toEqual({ exclusivity_changed: told });
  }
  // The end stays the same.
  await change(sooner);
  expect(await notified()).toEqual({});
  await does('broker', `/deals/${deal}/exclusivity`, undefined, 'DELETE');
  expect(await notified()).toEqual({ exclusivity_lapsed: told });
});

test('an exclusivity released after its end date is notified once', async () => {
  const deal = await saleIn('diligence');
  web.service.clock.set(inDays(2.1));
  await does('broker', `/deals/${deal}/exclusivity`, undefined, 'DELETE');
  expect(await notified()).toEqual({ exclusivity_lapsed: everybody });
  expect(await notifiedBy(web, inDays(1))).toEqual({});
});

test('an exclusivity on a closed deal is no longer notified when its end date passes', async () => {
  const deal = await saleIn('closing');
  await does('broker', `/deals/${deal}/moves`, { to: 'closed', confirm: true });
  await notified();
  expect(await notifiedBy(web, inDays(3))).toEqual({});
});

test('a deadline moved close or into the past notifies the owner of the condition unless they moved it', async () => {
  const deal = await saleIn('closing');
  const dayOf = (days: number) => inDays(days).toISOString().slice(0, 10);
  const { id } = await does('broker', `/deals/${deal}/conditions`, {
    name: 'Consent of the landlord',
    owner_user_id: web.scene.people['other buyer'],
    deadline: dayOf(20),
  });
  expect(await notified()).toEqual({ condition_assigned: ['other buyer'] });
  const change = (who: string, values: Record<string, unknown>) => does(who, `/conditions/${id}`, values, 'PATCH');
  await change('broker', { deadline: dayOf(10) });
  expect(await notified()).toEqual({});
  await change('broker', { deadline: dayOf(2) });
  expect(await notified()).toEqual({ condition_due: ['other buyer'] });
  // The deadline stays the same.
  await change('broker', { name: 'The landlord consents', deadline: dayOf(2) });
  await change('other buyer', { status: 'in_progress' });
  expect(await notified()).toEqual({});
  await change('broker', { deadline: dayOf(1) });
  expect(await notified()).toEqual({ condition_due: ['other buyer'] });
  await change('broker', { deadline: dayOf(-3) });
  expect(await notified()).toEqual({ condition_overdue: ['other buyer'] });
  await change('broker', { owner_user_id: web.scene.people['broker'], deadline: dayOf(2) });
  await notified();
  await change('broker', { deadline: dayOf(1) });
  expect(await notified()).toEqual({});
  await change('broker', { status: 'satisfied' });
  await change('broker', { deadline: dayOf(2) });
  expect(await notified()).toEqual({});
});
