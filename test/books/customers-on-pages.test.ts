/** What pages show of customers whose revenue was uploaded in several files, by year or by month. */

import { strFromU8, unzipSync } from 'fflate';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { download } from '../reports/files.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { profitAndLoss, uploadTo } from './uploads.ts';

let web: WebScene;
let upload: ReturnType<typeof uploadTo>;
let deal: string;

beforeAll(async () => {
  web = await openScene({ config: { features: { findings: true, financing: true } } });
  ({ deal } = web.scene);
  upload = uploadTo(web, deal);
  await web.service.sql('delete from normalizations where deal_id = $1', [deal]);
  await upload(profitAndLoss({ FY2124: 1_000, FY2125: 2_000 }));
  // The earlier year is uploaded after the later, and so is a month.
  await upload(customers('FY2125', ['Anvil,USD,900', 'Birch,USD,300', 'Cedar,EUR,5000']), 'customer_revenue');
  await upload(customers('FY2124', ['Old Oak,USD,700', 'Birch,USD,100']), 'customer_revenue');
  await upload(customers('2125-12', ['Birch,USD,60']), 'customer_revenue');
  await web.service.sql('update offers set payload = $2 where deal_id = $1', [
    deal,
    JSON.stringify({ currency: 'USD', purchase_price: '3000', cash_at_close: '3000' }),
  ]);
});
afterAll(() => web?.close());

const customers = (period: string, rows: readonly string[]) =>
  `customer,currency,revenue,period\n${rows.map((row) => `${row},${period}\n`).join('')}`;
const ask = async (path: string) => (await (await web.as('broker')).ask(`/deals/${deal}${path}`)).body;

test('every period with uploaded customers can be selected, the year first of two that end on the same day', async () => {
  const { period, periods } = await ask('/qoe/customers');
  expect(period).toMatchObject({ first: '2125-01-01', last: '2125-12-31', count: 2 });
  expect(periods[1]).toMatchObject({ first: '2125-12-01', last: '2125-12-31' });
  const years = [
    { first: '2125-01-01', last: '2125-12-31' },
    { first: '2124-01-01', last: '2124-12-31' },
  ];
  expect(periods).toEqual(expect.arrayContaining(years));
  for (const dates of years) {
    const told = await ask(`/qoe/customers?start_date=${dates.first}&end_date=${dates.last}`);
    expect(told.period).toMatchObject(dates);
  }
  expect(await ask('/qoe/customers?start_date=2125-01-01&end_date=2125-01-31')).toMatchObject({
    period: null,
    items: [],
  });
});

test('shares are of the uploaded customers and of all revenue, and currencies are not added up', async () => {
  const { period, items, largest } = await ask('/qoe/customers?start_date=2125-01-01&end_date=2125-12-31');
  expect(period).toMatchObject({ currency: 'USD', count: 2, total: '1200', revenue: '2000' });
  expect(items).toEqual([
    {
      customer_name: 'Anvil',
      currency: 'USD',
      revenue_total: '900',
      revenue_share: '0.75',
      share_of_revenue: '0.45',
      cumulative_share: '0.75',
      cumulative_share_of_revenue: '0.45',
    },
    {
      customer_name: 'Birch',
      currency: 'USD',
      revenue_total: '300',
      revenue_share: '0.25',
      share_of_revenue: '0.15',
      cumulative_share: '1',
      cumulative_share_of_revenue: '0.6',
    },
  ]);
  expect(largest).toEqual([
    { count: 1, share: '0.75', share_of_revenue: '0.45' },
    { count: 5, share: '1', share_of_revenue: '0.6' },
    { count: 10, share: '1', share_of_revenue: '0.6' },
  ]);
});

test('coverage of an offer leaves out the largest customer of the year that it is compared with', async () => {
  const without = async (period: string) => {
    const { basis, offers } = await ask(`/offers/worth?period_label=${period}`);
    expect(basis.period).toBe(period);
    return new Set(offers.flatMap((one: Worth) => one.coverage?.without_largest?.customer ?? []));
  };
  interface Worth {
    coverage: { without_largest: { customer: string } | null } | null;
  }
  expect(await without('FY2125')).toEqual(new Set(['Anvil']));
  expect(await without('FY2124')).toEqual(new Set(['Old Oak']));
});

