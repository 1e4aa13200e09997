/** The report as a workbook: what each reader finds in it, and that its formulas compute the figures of the page. */

import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Spreadsheet } from '../books/spreadsheet.ts';
import { openService, type TestService } from '../harness.ts';
import { addPerson, insert, insertAll } from '../tools/scene.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { download, office, recalculated, rowOf, sheetsOf, type Sheets, type Value } from './files.ts';

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

const workbookOf = async (name: string, of = deal): Promise<Sheets> => {
  const { status, bytes } = await download(service, as(name), of, 'xlsx');
  expect(status).toBe(200);
  return sheetsOf(bytes);
};
const page = async (name: string, path: string, of = deal) => (await as(name).ask(`/deals/${of}${path}`)).body;

interface Earned {
  label: string;
  amounts: Record<string, string | null>;
  [figure: string]: unknown;
}

const lines: Readonly<Record<string, (one: Earned) => unknown>> = {
  Revenue: ({ amounts }) => amounts.revenue,
  'Gross profit': ({ amounts }) => amounts.gross_profit,
  'Reported EBITDA': (one) => one.reported_ebitda,
  'Adjusted EBITDA': (one) => one.adjusted_ebitda,
  SDE: (one) => one.sde,
  'Gross margin': (one) => one.gross_margin,
  'EBITDA margin': (one) => one.ebitda_margin,
  'Adjusted EBITDA margin': (one) => one.adjusted_ebitda_margin,
  'Revenue growth': (one) => one.revenue_growth,
  'EBITDA growth': (one) => one.ebitda_growth,
};

/** Rounds as people read figures: amounts to the cent, shares to six digits. */
const rounded = (value: unknown): string | null =>
  value === null || value === undefined || value === ''
    ? null
    : Number(value).toFixed(Math.abs(Number(value)) < 10 ? 6 : 2);

/** Asserts that the workbook has each figure of the page. */
async function expectSame(sheets: Sheets, name: string, of = deal): Promise<void> {
  const { earnings, concentration, bridge } = await page(name, '/qoe/computed', of);
  const [heads] = (sheets.get('Earnings') ?? []).filter((row) => row.includes(earnings[0].label));
  expect(heads?.slice(1)).toEqual(earnings.map(({ label }: Earned) => label));
  for (const [line, figure] of Object.entries(lines))
    expect([line, ...rowOf(sheets, 'Earnings', line).slice(1).map(rounded)]).toEqual([
      line,
      ...earnings.map((one: Earned) => rounded(figure(one))),
    ]);

  const customer = (first: string) => rounded(rowOf(sheets, 'Customers', first)[1]);
  expect(customer('All uploaded customers')).toBe(rounded(concentration.total));
  expect(customer('Revenue for the same dates')).toBe(rounded(concentration.revenue));
  expect(customer('HHI of the uploaded customers, up to 10,000')).toBe(rounded(concentration.hhi));
  expect(customer('Reported EBITDA without the largest, at gross margin')).toBe(
    rounded(concentration.ebitda_without_largest),
  );
  expect(sheets.get('Customers')?.flat()).toContain(
    `In ${concentration.currency}, from the latest upload with customers.`,
  );
  const { items } = await page(name, '/qoe/customers', of);
  for (const { customer_name, revenue_total, revenue_share } of items) {
    const [, revenue, share] = rowOf(sheets, 'Customers', customer_name);
    expect([customer_name, rounded(revenue), rounded(share)]).toEqual([
      customer_name,
      rounded(revenue_total),
      rounded(revenue_share),
    ]);
  }
  if (bridge)
    for (const [kind, label] of [
      ['grown', 'Grown'],
      ['new', 'New'],
      ['shrunk', 'Shrunk'],
      ['lost', 'Lost'],
    ] as const)
      expect([label, rounded(rowOf(sheets, 'Customer changes', label)[3])]).toEqual([
        label,
        rounded(bridge[kind].difference),
      ]);
}

const parts = [
  ['cash_at_close', 'cash at close'],
  ['seller_note', 'seller note'],
  ['earnout', 'earn-out'],
  ['rollover_equity', 'rollover equity'],
  ['unsaid', 'not stated'],
] as const;

interface Worth {
  offer_id: string;
  multiples: Record<string, string | null> | null;
  coverage: { debt: string } | null;
  money: { parts: { part: string; share: string }[]; beyond_price: string | null } | null;
  paid_for: { add_backs: { id: string; worth: string; price_without: string }[] } | null;
  sba: { id: string; answer: { why?: string; ask?: string } }[] | null;
}

