/** The pages of a deal in the browser, operated by hand as each role that takes part in the deal. */

import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { renewForAnotherTry } from '../another-try.ts';
import { escapeFrom, expectAccessible, isSeen, openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { openScene, type WebScene } from './scene.ts';

let web: WebScene;
let browser: Browser;
const testPages = new Map<string, TestPage>();

beforeAll(async () => {
  web = await openScene();
  browser = await openBrowser();
});
renewForAnotherTry(async () => {
  await Promise.all([...testPages.values()].map((testPage) => testPage.close()));
  testPages.clear();
  await web.close();
  web = await openScene();
});
afterEach(() => {
  for (const { complaints } of testPages.values()) expect(complaints).toEqual([]);
});
afterAll(async () => {
  await browser?.close();
  await web?.close();
});

/** A caller's browser, shared by all tests of the file: a new one would load the application again. */
async function testPageOf(caller: string): Promise<TestPage> {
  const { cookie } = await web.as(caller);
  const testPage = testPages.get(caller) ?? (await openTestPage(browser, web.service.origin, { cookie }));
  testPages.set(caller, testPage);
  return testPage;
}

/** Opens a path in the browser in which a caller of the scene is signed in. */
async function testPageAt(caller: string, path: string, width = 1280): Promise<TestPage> {
  const testPage = await testPageOf(caller);
  await testPage.page.setViewportSize({ width, height: 900 });
  await testPage.page.mouse.move(0, 0);
  await testPage.visit(path);
  return testPage;
}

const at = async (...where: Parameters<typeof testPageAt>): Promise<Page> => (await testPageAt(...where)).page;

const button = (within: Page | Locator, name: string | RegExp) => within.getByRole('button', { name });
const confirm = (page: Page, name: string) => button(page.getByRole('alertdialog'), name).click();
const choose = async (page: Page, menu: string | RegExp, item: string) => {
  await button(page, menu).click();
  await page.getByRole('menuitem', { name: item }).click();
};

/** A new deal, listed unless `state` says otherwise, with the broker and a buyer who has signed nothing. */
async function withBuyer(
  { sql }: WebScene['service'],
  { brokerage, people }: WebScene['scene'],
  title: string,
  state = 'listed',
) {
  const [found] = await sql<{ id: string }>(
    `insert into deals (organization_id, title, state) values ($1, $2, $3) returning id`,
    [brokerage, title, state],
  );
  const deal = found!.id;
  for (const [person, role] of [
    ['broker', 'broker'],
    ['new buyer', 'buyer'],
  ])
    await sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, $3, 'active')`, [
      deal,
      people[person!],
      role,
    ]);
  const [buyer] = await sql<{ id: string }>(`select id from participants where deal_id = $1 and role = 'buyer'`, [
    deal,
  ]);
  return { deal, buyer: buyer!.id };
}

const tabsOf = (page: Page) =>
  page
    .getByRole('navigation', { name: 'Sections of the deal' })
    .getByRole('link')
    .evaluateAll((links) => links.map((link) => link.firstChild?.textContent ?? ''));

describe('the sections of a deal', () => {
  test.each([
    ['broker', ['Overview', 'NDA', 'Documents', 'Questions', 'QoE', 'Offers', 'Closing', 'People', 'Activity']],
    ['seller', ['Overview', 'NDA', 'Documents', 'Questions', 'QoE', 'Offers', 'Closing', 'People', 'Activity']],
    [
      'exclusive buyer',
      ['Overview', 'NDA', 'Documents', 'Questions', 'QoE', 'Offers', 'Closing', 'People', 'Activity'],
    ],
    ['other buyer', ['Overview', 'NDA', 'Documents', 'Questions', 'Offers', 'People', 'Activity']],
    ['viewer', ['Overview', 'Documents', 'Closing', 'People', 'Activity']],
    ['admin', ['Overview', 'Documents', 'Closing', 'People', 'Activity']],
  ])('are those that the %s may see', async (caller, sections) => {
    const page = await at(caller, `/deals/${web.scene.deal}`);
    expect(await tabsOf(page)).toEqual(sections);
    expect(await button(page, /^Move to/).count()).toBe(caller === 'broker' ? 1 : 0);
    expect(await page.getByRole('region', { name: 'Exclusivity' }).count()).toBe(caller === 'other buyer' ? 0 : 1);
    // A participant sees their role instead of the button to join.
    expect(await button(page, 'Join this deal').count()).toBe(caller === 'admin' ? 1 : 0);
    if (caller !== 'other buyer') await page.getByText(`You: ${caller}`, { exact: true }).waitFor();
  });

  test('fit a phone and are accessible there', async () => {
    const { page, visit } = await testPageAt('broker', `/deals/${web.scene.deal}`, 390);
    for (const path of ['', '/nda', '/offers', '/closing', '/people', '/activity']) {
      if (path !== '') await visit(`/deals/${web.scene.deal}${path}`);
      await expectAccessible(page);
      const over = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      expect([path, over]).toEqual([path, 0]);
    }
  });

  test('are printed without navigation and buttons, black on white, at the width of the paper', async () => {
    const page = await at('broker', `/deals/${web.scene.deal}/closing`);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    await page.locator('html[data-theme=light]').waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
    expect(await page.getByRole('banner').count()).toBe(0);
    expect(await button(page, 'Add condition').count()).toBe(0);
    // The buttons that change a status are printed, because they also show it.
    expect(await button(page, /^Status of /).count()).toBeGreaterThan(0);
    const looks = `['body', 'main', 'main h2 ~ p, main section p'].map((one) => {
      const { color, backgroundColor, marginLeft, maxWidth } = getComputedStyle(document.querySelector(one));
      return [color, backgroundColor, marginLeft, maxWidth];
    })`;
    const [body, main, words] = await page.evaluate<string[][]>(looks);
    expect(body!.slice(0, 2)).toEqual(['rgb(0, 0, 0)', 'rgb(255, 255, 255)']);
    expect(main!.slice(2)).toEqual(['0px', 'none']);
    expect(words![0]).toBe('rgb(0, 0, 0)');
    await page.emulateMedia({ media: null, colorScheme: 'light' });
    await page.getByRole('navigation').first().waitFor();
  });

  test('keep the focused field, an error and a question visible in a low window', async () => {
    const page = await at('broker', `/deals/${web.scene.deal}`);
    await page.route('**/deals/*', (route) =>
      route.request().method() === 'PATCH'
        ? route.fulfill({ status: 409, json: { error: { code: 'conflict', message: 'Not at the moment.' } } })
        : route.fallback(),
    );
    await choose(page, 'More actions', 'Edit deal');
    await page.setViewportSize({ width: 320, height: 222 });
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Location').fill('At the harbour');
    await expect.poll(() => page.evaluate(isSeen('document.activeElement'))).toBe(true);
    await button(dialog, 'Save').click();
    await dialog.getByText('Not at the moment.').waitFor();
    await expect.poll(() => page.evaluate(isSeen(`document.querySelector('form [role=alert]')`))).toBe(true);
    await page.unroute('**/deals/*');
    await page.keyboard.press('Escape');
    await confirm(page, 'Discard');
    await dialog.waitFor({ state: 'detached' });

    await button(page, /^Move to/).click();
    const question = page.getByRole('alertdialog');
    const title = `document.querySelector('[role=alertdialog] h2')`;
    await question.waitFor();
    await page.evaluate(`${title}.scrollIntoView()`);
    expect(await page.evaluate(isSeen(title))).toBe(true);
    await button(question, 'Cancel').click();
  });

  test('return the focus to the control that opened a dialog, a drawer or a question', async () => {
    const page = await at('broker', `/deals/${web.scene.deal}/nda`);
    const opens = async (name: string | RegExp, ...layers: ('menu' | 'dialog' | 'alertdialog')[]) => {
      const opener = button(page, name).first();
      await opener.focus();
      for (const layer of layers) {
        await page.keyboard.press('Enter');
        await page.getByRole(layer).waitFor();
      }
      await escapeFrom(page, page.getByRole(layers.at(-1)!));
      await expect.poll(() => opener.evaluate((one) => one.matches(':focus'))).toBe(true);
    };
    await opens(/exclusive buyer/, 'dialog');
    await opens('Change date', 'dialog');
    await opens(/^Move to/, 'alertdialog');
    await opens('More actions', 'menu', 'dialog');
  });

  test('cannot be opened by an outsider', async () => {
    const page = await at('outsider', `/deals/${web.scene.deal}/offers`);
    await page.getByRole('heading', { level: 1, name: 'You cannot open this' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Go home' }).click();
    await page.getByRole('heading', { level: 1, name: /^Good / }).waitFor();
  });
});

describe('a section that the caller may not see', () => {
  const answersNowhere = new Map<string, string[]>();
  test.each([
    ['other buyer', '/qoe'],
    ['viewer', '/offers'],
    ['viewer', '/nda'],
    ['admin', '/questions'],
    ['other buyer', '/closing'],
    ['broker', '/findings'],
  ])(
    "shows the %s at %s the page of a nonexistent address, without requests for the deal's data",
    async (caller, path) => {
      const { page } = await testPageOf(caller);
      // Requests of the previous page must not be counted as requests of this one.
      await page.goto(`${web.service.origin}/healthz`);
      const asked: string[] = [];
      page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      const answersAt = async (address: string) => {
        await page.goto(`${web.service.origin}/deals/${web.scene.deal}${address}`);
        await page.getByRole('heading', { level: 2, name: 'You cannot open this' }).waitFor();
        return [await page.title(), await page.getByRole('main').innerText()];
      };
      const nowhere = answersNowhere.get(caller) ?? (await answersAt('/nowhere'));
      answersNowhere.set(caller, nowhere);
      expect(await answersAt(path)).toEqual(nowhere);
      expect(asked.filter((one) => one.startsWith(`/api/web/deals/${web.scene.deal}/`))).toEqual([]);
      // The text is the same for all callers.
      if (caller === 'broker') await expectAccessible(page);
      await page.getByRole('link', { name: 'Go to the overview' }).click();
      await page.getByText('About the business').waitFor();
    },
  );
});

describe('an admin who takes no part in the deal', () => {
  test('joins as a broker after confirming, which the deal’s participants see', async () => {
    const broker = await at('broker', `/deals/${web.scene.idle}/people`);
    const page = await at('admin', `/deals/${web.scene.idle}`);
    await page.getByText('You: admin').waitFor();
    expect(await tabsOf(page)).not.toContain('Offers');
    await button(page, 'Join this deal').click();
    await page.getByRole('alertdialog').getByText('You become one of its brokers').waitFor();
    await expectAccessible(page);
    await button(page.getByRole('alertdialog'), 'Cancel').click();
    await button(page, 'Join this deal').click();
    await confirm(page, 'Join deal');
    await page.getByText('You: broker').waitFor();
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    expect(await tabsOf(page)).toEqual(expect.arrayContaining(['NDA', 'Questions', 'QoE', 'Offers']));
    await button(page, 'Join this deal').waitFor({ state: 'detached' });
    await broker.getByRole('main').getByRole('listitem').filter({ hasText: 'admin@example.test' }).waitFor();
    await broker.getByRole('link', { name: 'Activity' }).click();
    await broker.getByText('admin joined').waitFor();
  });
});

describe('a broker', () => {
  test('edits the deal, and sees an error at invalid fields', async () => {
    const page = await at('broker', `/deals/${web.scene.deal}`);
    await choose(page, 'More actions', 'Edit deal');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title').fill('');
    await dialog.getByLabel('Asking price').fill('about a million');
    await button(dialog, 'Save').click();
    await dialog.getByText('Enter a title.').waitFor();
    await dialog.getByLabel('Title').fill('Corner bakery and café');
    await button(dialog, 'Save').click();
    await dialog.getByText('Enter an amount such as 1,250,000.50.').waitFor();
    await expectAccessible(page);
    await dialog.getByLabel('Asking price').fill('980,000');
    await button(dialog, 'Save').click();
    await page.getByRole('heading', { level: 1, name: 'Corner bakery and café' }).waitFor();
    await page.getByText('$980,000').waitFor();
  });

  test('can drop with Escape what an input method composes, and stays in the dialog', async () => {
    const page = await at('broker', `/deals/${web.scene.deal}`);
    await choose(page, 'More actions', 'Edit deal');
    const dialog = page.getByRole('dialog', { name: 'Edit deal' });
    const title = dialog.getByLabel('Title');
    await title.fill('');
    const keyboard = await page.context().newCDPSession(page);
    await keyboard.send('Input.imeSetComposition', { text: 'にほん', selectionStart: 3, selectionEnd: 3 });
    expect(await title.inputValue()).toBe('にほん');
    await page.keyboard.press('Escape');
    await page.evaluate('new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)))');
    expect(await dialog.isVisible()).toBe(true);
    expect(await page.getByRole('alertdialog').count()).toBe(0);
    await keyboard.send('Input.insertText', { text: '日本' });
    expect(await title.inputValue()).toBe('日本');
    await page.keyboard.press('Escape');
    await confirm(page, 'Discard');
    await dialog.waitFor({ state: 'detached' });
    await keyboard.detach();
  });

  test("cannot save an amount in another language's format, even from a stored draft", async () => {
    const { cookie } = await web.as('broker');
    const norwegian = await openTestPage(browser, web.service.origin, { cookie, locale: 'nb-NO' });
    const { page, complaints } = norwegian;
    page.on('dialog', (prompt) => void prompt.accept());
    const asked: string[] = [];
    page.on('request', (request) => void (request.method() === 'PATCH' && asked.push(request.postData() ?? '')));
    await norwegian.go(`/deals/${web.scene.deal}`);
    // The page is in English, but its dates are Norwegian.
    await page.locator('time[lang=nb-NO]').first().waitFor();
    await choose(page, 'More actions', 'Edit deal');
    const dialog = page.getByRole('dialog', { name: 'Edit deal' });
    const price = dialog.getByLabel('Asking price');
    await price.fill('250.000');
    await dialog.getByLabel('Title').click();
    expect(await price.inputValue()).toBe('250.000');
    await button(dialog, 'Save').click();
    const fault = dialog.getByText(/Enter an amount such as 1.250.000,50\./);
    await fault.waitFor();
    expect(await price.getAttribute('aria-invalid')).toBe('true');
    // The draft is stored shortly after the typing.
    await expect.poll(() => page.evaluate('Object.keys(localStorage).join()')).toContain('dealkeep.draft.');
    await norwegian.go(`/deals/${web.scene.deal}`);
    await choose(page, 'More actions', 'Edit deal');
    await expect.poll(() => price.inputValue()).toBe('250.000');
    await button(dialog, 'Save').click();
    await fault.waitFor();
    expect(asked).toEqual([]);
    await price.fill('250 000');
    await button(dialog, 'Save').click();
    await dialog.waitFor({ state: 'detached' });
    expect(asked.map((body) => JSON.parse(body))).toEqual([{ asking_price: '250000', currency: 'USD' }]);
    expect(complaints).toEqual([]);
    await norwegian.close();
  });

  test('can correct an amount with more decimals than any format has', async () => {
    const page = await at('broker', `/deals/${web.scene.deal}`);
    await choose(page, 'More actions', 'Edit deal');
    const dialog = page.getByRole('dialog', { name: 'Edit deal' });
    const price = dialog.getByLabel('Asking price');
    const long = `0.${'1'.repeat(150)}`;
    await price.fill(long);
    expect(await price.inputValue()).toBe(long.slice(0, 100));
    // As in a draft stored before the field had a maximum length.
    await price.evaluate((input) => input.removeAttribute('maxlength'));
    await price.fill(long);
    await dialog.getByLabel('Title').click();
    expect(await price.inputValue()).toBe(long);
    await button(dialog, 'Save').click();
    await dialog.getByText('Enter an amount with digits').waitFor();
    await price.fill('980,000');
    await button(dialog, 'Save').click();
    await dialog.waitFor({ state: 'detached' });
  });

  test('sees the dialog of one deal close on going back to another deal', async () => {
    const { page, visit } = await testPageAt('broker', `/deals/${web.scene.idle}`);
    await visit(`/deals/${web.scene.deal}`);
    await choose(page, 'More actions', 'Edit deal');
    const dialog = page.getByRole('dialog', { name: 'Edit deal' });
    await dialog.waitFor();
    await page.goBack();
    await page.locator('h1').getByText('Print shop').waitFor();
    await dialog.waitFor({ state: 'detached' });
    await choose(page, 'More actions', 'Edit deal');
    expect(await dialog.getByLabel('Title').inputValue()).toBe('Print shop');
    await button(dialog, 'Cancel').click();
  });

  test('sees an error in the question that caused it, and not in a question on another deal', async () => {
    const { page, visit } = await testPageAt('broker', `/deals/${web.scene.deal}`);
    await visit(`/deals/${web.scene.idle}`);
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    await page.route('**/moves', async (route) => {
      await held;
      await route.fulfill({ status: 409, json: { error: { code: 'conflict', message: 'Not at the moment.' } } });
    });
    const question = page.getByRole('alertdialog');
    await choose(page, 'More actions', 'Withdraw deal');
    await button(question, 'Withdraw deal').click();
    await page.keyboard.press('Escape');
    expect(await button(question, 'Cancel').isDisabled()).toBe(true);
    letGo();
    await question.getByText('Not at the moment.').waitFor();
    await page.goBack();
    await question.waitFor({ state: 'detached' });
    await button(page, /^Move to/).click();
    await question.waitFor();
    expect(await question.getByText('Not at the moment.').count()).toBe(0);
    await button(question, 'Cancel').click();
    await page.unroute('**/moves');
  });

  test('grants exclusivity to a buyer, changes its end and releases it', async () => {
    const page = await at('broker', `/deals/${web.scene.idle}/people`);
    await choose(page, 'Actions for new buyer', 'Grant exclusivity');
    await button(page.getByRole('dialog'), 'Grant exclusivity').click();
    const banner = page.getByRole('region', { name: 'Exclusivity' });
    await banner.getByText('new buyer holds exclusivity').waitFor();
    await page.locator('h1 + p').getByText('Exclusivity').waitFor();
    await button(banner, 'Change date').click();
    await page.getByLabel('Exclusive until').fill('2020-01-01T12:00');
    await button(page.getByRole('dialog'), 'Save').click();
    await page.getByText('must end in the future').waitFor();
    await page.getByLabel('Exclusive until').fill('2031-05-20T17:00');
    await button(page.getByRole('dialog'), 'Save').click();
    await banner.getByText('May 20, 2031').waitFor();
    const question = page.getByRole('alertdialog');
    await button(page, 'Move to Diligence').click();
    await question.getByText('From here on the deal cannot be listed again.').waitFor();
    await button(question, 'Cancel').click();
    await choose(page, 'Actions for new buyer', 'Remove from deal');
    await question.getByText('Their exclusivity stays until it ends or a broker releases it.').waitFor();
    await button(question, 'Cancel').click();
    await button(banner, 'Release').click();
    await question.getByText('The deal is listed again.').waitFor();
    await confirm(page, 'Release');
    await banner.waitFor({ state: 'detached' });
    await page.locator('h1 + p').getByText('Listed').waitFor();
    // The button is gone: the focus moves to the page's main element, not to the top of the document.
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main');
  });

  test('removes a buyer and invites them again', async () => {
    const removed = await at('other buyer', `/deals/${web.scene.idle}`);
    await removed.getByText('About the business').waitFor();
    const page = await at('broker', `/deals/${web.scene.idle}/people`);
    await choose(page, 'Actions for other buyer', 'Remove from deal');
    await confirm(page, 'Remove');
    const row = page.getByRole('main').getByRole('listitem').filter({ hasText: 'other buyer' });
    await row.getByText('Removed').waitFor();
    // A page that they left open closes once it becomes visible again, here a minute later by its clock.
    await removed.evaluate(
      '{ const now = Date.now.bind(Date); Date.now = () => now() + 60_000; dispatchEvent(new Event("visibilitychange")); }',
    );
    await removed.getByRole('heading', { level: 1, name: 'You cannot open this' }).waitFor();
    await choose(page, 'Actions for other buyer', 'Invite again');
    expect(await page.getByLabel('Invitation link').inputValue()).toContain('/accept-invitation#token=');
    await button(page, 'Done').click();
    await row.getByText('Invited').waitFor();

    const { page: invited, go } = await testPageOf('other buyer');
    // An open page gets no event about an invitation.
    await go('/');
    await invited.getByText('Scene Brokers invites you as a buyer').waitFor();
    await expectAccessible(invited);
    await button(invited, /^Accept the invitation to /).waitFor();
    await button(invited, /^Decline the invitation to /).click();
    await confirm(invited, 'Decline');
    await invited.getByText('Scene Brokers invites you').waitFor({ state: 'detached' });
    await row.getByText('Removed').waitFor();
  });

  test('revokes an NDA, which closes the sections it opened', async () => {
    const page = await at('broker', `/deals/${web.scene.deal}/nda`);
    await button(page, /^EB exclusive buyer|exclusive buyer/)
      .first()
      .click();
    const drawer = page.getByRole('dialog', { name: 'NDA with exclusive buyer' });
    await drawer.getByText('Keep it to yourself.').waitFor();
    await expectAccessible(page);
    await button(drawer, 'Revoke NDA').click();
    await confirm(page, 'Revoke NDA');
    await drawer.getByText('Revoked').first().waitFor();
    const buyer = await at('exclusive buyer', `/deals/${web.scene.deal}/nda`);
    await buyer.getByText('Your NDA has ended.').waitFor();
    await expect.poll(() => tabsOf(buyer)).not.toContain('QoE');
  });

  test('changes the status of closing conditions by keyboard, and undoes a step', async () => {
    const page = await at('broker', `/deals/${web.scene.deal}/closing`);
    const status = button(page, 'Status of Lease assigned');
    // A pointer resting where the menu opens would take the focus.
    await page.mouse.move(0, 0);
    await status.focus();
    // Arrow keys move through the menu; nothing is changed until an item is chosen.
    const changes: string[] = [];
    page.on('request', (request) => void (request.method() !== 'GET' && changes.push(request.url())));
    await page.keyboard.press('ArrowDown');
    // The menu moves the focus shortly after the key press, so each step is waited for.
    const focused = (name: string) => page.getByRole('menuitemradio', { name }).and(page.locator(':focus')).waitFor();
    await focused('Open');
    await page.keyboard.press('ArrowDown');
    await focused('In progress');
    await page.keyboard.press('ArrowDown');
    await focused('Satisfied');
    await expectAccessible(page);
    expect([await status.textContent(), changes]).toEqual(['Open', []]);
    await page.keyboard.press('Enter');
    await page.getByText('1 of 1 satisfied or waived').waitFor();
    await button(page, 'Undo').click();
    await page.getByText('0 of 1 satisfied or waived').waitFor();
    await expect.poll(() => status.textContent()).toBe('Open');
    // A viewer could be made the owner in an earlier release, and stays the owner.
    await web.service.sql(`update closing_conditions set owner_user_id = $1 where name = 'Lease assigned'`, [
      web.scene.people['viewer'],
    ]);
    await page.reload();
    await choose(page, 'Actions for Lease assigned', 'Edit');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Owner').filter({ hasText: 'viewer' }).waitFor();
    await dialog.getByLabel('Deadline').fill('2020-01-31');
    await button(dialog, 'Save').click();
    await page.getByText('Overdue', { exact: true }).waitFor();
    await page.getByText('Was due Jan 31, 2020').waitFor();
    await expectAccessible(page);
    await choose(page, 'Actions for Lease assigned', 'Remove');
    await confirm(page, 'Remove');
    await page.getByText('No closing conditions yet').waitFor();
  });

  test('turns assistants back on for everybody, after which a seller can allow their own', async () => {
    const page = await at('broker', `/deals/${web.scene.deal}`);
    const seller = await at('seller', `/deals/${web.scene.deal}`);
    const own = seller.getByRole('switch', { name: 'Let my assistants write here' });
    await seller.getByText('Turned off for everyone by broker.').waitFor();
    expect(await own.isDisabled()).toBe(true);
    await page.getByRole('switch', { name: 'Turned off for everyone' }).click();
    await seller.getByText('Reading needs no separate permission.').waitFor();
    await own.click();
    await expect
      .poll(() => web.service.sql('select from deal_opt_ins where user_id = $1', [web.scene.people['seller']]))
      .toHaveLength(1);
    await seller.getByLabel('Until').fill('2031-05-20T17:00');
    await seller.getByLabel('Until').press('ArrowUp');
    await seller.getByLabel('Until').fill('2031-05-20T17:00');
    const optIn = async () =>
      (
        await web.service.sql('select expires_at from deal_opt_ins where user_id = $1', [web.scene.people['seller']])
      )[0];
    // Typing changes nothing; Enter saves.
    expect(await optIn()).toMatchObject({ expires_at: null });
    await seller.getByLabel('Until').press('Enter');
    await expect.poll(optIn).toMatchObject({ expires_at: new Date('2031-05-20T17:00') });
    await seller.getByRole('button', { name: 'Save Until' }).waitFor({ state: 'detached' });
    await own.click();
    await expect.poll(optIn).toBeUndefined();
    expect(await seller.getByRole('switch', { name: 'Turned off for everyone' }).count()).toBe(0);
  });
});

/** Adds offers of three buyers to the idle deal, one of whom has since left. */
async function makeOffers(): Promise<void> {
  const { idle } = web.scene;
  await web.service.sql(
    `with third as (insert into users (email, name) values ('third@example.test', 'third buyer') on conflict do nothing returning id)
     insert into participants (deal_id, user_id, role, status) select $1, id, 'buyer', 'active' from third`,
    [idle],
  );
  const offers = {
    'new buyer': ['900000', '2020-01-31T12:00:00Z'],
    'third buyer': ['850000', '2099-01-31T12:00:00Z'],
    'other buyer': ['950000', null],
  };
  for (const [buyer, [purchase_price, expires_at]] of Object.entries(offers))
    await web.service.sql(
      `insert into offers (deal_id, participant_id, buyer_user_id, revision_number, is_current, payload)
       select p.deal_id, p.id, p.user_id, 1, true, $3 from participants p join users u on u.id = p.user_id
       where p.deal_id = $1 and u.name = $2 on conflict do nothing`,
      [idle, buyer, { currency: 'USD', purchase_price, cash_at_close: purchase_price, expires_at }],
    );
  await web.service.sql(`update participants set status = 'removed' where deal_id = $1 and user_id = $2`, [
    idle,
    web.scene.people['other buyer'],
  ]);
}

test('offers are stacked on a phone, and show whether they have expired', async () => {
  const { idle } = web.scene;
  await makeOffers();
  const page = await at('broker', `/deals/${idle}/offers`, 390);
  const offer = (buyer: string) => page.getByRole('article', { name: `Offer from ${buyer}` });
  await offer('new buyer').getByText('Highest').waitFor();
  await offer('new buyer').getByText('Expired Jan 31, 2020').waitFor();
  await offer('third buyer').getByText('Jan 31, 2099').waitFor();
  expect(await page.getByText('Expired').count()).toBe(1);
  // Nobody can accept the offer of a buyer who has left.
  await offer('other buyer').getByText('Buyer left the deal').waitFor();
  expect(await button(offer('other buyer'), 'Accept').count()).toBe(0);
  expect(await page.getByText('Highest').count()).toBe(1);
  expect(await button(offer('new buyer'), 'Accept').isDisabled()).toBe(true);
  await offer('new buyer').getByText('Ask the buyer to submit it again.').waitFor();
  expect(await button(page, 'Accept the offer from third buyer').isEnabled()).toBe(true);
  const sideways = await page
    .getByRole('list')
    .filter({ has: page.getByRole('article') })
    .evaluateAll((lists) => lists.map((list) => list.scrollWidth - list.clientWidth));
  expect(sideways).toEqual([0]);
  await expectAccessible(page);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page
    .getByRole('row', { name: /^Valid until/ })
    .getByText('Expired Jan 31, 2020')
    .waitFor();
});

test('a broker declines an offer on its card; those of the others are not accepted once the deal has closed', async () => {
  const { service, scene } = web;
  const { deal } = await withBuyer(service, scene, 'Orchard press');
  const path = `/deals/${deal}/offers`;
  for (const name of ['other buyer', 'exclusive buyer'])
    await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, 'buyer', 'active')`, [
      deal,
      scene.people[name],
    ]);
  const made: Record<string, string> = {};
  for (const name of ['other buyer', 'exclusive buyer', 'new buyer']) {
    const { body } = await (await web.as(name)).ask(path, { payload: { currency: 'USD', purchase_price: '100' } });
    made[name] = body.id;
  }
  const page = await at('broker', path, 390);
  const offer = page.getByRole('article', { name: 'Offer from other buyer' });
  await button(offer, 'Decline').click();
  await confirm(page, 'Decline offer');
  await offer.getByText('Declined', { exact: true }).waitFor();
  expect(await button(offer, 'Decline').count()).toBe(0);
  expect(await button(page, 'Decline').count()).toBe(2);

  const broker = await web.as('broker');
  const expires_at = service.clock.inDays(30);
  expect((await broker.ask(`/offers/${made['new buyer']}/accept`, { expires_at })).status).toBe(200);
  for (const to of ['diligence', 'closing', 'closed'])
    expect((await broker.ask(`/deals/${deal}/moves`, { to, confirm: true })).status).toBe(200);
  const lost = await at('exclusive buyer', path);
  await lost.getByText('Not accepted', { exact: true }).waitFor();
  await page
    .getByRole('article', { name: 'Offer from exclusive buyer' })
    .getByText('Not accepted', { exact: true })
    .waitFor();
  expect(await page.getByText('Not accepted', { exact: true }).count()).toBe(1);
  expect(await button(page, 'Decline').count()).toBe(0);
});

