/** Signing in with passkeys on the application's pages, and these pages themselves, in a real browser. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mintToken, tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { expectAccessible, openBrowser, openTestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { whileChanging } from '../locks.ts';
import { addBrokerage } from '../oauth/scene.ts';
import { addDevice, openLocalhostProxy, type LocalhostProxy } from '../passkeys.ts';
import { signInAs } from '../web/person.ts';
import { newPassword, openAccount, openBrokerage, resetOf } from './scene.ts';

let service: TestService;
let browser: Browser;
let proxy: LocalhostProxy;
let origin: string;

beforeAll(async () => {
  proxy = await openLocalhostProxy(() => service.origin);
  ({ origin } = proxy);
  service = await openService({ config: { baseUrl: origin } });
  // Without a brokerage, the application leads to its set-up instead of the sign-in page.
  await addBrokerage(service);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  proxy?.close();
  await service?.close();
});

/** Runs `work` in a browser with a device that holds passkeys, and removes the device afterwards. */
async function withDevice(work: (page: Page, device: Awaited<ReturnType<typeof addDevice>>) => Promise<void>) {
  const { page, close } = await openTestPage(browser, origin);
  const device = await addDevice(page.context(), page);
  try {
    await work(page, device);
  } finally {
    await device.devtools.send('WebAuthn.disable');
    await close();
  }
}

async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

const usePasskey = (page: Page) => page.getByRole('button', { name: 'Use a passkey' }).click();
const isAtSecurity = (page: Page) => page.getByRole('heading', { name: 'Security', level: 2 }).waitFor();

/** Signs in on the page and begins to add a passkey of this device; returns a function that completes it. */
async function signInAndBeginPasskey(page: Page, account: { email: string; password: string }) {
  await page.goto(`${origin}/sign-in?return_to=/settings/security`);
  await signIn(page, account);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a passkey' });
  await dialog.getByLabel('Name').fill('Laptop');
  return () => dialog.getByRole('button', { name: 'Continue' }).click();
}

/** Signs in on the page and adds a passkey of this device. */
async function signInAndAddPasskey(page: Page, account: { email: string; password: string }): Promise<void> {
  await (
    await signInAndBeginPasskey(page, account)
  )();
  await page.getByText('The passkey is added').first().waitFor();
}

it('a passkey added during the account’s first password reset is not kept', async () => {
  const account = await openAccount(service);
  await service.sql('update vault.passwords set address_proven_at = null where user_id = $1', [account.id]);
  await withDevice(async (page) => {
    const goOn = await signInAndBeginPasskey(page, account);
    const answered = page.waitForResponse((answer) => answer.url().endsWith('/api/auth/passkey/add'));
    const add = async () => {
      await goOn();
      return (await answered).status();
    };
    expect(await whileChanging(service, resetOf(account.id), add)).not.toBe(200);
    expect(await service.sql('select from vault.passkeys where user_id = $1', [account.id])).toEqual([]);
  });
});

