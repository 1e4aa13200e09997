/** The application's frame in a real browser: size, policy, accessibility, keyboard, long lists, live changes, sign-out. */

import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  escapeFrom,
  expectAccessible,
  isSeen,
  loaded,
  openBrowser,
  openTab,
  openTestPage,
  settled,
  violationsOn,
  type TestPage,
} from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { signInAs, type SignedIn } from './person.ts';

interface Demo {
  people: Record<'admin' | 'broker' | 'seller' | 'buyer' | 'outsider', { user_id: string }>;
  deals: { with_everything: string };
  brokerage_id: string;
}

let service: TestService;
let browser: Browser;
let demo: Demo;
const people = new Map<string, { readonly testPage: TestPage; readonly person: SignedIn }>();

beforeAll(async () => {
  service = await openService({ demo: true });
  demo = service.demo as unknown as Demo;
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

interface Visit {
  page: Page;
  person: SignedIn;
  /** Errors reported by the browser: script errors and violations of the content security policy. */
  complaints: readonly string[];
  /** Navigates within the application. */
  to: TestPage['visit'];
}

async function signIn(who: keyof Demo['people'], options?: Parameters<typeof openTestPage>[2]) {
  const person = await signInAs(service, demo.people[who].user_id);
  return { person, testPage: await openTestPage(browser, service.origin, { cookie: person.cookie, ...options }) };
}

/**
 * Opens the application as one of the demo's people, in their browser, which is shared: a new one would load it again.
 */
async function visit(who: keyof Demo['people'], path: string, viewport = { width: 1280, height: 800 }): Promise<Visit> {
  const known = people.get(who) ?? (await signIn(who));
  people.set(who, known);
  const { person, testPage } = known;
  const { page, complaints } = testPage;
  await page.setViewportSize(viewport);
  await page.mouse.move(0, 0);
  await testPage.visit(path);
  return { page, person, complaints, to: testPage.visit };
}

describe('the first page', () => {
  test.each(['/', '/deals'])('%s needs less than 200 kB of script', async (path) => {
    const { testPage } = await signIn('broker');
    const { page } = testPage;
    await testPage.go(path);
    await page.waitForLoadState('networkidle').catch(() => {});
    const sizes = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .filter((entry) => new URL(entry.name).pathname.endsWith('.js'))
        .map((entry) => (entry as unknown as { encodedBodySize: number }).encodedBodySize),
    );
    expect(sizes.length).toBeGreaterThan(1);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200_000);
    await testPage.close();
  });
});

describe('pages of the application frame', () => {
  const ways = [
    { name: 'desktop', own: { width: 1280, height: 800 } },
    { name: 'phone', own: { width: 390, height: 844 } },
  ];
  test.each(ways)('are accessible, cause no errors and do not scroll sideways ($name)', async ({ own }) => {
    const deal = `/deals/${demo.deals.with_everything}`;
    const { page, complaints, to } = await visit('broker', '/contacts', own);
    for (const path of ['/', '/deals', deal, `${deal}/people`, `${deal}/activity`, '/settings/profile', '/contacts']) {
      await to(path);
      await expectAccessible(page);
      expect(complaints).toEqual([]);
      // The narrowest phone, the narrowest window with a sidebar, and the test's own size.
      for (const { width, height } of [{ ...own, width: 320 }, { ...own, width: 1024 }, own]) {
        await page.setViewportSize({ width, height });
        const over = () => page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
        await expect.poll(over, { message: `${path} scrolls sideways at ${width}` }).toBe(0);
      }
    }
  });
});

