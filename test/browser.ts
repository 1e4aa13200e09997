/** A real headless Chromium, from npm, and helpers for its pages. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  chromium as playwright,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  type Frame,
  type Locator,
  type Page,
} from 'playwright-core';
import { expect } from 'vitest';
import { isTriedAgain } from './another-try.ts';
import { chromiumProgram } from './chromium.ts';

// The package's own arguments are not used: they disable web security and site isolation, and run everything in a
// single process, which ends when the first context is closed.
const args = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  // Pages live for seconds. Without GPU and software rasterizer, with compilation and garbage collection on the page's
  // own thread, no second compiler, and heap enough for that time, Chromium takes a fifth less processor time, which
  // the other test files need.
  '--disable-gpu',
  '--disable-software-rasterizer',
  '--js-flags=--single-threaded --no-turbofan --min-semi-space-size=16 --initial-heap-size=256',
];

/** Starts a Chromium that no other test uses; `close` it. */
export async function startBrowser(): Promise<Browser> {
  return playwright.launch({ executablePath: await chromiumProgram(), args, headless: true, handleSIGTERM: false });
}

async function startShared(): Promise<Browser> {
  const browser = await startBrowser();
  browser.close = () => leave(browser);
  // Vitest ends its processes with SIGTERM. On exit Playwright kills the browser and removes its files.
  process.once('SIGTERM', () => {
    process.emit('exit', 143);
    process.kill(process.pid, 'SIGTERM');
  });
  return browser;
}

let shared: Promise<Browser> | undefined;

/**
 * Opens Chromium; `close` it in afterAll. All test files of a process share one: closing it closes the pages that a
 * file left open, and keeps closed ones, wiped, for the next file.
 */
export function openBrowser(): Promise<Browser> {
  shared = (shared ?? startShared()).then((before) => (before.isConnected() ? before : startShared()), startShared);
  return shared;
}

/** One person's browser context, with one page. */
export interface TestPage {
  readonly page: Page;
  /** Script errors, and what the content security policy blocked. */
  readonly complaints: readonly string[];
  /** Navigates to a path and waits until the content has loaded. */
  go(path: string): Promise<void>;
  /**
   * Navigates to a path as a link does, unless the page is there already: within the application if it is open, at a
   * quarter of the cost of loading it. The previous view stays visible until the new one has loaded.
   */
  visit(path: string): Promise<void>;
  close(): Promise<void>;
}

interface TestPageOptions extends BrowserContextOptions {
  /** Session cookie, for a person who is signed in already. */
  readonly cookie?: { readonly name: string; readonly value: string };
  /** Whether the context is neither reused nor kept: for a test that counts on empty caches. */
  readonly alone?: boolean;
  /** Whether the context is not kept: for a test that leaves the browser in a state that is not wiped. */
  readonly spent?: boolean;
}

/** The open pages of a browser, and its closed pages, most recently closed last, with the options of their contexts. */
interface Pages {
  readonly open: Set<TestPage>;
  readonly closed: { readonly page: Page; readonly key: string }[];
}

const pagesOf = new WeakMap<Browser, Pages>();
/** Maximum number of closed pages that are kept. A test has no more open at once, and each keeps a process. */
const mostClosed = 6;

function pagesIn(browser: Browser): Pages {
  const pages = pagesOf.get(browser) ?? { open: new Set(), closed: [] };
  pagesOf.set(browser, pages);
  return pages;
}

/** Closes everything that is open in a browser, except the closed pages that are kept. */
async function leave(browser: Browser): Promise<void> {
  const { open, closed } = pagesIn(browser);
  await Promise.all([...open].map((testPage) => testPage.close()));
  const kept = new Set(closed.map(({ page }) => page.context()));
  await Promise.all(browser.contexts().map((context) => kept.has(context) || context.close()));
}

// Without `close` and `crash`: Playwright itself listens for these.
const listened = [
  'console',
  'dialog',
  'download',
  'pageerror',
  'popup',
  'request',
  'requestfailed',
  'response',
] as const;

