/**
 * The links that the server gives out, in mails, redirects and its own pages, lead to pages of the application's
 * router.
 */

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNotifications, queueNotificationMails } from '../../server/domain/notifications/events.ts';
import * as links from '../../server/http/links.ts';
import { paths } from '../../web/src/paths.ts';
import { openAccount, signedInVisitor } from '../auth/scene.ts';
import { openBrowser, openTestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import {
  addClient,
  addPerson,
  authorizeUrl,
  connect,
  decide,
  openConsent,
  openSession,
  visit,
} from '../oauth/scene.ts';
import { addFullDeal, type FullDeal } from '../tools/scene.ts';
import { signInAs } from './person.ts';

let service: TestService;
let browser: Browser;
let full: FullDeal;

beforeAll(async () => {
  service = await openService({ config: { smtpUrl: 'smtp://mail.example.com' } });
  browser = await openBrowser();
  full = await addFullDeal(service);
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

/** Every link of the server, by the function that builds it; `links.ts` has no others. */
async function given(): Promise<Record<string, string>> {
  const { baseUrl } = service.config;
  const clientId = await addClient(service, await addPerson(service, 'Cleo'));
  const token = 'A'.repeat(43);
  const back = '/settings/security';
  return {
    setUpUrl: links.setUpUrl(baseUrl, token),
    invitationUrl: links.invitationUrl(baseUrl, token),
    resetUrl: links.resetUrl(baseUrl, token),
    addressChangeUrl: links.addressChangeUrl(baseUrl, token),
    signInPath: links.signInPath(back),
    reauthenticatePath: links.reauthenticatePath(back),
    signOutPath: links.signOutPath(back),
    securityPath: links.securityPath,
    brokeragePath: links.brokeragePath,
    webhooksPath: links.webhooksPath,
    clientsPath: links.clientsPath,
    toolsPath: links.toolsPath,
    clientToolsPath: links.clientToolsPath(clientId),
    dealToolsPath: links.dealToolsPath(full.deal),
    notificationChoicesPath: links.notificationChoicesPath,
    notificationPath: links.notificationPath('questions', full.deal),
    notificationsPath: links.notificationsPath,
    statusPath: links.statusPath,
    dealsPath: links.dealsPath,
    dealPagePath: links.dealPagePath('offers', full.deal),
  };
}

const pathOf = (link: string): string => new URL(link, service.origin).pathname;

test('every link built by the server leads to a page of the application', async () => {
  const all = await given();
  expect(Object.keys(all).toSorted()).toEqual(
    Object.keys(links)
      .filter((name) => !['applicationPaths', 'pagesBeforeConsent'].includes(name))
      .toSorted(),
  );
  const { cookie } = await signInAs(service, full.people.broker.userId);
  const testPage = await openTestPage(browser, service.origin, { cookie });
  for (const [name, link] of Object.entries(all)) {
    const answer = await fetch(new URL(pathOf(link), service.origin), { redirect: 'manual' });
    expect([name, answer.status, answer.headers.get('content-type')]).toEqual([name, 200, 'text/html; charset=utf-8']);
    const { pathname, search, hash } = new URL(link, service.origin);
    await testPage.go(pathname + search + hash);
    expect([name, await testPage.page.getByText('There is no page at this address').count()]).toEqual([name, 0]);
  }
  await testPage.go(paths.settings + '/nothing');
  await testPage.page.getByText('There is no page at this address').waitFor();
  expect(testPage.complaints).toEqual([]);
  await testPage.close();
});

test('mails, redirects and server-rendered pages contain only links from links.ts', async () => {
  const known = new Set(Object.values(await given()).map(pathOf));
  const account = await openAccount(service);
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'admin')`, [
    full.brokerage,
    account.id,
  ]);
  const visitor = await signedInVisitor(service, account);
  await visitor.json('/api/auth/reset', { email: account.email });
  await visitor.change('/api/auth/address', { email: `moved.${account.email}` });
  await visitor.change(`/api/web/brokerages/${full.brokerage}/members`, {
    email: 'guest@example.com',
    name: 'Guest',
    role: 'staff',
  });
  // Sent before the password is changed, which invalidates the link for a new password.
  await expect.poll(async () => (await service.deliver()).length).toBe(3);
  await visitor.change('/api/auth/password', {
    current_password: account.password,
    password: 'harbour violin pepper 9',
  });
  await expect.poll(async () => (await service.deliver()).length).toBe(4);
  const mailed = service.mails.flatMap(({ text }) => text.match(/http:\/\/\S+[^\s.]/g) ?? []).map(pathOf);
  expect(new Set(mailed)).toEqual(
    new Set([paths.newPassword, paths.confirmAddress, paths.acceptInvitation, paths.security]),
  );

  const person = await addPerson(service, 'Ann', { brokerage: full.brokerage });
  const client_id = await addClient(service, person);
  const fields = await openConsent(service, person, { client_id });
  const asked = authorizeUrl(service, { client_id });
  const signIn = (await visit(asked, null)).headers.get('location') ?? '';
  expect(pathOf(signIn)).toBe(paths.signIn);
  service.clock.advance(11 * 60_000);
  const approved = await decide(service, person, [
    ...Object.entries(fields),
    ['scope', 'mcp:read'],
    ['scope', 'mcp:write'],
    ['decision', 'approve'],
  ]);
  expect(pathOf(approved.headers.get('location') ?? '')).toBe(paths.reauthenticate);
  const markup = await (await visit(asked, person)).text();
  const refused = await (await visit(`${service.origin}/api/mcp/authorize?client_id=x`, person)).text();
  const linked = [...(markup + refused).matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href = '']) => pathOf(href));
  expect(new Set(linked)).toEqual(new Set([paths.clients, paths.signOut]));
  for (const path of [...mailed, paths.clients, paths.signOut]) expect(known).toContain(path);
});

test('notification mails, the unsubscribe page and /status contain only links from links.ts', async () => {
  const account = await openAccount(service);
  // Notifications of two kinds, so that the mail also links to the list of all: a sign-in with a new browser, and an
  // assistant.
  for (let browsers = 0; browsers < 2; browsers += 1) await signedInVisitor(service, account);
  const session = await openSession(service, account.id);
  const person = { ...account, session, cookie: `dealkeep=${session}` };
  await connect(service, person, await addClient(service, person));
  while ((await service.database.run(createNotifications(100))) > 0);
  await service.database.run(queueNotificationMails(100));
  const mail = (await service.deliver()).findLast(({ to }) => to === account.email);
  const [unsubscribe = '', ...mailed] = (mail?.text.match(/http:\/\/\S+[^\s.]/g) ?? []).toSorted((a) =>
    a.includes('/unsubscribe?') ? -1 : 1,
  );
  expect(new Set(mailed.map(pathOf))).toEqual(
    new Set([paths.security, paths.clients, paths.notifications, paths.notificationChoices]),
  );
  const done = await (await fetch(unsubscribe, { method: 'POST' })).text();
  const linked = [...done.matchAll(/<a class="button" href="([^"]*)"/g)].map(([, href]) => href);
  expect(linked).toEqual([links.notificationChoicesPath]);
  const status = await fetch(`${service.origin}/status`, { redirect: 'manual' });
  expect([status.status, status.headers.get('location')]).toEqual([302, links.statusPath]);
});
