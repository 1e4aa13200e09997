/**
 * Who sees the figures computed from a deal's books, the same on pages, in tools and in reports: docs/visibility.md,
 * "What is computed of the books".
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readExpectations } from '../policies/expectations.ts';
import { callers } from '../policies/scene.ts';
import { download, printedOf, sheetsOf } from '../reports/files.ts';
import { as as asKey, issueKey } from '../rest/scene.ts';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import { addToken, caller as toolCaller, insert, insertAll } from '../tools/scene.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { bookFigures, places, uploaders, type Place, type ComputedFigures } from '../policies/book-figures.ts';

const { books: expected } = readExpectations(new URL('../../docs/visibility.md', import.meta.url));
const people = callers.filter((caller) => caller !== 'API key' && caller !== 'nobody');

let web: WebScene;
let deal: string;
/** The figures on the broker's page, which are looked for elsewhere. */
let shown: ComputedFigures;

beforeAll(async () => {
  web = await openScene({ config: { features: { findings: true, financing: true } } });
  ({ deal } = web.scene);
  const { service } = web;
  await service.sql('delete from normalizations where deal_id = $1', [deal]);
  const upload = async (by: keyof typeof uploaders, completed_at: string) => {
    await service.sql('update users set name = $2 where id = $1', [web.scene.people[by], uploaders[by]]);
    await service.sql(`update participants set left_name = $2 where user_id = $1 and status = 'removed'`, [
      web.scene.people[by],
      uploaders[by],
    ]);
    return insert(service, 'accounting_snapshots', {
      deal_id: deal,
      requested_by: web.scene.people[by],
      snapshot_type: 'full',
      status: 'completed',
      completed_at,
    });
  };
  const first = await upload('removed', '2026-01-10T00:00:00Z');
  const second = await upload('seller', '2026-02-10T00:00:00Z');
  const dates = (at: number) => ({
    period_start_date: new Date(Date.UTC(2024, at, 1)).toISOString().slice(0, 10),
    period_end_date: new Date(Date.UTC(2024, at + 1, 0)).toISOString().slice(0, 10),
  });
  const month = (snapshot_id: string, at: number, more = 0) => ({
    id: crypto.randomUUID(),
    deal_id: deal,
    snapshot_id,
    currency: 'USD',
    period_label: dates(at).period_start_date.slice(0, 7),
    ...dates(at),
    revenue: `${400_123 + at * 1_511 + more}.37`,
    cost_of_goods_sold: `${230_017 + at * 733}.11`,
    owner_compensation: '15000',
    ebitda: `${60_019 + at * 419}.53`,
  });
  await insertAll(service, 'pl_periods', [
    month(first, 23, 7_919),
    ...Array.from({ length: 24 }, (_, at) => month(second, at)),
  ]);
  const customers = (year: number, revenues: Record<string, string>) =>
    Object.entries(revenues).map(([customer_name, revenue_total]) => ({
      id: crypto.randomUUID(),
      deal_id: deal,
      snapshot_id: second,
      currency: 'USD',
      period_start_date: `${year}-01-01`,
      period_end_date: `${year}-12-31`,
      customer_name,
      revenue_total,
    }));
  await insertAll(service, 'customer_revenues', [
    ...customers(2024, { 'Harbor Diner': '611223.17', 'Lost Lantern': '87654.31', 'Quay Bakery': '30000.11' }),
    ...customers(2025, { 'Harbor Diner': '711223.17', 'Quay Bakery': '65432.19', 'QUAY BAKERY LLC': '54321.23' }),
  ]);
  for (const [period_label, adjustment_category, adjustment_amount] of [
    ['FY2024', 'owner_comp', '223456.78'],
    ['FY2025', 'one_time', '12345.67'],
    ['FY1901', 'other', '9876.54'],
  ])
    await insert(service, 'normalizations', { deal_id: deal, period_label, adjustment_category, adjustment_amount });

  const { ask } = await web.as('broker');
  const computed = async () => (await ask(`/deals/${deal}/qoe/computed`)).body as ComputedFigures;
  for (const { kind, key, figures } of (await computed()).contradictions.items) {
    const answer = { owner_pay: 'Her husband was paid, too.', customers_total: 'Small customers are left out.' }[kind];
    if (answer === undefined) continue;
    const at = `/deals/${deal}/qoe/contradictions/${key}`;
    expect((await ask(`${at}/answer`, { status: 'explained', why: answer, figures }, 'PUT')).status).toBe(204);
    const given = (await computed()).contradictions.explained.items.find((one) => one.key === key)!.answer!;
    if (kind === 'owner_pay') await ask(`${at}/release`, { answered_at: given.answered_at }, 'PUT');
  }
  shown = await computed();
});
afterAll(() => web?.close());

