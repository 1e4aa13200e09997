/**
 * Without a connection no change is sent, neither at once nor later: typed text stays, and a cancelled change is never
 * sent.
 */

import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { openBrowser, openTestPage, settled, type TestPage } from '../browser.ts';
import { signInAs } from './person.ts';
import { openScene, type WebScene } from './scene.ts';

let web: WebScene;
let browser: Browser;
const testPages: TestPage[] = [];

beforeAll(async () => {
  web = await openScene();
  await web.service.sql(
    `insert into ndas (deal_id, participant_id, status, terms, signed_at, signed_name)
     values ($1, $2, 'active', 'Keep it to yourself.', app.now(), 'new buyer')`,
    [web.scene.idle, web.scene.idleBuyer],
  );
  browser = await openBrowser();
});
afterEach(async () => {
  for (const { complaints } of testPages) expect(complaints).toEqual([]);
  await Promise.all(testPages.splice(0).map((testPage) => testPage.close()));
});
afterAll(async () => {
  await browser?.close();
  await web?.close();
});

/** Opens a page as a caller. */
async function at(caller: string, path: string): Promise<Page> {
  const { cookie } = await signInAs(web.service, web.scene.people[caller]!);
  const testPage = await openTestPage(browser, web.service.origin, { cookie });
  testPages.push(testPage);
  await testPage.go(path);
  return testPage.page;
}

/** Reconnects; returns the paths of the changes that the page sends from then on. */
async function reconnect(page: Page): Promise<readonly string[]> {
  const sent: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (request.method() !== 'GET' && !pathname.endsWith('/read')) sent.push(pathname);
  });
  await page.context().setOffline(false);
  await page.getByText('You are offline. What you see').waitFor({ state: 'detached' });
  // Requests that wait for a connection are sent as soon as there is one: before the response to this later request.
  await page.evaluate(() => fetch('/api/web/me').then((answer) => answer.text()));
  return sent;
}

const offers = (words: string) =>
  web.service.sql(`select from offers where payload ->> 'terms' = $1`, [words]).then((found) => found.length);
const questions = (words: string) =>
  web.service.sql('select from questions where question_text = $1', [words]).then((found) => found.length);

interface Form {
  readonly what: string;
  readonly path: string;
  readonly opens: string;
  readonly sends: string;
  readonly field: string;
  readonly kept: (words: string) => Promise<number>;
  readonly rest: (page: Page) => Promise<unknown>;
}

const forms: Form[] = [
  {
    what: 'an offer',
    path: '/offers',
    opens: 'Submit offer',
    sends: 'Submit offer',
    field: 'Terms',
    kept: offers,
    rest: (page) => page.getByRole('dialog').getByLabel('Price').fill('4100000'),
  },
  {
    what: 'a question',
    path: '/questions',
    opens: 'Ask a question',
    sends: 'Ask',
    field: 'Question',
    kept: questions,
    rest: (page) => page.getByRole('dialog').getByLabel('About').selectOption('tax'),
  },
];

describe.each(forms)('$what submitted offline', ({ path, opens, sends, field, kept, rest }) => {
  const write = async (page: Page, words: string) => {
    await page.getByRole('button', { name: opens }).first().click();
    await rest(page);
    await page.getByRole('dialog').getByLabel(field).fill(words);
  };

  test('is refused at once, and is not sent on reconnecting after being cancelled', async () => {
    const words = `Cancelled ${path}`;
    const page = await at('new buyer', `/deals/${web.scene.idle}${path}`);
    await write(page, words);
    await page.context().setOffline(true);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: sends, exact: true }).click();
    await dialog.getByText('You are offline, so nothing was sent.').waitFor();
    expect(await dialog.getByLabel(field).inputValue()).toBe(words);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Discard' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await reconnect(page)).toEqual([]);
    expect(await kept(words)).toBe(0);
  });

  test('is sent once when submitted again after reconnecting', async () => {
    const words = `Sent later ${path}`;
    const page = await at('new buyer', `/deals/${web.scene.idle}${path}`);
    await write(page, words);
    await page.context().setOffline(true);
    const dialog = page.getByRole('dialog');
    const send = dialog.getByRole('button', { name: sends, exact: true });
    await send.click();
    await dialog.getByText('You are offline, so nothing was sent.').waitFor();
    const sent = await reconnect(page);
    expect(sent).toEqual([]);
    await send.click();
    await dialog.waitFor({ state: 'detached' });
    expect(sent).toHaveLength(1);
    expect(await kept(words)).toBe(1);
  });
});

