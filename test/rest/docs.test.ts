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

/** Opens a page for the API reference, whose script is 2 MB; the second page finds it already compiled. */
async function openReader(): Promise<TestPage> {
  const testPage = await openTestPage(browser, service.origin, { locale: 'en-US' });
  testPage.page.setDefaultTimeout(60_000);
  onTestFinished(() => testPage.close());
  return testPage;
}

test('the reference shows the guide and every operation, sends a trial request and contacts no other host', async () => {
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
  // A test key changes only the sandbox, so its requests are not confirmed; the changes of a live key are.
  expect(questions).toEqual([]);
  // Without any input, the request is an example that could be in a real address book.
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

test('every error code has a section in the guide, and an error response links to it', async () => {
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
  // The reference has scrolled to the paragraph: the heading is within the window.
  await expect
    .poll(async () => Math.abs((await heading.boundingBox())?.y ?? 10_000), { timeout: 60_000 })
    .toBeLessThan(700);
});

test('the guide in the reference is docs/rest.md without the section on how it works', async () => {
  const guide = await (await fetch(`${service.restUrl}/docs/guide.md`)).text();
  const source = readFileSync(path.join(import.meta.dirname, '../../docs/rest.md'), 'utf8');
  const headings = (text: string) => [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
  expect(headings(source)).toEqual([...headings(guide), 'How it works']);
  expect(guide).not.toMatch(/\]\((?!https?:|#description\/)/);
});

test('the script of the reference is compressed for clients that accept gzip, with the same content', async () => {
  const asked = (encoding: string) =>
    fetch(`${service.restUrl}/docs/reader.js`, { headers: { 'Accept-Encoding': encoding } });
  const [plain, compressed] = await Promise.all([asked('identity'), asked('gzip')]);
  expect([plain, compressed].map((one) => one.headers.get('content-encoding'))).toEqual([null, 'gzip']);
  expect(await compressed.text()).toBe(await plain.text());
});

test("scripts run only from the service's own files", async () => {
  const response = await fetch(`${service.restUrl}/docs`);
  expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'self';/);
  expect(await response.text()).not.toMatch(/https?:|<script>|onload/);
});

test('the quick start of the guide works as written', async ({ skip }) => {
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

/** The part of the linter that is used here. */
interface Linter {
  createConfig(config: object): Promise<object>;
  lintFromString(of: object): Promise<readonly { ruleId: string; message: string; location: unknown }[]>;
}

test('the OpenAPI document passes the strict rules of redocly lint', async ({ skip }) => {
  const require = createRequire(import.meta.url);
  let linter: Linter;
  try {
    linter = require('@redocly/openapi-core') as Linter;
  } catch {
    skip('@redocly/openapi-core is not installed here');
    return;
  }
  const source = await (await fetch(`${service.restUrl}/openapi.json`)).text();
  // The description of a service needs no licence.
  const config = await linter.createConfig({ extends: ['recommended-strict'], rules: { 'info-license': 'off' } });
  expect(await linter.lintFromString({ source, absoluteRef: '/openapi.json', config })).toEqual([]);
  const broken = source.replace('"operationId":"getContact"', '"operationId":"createContact"');
  expect(await linter.lintFromString({ source: broken, absoluteRef: '/openapi.json', config })).toMatchObject([
    { ruleId: 'operation-operationId-unique' },
  ]);
});