test('a start or end date alone is rejected, and the latest 120 of many periods are listed', async () => {
  const person = await web.as('broker');
  for (const half of ['start_date=2125-01-01', 'end_date=2125-12-31'])
    expect(await person.ask(`/deals/${deal}/qoe/customers?${half}`)).toMatchObject({
      status: 400,
      body: { error: { details: [{ path: 'end_date', message: expect.stringContaining('Send start_date') }] } },
    });
  const months = Array.from({ length: 130 }, (_, at) => `${2110 + Math.floor(at / 12)}-${(at % 12) + 1}`);
  await upload(
    `customer,currency,revenue,period\n${months.map((month) => `Elm,USD,5,${month}\n`).join('')}`,
    'customer_revenue',
  );
  const { periods, period_count: count } = await ask('/qoe/customers');
  // Ten of their years, too.
  expect([periods.length, count]).toEqual([120, 143]);
  expect(periods[0]).toMatchObject({ last: '2125-12-31' });
  expect(await ask('/qoe/customers?start_date=2110-01-01&end_date=2110-01-31')).toMatchObject({ period: { count: 1 } });
});

test('twelve months with customers are added up, and coverage says of which twelve months its customer is', async () => {
  const months = Array.from({ length: 13 }, (_, at) => `${2126 + Math.floor(at / 12)}-${(at % 12) + 1}`);
  const rows = months.map((month) => `Anvil,USD,100,${month}\nBirch,USD,${month === '2127-1' ? 400 : 10},${month}\n`);
  await upload(`customer,currency,revenue,period\n${rows.join('')}`, 'customer_revenue');
  await upload(profitAndLoss({ FY2126: 3_000, FY2128: 4_000 }));
  const { period, items, periods } = await ask('/qoe/customers');
  expect(period).toMatchObject({ first: '2126-02-01', last: '2127-01-31', uploaded_periods: 12, total: '1710' });
  expect(items[0]).toMatchObject({ customer_name: 'Anvil', revenue_total: '1200', revenue_share: '0.701754' });
  expect(periods[1]).toMatchObject({ first: '2127-01-01', last: '2127-01-31' });

  const without = async (label: string) => {
    const { basis, offers } = await ask(`/offers/worth?period_label=${label}`);
    expect(basis.period).toBe(label);
    return offers[0].coverage.without_largest;
  };
  expect(await without('FY2126')).toMatchObject({ customer: 'Anvil', customer_period: null });
  const customer_period = { first: '2126-02-01', last: '2127-01-31' };
  expect(await without('FY2128')).toMatchObject({ customer: 'Anvil', customer_period });
});

test('twelve months of which one has customers in another currency alone are not added up', async () => {
  const months = Array.from({ length: 12 }, (_, at) => `${2127 + Math.floor((at + 1) / 12)}-${((at + 1) % 12) + 1}`);
  const rows = months.map((month) => `Anvil,${month === '2127-6' ? 'EUR' : 'USD'},100,${month}\n`);
  await upload(`customer,currency,revenue,period\n${rows.join('')}`, 'customer_revenue');
  const { periods } = await ask('/qoe/customers');
  const last = (day: string) => periods.filter((one: { last: string }) => one.last === day).length;
  expect([last('2128-01-31'), last('2127-05-31')]).toEqual([1, 2]);
});

test('a year of 52 weeks has the customers of the same dates', async () => {
  const dates = '2129-01-02,2129-12-31';
  await upload(
    `period,period_start_date,period_end_date,currency,revenue,gross_profit,ebitda\nW29,${dates},USD,90,45,9\n`,
  );
  await upload(`customer,currency,revenue,period_start_date,period_end_date\nYew,USD,9,${dates}\n`, 'customer_revenue');
  const { basis, offers } = await ask('/offers/worth?period_label=W29');
  expect(basis.period).toBe('W29');
  expect(offers[0].coverage.without_largest).toMatchObject({ customer: 'Yew', customer_period: null });
});

test('amounts have as many decimal places as their currency, in sentences and in the report', async () => {
  await upload('period,currency,revenue,gross_profit,ebitda\nFY2130,KWD,3000,1500,600\n');
  await web.service.sql('update offers set payload = $2 where deal_id = $1', [
    deal,
    JSON.stringify({ currency: 'KWD', purchase_price: '1000.5', cash_at_close: '1000.5' }),
  ]);
  const { offers } = await ask('/offers/worth?period_label=FY2130');
  expect(offers[0].coverage.sentences[0]).toContain('debt of KWD\u{a0}1,000.500 ');
  const styles = async () => {
    const { bytes } = await download(web.service, await web.as('broker'), deal, 'xlsx');
    return strFromU8(unzipSync(bytes)['xl/styles.xml']!);
  };
  const foreign = '#,##0.00##';
  expect(await styles()).toContain('#,##0.000');
  expect(await styles()).not.toContain('#,##0.00"');
  expect(await styles()).not.toContain(foreign);
  // Offers in another currency than the figures have two at least.
  await web.service.sql(`update offers set payload = payload || '{"currency": "USD"}' where deal_id = $1`, [deal]);
  expect(await styles()).toContain(foreign);
});
