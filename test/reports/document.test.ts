/** The report as a document: what each reader finds in it. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { insert, insertAll } from '../tools/scene.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { changeAll, download, endWriters, printedOf, type Printed } from './files.ts';

let service: TestService;
let deal: string;
const people: Record<string, SignedIn> = {};
const as = (name: string): SignedIn => people[name]!;
const nowhere = '01900000-0000-7000-8000-000000000000';

beforeAll(async () => {
  service = await openService({ demo: true, config: { features: { financing: true, findings: true } } });
  deal = service.demo.deals.with_everything;
  for (const [name, { user_id }] of Object.entries(service.demo.people))
    people[name] = await signInAs(service, user_id);
});
afterAll(() => service?.close());

async function printed(name: string, of = deal): Promise<Printed> {
  const { status, bytes } = await download(service, as(name), of, 'pdf');
  expect(status).toBe(200);
  return printedOf(bytes);
}
const page = async (name: string, path: string, of = deal) => (await as(name).ask(`/deals/${of}${path}`)).body;

/** Formats an amount as it is printed. */
const money = (amount: string): string => {
  const [whole = '', cents = ''] = amount
    .replace('-', '')
    .replace(/(\.\d*?)0+$/, '$1')
    .split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return `${amount.startsWith('-') ? '−' : ''}${grouped}${cents === '' ? '' : `.${cents.padEnd(2, '0')}`}`;
};

/** Matches the date and the page number at the foot of a page. */
const foot = (at: number, pages: readonly string[]): RegExp =>
  new RegExp(`\\d{1,2} \\w+ 20\\d\\d · ${at + 1} of ${pages.length}`);

describe('the PDF report', () => {
  test.each(['broker', 'seller', 'buyer'])('shows the %s the figures of the pages, to the cent', async (name) => {
    const { text, pages, info, width, tags } = await printed(name);
    const [{ earnings, concentration }, customers, { items: offers }, { basis, offers: worths, sba_rules }] =
      await Promise.all(
        ['/qoe/computed', '/qoe/customers', '/offers', '/offers/worth'].map((path) => page(name, path)),
      );
    for (const { label, amounts, reported_ebitda, adjusted_ebitda, sde } of earnings.slice(0, 6)) {
      expect(text).toContain(label);
      for (const amount of [amounts.revenue, reported_ebitda, adjusted_ebitda, sde])
        if (amount !== null) expect(text).toContain(money(amount));
    }
    expect(text).toContain(money(concentration.total));
    for (const { customer_name, revenue_total } of customers.items) {
      expect(text).toContain(customer_name);
      expect(text).toContain(money(revenue_total));
    }
    expect(offers.length).toBeGreaterThan(0);
    for (const { mine, buyer_name, payload } of offers) {
      expect(text).toContain(mine ? 'Your offer' : buyer_name);
      expect(text).toContain(money(payload.purchase_price));
    }
    for (const { id, rule, citation } of sba_rules) {
      expect([id, text]).toEqual([id, expect.stringContaining(rule)]);
      expect(text).toContain(citation);
    }
    expect(sba_rules.length).toBeGreaterThan(0);
    for (const { multiples, coverage, sba } of worths) {
      for (const { answer } of sba) expect(text).toContain(answer.why ?? answer.ask);
      expect(text).toContain(`${Number(multiples.adjusted_ebitda).toFixed(2)}×`);
      for (const sentence of coverage.sentences) expect(text).toContain(sentence);
    }
    const dates = [basis.first, basis.last]
      .map((day: string) =>
        new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(day)),
      )
      .join(' – ');
    expect(pages[0]).toMatch(/, \d{1,2} \w+ 20\d\d\. Prepared for .+\. Dates are in UTC\./);
    expect(text).toContain(
      `Compared with ${basis.period} (${dates}), computed from the uploaded financials: adjusted EBITDA ${basis.currency} ${money(basis.adjusted_ebitda)}`,
    );
    pages.forEach((one, at) => {
      expect(one).toMatch(foot(at, pages));
      expect(one).toContain('Computed from the uploaded financials. This is not an audit and not advice.');
    });
    expect(info).toMatchObject({ Language: 'en', Title: expect.stringContaining('Quality of earnings') });
    expect(width).toBe(612);
    for (const tag of ['H1', 'H2', 'Table', 'TH', 'TD']) expect(tags).toContain(`"role":"${tag}"`);
  });

  test('shows contradictions to brokers and sellers alone, until a broker releases one with its answer', async () => {
    await insert(service, 'normalizations', {
      deal_id: deal,
      period_label: 'FY1901',
      adjustment_category: 'other',
      adjustment_amount: '12.34',
    });
    const [one] = (await page('broker', '/qoe/computed')).contradictions.items;
    const at = `/deals/${deal}/qoe/contradictions/${one.key}`;
    const answer = { status: 'explained', why: 'Typed by mistake.', figures: one.figures };
    expect((await as('broker').ask(`${at}/answer`, answer, 'PUT')).status).toBe(204);
    const { text: told } = await printed('seller');
    expect(told).toContain(one.sentence);
    expect(told).toMatch(/Explained by .+ on 20\d\d-\d\d-\d\d: Typed by mistake\./);
    const { text: kept } = await printed('buyer');
    expect(kept).not.toMatch(/lear up|leared up|Typed by mistake/);
    expect(kept).not.toContain(one.sentence);
    const { answered_at } = (await page('broker', '/qoe/computed')).contradictions.explained.items[0].answer;
    expect((await as('broker').ask(`${at}/release`, { answered_at }, 'PUT')).status).toBe(204);
    expect((await printed('buyer')).text).toContain('Typed by mistake.');
    expect((await as('broker').ask(`${at}/answer`, undefined, 'DELETE')).status).toBe(204);
    await service.sql('delete from normalizations where period_label = $1', ['FY1901']);
  });

  test("shows no other buyer's offer, and no figures of the books outside the QoE workspace", async () => {
    const { items } = await page('broker', '/offers');
    const { text } = await printed('other_buyer');
    const others = items.filter(
      ({ buyer_name }: { buyer_name: string }) => !text.includes(`Prepared for ${buyer_name}`),
    );
    expect(others.length).toBeGreaterThan(0);
    for (const { buyer_name } of others) expect(text).not.toContain(buyer_name);
    expect(text).not.toMatch(/EBITDA [0-9]|SDE|Customers|What was uploaded, and by whom/);
  });

  test('is not found for a person who is not on the deal', async () => {
    const [hidden, missing] = await Promise.all(
      [deal, nowhere].map((id) => download(service, as('outsider'), id, 'pdf')),
    );
    expect([hidden?.status, hidden?.bytes.toString()]).toEqual([404, missing?.bytes.toString()]);
  });
});