/** Everything that a person gets in each of these places, as text. */
async function tells(caller: string): Promise<Record<Place, string>> {
  const person = await web.as(caller);
  const page = async (path: string) => JSON.stringify((await person.ask(path)).body);
  const call = toolCaller(web.service, await addToken(web.service, web.scene.people[caller]!));
  const tool = async (name: string, input: object = { deal_id: deal }) => {
    const { structuredContent, content } = await call(name, { ...input });
    return JSON.stringify([structuredContent, content]);
  };
  const [report, document] = [
    await download(web.service, person, deal, 'xlsx'),
    await download(web.service, person, deal, 'pdf'),
  ];
  expect(document.status).toBe(report.status);
  const sheets = report.status === 200 ? [...(await sheetsOf(report.bytes)).entries()] : [];
  return {
    'the page': await page(`/deals/${deal}/qoe/computed`),
    'the bridge': await page(`/deals/${deal}/qoe/bridge?period_label=FY2025`),
    'the page of offers': await page(`/deals/${deal}/offers/worth`),
    'the first page': await page('/home/pipeline'),
    svc_qoe_pl_periods: await tool('svc_qoe_pl_periods'),
    svc_qoe_customer_concentration: await tool('svc_qoe_customer_concentration'),
    svc_qoe_get: await tool('svc_qoe_get'),
    svc_offers_list: await tool('svc_offers_list'),
    'the report': JSON.stringify(sheets),
    'the document': document.status === 200 ? withNumbers((await printedOf(document.bytes)).text) : '',
  };
}

/** Printed text, followed by the same with its numbers as they are written elsewhere: "−1,234.50" as -1234.50. */
const withNumbers = (text: string): string => `${text} ${text.replaceAll('−', '-').replace(/[+,](?=\d)/g, '')}`;

/** Numbers in a text, as in JSON: quoted or bare. */
const numbersIn = (text: string): number[] =>
  [...text.matchAll(/(?<![\w.-])-?\d+(?:\.\d+)?(?![\w.-])/g)].map(([number]) => Number(number));

/** Whether a text contains a figure: a number, to the cent or as a share to four digits, or words. */
function isIn(text: string, figure: string): boolean {
  if (!/^-?\d+(\.\d+)?$/.test(figure)) return text.includes(JSON.stringify(figure).slice(1, -1));
  // Shares are printed in percent.
  if (Math.abs(Number(figure)) < 10 && text.includes(`${(Number(figure) * 100).toFixed(1)}%`)) return true;
  const [value, nearby] = [Number(figure), Math.abs(Number(figure)) < 10 ? 0.000_051 : 0.006];
  return numbersIn(text).some((number) => Math.abs(number - value) <= nearby);
}

describe('figures computed from the books', () => {
  test('have a row each and a cell for each caller in docs/visibility.md', () => {
    expect(new Set(expected.map(({ record }) => record))).toEqual(new Set(Object.keys(bookFigures)));
    expect([...new Set(expected.map(({ caller }) => caller))]).toEqual([...callers]);
    for (const { caller, may } of expected) if (!people.some((one) => one === caller)) expect(may).toEqual([]);
    // Equal figures could not be told apart.
    const values = Object.values(bookFigures).map(({ of }) => of(shown));
    for (const value of values) expect(value).toEqual(expect.stringMatching(/./));
    expect(new Set(values).size).toBe(values.length);
  });

  test.each(people)('are shown to the %s on every page, tool and report alike', async (caller) => {
    const byPlace = await tells(caller);
    const found = Object.entries(bookFigures).map(([row, { of }]) => [
      row,
      places.filter((place) => isIn(byPlace[place], of(shown))),
    ]);
    const may = new Set(
      expected.filter((one) => one.caller === caller && one.may.includes('sees')).map(({ record }) => record),
    );
    expect(found).toEqual(
      Object.entries(bookFigures).map(([row, { shownIn: by }]) => [
        row,
        may.has(row)
          ? places.filter((place) => by.includes(place) && (place !== 'the first page' || caller === 'broker'))
          : [],
      ]),
    );
  });

  test('are not returned without a session or to an API key', async () => {
    const own = { id: web.scene.brokerage, admin: web.scene.people['admin']! };
    const key = await issueKey(web.service, own, { scopes: keyScopes });
    const rest = asKey(key, web.service.restUrl);
    const headers = { Authorization: `Bearer ${key.token}` };
    for (const path of ['qoe/computed', 'qoe/bridge', 'offers/worth', 'report.xlsx', 'report.pdf'])
      for (const request of [{}, { headers }])
        expect((await fetch(`${web.service.origin}/api/web/deals/${deal}/${path}`, request)).status).toBe(401);
    await expect(toolCaller(web.service, key)('svc_qoe_get', { deal_id: deal })).rejects.toThrow('401');
    // A key can read the rows themselves, but not the figures computed from them.
    let rows = '';
    for (const path of ['periods', 'customers', 'normalizations']) {
      const { status, body } = await rest('GET', `/deals/${deal}/qoe/${path}`);
      expect([path, status]).toEqual([path, 200]);
      rows += JSON.stringify(body);
    }
    expect(rows).toContain('711223.17');
    expect(Object.entries(bookFigures).filter(([, { of }]) => isIn(rows, of(shown)))).toEqual([]);
  });
});
