/** The page of contacts in a real browser. */

import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { escapeFrom, expectAccessible, loaded, openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { signInAs } from './person.ts';

let service: TestService;
let browser: Browser;
let testPage: TestPage;

beforeAll(async () => {
  service = await openService({ demo: true });
  browser = await openBrowser();
  const { cookie } = await signInAs(service, service.demo.people.broker.user_id);
  testPage = await openTestPage(browser, service.origin, { cookie });
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

/** A message to screen readers, which is not visible. */
const announced = (text: string) => testPage.page.getByRole('status').filter({ hasText: text }).first();
const row = (name: string) => testPage.page.getByRole('row').filter({ hasText: name });

test('a contact is added, found, edited, archived, and restored by undo', async () => {
  const { page } = testPage;
  const own = crypto.randomUUID().slice(0, 8);
  const [name, email] = [`Zora ${own}`, `zora-${own}@example.test`];
  await testPage.go('/contacts');
  await expectAccessible(page);

  await page.getByRole('button', { name: 'New contact' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Add contact' }).click();
  await dialog.getByText('Enter a name.').waitFor();
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByLabel('E-mail').fill('not an address');
  await dialog.getByRole('button', { name: 'Add contact' }).click();
  await dialog.getByText('This is not an e-mail address.').waitFor();
  await expectAccessible(page);
  await dialog.getByLabel('E-mail').fill(email);
  await dialog.getByRole('button', { name: 'Add contact' }).click();
  await page.getByText(`${name} added`).first().waitFor();

  await page.getByRole('searchbox', { name: 'Search contacts' }).fill(name.toLowerCase().slice(0, -1));
  await page.waitForURL('**/contacts?search=zora*');
  await announced('1 result').waitFor({ state: 'attached' });
  await row(email)
    .getByRole('button', { name: `Person: ${name}` })
    .click();
  await page.getByRole('dialog').getByLabel('Phone').fill('+1 555 0199');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await row('+1 555 0199').waitFor();

  await row(email).click();
  await expect.poll(() => page.evaluate(`document.activeElement.closest('[role="dialog"]') !== null`)).toBe(true);
  await escapeFrom(page, page.getByRole('dialog'));
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toContain(email);

  await row(email).click();
  await dialog.getByLabel('Phone').fill('+1 555 0100');
  await dialog.getByRole('button', { name: 'Archive' }).click();
  await page.getByRole('button', { name: 'Keep editing' }).click();
  await page.getByRole('alertdialog').waitFor({ state: 'detached' });
  expect(await dialog.getByLabel('Phone').inputValue()).toBe('+1 555 0100');
  await dialog.getByRole('button', { name: 'Archive' }).click();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByText('No matching contacts').waitFor();
  await page.locator('[data-radix-toast-announce-alt="Press F8 to reach Undo."]').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await row('+1 555 0199').waitFor();
  await announced('Undone').waitFor({ state: 'attached' });
  await page.getByRole('searchbox', { name: 'Search contacts' }).fill(`${name} of whom there is none`);
  await page.getByText('No matching contacts').waitFor();
  await announced('No results').waitFor({ state: 'attached' });
  await page.getByRole('searchbox', { name: 'Search contacts' }).fill(name);
  await row('+1 555 0199').waitFor();

  await page.getByRole('button', { name: `Archive ${name}` }).click();
  await page.getByRole('button', { name: 'Undo' }).hover();
  await page.getByText('No matching contacts').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await row(name).waitFor();
  expect(testPage.complaints).toEqual([]);
});

test('several contacts are archived and restored at once', async () => {
  const { page } = testPage;
  const own = crypto.randomUUID().slice(0, 8);
  await service.sql(
    `insert into contacts (brokerage_id, type, display_name) select $1, 'person', 'Several ' || n || ' ' || $2 from generate_series(1, 6) n`,
    [service.demo.brokerage_id, own],
  );
  await testPage.go(`/contacts?search=${own}`);
  const box = (name: string) => page.getByRole('checkbox', { name });
  await box(`Select Several 2 ${own}`).click();
  await box(`Select Several 5 ${own}`).click({ modifiers: ['Shift'] });
  await announced('4 contacts selected').waitFor();
  await box(`Select Several 3 ${own}`).press('Space');
  await announced('3 contacts selected').waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Archive selected' }).click();
  // The message stays while the mouse is over it.
  await page.getByRole('button', { name: 'Undo' }).hover();
  await page.getByText('3 contacts archived').first().waitFor();
  await row(`Several 5 ${own}`).waitFor({ state: 'detached' });
  for (const n of [1, 3, 6]) await row(`Several ${n} ${own}`).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await row(`Several 5 ${own}`).waitFor();

  await box('Select all contacts shown').click();
  await announced('6 contacts selected').waitFor();
  await page.getByRole('button', { name: 'Archive selected' }).click();
  await page.getByText('No matching contacts').waitFor();
  await testPage.go(`/contacts?archived=true&search=${own}`);
  await box('Select all contacts shown').click();
  await page.getByRole('button', { name: 'Restore selected' }).click();
  await page.getByText('6 contacts restored').first().waitFor();
  await page.getByText('No matching contacts').waitFor();
  expect(testPage.complaints).toEqual([]);
});

test('several contacts are archived at once on a phone, by boxes that a thumb hits', async () => {
  const { page } = testPage;
  const own = crypto.randomUUID().slice(0, 8);
  await service.sql(
    `insert into contacts (brokerage_id, type, display_name) select $1, 'person', 'Thumb ' || n || ' ' || $2 from generate_series(1, 3) n`,
    [service.demo.brokerage_id, own],
  );
  await page.setViewportSize({ width: 390, height: 844 });
  try {
    await testPage.go(`/contacts?search=${own}`);
    await row(`Thumb 3 ${own}`).waitFor();
    /** Taps the box at each edge of the 44 pixels around its middle: it is chosen and no longer, twice. */
    const tapAround = async (name: string) => {
      const box = page.getByRole('checkbox', { name });
      const { x, y, width, height } = (await box.boundingBox())!;
      for (const [dx, dy, checked] of [
        [-21, 0, true],
        [21, 0, false],
        [0, -21, true],
        [0, 21, false],
      ] as const) {
        await page.mouse.click(x + width / 2 + dx, y + height / 2 + dy);
        await expect.poll(() => box.getAttribute('aria-checked')).toBe(String(checked));
      }
    };
    await tapAround('Select all contacts shown');
    for (const n of [1, 2, 3]) await tapAround(`Select Thumb ${n} ${own}`);
    await page.getByRole('checkbox', { name: `Select Thumb 1 ${own}` }).click();
    await page.getByRole('checkbox', { name: `Select Thumb 3 ${own}` }).click();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await announced('2 contacts selected').waitFor();
    await expectAccessible(page);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page.getByRole('button', { name: 'Archive selected' }).click();
    await row(`Thumb 1 ${own}`).waitFor({ state: 'detached' });
    // The card still opens the contact.
    await row(`Thumb 2 ${own}`).getByText('No e-mail or phone').click();
    await page.getByRole('dialog').getByLabel('Name').waitFor();
    await page.getByRole('dialog').press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const pictures = process.env['DEALKEEP_PICTURES'];
    if (pictures) await page.screenshot({ path: `${pictures}/contacts-phone.png` });
  } finally {
    await page.setViewportSize({ width: 1280, height: 800 });
  }
  expect(testPage.complaints).toEqual([]);
});

test('an admin erases a contact for good, and others are not offered it', async () => {
  const { page } = testPage;
  const own = crypto.randomUUID().slice(0, 8);
  await service.sql(`insert into contacts (brokerage_id, type, display_name, email) values ($1, 'person', $2, $3)`, [
    service.demo.brokerage_id,
    `Wanda ${own}`,
    `wanda-${own}@example.test`,
  ]);
  await testPage.go(`/contacts?search=${own}`);
  await row(`Wanda ${own}`).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).waitFor();
  expect(await page.getByRole('dialog').getByRole('button', { name: 'Erase…' }).count()).toBe(0);
  await escapeFrom(page, page.getByRole('dialog'));

  const { cookie } = await signInAs(service, service.demo.people.admin.user_id);
  const ofAdmin = await openTestPage(browser, service.origin, { cookie });
  await ofAdmin.go(`/contacts?search=${own}`);
  await ofAdmin.page.getByRole('row').filter({ hasText: own }).click();
  await ofAdmin.page.getByRole('button', { name: 'Erase…' }).click();
  const question = ofAdmin.page.getByRole('alertdialog', { name: `Erase Wanda ${own}?` });
  await question.getByText('This cannot be undone.').waitFor();
  await expectAccessible(ofAdmin.page);
  await question.getByRole('button', { name: 'Erase contact' }).click();
  await ofAdmin.page.getByText('No matching contacts').waitFor();
  expect(await ofAdmin.page.getByRole('dialog').count()).toBe(0);
  expect(ofAdmin.complaints).toEqual([]);
  await ofAdmin.page.close();
  expect(await service.sql('select from contacts where display_name like $1', [`%${own}`])).toEqual([]);
});

test('the dialog shows the contact chosen last, whether by search or by click', async () => {
  const { page } = testPage;
  await service.sql(`delete from contacts where display_name in ('Orla', 'Otis')`);
  await service.sql(
    `insert into contacts (brokerage_id, type, display_name, email)
     select $1, 'person', name, lower(name) || '@example.test' from unnest(array['Orla', 'Otis']) name`,
    [service.demo.brokerage_id],
  );
  const choose = async (typed: string, name: string | RegExp) => {
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Search deals, contacts, actions').fill(typed);
    await page.getByRole('option', { name, exact: typeof name === 'string' }).click();
  };
  const shows = async (title: string, email: string) => {
    const dialog = page.getByRole('dialog', { name: title, exact: true });
    await dialog.waitFor();
    expect(await dialog.getByLabel('E-mail').inputValue()).toBe(email);
    expect(await page.getByRole('dialog').count()).toBe(1);
    return dialog;
  };
  await testPage.go('/contacts?search=o');
  await choose('orla', /Orla/);
  await shows('Orla', 'orla@example.test');
  await choose('otis', /Otis/);
  await shows('Otis', 'otis@example.test');
  await choose('new contact', 'New contact');
  await shows('New contact', '');
  await escapeFrom(page, page.getByRole('dialog'));

  await testPage.go('/contacts?search=otis');
  await row('otis@example.test').click();
  await shows('Otis', 'otis@example.test');
  await choose('orla', /Orla/);
  const orla = await shows('Orla', 'orla@example.test');
  await orla.getByLabel('Phone').fill('+1 555 0123');
  await orla.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const [{ phones } = { phones: [] }] = await service.sql<{ phones: (string | null)[] }>(
    `select array_agg(phone order by display_name) as phones from contacts where display_name in ('Orla', 'Otis')`,
  );
  expect(phones).toEqual(['+1 555 0123', null]);
  expect(testPage.complaints).toEqual([]);
});

test('a file is previewed before it is imported', async () => {
  const { page } = testPage;
  const own = crypto.randomUUID().slice(0, 8);
  await testPage.go('/contacts');
  await page.getByRole('button', { name: 'Import' }).first().click();
  const dialog = page.getByRole('dialog');
  const choose = (csv: string) =>
    dialog.locator('input[type=file]').setInputFiles({ name: 'c.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
  await choose(`name,email\n,nobody@\n`);
  await dialog.getByText('Nothing can be imported yet').waitFor();
  await dialog.getByText('This is not an e-mail address.').waitFor();
  expect(await dialog.getByRole('button', { name: 'Import', exact: true }).isDisabled()).toBe(true);
  await expectAccessible(page);

  await choose(
    `name,email\nYuri ${own},yuri-${own}@example.test\nYuri again,YURI-${own}@example.test\nXan ${own},\nBad,nobody@\n`,
  );
  await dialog.getByText('2 contacts can be imported').waitFor();
  await dialog.getByText('1 row with errors will be left out.').waitFor();
  await dialog.getByText('Bad: nobody@').waitFor();
  const leftOut = page.waitForEvent('download');
  await dialog.getByRole('button', { name: 'Download the rows left out' }).click();
  expect(await readFile(await (await leftOut).path(), 'utf8')).toMatch(/Same address as row 2[^]*nobody@/);
  await expectAccessible(page);
  await dialog.getByRole('region', { name: 'Rows left out' }).getByText('Same address as row 2').waitFor();
  await dialog.getByRole('region', { name: 'New contacts' }).getByText(`Xan ${own}`).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Keep editing' }).click();
  await page.getByRole('alertdialog').waitFor({ state: 'detached' });
  await dialog.getByRole('button', { name: 'Import 2 contacts' }).click();
  await page.getByText('2 contacts imported, 2 rows left out').first().waitFor();
  await page.getByRole('searchbox', { name: 'Search contacts' }).fill(`yuri ${own}`);
  await row(`Yuri ${own}`).waitFor();

  await page.getByRole('button', { name: 'Import' }).first().click();
  const shared = Array.from({ length: 30 }, (_, n) => `Staff ${n},info-${own}@example.test`);
  const others = Array.from({ length: 60 }, (_, n) => `Other ${n} ${own},`);
  await choose(['name,email', ...others, ...shared].join('\n'));
  const leftOutRows = dialog.getByRole('region', { name: 'Rows left out' });
  await leftOutRows.getByText('Staff 29', { exact: true }).waitFor();
  expect(await leftOutRows.getByText('Same address as row 62').count()).toBe(29);
  await choose(`name,email\nXan ${own},\nYuri,yuri-${own}@example.test\n`);
  await dialog.getByText('Nothing new in this file').waitFor();
  expect(await dialog.getByText('Already in contacts').count()).toBe(2);
  await service.sql(`update contacts set archived_at = app.now() where email = $1`, [`yuri-${own}@example.test`]);
  await choose(`name,email\nYuri,yuri-${own}@example.test\nXenia ${own},\n`);
  await dialog.getByText('1 contact can be imported').waitFor();
  await dialog.getByText('Archived', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Discard' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'New contact' }).click();
  await dialog.getByLabel('E-mail').fill(`YURI-${own}@example.test`);
  await dialog.getByText(`Yuri ${own}, who is archived, already has this address.`).waitFor();
  await service.sql(`update contacts set archived_at = null where email = $1`, [`yuri-${own}@example.test`]);
  await dialog.getByLabel('E-mail').fill('');
  await escapeFrom(page, dialog);

  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).click();
  expect((await download).suggestedFilename()).toBe('contacts.csv');
});

/**
 * Adds contacts and opens the list of them; returns the beginning of their names, which a number of five digits
 * follows.
 */
async function goToMany(count: number): Promise<string> {
  const name = `Vast ${crypto.randomUUID().slice(0, 8)}`;
  await service.sql(
    `insert into contacts (brokerage_id, type, display_name, email)
     select $1, 'person', $2 || ' ' || lpad(n::text, 5, '0'), 'vast' || n || '@example.test' from generate_series(1, $3) n`,
    [service.demo.brokerage_id, name, count],
  );
  await testPage.go(`/contacts?search=${encodeURIComponent(name)}`);
  await row(`${name} 00001`).waitFor();
  return name;
}

test('ten thousand contacts scroll with only a few rows rendered', async () => {
  const { page } = testPage;
  const name = await goToMany(10_000);
  await page.locator('[role=row][data-index]').first().focus();
  await expect
    .poll(
      async () => {
        await page.keyboard.press('End');
        return page.evaluate<number>(`Number(document.activeElement.getAttribute('data-index'))`);
      },
      { timeout: 120_000, interval: 50 },
    )
    .toBe(9999);
  await row(`${name} 10000`).waitFor();
  expect(await page.locator('[role=row][data-index]').count()).toBeLessThan(60);
});

test('a selection says when it is cut to the most at once, and offers nothing to undo where nothing changed', async () => {
  const { page } = testPage;
  const name = await goToMany(1_001);
  await page.locator('[role=row][data-index]').first().focus();
  const last = () => page.evaluate<number>(`Number(document.activeElement.getAttribute('data-index'))`);
  await expect.poll(() => page.keyboard.press('End').then(last), { timeout: 120_000, interval: 50 }).toBe(1000);
  await page.getByRole('checkbox', { name: 'Select all contacts shown' }).click();
  await announced('1,000 contacts selected, 1,000 at most').waitFor();

  await service.sql(
    `update contacts c set archived_at = app.now(), merged_into = (select id from contacts where display_name = $1 || ' 00001')
     where c.display_name = $1 || ' 00002'`,
    [name],
  );
  await testPage.go(`/contacts?archived=true&search=${encodeURIComponent(name)}`);
  await page.getByRole('checkbox', { name: `Select ${name} 00002` }).click();
  await page.getByRole('button', { name: 'Restore selected' }).click();
  await page.getByText('0 contacts restored. Merged duplicates are restored one by one.').first().waitFor();
  expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
});

test('a part of the list that fails to load is requested once, reported, and loaded by a retry', async () => {
  const { page } = testPage;
  let asked = 0;
  await page.route(/\/contacts\?.*cursor=/, (route) => {
    asked += 1;
    // As if a later release had changed the format of cursors.
    return route.continue({ url: route.request().url().replace('cursor=', 'cursor=before.') });
  });
  const missing = page.getByRole('alert').filter({
    hasText: 'The rest could not be loaded. The list cannot continue from here: try again to start over.',
  });
  await goToMany(1_000);
  await page.locator('[role=row][data-index]').first().focus();
  const toTheEnd = async () => {
    await page.keyboard.press('End');
    return page.evaluate<number>(`Number(document.activeElement.getAttribute('data-index'))`);
  };
  await expect.poll(toTheEnd, { interval: 50 }).toBeGreaterThan(0);
  await missing.waitFor();
  const there = await toTheEnd();
  expect(asked).toBe(1);
  await page.unroute(/\/contacts\?.*cursor=/);
  await page.getByRole('button', { name: 'Try again' }).click();
  await missing.waitFor({ state: 'detached' });
  await page.locator('[role=row][data-index]').first().focus();
  await expect.poll(toTheEnd, { interval: 50 }).toBeGreaterThan(there);
});

test('a slow list shows that it is loading', async () => {
  const { page, go } = testPage;
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  await page.route(/\/contacts\?/, async (route) => {
    await held;
    await route.fallback();
  });
  const said = page.getByRole('status').filter({ hasText: 'Loading…' });
  const there = go('/contacts');
  await said.waitFor({ state: 'attached' });
  letGo();
  await there;
  expect(await said.count()).toBe(0);
  await page.unroute(/\/contacts\?/);
});

test('keyboard navigation continues from a contact opened by a click', async () => {
  const { page } = testPage;
  const name = await goToMany(3);
  await row(`${name} 00001`)
    .getByRole('button', { name: `Person: ${name} 00001` })
    .click();
  await escapeFrom(page, page.getByRole('dialog'));
  const focused = () => page.evaluate<string>('document.activeElement.textContent');
  // The focus returns to the row a moment after the dialog is gone.
  await expect.poll(focused).toBe(`Person: ${name} 00001`);
  await page.keyboard.press('ArrowDown');
  await expect.poll(focused).toContain(`${name} 00002`);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: `${name} 00002` }).waitFor();
  expect(await page.getByRole('dialog').count()).toBe(1);
  await escapeFrom(page, page.getByRole('dialog'));
});

test('a phone shows contacts as cards with a sort menu', async () => {
  const { page } = testPage;
  await page.setViewportSize({ width: 390, height: 844 });
  const name = await goToMany(3);
  await expectAccessible(page);
  const first = page.locator('[role=row][data-index="0"]');
  await first.filter({ hasText: `${name} 00001` }).waitFor();
  expect(await page.getByRole('columnheader').getByRole('button').count()).toBe(0);
  const order = page.getByLabel('Sort by');
  expect(await order.inputValue()).toBe('display_name');
  await order.selectOption('Name, descending');
  await first.filter({ hasText: `${name} 00003` }).waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
  await page.setViewportSize({ width: 1280, height: 900 });
});

test('a person without a brokerage sees an explanation instead of contacts', async () => {
  const { cookie } = await signInAs(service, service.demo.people.buyer.user_id);
  const other = await openTestPage(browser, service.origin, { cookie });
  await other.go('/contacts');
  await other.page.getByText('Contacts belong to a brokerage').waitFor();
  await loaded(other.page);
  await expectAccessible(other.page);
  await other.close();
});
