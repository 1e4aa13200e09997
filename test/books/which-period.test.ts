/**
 * Which period the figures are of: the page, the PDF, the workbook, the tools and the comparison of offers show the
 * same one, with its dates, and name what is in no total.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { download, printedOf, rowOf, sheetsOf, type Sheets } from '../reports/files.ts';
import { addToken, caller as toolCaller, insert } from '../tools/scene.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { uploadTo } from './uploads.ts';

let web: WebScene;
let call: ReturnType<typeof toolCaller>;

beforeAll(async () => {
  web = await openScene();
  call = toolCaller(web.service, await addToken(web.service, web.scene.people['broker']!));
});
afterAll(() => web?.close());

/** A deal of the broker, with these profit and loss files and adjustments. */
async function dealWith(files: readonly string[], adjustments: readonly (readonly string[])[] = []): Promise<string> {
  const { service, scene } = web;
  const deal = await insert(service, 'deals', {
    organization_id: scene.brokerage,
    title: 'Periods',
    state: 'listed',
    currency: 'USD',
  });
  const broker = await insert(service, 'participants', {
    deal_id: deal,
    user_id: scene.people['broker'],
    role: 'broker',
    status: 'active',
  });
  expect(broker).toBeTruthy();
  for (const file of files) await uploadTo(web, deal)(file);
  for (const [place, [period_label, adjustment_category, adjustment_amount]] of adjustments.entries())
    await insert(service, 'normalizations', {
      deal_id: deal,
      period_label,
      adjustment_category,
      adjustment_amount,
      created_at: new Date(service.clock.now().getTime() + 1000 * place),
    });
  return deal;
}

// The answers are read without their types.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Row = Record<string, any>;

interface Doors {
  readonly computed: Row;
  readonly bridge: Row;
  readonly worth: Row;
  readonly text: string;
  readonly sheets: Sheets;
  readonly qoe: Row;
  readonly periods: Row;
}

/** What each door shows the broker of a deal. */
async function doorsOf(deal: string): Promise<Doors> {
  const person = await web.as('broker');
  const read = async (path: string) => (await person.ask(`/deals/${deal}/${path}`)).body as Row;
  const told = async (name: string) => (await call(name, { deal_id: deal })).structuredContent as Row;
  return {
    computed: await read('qoe/computed'),
    bridge: await read('qoe/bridge'),
    worth: await read('offers/worth'),
    text: (await printedOf((await download(web.service, person, deal, 'pdf')).bytes)).text,
    sheets: await sheetsOf((await download(web.service, person, deal, 'xlsx')).bytes),
    qoe: await told('svc_qoe_get'),
    periods: await told('svc_qoe_pl_periods'),
  };
}

/** A file of profit and loss with the revenue and EBITDA of each period. */
const file = (rows: readonly string[], currency = 'USD'): string =>
  `period,period_start_date,period_end_date,currency,revenue,ebitda\n${rows
    .map((row) => {
      const [label, first, last, revenue, ebitda] = row.split(' | ');
      return `${label},${first},${last},${currency},${revenue},${ebitda}\n`;
    })
    .join('')}`;

/** Calendar months of a year with the same EBITDA in each, and revenue of one more in each than in the one before. */
const months = (year: number, revenue: number, ebitda: number, from = 1, to = 12): string[] =>
  Array.from({ length: to - from + 1 }, (_, place) => {
    const month = `${year}-${String(from + place).padStart(2, '0')}`;
    const last = new Date(Date.UTC(year, from + place, 0)).toISOString().slice(0, 10);
    return `${month} | ${month}-01 | ${last} | ${revenue + place} | ${ebitda}`;
  });

