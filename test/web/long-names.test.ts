/**
 * Names of the maximum length without a space do not make a page scroll sideways, neither on the narrowest phone nor on
 * a desktop.
 */

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser, openTestPage } from '../browser.ts';
import { signInAs } from './person.ts';
import { openScene, type WebScene } from './scene.ts';

let web: WebScene;
let browser: Browser;

const long = (length: number): string => 'Unbroken'.repeat(Math.ceil(length / 8)).slice(0, length);

beforeAll(async () => {
  web = await openScene({ config: { features: { findings: true, financing: true } } });
  const rename = async (table: string, column: string, length: number) =>
    web.service.sql(`update ${table} set ${column} = $1`, [long(length)]);
  await rename('deals', 'title', 200);
  await web.service.sql('update deals set industry = $1, location = $1', [long(120)]);
  await rename('users', 'name', 200);
  await web.service.sql(`update users set email = lower($1) || right(id::text, 12) || '@example.test'`, [long(50)]);
  await rename('brokerages', 'name', 200);
  for (const table of ['documents', 'production_documents'])
    await web.service.sql(`update ${table} set filename = $1 || '.pdf', category = $2`, [long(200), long(64)]);
  await rename('questions', 'question_text', 1000);
  await rename('question_answers', 'answer_text', 1000);
  await rename('closing_conditions', 'name', 200);
  await web.service.sql('update findings set title = $1, category = $2', [long(120), long(64)]);
  await rename('finding_comments', 'body', 1000);
  await rename('financing_sources', 'source_name', 256);
  await rename('contacts', 'display_name', 200);
  await rename('api_keys', 'name', 100);
  await rename('connected_clients', 'name', 100);
  await web.service.sql('update qoe_checklist set category = $1, title = $2', [long(64), long(200)]);
  await rename('normalizations', 'period_label', 64);
  await rename('normalizations', 'rationale', 500);
  await rename('customer_revenues', 'customer_name', 200);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await web?.close();
});

const tabs = [
  '',
  '/nda',
  '/documents',
  '/questions',
  '/qoe',
  '/offers',
  '/closing',
  '/findings',
  '/financing',
  '/people',
];
const paths: Record<string, (deal: string) => string[]> = {
  broker: (deal) => ['/', '/deals', '/contacts', '/settings/tools', ...tabs.map((tab) => `/deals/${deal}${tab}`)],
  'exclusive buyer': (deal) => ['/questions', '/offers', '/findings', '/qoe'].map((tab) => `/deals/${deal}${tab}`),
  admin: (deal) => [
    ...['profile', 'brokerage', 'members', 'keys', 'clients', 'audit'].map((page) => `/settings/${page}`),
    `/deals/${deal}/activity`,
  ],
};

test.each(Object.keys(paths))(
  'names of the maximum length do not make pages scroll sideways for the %s',
  { timeout: 240_000 },
  async (caller) => {
    const { cookie } = await signInAs(web.service, web.scene.people[caller]!);
    const { page, visit, close } = await openTestPage(browser, web.service.origin, { cookie });
    const wide: string[] = [];
    for (const path of paths[caller]!(web.scene.deal)) {
      await visit(path);
      for (const width of [320, 390, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        const over = () => page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
        const fits = await expect
          .poll(over)
          .toBe(0)
          .then(
            () => true,
            () => false,
          );
        if (!fits) wide.push(`${path.replace(web.scene.deal, 'deal')} at ${width}`);
      }
    }
    expect(wide).toEqual([]);
    await close();
  },
);
