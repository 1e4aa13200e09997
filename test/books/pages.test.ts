/** Long books and many offers on their pages: what is not shown at first is named, and can be shown. */

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser, openTestPage } from '../browser.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { profitAndLoss, uploadTo } from './uploads.ts';

let web: WebScene;
let browser: Browser;
let deal: string;

async function dealOf(title: string): Promise<string> {
  const { sql } = web.service;
  const [made] = await sql<{ id: string }>(
    `insert into deals (organization_id, title, state) values ($1, $2, 'listed') returning id`,
    [web.scene.brokerage, title],
  );
  await sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active')`, [
    made!.id,
    web.scene.people['broker'],
  ]);
  return made!.id;
}

beforeAll(async () => {
  [web, browser] = await Promise.all([openScene(), openBrowser()]);
  deal = await dealOf('Long books, many bids');
});
afterAll(async () => {
  await browser?.close();
  await web?.close();
});

test('the latest years have a column, the others on request, and a partial year names its months', async () => {
  const years = Array.from({ length: 9 }, (_, back) => [`FY${2025 - back}`, 1_000 * (10 - back)] as const);
  await uploadTo(
    web,
    deal,
  )(profitAndLoss({ ...Object.fromEntries(years), '2026-01': 90, '2026-02': 80, '2026-05': 70 }));
  await uploadTo(web, deal)(
    'customer,period,currency,revenue\nAnvil,FY2025,USD,4000\nBirch,FY2025,USD,1000\n',
    'customer_revenue',
  );
  const testPage = await openTestPage(browser, web.service.origin, { cookie: (await web.as('broker')).cookie });
  const { page } = testPage;
  await testPage.go(`/deals/${deal}/qoe`);
  const earned = page.getByRole('region', { name: 'Earnings and margins' }).first();
  // Each above the dates of its period.
  const heads = async () => (await earned.getByRole('columnheader').allInnerTexts()).map((head) => head.split('\n')[0]);
  expect((await heads()).slice(1)).toEqual(['FY2025', 'FY2024', 'FY2023', 'FY2022', 'FY2021', 'FY2020']);
  await page.getByRole('button', { name: 'Show all 10 periods' }).click();
  expect((await heads()).slice(-2)).toEqual(['FY2017', '2026, 3 months']);
  await page.getByText('2026, 3 months (Jan 26 – Feb 26, May 26)').waitFor();

  // A month without figures keeps its place in the chart.
  await page.getByRole('button', { name: 'Table: Revenue and EBITDA by month' }).click();
  const months = await page
    .getByRole('table', { name: 'Revenue and EBITDA by month' })
    .getByRole('row')
    .allInnerTexts();
  expect(months.slice(1).map((row) => row.split(/\s+/).slice(0, 2))).toEqual([
    ['2026-01', '$90'],
    ['2026-02', '$80'],
    ['2026-03', '–'],
    ['2026-04', '–'],
    ['2026-05', '$70'],
  ]);

  // The axis names the many months without figures that it leaves out.
  await uploadTo(web, deal)(profitAndLoss({ '2028-01': 60 }));
  await testPage.go(`/deals/${deal}/qoe`);
  await page.getByText('The axis skips long stretches without figures: Jun 26 – Dec 27 (19 months).').waitFor();
  await page.getByRole('button', { name: 'Table: Revenue and EBITDA by month' }).click();
  await page.getByRole('row', { name: 'Jun 26 – Dec 27 (19 months) – –' }).waitFor();

  await page.getByText('2 customers with $5,000 of $10,000 revenue.').waitFor();
  await page.getByText('40.0% of all revenue').first().waitFor();
  await page.getByText('6,800 by uploaded customers, 1,700 by all revenue').waitFor();
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

test('periods of four and five weeks are all in the chart and the list of bridges, but not as months', async () => {
  const own = await dealOf('Periods of weeks');
  await uploadTo(
    web,
    own,
  )(`period,period_start_date,period_end_date,currency,revenue,ebitda
P1,2025-02-01,2025-02-28,USD,100,20
P2,2025-03-01,2025-03-28,USD,110,21
P3,2025-03-29,2025-05-02,USD,120,22
FY2025,2025-01-01,2025-12-31,USD,1200,240
`);
  const testPage = await openTestPage(browser, web.service.origin, { cookie: (await web.as('broker')).cookie });
  const { page } = testPage;
  await testPage.go(`/deals/${own}/qoe`);
  await page.getByRole('button', { name: 'Table: Revenue and EBITDA by period' }).click();
  const rows = page.getByRole('table', { name: 'Revenue and EBITDA by period' }).getByRole('row');
  await rows.first().waitFor();
  const shown = (await rows.allInnerTexts()).slice(1).map((row) => row.split(/\s+/).slice(0, 2));
  expect(shown).toEqual([
    ['P1', '$100'],
    ['P2', '$110'],
    ['P3', '$120'],
  ]);
  const { body } = await (await web.as('broker')).ask(`/deals/${own}/qoe/bridge`);
  // The first row spans the whole of February, and is a month whatever its label.
  expect(body).toMatchObject({ period_labels: ['FY2025', 'P3', 'P2'], month_labels: ['P1'] });
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

test('the offers page says that there are more offers, shows them, and says which of them its figures cover', async () => {
  await web.service.sql(
    `with bidders as (
       insert into users (email, name) select 'bidder' || n || '@example.test', 'Bidder ' || n from generate_series(1, 52) n
       on conflict do nothing returning id, name),
     parts as (
       insert into participants (deal_id, user_id, role, status) select $1, id, 'buyer', 'active' from bidders returning id, user_id)
     insert into offers (deal_id, participant_id, buyer_user_id, revision_number, is_current, submitted_at, payload)
     select $1, id, user_id, 1, true, app.now(), '{"currency": "USD", "purchase_price": "30000", "cash_at_close": "30000"}' from parts`,
    [deal],
  );
  const testPage = await openTestPage(browser, web.service.origin, {
    cookie: (await web.as('broker')).cookie,
    // So low that the end of the list is far out of view.
    viewport: { width: 1280, height: 300 },
  });
  const { page } = testPage;
  await testPage.go(`/deals/${deal}/offers`);
  await page.getByText('These are the latest 50 offers').waitFor();
  expect(await page.getByText('Computed for the latest 50 offers.').count()).toBe(0);
  await page.getByRole('button', { name: 'Show more offers' }).click();
  await page.getByText('Computed for the latest 50 offers.').waitFor();
  await page.getByText('These are the latest 50 offers').waitFor({ state: 'detached' });
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

test('the home page says which of many deals it lists, and which have no full year of EBITDA', async () => {
  await web.service.sql(
    `with made as (
       insert into deals (organization_id, title, state, asking_price)
       select $1, 'Deal ' || n, 'listed', 1000000 - n from generate_series(1, 11) n returning id)
     insert into participants (deal_id, user_id, role, status) select id, $2, 'broker', 'active' from made`,
    [web.scene.brokerage, web.scene.people['broker']],
  );
  const [short] = await web.service.sql<{ id: string }>(`select id from deals where title = 'Deal 1'`);
  await uploadTo(web, short!.id)(profitAndLoss({ '2026-01': 90, '2026-02': 80 }));
  const testPage = await openTestPage(browser, web.service.origin, { cookie: (await web.as('broker')).cookie });
  const { page } = testPage;
  await testPage.go('/');
  await page.getByText(/^The 10 of \d\d deals with the highest asking prices:$/).waitFor();
  await page.getByRole('link', { name: /^Deal 1\b.*No full-year EBITDA yet/ }).waitFor();
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});
