/** How many requests the pages may send in a minute, and what they do when they are told to wait. */

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { openBrowser, openTestPage } from '../browser.ts';
import { signInAs, type SignedIn } from './person.ts';
import { openScene, type WebScene } from './scene.ts';

const ceilings = { ...readConfig({}).rateLimits, web_person: 60, web_ip: 200 };
let web: WebScene;
let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
  web = await openScene({ config: { rateLimits: ceilings, trustedProxies: ['127.0.0.1'] } });
});
afterAll(async () => {
  await browser?.close();
  await web?.close();
});

/** Stops the clock in a new minute, by default one second before the minute's end. */
function standInNewMinute(second = 59): void {
  const minute = Math.ceil(web.service.clock.now().getTime() / 60_000) + 1;
  web.service.clock.stand(new Date(minute * 60_000 + second * 1_000));
}

const from = (person: SignedIn | null, address: string) => async () => {
  const headers = { ...person?.headers, 'X-Forwarded-For': address };
  const response = await fetch(`${web.service.origin}/api/web/me`, { headers });
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() };
};
const many = <T>(count: number, send: () => Promise<T>) => Promise.all(Array.from({ length: count }, send));

test('a person’s rate limit covers all their sessions together, and nobody else’s requests', async () => {
  standInNewMinute();
  const broker = web.scene.people['broker']!;
  const [one, two] = [await signInAs(web.service, broker), await signInAs(web.service, broker)];
  const [seller] = [await web.as('seller')];
  // The first response tells the node whose sessions they are; until then, each session is counted by itself.
  for (const session of [one, two]) expect((await from(session, '203.0.113.1')()).status).toBe(200);
  const answers = [...(await many(40, from(one, '203.0.113.1'))), ...(await many(40, from(two, '203.0.113.2')))];
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(20);
  for (const { retryAfter, body } of refused) {
    expect(retryAfter).toBe('1');
    expect(body).toEqual({
      error: { code: 'rate_limited', message: 'Too many requests: try again in 1 second.' },
    });
  }
  expect((await from(seller, '203.0.113.1')()).status).toBe(200);
  standInNewMinute();
  expect((await from(one, '203.0.113.1')()).status).toBe(200);
});

test('requests with an ended session do not count towards the person’s rate limit', async () => {
  standInNewMinute();
  const seller = web.scene.people['seller']!;
  const [ended, own] = [await signInAs(web.service, seller), await signInAs(web.service, seller)];
  for (const session of [ended, own]) expect((await from(session, '203.0.113.5')()).status).toBe(200);
  const signedOut = await fetch(`${web.service.origin}/api/auth/sign-out`, {
    method: 'POST',
    body: '{}',
    headers: { ...ended.headers, 'content-type': 'application/json' },
  });
  expect(signedOut.status).toBe(200);
  standInNewMinute();
  for (let nth = 0; nth < 3; nth += 1) expect((await from(ended, '203.0.113.5')()).status).toBe(401);
  const refused = await many(80, from(ended, '203.0.113.5'));
  expect(refused.some(({ status }) => status === 429)).toBe(true);
  const answers = await many(59, from(own, '203.0.113.6'));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(59);
});

test('an IP address has a rate limit of its own, however many sessions it invents', async () => {
  standInNewMinute();
  let made = 0;
  const madeUp = () => {
    const headers = { cookie: `dealkeep=${String((made += 1)).padStart(43, 'x')}` };
    return from({ headers } as unknown as SignedIn, '203.0.113.3')();
  };
  const statuses = (await many(210, madeUp)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 401)).toHaveLength(200);
  expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  expect((await from(await web.as('broker'), '203.0.113.4')()).status).toBe(200);
});

test('requests about an account have a separate rate limit for each session', async () => {
  standInNewMinute();
  const [taken, own] = [await signInAs(web.service, web.scene.people['seller']!), await web.as('seller')];
  const about = (person: SignedIn, address: string) => async () => {
    const headers = { ...person.headers, 'X-Forwarded-For': address };
    return (await fetch(`${web.service.origin}/api/auth/session`, { headers })).status;
  };
  const statuses = await many(70, about(taken, '203.0.113.6'));
  expect(statuses.filter((status) => status === 200)).toHaveLength(60);
  expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  expect([await about(own, '203.0.113.6')(), (await from(taken, '203.0.113.6')()).status]).toEqual([200, 200]);
  standInNewMinute();
  let made = 0;
  const madeUp = () =>
    about(
      { headers: { cookie: `dealkeep=${String((made += 1)).padStart(43, 'y')}` } } as unknown as SignedIn,
      '203.0.113.7',
    )();
  expect((await many(210, madeUp)).filter((status) => status === 429)).toHaveLength(10);
});