describe('by keyboard', () => {
  test('the first Tab stop skips the navigation', async () => {
    const { page } = await visit('broker', '/deals');
    await page.reload();
    await loaded(page);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('location.hash')).toBe('#main');
  });

  test('a focused element on a phone is not hidden by the bars', async () => {
    const { page } = await visit('broker', `/deals/${demo.deals.with_everything}`, { width: 390, height: 600 });
    const hidden = await page.evaluate(`(() => {
      const stops = [...document.querySelectorAll('main a, main button')].filter((one) => one.offsetHeight > 0 && !one.closest('nav'));
      return stops.flatMap((one) =>
        ['start', 'end'].flatMap((block) => {
          document.activeElement.blur();
          // At the very edge, where the bars are.
          document.documentElement.style.scrollPadding = '0';
          one.scrollIntoView({ block });
          document.documentElement.style.scrollPadding = '';
          one.focus();
          return ${isSeen('one')} ? [] : [one.textContent + ' at the ' + block];
        }),
      );
    })()`);
    expect(hidden).toEqual([]);
  });

  test('the palette opens a deal, whose title is announced', async () => {
    const { page } = await visit('broker', '/');
    // As on a Russian keyboard.
    await page.evaluate(
      `dispatchEvent(new KeyboardEvent('keydown', { key: 'л', code: 'KeyK', ctrlKey: true, cancelable: true }))`,
    );
    await page.getByRole('dialog').getByRole('combobox').fill('hvac');
    await page.getByRole('option', { name: /HVAC/ }).and(page.locator('[aria-selected=true]')).waitFor();
    // The last entry leads to the list of deals, and is no result.
    await page.getByRole('option', { name: 'All contacts with' }).waitFor({ state: 'detached' });
    const found = (await page.getByRole('option').count()) - 1;
    await page
      .getByRole('status')
      .filter({ hasText: new RegExp(`^${found} results?$`) })
      .waitFor({ state: 'attached' });
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/deals/${demo.deals.with_everything}`);
    const title = 'Commercial HVAC contractor, central Ohio';
    await page.locator('h1', { hasText: title }).waitFor();
    await expect.poll(() => page.title()).toBe(`${title} · Dealkeep`);
    await page.getByRole('status').filter({ hasText: title }).waitFor({ state: 'attached' });
  });
});

describe('the palette', () => {
  test('finds and opens a contact, and offers no contacts without a brokerage', async () => {
    const { page } = await visit('broker', '/');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('sabletree');
    await page.getByRole('option', { name: /Anneliese Kraft/ }).click();
    const contact = page.getByRole('dialog', { name: 'Anneliese Kraft' });
    await contact.getByLabel('E-mail').waitFor();
    await escapeFrom(page, contact);
    await expect.poll(() => new URL(page.url()).search).toBe('');

    const { page: buyers } = await visit('buyer', '/');
    await buyers.keyboard.press('Control+k');
    await buyers.getByRole('option', { name: 'Sign out' }).waitFor();
    expect(await buyers.getByRole('option', { name: 'New contact' }).count()).toBe(0);
  });

  test('can be closed by a button, for screen readers on phones without Escape', async () => {
    const { page } = await visit('broker', '/');
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog');
    await palette.getByRole('combobox').and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Tab');
    await palette.getByRole('button', { name: 'Close' }).and(page.locator(':focus')).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await palette.waitFor({ state: 'detached' });
    expect(new URL(page.url()).pathname).toBe('/');
  });

  test('and menus close when Back leads to another page', async () => {
    const { page } = await visit('broker', '/');
    const links = page.getByRole('navigation', { name: 'Main' });
    await links.getByRole('link', { name: 'Deals' }).click();
    const deals = page.getByRole('heading', { level: 1, name: 'Deals' });
    await deals.waitFor();
    const layers = [
      { layer: page.getByRole('dialog'), open: () => page.keyboard.press('Control+k') },
      { layer: page.getByRole('menu'), open: () => page.getByRole('banner').getByRole('button').last().click() },
      { layer: page.getByRole('menu'), open: () => page.locator('main button[aria-haspopup=menu]').click() },
    ];
    for (const { layer, open } of layers) {
      await open();
      await layer.waitFor();
      await page.goBack();
      await deals.waitFor({ state: 'detached' });
      await layer.waitFor({ state: 'detached' });
      await page.goForward();
      await deals.waitFor();
      expect(await layer.count()).toBe(0);
    }
  });

  test('opens the dialogs for a new contact and for an import', async () => {
    const { page } = await visit('broker', '/');
    for (const deed of ['New contact', 'Import contacts']) {
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').getByRole('combobox').fill(deed);
      await page.getByRole('option', { name: deed, exact: true }).click();
      await page.getByRole('dialog', { name: deed }).waitFor();
      await escapeFrom(page, page.getByRole('dialog'));
    }
  });
});

describe('a search in the palette', () => {
  const selected = (page: Page) => page.locator('[role=option][aria-selected=true]');

  test('selects the best of what is found, whatever was selected before the answer', async () => {
    const [{ id = '' } = {}] = await service.sql<{ id: string }>(
      `with opened as (insert into deals (organization_id, title, created_by)
         values ($1, 'Outdoor signage maker', $2), ($1, 'Signage of the north', $2) returning id, title),
       part as (insert into participants (deal_id, user_id, role, status) select id, $2, 'broker', 'active' from opened)
       select id from opened where title = 'Signage of the north'`,
      [demo.brokerage_id, demo.people.broker.user_id],
    );
    const { page } = await visit('broker', '/');
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    let asked = 0;
    // As if they were not among the latest deals, which the palette has already.
    await page.route(/api\/web\/deals\?(?!.*search=)/, (route) =>
      route.fulfill({ json: { items: [], next_cursor: null } }),
    );
    await page.route(/api\/web\/deals\?.*search=/, async (route) => {
      asked += 1;
      await held;
      await route.continue();
    });
    await page.keyboard.press('Control+k');
    const box = page.getByRole('dialog').getByRole('combobox');
    await box.pressSequentially('sign');
    await page.getByText('Searching…').waitFor();
    await selected(page).filter({ hasText: 'Sign out' }).waitFor();
    answer();
    await selected(page).filter({ hasText: 'Signage of the north' }).waitFor();
    expect(await page.getByRole('option').first().textContent()).toContain('Signage of the north');
    expect(await page.evaluate('document.activeElement.getAttribute("aria-activedescendant")')).toBe(
      await selected(page).getAttribute('id'),
    );
    // Four letters, and one question.
    expect(asked).toBe(1);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/deals/${id}`);
    await page.unrouteAll({ behavior: 'wait' });

    await page.keyboard.press('Control+k');
    await box.fill('ohio hvac');
    await selected(page).filter({ hasText: 'Commercial HVAC contractor' }).waitFor();
    await box.fill('sot');
    await page.getByText('No results for “sot”.').waitFor();
    // What is called just so comes first.
    await box.fill('sign out');
    await selected(page).filter({ hasText: 'Sign out' }).waitFor();
    expect(await box.getAttribute('maxlength')).toBe('200');
    // Vowel points count no more than accents.
    for (const title of ['שָׁלוֹם נגרים', 'בית שָׁלוֹם'])
      await service.sql(
        `with opened as (insert into deals (organization_id, title, created_by) values ($1, $2, $3) returning id)
         insert into participants (deal_id, user_id, role, status) select id, $3, 'broker', 'active' from opened`,
        [demo.brokerage_id, title, demo.people.broker.user_id],
      );
    await box.fill('שלום');
    await selected(page).filter({ hasText: 'שָׁלוֹם נגרים' }).waitFor();
    expect(await page.getByRole('option', { name: 'שָׁלוֹם' }).count()).toBe(2);

    await page.route(/api\/web\/deals\?.*search=/, (route) => route.fulfill({ status: 400, body: '{}' }));
    await box.fill('refused');
    await page.getByRole('dialog').getByRole('alert').waitFor();
    expect(await page.getByText('No results for').count()).toBe(0);
    await escapeFrom(page, page.getByRole('dialog'));
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('leads to the lists where there is more, and to a contact that is not among the first rows', async () => {
    await service.sql(
      `insert into contacts (brokerage_id, type, display_name)
       select $1, 'person', 'Wexford ' || to_char(n, 'FM000') from generate_series(1, 260) n`,
      [demo.brokerage_id],
    );
    const { page } = await visit('broker', '/');
    const box = page.getByRole('dialog').getByRole('combobox');
    await page.keyboard.press('Control+k');
    await box.fill('wexford');
    await page.getByRole('option', { name: 'Wexford 001' }).waitFor();
    expect(await page.getByRole('option', { name: /^Wexford/ }).count()).toBe(7);
    await page.getByRole('option', { name: 'All contacts with “wexford”' }).click();
    await page.waitForURL('**/contacts?search=wexford');
    await page.getByRole('row').filter({ hasText: 'Wexford 001' }).waitFor();

    await page.keyboard.press('Control+k');
    await box.fill('wexford 260');
    await page.getByRole('option', { name: 'Wexford 260', exact: true }).click();
    await page.waitForURL(/contacts\?open=[-0-9a-f]{36}$/);
    const contact = page.getByRole('dialog', { name: 'Wexford 260' });
    await contact.getByLabel('Phone').fill('614 555 0142');
    await contact.getByRole('button', { name: 'Save' }).click();
    await contact.waitFor({ state: 'detached' });
    await expect.poll(() => new URL(page.url()).search).toBe('');
  });
});

