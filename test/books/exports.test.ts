/**
 * Profit-and-loss exports of QuickBooks and Xero: what is read from them, to which lines their accounts count, and what
 * is stored.
 */

import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'csv-parse/sync';
import { texts } from '../hostile/generate.ts';
import type { Answer } from '../web/person.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { archive, workbook } from '../web/workbook.ts';
import { random } from './random.ts';

let web: WebScene;
let deal: string;

beforeAll(async () => {
  web = await openScene();
  ({ deal } = web.scene);
});
afterAll(() => web?.close());

const fixture = (name: string) => readFile(new URL(`exports/${name}.csv`, import.meta.url), 'utf8');

interface Seen {
  account: string;
  name: string;
  row: number;
  amount: string;
  line: string | null;
  by: string;
}
type Lines = { account: string; line: string | null }[];

const address = (path: string, filename: string, type = 'profit_and_loss') =>
  `${web.service.origin}/api/web/deals/${deal}/qoe/snapshots${path}?${new URLSearchParams({ snapshot_type: type, filename })}`;

async function sendBody(
  caller: string,
  path: string,
  body: Uint8Array<ArrayBuffer> | FormData | string,
  type?: string,
  filename = 'export.csv',
  snapshot?: string,
): Promise<Answer> {
  const { headers } = await web.as(caller);
  const response = await fetch(address(path, filename, snapshot), {
    method: 'POST',
    headers: { ...headers, ...(type && { 'content-type': type }) },
    body,
  });
  return { status: response.status, body: await response.json() };
}

const bytesOf = (file: string | Buffer) => new Uint8Array(Buffer.from(file));
const preview = (file: string | Buffer, caller = 'broker', snapshot?: string) =>
  sendBody(caller, '/preview', bytesOf(file), 'text/csv', undefined, snapshot);

function formOf(file: string | Buffer, lines: unknown): FormData {
  const form = new FormData();
  form.set('file', new Blob([bytesOf(file)]), 'export.csv');
  form.set('account_lines', typeof lines === 'string' ? lines : JSON.stringify(lines));
  return form;
}
const send = (path: string, file: string | Buffer, lines: unknown, caller = 'broker') =>
  sendBody(caller, path, formOf(file, lines));

const linesOf = (accounts: readonly Seen[]): Lines => accounts.map(({ account, line }) => ({ account, line }));
const byName = (accounts: readonly Seen[]) => Object.fromEntries(accounts.map(({ name, line }) => [name, line]));

/** The same rows as a workbook: labels as text, amounts as numbers with the inexact last digits of binary fractions. */
async function asWorkbook(csv: string, noise = ''): Promise<Buffer> {
  const rows = parse(csv, { relax_column_count: true, skip_empty_lines: false }) as string[][];
  const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const cell = (text: string) => {
    const plain = text.replaceAll(/[$,]/g, '').replace(/^\((.*)\)$/, '-$1');
    if (!/^-?\d+(\.\d+)?$/.test(plain)) return escape(text);
    return { number: plain.includes('.') ? `${plain}${noise}` : plain };
  };
  return archive(workbook({ 'Profit and Loss': rows.map((row) => row.map(cell)) }));
}

