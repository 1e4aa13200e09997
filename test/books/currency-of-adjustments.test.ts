/** Adjustments count only in the currency that they were recorded in, wherever they are shown. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { download, printedOf, rowOf, sheetsOf } from '../reports/files.ts';
import { asking } from '../tools/ask.ts';
import { addToken, insert } from '../tools/scene.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { uploadTo } from './uploads.ts';

let web: WebScene;
let deal: string;
let tools: ReturnType<typeof asking>;

const year = (currency: string, revenue: number, ebitda: number) =>
  `period,currency,revenue,ebitda\nFY2025,${currency},${revenue},${ebitda}\n`;
const ask = async (path: string) => (await (await web.as('broker')).ask(`/deals/${deal}/qoe${path}`)).body;
async function record(adjustment_amount: string) {
  const given = { period_label: 'FY2025', adjustment_category: 'other', adjustment_amount, rationale: null };
  const { status } = await (await web.as('broker')).ask(`/deals/${deal}/qoe/normalizations`, given);
  expect(status).toBe(201);
}

beforeAll(async () => {
  web = await openScene();
  ({ deal } = web.scene);
  tools = asking(web.service, await addToken(web.service, web.scene.people['broker']!));
  await web.service.sql('delete from normalizations where deal_id = $1', [deal]);
  const upload = uploadTo(web, deal);
  await upload(year('USD', 1000, 200));
  await record('1000');
  // The year is uploaded again, in euros.
  await upload(year('EUR', 900, 180));
  await record('50');
});
afterAll(() => web?.close());

test('an adjustment keeps its currency when the books change theirs, and is in no total', async () => {
  const { ebitda_bridge: bridge, latest_adjustments: latest } = await tools.ok('svc_qoe_get', { deal_id: deal });
  // 180 and 50 euros; the 1,000 are dollars.
  expect(bridge).toMatchObject({ period_label: 'FY2025', currency: 'EUR', adjusted_ebitda: '230' });
  expect(latest).toMatchObject([
    { amount: '50', currency: 'EUR' },
    { amount: '1000', currency: 'USD', counts: false },
  ]);
  expect((latest as object[])[0]).not.toHaveProperty('counts');
  expect(await ask('/bridge?period_label=FY2025')).toMatchObject({ currency: 'EUR', adjusted_ebitda: '230' });
  const { items } = await ask('/normalizations');
  expect(items).toMatchObject([
    { adjustment_amount: '50', currency: 'EUR' },
    { adjustment_amount: '1000', currency: 'USD' },
  ]);
});

test('what does not count is a contradiction, and reports name it apart from what counts', async () => {
  const { contradictions } = await ask('/computed');
  expect(contradictions.items.map(({ sentence }: { sentence: string }) => sentence)).toContain(
    '1 adjustment of 1,000 USD counts nowhere: the profit and loss is in EUR.',
  );
  const person = await web.as('broker');
  const sheets = await sheetsOf((await download(web.service, person, deal, 'xlsx')).bytes);
  expect(rowOf(sheets, 'Earnings', 'Adjusted EBITDA')).toContain(230);
  const rows = sheets.get('Adjustments')!;
  const apart = rows.findIndex(([cell]) => cell === 'Recorded in another currency: these count in no figure.');
  expect(rows.slice(4, apart).map(([, , amount]) => amount)).toEqual([50, null]);
  expect(rows.slice(apart + 1)).toEqual([['FY2025', 'Other', 1000, 'USD']]);
  const { text } = await printedOf((await download(web.service, person, deal, 'pdf')).bytes);
  expect(text).toContain('Adjustments recorded in another currency, and in no figures: FY2025 (USD 1,000).');
});

test('an adjustment from before currencies were stored counts as it did, and one without books is in the deal’s', async () => {
  const { service } = web;
  const adjustment = { period_label: 'FY2025', adjustment_category: 'other', adjustment_amount: '7' };
  const old = await insert(service, 'normalizations', { deal_id: deal, ...adjustment });
  await service.sql('update normalizations set currency = null where id = $1', [old]);
  expect(await ask('/bridge?period_label=FY2025')).toMatchObject({ currency: 'EUR', adjusted_ebitda: '237' });
  const [empty] = await service.sql<{ id: string }>(
    `update deals set currency = 'CAD' where id = (select id from deals d
       where not exists (select from pl_periods p where p.deal_id = d.id) limit 1) returning id`,
  );
  const first = await insert(service, 'normalizations', { deal_id: empty!.id, ...adjustment });
  expect(await service.sql('select currency from normalizations where id = $1', [first])).toEqual([
    { currency: 'CAD' },
  ]);
});