it('a passkey signs in alone, replaces the authenticator code, and proves a recent sign-in', async () => {
  const account = await openAccount(service);
  await withDevice(async (page, { devtools, authenticatorId }) => {
    const context = page.context();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    page.on(
      'console',
      (message) =>
        message.type() === 'error' &&
        !message.text().includes('Failed to load resource') &&
        faults.push(message.text()),
    );

    await signInAndAddPasskey(page, account);
    const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId });
    expect(credentials).toHaveLength(1);

    // The passkey alone signs in, in a new session, and leads back to where the person was going.
    const before = (await context.cookies()).find(({ name }) => name === 'dealkeep')?.value;
    await context.clearCookies({ name: 'dealkeep' });
    await page.goto(`${origin}/sign-in?return_to=/settings/security%3Fx=1`);
    await usePasskey(page);
    await page.waitForURL((url) => url.pathname + url.search === '/settings/security?x=1');
    await isAtSecurity(page);
    const after = (await context.cookies()).find(({ name }) => name === 'dealkeep')?.value;
    expect(after).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(after).not.toBe(before);
    const [record] = await service.sql(
      `select details from audit_records where user_id = $1 and action = 'session.sign_in' order by id desc limit 1`,
      [account.id],
    );
    expect(record).toEqual({ details: { method: 'passkey' } });

    // A passkey replaces the code of an authenticator.
    await service.sql(`insert into vault.totp (user_id, secret, confirmed_at) values ($1, $2, app.now())`, [
      account.id,
      'A'.repeat(32),
    ]);
    await context.clearCookies({ name: 'dealkeep' });
    await page.goto(`${origin}/sign-in?return_to=/settings/security`);
    await signIn(page, account);
    await page.getByRole('heading', { name: 'Second step' }).waitFor();
    await usePasskey(page);
    await isAtSecurity(page);

    // A passkey also proves a recent sign-in, in a dialog over the page and on a page of its own.
    service.clock.advance(11 * 60_000);
    await page.goto(`${origin}/re-authenticate?return_to=/settings/security`);
    await usePasskey(page);
    await isAtSecurity(page);
    service.clock.advance(11 * 60_000);
    await page.getByRole('button', { name: 'Remove Laptop' }).click();
    await page.getByRole('button', { name: 'Remove passkey' }).click();
    await usePasskey(page);
    await page.getByText('The passkey is removed').first().waitFor();
    await service.deliver();
    const mailed = service.mails.filter(({ to }) => to === account.email).map(({ text }) => text);
    expect(mailed).toHaveLength(2);
    expect(mailed[0]).toContain('A passkey was added to your account.');
    expect(mailed[1]).toContain('A passkey was removed from your account.');

    await context.clearCookies({ name: 'dealkeep' });
    await page.goto(`${origin}/sign-in`);
    await usePasskey(page);
    await page.getByText('This passkey could not be used to sign in.').waitFor();
    expect(faults).toEqual([]);
  });
});

it('a rejected passkey shows a message and opens no session: no user verification, suspended user', async () => {
  const account = await openAccount(service);
  await withDevice(async (page, { devtools, authenticatorId }) => {
    const context = page.context();
    await signInAndAddPasskey(page, account);
    await context.clearCookies({ name: 'dealkeep' });

    await page.goto(`${origin}/sign-in`);
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await usePasskey(page);
    await page.getByText('No passkey was used').waitFor();
    // A page that does not ask for user verification gets a response of an unverified user, which the server rejects.
    await page.route('**/api/auth/passkey/options', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), userVerification: 'discouraged' } });
    });
    await usePasskey(page);
    await page.getByText('This passkey could not be used to sign in.').waitFor();
    await page.unroute('**/api/auth/passkey/options');
    await page.reload();
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });

    await service.sql('update users set suspended_at = app.now() where id = $1', [account.id]);
    await usePasskey(page);
    await page.getByText('This passkey could not be used to sign in.').waitFor();
    expect((await context.cookies()).filter(({ name }) => name === 'dealkeep')).toEqual([]);
  });
});

it('a passkey response is accepted once, and only for its own challenge, origin and type', async () => {
  const account = await openAccount(service);
  await withDevice(async (page) => {
    await signInAndAddPasskey(page, account);
    await page.context().clearCookies({ name: 'dealkeep' });
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/api/auth/passkey/sign-in')) sent.push(request.postData() ?? '');
    });
    await page.goto(`${origin}/sign-in?return_to=/settings/security`);
    await usePasskey(page);
    await isAtSecurity(page);
    const send = (body: string) =>
      fetch(`${service.origin}/api/auth/passkey/sign-in`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
    // Many passkeys have no signature counter: the challenge alone makes a response valid only once.
    await service.sql('update vault.passkeys set counter = 0 where user_id = $1', [account.id]);
    expect((await send(sent[0] ?? '')).status).toBe(401);
    const { response } = JSON.parse(sent[0] ?? '{}') as { response: { response: { clientDataJSON: string } } };
    for (const change of [
      { challenge: mintToken() },
      { origin: 'https://evil.example' },
      { type: 'webauthn.create' },
    ]) {
      const data = JSON.parse(Buffer.from(response.response.clientDataJSON, 'base64url').toString()) as object;
      const clientDataJSON = Buffer.from(JSON.stringify({ ...data, ...change })).toString('base64url');
      const forged = { ...response, response: { ...response.response, clientDataJSON } };
      expect((await send(JSON.stringify({ response: forged }))).status).toBe(401);
    }
  });
});

