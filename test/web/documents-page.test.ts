/**
 * The data room in a real browser: files are dropped, previewed, changed and removed, and seen by those who may open
 * them.
 */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Browser, Locator, Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { renewForAnotherTry } from '../another-try.ts';
import { escapeFrom, expectAccessible, openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { signInAs } from './person.ts';
import { openScene, type WebScene } from './scene.ts';
import { aLargePdf, aPdf, aPng, upload } from './uploads.ts';

let web: WebScene;
let browser: Browser;
const testPages: TestPage[] = [];
const shared = new Map<string, TestPage>();

beforeAll(async () => {
  web = await openScene();
  browser = await openBrowser();
});
renewForAnotherTry(async () => {
  await Promise.all([...shared.values()].map((testPage) => testPage.close()));
  shared.clear();
  await web.close();
  web = await openScene();
});
afterEach(async () => {
  for (const { complaints } of [...testPages, ...shared.values()]) expect(complaints).toEqual([]);
  await Promise.all(testPages.splice(0).map((testPage) => testPage.close()));
});
afterAll(async () => {
  await browser?.close();
  await web?.close();
});

/** The documents page of the scene's deal, opened as a caller of the scene in a browser for this test alone. */
async function roomOf(caller: string, { width = 1280 } = {}): Promise<Page> {
  const { cookie } = await signInAs(web.service, web.scene.people[caller]!);
  const testPage = await openTestPage(browser, web.service.origin, { cookie, viewport: { width, height: 900 } });
  testPages.push(testPage);
  await testPage.go(`/deals/${web.scene.deal}/documents`);
  return testPage.page;
}

/**
 * The same in a caller's browser, shared by tests that leave it as they found it: a new one would load the application
 * again.
 */
async function sharedRoomOf(caller: string): Promise<Page> {
  const { cookie } = await web.as(caller);
  const testPage = shared.get(caller) ?? (await openTestPage(browser, web.service.origin, { cookie }));
  shared.set(caller, testPage);
  await testPage.visit(`/deals/${web.scene.deal}/documents`);
  return testPage.page;
}

const password = 'correct horse battery staple';
async function givePassword(caller: string): Promise<void> {
  const phc = await hashPassword(password, web.service.config.passwordParameters);
  await web.service.sql('insert into vault.passwords (user_id, phc) values ($1, $2)', [web.scene.people[caller], phc]);
}

const rows = (page: Page): Locator => page.getByRole('list', { name: 'Documents' }).getByRole('listitem');
const row = (page: Page, name: string): Locator => rows(page).filter({ hasText: name });
const choose = async (page: Page, name: string, item: string) => {
  await page.getByRole('button', { name: `More about ${name}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
};
const add = async (filename: string, body: Buffer, confidentiality = 'public') => {
  const { status } = await upload(web.service, await web.as('broker'), web.scene.deal, body, {
    filename,
    confidentiality,
  });
  expect(status).toBe(201);
};

test('several files are uploaded at once, and each rejected file shows the reason', async () => {
  const page = await sharedRoomOf('broker');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Upload' }).click();
  const drawer = page.getByRole('dialog', { name: 'Upload documents' });
  await drawer.getByLabel('Category').selectOption('Tax');
  await drawer.getByLabel('Who may open them').selectOption('Under NDA');
  await drawer.locator('input[type=file]').setInputFiles([
    ...['Empty 1.pdf', 'Empty 2.pdf', 'Empty 3.pdf'].map((name) => ({
      name,
      mimeType: 'application/pdf',
      buffer: Buffer.alloc(0),
    })),
    { name: 'Returns 2025.pdf', mimeType: 'application/pdf', buffer: aPdf() },
    { name: 'Plan of the yard.png', mimeType: 'image/png', buffer: aPng() },
    { name: 'Vans.csv', mimeType: 'text/csv', buffer: Buffer.from('Van,Age\r\n1,7\r\n') },
    { name: 'Invoice.pdf', mimeType: 'application/pdf', buffer: Buffer.from('MZ this is a program') },
  ]);
  const uploads = drawer.getByRole('list', { name: 'Uploads' });
  await expect.poll(() => uploads.getByText('Uploaded').count()).toBe(3);
  await uploads.getByText('contains a program').waitFor();
  await uploads.getByText('The file is empty.').first().waitFor();
  await page
    .getByRole('status')
    .filter({ hasText: '3 files uploaded. 4 files could not be uploaded.' })
    .waitFor({ state: 'attached' });
  await uploads.getByRole('button', { name: 'Send Invoice.pdf again' }).waitFor();
  await expectAccessible(page);
  await drawer.getByRole('button', { name: 'Clear finished' }).click();
  await drawer.getByRole('button', { name: 'Done' }).click();
  for (const name of ['Returns 2025.pdf', 'Plan of the yard.png', 'Vans.csv']) {
    await row(page, name).getByText('Under NDA').waitFor();
    await row(page, name).getByText('Tax').waitFor();
  }
  expect(await row(page, 'Invoice.pdf').count()).toBe(0);
});

test('many files are uploaded with few requests for the lists, and wait while others of the person are being sent', async () => {
  const page = await roomOf('seller');
  const requests: string[] = [];
  page.on('request', (request) => request.method() === 'GET' && requests.push(request.url()));
  await page.getByRole('button', { name: 'Upload' }).click();
  const drawer = page.getByRole('dialog', { name: 'Upload documents' });
  const send = (from: number, to: number) =>
    drawer.locator('input[type=file]').setInputFiles(
      Array.from({ length: to - from }, (_, at) => ({
        name: `Receipt ${from + at}.csv`,
        mimeType: 'text/csv',
        buffer: Buffer.from(`Receipt,${from + at}\n`),
      })),
    );
  const uploads = drawer.getByRole('list', { name: 'Uploads' });
  await send(0, 60);
  await expect.poll(() => uploads.getByText('Uploaded').count(), { timeout: 20_000 }).toBe(60);
  // Each list at once, and then once a second at most.
  expect(requests.length).toBeLessThan(60);

  // A person sends at most four files at once, also from elsewhere.
  const elsewhere: { end: () => void; sent: Promise<unknown> }[] = [];
  const seller = await web.as('seller');
  for (let number = 1; number <= 4; number += 1) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    void writer.write(Buffer.from('Van,Age\n'));
    const query = { filename: `Vans ${number}.csv`, confidentiality: 'public' };
    const sent = upload(web.service, seller, web.scene.deal, readable, query);
    elsewhere.push({ end: () => void writer.close(), sent });
  }
  await expect
    .poll(async () => (await upload(web.service, seller, web.scene.deal, aPdf(), { filename: 'One more.pdf' })).status)
    .toBe(429);
  const refused = page.waitForResponse((response) => response.status() === 429);
  await send(60, 66);
  await refused;
  await uploads.getByText('Too many files are being sent: this one follows.').first().waitFor();
  for (const { end } of elsewhere) end();
  await expect.poll(() => uploads.getByText('Uploaded').count(), { timeout: 20_000 }).toBe(66);
  expect(await uploads.getByText('Failed').count()).toBe(0);
  await Promise.all(elsewhere.map(({ sent }) => sent));
  await web.service.sql(`delete from documents where filename ~ '^(Receipt|Vans|One more)'`);
}, 60_000);

test('a large upload shows its progress, continues with the drawer closed, and can be stopped', async () => {
  const page = await roomOf('seller');
  // Slower than any network here, so that the progress can be seen.
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  const letThrough = (bytesPerSecond: number) =>
    devtools.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: bytesPerSecond,
    });
  await letThrough(100_000);
  await page.getByRole('button', { name: 'Upload' }).click();
  const drawer = page.getByRole('dialog');
  // Chromium reads them itself: handed over as buffers, the page would spend seconds to decode them.
  const folder = await mkdtemp(path.join(os.tmpdir(), 'scans-'));
  const files = ['Scans, part 1.pdf', 'Scans, part 2.pdf'].map((name) => path.join(folder, name));
  for (const file of files) await writeFile(file, Buffer.concat([aPdf(), Buffer.alloc(3_000_000)]));
  await drawer.locator('input[type=file]').setInputFiles(files);
  const progress = drawer.getByRole('progressbar', { name: 'Upload of Scans, part 1.pdf' });
  await expect.poll(async () => Number(await progress.getAttribute('aria-valuenow'))).toBeGreaterThan(5);
  expect(Number(await progress.getAttribute('aria-valuenow'))).toBeLessThan(100);
  await drawer.getByRole('button', { name: 'Stop Scans, part 2.pdf' }).click();
  await drawer.getByText('Stopped').waitFor();
  await drawer.getByRole('button', { name: 'Continue in the background' }).click();
  await page.getByText(/^Uploading: \d+%$/).waitFor();
  await letThrough(-1);
  await row(page, 'Scans, part 1.pdf').waitFor();
  expect(await row(page, 'Scans, part 2.pdf').count()).toBe(0);
  await page.getByText(/^Uploading/).waitFor({ state: 'detached' });
  // Detaching ends the throttling.
  await devtools.detach();
  await rm(folder, { recursive: true });
});

/**
 * Drops files in a data room whose uploads are held back, and goes to the deal's people; returns the held requests, by
 * file name.
 */
async function leaveUploading(page: Page, names: readonly string[]): Promise<ReadonlyMap<string, Route>> {
  const held = new Map<string, Route>();
  await page.route('**/api/web/deals/*/documents?filename=*', (route) => {
    held.set(new URL(route.request().url()).searchParams.get('filename')!, route);
  });
  await page.getByRole('button', { name: 'Upload' }).click();
  const drawer = page.getByRole('dialog', { name: 'Upload documents' });
  await drawer.getByLabel('Category').selectOption('Tax');
  await drawer
    .locator('input[type=file]')
    .setInputFiles(names.map((name) => ({ name, mimeType: 'application/pdf', buffer: aPdf() })));
  await expect.poll(() => held.size).toBe(names.length);
  await drawer.getByRole('button', { name: 'Continue in the background' }).click();
  await page.getByRole('link', { name: 'People', exact: true }).click();
  await page.getByRole('heading', { name: 'People', exact: true }).waitFor();
  return held;
}

test('uploads continue on another page, failures are reported there, and the list shows them again on return', async () => {
  const page = await roomOf('seller');
  const held = await leaveUploading(page, ['Survey.pdf', 'Permit.pdf']);
  await held.get('Permit.pdf')!.abort();
  await page.getByText('Permit.pdf could not be uploaded.').first().waitFor();
  await page.getByRole('link', { name: 'Documents', exact: true }).click();
  await page.getByText(/^Uploading: \d+%$/).waitFor();
  await held.get('Survey.pdf')!.continue();
  await row(page, 'Survey.pdf').waitFor();
  await page.getByText('1 file could not be uploaded.', { exact: true }).waitFor();
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Show' }).click();
  const uploads = page.getByRole('dialog').getByRole('list', { name: 'Uploads' });
  await uploads.getByText('The upload was interrupted.').waitFor();
  await uploads.getByRole('button', { name: 'Send Permit.pdf again' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();
  await row(page, 'Permit.pdf').getByText('Tax').waitFor();
});

test('files whose upload was interrupted are sent again all at once', async () => {
  const page = await roomOf('seller');
  const address = '**/api/web/deals/*/documents?filename=*';
  await page.route(address, (route) => route.abort());
  await page.getByRole('button', { name: 'Upload' }).click();
  const drawer = page.getByRole('dialog', { name: 'Upload documents' });
  const photos = ['Van 1.png', 'Van 2.png', 'Van 3.png', 'Van 4.png'];
  await drawer
    .locator('input[type=file]')
    .setInputFiles([
      ...photos.map((name) => ({ name, mimeType: 'image/png', buffer: aPng() })),
      { name: 'Empty.pdf', mimeType: 'application/pdf', buffer: Buffer.alloc(0) },
    ]);
  const uploads = drawer.getByRole('list', { name: 'Uploads' });
  await expect.poll(() => uploads.getByText('Failed').count()).toBe(5);
  await page.unroute(address);
  await drawer.getByRole('button', { name: 'Send 4 files again' }).click();
  await expect.poll(() => uploads.getByText('Uploaded').count()).toBe(4);
  expect(await uploads.getByText('Failed').count()).toBe(1);
  await drawer.getByRole('button', { name: 'Done' }).click();
  for (const name of photos) await row(page, name).waitFor();
  // Longer lists leave rows of later tests out of sight.
  await web.service.sql('delete from documents where filename = any ($1)', [photos]);
});

test('an upload whose response was lost is reported as possibly arrived', async () => {
  const page = await roomOf('seller');
  const devtools = await page.context().newCDPSession(page);
  devtools.on('Fetch.requestPaused', ({ requestId }) => {
    void devtools.send('Fetch.failRequest', { requestId, errorReason: 'ConnectionReset' });
  });
  await devtools.send('Fetch.enable', { patterns: [{ urlPattern: '*filename=Title*', requestStage: 'Response' }] });
  await page.getByRole('button', { name: 'Upload' }).click();
  const drawer = page.getByRole('dialog', { name: 'Upload documents' });
  await drawer.getByLabel('Category').selectOption('Tax');
  await drawer
    .locator('input[type=file]')
    .setInputFiles([{ name: 'Title.pdf', mimeType: 'application/pdf', buffer: aPdf() }]);
  await drawer.getByText('The file may have arrived: check before you upload it again.').waitFor();
  await drawer.getByRole('button', { name: 'Done' }).click();
  await row(page, 'Title.pdf').waitFor();
  await devtools.detach();
});

test('signing out during an upload asks for confirmation and then aborts the upload', async () => {
  const page = await roomOf('seller');
  await leaveUploading(page, ['Roof.pdf']);
  const signOut = async () => {
    await page.getByRole('banner').getByRole('button', { name: 'seller' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    return page.getByRole('alertdialog', { name: 'Sign out while files are uploading?' });
  };
  await (await signOut()).getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('alertdialog').waitFor({ state: 'detached' });
  const stopped = page.waitForEvent('requestfailed', (request) => request.url().includes('filename=Roof'));
  await (await signOut()).getByRole('button', { name: 'Sign out' }).click();
  await stopped;
  await page.waitForURL('**/sign-in');
  await page.unrouteAll();
});

test('leaving the page asks for confirmation if upload fields were filled in but no file was dropped', async () => {
  const page = await roomOf('broker');
  await page.getByRole('button', { name: 'Upload' }).click();
  const drawer = page.getByRole('dialog', { name: 'Upload documents' });
  const request = drawer.getByLabel('Produced for a request');
  await request.fill('Leases, all of them');
  await drawer.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('link', { name: 'People', exact: true }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Keep editing' }).click();
  await page.getByRole('alertdialog').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Upload' }).click();
  expect(await request.inputValue()).toBe('Leases, all of them');
});

test('dragging files over the page opens the upload drawer with its drop area', async () => {
  const page = await sharedRoomOf('broker');
  await page.evaluate(`(() => {
    const carried = new DataTransfer();
    carried.items.add(new File(['Item,Count\\n'], 'Dropped.csv', { type: 'text/csv' }));
    window.carried = carried;
    document.body.dispatchEvent(new DragEvent('dragenter', { bubbles: true, dataTransfer: carried }));
  })()`);
  const drawer = page.getByRole('dialog', { name: 'Upload documents' });
  await drawer.getByText('Drop files here').waitFor();
  await page.evaluate(`(() => {
    const place = [...document.querySelectorAll('[role=dialog] p')].find((one) => one.textContent.startsWith('Drop files'));
    place.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: window.carried }));
  })()`);
  await drawer.getByText('Uploaded').waitFor();
  await drawer.getByRole('button', { name: 'Done' }).click();
  await row(page, 'Dropped.csv').waitFor();
});

test('the files in a dropped folder are uploaded, with those in its folders', async () => {
  const page = await roomOf('seller');
  const folder = await mkdtemp(path.join(os.tmpdir(), 'dropped-'));
  await mkdir(path.join(folder, 'Leases', '2025'), { recursive: true });
  await mkdir(path.join(folder, 'Nothing'));
  const files = {
    'Leases/Corner shop.pdf': aPdf(),
    'Leases/2025/Loading bay.png': aPng(),
    'Leases/.hidden': Buffer.from('x'),
  };
  for (const [name, body] of Object.entries(files)) await writeFile(path.join(folder, name), body);
  await page.getByRole('button', { name: 'Upload' }).click();
  const drawer = page.getByRole('dialog', { name: 'Upload documents' });
  const area = drawer.getByText('Drop files here');
  const devtools = await page.context().newCDPSession(page);
  const drop = async (name: string) => {
    // Waits until the drawer has stopped moving.
    await area.hover();
    const place = await area.boundingBox();
    const data = { items: [], files: [path.join(folder, name)], dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
      await devtools.send('Input.dispatchDragEvent', { type, x: place!.x + 5, y: place!.y + 5, data });
  };
  const uploads = drawer.getByRole('list', { name: 'Uploads' });
  await drop('Nothing');
  await drawer.getByText('There is no file in the folder.').waitFor();
  expect(await uploads.count()).toBe(0);
  await drop('Leases');
  await expect.poll(() => uploads.getByText('Uploaded').count()).toBe(2);
  expect(await uploads.getByRole('listitem').count()).toBe(2);
  await drawer.getByRole('button', { name: 'Done' }).click();
  for (const name of ['Corner shop.pdf', 'Loading bay.png']) await row(page, name).waitFor();
  await devtools.detach();
  await rm(folder, { recursive: true });
  await web.service.sql(`delete from documents where filename in ('Corner shop.pdf', 'Loading bay.png')`);
});

test('PDFs and images are previewed in the page, and the broker sees who opened them', async () => {
  await add('Lease.pdf', aPdf());
  await add('Plan.png', aPng());
  const page = await roomOf('other buyer');
  await page.getByRole('button', { name: 'Preview Lease.pdf' }).click();
  const dialog = page.getByRole('dialog', { name: 'Lease.pdf' });
  await dialog.getByText('1 page').waitFor();
  await dialog.getByRole('region', { name: 'Pages' }).waitFor();
  await dialog.getByRole('heading', { name: 'Page 1' }).waitFor({ state: 'attached' });
  await dialog.getByText('The shop is let from year to year.').waitFor({ state: 'attached' });
  // Something was drawn: some pixels of the page are dark.
  const drawn = `(() => {
    const canvas = document.querySelector('[role=dialog] canvas');
    if (!canvas.width) return false;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    for (let at = 0; at < data.length; at += 4)
      if (data[at] < 128 || data[at + 1] < 128 || data[at + 2] < 128) return true;
    return false;
  })()`;
  await expect.poll(() => page.evaluate(drawn)).toBe(true);
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Zoom in' }).click();
  await dialog.getByText('125%').waitFor();
  await expect.poll(() => page.evaluate(drawn)).toBe(true);
  for (const shown of ['100%', '75%', '50%']) {
    await dialog.getByRole('button', { name: 'Zoom out' }).click();
    await dialog.getByText(shown).waitFor();
  }
  // At the smallest zoom the button is disabled, but keeps the focus.
  await dialog.getByRole('button', { name: 'Zoom out', disabled: true }).and(page.locator(':focus')).waitFor();
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();

  await page.getByRole('button', { name: 'Preview Plan.png' }).click();
  const picture = page.getByRole('dialog').getByRole('img', { name: 'Plan.png' });
  await picture.waitFor();
  await expect.poll(() => page.evaluate(`document.querySelector('[role=dialog] img').naturalWidth`)).toBe(640);
  await expectAccessible(page);
  await escapeFrom(page, page.getByRole('dialog'));
  expect(await page.getByRole('button', { name: /More about|Opened/ }).count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Upload' }).count()).toBe(0);

  const broker = await roomOf('broker');
  await broker.getByRole('button', { name: 'Opened 1 time: Lease.pdf' }).click();
  const drawer = broker.getByRole('dialog', { name: 'Who opened it' });
  await drawer.getByText('other buyer').waitFor();
  expect(await drawer.getByRole('listitem').count()).toBe(1);
  await expectAccessible(broker);
});

test('a PDF page that could not be fetched shows an error, and appears after "Try again"', async () => {
  await add('Scans of the yard.pdf', aLargePdf());
  const page = await roomOf('viewer');
  // PDF.js leaves a promise rejected without a handler, which the browser reports.
  const { close } = testPages.pop()!;
  await page.route('**/preview', (route) => {
    const start = Number(/^bytes=(\d+)/.exec(route.request().headers()['range'] ?? '')?.[1] ?? 0);
    return start > 1_000_000 && start < 3_000_000 ? route.abort() : route.continue();
  });
  await page.getByRole('button', { name: 'Preview Scans of the yard.pdf' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('First page').waitFor({ state: 'attached' });
  await dialog.getByRole('heading', { name: 'Page 2' }).scrollIntoViewIfNeeded();
  await dialog.getByText('Page 2 could not be shown.').waitFor();
  await page.unrouteAll();
  await dialog.getByRole('button', { name: 'Try again' }).click();
  await dialog.getByText('Second page').waitFor({ state: 'attached' });
  expect(await dialog.getByRole('alert').count()).toBe(0);
  await close();
});

test('a refused download shows an error without leaving the page', async () => {
  await add('Expired.pdf', aPdf());
  const page = await roomOf('viewer');
  await page.getByRole('button', { name: 'Preview Expired.pdf' }).click();
  await page.getByRole('dialog').getByText('1 page').waitFor();
  await web.service.sql(`update documents set removed_at = app.now() where filename = 'Expired.pdf'`);
  await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click();
  await page.getByText('It does not exist, or you do not have access to it.', { exact: true }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/deals/${web.scene.deal}/documents`);
  await page.getByRole('dialog').getByText('1 page').waitFor();
});

