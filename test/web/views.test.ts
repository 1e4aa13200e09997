/**
 * The views of tool results as a host shows them: drawn, operated by keyboard, in both themes, at any width, and
 * without any network request.
 */

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sum } from '../../web/src/lib/decimal.ts';
import { formatMoney, formatShare } from '../../web/src/lib/format.ts';
import { openBrowser, settled, violationsOn } from '../browser.ts';
import { openService, type TestService } from '../harness.ts';
import { addFullDeal, addToken, insert, insertAll, send } from '../tools/scene.ts';
import { rowsOf as answeredRows } from '../tools/ask.ts';
import { signInAs } from './person.ts';
import { openHost, type Host } from './views-host.ts';

type Row = Record<string, string | null>;
interface Result {
  structuredContent: Record<string, Row[]>;
}
interface Drawn {
  readonly html: string;
  readonly result: Result;
}

let service: TestService;
let browser: Browser;
let host: Host;
let deal: string;
const drawn = new Map<string, Drawn>();

const of = (name: string): Drawn => {
  const found = drawn.get(name);
  if (!found) throw new Error(`There is no view ${name}.`);
  return found;
};
const rowsOf = (name: string, list: string): Row[] =>
  (list === 'periods'
    ? answeredRows('svc_qoe_pl_periods', of(name).result.structuredContent)
    : list === 'customers'
      ? answeredRows('svc_qoe_customer_concentration', of(name).result.structuredContent)
      : (of(name).result.structuredContent[list] ?? [])) as Row[];

/** Shows a view with the demo's result, or with another result. */
async function show(name: string, given: { result?: unknown; input?: object; context?: object } = {}): Promise<void> {
  const { html, result } = of(name);
  const shown = { html, result, input: { deal_id: deal }, context: { theme: 'light' }, ...given };
  await host.show(shown as Parameters<Host['show']>[0]);
}