test.each([
  ['KWD', '1,000.500', '2,500.250'],
  ['JPY', '1,000.5', '2,500.25'],
  ['EUR', '1,000.50', '2,500.25'],
])('amounts in %s have as many decimal places as the currency', async (currency, revenue, asking) => {
  const [made] = await service.sql<{ id: string }>(
    `with opened as (
       insert into deals (organization_id, title, currency, asking_price, created_by) values ($1, 'In ' || $2, $2, 2500.25, $3)
       returning id)
     insert into participants (deal_id, user_id, role, status) select id, $3, 'broker', 'active' from opened
     returning deal_id as id`,
    [service.demo.brokerage_id, currency, service.demo.people.broker.user_id],
  );
  const deal_id = made!.id;
  const snapshot_id = await insert(service, 'accounting_snapshots', {
    deal_id,
    snapshot_type: 'full',
    status: 'completed',
    completed_at: '2026-01-01T00:00:00Z',
  });
  const dates = { period_start_date: '2025-01-01', period_end_date: '2025-12-31', currency };
  const rest = { id: crypto.randomUUID(), deal_id, snapshot_id, ...dates };
  await insertAll(service, 'pl_periods', [{ ...rest, period_label: 'FY2025', revenue: '1000.5' }]);
  await insertAll(service, 'customer_revenues', [{ ...rest, customer_name: 'Only one', revenue_total: '1000.5' }]);
  const { text } = await printed('broker', deal_id);
  expect(text.match(/1,000\.\d+/g)).toEqual(Array.from({ length: 5 }, () => revenue));
  expect(text.match(/2,500\.\d+/g)).toEqual([asking]);
});