describe('a QuickBooks export', () => {
  test('is read by its accounts, and its totals match', async () => {
    const { status, body } = await preview(await fixture('quickbooks'));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      faults: [],
      export: { program: 'quickbooks', basis: 'accrual', period_count: 3, left_out: [], doubts: [], doubt_count: 0 },
    });
    expect(byName(body.export.accounts)).toEqual({
      Sales: 'revenue',
      'Discounts given': 'revenue',
      'Flour & sugar': 'cost_of_goods_sold',
      'Payroll expenses': 'operating_expenses',
      Wages: 'operating_expenses',
      'Officer salary': 'owner_compensation',
      Rent: 'operating_expenses',
      Depreciation: 'depreciation_amortization',
      'Taxes & licenses': 'operating_expenses',
      'Interest earned': 'interest_expense',
      'Interest paid': 'interest_expense',
      'Income tax': 'tax_expense',
    });
    expect(body.export.accounts[4]).toMatchObject({
      account: 'Expenses / Payroll expenses / Wages',
      row: 16,
      amount: '6000',
      is_income: false,
      by: 'name',
    });
    const reported = { revenue: '31350.5', cost_of_goods_sold: '9000', gross_profit: '22350.5', net_income: '6564.5' };
    expect(body.export.comparison).toEqual(
      Object.entries(reported).map(([line, amount]) => ({
        line,
        reported: amount,
        counted: amount,
        difference: '0',
        periods: [],
      })),
    );
    expect(body.rows.map(({ values }: { values: object }) => values)).toMatchObject([
      {
        period_label: '2025-01',
        period_start_date: '2025-01-01',
        period_end_date: '2025-01-31',
        revenue: '9900',
        cost_of_goods_sold: '3000',
        gross_profit: '6900',
        operating_expenses: '3320',
        owner_compensation: '1500',
        depreciation_amortization: '150.5',
        interest_expense: '100',
        tax_expense: '200',
        net_income: '1629.5',
        ebitda: '2080',
      },
      { period_label: '2025-02', revenue: '11950.25', net_income: '3605', ebitda: '4050.25' },
      { period_label: '2025-03', revenue: '9500.25', net_income: '1330', ebitda: '1770.25' },
    ]);
  });

  test('gives the same result as a workbook, despite binary fractions in its numbers', async () => {
    const csv = await fixture('quickbooks');
    const plain = (await preview(csv)).body;
    for (const noise of ['', '0000000000007', '000000000000001'])
      expect((await preview(await asWorkbook(csv, noise))).body).toEqual(plain);
  });

  test('with an unreadable amount is not stored, and names the cell', async () => {
    const csv = (await fixture('quickbooks')).replace('"$9,500.25","$31,500.75"', '"$9,500.25x","$31,500.75"');
    const { body } = await preview(csv);
    expect(body.faults).toEqual([{ row: 7, column: 'Mar 2025', message: expect.stringMatching(/^Enter an amount/) }]);
    const failed = await send('', csv, linesOf(body.export.accounts));
    expect(failed).toMatchObject({ status: 201, body: { status: 'failed' } });
    expect(failed.body.failure).toMatch(/^One row has errors\. Row 7, column Mar 2025: /);
  });

  test('with totals that do not add up has a doubt for each cell, and no error', async () => {
    const csv = (await fixture('quickbooks')).replace('"$4,970.50"', '"$4,971.50"').replace('"2,400.00"', '"2,500.00"');
    const { body } = await preview(csv);
    expect(body.faults).toEqual([]);
    expect(body.export.doubts).toEqual([
      {
        row: 22,
        column: 'Jan 2025',
        message: '“Total for Expenses” is 4,971.50, but the accounts in it add up to 4,970.50.',
      },
      { row: 19, column: 'Total', message: 'The total is 2,500, but the columns add up to 2,400.' },
    ]);
  });

  test('with formulas that were never calculated is read without its totals', async () => {
    const csv = await fixture('quickbooks');
    const lines = csv
      .split('\n')
      .map((line) => (/^(Total|Gross|Net)|^ +Total/.test(line) ? `${line.split(',')[0]},0,0,0,0` : line));
    const { body } = await preview(lines.join('\n'));
    expect(body).toMatchObject({ faults: [], export: { doubts: [], comparison: [] } });
    expect(body.rows[0].values).toMatchObject({ net_income: '1629.5' });
  });
});

describe('a Xero export', () => {
  test('with the newest month first and dates as headings is read by its accounts', async () => {
    const csv = await fixture('xero');
    const { body } = await preview(csv);
    expect(body).toMatchObject({
      faults: [],
      export: { program: 'xero', basis: null, period_count: 3, doubt_count: 0 },
    });
    expect(byName(body.export.accounts)).toEqual({
      Coffee: 'revenue',
      Cakes: 'revenue',
      'Beans and milk': 'cost_of_goods_sold',
      'Interest Income': 'interest_expense',
      'Rent received': 'operating_expenses',
      "Director's Wages": 'owner_compensation',
      'Wages and Salaries': 'operating_expenses',
      Amortisation: 'depreciation_amortization',
      'Interest Expense': 'interest_expense',
    });
    expect(body.export.comparison.map(({ difference }: { difference: string }) => difference)).toEqual([
      '0',
      '0',
      '0',
      '0',
    ]);
    expect(body.rows[0].values).toMatchObject({
      period_label: '2025-03',
      period_start_date: '2025-03-01',
      period_end_date: '2025-03-31',
      revenue: '6250.25',
      operating_expenses: '900',
      owner_compensation: '900',
      interest_expense: '-21.25',
      tax_expense: '0',
      net_income: '2961.5',
      ebitda: '2950.25',
    });
    expect((await preview(await asWorkbook(csv))).body).toEqual(body);
  });

  test.each([
    [
      'For the year ended 30 June 2025',
      ['30 Jun 2025', '30 Jun 2024'],
      ['2024-07-01 2025-06-30', '2023-07-01 2024-06-30'],
    ],
    ['1 January 2025 to 31 December 2025', ['31 Dec 2025'], ['2025-01-01 2025-12-31']],
    ['', ['31 Mar 2025', '31 Dec 2024'], ['2025-01-01 2025-03-31', '2024-10-01 2024-12-31']],
    [
      'For the month ended 31 March 2025',
      ['31 Mar 2025', '31 Mar 2024'],
      ['2025-03-01 2025-03-31', '2024-03-01 2024-03-31'],
    ],
    ['For the 0 months ended 31 March 2025', ['31 Mar 2025'], ['2025-03-01 2025-03-31']],
    ['', ['Nov 1 - 22, 2026', 'Oct 2026'], ['2026-11-01 2026-11-22', '2026-10-01 2026-10-31']],
    ['', ['Jan - Mar 2025', 'Apr 1, 2025 - Jun 30, 2025'], ['2025-01-01 2025-03-31', '2025-04-01 2025-06-30']],
    ['', ['Jan - Dec 2025'], ['2025-01-01 2025-12-31']],
  ])('titled “%s” with the columns %j has the right periods', async (title, columns, dates) => {
    const row = (cells: readonly string[]) => cells.map((cell) => `"${cell}"`).join(',');
    const csv = [title, row(['Account', ...columns]), row(['Sales', ...columns.map(() => '5')])].join('\n');
    const { body } = await preview(csv);
    expect(
      body.rows.map(
        ({ values }: { values: Record<string, string> }) =>
          `${values['period_start_date']} ${values['period_end_date']}`,
      ),
    ).toEqual(dates);
  });
});

