/** A whole sale in the browser, from the set-up of a brokerage to the closed deal, with six people in six browsers. */

import { randomBytes } from 'node:crypto';
import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mintToken, tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { expectAccessible, loaded, openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';

let service: TestService;
let browser: Browser;

const names = {
  admin: 'Ada Lindgren',
  broker: 'Ben Okafor',
  seller: 'Sal Moretti',
  bea: 'Bea Whitlock',
  bob: 'Bob Tanaka',
  advisor: 'Avi Rosen',
} as const;
type Who = keyof typeof names;

const testPages = {} as Record<Who, TestPage>;
const links = {} as Record<Who, string>;
const email = (who: Who) => `${who}@sale.example`;
const title = 'Neighbourhood bakery with two ovens';
let deal: string;

const page = (who: Who) => testPages[who].page;
const button = (who: Who, name: string | RegExp, within?: Locator) =>
  (within ?? page(who)).getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) });
const dialog = (who: Who) => page(who).getByRole('dialog');
const tab = (who: Who, path = '') => testPages[who].visit(`/deals/${deal}${path}`);
/** Confirms in the dialog before an action that cannot be undone. */
const confirm = (who: Who, name: string) => button(who, name, page(who).getByRole('alertdialog')).click();
const said = (who: Who, text: string | RegExp) =>
  page(who)
    .getByRole('region', { name: /Notification/ })
    .getByText(text)
    .first()
    .waitFor();

/** The names of the documents that a person finds in the data room. */
async function documentsOf(who: Who): Promise<string[]> {
  await tab(who, '/documents');
  const shown = await page(who).getByRole('main').getByRole('listitem').locator('p.font-medium').allInnerTexts();
  return shown.toSorted();
}

async function choosePassword(who: Who): Promise<void> {
  await page(who).getByLabel('Password', { exact: true }).fill(randomBytes(18).toString('base64url'));
}

/** Follows an invitation link, chooses a password and joins; ends on the page that the invitation is for. */
async function accept(who: Who): Promise<void> {
  const asked: string[] = [];
  page(who).on('request', (request) => asked.push(request.url().split('#')[0] ?? ''));
  await page(who).goto(links[who]);
  await choosePassword(who);
  // The token of the link is in no URL: neither in a request nor in the address bar.
  const token = /#token=([\w-]{43})$/.exec(links[who])?.[1] ?? 'no token';
  expect([...asked, page(who).url()].filter((url) => url.includes(token) || url.includes('token='))).toEqual([]);
  await button(who, 'Accept and continue').click();
  await page(who)
    .getByRole('heading', { level: 1, name: who === 'broker' ? 'Deals' : title, exact: true })
    .waitFor();
}

beforeAll(async () => {
  service = await openService();
  browser = await openBrowser();
  for (const who of Object.keys(names) as Who[]) testPages[who] = await openTestPage(browser, service.origin);
});

afterAll(async () => {
  await browser?.close();
  await service?.close();
});

