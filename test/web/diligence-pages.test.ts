/**
 * The pages of diligence in the browser: messages about a step, and confirmations before a step that cannot be undone.
 */

import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { expectAccessible, openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { insert } from '../tools/scene.ts';
import { openScene, type WebScene } from './scene.ts';

let web: WebScene;
let browser: Browser;
const testPages: TestPage[] = [];

beforeAll(async () => {
  web = await openScene({ config: { features: { findings: true, financing: true } } });
  browser = await openBrowser();
});
// A page that stays open follows the changes of all later tests, and the next one would need a process of its own.
afterEach(async () => {
  await Promise.all(testPages.splice(0).map((testPage) => testPage.close()));
});
afterAll(async () => {
  await browser?.close();
  await web?.close();
});

async function testPageOf(caller: string, { spent = false } = {}): Promise<TestPage> {
  const { cookie } = await web.as(caller);
  const testPage = await openTestPage(browser, web.service.origin, { cookie, spent });
  testPages.push(testPage);
  return testPage;
}

async function at(caller: string, tab: string): Promise<Page> {
  const { page, go } = await testPageOf(caller);
  await go(`/deals/${web.scene.deal}/${tab}`);
  return page;
}

test('a new status of a financing source has to be confirmed, since it cannot be reversed', async () => {
  const page = await at('exclusive buyer', 'financing');
  const statusOf = async () => {
    const { body } = await (await web.as('exclusive buyer')).ask(`/deals/${web.scene.deal}/financing`);
    return body.items[0].commitment_status;
  };
  const choose = async (status: string) => {
    await page.getByRole('button', { name: 'Update First Bank' }).click();
    await page.getByRole('menuitem', { name: status }).click();
  };
  await choose('Term sheet');
  const question = page.getByRole('alertdialog', { name: 'Mark this source as term sheet?' });
  await question.getByText('First Bank only moves forward').waitFor();
  await expectAccessible(page);
  await question.getByRole('button', { name: 'Cancel' }).click();
  expect(await statusOf()).toBe('identified');
  await choose('Withdrawn');
  await page.getByRole('alertdialog').getByText('First Bank no longer counts in the total.').waitFor();
  await page.getByRole('button', { name: 'Mark as withdrawn' }).click();
  await page.getByRole('heading', { name: 'Expired or withdrawn' }).waitFor();
  expect(await statusOf()).toBe('withdrawn');
});

test('financing sources of rival buyers are listed and totalled per buyer; a buyer sees only their own', async () => {
  const amounts = { broker: [50_000], 'other buyer': [2_000_000, 300_000], 'exclusive buyer': [2_100_000] };
  for (const [name, all] of Object.entries(amounts))
    for (const amount of all)
      await (
        await web.as(name)
      ).ask(`/deals/${web.scene.deal}/financing`, {
        source_type: 'sba_7a',
        source_name: `${amount} of ${name}`,
        commitment_amount: String(amount),
        commitment_status: 'committed',
      });
  const page = await at('broker', 'financing');
  const names = (title: string) =>
    page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: title, exact: true }) })
      .getByRole('paragraph')
      .filter({ hasText: ' of ' });
  await names('Sources of financing: other buyer').first().waitFor();
  for (const [side, theirs] of Object.entries({
    'other buyer': ['300000 of other buyer', '2000000 of other buyer'],
    'exclusive buyer': ['2100000 of exclusive buyer'],
    Brokers: ['50000 of broker'],
  }))
    expect(await names(`Sources of financing: ${side}`).allTextContents()).toEqual(theirs);
  const all = (name: string) => page.getByRole('region', { name: `Sources in USD: ${name}` });
  await all('other buyer').getByText('All sources: other buyer').waitFor();
  await all('other buyer').getByText('$2,300,000').first().waitFor();
  await all('exclusive buyer').getByText('$2,100,000').first().waitFor();
  await all('Brokers').getByText('$50,000').first().waitFor();
  expect(await page.getByText('$4,450,000').count()).toBe(0);
  await expectAccessible(page);

  const own = await at('other buyer', 'financing');
  await own.getByText('All sources', { exact: true }).waitFor();
  await own.getByRole('heading', { name: 'Sources of financing', exact: true }).waitFor();
  await own.getByText('$2,300,000').first().waitFor();
});