/** Returns the rows of the sheet of offers for each offer, by the names of the rows. */
function offersIn(sheets: Sheets): ReadonlyMap<string, Value>[] {
  const rows = sheets.get('Offers') ?? [];
  const end = rows.findIndex(([first]) => first === 'The two highest side by side');
  const told = rows.slice(4, end < 0 ? undefined : end);
  const offers = rows[3]?.filter((buyer) => buyer !== null).length ?? 0;
  return Array.from({ length: offers }, (_, at) => new Map(told.map((row) => [String(row[0]), row[1 + at] ?? null])));
}

async function expectSameOffers(sheets: Sheets, name: string): Promise<void> {
  const [{ items }, { basis, offers }] = await Promise.all([page(name, '/offers'), page(name, '/offers/worth')]);
  const told = offersIn(sheets).map((one) => [
    ...[
      'Price',
      'Price to adjusted EBITDA',
      'Price to reported EBITDA',
      'Price to SDE',
      'Price to revenue',
      'Debt',
    ].map((label) => rounded(one.get(label))),
    ...parts.map(([, label]) => rounded(one.get(`Share: ${label}`))),
    rounded(one.get('Parts beyond the price')),
  ]);
  const expected = items.map(({ id, payload }: { id: string; payload: { purchase_price: string } }) => {
    const { multiples, coverage, money } = offers.find(({ offer_id }: Worth) => offer_id === id) as Worth;
    return [
      ...[
        payload.purchase_price,
        multiples?.adjusted_ebitda,
        multiples?.reported_ebitda,
        multiples?.sde,
        multiples?.revenue,
        coverage?.debt,
      ].map(rounded),
      ...parts.map(([part]) => rounded(money && (money.parts.find((one) => one.part === part)?.share ?? '0'))),
      rounded(money && (money.beyond_price ?? '0')),
    ];
  });
  const byPrice = (a: (string | null)[], b: (string | null)[]) => Number(b[0]) - Number(a[0]);
  expect(told.toSorted(byPrice)).toEqual(expected.toSorted(byPrice));
  expect(told.length).toBeGreaterThan(0);
  const paid = (basis?.add_backs ?? []).flatMap(({ id }: { id: string }) =>
    offers.flatMap(({ paid_for }: Worth) => {
      const one = paid_for?.add_backs.find((each) => each.id === id);
      return one ? [rounded(one.worth), rounded(one.price_without)] : [];
    }),
  );
  const addBacks = (sheets.get('Add-backs') ?? []).slice(5, -1).flatMap((row) => row.slice(3).map(rounded));
  expect(addBacks.toSorted()).toEqual(paid.toSorted());
  expect(paid.length > 0).toBe(basis !== null);
  const answered = (sheets.get('SBA rules') ?? []).slice(4).map((row) => row[2]);
  const said = offers.flatMap(({ sba }: Worth) => (sba ?? []).map(({ answer }) => answer.why ?? answer.ask));
  expect(said.length).toBeGreaterThan(0);
  expect(answered.toSorted()).toEqual(said.toSorted());
}

