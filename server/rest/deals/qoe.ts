/**
 * The quality of earnings of a deal: checklist, accounting snapshots and their figures, adjustments. Snapshots can be
 * delivered too.
 */

import type { Context } from 'hono';
import { z } from 'zod';
import { onOneLine } from '../../domain/characters.ts';
import { checklistOfDeal, checklistStatuses } from '../../domain/diligence/checklist.ts';
import { customersOfDeal, periodsOfDeal } from '../../domain/diligence/figures.ts';
import { adjustmentCategories, normalizationsOfDeal } from '../../domain/diligence/normalizations.ts';
import {
  deliverSnapshot,
  mostSnapshotRows,
  plAmounts,
  snapshotsOfDeal,
  snapshotStatuses,
  snapshotTypes,
  type DeliveredBooks,
} from '../../domain/diligence/snapshots.ts';
import { lengths } from '../../domain/lengths.ts';
import { keepsDirection } from '../../domain/people/names.ts';
import { requireVisible } from '../../domain/visibility/require-visible.ts';
import { originOf } from '../../http/origin.ts';
import { resourceOf } from '../../domain/events/resources.ts';
import type { Services } from '../../services.ts';
import { readBody } from '../body.ts';
import type { Callers } from '../caller.ts';
import { amount, currency, date, day, decimal, id, lineUpTo, time } from '../fields.ts';
import { replayed, type Operation } from '../operation.ts';
import { dayParameter, idParameter, textParameter } from '../parameters.ts';
import { idempotencyKey, openWrites } from '../writes.ts';
import { asked, dealInPath, dealResources, notFound, withinDealInPath } from './records.ts';
import { refusedOn } from './refusals.ts';

const checklistItem = z
  .object({
    id,
    category: z.string().meta({ examples: ['revenue'] }),
    title: z.string().meta({ examples: ['Proof of cash'] }),
    status: z.enum(checklistStatuses),
    completedAt: time.nullable(),
  })
  .meta({ id: 'ChecklistItem', description: 'What is to be verified in the books.' });

export const snapshot = z
  .object({
    id,
    snapshotType: z.enum(snapshotTypes),
    status: z.enum(snapshotStatuses),
    sourceName: z
      .string()
      .nullable()
      .meta({ description: 'The file or the system that it came from.', examples: ['QuickBooks'] }),
    requestedAt: time,
    completedAt: time.nullable(),
    failure: z
      .string()
      .nullable()
      .meta({ description: 'Why it failed.', examples: ['Row 7: The amount is missing.'] }),
  })
  .meta({ id: 'AccountingSnapshot', description: 'The books of the business as they were delivered at one time.' });

const plPeriod = z
  .object({
    id,
    snapshotId: id,
    periodLabel: z.string().meta({ examples: ['2026-01'] }),
    periodStartDate: date,
    periodEndDate: date,
    currency,
    revenue: decimal,
    costOfGoodsSold: decimal.nullable(),
    grossProfit: decimal.nullable(),
    operatingExpenses: decimal.nullable(),
    ownerCompensation: decimal.nullable(),
    depreciationAmortization: decimal.nullable(),
    interestExpense: decimal.nullable(),
    taxExpense: decimal.nullable(),
    netIncome: decimal.nullable(),
    ebitda: decimal.nullable(),
  })
  .meta({ id: 'PlPeriod', description: 'Profit and loss of one period in a snapshot.' });

const customerRevenue = z
  .object({
    id,
    snapshotId: id,
    customerName: z.string().meta({ examples: ['Blue Ridge Diner'] }),
    periodStartDate: date,
    periodEndDate: date,
    currency,
    revenueTotal: decimal,
    revenueShare: decimal.nullable().meta({
      description:
        "The customer's share of the revenue of all uploaded customers of the period in its currency, from 0 to 1; outside that range if some customers have credits, and null if credits equal or exceed sales.",
    }),
    rank: z
      .int()
      .min(1)
      .meta({ description: '1 for the largest in its currency; equal totals share a rank.', examples: [1] }),
  })
  .meta({ id: 'CustomerRevenue', description: 'Revenue from one customer in one period.' });