test('the bridge is of the period that offers are compared with, whatever was adjusted last', async () => {
  // FY2025 earned 12 x 50 = 600, and 629 with the add-backs; March earned 50, and 57 with its own.
  const deal = await dealWith(
    [file([...months(2025, 500, 50), '2024 | 2024-01-01 | 2024-12-31 | 5000 | 400'])],
    [
      ['FY2025', 'one_time', '29'],
      ['2025-03', 'one_time', '7'],
    ],
  );
  const { bridge, worth, text, sheets, qoe } = await doorsOf(deal);
  expect(worth.basis).toMatchObject({ adjusted_ebitda: '629' });
  expect(bridge).toMatchObject({
    period_label: worth.basis.period,
    reported_ebitda: '600',
    adjustments: [{ category: 'one_time', amount: '29' }],
    adjusted_ebitda: '629',
  });
  expect(qoe.ebitda_bridge).toMatchObject({ period_label: worth.basis.period, adjusted_ebitda: '629' });
  expect(text).toContain(`From reported to adjusted EBITDA ${worth.basis.period}`);
  expect(text).toMatch(/Reported EBITDA 600 One-time \+29 Adjusted EBITDA 629/);
  expect(rowOf(sheets, 'Summary', 'Adjusted EBITDA')).toEqual(['Adjusted EBITDA', 629]);
  // Another period can still be chosen.
  const chosen = (await (await web.as('broker')).ask(`/deals/${deal}/qoe/bridge?period_label=2025-03`)).body;
  expect(chosen).toMatchObject({ reported_ebitda: '50', adjusted_ebitda: '57' });
});

test('the dates of a period stand beside its name, in files and tools, too', async () => {
  const deal = await dealWith(
    [file([...months(2025, 500, 50, 4), ...months(2026, 600, 60, 1, 3), 'H1 | 2024-01-01 | 2024-06-30 | 9 | 1'])],
    [['TTM', 'one_time', '30']],
  );
  const buyer_user_id = web.scene.people['other buyer'];
  const buyer = { deal_id: deal, user_id: buyer_user_id, role: 'buyer', status: 'active' };
  await insert(web.service, 'offers', {
    deal_id: deal,
    participant_id: await insert(web.service, 'participants', buyer),
    buyer_user_id,
    revision_number: 1,
    is_current: true,
    payload: { purchase_price: '6600', currency: 'USD' },
  });
  const { bridge, worth, text, sheets, qoe, periods } = await doorsOf(deal);
  const [first, last] = ['2025-04-01', '2026-03-31'];
  expect(bridge).toMatchObject({ period_label: 'TTM', first, last });
  expect(worth.basis).toMatchObject({ period: 'TTM', first, last });
  const dates = { period_start_date: first, period_end_date: last };
  expect(qoe.ebitda_bridge).toMatchObject({ period_label: 'TTM', ...dates });
  expect(periods.summary.earnings[0].slice(0, 4)).toEqual(['TTM', first, last, '6339']);
  const { summary } = (await call('svc_offers_list', { deal_id: deal })).structuredContent as Row;
  expect(summary.basis).toMatchObject({ period: 'TTM', ...dates });

  const printed = '1 Apr 2025 – 31 Mar 2026';
  expect(text).toContain(`Revenue, TTM (${printed})`);
  expect(text).toContain(`From reported to adjusted EBITDA TTM (${printed}), in USD.`);
  expect(text).toContain(`Compared with TTM (${printed})`);
  expect(text).toMatch(/From 1 Apr 2025 .*To 31 Mar 2026 /);
  expect(text).toContain('H1 (1 Jan 2024 – 30 Jun 2024)');
  const written = 'TTM (2025-04-01 to 2026-03-31)';
  expect(sheets.get('Summary')?.flat()).toContain(`Earnings of ${written}`);
  for (const name of ['Offers', 'Add-backs']) expect(sheets.get(name)?.flat().join()).toContain(written);
});

test('rows of one label are added up only where they follow on each other', async () => {
  const deal = await dealWith([
    file([
      'Season | 2024-06-01 | 2024-08-15 | 100 | 10',
      'Season | 2025-06-01 | 2025-07-15 | 100 | 20',
      'Season | 2025-07-16 | 2025-08-15 | 100 | 30',
    ]),
  ]);
  const { body } = await (await web.as('broker')).ask(`/deals/${deal}/qoe/bridge?period_label=Season`);
  const figures = { period_count: 2, reported_ebitda: '50' };
  expect(body).toMatchObject({ first: '2025-06-01', last: '2025-08-15', ...figures });
});

