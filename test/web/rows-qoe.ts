/** The lists of the page “Quality of earnings”, and the tools that return the same data. */

import { expect } from 'vitest';
import type { ChecklistRow } from '../../server/domain/diligence/checklist.ts';
import type { CustomerRevenue, PlPeriod } from '../../server/domain/diligence/figures.ts';
import type { Snapshot } from '../../server/domain/diligence/snapshots.ts';
import { sum } from '../../web/src/lib/decimal.ts';
import { formatMoney, formatShare } from '../../web/src/lib/format.ts';
import { isMonth } from '../../web/src/lib/periods.ts';
import { adjustmentCategories, checklistStates, snapshotStates, snapshotTypes } from '../../web/src/lib/states.ts';
import { list, word, type Lines } from './rows-list.ts';
import { connectPerson, type Person } from './rows-person.ts';
import { chartRows, linesOf } from './rows-read.ts';
import type { RichScene } from './rows-scene.ts';

interface Qoe {
  readonly progress: ChecklistRow[];
  readonly recent_accounting_snapshots: Snapshot[];
}

export const checklist = list<ChecklistRow>({
  what: 'the checklist',
  tool: 'svc_qoe_get',
  decidedBy: ['qoe_checklist'],
  kinds: 2,
  shown: async (page) => {
    const card = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Checklist', exact: true }) });
    const shown: Lines[] = [];
    for (const category of await card.locator('section').all()) {
      const name = await category.getAttribute('aria-label');
      const rows = await linesOf(category.getByRole('listitem'));
      shown.push(...rows.map((lines) => [name ?? '', ...lines]));
    }
    return shown;
  },
  facts: ({ category, title, status }) => [category, title, word(checklistStates, status)],
});

export const snapshots = list<Snapshot>({
  what: 'accounting snapshots',
  tool: 'svc_qoe_get',
  differs: 'The tool gives the five that were requested last, the page all of them.',
  most: 5,
  decidedBy: ['accounting_snapshots'],
  kinds: 2,
  shown: (page) => {
    const heading = page.getByRole('heading', { name: 'Uploaded financials', exact: true });
    return linesOf(page.locator('section').filter({ has: heading }).getByRole('listitem'));
  },
  ask: async (person) => (await person.call<Qoe>('svc_qoe_get')).recent_accounting_snapshots,
  facts: ({ snapshot_type, status, completed_at, requested_at }) => [
    word(snapshotTypes, snapshot_type),
    word(snapshotStates, status),
    completed_at ?? requested_at,
  ],
});

/** The monthly periods that the chart draws: for each month, the period of the latest completed snapshot. */
async function latestMonths(person: Person): Promise<PlPeriod[]> {
  const { recent_accounting_snapshots: recent } = await person.call<Qoe>('svc_qoe_get');
  const completed = recent.filter(({ status }) => status === 'completed');
  const inOrder = completed.toSorted((a, b) => b.completed_at!.localeCompare(a.completed_at!)).map(({ id }) => id);
  const place = ({ snapshot_id }: PlPeriod): number => inOrder.indexOf(snapshot_id);
  const all = await person.rows<PlPeriod>('svc_qoe_pl_periods');
  const standing = all.filter((one) => isMonth(one) && place(one) !== -1);
  return standing
    .toSorted((a, b) => place(a) - place(b))
    .filter((one, at, sorted) => at === sorted.findIndex((two) => two.period_start_date === one.period_start_date));
}

export const months = list<PlPeriod>({
  what: 'months of profit and loss',
  tool: 'svc_qoe_pl_periods',
  differs:
    'The tool gives every period of every snapshot; the page draws each month once, from the snapshot completed last that has it.',
  decidedBy: ['pl_periods'],
  kinds: 2,
  shown: (page) => chartRows(page, /^Revenue and EBITDA/),
  ask: latestMonths,
  facts: ({ period_label, revenue, ebitda, currency }) => [
    period_label,
    formatMoney(revenue, currency),
    ebitda === null ? '–' : formatMoney(ebitda, currency),
  ],
});

type CustomerIn = CustomerRevenue & { readonly period: string; readonly together: string };