/** Invites somebody to a brokerage; returns the token of the link. */
async function inviteTo(brokerage: string, email: string): Promise<string> {
  const token = mintToken();
  await service.sql(
    `with guest as (insert into users (email, name) values ($1, 'Gina')
       on conflict (email) do update set name = users.name returning id),
     member as (insert into members (brokerage_id, user_id, role, status) select $2, id, 'broker', 'invited' from guest)
     insert into vault.invitations (digest, user_id, brokerage_id, mailed) select $3, id, $2, false from guest`,
    [email, brokerage, tokenDigest(token)],
  );
  return token;
}

it('the reset page offers a new link after an expired or incomplete link, but not after a network error', async () => {
  const account = await openAccount(service);
  const { page, go, close } = await openTestPage(browser, origin);
  const choose = async (password: string) => {
    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Change password' }).click();
  };
  const newLink = page.getByRole('alert').getByRole('link', { name: 'New link' });
  const token = mintToken();
  await service.sql('insert into vault.password_resets (digest, user_id) values ($1, $2)', [
    tokenDigest(token),
    account.id,
  ]);
  await go(`/reset/new#token=${token}`);
  await page.route('**/api/auth/reset/confirm', (route) => route.abort());
  await choose(newPassword());
  await page.getByRole('alert').getByText('Dealkeep cannot be reached.').waitFor();
  expect(await newLink.count()).toBe(0);
  await page.unrouteAll();
  await service.sql('delete from vault.password_resets where user_id = $1', [account.id]);
  await choose(newPassword());
  await page.getByRole('alert').getByText('This link has been used or has expired').waitFor();
  await newLink.click();
  await page.getByLabel('E-mail').fill(account.email);
  await page.getByRole('button', { name: 'Send the link' }).click();
  const sent = page.getByRole('heading', { name: 'Check your e-mail' });
  await sent.waitFor();
  await expect.poll(() => sent.evaluate((heading) => heading === heading.ownerDocument.activeElement)).toBe(true);
  await expect.poll(() => page.title()).toBe('Check your e-mail · Dealkeep');
  await expectAccessible(page);

  await page.goto(`${origin}/sign-in`);
  await page.goto(`${origin}/reset/new#token=cut`);
  await choose(newPassword());
  await page.getByRole('alert').getByText('The link is incomplete').waitFor();
  await newLink.waitFor();
  await close();
});

it('the invitation page distinguishes an incomplete link from an invalid one', async () => {
  const { page, go, close } = await openTestPage(browser, origin);
  for (const [path, heading] of [
    ['/accept-invitation', 'This link is incomplete'],
    ['/accept-invitation#token=cut', 'This link is incomplete'],
    [`/accept-invitation#token=${mintToken()}`, 'This invitation no longer works'],
  ] as const) {
    await go('/sign-in');
    await go(path);
    await page.getByRole('heading', { name: heading }).waitFor();
  }
  await close();
});