describe('the workbook', () => {
  test.each(['broker', 'seller', 'buyer'])('shows the %s the figures of the pages', async (name) => {
    const sheets = await workbookOf(name);
    await expectSame(sheets, name);
    await expectSameOffers(sheets, name);
  });

  test('has contradictions with their sentences and answers only for people who see them on the page', async () => {
    await insert(service, 'normalizations', {
      deal_id: deal,
      period_label: 'FY1901',
      adjustment_category: 'other',
      adjustment_amount: '12.34',
      rationale: '=HYPERLINK("https://attacker.example","click")',
    });
    const sheets = await Promise.all(['broker', 'seller', 'buyer'].map((name) => workbookOf(name)));
    const { contradictions } = await page('broker', '/qoe/computed');
    expect(contradictions.count).toBeGreaterThan(0);
    for (const told of sheets.slice(0, 2))
      expect(told.get('Contradictions')?.map(([sentence]) => sentence)).toEqual(
        expect.arrayContaining(contradictions.items.map(({ sentence }: { sentence: string }) => sentence)),
      );
    expect(sheets[2]?.has('Contradictions')).toBe(false);
    // An answered contradiction has its answer; the buyer sees both only after the release.
    const [one] = contradictions.items;
    const at = `/deals/${deal}/qoe/contradictions/${one.key}`;
    const given = { status: 'explained', why: '=1+1 was typed', figures: one.figures };
    expect((await as('broker').ask(`${at}/answer`, given, 'PUT')).status).toBe(204);
    const answers = async (name: string) =>
      (await workbookOf(name)).get('Contradictions')?.filter(([sentence]) => sentence === one.sentence);
    const said = [
      [one.sentence, null, expect.stringMatching(/^Explained by .+ on 20\d\d-\d\d-\d\d: =1\+1 was typed$/)],
    ];
    for (const name of ['broker', 'seller']) expect(await answers(name)).toMatchObject(said);
    expect(await answers('buyer')).toBeUndefined();
    const { answered_at } = (await page('broker', '/qoe/computed')).contradictions.explained.items[0].answer;
    expect((await as('broker').ask(`${at}/release`, { answered_at }, 'PUT')).status).toBe(204);
    expect(await answers('buyer')).toMatchObject(said);
    expect((await as('broker').ask(`${at}/answer`, undefined, 'DELETE')).status).toBe(204);
    await service.sql('delete from normalizations where period_label = $1', ['FY1901']);
  });

  test('has only the own offer outside the QoE workspace, and is not found for people not on the deal', async () => {
    const sheets = await workbookOf('other_buyer');
    expect([...sheets.keys()].filter((name) => name !== 'Offers')).toEqual(['Summary', 'SBA rules']);
    for (const method of ['GET', 'HEAD']) {
      const [hidden, missing] = await Promise.all([
        download(service, as('outsider'), deal, 'xlsx', method),
        download(service, as('outsider'), nowhere, 'xlsx', method),
      ]);
      expect([hidden.status, hidden.bytes.toString()]).toEqual([404, missing.bytes.toString()]);
    }
  });

  test('names the uploader of each upload, and the time zone', async () => {
    const uploads = (await workbookOf('broker')).get('Uploads')?.slice(4) ?? [];
    expect(uploads.length).toBeGreaterThan(0);
    for (const [, , , , by] of uploads) expect(by).toMatch(/\w/);
    expect(rowOf(await workbookOf('broker'), 'Summary', 'Dates are in')[1]).toBe('UTC');
  });

  test('is audited when downloaded, and sent as an attachment that is not cached', async () => {
    const records = () =>
      service.sql<{ details: unknown }>(`select details from audit_records where action = 'report.download'`);
    const before = (await records()).length;
    const { headers } = await download(service, as('seller'), deal, 'xlsx');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('content-disposition')).toMatch(
      /^attachment; filename="Quality of earnings .*\.xlsx"; filename\*=UTF-8''/,
    );
    expect(await records()).toHaveLength(before + 1);
    expect((await records()).at(-1)?.details).toEqual({ format: 'xlsx' });
    await download(service, as('seller'), deal, 'xlsx', 'HEAD');
    expect(await records()).toHaveLength(before + 1);
  });
});

describe('text entered by people', () => {
  const names = [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    'constructor',
    '__proto__',
    '<v>1</v>&amp;',
    '🎉 Ünï ☃ 中文 שלום',
    'x'.repeat(200),
    "it's $& $1 ]]>",
    '_x003D_1+1',
    'bell \u0007 and \uFFFF',
  ];

  test('stays text in the workbook, whatever it begins with', async () => {
    const own = service.demo.deals.draft;
    const snapshot_id = await insert(service, 'accounting_snapshots', {
      deal_id: own,
      snapshot_type: 'full',
      status: 'completed',
      completed_at: '2091-01-01T00:00:00Z',
      source_name: '=cmd|calc',
    });
    const dates = { period_start_date: '2090-01-01', period_end_date: '2090-12-31', currency: 'USD' };
    await insertAll(
      service,
      'customer_revenues',
      names.map((customer_name, place) => ({
        id: crypto.randomUUID(),
        deal_id: own,
        snapshot_id,
        customer_name,
        ...dates,
        revenue_total: String(1000 - place),
      })),
    );
    const { bytes } = await download(service, as('broker'), own, 'xlsx');
    const sheets = await sheetsOf(bytes);
    const [heads] = [...(sheets.get('Customers') ?? []).entries()].find(([, [first]]) => first === 'Customer') ?? [0];
    const told = sheets
      .get('Customers')
      ?.slice(heads + 1)
      .map(([name]) => name);
    // Characters that XML does not allow are left out.
    const kept = (name: string) => name.replaceAll('\u0007', '').replaceAll('\uFFFF', '').trim();
    expect(told?.map((name) => String(name).trim())).toEqual(names.map(kept));
    const files = unzipSync(new Uint8Array(bytes));
    for (const [name, content] of Object.entries(files))
      if (name.startsWith('xl/worksheets/sheet'))
        for (const [, body = ''] of strFromU8(content).matchAll(/<f>([^<]*)<\/f>/g))
          expect(body).not.toMatch(/1\+1|cmd|HYPERLINK/);
  });
});