test('owner pay is recognized by names of owners, not of staff, heads of departments or business partners', async () => {
  const names = {
    operating_expenses: [
      'Team Member Wages',
      'Crew Members Wages',
      'Member Services Wages',
      'Director of Operations Salary',
      'Salaries - Directors of Nursing',
      'Medical Director Compensation',
      'Partner Payments',
      'Delivery Partner Pay',
      'Security officers wages',
    ],
    owner_compensation: [
      "6010 Director's Wages",
      "Directors' remuneration",
      'Wages & Salaries - Directors',
      'Managing Member Salary',
      "Members' draws",
      'Drawings of partners',
      "Partner's draw - Ann",
      'Officer compensation',
      "Owner's draw",
      'Payments to shareholders',
      'Guaranteed payments to partners',
    ],
  };
  const expenses = Object.values(names)
    .flat()
    .map((name) => `${name},5\n`);
  const csv = `Account,Jan 2021\nIncome\nSales,500\nTotal Income,500\nExpenses\n${expenses.join('')}`;
  const { body } = await preview(csv);
  const proposed = (line: string) =>
    body.export.accounts.filter((one: Seen) => one.line === line).map(({ name }: Seen) => name);
  expect(proposed('operating_expenses')).toEqual(names.operating_expenses);
  expect(proposed('owner_compensation')).toEqual(names.owner_compensation);
});

test('the line of an account can be changed, is stored, and is proposed for the next export of the deal', async () => {
  const csv = await fixture('quickbooks');
  const { body: first } = await preview(csv);
  const lines = linesOf(first.export.accounts).map((one) =>
    one.account.endsWith('Rent')
      ? { ...one, line: null }
      : one.account.endsWith('Wages')
        ? { ...one, line: 'owner_compensation' }
        : one,
  );
  const changed = await send('/preview', csv, lines);
  expect(changed.body.export.comparison.at(-1)).toEqual({
    line: 'net_income',
    reported: '6564.5',
    counted: '8964.5',
    difference: '2400',
    periods: ['Jan 2025', 'Feb 2025', 'Mar 2025'].map((heading) => ({ heading, difference: '800' })),
  });
  expect((await preview(csv)).body.export.accounts.some(({ by }: Seen) => by === 'memory')).toBe(false);

  expect(await send('', csv, lines)).toMatchObject({ status: 201, body: { status: 'completed', failure: null } });
  const { body: stored } = await (
    await web.as('broker')
  ).ask(`/deals/${deal}/qoe/periods?end_date=2025-03-31&start_date=2025-01-01`);
  expect(stored.items.find((one: { period_label: string }) => one.period_label === '2025-01')).toMatchObject({
    revenue: '9900.0000',
    operating_expenses: '520.0000',
    owner_compensation: '3500.0000',
    net_income: '2429.5000',
    ebitda: '2880.0000',
  });
  const next = (await preview(csv.replaceAll('2025', '2024').replace('Depreciation', 'Depreciation of vans'))).body
    .export.accounts;
  expect(next.find(({ name }: Seen) => name === 'Rent')).toMatchObject({ line: null, by: 'memory' });
  expect(next.find(({ name }: Seen) => name === 'Wages')).toMatchObject({ line: 'owner_compensation', by: 'memory' });
  expect(next.find(({ name }: Seen) => name === 'Depreciation of vans')).toMatchObject({
    line: 'depreciation_amortization',
    by: 'name',
  });
  // Accounts that are not in the other export stay remembered.
  const xero = await fixture('xero');
  const other = (await preview(xero)).body.export.accounts;
  expect((await send('', xero, linesOf(other))).status).toBe(201);
  const again = (await preview(csv)).body.export.accounts;
  expect(again.every(({ by }: Seen) => by === 'memory')).toBe(true);
});

