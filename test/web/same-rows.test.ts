/**
 * For each role and each page: the page shows a person the same data as the tools return to that person. The pages are
 * read in the browser, the tools are called through a client that the person connected; rows-pages.ts says which belong
 * together.
 */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { readExpectations } from '../policies/expectations.ts';
import { callers as allCallers } from '../policies/scene.ts';
import { asking, filters } from './rows-filters.ts';
import { theSame, unmatched, type Facts, type Lines, type List } from './rows-list.ts';
import { deals, dealPages } from './rows-pages.ts';
import { connectPerson, type Person } from './rows-person.ts';
import { addNormalizations } from './rows-qoe.ts';
import { goWithin, isCut, saysNothing } from './rows-read.ts';
import { openRichScene, type RichScene } from './rows-scene.ts';

/** All callers who can sign in. */
const callers = allCallers.filter((caller) => caller !== 'API key' && caller !== 'nobody');
const lists: readonly List[] = [deals, ...dealPages.flatMap((page) => page.lists)];

/** Tall enough to have every row of every list in view, and so drawn. */
const tall = { width: 1280, height: 6_500 };

const reader = {
  reducedMotion: 'reduce',
  // Amounts are compared in the locale of this process.
  locale: new Intl.DateTimeFormat().resolvedOptions().locale,
} as const;

interface Beside {
  readonly shown: readonly Lines[];
  readonly answered: readonly Facts[];
  /** Whether a tab of the deal leads to the page. */
  readonly tab: boolean;
  /** Whether the page says that there is nothing to open. */
  readonly nothing: boolean;
}

let web: RichScene;
let browser: Browser;
const walks = new Map<string, Promise<Map<List, Beside>>>();

beforeAll(async () => {
  web = await openRichScene();
  await addNormalizations(web);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await web?.close();
});

/**
 * Returns the rows of a list, in a window tall enough for all of them; otherwise the window stays small, because it
 * would be drawn to its full height.
 */
async function shownOn(page: Page, { long, shown }: List): Promise<Lines[]> {
  const usual = page.viewportSize();
  if (!long || !usual || !(await isCut(page))) return shown(page);
  await page.setViewportSize(tall);
  const lines = await shown(page);
  await page.setViewportSize(usual);
  return lines;
}

/** Visits all pages as a caller, and calls the tools of each. */
async function walk(caller: string): Promise<Map<List, Beside>> {
  const { cookie } = await web.as(caller);
  const person = await connectPerson(web, caller);
  const testPage = await openTestPage(browser, web.service.origin, { cookie, ...reader });
  const { page } = testPage;
  const found = new Map<List, Beside>();
  await testPage.go('/deals');
  found.set(deals, {
    shown: await shownOn(page, deals),
    answered: await deals.answered(person),
    tab: true,
    nothing: false,
  });
  for (const { path, title, lists: here } of dealPages) {
    const address = `/deals/${web.scene.deal}${path}`;
    const tab = await goWithin(page, address, title === '' ? 'Corner bakery' : `${title} · Corner bakery`);
    const nothing = await saysNothing(page);
    for (const list of here)
      found.set(list, { shown: await shownOn(page, list), answered: await list.answered(person), tab, nothing });
  }
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
  await person.close();
  return found;
}

/** The walk of a caller, done only once. */
function walkOf(caller: string): Promise<Map<List, Beside>> {
  const made = walks.get(caller) ?? walk(caller);
  walks.set(caller, made);
  return made;
}

const nameOf = ({ what, tool, differs }: List): string => `${what}: ${tool}${differs ? ` (${differs})` : ''}`;

describe.each(callers)('%s', (caller) => {
  test('sees nothing on pages without a tab, and gets nothing from their tools', async () => {
    const found = await walkOf(caller);
    for (const { title, lists: here } of dealPages)
      for (const list of here) {
        const { tab, nothing, shown, answered } = found.get(list)!;
        expect(nothing, title).toBe(!tab);
        if (nothing) expect({ shown, answered }).toEqual({ shown: [], answered: [] });
      }
  });

  test.each(lists.map((list) => [nameOf(list), list] as const))('%s', async (_name, list) => {
    const { shown, answered } = (await walkOf(caller)).get(list)!;
    expect(unmatched(shown.slice(0, list.most), answered)).toEqual(theSame);
  });
});