test('a download without a connection shows an error', async () => {
  await add('Roof.pdf', aPdf());
  const page = await roomOf('viewer');
  const download = page.getByRole('link', { name: 'Download Roof.pdf' });
  await download.waitFor();
  await page.route('**/content', (route) => route.abort('internetdisconnected'));
  await download.click();
  const said = 'The file could not be downloaded. Check your connection and try again.';
  await page.getByText(said, { exact: true }).waitFor();
});

test('a download in an expired session continues after the person signs in again', async () => {
  await add('Leases.pdf', aPdf());
  await givePassword('viewer');
  const page = await roomOf('viewer');
  const link = page.getByRole('link', { name: 'Download Leases.pdf', includeHidden: true });
  await link.waitFor();
  await page.context().clearCookies();
  // Not by the pointer: a list that is just refetched may have opened the dialog in front of the link already.
  await link.dispatchEvent('click');
  const dialog = page.getByRole('dialog', { name: 'Sign in again' });
  await dialog.getByLabel('Password', { exact: true }).fill(password);
  const download = page.waitForEvent('download');
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
  expect((await download).suggestedFilename()).toBe('Leases.pdf');
});

test('an upload in an expired session is sent after the person signs in again', async () => {
  await givePassword('broker');
  const page = await roomOf('broker');
  await page.getByRole('button', { name: 'Upload' }).click();
  const files = page.getByRole('dialog', { name: 'Upload documents', includeHidden: true }).locator('input[type=file]');
  await files.waitFor({ state: 'attached' });
  await page.context().clearCookies();
  await files.setInputFiles({ name: 'Deed.pdf', mimeType: 'application/pdf', buffer: aPdf() });
  const dialog = page.getByRole('dialog', { name: 'Sign in again' });
  await dialog.getByLabel('Password', { exact: true }).fill(password);
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('list', { name: 'Uploads' }).getByText('Uploaded').waitFor();
  await page.getByRole('button', { name: 'Done' }).click();
  await row(page, 'Deed.pdf').waitFor();
});

