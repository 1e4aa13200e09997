/** The pages of the settings in a real browser. */

import { generate } from 'otplib';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { openAccount } from '../auth/scene.ts';
import { escapeFrom, expectAccessible, loaded, openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { addToken, caller } from '../tools/scene.ts';
import { openService, type TestService } from '../harness.ts';
import { signInAs } from './person.ts';

const pages = [
  'profile',
  'security',
  'brokerage',
  'members',
  'keys',
  'webhooks',
  'assistants',
  'clients',
  'tools',
  'audit',
];

let service: TestService;
let browser: Browser;
const testPages = new Map<string, TestPage>();

beforeAll(async () => {
  service = await openService({ demo: true });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

type Who = 'admin' | 'broker' | 'buyer';

async function newTestPageOf(userId: string): Promise<TestPage> {
  const { cookie } = await signInAs(service, userId);
  return openTestPage(browser, service.origin, { cookie });
}

/** Each person's browser, shared by all tests of the file: a new one would load the application again. */
async function testPageOf(who: Who): Promise<TestPage> {
  const testPage = testPages.get(who) ?? (await newTestPageOf(service.demo.people[who].user_id));
  testPages.set(who, testPage);
  return testPage;
}

test.each(['admin', 'broker', 'buyer'] as const)(
  'each settings page is accessible and does not scroll sideways: %s',
  async (who) => {
    const { page, complaints, visit } = await testPageOf(who);
    let before = '';
    for (const name of pages) {
      // By its link if there is one; either way takes a third of the time of loading the application again.
      const link = page.getByRole('navigation', { name: 'Settings' }).locator(`a[href="/settings/${name}"]`);
      if ((await link.count()) === 0) await visit(`/settings/${name}`);
      else {
        await link.click();
        await expect.poll(() => page.title(), { message: name }).not.toBe(before);
        await loaded(page);
      }
      before = await page.title();
      await expectAccessible(page);
      // A common phone, the narrowest one, and the narrowest window with a sidebar.
      for (const width of [390, 320, 1024]) {
        await page.setViewportSize({ width, height: 844 });
        const over = () => page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
        await expect.poll(over, { message: `${name} scrolls sideways at ${width}` }).toBe(0);
      }
      await page.setViewportSize({ width: 1280, height: 900 });
    }
    expect(complaints).toEqual([]);
  },
);

describe('an admin', () => {
  test('corrects the year of an expiry time by typing, in a zone that once had an offset with seconds', async () => {
    const { cookie } = await signInAs(service, service.demo.people.admin.user_id);
    const { page, go, close } = await openTestPage(browser, service.origin, { cookie, timezoneId: 'Europe/Berlin' });
    await go('/settings/keys');
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const field = page.getByRole('dialog').getByLabel('Expires');
    await field.fill('2026-12-31T17:00');
    await field.click({ position: { x: 4, y: 4 } });
    await page.keyboard.press('Home');
    for (const key of ['ArrowRight', 'ArrowRight', '2', '0', '2', '7']) await page.keyboard.press(key);
    expect(await field.inputValue()).toBe('2027-12-31T17:00');
    await close();
  });

  test('creates an API key whose token is shown once, and revokes it', async () => {
    const { page, visit } = await testPageOf('admin');
    await visit('/settings/keys');
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = page.getByRole('dialog');
    const name = `Newsletter ${crypto.randomUUID()}`;
    await dialog.getByLabel('Name').fill(name);
    await dialog.getByLabel('Read contacts').click();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const description = /^Choose what the key may do\. Beyond contacts/;
    await dialog.getByRole('group', { name: 'Permissions', description }).and(page.locator(':focus')).waitFor();
    await dialog.getByLabel('Read contacts').click();
    await dialog.getByLabel('Add and change contacts').click();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const token = await page.getByRole('dialog').getByLabel('Token').inputValue();
    await page.keyboard.press('Escape');
    expect(token).toMatch(/^dk_live_[0-9a-f]{32}$/);
    const ask = () => fetch(`${service.restUrl}/contacts`, { headers: { authorization: `Bearer ${token}` } });
    expect((await ask()).status).toBe(200);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    expect(await page.content()).not.toContain(token);
    // The focus returns to the button that opened the first of the two dialogs.
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Create key');

    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText(`${name} is revoked`).first().waitFor();
    expect((await ask()).status).toBe(401);
  });

  test('has to enter the password if the sign-in is long ago', async () => {
    const { page, visit } = await testPageOf('admin');
    const password = crypto.randomUUID();
    await service.sql(
      `insert into vault.passwords (user_id, phc) values ($1, $2) on conflict (user_id) do update set phc = excluded.phc`,
      [service.demo.people.admin.user_id, await hashPassword(password, service.config.passwordParameters)],
    );
    await service.sql(`update vault.sessions set authenticated_at = app.now() - interval '1 hour' where user_id = $1`, [
      service.demo.people.admin.user_id,
    ]);
    const proof = page.getByRole('dialog', { name: 'Confirm it is you' });
    // Cancelling shows no error; it would have appeared by the time the following steps are done.
    const [{ name }] = (await service.sql('select name from users where id = $1', [
      service.demo.people.broker.user_id,
    ])) as [{ name: string }];
    await visit('/settings/members');
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitemradio', { name: 'Admin' }).click();
    await proof.getByRole('button', { name: 'Cancel' }).click();
    await visit('/settings/keys');
    await page.getByRole('button', { name: 'Create key' }).first().click();
    expect(await page.getByText('Confirm that it is you: sign in again').count()).toBe(0);
    await page.getByRole('dialog').getByLabel('Name').fill('Late');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await proof.getByLabel('Password', { exact: true }).fill(password);
    await proof.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('dialog', { name: 'The token of Late' }).waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
  });

  test('invites a member by link, changes their role, and withdraws the invitation', async () => {
    const { page, visit } = await testPageOf('admin');
    await visit('/settings/members');
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const name = `Una ${crypto.randomUUID().slice(0, 8)}`;
    const email = `${crypto.randomUUID()}@example.test`;
    await dialog.getByLabel('Name').fill(name);
    await dialog.getByLabel('E-mail').fill(email);
    await dialog.getByRole('button', { name: 'Invite' }).click();
    expect(await page.getByLabel('Invitation link').inputValue()).toContain('/accept-invitation#token=');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Done' }).click();

    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitemradio', { name: 'Staff' }).click();
    await page.getByText(`${name} is now a staff member`).first().waitFor();
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: 'Withdraw invitation' }).click();
    await page.getByRole('button', { name: 'Withdraw' }).click();
    await page.getByText(email).waitFor({ state: 'detached' });
  });

  test('sees undelivered mails with their errors, and sends one again', async () => {
    const { page, go } = await testPageOf('admin');
    const lost = `${crypto.randomUUID()}@example.test`;
    await service.sql(
      `select app.queue_mail('invitation', $2, null, $1, null, true,
         '{"name": "Lou", "by": "Ada", "brokerage": "Ours", "deal": null}', null, null)`,
      [service.demo.brokerage_id, lost],
    );
    await service.sql(
      `update vault.outbox set given_up_at = app.now(), attempts = 1, last_error = 'The mail server refused the address: 550 No such user'
       where recipient = $1`,
      [lost],
    );
    await go('/settings/members');
    const row = page.getByRole('listitem').filter({ hasText: lost });
    await row.getByText('Not delivered').waitFor();
    await row.getByText('550 No such user').waitFor();
    await expectAccessible(page);
    await row.getByRole('button', { name: `Send again to ${lost}` }).click();
    await row.getByText('Waiting').waitFor();
    expect((await service.deliver()).map(({ to }) => to)).toContain(lost);
  });

  test('sees when scheduled jobs last ran, and whether they failed', async () => {
    const { page, visit, go } = await testPageOf('admin');
    await service.sql(`select app.note_job_run('sweep', true), app.note_job_run('purge_mails', false)`);
    await visit('/settings/status');
    await page.getByRole('listitem').filter({ hasText: 'Clear old e-mails' }).getByText('Failed').waitFor();
    await page.getByRole('listitem').filter({ hasText: 'Process expirations' }).getByText('Succeeded').waitFor();
    await page.getByText('Not made by this service').waitFor();
    await expectAccessible(page);
    await service.sql(`select app.note_job_run('backup', false)`);
    await go('/settings/status');
    await page.getByText('Last attempt').waitFor();
    await expectAccessible(page);
  });

  test('renames the brokerage, and finds the change in the audit trail', async () => {
    const { page, visit } = await testPageOf('admin');
    await visit('/settings/brokerage');
    const renamed = `Brokers ${crypto.randomUUID()}`;
    await page.getByLabel('Name').fill(renamed);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('navigation', { name: 'Settings' }).getByText(renamed).waitFor();
    await visit('/settings/audit');
    const record = page.getByRole('row').filter({ hasText: 'Rename the brokerage' }).first();
    await record.getByRole('button', { name: 'Rename the brokerage' }).click();
    await page.getByRole('dialog').getByText('brokerage.rename').waitFor();
    await expectAccessible(page);
    await escapeFrom(page, page.getByRole('dialog'));
    await service.sql(
      `insert into audit_records (brokerage_id, user_id, action, outcome, noted)
       select brokerage_id, user_id, 'contact.merge', 'repeated', false from members where user_id = $1`,
      [service.demo.people.admin.user_id],
    );
    await page.getByLabel('Outcome').selectOption('Done');
    const repeated = page.getByRole('row').filter({ hasText: 'Merge' }).first();
    await repeated.waitFor();
    expect(await repeated.textContent()).not.toContain('Already done');
    await repeated.click();
    await page.getByRole('dialog').getByText('Already done').waitFor();
    await page.getByRole('button', { name: 'Show this person’s records' }).click();
    await expect.poll(() => page.getByLabel('Person').inputValue()).toBe(service.demo.people.admin.user_id);
    expect(await page.getByLabel('Outcome').inputValue()).toBe('any');
    await page.getByLabel('Person').selectOption('Anyone');
    await page.getByLabel('About').selectOption('API keys');
    await page.getByRole('row').filter({ hasText: 'Revoke an API key' }).first().waitFor();
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'Rename the brokerage' }).count()).toBe(0);
    // A year with a fifth digit is not a valid date yet, and filters nothing.
    await page.getByLabel('From').fill('20266-01-01');
    await page.getByRole('row').filter({ hasText: 'Revoke an API key' }).first().waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    expect((await download).suggestedFilename()).toBe('audit-trail.csv');
  });

  test('reads the records of one deal alone', async () => {
    const { page, visit } = await testPageOf('admin');
    const deal = service.demo.deals.with_everything;
    await visit(`/deals/${deal}/activity`);
    await page.getByRole('link', { name: 'Audit trail', exact: true }).last().click();
    const only = page.getByText(/^Only records of /);
    await page.getByRole('grid', { name: 'Audit trail' }).waitFor();
    await expect.poll(() => only.textContent()).not.toContain('one deal');
    const title = (await only.textContent())!.replace('Only records of ', '');
    expect(await page.getByRole('row').filter({ hasNotText: title }).count()).toBe(1);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Show all deals' }).click();
    await only.waitFor({ state: 'detached' });
    await page.getByRole('row').filter({ hasText: title }).first().click();
    await page.getByRole('button', { name: 'Show this deal’s records' }).click();
    await only.waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get('deal')).toBe(deal);
  });

  test('sees the deletion time of the brokerage in the time zone of the browser', async () => {
    const { user_id } = service.demo.people.admin;
    const { cookie } = await signInAs(service, user_id);
    const zone = { locale: 'en-US', timezoneId: 'America/New_York' };
    const { page, go, close } = await openTestPage(browser, service.origin, { cookie, ...zone });
    await service.sql(
      'insert into vault.brokerage_deletions (brokerage_id, due_at) values ($1, $2) on conflict (brokerage_id) do update set due_at = excluded.due_at',
      [service.demo.brokerage_id, '2040-12-30T01:00:00Z'],
    );
    try {
      await go('/settings/brokerage');
      await page.getByText('will be deleted on Dec 29, 2040, 8:00 PM').waitFor();
    } finally {
      await service.sql('delete from vault.brokerage_deletions');
    }
    await close();
  });
});