describe('the account lines chosen by one side', () => {
  const exported = (account: string) => `Account,Jan 2022\nIncome\n${account},5\nTotal Income,5\nNet Income,5\n`;
  const upload = async (account: string, caller: string) => {
    const lines = linesOf((await preview(exported(account), caller)).body.export.accounts);
    expect((await send('', exported(account), lines, caller)).body.status).toBe('completed');
  };
  const proposedBy = async (account: string, caller: string) =>
    (await preview(exported(account), caller)).body.export.accounts.map(({ by }: Seen) => by);

  test('are proposed to that side alone, and are in no other user’s data export', async () => {
    await upload('Retainer John Secret', 'seller');
    expect(await proposedBy('Retainer John Secret', 'exclusive buyer')).toEqual(['name']);
    await upload('Sales of the buyer', 'exclusive buyer');
    expect(await proposedBy('Sales of the buyer', 'exclusive buyer')).toEqual(['memory']);
    for (const caller of ['seller', 'broker']) {
      expect(await proposedBy('Retainer John Secret', caller), caller).toEqual(['memory']);
      expect(await proposedBy('Sales of the buyer', caller), caller).toEqual(['name']);
    }
    await upload('Sales of the broker', 'broker');
    const takenBy = async (caller: string) => {
      const { headers } = await web.as(caller);
      const answer = await fetch(`${web.service.origin}/api/auth/export`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{}',
      });
      expect(answer.status).toBe(200);
      const { accounting_snapshots } = (await answer.json()) as { accounting_snapshots: { account_lines: unknown }[] };
      return accounting_snapshots.map(({ account_lines }) => account_lines);
    };
    expect(await takenBy('exclusive buyer')).toEqual([{ 'Income / Sales of the buyer': 'revenue' }]);
    expect(await takenBy('seller')).toEqual([{ 'Income / Retainer John Secret': 'revenue' }]);
    const broker = await takenBy('broker');
    expect(broker).toContainEqual({ 'Income / Sales of the broker': 'revenue' });
    expect(JSON.stringify(broker)).not.toContain('John Secret');
  });

  test('are no longer proposed after their uploader has changed sides', async () => {
    const { people, participants } = web.scene;
    const advisor = "seller's advisor";
    await web.service.sql(
      `insert into qoe_workspace_members (deal_id, participant_id, role) values ($1, $2, 'editor')`,
      [deal, participants[advisor]],
    );
    await upload('Retainer of the advisor', advisor);
    expect(await proposedBy('Retainer of the advisor', 'seller')).toEqual(['memory']);
    web.service.clock.advance(1_000);
    const advises = (principal: string) =>
      web.service.sql('update participants set advises = $2 where deal_id = $3 and user_id = $1', [
        people[advisor],
        participants[principal],
        deal,
      ]);
    await advises('exclusive buyer');
    expect(await proposedBy('Retainer of the advisor', 'exclusive buyer')).toEqual(['name']);
    expect(await proposedBy('Retainer of the advisor', advisor)).toEqual(['name']);
    await advises('seller');
  });
});

test('a customer is the same, however an upload stores the accents of the name', async () => {
  const file = `customer;month;revenue\nCafé;2025-01;10\n${'Café'.normalize('NFD')};2025-01;20\nCafe;2025-01;30\n`;
  const { body } = await preview(file, 'broker', 'customer_revenue');
  expect(body.faults).toEqual([{ row: 3, column: 'customer_name', message: 'Duplicate of row 2: list each once.' }]);
});

