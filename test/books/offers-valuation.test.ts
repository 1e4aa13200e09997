/**
 * The figures computed from a deal's offers, as pages, tools and reports show them to each caller: docs/visibility.md,
 * "What is computed".
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser, openTestPage } from '../browser.ts';
import { readExpectations } from '../policies/expectations.ts';
import { callers } from '../policies/scene.ts';
import { download, printedOf, rowOf, sheetsOf, type Sheets } from '../reports/files.ts';
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

/** What a page, or a tool's summary, shows of a buyer's offer. */
interface Valuations {
  readonly offers?: readonly {
    offer_id: string;
    multiples?: { adjusted_ebitda: string | null } | null;
    [more: string]: unknown;
  }[];
  readonly compared?: unknown;
  readonly pipeline?: { readonly deals: readonly { id: string; adjusted_ebitda: string | null }[] };
  readonly basis?: unknown;
}

/** How each row of the table is recognised in the answers. */
const seen: Readonly<Record<string, (answered: Valuations) => boolean>> = Object.fromEntries(
  ['exclusive buyer', 'other buyer'].flatMap((buyer): [string, (answered: Valuations) => boolean][] => {
    const own = (answered: Valuations) => answered.offers?.find(({ offer_id }) => offer_id === offerOf(buyer));
    return [
      [`how certain the money of the ${buyer}'s offer is`, (answered) => Boolean(own(answered)?.['money'])],
      [`the ${buyer}'s offer in multiples of earnings`, (answered) => Boolean(own(answered)?.multiples)],
      [`what is paid for an add-back in the ${buyer}'s offer`, (answered) => Boolean(own(answered)?.['paid_for'])],
      [`whether the debt of the ${buyer}'s offer is covered`, (answered) => Boolean(own(answered)?.['coverage'])],
      [`what rules of the SBA say of the ${buyer}'s offer`, (answered) => Boolean(own(answered)?.['sba'])],
    ];
  }),
);
const rows: typeof seen = {
  ...seen,
  'by how much the two offers differ': (answered) => Boolean(answered.compared),
  "the deal's adjusted EBITDA on the first page": ({ pipeline }) =>
    Boolean(pipeline?.deals.find(({ id }) => id === deal)?.adjusted_ebitda),
};

const { computed } = readExpectations(new URL('../../docs/visibility.md', import.meta.url));
const people = callers.filter((caller) => caller !== 'API key' && caller !== 'nobody');