describe('a long list', () => {
  const focused = `document.activeElement?.getAttribute('data-index')`;

  test('renders only visible rows, is fully operable by keyboard, and shows the same rows on going back', async () => {
    const name = `Route ${crypto.randomUUID()}`;
    await service.sql(
      `with opened as (
         insert into deals (organization_id, title, industry, created_by)
         select $1, $3 || ' no. ' || n, 'Zymurgy', $2 from generate_series(1, 450) n returning id)
       insert into participants (deal_id, user_id, role, status) select id, $2, 'broker', 'active' from opened`,
      [demo.brokerage_id, demo.people.broker.user_id, name],
    );
    // A page that is already open would refetch its list repeatedly while hundreds of deals are added.
    const { testPage } = await signIn('broker');
    const { page } = testPage;
    await testPage.go(`/deals?search=${encodeURIComponent(name)}`);
    const rows = page.locator('[role=row][data-index]');
    await rows.first().focus();
    await expect
      .poll(async () => {
        await page.keyboard.press('End');
        return page.evaluate(focused);
      })
      .toBe('449');
    expect(await rows.count()).toBeLessThan(60);
    await page.keyboard.press('Home');
    await expect.poll(() => page.evaluate(focused)).toBe('0');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const deal = page.locator('h1', { hasText: `${name} no.` });
    await deal.waitFor();

    await page.setViewportSize({ width: 390, height: 844 });
    await page.goBack();
    const seen = `[...document.querySelectorAll('[role=row][data-index]')]
      .map((row) => [Number(row.dataset.index), Math.round(row.getBoundingClientRect().top)])
      .find(([, top]) => top > 200)`;
    for (let row = 0; row <= 60; row += 6) {
      await page.locator(`[data-index="${row}"]`).waitFor();
      await page.evaluate(`document.querySelector('[data-index="${row}"]').scrollIntoView()`);
      await page.evaluate(settled);
    }
    const [row, top] = await page.evaluate<[number, number]>(seen);
    await page.mouse.click(100, top + 20);
    await deal.waitFor();
    await page.goBack();
    await rows.first().waitFor();
    await page.evaluate(settled);
    await expect.poll(() => page.evaluate(seen)).toEqual([row, top]);
    await testPage.close();
  });
});

