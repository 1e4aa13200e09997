/** For each page, the tool that returns the same rows, and the facts that identify a row. */

import type { ClosingCondition } from '../../server/domain/deals/conditions.ts';
import type { Deal, ListedDeal } from '../../server/domain/deals/deals.ts';
import type { DocumentMetadata } from '../../server/domain/documents/documents.ts';
import type { Offer } from '../../server/domain/offers/offers.ts';
import type { Participant } from '../../server/domain/deals/participants.ts';
import type { Question } from '../../server/domain/diligence/questions.ts';
import { formatBytes, formatMoney } from '../../web/src/lib/format.ts';
import {
  callerRoles,
  conditionStates,
  confidentialities,
  dealStates,
  documentCategory,
  participantStates,
  questionCategories,
  questionStates,
} from '../../web/src/lib/states.ts';
import { escapeFrom } from '../browser.ts';
import { findings, sources, totals } from './rows-diligence.ts';
import { list, word, type DealPage, type Lines } from './rows-list.ts';
import { checklist, customers, months, normalizations, snapshots } from './rows-qoe.ts';
import { complete, linesOf } from './rows-read.ts';

/** The page “Deals”, which fetches a hundred deals at a time; all of them are read. */
export const deals = list<ListedDeal>({
  what: 'deals',
  tool: 'svc_deals_list',
  long: true,
  decidedBy: ['deals', 'deal_stages'],
  kinds: 11,
  shown: async (page) => {
    const grid = page.getByRole('grid', { name: 'Deals' });
    const rows = await complete(grid.getByRole('row'), grid, 'aria-rowcount');
    return linesOf(rows.filter({ has: page.getByRole('gridcell') }));
  },
  ask: (person) => person.rows('svc_deals_list', {}),
  // The time is left out: the page shows that of the last activity on the deal, the tool that of the last change to the
  // deal itself.
  facts: ({ title, state, caller_role }) => [title, word(dealStates, state), word(callerRoles, caller_role)],
});

const openToAll = 'no exclusivity';

const head = list<Deal>({
  what: 'the deal and its exclusivity',
  tool: 'svc_deals_get',
  decidedBy: ['deals/the deal', 'deal_stages', 'exclusivities'],
  kinds: 4,
  shown: async (page) => {
    const lines = await linesOf(page.locator('header').filter({ has: page.getByRole('heading', { level: 1 }) }));
    const [banner = [openToAll]] = await linesOf(page.getByRole('region', { name: 'Exclusivity' }));
    return lines.map((row) => [...row, ...banner]);
  },
  ask: async (person) => {
    const { deal } = await person.call<{ deal: Deal | null }>('svc_deals_get');
    return deal ? [deal] : [];
  },
  facts: ({ title, state, exclusive_buyer_user_id: holder, exclusivity_expires_at: until }, person) => [
    title,
    word(dealStates, state),
    holder === null ? openToAll : holder === person.id ? 'You hold' : `${person.nameOf(holder)} holds`,
    until,
  ],
});

const sides = [
  ['broker', /^Brokers/],
  ['seller', /^Seller/],
  ['buyer', /^(Buyers|Your side)/],
  ['viewer', /^Viewers/],
] as const;

const people = list<Participant>({
  what: 'the people on the deal',
  tool: 'svc_deals_get',
  decidedBy: [
    'the broker',
    'the seller',
    'the exclusive buyer',
    'the other buyer',
    "the exclusive buyer's advisor",
    "the seller's advisor",
    'the invited',
    'the removed',
    'the viewer',
  ].map((name) => `participants/${name}`),
  kinds: 5,
  shown: async (page) => {
    const shown: Lines[] = [];
    for (const [side, title] of sides) {
      const card = page.getByRole('main').locator('section');
      const its = card.filter({ has: page.getByRole('heading', { name: title }) }).getByRole('listitem');
      for (const found of await linesOf(its)) {
        // An invitation whose link no longer works.
        const lines = found.map((line) => (line === 'Link expired' ? 'Invited' : line));
        const advises = lines.some((line) => line === 'Advisor' || line.startsWith('Advises '));
        const active = !lines.some((line) => line === 'Invited' || line === 'Removed');
        shown.push([...lines, `as ${advises ? 'advisor' : side}`, ...(active ? ['Active'] : [])]);
      }
    }
    return shown;
  },
  ask: async (person) => (await person.call<{ participants: Participant[] }>('svc_deals_get')).participants,
  facts: ({ user_id, role, status }, person) => [
    person.emailOf(user_id),
    `as ${role}`,
    word(participantStates, status),
  ],
});