describe('for each caller', () => {
  test('docs/visibility.md covers every computed row and every caller', () => {
    expect(new Set(computed.map(({ record }) => record))).toEqual(new Set(Object.keys(rows)));
    expect([...new Set(computed.map(({ caller }) => caller))]).toEqual([...callers]);
    for (const { caller, may } of computed) if (!people.some((one) => one === caller)) expect(may).toEqual([]);
  });

  test.each(people)('pages show the %s exactly the permitted figures', async (caller) => {
    const { status, body } = await ask(caller);
    const { body: pipeline } = await (await web.as(caller)).ask('/home/pipeline');
    const answered: Valuations = { ...(status === 200 ? (body as Valuations) : {}), pipeline };
    const found = Object.entries(rows).map(([row, isIn]) => [row, isIn(answered) ? ['sees'] : []]);
    expect(found).toEqual(
      Object.keys(rows).map((row) => [row, computed.find((one) => one.caller === caller && one.record === row)?.may]),
    );
    // A caller who may not see the books does not see their figures within other figures either.
    const knowsBooks = computed.some(
      ({ caller: who, record, may }) => who === caller && /multiples/.test(record) && may.length > 0,
    );
    if (!knowsBooks) {
      expect(answered.basis ?? null).toBeNull();
      expect(JSON.stringify(answered)).not.toMatch(/840000|720000|4642857|Harbor/);
    }
  });

  test.each(people)('the tool shows the %s exactly the permitted figures', async (caller) => {
    const call = toolCaller(web.service, await addToken(web.service, web.scene.people[caller]!));
    const answered = (await call('svc_offers_list', { deal_id: deal })).structuredContent['summary'] as
      (Valuations & { two_best?: unknown }) | undefined;
    const may = (row: string) =>
      computed.some((one) => one.caller === caller && one.record === row && one.may.length > 0);
    for (const buyer of ['exclusive buyer', 'other buyer']) {
      const own = answered?.offers?.find(({ offer_id }) => offer_id === offerOf(buyer));
      expect(Boolean(own?.['money'])).toBe(may(`how certain the money of the ${buyer}'s offer is`));
      expect(Boolean(own?.multiples)).toBe(may(`the ${buyer}'s offer in multiples of earnings`));
      expect(Boolean(own?.['coverage'])).toBe(may(`whether the debt of the ${buyer}'s offer is covered`));
    }
    expect(Boolean(answered?.basis)).toBe(may("the exclusive buyer's offer in multiples of earnings"));
    expect(Boolean(answered?.two_best)).toBe(may('by how much the two offers differ'));
  });

  test.each(people)(
    'the report shows the %s exactly the permitted figures, as a workbook and as a PDF',
    async (caller) => {
      const person = await web.as(caller);
      const [workbook, document] = [
        await download(web.service, person, deal, 'xlsx'),
        await download(web.service, person, deal, 'pdf'),
      ];
      const { status } = await person.ask(`/deals/${deal}`);
      expect([workbook.status, document.status]).toEqual([status, status]);
      const sheets: Sheets = status === 200 ? await sheetsOf(workbook.bytes) : new Map();
      const text = status === 200 ? (await printedOf(document.bytes)).text : '';
      const heads = sheets.get('Offers')?.[3] ?? [];
      const figures = {
        'exclusive buyer': {
          price: '3,900,000',
          shares: '2,900,000 (74.4%)',
          multiple: '4.64×',
          without: '3,807,142.86',
        },
        'other buyer': { price: '4,200,000', shares: '4,200,000 (100.0%)', multiple: '5.00×', without: '4,100,000' },
      };
      const found = Object.entries(figures).flatMap(([buyer, { price, shares, multiple, without }]) => {
        const called = caller === buyer ? 'Your offer' : buyer;
        const column = heads.indexOf(called);
        const has = (row: string) => column > 0 && typeof rowOf(sheets, 'Offers', row)[column] === 'number';
        const answered = {
          [`how certain the money of the ${buyer}'s offer is`]: [has('Share: cash at close'), text.includes(shares)],
          [`the ${buyer}'s offer in multiples of earnings`]: [
            has('Price to adjusted EBITDA'),
            text.includes(`${multiple}`),
          ],
          [`what is paid for an add-back in the ${buyer}'s offer`]: [
            sheets.get('Add-backs')?.[3]?.includes(`${called} pays`),
            text.includes(without),
          ],
          [`whether the debt of the ${buyer}'s offer is covered`]: [
            has('Debt'),
            text.includes(`Debt coverage: ${called}`),
          ],
          [`what rules of the SBA say of the ${buyer}'s offer`]: [
            sheets.get('SBA rules')?.some(([first]) => first === called),
            text.includes(`Source, in effect since`) && text.includes(called),
          ],
        };
        // A report contains neither the price nor the buyer of an offer that the caller may not see.
        if (!Object.values(answered).flat().some(Boolean)) {
          const all = `${JSON.stringify([...sheets])} ${text}`.replaceAll(caller, '');
          for (const one of [price, price.replaceAll(',', ''), ...(caller.startsWith(buyer) ? [] : [buyer])])
            expect(all).not.toContain(one);
        }
        return Object.entries(answered);
      });
      const both = [rowOf(sheets, 'Offers', 'The two highest side by side').length > 0, text.includes('side by side')];
      found.push(['by how much the two offers differ', both]);
      expect(found.map(([row, answered]) => [row, answered.map(Boolean)])).toEqual(
        found.map(([row]) => {
          const may = computed.some((one) => one.caller === caller && one.record === row && one.may.length > 0);
          return [row, [may, may]];
        }),
      );
    },
  );

  test.each(people)('the comparison of two offers is shown to the %s only if both are visible', async (caller) => {
    const may = computed.find((one) => one.caller === caller && one.record === 'by how much the two offers differ')?.may
      .length;
    const { ask: askAs } = await web.as(caller);
    const pair = await askAs(`/deals/${deal}/offers/${offerOf('other buyer')}/against/${offerOf('exclusive buyer')}`);
    expect(pair.status).toBe(may ? 200 : 404);
    const knowsBooks = computed.some(
      ({ caller: who, record, may: seenBy }) => who === caller && /multiples/.test(record) && seenBy.length > 0,
    );
    for (const buyer of ['exclusive buyer', 'other buyer']) {
      const money = computed.find(
        (one) => one.caller === caller && one.record === `how certain the money of the ${buyer}'s offer is`,
      )?.may.length;
      const { status, body } = await askAs(`/deals/${deal}/offers/${offerOf(buyer)}/against/${offerOf(buyer)}`);
      expect([buyer, status]).toEqual([buyer, money ? 200 : 404]);
      if (!money) expect(JSON.stringify(body)).not.toMatch(/\d{6}/);
      else expect([buyer, JSON.stringify(body).includes('multiple_')]).toEqual([buyer, knowsBooks]);
    }
  });

  test('figures of offers return 401 without a session', async () => {
    expect((await fetch(`${web.service.origin}/api/web/deals/${deal}/offers/worth`)).status).toBe(401);
  });
});