test('the home page leads the seller to the offers, where they can write to the broker', async () => {
  await makeOffers();
  const page = await at('seller', '/');
  await page
    .getByRole('listitem')
    .filter({ hasText: 'Print shop' })
    .getByRole('link', { name: /offers? to consider/ })
    .click();
  await page.waitForURL(`**/deals/${web.scene.idle}/offers`);
  await page.getByText('Which offer do you want?').waitFor();
  const write = page.getByRole('link', { name: 'write to broker' });
  expect(await write.getAttribute('href')).toMatch(/^mailto:broker%40example\.test\?subject=/);
  expect(await button(page, /^Accept/).count()).toBe(0);
});

test('the home page shows the day on which a closing condition is or was due', async () => {
  const { idle, people } = web.scene;
  const tomorrow = web.service.clock.inDays(1).slice(0, 10);
  await web.service.sql(
    `insert into closing_conditions (deal_id, name, deadline, owner_user_id) values ($1, 'Stock counted', $2, $3)`,
    [idle, tomorrow, people['broker']],
  );
  const { page, go } = await testPageOf('broker');
  await go('/');
  const waits = page.getByRole('link', { name: /closing condition due/ }).filter({ hasText: 'Print shop' });
  const said = async () => (await waits.innerText()).replace(/\s+/g, ' ');
  const day = (on: string) =>
    new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(on));
  await waits.waitFor();
  expect(await said()).toContain(` due ${day(tomorrow)}`);
  await web.service.sql(`update closing_conditions set deadline = '2020-01-31' where deal_id = $1`, [idle]);
  await go('/');
  await expect.poll(said).toContain(' was due Jan 31, 2020');
  await web.service.sql('delete from closing_conditions where deal_id = $1', [idle]);
});

