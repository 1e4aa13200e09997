/** Signing in, consenting and returning to the client, in a real Chromium, with clients that really listen. */

import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { addBrokerage, addClient, addPerson, authorizeUrl, type Parameters, type Person } from './scene.ts';

let service: TestService;
let browser: Browser;
let testPage: TestPage;
let page: Page;
let ada: Person;
let clientId: string;
let client: Server;
let application: Server;
let redirectUri: string;
const password = randomBytes(12).toString('base64url');

const port = (server: Server): number => (server.address() as AddressInfo).port;

function listen(answer: (url: URL) => { location?: string; text?: string }): Promise<Server> {
  const server = createServer((request, response) => {
    const { location, text = '' } = answer(new URL(request.url ?? '/', 'http://here'));
    if (location) response.writeHead(302, { location }).end();
    else response.writeHead(200, { 'content-type': 'text/html' }).end(text);
  });
  return new Promise((resolve) => void server.listen(0, '127.0.0.1', () => resolve(server)));
}

beforeAll(async () => {
  service = await openService();
  browser = await openBrowser();
  application = await listen(() => ({ text: '<title>The application</title>' }));
  // The client redirects its visitors to another origin, as hosted assistants do.
  client = await listen((url) => ({ location: `http://localhost:${port(application)}/done${url.search}` }));
  redirectUri = `http://127.0.0.1:${port(client)}/callback`;
  // Without a brokerage the application would lead to its set-up instead of the sign-in page.
  ada = await addPerson(service, 'Ada', { brokerage: await addBrokerage(service) });
  await service.sql('insert into vault.passwords (user_id, phc) values ($1, $2)', [
    ada.id,
    await hashPassword(password, service.config.passwordParameters),
  ]);
  clientId = await addClient(service, ada, { redirectUris: [redirectUri] });
});
afterAll(async () => {
  await browser?.close();
  client?.close();
  application?.close();
  await service?.close();
});

/** Continues in a browser in which nobody has signed in yet. */
async function begin(): Promise<void> {
  await testPage?.close();
  testPage = await openTestPage(browser, service.origin);
  ({ page } = testPage);
}
beforeEach(begin);

