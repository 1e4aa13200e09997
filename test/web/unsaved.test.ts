/**
 * Text that a person has typed but not saved: the page asks before it is lost, keeps it over a reload and a new
 * sign-in, and gives it to nobody else.
 */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Dialog, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { isTriedAgain } from '../another-try.ts';
import {
  escapeFrom,
  expectAccessible,
  loaded,
  openBrowser,
  openTab,
  openTestPage,
  settled,
  type TestPage,
} from '../browser.ts';
import { signInAs } from './person.ts';
import { openScene, type WebScene } from './scene.ts';

let web: WebScene;
let browser: Browser;
const testPages: TestPage[] = [];
const shared = new Map<string, TestPage>();

beforeAll(async () => {
  web = await openScene({ config: { features: { findings: true, financing: true } } });
  const { deal, idle, people, participants } = web.scene;
  await web.service.sql(
    `insert into offers (deal_id, participant_id, buyer_user_id, revision_number, payload)
     select $1, id, user_id, 1, '{"currency": "USD", "purchase_price": "1"}' from participants
     where deal_id = $1 and user_id = $2`,
    [idle, people['other buyer']],
  );
  const [question] = await web.service.sql<{ id: string }>(
    `insert into questions (deal_id, category, question_text, asked_by, participant_id, status)
     values ($1, 'legal', 'Answered?', $2, $3, 'answered') returning id`,
    [deal, people['exclusive buyer'], participants['exclusive buyer']],
  );
  await web.service.sql('insert into question_answers (question_id, deal_id, answer_text) values ($1, $2, $3)', [
    question!.id,
    deal,
    'Yes.',
  ]);
  // An adjustment of a year that no upload covers contradicts the books.
  await web.service.sql(
    `insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount) values ($1, 'FY1997', 'other', 100)`,
    [deal],
  );
  await web.service.sql(`update documents set filename = 'lease.pdf' where id = $1`, [
    web.scene.records['documents/selected_buyer_only'],
  ]);
  browser = await openBrowser();
});
afterEach(async () => {
  for (const { complaints } of [...testPages, ...shared.values()]) expect(complaints).toEqual([]);
  await Promise.all(testPages.splice(0).map((testPage) => testPage.close()));
});
afterAll(async () => {
  await browser?.close();
  await web?.close();
});

async function openTestPageOf(caller: string): Promise<TestPage> {
  const { cookie } = await signInAs(web.service, web.scene.people[caller]!);
  return openTestPage(browser, web.service.origin, { cookie });
}

/** A browser for one test that leaves something typed in it, or signs out. */
async function ownTestPageOf(caller: string): Promise<TestPage> {
  const testPage = await openTestPageOf(caller);
  testPages.push(testPage);
  return testPage;
}

/** A caller's browser, shared by all tests that leave nothing in it: a new one would load the application again. */
async function testPageOf(caller: string): Promise<TestPage> {
  if (isTriedAgain()) {
    // The failed attempt may have left something typed.
    await shared.get(caller)?.close();
    shared.delete(caller);
  }
  const testPage = shared.get(caller) ?? (await openTestPageOf(caller));
  shared.set(caller, testPage);
  return testPage;
}

const button = (within: Page | Locator, name: string | RegExp) => within.getByRole('button', { name });
const asked = (page: Page) => page.getByRole('alertdialog', { name: 'Discard your changes?' });
const choose = async (page: Page, menu: string | RegExp, item: string) => {
  await button(page, menu).first().click();
  await page.getByRole('menuitem', { name: item }).click();
};