test('the last twelve months and a year of the same dates have the same adjusted EBITDA', async () => {
  // Each month earned 50 and paid the owner 10. Of the add-backs, 29 and 40 were recorded for the year, 5 for the last
  // twelve months, and 40 for both, which is one amount: 600 + 29 + 40 + 5 = 674.
  const rows = months(2025, 500, 50).map((row) => row.replaceAll(' | ', ','));
  const head = 'period,period_start_date,period_end_date,revenue,ebitda,owner_compensation,currency';
  const deal = await dealWith(
    [`${head}\n${rows.map((row) => `${row},10,USD\n`).join('')}`],
    [
      ['FY2025', 'one_time', '29'],
      ['FY2025', 'owner_comp', '40'],
      ['TTM', 'related_party', '5'],
      ['TTM', 'owner_comp', '40.00'],
    ],
  );
  const { computed, bridge, worth, text, sheets, qoe, periods } = await doorsOf(deal);
  const figures = computed.earnings.map((one: Row) => [one.label, one.adjusted_ebitda, one.owner_pay_added, one.sde]);
  expect(figures).toEqual([
    ['TTM', '674', '80', '754'],
    ['FY2025', '674', '80', '754'],
  ]);
  expect([worth.basis.adjusted_ebitda, worth.basis.add_backs.length]).toEqual(['674', 3]);
  const adjustments = [
    { category: 'owner_comp', amount: '40' },
    { category: 'related_party', amount: '5' },
    { category: 'one_time', amount: '29' },
  ];
  const both = { reported_ebitda: '600', adjustments, adjusted_ebitda: '674', unmatched_labels: [] };
  expect(bridge).toMatchObject({ period_label: 'TTM', ...both });
  const ofYear = (await (await web.as('broker')).ask(`/deals/${deal}/qoe/bridge?period_label=FY2025`)).body;
  expect(ofYear).toMatchObject(both);
  expect(qoe.ebitda_bridge).toMatchObject({ period_label: 'TTM', adjustments, adjusted_ebitda: '674' });
  const { columns, earnings } = periods.summary;
  expect(earnings.map((row: string[]) => row[columns.indexOf('adjusted_ebitda')])).toEqual(['674', '674']);
  expect(text).toMatch(/Adjusted EBITDA 674 674 /);
  expect(text).toMatch(/Reported EBITDA 600 .*Adjusted EBITDA 674/);
  expect(rowOf(sheets, 'Earnings', 'Adjusted EBITDA')).toEqual(['Adjusted EBITDA', 674, 674]);
  expect(sheets.get('Adjustments')?.slice(3)).toEqual([
    ['Period', 'Category', 'Amount', 'Why', 'Also counts in'],
    ['TTM', 'Owner compensation', 40, null, null],
    ['TTM', 'Related party', 5, null, 'FY2025'],
    ['FY2025', 'Owner compensation', 40, null, null],
    ['FY2025', 'One-time', 29, null, 'TTM'],
  ]);
  const once =
    'Adjustments of one amount were made in both TTM and FY2025, which have the same dates: 2 of 40, of which 1 counts.';
  expect(computed.contradictions.items.map(({ sentence }: Row) => sentence)).toEqual([once]);

  // 90 more for the owner makes 130, of 120 that were paid.
  await insert(web.service, 'normalizations', {
    deal_id: deal,
    period_label: 'TTM',
    adjustment_category: 'owner_comp',
    adjustment_amount: '90',
  });
  const { body } = await (await web.as('broker')).ask(`/deals/${deal}/qoe/computed`);
  expect(body.contradictions.items.map(({ sentence }: Row) => sentence)).toEqual([
    'Add-backs of the owner’s pay in FY2025 come to 130, but the owner’s recorded pay is 120: 10 more.',
    once,
  ]);
});