const documents = list<DocumentMetadata>({
  what: 'documents of both sources',
  tool: 'svc_documents_list',
  long: true,
  decidedBy: ['documents', 'production_documents'],
  kinds: 4,
  shown: async (page) => {
    const rows = page.getByRole('list', { name: 'Documents', exact: true }).getByRole('listitem');
    const lines = await linesOf(await complete(rows, rows.first(), 'aria-setsize'));
    return lines.map((row) => [...row, row.some((line) => line.startsWith('For: ')) ? 'for a request' : 'uploaded']);
  },
  facts: (document) => [
    document.filename,
    word(confidentialities, document.confidentiality),
    documentCategory(document.category),
    formatBytes(document.size_bytes),
    document.uploaded_at,
    document.source === 'production' ? 'for a request' : 'uploaded',
  ],
});

const questions = list<Question>({
  what: 'questions and the answers sent',
  tool: 'svc_questions_list',
  differs: 'What the seller answered stands on the page alone: the tool has no field for it.',
  decidedBy: ['questions'],
  kinds: 5,
  shown: (page) => linesOf(page.getByRole('main').locator('ul > li')),
  facts: ({ status, category, asked_at, question_text, distributed_response, rejection_reason }) => [
    word(questionStates, status),
    word(questionCategories, category),
    asked_at,
    question_text,
    distributed_response,
    rejection_reason ?? null,
  ],
});

const offers = list<Offer>({
  what: 'offers, every revision',
  tool: 'svc_offers_list',
  decidedBy: ['offers'],
  kinds: 7,
  shown: async (page) => {
    const shown: Lines[] = [];
    // The agreed terms, shown next to a proposed change, open the same revisions.
    for (const opens of await page
      .getByRole('main')
      .getByRole('button', { name: /^\d+ revision/ })
      .all()) {
      await opens.click();
      const drawer = page.getByRole('dialog');
      const each = drawer.locator('section').filter({ has: page.getByRole('heading', { name: /^Revision/ }) });
      await each.first().waitFor();
      const [[whose = ''] = []] = await linesOf(drawer.getByRole('heading', { level: 2 }));
      const revisions = await linesOf(each);
      shown.push(...revisions.map((row) => [whose, ...row, ...(row.includes('Current') ? [] : ['Earlier'])]));
      await escapeFrom(page, drawer);
    }
    return shown;
  },
  facts: ({ buyer_user_id: buyer, revision_number, is_current, submitted_at, payload }, person) => [
    buyer === person.id ? 'Your offer' : `Offer from ${person.nameOf(buyer)}`,
    `Revision ${revision_number}`,
    is_current ? 'Current' : 'Earlier',
    submitted_at,
    payload.purchase_price ? formatMoney(payload.purchase_price, payload.currency ?? 'USD') : null,
    payload.terms ?? null,
  ],
});

const conditions = list<ClosingCondition>({
  what: 'closing conditions',
  tool: 'svc_closing_conditions_list',
  decidedBy: ['closing_conditions'],
  kinds: 3,
  shown: (page) => linesOf(page.getByRole('main').locator('ul > li')),
  facts: ({ name, owner_user_id: owner, completed_at, deadline, status }, person) => [
    name,
    // Null also stands for an owner whom the person may not know: the page says only that there is one.
    owner && person.nameOf(owner)!,
    completed_at ?? deadline ?? 'No deadline',
    word(conditionStates, status),
  ],
});

/** The pages of a deal. The NDA page and the activity page have no corresponding tool. */
export const dealPages: readonly DealPage[] = [
  { path: '', title: '', lists: [head] },
  { path: '/documents', title: 'Documents', lists: [documents] },
  { path: '/questions', title: 'Questions', lists: [questions] },
  { path: '/qoe', title: 'Quality of earnings', lists: [checklist, snapshots, months, customers, normalizations] },
  { path: '/offers', title: 'Offers', lists: [offers] },
  { path: '/closing', title: 'Closing', lists: [conditions] },
  { path: '/findings', title: 'Findings', lists: [findings] },
  { path: '/financing', title: 'Financing', lists: [sources, totals] },
  { path: '/people', title: 'People', lists: [people] },
];
