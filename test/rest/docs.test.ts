import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser } from '../browser.ts';
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

test('the reference shows the guide and every operation, tries one out, and asks no other host for anything', async () => {
  const { token } = await (await brokerage(service)).key({ environment: 'test' });
  const page = await browser.newPage({ locale: 'en-US' });
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
  await page.getByPlaceholder('Token').first().fill(token);
  await page.locator('button[method=post]').first().click();
  const [answer] = await Promise.all([
    page.waitForResponse((response) => new URL(response.url()).pathname === '/api/v1/contacts'),
    page.locator('button[data-addressbar-action=send]').first().click(),
  ]);
  // What is sent when nothing is filled in is an example that somebody could have in their address book.
  expect([answer.status(), await answer.json()]).toMatchObject([201, { displayName: 'Ron Halvorsen' }]);
  expect([...hosts]).toEqual([new URL(service.origin).host]);
  expect(problems).toEqual([]);
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