test('a download keeps the name of the document', async () => {
  await add('Übersicht "neu".pdf', aPdf());
  const page = await roomOf('viewer');
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: /^Download Übersicht/ }).click();
  // Browsers replace quotation marks in the names of files.
  expect((await download).suggestedFilename()).toMatch(/^Übersicht .neu.\.pdf$/);
});

test('gated documents appear after the NDA is signed, without a reload', async () => {
  await add('Margins by customer.pdf', aPdf(), 'nda_gated');
  await add('Teaser.pdf', aPdf(), 'public');
  await web.service.sql(
    `insert into ndas (deal_id, participant_id, status, terms) values ($1, $2, 'sent', 'Keep it.')`,
    [web.scene.deal, web.scene.participants['new buyer']],
  );
  const page = await roomOf('new buyer');
  await row(page, 'Teaser.pdf').waitFor();
  expect(await row(page, 'Margins by customer.pdf').count()).toBe(0);
  const toSign = page.getByText('Sign the NDA to open the documents under NDA.');
  await toSign.waitFor();

  const person = await web.as('new buyer');
  const { body } = await person.ask(`/deals/${web.scene.deal}/ndas`);
  expect((await person.ask(`/ndas/${body.items[0].id}/sign`, { signed_name: 'N. Buyer' })).status).toBe(200);
  await row(page, 'Margins by customer.pdf').waitFor();
  await page.getByRole('button', { name: 'Preview Margins by customer.pdf' }).waitFor();

  // The next NDA waits for a signature while this one opens the documents.
  await web.service.sql(
    `insert into ndas (deal_id, participant_id, status, terms) values ($1, $2, 'sent', 'Keep it for another year.')`,
    [web.scene.deal, web.scene.participants['new buyer']],
  );
  await page.getByRole('link', { name: /^NDA\s*1/ }).waitFor();
  expect(await toSign.count()).toBe(0);
});

