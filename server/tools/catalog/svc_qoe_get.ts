import { z } from 'zod';
import type { Results } from '../../database/database.ts';
import { beginningOf } from '../../domain/characters.ts';
import { booksOf, type Adjustment, type Books } from '../../domain/diligence/books.ts';
import { bridgeOf, type Bridge } from '../../domain/diligence/bridge.ts';
import { checklist, checklistCategories } from '../../domain/diligence/checklist.ts';
import { written } from '../../domain/diligence/decimals.ts';
import { addingNothing } from '../../domain/diligence/earnings.ts';
import { recordedAdjustments } from '../../domain/diligence/normalizations.ts';
import { recentSnapshots } from '../../domain/diligence/snapshots.ts';
import { lengths } from '../../domain/lengths.ts';
import { sharing, withoutNulls } from '../compact-rows.ts';
import { defineTool, reads } from '../define.ts';
import { cutHint } from '../filters.ts';
import { dealId, text } from '../inputs.ts';
import { beside, ebitdaBridge, hint, latestAdjustments, people, progressRow, snapshotRow } from '../records.ts';

const shownBridge = (
  { first, last, currency, reported_ebitda, adjustments, adjusted_ebitda }: Bridge,
  period_label: string,
) => ({
  period_label,
  ...withoutNulls({ period_start_date: first, period_end_date: last }),
  currency,
  reported_ebitda,
  adjustments,
  adjusted_ebitda,
});

const mostAdjustments = 50;
/** The maximum number of characters of a rationale: fifty full ones would be 25,000 tokens. */
const mostOfRationale = 300;
/** The maximum number of characters of why a snapshot failed. */
const mostOfFailure = 500;

type Recorded = Omit<Results<[ReturnType<typeof recordedAdjustments>]>[0][number], 'id'>;

const shownAdjustment = (
  { period_label, category, amount, currency: its = null, rationale }: Adjustment,
  { currency, unmatched_labels }: Bridge,
  addsNothing: boolean,
  recorded: Recorded,
) => ({
  period_label,
  category,
  amount: written(amount),
  currency: its ?? currency,
  ...withoutNulls({ rationale: rationale && beginningOf(rationale, mostOfRationale) }),
  ...(addsNothing || (its !== null && its !== currency) || unmatched_labels.includes(period_label)
    ? { counts: false as const }
    : {}),
  ...withoutNulls(recorded),
});

const allAdjustments = ({ adjustments, adjustments_left_out: others = [] }: Books): readonly Adjustment[] => [
  ...adjustments,
  ...others,
];

export const svcQoeGet = defineTool({
  name: 'svc_qoe_get',
  title: 'Get quality-of-earnings progress',
  description:
    'How far the quality of earnings (QoE) of a deal is: checklist, each row not_started, in_progress, completed or not_applicable; the 5 latest accounting snapshots, the 50 latest adjustments with why; ebitda_bridge: adjusted EBITDA from reported, by kinds of add-back. For members of the QoE workspace.',
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({
    deal_id: dealId(),
    category: text(1, lengths.qoe_checklist.category, 'Any category of the checklist.').optional(),
  }),
  output: z.strictObject({
    progress: z.array(progressRow),
    recent_accounting_snapshots: z.array(snapshotRow),
    ebitda_bridge: ebitdaBridge,
    currency: beside(z.string()),
    latest_adjustments: latestAdjustments,
    people,
    hint,
  }),
  filters: ({ deal_id, category = null }) => [
    { input: 'category', given: category, known: checklistCategories(deal_id) },
  ],
  work: ({ deal_id, category = null }) => [
    checklist(deal_id, category),
    recentSnapshots(deal_id),
    booksOf(deal_id),
    recordedAdjustments(deal_id, mostAdjustments),
  ],
  answer: (progress, snapshots, books, recorded) => {
    const bridge = bridgeOf(books);
    const nothing = addingNothing(books);
    const byId = new Map(allAdjustments(books).map((one) => [one.id, one]));
    const adjustments = recorded.flatMap(({ id, ...record }) => {
      const one = byId.get(id);
      return one ? [shownAdjustment(one, bridge, nothing.has(id), record)] : [];
    });
    return {
      progress,
      recent_accounting_snapshots: snapshots.map(({ source_name, failure, ...snapshot }) => ({
        ...snapshot,
        ...withoutNulls({ source_name, failure: failure && beginningOf(failure, mostOfFailure) }),
      })),
      ...(bridge.period_label ? { ebitda_bridge: shownBridge(bridge, bridge.period_label) } : {}),
      ...(adjustments.length > 0 ? sharing('latest_adjustments', adjustments, ['currency']) : {}),
    };
  },
  hint: (_input, _progress, _snapshots, books) =>
    cutHint(allAdjustments(books).length > mostAdjustments, `the latest ${mostAdjustments} adjustments`),
  page: 'qoe',
  view: 'bridge',
});
