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

test('the reference shows every operation, tries one out, and asks no other host for anything', async () => {
  const { token } = await (await brokerage(service)).key();
  const page = await browser.newPage();
  const problems: string[] = [];
  const hosts = new Set<string>();
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol !== 'data:' && protocol !== 'blob:') hosts.add(host);
  });
  await page.goto(`${service.restUrl}/docs`);
  await page.getByText('/contacts/{contactId}').waitFor();
  for (const summary of ['List contacts', 'Create a contact', 'Get a contact']) {
    expect(await page.getByText(summary, { exact: true }).count()).toBe(1);
  }
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.getByRole('textbox', { name: 'auth-bearer-value' }).fill(token);
  await page.getByRole('button', { name: 'Apply credentials' }).click();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText('List contacts', { exact: true }).click();
  await page.getByRole('button', { name: 'Try it out' }).click();
  const [answer] = await Promise.all([
    page.waitForResponse((response) => new URL(response.url()).pathname === '/api/v1/contacts'),
    page.getByRole('button', { name: 'Execute' }).click(),
  ]);
  expect(answer.status()).toBe(200);
  expect([...hosts]).toEqual([new URL(service.origin).host]);
  expect(problems).toEqual([]);
});

test('scripts run from our files alone', async () => {
  const response = await fetch(`${service.restUrl}/docs`);
  expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'self';/);
  expect(await response.text()).not.toMatch(/https?:|<script>|onload/);
});