describe('the activity of a deal', () => {
  test('adds new records at the top without reloading older pages', async () => {
    const { deal, brokerage, people } = web.scene;
    await web.service.sql(
      `insert into audit_records (brokerage_id, deal_id, user_id, action, outcome, at)
       select $1, $2, $3, 'nda.send', 'done', app.now() - make_interval(days => n) from generate_series(1, 120) n`,
      [brokerage, deal, people['broker']],
    );
    const { page, go } = await testPageOf('broker');
    await go(`/deals/${deal}/activity`);
    const sent = page.getByText('sent an NDA');
    await expect
      .poll(async () => {
        await page.mouse.wheel(0, 10_000);
        return sent.count();
      })
      .toBe(120);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const question = { category: 'legal', question_text: 'Is it news?' };
    expect((await (await web.as('other buyer')).ask(`/deals/${deal}/questions`, question)).status).toBe(201);
    await page.getByText('asked a question').waitFor();
    expect(await sent.count()).toBe(120);
    expect(asked.filter((url) => url.includes('/activity?cursor='))).toEqual([]);
  });

  test('is on the overview also where it is further back than one page reads', async () => {
    const { service, scene } = web;
    const { deal } = await withBuyer(service, scene, 'Much that is hidden');
    for (const [confidentiality, hours, count] of [
      ['public', 5, 1],
      ['nda_gated', 3, 2100],
    ] as const)
      await service.sql(
        `with document as (
           insert into documents (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key, uploaded_by)
           values ($2, $4::text || '.pdf', 'legal', $4, 1, 'application/pdf', 'further back ' || $4, $3) returning id)
         insert into audit_records (brokerage_id, deal_id, user_id, action, subject_id, outcome, noted, at)
         select $1, $2, $3, 'document.upload', document.id, 'done', true, app.now() - make_interval(hours => $5)
         from document, generate_series(1, $6::int)`,
        [scene.brokerage, deal, scene.people['broker'], confidentiality, hours, count],
      );
    const page = await at('new buyer', `/deals/${deal}`);
    await page.getByText('uploaded public.pdf').waitFor();
  });
});