describe('days with slashes', () => {
  const customers = (...days: string[]) =>
    `customer;month;revenue\n${days.map((day, at) => `C${at};${day};1\n`).join('')}`;
  const read = async (file: string, language?: string, type = 'customer_revenue') => {
    const { headers } = await web.as('broker');
    const response = await fetch(address('/preview', 'days.csv', type), {
      method: 'POST',
      headers: { ...headers, 'content-type': 'text/csv', ...(language && { 'accept-language': language }) },
      body: file,
    });
    const { rows, assumed_day, faults } = (await response.json()) as Answer['body'];
    return { firsts: rows.map((row: Answer['body']) => row.values.period_start_date), assumed_day, faults };
  };

  test('begin with the month or the day, as another day of the file shows', async () => {
    expect(await read(customers('02/03/2025', '31/1/2025'))).toEqual({
      firsts: ['2025-03-01', '2025-01-01'],
      assumed_day: null,
      faults: [],
    });
    expect(await read(customers('02/03/2025', '1/31/2025'), 'de-DE')).toEqual({
      firsts: ['2025-02-01', '2025-01-01'],
      assumed_day: null,
      faults: [],
    });
    const spans = 'customer,start date,end date,revenue\nA,01/02/2025,28/02/2025,1\nB,1/4/25,30/4/25,2\n';
    expect(await read(spans)).toMatchObject({ firsts: ['2025-02-01', '2025-04-01'], assumed_day: null, faults: [] });
  });

  test('are the first of each month if they all can be', async () => {
    const [name, day] = ['01/02/2025', '2025-02-01'];
    expect(await read(customers('01/01/2025', name, '01/03/2025'), 'en-US')).toEqual({
      firsts: ['2025-01-01', '2025-02-01', '2025-03-01'],
      assumed_day: { name, day },
      faults: [],
    });
    expect(await read(customers('2/1/2025', '3/1/2025'), 'en-GB')).toMatchObject({
      firsts: ['2025-02-01', '2025-03-01'],
      assumed_day: { name: '2/1/2025', day: '2025-02-01' },
    });
  });

  test('are read as the reader writes days if nothing shows it, and the preview says so', async () => {
    const file = customers('04/05/2025', '2025-01', '7/7/2025');
    for (const [language, first] of [
      [undefined, '2025-04-01'],
      ['*', '2025-04-01'],
      ['en-US,en;q=0.9', '2025-04-01'],
      ['en-GB,en;q=0.9', '2025-05-01'],
      ['de', '2025-05-01'],
    ] as const)
      expect(await read(file, language), language).toEqual({
        firsts: [first, '2025-01-01', '2025-07-01'],
        assumed_day: { name: '04/05/2025', day: first === '2025-04-01' ? '2025-04-05' : '2025-05-04' },
        faults: [],
      });
    expect((await read(customers('7/7/2025', '2025-01', '12.01.2025'))).assumed_day).toBeNull();
  });

  test('are asked for where some begin with the month and others with the day', async () => {
    const { firsts, faults } = await read(customers('1/31/2025', '28/2/2025', '1/2/2025', '1/32/2025'));
    expect(firsts).toEqual(['2025-01-01', '2025-02-01', '', '']);
    expect(faults).toEqual([
      { row: 4, column: 'period', message: expect.stringContaining('Some days of the file begin with the month') },
      { row: 5, column: 'period', message: 'Enter a date, like 2025-01-31.' },
    ]);
  });

  test('are read in the headings of an export as well', async () => {
    const file = (...days: string[]) => `;${days.join(';')}\nIncome;;\nSales;1;2\nTotal Income;1;2\n`;
    const months = async (...days: string[]) => {
      const { body } = await preview(file(...days));
      return [body.rows.map((row: Answer['body']) => row.values.period_start_date), body.assumed_day];
    };
    expect(await months('31/01/2025', '28/02/2025')).toEqual([['2025-01-01', '2025-02-01'], null]);
    expect(await months('01/02/2025', '01/03/2025')).toEqual([
      ['2025-02-01', '2025-03-01'],
      { name: '01/02/2025', day: '2025-02-01' },
    ]);
  });
});

describe('decimal commas', () => {
  const rows = 'Profit and Loss;;\n;Jan 2025;Feb 2025\nIncome;;\nSales;1.234;12.500\nTotal Income;1.234;12.500\n';
  const amounts = async (file: string) =>
    (await preview(file)).body.export.accounts.map(({ name, amount }: Seen) => [name, amount]);

  test('make "1.234" mean 1234 in the whole file', async () => {
    expect(await amounts(`${rows}Rent;1.000,50;900\nNet Income;233,50;11.600\n`)).toEqual([
      ['Sales', '13734'],
      ['Rent', '1900.5'],
    ]);
    const month = 'month;revenue;ebitda\n01.2025;1.234;"-1,5"\n02.2025;12.500;(2.000)\n';
    const { body } = await preview(month);
    expect(body).toMatchObject({ faults: [] });
    expect(body.rows.map((row: { values: object }) => row.values)).toMatchObject([
      { revenue: '1234', ebitda: '-1.5' },
      { revenue: '12500', ebitda: '-2000' },
    ]);
  });

  test('lead to a question for each cell if nothing in the file shows the meaning of a point', async () => {
    const { body } = await preview(rows);
    expect(body.faults).toEqual([
      { row: 4, column: 'Jan 2025', message: expect.stringContaining('may mark thousands or decimals') },
      { row: 4, column: 'Feb 2025', message: expect.stringContaining('may mark thousands or decimals') },
    ]);
    // An unambiguous amount decides how the others are read.
    expect(await amounts(`${rows}Rent;10.5;\n`)).toEqual([
      ['Sales', '13.734'],
      ['Rent', '10.5'],
    ]);
  });

  test('are assumed after a zero, and in "1,234" if another amount shows it', async () => {
    const file = (...written: string[]) =>
      `;Jan 2025;Feb 2025\nIncome;;\n${written.map((one, at) => `A${at};"${one}";\n`).join('')}`;
    const read = async (...written: string[]) =>
      (await amounts(file(...written))).map(([, amount]: [string, string]) => amount);
    expect(await read('0,234', '1,234', '1.234')).toEqual(['0.234', '1.234', '1234']);
    expect(await read('1.234,50', '1,234')).toEqual(['1234.5', '1.234']);
    expect(await read('1,234')).toEqual(['1234']);
    expect(await read('1,234', '10.5')).toEqual(['1234', '10.5']);
    expect(await read('1,234,567', '1.234')).toEqual(['1234567', '1.234']);
    expect((await preview(file('0,234,567', '000,234', '0.234.567'))).body.faults).toHaveLength(3);
    // Beside "12,500" the meaning of "1.234" stays ambiguous.
    expect((await preview(file('12,500', '1.234'))).body.faults).toEqual([
      { row: 4, column: 'Jan 2025', message: expect.stringContaining('may mark thousands or decimals') },
    ]);
  });

  test('are points where apostrophes group digits, or commas groups of two as in India', async () => {
    const file = (first: string, second: string) => `;Jan 2025;Feb 2025\nIncome;;\nSales;${first};${second}\n`;
    const read = async (first: string, second: string) => (await preview(file(first, second))).body.export.accounts[0];
    expect(await read('1’234’567.50', "-1'234.25")).toMatchObject({ amount: '1233333.25' });
    expect(await read('12,34,567.50', '1,00,000')).toMatchObject({ amount: '1334567.5' });
    expect((await preview(file('1,23,45', '12,34,56'))).body.faults).toHaveLength(2);
  });

  test('are recognized by amounts alone, not by account numbers, titles or customer names', async () => {
    const asked = [expect.stringContaining('may mark thousands or decimals')];
    const messages = async (file: string, type = 'profit_and_loss') => {
      const { faults } = (await preview(file, 'broker', type)).body;
      return [...new Set(faults.map(({ message }: { message: string }) => message))];
    };
    const numbered = 'Konto;Name;Jan 2025;Feb 2025\n4000.10;Sales;1.234;12.500\n';
    expect(await messages(numbered)).toEqual(asked);
    expect(await messages(`1.2;;\n${rows}`)).toEqual(asked);
    expect(await messages('customer;month;revenue\n3.50;2025-01;1.234\n', 'customer_revenue')).toEqual(asked);
    // Account numbers do not contradict the format of an unambiguous amount either.
    expect(await amounts(`${numbered}4100.10;Fees;"10,5";\n`)).toEqual([
      ['4000.10', '13734'],
      ['4100.10', '10.5'],
    ]);
  });
});