async function signIn(): Promise<void> {
  await page.fill('input[name=email]', ada.email);
  await page.fill('input[name=password]', password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

const ask = (parameters: Parameters = {}) =>
  page.goto(authorizeUrl(service, { client_id: clientId, redirect_uri: redirectUri, ...parameters }));

/** The response parameters that reached the application behind the client. */
async function answered(): Promise<URLSearchParams> {
  // Not `waitForURL`, which fails when any of the navigations through three origins is aborted.
  await expect.poll(() => page.url()).toContain(`http://localhost:${port(application)}/done`);
  return new URL(page.url()).searchParams;
}

test('19, 40. sign-in returns to the request, and Allow reaches a client that redirects to another origin', async () => {
  await ask({ state: 'a b&c' });
  expect(new URL(page.url()).pathname).toBe('/sign-in');
  await signIn();
  await page.getByRole('button', { name: 'Allow' }).click();
  const got = await answered();
  expect([got.get('state'), got.get('iss')]).toEqual(['a b&c', service.config.baseUrl]);
  expect(got.get('code')).toMatch(/^dkc_/);
});

test('40. Deny reaches the client, and unticking write access narrows the grant', async () => {
  await ask();
  await signIn();
  await page.getByRole('button', { name: 'Deny' }).click();
  expect((await answered()).get('error')).toBe('access_denied');
  await ask();
  await page.getByRole('checkbox', { name: /Write in your name/ }).uncheck();
  await page.getByRole('button', { name: 'Allow' }).click();
  expect((await answered()).get('code')).toMatch(/^dkc_/);
  const [code] = await service.sql('select scopes from vault.authorization_codes order by issued_at desc limit 1');
  expect(code).toEqual({ scopes: ['mcp:read'] });
});

test("21. the error of a signed-out visitor's request reaches the client after sign-in", async () => {
  await ask({ scope: 'everything' });
  expect(new URL(page.url()).pathname).toBe('/sign-in');
  await signIn();
  expect((await answered()).get('error')).toBe('invalid_scope');
});

test('22. a link on another site leads a signed-in person to the consent page', async () => {
  await ask();
  await signIn();
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  const url = authorizeUrl(service, { client_id: clientId, redirect_uri: redirectUri });
  await page.goto(`http://localhost:${port(application)}/`);
  await page.setContent(`<a href="${url.replaceAll('&', '&amp;')}">Connect</a>`);
  await page.getByRole('link', { name: 'Connect' }).click();
  await page.getByRole('button', { name: 'Allow' }).waitFor();
});

test('20. return_to never leads to another origin after sign-in', async () => {
  for (const path of [
    '//evil.example/',
    'https:evil.example',
    '/\\evil.example',
    '/%5Cevil.example/..//evil.example',
    'https://evil.example/',
    '/\t/evil.example',
  ]) {
    await begin();
    await page.goto(`${service.origin}/sign-in?${new URLSearchParams({ return_to: path })}`);
    await signIn();
    await page.waitForURL((url) => url.pathname !== '/sign-in');
    expect([path, new URL(page.url()).origin]).toEqual([path, service.origin]);
  }
});

test('allowing write access long after sign-in asks for the password and then continues', async () => {
  await ask();
  await signIn();
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  service.clock.advance(11 * 60_000);
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByRole('heading', { name: 'Confirm it is you' }).waitFor();
  await page.getByText(ada.email).waitFor();
  await page.getByLabel('Password', { exact: true }).fill('something else');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('The e-mail address or the password is not correct.').waitFor();
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
  expect((await answered()).get('code')).toMatch(/^dkc_/);
});

test('signing out on the consent page and signing in again leads back to the same request', async () => {
  await ask({ state: 'a b&c' });
  await signIn();
  const asked = page.getByRole('button', { name: 'Allow' });
  await asked.waitFor();
  const url = page.url();
  await page.getByRole('link', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Stay' }).click();
  await asked.waitFor();
  await page.getByRole('link', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn();
  await asked.waitFor();
  expect(page.url()).toBe(url);
});

test('a client that opens the consent page in a popup keeps its window, and hears from its callback in it', async () => {
  const host = await listen(({ pathname }) => ({
    text: pathname === '/callback' ? '<script>opener.postMessage(location.search, "*"); close()</script>' : 'A host',
  }));
  onTestFinished(() => void host.close());
  const origin = `http://127.0.0.1:${port(host)}`;
  const hostClient = await addClient(service, ada, { redirectUris: [`${origin}/callback`] });
  const url = authorizeUrl(service, { client_id: hostClient, redirect_uri: `${origin}/callback` });
  const opener = page;
  await opener.goto(origin);
  const opened = opener.waitForEvent('popup');
  await opener.evaluate(`onmessage = ({ data }) => { window.heard = data };
    window.popup = window.open(${JSON.stringify(url)}, 'consent', 'width=600,height=800'); null`);
  page = await opened;
  const expectOpen = async () => expect(await opener.evaluate('window.popup.closed')).toBe(false);
  const allow = page.getByRole('button', { name: 'Allow' });

  await signIn();
  await allow.waitFor();
  await expectOpen();
  const settings = page.waitForEvent('popup');
  await page.getByRole('link', { name: 'Connected clients' }).click();
  await (await settings).close();
  await expectOpen();
  await page.getByRole('link', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn();
  await allow.waitFor();
  service.clock.advance(11 * 60_000);
  await allow.click();
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Continue' }).click();
  await allow.waitFor();
  await expectOpen();
  await allow.click();
  await expect.poll(() => opener.evaluate('window.heard')).toMatch(/[?&]code=dkc_/);
  await expect.poll(() => opener.evaluate('window.popup.closed')).toBe(true);
});

test('a site that opens the sign-in page in a popup for anything else loses its window', async () => {
  const opener = page;
  await opener.goto(`http://localhost:${port(application)}/`);
  const opened = opener.waitForEvent('popup');
  await opener.evaluate(`window.popup = window.open(${JSON.stringify(`${service.origin}/sign-in`)}); null`);
  page = await opened;
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  await expect.poll(() => opener.evaluate('window.popup.closed')).toBe(true);
  expect(await page.evaluate('window.opener')).toBeNull();
});

test('the consent page works without JavaScript and loads nothing from other origins', async () => {
  await ask();
  await signIn();
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  const scriptless = await browser.newContext({ javaScriptEnabled: false });
  await scriptless.addCookies(await page.context().cookies());
  page = await scriptless.newPage();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).origin));
  await ask();
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  expect(new Set(asked)).toEqual(new Set([service.origin]));
  await page.getByRole('button', { name: 'Allow' }).click();
  expect((await answered()).get('code')).toMatch(/^dkc_/);
  await scriptless.close();
});