describe('the printed workbook', () => {
  /** Returns the styles and the sheets of the workbook as XML. */
  const partsOf = async (of: string) => {
    const { bytes } = await download(service, as('broker'), of, 'xlsx');
    const files = unzipSync(new Uint8Array(bytes));
    const sheets = [...(await sheetsOf(bytes)).keys()];
    const part = (name: string) => strFromU8(files[`xl/${name}.xml`]!);
    return { styles: part('styles'), sheet: (name: string) => part(`worksheets/sheet${sheets.indexOf(name) + 1}`) };
  };
  /** Whether a cell wraps text that is longer than the cell. */
  const wraps = (sheet: string, styles: string, cell: string) => {
    const [, style = ''] = new RegExp(`<c r="${cell}"[^>]* s="(\\d+)"`).exec(sheet) ?? [];
    const [, formats = ''] = /<cellXfs[^>]*>(.*)<\/cellXfs>/s.exec(styles) ?? [];
    return formats.split('<xf ')[Number(style) + 1]?.includes('wrapText="1"');
  };

  test('wraps the title and sentence of a sheet only if it is several pages wide, and fits its columns', async () => {
    const own = service.demo.deals.draft;
    const one = await partsOf(deal);
    expect(one.sheet('Offers')).toContain('fitToWidth="1"');
    expect([wraps(one.sheet('Offers'), one.styles, 'A1'), wraps(one.sheet('Offers'), one.styles, 'A2')]).toEqual([
      false,
      false,
    ]);
    for (let at = 0; at < 10; at += 1) {
      const buyer_user_id = await addPerson(service, `Buyer ${at}`);
      const participant_id = await insert(service, 'participants', {
        deal_id: own,
        user_id: buyer_user_id,
        role: 'buyer',
        status: 'active',
      });
      const purchase_price = at === 9 ? '250000000000.25' : String(1_000_000 + at);
      const payload = JSON.stringify({ currency: 'USD', purchase_price });
      await insert(service, 'offers', { deal_id: own, participant_id, buyer_user_id, revision_number: 1, payload });
    }
    const several = await partsOf(own);
    expect(several.sheet('Offers')).toContain('fitToWidth="2"');
    for (const cell of ['A1', 'A2'])
      expect([cell, wraps(several.sheet('Offers'), several.styles, cell)]).toEqual([cell, true]);
    // An amount that is wider than its column is shown as "###".
    const widths = [...several.sheet('Offers').matchAll(/<col [^>]*width="([\d.]+)"/g)].map(([, width]) =>
      Number(width),
    );
    const prices = rowOf(await workbookOf('broker', own), 'Offers', 'Price').slice(1);
    expect(Math.max(...prices.map(Number))).toBe(250_000_000_000.25);
    const shown = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2 });
    prices.forEach((price, at) => expect(widths[1 + at]).toBeGreaterThan(shown.format(Number(price)).length + 1));
  });

  test("has the brokerage's name in the footer, truncated to the room beside the sheet's name", async () => {
    const [{ id, name } = { id: '', name: '' }] = await service.sql<{ id: string; name: string }>(
      'select b.id, b.name from brokerages b join deals d on d.organization_id = b.id where d.id = $1',
      [deal],
    );
    const rename = (to: string) => service.sql('update brokerages set name = $2 where id = $1', [id, to]);
    const foot = async () => {
      const { sheet } = await partsOf(deal);
      return ['Summary', 'Earnings'].map((one) => /<oddFooter>(.*)<\/oddFooter>/.exec(sheet(one))?.[1]);
    };
    const day = String.raw`20\d\d-\d\d-\d\d`;
    await rename('R&D "Sales"');
    for (const one of await foot())
      expect(one).toMatch(new RegExp(`^&amp;LR&amp;&amp;D "Sales" · ${day}&amp;C&amp;A&amp;R&amp;P of &amp;N$`));
    await rename('Brokers and '.repeat(8).trim());
    expect(await foot()).toEqual([
      expect.stringMatching(new RegExp(`^&amp;LBrokers and Brokers and Broke… · ${day}&`)),
      expect.stringMatching(new RegExp(`^&amp;LBrokers and Brokers and Brokers and Brokers… · ${day}&`)),
    ]);
    await rename(name);
  });
});