describe('an export of one period', () => {
  const desktop = [
    ',,,Jan - Dec 25',
    ',Ordinary Income/Expense,,',
    ',,4000 · Sales,1200',
    ',Net Ordinary Income,,1200',
    'Net Income,,,1200',
  ].join('\n');
  const seen = async (file: string | Buffer) => {
    const { body } = await preview(file);
    const { period_label: label, revenue } = body.rows[0].values;
    return [body.export.program, body.export.accounts[0].name, label, revenue];
  };

  test('has its period from a QuickBooks Desktop heading, in UTF-8, Latin-1 or UTF-16, or from its title', async () => {
    const read = ['quickbooks', '4000 · Sales', 'FY2025', '1200'];
    expect(await seen(desktop)).toEqual(read);
    expect(await seen(Buffer.from(desktop, 'latin1'))).toEqual(read);
    expect(await seen(desktop.replace('\n', '\r\n'))).toEqual(read);
    expect(await seen(Buffer.from(`\ufeff${desktop.replaceAll(',', '\t')}`, 'utf16le'))).toEqual(read);
    expect(await seen(desktop.replace('Jan - Dec 25', "Oct '24 - Sep 25"))).toEqual(
      read.with(2, '2024-10-01 to 2025-09-30'),
    );
    const total = desktop.replace('Jan - Dec 25', 'Total');
    expect(await seen(`Profit and Loss\nBakery LLC\n"January - December, 2025"\n\n${total}`)).toEqual(read);
    expect(await seen(`Profit and Loss\nMarch 2025\n${total}`)).toEqual(read.with(2, '2025-03'));
    expect(await seen(`FY2025\n"January - December, 2025"\n${total}`)).toEqual(read);
    expect(await preview(`March 24\nBakery LLC\n"January - December, 2025"\n${total}`)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('“March 24” and “January - December, 2025”') } },
    });
  });

  test('is rejected without a period or in an unknown encoding', async () => {
    for (const file of [
      `Profit and Loss\nBakery LLC\n${desktop.replace('Jan - Dec 25', 'Total')}`,
      desktop.replace('Jan - Dec 25', 'Jan 24 - Feb 25'),
      Buffer.from(desktop.replace('Sales', 'Café'), 'latin1'),
      Buffer.from(desktop, 'utf16le'),
    ])
      expect((await preview(file)).status).toBe(400);
  });
});