test('a condition set to satisfied offline reverts to its status with an error message', async () => {
  const page = await at('broker', `/deals/${web.scene.deal}/closing`);
  const status = page.getByRole('button', { name: 'Status of Lease assigned' });
  await status.click();
  await page.context().setOffline(true);
  await page.getByRole('menuitemradio', { name: 'Satisfied' }).click();
  const message = page.getByText('Nothing was changed: you are offline.').first();
  await message.waitFor();
  const notice = (await page.getByText('You are offline. What you see').boundingBox())!;
  const toast = (await message.boundingBox())!;
  expect(toast.y + toast.height).toBeLessThan(notice.y);
  await expect.poll(() => status.textContent()).toBe('Open');
  expect(await page.getByText('is satisfied').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
  expect(await reconnect(page)).toEqual([]);
});

test('a request sent before the connection broke is reported as possibly arrived', async () => {
  const words = 'Arrived without an answer';
  const page = await at('new buyer', `/deals/${web.scene.idle}/questions`);
  await page.getByRole('button', { name: 'Ask a question' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('About').selectOption('tax');
  await dialog.getByLabel('Question').fill(words);
  await page.route('**/api/web/deals/*/questions', async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    await route.fetch();
    await page.context().setOffline(true);
    await route.abort('internetdisconnected');
  });
  await dialog.getByRole('button', { name: 'Ask', exact: true }).click();
  await dialog.getByText('Your change may have been saved, so check before you send it again.').waitFor();
  expect(await dialog.getByLabel('Question').inputValue()).toBe(words);
  expect(await questions(words)).toBe(1);
  await page.context().setOffline(false);
});

describe('a part of the application that is not loaded yet', () => {
  const open = async (): Promise<Page> => {
    const { cookie } = await signInAs(web.service, web.scene.people['broker']!);
    const testPage = await openTestPage(browser, web.service.origin, { cookie, alone: true });
    testPages.push(testPage);
    await testPage.go('/deals');
    await testPage.page.evaluate(`document.body.dataset.same = 'yes'`);
    return testPage.page;
  };
  const isSame = (page: Page) => page.locator('body[data-same=yes]');

  test('shows an error offline without a reload, and loads after reconnecting', async () => {
    const page = await open();
    await page.context().setOffline(true);
    const contacts = page.getByRole('link', { name: 'Contacts', exact: true }).first();
    await contacts.hover();
    await contacts.click();
    await page.getByRole('alert').getByText('Dealkeep cannot be reached.').waitFor();
    await page.keyboard.press('Control+k');
    await isSame(page).waitFor();
    await page.context().setOffline(false);
    await page.getByRole('option', { name: 'Reload everything' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'Contacts', level: 1 }).waitFor();
    expect(await isSame(page).count()).toBe(1);
  });

  test('is loaded by a page reload on "Try again" if a new version has replaced it, not by pointing at a link', async () => {
    const page = await open();
    await page.route('**/assets/contacts-*', (route) => route.fulfill({ status: 404, body: '' }));
    let lookups = 0;
    let isReplaced = false;
    await page.route(`${web.service.origin}/`, async (route) => {
      lookups += 1;
      const response = await route.fetch();
      const body = await response.text();
      await route.fulfill({
        response,
        body: isReplaced ? body.replaceAll('/assets/index-', '/assets/index-of-the-next-') : body,
      });
    });
    const contacts = page.getByRole('link', { name: 'Contacts', exact: true }).first();
    const isMissing = page.waitForResponse((response) => response.url().includes('/assets/contacts-'));
    await contacts.hover();
    await isMissing;
    // By then a page that looks for a new version has asked for it.
    await page.evaluate(settled);
    expect(lookups).toBe(0);
    await contacts.click();
    await page.getByRole('alert').getByText('Part of this page did not load.').waitFor();
    expect(lookups).toBe(1);
    await isSame(page).waitFor();
    isReplaced = true;
    const loads = page.waitForEvent('load');
    await page.getByRole('button', { name: 'Try again' }).click();
    await loads;
  });
});

test('a response from a proxy shows an error, and the typed text stays', async () => {
  const page = await at('new buyer', `/deals/${web.scene.idle}/questions`);
  await page.getByRole('button', { name: 'Ask a question' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('About').selectOption('tax');
  await dialog.getByLabel('Question').fill('Answered by a proxy');
  await page.route('**/api/web/deals/*/questions', (route) =>
    route.request().method() === 'POST'
      ? route.fulfill({ contentType: 'text/html', body: '<title>Sign in to the network</title>' })
      : route.fallback(),
  );
  await dialog.getByRole('button', { name: 'Ask', exact: true }).click();
  await dialog.getByText('Check whether it was done before you try again.').waitFor();
  expect(await dialog.getByLabel('Question').inputValue()).toBe('Answered by a proxy');
});

test('a mutation made offline is attempted at once and never paused until reconnecting', async () => {
  // The client listens for user input on the window, which does not exist here.
  vi.stubGlobal('addEventListener', () => {});
  // Imported by URL: these modules are written for the browser, whose types tests do not have.
  const [{ queryClient }, { onlineManager }] = await Promise.all(
    [new URL('../../web/src/api/query-client.ts', import.meta.url).href, '@tanstack/react-query'].map(
      (address) => import(address),
    ),
  );
  onlineManager.setOnline(false);
  try {
    const tried: string[] = [];
    const change = queryClient.getMutationCache().build(queryClient, {
      mutationFn: (words: string) => {
        tried.push(words);
        return Promise.reject(new Error('no connection'));
      },
    });
    const paused = new Promise((_, fail) => {
      queryClient.getMutationCache().subscribe(() => change.state.isPaused && fail(new Error('it waits')));
    });
    await expect(Promise.race([change.execute('once'), paused])).rejects.toThrow('no connection');
    onlineManager.setOnline(true);
    await queryClient.resumePausedMutations();
    expect(tried).toEqual(['once']);
  } finally {
    vi.unstubAllGlobals();
    onlineManager.setOnline(true);
  }
});
