/** Page by page, which tool answers with the same rows, and by what a reader knows a row. */

import type { Page } from 'playwright-core';
import type { ClosingCondition } from '../../server/domain/closing-conditions.ts';
import type { Deal, ListedDeal } from '../../server/domain/deals.ts';
import type { DocumentMetadata } from '../../server/domain/documents.ts';
import type { Offer } from '../../server/domain/offers.ts';
import type { Participant } from '../../server/domain/participants.ts';
import type { Question } from '../../server/domain/questions.ts';
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
import { findings, sources, totals } from './rows-diligence.ts';
import { list, word, type DealPage, type Row } from './rows-list.ts';
import { checklist, customers, months, normalizations, snapshots } from './rows-qoe.ts';
import { after, complete, firstTime, linesOf, timeIn } from './rows-read.ts';

/** The page “Deals”: fetched a hundred at a time, all of it read. */
export const deals = list<ListedDeal>({
  what: 'deals',
  tool: 'svc_deals_list',
  decidedBy: ['deals'],
  kinds: 10,
  shown: async (page) => {
    const grid = page.getByRole('grid', { name: 'Deals' });
    const rows = await complete(grid.getByRole('row'), grid, 'aria-rowcount');
    const lines = await linesOf(rows.filter({ has: page.getByRole('gridcell') }));
    return lines.map((row) => ({ title: row[0], state: row[1], role: row.at(-4), changed: row.at(-1) }));
  },
  ask: (person) => person.rows('svc_deals_list', {}),
  row: (deal) => ({
    title: deal.title,
    state: word(dealStates, deal.state),
    role: word(callerRoles, deal.caller_role),
    changed: deal.updated_at,
  }),
});

const head = list<Deal>({
  what: 'the deal and its exclusivity',
  tool: 'svc_deals_get',
  decidedBy: ['deals/the deal', 'exclusivities'],
  kinds: 4,
  shown: async (page) => {
    const lines = await linesOf(page.locator('header').filter({ has: page.getByRole('heading', { level: 1 }) }));
    const [[holder, until] = []] = await linesOf(page.getByRole('region', { name: 'Exclusivity' }));
    return lines.map(([, title, state]) => ({
      title,
      state,
      heldBy: holder?.split(/ holds? exclusivity/)[0] ?? null,
      until: timeIn(until),
    }));
  },
  ask: async (person) => {
    const { deal } = await person.call<{ deal: Deal | null }>('svc_deals_get');
    return deal ? [deal] : [];
  },
  row: ({ title, state, exclusive_buyer_user_id: holder, exclusivity_expires_at: until }, person) => ({
    title,
    state: word(dealStates, state),
    heldBy: holder === person.id ? 'You' : person.nameOf(holder),
    until,
  }),
});

const sides = { Brokers: 'broker', 'Seller’s side': 'seller', 'Buyer’s side': 'buyer', Viewers: 'viewer' };

const people = list<Participant>({
  what: 'the people on the deal',
  tool: 'svc_deals_get',
  decidedBy: ['participants'],
  kinds: 5,
  shown: async (page) => {
    const shown: Row[] = [];
    for (const [title, side] of Object.entries(sides)) {
      const card = page.getByRole('main').locator('section');
      const its = card.filter({ has: page.getByRole('heading', { name: title, exact: true }) }).getByRole('listitem');
      for (const lines of await linesOf(its)) {
        const advises = lines.some((line) => line === 'Advisor' || line.startsWith('Advises '));
        const status = lines.find((line) => line === 'Invited' || line === 'Removed') ?? 'Active';
        const email = lines.find((line) => line.includes('@'));
        shown.push({ email, role: advises ? 'advisor' : side, status });
      }
    }
    return shown;
  },
  ask: async (person) => (await person.call<{ participants: Participant[] }>('svc_deals_get')).participants,
  row: ({ user_id, role, status }, person) => ({
    email: person.emailOf(user_id),
    role,
    status: word(participantStates, status),
  }),
});

