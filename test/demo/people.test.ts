/** The people of the demo see and may do what demo.json promises of them. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deals, fullDeal, type CallerRole } from '../../server/domain/deals/deals.ts';
import { documents } from '../../server/domain/documents/documents.ts';
import { addNormalization } from '../../server/domain/diligence/normalizations.ts';
import { dealOffers } from '../../server/domain/offers/offers.ts';
import { peopleOfDeal } from '../../server/domain/deals/participants.ts';
import { checklist } from '../../server/domain/diligence/checklist.ts';
import { periodsOnPage } from '../../server/domain/diligence/figures.ts';
import { askQuestion, questions } from '../../server/domain/diligence/questions.ts';
import { writingTools } from '../../server/tools/catalog/index.ts';
import { leads, openDemoService, type DemoService, type Lead } from './service.ts';

const origin = { address: null, requestId: null };
const uuid = /^[0-9a-f-]{36}$/;
const adjustment = {
  period_label: 'TTM',
  adjustment_category: 'other',
  adjustment_amount: '-10.00',
  rationale: null,
} as const;

let it: DemoService;
beforeAll(async () => {
  it = await openDemoService();
});
afterAll(() => it?.service.close());

/** Each person's role on the four deals that demo.json names; null when they do not see the deal. */
const roles: Record<Lead, Record<keyof DemoService['demo']['deals'], CallerRole | null>> = {
  admin: { with_everything: 'viewer', draft: 'viewer', without_broker: 'viewer', of_other_brokerage: null },
  broker: {
    with_everything: 'broker_assigned',
    draft: 'broker_assigned',
    without_broker: null,
    of_other_brokerage: null,
  },
  seller: { with_everything: 'participant', draft: null, without_broker: null, of_other_brokerage: null },
  buyer: { with_everything: 'exclusive_buyer', draft: null, without_broker: 'participant', of_other_brokerage: null },
  other_buyer: { with_everything: 'participant', draft: null, without_broker: null, of_other_brokerage: null },
  outsider: { with_everything: null, draft: null, without_broker: null, of_other_brokerage: null },
};

test.each(leads)('the %s has the role on each deal that demo.json states', async (lead) => {
  const seen = await it.as(lead, deals(null, null));
  const roleOn = (id: string) => seen.find((found) => found.id === id)?.caller_role ?? null;
  const named = Object.entries(it.demo.deals).map(([name, id]) => [name, roleOn(id)]);
  expect(Object.fromEntries(named)).toEqual(roles[lead]);
});

test('each person sees the expected number of deals', async () => {
  const counts = await Promise.all(leads.map(async (lead) => [lead, (await it.as(lead, deals(null, null))).length]));
  expect(Object.fromEntries(counts)).toEqual({
    admin: 12,
    broker: 5,
    seller: 1,
    buyer: 3,
    other_buyer: 4,
    outsider: 0,
  });
});

test('deals of a brokerage are found by its id and by its slug', async () => {
  const byId = await it.as('admin', deals(null, it.demo.brokerage_id));
  expect(byId).toHaveLength(12);
  expect(await it.as('admin', deals(null, 'bramwell-oakes'))).toEqual(byId);
  expect(await it.as('admin', deals(null, 'pelican-quay'))).toEqual([]);
});