test('an answer is headed "Answer" for the buyer whose advisor asked, and "Sent to the buyer" for the broker', async () => {
  const asked = { category: 'tax', question_text: 'Was use tax paid?' };
  const { body: question } = await (
    await web.as("exclusive buyer's advisor")
  ).ask(`/deals/${web.scene.deal}/questions`, asked);
  const step = async (who: string, name: string, words = {}) =>
    expect((await (await web.as(who)).ask(`/questions/${question.id}/${name}`, words)).status).toBe(200);
  await step('broker', 'release');
  await step('seller', 'answer', { answer_text: 'In most months.' });
  await step('broker', 'distribute', { distributed_response: 'In 19 of 36 months.' });
  for (const [who, heading] of [
    ['exclusive buyer', /^Answer, /],
    ['broker', /^Sent to the buyer, /],
  ] as const) {
    const page = await at(who, 'questions');
    const card = page.getByRole('listitem').filter({ hasText: 'In 19 of 36 months.' });
    await card.getByText(heading).waitFor();
  }
});

test('an advisor of a buyer without an NDA reads that the buyer signs it', async () => {
  const { scene, service } = web;
  await service.sql(
    `insert into participants (deal_id, user_id, role, status, advises) values ($1, $2, 'advisor', 'active', $3)`,
    [scene.deal, scene.people['outsider'], scene.participants['new buyer']],
  );
  for (const [who, nda, people] of [
    ['outsider', 'The buyer signs the NDA that the broker sends them.', 'once the buyer’s NDA is active.'],
    ['new buyer', 'When the broker sends you an NDA, you read and sign it here', 'once your NDA is active.'],
  ] as const) {
    const { page, go } = await testPageOf(who);
    await go(`/deals/${scene.deal}/nda`);
    await page.getByText(nda).waitFor();
    await expectAccessible(page);
    await go(`/deals/${scene.deal}/people`);
    await page.getByText(people).waitFor();
  }
});

test('a question cannot be released without an active seller on the deal, and the page gives the reason', async () => {
  const asked = { category: 'legal', question_text: 'Who owns the yard?' };
  await (await web.as('exclusive buyer')).ask(`/deals/${web.scene.deal}/questions`, asked);
  const setStatus = (status: string) =>
    web.service.sql('update participants set status = $2 where id = $1', [web.scene.participants['seller'], status]);
  for (const status of ['removed', 'invited']) await setStatus(status);
  try {
    const page = await at('broker', 'questions');
    const card = page.getByRole('listitem').filter({ hasText: asked.question_text });
    await card.getByText('No seller is on this deal to answer: invite one, who must accept first.').waitFor();
    expect(await card.getByRole('button', { name: 'Release to seller' }).isDisabled()).toBe(true);
    expect(await card.getByRole('button', { name: 'Reject' }).isDisabled()).toBe(false);
    await expectAccessible(page);
  } finally {
    await setStatus('active');
  }
});

test('a question of a buyer who has left waits for nobody, and says so', async () => {
  const asked = { category: 'legal', question_text: 'Who owns the sign?' };
  expect((await (await web.as('other buyer')).ask(`/deals/${web.scene.deal}/questions`, asked)).status).toBe(201);
  const setStatus = (status: string) =>
    web.service.sql('update participants set status = $2 where id = $1', [
      web.scene.participants['other buyer'],
      status,
    ]);
  await setStatus('removed');
  try {
    const page = await at('broker', 'questions');
    const card = page.getByRole('listitem').filter({ hasText: asked.question_text });
    await card.getByText('The buyer has left: nobody waits for an answer.').waitFor();
    expect(await page.getByRole('region', { name: 'Waiting for you' }).getByText(asked.question_text).count()).toBe(0);
    await expectAccessible(page);
  } finally {
    for (const status of ['invited', 'active']) await setStatus(status);
  }
});

test('a typed rejection reason stays in the dialog when another session releases the question', async () => {
  const asked = { category: 'legal', question_text: 'Who owns the building?' };
  const { body: question } = await (await web.as('exclusive buyer')).ask(`/deals/${web.scene.deal}/questions`, asked);
  const page = await at('broker', 'questions');
  await page
    .getByRole('listitem')
    .filter({ hasText: asked.question_text })
    .getByRole('button', { name: 'Reject' })
    .click();
  const reason = page.getByRole('dialog', { name: 'Reject this question' }).getByLabel('Reason');
  await reason.fill('The teaser says so.');
  await (await web.as('broker')).ask(`/questions/${question.id}/release`, {});
  await page.locator('section[aria-label^="All"] li').filter({ hasText: asked.question_text }).waitFor();
  expect(await reason.inputValue()).toBe('The teaser says so.');
});

