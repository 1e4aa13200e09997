/** npm run screenshots [-- part-of-a-name …]: every page as the demo's people see it, small and large, light and dark, in screenshots/. */

import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { settled, startBrowser } from '../browser.ts';
import { signIn, type DemoPerson } from '../conformance/person.ts';
import { cleanUp, dealkeep, newDataDir } from '../runtime/program.ts';

interface Demo {
  readonly mcp_url: string;
  readonly redirect_uri: string;
  readonly people: Record<'admin' | 'broker' | 'seller' | 'buyer', DemoPerson>;
  readonly deals: { readonly with_everything: string };
}

/** A page: the name of its screenshots, and its path. */
interface Shot {
  readonly name: string;
  readonly path: string;
}

const sizes = { large: { width: 1280, height: 800 }, small: { width: 390, height: 844 } } as const;
const schemes = ['light', 'dark'] as const;
const directory = path.join(import.meta.dirname, '../../screenshots');
const wanted = process.argv.slice(2);

let taken = 0;
const faults: string[] = [];

/** Resolves when the page has its heading and has finished loading. */
async function loaded(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor({ timeout: 45_000 });
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached', timeout: 45_000 });
  await page.evaluate('document.fonts.ready.then(() => true)');
}

/**
 * Takes screenshots of one page of one person in every size and scheme; records pages that are wider than the window or
 * cannot be loaded.
 */
async function take(page: Page, who: string, { name, path: at }: Shot, origin: string): Promise<void> {
  for (const [size, viewport] of Object.entries(sizes)) {
    const label = `${who}-${name}-${size}`;
    if (wanted.length > 0 && !wanted.some((part) => label.includes(part))) continue;
    await page.setViewportSize(viewport);
    try {
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      await page.goto(origin + at);
      await loaded(page);
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await page.evaluate(settled);
        await page.screenshot({ path: path.join(directory, `${label}-${colorScheme}.png`), fullPage: true });
        taken += 1;
      }
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      if (width > viewport.width) faults.push(`${label}: ${width} pixels wide, the window has ${viewport.width}`);
    } catch (error) {
      faults.push(`${label}: ${(error as Error).message.split('\n')[0]}`);
    }
  }
}

/** Returns the paths below `prefix` that a page links to, and its own path, as shots. */
async function linksOn(page: Page, url: string, prefix: string, name: string): Promise<Shot[]> {
  await page.goto(url);
  await loaded(page);
  const hrefs = await page
    .locator(`a[href^="${prefix}"]`)
    .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
  const paths = new Set([new URL(page.url()).pathname, ...hrefs.map((href) => (href ?? '').replace(/[?#].*/, ''))]);
  return [...paths].map((at) => ({
    path: at,
    name: `${name}${at.slice(prefix.length).replaceAll('/', '-')}`.replace(/-$/, ''),
  }));
}

async function contextOf(browser: Browser, origin: string, cookies: string): Promise<BrowserContext> {
  const context = await browser.newContext();
  for (const pair of cookies.split('; ').filter(Boolean)) {
    const [name = '', value = ''] = pair.split('=');
    await context.addCookies([{ name, value, url: origin }]);
  }
  return context;
}

/** Returns the path at which the person's own client asks for their consent. */
function consentPath({ client_id }: DemoPerson, redirectUri: string): string {
  const query = new URLSearchParams({
    client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: 'c'.repeat(43),
    code_challenge_method: 'S256',
    scope: 'mcp:read mcp:write',
    state: 'shown',
  });
  return `/api/mcp/authorize?${query}`;
}

async function signedOut(browser: Browser, origin: string): Promise<void> {
  const context = await contextOf(browser, origin, '');
  const page = await context.newPage();
  const shots = ['sign-in', 'reset', 'reset/new', 'set-up', 'accept-invitation', 'nowhere'].map((at) => ({
    name: at.replace('/', '-'),
    path: `/${at}`,
  }));
  for (const shot of shots) await take(page, 'nobody', shot, origin);
  await take(page, 'nobody', { name: 'bad-client', path: '/api/mcp/authorize?client_id=unknown' }, origin);
  await context.close();
}

async function signedIn(browser: Browser, demo: Demo, who: 'admin' | 'broker' | 'seller' | 'buyer'): Promise<void> {
  const origin = demo.mcp_url;
  const person = demo.people[who];
  const deal = demo.deals.with_everything;
  const context = await contextOf(browser, origin, await signIn(origin, person));
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(`${who}: ${new URL(page.url()).pathname}: ${error.message}`));
  const shots = [
    { name: 'home', path: '/' },
    { name: 'deals', path: '/deals' },
    ...(await linksOn(page, `${origin}/deals/${deal}`, `/deals/${deal}`, 'deal')),
    { name: 'deal-not-there', path: `/deals/${crypto.randomUUID()}` },
    { name: 'deals-new', path: '/deals?new=true' },
    { name: 'deals-none', path: '/deals?search=nothing-fits-this' },
    { name: 'contacts', path: '/contacts' },
    { name: 'contacts-new', path: '/contacts?open=new' },
    { name: 'contacts-import', path: '/contacts?open=import' },
    ...(await linksOn(page, `${origin}/settings/profile`, '/settings', 'settings')),
    { name: 'settings-client-tools', path: `/settings/clients/${person.client_id}/tools` },
    { name: 'settings-deal-tools', path: `/settings/deals/${deal}/tools` },
    { name: 'settings-nowhere', path: '/settings/nowhere' },
    { name: 're-authenticate', path: '/re-authenticate?return_to=/settings/keys' },
    { name: 'sign-out', path: '/sign-out' },
    { name: 'confirm-address', path: '/confirm-address#token=shown' },
    { name: 'consent', path: consentPath(person, demo.redirect_uri) },
  ];
  for (const shot of new Map(shots.map((one) => [one.path, one])).values()) await take(page, who, shot, origin);
  await context.close();
}

let browser: Browser | undefined;
try {
  const dataDir = await newDataDir();
  const program = dealkeep(['demo', '--json'], {
    DATA_DIR: dataDir,
    FEATURES: 'findings,financing',
    WEB_BUILD: 'on',
    RATE_LIMIT_AUTHORIZE_IP: '100000',
  });
  await program.ready;
  const demo = JSON.parse(await readFile(path.join(dataDir, 'demo.json'), 'utf8')) as Demo;
  browser = await startBrowser();
  if (wanted.length === 0) await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  await signedOut(browser, demo.mcp_url);
  for (const who of ['broker', 'seller', 'buyer', 'admin'] as const) await signedIn(browser, demo, who);
} finally {
  await browser?.close();
  await cleanUp();
}
for (const fault of faults) console.log(fault);
console.log(`${taken} screenshots in screenshots/`);