/** Closes the dialog, whose text is lost. */
async function discard(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await button(asked(page), 'Discard').click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

const drafts = (page: Page): Promise<string[]> =>
  page.evaluate(`Object.entries(localStorage).filter(([name]) => name.startsWith('dealkeep.draft.')).map(String)`);

interface FormDialog {
  /** The first part of the form's `draft`, the name under which it stores its text. */
  readonly kind: string;
  readonly caller: string;
  readonly at: (scene: WebScene['scene']) => string;
  readonly open: (page: Page) => Promise<unknown>;
}

const click = (name: string | RegExp) => (page: Page) => button(page, name).first().click();
const withDeal = (tab: string) => (scene: WebScene['scene']) => `/deals/${scene.deal}${tab}`;
const onIdle = (tab: string) => (scene: WebScene['scene']) => `/deals/${scene.idle}${tab}`;
const settings = (page: string) => () => `/settings/${page}`;

const dialogs: FormDialog[] = [
  { kind: 'deal', caller: 'broker', at: () => '/deals', open: click('New deal') },
  { kind: 'contact', caller: 'broker', at: () => '/contacts', open: click('New contact') },
  { kind: 'deal', caller: 'broker', at: withDeal(''), open: (page) => choose(page, 'More actions', 'Edit deal') },
  { kind: 'exclusivity-end', caller: 'broker', at: withDeal(''), open: click('Change date') },
  { kind: 'rejection_reason', caller: 'broker', at: withDeal('/questions'), open: click(/^Reject/) },
  { kind: 'distributed_response', caller: 'broker', at: withDeal('/questions'), open: click(/^Send/) },
  { kind: 'condition', caller: 'broker', at: withDeal('/closing'), open: click('Add condition') },
  { kind: 'invitation', caller: 'broker', at: withDeal('/people'), open: click('Invite') },
  { kind: 'nda', caller: 'broker', at: withDeal('/nda'), open: click('Send NDA') },
  {
    kind: 'document',
    caller: 'broker',
    at: withDeal('/documents'),
    open: (page) => choose(page, /^More about/, 'Edit'),
  },
  { kind: 'acceptance', caller: 'broker', at: onIdle('/offers'), open: click(/^Accept/) },
  {
    kind: 'exclusivity',
    caller: 'broker',
    at: onIdle('/people'),
    open: (page) => choose(page, 'Actions for other buyer', 'Grant exclusivity'),
  },
  { kind: 'answer_text', caller: 'seller', at: withDeal('/questions'), open: click(/^Answer/) },
  { kind: 'question', caller: 'exclusive buyer', at: withDeal('/questions'), open: click('Ask a question') },
  { kind: 'offer', caller: 'new buyer', at: onIdle('/offers'), open: click('Submit offer') },
  { kind: 'finding', caller: 'exclusive buyer', at: withDeal('/findings'), open: click('Record a finding') },
  { kind: 'finding-status', caller: 'exclusive buyer', at: withDeal('/findings'), open: click('Change status') },
  { kind: 'finding-owner', caller: 'exclusive buyer', at: withDeal('/findings'), open: click('Change owner') },
  { kind: 'financing-source', caller: 'exclusive buyer', at: withDeal('/financing'), open: click('Add a source') },
  { kind: 'checklist-row', caller: 'exclusive buyer', at: withDeal('/qoe'), open: click('Add item') },
  { kind: 'contradiction', caller: 'broker', at: withDeal('/qoe'), open: click('Explain') },
  { kind: 'normalization', caller: 'exclusive buyer', at: withDeal('/qoe'), open: click('Add adjustment') },
  { kind: 'qoe-member', caller: 'broker', at: withDeal('/qoe'), open: click('Add to workspace') },
  { kind: 'api-key', caller: 'admin', at: settings('keys'), open: click('Create key') },
  {
    kind: 'rotation',
    caller: 'admin',
    at: settings('keys'),
    open: (page) => choose(page, /^Actions for/, 'Rotate'),
  },
  { kind: 'webhook', caller: 'admin', at: settings('webhooks'), open: click('Add webhook') },
  { kind: 'member', caller: 'admin', at: settings('members'), open: click('Invite') },
  { kind: 'members', caller: 'admin', at: settings('members'), open: click('Invite several') },
  { kind: 'client', caller: 'admin', at: settings('clients'), open: click('Register client') },
  { kind: 'passkey', caller: 'admin', at: settings('security'), open: click('Add a passkey') },
];

/** Changes the first editable field of a form; returns its earlier value and a function that reads its value. */
async function write(dialog: Locator): Promise<{ before: string; now: () => Promise<string> }> {
  const field = dialog.locator('input:not([type=checkbox]):enabled, textarea:enabled').or(dialog.locator('select'));
  const first = field.first();
  await first.waitFor();
  const before = await first.inputValue();
  const kind = await first.evaluate((one) => (one as unknown as { type: string }).type);
  if (kind === 'select-one') {
    const values: string[] = await first
      .locator('option')
      .evaluateAll((options) => options.map((one) => (one as unknown as { value: string }).value));
    await first.selectOption(values.find((value) => value !== '' && value !== before)!);
  } else await first.fill(kind === 'datetime-local' ? '2027-03-04T10:30' : '12');
  return { before, now: () => first.inputValue() };
}

describe('a dialog with unsaved text', () => {
  const callers = [...new Set(dialogs.map(({ caller }) => caller))];

  test.each(callers)('asks before it closes, for every kind of dialog (%s)', async (caller) => {
    const { page, visit } = await testPageOf(caller);
    for (const { kind, at, open } of dialogs.filter((one) => one.caller === caller)) {
      if (new URL(page.url()).pathname !== at(web.scene)) await visit(at(web.scene));
      await open(page);
      const dialog = page.getByRole('dialog');
      const { before, now } = await write(dialog);
      const typed = await now();
      await page.keyboard.press('Escape');
      await asked(page)
        .waitFor()
        .catch((fault: unknown) => {
          throw new Error(`${kind} does not ask: ${String(fault)}`);
        });
      await button(asked(page), 'Keep editing').click();
      await asked(page).waitFor({ state: 'detached' });
      expect([kind, await now()]).toEqual([kind, typed]);
      // The dialog reacts to clicks outside it only shortly after the question has closed.
      const clickBeside = async () => {
        if ((await asked(page).count()) === 0) await page.mouse.click(4, 4);
        return asked(page).count();
      };
      await expect.poll(clickBeside, { message: `${kind} does not ask beside it` }).toBe(1);
      await button(asked(page), 'Discard').click();
      await dialog.waitFor({ state: 'detached' });
      await open(page);
      expect([kind, await dialog.getByText('Your draft from last time').count()]).toEqual([kind, 0]);
      await expect.poll(now, { message: kind }).toBe(before);
      await escapeFrom(page, dialog);
    }
  });

  test('is tested for every kind of dialog in the source', async () => {
    const source = path.join(import.meta.dirname, '../../web/src');
    const files = (await readdir(source, { recursive: true })).filter((file) => file.endsWith('.tsx'));
    const texts = await Promise.all(files.map((file) => readFile(path.join(source, file), 'utf8')));
    const kinds = texts
      .filter((text) => /<(?:Form|Invite|Until)Dialog/.test(text))
      .flatMap((text) => [...text.matchAll(/\bdraft(?:: |=\{|=)['"`]([a-z-]+)\//g)].map(([, kind]) => kind!));
    const words = ['rejection_reason', 'answer_text', 'distributed_response'];
    expect([...new Set(dialogs.map(({ kind }) => kind))].toSorted()).toEqual(
      [...new Set([...kinds, ...words])].toSorted(),
    );
  });

  test('asks when it is cancelled, closed by its cross, or left by Back', async () => {
    const { page, visit } = await testPageOf('exclusive buyer');
    await visit(`/deals/${web.scene.deal}`);
    await page.getByRole('link', { name: 'Questions' }).click();
    await button(page, 'Ask a question').click();
    const dialog = page.getByRole('dialog');
    const field = dialog.getByLabel('Question');
    await field.fill('Who owns the oven?');
    for (const leave of [
      () => button(dialog, 'Cancel').click(),
      () => button(dialog, 'Close').click(),
      () => page.evaluate('history.back()'),
    ]) {
      await leave();
      await asked(page).waitFor();
      await button(asked(page), 'Keep editing').click();
      await asked(page).waitFor({ state: 'detached' });
      expect(new URL(page.url()).pathname).toBe(`/deals/${web.scene.deal}/questions`);
      expect(await field.inputValue()).toBe('Who owns the oven?');
    }
    await page.evaluate('history.back()');
    await asked(page).waitFor();
    await expectAccessible(page);
    await button(asked(page), 'Discard').click();
    await page.waitForURL(`**/deals/${web.scene.deal}`);
  });

  test('asks once about several moves through the history, and keeps address and page together', async () => {
    const { page, visit } = await testPageOf('exclusive buyer');
    const at = `/deals/${web.scene.deal}`;
    await visit(at);
    const tabs = page.getByRole('navigation', { name: 'Sections of the deal' });
    await tabs.getByRole('link', { name: /^People/ }).click();
    await page.waitForURL(`**${at}/people`);
    await tabs.getByRole('link', { name: /^Questions/ }).click();
    await button(page, 'Ask a question').click();
    const field = page.getByRole('dialog').getByLabel('Question');
    await field.fill('Who owns the mill?');
    const pathname = () => page.evaluate('location.pathname');
    const move = async (steps: number, to: string) => {
      await page.evaluate(`history.go(${steps})`);
      await expect.poll(pathname).toBe(to);
      await page.evaluate(settled);
    };
    await move(-1, `${at}/people`);
    await asked(page).waitFor();
    await move(1, `${at}/questions`);
    await asked(page).waitFor({ state: 'detached' });
    for (const answer of ['Keep editing', 'Discard']) {
      await move(-1, `${at}/people`);
      await asked(page).waitFor();
      await move(-1, at);
      await button(asked(page), answer).click();
      await asked(page).waitFor({ state: 'detached' });
      if (answer === 'Discard') continue;
      await expect.poll(pathname).toBe(`${at}/questions`);
      await page.evaluate(settled);
      expect(await pathname()).toBe(`${at}/questions`);
      expect(await field.inputValue()).toBe('Who owns the mill?');
    }
    const open = tabs.locator('a[aria-current=page]');
    await expect.poll(() => open.textContent()).toContain('Overview');
    expect(await pathname()).toBe(at);
    await move(1, `${at}/people`);
    await expect.poll(() => open.textContent()).toContain('People');
  });

  test('closes without asking if nothing was typed or the text was deleted', async () => {
    const { page, visit } = await testPageOf('exclusive buyer');
    await visit(`/deals/${web.scene.deal}/questions`);
    for (const typed of ['', 'x']) {
      await button(page, 'Ask a question').click();
      const field = page.getByRole('dialog').getByLabel('Question');
      await field.fill(typed);
      await field.fill('');
      await escapeFrom(page, page.getByRole('dialog'));
      expect(await asked(page).count()).toBe(0);
    }
  });
});

describe('saving an edited record keeps concurrent changes of its other fields', () => {
  test('after a draft is restored, and sends an amount together with its currency', async () => {
    const { page, visit } = await testPageOf('broker');
    const { ask } = await web.as('broker');
    const at = `/deals/${web.scene.deal}`;
    const others = async (change: object) => expect((await ask(at, change, 'PATCH')).status).toBe(200);
    const open = () => choose(page, 'More actions', 'Edit deal');
    const dialog = page.getByRole('dialog');
    await visit(at);
    await open();
    await dialog.getByLabel('Industry').fill('Bakeries');
    await expect.poll(() => drafts(page)).toHaveLength(1);
    await others({ location: 'Norman' });
    await page.reload();
    await loaded(page);
    await open();
    await dialog.getByText('Your draft from last time').waitFor();
    await dialog.getByLabel('Asking price').fill('200');
    await others({ currency: 'EUR', summary: 'Bread since 1931.' });
    await button(dialog, 'Save').click();
    await dialog.waitFor({ state: 'detached' });
    expect((await ask(at)).body.deal).toMatchObject({
      industry: 'Bakeries',
      location: 'Norman',
      summary: 'Bread since 1931.',
      asking_price: '200',
      currency: 'USD',
    });
  });

  test('for contacts, closing conditions, documents and clients', async () => {
    const { page, visit } = await testPageOf('broker');
    for (const { table, name, at, open, typed, others } of [
      {
        table: 'contacts',
        name: 'a contact of the brokerage',
        at: '/contacts',
        open: () => page.getByRole('row').filter({ hasText: 'A. Contact' }).click(),
        typed: ['Phone', { phone: '+1 555 0100' }],
        others: { email: 'a@example.test' },
      },
      {
        table: 'closing_conditions',
        name: "the exclusive buyer's to meet",
        at: withDeal('/closing')(web.scene),
        open: () => choose(page, 'Actions for Lease assigned', 'Edit'),
        typed: ['What must be done', { name: 'Lease assigned and signed' }],
        others: { owner_user_id: web.scene.people['broker'] },
      },
      {
        table: 'documents',
        name: 'selected_buyer_only',
        at: withDeal('/documents')(web.scene),
        open: async () => choose(page, 'More about lease.pdf', 'Edit'),
        typed: ['Name', { filename: 'lease of 2026.pdf' }],
        others: { category: 'legal' },
      },
      {
        table: 'connected_clients',
        name: "the broker's own",
        at: '/settings/clients',
        open: () => choose(page, 'Actions for An assistant', 'Edit'),
        typed: ['Name', { name: 'Our assistant' }],
        others: { redirect_uris: ['https://client.example/other'] },
      },
    ] as const) {
      const id = web.scene.records[`${table}/${name}`];
      const [label, written] = typed;
      const [column, theirs] = Object.entries(others)[0]!;
      await visit(at);
      await open();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel(label).fill(Object.values(written)[0]!);
      await web.service.sql(`update ${table} set ${column} = $2 where id = $1`, [id, theirs]);
      await button(dialog, 'Save').click();
      await dialog.waitFor({ state: 'detached' });
      const [found] = await web.service.sql(`select * from ${table} where id = $1`, [id]);
      expect(found, table).toMatchObject({ ...written, ...others });
    }
  });
});

test('a form cannot be edited while it is being submitted', async () => {
  const { page, visit } = await testPageOf('broker');
  await visit(`/deals/${web.scene.idle}`);
  await choose(page, 'More actions', 'Edit deal');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Title').fill('Print shop with a bindery');
  await dialog.getByLabel('Asking price').fill('300');
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  await page.route('**/api/web/deals/*', async (route) => {
    if (route.request().method() === 'PATCH') await answered;
    await route.continue();
  });
  const sent = page.waitForRequest((request) => request.method() === 'PATCH');
  await button(dialog, 'Save').click();
  await sent;
  for (const [label, value] of [
    ['Title', 'Print shop with a bindery'],
    ['Asking price', '300'],
  ] as const) {
    await dialog.getByLabel(label).press('End');
    await page.keyboard.type('9');
    expect(await dialog.getByLabel(label).inputValue()).toBe(value);
  }
  answer();
  await dialog.waitFor({ state: 'detached' });
  await page.unrouteAll({ behavior: 'wait' });
});

describe('a draft', () => {
  const words = 'Is the lease transferable? Words that nobody else is to read.';

  /** Types a question, and waits until its draft is stored. */
  async function type(page: Page): Promise<void> {
    await button(page, 'Ask a question').click();
    await page.getByRole('dialog').getByLabel('Question').fill(words);
    await expect.poll(() => drafts(page)).toHaveLength(1);
  }

  test('is restored after a reload, which asks first, and can be discarded', async () => {
    const { page, visit } = await testPageOf('exclusive buyer');
    await visit(`/deals/${web.scene.deal}/questions`);
    await type(page);
    const prompts: string[] = [];
    const accept = (prompt: Dialog) => {
      prompts.push(prompt.type());
      void prompt.accept();
    };
    page.on('dialog', accept);
    await page.reload();
    await loaded(page);
    page.off('dialog', accept);
    expect(prompts).toEqual(['beforeunload']);
    await button(page, 'Ask a question').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('status').getByText('Your draft from last time is still here.').waitFor();
    const field = dialog.getByLabel('Question');
    expect(await field.inputValue()).toBe(words);
    await expectAccessible(page);
    await button(dialog, 'Start over').click();
    expect(await field.inputValue()).toBe('');
    await expect.poll(() => drafts(page)).toEqual([]);
    await escapeFrom(page, dialog);
  });

  test('of a comment on a finding is restored and shown with its comments', async () => {
    const { page, visit } = await testPageOf('exclusive buyer');
    await visit(`/deals/${web.scene.deal}/findings`);
    await page
      .getByText(/omments? and history/)
      .first()
      .click();
    await page.getByLabel('Comment').first().fill(words);
    await expect.poll(() => drafts(page)).toHaveLength(1);
    await page.reload();
    await page.getByText(words).waitFor();
    await page.getByLabel('Comment').first().fill('');
    await expect.poll(() => drafts(page)).toEqual([]);
  });

  test('of one field does not replace the initial value of another field that loads later', async () => {
    const { page, visit } = await testPageOf('broker');
    await visit(`/deals/${web.scene.deal}/nda`);
    const dialog = page.getByRole('dialog');
    const terms = dialog.getByLabel('Terms');
    await button(page, 'Send NDA').first().click();
    await expect.poll(() => terms.inputValue()).not.toBe('');
    const usual = await terms.inputValue();
    await dialog.getByLabel('Ends').fill('2031-05-10T17:00');
    await expect.poll(() => drafts(page)).toHaveLength(1);
    await page.reload();
    await loaded(page);
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    await page.route('**/ndas/template', async (route) => {
      await held;
      await route.continue();
    });
    await button(page, 'Send NDA').first().click();
    await dialog.getByText('Your draft from last time is still here.').waitFor();
    letGo();
    await expect.poll(() => terms.inputValue()).toBe(usual);
    expect(await dialog.getByLabel('Ends').inputValue()).toBe('2031-05-10T17:00');
    await page.unroute('**/ndas/template');
    await discard(page);
  });

  test('is restored without what can no longer be chosen: the brokerage that they left, an owner who left', async () => {
    const { service, scene } = web;
    const [{ id } = { id: '' }] = await service.sql<{ id: string }>(
      `insert into users (email, name) values ('two.brokerages@example.test', 'Somebody') returning id`,
    );
    const [other] = await service.sql<{ id: string }>(`select id from brokerages where slug = 'elsewhere'`);
    const brokerages = [scene.brokerage, other!.id];
    await service.sql(`insert into members (brokerage_id, user_id, role) select unnest($1::uuid[]), $2, 'broker'`, [
      brokerages,
      id,
    ]);
    await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, 'seller', 'active')`, [
      scene.deal,
      id,
    ]);
    const here = await openTestPage(browser, service.origin, { cookie: (await signInAs(service, id)).cookie });
    const broker = await testPageOf('broker');
    testPages.push(here);
    const restored = (page: Page) => page.getByRole('dialog').getByText('Your draft from last time').waitFor();
    await here.go('/deals');
    await broker.visit(`/deals/${scene.deal}/closing`);
    await button(here.page, 'New deal').first().click();
    const deal = here.page.getByRole('dialog');
    const stays = await deal.getByLabel('Brokerage').inputValue();
    const left = brokerages.find((one) => one !== stays)!;
    await deal.getByLabel('Title').fill('A deal begun elsewhere');
    await button(broker.page, 'Add condition').first().click();
    const condition = broker.page.getByRole('dialog');
    await condition.getByLabel('What must be done').fill('Begun for somebody else');
    for (const [{ page }, label, chosen] of [
      [here, 'Brokerage', left],
      [broker, 'Owner', id],
    ] as const) {
      await expect.poll(() => drafts(page)).toHaveLength(1);
      const before = await drafts(page);
      await page.getByRole('dialog').getByLabel(label).selectOption(chosen);
      await expect.poll(() => drafts(page)).not.toEqual(before);
    }

    await service.sql(`update members set status = 'removed' where brokerage_id = $1 and user_id = $2`, [left, id]);
    await service.sql(`update participants set status = 'removed' where deal_id = $1 and user_id = $2`, [
      scene.deal,
      id,
    ]);
    for (const { page } of [here, broker]) {
      await page.reload();
      await loaded(page);
    }
    // The address has the dialog of a new deal.
    await restored(here.page);
    await button(deal, 'Open deal').click();
    await here.page.getByRole('heading', { name: 'A deal begun elsewhere', level: 1 }).waitFor();
    await button(broker.page, 'Add condition').first().click();
    await restored(broker.page);
    await button(condition, 'Add condition').click();
    await condition.waitFor({ state: 'detached' });
    expect(
      await service.sql(
        `select d.organization_id, null as owner from deals d where d.title = 'A deal begun elsewhere'
         union all select null, c.owner_user_id from closing_conditions c where c.name = 'Begun for somebody else'`,
      ),
    ).toEqual([
      { organization_id: stays, owner: null },
      { organization_id: null, owner: null },
    ]);
  });

  test('is deleted when its text is deleted, and when it is submitted', async () => {
    const { page, visit } = await testPageOf('exclusive buyer');
    await visit(`/deals/${web.scene.deal}/questions`);
    await type(page);
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Question').fill('');
    await expect.poll(() => drafts(page)).toEqual([]);
    await dialog.getByLabel('Question').fill(words);
    await expect.poll(() => drafts(page)).toHaveLength(1);
    await dialog.getByLabel('About').selectOption('legal');
    await button(dialog, 'Ask').click();
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => drafts(page)).toEqual([]);
  });

  test('is encrypted per person: another person on the device can neither see nor read it', async () => {
    const { page, go } = await ownTestPageOf('exclusive buyer');
    await go(`/deals/${web.scene.deal}/questions`);
    await type(page);
    const [stored] = await drafts(page);
    expect(stored).not.toContain('lease');
    const other = await signInAs(web.service, web.scene.people['other buyer']!);
    await page.context().addCookies([{ ...other.cookie, url: web.service.origin }]);
    await go(`/deals/${web.scene.deal}/questions`);
    await button(page, 'Ask a question').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Question').waitFor();
    // Their own draft is stored next to it.
    await dialog.getByLabel('Question').fill('Mine');
    await expect.poll(() => drafts(page)).toHaveLength(2);
    await page.reload();
    await loaded(page);
    await button(page, 'Ask a question').click();
    await expect.poll(() => dialog.getByLabel('Question').inputValue()).toBe('Mine');
  });

  test('is kept for a week', async () => {
    const { page, visit } = await testPageOf('exclusive buyer');
    await visit(`/deals/${web.scene.deal}/questions`);
    await type(page);
    const field = page.getByRole('dialog').getByLabel('Question');
    /** Ages the drafts, as if they had been typed that many days ago. */
    const age = (days: number) =>
      page.evaluate(`for (const [name, value] of Object.entries(localStorage))
        if (name.startsWith('dealkeep.draft.'))
          localStorage.setItem(name, value.replace(/^[0-9]+/, String(Date.now() - ${days * 86_400_000})))`);
    await age(6.5);
    await page.reload();
    await loaded(page);
    await button(page, 'Ask a question').click();
    await expect.poll(() => field.inputValue()).toBe(words);
    // The draft expires while the page is open, and is deleted when the page is opened again.
    await page.reload();
    await loaded(page);
    await age(7.5);
    await button(page, 'Ask a question').click();
    await field.waitFor();
    expect(await page.getByText('Your draft from last time is still here.').count()).toBe(0);
    expect([await field.inputValue(), (await drafts(page)).length]).toEqual(['', 1]);
    await page.reload();
    await loaded(page);
    expect(await drafts(page)).toEqual([]);
  });

  test('is kept for the thirty most recently edited forms', async () => {
    const { page, visit } = await testPageOf('exclusive buyer');
    await visit(`/deals/${web.scene.deal}/questions`);
    await page.evaluate(`for (let nth = 1; nth <= 31; nth += 1)
      localStorage.setItem('dealkeep.draft.' + nth, Date.now() - nth * 60_000 + '.iv.sealed')`);
    await button(page, 'Ask a question').click();
    await page.getByRole('dialog').getByLabel('Question').fill(words);
    await expect.poll(() => drafts(page)).toHaveLength(30);
    const names = (await drafts(page)).map((entry) => entry.split(',')[0]!.slice('dealkeep.draft.'.length));
    expect(
      names
        .filter((name) => /^\d+$/.test(name))
        .map(Number)
        .toSorted((one, other) => one - other),
    ).toEqual(Array.from({ length: 29 }, (_, nth) => nth + 1));
    await discard(page);
    await page.evaluate('localStorage.clear()');
  });

  test('is deleted when its text becomes too long to store', async () => {
    const { page, visit } = await testPageOf('broker');
    await visit(`/deals/${web.scene.deal}/nda`);
    await button(page, 'Send NDA').first().click();
    const terms = page.getByRole('dialog').getByLabel('Terms');
    await expect.poll(() => terms.inputValue()).not.toBe('');
    await terms.fill('Short.');
    await expect.poll(() => drafts(page)).toHaveLength(1);
    // Two bytes per character: encrypted, the text is longer than the maximum length of a draft.
    await terms.fill('ä'.repeat(30_000));
    await expect.poll(() => drafts(page)).toEqual([]);
    await discard(page);
  });

  test('is deleted on sign-out in another tab', async () => {
    const { page, go } = await ownTestPageOf('exclusive buyer');
    await go(`/deals/${web.scene.deal}/questions`);
    await type(page);
    await page.evaluate(`new BroadcastChannel('dealkeep-changes').postMessage({ signedOut: true })`);
    await page.waitForURL('**/sign-in*');
    expect(await drafts(page)).toEqual([]);
  });

  test('is deleted on sign-out, which asks first', async () => {
    const { page, go } = await ownTestPageOf('broker');
    await go('/settings/profile');
    await page.getByLabel('Name', { exact: true }).fill('Another name');
    await expect.poll(() => drafts(page)).toHaveLength(1);
    await choose(page, /broker@example.test|broker/, 'Sign out');
    await button(asked(page), 'Keep editing').click();
    await asked(page).waitFor({ state: 'detached' });
    await choose(page, /broker@example.test|broker/, 'Sign out');
    await button(asked(page), 'Discard').click();
    await page.waitForURL('**/sign-in*');
    expect(await drafts(page)).toEqual([]);
  });

  test('is never stored for a password field, nor asked about', async () => {
    const { page, visit } = await testPageOf('broker');
    await visit('/settings/security');
    await page.getByLabel('Current password').fill('correct horse battery staple');
    await page.getByRole('link', { name: 'Profile', exact: true }).click();
    await page.waitForURL('**/settings/profile');
    expect(await drafts(page)).toEqual([]);
  });
});

describe('an ended session', () => {
  const password = 'seven quiet geese over the harbour';

  beforeAll(async () => {
    const phc = await hashPassword(password, web.service.config.passwordParameters);
    for (const caller of ['exclusive buyer', 'other buyer'])
      await web.service.sql('insert into vault.passwords (user_id, phc) values ($1, $2)', [
        web.scene.people[caller],
        phc,
      ]);
  });

  /** A page with a question filled in, whose session has just ended. */
  async function writing(words: string): Promise<Page> {
    const { page, go } = await ownTestPageOf('exclusive buyer');
    await go(`/deals/${web.scene.deal}/questions`);
    await button(page, 'Ask a question').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('About').selectOption('legal');
    await dialog.getByLabel('Question').fill(words);
    // It ends when the question is on its way: a request of the page before it would open the dialog in front of the button.
    const sent = '**/api/web/deals/*/questions';
    await page.route(sent, async (route) => {
      if (route.request().method() === 'POST')
        await web.service.sql('delete from vault.sessions where user_id = $1', [web.scene.people['exclusive buyer']]);
      await route.continue();
    });
    await button(dialog, 'Ask').click();
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
    await page.unroute(sent);
    return page;
  }
  test('is renewed in a dialog, after which the same request continues', async () => {
    const page = await writing('Sent after signing in again');
    const over = page.getByRole('dialog', { name: 'Sign in again' });
    expect(await over.getByLabel('E-mail').inputValue()).toBe('exclusive-buyer@example.test');
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await over.getByLabel('Password', { exact: true }).fill('not this one');
    await button(over, 'Sign in').click();
    await over.getByText('is not correct').waitFor();
    // The command palette would show titles of deals over the hidden page.
    expect(await page.getByRole('combobox').count()).toBe(0);
    expect(await asks('Sent after signing in again')).toBe(0);
    await over.getByLabel('Password', { exact: true }).fill(password);
    await button(over, 'Sign in').click();
    await page.getByRole('dialog').first().waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('main').getByText('Sent after signing in again').waitFor();
    expect(await asks('Sent after signing in again')).toBe(1);
  });

  test('returns to the password if the code was entered too late', async () => {
    const person = web.scene.people['exclusive buyer'];
    await web.service.sql(`insert into vault.totp (user_id, secret, confirmed_at) values ($1, 'A', app.now())`, [
      person,
    ]);
    try {
      const over = (await writing('Signed in too slowly')).getByRole('dialog', { name: 'Sign in again' });
      await over.getByLabel('Password', { exact: true }).fill(password);
      await button(over, 'Sign in').click();
      await over.getByLabel('Code').fill('123456');
      await web.service.sql('delete from vault.sign_in_steps where user_id = $1', [person]);
      await button(over, 'Continue').click();
      await over.getByText('That took too long, or too many codes were wrong.').waitFor();
      expect(await over.getByLabel('E-mail').inputValue()).toBe('exclusive-buyer@example.test');
      expect(await over.getByLabel('Password', { exact: true }).inputValue()).toBe('');
    } finally {
      await web.service.sql('delete from vault.totp where user_id = $1', [person]);
    }
  });

  test('replaced by another person’s reloads the page as theirs and submits nothing typed before', async () => {
    const page = await writing('Not for the other buyer to send');
    const over = page.getByRole('dialog', { name: 'Sign in again' });
    await over.getByLabel('E-mail').fill('other-buyer@example.test');
    await over.getByLabel('Password', { exact: true }).fill(password);
    const loads = page.waitForEvent('load');
    await button(over, 'Sign in').click();
    await loads;
    await loaded(page);
    await page.getByText('other-buyer@example.test').first().waitFor();
    await button(page, 'Ask a question').click();
    expect(await page.getByRole('dialog').getByLabel('Question').inputValue()).toBe('');
    expect(await asks('Not for the other buyer to send')).toBe(0);
  });

  test('can be renewed on the sign-in page, after which the typed text is restored', async () => {
    const page = await writing('Written before the sign-in page');
    await button(page.getByRole('dialog', { name: 'Sign in again' }), 'Go to the sign-in page').click();
    await page.waitForURL('**/sign-in?*');
    await page.getByLabel('E-mail').fill('exclusive-buyer@example.test');
    await page.getByLabel('Password', { exact: true }).fill(password);
    await button(page, 'Sign in').click();
    await page.waitForURL(`**/deals/${web.scene.deal}/questions`);
    await button(page, 'Ask a question').click();
    const field = page.getByRole('dialog').getByLabel('Question');
    await expect.poll(() => field.inputValue()).toBe('Written before the sign-in page');
    expect(await asks('Written before the sign-in page')).toBe(0);
  });

  test('replaced by another person’s in another tab reloads the page and submits no pending request', async () => {
    const page = await writing('Waiting while the other buyer signs in');
    await becomeOther(page);
    await page.getByText('other-buyer@example.test').first().waitFor({ timeout: 60_000 });
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await asks('Waiting while the other buyer signs in')).toBe(0);
  });
});

/** Makes a page fetch all its data again, also while a dialog is open. */
async function reloadEverything(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'Reload everything' }).click();
}

/** Signs somebody else in with the browser of a page, as if in another tab. */
async function becomeOther(page: Page): Promise<void> {
  const { cookie } = await signInAs(web.service, web.scene.people['other buyer']!);
  await page.context().addCookies([{ ...cookie, url: web.service.origin }]);
}

const asks = async (words: string) => {
  const found = await web.service.sql('select from questions where question_text = $1', [words]);
  return found.length;
};

describe('two tabs', () => {
  /** Opens two tabs of the same person; in the second, a question is filled in. */
  async function openTabs(words: string) {
    const first = await ownTestPageOf('exclusive buyer');
    await first.go(`/deals/${web.scene.deal}/questions`);
    const second = await openTab(first.page, `/deals/${web.scene.deal}/questions`);
    await loaded(second);
    await button(second, 'Ask a question').click();
    const field = second.getByRole('dialog').getByLabel('Question');
    await field.fill(words);
    await expect.poll(() => drafts(second)).toHaveLength(1);
    return { first: first.page, second, field };
  }

  test('are both signed out at once, and the text typed in the other one is deleted', async () => {
    const { first, second, field } = await openTabs('Written in another tab');
    await choose(first, /exclusive-buyer@example.test|exclusive buyer/, 'Sign out');
    for (const page of [first, second]) await page.waitForURL('**/sign-in');
    expect(await drafts(second)).toEqual([]);
    await becomeOther(second);
    await second.goto(`${web.service.origin}/deals/${web.scene.deal}/questions`);
    await button(second, 'Ask a question').click();
    expect(await field.inputValue()).toBe('');
  });

  test('both switch to another person who signs in in one of them', async () => {
    const { second, field } = await openTabs('Still in the form of the other tab');
    await becomeOther(second);
    // As happens on any refetch, or when the event stream reconnects.
    await reloadEverything(second);
    await second.getByText('other-buyer@example.test').first().waitFor();
    expect(await second.getByRole('dialog').count()).toBe(0);
    await button(second, 'Ask a question').click();
    expect(await field.inputValue()).toBe('');
  });

  test('never submit a typed text as another person who is signing in', async () => {
    const { second } = await openTabs('Asked by the former person');
    await second.getByRole('dialog').getByLabel('About').selectOption('legal');
    await web.service.sql('delete from vault.sessions where user_id = $1', [web.scene.people['exclusive buyer']]);
    // Somebody else signs in in the other tab between the 401 response and the request for the current session.
    await second.route('**/api/auth/session', async (route) => {
      await becomeOther(second);
      await route.continue();
    });
    const leaves = Promise.withResolvers<() => Promise<void>>();
    await second.route(
      (url) => url.pathname.endsWith('/questions'),
      (route) => (route.request().isNavigationRequest() ? leaves.resolve(() => route.continue()) : route.fallback()),
    );
    // The former person clicks while the page is being left; Playwright itself does not click on a page that is being
    // left.
    await second.evaluate(`addEventListener('beforeunload', () => setTimeout(() =>
      [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Ask').click()))`);
    const answered = second.waitForResponse((response) => response.request().method() === 'POST');
    // The command palette requests the data of its entries.
    await second.keyboard.press('Control+k');
    const leave = await leaves.promise;
    expect((await answered).status()).toBe(403);
    await leave();
    await second.getByText('other-buyer@example.test').first().waitFor();
    expect(await asks('Asked by the former person')).toBe(0);
  });

  test('submit a typed text with a new session of the same person, but not of another', async () => {
    const { second } = await openTabs('Asked with the session before');
    const dialog = second.getByRole('dialog');
    await dialog.getByLabel('About').selectOption('legal');
    const { cookie } = await signInAs(web.service, web.scene.people['exclusive buyer']!);
    await second.context().addCookies([{ ...cookie, url: web.service.origin }]);
    await button(dialog, 'Ask').click();
    await dialog.waitFor({ state: 'detached' });
    expect(await asks('Asked with the session before')).toBe(1);

    await button(second, 'Ask a question').click();
    await dialog.getByLabel('About').selectOption('legal');
    await dialog.getByLabel('Question').fill('Not asked by the other buyer');
    await becomeOther(second);
    await button(dialog, 'Ask').click();
    await second.getByText('other-buyer@example.test').first().waitFor();
    expect(await asks('Not asked by the other buyer')).toBe(0);
  });

  test.each(['nobody', 'somebody else', 'the same person'])(
    'can sign out after the session has ended, with the browser now in a session of %s',
    async (who) => {
      const { page, go } = await ownTestPageOf('exclusive buyer');
      await go(`/deals/${web.scene.deal}`);
      const caller = who === 'somebody else' ? 'other buyer' : 'exclusive buyer';
      const { cookie, ask } = await signInAs(web.service, web.scene.people[caller]!);
      // Otherwise a refetch after somebody else's change would find that the session has ended, before the person signs
      // out.
      await page.route('**/api/web/**', (route) => (page.url().includes('/deals/') ? route.abort() : route.continue()));
      await page.context().clearCookies();
      if (who !== 'nobody') await page.context().addCookies([{ ...cookie, url: web.service.origin }]);
      await choose(page, /exclusive-buyer@example.test|exclusive buyer/, 'Sign out');
      // The sign-in page redirects a person who is signed in to their own first page.
      if (who === 'somebody else') await page.getByText('other-buyer@example.test').first().waitFor();
      else await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();
      expect((await ask('/me')).status).toBe(who === 'the same person' ? 401 : 200);
    },
  );
});
