/** What tools report of customers whose revenue was uploaded for overlapping periods, or in several currencies. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { check } from '../tools/ask.ts';
import { peers, type Peer } from '../tools/peers.ts';
import { addToken } from '../tools/scene.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { profitAndLoss, uploadTo } from './uploads.ts';

let web: WebScene;
let peer: Peer;
let upload: ReturnType<typeof uploadTo>;

beforeAll(async () => {
  web = await openScene();
  upload = uploadTo(web, web.scene.deal);
  const { token } = await addToken(web.service, web.scene.people['broker']!);
  peer = await peers['client 2.4.0, auto']!(web.service.mcpUrl, token);
});
afterAll(async () => {
  await peer?.close();
  await web?.close();
});

const customers = (rows: readonly string[]) => `customer,currency,revenue,period\n${rows.join('\n')}\n`;

type Row = Record<string, unknown>;
async function ask(as_of_period?: string) {
  const name = 'svc_qoe_customer_concentration';
  const answer = await peer.call(name, { deal_id: web.scene.deal, ...(as_of_period ? { as_of_period } : {}) });
  check(name, answer);
  return answer.structuredContent as Row & { customers: Row[]; summary: Row };
}

test('the summary is of the period of the listed rows, even if other periods contain the same day', async () => {
  await upload(profitAndLoss({ FY2125: 2_000, '2125-06': 200 }));
  await upload(
    customers([
      'Anvil,USD,900,FY2125',
      'Birch,USD,300,FY2125',
      'Anvil,USD,60,2125-06',
      'Birch,USD,40,2125-06',
      'Anvil,USD,50,2125-11',
      'Anvil,USD,70,2125-12',
    ]),
    'customer_revenue',
  );
  const june = await ask('2125-06-15');
  expect(june).toMatchObject({ period_start_date: '2125-06-01', period_end_date: '2125-06-30' });
  // Revenue of 200 brought 100 of gross profit and 40 of EBITDA.
  expect(june.summary).toMatchObject({
    total: '100',
    hhi: '5200',
    revenue_of_period: '200',
    ebitda_of_period: '40',
    ebitda_without_largest: '10',
  });
  const year = await ask('2125-03-15');
  // Anvil has three quarters of the uploaded customers' revenue, but less than half of all sales.
  expect(year).toMatchObject({
    period_start_date: '2125-01-01',
    customers: [{ customer_name: 'Anvil', revenue_share: '0.75' }, { customer_name: 'Birch' }],
    summary: { total: '1200', revenue_of_period: '2000', ebitda_of_period: '400', largest_share_of_revenue: '0.45' },
  });
  // This change is that of the latest two months, one of which ends with the year; the year has none.
  expect(year.summary['since']).toBeUndefined();
  expect((await ask()).summary).toMatchObject({ total: '70', since: '2125-11-01 to 2125-11-30', total_then: '50' });

  await upload(customers(['Anvil,USD,65,2125-06', 'Birch,USD,35,2125-06']), 'customer_revenue');
  expect(await ask()).toMatchObject({
    period_start_date: '2125-06-01',
    summary: { total: '100', customers_in_all: 2, hhi: '5450' },
  });
});

test('customers with grown or shrunk revenue are not lost, and equal revenue is unchanged', async () => {
  const november = ['Anvil,USD,50,2125-11', 'Birch,USD,40,2125-11', 'Cedar,USD,30,2125-11', 'Delta,USD,20,2125-11'];
  const december = ['Anvil,USD,50,2125-12', 'Birch,USD,45,2125-12', 'Cedar,USD,25,2125-12', 'Elm,USD,10,2125-12'];
  await upload(customers([...november, ...december]), 'customer_revenue');
  const { summary } = await ask();
  expect(summary).toMatchObject({
    since: '2125-11-01 to 2125-11-30',
    unchanged: { customers: 1, difference: '0' },
    grown: { customers: 1, difference: '5' },
    shrunk: { customers: 1, difference: '-5' },
    lost: { customers: 1, difference: '-20', names: ['Delta'] },
    new: { customers: 1, difference: '10', names: ['Elm'] },
  });
  expect(summary).not.toHaveProperty('kept');
});

test('the three lost customers with the largest revenue are named', async () => {
  const long = 'L'.repeat(200);
  const march = ['Anvil,USD,50,2126-03', 'Birch,USD,10,2126-03', `${long},USD,40,2126-03`];
  const more = ['Cedar,USD,30,2126-03', 'Delta,USD,20,2126-03'];
  await upload(customers([...march, ...more, 'Anvil,USD,50,2126-04']), 'customer_revenue');
  const { summary } = await ask();
  expect(summary).toMatchObject({
    since: '2126-03-01 to 2126-03-31',
    lost: { customers: 4, difference: '-100', names: [long, 'Cedar', 'Delta'] },
    new: { customers: 0, difference: '0' },
  });
  expect(summary['new']).not.toHaveProperty('names');
  expect(summary['grown']).not.toHaveProperty('names');
});

test('shares and ranks are computed within a currency, and the summary names its currency', async () => {
  await upload(
    customers(['Anvil,USD,900000,2125-07', 'Birch,USD,100000,2125-07', 'Fuji,JPY,12000000,2125-07']),
    'customer_revenue',
  );
  const { customers: told, summary } = await ask();
  const names = ['customer_name', 'revenue_share', 'cumulative_share', 'rank'];
  expect(told.map((row) => names.map((name) => row[name]))).toEqual([
    ['Fuji', '1', '1', 1],
    ['Anvil', '0.9', '0.9', 1],
    ['Birch', '0.1', '1', 2],
  ]);
  expect(summary).toMatchObject({ currency: 'USD', total: '1000000', customers_in_all: 2, half_of_it_from_largest: 1 });

  const many = Array.from({ length: 60 }, (_, at) => `Customer ${at},JPY,${9_000 + at},2125-08`);
  await upload(customers(['Anvil,USD,70,2125-08', 'Birch,USD,30,2125-08', ...many]), 'customer_revenue');
  const { customers: fifty } = await ask();
  expect(fifty.map((row) => row['customer_name'])).toEqual([
    ...Array.from({ length: 48 }, (_, at) => `Customer ${59 - at}`),
    'Anvil',
    'Birch',
  ]);
});

test('amounts of a summary are in the currency that it states', async () => {
  await upload('period,currency,revenue,ebitda\nFY2124,EUR,900,200\n');
  const { structuredContent } = await peer.call('svc_qoe_pl_periods', { deal_id: web.scene.deal });
  const { snapshots, summary } = structuredContent as { snapshots: Row[]; summary: Row };
  expect(new Set(snapshots.map(({ currency }) => currency))).toEqual(new Set(['USD', 'EUR']));
  expect(summary['currency']).toBe('USD');

  await upload(customers(['Anvil,USD,70,2125-09']), 'customer_revenue');
  // September has no profit and loss of its own, and the EBITDA of the year says whose it is.
  const september = (await ask()).summary;
  expect(september['ebitda_trend']).toEqual([
    { period: 'FY2125', period_start_date: '2125-01-01', period_end_date: '2125-12-31', ebitda: '400' },
  ]);
  expect(september).not.toHaveProperty('ebitda_of_period');
  await upload(customers(['Fjord,EUR,70,2125-09']), 'customer_revenue');
  const told = await ask();
  expect([told['currency'], told.summary['total'], told.summary['ebitda_trend']]).toEqual(['EUR', '70', undefined]);
});

test('the summary has the twelve months that the listed month ends', async () => {
  const months = Array.from({ length: 12 }, (_, at) => `2127-${at + 1}`);
  const rows = months.flatMap((month) => [`Anvil,USD,30,${month}`, `Birch,USD,10,${month}`]);
  await upload(customers([...rows, 'Cedar,USD,20,2127-12']), 'customer_revenue');
  const told = await ask();
  expect(told).toMatchObject({ period_start_date: '2127-12-01', summary: { total: '60' } });
  expect(told.summary['twelve_months']).toMatchObject({
    first: '2127-01-01',
    last: '2127-12-31',
    periods_added_up: 12,
    customers_in_all: 3,
    total: '500',
    largest: { Anvil: '0.72', Birch: '0.24', Cedar: '0.04' },
  });
  expect((await ask('2127-11-15')).summary).not.toHaveProperty('twelve_months');
});