export const normalization = z
  .object({
    id,
    dealId: id,
    periodLabel: z.string().meta({ examples: ['FY2025'] }),
    adjustmentCategory: z.enum(adjustmentCategories),
    adjustmentAmount: decimal,
    currency: currency.nullable().meta({
      description:
        'The currency of the figures when it was recorded; it counts only while they are in it. Null for adjustments recorded before this was stored, which count in any.',
    }),
    rationale: z
      .string()
      .nullable()
      .meta({ examples: ['The owner’s salary is above the market.'] }),
    createdBy: id.nullable().meta({ description: 'Also null for a key without participants:read.' }),
    createdAt: time,
  })
  .meta({ id: 'Normalization', description: 'An adjustment that makes the earnings of the business comparable.' });

/** Maximum size of the books in one delivery, in bytes. */
const largestBooks = 1_048_576;

const inPeriod = {
  periodStartDate: day,
  periodEndDate: day.meta({ description: 'Not before periodStartDate.' }),
  currency: currency.optional().meta({ description: "Defaults to the deal's." }),
};
const amountSent = amount({ signed: true });
const maybe = amountSent.nullable().optional();

const periodSent = z
  .strictObject({
    periodLabel: lineUpTo(lengths.pl_periods.period_label).meta({ examples: ['2026-01'] }),
    ...inPeriod,
    revenue: amountSent,
    costOfGoodsSold: maybe,
    grossProfit: maybe,
    operatingExpenses: maybe,
    ownerCompensation: maybe,
    depreciationAmortization: maybe,
    interestExpense: maybe,
    taxExpense: maybe,
    netIncome: maybe,
    ebitda: maybe,
  })
  .meta({ id: 'PlPeriodDelivered' });

const customerSent = z
  .strictObject({
    customerName: lineUpTo(lengths.customer_revenues.customer_name, onOneLine)
      .regex(keepsDirection, { error: 'Leave out characters that change the direction of writing.' })
      .meta({ examples: ['Blue Ridge Diner'] }),
    ...inPeriod,
    revenueTotal: amountSent,
  })
  .meta({ id: 'CustomerRevenueDelivered' });

interface InPeriod {
  readonly periodStartDate: string;
  readonly periodEndDate: string;
  readonly customerName?: string;
}

/** Errors for periods that end before they begin, and for repeated rows. */
function faultsOf(
  rows: readonly InPeriod[],
  list: 'periods' | 'customers',
): { path: (string | number)[]; message: string }[] {
  const before = new Set<string>();
  return rows.flatMap(({ periodStartDate, periodEndDate, customerName }, at) => {
    const row = JSON.stringify([periodStartDate, periodEndDate, customerName]);
    const faults = [
      ...(periodEndDate < periodStartDate
        ? [{ path: [list, at, 'periodEndDate'], message: 'The period ends before it begins.' }]
        : []),
      ...(before.has(row) ? [{ path: [list, at], message: 'There is already a row for this period.' }] : []),
    ];
    before.add(row);
    return faults;
  });
}

const rowsOf = <T extends z.ZodType>(row: T) =>
  z
    .array(row, { error: 'Send a list.' })
    .max(mostSnapshotRows, { error: `At most ${mostSnapshotRows} rows at once.` })
    .default([]);

const snapshotCreate = z
  .strictObject({
    sourceName: lineUpTo(lengths.accounting_snapshots.source_name)
      .nullable()
      .default(null)
      .meta({ description: 'The system that the books come from.', examples: ['QuickBooks'] }),
    periods: rowsOf(periodSent),
    customers: rowsOf(customerSent),
  })
  .superRefine(({ periods, customers }, { addIssue }) => {
    if (periods.length + customers.length === 0)
      addIssue({ code: 'custom', path: [], message: 'Send periods, customers or both.' });
    for (const { path, message } of [...faultsOf(periods, 'periods'), ...faultsOf(customers, 'customers')].slice(
      0,
      100,
    ))
      addIssue({ code: 'custom', path, message });
  })
  .meta({ id: 'AccountingSnapshotCreate' });

const nulls = Object.fromEntries(plAmounts.map((name) => [name, null]));

const category = textParameter('category', lengths.qoe_checklist.category, 'Only items in this category.');
const snapshotId = idParameter('snapshotId', 'Only periods of this snapshot.');
const startDate = dayParameter('startDate', 'Only periods that begin on this day or later.');
const endDate = dayParameter('endDate', 'Only periods that end on this day or earlier.');
const ofSnapshot = idParameter('snapshotId', 'The snapshot to read; by default, the one completed last.');
const asOf = dayParameter(
  'asOf',
  'A day in the period to read; by default, the period of the snapshot that ends last.',
);