describe('a change in another session', () => {
  test('appears without a reload', async () => {
    const deal = demo.deals.with_everything;
    const { testPage } = await signIn('seller');
    const { page } = testPage;
    // The page gets events only once its stream has begun.
    const hears = page.waitForResponse((answer) => new URL(answer.url()).pathname === '/api/web/events');
    await testPage.go(`/deals/${deal}`);
    await hears;
    const broker = await signInAs(service, demo.people.broker.user_id);
    const title = `Renamed at ${Date.now()}`;
    const { body } = await broker.ask(`/deals/${deal}`, { title }, 'PATCH');
    expect(body).toMatchObject({ title });
    await page.locator('h1', { hasText: title }).waitFor();
    await testPage.close();
  });
});

test('what arrives late has its place kept, and what could not be loaded is not said to be missing', async () => {
  const { testPage } = await signIn('broker');
  const { page } = testPage;
  /** Holds back the responses of a path until the returned function is called. */
  const hold = async (path: string) => {
    const goes = Promise.withResolvers<void>();
    await page.route(`**/api/web${path}`, async (route) => {
      await goes.promise;
      await route.continue();
    });
    return goes.resolve;
  };
  const waiting = page.locator('[aria-busy=true]');
  const heading = (name: string) => page.getByRole('heading', { name, exact: true });

  const letPipeline = await hold('/home/pipeline');
  await page.goto(service.origin);
  await heading('Deals by stage').waitFor();
  const placeholder = (await waiting.first().boundingBox())!;
  letPipeline();
  await heading('Value of your pipeline').waitFor();
  expect(placeholder.height).toBeGreaterThan(100);

  const letHome = await hold('/home');
  await page.goto(`${service.origin}/deals/${demo.deals.with_everything}`);
  await heading('People').waitFor();
  // Nothing stands yet where the list of what waits pushes it down.
  await waiting.first().waitFor();
  expect(await heading('About the business').count()).toBe(0);
  letHome();
  await heading('About the business').waitFor();

  await page.route('**/api/web/notifications/calendar', (route) => route.fulfill({ status: 403, body: '{}' }));
  await testPage.visit('/settings/notifications');
  await page.getByText('You cannot open this').waitFor();
  expect(await page.getByText('You have no link.').count()).toBe(0);
  await testPage.close();
});