describe('any person', () => {
  test('registers a client from a preset and grants it a tool with an end date', async () => {
    const testPage = await testPageOf('buyer');
    const { page } = testPage;
    await testPage.visit('/settings/clients');
    await page.getByRole('button', { name: 'Register client' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'VS Code' }).click();
    expect(await dialog.getByLabel('Redirect URIs').inputValue()).toContain('https://vscode.dev/redirect');
    await dialog.getByLabel('Name').fill('My VS Code');
    await dialog.getByLabel('Redirect URIs').fill('http://evil.test/');
    await dialog.getByRole('button', { name: 'Register' }).click();
    await dialog.getByText(/Plain http only/).waitFor();
    await expectAccessible(page);
    await dialog.getByLabel('Redirect URIs').fill('https://vscode.dev/redirect');
    await dialog.getByRole('button', { name: 'Register' }).click();
    await page.getByRole('dialog', { name: 'My VS Code is registered' }).waitFor();
    await page.getByRole('button', { name: 'Copy client_id' }).waitFor();
    const clientId = await page.getByRole('dialog').getByLabel('client_id', { exact: true }).inputValue();
    await page.getByRole('button', { name: 'Done' }).click();

    await testPage.go(`/settings/clients/${clientId}/tools`);
    await page.waitForURL('**/settings/tools?client=*');
    const tool = page.getByRole('switch', { name: 'Ask a question on a deal' });
    await tool.click();
    await page.getByRole('button', { name: 'Set an end date for Ask a question on a deal' }).click();
    const end = page.getByLabel('On until, Ask a question on a deal');
    await end.and(page.locator(':focus')).waitFor();
    const ends = () =>
      service.sql('select tool from tool_grants where client_id = $1 and expires_at is not null', [clientId]);
    await end.fill('2099-01-01T12:00');
    await end.press('ArrowUp');
    await end.press('ArrowDown');
    await end.blur();
    await page.getByRole('link', { name: 'Profile', exact: true }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Keep editing' }).click();
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    expect(await ends()).toEqual([]);
    await page.getByRole('button', { name: 'Save On until, Ask a question on a deal' }).click();
    await expect
      .poll(() =>
        service.sql('select tool, expires_at is not null as ends from tool_grants where client_id = $1', [clientId]),
      )
      .toEqual([{ tool: 'svc_questions_create', ends: true }]);
    await expectAccessible(page);
    await tool.click();
    await expect.poll(() => service.sql('select tool from tool_grants where client_id = $1', [clientId])).toEqual([]);

    await testPage.visit('/settings/clients');
    await page.getByRole('button', { name: 'Actions for My VS Code' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete client' }).click();
    await page.getByText('My VS Code is deleted').first().waitFor();
    await testPage.visit('/settings/audit');
    await page.getByLabel('About').selectOption('Tool permissions');
    const allowed = page.getByRole('row').filter({ hasText: 'Allow a tool' });
    await allowed.filter({ hasText: 'Ask a question on a deal' }).first().waitFor();
  });

  test('sees where a client is from whose name its document alone says', async () => {
    const { page, visit } = await testPageOf('buyer');
    const [made] = await service.sql<{ id: string }>(
      `insert into connected_clients (created_by, name, redirect_uris, metadata_url)
       values ($1, 'Claude', '{https://evil.example/back}', 'https://evil.example/claude.json') returning id`,
      [service.demo.people.buyer.user_id],
    );
    await visit(`/settings/tools?client=${made!.id}`);
    await page.getByText('Claude (evil.example) is not connected yet').waitFor();
    const shown = await page.getByLabel('Client', { exact: true }).locator('option:checked').textContent();
    expect(shown).toBe('Claude (evil.example)');
    await service.sql('delete from connected_clients where id = $1', [made!.id]);
  });

  test('is told where an assistant leads that may only read how to let it write', async () => {
    const { page, go } = await testPageOf('buyer');
    const reader = await addToken(service, service.demo.people.buyer.user_id, { scopes: ['mcp:read'] });
    await service.sql(
      `insert into vault.refresh_tokens (digest, family_id, expires_at) values (sha256('x'), $1, app.now() + interval '30 days')`,
      [reader.familyId],
    );
    const { structuredContent } = await caller(service, reader)('svc_questions_create');
    const { reason, resolve_url: url } = structuredContent as { reason: string; resolve_url: string };
    expect([reason, new URL(url).origin]).toEqual(['missing_scope', service.config.baseUrl]);
    await go(new URL(url).pathname);
    const told = page.getByText('You authorized An assistant for reading only. Disconnect it under Connected clients');
    await told.getByRole('link', { name: 'Connected clients' }).click();
    await page.getByRole('button', { name: 'Actions for An assistant' }).click();
    await page.getByRole('menuitem', { name: 'Disconnect' }).waitFor();
    await escapeFrom(page, page.getByRole('menu'));
    await service.sql('update connected_clients set deleted_at = app.now() where id = $1', [reader.clientId]);
  });

  test('gets the configuration for the chosen assistant', async () => {
    const { page, visit } = await testPageOf('buyer');
    await visit('/settings/assistants');
    await page.getByRole('button', { name: 'VS Code' }).click();
    await page.getByText('nothing needs to be registered').waitFor();
    expect(await page.locator('pre').first().textContent()).toContain(`"url": "${service.config.baseUrl}/api/mcp"`);
    await page.getByRole('button', { name: 'opencode' }).click();
    await page.getByText('http://127.0.0.1/mcp/oauth/callback').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Register client' }).click();
    await page.getByText('The client is registered.').waitFor();
    await page.getByText('opencode registered').first().waitFor();
    const [made] = await service.sql<{ id: string }>(
      `select id from connected_clients where name = 'opencode' order by created_at desc`,
    );
    expect(await page.locator('pre').first().textContent()).toContain(`"clientId": "${made?.id}"`);
    await expectAccessible(page);
  });

  test('changes name, address and password, sets up an authenticator, and ends another session', async () => {
    const { id, password } = await openAccount(service);
    const [other, testPage] = [await newTestPageOf(id), await newTestPageOf(id)];
    const { page } = testPage;
    await testPage.visit('/settings/profile');
    await page.getByLabel('Name').fill('Renamed Buyer');
    await page.getByRole('button', { name: 'Save name' }).click();
    await page.getByText('Name saved').first().waitFor();
    // With nothing to save, the button is disabled, but keeps the focus.
    const idle = page.getByRole('button', { name: 'Save name', disabled: true });
    await idle.and(page.locator(':focus')).waitFor();
    await page.getByLabel('E-mail').fill(`new-${id}@example.test`);
    await page.getByRole('button', { name: 'Change address' }).click();
    await page.getByText('Check your e-mail').waitFor();
    const sent = `A link is on its way to new-${id}@example.test.`;
    await page.getByRole('status').filter({ hasText: sent }).waitFor({ state: 'attached' });
    expect((await service.deliver()).some(({ to }) => to === `new-${id}@example.test`)).toBe(true);

    await testPage.visit('/settings/security');
    await page.getByRole('button', { name: 'Sign out all others' }).click();
    await page.getByText('All other sessions are signed out').first().waitFor();
    await page.locator('section:focus').getByRole('heading', { name: 'Where you are signed in' }).waitFor();
    await other.page.goto(`${service.origin}/settings/security`);
    await other.page.waitForURL('**/sign-in*');

    await page.getByRole('button', { name: 'Set up an authenticator' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByAltText('QR code of the key below').waitFor();
    const secret = await dialog.getByLabel('Or type this key into the app').inputValue();
    await expectAccessible(page);
    await dialog.getByLabel('Code').fill('000000x');
    await dialog.getByRole('button', { name: 'Turn it on' }).click();
    await dialog.getByText(/The code is not correct/).waitFor();
    await dialog.getByLabel('Code').fill(await generate({ secret }));
    await dialog.getByRole('button', { name: 'Turn it on' }).click();
    await page.getByRole('dialog', { name: 'Your recovery codes' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'I have saved them' }).click();
    await page.getByText(/recovery codes left/).waitFor();

    await page.getByLabel('Current password').fill('wrong one, surely');
    await page.getByLabel('New password').fill(`${password} and more`);
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('The current password is not correct.').waitFor();
    await page.getByLabel('Current password').fill(password);
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Your password is changed').first().waitFor();
    await page.getByRole('button', { name: 'Remove authenticator' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('The authenticator is removed').first().waitFor();
    expect([...testPage.complaints]).toEqual([]);
    await Promise.all([other.close(), testPage.close()]);
  });
});