describe.skipIf(!office)('LibreOffice', () => {
  test('recalculates a changed workbook to the figures of the page for equally changed books', async () => {
    const { bytes } = await download(service, as('broker'), deal, 'xlsx');
    const sheets = await sheetsOf(bytes);
    const { basis } = await page('broker', '/offers/worth');
    const [months, adjustments] = [sheets.get('Periods') ?? [], sheets.get('Adjustments') ?? []];
    const [month, , , , revenue] = months.at(-1) ?? [];
    const its = adjustments.findIndex(([period]) => period === basis.period);
    const [period, , addBack, why] = adjustments[its] ?? [];
    const changes = [
      { sheet: 'Periods', cell: `E${months.length}`, to: Number(revenue) + 1000.25 },
      { sheet: 'Adjustments', cell: `C${its + 1}`, to: Number(addBack) - 77.31 },
    ];
    // Without the stored results of formulas, every figure read later was recalculated.
    const files = Object.entries(unzipSync(new Uint8Array(bytes))).map(([name, content]): [string, Uint8Array] => {
      const sheet = [...sheets.keys()].find((_, at) => name === `xl/worksheets/sheet${at + 1}.xml`);
      if (sheet === undefined) return [name, content];
      const bare = strFromU8(content).replace(/(<\/f>)<v>[^<]*<\/v>/g, '$1');
      const other = changes
        .filter((one) => one.sheet === sheet)
        .reduce(
          (xml, { cell, to }) =>
            xml.replace(new RegExp(`(<c r="${cell}"[^>]*><v>)[^<]*`), (_, start: string) => `${start}${to}`),
          bare,
        );
      return [name, strToU8(other)];
    });
    const computed = await sheetsOf(await recalculated(Buffer.from(zipSync(Object.fromEntries(files))), 'xlsx'));

    const figures = async () => {
      const { earnings } = (await page('broker', '/qoe/computed')) as { earnings: Earned[] };
      const of = earnings.find(({ label }) => label === basis.period);
      return [of?.amounts['revenue'], of?.['adjusted_ebitda']].map(Number);
    };
    const before = await figures();
    // Computed figures are cached by upload and adjustment, which never change; with another time or id they count as
    // new ones.
    const change = async (sign: 1 | -1) => {
      await service.sql(
        `with changed as (
           update pl_periods set revenue = revenue + $1::numeric where deal_id = $2 and period_label = $3 returning snapshot_id
         )
         update accounting_snapshots set completed_at = completed_at + interval '1 microsecond' where id in (select snapshot_id from changed)`,
        [sign * 1000.25, deal, month],
      );
      await service.sql(
        `update normalizations set id = gen_random_uuid(), adjustment_amount = adjustment_amount + $1::numeric
         where deal_id = $2 and period_label = $3 and rationale = $4`,
        [sign * -77.31, deal, period, why],
      );
    };
    await change(1);
    const after = await figures();
    expect(after.map((one, at) => (one - (before[at] ?? 0)).toFixed(2))).toEqual(['1000.25', '-77.31']);
    await expectSame(computed, 'broker');
    await expectSameOffers(computed, 'broker');
    await change(-1);
  });

  test("computes the spreadsheet of the demo's books like the tests of the books", async () => {
    const csv = await readFile(new URL('../books/demo-books.csv', import.meta.url));
    const sheet = new Spreadsheet(csv.toString());
    const [source, computed] = [csv, await recalculated(csv, 'csv')].map(
      (file) => parse(file, { relax_column_count: true, skip_empty_lines: false }) as string[][],
    );
    const formulas = (source ?? []).flatMap((row, at) =>
      row.flatMap((cell, column) => (cell.startsWith('=') ? [{ at, column }] : [])),
    );
    expect(formulas.length).toBeGreaterThan(400);
    const six = (value: string | undefined) => Number(value).toFixed(6);
    expect(formulas.map(({ at, column }) => six(computed?.[at]?.[column]))).toEqual(
      formulas.map(({ at, column }) => six(sheet.value(at, column))),
    );
  });
});