/** The sentences of the contradictions that the broker of a deal is shown. */
const contradictionsOf = async (deal: string): Promise<string[]> =>
  (await (await web.as('broker')).ask(`/deals/${deal}/qoe/computed`)).body.contradictions.items.map(
    ({ sentence }: Row) => sentence,
  );

test('adjustments of one amount in two periods of the same dates are named, with how many of them count', async () => {
  const deal = await dealWith(
    [file(months(2025, 500, 50))],
    [
      ['TTM', 'one_time', '100'],
      ['FY2025', 'other', '100'],
      ['TTM', 'related_party', '60'],
      ['FY2025', 'related_party', '60.00'],
    ],
  );
  expect(await contradictionsOf(deal)).toEqual([
    'Adjustments of one amount were made in both TTM and FY2025, which have the same dates: 2 of 100, which all count; 2 of 60, of which 1 counts.',
  ]);
  const { latest_adjustments: latest } = (await call('svc_qoe_get', { deal_id: deal })).structuredContent as Row;
  expect(latest.filter((one: Row) => one.counts === false)).toMatchObject([{ period_label: 'FY2025', amount: '60' }]);
});

test('add-backs are compared with the costs that the bridge starts from, once for periods of the same dates', async () => {
  const head = 'period,period_start_date,period_end_date,currency,revenue,gross_profit,operating_expenses,ebitda';
  // Costs of 12 x (400 + 50) = 5,400: 400 is revenue of 500 less gross profit of 100.
  const rows = months(2025, 500, 50).map((row, place) => {
    const [label, first, last] = row.split(' | ');
    return `${label},${first},${last},USD,${500 + place},${100 + place},50,${50 + place}\n`;
  });
  const deal = await dealWith(
    [`${head}\n${rows.join('')}`],
    [
      ['TTM', 'other', '5000'],
      ['FY2025', 'other', '5500'],
    ],
  );
  expect(await contradictionsOf(deal)).toEqual([
    'An add-back in FY2025 of 5,500 is more than all cost of goods sold and operating expenses of that period, 5,400.',
  ]);
  // Without a cost of goods sold, the costs are unknown.
  const unknown = await dealWith(
    [`period,currency,revenue,operating_expenses,ebitda\nFY2025,USD,6000,50,600\n`],
    [['FY2025', 'other', '5500']],
  );
  expect(await contradictionsOf(unknown)).toEqual([]);
});

test('one-time adjustments of two years of weeks that end in one calendar year are of two years', async () => {
  const deal = await dealWith(
    [file(['FY2023 | 2023-01-04 | 2024-01-02 | 1000 | 100', 'FY2024 | 2024-01-03 | 2024-12-31 | 1000 | 100'])],
    [
      ['FY2023', 'one_time', '10'],
      ['FY2024', 'one_time', '20'],
    ],
  );
  expect(await contradictionsOf(deal)).toEqual([
    '“One-time” adjustments were made in 2 years: 10 in FY2023 and 20 in FY2024.',
  ]);
});

test('an earlier row that growth is measured against is not said to be in no total', async () => {
  const deal = await dealWith([
    file(['LTM | 2023-07-01 | 2024-06-30 | 1000 | 100', 'LTM | 2024-07-01 | 2025-06-30 | 1200 | 120']),
  ]);
  const { earnings, counted } = (await (await web.as('broker')).ask(`/deals/${deal}/qoe/computed`)).body;
  expect(earnings).toMatchObject([{ label: 'LTM', revenue_growth: '0.2' }]);
  expect(counted).toMatchObject({ rows: 2, not_counted: [] });
});