test('a step that is no longer possible is refused, and the page then shows the current status of the question', async () => {
  const asked = { category: 'legal', question_text: 'Who owns the roof?' };
  const { body: question } = await (await web.as('exclusive buyer')).ask(`/deals/${web.scene.deal}/questions`, asked);
  const { page, go } = await testPageOf('broker', { spent: true });
  // The page gets no events, and does not poll.
  await page.addInitScript('window.setInterval = () => 0');
  await page.route('**/api/web/events*', (route) => route.abort());
  await go(`/deals/${web.scene.deal}/questions`);
  const card = page.getByRole('listitem').filter({ hasText: asked.question_text });
  await card.getByRole('button', { name: 'Reject' }).click();
  await (await web.as('broker')).ask(`/questions/${question.id}/release`, {});
  const dialog = page.getByRole('dialog', { name: 'Reject this question' });
  await dialog.getByRole('button', { name: 'Reject' }).click();
  await dialog.getByText('This was changed meanwhile. Check where it stands now, then choose again.').waitFor();
  await page.locator('section[aria-label^="All"] li').filter({ hasText: asked.question_text }).waitFor();
  expect(await card.getByRole('button', { name: 'Reject' }).count()).toBe(0);
});

test('adding notes to a finding does not revert a status that was changed meanwhile', async () => {
  const buyer = await web.as('exclusive buyer');
  const recorded = {
    title: 'Roof leaks',
    category: 'property',
    severity: 'major',
    description: null,
    owner_user_id: null,
  };
  const { body: finding } = await buyer.ask(`/deals/${web.scene.deal}/findings`, recorded);
  const page = await at('exclusive buyer', 'findings');
  const card = page.getByRole('listitem').filter({ hasText: 'Roof leaks' });
  await card.getByText('Comments and history').click();
  await card.getByLabel('Comment').fill('Who owns the gutter?');
  await card.getByRole('button', { name: 'Comment on Roof leaks' }).click();
  await page.getByText('Comment added').first().waitFor();
  await card.getByRole('button', { name: 'Change status of Roof leaks' }).click();
  const dialog = page.getByRole('dialog');
  const status = dialog.getByLabel('Status');
  await dialog.getByLabel('Notes').fill('The roofer was there on Monday.');
  await buyer.ask(`/findings/${finding.id}/status`, { status: 'mitigated', status_notes: null });
  await expect.poll(() => status.inputValue()).toBe('mitigated');
  expect(await dialog.getByLabel('Notes').inputValue()).toBe('The roofer was there on Monday.');
  // The person's own choice stays.
  await status.selectOption('accepted');
  await buyer.ask(`/findings/${finding.id}/status`, { status: 'resolved', status_notes: null });
  await page
    .locator('li')
    .filter({ hasText: 'Roof leaks' })
    .getByText('Resolved', { exact: true })
    .waitFor({ state: 'attached' });
  expect(await status.inputValue()).toBe('accepted');
  await dialog.getByRole('button', { name: 'Change', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  const { body: after } = await buyer.ask(`/findings/${finding.id}`);
  expect(after).toMatchObject({ status: 'accepted', status_notes: 'The roofer was there on Monday.' });
});

test('an optional choice can be cleared: the owner of a finding, the financing contingency of an offer', async () => {
  const page = await at('exclusive buyer', 'findings');
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Record a finding' }).first().click();
  await dialog.getByLabel('Finding').fill('Unfiled returns');
  await dialog.getByLabel('Category').fill('tax');
  await dialog.getByLabel('Severity').selectOption('major');
  await dialog.getByLabel('Owner').selectOption({ label: 'exclusive buyer' });
  await dialog.getByLabel('Owner').selectOption('Unassigned');
  await dialog.getByRole('button', { name: 'Record' }).click();
  await dialog.waitFor({ state: 'detached' });
  const { body } = await (await web.as('exclusive buyer')).ask(`/deals/${web.scene.deal}/findings`);
  const found = body.items.find(({ title }: { title: string }) => title === 'Unfiled returns');
  expect(found.owner_user_id).toBeNull();

  await page.getByRole('link', { name: 'Offers' }).click();
  await page.getByRole('button', { name: 'Propose a change' }).click();
  const contingency = dialog.getByLabel('Financing contingency');
  await contingency.selectOption('yes');
  await contingency.selectOption('Not stated');
  expect(await contingency.inputValue()).toBe('');
});

test('the warning that parts of an offer do not add up to its price appears in an existing status region', async () => {
  const page = await at('exclusive buyer', 'offers');
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Propose a change' }).click();
  await dialog.getByLabel('Price').fill('900000');
  for (const part of ['Cash at close', 'Seller note', 'Earn-out', 'Rollover equity'])
    await dialog.getByLabel(part).fill(part === 'Cash at close' ? '900000' : '');
  const said = dialog.getByRole('status').filter({ hasText: 'The parts add up to' });
  await said.waitFor({ state: 'detached' });
  const before = await dialog.getByRole('status').count();
  await dialog.getByLabel('Seller note').fill('100000');
  await said.getByText('The parts add up to $1,000,000, but the price is $900,000.').waitFor();
  expect(await dialog.getByRole('status').count()).toBe(before);
});

test('an answer corrected while the broker is sending it is shown for review before it is sent', async () => {
  const asked = { category: 'tax', question_text: 'Is any tax overdue?' };
  const path = `/deals/${web.scene.deal}/questions`;
  const { body: question } = await (await web.as('exclusive buyer')).ask(path, asked);
  const step = async (who: string, name: string, words = {}) =>
    expect((await (await web.as(who)).ask(`/questions/${question.id}/${name}`, words)).status).toBe(200);
  await step('broker', 'release');
  await step('seller', 'answer', { answer_text: 'None.' });
  const page = await at('broker', 'questions');
  const card = page.getByRole('listitem').filter({ hasText: asked.question_text });
  await card.getByRole('button', { name: 'Send the answer' }).click();
  const dialog = page.getByRole('dialog');
  const answer = dialog.getByLabel('Answer to the buyer');
  expect(await answer.inputValue()).toBe('None.');
  await step('seller', 'answer', { answer_text: 'The sales tax of June.' });
  // The page has the new answer; the dialog keeps the one that was read.
  await page.getByText('The sales tax of June.').waitFor({ state: 'attached' });
  await dialog.getByText('The seller’s answer: None.').waitFor();
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  await dialog.getByText('The answer was changed meanwhile.').waitFor();
  await dialog.getByText('The seller’s answer: The sales tax of June.').waitFor();
  expect(await answer.inputValue()).toBe('The sales tax of June.');
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  await card.getByText('Sent to the buyer').waitFor();
});

test('withdrawing a question shows a confirmation message', async () => {
  const asked = { category: 'legal', question_text: 'Is the lease assignable?' };
  await (await web.as('exclusive buyer')).ask(`/deals/${web.scene.deal}/questions`, asked);
  const page = await at('exclusive buyer', 'questions');
  const card = page.getByRole('listitem').filter({ hasText: 'Is the lease assignable?' });
  await card.getByRole('button', { name: 'Withdraw' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Withdraw' }).click();
  await page.getByText('Question withdrawn', { exact: true }).waitFor();
});

test('add-backs are shown in the currency of the books, not in that of the deal', async () => {
  const { service, scene } = web;
  const broker = await web.as('broker');
  expect((await broker.ask(`/deals/${scene.deal}`, { currency: 'EUR' }, 'PATCH')).status).toBe(200);
  const snapshot_id = await insert(service, 'accounting_snapshots', {
    deal_id: scene.deal,
    snapshot_type: 'full',
    status: 'completed',
    requested_at: '2026-01-09T00:00:00Z',
    completed_at: '2026-01-10T00:00:00Z',
  });
  await insert(service, 'pl_periods', {
    deal_id: scene.deal,
    snapshot_id,
    currency: 'USD',
    period_label: 'FY2025',
    period_start_date: '2025-01-01',
    period_end_date: '2025-12-31',
    revenue: '900000',
    ebitda: '200000',
  });
  const { body: bridge } = await broker.ask(`/deals/${scene.deal}/qoe/bridge`);
  expect(bridge.currency).toBe('USD');
  const normalization = { period_label: 'FY2025', adjustment_category: 'one_time', adjustment_amount: '7000' };
  expect((await broker.ask(`/deals/${scene.deal}/qoe/normalizations`, normalization)).status).toBe(201);
  const page = await at('broker', 'qoe');
  await page.getByText('+$7,000').first().waitFor();
  expect(await page.getByText('€').count()).toBe(0);
  await page.getByRole('button', { name: 'Add adjustment' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('$', { exact: true }).waitFor();
  expect(await dialog.getByText('€').count()).toBe(0);
});

test('another owner is chosen for a finding, and an open page follows', async () => {
  const { scene } = web;
  const finding = { category: 'lease', title: 'The lease has no option', severity: 'minor', owner_user_id: null };
  const path = `/deals/${scene.deal}/findings`;
  expect((await (await web.as('exclusive buyer')).ask(path, finding)).status).toBe(201);
  const theirs = await at('exclusive buyer', 'findings');
  const page = await at('broker', 'findings');
  const cardOn = (one: Page) => one.getByRole('listitem').filter({ hasText: finding.title });
  const change = cardOn(page).getByRole('button', { name: `Change owner of ${finding.title}` });
  const dialog = page.getByRole('dialog', { name: 'Change the owner' });
  const owner = dialog.getByLabel('Owner');
  await change.click();
  await owner.waitFor();
  expect((await owner.locator('option').allTextContents()).toSorted()).toEqual(
    ['Unassigned', 'broker', 'exclusive buyer', "exclusive buyer's advisor", 'seller'].toSorted(),
  );
  await owner.selectOption('seller');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Save' }).click();
  for (const one of [page, theirs]) await cardOn(one).getByText('Owner: seller', { exact: true }).waitFor();
  await change.click();
  await owner.selectOption('Unassigned');
  await dialog.getByRole('button', { name: 'Save' }).click();
  for (const one of [page, theirs])
    await cardOn(one)
      .getByText(/^Owner:/)
      .waitFor({ state: 'detached' });
});

test('an owner who has left the deal is marked on findings and closing conditions', async () => {
  const { service, scene } = web;
  const broker = await web.as('broker');
  const owner_user_id = scene.people["broker's advisor"]!;
  const finding = { category: 'lease', title: 'The lease ends in June', severity: 'major', owner_user_id };
  expect((await broker.ask(`/deals/${scene.deal}/findings`, finding)).status).toBe(201);
  await insert(service, 'closing_conditions', { deal_id: scene.deal, name: 'Lease renewed', owner_user_id });
  const page = await at('broker', 'findings');
  const card = page.getByRole('listitem').filter({ hasText: finding.title });
  await card.getByText("Owner: broker's advisor", { exact: true }).waitFor();
  const leaving = `/deals/${scene.deal}/participants/${scene.participants["broker's advisor"]}`;
  expect((await broker.ask(leaving, undefined, 'DELETE')).status).toBe(200);
  await card.getByText("Owner: broker's advisor (left the deal)", { exact: true }).waitFor();
  await page.getByRole('link', { name: /^Closing/ }).click();
  const condition = page.getByRole('listitem').filter({ hasText: 'Lease renewed' });
  await condition.getByText("broker's advisor (left the deal)", { exact: true }).waitFor();
});

// It comes after the other tests with a selected buyer: here the buyer is no longer selected.
test('a broker is not offered to remind the owner of a condition who no longer sees it', async () => {
  const page = await at('broker', 'closing');
  const remind = page.getByRole('button', { name: 'Remind about Lease assigned' });
  await remind.waitFor();
  const { status } = await (await web.as('broker')).ask(`/deals/${web.scene.deal}/exclusivity`, undefined, 'DELETE');
  expect(status).toBe(200);
  await remind.waitFor({ state: 'detached' });
  await page.getByText('Lease assigned').waitFor();
});

// The last test of this file: a withdrawn deal stays withdrawn.
test('questions wait for nobody on a withdrawn deal, and answers can still be sent', async () => {
  const { service, scene } = web;
  const asked = { category: 'tax', question_text: 'Who files the returns?' };
  const { body } = await (await web.as('exclusive buyer')).ask(`/deals/${scene.deal}/questions`, asked);
  const step = async (who: string, name: string, words = {}) =>
    expect((await (await web.as(who)).ask(`/questions/${body.id}/${name}`, words)).status).toBe(200);
  await step('broker', 'release');
  await step('seller', 'answer', { answer_text: 'An accountant.' });
  const page = await at('broker', 'questions');
  await page.getByRole('region', { name: 'Waiting for you' }).getByText(asked.question_text).waitFor();
  await service.sql(`update deals set state = 'withdrawn' where id = $1`, [scene.deal]);
  const all = page.getByRole('region', { name: 'All questions' });
  const card = all.getByRole('listitem').filter({ hasText: asked.question_text });
  await card.getByRole('button', { name: 'Send the answer' }).waitFor();
  expect(await page.getByRole('region', { name: 'Waiting for you' }).count()).toBe(0);
});
