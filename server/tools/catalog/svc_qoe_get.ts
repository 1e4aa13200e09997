import { z } from 'zod';
import { bridgeOnPage } from '../../domain/diligence/figures.ts';
import { checklist, checklistCategories } from '../../domain/diligence/checklist.ts';
import { recentSnapshots } from '../../domain/diligence/snapshots.ts';
import { defineTool, reads } from '../define.ts';
import { dealId, text } from '../inputs.ts';
import { hint, progressRow, snapshotRow } from '../records.ts';
import { bridgeKey } from '../views.ts';

export const svcQoeGet = defineTool({
  name: 'svc_qoe_get',
  title: 'Get quality-of-earnings progress',
  description:
    "How far the quality of earnings (QoE) of a deal is: its checklist, each row not_started, in_progress, completed or not_applicable, and the 5 accounting snapshots requested last. For members of the deal's QoE workspace.",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({
    deal_id: dealId(),
    category: text(1, 64, 'Any category of the checklist.').optional(),
  }),
  output: z.strictObject({ progress: z.array(progressRow), recent_accounting_snapshots: z.array(snapshotRow), hint }),
  filters: ({ deal_id, category = null }) => [
    { input: 'category', given: category, known: checklistCategories(deal_id) },
  ],
  work: ({ deal_id, category = null }) => [
    checklist(deal_id, category),
    recentSnapshots(deal_id),
    bridgeOnPage(deal_id, null),
  ],
  answer: (progress, recent_accounting_snapshots) => ({ progress, recent_accounting_snapshots }),
  view: 'bridge',
  beside: (_progress, _snapshots, bridge) => {
    if (!bridge?.period_label) return undefined;
    const { currency, period_label, reported_ebitda, adjustments, adjusted_ebitda } = bridge;
    return { [bridgeKey]: { currency, period_label, reported_ebitda, adjustments, adjusted_ebitda } };
  },
});