test('adjustments in another currency than a deal without figures name its currency', async () => {
  const deal = await dealWith([]);
  await web.service.sql(`update deals set currency = 'KWD' where id = $1`, [deal]);
  const adjustment = { deal_id: deal, period_label: 'FY2025', adjustment_category: 'other', adjustment_amount: '7.5' };
  await insert(web.service, 'normalizations', adjustment);
  await web.service.sql(`update deals set currency = 'USD' where id = $1`, [deal]);
  expect(await contradictionsOf(deal)).toEqual(['1 adjustment of 7.50 KWD counts nowhere: the deal is in USD.']);
  await uploadTo(web, deal)(file(['FY2025 | 2025-01-01 | 2025-12-31 | 1000 | 100']));
  const { text } = await printedOf((await download(web.service, await web.as('broker'), deal, 'pdf')).bytes);
  expect(text).toContain('FY2025 (KWD 7.500)');
});

test('changes of other customer periods than the one that a report shows have both dates', async () => {
  const deal = await dealWith([file(months(2025, 500, 50))]);
  const rows = months(2025, 500, 50).map((row) => `Anvil,USD,90,${row.slice(0, 7)}\n`);
  await uploadTo(web, deal)(`customer,currency,revenue,period\n${rows.join('')}`, 'customer_revenue');
  const { text, sheets } = await doorsOf(deal);
  expect(text).toContain('From 1 Nov 2025 – 30 Nov 2025 to 1 Dec 2025 – 31 Dec 2025');
  expect(sheets.get('Customers')?.[1]?.[0]).toBe('In USD. Added up from 12 uploaded periods.');
});

test('years of 52 and 53 weeks are years under their own label', async () => {
  // FY2023 has 53 weeks and earned 1,000 of 10,000; FY2024 has 52 weeks and earned 1,150, with 150 more of 11,500.
  const deal = await dealWith(
    [file(['FY2023 | 2023-01-29 | 2024-02-03 | 10000 | 1000', 'FY2024 | 2024-02-04 | 2025-02-01 | 11500 | 1150'])],
    [['FY2024', 'one_time', '150']],
  );
  const { computed, bridge, worth, text, sheets, qoe, periods } = await doorsOf(deal);
  const figures = computed.earnings.map((one: Row) => [
    one.kind,
    one.label,
    one.first,
    one.last,
    one.adjusted_ebitda,
    one.revenue_growth,
    one.ebitda_growth,
  ]);
  expect(figures).toEqual([
    ['fiscal_year', 'FY2024', '2024-02-04', '2025-02-01', '1300', '0.15', '0.15'],
    ['fiscal_year', 'FY2023', '2023-01-29', '2024-02-03', '1000', null, null],
  ]);
  expect(worth.basis).toMatchObject({ period: 'FY2024', adjusted_ebitda: '1300' });
  expect(bridge).toMatchObject({ period_label: 'FY2024', reported_ebitda: '1150', adjusted_ebitda: '1300' });
  expect(qoe.ebitda_bridge).toMatchObject({ period_label: 'FY2024', adjusted_ebitda: '1300' });
  expect(periods.summary.earnings.map(([label]: string[]) => label)).toEqual(['FY2024', 'FY2023']);
  expect(text).toMatch(/Reported EBITDA 1,150 One-time \+150 Adjusted EBITDA 1,300/);
  expect(text).not.toContain('There are no figures');
  expect(rowOf(sheets, 'Earnings', 'Adjusted EBITDA')).toEqual(['Adjusted EBITDA', 1300, 1000]);
  expect(rowOf(sheets, 'Summary', 'Adjusted EBITDA')).toEqual(['Adjusted EBITDA', 1300]);
  expect(computed.contradictions.items).toEqual([]);
});

/** Twelve periods of 4, 4 and 5 weeks from a Sunday on. */
const weeks = (label: string, from: string, count = 12): string[] => {
  let first = Date.parse(from);
  return Array.from({ length: count }, (_, place) => {
    const last = first + ((place % 3 === 2 ? 5 : 4) * 7 - 1) * 86_400_000;
    const [begins, ends] = [first, last].map((day) => new Date(day).toISOString().slice(0, 10));
    first = last + 86_400_000;
    return `P${place + 1} ${label} | ${begins} | ${ends} | ${100 + place} | ${10 + place}`;
  });
};

