import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { errorCodes, operationErrors } from '../../server/rest/envelope.ts';
import { openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { brokerage } from './scene.ts';

let service: TestService;
let browser: Browser;
beforeAll(async () => {
  [service, browser] = await Promise.all([openService(), openBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await service.close();
});

/** Opens a browser for the reader, which is 2 MB of script: the second has it compiled already. */
async function openReader(): Promise<TestPage> {
  const testPage = await openTestPage(browser, service.origin, { locale: 'en-US' });
  testPage.page.setDefaultTimeout(60_000);
  onTestFinished(() => testPage.close());
  return testPage;
}

test('the reference shows the guide and every operation, tries one out, and asks no other host for anything', async () => {
  const tenant = await brokerage(service);
  const { token } = await tenant.key({ environment: 'test' });
  const { page } = await openReader();
  const problems: string[] = [];
  const hosts = new Set<string>();
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol !== 'data:' && protocol !== 'blob:') hosts.add(host);
  });
  await page.goto(`${service.restUrl}/docs#tag/contacts/POST/contacts`);
  await page.getByRole('heading', { name: 'Limits' }).waitFor();
  for (const summary of ['List contacts', 'Create a contact', 'Get a contact'])
    expect(await page.getByRole('heading', { name: summary, exact: true }).count()).toBe(1);
  expect(await page.getByPlaceholder('Token').first().inputValue()).toBe('dk_test_');
  await page.getByPlaceholder('Token').first().fill(token);
  await page.locator('button[method=post]').first().click();
  const questions: string[] = [];
  page.on('dialog', (dialog) => {
    questions.push(dialog.message());
    void dialog.accept();
  });
  const send = async () => {
    const [answer] = await Promise.all([
      page.waitForResponse((response) => new URL(response.url()).pathname === '/api/v1/contacts'),
      page.locator('button[data-addressbar-action=send]').first().click(),
    ]);
    return answer;
  };
  const answer = await send();
  // In the sandbox nothing is lost; what a live key changes is asked for twice.
  expect(questions).toEqual([]);
  // What is sent when nothing is filled in is an example that a person could have in their address book.
  expect([answer.status(), await answer.json()]).toMatchObject([201, { displayName: 'Ron Halvorsen' }]);
  await page.keyboard.press('Escape');
  await page
    .getByPlaceholder('Token')
    .first()
    .fill((await tenant.key()).token);
  await page.locator('button[method=post]').first().click();
  expect((await send()).status()).toBe(201);
  expect(questions).toEqual(['This changes live data. Send it?']);
  expect([...hosts]).toEqual([new URL(service.origin).host]);
  expect(problems).toEqual([]);
});

test('every error leads to its paragraph of the guide', async () => {
  const guide = await (await fetch(`${service.restUrl}/docs/guide.md`)).text();
  const told = [...guide.matchAll(/^### ([a-z_]+)$/gm)].map(([, code]) => code);
  expect(told.toSorted()).toEqual([...new Set([...errorCodes, ...Object.keys(operationErrors)])].toSorted());
  const answer = await fetch(`${service.restUrl}/contacts`);
  const link = /^<(.*)>; rel="help"$/.exec(answer.headers.get('link') ?? '')?.[1];
  expect(link).toBe('/api/v1/docs#description/invalid-token');
  const { page } = await openReader();
  await page.goto(new URL(link!, service.origin).href);
  const heading = page.locator('h3[id$="description/invalid-token"]');
  await heading.waitFor();
  expect(await heading.textContent()).toContain('invalid_token');
  // The reader has scrolled there: it is within the window.
  await expect
    .poll(async () => Math.abs((await heading.boundingBox())?.y ?? 10_000), { timeout: 60_000 })
    .toBeLessThan(700);
});

test('the guide of the reference is docs/rest.md, without how the service is built', async () => {
  const guide = await (await fetch(`${service.restUrl}/docs/guide.md`)).text();
  const source = readFileSync(path.join(import.meta.dirname, '../../docs/rest.md'), 'utf8');
  const headings = (text: string) => [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
  expect(headings(source)).toEqual([...headings(guide), 'How it works']);
  expect(guide).not.toMatch(/\]\((?!https?:|#description\/)/);
});

test('the reader comes compressed for whoever can read that, and is the same', async () => {
  const asked = (encoding: string) =>
    fetch(`${service.restUrl}/docs/reader.js`, { headers: { 'Accept-Encoding': encoding } });
  const [plain, compressed] = await Promise.all([asked('identity'), asked('gzip')]);
  expect([plain, compressed].map((one) => one.headers.get('content-encoding'))).toEqual([null, 'gzip']);
  expect(await compressed.text()).toBe(await plain.text());
});

test('scripts run from our files alone', async () => {
  const response = await fetch(`${service.restUrl}/docs`);
  expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'self';/);
  expect(await response.text()).not.toMatch(/https?:|<script>|onload/);
});

test('the first steps of the guide can be done as they are written', async ({ skip }) => {
  const run = promisify(execFile);
  const isThere = await run('curl', ['--version']).then(
    () => true,
    () => false,
  );
  skip(!isThere, 'curl is not installed here');
  const { token } = await (await brokerage(service)).key({ environment: 'test' });
  const guide = await (await fetch(`${service.restUrl}/docs/guide.md`)).text();
  const quickStart = /^## Quick start$([^]*?)^## /m.exec(guide)?.[1] ?? '';
  const blocks = [...quickStart.matchAll(/^```(\w+)\n([^]*?)^```$/gm)];
  expect(blocks.map(([, language]) => language)).toEqual(['sh', 'sh', 'ts']);
  const env = { ...process.env, DEALKEEP_URL: service.origin, DEALKEEP_KEY: token };
  const folder = await mkdtemp(path.join(os.tmpdir(), 'guide-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const said: string[] = [];
  for (const [, language, text = ''] of blocks) {
    const client = path.join(import.meta.dirname, '../../clients/typescript/src/index.ts');
    const file = path.join(folder, `step.${language}`);
    await writeFile(file, text.replace(/^export .*$/m, '').replace('@dealkeep/client', client));
    const { stdout } = await run(language === 'sh' ? 'sh' : process.execPath, [file], { env, cwd: folder });
    said.push(stdout);
  }
  expect(said[0]).toContain('"pagination"');
  expect(said[1]).toContain('"displayName":"Ron Halvorsen"');
  expect(said[2]).toMatch(/^Ron Halvorsen\n(.+\n)*Northside Mechanical\n[0-9a-f-]{36}\n$/);
});

/** What is used of the linter. */
interface Linter {
  createConfig(config: object): Promise<object>;
  lintFromString(of: object): Promise<readonly { ruleId: string; message: string; location: unknown }[]>;
}

test('the document passes the strict rules of redocly lint', async ({ skip }) => {
  const require = createRequire(import.meta.url);
  let linter: Linter;
  try {
    linter = require('@redocly/openapi-core') as Linter;
  } catch {
    skip('@redocly/openapi-core is not installed here');
    return;
  }
  const source = await (await fetch(`${service.restUrl}/openapi.json`)).text();
  // A description of a service is nobody's to license.
  const config = await linter.createConfig({ extends: ['recommended-strict'], rules: { 'info-license': 'off' } });
  expect(await linter.lintFromString({ source, absoluteRef: '/openapi.json', config })).toEqual([]);
  const broken = source.replace('"operationId":"getContact"', '"operationId":"createContact"');
  expect(await linter.lintFromString({ source: broken, absoluteRef: '/openapi.json', config })).toMatchObject([
    { ruleId: 'operation-operationId-unique' },
  ]);
});