describe('the list of deals', () => {
  test('keeps search and sorting in its URL, is filtered, and opens a deal by keyboard', async () => {
    const page = await at('admin', '/deals');
    const titles = () => page.getByRole('row').locator('a').allInnerTexts();
    await page.getByRole('searchbox', { name: 'Search deals' }).fill('print');
    await expect.poll(async () => (await titles()).length).toBe(1);
    expect(new URL(page.url()).searchParams.get('search')).toBe('print');
    await button(page, 'Clear search').click();
    await page.getByRole('searchbox', { name: 'Search deals' }).and(page.locator(':focus')).waitFor();
    await expect.poll(async () => (await titles()).length).toBeGreaterThan(4);
    await button(page, 'Stage').first().click();
    await page.getByRole('menuitemcheckbox', { name: 'Draft' }).click();
    await page.keyboard.press('Escape');
    await expect
      .poll(async () => (await titles()).map((text) => text.split('\n')[0]).toSorted())
      .toEqual(['Harbour draft', "The colleague's draft"]);
    await page.goto(`${web.service.origin}/deals?sort=title`);
    await expect.poll(async () => (await titles())[0]).toContain('Corner bakery');
    await page.getByRole('columnheader', { name: 'Deal' }).getByRole('button').click();
    await expect.poll(async () => (await titles())[0]).toContain("The colleague's draft");
    const row = page.getByRole('row').filter({ hasText: 'Print shop' });
    await row.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Print shop' }).waitFor();
  });

  test('is shown again, without the dialog, on going back from a deal just created', async () => {
    const page = await at('broker', '/deals');
    await button(page, 'New deal').click();
    await page.getByLabel('Title').fill('Marine repair yard');
    await button(page, 'Open deal').click();
    await page.getByRole('heading', { level: 1, name: 'Marine repair yard' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Deals' }).waitFor();
    expect(new URL(page.url()).search).toBe('');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });
});

test('accepted terms stay as accepted until the broker decides on a proposed change, on everybody’s page', async () => {
  const { service, scene } = web;
  const [{ id: deal }] = (await service.sql(
    `insert into deals (organization_id, title, state) values ($1, 'Marble works', 'under_offer') returning id`,
    [scene.brokerage],
  )) as [{ id: string }];
  for (const [person, role] of [
    ['broker', 'broker'],
    ['seller', 'seller'],
    ['new buyer', 'buyer'],
  ] as const)
    await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, $3, 'active')`, [
      deal,
      scene.people[person],
      role,
    ]);
  const terms = { currency: 'USD', purchase_price: '4725000', cash_at_close: '4000000', seller_note: '725000' };
  const path = `/deals/${deal}/offers`;
  const [broker, buyer] = await Promise.all(['broker', 'new buyer'].map(web.as));
  const { body: offer } = await buyer!.ask(path, { payload: { ...terms, expires_at: service.clock.inDays(60) } });
  const until = service.clock.inDays(30);
  expect((await broker!.ask(`/offers/${offer.id}/accept`, { expires_at: until })).status).toBe(200);

  const theirs = await at('new buyer', path);
  await button(theirs, 'Propose a change').click();
  const dialog = theirs.getByRole('dialog', { name: 'Propose a change' });
  await dialog.getByText('Your accepted terms stay as accepted.').waitFor();
  await button(dialog, 'Propose change').click();
  await dialog.getByText('You have not changed anything yet').waitFor();
  await dialog.getByLabel('Price', { exact: true }).fill('3000000');
  await dialog.getByLabel('Target closing').fill('2020-02-01');
  await button(dialog, 'Propose change').click();
  await dialog.getByText('Choose a day that is still to come').waitFor();
  await dialog.getByLabel('Target closing').fill('');
  await button(dialog, 'Propose change').click();
  await dialog.waitFor({ state: 'detached' });

  const { page: brokers, visit } = await testPageAt('broker', path);
  const sellers = await at('seller', path, 390);
  for (const [page, words] of [
    [theirs, 'It is waiting for the broker'],
    [sellers, 'It is waiting for the broker'],
    [brokers, 'Until you decide, the accepted terms stand.'],
  ] as const) {
    await page.getByRole('heading', { name: 'Accepted terms' }).waitFor();
    const change = page.getByRole('region', { name: 'Proposed change' });
    await change.getByText(words).waitFor();
    expect(await change.getByRole('row', { name: 'Price' }).innerText()).toMatch(/\$4,725,000\s+\$3,000,000/);
    await expectAccessible(page);
  }
  expect(await button(sellers, 'Accept change').count()).toBe(0);
  await visit('/');
  await brokers.getByRole('link', { name: /A change to the accepted terms to decide on/ }).waitFor();
  await visit(path);
  await button(brokers, 'Decline').click();
  await confirm(brokers, 'Decline change');
  for (const page of [brokers, theirs, sellers]) await page.getByText(/proposed in revision 2 was declined/).waitFor();
  // Terms that were declined may be proposed again unchanged.
  await button(theirs, 'Propose a change').click();
  await button(dialog, 'Propose change').click();
  await dialog.waitFor({ state: 'detached' });
  // The form does not take over a time that has passed by now; today has not passed. It keeps a number that has no
  // field in the form, with all of its digits.
  service.clock.advance(1000);
  const today = service.clock.inDays(0).slice(0, 10);
  await service.sql(
    `update offers set payload = payload ||
       jsonb_build_object('expires_at', '2020-01-01T12:00:00Z', 'target_close_date', $2::text, 'holdback', 12345678901234567890.50)
     where deal_id = $1`,
    [deal, today],
  );
  await theirs.reload();
  await theirs.getByText('holdback: 12345678901234567890.50').first().waitFor();
  await button(theirs, 'Propose a change').click();
  expect(await dialog.getByLabel('Valid until').inputValue()).toBe('');
  expect(await dialog.getByLabel('Target closing').inputValue()).toBe(today);
  await dialog.getByLabel('Price', { exact: true }).fill('3500000');
  await button(dialog, 'Propose change').click();
  await dialog.waitFor({ state: 'detached' });
  const holdbacks = `select payload -> 'holdback' #>> '{}' as said, jsonb_typeof(payload -> 'holdback') as kind from offers where deal_id = $1`;
  expect(new Set((await service.sql(holdbacks, [deal])).map(({ said, kind }) => `${kind} ${said}`))).toEqual(
    new Set(['number 12345678901234567890.50']),
  );
  // Another currency or a time an hour later is a change; trailing zeros are not.
  const proposes = (changes: object) =>
    service.sql(
      `update offers p set payload = a.payload || $2 from offers a, offer_decisions d
       where p.deal_id = $1 and p.is_current and d.offer_id = a.id and d.decision = 'accepted' and a.deal_id = p.deal_id`,
      [deal, JSON.stringify(changes)],
    );
  const change = brokers.getByRole('region', { name: 'Proposed change' });
  await proposes({ purchase_price: '4725000.00' });
  await change.getByText('Same as the accepted terms.').waitFor();
  await proposes({ currency: 'MXN' });
  await expect
    .poll(() => change.getByRole('row', { name: 'Price' }).innerText())
    .toMatch(/\$4,725,000\s+MX\$4,725,000/);
  await proposes({ expires_at: '2020-01-01T13:00:00Z' });
  const times = change.getByRole('row', { name: 'Valid until' }).getByRole('cell');
  await expect.poll(async () => new Set(await times.allInnerTexts()).size).toBe(2);

  // The buyer's next exclusivity begins without accepted terms, so their current offer can be accepted.
  await service.sql(`update offers set payload = payload - 'expires_at' where deal_id = $1`, [deal]);
  const exclusivity = `/deals/${deal}/exclusivity`;
  expect((await broker!.ask(exclusivity, undefined, 'DELETE')).status).toBe(200);
  service.clock.advance(1000);
  const { participant_id } = offer;
  expect((await broker!.ask(exclusivity, { participant_id, expires_at: until })).status).toBe(200);
  await brokers.getByRole('heading', { name: 'No accepted terms' }).waitFor();
  await brokers.getByText(/No terms are agreed with .+ in the current exclusivity period\./).waitFor();
  await button(brokers, 'Decline').click();
  await confirm(brokers, 'Decline offer');
  await button(brokers, 'Decline').waitFor({ state: 'detached' });
  await button(brokers, 'Accept offer').click();
  await confirm(brokers, 'Accept offer');
  for (const page of [brokers, theirs, sellers]) await page.getByText(/revision 4, accepted/).waitFor();
});

test("a revision lets the buyer choose the currency if the last one differs from the deal's", async () => {
  const { service, scene } = web;
  const { deal } = await withBuyer(service, scene, 'Brick kiln');
  const [broker, buyer] = await Promise.all(['broker', 'new buyer'].map(web.as));
  const payload = { currency: 'USD', purchase_price: '900000' };
  expect((await buyer!.ask(`/deals/${deal}/offers`, { payload })).status).toBe(201);
  const page = await at('new buyer', `/deals/${deal}/offers`);
  const dialog = page.getByRole('dialog');
  const currency = dialog.getByLabel('Currency');
  await button(page, 'Revise offer').click();
  await dialog.getByLabel('Price', { exact: true }).waitFor();
  expect(await currency.count()).toBe(0);
  await button(dialog, 'Cancel').click();
  expect((await broker!.ask(`/deals/${deal}`, { currency: 'EUR' }, 'PATCH')).status).toBe(200);
  await page.reload();
  await button(page, 'Revise offer').click();
  await dialog.getByText('The deal is in EUR, your last revision in USD.').waitFor();
  expect(await currency.locator('option').allInnerTexts()).toEqual(['EUR – Euro', 'USD – US Dollar']);
  expect(await currency.inputValue()).toBe('USD');
  await expectAccessible(page);
  await currency.selectOption('EUR');
  await button(dialog, 'Submit revision').click();
  await dialog.waitFor({ state: 'detached' });
  const { items } = (await buyer!.ask(`/deals/${deal}/offers`)).body;
  expect(items).toMatchObject([{ revision_number: 2, payload: { currency: 'EUR', purchase_price: '900000' } }]);
});

test('an exclusivity that lapses in diligence is shown as ended, and can be granted again without a move', async () => {
  const { service, scene } = web;
  const { deal } = scene;
  await service.sql(
    `update exclusivities set granted_at = '2026-01-05T12:00:00Z', expires_at = '2026-01-31T12:00:00Z'
     where deal_id = $1 and ended_at is null`,
    [deal],
  );
  const ended = (page: Page, whose: string, whom: string) =>
    page
      .getByRole('region', { name: 'Exclusivity' })
      .getByText(
        new RegExp(
          `^${whose} ended Jan 31, 2026, .+\\. Documents for the exclusive buyer are closed to ${whom} until the date is changed\\.$`,
        ),
      );
  await ended(await at('exclusive buyer', `/deals/${deal}`), 'Your exclusivity', 'you').waitFor();
  const page = await at('broker', `/deals/${deal}/people`);
  await ended(page, 'The exclusivity of exclusive buyer', 'them').waitFor();
  await page.getByText('Selected buyer', { exact: true }).waitFor();
  await expectAccessible(page);
  const banner = page.getByRole('region', { name: 'Exclusivity' });
  await button(banner, 'Change date').click();
  await page.getByLabel('Exclusive until').fill('2031-05-20T17:00');
  await button(page.getByRole('dialog'), 'Save').click();
  await banner.getByText('exclusive buyer holds exclusivity').waitFor();
  await button(banner, 'Release').click();
  await page.getByRole('alertdialog').getByText('The deal stays in diligence and cannot be listed again.').waitFor();
  await confirm(page, 'Release');
  await banner.waitFor({ state: 'detached' });
  await choose(page, /^Actions for exclusive buyer$/, 'Grant exclusivity');
  const grant = page.getByRole('dialog');
  await grant.getByText('The deal stays in diligence.').waitFor();
  await button(grant, 'Grant exclusivity').click();
  await banner.getByText('exclusive buyer holds exclusivity').waitFor();
});

test('an NDA is proposed to end on the same day in two years, even across a 29 February', async () => {
  const { service, scene } = web;
  const { deal } = await withBuyer(service, scene, 'Tile works');
  const { cookie } = await web.as('broker');
  // This page has a fixed clock, so no other test uses its browser.
  const zone = { locale: 'en-US', timezoneId: 'America/New_York' };
  const { page, go, close } = await openTestPage(browser, service.origin, { cookie, spent: true, ...zone });
  await page.clock.setFixedTime('2026-11-29T12:00:00Z');
  await go(`/deals/${deal}/nda`);
  await button(page, 'Send NDA').click();
  const ends = page.getByRole('dialog').getByLabel('Ends');
  expect(await ends.inputValue()).toBe('2028-11-29T17:00');
  // The clocks skip this hour; on the way to 12:30 it is typed all the same.
  await ends.fill('2031-03-09T02:30');
  expect(await ends.inputValue()).toBe('2031-03-09T02:30');
  await ends.blur();
  await expect.poll(() => ends.inputValue()).toBe('2031-03-09T03:30');
  await close();
});

test('an NDA that ends is followed by the next one, and stays in force until that is signed', async () => {
  const { service, scene } = web;
  const { deal, buyer } = await withBuyer(service, scene, 'Slate works');
  await service.sql(
    `insert into ndas (deal_id, participant_id, status, terms, signed_at, signed_name, expires_at)
     values ($1, $2, 'active', 'Keep it to yourself.', app.now(), 'New Buyer', app.now() + interval '9 days')`,
    [deal, buyer],
  );
  const broker = await at('broker', `/deals/${deal}/nda`);
  await button(broker, /new buyer/).click();
  await broker.getByText('stays in force until new buyer has signed the next').waitFor();
  await expectAccessible(broker);
  await button(broker, 'Send the next NDA').click();
  const dialog = broker.getByRole('dialog', { name: 'Send an NDA' });
  await dialog.getByText('Until they do, the NDA in force stands').waitFor();
  await button(dialog, 'Send NDA').click();
  await broker.getByText('The NDA is sent', { exact: true }).waitFor();
  await button(broker, /new buyer.*Signed/).click();
  await broker.getByText('The next NDA has been sent.').waitFor();
  expect(await button(broker, 'Send the next NDA').count()).toBe(0);

  const page = await at('new buyer', `/deals/${deal}/nda`);
  await page.getByText('stays in force until you sign this one').waitFor();
  await page.getByRole('heading', { name: 'In force and earlier' }).waitFor();
  await page.getByRole('checkbox').check();
  await page.getByLabel('Your full name').fill('New Buyer');
  await button(page, 'Sign NDA').click();
  await page.getByRole('button', { name: /new buyer Replaced/ }).waitFor();
});

test('an NDA shows the hour at which it ends, before and after signing', async () => {
  const { service, scene } = web;
  const { deal, buyer } = await withBuyer(service, scene, 'Glass works');
  const broker = await web.as('broker');
  const nda = { participant_id: buyer, terms: 'Keep it to yourself.', expires_at: '2031-05-21T01:00:00Z' };
  const sent = await broker.ask(`/deals/${deal}/ndas`, nda);
  expect(sent.status).toBe(201);
  const zone = { locale: 'en-US', timezoneId: 'America/New_York' };
  const signer = await openTestPage(browser, service.origin, { cookie: (await web.as('new buyer')).cookie, ...zone });
  await signer.go(`/deals/${deal}/nda`);
  await signer.page.getByText(/Sent by broker .+, ends May 20, 2031, 9:00.PM/).waitFor();
  await signer.page.getByLabel('Your full name').fill('New Buyer');
  await button(signer.page, 'Sign NDA').click();
  const agreed = signer.page.getByRole('checkbox', {
    description: 'Read the terms and check the box to agree to them.',
  });
  await agreed.and(signer.page.locator(':focus')).click();
  await button(signer.page, 'Sign NDA').click();
  await signer.page.getByText('Signed as').waitFor();
  await signer.close();
  const reader = await openTestPage(browser, service.origin, { cookie: broker.cookie, ...zone });
  await reader.go(`/deals/${deal}/nda`);
  await reader.page.getByText(/as New Buyer, ends May 20, 2031, 9:00.PM/).waitFor();
  await reader.close();
});

test('terms in Hebrew are set from right to left, and only paragraphs in capitals as headings', async () => {
  const { deal, buyer } = await withBuyer(web.service, web.scene, 'Terms of an NDA');
  const broker = await web.as('broker');
  const terms = 'הסכם סודיות!\n\nCONFIDENTIALITY AGREEMENT (2)\n\nKeep it to yourself!\n\n保密协议 (NDA)';
  expect((await broker.ask(`/deals/${deal}/ndas`, { participant_id: buyer, terms })).status).toBe(201);
  const page = await at('new buyer', `/deals/${deal}/nda`);
  const paragraphs = page.locator('p').filter({ hasText: /סודיות|CONFID|yourself|保密/ });
  await paragraphs.nth(3).waitFor();
  // Whether the first character of a paragraph is to the left of its last one, and the weight of the font.
  const looks = await paragraphs.evaluateAll((all) =>
    all.map((one) => {
      const text = one.firstChild!;
      const leftOf = (place: number) => {
        const range = one.ownerDocument.createRange();
        range.setStart(text, place);
        range.setEnd(text, place + 1);
        return range.getBoundingClientRect().left;
      };
      const last = text.textContent!.length - 1;
      return [
        leftOf(0) < leftOf(last) ? 'from left' : 'from right',
        one.ownerDocument.defaultView!.getComputedStyle(one).fontWeight,
      ];
    }),
  );
  expect(looks).toEqual([
    ['from right', '400'],
    ['from left', '600'],
    ['from left', '400'],
    ['from left', '400'],
  ]);
});

test('initials consist of whole characters', async () => {
  const { service, scene } = web;
  const { deal } = await withBuyer(service, scene, 'Fox farm');
  const rename = (name: string) =>
    service.sql('update users set name = $2 where id = $1', [scene.people['new buyer'], name]);
  await rename('🦊 𝒲est');
  const page = await at('broker', `/deals/${deal}/nda`);
  const initials = page.getByRole('listitem').filter({ hasText: '𝒲est' }).locator('[aria-hidden]').first();
  expect(await initials.innerText()).toBe('🦊𝒲');
  await rename('new buyer');
});

test('closing lists what is missing, and a closed deal offers no more actions', async () => {
  const { service, scene } = web;
  const [{ id: deal }] = (await service.sql(
    `insert into deals (organization_id, title, state) values ($1, 'Rope walk', 'closing') returning id`,
    [scene.brokerage],
  )) as [{ id: string }];
  for (const person of ['broker', 'seller'])
    await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, $3, 'active')`, [
      deal,
      scene.people[person],
      person,
    ]);
  await service.sql(`insert into closing_conditions (deal_id, name) values ($1, 'Lease assigned')`, [deal]);
  const { page, visit } = await testPageAt('broker', `/deals/${deal}/closing`);
  await button(page, 'Move to Closed').click();
  const dialog = page.getByRole('alertdialog');
  await dialog.getByText('A closing condition is not met: Lease assigned.').waitFor();
  expect(await dialog.getByRole('listitem').count()).toBe(4);
  await expectAccessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await button(dialog, 'Close anyway').click();
  await page.getByText('The deal has moved to Closed').first().waitFor();
  await page.setViewportSize({ width: 1280, height: 900 });
  for (const [path, gone] of [
    ['/documents', ['Upload']],
    ['/people', ['Invite']],
    ['', ['Edit deal', 'More actions']],
    ['/closing', ['Add condition']],
  ] as const) {
    await visit(`/deals/${deal}${path}`);
    for (const name of gone)
      await expect.poll(() => button(page, name).count(), { message: `${name} at ${path}` }).toBe(0);
    await expect.poll(() => page.getByRole('main').getByRole('combobox').count(), { message: path }).toBe(0);
  }
});

test('a move stays shown when a request from before it is answered late', async () => {
  const { service, scene } = web;
  const { deal } = await withBuyer(service, scene, 'Framing shop', 'draft');
  const page = await at('broker', `/deals/${deal}`);
  const asked = Promise.withResolvers<void>();
  const moved = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  let requests = 0;
  await page.route(`**/api/web/deals/${deal}`, async (route) => {
    requests += 1;
    // The view shown in the end must not come from a later response of the server.
    if (requests > 1) return;
    const response = await route.fetch();
    asked.resolve();
    await moved.promise;
    // The page may have cancelled it.
    await route.fulfill({ response }).catch(() => {});
    answered.resolve();
  });
  await service.sql(`update deals set location = 'At the harbour' where id = $1`, [deal]);
  await asked.promise;
  await button(page, 'Move to Listed').click();
  await confirm(page, 'Move to Listed');
  await page.getByText('The deal has moved to Listed').first().waitFor();
  moved.resolve();
  await answered.promise;
  await expect.poll(() => requests).toBeGreaterThan(1);
  expect(await button(page, 'Move to Listed').count()).toBe(0);
  await page.unrouteAll();
});

test('a status change in progress survives a refetch of the conditions, and is rolled back alone if it fails', async () => {
  const { service, scene } = web;
  const { deal } = await withBuyer(service, scene, 'Sawmill');
  await service.sql(`insert into closing_conditions (deal_id, name) values ($1, 'Lease assigned')`, [deal]);
  const page = await at('broker', `/deals/${deal}/closing`);
  const status = button(page, 'Status of Lease assigned');
  const { promise: refused, resolve: refuse } = Promise.withResolvers<void>();
  await page.route('**/api/web/conditions/*', async (route) => {
    await refused;
    await route.fulfill({ status: 409, json: { error: { code: 'conflict', message: 'It was removed.' } } });
  });
  await status.click();
  await page.getByRole('menuitemradio', { name: 'In progress' }).click();
  await expect.poll(() => status.textContent()).toBe('In progress');
  const colleague = await web.as('broker');
  expect((await colleague.ask(`/deals/${deal}/conditions`, { name: 'Stock counted' })).status).toBe(201);
  const added = page.getByText('Stock counted');
  await added.first().waitFor();
  expect(await status.textContent()).toBe('In progress');
  // The value shown next must not come from a new response of the server.
  await page.route('**/api/web/deals/*/conditions', () => {});
  refuse();
  await expect.poll(() => status.textContent()).toBe('Open');
  expect(await added.count()).toBeGreaterThan(0);
  await page.unrouteAll();
  await page.reload();
  await status.waitFor();
});

test('the buyers of a draft deal see that offers can be made once it is listed', async () => {
  const { service, scene } = web;
  const { deal } = await withBuyer(service, scene, 'Bindery', 'draft');
  const buyer = await at('new buyer', `/deals/${deal}/offers`);
  await buyer.getByText('Offers can be made once a broker has listed the deal.').waitFor();
  expect(await button(buyer, 'Submit offer').count()).toBe(0);
  const broker = await at('broker', `/deals/${deal}/offers`);
  await broker.getByText('Buyers’ offers show here side by side as they come in, with every revision.').waitFor();
  expect((await (await web.as('broker')).ask(`/deals/${deal}/moves`, { to: 'listed' })).status).toBe(200);
  await button(buyer, 'Submit offer').waitFor();
  await buyer.getByText('State your price and terms.').waitFor();
});

test('a buyer under an NDA leaves a deal by themselves, and is told that the NDA goes on', async () => {
  const { service, scene } = web;
  const { deal, buyer } = await withBuyer(service, scene, 'Herring smokery');
  await service.sql(
    `insert into ndas (deal_id, participant_id, status, terms, signed_at, signed_name) values ($1, $2, 'active', 'T', app.now(), 'B')`,
    [deal, buyer],
  );
  const page = await at('new buyer', `/deals/${deal}/people`);
  await choose(page, /^Actions for new buyer$/, 'Leave the deal');
  const question = page.getByRole('alertdialog', { name: 'Leave this deal?' });
  await question.getByText('Your NDA goes on: you stay bound by its terms.').waitFor();
  await expectAccessible(page);
  await button(question, 'Leave').click();
  await page.waitForURL('**/deals');
  await expect.poll(() => page.getByText('Herring smokery').count()).toBe(0);
});

test('the only broker of a deal is warned before leaving, and sees the effects of a move and an invitation', async () => {
  const { service, scene } = web;
  const { deal } = await withBuyer(service, scene, 'Cider mill');
  const page = await at('broker', `/deals/${deal}/people`);
  const question = page.getByRole('alertdialog');
  const warning = question.getByText('You are the only broker on this deal.');
  await choose(page, /^Actions for broker$/, 'Leave the deal');
  await warning.waitFor();
  await expectAccessible(page);
  await button(question, 'Cancel').click();
  await choose(page, /^Actions for new buyer$/, 'Remove from deal');
  await question.waitFor();
  expect(await question.getByText('the only broker').count()).toBe(0);
  await button(question, 'Cancel').click();
  await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active')`, [
    deal,
    scene.people['colleague'],
  ]);
  await page.reload();
  await choose(page, /^Actions for broker$/, 'Leave the deal');
  await question.waitFor();
  expect(await warning.count()).toBe(0);
  await button(question, 'Cancel').click();
  await button(page, 'Move to Under offer').click();
  await question.getByText('To list it again, exclusivity has to be granted and released first.').waitFor();
  await button(question, 'Cancel').click();
  await button(page, 'Invite').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Role').selectOption('viewer');
  await dialog.getByText('Sees everyone on the deal, including every buyer').waitFor();
  await button(dialog, 'Cancel').click();
});