describe('an amount that could be a year, such as “2000” in a workbook', () => {
  const read = async (csv: string, file: string | Buffer = csv) => {
    const { status, body } = await preview(file);
    return status === 200
      ? {
          faults: body.faults,
          accounts: body.export.accounts.map(({ name, amount }: Seen) => [name, amount]),
          periods: body.rows.map(({ values }: { values: Record<string, string> }) => values['period_label']),
        }
      : status;
  };

  test.each([
    [
      'below “Total” alone',
      'January - December 2025\n,Total\nIncome\nSales,9000\nExpenses\nInsurance,2000\nRent,500\n',
      ['FY2025'],
      ['Insurance', '2000'],
    ],
    [
      'below “Total” alone, with no name',
      'January - December 2025\n,Total\nIncome\nSales,9000\nExpenses\nInsurance,2000\n,2000\n',
      ['FY2025'],
      ['Insurance', '2000'],
    ],
    [
      'below a month and its total',
      ',Jan 2025,Total\nSales,9000,9000\nRent,2000,2000\n',
      ['2025-01'],
      ['Rent', '2000'],
    ],
    [
      'beside a heading that is no period',
      ',Jan - Dec 2025,Jan - Dec 2024 (PY)\nSales,9000,8000\nRent,2000,1900\n',
      ['FY2025'],
      ['Rent', '2000'],
    ],
    ['with cents', 'March 2025\n,Total\nSales,9000\nRent,2000.5\n', ['2025-03'], ['Rent', '2000.5']],
    ['like a month', ',Jan 2025,Total\nSales,9000,9000\nRent,1.2025,12.1999\n', ['2025-01'], ['Rent', '1.2025']],
    [
      'behind the number of its account',
      'March 2025\n,,,Total\n,Income\n,,4000 · Sales,9000\n,,4100 · Fees,2000\n',
      ['2025-03'],
      ['4100 · Fees', '2000'],
    ],
  ])('is an amount %s', async (_, csv, periods, account) => {
    for (const file of [csv, await asWorkbook(csv)]) {
      const seen = await read(csv, file);
      expect(seen).toMatchObject({ periods });
      expect((seen as { accounts: string[][] }).accounts).toContainEqual(account);
      expect((seen as { accounts: string[][] }).accounts[0]?.[1]).toBe('9000');
    }
  });

  test('is never the year of a file that names none', async () => {
    for (const csv of ['Profit and Loss\n,Total\nSales,2000\nRent,500\n', 'Sales,2000\nRent,500\n']) {
      expect(await read(csv)).toBe(400);
      expect(await read(csv, await asWorkbook(csv))).toBe(400);
    }
  });

  test.each([
    ['Account,2025,2024\nSales,2000,1900\n', ['FY2025', 'FY2024']],
    ['Bakery LLC\n\n,,2024,2025,Total\nIncome\n,Sales,2000,1900,3900\n', ['FY2024', 'FY2025']],
    ['Account code,Account,2025,2024 (PY),% Change\n200,Sales,2000,1900,5\n', ['FY2025']],
    ['Company:,Bakery LLC\nPeriod:,Jan - Dec 2025\nAccount,2025,2024\nSales,2000,1900\n', ['FY2025', 'FY2024']],
    ['Bakery LLC\nCategory,2023,2024,2025\nSales,2000,1900,1800\n', ['FY2023', 'FY2024', 'FY2025']],
    ['Konto;01.2025;02.2025\nSales;2000;1900\n', ['2025-01', '2025-02']],
  ])('is a year as the heading of a column: %j', async (csv, periods) => {
    expect(await read(csv)).toMatchObject({ faults: [], periods, accounts: [['Sales', expect.anything()]] });
    if (!csv.includes(';')) expect(await read(csv, await asWorkbook(csv))).toMatchObject({ faults: [], periods });
  });
});