/** Resets a page and its context: no stored data, no listeners, no routes, no other pages. */
async function wipe(page: Page, origin: string): Promise<void> {
  const context = page.context();
  await Promise.all(context.pages().map((one) => one !== page && one.close()));
  for (const event of listened) page.removeAllListeners(event);
  await page.unrouteAll();
  await context.unrouteAll();
  await context.setOffline(false);
  // None of our scripts run here, so nothing can be stored again, and next to nothing is drawn.
  await page.goto(`${origin}/healthz`);
  await page.evaluate('sessionStorage.clear()');
  await page.mouse.move(0, 0);
  const devtools = await context.newCDPSession(page);
  await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
  await devtools.send('Page.resetNavigationHistory');
  await devtools.detach();
  await context.clearCookies();
  await context.clearPermissions();
}

/**
 * Has Chromium draw next to nothing of a page, whatever its layout size: drawing takes a tenth of a page's processor
 * time. Pages are drawn in full when `DEALKEEP_PICTURES` is set.
 */
async function drawLittle(page: Page): Promise<void> {
  if (process.env['DEALKEEP_PICTURES']) return;
  const devtools = await page.context().newCDPSession(page);
  const shrink = () => devtools.send('Emulation.setVisibleSize', { width: 1, height: 1 });
  const layOut = page.setViewportSize.bind(page);
  // Setting the viewport makes Chromium draw the whole page again.
  page.setViewportSize = async (size) => {
    await layOut(size);
    await shrink();
  };
  await shrink();
}

/**
 * Ignores rejections of waits that are never awaited: a test that starts a wait before the step that triggers it, and
 * then fails in that step, would fail the whole run with the wait's timeout.
 */
function forgive(of: Page | BrowserContext): void {
  const waits = of as unknown as Record<string, (...asked: unknown[]) => Promise<unknown>>;
  for (const name of ['waitForEvent', 'waitForFunction', 'waitForRequest', 'waitForResponse', 'waitForURL']) {
    const wait = waits[name]?.bind(of);
    if (!wait) continue;
    waits[name] = (...asked) => {
      const waited = wait(...asked);
      waited.catch(() => {});
      return waited;
    };
  }
}

/**
 * Lets a page have another language, time zone or browser name until it is wiped. As options of its context they would
 * need a context, and so a process, for each combination.
 */
async function pretend(
  page: Page,
  { locale, timezoneId, userAgent }: Pick<BrowserContextOptions, 'locale' | 'timezoneId' | 'userAgent'>,
): Promise<CDPSession | undefined> {
  if (!locale && !timezoneId && !userAgent) return undefined;
  const devtools = await page.context().newCDPSession(page);
  if (locale) await devtools.send('Emulation.setLocaleOverride', { locale });
  if (timezoneId) await devtools.send('Emulation.setTimezoneOverride', { timezoneId });
  if (locale || userAgent)
    await devtools.send('Emulation.setUserAgentOverride', {
      userAgent: userAgent ?? '',
      ...(locale && { acceptLanguage: locale }),
    });
  return devtools;
}

/**
 * Opens a browser context of its own for one person. `close` it, or the whole browser. The page may be a closed one,
 * wiped: a process that has shown the application once shows it with half the work.
 */