describe('the deal with everything', () => {
  test('names its exclusive buyer for 44 days to all participants except other buyers', async () => {
    const id = it.demo.deals.with_everything;
    for (const lead of ['admin', 'broker', 'seller', 'buyer'] as const) {
      const seen = await it.as(lead, fullDeal(id));
      expect(seen?.exclusive_buyer_user_id).toBe(it.demo.people.buyer.user_id);
      const days = (Date.parse(seen?.exclusivity_expires_at ?? '') - Date.now()) / 86_400_000;
      expect(days).toBeGreaterThan(43.8);
      expect(days).toBeLessThan(45);
    }
    expect(await it.as('other_buyer', fullDeal(id))).toMatchObject({
      exclusive_buyer_user_id: null,
      exclusivity_expires_at: null,
    });
  });

  test('has participants of every role, one of them invited and one removed, and not the admin', async () => {
    const all = await it.as('broker', peopleOfDeal(it.demo.deals.with_everything));
    const kinds = all.map(({ role, status }) => `${role} ${status}`).toSorted();
    expect(kinds).toEqual([
      'advisor active',
      'advisor active',
      'advisor invited',
      'broker active',
      'buyer active',
      'buyer active',
      'buyer removed',
      'seller active',
      'viewer active',
    ]);
    expect(all.map(({ user_id }) => user_id)).not.toContain(it.demo.people.admin.user_id);
  });

  test('shows the other buyer only their own offer and public records', async () => {
    const id = it.demo.deals.with_everything;
    const { items: own } = await it.as('other_buyer', dealOffers(id, null, 50));
    expect(own.map(({ buyer_user_id }) => buyer_user_id)).toEqual([it.demo.people.other_buyer.user_id]);
    const { documents: shown } = await it.as('other_buyer', documents(id, null, null));
    expect(new Set(shown.map(({ confidentiality }) => confidentiality))).toEqual(new Set(['public']));
    expect(await it.as('other_buyer', questions(id, null))).toEqual({ rows: [], more: false });
    expect(await it.as('other_buyer', checklist(id, null))).toEqual([]);
    expect(await it.as('other_buyer', periodsOnPage(id, null, null))).toEqual([]);
    const people = await it.as('other_buyer', peopleOfDeal(id));
    expect(people.map(({ role }) => role).toSorted()).toEqual(['broker', 'buyer']);
  });

  test('lets the exclusive buyer ask questions and add adjustments, but not the other buyer', async () => {
    const id = it.demo.deals.with_everything;
    expect(await it.as('buyer', askQuestion(id, 'legal', 'Is the name registered as a trademark?', origin))).toMatch(
      uuid,
    );
    expect(await it.as('buyer', addNormalization(id, adjustment, origin))).toMatch(uuid);
    await expect(it.as('other_buyer', askQuestion(id, 'legal', 'Is it?', origin))).rejects.toMatchObject({
      reason: 'no_active_nda',
    });
    await expect(it.as('other_buyer', addNormalization(id, adjustment, origin))).rejects.toThrow();
  });
});

test('the question of a buyer under NDA is rejected on a deal without a broker', async () => {
  const asking = it.as(
    'buyer',
    askQuestion(it.demo.deals.without_broker, 'tax', 'Is sales tax due on crowns?', origin),
  );
  await expect(asking).rejects.toMatchObject({ reason: 'no_broker_review' });
});

test('the draft has a broker and no buyer', async () => {
  const people = await it.as('broker', peopleOfDeal(it.demo.deals.draft));
  expect(people.map(({ role }) => role)).toEqual(['broker', 'seller']);
});

test('each person has a client; only broker and buyer may write through it, on the deal with everything', async () => {
  const clients = await it.service.sql<{ id: string; created_by: string; redirect_uris: string[] }>(
    'select id, created_by, redirect_uris from connected_clients order by id',
  );
  expect(clients).toHaveLength(leads.length);
  const grants = await it.service.sql<{ user_id: string; client_id: string; tool: string }>(
    'select * from tool_grants',
  );
  const optIns = await it.service.sql<{ user_id: string; deal_id: string }>(
    'select user_id, deal_id from deal_opt_ins',
  );
  for (const lead of leads) {
    const { user_id, client_id } = it.demo.people[lead];
    expect(clients).toContainEqual({ id: client_id, created_by: user_id, redirect_uris: [it.demo.redirect_uri] });
    const writes = lead === 'broker' || lead === 'buyer';
    const tools = grants
      .filter((grant) => grant.user_id === user_id && grant.client_id === client_id)
      .map(({ tool }) => tool);
    expect(tools.toSorted()).toEqual(writes ? [...writingTools].toSorted() : []);
    const opened = optIns.filter((optIn) => optIn.user_id === user_id).map(({ deal_id }) => deal_id);
    expect(opened).toEqual(writes ? [it.demo.deals.with_everything] : []);
  }
});

test('the outsider has no membership and no deal', async () => {
  const { user_id } = it.demo.people.outsider;
  const [found] = await it.service.sql(
    `select (select count(*) from members where user_id = $1)::int as members,
       (select count(*) from participants where user_id = $1)::int as deals`,
    [user_id],
  );
  expect(found).toEqual({ members: 0, deals: 0 });
});