test('changes in quick succession restart no request, and a hidden tab waits until it is looked at', async () => {
  const deal = demo.deals.with_everything;
  // The clock of a context cannot be set back.
  const { testPage } = await signIn('seller', { spent: true });
  const { page } = testPage;
  await page.clock.install();
  const broker = await signInAs(service, demo.people.broker.user_id);
  /** Gives the deal another title, and waits until the page has received the event. */
  const rename = async (title: string) => {
    const heard = page.evaluate(`new Promise((resolve) => {
      const channel = new BroadcastChannel('dealkeep-changes');
      channel.onmessage = ({ data }) => data.event?.topic === 'deal' && (channel.close(), resolve());
    })`);
    await page.evaluate('0');
    expect((await broker.ask(`/deals/${deal}`, { title }, 'PATCH')).status).toBe(200);
    await heard;
  };
  const hears = page.waitForResponse((answer) => new URL(answer.url()).pathname === '/api/web/events');
  await testPage.go(`/deals/${deal}`);
  await hears;
  const asked: Request[] = [];
  const broken: Request[] = [];
  page.on('request', (request) => request.url().includes('/api/web/') && asked.push(request));
  page.on('requestfailed', (request) => broken.push(request));

  // The response to the first change is held back until there were further ones.
  const held = Promise.withResolvers<() => Promise<void>>();
  await page.route(
    `**/api/web/deals/${deal}`,
    async (route) => {
      const response = await route.fetch();
      held.resolve(() => route.fulfill({ response }));
    },
    { times: 1 },
  );
  await rename('Changed once');
  const send = await held.promise;
  for (const title of ['Changed twice', 'Changed three times', 'Changed at last']) await rename(title);
  await send();
  await page.locator('h1', { hasText: 'Changed at last' }).waitFor();
  expect(broken.map((request) => request.url())).toEqual([]);
  expect(asked.filter((request) => request.url().endsWith(`/deals/${deal}`)).length).toBeLessThan(4);

  const show = (state: 'hidden' | 'visible') =>
    page.evaluate(`Object.defineProperties(document, {
      hidden: { configurable: true, get: () => ${state === 'hidden'} },
      visibilityState: { configurable: true, get: () => '${state}' },
    }); document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));`);
  await show('hidden');
  // Whatever was still to be refetched for the earlier changes.
  await page.clock.fastForward(10_000);
  await page.evaluate(settled);
  asked.length = 0;
  await rename('Changed behind their back');
  await page.clock.fastForward(10_000);
  await page.evaluate(settled);
  expect(asked).toEqual([]);
  await show('visible');
  await page.locator('h1', { hasText: 'Changed behind their back' }).waitFor();
  await testPage.close();
});

test('an answer that arrives on an unattended page counts as read after the next key press', async () => {
  const deal = demo.deals.with_everything;
  const { testPage, person: buyer } = await signIn('buyer', { spent: true });
  const { page } = testPage;
  await page.clock.install();
  const [seller, broker] = await Promise.all(
    (['seller', 'broker'] as const).map((who) => signInAs(service, demo.people[who].user_id)),
  );
  const isRead = (request: Request) => new URL(request.url()).pathname.endsWith('/questions/read');
  const hears = page.waitForResponse((answer) => new URL(answer.url()).pathname === '/api/web/events');
  await testPage.go(`/deals/${deal}/questions`);
  await hears;
  const { body } = await buyer.ask(`/deals/${deal}/questions`, { category: 'legal', question_text: 'Seen by whom?' });
  await broker!.ask(`/questions/${body.id}/release`, {});
  const answer = `By whoever looks, at ${Date.now()}.`;
  await seller!.ask(`/questions/${body.id}/answer`, { answer_text: answer });
  await page.clock.fastForward('01:10');
  const reads: Request[] = [];
  page.on('request', (request) => isRead(request) && reads.push(request));
  expect((await broker!.ask(`/questions/${body.id}/distribute`, { distributed_response: answer })).status).toBe(200);
  await page.getByRole('link', { name: /^Questions \d+ waiting for you$/ }).waitFor();
  await page.getByText(answer).waitFor();
  await page.evaluate(settled);
  expect(reads).toEqual([]);
  const read = page.waitForRequest(isRead);
  await page.keyboard.press('Shift');
  await read;
  await testPage.close();
});