test('finding, editing, removing and undoing the removal of a document takes effect for all readers at once', async () => {
  await add('Draft of the lease.pdf', aPdf());
  const page = await sharedRoomOf('broker');
  const buyer = await roomOf('exclusive buyer');
  await row(buyer, 'Draft of the lease.pdf').waitFor();

  await page.getByRole('searchbox', { name: 'Search documents' }).fill('draft of');
  await expect.poll(() => rows(page).count()).toBe(1);
  const announced = (text: string) => page.getByRole('status').filter({ hasText: text });
  await announced('1 result').waitFor({ state: 'attached' });
  await page.getByLabel('Category').selectOption('Legal');
  await page.getByText('No matching documents').waitFor();
  await announced('No results').waitFor({ state: 'attached' });
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ search: 'draft of', category: 'legal' });
  await page.getByRole('button', { name: 'Show all' }).click();
  await expect.poll(() => new URL(page.url()).search).toBe('');
  await page.getByLabel('Who may open it').selectOption('All participants');

  await choose(page, 'Draft of the lease.pdf', 'Edit');
  const dialog = page.getByRole('dialog', { name: 'Edit the document' });
  await dialog.getByLabel('Name').fill('Lease, final.exe');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('The name must still end in .pdf.').waitFor();
  await expectAccessible(page);
  await dialog.getByLabel('Name').fill('Lease, final.pdf');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await row(page, 'Lease, final.pdf').waitFor();
  await row(buyer, 'Lease, final.pdf').waitFor();

  await choose(page, 'Lease, final.pdf', 'Remove');
  // The message stays while the mouse is over it.
  await page.getByRole('button', { name: 'Undo' }).hover();
  await row(page, 'Lease, final.pdf').waitFor({ state: 'detached' });
  await row(buyer, 'Lease, final.pdf').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await row(page, 'Lease, final.pdf').waitFor();
  await row(buyer, 'Lease, final.pdf').waitFor();
});