export async function openTestPage(browser: Browser, origin: string, options: TestPageOptions = {}): Promise<TestPage> {
  const { cookie, alone = false, spent = alone, viewport = { width: 1280, height: 900 }, ...rest } = options;
  // With reduced motion Playwright does not wait for animations to end before each click.
  const { colorScheme = 'light', reducedMotion = 'reduce', locale, timezoneId, userAgent, ...kept } = rest;
  const key = JSON.stringify(kept);
  const { open, closed } = pagesIn(browser);
  const place = alone ? -1 : closed.findLastIndex((one) => one.key === key);
  const used = place === -1 ? undefined : closed.splice(place, 1)[0]!.page;
  const page = used ?? (await (await browser.newContext({ viewport, colorScheme, reducedMotion, ...kept })).newPage());
  const context = page.context();
  if (!used) {
    forgive(page);
    forgive(context);
    await drawLittle(page);
  }
  if (used) {
    if (viewport) await page.setViewportSize(viewport);
    await page.emulateMedia({ media: null, colorScheme, reducedMotion });
  }
  const pretence = await pretend(page, { locale, timezoneId, userAgent });
  if (cookie) await context.addCookies([{ ...cookie, url: origin }]);
  context.setDefaultTimeout(45_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) complaints.push(message.text());
  });
  const go = async (path: string) => {
    await page.goto(origin + path);
    await loaded(page);
  };
  const testPage: TestPage = {
    page,
    complaints,
    go,
    async visit(path) {
      // A failed attempt may have left the page in another state, such as with an open dialog.
      if (isTriedAgain()) return go(path);
      if (page.url() !== origin + path) {
        const isOpen = page.url().startsWith(`${origin}/`) && (await page.locator('h1').count()) > 0;
        if (!isOpen) return go(path);
        // The new view sets the document's title once it is shown.
        await page.evaluate(`document.title = ''; history.pushState(null, '', ${JSON.stringify(path)})`);
        await expect.poll(() => page.title(), { message: path }).not.toBe('');
      }
      await loaded(page);
    },
    async close() {
      if (!open.delete(testPage)) return;
      if (spent) return context.close();
      try {
        // Detaching ends what was pretended.
        await pretence?.detach();
        await wipe(page, origin);
        closed.push({ page, key });
        if (closed.length > mostClosed) await closed.shift()!.page.context().close();
      } catch {
        await context.close();
      }
    },
  };
  open.add(testPage);
  return testPage;
}

/**
 * Opens another tab of a page's browser, which shares the page's process: another process would compile the application
 * again. As in a tab that a person opens, it has no opener.
 */
export async function openTab(page: Page, address: string): Promise<Page> {
  const opens = page.waitForEvent('popup');
  await page.evaluate(`window.open(${JSON.stringify(address)}).opener = null`);
  const tab = await opens;
  forgive(tab);
  await drawLittle(tab);
  return tab;
}

/**
 * Closes a dialog with Escape; presses it again until the dialog is gone, because a dialog may be visible before it
 * listens for the key.
 */
export async function escapeFrom(page: Page, layer: Locator): Promise<void> {
  const isGone = () =>
    layer.waitFor({ state: 'detached', timeout: 5_000 }).then(
      () => true,
      () => false,
    );
  await expect
    .poll(async () => {
      await page.keyboard.press('Escape');
      return isGone();
    })
    .toBe(true);
}

/** Waits until the page has a heading and nothing is loading. */
export async function loaded(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0);
}

/**
 * An expression to evaluate in a page; resolves when its colours no longer change. Transitions begin in the next frame,
 * and an inherited one restarts with each frame of its parent's. Animations driven by scrolling are ignored: they never
 * end.
 */
export const settled = `(async () => {
  for (let round = 0; round < 50; round += 1) {
    await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
    const running = document.getAnimations().filter(({ timeline, playState, effect }) =>
      timeline === document.timeline && playState !== 'finished' && effect.getComputedTiming().endTime !== Infinity);
    if (running.length === 0) return;
    await Promise.all(running.map(({ finished }) => finished.catch(() => {})));
  }
})()`;

/**
 * An expression to evaluate in a page: whether an element's centre is within the window and not covered. `one` is an
 * expression for the element.
 */
export const isSeen = (one: string): string => `(() => {
  const { x, y, width, height } = ${one}.getBoundingClientRect();
  return ${one}.contains(document.elementFromPoint(x + width / 2, y + height / 2));
})()`;