describe('a change during the loading of a page', () => {
  const deal = () => demo.deals.with_everything;
  /** Gives the deal another title, and waits until open streams have received the event. */
  const rename = async () => {
    const broker = await signInAs(service, demo.people.broker.user_id);
    const stream = await fetch(`${service.origin}/api/web/events`, { headers: broker.headers });
    const title = `Renamed at ${Date.now()}`;
    expect((await broker.ask(`/deals/${deal()}`, { title }, 'PATCH')).body).toMatchObject({ title });
    for await (const part of stream.body!.pipeThrough(new TextDecoderStream())) if (part.includes('data: ')) break;
    return title;
  };

  test('appears once the event stream is open', async () => {
    const { testPage } = await signIn('seller');
    const { page } = testPage;
    const opens = Promise.withResolvers<() => Promise<void>>();
    await page.route('**/api/web/events*', (route) => opens.resolve(() => route.continue()));
    await testPage.go(`/deals/${deal()}`);
    const open = await opens.promise;
    const title = await rename();
    await open();
    await page.locator('h1', { hasText: title }).waitFor();
    await testPage.close();
  });

  test('appears in other tabs after the tab with the event stream is closed', async () => {
    const { testPage } = await signIn('seller', { spent: true });
    const { page: first } = testPage;
    await testPage.go(`/deals/${deal()}`);
    const [second, third] = [await openTab(first, '/healthz'), await openTab(first, '/healthz')];
    const opens = Promise.withResolvers<() => Promise<void>>();
    await second.route('**/api/web/events*', (route) => opens.resolve(() => route.continue()));
    for (const page of [second, third]) {
      await page.goto(`${service.origin}/deals/${deal()}`);
      await page.locator('h1').waitFor();
    }
    await first.close();
    const open = await opens.promise;
    const title = await rename();
    await open();
    for (const page of [second, third]) await page.locator('h1', { hasText: title }).waitFor();
    await testPage.close();
  });
});

describe('without a connection', () => {
  test('the page shows an offline notice until it is reconnected', async () => {
    const { page } = await visit('broker', '/deals');
    const notice = page.getByRole('status').filter({ hasText: 'You are offline' });
    await page.context().setOffline(true);
    await notice.waitFor();
    expect(await violationsOn(page)).toEqual([]);
    await page.context().setOffline(false);
    await notice.waitFor({ state: 'detached' });
    // Also over a dialog, which hides everything else from screen readers.
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await expect.poll(() => page.getByRole('heading', { level: 1 }).count()).toBe(0);
    await page.context().setOffline(true);
    await notice.waitFor();
    await page.context().setOffline(false);
    await notice.waitFor({ state: 'detached' });
    await escapeFrom(page, page.getByRole('dialog'));
  });
});

describe('a person whose session has ended', () => {
  test('is led to the sign-in page, with a return address', async () => {
    const { person, testPage } = await signIn('broker');
    const { page } = testPage;
    await testPage.go('/deals');
    await service.sql(`delete from vault.sessions where user_id = $1`, [demo.people.broker.user_id]);
    expect((await person.ask('/me')).status).toBe(401);
    // A request by the page itself may already have opened the dialog over the link.
    await page.locator('a[href="/"]').first().dispatchEvent('click');
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
    await page.getByRole('button', { name: 'Go to the sign-in page' }).click();
    await page.waitForURL('**/sign-in?return_to=*');
    await page.locator('h1', { hasText: 'Sign in' }).waitFor();
    await testPage.close();
  });
});