beforeAll(async () => {
  service = await openService({ demo: true });
  deal = service.demo.deals.with_everything;
  const { token } = await addToken(service, service.demo.people.broker.user_id);
  const ask = async (method: string, params: object = {}) => {
    const { body } = await send(service, token, { jsonrpc: '2.0', id: 1, method, params });
    return body?.result as unknown;
  };
  const { tools } = (await ask('tools/list')) as { tools: { name: string; _meta?: { ui: { resourceUri: string } } }[] };
  for (const { name, ...tool } of tools) {
    const uri = tool['_meta']?.ui.resourceUri;
    if (uri === undefined) continue;
    const { contents } = (await ask('resources/read', { uri })) as { contents: { text: string }[] };
    const result = (await ask('tools/call', { name, arguments: { deal_id: deal } })) as Result;
    drawn.set(uri.replace(/.*\//, ''), { html: contents[0]?.text ?? '', result });
  }
  browser = await openBrowser();
  host = await openHost(browser);
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

/** Asserts that nothing was requested from the network, the bridge handled every message, and no error occurred. */
async function expectQuiet(): Promise<void> {
  expect([host.complaints, (await host.heard()).faults]).toEqual([[], []]);
}

/**
 * Presses Tab until the focused button in the view has this name. The focus moves between frames by messages, so each
 * move is waited for.
 */
async function tabTo(name: string | RegExp): Promise<void> {
  const place = 'document.hasFocus() ? [...document.all].indexOf(document.activeElement) : -1';
  const where = () => host.frame().evaluate<number>(place);
  const wanted = host.view.locator(':focus').and(host.view.getByRole('button', { name }));
  for (let presses = 0; presses < 12; presses += 1) {
    const before = await where();
    await host.page.keyboard.press('Tab');
    // The focus may also have moved from the view to the host.
    await expect
      .poll(where, { timeout: 3_000 })
      .not.toBe(before)
      .catch(() => {});
    if ((await wanted.count()) > 0) return;
  }
  throw new Error(`The keyboard does not reach ${name}.`);
}

/** The cells of a chart's table, which the chart is switched to with the keyboard. */
async function tableOf(name: string, given?: Parameters<typeof show>[1]): Promise<string[][]> {
  await show(name, given);
  await host.view.getByRole('figure').waitFor();
  await tabTo(/^Table/);
  await host.page.keyboard.press('Enter');
  await host.view.getByRole('region').getByRole('table').waitFor();
  const rows = await host.view.getByRole('row').all();
  const cells = await Promise.all(
    rows.map((row) => row.getByRole('cell').or(row.getByRole('rowheader')).allInnerTexts()),
  );
  return cells.filter((row) => row.length > 0);
}

const money = (amount: string | null | undefined, currency: string | null | undefined): string =>
  amount === null || amount === undefined ? '–' : formatMoney(amount, currency);

describe('a view in a host', () => {
  test.each(['monthly', 'bridge', 'customers', 'offers', 'conditions'])(
    '%s is accessible and fits, in light and dark, wide and narrow',
    async (name) => {
      await host.page.setViewportSize({ width: 900, height: 800 });
      await show(name);
      await host.view.getByRole('button', { name: 'Open in Dealkeep' }).waitFor();
      const frame = host.frame();
      expect(await violationsOn(frame)).toEqual([]);
      const background = () => frame.evaluate('getComputedStyle(document.body).backgroundColor');
      const light = await background();
      await host.change({ theme: 'dark' });
      await frame.evaluate(settled);
      expect(await background()).not.toBe(light);
      expect(await violationsOn(frame, 'colours')).toEqual([]);
      await host.page.setViewportSize({ width: 320, height: 800 });
      await expect.poll(() => frame.evaluate('innerWidth')).toBe(320);
      await expect.poll(() => frame.evaluate('document.documentElement.scrollWidth')).toBe(320);
      // The host gives the frame the height that the view reports.
      const left = 'document.documentElement.scrollHeight - innerHeight';
      await expect.poll(() => frame.evaluate(left)).toBe(0);
      await host.page.setViewportSize({ width: 900, height: 800 });
      await expectQuiet();
    },
  );
});

describe('a view shows', () => {
  test('every month of the books, in a table and by keyboard in the chart', async () => {
    const periods = rowsOf('monthly', 'periods').toReversed();
    const expected = periods.map(({ period_label, revenue, ebitda, currency }) => [
      period_label,
      money(revenue, currency),
      money(ebitda, currency),
    ]);
    expect(await tableOf('monthly')).toEqual(expected);
    await host.page.keyboard.press('Enter');
    await host.view.getByRole('application').locator('svg').waitFor();
    const tip = host.view.getByRole('application').getByRole('status');
    // The status element exists before it has text: screen readers do not announce an element that is inserted together
    // with its text.
    await tip.waitFor({ state: 'attached' });
    await host.page.keyboard.press('Tab');
    await host.page.keyboard.press('End');
    await expect.poll(() => tip.innerText()).toContain(expected.at(-1)?.[1]);
    await host.page.keyboard.press('ArrowLeft');
    await expect.poll(() => tip.innerText()).toContain(expected.at(-2)?.[1]);
    await host.page.keyboard.press('Escape');
    await expect.poll(() => tip.innerText()).toBe('');
  });

  test('the snapshot completed last, with the others selectable by name', async () => {
    const snapshots = [
      { snapshot_id: 'a', currency: 'USD', completed_at: '2026-02-01T12:00:00.000Z' },
      { snapshot_id: 'b', currency: 'USD', completed_at: '2026-03-01T12:00:00.000Z' },
    ];
    const periods = [
      { period_start_date: '2026-01-01', amounts: ['70'] },
      { period_start_date: '2025-12-01', amounts: ['90'] },
      { period_start_date: '2025-12-01', snapshot: 1, amounts: ['95'] },
    ];
    const structuredContent = { snapshots, columns: ['revenue'], periods };
    expect(await tableOf('monthly', { result: { content: [], structuredContent } })).toEqual([
      ['2025-12', money('95', 'USD'), '–'],
    ]);
    const books = host.view.getByRole('combobox', { name: 'Books' });
    const names = (await books.getByRole('option').allInnerTexts()).map((text) => text.trim());
    expect(names).toEqual([
      expect.stringMatching(/^1: Dec 1, 2025 – Dec 31, 2025, uploaded Mar 1, 2026, /),
      expect.stringMatching(/^2: Dec 1, 2025 – Jan 31, 2026, uploaded Feb 1, 2026, /),
    ]);
    await books.selectOption({ index: 1 });
    await expect.poll(() => host.view.getByRole('cell').allInnerTexts()).toContain(money('90', 'USD'));
  });

  test('years with their labels, if there are no months', async () => {
    const snapshots = [{ snapshot_id: 'a', currency: 'USD', completed_at: '2026-02-01T12:00:00.000Z' }];
    const year = { period_label: 'FY2025', period_start_date: '2025-01-01', period_end_date: '2025-12-31' };
    const structuredContent = { snapshots, columns: ['revenue'], periods: [{ ...year, amounts: ['900'] }] };
    expect(await tableOf('monthly', { result: { content: [], structuredContent } })).toEqual([
      ['FY2025', money('900', 'USD'), '–'],
    ]);
    await host.view.getByRole('table', { name: 'Revenue and EBITDA by period' }).waitFor();
  });

  test('the same EBITDA as the page, the computed figures and the bridge', async () => {
    const own = await addFullDeal(service);
    const snapshot_id = await insert(service, 'accounting_snapshots', {
      deal_id: own.deal,
      snapshot_type: 'profit_and_loss',
      status: 'completed',
      completed_at: '2026-01-01T00:00:00Z',
    });
    const parts = {
      net_income: '0.3',
      interest_expense: '0.2',
      tax_expense: '-0.1',
      depreciation_amortization: '9007199254740993',
    };
    const years: readonly (readonly [label: string, amounts: Row, ebitda: string | null])[] = [
      ['2020', { ...parts, ebitda: '0' }, '0'],
      ['2021', { ...parts, tax_expense: null, ebitda: null }, null],
      ['2022', { ...parts, ebitda: null }, '9007199254740993.4'],
      ['2023', { ...parts, ebitda: '7.5' }, '7.5'],
    ];
    const rows = years.map(([year, amounts]) => ({
      id: crypto.randomUUID(),
      deal_id: own.deal,
      snapshot_id,
      period_label: year,
      period_start_date: `${year}-01-01`,
      period_end_date: `${year}-12-31`,
      currency: 'USD',
      revenue: '1000',
      ...amounts,
    }));
    await insertAll(service, 'pl_periods', rows);

    const { token, userId } = own.people.broker;
    const params = { name: 'svc_qoe_pl_periods', arguments: { deal_id: own.deal } };
    const { body } = await send(service, token, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const shown = await tableOf('monthly', { result: body?.result, input: params.arguments });
    expect(shown.map(([label, , ebitda]) => [label, ebitda])).toEqual(
      years.map(([label, , ebitda]) => [label, money(ebitda, 'USD')]),
    );

    const person = await signInAs(service, userId);
    const page = async (path: string) => (await person.ask(`/deals/${own.deal}/qoe/${path}`)).body;
    const { items } = (await page('periods')) as { items: { period_label: string; ebitda: string | null }[] };
    const { earnings } = (await page('computed')) as { earnings: { label: string; reported_ebitda: string | null }[] };
    for (const [label, , ebitda] of years) {
      const found = items.find((one) => one.period_label === label)?.ebitda;
      expect([label, found && sum([found])]).toEqual([label, ebitda]);
      expect([label, earnings.find((one) => one.label === label)?.reported_ebitda]).toEqual([label, ebitda]);
      if (ebitda === null) continue;
      expect([label, (await page(`bridge?period_label=${label}`)).reported_ebitda]).toEqual([label, ebitda]);
    }
  });

  test('the steps from reported to adjusted EBITDA', async () => {
    const bridge = of('bridge').result.structuredContent['ebitda_bridge'] as unknown as Row;
    const rows = await tableOf('bridge');
    expect(rows[0]).toEqual(['Reported', money(bridge['reported_ebitda'], bridge['currency'])]);
    expect(rows.at(-1)).toEqual(['Adjusted', money(bridge['adjusted_ebitda'], bridge['currency'])]);
    expect(rows).toHaveLength(2 + (bridge['adjustments']?.length ?? 0));
  });

  test('customers with their individual and cumulative shares', async () => {
    const customers = rowsOf('customers', 'customers');
    const rows = await tableOf('customers');
    expect(rows.map((row) => row.slice(0, 3))).toEqual(
      customers.map(({ customer_name, revenue_total, revenue_share, currency }) => [
        customer_name,
        money(revenue_total, currency),
        formatShare(revenue_share ?? '0'),
      ]),
    );
    const shares = customers.map(({ revenue_share }) => BigInt(Math.round(Number(revenue_share) * 1e6)));
    const third = shares.slice(0, 3).reduce((all, share) => all + share, 0n);
    expect(rows[2]?.[3]).toBe(formatShare(`0.${String(third).padStart(6, '0')}`));
  });

  test('shares of customers in two currencies without adding them up', async () => {
    const customer = (customer_name: string, currency: string, revenue_share: string) => ({
      customer_name,
      currency,
      revenue_total: '100',
      revenue_share,
    });
    const customers = [customer('Fuji', 'JPY', '1'), customer('Anvil', 'USD', '0.9'), customer('Birch', 'USD', '0.1')];
    const rows = await tableOf('customers', { result: { content: [], structuredContent: { customers } } });
    expect(rows.map((row) => [row[0], row[3]])).toEqual([
      ['Fuji', formatShare('1')],
      ['Anvil', formatShare('0.9')],
      ['Birch', formatShare('1')],
    ]);
    expect(await host.view.getByRole('main').innerText()).not.toContain(formatShare('2'));
  });

  test('the latest offer of each buyer side by side, the highest first', async () => {
    await show('offers');
    const table = host.view.getByRole('table');
    await table.waitFor();
    const current = rowsOf('offers', 'offers').filter((offer) => (offer['is_current'] as unknown) === true);
    const prices = current
      .map(({ payload }) => payload as unknown as Row)
      .toSorted((a, b) => Number(b['purchase_price']) - Number(a['purchase_price']));
    const row = table.getByRole('row').filter({ has: host.view.getByRole('rowheader', { name: 'Price' }) });
    const cells = await row.getByRole('cell').allInnerTexts();
    expect(cells).toHaveLength(prices.length);
    for (const [place, payload] of prices.entries())
      expect(cells[place]).toContain(money(payload['purchase_price'], payload['currency']));
  });

  test('the agreed terms and decisions beside rival offers, without declined proposals', async () => {
    const offer = (id: string, buyer_user_id: string, purchase_price: string, more: object = { is_current: true }) => ({
      id,
      buyer_user_id,
      revision_number: 1,
      submitted_at: '2026-01-10T12:00:00.000Z',
      payload: { currency: 'USD', purchase_price, expires_at: '2026-01-31T12:00:00Z' },
      ...more,
    });
    const agreed = offer('1', 'a', '4300000', { agreed: true, accepted_at: '2026-01-20T12:00:00.000Z' });
    const rival = offer('2', 'b', '4200000');
    const proposal = offer('3', 'a', '4400000');
    const people = [
      { user_id: 'a', name: 'Ada' },
      { user_id: 'b', name: 'Ben' },
    ];
    const cells = async (name: string) => {
      const row = host.view.getByRole('row').filter({ has: host.view.getByRole('rowheader', { name }) });
      return (await row.getByRole('cell').allInnerTexts()).map((text) => text.split(/\s+/).join(' ').trim());
    };
    const drawing = async (offers: readonly object[]) => {
      await show('offers', { result: { content: [], structuredContent: { offers, people } } });
      await host.view.getByRole('table').waitFor();
      return [await cells('Price'), await cells('Valid until')];
    };
    expect(await drawing([proposal, rival, agreed])).toEqual([
      ['$4,400,000 Proposed change', '$4,300,000 Highest Accepted', '$4,200,000'],
      ['Expired Jan 31, 2026, 12:00 PM', 'Accepted Jan 20, 2026', 'Expired Jan 31, 2026, 12:00 PM'],
    ]);
    const declined = { ...proposal, declined_at: '2026-01-21T12:00:00.000Z' };
    expect(await drawing([declined, rival, agreed])).toEqual([
      ['$4,300,000 Highest Accepted', '$4,200,000'],
      ['Accepted Jan 20, 2026', 'Expired Jan 31, 2026, 12:00 PM'],
    ]);
    const earlier = { ...rival, accepted_at: '2026-01-12T12:00:00.000Z' };
    expect(await drawing([earlier, agreed])).toEqual([
      ['$4,300,000 Highest Accepted', '$4,200,000 Accepted earlier'],
      ['Accepted Jan 20, 2026', 'Expired Jan 31, 2026, 12:00 PM'],
    ]);
  });

  test('the conditions, overdue ones first and met ones last', async () => {
    await show('conditions');
    const items = host.view.getByRole('listitem');
    await items.first().waitFor();
    const conditions = rowsOf('conditions', 'closing_conditions');
    const texts = await items.allInnerTexts();
    expect(texts).toHaveLength(conditions.length);
    for (const { name } of conditions) expect(texts.join('\n')).toContain(name);
    expect(texts[0]).toContain('Overdue');
    expect(texts.at(-1)).toMatch(/Satisfied|Waived/);
  });

  test('a button for the page in Dealkeep, which the host opens', async () => {
    await show('offers');
    await tabTo('Open in Dealkeep');
    await host.page.keyboard.press('Enter');
    const url = `${service.config.baseUrl}/deals/${deal}/offers`;
    await expect.poll(async () => (await host.heard()).links).toEqual([url]);
    await show('offers', { input: { deal_id: '../settings' } });
    await host.view.getByRole('table').waitFor();
    expect(await host.view.getByRole('button', { name: 'Open in Dealkeep' }).count()).toBe(0);
    await expectQuiet();
  });
});

describe('a view', () => {
  const style = (property: string) =>
    host.frame().evaluate<string>(`getComputedStyle(document.body).getPropertyValue('${property}')`);

  test('uses the colours and fonts of the host, and no other styles', async () => {
    const variables = {
      '--color-background-primary': 'rgb(1, 2, 3)',
      '--color-text-primary': 'rgb(250, 251, 252)',
      '--color-border-primary': 'url(http://elsewhere.test/x.png)',
      '--font-sans': 'Georgia',
    };
    await show('conditions', { context: { theme: 'dark', styles: { variables } } });
    await host.view.getByRole('list').waitFor();
    expect([await style('background-color'), await style('color'), await style('font-family')]).toEqual([
      'rgb(1, 2, 3)',
      'rgb(250, 251, 252)',
      'Georgia',
    ]);
    expect(await style('--line')).not.toContain('url');
    await host.change({ theme: 'dark', styles: { variables: { '--color-background-primary': 'rgb(9, 9, 9)' } } });
    await expect.poll(() => style('background-color')).toBe('rgb(9, 9, 9)');
    await expectQuiet();
  });

  test.each([
    ['is on its way', undefined, 'One moment…'],
    [
      'was refused',
      { isError: true, content: [], structuredContent: { error: 'busy', message: 'Try again.' } },
      'Try again.',
    ],
    ['is empty', { content: [], structuredContent: { offers: [] } }, 'There are no offers to compare.'],
    ['is nothing that it knows', { content: [{ type: 'text', text: 'no JSON' }] }, 'There are no offers to compare.'],
  ])('shows a message if its result %s', async (_what, result, words) => {
    await show('offers', { result });
    await expect.poll(() => host.view.getByRole('status').innerText()).toBe(words);
    await expectQuiet();
  });

  test('shows a message if its call was canceled', async () => {
    await show('monthly', { result: undefined });
    await host.view.getByText('One moment…').waitFor();
    await host.page.evaluate('bridge.sendToolCancelled({ reason: "The person has stopped it." })');
    await host.view.getByText('The call was canceled.').waitFor();
    await expectQuiet();
  });

  test('reads a result that is text only', async () => {
    const { structuredContent } = of('conditions').result;
    await show('conditions', { result: { content: [{ type: 'text', text: JSON.stringify(structuredContent) }] } });
    await host.view.getByRole('listitem').first().waitFor();
  });

  test('draws whatever people wrote as text, and leaves out what does not fit', async () => {
    const hostile = `<img src=x onerror="parent.postMessage('x','*')"></script><script>alert(1)</script>`;
    const payload = {
      purchase_price: '12e9',
      cash_at_close: '9007199254740993.0001',
      currency: hostile,
      target_close_date: 'tomorrow',
      expires_at: '2026-99-99',
      terms: hostile,
      [hostile]: { deep: [hostile] },
      financing_contingency: 'yes',
    };
    const offers = [1, 2].map((id) => ({ id: String(id), is_current: true, submitted_at: 'never', payload }));
    await show('offers', { result: { content: [], structuredContent: { offers: [...offers, null, 7, [hostile]] } } });
    await host.view.getByRole('table').waitFor();
    const text = await host.view.getByRole('main').innerText();
    expect(text).toContain(hostile);
    expect(text).toContain('9,007,199,254,740,993.0001');
    expect(await host.view.locator('img').count()).toBe(0);
    const customers = [hostile, 'A'.repeat(500)].map((customer_name) => ({
      customer_name,
      currency: 'EURO',
      revenue_total: '1'.repeat(40),
      revenue_share: '0.5',
    }));
    await show('customers', { result: { content: [], structuredContent: { customers } } });
    await host.view.getByRole('figure').waitFor();
    await expect.poll(() => host.frame().evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await expectQuiet();
  });
});
