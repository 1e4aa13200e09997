/**
 * Removing a member, and a second factor that the brokerage requires, in a real browser, on a desktop and on a phone.
 */

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { expectAccessible, openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { issueKey } from '../rest/scene.ts';
import { addBrokerage, addFullDeal, addPerson, insert, type FullDeal } from '../tools/scene.ts';
import { signInAs } from './person.ts';

const sizes = { wide: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };

let service: TestService;
let browser: Browser;
let full: FullDeal;

beforeAll(async () => {
  service = await openService();
  browser = await openBrowser();
  full = await addFullDeal(service);
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

const testPageOf = async (userId: string): Promise<TestPage> =>
  openTestPage(browser, service.origin, { cookie: (await signInAs(service, userId)).cookie });

async function fits({ page }: TestPage): Promise<void> {
  const over = () => page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  await expect.poll(over).toBe(0);
}

test('a member of a brokerage that requires a second factor is led to setting one up', async () => {
  const { admin, broker } = full.people;
  await service.sql(`insert into vault.totp (user_id, secret, confirmed_at) values ($1, $2, app.now())`, [
    admin.userId,
    'A'.repeat(32),
  ]);
  const testPage = await testPageOf(admin.userId);
  await service.sql('update vault.sessions set second_factor_at = app.now() where user_id = $1', [admin.userId]);
  const { page } = testPage;
  await testPage.go('/settings/members');
  await page.getByText('No second factor').waitFor();
  await testPage.visit('/settings/brokerage');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Require a second factor' }).click();
  await page.getByRole('button', { name: 'Require it' }).click();
  await page.getByRole('button', { name: 'No longer require it' }).waitFor();

  const member = await testPageOf(broker.userId);
  for (const size of ['wide', 'phone'] as const) {
    await member.page.setViewportSize(sizes[size]);
    await member.visit('/');
    await member.page.getByRole('region', { name: 'Second factor' }).waitFor();
    await expectAccessible(member.page);
    await fits(member);
    await member.page.getByRole('link', { name: 'Set it up' }).click();
    await member.page.getByRole('button', { name: 'Set up an authenticator' }).waitFor();
    expect(member.complaints).toEqual([]);
  }
  await member.close();
  await page.getByRole('button', { name: 'No longer require it' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'No longer require it' }).click();
  await page.getByRole('button', { name: 'Require a second factor' }).waitFor();
  await testPage.close();
});

test('a member leaves a brokerage, also one that is closed to them without a second factor', async () => {
  const own = await addFullDeal(service);
  const staff = await addPerson(service, 'Sam');
  for (const brokerage_id of [own.brokerage, full.brokerage])
    await insert(service, 'members', { brokerage_id, user_id: staff, role: 'staff' });
  const names = await service.sql<{ id: string; name: string }>('select id, name from brokerages where id = any ($1)', [
    [own.brokerage, full.brokerage],
  ]);
  const nameOf = (id: string) => names.find((one) => one.id === id)!.name;
  await service.sql('update brokerages set name = $2, requires_second_factor = true where id = $1', [
    own.brokerage,
    'Strict Brokers',
  ]);
  const testPage = await testPageOf(staff);
  const { page } = testPage;
  const question = page.getByRole('alertdialog');
  await testPage.visit('/settings/security');
  await page.getByRole('button', { name: 'Leave Strict Brokers' }).click();
  await page.getByRole('alertdialog', { name: 'Leave Strict Brokers?' }).waitFor();
  await expectAccessible(page);
  await question.getByRole('button', { name: 'Leave' }).click();
  await page.getByText('You left Strict Brokers').first().waitFor();
  await page.getByRole('region', { name: 'Second factor' }).waitFor({ state: 'detached' });

  await testPage.visit('/settings/members');
  expect(await page.getByRole('button', { name: 'Actions for broker' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Actions for Sam' }).click();
  await page.getByRole('menuitem', { name: 'Leave the brokerage' }).click();
  await question.getByRole('button', { name: 'Leave' }).click();
  await page
    .getByText(`You left ${nameOf(full.brokerage)}`)
    .first()
    .waitFor();
  await page.getByText('You are not a member of a brokerage').waitFor();
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
  expect(await service.sql(`select status from members where user_id = $1`, [staff])).toEqual([
    { status: 'removed' },
    { status: 'removed' },
  ]);
});

test('an admin ends a member’s sessions after confirming their password', async () => {
  const { admin, broker } = full.people;
  const password = crypto.randomUUID();
  await service.sql('delete from vault.totp where user_id = $1', [admin.userId]);
  await service.sql('insert into vault.passwords (user_id, phc) values ($1, $2)', [
    admin.userId,
    await hashPassword(password, service.config.passwordParameters),
  ]);
  const member = await testPageOf(broker.userId);
  const testPage = await testPageOf(admin.userId);
  await service.sql(`update vault.sessions set authenticated_at = app.now() - interval '1 hour' where user_id = $1`, [
    admin.userId,
  ]);
  const { page } = testPage;
  await testPage.go('/settings/members');
  await page.getByRole('button', { name: 'Actions for broker' }).click();
  await page.getByRole('menuitem', { name: 'End sessions' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'End sessions' }).click();
  const proof = page.getByRole('dialog', { name: 'Confirm it is you' });
  await proof.getByLabel('Password', { exact: true }).fill(password);
  await proof.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('broker is signed out everywhere').first().waitFor();
  await member.page.goto(`${service.origin}/settings/profile`);
  await member.page.waitForURL('**/sign-in*');
  await member.close();
  await testPage.close();
});

test('removing a member lists the deals left without a broker and hands them to a successor', async () => {
  const { admin, broker } = full.people;
  const successor = await addPerson(service, 'Suki Marsh');
  await insert(service, 'members', { brokerage_id: full.brokerage, user_id: successor, role: 'broker' });
  const outsider = await addPerson(service, 'Olga Rival');
  await insert(service, 'participants', { deal_id: full.deal, user_id: outsider, role: 'broker', status: 'active' });
  const runs = await signInAs(service, broker.userId);
  const sent = { email: 'friend@rival.example', name: 'Friend', role: 'viewer', deliver: 'link' };
  expect((await runs.ask(`/deals/${full.deal}/participants`, sent)).status).toBe(201);
  const testPage = await testPageOf(admin.userId);
  const { page } = testPage;
  for (const size of ['phone', 'wide'] as const) {
    await page.setViewportSize(sizes[size]);
    await testPage.visit('/settings/members');
    // A broker who becomes staff leaves their deals, too; changing the role again does not bring the deals back.
    await page.getByRole('button', { name: 'Actions for broker' }).click();
    await page.getByRole('menuitemradio', { name: 'Staff' }).click();
    const staff = page.getByRole('dialog', { name: 'Make broker a staff member?' });
    await staff.getByText('Corner bakery').first().waitFor();
    await staff.getByText('Olga Rival').waitFor();
    await staff.getByText('1 invitation that they sent and nobody has accepted is withdrawn.').waitFor();
    await staff.getByRole('button', { name: 'Make staff' }).click();
    await staff.getByText('Choose who takes over, or no one for now.').waitFor();
    await expectAccessible(page);
    await staff.getByRole('button', { name: 'Cancel' }).click();
    await staff.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Actions for broker' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove broker?' });
    await dialog.getByText('Corner bakery').first().waitFor();
    await dialog.getByText('This broker is not in the brokerage').waitFor();
    await dialog.getByText('1 invitation that they sent and nobody has accepted is withdrawn.').waitFor();
    // Nobody is chosen for the admin.
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByText('Choose who takes over, or no one for now.').waitFor();
    await dialog.getByLabel('New broker').selectOption('No one for now');
    await dialog.getByText('Nobody of the brokerage runs the deal').waitFor();
    await dialog.getByLabel('New broker').selectOption('Suki Marsh');
    await expectAccessible(page);
    await fits(testPage);
    await dialog.getByRole('button', { name: size === 'phone' ? 'Cancel' : 'Remove' }).click();
    if (size === 'wide') await page.getByText('broker is removed').first().waitFor();
    expect(testPage.complaints).toEqual([]);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  await page.getByRole('button', { name: 'Actions for Suki Marsh' }).click();
  await page.getByRole('menuitemradio', { name: 'Staff' }).click();
  const staff = page.getByRole('dialog', { name: 'Make Suki Marsh a staff member?' });
  await staff.getByText('Corner bakery').first().waitFor();
  const roleOf = () => service.sql('select role from members where user_id = $1', [successor]);
  expect(await roleOf()).toEqual([{ role: 'broker' }]);
  await staff.getByRole('button', { name: 'Cancel' }).click();
  await testPage.close();
  expect(
    await service.sql('select user_id, role, status from participants where deal_id = $1 and user_id = any ($2)', [
      full.deal,
      [successor, broker.userId],
    ]),
  ).toEqual(
    expect.arrayContaining([
      { user_id: successor, role: 'broker', status: 'active' },
      { user_id: broker.userId, role: 'broker', status: 'removed' },
    ]),
  );
});

test('making an admin a broker asks first, and the pages say which keys and webhooks depend on them', async () => {
  const { admin } = full.people;
  const other = await addPerson(service, 'Ada Keyes');
  await insert(service, 'members', { brokerage_id: full.brokerage, user_id: other, role: 'admin' });
  const limited = await issueKey(
    service,
    { id: full.brokerage, admin: other },
    { scopes: ['contacts:read', 'deals:read'] },
  );
  const stopped = await issueKey(service, { id: full.brokerage, admin: other }, { scopes: ['deals:read'] });
  await service.sql(
    `update api_keys set name = case id when $1 then 'Website' else 'Accounting' end where id in ($1, $2)`,
    [limited.id, stopped.id],
  );
  const webhook = { url: 'https://hooks.example.com/deals', description: 'Ledger', types: null };
  expect((await (await signInAs(service, other)).ask(`/keys/${limited.id}/webhooks`, webhook)).status).toBe(201);
  const testPage = await testPageOf(admin.userId);
  const { page } = testPage;
  const key = (name: string) => page.getByRole('listitem').filter({ hasText: name });
  await testPage.go('/settings/keys');
  await key('Website').getByText('Ada Keyes', { exact: true }).waitFor();
  for (const size of ['phone', 'wide'] as const) {
    await page.setViewportSize(sizes[size]);
    await testPage.visit('/settings/members');
    await page.getByRole('button', { name: 'Actions for Ada Keyes' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    const removal = page.getByRole('dialog', { name: 'Remove Ada Keyes?' });
    for (const name of ['Website', 'Accounting', 'Ledger']) await removal.getByText(name).waitFor();
    await removal.getByRole('button', { name: 'Cancel' }).click();
    await removal.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Actions for Ada Keyes' }).click();
    await page.getByRole('menuitemradio', { name: 'Broker' }).click();
    const dialog = page.getByRole('dialog', { name: 'Make Ada Keyes a broker?' });
    for (const name of ['Website', 'Accounting', 'Ledger']) await dialog.getByText(name).waitFor();
    await expectAccessible(page);
    await fits(testPage);
    await dialog.getByRole('button', { name: size === 'phone' ? 'Cancel' : 'Make broker' }).click();
    await dialog.waitFor({ state: 'detached' });
  }
  await page.getByText('Ada Keyes is now a broker').first().waitFor();
  expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
  for (const size of ['phone', 'wide'] as const) {
    await page.setViewportSize(sizes[size]);
    await testPage.visit('/settings/keys');
    await key('Website').getByText('Contacts only', { exact: true }).waitFor();
    await key('Accounting').getByText('Not working', { exact: true }).waitFor();
    await key('Accounting').getByText('Ada Keyes, who was last shown its token, is no longer an admin').waitFor();
    await expectAccessible(page);
    await fits(testPage);
    await testPage.visit('/settings/webhooks');
    await key('Ledger').getByText('Ada Keyes', { exact: true }).waitFor();
    await fits(testPage);
  }
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

test('an admin finds the deals that nobody runs from the home page, and by broker in the list', async () => {
  const own = await addFullDeal(service, { state: 'listed' });
  const { admin, broker } = own.people;
  await insert(service, 'deals', { organization_id: own.brokerage, title: 'Nobody runs it' });
  const testPage = await testPageOf(admin.userId);
  const { page } = testPage;
  for (const size of ['phone', 'wide'] as const) {
    await page.setViewportSize(sizes[size]);
    await testPage.visit('/');
    await page.getByText('One open deal has no broker of the brokerage.').waitFor();
    await expectAccessible(page);
    await fits(testPage);
    await page.getByRole('link', { name: 'Show it' }).click();
    const shown = page.getByRole('link', { name: /Nobody runs it/ });
    await shown.waitFor();
    expect(await page.getByText('Corner bakery').count()).toBe(0);
    await expectAccessible(page);
    await fits(testPage);
    await page.getByLabel('Broker', { exact: true }).selectOption('broker');
    await page.getByText('Corner bakery').waitFor();
    await shown.waitFor({ state: 'detached' });
    await page.getByLabel('Broker', { exact: true }).selectOption('No broker of the brokerage');
    await shown.click();
    await page
      .getByRole('region', { name: 'Broker of the deal' })
      .getByText('This deal has no broker of the brokerage.')
      .waitFor();
    await expectAccessible(page);
    await fits(testPage);
    expect(testPage.complaints).toEqual([]);
  }
  await testPage.close();

  const brokers = await testPageOf(broker.userId);
  await brokers.visit('/deals');
  const choices = brokers.page.getByLabel('Broker', { exact: true }).getByRole('option');
  await expect.poll(() => choices.allTextContents()).toEqual(['All brokers', 'admin', 'broker']);
  await brokers.close();
});

test('an admin hands chosen deals of a member over to a colleague, who runs them at once', async () => {
  const own = await addFullDeal(service);
  const { admin, broker } = own.people;
  const colleague = await addPerson(service, 'Suki Marsh');
  await insert(service, 'members', { brokerage_id: own.brokerage, user_id: colleague, role: 'broker' });
  const other = await insert(service, 'deals', { organization_id: own.brokerage, title: 'Second shop' });
  await insert(service, 'participants', { deal_id: other, user_id: broker.userId, role: 'broker', status: 'active' });
  const testPage = await testPageOf(admin.userId);
  const { page } = testPage;
  const dialog = page.getByRole('dialog', { name: 'Hand over broker’s deals' });
  for (const size of ['phone', 'wide'] as const) {
    await page.setViewportSize(sizes[size]);
    await testPage.visit('/settings/members');
    await page.getByRole('button', { name: 'Actions for broker' }).click();
    await page.getByRole('menuitem', { name: 'Hand over deals' }).click();
    await dialog.getByRole('button', { name: 'Hand over' }).click();
    await dialog.getByText('Choose the new broker.').waitFor();
    await dialog.getByLabel('New broker').selectOption('Suki Marsh');
    await dialog.getByLabel('Deals', { exact: true }).selectOption('Chosen deals');
    await dialog.getByLabel('Second shop').check();
    await expectAccessible(page);
    await fits(testPage);
    if (size === 'phone') await dialog.getByRole('button', { name: 'Cancel' }).click();
    else {
      await dialog.getByLabel('broker afterwards').selectOption('Leaves these deals');
      await dialog.getByRole('button', { name: 'Hand over' }).click();
      await page.getByText('One deal is handed over').first().waitFor();
    }
    await dialog.waitFor({ state: 'detached' });
    expect(testPage.complaints).toEqual([]);
  }
  await testPage.close();
  const parts = await service.sql(
    `select user_id, deal_id from participants where user_id = any ($1) and role = 'broker' and status = 'active'`,
    [[colleague, broker.userId]],
  );
  expect(parts.toSorted((one, two) => (one['deal_id'] === other ? -1 : two['deal_id'] === other ? 1 : 0))).toEqual([
    { user_id: colleague, deal_id: other },
    { user_id: broker.userId, deal_id: own.deal },
  ]);
});

test('an invitation to a brokerage is accepted or declined on the home page, and its link expires visibly', async () => {
  const own = await addFullDeal(service);
  await service.sql(`update brokerages set name = 'Birch Brokers' where id = $1`, [own.brokerage]);
  const guest = await addPerson(service, 'Gina Marsh');
  const [{ email } = { email: '' }] = await service.sql<{ email: string }>('select email from users where id = $1', [
    guest,
  ]);
  const asAdmin = await signInAs(service, own.people.admin.userId);
  const invite = () =>
    asAdmin.ask(`/brokerages/${own.brokerage}/members`, { email, name: 'Gina Marsh', role: 'broker', deliver: 'link' });
  await invite();
  const guests = await testPageOf(guest);
  const admins = await testPageOf(own.people.admin.userId);
  for (const size of ['phone', 'wide'] as const) {
    await guests.page.setViewportSize(sizes[size]);
    await guests.visit('/');
    await guests.page.getByText('You are invited to the brokerage as a broker').waitFor();
    await expectAccessible(guests.page);
    await fits(guests);
    await admins.page.setViewportSize(sizes[size]);
    await admins.go('/settings/members');
    await admins.page.getByText(/^until .*\d/).waitFor();
    await fits(admins);
    await service.sql(`update vault.invitations set expires_at = app.now() - interval '1 day' where user_id = $1`, [
      guest,
    ]);
    await admins.page.reload();
    await admins.page.getByText('Link expired').waitFor();
    await expectAccessible(admins.page);
    await invite();
  }
  await guests.page.getByRole('button', { name: 'Decline the invitation to Birch Brokers' }).click();
  await guests.page.getByRole('alertdialog').getByText('Birch Brokers sees that you declined').waitFor();
  await guests.page.getByRole('alertdialog').getByRole('button', { name: 'Decline' }).click();
  await guests.page.getByText('No deals yet').waitFor();
  await invite();
  await guests.go('/');
  await guests.page.getByRole('button', { name: 'Accept the invitation to Birch Brokers' }).click();
  await guests.page.waitForURL('**/deals');
  await guests.page.getByRole('button', { name: 'New deal' }).waitFor();
  expect([...guests.complaints, ...admins.complaints]).toEqual([]);
  await guests.close();
  await admins.close();
});

test('an admin invites several people at once, and is told who is not invited yet and why', async () => {
  const mailing = await openService({ config: { smtpUrl: 'smtp://mail.example.com' } });
  try {
    const { brokerage, people } = await addFullDeal(mailing);
    const [{ email } = { email: '' }] = await mailing.sql<{ email: string }>('select email from users where id = $1', [
      people.broker.userId,
    ]);
    const { cookie } = await signInAs(mailing, people.admin.userId);
    const testPage = await openTestPage(browser, mailing.origin, { cookie });
    const { page } = testPage;
    await testPage.go('/settings/members');
    await page.getByRole('button', { name: 'Invite several' }).click();
    const dialog = page.getByRole('dialog');
    const field = dialog.getByLabel('People');
    await field.fill('Ann Lee');
    await dialog.getByRole('button', { name: 'Invite' }).click();
    await dialog.getByText('There is no e-mail address in “Ann Lee”.').waitFor();
    await field.fill(Array.from({ length: 51 }, (_, n) => `guest${n}@new.example`).join('\n'));
    await dialog.getByRole('button', { name: 'Invite' }).click();
    await dialog.getByText('Enter 50 people at most: these are 51.').waitFor();
    const others = Array.from({ length: 19 }, (_, n) => `guest${n}@new.example`);
    mailing.clock.startMinute();
    await field.fill(
      [email, '"Lee, Ann" <ann@new.example>; bo.ray@new.example', 'ANN@new.example', ...others].join('\n'),
    );
    await dialog.getByRole('button', { name: 'Invite' }).click();
    await dialog.getByText('20 people are invited').waitFor();
    await dialog.getByText('2 people are not invited yet').waitFor();
    await dialog.getByText(`${email}: This person is a member already.`).waitFor();
    await dialog.getByText('guest18@new.example: You have sent 20 e-mails within a minute').waitFor();
    for (const size of Object.values(sizes)) {
      await page.setViewportSize(size);
      await expectAccessible(page);
      await fits(testPage);
    }
    mailing.clock.advance(60_000);
    await dialog.getByRole('button', { name: 'Try these again' }).click();
    await dialog.getByText('21 people are invited').waitFor();
    await dialog.getByText('One person is not invited yet').waitFor();
    await field.fill('Zoe Marsh, zoe@new.example');
    await dialog.getByRole('button', { name: 'Try these again' }).click();
    await page.getByRole('dialog', { name: '22 people are invited' }).getByRole('button', { name: 'Done' }).click();
    await page.getByText('Zoe Marsh').waitFor();
    expect(testPage.complaints.filter((one) => !/40[09]|429/.test(one))).toEqual([]);
    await testPage.close();
    const invited = await mailing.sql(
      `select invited_name, invited_email, role from members where brokerage_id = $1 and status = 'invited' order by invited_email limit 2`,
      [brokerage],
    );
    expect(invited).toEqual([
      { invited_name: 'Lee, Ann', invited_email: 'ann@new.example', role: 'broker' },
      { invited_name: 'Bo Ray', invited_email: 'bo.ray@new.example', role: 'broker' },
    ]);
  } finally {
    await mailing.close();
  }
});

test('an admin opens a deal for a broker, who runs it', async () => {
  const own = await addFullDeal(service);
  const testPage = await testPageOf(own.people.admin.userId);
  const { page } = testPage;
  await testPage.go('/deals?new=true');
  const dialog = page.getByRole('dialog', { name: 'New deal' });
  await dialog.getByLabel('Broker', { exact: true }).selectOption('broker');
  await dialog.getByText('They run the deal from the start.').waitFor();
  await expectAccessible(page);
  await fits(testPage);
  await dialog.getByLabel('Title').fill('Sail loft');
  await dialog.getByRole('button', { name: 'Open deal' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sail loft' }).waitFor();
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
  const parts = await service.sql(
    `select p.user_id, p.role, p.status from participants p join deals d on d.id = p.deal_id where d.title = 'Sail loft'`,
  );
  expect(parts).toEqual([{ user_id: own.people.broker.userId, role: 'broker', status: 'active' }]);
});

test('the draft of a deal for a broker who is gone meanwhile becomes a deal of one’s own', async () => {
  const own = await addFullDeal(service);
  const testPage = await testPageOf(own.people.admin.userId);
  const { page } = testPage;
  page.on('dialog', (prompt) => void prompt.accept());
  await testPage.go('/deals?new=true');
  const dialog = page.getByRole('dialog', { name: 'New deal' });
  await dialog.getByLabel('Title').fill('Rope walk');
  await dialog.getByLabel('Broker', { exact: true }).selectOption('broker');
  const stored = () =>
    page.evaluate<string>(
      `Object.entries(localStorage).find(([name]) => name.startsWith('dealkeep.draft.'))?.[1] ?? ''`,
    );
  await expect.poll(stored).not.toBe('');
  const before = await stored();
  await dialog.getByLabel('Title').fill('Rope walk by the harbor');
  await expect.poll(stored).not.toBe(before);
  await service.sql(`update members set status = 'removed' where brokerage_id = $1 and user_id = $2`, [
    own.brokerage,
    own.people.broker.userId,
  ]);
  await page.reload();
  await dialog.getByText('Your draft from last time').waitFor();
  await dialog.getByRole('button', { name: 'Open deal' }).click();
  await page.getByRole('heading', { level: 1, name: 'Rope walk by the harbor' }).waitFor();
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

test('each of several people invited gets the own name, however they are written', async () => {
  const { brokerage, people } = await addFullDeal(service);
  const testPage = await testPageOf(people.admin.userId);
  const { page } = testPage;
  await testPage.go('/settings/members');
  await page.getByRole('button', { name: 'Invite several' }).click();
  const dialog = page.getByRole('dialog');
  const lines = [
    'ann@own.example Ann Lee, bob@own.example Bob Roe',
    '1. zoe@own.example',
    '- Kim Moss mailto:kim@own.example',
    'max@own.example.',
    'Ray, Eva <eva@own.example>, Fox, Tim <tim@own.example>',
    'joe@own.example, Joe Ash, lou@own.example, Lou Elm',
    '王芳＜wang@own.example＞；田中、yuki＠own.example',
  ];
  await dialog.getByLabel('People').fill(lines.join('\n'));
  await dialog.getByRole('button', { name: 'Invite' }).click();
  await page.getByRole('dialog', { name: '11 people are invited' }).waitFor();
  await testPage.close();
  const invited = await service.sql<{ who: string }>(
    `select invited_name || ' ' || invited_email as who from members where brokerage_id = $1 and status = 'invited' and invited_email like '%own.example%' order by invited_email`,
    [brokerage],
  );
  expect(invited.map(({ who }) => who)).toEqual([
    'Ann Lee ann@own.example',
    'Bob Roe bob@own.example',
    'Ray, Eva eva@own.example',
    'Joe joe@own.example',
    'Kim Moss kim@own.example',
    'Lou lou@own.example',
    'Max max@own.example',
    'Fox, Tim tim@own.example',
    '王芳 wang@own.example',
    '田中 yuki@own.example',
    'Zoe zoe@own.example',
  ]);
});

test('an invitation link opened by a visitor offers signing in and creating an account', async () => {
  const admin = await signInAs(service, full.people.admin.userId);
  const invited = await admin.ask(`/deals/${full.deal}/participants`, {
    email: 'somebody@example.test',
    name: 'Some Body',
    role: 'viewer',
    advises: null,
  });
  const { pathname, hash } = new URL(invited.body.invitation_url);
  const testPage = await openTestPage(browser, service.origin);
  await testPage.go(pathname + hash);
  for (const size of Object.values(sizes)) {
    await testPage.page.setViewportSize(size);
    await testPage.page.getByRole('link', { name: 'Sign in' }).first().waitFor();
    await testPage.page.getByRole('button', { name: 'Accept and continue' }).waitFor();
    await expectAccessible(testPage.page);
    await fits(testPage);
  }
  await testPage.close();
});

test('a person who is staff in one brokerage and broker in another opens deals for the latter', async () => {
  const [staffOf, ownedBy] = [
    await addBrokerage(service, 'Aspen Brokers'),
    await addBrokerage(service, 'Birch Brokers'),
  ];
  const person = await addPerson(service, 'Sam Staff');
  await insert(service, 'members', { brokerage_id: staffOf, user_id: person, role: 'staff', status: 'active' });
  await insert(service, 'members', { brokerage_id: ownedBy, user_id: person, role: 'broker', status: 'active' });
  const { page, go, close } = await testPageOf(person);
  await go('/');
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'New deal' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'New deal' }).click();
  const dialog = page.getByRole('dialog', { name: 'New deal' });
  await dialog.getByLabel('Brokerage').filter({ hasText: 'Birch Brokers' }).waitFor();
  await dialog.getByLabel('Title').fill('Marine repair yard');
  await dialog.getByRole('button', { name: 'Open deal' }).click();
  await page.getByRole('heading', { level: 1, name: 'Marine repair yard' }).waitFor();
  const opened = await service.sql('select organization_id from deals where created_by = $1', [person]);
  expect(opened).toEqual([{ organization_id: ownedBy }]);
  // A member who is only staff cannot open a deal, not even at the address of the dialog.
  await service.sql(`update members set status = 'removed' where user_id = $1 and role = 'broker'`, [person]);
  await go('/deals?new=true');
  await page.getByRole('heading', { level: 1, name: 'Deals' }).waitFor();
  await page.getByRole('searchbox', { name: 'Search deals' }).waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'New deal' }).count()).toBe(0);
  await close();
});

test('where a member is chosen, the page says that it lists only the first 2,000', async () => {
  const large = await addFullDeal(service);
  const testPage = await testPageOf(large.people.admin.userId);
  const { page } = testPage;
  const isCut = () => page.getByText('You can choose among the first 2,000 members by name.');
  await testPage.go('/settings/audit');
  await page.getByLabel('Person').selectOption('broker');
  expect(await isCut().count()).toBe(0);

  await service.sql(
    `with people as (
       insert into users (email, name) select 'zoe-' || n || '@example.test', 'Zoe ' || n from generate_series(1, 2000) n returning id)
     insert into members (brokerage_id, user_id, role, status) select $1, id, 'broker', 'active' from people`,
    [large.brokerage],
  );
  await testPage.go('/settings/audit');
  await isCut().waitFor();
  await testPage.visit('/settings/members');
  // Finding a button by its role among 2,000 takes long.
  await page.getByLabel('Actions for broker', { exact: true }).click();
  await page.getByRole('menuitem', { name: 'Remove' }).click();
  const dialog = page.getByRole('dialog', { name: 'Remove broker?' });
  await dialog.getByLabel('New broker').selectOption('Zoe 1');
  await isCut().waitFor();
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});
