/** A real headless Chromium, from npm, and what tests do with its pages. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  chromium as playwright,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Frame,
  type Locator,
  type Page,
} from 'playwright-core';
import { expect } from 'vitest';
import { isTriedAgain } from './another-try.ts';
import { chromiumProgram } from './chromium.ts';

// Not the package's own arguments: they switch web security and the isolation of sites off, and run it all as one
// process, which ends when the first context is closed.
const args = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  // Pages live for seconds: drawing by software alone, compiling and collecting on the page's own thread, no second compiler
  // and room for what a page makes in that time take a fifth less of the processors, of which the other test files have the rest.
  '--disable-gpu',
  '--disable-software-rasterizer',
  '--js-flags=--single-threaded --no-turbofan --min-semi-space-size=16 --initial-heap-size=256',
];

/** Starts Chromium, of which nobody else knows; `close` it. */
export async function startBrowser(): Promise<Browser> {
  return playwright.launch({ executablePath: await chromiumProgram(), args, headless: true, handleSIGTERM: false });
}

async function startShared(): Promise<Browser> {
  const browser = await startBrowser();
  browser.close = () => leave(browser);
  // So vitest ends a process. What Playwright does at the end of one is end the browser, and take its files away.
  process.once('SIGTERM', () => {
    process.emit('exit', 143);
    process.kill(process.pid, 'SIGTERM');
  });
  return browser;
}

let shared: Promise<Browser> | undefined;

/**
 * Opens Chromium; `close` it in afterAll. It is the same for all test files of a process: closing it closes what a file has
 * opened in it, and keeps the pages that the next can have as new.
 */
export function openBrowser(): Promise<Browser> {
  shared = (shared ?? startShared()).then((before) => (before.isConnected() ? before : startShared()), startShared);
  return shared;
}

/** A browser of its own for one person, at one page. */
export interface TestPage {
  readonly page: Page;
  /** What the browser complained of: errors of scripts, and what the content security policy refused. */
  readonly complaints: readonly string[];
  /** Goes to a path and waits until what it shows has been loaded. */
  go(path: string): Promise<void>;
  /**
   * Goes to a page as a link does, unless it is there: within the application where that is open, at a quarter of what
   * loading it costs. What the person saw before is shown until what is new has come.
   */
  visit(path: string): Promise<void>;
  close(): Promise<void>;
}

interface TestPageOptions extends BrowserContextOptions {
  /** The session's, for a person who is signed in already. */
  readonly cookie?: { readonly name: string; readonly value: string };
  /** For a test that counts what is loaded, or leaves the browser otherwise than it found it: nobody has it before or after. */
  readonly alone?: boolean;
}

/** The pages that are open in a browser, and pages that were closed, the last at the end, with what their contexts were opened with. */
interface Pages {
  readonly open: Set<TestPage>;
  readonly closed: { readonly page: Page; readonly key: string }[];
}

const pagesOf = new WeakMap<Browser, Pages>();
/** As many as a test has open at once: each keeps a process of its own. */
const mostClosed = 6;

function pagesIn(browser: Browser): Pages {
  const pages = pagesOf.get(browser) ?? { open: new Set(), closed: [] };
  pagesOf.set(browser, pages);
  return pages;
}

/** Closes whatever is open in a browser but the pages that are kept. */
async function leave(browser: Browser): Promise<void> {
  const { open, closed } = pagesIn(browser);
  await Promise.all([...open].map((testPage) => testPage.close()));
  const kept = new Set(closed.map(({ page }) => page.context()));
  await Promise.all(browser.contexts().map((context) => kept.has(context) || context.close()));
}

// Not `close` and `crash`: Playwright itself listens for these.
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

