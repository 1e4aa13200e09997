/**
 * The settings page "Security" in real browsers: passkeys, the authenticator, and the browsers in which the account is
 * signed in.
 */

import { readFile } from 'node:fs/promises';
import { generate } from 'otplib';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openAccount, type Account } from '../auth/scene.ts';
import { openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { addBrokerage } from '../oauth/scene.ts';
import { addDevice, openLocalhostProxy, type LocalhostProxy } from '../passkeys.ts';

const minute = 60_000;
const page = '/settings/security';

let service: TestService;
let browser: Browser;
let proxy: LocalhostProxy;

beforeAll(async () => {
  proxy = await openLocalhostProxy(() => service.origin);
  service = await openService({ config: { baseUrl: proxy.origin } });
  browser = await openBrowser();
  // Without a brokerage, the application would show its set-up instead of the sign-in page.
  await addBrokerage(service);
});
afterAll(async () => {
  await browser?.close();
  proxy?.close();
  await service?.close();
});
beforeEach(() => service.clock.advance(minute));

const toast = (at: Page, words: string) => at.getByText(words).first().waitFor();
const card = (at: Page, title: string) =>
  at.locator('section').filter({ has: at.getByRole('heading', { name: title }) });

async function typeCredentials(at: Page, { email, password }: Account): Promise<void> {
  await at.getByLabel('E-mail').fill(email);
  await at.getByLabel('Password', { exact: true }).fill(password);
  await at.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Signs in on the sign-in page, which then returns to the security page. */
async function signIn(testPage: TestPage, account: Account): Promise<void> {
  await testPage.go(`/sign-in?return_to=${page}`);
  await typeCredentials(testPage.page, account);
  await testPage.page.getByRole('heading', { name: 'Security', level: 2 }).waitFor();
}

async function signOut(testPage: TestPage, { email }: Account): Promise<void> {
  await testPage.page.getByRole('button', { name: email }).click();
  await testPage.page.getByRole('menuitem', { name: 'Sign out' }).click();
  await testPage.page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

async function signedInTestPage(account: Account, options: Parameters<typeof openTestPage>[2] = {}): Promise<TestPage> {
  const testPage = await openTestPage(browser, proxy.origin, options);
  await signIn(testPage, account);
  return testPage;
}

/** The method by which the person last signed in. */
async function lastMethod({ id }: Account): Promise<unknown> {
  const [record] = await service.sql(
    `select details->>'method' as method from audit_records where user_id = $1 and action = 'session.sign_in' order by id desc limit 1`,
    [id],
  );
  return record?.['method'];
}

test('a passkey is added, used to sign in, renamed and removed', async () => {
  const account = await openAccount(service);
  const testPage = await signedInTestPage(account);
  const { page: at } = testPage;
  const { devtools, authenticatorId } = await addDevice(at.context(), at);
  const passkeys = card(at, 'Passkeys');
  await passkeys.getByText('None yet.').waitFor();

  await passkeys.getByRole('button', { name: 'Add a passkey' }).click();
  const dialog = at.getByRole('dialog', { name: 'Add a passkey' });
  expect(await dialog.getByLabel('Name').inputValue()).toMatch(/Chrome/);
  await dialog.getByLabel('Name').fill('Laptop <of mine>');
  await dialog.getByRole('button', { name: 'Continue' }).click();
  await toast(at, 'The passkey is added');
  await passkeys.getByText('Laptop <of mine>').first().waitFor();
  const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId });
  expect(credentials).toHaveLength(1);

  // The device already has a passkey, and says so.
  await passkeys.getByRole('button', { name: 'Add a passkey' }).click();
  await at.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
  await at.getByText('You already have a passkey on this device.').waitFor();
  await at.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();

  await signOut(testPage, account);
  await testPage.go(`/sign-in?return_to=${page}`);
  await at.getByRole('button', { name: 'Use a passkey' }).click();
  await at.getByRole('heading', { name: 'Security', level: 2 }).waitFor();
  expect(await lastMethod(account)).toBe('passkey');
  await passkeys.getByText(/last used/).waitFor();

  await passkeys.getByRole('button', { name: 'Rename Laptop <of mine>' }).click();
  const renaming = at.getByRole('dialog', { name: 'Rename the passkey' });
  await renaming.getByLabel('Name').fill('Work laptop');
  await renaming.getByRole('button', { name: 'Rename' }).click();
  await toast(at, 'The passkey is renamed');
  await passkeys.getByText('Work laptop').first().waitFor();
  await passkeys.getByText('Laptop <of mine>').waitFor({ state: 'detached' });

  // Removing a passkey affects the security of the account, so the page asks for the password again after a while.
  service.clock.advance(11 * minute);
  await passkeys.getByRole('button', { name: 'Remove Work laptop' }).click();
  await at.getByRole('button', { name: 'Remove passkey' }).click();
  const proof = at.getByRole('dialog', { name: 'Confirm it is you' });
  await proof.getByLabel('Password', { exact: true }).fill(account.password);
  await proof.getByRole('button', { name: 'Continue' }).click();
  await toast(at, 'The passkey is removed');
  await passkeys.getByText('None yet.').waitFor();

  await signOut(testPage, account);
  await at.getByRole('button', { name: 'Use a passkey' }).click();
  await at.getByText('This passkey could not be used to sign in.').waitFor();
  expect(
    await service.sql(`select action from audit_records where user_id = $1 and action like 'passkey.%' order by id`, [
      account.id,
    ]),
  ).toEqual([{ action: 'passkey.add' }, { action: 'passkey.rename' }, { action: 'passkey.remove' }]);
  expect(testPage.complaints).toEqual([]);
  // Later users of this browser do not have the device.
  await devtools.send('WebAuthn.disable');
  await testPage.close();
});

test('123. an authenticator requires a code or a one-time recovery code at sign-in until it is removed', async () => {
  const account = await openAccount(service);
  const testPage = await signedInTestPage(account);
  const { page: at } = testPage;
  const now = () => Math.floor(service.clock.now().getTime() / 1000);
  await at.getByRole('button', { name: 'Set up an authenticator' }).click();
  const dialog = at.getByRole('dialog', { name: 'Set up an authenticator' });
  const secret = await dialog.getByLabel('Or type this key into the app').inputValue();
  await dialog.getByLabel('Code').fill(await generate({ secret, epoch: now() }));
  await dialog.getByRole('button', { name: 'Turn it on' }).click();
  const shown = at.getByRole('dialog', { name: 'Your recovery codes' });
  await expect.poll(() => shown.getByRole('listitem').count()).toBe(10);
  const codes = await shown.getByRole('listitem').allTextContents();
  await shown.getByRole('button', { name: 'I have saved them' }).click();
  await at.getByText('10 recovery codes left.').waitFor();

  /** Signs out and in again, as far as the page that asks for the code. */
  const toSecondStep = async () => {
    await signOut(testPage, account);
    await testPage.go(`/sign-in?return_to=${page}`);
    await typeCredentials(at, account);
    await at.getByRole('heading', { name: 'Second step' }).waitFor();
  };
  const finish = async (code: string) => {
    await at.getByLabel('Code').fill(code);
    await at.getByRole('button', { name: 'Continue' }).click();
  };

  service.clock.advance(minute);
  await toSecondStep();
  await finish('000000');
  await at.getByText(/The code is not correct/).waitFor();
  await finish(await generate({ secret, epoch: now() }));
  await at.getByText('10 recovery codes left.').waitFor();

  await toSecondStep();
  await finish(codes[0]!);
  await at.getByText('9 recovery codes left.').waitFor();
  await toSecondStep();
  await finish(codes[0]!);
  await at.getByText(/The code is not correct, or was used before/).waitFor();
  await finish(codes[1]!);
  await at.getByText('8 recovery codes left.').waitFor();

  await at.getByRole('button', { name: 'Remove authenticator' }).click();
  await at.getByRole('button', { name: 'Remove', exact: true }).click();
  await toast(at, 'The authenticator is removed');
  await at.getByRole('button', { name: 'Set up an authenticator' }).waitFor();
  await signOut(testPage, account);
  await signIn(testPage, account);
  expect(await lastMethod(account)).toBe('password');
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

/**
 * Clicks even when the "Sign in again" dialog already covers the element, which a request by the page itself may have
 * opened.
 */
const click = (at: Locator) => at.dispatchEvent('click');

describe('the list of sessions', () => {
  const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:148.0) Gecko/20100101 Firefox/148.0';
  const phone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Safari/604.1';
  const isOut = (at: Page) => at.waitForURL((url) => url.pathname === '/sign-in');
  /** Waits until the page asks to sign in again, and goes to the sign-in page from the dialog. */
  const isAsked = async (at: Page) => {
    const again = at.getByRole('dialog', { name: 'Sign in again' });
    await again.getByRole('button', { name: 'Go to the sign-in page' }).click();
    await isOut(at);
  };
  const devices = (at: Page) => card(at, 'Where you are signed in').getByRole('listitem');

  test('124. shows each browser, and signs out a single one or all others', async () => {
    const account = await openAccount(service);
    const here = await signedInTestPage(account);
    const office = await signedInTestPage(account, { userAgent: firefox });
    const pocket = await signedInTestPage(account, { userAgent: phone });
    const { page: at } = here;
    await here.go(page);
    await expect.poll(() => devices(at).count()).toBe(3);
    expect(await devices(at).filter({ hasText: 'This device' }).allTextContents()).toEqual([
      expect.stringContaining('Chrome on Linux'),
    ]);
    await devices(at).filter({ hasText: 'Safari on iPhone' }).waitFor();

    await at.getByRole('button', { name: 'Sign out Firefox on Windows' }).click();
    await toast(at, 'Firefox on Windows is signed out');
    await expect.poll(() => devices(at).count()).toBe(2);
    await devices(at).filter({ hasText: 'Firefox' }).waitFor({ state: 'detached' });
    // The browser that was signed out finds out with its next request, and returns to its page after signing in.
    await click(office.page.locator('button', { hasText: 'Sign out all others' }));
    await isAsked(office.page);
    expect(new URL(office.page.url()).searchParams.get('return_to')).toBe(page);
    await pocket.go(page);
    await pocket.page.getByRole('heading', { name: 'Security', level: 2 }).waitFor();
    await typeCredentials(office.page, account);
    await office.page.getByRole('heading', { name: 'Security', level: 2 }).waitFor();

    await here.go(page);
    await expect.poll(() => devices(at).count()).toBe(3);
    await at.getByRole('button', { name: 'Sign out all others' }).click();
    await toast(at, 'All other sessions are signed out');
    await expect.poll(() => devices(at).count()).toBe(1);
    await at.getByRole('button', { name: 'Sign out all others' }).waitFor({ state: 'detached' });
    for (const { page: other } of [office, pocket]) {
      await click(other.locator('a[href="/deals"]').first());
      await isAsked(other);
    }
    await here.go('/deals');
    await at.getByRole('heading', { name: 'Deals', level: 1 }).waitFor();
    for (const testPage of [here, office, pocket]) {
      expect(testPage.complaints).toEqual([]);
      await testPage.close();
    }
  });

  test('signs out everywhere, including the current browser', async () => {
    const account = await openAccount(service);
    const here = await signedInTestPage(account);
    const there = await signedInTestPage(account, { userAgent: firefox });
    await here.page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await here.page.getByRole('alertdialog').getByRole('button', { name: 'Sign out everywhere' }).click();
    await isOut(here.page);
    await click(there.page.locator('button', { hasText: 'Set up an authenticator' }));
    await isAsked(there.page);
    expect([...here.complaints, ...there.complaints]).toEqual([]);
    await here.close();
    await there.close();
  });
});

test('a request rejected during a password change is repeated with the new session', async () => {
  const account = await openAccount(service);
  const other = await signedInTestPage(account);
  const testPage = await signedInTestPage(account, { alone: true });
  const { page: at } = testPage;
  const loadedFiles: string[] = [];
  at.on('request', (request) => loadedFiles.push(request.url()));
  const refused = Promise.withResolvers<void>();
  const changed = Promise.withResolvers<void>();
  // A request sent with the old session, answered after the password has changed and before the page knows that it has.
  await at.route('**/api/web/me', async (route) => {
    const headers = await route.request().allHeaders();
    await changed.promise;
    await at.unroute('**/api/web/me');
    const response = await route.fetch({ headers });
    expect(response.status()).toBe(401);
    await route.fulfill({ response });
    refused.resolve();
  });
  await at.route('**/api/auth/password', async (route) => {
    const response = await route.fetch();
    changed.resolve();
    await refused.promise;
    await route.fulfill({ response });
  });
  const asked = at.waitForRequest('**/api/web/me');
  await at.getByRole('button', { name: 'Sign out all others' }).click();
  await asked;
  await at.getByLabel('Current password').fill(account.password);
  await at.getByLabel('New password').fill(`${account.password} and more`);
  await at.getByRole('button', { name: 'Change password' }).click();
  await toast(at, 'Your password is changed');
  await at.getByRole('button', { name: 'Set up an authenticator' }).click();
  await at.getByRole('dialog', { name: 'Set up an authenticator' }).waitFor();
  expect(await at.getByRole('dialog', { name: 'Sign in again' }).count()).toBe(0);
  // The dialog to sign in again is in a chunk of its own, and might be loaded but not shown yet.
  expect(loadedFiles.filter((url) => url.includes('/sign-in-again'))).toEqual([]);
  await testPage.close();
  await other.close();
});

test(
  'after the "Sign in again" dialog, both the passkeys and the sessions are loaded',
  { timeout: 120_000 },
  async () => {
    const account = await openAccount(service);
    const testPage = await signedInTestPage(account);
    const { page: at } = testPage;
    await testPage.go('/settings/profile');
    await service.sql('delete from vault.sessions where user_id = $1', [account.id]);
    const again = at.getByRole('dialog', { name: 'Sign in again' });
    // The second request that is rejected; its response arrives once the first has opened the dialog.
    await at.route(
      '**/api/auth/passkeys',
      async (route) => {
        const response = await route.fetch();
        expect(response.status()).toBe(401);
        await again.waitFor();
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    await at.evaluate(`new MutationObserver(() => {
      if (document.body.textContent.includes('This could not be loaded')) document.body.dataset.failed = 'yes';
    }).observe(document.body, { childList: true, subtree: true })`);
    await click(at.locator('main a[href="/settings/security"]').first());
    await again.getByLabel('Password', { exact: true }).fill(account.password);
    await again.getByRole('button', { name: 'Sign in', exact: true }).click();
    await again.waitFor({ state: 'detached' });
    await card(at, 'Passkeys').getByText('None yet.').waitFor();
    await card(at, 'Where you are signed in').getByText('This device').waitFor();
    expect(await at.locator('body[data-failed]').count()).toBe(0);
    await testPage.close();
  },
);

test('the profile page exports the data of a person, and erases the account after the address is typed', async () => {
  const account = await openAccount(service);
  const testPage = await signedInTestPage(account);
  const amount = '12345678901234567890.1234567890';
  await testPage.page.route('**/api/auth/export', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace('{', `{"amount": ${amount}, `) });
  });
  await testPage.go('/settings/profile');
  const download = testPage.page.waitForEvent('download');
  await testPage.page.getByRole('button', { name: 'Download my data' }).click();
  const file = await download;
  expect(file.suggestedFilename()).toBe('my-dealkeep-data.json');
  // Parsing and serializing the JSON again would change the digits.
  expect(await readFile(await file.path(), 'utf8')).toContain(amount);
  const erase = card(testPage.page, 'Erase your account');
  await erase.getByRole('textbox').fill('somebody.else@example.com');
  await erase.getByRole('button', { name: 'Erase my account' }).click();
  await erase.getByText('Type your own e-mail address to confirm.').waitFor();
  await erase.getByRole('textbox').fill(account.email);
  await erase.getByRole('button', { name: 'Erase my account' }).click();
  await testPage.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await service.sql('select 1 from users where email = $1', [account.email])).toEqual([]);
  await testPage.close();
});
