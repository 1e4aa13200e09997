/**
 * The pages that the server renders: styled like the application, accessible, without scripts, and always with a way
 * on.
 */

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser, openTestPage, violationsOn } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { signInAs } from './person.ts';

let service: TestService;
let browser: Browser;

beforeAll(async () => {
  service = await openService({ demo: true });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

/** Opens a browser, signed in as the demo's admin or not signed in. */
async function inBrowser(
  { signedIn = true, ...options }: BrowserContextOptions & { signedIn?: boolean },
  work: (page: Page, to: (path: string) => ReturnType<Page['goto']>) => Promise<void>,
): Promise<void> {
  const { cookie } = await signInAs(service, service.demo.people.admin.user_id);
  const { page, close } = await openTestPage(browser, service.origin, { ...options, ...(signedIn && { cookie }) });
  await work(page, (path) => page.goto(service.origin + path)).finally(close);
}

const styleOf = (page: Page, selector: string, property: string) =>
  page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${property}')`);

async function consentPath(): Promise<string> {
  const [client] = await service.sql<{ id: string; uri: string }>(
    `select id, redirect_uris[1] as uri from connected_clients where created_by = $1 and not disabled and deleted_at is null limit 1`,
    [service.demo.people.admin.user_id],
  );
  const query = { response_type: 'code', code_challenge_method: 'S256', scope: 'mcp:read mcp:write', state: 'st' };
  return `/api/mcp/authorize?${new URLSearchParams({ ...query, client_id: client!.id, redirect_uri: client!.uri, code_challenge: 'c'.repeat(43) })}`;
}

describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
  test('the consent page and error pages are accessible and fit a phone', async () => {
    const paths = [await consentPath(), '/api/mcp/authorize?client_id=unknown', '/nowhere'];
    await inBrowser({ colorScheme, viewport: { width: 390, height: 800 } }, async (page, to) => {
      for (const path of paths) {
        await to(path);
        expect([path, await violationsOn(page)]).toEqual([path, []]);
        expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, 390]);
      }
    });
  });
});

test('server-rendered pages have the application’s colours and fonts, without CSP violations', async () => {
  await inBrowser({ colorScheme: 'dark', signedIn: false }, async (page, to) => {
    const refused: string[] = [];
    page.on('console', (message) => /Content Security Policy/.test(message.text()) && refused.push(message.text()));
    await to('/nowhere');
    const drawn = [await styleOf(page, 'body', 'background-color'), await styleOf(page, 'body', 'color')];
    await page.evaluate('document.fonts.ready.then(() => true)');
    expect(await page.evaluate(`document.fonts.check('14px Inter')`)).toBe(true);
    await to('/sign-in');
    await page.locator('#root h1').waitFor();
    expect([await styleOf(page, 'body', 'background-color'), await styleOf(page, 'body', 'color')]).toEqual(drawn);
    expect(refused).toEqual([]);
  });
});

test('server-rendered pages have the theme chosen in the application', async () => {
  await inBrowser({}, async (page, to) => {
    await to('/settings/profile');
    await page.getByRole('radio', { name: 'Dark' }).check({ force: true });
    await page.locator('html[data-theme=dark]').waitFor();
    const paper = await styleOf(page, 'body', '--paper');
    await to(await consentPath());
    await page.getByRole('button', { name: 'Deny' }).waitFor();
    expect(await styleOf(page, 'body', '--paper')).toBe(paper);
  });
});

test('pages of the application show a message if JavaScript is disabled', async () => {
  await inBrowser({ javaScriptEnabled: false }, async (page, to) => {
    for (const path of ['/', '/sign-in', '/settings/security']) {
      await to(path);
      await page.getByRole('heading', { name: 'Dealkeep needs JavaScript' }).waitFor();
    }
  });
});

test('an unknown address gets a 404 page with a link home, or JSON for a program', async () => {
  await inBrowser({ javaScriptEnabled: false, signedIn: false }, async (page, to) => {
    const answer = await to('/nowhere');
    expect(answer?.status()).toBe(404);
    await page.getByRole('heading', { name: 'There is no page at this address' }).waitFor();
    expect(await page.getByRole('link', { name: 'Go home' }).getAttribute('href')).toBe('/');
  });
  const answer = await fetch(`${service.origin}/nowhere`);
  expect([answer.status, await answer.json()]).toEqual([
    404,
    { error: { code: 'not_found', message: 'There is nothing at this address.' } },
  ]);
});