test('unsubscribe links count towards the rate limit of the IP address, together with the pages', async () => {
  standInNewMinute();
  const follow = (method: 'GET' | 'POST') => async () => {
    const headers = { 'X-Forwarded-For': '203.0.113.9' };
    return (await fetch(`${web.service.origin}/unsubscribe?token=unknown`, { method, headers })).status;
  };
  const statuses = [...(await many(105, follow('GET'))), ...(await many(105, follow('POST')))];
  expect(statuses.filter((status) => status === 404)).toHaveLength(200);
  expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  expect((await from(null, '203.0.113.9')()).status).toBe(429);
});

test('a data export is limited to three a minute per person, across sessions', async () => {
  standInNewMinute();
  const sessions = [await web.as('exclusive buyer'), await signInAs(web.service, web.scene.people['exclusive buyer']!)];
  const take = async (nth: number) => {
    const headers = {
      ...sessions[nth % 2]?.headers,
      'Content-Type': 'application/json',
      'X-Forwarded-For': '203.0.113.8',
    };
    const response = await fetch(`${web.service.origin}/api/auth/export`, { method: 'POST', headers, body: '{}' });
    return [response.status, response.headers.get('retry-after')];
  };
  for (const nth of [0, 1, 2]) expect(await take(nth)).toEqual([200, null]);
  for (const nth of [0, 1]) expect(await take(nth)).toEqual([429, '1']);
  standInNewMinute();
  expect((await take(0))[0]).toBe(200);
});

test('a page shows that it is rate-limited or the service is busy, and continues on its own', async () => {
  // The page gives up after three tries. At this second they take long enough for a busy machine to reach the next
  // minute below.
  standInNewMinute(54);
  const broker = await signInAs(web.service, web.scene.people['broker']!);
  const testPage = await openTestPage(browser, web.service.origin, { cookie: broker.cookie });
  await testPage.go('/');
  await many(60, from(broker, '203.0.113.5'));
  await testPage.page.getByRole('link', { name: 'Contacts' }).first().click();
  await testPage.page.getByText('This page will continue on its own').waitFor();
  standInNewMinute();
  await testPage.page.getByText('This page will continue on its own').waitFor({ state: 'detached' });
  await testPage.page.getByRole('heading', { name: 'Contacts' }).waitFor();
  await expect.poll(() => testPage.page.getByText('Too many requests').count()).toBe(0);
  // The service itself is busy: nobody has exceeded a limit.
  let refused = 0;
  await testPage.page.route('**/web/home*', (route) => {
    refused += 1;
    return refused > 1
      ? route.continue()
      : route.fulfill({
          status: 503,
          headers: { 'retry-after': '3' },
          json: { error: { code: 'unavailable', message: 'Try again.' } },
        });
  });
  await testPage.page.goto(web.service.origin);
  await testPage.page.getByText('Dealkeep is busy or restarting.').waitFor();
  await testPage.page.getByText('Dealkeep is busy or restarting.').waitFor({ state: 'detached' });
  expect(testPage.complaints.filter((text) => !/429|503/.test(text))).toEqual([]);
  await testPage.close();
});

test('a rate-limited report download shows when to try again, and works after that', async () => {
  standInNewMinute();
  const broker = await signInAs(web.service, web.scene.people['broker']!);
  const testPage = await openTestPage(browser, web.service.origin, { cookie: broker.cookie });
  const { page } = testPage;
  const books = `/deals/${web.scene.deal}/qoe`;
  await testPage.go(books);
  await many(60, from(broker, '203.0.113.10'));
  const report = page.getByRole('link', { name: 'Download workbook (XLSX)' });
  await report.click();
  await page.getByText('Too many requests: try again in 1 second.', { exact: true }).waitFor();
  expect(new URL(page.url()).pathname).toBe(books);
  standInNewMinute();
  const download = page.waitForEvent('download');
  await report.click();
  expect((await download).suggestedFilename()).toMatch(/\.xlsx$/);
  expect(testPage.complaints.filter((text) => !text.includes('429'))).toEqual([]);
  await testPage.close();
});