describe('for the broker', () => {
  test('the page shows multiples, the price of each add-back, and the certainty of the money', async () => {
    const { body } = await ask('broker');
    // The last twelve months are that year.
    expect(body.basis).toMatchObject({
      period: 'TTM',
      first: '2025-01-01',
      last: '2025-12-31',
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

  test('the tool’s bridge matches the adjusted EBITDA behind the multiples, whatever was adjusted last', async () => {
    const { service } = web;
    const month = await insert(service, 'normalizations', {
      deal_id: deal,
      period_label: '2025-03',
      adjustment_category: 'one_time',
      adjustment_amount: '7000',
      created_at: new Date(service.clock.now().getTime() + 1000),
    });
    const call = toolCaller(service, await addToken(service, web.scene.people['broker']!));
    const [qoe, offers] = [
      await call('svc_qoe_get', { deal_id: deal }),
      await call('svc_offers_list', { deal_id: deal }),
    ].map(({ structuredContent }) => structuredContent);
    const dates = { period_start_date: '2025-01-01', period_end_date: '2025-12-31' };
    const { basis } = offers!['summary'] as { basis: { period: string; adjusted_ebitda: string } };
    expect(basis).toMatchObject({ period: 'TTM', ...dates, adjusted_ebitda: '840000' });
    expect(qoe!['ebitda_bridge']).toEqual({
      period_label: basis.period,
      ...dates,
      currency: 'USD',
      reported_ebitda: '720000',
      adjustments: [{ category: 'one_time', amount: '120000' }],
      adjusted_ebitda: basis.adjusted_ebitda,
    });
    await service.sql('delete from normalizations where id = $1', [month]);
  });

  test('coverage of the debt is shown, also without the largest customer, and by year with terms', async () => {
    const { body } = await ask('broker');
    const own = (found: typeof body, buyer: string) =>
      found.offers.find((one: { offer_id: string }) => one.offer_id === offerOf(buyer));
    const coverage = own(body, 'exclusive buyer').coverage;
    expect(coverage).toMatchObject({ debt: '2900000', debt_is: 'recorded', years: null });
    expect(coverage.sentences).toEqual([
      'Debt of $2,900,000 is covered 1.15 times if annual debt service is at most 25.1% of the debt (10 years at 10%: 15.86%).',
      'Debt of $2,900,000 is covered 1.25 times if annual debt service is at most 23.1% of the debt (10 years at 10%: 15.86%).',
    ]);
    expect(coverage.without_largest).toMatchObject({ customer: 'Harbor Diner', ebitda: '640000' });
    expect(coverage.without_largest.sentences[0]).toContain('at most 19.1% of the debt');
    expect(own(body, 'other buyer').coverage).toMatchObject({ debt: '4200000', debt_is: 'all_but_equity' });

    // A first call for books that no call has read yet reads everything in its transaction, the second within the
    // statement that enters.
    const call = toolCaller(web.service, await addToken(web.service, web.scene.people['broker']!));
    const adjustment = { period_label: 'FY1999', adjustment_category: 'other', adjustment_amount: '1' };
    const added = await insert(web.service, 'normalizations', { deal_id: deal, ...adjustment });
    for (const reading of ['by itself', 'on entering']) {
      const { summary } = (await call('svc_offers_list', { deal_id: deal })).structuredContent as {
        summary: typeof body;
      };
      const sentence = own(summary, 'exclusive buyer').coverage;
      expect(sentence, reading).toBe(coverage.sentences[0].replace('$', 'USD '));
      expect(own(summary, 'other buyer').coverage, reading).toMatch(/^With all cash borrowed, debt of USD 4,200,000 /);
    }
    await web.service.sql('delete from normalizations where id = $1', [added]);

    const typed = (await ask('broker', '?rate=10&years=10&note_rate=6&note_years=3&note_standby=2&equity=200000')).body;
    const years = own(typed, 'exclusive buyer').coverage.years;
    expect(years).toHaveLength(10);
    expect(years[0]).toEqual({ year: 1, paid: '364736.04', coverage: '2.3' });
    expect(Number(years[2].paid)).toBeGreaterThan(500_000);
    expect(own(typed, 'other buyer').coverage).toMatchObject({
      debt: '4000000',
      sentences: [
        expect.stringMatching(/^With all cash but \$200,000 borrowed, debt of \$4,000,000 is covered 1\.15 times/),
        expect.any(String),
      ],
    });
  });

  test('SBA rules are evaluated, and offers are compared with another period on request', async () => {
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
    const other = (await ask('broker', '?period_label=FY2025')).body;
    expect(other.basis).toMatchObject({ period: 'FY2025', adjusted_ebitda: '840000' });
  });

  test('SBA rules ask for financing sources of the buyer’s side, even if the broker has recorded one', async () => {
    const source = await insert(web.service, 'financing_sources', {
      deal_id: deal,
      participant_id: web.scene.participants['broker'],
      source_type: 'sba_7a',
      source_name: 'A bank',
      commitment_amount: '3500000',
      currency: 'USD',
    });
    const answers = async (caller: string, query = '') => {
      const { body } = await ask(caller, query);
      const own = body.offers.find((one: { offer_id: string }) => one.offer_id === offerOf('other buyer'));
      return Object.fromEntries(own.sba.map(({ id, answer }: { id: string; answer: unknown }) => [id, answer]));
    };
    expect(await answers('broker')).toMatchObject({
      loan_ceiling: {
        result: 'ask',
        ask: 'How much of the price is to come from an SBA 7(a) loan? The buyer’s side adds it as a source of financing.',
      },
      coverage: { result: 'ask', ask: expect.stringContaining('Enter the terms.') },
    });
    await web.service.sql('delete from financing_sources where id = $1', [source]);
    // A caller who does not see the books is asked for the earnings once the terms are given.
    expect(await answers('other buyer', '?rate=10&years=10')).toMatchObject({
      maturity: { result: 'met' },
      coverage: { result: 'ask', ask: expect.stringMatching(/^What is EBITDA for twelve months, in US dollars\?/) },
    });
  });

  describe('with a seller note among the financing sources', () => {
    /** The page's judgements of the other buyer's offer while it has these amounts and sources. */
    async function told(payload: object, sources: Readonly<Record<string, string>>, query = '') {
      const id = offerOf('other buyer');
      const [offer] = await web.service.sql<{ participant_id: string; payload: unknown }>(
        'select participant_id, payload from offers where id = $1',
        [id],
      );
      const { participant_id, payload: before } = offer!;
      const offering = (one: unknown) =>
        web.service.sql('update offers set payload = $2 where id = $1', [id, JSON.stringify(one)]);
      await offering({ currency: 'USD', ...payload });
      for (const [source_type, commitment_amount] of Object.entries(sources))
        await insert(web.service, 'financing_sources', {
          deal_id: deal,
          participant_id,
          source_type,
          source_name: source_type,
          commitment_amount,
          currency: 'USD',
        });
      const { body } = await ask('broker', query);
      await web.service.sql('delete from financing_sources where participant_id = $1', [participant_id]);
      await offering(before);
      return body.offers.find((one: { offer_id: string }) => one.offer_id === id);
    }

    test.each([
      ['of a price alone', { purchase_price: '3000000' }, { seller_note: '600000' }, '3000000'],
      ['that is what the parts leave out', { cash_at_close: '2000000' }, { seller_note: '1000000' }, '3000000'],
      ['of some of what they leave out', { cash_at_close: '2000000' }, { seller_note: '400000' }, '3000000'],
      ['of more than they leave out', { cash_at_close: '2800000' }, { seller_note: '300000' }, '3100000'],
      [
        'that the offer has too',
        { cash_at_close: '2000000', seller_note: '600000' },
        { seller_note: '600000' },
        '3000000',
      ],
      [
        'that is higher than in the offer',
        { cash_at_close: '2000000', seller_note: '600000' },
        { seller_note: '700000' },
        '3000000',
      ],
      [
        'beside equity',
        { purchase_price: '3000000' },
        { seller_note: '600000', cash_buyer_equity: '300000' },
        '2700000',
      ],
    ])('the debt includes a note %s once', async (_name, payload, sources, debt) => {
      const { coverage } = await told({ purchase_price: '3000000', ...payload }, sources);
      expect(coverage).toMatchObject({ debt, debt_is: 'all_but_equity' });
    });

    test.each([
      ['?note_rate=6&note_years=3', 3],
      ['?rate=6&note_years=3', 3],
      ['?note_rate=6', null],
      ['?note_years=3', null],
    ])('coverage by year needs no terms of a loan if all of the debt is the note: %s', async (query, length) => {
      const { coverage } = await told({ purchase_price: '600000', seller_note: '600000' }, {}, query);
      expect(coverage).toMatchObject({ debt: '600000', bank: '0' });
      expect(coverage.years?.length ?? null).toBe(length);
      if (length) expect(coverage.sentences[0]).toContain('(3 years at 6%:');
    });

    test('coverage by year needs no terms of a note that does not exist, but those of an existing loan', async () => {
      const years = async (payload: object, query: string) =>
        (await told({ purchase_price: '600000', ...payload }, {}, query)).coverage.years?.length ?? null;
      expect(await years({ cash_at_close: '600000' }, '?rate=10&years=4')).toBe(4);
      expect(await years({ cash_at_close: '500000', seller_note: '100000' }, '?note_rate=6&note_years=3')).toBeNull();
    });

    test('SBA rules use the note that is included in the debt', async () => {
      const payload = { purchase_price: '4200000' };
      const sources = { sba_7a: '3570000', cash_buyer_equity: '210000', seller_note: '420000' };
      const says = async (more: Readonly<Record<string, string>>) => {
        const { sba } = await told(payload, more, '?rate=10&years=10&note_standby=10');
        return Object.fromEntries(sba.map((rule: { id: string; answer: unknown }) => [rule.id, rule.answer]));
      };
      const withNote = await says(sources);
      expect(withNote.seller_note).toEqual({
        result: 'met',
        why: 'At most $210,000 of the note of $420,000 counts.',
      });
      expect(withNote.equity).toEqual({
        result: 'met',
        why: 'Equity of $420,000 is 10% of the project cost of $4,200,000; $210,000 of it is the seller note.',
      });
      // Unless the investors have control, their money and the note together count for at most half of the required
      // equity.
      const mostlyInvestors = await says({ sba_7a: '3780000', equity_investor_check: '420000' });
      expect(mostlyInvestors.equity).toEqual({
        result: 'ask',
        ask: 'Do the investors have control of the business? Without it, their money and a seller note together count for at most $210,000 of the equity.',
      });
      const half = await says({ sba_7a: '3780000', equity_investor_check: '210000', cash_buyer_equity: '210000' });
      expect(half.equity).toMatchObject({ result: 'met' });
      const without = await says({ sba_7a: '3570000' });
      expect(without.seller_note).toEqual({ result: 'met', why: 'No seller note was entered.' });
    });
  });

  test('the home page shows the total asking price of the deals, and the adjusted EBITDA of each', async () => {
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
      period: 'TTM',
      dates: { first: '2025-01-01', last: '2025-12-31' },
      multiple: '5.25',
    });
    expect((await (await web.as('outsider')).ask('/home/pipeline')).body).toEqual({ totals: [], deals: [] });
  });

  test('the page shows the differences between the two best offers', async () => {
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

  test('an expired offer ranks below an open one among the two best, whatever its price', async () => {
    const expire = (when: string | null) =>
      web.service.sql(`update offers set payload = payload - 'expires_at' || $2 where id = $1`, [
        offerOf('other buyer'),
        JSON.stringify(when === null ? {} : { expires_at: when }),
      ]);
    const now = web.service.clock.now().getTime();
    try {
      await expire(new Date(now + 24 * 3_600_000).toISOString());
      expect((await ask('broker')).body.compared).toMatchObject({
        first: offerOf('other buyer'),
        second: offerOf('exclusive buyer'),
      });
      await expire(new Date(now - 1_000).toISOString());
      const { compared } = (await ask('broker')).body;
      expect(compared).toMatchObject({ first: offerOf('exclusive buyer'), second: offerOf('other buyer') });
      expect(compared.differences[0]).toEqual({
        term: 'purchase_price',
        first: '3900000',
        second: '4200000',
        by: '-300000',
      });
    } finally {
      await expire(null);
    }
  });

  test.each([48, 49, 50])('with %i more small add-backs the amounts paid for them are complete', async (more) => {
    await web.service.sql(
      `insert into normalizations (deal_id, period_label, adjustment_category, adjustment_amount, rationale)
       select $1, 'FY2025', 'one_time', 100 + n, 'One of many' from generate_series(1, $2::int) n`,
      [deal, more],
    );
    try {
      const { body } = await ask('broker');
      const total = (list: readonly { amount: string }[]) => list.reduce((all, { amount }) => all + Number(amount), 0);
      const all = 120_000 + more * 100 + (more * (more + 1)) / 2;
      const { add_backs: addBacks, adjusted_ebitda: adjusted } = body.basis;
      expect([Number(adjusted), total(addBacks)]).toEqual([720_000 + all, all]);
      // The 50 largest are listed one by one, the others as a sum.
      const ids = addBacks.map(({ id }: { id: string }) => id);
      expect([ids.length, ids.indexOf('others')]).toEqual(more === 48 ? [50, -1] : [51, 50]);
      const own = body.offers.find((one: { offer_id: string }) => one.offer_id === offerOf('exclusive buyer'));
      expect(new Set(own.paid_for.add_backs.map(({ id }: { id: string }) => id))).toEqual(new Set(ids));
    } finally {
      await web.service.sql(`delete from normalizations where deal_id = $1 and rationale = 'One of many'`, [deal]);
    }
  });

  test('the comparison of two offers lists every term, and by how much the first is higher', async () => {
    const against = async (first: string, second: string, query = '') =>
      (await (await web.as('broker')).ask(`/deals/${deal}/offers/${offerOf(first)}/against/${offerOf(second)}${query}`))
        .body;
    const answered = await against('other buyer', 'exclusive buyer');
    expect([answered.first, answered.second]).toMatchObject([
      { buyer_name: 'other buyer', mine: false, revision_number: 1, is_current: true, currency: 'USD' },
      { buyer_name: 'exclusive buyer', mine: false },
    ]);
    expect(answered.basis).toEqual({ period: 'TTM', first: '2025-01-01', last: '2025-12-31' });
    const short = (found: typeof answered) =>
      found.lines.map((one: Record<string, unknown>) => [
        [one['term'], one['of']].filter(Boolean).join(' '),
        one['first'],
        one['second'],
        one['by'],
        one['by_share'],
      ]);
    expect(short(answered)).toEqual([
      ['purchase_price', '4200000', '3900000', '300000', '0.0769'],
      ['cash_at_close', '4200000', '2900000', '1300000', '0.4483'],
      ['seller_note', null, '600000', '-600000', '-1'],
      ['earnout', null, '400000', '-400000', '-1'],
      ['share_cash_at_close', '1', '0.7436', '0.2564', null],
      ['share_seller_note', '0', '0.1538', '-0.1538', null],
      ['share_earnout', '0', '0.1026', '-0.1026', null],
      ['multiple_adjusted_ebitda', '5', '4.64', '0.36', null],
      ['multiple_reported_ebitda', '5.83', '5.42', '0.41', null],
      ['multiple_sde', '4.12', '3.82', '0.3', null],
      ['multiple_revenue', '0.88', '0.81', '0.07', null],
      ['debt', '4200000', '2900000', '1300000', '0.4483'],
      ['most_cost 1.15', '0.173', '0.251', '-0.078', null],
      ['most_cost 1.25', '0.16', '0.231', '-0.071', null],
      ['most_cost_without_largest 1.15', '0.132', '0.191', '-0.059', null],
      ['most_cost_without_largest 1.25', '0.121', '0.176', '-0.055', null],
    ]);
    // With the offers swapped every difference has the opposite sign; with terms entered, coverage is compared too.
    const turned = await against('exclusive buyer', 'other buyer', '?rate=10&years=10');
    const coverage = turned.lines.filter(({ term }: { term: string }) => term.startsWith('least_coverage'));
    expect(coverage.map((one: { by: string }) => one.by)).toEqual(['0.56', '0.43']);
    for (const line of answered.lines) {
      const back = turned.lines.find((one: typeof line) => one.term === line.term && one.of === line.of);
      expect([line.term, back.by, back.first, back.second]).toEqual([
        line.term,
        line.by.startsWith('-') ? line.by.slice(1) : `-${line.by}`,
        line.second,
        line.first,
      ]);
    }
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
  ])('the invalid terms %s are rejected', async (query) => {
    const { status, body } = await ask('broker', query);
    expect([status, body.error.code]).toEqual([400, 'validation_error']);
  });
});

test('the broker compares offers on their page, and computes coverage with terms entered there', async () => {
  const browser = await openBrowser();
  try {
    const { cookie } = await web.as('broker');
    const { page } = await openTestPage(browser, web.service.origin, { cookie, locale: 'en-US' });
    await page.goto(`${web.service.origin}/deals/${deal}/offers`);
    const worth = page.getByRole('region', { name: 'What the offers are worth' });
    await worth.waitFor();
    await expect
      .poll(() => worth.getByRole('row', { name: /^exclusive buyer/ }).innerText())
      .toMatch(/4\.64×\s+5\.42×\s+3\.82×\s+0\.81×\s+74\.4%/);
    await expect
      .poll(() => page.getByRole('region', { name: 'What differs' }).innerText())
      .toMatch(/\+\$300,000 \(\+7\.7%\)/);
    await page.getByLabel('If it were accepted').selectOption({ label: 'exclusive buyer' });
    await page.getByLabel(/^Loan interest rate/).fill('111');
    await page.getByRole('button', { name: 'Calculate coverage by year' }).click();
    await page.getByText('Enter a percentage from 0 to 100, like 10.25.').waitFor();
    // A rate without a term, or the reverse, is not enough; nor are the terms of the note alone when there is a loan.
    const calculate = page.getByRole('button', { name: 'Calculate coverage by year' });
    const [rate, term] = [page.getByLabel(/^Loan interest rate/), page.getByLabel(/^Loan term/)];
    const noteTerms = [page.getByLabel(/^Seller note interest rate/), page.getByLabel(/^Seller note term/)];
    const [askedRate, askedYears] = [page.getByText('Also enter the rate.'), page.getByText('Also enter the term.')];
    await rate.fill('10');
    await calculate.click();
    await askedYears.waitFor();
    expect(await term.getAttribute('aria-invalid')).toBe('true');
    await rate.fill('');
    await term.fill('10');
    await calculate.click();
    await askedRate.waitFor();
    expect([await rate.getAttribute('aria-invalid'), await askedYears.count()]).toEqual(['true', 0]);
    await term.fill('');
    for (const field of noteTerms) await field.fill('5');
    await calculate.click();
    await askedYears.waitFor();
    await askedRate.waitFor();
    for (const field of noteTerms) await field.fill('');
    // The keypad of a German phone has no point.
    await page.getByLabel(/^Loan interest rate/).fill('10,25');
    await page.getByLabel(/^Loan term/).fill('10');
    await page.route('**/offers/worth?*', (route) =>
      route.fulfill({ status: 409, json: { error: { code: 'conflict', message: 'Not at the moment.' } } }),
    );
    await page.getByRole('button', { name: 'Calculate coverage by year' }).click();
    await page.getByRole('alert').filter({ hasText: 'Not at the moment.' }).waitFor();
    await page.unroute('**/offers/worth?*');
    await page.getByRole('button', { name: 'Calculate coverage by year' }).click();
    const years = page.getByRole('region', { name: 'Coverage by year' });
    await years.waitFor();
    await expect.poll(() => years.getByRole('row').count()).toBe(11);
    await expect.poll(() => page.url()).toMatch(/[?&]rate=[^&]*10\.25/);
    await page.getByText('SBA 7(a) loan rules').waitFor();

    // After a reload the page is the same, and so is the link for another person of the deal's side, in the same order.
    await page.getByLabel(/^Buyer’s equity injection/).fill('1,234,567.89');
    await page.getByRole('button', { name: 'Calculate coverage by year' }).click();
    await expect.poll(() => page.url()).toMatch(/equity=[^&]*1234567\.89/);
    const answered = await years.innerText();
    await page.reload();
    await years.waitFor();
    expect(await years.innerText()).toBe(answered);
    expect(await page.getByLabel(/^Loan term/).inputValue()).toBe('10');
    expect(await page.getByLabel(/^Buyer’s equity injection/).inputValue()).toBe('1,234,567.89');
    expect(await page.getByLabel('If it were accepted').locator('option:checked').innerText()).toBe('exclusive buyer');
    const address = page.url();
    // The log contains nothing of what was entered.
    expect(web.service.log.filter((line) => line.includes('1234567'))).toEqual([]);
    await page.goto(address.replace(/rate=[^&]*/, 'rate=999'));
    await page.getByText('Nothing can be computed with the terms in this page’s address').waitFor();
    await page.getByRole('button', { name: 'Remove them' }).click();
    await worth.waitFor();
    expect(await years.count()).toBe(0);
    await page.goto(address);
    await years.waitFor();

    // An adjustment made on another page is in the multiples when the offers page is opened again.
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
    // The same while the page is open.
    await insert(web.service, 'normalizations', {
      deal_id: deal,
      period_label: 'FY2025',
      adjustment_category: 'other',
      adjustment_amount: '-160000',
    });
    await expect
      .poll(() => worth.getByRole('row', { name: /^exclusive buyer/ }).innerText())
      .toMatch(/4\.64×\s+5\.42×/);

    await web.service.sql('update deals set asking_price = 4410000 where id = $1', [deal]);
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

test('revisions are compared, including dates, conditions and texts, for their buyer and the broker', async () => {
  const buyer = await web.as('exclusive buyer');
  const submit = async (payload: object): Promise<string> => {
    const { status, body } = await buyer.ask(`/deals/${deal}/offers`, { payload: { currency: 'USD', ...payload } });
    expect([status, body.error]).toEqual([201, undefined]);
    return body.id;
  };
  const earlier = await submit({
    purchase_price: '4000000',
    cash_at_close: '4000000.00',
    financing_contingency: true,
    target_close_date: '2036-05-01',
    expires_at: '2036-03-01T03:00:00Z',
    terms: 'All assets.',
    inspection_period: 30,
  });
  const later = await submit({
    purchase_price: '4100000',
    cash_at_close: '4000000',
    financing_contingency: false,
    target_close_date: '2036-04-17',
    expires_at: '2036-03-01T15:00:00-05:00',
    terms: 'All assets but the van.',
    __proto: 'x',
  });
  for (const caller of ['exclusive buyer', "exclusive buyer's advisor", 'broker']) {
    const { ask: askAs } = await web.as(caller);
    const { body } = await askAs(`/deals/${deal}/offers/${later}/against/${earlier}`);
    const lines = body.lines.map((one: Record<string, unknown>) => [
      [one['term'], one['of']].filter(Boolean).join(' '),
      one['first'],
      one['second'],
      one['same'],
      one['by'],
    ]);
    expect(body.second).toMatchObject({ is_current: false, mine: caller === 'exclusive buyer' });
    expect(lines.filter(([term]: [string]) => !/multiple|share|cost|debt|coverage/.test(term))).toEqual([
      ['purchase_price', '4100000', '4000000', false, '100000'],
      ['cash_at_close', '4000000', '4000000', true, null],
      ['financing_contingency', 'no', 'yes', false, null],
      ['target_close_date', '2036-04-17', '2036-05-01', false, '-14'],
      ['expires_at', '2036-03-01T20:00:00.000Z', '2036-03-01T03:00:00.000Z', false, null],
      ['terms', 'All assets but the van.', 'All assets.', false, null],
      ['other __proto', 'x', null, false, null],
      ['other inspection_period', null, '30', false, null],
    ]);
    expect(lines).toContainEqual(['share_unsaid', '0.0244', '0', false, '0.0244']);
  }
  for (const caller of ['other buyer', 'new buyer', 'viewer', 'outsider'])
    expect((await (await web.as(caller)).ask(`/deals/${deal}/offers/${later}/against/${earlier}`)).status).toBe(404);
  // Nor is an offer shown under another deal than its own.
  const { ask: askAs } = await web.as('broker');
  expect((await askAs(`/deals/${web.scene.idle}/offers/${later}/against/${earlier}`)).status).toBe(404);

  const browser = await openBrowser();
  try {
    // A buyer can choose only among their own offers, and sees what they propose to change in the agreed terms.
    const zone = { locale: 'en-US', timezoneId: 'America/New_York' };
    const own = await openTestPage(browser, web.service.origin, { cookie: buyer.cookie, ...zone });
    await own.page.goto(`${web.service.origin}/deals/${deal}/offers`);
    const differs = own.page.getByRole('region', { name: 'What differs' });
    const price = differs.getByRole('row', { name: /^Price \$/ });
    await expect.poll(() => price.innerText()).toMatch(/\+\$200,000/);
    await own.page.getByLabel('Compared with').selectOption({ label: 'Your offer, revision 2' });
    await expect.poll(() => price.innerText()).toMatch(/\+\$100,000/);
    await expect
      .poll(() => differs.getByRole('row', { name: /^Target closing/ }).innerText())
      .toMatch(/14 days earlier/);
    // Days between two times are counted in the reader's time zone, in which the times are shown.
    const until = differs.getByRole('row', { name: /^Valid until/ });
    expect(await until.innerText()).toMatch(/Mar 1, 2036.+Feb 29, 2036.+1 day later/s);
    expect(
      (await own.page.getByLabel('Compared with').locator('option').allInnerTexts()).every((one) =>
        one.startsWith('Your offer'),
      ),
    ).toBe(true);
    await own.close();

    const { cookie } = await web.as('broker');
    const { page } = await openTestPage(browser, web.service.origin, { cookie, locale: 'en-US' });
    await page.goto(`${web.service.origin}/deals/${deal}/offers`);
    await page.getByLabel('Compared with').selectOption({ label: 'exclusive buyer, revision 3' });
    await page.getByLabel('Offer', { exact: true }).selectOption({ label: 'exclusive buyer, revision 2' });
    const row = page.getByRole('region', { name: 'What differs' }).getByRole('row', { name: /^Price \$/ });
    await expect.poll(() => row.innerText()).toMatch(/-\$100,000/);
    // The choice is in the address: opened again, the page shows the same two offers.
    expect(new URL(page.url()).searchParams.get('second')).toBe(later);
    await page.reload();
    await expect.poll(() => row.innerText()).toMatch(/-\$100,000/);
    // The history links to the comparison, too.
    await page
      .getByRole('button', { name: /revisions/ })
      .first()
      .click();
    await page.getByRole('link', { name: 'Compare with revision 2' }).click();
    await expect.poll(() => row.innerText()).toMatch(/\+\$100,000/);
    expect(new URL(page.url()).searchParams.get('first')).toBe(later);
    // The page says that an offer does not exist, and another choice recovers from it.
    await page.goto(`${web.service.origin}/deals/${deal}/offers?first=${later}&second=${crypto.randomUUID()}`);
    const unknown = page.getByText('One of the two offers does not exist');
    await unknown.waitFor();
    // When loading fails, the page says so, without blaming the choice or the terms that were entered.
    await page.route(/\/offers\/(worth|[^?]*\/against\/)/, (route) => route.abort());
    await page.goto(`${page.url()}&rate=10`);
    const failed = page.getByRole('alert').filter({ hasText: 'Dealkeep cannot be reached.' });
    await expect.poll(() => failed.count()).toBe(2);
    expect(await page.getByText(/One of the two|Nothing can be computed/).count()).toBe(0);
    await page.unrouteAll();
    await failed.first().getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => failed.count()).toBe(0);
    await unknown.waitFor();
    // The page says when the parts exceed the price, and the QoE page how many rows later uploads replaced.
    await web.service.sql('update offers set payload = $2 where id = $1', [
      offerOf('other buyer'),
      JSON.stringify({ currency: 'USD', purchase_price: '4200000', cash_at_close: '4300000.5' }),
    ]);
    const snapshot_id = await insert(web.service, 'accounting_snapshots', {
      deal_id: deal,
      snapshot_type: 'full',
      status: 'completed',
      requested_at: '2026-01-11T00:00:00Z',
      completed_at: '2026-01-12T00:00:00Z',
    });
    await insert(web.service, 'pl_periods', {
      deal_id: deal,
      snapshot_id,
      currency: 'USD',
      period_label: '2025-01',
      period_start_date: '2025-01-01',
      period_end_date: '2025-01-31',
      revenue: '400000',
    });
    await page.goto(`${web.service.origin}/deals/${deal}/offers`);
    await page.getByText('other buyer: the parts add up to $100,000.50 more than the price.').waitFor();
    await page.goto(`${web.service.origin}/deals/${deal}/qoe`);
    await page.getByText(/Later uploads of the same dates replaced \d+ rows?\./).waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${web.service.origin}/deals/${deal}/offers?first=${later}&second=${earlier}`);
    await page.getByText('14 days earlier').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  } finally {
    await browser.close();
  }
});

test('agreed terms are compared with rival offers, and a proposed change only until it is declined', async () => {
  const [broker, buyer] = [await web.as('broker'), await web.as('exclusive buyer')];
  const submit = async (price: string): Promise<string> => {
    const payload = { currency: 'USD', purchase_price: price, cash_at_close: price };
    const { status, body } = await buyer.ask(`/deals/${deal}/offers`, { payload });
    expect([status, body.error]).toEqual([201, undefined]);
    return body.id;
  };
  const decide = async (id: string, decision: string) =>
    expect((await broker.ask(`/offers/${id}/decision`, { decision })).status).toBe(200);
  const rival = offerOf('other buyer');
  const agreed = await submit('4300000');
  await decide(agreed, 'accepted');
  web.service.clock.advance(1000);
  const proposal = await submit('3700000');

  const told = async () => {
    const { offers, compared } = (await ask('broker')).body;
    const sheets = await sheetsOf((await download(web.service, broker, deal, 'xlsx')).bytes);
    const [heads, standing] = sheets.get('Offers')?.slice(3) ?? [];
    return {
      figures: offers.map((one: { offer_id: string }) => one.offer_id).toSorted(),
      best: [compared?.first, compared?.second],
      heads: heads?.filter(Boolean),
      standing: standing?.slice(1).filter(Boolean),
    };
  };
  const browser = await openBrowser();
  try {
    const { page } = await openTestPage(browser, web.service.origin, { cookie: broker.cookie, locale: 'en-US' });
    const table = page.getByRole('region', { name: 'Offers side by side' });
    const worth = page.getByRole('region', { name: 'What the offers are worth' });
    const shown = async () => {
      await page.goto(`${web.service.origin}/deals/${deal}/offers`);
      await worth.getByRole('row').nth(1).waitFor();
      const prices = await table
        .getByRole('row', { name: /^Price/ })
        .getByRole('cell')
        .allInnerTexts();
      return {
        prices: prices.map((text) => text.split(/\s+/).join(' ').trim()),
        worth: (await worth.getByRole('rowheader').allInnerTexts()).map((text) => text.trim()),
      };
    };

    expect(await told()).toEqual({
      figures: [agreed, proposal, rival].toSorted(),
      best: [agreed, rival],
      heads: ['exclusive buyer', 'other buyer', 'exclusive buyer, proposed change'],
      standing: ['Accepted', 'Open', 'Open'],
    });
    expect(await shown()).toEqual({
      prices: ['$4,300,000 Highest Accepted', '$4,200,000', '$3,700,000 Proposed change'],
      worth: ['exclusive buyer', 'other buyer', 'exclusive buyer, proposed change'],
    });

    await decide(proposal, 'declined');
    expect(await told()).toEqual({
      figures: [agreed, rival].toSorted(),
      best: [agreed, rival],
      heads: ['exclusive buyer', 'other buyer'],
      standing: ['Accepted', 'Open'],
    });
    expect(await shown()).toEqual({
      prices: ['$4,300,000 Highest Accepted', '$4,200,000'],
      worth: ['exclusive buyer', 'other buyer'],
    });
    await page.getByText('The change proposed in revision').waitFor();

    // Without a rival's offer to compare, the previous or next revision is shown.
    const own = await openTestPage(browser, web.service.origin, { cookie: buyer.cookie, locale: 'en-US' });
    const ownDifference = async () => {
      await own.page.goto(`${web.service.origin}/deals/${deal}/offers`);
      const differs = own.page.getByRole('region', { name: 'What differs' });
      const [, ...cells] = (await differs.getByRole('row', { name: /^Price \$/ }).innerText()).split(/\s+/);
      return cells.slice(0, 3);
    };
    expect(await ownDifference()).toEqual(['$4,300,000', '$3,700,000', '+$600,000']);

    // When the exclusivity ends, so do the agreed terms: no offer of this buyer stands any more, but the page still
    // shows the last one that was declined, and its history.
    const dearer = await submit('4900000');
    await decide(dearer, 'declined');
    expect((await broker.ask(`/deals/${deal}/exclusivity`, undefined, 'DELETE')).status).toBe(200);
    expect(await told()).toEqual({
      figures: [rival],
      best: [undefined, undefined],
      heads: ['other buyer'],
      standing: ['Open'],
    });
    expect(await shown()).toEqual({
      prices: ['$4,900,000 Declined', '$4,200,000'],
      worth: ['other buyer'],
    });
    expect(await ownDifference()).toEqual(['$4,900,000', '$3,700,000', '+$1,200,000']);
  } finally {
    await browser.close();
  }
});

test('an offer accepted in an earlier exclusivity is not shown as accepted, on the page and in reports', async () => {
  const broker = await web.as('broker');
  const exclusivity = `/deals/${deal}/exclusivity`;
  const { items } = (await broker.ask(`/deals/${deal}/offers`)).body;
  const until = web.service.clock.inDays(30);
  for (const buyer of ['exclusive buyer', 'other buyer']) {
    const { participant_id } = items.find((one: { buyer_name: string }) => one.buyer_name === buyer);
    await broker.ask(exclusivity, undefined, 'DELETE');
    web.service.clock.advance(1000);
    const payload = { currency: 'USD', purchase_price: buyer === 'other buyer' ? '4200000' : '4000000' };
    const { body } = await (await web.as(buyer)).ask(`/deals/${deal}/offers`, { payload });
    expect((await broker.ask(exclusivity, { participant_id, expires_at: until })).status).toBe(200);
    web.service.clock.advance(1000);
    expect((await broker.ask(`/offers/${body.id}/decision`, { decision: 'accepted' })).status).toBe(200);
  }
  const { bytes } = await download(web.service, broker, deal, 'xlsx');
  const [heads, standing] = (await sheetsOf(bytes)).get('Offers')?.slice(3) ?? [];
  expect([heads?.filter(Boolean), standing?.slice(1).filter(Boolean)]).toEqual([
    ['other buyer', 'exclusive buyer'],
    ['Accepted', 'Accepted earlier, open'],
  ]);
  const browser = await openBrowser();
  try {
    const { page } = await openTestPage(browser, web.service.origin, { cookie: broker.cookie, locale: 'en-US' });
    await page.goto(`${web.service.origin}/deals/${deal}/offers`);
    const table = page.getByRole('region', { name: 'Offers side by side' });
    const cells = async (name: RegExp) =>
      (await table.getByRole('row', { name }).getByRole('cell').allInnerTexts()).map((text) =>
        text.split(/\s+/).join(' ').trim(),
      );
    await expect.poll(() => cells(/^Price/)).toEqual(['$4,200,000 Highest Accepted', '$4,000,000 Accepted earlier']);
    expect(await cells(/^Valid until/)).toEqual([expect.stringMatching(/^Accepted /), '–']);
  } finally {
    await browser.close();
  }
});