/** Adds to each customer the cumulated share up to and including it. */
const cumulated = (rows: readonly CustomerRevenue[]) =>
  rows.map((one, at) => ({
    ...one,
    together: sum(rows.slice(0, at + 1).map(({ revenue_share: share }) => share ?? '0')),
  }));

export const customers = list<CustomerIn>({
  what: 'revenue by customer, period by period',
  tool: 'svc_qoe_customer_concentration',
  decidedBy: ['customer_revenues'],
  kinds: 2,
  shown: async (page) => {
    const read = async (period: string): Promise<Lines[]> =>
      (await chartRows(page, /^Customer concentration/)).map((lines) => [period, ...lines]);
    const shown = await read('the latest');
    const picker = page.getByLabel('Period of the concentration');
    for (const option of await picker.locator('option').all()) {
      const period = (await option.getAttribute('value')) ?? '';
      await picker.selectOption(period);
      // The picker shows the period whose rows are shown, not the one that is being loaded.
      await expect.poll(() => picker.inputValue()).toBe(period);
      shown.push(...(await read(period)));
    }
    return shown;
  },
  ask: async (person) => {
    const latest = await person.rows<CustomerRevenue>('svc_qoe_customer_concentration');
    const asked = person.customerPeriods.map(async (period) => {
      const input = { deal_id: person.deal, as_of_period: period };
      const rows = await person.rows<CustomerRevenue>('svc_qoe_customer_concentration', input);
      return cumulated(rows).map((one) => ({ ...one, period: one.period_end_date }));
    });
    return [
      ...cumulated(latest).map((one) => ({ ...one, period: 'the latest' })),
      ...(await Promise.all(asked)).flat(),
    ];
  },
  facts: ({ period, customer_name, revenue_total, revenue_share, together, currency }) => [
    period,
    customer_name,
    formatMoney(revenue_total, currency),
    formatShare(revenue_share ?? '0'),
    formatShare(together),
  ],
});

interface Adjustment {
  readonly period_label: string;
  readonly adjustment_category: string;
  readonly adjustment_amount: string;
  readonly rationale?: string;
}

const writing = 'svc_qoe_normalization_create';
const added: Readonly<Record<string, Adjustment>> = {
  broker: adjustment('TTM', 'one_time', '-12500.5'),
  'exclusive buyer': adjustment('FY2025', 'related_party', '9007199254740993.0001'),
};

function adjustment(period_label: string, adjustment_category: string, adjustment_amount: string): Adjustment {
  return {
    period_label,
    adjustment_category,
    adjustment_amount,
    rationale: `${adjustment_category} of ${period_label}`,
  };
}

/** Adds normalizations with the tools of the broker and of the exclusive buyer. */
export async function addNormalizations(web: RichScene): Promise<void> {
  await web.service.sql('delete from deal_tool_stops');
  for (const [caller, input] of Object.entries(added)) {
    const person = await connectPerson(web, caller, { writes: [writing] });
    await person.call(writing, { deal_id: web.scene.deal, ...input });
    await person.close();
  }
}

/** The normalization of the scene itself, besides those that are added with tools. */
const ofTheScene: Adjustment = {
  period_label: 'FY2025',
  adjustment_category: 'owner_comp',
  adjustment_amount: '1',
};

export const normalizations = list<Adjustment>({
  what: 'normalizations',
  tool: writing,
  differs: 'No tool lists them: whoever is in the workspace, as svc_qoe_get tells, finds what the tool has taken.',
  decidedBy: ['normalizations'],
  kinds: 2,
  shown: async (page) => {
    const shown: Lines[] = [];
    for (const period of await page.getByRole('region', { name: /^Add-backs and adjustments of / }).all()) {
      const [[name = ''] = []] = await linesOf(period.getByRole('heading'));
      for (const lines of await linesOf(period.getByRole('listitem'))) shown.push([name, ...lines]);
    }
    return shown;
  },
  ask: async (person) => {
    const { progress } = await person.call<Qoe>('svc_qoe_get');
    return progress.length > 0 ? [ofTheScene, ...Object.values(added)] : [];
  },
  facts: ({ period_label, adjustment_category, adjustment_amount, rationale }) => [
    period_label,
    word(adjustmentCategories, adjustment_category),
    rationale ?? null,
    formatMoney(adjustment_amount, 'USD', { signed: true }),
  ],
});