/** The operations on the quality of earnings; `callers` authenticates API keys. */
export function qoeOperations(services: Services, callers: Callers): readonly Operation[] {
  const { list } = dealResources(services, callers);
  const common = { tag: 'Quality of earnings', scope: 'qoe:read' } as const;
  const writes = openWrites(services, callers);

  const deliver = (c: Context) =>
    writes.run(
      c,
      {
        scopes: ['qoe:write', 'qoe:read'],
        action: 'qoe.snapshot.request',
        meaning: refusedOn('deal_not_found'),
        within: withinDealInPath(c),
      },
      async () => {
        const dealId = dealInPath(c);
        const { sourceName, periods, customers } = await readBody(c, snapshotCreate, largestBooks);
        const type = periods.length === 0 ? 'customer_revenue' : customers.length === 0 ? 'profit_and_loss' : 'full';
        const books: DeliveredBooks = {
          periods: periods.map((row) => asked({ ...nulls, currency: null, ...row })),
          customers: customers.map((row) => asked({ currency: null, ...row })),
        };
        return {
          statements: [requireVisible('deals', dealId), deliverSnapshot(dealId, type, sourceName, books, originOf(c))],
          said: { sourceName, periods, customers },
          answer: ([, delivered]) => {
            if (delivered === null) throw notFound('deal_not_found');
            return { status: 201, body: resourceOf(delivered) };
          },
        };
      },
    );

  return [
    list({
      ...common,
      path: '/deals/{dealId}/qoe/checklist',
      id: 'listChecklist',
      summary: 'List the QoE checklist of a deal',
      description: 'In the order of the checklist.',
      things: 'checklist items',
      item: checklistItem,
      page: 'ChecklistItemList',
      filters: [category],
      rows: (c, dealId, after, limit) => checklistOfDeal(dealId, after, limit, category.read(c)),
    }),
    list({
      ...common,
      path: '/deals/{dealId}/qoe/snapshots',
      id: 'listSnapshots',
      summary: 'List the accounting snapshots of a deal',
      description: 'Newest first.',
      things: 'snapshots',
      item: snapshot,
      page: 'AccountingSnapshotList',
      rows: (_c, dealId, after, limit) => snapshotsOfDeal(dealId, after, limit),
    }),
    {
      method: 'post',
      path: '/deals/{dealId}/qoe/snapshots',
      id: 'createSnapshot',
      tag: common.tag,
      summary: 'Deliver an accounting snapshot',
      description: `The books as they are now, from another system. All rows are stored, or none. At most ${largestBooks.toLocaleString('en')} bytes. Needs the scopes qoe:write and qoe:read.`,
      scope: 'qoe:write',
      parameters: [idempotencyKey],
      body: snapshotCreate,
      answers: { 201: { description: 'The snapshot, completed.', schema: snapshot, headers: replayed } },
      errors: ['deal_not_found', 'conflict'],
      handle: deliver,
    },
    list({
      ...common,
      path: '/deals/{dealId}/qoe/periods',
      id: 'listPlPeriods',
      summary: 'List profit and loss by period',
      description: 'The periods of every snapshot of the deal, latest period first.',
      things: 'periods',
      item: plPeriod,
      page: 'PlPeriodList',
      filters: [snapshotId, startDate, endDate],
      rows: (c, dealId, after, limit) =>
        periodsOfDeal(dealId, after, limit, snapshotId.read(c), startDate.read(c), endDate.read(c)),
    }),
    list({
      ...common,
      path: '/deals/{dealId}/qoe/customers',
      id: 'listCustomerRevenues',
      summary: 'List customers by revenue',
      description:
        'The customers of one period of one snapshot, largest first. Several currencies are listed one after another, beginning with that of the profit and loss.',
      things: 'customers',
      item: customerRevenue,
      page: 'CustomerRevenueList',
      filters: [ofSnapshot, asOf],
      rows: (c, dealId, after, limit) => customersOfDeal(dealId, after, limit, ofSnapshot.read(c), asOf.read(c)),
    }),
    list({
      ...common,
      path: '/deals/{dealId}/qoe/normalizations',
      id: 'listNormalizations',
      summary: 'List the adjustments of a deal',
      description: 'Newest first.',
      things: 'adjustments',
      item: normalization,
      page: 'NormalizationList',
      rows: (_c, dealId, after, limit) => normalizationsOfDeal(dealId, after, limit),
    }),
  ];
}