test('unusual text does not break the pages of the PDF, and long lists repeat their headings', async () => {
  const own = service.demo.deals.draft;
  const names = [
    'W'.repeat(200),
    'שלום עולם مرحبا',
    'العربية 123',
    '🎉👩‍👩‍👧‍👦 Ünï ☃ 中文',
    'Ελληνικά и русский',
    `a${'\u0301'.repeat(60)}`,
    'line\nbreak\r\nand\ttab \u0000'.replace('\u0000', ''),
    '\u202Egnirts desrever',
    'half \u2028 separators',
    'Đặng Ngọc Ưu'.normalize('NFD'),
    'ﬁne ＣＯ',
  ];
  const snapshot_id = await insert(service, 'accounting_snapshots', {
    deal_id: own,
    snapshot_type: 'full',
    status: 'completed',
    completed_at: '2091-01-01T00:00:00Z',
    source_name: 'x'.repeat(255),
  });
  const dates = { period_start_date: '2090-01-01', period_end_date: '2090-12-31', currency: 'USD' };
  await insertAll(service, 'pl_periods', [
    {
      id: crypto.randomUUID(),
      deal_id: own,
      snapshot_id,
      period_label: 'M'.repeat(64),
      ...dates,
      revenue: '9999999999999999.9999',
      ebitda: '-9999999999999999.9999',
    },
  ]);
  await insertAll(
    service,
    'customer_revenues',
    [...names, ...Array.from({ length: 120 }, (_, at) => `Customer number ${at}`)].map((customer_name, place) => ({
      id: crypto.randomUUID(),
      deal_id: own,
      snapshot_id,
      customer_name,
      ...dates,
      revenue_total: String(100_000 - place),
    })),
  );
  await insertAll(
    service,
    'normalizations',
    Array.from({ length: 80 }, (_, at) => ({
      deal_id: own,
      period_label: 'M'.repeat(64),
      adjustment_category: 'other',
      adjustment_amount: `${at}.${'1'.repeat(37)}`,
      rationale: at % 2 === 0 ? 'y'.repeat(2000) : 'line\n'.repeat(399),
    })),
  );
  await insertAll(service, 'customer_revenues', [
    {
      id: crypto.randomUUID(),
      deal_id: own,
      snapshot_id,
      customer_name: 'Abroad',
      ...dates,
      currency: 'EUR',
      revenue_total: '12.5',
    },
  ]);
  await service.sql('update deals set title = $2 where id = $1', [
    own,
    `A bakery ${'that was sold again '.repeat(8)}`.trim(),
  ]);
  const { text, pages } = await printed('broker', own);
  expect(text).toContain('In another currency, and not in these figures: Abroad (EUR 12.50).');
  for (const one of ['Ελληνικά и русский', 'Đặng Ngọc Ưu', 'fine CO']) expect(text).toContain(one);
  // However long the names are, the foot of each page has the reader, the date and the page number.
  pages.forEach((one, at) => expect(one).toMatch(foot(at, pages)));
  expect(pages.every((one) => one.includes('A bakery that was sold again that was sol… · Marcus Oyelaran'))).toBe(true);
  expect(text).toContain('9,999,999,999,999,999.9999');
  expect(pages.filter((one) => /Why Amount/.test(one)).length).toBeGreaterThan(2);
  expect(text).toContain('81 more, in the workbook');
});

const noted = async (name: string) => {
  const [found] = await service.sql<{ count: number }>(
    `select count(*)::int as count from audit_records where action = 'report.download' and user_id = $1`,
    [service.demo.people[name as keyof typeof service.demo.people].user_id],
  );
  return found!.count;
};

test('a person gets two reports at once; further requests get 503, and only delivered reports are audited', async () => {
  const before = await noted('seller');
  const files = await Promise.all(Array.from({ length: 5 }, () => download(service, as('seller'), deal, 'pdf')));
  const given = files.filter(({ status }) => status === 200);
  const refused = files.filter(({ status }) => status === 503);
  expect([given.length + refused.length, refused.length > 0, given.length > 1]).toEqual([5, true, true]);
  expect(refused.every(({ headers }) => Number(headers.get('retry-after')) > 0)).toBe(true);
  expect((await noted('seller')) - before).toBe(given.length);
});

test('if no process can be started, the report fails and the service keeps running', async () => {
  const faults: unknown[] = [];
  const record = (error: unknown) => void faults.push(error);
  process.on('uncaughtExceptionMonitor', record).on('uncaughtException', record).on('unhandledRejection', record);
  const { execPath } = process;
  await endWriters();
  await changeAll(service);
  process.execPath = '/no/such/program';
  try {
    expect((await download(service, as('broker'), deal, 'pdf')).status).toBe(500);
    expect((await download(service, as('broker'), nowhere, 'pdf')).status).toBe(404);
  } finally {
    process.execPath = execPath;
    process.off('uncaughtExceptionMonitor', record).off('uncaughtException', record).off('unhandledRejection', record);
  }
  expect(faults).toEqual([]);
  expect((await download(service, as('broker'), deal, 'pdf')).status).toBe(200);
});

test('if a report cannot be written, the log has the place of the error and no contents of the report', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'dealkeep-fault-'));
  const { execPath } = process;
  try {
    const [program, preloaded] = ['node', 'fault.mjs'].map((name) => join(directory, name)) as [string, string];
    // The stack of an error keeps the message that the error had when the stack was first read.
    await writeFile(
      preloaded,
      `Intl.Segmenter = function () {
        const error = new RangeError('Marlow Heights at 994807.91');
        throw error.stack && Object.assign(error, { message: 'told otherwise' });
      };`,
    );
    await writeFile(program, `#!/bin/sh\nexec '${execPath}' --import '${preloaded}' "$@"\n`, { mode: 0o755 });
    await endWriters();
    await changeAll(service);
    process.execPath = program;
    const { status, bytes } = await download(service, as('broker'), deal, 'pdf');
    expect(status).toBe(500);
    const log = service.log.join('\n');
    expect(log).toMatch(/A report could not be written: RangeError.*pdf-layout\.ts/);
    for (const told of [log, bytes.toString()]) expect(/Marlow Heights at|994807/.test(told)).toBe(false);
    process.execPath = execPath;
    expect((await download(service, as('broker'), deal, 'pdf')).status).toBe(200);
  } finally {
    process.execPath = execPath;
    await rm(directory, { recursive: true, force: true });
  }
});