it('an invitation for another account leads through sign-out and sign-in to its acceptance', async () => {
  const { id: brokerage } = await openBrokerage(service);
  const [other, invited] = [await openAccount(service), await openAccount(service)];
  const { page, go, close } = await openTestPage(browser, origin);
  await go('/sign-in?return_to=/settings/security');
  await signIn(page, other);
  await isAtSecurity(page);
  await page.goto(`${origin}/accept-invitation#token=${await inviteTo(brokerage, invited.email)}`);
  await page.getByRole('link', { name: `Sign out ${other.email}` }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn(page, invited);
  await page.getByText(`You are signed in as ${invited.email}.`).waitFor();
  await page.getByRole('button', { name: 'Accept' }).click();
  await page.getByRole('heading', { name: 'Deals', level: 1 }).waitFor();
  await close();
});

it('an invitation is accepted on its page with the invited account, whatever address it has by now', async () => {
  const { id: brokerage } = await openBrokerage(service);
  const invited = await openAccount(service);
  const token = await inviteTo(brokerage, invited.email);
  await service.sql('update vault.invitations set mailed = true where user_id = $1', [invited.id]);
  await service.sql('update users set email = $2 where id = $1', [invited.id, `moved-${invited.email}`]);
  const other = await openAccount(service, { email: invited.email });
  const { page, go, close } = await openTestPage(browser, origin);
  await go(`/accept-invitation#token=${token}`);
  await page.getByText('This invitation was sent to an account that has another address by now.').waitFor();
  await page.getByRole('link', { name: 'Sign in' }).click();
  await signIn(page, other);
  await page.getByText('This invitation was sent to another account').waitFor();
  await page.getByRole('link', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn(page, { ...invited, email: `moved-${invited.email}` });
  await page.getByText(`You are signed in as moved-${invited.email}.`).waitFor();
  await page.getByRole('button', { name: 'Accept' }).click();
  await page.getByRole('heading', { name: 'Deals', level: 1 }).waitFor();
  await close();
});

it('a code entered too late leads back to the password step', async () => {
  const account = await openAccount(service);
  await service.sql(`insert into vault.totp (user_id, secret, confirmed_at) values ($1, $2, app.now())`, [
    account.id,
    'A'.repeat(32),
  ]);
  const { page, go, close } = await openTestPage(browser, origin);
  const tooLate = async () => {
    await page.getByLabel('Code').fill('123456');
    service.clock.advance(11 * 60_000);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('That took too long, or too many codes were wrong.').waitFor();
    expect(await page.getByLabel('Code').count()).toBe(0);
  };
  await go('/sign-in?return_to=/re-authenticate');
  await signIn(page, account);
  await tooLate();
  await signIn(page, account);
  await page.getByLabel('Code').waitFor();
  expect(await page.getByText('That took too long').count()).toBe(0);

  const { cookie } = await signInAs(service, account.id);
  await page.context().addCookies([{ ...cookie, url: origin }]);
  await page.goto(`${origin}/re-authenticate`);
  const password = page.getByLabel('Password', { exact: true });
  const confirm = async () => {
    await password.fill(account.password);
    await page.getByRole('button', { name: 'Continue' }).click();
  };
  await confirm();
  await tooLate();
  await expect.poll(() => password.evaluate((field) => field === field.ownerDocument.activeElement)).toBe(true);
  expect(await password.inputValue()).toBe('');
  await confirm();
  expect(await page.getByLabel('Code').inputValue()).toBe('');
  await close();
});

it('an invalid e-mail address is reported at its field', async () => {
  const { page, go, close } = await openTestPage(browser, origin);
  await go('/sign-in');
  await signIn(page, { email: 'ann', password: 'a password' });
  const email = page.getByRole('textbox', { name: 'E-mail' }).and(page.locator('[aria-invalid=true]'));
  await email.waitFor();
  await page.getByText('Enter an e-mail address, such as ann@example.com.').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  await close();
});

it('the sign-in pages have no axe violations and fit the width of a phone', async () => {
  const account = await openAccount(service, { name: 'Anna Miller' });
  const [brokerage] = await service.sql<{ id: string }>(
    `insert into brokerages (slug, name) values ($1, 'Harbor Brokers') returning id`,
    [`harbor-${crypto.randomUUID()}`],
  );
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
    brokerage?.id,
    account.id,
  ]);
  await service.sql(
    `insert into vault.passkeys (user_id, credential_id, public_key, counter, transports, name)
     values ($1, $2, '\\x00', 0, '{internal}', 'Laptop')`,
    [account.id, crypto.randomUUID()],
  );
  const reset = mintToken();
  await service.sql('insert into vault.password_resets (digest, user_id) values ($1, $2)', [
    tokenDigest(reset),
    account.id,
  ]);
  const invitation = mintToken();
  const [guest] = await service.sql<{ id: string }>(
    `insert into users (email, name) values ($1, 'Gina') returning id`,
    [`gina-${crypto.randomUUID()}@example.com`],
  );
  await service.sql(`insert into members (brokerage_id, user_id, role, status) values ($1, $2, 'broker', 'invited')`, [
    brokerage?.id,
    guest?.id,
  ]);
  await service.sql(
    'insert into vault.invitations (digest, user_id, brokerage_id, mailed) values ($1, $2, $3, false)',
    [tokenDigest(invitation), guest?.id, brokerage?.id],
  );

  const { page, go, visit, close } = await openTestPage(browser, origin, { viewport: { width: 390, height: 800 } });
  const check = async (path: string, come = visit) => {
    await come(path);
    await expectAccessible(page);
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect([path, width]).toEqual([path, 390]);
  };
  for (const path of [
    '/sign-in',
    '/reset',
    `/reset/new#token=${reset}`,
    '/accept-invitation#token=none',
    '/set-up#token=none',
    `/accept-invitation#token=${invitation}`,
  ]) {
    await check(path);
  }
  // An unreachable service does not mean that the invitation is over, and nothing that was entered is lost.
  await page.route('**/api/auth/invitation', (route) => route.abort());
  await page.goto(`${origin}/sign-in`);
  await page.goto(`${origin}/accept-invitation#token=${invitation}`);
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  expect(await page.getByText('no longer works').count()).toBe(0);
  await page.unroute('**/api/auth/invitation');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByLabel('Password').first().fill(newPassword());
  // Used or withdrawn while its form was open.
  await service.sql('delete from vault.invitations where digest = $1', [tokenDigest(invitation)]);
  await page.getByRole('button', { name: 'Accept and continue' }).click();
  await page.getByText('This invitation no longer works').waitFor();
  await page.getByRole('link', { name: 'Sign in' }).first().waitFor();
  await check('/nowhere', go);
  await page.goto(`${origin}/sign-in?return_to=/settings/security`);
  await signIn(page, account);
  await isAtSecurity(page);
  for (const path of ['/settings/security', '/sign-out', '/re-authenticate', `/confirm-address#token=${reset}`])
    await check(path);
  await page.goto(`${origin}/settings/security`);
  await page.getByRole('button', { name: 'Set up an authenticator' }).click();
  const picture = page.getByRole('img', { name: 'QR code of the key below' });
  await picture.waitFor();
  await expect
    .poll(() => picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth))
    .toBeGreaterThan(0);
  await close();
});

it('the address-change page shows the new address before confirmation, and rejects the used link afterwards', async () => {
  const account = await openAccount(service);
  const token = mintToken();
  const moved = `moved-${account.email}`;
  await service.sql('insert into vault.address_changes (user_id, digest, new_email) values ($1, $2, $3)', [
    account.id,
    tokenDigest(token),
    moved,
  ]);
  const { page, close } = await openTestPage(browser, origin);
  await page.goto(`${origin}/sign-in?return_to=/settings/security`);
  await signIn(page, account);
  await isAtSecurity(page);
  await page.goto(`${origin}/confirm-address#token=${token}`);
  await page.getByText(moved).waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Confirm', exact: true }).click();
  await page.getByText(`You now sign in as ${moved}`).first().waitFor();
  await page.goto(`${origin}/sign-in`);
  await page.goto(`${origin}/confirm-address#token=${token}`);
  await page.getByText('This link no longer works').waitFor();
  await close();
});