/** Makes a page, and the context that it is in, as new: nothing is stored, nobody listens, no other page is open. */
async function wipe(page: Page, origin: string): Promise<void> {
  const context = page.context();
  await Promise.all(context.pages().map((one) => one !== page && one.close()));
  for (const event of listened) page.removeAllListeners(event);
  await page.unrouteAll();
  await context.unrouteAll();
  await context.setOffline(false);
  // Where no script of ours runs, which could store something once more, and next to nothing is drawn.
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
 * Has Chromium draw next to nothing of a page, at whatever size it is laid out: nobody looks, and drawing it takes a tenth
 * of what the page takes. Who asks for pictures gets all of it.
 */
async function drawLittle(page: Page): Promise<void> {
  if (process.env['DEALKEEP_PICTURES']) return;
  const devtools = await page.context().newCDPSession(page);
  const shrink = () => devtools.send('Emulation.setVisibleSize', { width: 1, height: 1 });
  const layOut = page.setViewportSize.bind(page);
  // What is laid out anew is drawn as a whole again.
  page.setViewportSize = async (size) => {
    await layOut(size);
    await shrink();
  };
  await shrink();
}

/**
 * Lets what is waited for come to nothing where nobody asks any more: what is waited for before a step that brings it about is never
 * awaited once that step has failed, and would fail the whole run when its time is over.
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
 * Opens a browser of its own for one person. `close` it, or the browser as a whole. It may be one that was closed before, made as
 * new: a process that has shown the application once shows it with half the work.
 */
export async function openTestPage(browser: Browser, origin: string, options: TestPageOptions = {}): Promise<TestPage> {
  const { cookie, alone = false, viewport = { width: 1280, height: 900 }, ...rest } = options;
  // Nothing that is clicked is waited for until it stands still.
  const { colorScheme = 'light', reducedMotion = 'reduce', ...kept } = rest;
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
      // What the try before left on the page, as a dialog that is open, is not for this one.
      if (isTriedAgain()) return go(path);
      if (page.url() !== origin + path) {
        const isOpen = page.url().startsWith(`${origin}/`) && (await page.locator('h1').count()) > 0;
        if (!isOpen) return go(path);
        // The page that comes gives the document its title.
        await page.evaluate(`document.title = ''; history.pushState(null, '', ${JSON.stringify(path)})`);
        await expect.poll(() => page.title(), { message: path }).not.toBe('');
      }
      await loaded(page);
    },
    async close() {
      if (!open.delete(testPage)) return;
      if (alone) return context.close();
      try {
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

/** Closes a layer by Escape, for which it may not listen yet when it is shown. */
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

/** Waits until the page has its heading and nothing in it is still on its way. */
export async function loaded(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0);
}

/**
 * To be evaluated in a page: resolves when its colours stand still. They change by transitions, which begin with the next
 * frame; one that is inherited begins anew with each frame of the other. What is animated by scrolling never ends.
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

/** To be evaluated in a page: whether an element is in the window, and nothing covers it; `one` is an expression for it. */
export const isSeen = (one: string): string => `(() => {
  const { x, y, width, height } = ${one}.getBoundingClientRect();
  return ${one}.contains(document.elementFromPoint(x + width / 2, y + height / 2));
})()`;

// The version that @axe-core/playwright is made for.
const axeHome = createRequire(import.meta.url).resolve('@axe-core/playwright');
const axe =
  // It keeps the parts of each colour in weak maps of their own, which cost more than all that is computed with them, and
  // the collector most of its time: here they are properties.
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
  // Each colour of a page is parsed once, not for every element that has it: a quarter of what the checks took.
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

/** Gives a page axe. Run past `eval`, Chromium compiles it once for all pages of a process, which takes a third off. */
async function giveAxe(page: Page | Frame): Promise<void> {
  if (!('context' in page)) return page.evaluate(axe);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Runtime.evaluate', { expression: axe });
  await devtools.detach();
}

/**
 * What axe finds wrong with the page as it is: the rule and the first element. Our pages have no frames. The `rules`
 * are all, or those that colours decide.
 */
export async function violationsOn(page: Page | Frame, rules: 'all' | 'colours' = 'all'): Promise<string[]> {
  // A page keeps axe until it is left: reading half a megabyte of script takes as long as a third of the checks.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await giveAxe(page);
  const options = {
    resultTypes: ['violations'],
    preload: false,
    ...(rules === 'colours' && { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } }),
  };
  // What axe itself would report describes an element for every rule that is kept, too: a tenth of a check.
  return page.evaluate<string[]>(`axe.run(document, {
    ...${JSON.stringify(options)},
    reporter: (results, options, done) => done(results
      .filter(({ violations }) => violations.length > 0)
      .map(({ id, violations }) => id + ': ' + violations[0].node.source)),
  })`);
}

/**
 * Fails with what axe finds wrong with the page as it is, in the light and in the dark. In the second it is asked for what
 * colours decide, unless there is something else on the page than in the first. The page is left in the second, with
 * which the next check begins: drawing it anew costs as much as looking for faults.
 */
export async function expectAccessible(page: Page): Promise<void> {
  let shownBefore: string | undefined;
  const isDark = await page.evaluate<boolean>(`document.documentElement.dataset.theme === 'dark'`);
  // What moves when a person arrives has come to its end.
  await page.evaluate(settled);
  for (const colorScheme of isDark ? (['dark', 'light'] as const) : (['light', 'dark'] as const)) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    // What the server alone wrote has no theme but the browser's.
    await page.locator(`html[data-theme=${colorScheme}], html:not([data-theme])`).waitFor();
    await page.evaluate(settled);
    const shown = await page.evaluate<string>(`document.body.innerHTML`);
    const violations = await violationsOn(page, shown === shownBefore ? 'colours' : 'all');
    expect(violations, `${new URL(page.url()).pathname} (${colorScheme})`).toEqual([]);
    shownBefore = shown;
  }
}