test('documents removed within the last hour are listed for restoring, also after a reload', async () => {
  await add('Wrong deal.pdf', aPdf());
  const page = await roomOf('broker');
  const seller = await roomOf('seller');
  await choose(page, 'Wrong deal.pdf', 'Remove');
  await row(page, 'Wrong deal.pdf').waitFor({ state: 'detached' });
  await page.reload();
  const removed = (on: Page) => on.getByRole('list', { name: 'Removed within the last hour' }).getByRole('listitem');
  const wrong = removed(page).filter({ hasText: 'Wrong deal.pdf' });
  await wrong.getByText('Removed by broker').waitFor();
  await removed(seller).filter({ hasText: 'Wrong deal.pdf' }).waitFor();
  await expectAccessible(page);
  // The message is there for seconds only.
  const said = page.getByText('Wrong deal.pdf was restored').first().waitFor();
  said.catch(() => {});
  await wrong.getByRole('button', { name: 'Restore Wrong deal.pdf' }).click();
  await said;
  await row(page, 'Wrong deal.pdf').waitFor();
  await wrong.waitFor({ state: 'detached' });
  await row(seller, 'Wrong deal.pdf').waitFor();
  await removed(seller).filter({ hasText: 'Wrong deal.pdf' }).waitFor({ state: 'detached' });
});

