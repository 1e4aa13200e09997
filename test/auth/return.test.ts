import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Browser } from 'playwright-core';
import { safeReturnPath } from '../../web/src/lib/return-path.ts';
import { openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { addBrokerage } from '../oauth/scene.ts';
import { openAccount, signedInVisitor, Visitor, type Account } from './scene.ts';

let service: TestService;
let ann: Account;
let browser: Browser;

beforeAll(async () => {
  service = await openService();
  ann = await openAccount(service);
  // Without a brokerage, the application leads to its set-up instead of the sign-in page.
  await addBrokerage(service);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

const signInPage = (returnTo: string) => `/sign-in?${new URLSearchParams({ return_to: returnTo })}`;

/** Signs in on the page at this path. */
async function signIn(testPage: TestPage, path: string): Promise<void> {
  await testPage.go(path);
  await testPage.page.getByLabel('E-mail').fill(ann.email);
  await testPage.page.getByLabel('Password', { exact: true }).fill(ann.password);
  await testPage.page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

const elsewhere = [
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/\\/evil.example',
  'https:evil.example',
  'https://evil.example/',
  'HTTPS:/evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  '%2f%2fevil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '\t//evil.example',
  ' //evil.example',
  '/..//evil.example',
  '/.//evil.example',
  '/a/../..//evil.example',
  '/%2e%2e//evil.example',
  'evil.example',
  '@evil.example',
  '?return_to=//evil.example',
  '',
  '/\u0000',
  '/ evil',
  '/\u2028/evil.example',
];

describe('after signing in', () => {
  it.each(elsewhere)('the unsafe return path %j is replaced by /', (returnTo) => {
    expect(safeReturnPath(returnTo)).toBe('/');
  });

  it('no unsafe return path leads the browser to another origin, with or without an earlier session', async () => {
    const testPage = await openTestPage(browser, service.origin);
    const asked = new Set<string>();
    testPage.page.on('request', (request) => asked.add(new URL(request.url()).origin));
    const home = () => testPage.page.waitForURL((url) => url.href === `${service.origin}/`);
    await signIn(testPage, signInPage('//evil.example'));
    await home();
    for (const returnTo of elsewhere) {
      await testPage.page.goto(service.origin + signInPage(returnTo));
      await home();
    }
    expect(asked).toEqual(new Set([service.origin]));
    await testPage.close();
  });

  it.each([
    '/',
    '/deals?state=listed&q=a+b%20c#top',
    '/%2f%2fevil.example',
    '/%5c%5cevil.example',
    `/api/mcp/authorize?state=${encodeURIComponent('+&=% /ü😀'.repeat(60))}&redirect_uri=https%3A%2F%2Fclient.example%2Fcb%3Fx%3D1`,
  ])('the safe return path %j is kept unchanged', (returnTo) => {
    expect(safeReturnPath(returnTo)).toBe(returnTo);
  });
});

describe('an authorization request', () => {
  const callback = 'https://client.example/callback';
  let clientId: string;

  beforeAll(async () => {
    const [client] = await service.sql<{ id: string }>(
      `insert into connected_clients (created_by, name, redirect_uris) values ($1, 'Assistant', $2) returning id`,
      [ann.id, [callback]],
    );
    clientId = client?.id ?? '';
  });

  const request = (changes: Record<string, string> = {}) =>
    `/api/mcp/authorize?${new URLSearchParams({
      client_id: clientId,
      redirect_uri: callback,
      response_type: 'code',
      code_challenge: 'c'.repeat(43),
      code_challenge_method: 'S256',
      scope: 'mcp:read mcp:write',
      state: '+&=% ü😀/ä',
      ...changes,
    })}`;

  it('is resumed unchanged after sign-in', async () => {
    const visitor = new Visitor(service.origin);
    const sent = await visitor.get(request());
    expect([302, 303]).toContain(sent.status);
    const testPage = await openTestPage(browser, service.origin);
    await signIn(testPage, sent.headers.get('location') ?? '');
    await testPage.page.getByRole('button', { name: 'Allow' }).waitFor();
    expect(testPage.page.url()).toBe(service.origin + request());
    await testPage.close();
  });

  it.each<Record<string, string>>([
    { scope: 'everything' },
    { response_type: 'token' },
    { code_challenge_method: 'plain' },
  ])('requires sign-in before its error is returned: %j', async (fault) => {
    const visitor = new Visitor(service.origin);
    const sent = await visitor.get(request(fault));
    expect(sent.headers.get('location')).toMatch(/^\/sign-in\?return_to=/);
    await visitor.signIn(ann);
    const answered = await visitor.get(request(fault));
    expect(answered.headers.get('location')).toMatch(/^https:\/\/client\.example\/callback\?.*error=/);
  });

  it('is answered for a signed-in user who follows a link from another site', async () => {
    const visitor = new Visitor(service.origin, { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' });
    visitor.cookies.set('dealkeep', (await signedInVisitor(service, ann)).cookies.get('dealkeep') ?? '');
    expect((await visitor.get(request())).status).toBe(200);
  });
});