test('periods of four and five weeks make up the last 52 weeks, however they are labelled', async () => {
  // EBITDA of 10, 11, ... 21 is 186.
  const deal = await dealWith([file(weeks('FY25', '2025-02-02'))], [['TTM', 'one_time', '14']]);
  const { computed, bridge, text, sheets } = await doorsOf(deal);
  expect(computed.earnings.map((one: Row) => [one.label, one.first, one.last, one.adjusted_ebitda])).toEqual([
    ['TTM', '2025-02-02', '2026-01-31', '200'],
  ]);
  expect(bridge).toMatchObject({ period_label: 'TTM', period_count: 12, adjusted_ebitda: '200' });
  expect(text).toMatch(/Reported EBITDA 186 One-time \+14 Adjusted EBITDA 200/);
  expect(rowOf(sheets, 'Earnings', 'Adjusted EBITDA')).toEqual(['Adjusted EBITDA', 200]);
  expect(computed.contradictions.items).toEqual([]);
});

test('figures in no total are shown, with the bridge of the latest period and their contradictions', async () => {
  const rows = weeks('FY25', '2025-02-02', 11);
  const deal = await dealWith([file(rows)], [['FY2025', 'one_time', '14']]);
  const { computed, bridge, worth, text, sheets, qoe, periods } = await doorsOf(deal);
  expect([computed.earnings, worth.basis]).toEqual([[], null]);
  // The eleventh period, not the one whose label sorts last.
  expect(bridge).toMatchObject({ period_label: 'P11 FY25', reported_ebitda: '20' });
  expect(qoe.ebitda_bridge).toMatchObject({ period_label: 'P11 FY25' });
  expect(text).toContain(
    'Nothing was adjusted in P11 FY25 (30 Nov 2025 – 27 Dec 2025): adjusted EBITDA equals reported EBITDA.',
  );
  expect(text).not.toContain('There are no figures');
  expect(rowOf(sheets, 'Summary', 'The uploaded figures do not make up a year.')).not.toEqual([]);
  const left = 'In no total, as totals are made up of whole months or of a year: 11 rows (';
  expect(periods.summary).toMatchObject({
    currency: 'USD',
    left_out: [expect.stringContaining(left)],
    contradictions: [expect.stringContaining('FY2025')],
  });
  expect(text).toContain(left);
});

test('rows in another currency or of part of a month are named wherever the totals are, to buyers too', async () => {
  const { service, scene } = web;
  const deal = await dealWith([
    file(months(2023, 500, 50)),
    file(months(2024, 700, 70)),
    file(
      [...months(2025, 900, 90), '2026-01 MTD | 2026-01-01 | 2026-01-22 | 10 | 1', ...months(2026, 950, 95, 3, 3)],
      'EUR',
    ),
  ]);
  const sentences = [
    'Left out because they are in another currency than EUR: 24 rows in USD.',
    'In no total, as totals are made up of whole months or of a year: 1 row (“2026-01 MTD”).',
  ];
  const { computed, text, sheets, periods } = await doorsOf(deal);
  expect(computed.counted).toEqual({ rows: 13, superseded: 0, not_counted: sentences });
  expect(periods.summary.left_out).toEqual(sentences);
  for (const sentence of sentences) {
    expect(text).toContain(sentence);
    expect(rowOf(sheets, 'Summary', sentence)).not.toEqual([]);
  }

  // A reader of the other side is not shown the contradictions, but is told what the totals leave out.
  const viewer = await insert(service, 'participants', {
    deal_id: deal,
    user_id: scene.people['other buyer'],
    role: 'viewer',
    status: 'active',
  });
  const broker = await web.as('broker');
  expect((await broker.ask(`/deals/${deal}/qoe/members/${viewer}`, { role: 'reader' }, 'PUT')).status).toBe(200);
  const { body } = await (await web.as('other buyer')).ask(`/deals/${deal}/qoe/computed`);
  expect([body.contradictions.count, body.counted.not_counted]).toEqual([0, sentences]);
});
