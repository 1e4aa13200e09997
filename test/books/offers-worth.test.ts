/** What is computed of the offers of a deal, as pages and tools tell it to each caller: docs/visibility.md, "What is computed". */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser, openDesk } from '../browser.ts';
import { readExpectations } from '../policies/expectations.ts';
import { callers } from '../policies/scene.ts';
import { addToken, caller as toolCaller, insert } from '../tools/scene.ts';
import { openScene, type WebScene } from '../web/scene.ts';

let web: WebScene;
let deal: string;

beforeAll(async () => {
  web = await openScene({ config: { features: { findings: true, financing: true } } });
  ({ deal } = web.scene);
  const { service } = web;
  const snapshot_id = await insert(service, 'accounting_snapshots', {
    deal_id: deal,
    snapshot_type: 'full',
    status: 'completed',
    requested_at: '2026-01-09T00:00:00Z',
    completed_at: '2026-01-10T00:00:00Z',
  });
  const books = { deal_id: deal, snapshot_id, currency: 'USD' };
  for (let month = 1; month <= 12; month += 1) {
    const [first, last] = [new Date(Date.UTC(2025, month - 1, 1)), new Date(Date.UTC(2025, month, 0))];
    await insert(service, 'pl_periods', {
      ...books,
      period_label: first.toISOString().slice(0, 7),
      period_start_date: first.toISOString().slice(0, 10),
      period_end_date: last.toISOString().slice(0, 10),
      revenue: '400000',
      cost_of_goods_sold: '240000',
      gross_profit: '160000',
      owner_compensation: '15000',
      ebitda: '60000',
    });
  }
  await insert(service, 'customer_revenues', {
    ...books,
    period_start_date: '2025-01-01',
    period_end_date: '2025-12-31',
    customer_name: 'Harbor Diner',
    revenue_total: '500000',
  });
  await service.sql(`delete from normalizations where deal_id = $1`, [deal]);
  for (const adjustment_amount of ['100000', '20000'])
    await insert(service, 'normalizations', {
      deal_id: deal,
      period_label: 'FY2025',
      adjustment_category: 'one_time',
      adjustment_amount,
    });
  const offers = {
    'exclusive buyer': {
      purchase_price: '3900000',
      cash_at_close: '2900000',
      seller_note: '600000',
      earnout: '400000',
    },
    'other buyer': { purchase_price: '4200000', cash_at_close: '4200000' },
  };
  for (const [buyer, payload] of Object.entries(offers))
    await service.sql('update offers set payload = $2 where id = $1', [
      web.scene.records[`offers/the ${buyer}'s`],
      JSON.stringify({ currency: 'USD', ...payload }),
    ]);
  await service.sql(`update financing_sources set commitment_amount = 2300000 where deal_id = $1`, [deal]);
});
afterAll(() => web?.close());

const ask = async (caller: string, query = '') => (await web.as(caller)).ask(`/deals/${deal}/offers/worth${query}`);
const offerOf = (buyer: string) => web.scene.records[`offers/the ${buyer}'s`];

/** What a page, or the summary of a tool, tells of a buyer's offer. */
interface Told {
  readonly offers?: readonly {
    offer_id: string;
    multiples?: { adjusted_ebitda: string | null } | null;
    [more: string]: unknown;
  }[];
  readonly compared?: unknown;
  readonly pipeline?: { readonly deals: readonly { id: string; adjusted_ebitda: string | null }[] };
  readonly basis?: unknown;
}

/** How each row of the table is seen in what is told. */
const seen: Readonly<Record<string, (told: Told) => boolean>> = Object.fromEntries(
  ['exclusive buyer', 'other buyer'].flatMap((buyer): [string, (told: Told) => boolean][] => {
    const own = (told: Told) => told.offers?.find(({ offer_id }) => offer_id === offerOf(buyer));
    return [
      [`how certain the money of the ${buyer}'s offer is`, (told) => Boolean(own(told)?.['money'])],
      [`the ${buyer}'s offer in multiples of earnings`, (told) => Boolean(own(told)?.multiples)],
      [`what is paid for an add-back in the ${buyer}'s offer`, (told) => Boolean(own(told)?.['paid_for'])],
      [`whether the debt of the ${buyer}'s offer is covered`, (told) => Boolean(own(told)?.['coverage'])],
      [`what rules of the SBA say of the ${buyer}'s offer`, (told) => Boolean(own(told)?.['sba'])],
    ];
  }),
);
const rows: typeof seen = {
  ...seen,
  'by how much the two offers differ': (told) => Boolean(told.compared),
  "the deal's adjusted EBITDA on the first page": ({ pipeline }) =>
    Boolean(pipeline?.deals.find(({ id }) => id === deal)?.adjusted_ebitda),
};