test('a custom category stays listed and selected as a filter, even without results', async () => {
  for (const category of ['Zoning', 'Wetlands', 'zoning', 'Legal'])
    await upload(web.service, await web.as('broker'), web.scene.deal, aPdf(), {
      filename: `${category}.pdf`,
      category,
    });
  const page = await roomOf('broker');
  const select = page.getByLabel('Category');
  const shown = () => select.locator('option:checked').innerText();
  await row(page, 'zoning.pdf').first().waitFor();
  const options = await select.locator('option').allInnerTexts();
  expect(options.filter((one) => ['Zoning', 'Legal'].includes(one)).toSorted()).toEqual(['Legal', 'Zoning']);
  await select.selectOption('Zoning');
  await expect.poll(() => rows(page).count()).toBe(2);
  await select.selectOption('Wetlands');
  await row(page, 'Wetlands.pdf').waitFor();
  await page.getByRole('searchbox', { name: 'Search documents' }).fill('nothing like it');
  await page.getByText('No matching documents').waitFor();
  expect(await shown()).toBe('Wetlands');
  await page.getByRole('button', { name: 'Show all' }).click();
  await row(page, 'Zoning.pdf').first().waitFor();
  expect(await shown()).toBe('All categories');
});

test('long lists of documents are virtualized, limited to 2,000 per source, and fit a phone', async () => {
  // An open page would fetch the list with each part of it that is added.
  await Promise.all([...shared.values()].map((testPage) => testPage.close()));
  shared.clear();
  await web.service.sql(
    `insert into documents (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key)
     select $1, 'Scan ' || lpad(n::text, 4, '0') || '.pdf', 'operations', 'public', 1000, 'application/pdf', 'scan-of-a-page-' || n
     from generate_series(1, 1500) n`,
    [web.scene.deal],
  );
  await web.service.sql(
    `insert into production_documents
       (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key, diligence_request, uploaded_at)
     select $1, 'Produced ' || n || '.pdf', 'operations', 'public', 1000, 'application/pdf', 'production-of-a-page-' || n, 'Leases', '2020-01-01'
     from generate_series(1, 600) n`,
    [web.scene.deal],
  );
  const page = await roomOf('seller', { width: 390 });
  await rows(page).first().waitFor();
  expect(await rows(page).count()).toBeLessThan(60);
  // The estimated height of the list becomes more exact the further it is scrolled.
  const atTheEnd = async () => {
    await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
    return rows(page)
      .filter({ hasText: /^Produced/ })
      .count();
  };
  await expect.poll(atTheEnd).toBeGreaterThan(0);
  // All documents are listed: the limit is 2,000 per source.
  expect(await page.getByText('Search to find others').count()).toBe(0);
  await web.service.sql(
    `insert into documents (deal_id, filename, category, confidentiality, size_bytes, media_type, storage_key)
     select $1, 'Copy ' || n || '.pdf', 'operations', 'public', 1000, 'application/pdf', 'copy-of-a-page-' || n
     from generate_series(1, 500) n`,
    [web.scene.deal],
  );
  await page.reload();
  await page.getByText('Of the documents not produced for a diligence request, these are the latest 2,000.').waitFor();
  expect(await page.getByText('Search to find others').count()).toBe(1);
  expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
  await expectAccessible(page);
});
