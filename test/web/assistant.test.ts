/**
 * A person's own assistant, from its registration to its actions, together with the pages on which the person and their
 * broker see it.
 */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser, openTestPage, type TestPage } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import type { Peer } from '../tools/peers.ts';
import { Keeper, openLoopback, ways, Wire, type Loopback } from '../tools/whole-way.ts';
import { signInAs } from './person.ts';

const tool = 'svc_questions_create';
const question = 'Which of the service contracts end with the sale?';

let service: TestService;
let browser: Browser;
let loopback: Loopback;
let buyer: TestPage;
let broker: TestPage;
let clientId: string;
let assistant: Peer;

beforeAll(async () => {
  service = await openService({ demo: true });
  browser = await openBrowser();
  loopback = await openLoopback();
  buyer = await testPageOf('buyer');
  broker = await testPageOf('broker');
  await service.sql('delete from deal_opt_ins where user_id = $1', [service.demo.people.buyer.user_id]);
});
afterAll(async () => {
  await assistant?.close();
  await browser?.close();
  loopback?.close();
  await service?.close();
});

async function testPageOf(who: 'buyer' | 'broker'): Promise<TestPage> {
  const { cookie } = await signInAs(service, service.demo.people[who].user_id);
  return openTestPage(browser, service.origin, { cookie });
}

const dealId = () => service.demo.deals.with_everything;
const ask = () => assistant.call(tool, { deal_id: dealId(), category: 'legal', question_text: question });

/** Opens the page on which a refusal can be resolved; returns the reason of the refusal. */
async function resolve({ structuredContent }: Awaited<ReturnType<typeof ask>>): Promise<string> {
  const { error, reason, resolve_url: url } = structuredContent as Record<string, string>;
  expect(error).toBe('permission_denied');
  await buyer.page.goto(url ?? '');
  return reason ?? '';
}

/** Allows the assistant on the consent page, in another tab of the browser in which the buyer is signed in. */
async function allow(page: Page, url: URL): Promise<URLSearchParams> {
  const consent = await page.context().newPage();
  await consent.goto(url.href);
  await consent.getByRole('heading', { name: /My assistant/ }).waitFor();
  await consent.getByRole('button', { name: 'Allow' }).click();
  await consent.waitForURL(`${loopback.redirectUri}?**`);
  await consent.close();
  return loopback.last();
}

describe("a buyer's assistant", () => {
  test('is registered by its person, who copies its client_id', async () => {
    const { page } = buyer;
    await buyer.go('/settings/clients');
    await page.getByRole('button', { name: 'Register client' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('My assistant');
    await dialog.getByLabel('Redirect URIs').fill(loopback.redirectUri);
    await dialog.getByRole('button', { name: 'Register' }).click();
    clientId = await page
      .getByRole('dialog', { name: 'My assistant is registered' })
      .getByLabel('client_id', { exact: true })
      .inputValue();
    await page.getByRole('button', { name: 'Done' }).click();
  });

  test('is allowed on the consent page, and is shown as connected in the settings', async () => {
    const way = ways['client 2.4.0, auto']!;
    const keeper = new Keeper(clientId, loopback.redirectUri);
    assistant = await way.go(`${service.mcpUrl}/api/mcp`, keeper, new Wire(), (url) => allow(buyer.page, url));
    await buyer.go('/settings/clients');
    await buyer.page
      .getByRole('listitem')
      .filter({ hasText: 'My assistant' })
      .getByText(/^Connected/)
      .first()
      .waitFor();
  });

  test('writes once its person has turned on the tool and writing on the deal', async () => {
    await broker.go(`/deals/${dealId()}/questions`);
    const { page } = buyer;
    expect(await resolve(await ask())).toBe('missing_tool_grant');
    await page.getByRole('switch', { name: 'Ask a question on a deal' }).click();
    await expect
      .poll(() => service.sql('select tool from tool_grants where client_id = $1', [clientId]))
      .toEqual([{ tool }]);
    expect(await resolve(await ask())).toBe('missing_deal_opt_in');
    await page.getByRole('switch', { name: 'Let my assistants write here' }).click();
    await expect
      .poll(() =>
        service.sql('select deal_id from deal_opt_ins where user_id = $1', [service.demo.people.buyer.user_id]),
      )
      .toEqual([{ deal_id: dealId() }]);
    expect(await ask()).not.toHaveProperty('isError', true);
  });

  test("asks a question that appears on the broker's open page without a reload", async () => {
    await broker.page.getByText(question).first().waitFor();
    await buyer.go(`/deals/${dealId()}/questions`);
    await buyer.page.getByText(question).first().waitFor();
  });

  test('reads what its person sees, and nothing after it is disconnected', async () => {
    const { structuredContent } = await assistant.call('svc_questions_list', { deal_id: dealId() });
    expect(JSON.stringify(structuredContent)).toContain(question);
    const { page } = buyer;
    await buyer.go('/settings/clients');
    await page.getByRole('button', { name: 'Actions for My assistant' }).click();
    await page.getByRole('menuitem', { name: 'Disconnect' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disconnect' }).click();
    await page
      .getByText(/disconnected/)
      .first()
      .waitFor();
    await expect(assistant.call('svc_deals_list', {})).rejects.toThrow();
    expect([...buyer.complaints, ...broker.complaints]).toEqual([]);
  });
});