const { computed } = readExpectations(new URL('../../docs/visibility.md', import.meta.url));
const people = callers.filter((caller) => caller !== 'API key' && caller !== 'nobody');

describe('to each caller', () => {
  test('the page of who sees what speaks of every row and every caller', () => {
    expect(new Set(computed.map(({ record }) => record))).toEqual(new Set(Object.keys(rows)));
    expect([...new Set(computed.map(({ caller }) => caller))]).toEqual([...callers]);
    for (const { caller, may } of computed) if (!people.some((one) => one === caller)) expect(may).toEqual([]);
  });

  test.each(people)('pages tell the %s what is theirs to know', async (caller) => {
    const { status, body } = await ask(caller);
    const { body: pipeline } = await (await web.as(caller)).ask('/home/pipeline');
    const told: Told = { ...(status === 200 ? (body as Told) : {}), pipeline };
    const found = Object.entries(rows).map(([row, isIn]) => [row, isIn(told) ? ['sees'] : []]);
    expect(found).toEqual(
      Object.keys(rows).map((row) => [row, computed.find((one) => one.caller === caller && one.record === row)?.may]),
    );
    // What is not seen in a figure is not in any other, either.
    const knowsBooks = computed.some(
      ({ caller: who, record, may }) => who === caller && /multiples/.test(record) && may.length > 0,
    );
    if (!knowsBooks) {
      expect(told.basis ?? null).toBeNull();
      expect(JSON.stringify(told)).not.toMatch(/840000|720000|4642857|Harbor/);
    }
  });

  test.each(people)('the tool tells the %s no more', async (caller) => {
    const call = toolCaller(web.service, await addToken(web.service, web.scene.people[caller]!));
    const told = (await call('svc_offers_list', { deal_id: deal })).structuredContent['summary'] as
      (Told & { two_best?: unknown }) | undefined;
    const may = (row: string) =>
      computed.some((one) => one.caller === caller && one.record === row && one.may.length > 0);
    for (const buyer of ['exclusive buyer', 'other buyer']) {
      const own = told?.offers?.find(({ offer_id }) => offer_id === offerOf(buyer));
      expect(Boolean(own?.['money'])).toBe(may(`how certain the money of the ${buyer}'s offer is`));
      expect(Boolean(own?.multiples)).toBe(may(`the ${buyer}'s offer in multiples of earnings`));
      expect(Boolean(own?.['coverage'])).toBe(may(`whether the debt of the ${buyer}'s offer is covered`));
    }
    expect(Boolean(told?.basis)).toBe(may("the exclusive buyer's offer in multiples of earnings"));
    expect(Boolean(told?.two_best)).toBe(may('by how much the two offers differ'));
  });

  test('and nothing to who is not signed in', async () => {
    expect((await fetch(`${web.service.origin}/api/web/deals/${deal}/offers/worth`)).status).toBe(401);
  });
});

