/** The bell, the pages that it leads to, and the notification settings, in a real browser. */

import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createNotifications } from '../../server/domain/notifications/events.ts';
import { expectAccessible, openBrowser, openTestPage } from '../browser.ts';
import { openScene, type WebScene } from './scene.ts';

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

async function ask(): Promise<void> {
  const buyer = await web.as('exclusive buyer');
  const question = { category: 'legal', question_text: 'Is the lease assignable?' };
  expect((await buyer.ask(`/deals/${web.scene.deal}/questions`, question)).status).toBe(201);
  while ((await web.service.database.run(createNotifications(100))) > 0);
}

const pictures = process.env['DEALKEEP_PICTURES'];

test('the bell counts new notifications live, links to their page, and resets when they are read', async () => {
  const { cookie } = await web.as('broker');
  const testPage = await openTestPage(browser, web.service.origin, { cookie, viewport: { width: 320, height: 640 } });
  const { page } = testPage;
  const zones: (string | null)[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PUT' && request.url().endsWith('/notifications/settings')) zones.push(request.postData());
  });
  await testPage.go('/notifications');
  await page.getByText('Nothing yet').waitFor();
  await ask();
  await page.getByRole('link', { name: 'Notifications, 1 new' }).first().waitFor();
  await ask();
  await page.getByRole('link', { name: 'Notifications, 2 new' }).first().waitFor();
  await page.getByRole('heading', { name: 'Corner bakery' }).waitFor();
  await expectAccessible(page);
  // The page is no wider than the narrowest phone.
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
  if (pictures) await page.screenshot({ path: `${pictures}/list-phone.png`, fullPage: true });
  await page.setViewportSize({ width: 1280, height: 800 });
  if (pictures) await page.screenshot({ path: `${pictures}/list-desktop.png` });

  const entry = page.getByRole('link', { name: /A question was asked/ }).first();
  await entry.focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/deals/${web.scene.deal}/questions`);
  // The page shows the other question, too.
  await page.getByRole('link', { name: 'Notifications', exact: true }).first().waitFor();
  await testPage.visit('/notifications');
  await ask();
  await page.getByRole('link', { name: 'Notifications, 1 new' }).first().waitFor();
  await page.getByRole('button', { name: 'Mark all as read' }).click();
  await page.getByText('All marked as read').first().waitFor();
  await page.getByRole('link', { name: 'Notifications', exact: true }).first().waitFor();
  // The time zone of the first visit was stored, once.
  expect(zones).toHaveLength(1);
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

test('the list continues past more than a page of notifications that can no longer be opened', async () => {
  const { people, deal, idle, records } = web.scene;
  await web.service.sql(
    `insert into vault.notifications (event_id, user_id, kind, deal_id, at) values (app.uuid_v7(), $1, 'nda_sent', $2, app.now() - interval '1 hour')`,
    [people['new buyer'], idle],
  );
  await web.service.sql(
    `insert into vault.notifications (event_id, user_id, kind, deal_id, subject, subject_id, at)
     select app.uuid_v7(), $1, 'document_added', $2, 'documents', $3, app.now() from generate_series(1, 5000)`,
    [people['new buyer'], deal, records['documents/selected_buyer_only']],
  );
  const { cookie } = await web.as('new buyer');
  const testPage = await openTestPage(browser, web.service.origin, { cookie });
  await testPage.go('/notifications');
  await testPage.page.getByRole('link', { name: /You were sent an NDA to sign/ }).waitFor();
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

test('a broker sends reminders for an NDA, a condition and a question, once each', async () => {
  const { deal, participants, people } = web.scene;
  const broker = await web.as('broker');
  const add = async (path: string, json: object) => {
    expect((await broker.ask(`/deals/${deal}/${path}`, json)).status).toBe(201);
  };
  await add('ndas', { participant_id: participants['new buyer'], terms: 'Keep it to yourself.' });
  await add('conditions', { name: 'Consent of the landlord', owner_user_id: people['exclusive buyer'] });
  const testPage = await openTestPage(browser, web.service.origin, {
    cookie: broker.cookie,
    viewport: { width: 390, height: 844 },
  });
  const { page } = testPage;
  for (const [tab, of] of [
    ['nda', 'Remind about the NDA of new buyer'],
    ['closing', 'Remind about Consent of the landlord'],
    ['questions', 'Remind about this question'],
  ] as const) {
    await testPage.visit(`/deals/${deal}/${tab}`);
    await page.getByRole('button', { name: of }).first().click();
    await page
      .getByText(/^Reminded/)
      .first()
      .waitFor();
    // The button is gone: the focus moves to the text that replaces it.
    await page
      .locator(':focus:not(main)')
      .getByText(/^Reminded/)
      .waitFor();
    await expectAccessible(page);
    expect(await page.evaluate('document.documentElement.scrollWidth'), tab).toBe(390);
    if (pictures) await page.screenshot({ path: `${pictures}/remind-${tab}-phone.png` });
    await page.setViewportSize({ width: 1280, height: 800 });
    if (pictures) await page.screenshot({ path: `${pictures}/remind-${tab}-desktop.png` });
    await page.setViewportSize({ width: 390, height: 844 });
  }
  // Nobody can be reminded after their removal.
  await web.service.sql('delete from vault.sent_reminders');
  const nda = { name: 'Remind about the NDA of new buyer' };
  await testPage.visit(`/deals/${deal}/nda`);
  await page.reload();
  await page.getByRole('button', nda).waitFor();
  const removal = `/deals/${deal}/participants/${participants['new buyer']}`;
  expect((await broker.ask(removal, undefined, 'DELETE')).status).toBe(200);
  await page.getByRole('button', nda).waitFor({ state: 'detached' });
  // A withdrawn deal has no reminders.
  await web.service.sql('delete from vault.sent_reminders');
  await testPage.visit(`/deals/${deal}/closing`);
  await page.reload();
  await page.getByRole('button', { name: 'Remind about Consent of the landlord' }).waitFor();
  expect((await broker.ask(`/deals/${deal}/moves`, { to: 'withdrawn', confirm: true })).status).toBe(200);
  await page.getByText('This sale was withdrawn. No more offers can be made or questions asked.').waitFor();
  await page.getByText('Consent of the landlord').first().waitFor();
  expect(await page.getByRole('button', { name: /^Remind/ }).count()).toBe(0);
  await testPage.visit('/');
  await page.getByRole('link', { name: /^Withdrawn\s*1$/ }).waitFor();
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

test('an open page leaves a deal that the person was removed from, and shows an invitation to come back, accepted by a double click', async () => {
  const { deal, participants } = web.scene;
  const broker = await web.as('broker');
  const { cookie } = await web.as('new buyer');
  const testPage = await openTestPage(browser, web.service.origin, { cookie });
  const { page } = testPage;
  await testPage.go(`/deals/${deal}/people`);
  await page.getByRole('heading', { name: 'Corner bakery' }).waitFor();
  const row = `/deals/${deal}/participants/${participants['new buyer']}`;
  expect((await broker.ask(row, undefined, 'DELETE')).status).toBe(200);
  await page.getByRole('heading', { name: 'You cannot open this' }).waitFor();
  await testPage.visit('/');
  await page
    .getByText(/No deals yet|Deals by stage/)
    .first()
    .waitFor();
  expect((await broker.ask(`${row}/invitation`, {})).status).toBe(200);
  await page.getByRole('button', { name: 'Accept the invitation to Corner bakery' }).dblclick();
  await page.waitForURL(`**/deals/${deal}`);
  await page.getByRole('heading', { name: 'Corner bakery' }).waitFor();
  expect(await page.getByText('It does not exist').count()).toBe(0);
  await testPage.close();
});

test('an advisor who joins on the home page before the person they advise reads when the deal shows, and then sees it', async () => {
  const { deal, participants } = web.scene;
  const invitation = {
    email: 'outsider@example.test',
    name: 'Outsider',
    role: 'advisor',
    advises: participants['invited'],
  };
  expect((await (await web.as('broker')).ask(`/deals/${deal}/participants`, invitation)).status).toBe(201);
  const { cookie } = await web.as('outsider');
  const testPage = await openTestPage(browser, web.service.origin, { cookie });
  const { page } = testPage;
  await testPage.go('/');
  await page.getByRole('button', { name: 'Accept the invitation to Corner bakery' }).click();
  await page.getByText('The deal shows here once the person whom you advise has joined as well.').first().waitFor();
  await page.getByRole('heading', { name: 'Deals that you see once the person you advise has joined' }).waitFor();
  await page
    .getByText('Scene Brokers · you have joined as an advisor, and whom you advise has not joined yet')
    .waitFor();
  await expectAccessible(page);
  await testPage.visit('/deals');
  await page.getByText('If you advise somebody, that person must have joined, too.').waitFor();
  // Whoever would withdraw the invitation of the person they advise is told that they leave with it.
  const { cookie: ofBroker } = await web.as('broker');
  const broker = await openTestPage(browser, web.service.origin, { cookie: ofBroker });
  await broker.go(`/deals/${deal}/people`);
  await broker.page.getByRole('button', { name: 'Actions for invited' }).click();
  await broker.page.getByRole('menuitem', { name: 'Withdraw invitation' }).click();
  await broker.page.getByText('Their link stops working, and their advisors leave the deal with them.').waitFor();
  await broker.close();
  const joined = await (await web.as('invited')).ask(`/invitations/${participants['invited']}/accept`, {});
  expect(joined.status).toBe(200);
  await page.getByRole('link', { name: 'Corner bakery' }).waitFor();
  await testPage.close();
});

test('an advisor who follows their link again before the person they advise has joined reads that they wait, and can leave', async () => {
  const { deal, participants } = web.scene;
  const broker = await web.as('broker');
  const people = `/deals/${deal}/participants`;
  const invitation = {
    email: 'outsider@example.test',
    name: 'Outsider',
    role: 'advisor',
    advises: participants['invited'],
    deliver: 'link',
  };
  const { body } = await broker.ask(people, invitation);
  const { pathname, hash } = new URL(body.invitation_url);
  const { cookie, ask: asAdvisor } = await web.as('outsider');
  const testPage = await openTestPage(browser, web.service.origin, { cookie });
  const { page } = testPage;
  await testPage.go(pathname + hash);
  await page.getByRole('button', { name: 'Accept' }).click();
  await page.getByText('The deal shows here once the person whom you advise has joined as well.').first().waitFor();
  await testPage.go('/deals');
  await testPage.go(pathname + hash);
  await page.getByRole('heading', { name: 'This invitation no longer works' }).waitFor();
  await page
    .getByText('You have joined Corner bakery as an advisor, and see it once the person whom you advise')
    .waitFor();
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Go to your home page' }).click();

  const leave = `/invitations/${body.participant.id}/leave`;
  for (const who of ['broker', 'invited']) expect((await (await web.as(who)).ask(leave, {})).status).toBe(404);
  await page.getByRole('button', { name: 'Leave Corner bakery' }).click();
  await page.getByText('Scene Brokers can invite you again.').waitFor();
  await page.getByRole('button', { name: 'Leave', exact: true }).click();
  await page.getByText('No deals yet').waitFor();
  expect((await asAdvisor(leave, {})).status).toBe(404);
  const seen = (await broker.ask(`/deals/${deal}`)).body.participants;
  expect(seen.find(({ id }: { id: string }) => id === body.participant.id).status).toBe('removed');
  const { items } = (await broker.ask(`/deals/${deal}/activity`)).body;
  expect(items[0]).toMatchObject({ user_name: 'outsider', summary: 'left the deal' });

  // Once the other has joined, the deal is left on its own page.
  expect((await broker.ask(`${people}/${body.participant.id}/invitation`, {})).status).toBe(200);
  const accept = (of: string) => `/invitations/${of}/accept`;
  expect((await asAdvisor(accept(body.participant.id), {})).status).toBe(200);
  expect((await asAdvisor('/home')).body.waiting_places).toMatchObject([{ deal_title: 'Corner bakery' }]);
  expect((await (await web.as('invited')).ask(accept(participants['invited']!), {})).status).toBe(200);
  expect((await asAdvisor('/home')).body.waiting_places).toEqual([]);
  expect((await asAdvisor(leave, {})).status).toBe(404);
  expect((await asAdvisor(`${people}/${body.participant.id}`, undefined, 'DELETE')).status).toBe(204);
  await testPage.close();
});

test('the notification of a key leads to the keys of its brokerage, whichever was chosen in the browser', async () => {
  const { service, scene } = web;
  const admin = await web.as('admin');
  const key = (name: string) => ({ name, environment: 'live', scopes: ['contacts:read'] });
  const [{ id: coast } = { id: '' }] = await service.sql<{ id: string }>(
    `insert into brokerages (slug, name) values ('coast-keys', 'Zest Brokers') returning id`,
  );
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
    coast,
    scene.people['admin'],
  ]);
  for (const [brokerage, name] of [
    [coast, 'Key of Zest'],
    [scene.brokerage, 'Key of the scene'],
  ] as const)
    expect((await admin.ask(`/brokerages/${brokerage}/keys`, key(name))).status).toBe(201);
  while ((await service.database.run(createNotifications(100))) > 0);
  const testPage = await openTestPage(browser, service.origin, { cookie: admin.cookie });
  const { page } = testPage;
  for (const [of, name] of [
    ['Zest Brokers', 'Key of Zest'],
    ['Scene Brokers', 'Key of the scene'],
  ] as const) {
    await testPage.go('/notifications');
    await page.getByRole('link', { name: `An API key was created for ${of}.` }).click();
    await page.waitForURL('**/settings/keys');
    await page.getByText(name, { exact: true }).waitFor();
  }
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

test('rapid changes of notification settings are all saved', async () => {
  const { cookie, ask: asks } = await web.as('other buyer');
  const testPage = await openTestPage(browser, web.service.origin, { cookie, timezoneId: 'America/New_York' });
  const { page } = testPage;
  const settings = async () => (await asks('/notifications/choices')).body.settings;
  await testPage.go('/settings/notifications');
  await expect.poll(settings).toEqual({ time_zone: 'America/New_York', digest_hour: 8 });
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  await page.route('**/api/web/notifications/settings', async (route) => {
    await answered;
    await route.continue();
  });
  const [zone, hour] = [page.getByLabel('Time zone'), page.getByLabel('At', { exact: true })];
  // Each choice is shown at once, before the first response.
  for (const [field, value] of [
    [zone, 'Asia/Tokyo'],
    [hour, '17'],
    [hour, '18'],
  ] as const) {
    await field.selectOption(value);
    await expect.poll(() => field.inputValue()).toBe(value);
  }
  answer();
  await expect.poll(settings).toEqual({ time_zone: 'Asia/Tokyo', digest_hour: 18 });
  await expect.poll(async () => [await zone.inputValue(), await hour.inputValue()]).toEqual(['Asia/Tokyo', '18']);
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

test('a time zone of the browser that the service does not know is not saved, and not complained about', async () => {
  const { cookie, ask: request } = await web.as('broker');
  const testPage = await openTestPage(browser, web.service.origin, { cookie, alone: true });
  const { page } = testPage;
  await page.addInitScript(`
    const { resolvedOptions } = Intl.DateTimeFormat.prototype;
    Intl.DateTimeFormat.prototype.resolvedOptions = function () {
      return { ...resolvedOptions.call(this), timeZone: 'Etc/Unknown' };
    };
  `);
  const refused = page.waitForResponse(
    (answer) => answer.request().method() === 'PUT' && answer.url().endsWith('/notifications/settings'),
  );
  await testPage.go('/notifications');
  expect((await refused).status()).toBe(400);
  await page.getByText('Nothing yet').waitFor();
  expect(await page.getByText('Choose a time zone from the list.').count()).toBe(0);
  expect((await request('/notifications/choices')).body.settings).toBeNull();
  await testPage.close();
});

test('notification settings are saved: per kind, per deal, the digest hour and the calendar link', async () => {
  const { cookie } = await web.as('seller');
  const testPage = await openTestPage(browser, web.service.origin, { cookie, timezoneId: 'America/New_York' });
  const { page } = testPage;
  await testPage.go(`/deals/${web.scene.deal}`);
  const kept = page.waitForResponse(
    (response) =>
      response.request().method() === 'PUT' && response.url().endsWith(`/deals/${web.scene.deal}/notifications`),
  );
  await page.getByLabel('What you are notified of on this deal').selectOption('off');
  await kept;
  await testPage.go('/settings/notifications');
  expect(await page.getByLabel('Time zone').inputValue()).toBe('America/New_York');
  await page.getByLabel('A document that you can open is added').selectOption('at_once');
  await page.getByLabel('At', { exact: true }).selectOption('17');
  expect(
    await page.getByLabel('Someone signs in to your account from a new device').locator('option').allTextContents(),
  ).toEqual(['E-mail right away', 'Daily e-mail', 'In Dealkeep only']);
  await expectAccessible(page);
  const seller = await web.as('seller');
  await expect
    .poll(async () => (await seller.ask('/notifications/choices')).body)
    .toMatchObject({
      settings: { time_zone: 'America/New_York', digest_hour: 17 },
      deals: [{ deal_title: 'Corner bakery', delivery: 'off' }],
    });
  expect(await page.getByLabel('Corner bakery').inputValue()).toBe('off');
  await page.getByRole('button', { name: 'Create a link' }).click();
  const link = await page.getByLabel('Your link').inputValue();
  expect((await fetch(link)).headers.get('content-type')).toContain('text/calendar');
  await expectAccessible(page);
  if (pictures) await page.screenshot({ path: `${pictures}/settings-desktop.png`, fullPage: true });
  await page.setViewportSize({ width: 320, height: 640 });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
  if (pictures) await page.screenshot({ path: `${pictures}/settings-phone.png`, fullPage: true });
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('button', { name: 'Remove link' }).click();
  await page.getByText('You have no link.').waitFor();
  expect((await fetch(link)).status).toBe(404);
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});