const documents = list<DocumentMetadata>({
  what: 'documents of both sources',
  tool: 'svc_documents_list',
  decidedBy: ['documents', 'production_documents'],
  kinds: 4,
  shown: async (page) => {
    const rows = page.getByRole('list', { name: 'Documents', exact: true }).getByRole('listitem');
    return (await linesOf(await complete(rows, rows.first(), 'aria-setsize'))).map(
      ([file, access, category, size, uploaded, request]) => ({
        file,
        access,
        category,
        size,
        uploaded: timeIn(uploaded),
        source: request === undefined ? 'simple' : 'production',
      }),
    );
  },
  row: (document) => ({
    file: document.filename,
    access: word(confidentialities, document.confidentiality),
    category: documentCategory(document.category),
    size: formatBytes(document.size_bytes),
    uploaded: document.uploaded_at,
    source: document.source,
  }),
});

const questions = list<Question>({
  what: 'questions and the answers sent',
  tool: 'svc_questions_list',
  decidedBy: ['questions'],
  kinds: 5,
  shown: async (page) => {
    const rows = await linesOf(page.getByRole('main').locator('ul > li'));
    return rows.map(([status, category, asked, question, ...said]) => ({
      status,
      category,
      asked: timeIn(asked),
      question,
      answer: after(said, 'Answer,') ?? after(said, 'Sent to who asked,'),
    }));
  },
  row: (question) => ({
    status: word(questionStates, question.status),
    category: word(questionCategories, question.category),
    asked: question.asked_at,
    question: question.question_text,
    answer: question.distributed_response,
  }),
});

/** Every revision of a buyer's offer, as it stands in the drawer that their column opens. */
async function revisions(page: Page, buyer: string, column: number): Promise<Row[]> {
  await page
    .getByRole('table')
    .getByRole('button', { name: /revision/ })
    .nth(column)
    .click();
  const drawer = page.getByRole('dialog');
  const each = drawer.locator('section').filter({ has: page.getByRole('heading', { name: /^Revision/ }) });
  await each.first().waitFor();
  const lines = await linesOf(each);
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'detached' });
  return lines.map((its) => ({
    buyer,
    revision: its[0],
    current: its.includes('Current'),
    submitted: firstTime(its),
    price: after(its, 'Price'),
    terms: after(its, 'Terms'),
  }));
}

const offers = list<Offer>({
  what: 'offers, every revision',
  tool: 'svc_offers_list',
  decidedBy: ['offers'],
  kinds: 5,
  shown: async (page) => {
    const columns = await linesOf(page.getByRole('table').getByRole('columnheader'));
    const shown: Row[] = [];
    for (const [column, [buyer = '']] of columns.slice(1).entries())
      shown.push(...(await revisions(page, buyer, column)));
    return shown;
  },
  row: ({ buyer_user_id, revision_number, is_current, submitted_at, payload }, person) => ({
    buyer: person.nameOf(buyer_user_id),
    revision: `Revision ${revision_number}`,
    current: is_current,
    submitted: submitted_at,
    price: payload.purchase_price ? formatMoney(payload.purchase_price, payload.currency ?? 'USD') : null,
    terms: payload.terms ?? null,
  }),
});

const conditions = list<ClosingCondition>({
  what: 'closing conditions',
  tool: 'svc_closing_conditions_list',
  decidedBy: ['closing_conditions'],
  kinds: 3,
  shown: async (page) => {
    const rows = await linesOf(page.getByRole('main').locator('ul > li'));
    return rows.map((lines) => {
      const [condition, owner] = lines.filter((line) => line !== 'Overdue');
      return { condition, owner, when: firstTime(lines), status: lines.at(-1) };
    });
  },
  row: ({ name, owner_user_id, completed_at, deadline, status }, person) => ({
    condition: name,
    owner: person.nameOf(owner_user_id) ?? 'Nobody sees to it yet',
    when: completed_at ?? deadline,
    status: word(conditionStates, status),
  }),
});

/** The pages of a deal. The NDA page has no tool beside it, and what happened is told by none. */
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