// The version of axe-core that @axe-core/playwright depends on.
const axeHome = createRequire(import.meta.url).resolve('@axe-core/playwright');
const axe =
  // axe stores the components of each colour in weak maps, which take more time than everything computed from them,
  // most of it garbage collection. Here they are stored as properties.
  `(() => {
    class Properties {
      #name = Symbol();
      has(of) { return of[this.#name] !== undefined; }
      get(of) { return of[this.#name]?.value; }
      set(of, value) { of[this.#name] = { value }; return this; }
      add(of) { return this.set(of, true); }
      delete(of) { delete of[this.#name]; }
    }
    ((WeakMap, WeakSet) => {${readFileSync(createRequire(axeHome).resolve('axe-core/axe.min.js'), 'utf8')}
    })(Properties, Properties);
  })();` +
  // Each colour of a page is parsed once instead of for every element: parsing took a quarter of the checks' time.
  `(() => {
    const known = new Map();
    const { prototype } = axe.commons.color.Color;
    const { parseString } = prototype;
    prototype.parseString = function (text) {
      const as = known.get(text);
      if (as === undefined) {
        parseString.call(this, text);
        known.set(text, [this.r, this.g, this.b, this.alpha]);
      } else [this.r, this.g, this.b, this.alpha] = as;
      return this;
    };
  })()`;

/**
 * Loads axe into a page. Evaluated through DevTools rather than `eval`, Chromium compiles it once for all pages of a
 * process, which saves a third of the time.
 */
async function giveAxe(page: Page | Frame): Promise<void> {
  if (!('context' in page)) return page.evaluate(axe);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Runtime.evaluate', { expression: axe });
  await devtools.detach();
}

const colours = `{ runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } }`;

/**
 * An expression for the violations that axe finds, with further options, also an expression. axe's own reporter also
 * describes an element for every rule that passes, which takes a tenth of a check.
 */
const run = (options: string): string => `axe.run(document, {
  resultTypes: ['violations'],
  preload: false,
  ...(${options}),
  reporter: (results, options, done) => done(results
    .filter(({ violations }) => violations.length > 0)
    .map(({ id, violations }) => id + ': ' + violations[0].node.source)),
})`;

/**
 * The violations that axe finds on the page in its current state: each rule and its first element. Our pages have no
 * frames. `rules` are all, or those that depend on colours.
 */
export async function violationsOn(page: Page | Frame, rules: 'all' | 'colours' = 'all'): Promise<string[]> {
  // axe stays in the page until the next navigation: reading half a megabyte of script takes a third as long as the
  // checks.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await giveAxe(page);
  return page.evaluate<string[]>(run(rules === 'all' ? '{}' : colours));
}

/**
 * An expression to evaluate in a page that has axe: its violations in a theme, once that is shown. If the content is
 * the same as at the last check, only the rules that depend on colours are checked.
 */
const violationsIn = (theme: 'light' | 'dark'): string => `(async () => {
  // Pages rendered by the server alone have no \`data-theme\`; they follow the browser.
  const isOther = () => (document.documentElement.dataset.theme ?? '${theme}') !== '${theme}';
  for (const until = Date.now() + 45_000; isOther(); await new Promise((next) => requestAnimationFrame(next)))
    if (Date.now() > until) throw new Error('The theme does not become ${theme}.');
  await ${settled};
  const shown = document.body.innerHTML;
  const isAsBefore = shown === axe.shownBefore;
  axe.shownBefore = shown;
  return ${run(`isAsBefore && ${colours}`)};
})()`;

/**
 * Fails with the violations that axe finds on the page in its current state, in the light and the dark theme. The
 * second theme is checked only for the rules that depend on colours, unless the page's content has changed since the
 * first. The page stays in the second theme, and the next check begins with it: drawing the page again costs as much as
 * checking it.
 */
export async function expectAccessible(page: Page): Promise<void> {
  // Wait for the animations of the page's entrance to end.
  const [isDark, hasAxe] = await page.evaluate<[boolean, boolean]>(`(async () => {
    await ${settled};
    if ('axe' in window) axe.shownBefore = undefined;
    return [document.documentElement.dataset.theme === 'dark', 'axe' in window];
  })()`);
  if (!hasAxe) await giveAxe(page);
  for (const colorScheme of isDark ? (['dark', 'light'] as const) : (['light', 'dark'] as const)) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const violations = await page.evaluate<string[]>(violationsIn(colorScheme));
    expect(violations, `${new URL(page.url()).pathname} (${colorScheme})`).toEqual([]);
  }
}