describe.each(['broker', 'other buyer'])('%s gets the same rows from filters on pages and in tools', (caller) => {
  let person: Person;
  let testPage: TestPage;
  beforeAll(async () => {
    person = await connectPerson(web, caller);
    const { cookie } = await web.as(caller);
    testPage = await openTestPage(browser, web.service.origin, { cookie, ...reader });
  });
  afterAll(async () => {
    await testPage?.close();
    await person?.close();
  });

  test.each(filters.map((filter) => [filter.what, filter] as const))('%s', async (_what, filter) => {
    const { list, input, values, choose } = filter;
    await testPage.visit(filter.page === '/deals' ? '/deals' : `/deals/${web.scene.deal}${filter.page}`);
    const usual = testPage.page.viewportSize()!;
    await testPage.page.setViewportSize(tall);
    const all = (await list.answered(person)).length;
    let some = 0;
    for (const value of values) {
      const answered = await list.answered(asking(person, input, value));
      await choose(testPage.page, value);
      // The previous rows stay until the response arrives.
      const left = async () => unmatched(await list.shown(testPage.page), answered);
      // Each poll reads the whole list, which takes processor time that the page needs.
      await expect.poll(left, { interval: 200 }).toEqual(theSame);
      some += answered.length > 0 && answered.length < all ? 1 : 0;
    }
    expect(some).toBeGreaterThan(1);
    await testPage.page.setViewportSize(usual);
    // The next filter begins with nothing chosen.
    await testPage.visit('/settings/profile');
  });
});

test('features that are switched off are refused by the tools and missing from the pages', async () => {
  const plain = await openRichScene(false);
  try {
    const { cookie } = await plain.as('broker');
    const person = await connectPerson(plain, 'broker');
    const { page, go, close } = await openTestPage(browser, plain.service.origin, { cookie, ...reader });
    await go(`/deals/${plain.scene.deal}`);
    for (const { path, title, lists: here } of dealPages.filter((one) =>
      ['Findings', 'Financing'].includes(one.title),
    )) {
      const address = `/deals/${plain.scene.deal}${path}`;
      expect(await goWithin(page, address, `${title} · Corner bakery`)).toBe(false);
      for (const list of here) {
        expect(await list.shown(page)).toEqual([]);
        await expect(list.answered(person)).rejects.toThrow('feature_not_available');
      }
    }
    await close();
    await person.close();
  } finally {
    await plain.close();
  }
});

describe('the scene has different rows for different callers', () => {
  const { records } = readExpectations(new URL('../../docs/visibility.md', import.meta.url));
  const answeredTo = async (caller: string, list: List): Promise<string[]> =>
    (await walkOf(caller)).get(list)!.answered.map((facts) => JSON.stringify(facts));

  /** The records that the caller sees according to docs/visibility.md, of those that decide the list. */
  const sees = (caller: string, { decidedBy }: List): string =>
    records
      .filter((one) => one.caller === caller && one.may.includes('sees'))
      .map(({ table, record }) => ({ table, name: `${table}/${record}` }))
      .filter(({ table, name }) => decidedBy.includes(table) || decidedBy.includes(name))
      .map(({ name }) => name)
      .join();

  test.each(lists.map((list) => [list.what, list] as const))('%s', async (_what, list) => {
    const kinds = new Map<string, string[]>();
    for (const caller of callers) {
      const rows = (await answeredTo(caller, list)).toSorted().join('\n');
      kinds.set(rows, [...(kinds.get(rows) ?? []), caller]);
    }
    expect([...kinds.values()]).toHaveLength(list.kinds);
    for (const alike of kinds.values())
      expect(new Set(alike.map((caller) => sees(caller, list))).size, `${alike} see the same`).toBe(1);
    const most = Math.max(...(await Promise.all(callers.map(walkOf))).map((found) => found.get(list)!.shown.length));
    expect(most).toBeGreaterThan(list.most ?? 0);
  });

  test.each(['Documents', 'Questions', 'Offers'])(
    '%s of the other buyer are a proper subset of the broker’s',
    async (title) => {
      const [list] = dealPages.find((page) => page.title === title)!.lists;
      const [all, some] = await Promise.all(
        ['broker', 'other buyer'].map(async (who) => (await walkOf(who)).get(list!)!),
      );
      expect(some!.answered.length).toBeGreaterThan(0);
      const { onPageAlone, inToolAlone } = unmatched(
        all!.shown,
        some!.answered.map((facts) => facts.filter((fact) => fact !== 'Your offer')),
      );
      expect(inToolAlone).toEqual([]);
      expect(onPageAlone.length).toBeGreaterThan(0);
    },
  );
});