describe('a sale', () => {
  test('begins with the set-up of a brokerage and its first admin', async () => {
    const token = mintToken();
    await service.sql('select app.offer_set_up($1)', [tokenDigest(token)]);
    await testPages.admin.go(`/set-up#token=${token}`);
    await page('admin').getByText('The name that buyers and sellers know.').waitFor();
    await page('admin').getByLabel('Brokerage').fill('Harbor Lane Brokers');
    await page('admin').getByLabel('Your name').fill(names.admin);
    await page('admin').getByLabel('E-mail').fill(email('admin'));
    await choosePassword('admin');
    await button('admin', 'Create brokerage').click();
    await page('admin')
      .getByRole('heading', { name: 'Open your first deal' })
      .or(page('admin').getByText('Open your first deal'))
      .first()
      .waitFor();
    await expectAccessible(page('admin'));
  });

  test('each empty list has exactly one button for adding to it', async () => {
    for (const [path, name] of [
      ['/deals', 'New deal'],
      ['/contacts', 'New contact'],
      ['/contacts', 'Import'],
      ['/settings/keys', 'Create key'],
      ['/settings/webhooks', 'Add webhook'],
      ['/settings/clients', 'Register client'],
    ] as const) {
      await testPages.admin.visit(path);
      await page('admin')
        .getByText(/^No (deals|contacts|keys|webhooks|clients) yet$/)
        .waitFor();
      expect(await button('admin', name).count(), `${name} at ${path}`).toBe(1);
    }
  });

  test('a broker is invited to the brokerage and joins', async () => {
    await testPages.admin.visit('/settings/members');
    await button('admin', 'Invite').click();
    await dialog('admin').getByLabel('Name').fill(names.broker);
    await dialog('admin').getByLabel('E-mail').fill(email('broker'));
    await dialog('admin').getByLabel('Role').selectOption('broker');
    await button('admin', 'Invite', dialog('admin')).click();
    links.broker = await dialog('admin').getByLabel('Invitation link').inputValue();
    await button('admin', 'Done').click();
    await accept('broker');
  });

  test('the broker opens a deal', async () => {
    await button('broker', 'New deal').click();
    await dialog('broker').getByLabel('Title').fill(title);
    await dialog('broker').getByLabel('Industry').fill('Bakery');
    await dialog('broker').getByLabel('Location').fill('Portland, OR');
    await dialog('broker').getByLabel('Asking price').fill('1,250,000');
    await dialog('broker').getByLabel('Teaser').fill('Forty years of bread.\n\nThe owner retires.');
    await button('broker', 'Open deal').click();
    await page('broker').getByRole('heading', { level: 1, name: title }).waitFor();
    deal = new URL(page('broker').url()).pathname.split('/')[2]!;
    await page('broker').getByText('$1,250,000').first().waitFor();
    await expectAccessible(page('broker'));
  });

  test('the broker invites the seller, two buyers and an advisor of the seller, and they join', async () => {
    await tab('broker', '/people');
    for (const [who, role] of [
      ['seller', 'Seller'],
      ['bea', 'Buyer'],
      ['bob', 'Buyer'],
      ['advisor', 'Advisor'],
    ] as const) {
      await button('broker', 'Invite').click();
      await dialog('broker').getByLabel('Role').selectOption({ label: role });
      if (who === 'advisor')
        await dialog('broker')
          .getByLabel('Advises')
          .selectOption({ label: `${names.seller} (seller)` });
      await dialog('broker').getByLabel('Name').fill(names[who]);
      await dialog('broker').getByLabel('E-mail').fill(email(who));
      await button('broker', 'Invite', dialog('broker')).click();
      await dialog('broker')
        .getByRole('heading', { name: `${names[who]} is invited` })
        .waitFor();
      links[who] = await dialog('broker').getByLabel('Invitation link').inputValue();
      if (who === 'seller') await expectAccessible(page('broker'));
      await button('broker', 'Done').click();
    }
    for (const who of ['seller', 'bea', 'bob', 'advisor'] as const) await accept(who);
    // Nothing was reloaded: the page got the events that they joined.
    await expect.poll(() => page('broker').getByText('Invited', { exact: true }).count()).toBe(0);
    await page('broker').getByText(`Advises ${names.seller}`).waitFor();
    await expectAccessible(page('broker'));
  });

  test('a buyer sees only the brokers and themself before signing an NDA', async () => {
    await tab('bea', '/people');
    for (const seen of [names.broker, names.bea]) await page('bea').getByRole('main').getByText(seen).first().waitFor();
    await page('bea').getByText('The seller is shown here once your NDA is active.').waitFor();
    for (const hidden of [names.seller, names.bob, names.advisor, names.admin])
      expect(await page('bea').getByText(hidden).count()).toBe(0);
    expect(
      await page('bea')
        .getByRole('link', { name: /QoE|Closing/ })
        .count(),
    ).toBe(0);
    await expectAccessible(page('bea'));
  });

  test('the broker lists the deal and fills the data room, and buyers see only public documents', async () => {
    await tab('broker');
    await button('broker', 'Move to Listed').click();
    await confirm('broker', 'Move to Listed');
    await said('broker', 'The deal has moved to Listed');
    await tab('broker', '/documents');
    await page('broker').getByText('Upload the CIM, the financial statements, the lease').waitFor();
    await button('broker', 'Upload').click();
    for (const [filename, confidentiality] of [
      ['teaser.txt', 'public'],
      ['tax-returns.txt', 'nda_gated'],
      ['customer-names.txt', 'selected_buyer_only'],
    ] as const) {
      await dialog('broker').getByLabel('Who may open them').selectOption(confidentiality);
      const file = { name: filename, mimeType: 'text/plain', buffer: Buffer.from(`This is ${filename}.`) };
      await dialog('broker').locator('input[type=file]').setInputFiles(file);
      await page('broker').locator('main').getByText(filename, { exact: true }).waitFor({ state: 'attached' });
    }
    await button('broker', 'Done').click();
    await expect.poll(() => documentsOf('bea')).toEqual(['teaser.txt']);
  });

  test('the broker sends an NDA to each buyer, both sign it, and gated documents open', async () => {
    await tab('broker', '/nda');
    for (const who of ['bea', 'bob'] as const) {
      await page('broker')
        .getByRole('listitem')
        .filter({ hasText: names[who] })
        .getByRole('button', { name: `Send NDA to ${names[who]}` })
        .click();
      await expect.poll(() => dialog('broker').getByLabel('Terms').inputValue()).toContain('CONFIDENTIALITY AGREEMENT');
      if (who === 'bea') await expectAccessible(page('broker'));
      await button('broker', 'Send NDA', dialog('broker')).click();
      await dialog('broker').waitFor({ state: 'detached' });
    }
    for (const who of ['bea', 'bob'] as const) {
      await testPages[who].go('/');
      await page(who)
        .getByRole('link', { name: /An NDA to sign/ })
        .click();
      await loaded(page(who));
      if (who === 'bea') {
        await button(who, 'Sign NDA').click();
        await page(who).getByText('Enter your full name to sign.').waitFor();
        await expectAccessible(page(who));
      }
      await page(who).getByLabel('I have read the terms and agree to them.').click();
      await page(who).getByLabel('Your full name').fill(names[who]);
      await button(who, 'Sign NDA').click();
      await page(who).getByText('Signed as').waitFor();
    }
    await expect
      .poll(() =>
        page('broker')
          .getByText(/Signed .* as Bea Whitlock/)
          .count(),
      )
      .toBe(1);
    expect(await page('bob').getByText(names.bea).count()).toBe(0);
    await tab('bea', '/people');
    await page('bea').getByRole('main').getByText(names.seller).first().waitFor();
    for (const hidden of [names.bob, names.advisor, names.admin])
      expect(await page('bea').getByText(hidden).count()).toBe(0);
    for (const who of ['bea', 'bob'] as const)
      await expect.poll(() => documentsOf(who)).toEqual(['tax-returns.txt', 'teaser.txt']);
  });

  test('a question goes from the buyer through the broker to the seller, and its answer back', async () => {
    await tab('bea', '/questions');
    await button('bea', 'Ask a question').click();
    await dialog('bea').getByLabel('About').selectOption('employees');
    await dialog('bea').getByLabel('Question').fill('Who bakes on Sundays?');
    await button('bea', 'Ask', dialog('bea')).click();
    await tab('broker', '/questions');
    const release = button('broker', 'Release to seller');
    // Among other questions, the button is described by the question that it releases.
    const described = await release.getAttribute('aria-describedby');
    expect(await page('broker').locator(`[id="${described}"]`).innerText()).toBe('Who bakes on Sundays?');
    await release.click();
    await tab('seller', '/questions');
    await button('seller', 'Answer').click();
    await dialog('seller').getByRole('textbox').fill('The owner and one apprentice.');
    await button('seller', 'Send to broker').click();
    await button('broker', 'Send the answer').click();
    await button('broker', 'Send', dialog('broker')).click();
    await page('bea').getByText('The owner and one apprentice.').waitFor();
    await tab('bob', '/questions');
    expect(await page('bob').getByText('Sundays').count()).toBe(0);
  });

  test('the buyers submit and revise offers, which the broker and the seller compare', async () => {
    const offer = async (who: Who, amounts: Record<string, string>) => {
      await tab(who, '/offers');
      await page(who)
        .getByRole('button', { name: /^(Submit|Revise) offer$/ })
        .click();
      for (const [label, amount] of Object.entries(amounts))
        await dialog(who).getByLabel(label, { exact: false }).first().fill(amount);
      await dialog(who)
        .getByLabel('Financing contingency')
        .selectOption(who === 'bea' ? 'no' : 'yes');
      await dialog(who)
        .getByRole('button', { name: /^Submit/ })
        .click();
      await dialog(who).waitFor({ state: 'detached' });
    };
    await offer('bea', { Price: '1,000,000', 'Cash at close': '800,000', 'Seller note': '200,000' });
    await offer('bob', { Price: '1100000', 'Cash at close': '1100000' });
    await offer('bea', { Price: '1,200,000', 'Cash at close': '1,000,000' });
    for (const who of ['broker', 'seller', 'advisor'] as const) {
      await tab(who, '/offers');
      // The table of valuations follows below.
      const beside = page(who).getByRole('table').first();
      const price = beside.getByRole('row', { name: /^Price/ }).getByRole('cell');
      expect(await price.allInnerTexts()).toEqual([expect.stringMatching(/\$1,200,000\s+Highest/), '$1,100,000']);
      await beside.getByRole('columnheader', { name: new RegExp(names.bob) }).waitFor();
      await expectAccessible(page(who));
    }
    expect(await button('seller', /^Accept/).count()).toBe(0);
    await button('seller', `2 revisions of the offer from ${names.bea}`).click();
    await dialog('seller').getByRole('heading', { name: 'Revision 1' }).waitFor();
    await expectAccessible(page('seller'));
    expect(await page('bea').getByText(names.bob).count()).toBe(0);
  });

  test('the broker accepts the better one, and the deal goes into exclusivity', async () => {
    await button('broker', 'Move to Under offer').click();
    await confirm('broker', 'Move to Under offer');
    await page('broker')
      .getByRole('columnheader', { name: new RegExp(names.bea) })
      .first()
      .waitFor();
    await button('broker', `Accept the offer from ${names.bea}`).first().click();
    await dialog('broker').getByRole('heading', { name: 'Accept the offer of $1,200,000?' }).waitFor();
    await expectAccessible(page('broker'));
    await button('broker', 'Accept offer').click();
    await page('broker')
      .getByRole('region', { name: 'Exclusivity' })
      .getByText(`${names.bea} holds exclusivity`)
      .waitFor();
    // The buyer's page, left open, shows it; the other buyer's page shows nothing.
    await page('bea').getByText('You hold exclusivity').waitFor();
    await page('bea').getByText('Accepted', { exact: true }).first().waitFor();
    await tab('bob', '/offers');
    expect(
      await page('bob')
        .getByText(/Accepted|holds? exclusivity/)
        .count(),
    ).toBe(0);
    expect(await page('bob').getByText(names.bea).count()).toBe(0);
  });

  test('the selected buyer gets further documents and a place in the QoE workspace', async () => {
    await expect.poll(() => documentsOf('bea')).toEqual(['customer-names.txt', 'tax-returns.txt', 'teaser.txt']);
    await expect.poll(() => documentsOf('bob')).toEqual(['tax-returns.txt', 'teaser.txt']);
    await tab('seller', '/qoe');
    await button('seller', 'Upload financials').click();
    const books = 'month,revenue,ebitda\n2030-01,100000,20000\n2030-02,110000,24000\n';
    const file = { name: 'books.csv', mimeType: 'text/csv', buffer: Buffer.from(books) };
    await dialog('seller').locator('input[type=file]').setInputFiles(file);
    await button('seller', 'Save 2 rows').click();
    await said('seller', 'The financials are saved');
    await tab('broker', '/qoe');
    await page('broker').getByText('In the workspace').waitFor();
    await button('broker', 'Add to workspace').click();
    await dialog('broker').getByLabel('Person').selectOption({ label: names.bea });
    await button('broker', 'Add to workspace', dialog('broker')).click();
    await dialog('broker').waitFor({ state: 'detached' });
    await tab('bea', '/qoe');
    await page('bea').getByText('books.csv').waitFor();
    await tab('bob');
    expect(await page('bob').getByRole('link', { name: 'QoE' }).count()).toBe(0);
  });

  test('the deal moves through diligence to closing, and owners meet its conditions', async () => {
    for (const to of ['Diligence', 'Closing']) {
      await button('broker', `Move to ${to}`).click();
      await confirm('broker', `Move to ${to}`);
      await said('broker', `The deal has moved to ${to}`);
    }
    await tab('broker', '/closing');
    for (const [what, owner] of [
      ['The landlord agrees to the new tenant', `${names.seller} (seller)`],
      ['The purchase price is in escrow', `${names.bea} (buyer)`],
    ] as const) {
      await button('broker', 'Add condition').click();
      await dialog('broker').getByLabel('What must be done').fill(what);
      await dialog('broker').getByLabel('Owner').selectOption({ label: owner });
      await dialog('broker').getByLabel('Deadline').fill('2031-03-01');
      await button('broker', 'Add condition', dialog('broker')).click();
      await dialog('broker').waitFor({ state: 'detached' });
    }
    await expectAccessible(page('broker'));
    for (const [who, what] of [
      ['seller', 'The landlord agrees to the new tenant'],
      ['bea', 'The purchase price is in escrow'],
    ] as const) {
      await tab(who, '/closing');
      expect(
        await page(who)
          .getByRole('button', { name: /^Status of/ })
          .count(),
      ).toBe(1);
      await page(who)
        .getByRole('button', { name: `Status of ${what}` })
        .click();
      await page(who).getByRole('menuitemradio', { name: 'Satisfied' }).click();
      await said(who, /is satisfied/);
      await expectAccessible(page(who));
    }
    await page('broker').getByText('2 of 2 satisfied or waived').waitFor();
    await tab('bob');
    expect(
      await page('bob')
        .getByRole('link', { name: /Closing/ })
        .count(),
    ).toBe(0);
  });

  test('the deal is closed, and all participants see it', async () => {
    await tab('seller');
    await tab('bea');
    await button('broker', 'Move to Closed').click();
    await confirm('broker', 'Move to Closed');
    await said('broker', 'The deal has moved to Closed');
    for (const who of ['seller', 'bea', 'bob', 'advisor'] as const)
      await page(who).locator('h1 + p').getByText('Closed', { exact: true }).waitFor();
    await tab('admin');
    await page('admin').getByText('You: admin').waitFor();
    expect(
      await page('admin')
        .getByRole('link', { name: /Offers|Questions|NDA/ })
        .count(),
    ).toBe(0);
    await expectAccessible(page('admin'));

    await tab('broker', '/activity');
    // The page shows its cached list until the refetch is done.
    await page('broker').getByRole('main').getByText('moved the deal to closed').waitFor();
    const listed = await page('broker').getByRole('main').getByRole('listitem').allInnerTexts();
    const lines = listed.map((line) => line.split('\n').find((part) => part.includes(' ')));
    for (const line of [
      `${names.broker} opened the deal`,
      `${names.bea} joined`,
      `${names.bob} signed an NDA`,
      `${names.bea} revised an offer`,
      `${names.broker} accepted an offer`,
      `${names.seller} changed The landlord agrees to the new tenant, now satisfied`,
      `${names.broker} moved the deal to closed`,
    ])
      expect(lines).toContain(line);
    await expectAccessible(page('broker'));
    const [sold] = await service.sql('select state, closed_at is not null as dated from deals where id = $1', [deal]);
    expect(sold).toEqual({ state: 'closed', dated: true });
  });

  test('no browser reported an error', () => {
    for (const [who, { complaints }] of Object.entries(testPages)) expect([who, complaints]).toEqual([who, []]);
  });
});
