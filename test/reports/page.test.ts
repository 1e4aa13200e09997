/** Reports are also downloaded from the page of offers, by everybody who sees it, with what it shows them. */

import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectAccessible, openBrowser, openTestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { signInAs } from '../web/person.ts';
import { printedOf, sheetsOf } from './files.ts';

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

test.each(['broker', 'other_buyer'] as const)(
  'the offers page lets the %s download a PDF and a workbook with exactly the offers that it shows',
  async (name) => {
    const deal = service.demo.deals.with_everything;
    const person = await signInAs(service, service.demo.people[name].user_id);
    const { items } = (await person.ask(`/deals/${deal}/offers`)).body;
    const all = (await (await signInAs(service, service.demo.people.broker.user_id)).ask(`/deals/${deal}/offers`)).body
      .items as { buyer_name: string; mine: boolean }[];
    const testPage = await openTestPage(browser, service.origin, { cookie: person.cookie });
    try {
      await testPage.go(`/deals/${deal}/offers`);
      const downloaded = async (link: string) => {
        const download = testPage.page.waitForEvent('download', { timeout: 60_000 });
        await testPage.page.getByRole('link', { name: link }).click();
        return readFile(await (await download).path());
      };
      const { text } = await printedOf(await downloaded('Download report (PDF)'));
      const sheets = await sheetsOf(await downloaded('Download workbook (XLSX)'));
      const called = items.map((offer: (typeof all)[number]) => (offer.mine ? 'Your offer' : offer.buyer_name));
      expect(
        sheets
          .get('Offers')?.[3]
          ?.slice(1)
          .filter((cell) => cell !== null)
          .toSorted(),
      ).toEqual(called.toSorted());
      for (const { buyer_name } of all)
        expect([buyer_name, text.includes(buyer_name) && !text.includes(`Prepared for ${buyer_name}`)]).toEqual([
          buyer_name,
          called.includes(buyer_name),
        ]);
      await expectAccessible(testPage.page);
    } finally {
      await testPage.close();
    }
  },
);