test('a customer name is one line of at most 200 characters, without direction controls', async () => {
  const { headers } = await web.as('broker');
  const query = new URLSearchParams({ snapshot_type: 'customer_revenue' });
  const response = await fetch(`${web.service.origin}/api/web/deals/${deal}/qoe/snapshots/preview?${query}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'text/csv' },
    body:
      'customer,period,revenue\n"Anvil\nTools",FY2025,1\nBirch \u202Evil,FY2025,2\n' +
      `${'🥐'.repeat(200)},FY2025,3\n${'🥐'.repeat(201)},FY2025,4\n`,
  });
  expect(await response.json()).toMatchObject({
    rows: [{ values: { customer_name: 'Anvil Tools' } }, {}, {}, {}],
    faults: [
      { row: 3, column: 'customer_name', message: expect.stringContaining('direction') },
      { row: 5, column: 'customer_name', message: 'At most 200 characters.' },
    ],
  });
});

test('a name truncated within a character is stored as it was previewed', async () => {
  const long = `${'x'.repeat(199)}😀${'y'.repeat(183)}`;
  const csv = `Account,Jan 2021\nIncome\n${long},1\n${'z'.repeat(10)}😀${'y'.repeat(199)},2\nTotal Income,3\nNet Income,3\n`;
  const { status, body } = await preview(csv);
  expect(status).toBe(200);
  expect(body.faults).toEqual([]);
  expect(await send('', csv, linesOf(body.export.accounts))).toMatchObject({
    status: 201,
    body: { status: 'completed' },
  });
});

test('nothing is stored without a preview, or without a choice for every account', async () => {
  const csv = await fixture('xero');
  const count = async () => (await web.service.sql('select count(*)::int as n from accounting_snapshots'))[0]?.['n'];
  const before = await count();
  expect(await sendBody('broker', '', csv, 'text/csv')).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringMatching(/^Look at the preview first/) } },
  });
  const lines = linesOf((await preview(csv)).body.export.accounts);
  expect(await send('', csv, lines.slice(1))).toMatchObject({
    status: 400,
    body: { error: { message: 'Choose what “Coffee” (row 8) counts as, or that it is not counted.' } },
  });
  for (const wrong of [
    '{',
    '[{"account":"x","line":"ebitda"}]',
    '['.repeat(100_000),
    [{ account: 'x'.repeat(201), line: null }],
  ])
    expect((await send('', csv, wrong)).status).toBe(400);
  expect(await count()).toBe(before);
});

test('an upload is rejected with 404 for outsiders and 403 for participants who may not upload', async () => {
  const csv = await fixture('xero');
  for (const path of ['', '/preview']) {
    for (const caller of ['outsider', 'removed', 'invited'])
      expect((await send(path, csv, [], caller)).status, caller).toBe(404);
    for (const caller of ['viewer', 'other buyer'])
      expect((await send(path, csv, [], caller)).status, caller).toBe(403);
  }
});

test('accounts named like built-in object properties are ordinary accounts', async () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
  const csv = `Account,Jan 2023\nIncome\n${names.map((name) => `${name},1`).join('\n')}\nTotal Income,4\nNet Income,4\n`;
  const { body } = await preview(csv);
  expect(body.export.accounts.map(({ line }: Seen) => line)).toEqual(names.map(() => 'revenue'));
  const lines = linesOf(body.export.accounts).map((one, place) => (place === 0 ? { ...one, line: null } : one));
  expect((await send('', csv, lines)).body.status).toBe('completed');
  expect((await preview(csv)).body.export.accounts.map(({ line }: Seen) => line)).toEqual([
    null,
    'revenue',
    'revenue',
    'revenue',
  ]);
});

test('random cells in an export never cause a server error', async () => {
  const below = random(20_261_122);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)]!;
  const odd = [
    ...texts,
    '',
    '-',
    '(',
    '1e9',
    '=1+1',
    '99999999999999999',
    '0.00001',
    'Total',
    'Total Income',
    'Jan 2025',
    '31 Feb 2025',
    '#REF!',
    'Net Income',
    'Jan - Dec',
    '%',
    '1'.repeat(900),
  ];
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const grids = await Promise.all(
    ['quickbooks', 'xero'].map(async (name) => parse(await fixture(name), { relax_column_count: true }) as string[][]),
  );
  const statuses = new Set<number>();
  for (let round = 0; round < 60; round += 1) {
    const rows = pick(grids).map((row) => [...row]);
    for (let changes = 0; changes < 1 + below(6); changes += 1) {
      const row = pick(rows);
      row[below(row.length + 1)] = pick(odd);
    }
    if (below(5) === 0) rows.reverse();
    const csv = rows.map((row) => row.map((cell) => quoted(cell ?? '')).join(',')).join('\n');
    const { status, body } = await preview(csv);
    statuses.add(status);
    if (status !== 200 || body.export === null || body.faults.length > 0 || round % 5 > 0) continue;
    expect((await send('', csv, linesOf(body.export.accounts))).status).toBe(201);
  }
  expect([...statuses].toSorted()).toEqual([200, 400]);
});

test('the preview says which dates are read where a year or a quarter is named without its months', async () => {
  const year = { name: 'FY2025', first: '2025-01-01', last: '2025-12-31' };
  const read = async (file: string, snapshot?: string) => (await preview(file, 'broker', snapshot)).body.calendar;
  expect(await read('period,revenue\nFY2025,1000\n2024,900\n')).toEqual(year);
  expect(await read('customer,period,revenue\nAnvil,FY2025,1000\n', 'customer_revenue')).toEqual(year);
  expect(await read('Account,FY2025,FY2024\nSales,1000,900\n')).toEqual(year);
  expect(await read('period,revenue\nQ1 2025,1000\n')).toMatchObject({ first: '2025-01-01', last: '2025-03-31' });
  expect(await read('start date,end date,revenue\n2024-07-01,2025-06-30,1000\n')).toBeNull();
  expect(await read('period,start date,end date,revenue\nFY2025,2024-07-01,2025-06-30,1000\n')).toBeNull();
  expect(await read('Account,Jul 2024 - Jun 2025\nSales,1000\n')).toBeNull();
  expect(await read('period,revenue\n2025-01,1000\n')).toBeNull();
});
