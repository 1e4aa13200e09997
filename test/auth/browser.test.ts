import { generate } from 'otplib';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mintToken, tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { openBrowser, violationsOn } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { addDevice, openDoor, type Door } from '../passkeys.ts';
import { newPassword, openAccount } from './scene.ts';

let service: TestService;
let browser: Browser;
let door: Door;
let origin: string;

beforeAll(async () => {
  door = await openDoor(() => service.origin);
  ({ origin } = door);
  service = await openService({ config: { baseUrl: origin } });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  door.close();
  await service.close();
});

async function inContext(
  options: Parameters<Browser['newContext']>[0],
  work: (page: Page, context: BrowserContext) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({ baseURL: origin, ...options });
  // Without scripts a browser finds the plain pages by itself.
  if (options?.javaScriptEnabled !== false)
    await context.addCookies([{ name: 'dealkeep-plain', value: '1', url: origin }]);
  try {
    await work(await context.newPage(), context);
  } finally {
    await context.close();
  }
}

async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

it('everything but passkeys works in a browser without scripts', async () => {
  const account = await openAccount(service);
  await inContext({ javaScriptEnabled: false }, async (page) => {
    await page.goto('/settings/security');
    await expect.poll(() => page.url()).toContain('/sign-in?return_to=');
    await signIn(page, { ...account, password: newPassword() });
    expect(await page.getByRole('alert').textContent()).toContain('not right');
    await page.getByLabel('Password').fill(account.password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Security');

    await page.getByRole('button', { name: 'Set up an authenticator' }).click();
    const key = ((await page.locator('code').textContent()) ?? '').replaceAll(/\s/g, '');
    expect(
      await page.getByRole('img').evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth),
    ).toBeGreaterThan(0);
    const now = () => Math.floor(service.clock.now().getTime() / 1000);
    await page.getByLabel('Code').fill(await generate({ secret: key, epoch: now() }));
    await page.getByRole('button', { name: 'Switch it on' }).click();
    expect(await page.locator('.codes span').count()).toBe(10);
    await page.getByRole('link', { name: 'I have kept them' }).click();

    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    expect(new URL(page.url()).pathname).toBe('/sign-in');
    service.clock.advance(60_000);
    await page.goto('/settings/security');
    await signIn(page, account);
    await page.getByLabel('Code').fill(await generate({ secret: key, epoch: now() }));
    await page.getByRole('button', { name: 'Continue' }).click();

    const password = newPassword();
    await page.getByLabel('Current password').fill(account.password);
    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Change the password' }).click();
    expect(await page.getByRole('status').textContent()).toContain('Your password is changed');
    await page.goto('/sign-out');
    await page.locator('main').getByRole('button', { name: 'Sign out' }).click();
    expect(new URL(page.url()).pathname).toBe('/sign-in');
  });
});

it('a passkey is registered, signs in by itself, stands in for the code, and is removed', async () => {
  const account = await openAccount(service);
  await inContext({}, async (page, context) => {
    const { devtools, authenticatorId } = await addDevice(context, page);
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    page.on(
      'console',
      (message) =>
        message.type() === 'error' &&
        !message.text().includes('Failed to load resource') &&
        faults.push(message.text()),
    );

    await page.goto('/sign-in?return_to=/settings/security');
    await signIn(page, account);
    await page.getByLabel('Name of the new passkey').fill('Laptop <of mine>');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('The passkey is added.').waitFor();
    expect(await page.getByText('Laptop <of mine>').count()).toBe(1);
    const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId });
    expect(credentials).toHaveLength(1);

    // Signed in with nothing but the passkey, as a new session, and back to where the person was going.
    const before = (await context.cookies()).find(({ name }) => name === 'dealkeep')?.value;
    await context.clearCookies({ name: 'dealkeep' });
    await page.goto('/sign-in?return_to=/settings/security%3Fx=1');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL((url) => url.pathname + url.search === '/settings/security?x=1');
    const after = (await context.cookies()).find(({ name }) => name === 'dealkeep')?.value;
    expect(after).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(after).not.toBe(before);
    const [record] = await service.sql(
      `select details from audit_records where user_id = $1 and action = 'session.sign_in' order by id desc limit 1`,
      [account.id],
    );
    expect(record).toEqual({ details: { method: 'passkey' } });

    // In place of the code of an authenticator.
    await service.sql(`insert into vault.totp (user_id, secret, confirmed_at) values ($1, $2, app.now())`, [
      account.id,
      'A'.repeat(32),
    ]);
    await context.clearCookies({ name: 'dealkeep' });
    await page.goto('/sign-in?return_to=/settings/security');
    await signIn(page, account);
    await page.getByRole('button', { name: 'Use a passkey instead' }).click();
    await page.waitForURL((url) => url.pathname === '/settings/security');

    // It is what proves a recent sign-in, too.
    service.clock.advance(11 * 60_000);
    await page.reload();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.waitForURL((url) => url.pathname === '/settings/security');
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('The passkey is removed.').waitFor();

    await context.clearCookies({ name: 'dealkeep' });
    await page.goto('/sign-in');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('This passkey is not known here').waitFor();
    expect(faults).toEqual([]);
  });
});

