/** Marks for what is new on a tab of a deal since a person's last visit. */

import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { expectAccessible, openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { openScene, type WebScene } from './scene.ts';
import { aPdf, upload } from './uploads.ts';

const minute = 60_000;
const pictures = process.env['DEALKEEP_PICTURES'];

let web: WebScene;
let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());
// Each test, and each retry of a test, begins with a new scene: nothing that another one asked, sent or read is in it.
beforeEach(async () => {
  web = await openScene();
});
afterEach(() => web?.close());

const visit = async (who: string, deal: string, tab: string) => {
  const { status, body } = await (await web.as(who)).ask(`/deals/${deal}/visits`, { tab });
  return status === 200 ? body.since : status;
};

test('a visit begins half an hour after the previous one, and is stored once', async () => {
  const { service, scene } = web;
  const { clock } = service;
  clock.stand(clock.now());
  const rows = (who: string) =>
    service.sql(`select tab, began_at, before_at from vault.visits where user_id = $1`, [scene.people[who]]);
  const first = clock.now();
  expect(await visit('seller', scene.deal, 'documents')).toBeNull();
  const written = await rows('seller');
  clock.stand(new Date(first.getTime() + 29 * minute));
  expect(await visit('seller', scene.deal, 'documents')).toBeNull();
  expect(await rows('seller')).toEqual(written);
  clock.stand(new Date(first.getTime() + 31 * minute));
  for (let times = 0; times < 2; times += 1)
    expect(Date.parse(await visit('seller', scene.deal, 'documents'))).toBe(first.getTime());
  expect(await rows('seller')).toHaveLength(1);
  // Each tab and each person has visits of their own; a deal that the person does not see has none.
  expect(await visit('seller', scene.deal, 'offers')).toBeNull();
  expect(await visit('viewer', scene.deal, 'documents')).toBeNull();
  expect(await visit('outsider', scene.deal, 'documents')).toBe(404);
  expect(await visit('seller', scene.deal, 'people')).toBe(400);
  expect(await rows('outsider')).toEqual([]);
});

/** Opens a tab again, like a person who comes back. */
async function come(testPage: TestPage, tab: string): Promise<void> {
  await testPage.go(`/deals/${web.scene.deal}/${tab}`);
  await testPage.page.getByRole('heading', { level: 2 }).first().waitFor();
}