describe('to the broker', () => {
  test('multiples, what is paid for what, and how certain the money is', async () => {
    const { body } = await ask('broker');
    expect(body.basis).toMatchObject({
      period: 'FY2025',
      currency: 'USD',
      revenue: '4800000',
      reported_ebitda: '720000',
      adjusted_ebitda: '840000',
      sde: '1020000',
    });
    expect(body.periods).toEqual(['TTM', 'FY2025']);
    const own = body.offers.find((one: { offer_id: string }) => one.offer_id === offerOf('exclusive buyer'));
    expect(own.multiples).toEqual({ reported_ebitda: '5.42', adjusted_ebitda: '4.64', sde: '3.82', revenue: '0.81' });
    expect(own.paid_for).toEqual({
      reported_ebitda: '3342857.14',
      add_backs: expect.arrayContaining([
        expect.objectContaining({ amount: '100000', worth: '464285.72', price_without: '3435714.28' }),
        expect.objectContaining({ amount: '20000', worth: '92857.14', price_without: '3807142.86' }),
      ]),
    });
    expect(own.money.parts).toEqual([
      { part: 'cash_at_close', amount: '2900000', share: '0.7436' },
      { part: 'seller_note', amount: '600000', share: '0.1538' },
      { part: 'earnout', amount: '400000', share: '0.1026' },
    ]);
  });

  test('whether the debt is covered, again without the largest customer, and by year with terms', async () => {
    const { body } = await ask('broker');
    const own = (found: typeof body, buyer: string) =>
      found.offers.find((one: { offer_id: string }) => one.offer_id === offerOf(buyer));
    const coverage = own(body, 'exclusive buyer').coverage;
    expect(coverage).toMatchObject({ debt: '2900000', debt_is: 'recorded', years: null });
    expect(coverage.sentences).toEqual([
      'Debt of USD 2,900,000 is covered 1.15 times if it costs at most 25.1% of itself a year (10 years at 10% cost 15.86%).',
      'Debt of USD 2,900,000 is covered 1.25 times if it costs at most 23.1% of itself a year (10 years at 10% cost 15.86%).',
    ]);
    expect(coverage.without_largest).toMatchObject({ customer: 'Harbor Diner', ebitda: '640000' });
    expect(coverage.without_largest.sentences[0]).toContain('at most 19.1% of itself');
    expect(own(body, 'other buyer').coverage).toMatchObject({ debt: '4200000', debt_is: 'all_but_equity' });

    const typed = (await ask('broker', '?rate=10&years=10&note_rate=6&note_years=3&note_standby=2&equity=200000')).body;
    const years = own(typed, 'exclusive buyer').coverage.years;
    expect(years).toHaveLength(10);
    expect(years[0]).toEqual({ year: 1, paid: '364736.04', coverage: '2.3' });
    expect(Number(years[2].paid)).toBeGreaterThan(500_000);
    expect(own(typed, 'other buyer').coverage).toMatchObject({
      debt: '4000000',
      sentences: [
        expect.stringMatching(/^With all cash but USD 200,000 borrowed, debt of USD 4,000,000 is covered 1\.15 times/),
        expect.any(String),
      ],
    });
  });

  test('what the rules of the SBA say, and of another period what the offers are worth', async () => {
    const { body } = await ask('broker', '?rate=10&years=10&note_standby=10&equity=290000');
    const own = body.offers.find((one: { offer_id: string }) => one.offer_id === offerOf('exclusive buyer'));
    const says = Object.fromEntries(own.sba.map((rule: { id: string; answer: unknown }) => [rule.id, rule.answer]));
    expect(says.loan_ceiling).toMatchObject({ result: 'met' });
    expect(says.coverage).toMatchObject({ result: 'met' });
    expect(says.equity).toMatchObject({ result: 'ask' });
    expect(says.quality_of_earnings).toMatchObject({ result: 'ask' });
    expect(body.sba_rules.map(({ id }: { id: string }) => id).toSorted()).toEqual(Object.keys(says).toSorted());
    for (const rule of body.sba_rules)
      expect(rule).toMatchObject({ citation: expect.any(String), source: expect.stringMatching(/^https:/) });
    const other = (await ask('broker', '?period_label=TTM')).body;
    expect(other.basis).toMatchObject({ period: 'TTM', adjusted_ebitda: '720000' });
  });

  test('on the first page what the deals ask for together, and what the business earns', async () => {
    const [row] = await web.service.sql<{ asking: string | null; deals: number }>(
      `select sum(d.asking_price)::text as asking, count(*)::int as deals from deals d join participants p on p.deal_id = d.id
       where p.user_id = $1 and p.role = 'broker' and p.status = 'active' and d.state not in ('closed', 'withdrawn') and d.currency = 'USD'`,
      [web.scene.people['broker']],
    );
    await web.service.sql('update deals set asking_price = 4410000 where id = $1', [deal]);
    const { body } = await (await web.as('broker')).ask('/home/pipeline');
    expect(body.totals[0]).toMatchObject({ currency: 'USD', deals: row!.deals });
    expect(Number(body.totals[0].asking)).toBeGreaterThanOrEqual(4_410_000);
    expect(body.deals.find(({ id }: { id: string }) => id === deal)).toMatchObject({
      asking_price: '4410000',
      adjusted_ebitda: '840000',
      period: 'FY2025',
      multiple: '5.25',
    });
    expect((await (await web.as('outsider')).ask('/home/pipeline')).body).toEqual({ totals: [], deals: [] });
  });

  test('by how much the two best offers differ', async () => {
    const { body } = await ask('broker');
    expect(body.compared).toEqual({
      first: offerOf('other buyer'),
      second: offerOf('exclusive buyer'),
      differences: [
        { term: 'purchase_price', first: '4200000', second: '3900000', by: '300000' },
        { term: 'cash_at_close', first: '4200000', second: '2900000', by: '1300000' },
        { term: 'seller_note', first: '0', second: '600000', by: '-600000' },
        { term: 'earnout', first: '0', second: '400000', by: '-400000' },
      ],
    });
  });

  test.each([
    '?rate=101',
    '?rate=-1',
    '?years=0',
    '?years=41',
    '?years=1.5',
    '?note_standby=99',
    '?equity=1e9',
    '?rate=NaN',
  ])('a fault of %s is named', async (query) => {
    const { status, body } = await ask('broker', query);
    expect([status, body.error.code]).toEqual([400, 'validation_error']);
  });
});