it('a passkey that is refused says so, and nobody is signed in: no verification of the user, a suspended person', async () => {
  const account = await openAccount(service);
  await inContext({}, async (page, context) => {
    const { devtools, authenticatorId } = await addDevice(context, page);
    await page.goto('/sign-in?return_to=/settings/security');
    await signIn(page, account);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('The passkey is added.').waitFor();
    await context.clearCookies({ name: 'dealkeep' });

    await page.goto('/sign-in');
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('No passkey was used').waitFor();
    // A page that asks for less gets an answer of an unverified user, which the server does not take.
    await page.route('**/api/auth/passkey/options', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), userVerification: 'discouraged' } });
    });
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('This passkey is not known here').waitFor();
    await page.unroute('**/api/auth/passkey/options');
    await page.reload();
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });

    await service.sql('update users set suspended_at = app.now() where id = $1', [account.id]);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('This passkey is not known here').waitFor();
    expect((await context.cookies()).filter(({ name }) => name === 'dealkeep')).toEqual([]);
  });
});

it('an answer of a passkey is taken once, and for its own challenge', async () => {
  const account = await openAccount(service);
  await inContext({}, async (page, context) => {
    await addDevice(context, page);
    await page.goto('/sign-in?return_to=/settings/security');
    await signIn(page, account);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('The passkey is added.').waitFor();
    await context.clearCookies({ name: 'dealkeep' });
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/api/auth/passkey/sign-in')) sent.push(request.postData() ?? '');
    });
    await page.goto('/sign-in?return_to=/settings/security');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL((url) => url.pathname === '/settings/security');
    const send = (body: string) =>
      fetch(`${service.origin}/api/auth/passkey/sign-in`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
    // Many passkeys count nothing: it is the challenge that makes an answer good for once.
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

describe('the pages', () => {
  const shots = process.env['SCREENSHOTS'];

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`have no fault that axe finds, and nothing wider than a phone, in ${colorScheme}`, async () => {
      const account = await openAccount(service, { name: 'Anna Miller' });
      const [brokerage] = await service.sql<{ id: string }>(
        `insert into brokerages (slug, name) values ($1, 'Harbor Brokers') returning id`,
        [`harbor-${colorScheme}`],
      );
      await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
        brokerage?.id,
        account.id,
      ]);
      await service.sql(
        `insert into vault.passkeys (user_id, credential_id, public_key, counter, transports, name)
         values ($1, $2, '\\x00', 0, '{internal}', 'Laptop')`,
        [account.id, `credential-${colorScheme}`],
      );
      const reset = mintToken();
      await service.sql('insert into vault.password_resets (digest, user_id) values ($1, $2)', [
        tokenDigest(reset),
        account.id,
      ]);
      const invitation = mintToken();
      const [guest] = await service.sql<{ id: string }>(
        `insert into users (email, name) values ($1, 'Gina') returning id`,
        [`gina-${colorScheme}@example.com`],
      );
      await service.sql(
        `insert into members (brokerage_id, user_id, role, status) values ($1, $2, 'broker', 'invited')`,
        [brokerage?.id, guest?.id],
      );
      await service.sql(
        'insert into vault.invitations (digest, user_id, brokerage_id, mailed) values ($1, $2, $3, false)',
        [tokenDigest(invitation), guest?.id, brokerage?.id],
      );

      // bypassCSP lets axe in; what the policy forbids is tested elsewhere.
      await inContext({ colorScheme, bypassCSP: true, viewport: { width: 390, height: 800 } }, async (page) => {
        const check = async (path: string) => {
          await page.goto(path);
          expect([path, await violationsOn(page)]).toEqual([path, []]);
          const width = await page.evaluate('document.documentElement.scrollWidth');
          expect([path, width]).toEqual([path, 390]);
          if (shots)
            await page.screenshot({
              path: `${shots}/${path.replaceAll(/\W+/g, '-')}-${colorScheme}.png`,
              fullPage: true,
            });
        };
        for (const path of [
          '/sign-in',
          '/reset',
          '/reset/sent',
          `/reset/new?token=${reset}`,
          `/accept-invitation?token=${invitation}`,
          '/set-up?token=none',
          '/nowhere',
        ]) {
          await check(path);
        }
        await page.goto('/sign-in?return_to=/settings/security');
        await signIn(page, account);
        for (const path of ['/settings/security', '/settings/people', '/sign-out', '/re-authenticate'])
          await check(path);
        await page.goto('/settings/security');
        await page.getByRole('button', { name: 'Set up an authenticator' }).click();
        await check('/settings/security/second-factor');
      });
    });
  }
});