test('documents, answers and offers since the last visit are marked for everybody except their author', async () => {
  const { service, scene } = web;
  const open = async (who: string, width = 1280) =>
    openTestPage(browser, service.origin, { cookie: (await web.as(who)).cookie, viewport: { width, height: 844 } });
  const [buyer, seller, broker] = [await open('exclusive buyer', 390), await open('seller'), await open('broker')];
  const advisors = [await open("seller's advisor"), await open("broker's advisor")];
  for (const [testPage, tab] of [
    [buyer, 'documents'],
    [buyer, 'questions'],
    [seller, 'documents'],
    [broker, 'offers'],
    ...advisors.map((advisor) => [advisor, 'questions'] as const),
  ] as const) {
    const noted = testPage.page.waitForResponse((answer) => answer.url().endsWith('/visits'));
    await come(testPage, tab);
    await noted;
    expect(await testPage.page.getByText('New since your last visit').count()).toBe(0);
  }
  service.clock.advance(40 * minute);
  const query = { filename: 'Lease 2025.pdf', confidentiality: 'public' };
  expect((await upload(service, await web.as('seller'), scene.deal, aPdf(), query)).status).toBe(201);
  const released = scene.records["questions/the exclusive buyer's, with the seller"]!;
  const done = async (who: string, path: string, json: object) => {
    const { status, body } = await (await web.as(who)).ask(path, json);
    expect(status, JSON.stringify(body)).toBeLessThan(300);
  };
  await done('seller', `/questions/${released}/answer`, { answer_text: 'Yes.' });
  await done('broker', `/questions/${released}/distribute`, { distributed_response: 'Yes, it is.' });
  await done('seller', `/questions/${scene.unanswered}/answer`, { answer_text: 'No.' });
  await done('broker', `/questions/${scene.unanswered}/distribute`, { distributed_response: 'No, it is not.' });
  await done('other buyer', `/deals/${scene.deal}/offers`, { payload: { currency: 'USD', purchase_price: '100' } });

  const marked = async (testPage: TestPage, tab: string, name: string) => {
    await come(testPage, tab);
    await testPage.page.getByText('New since your last visit').first().waitFor();
    await expectAccessible(testPage.page);
    if (pictures) await testPage.page.screenshot({ path: `${pictures}/new-${name}.png`, fullPage: true });
  };
  await marked(buyer, 'documents', 'documents-phone');
  expect(await buyer.page.getByText('New since your last visit').count()).toBe(1);
  expect(await buyer.page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  await marked(buyer, 'questions', 'questions-phone');
  await marked(broker, 'offers', 'offers-desktop');
  const noted = seller.page.waitForResponse((answer) => answer.url().endsWith('/visits'));
  await come(seller, 'documents');
  await noted;
  await seller.page.getByText('Lease 2025.pdf').first().waitFor();
  expect(await seller.page.getByText('New since your last visit').count()).toBe(0);
  // What the seller answered, corrected and the broker sent is by somebody else for who advises them.
  for (const advisor of advisors) {
    await come(advisor, 'questions');
    await expect.poll(() => advisor.page.getByText('New since your last visit').count()).toBe(4);
  }
  for (const testPage of [buyer, seller, broker, ...advisors]) {
    expect(testPage.complaints).toEqual([]);
    await testPage.close();
  }
});

test('a corrected answer is new again, and says that it was corrected', async () => {
  const { service, scene } = web;
  const answer = async (answer_text: string) => {
    const { status } = await (await web.as('seller')).ask(`/questions/${scene.unanswered}/answer`, { answer_text });
    expect(status).toBe(200);
  };
  const testPage = await openTestPage(browser, service.origin, { cookie: (await web.as('broker')).cookie });
  const waiting = testPage.page.getByRole('region', { name: 'Waiting for you' });
  const said = waiting.getByText(/^The seller’s answer, /);
  const comeAgain = async () => {
    const noted = testPage.page.waitForResponse((response) => response.url().endsWith('/visits'));
    await come(testPage, 'questions');
    await noted;
    await said.waitFor();
    return said.innerText();
  };
  await answer('From June.');
  await comeAgain();
  service.clock.advance(40 * minute);
  expect(await comeAgain()).not.toMatch(/corrected|New/);
  // The same words again are no correction.
  await answer('From June.');
  service.clock.advance(40 * minute);
  expect(await comeAgain()).not.toMatch(/corrected|New/);
  await answer('From July.');
  service.clock.advance(40 * minute);
  expect(await comeAgain()).toMatch(/, corrected .*New/s);
  await expectAccessible(testPage.page);
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

test('a document is new to those for whom it was opened since their last visit, and not to those who could open it before', async () => {
  const { service, scene } = web;
  const query = { filename: 'Payroll 2025.pdf', confidentiality: 'selected_buyer_only' };
  const { body } = await upload(service, await web.as('seller'), scene.deal, aPdf(), query);
  const confide = async (confidentiality: string) => {
    const path = `/documents/simple/${body.id}`;
    expect((await (await web.as('seller')).ask(path, { confidentiality }, 'PATCH')).status).toBe(200);
  };
  const marked = async (who: string) => {
    const testPage = await openTestPage(browser, service.origin, { cookie: (await web.as(who)).cookie });
    const noted = testPage.page.waitForResponse((answer) => answer.url().endsWith('/visits'));
    await come(testPage, 'documents');
    await noted;
    const row = testPage.page.getByRole('listitem').filter({ hasText: 'Payroll 2025.pdf' });
    await row.waitFor();
    // By then the page has drawn what it was told of the visit.
    await testPage.page.evaluate(`fetch('/api/web/me').then((answer) => answer.text())`);
    const is = (await row.getByText('New since your last visit').count()) > 0;
    if (is) expect(await row.innerText()).toContain(', opened to you ');
    await testPage.close();
    return is;
  };
  const all = ['exclusive buyer', 'other buyer', 'broker'];
  service.clock.advance(minute);
  for (const who of all) await visit(who, scene.deal, 'documents');
  service.clock.advance(40 * minute);
  await confide('nda_gated');
  expect(await Promise.all(all.map(marked))).toEqual([false, true, false]);
  // Closed and opened again on the same day, it is not new once more.
  service.clock.advance(40 * minute);
  for (const to of ['selected_buyer_only', 'nda_gated']) await confide(to);
  expect(await Promise.all(all.map(marked))).toEqual([false, false, false]);
});

test('a reconnected page reloads its data without beginning a new visit', async () => {
  const { service, scene } = web;
  const testPage = await openTestPage(browser, service.origin, { cookie: (await web.as('viewer')).cookie });
  const { page } = testPage;
  const isEvents = ({ pathname }: URL) => pathname === '/api/web/events';
  await page.route(isEvents, (route) => route.abort());
  const noted = page.waitForResponse((answer) => answer.url().endsWith('/visits'));
  await come(testPage, 'documents');
  await noted;
  const begun = () =>
    service.sql(`select began_at from vault.visits where user_id = $1 and tab = 'documents'`, [scene.people['viewer']]);
  const before = await begun();
  service.clock.advance(40 * minute);
  const asked: string[] = [];
  page.on('request', (request) =>
    asked.push(`${request.method()} ${new URL(request.url()).pathname.split('/').at(-1)}`),
  );
  await page.unroute(isEvents);
  await expect.poll(() => asked).toContain('GET documents');
  // All other refetches were sent together with this one.
  await page.evaluate(`fetch('/api/web/me').then((answer) => answer.text())`);
  expect(asked).not.toContain('POST visits');
  expect(before).toHaveLength(1);
  expect(await begun()).toEqual(before);
  await testPage.close();
});