test('on the page of offers the broker compares them, and computes coverage with terms of their own', async () => {
  const browser = await openBrowser();
  try {
    const { cookie } = await web.as('broker');
    const { page } = await openDesk(browser, web.service.origin, { cookie, locale: 'en-US' });
    await page.goto(`${web.service.origin}/deals/${deal}/offers`);
    const worth = page.getByRole('region', { name: 'What the offers are worth' });
    await worth.waitFor();
    await expect
      .poll(() => worth.getByRole('row', { name: /^exclusive buyer/ }).innerText())
      .toMatch(/4\.64×\s+5\.42×\s+3\.82×\s+0\.81×\s+74\.4%/);
    await expect
      .poll(() => page.getByRole('region', { name: 'The two best offers' }).innerText())
      .toMatch(/\+\$300,000/);
    await page.getByLabel('If it were accepted').selectOption({ label: 'exclusive buyer' });
    await page.getByLabel(/^Loan: rate/).fill('111');
    await page.getByRole('button', { name: 'Compute coverage by year' }).click();
    await page.getByText('Write a percentage from 0 to 100, like 10.25.').waitFor();
    await page.getByLabel(/^Loan: rate/).fill('10');
    await page.getByLabel(/^Loan: years/).fill('10');
    await page.getByRole('button', { name: 'Compute coverage by year' }).click();
    const years = page.getByRole('region', { name: 'Coverage by year' });
    await years.waitFor();
    await expect.poll(() => years.getByRole('row').count()).toBe(11);
    await page.getByText('Rules of the SBA for 7(a) loans').waitFor();

    // What is added to the books elsewhere is in the multiples when the page is opened again.
    await page.getByRole('link', { name: 'QoE', exact: true }).click();
    await page.getByRole('button', { name: 'Add adjustment' }).click();
    await page.getByLabel('Period', { exact: true }).selectOption('FY2025');
    await page.getByLabel('Category').selectOption('other');
    await page.getByLabel('Amount').fill('160000');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('+$160,000').first().waitFor();
    await page
      .getByRole('link', { name: /^Offers/ })
      .first()
      .click();
    await expect
      .poll(() => worth.getByRole('row', { name: /^exclusive buyer/ }).innerText())
      .toMatch(/3\.90×\s+5\.42×/);

    await page.goto(web.service.origin);
    const value = page.locator('section', { has: page.getByRole('heading', { name: 'Value of your pipeline' }) });
    await expect.poll(() => value.innerText()).toMatch(/\$[\d,]+\s+asking price of \d+ deals?/);
    await web.service.sql('update deals set asking_price = null');
    await page.reload();
    await expect.poll(() => value.innerText()).toMatch(/\d deals? in USD without an asking price/);
    expect(await value.innerText()).not.toMatch(/\$0|\b0 deals/);
  } finally {
    await browser.close();
  }
});
