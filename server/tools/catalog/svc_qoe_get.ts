import { z } from 'zod';
import { bridgeOnPage } from '../../domain/diligence/figures.ts';
import { checklist } from '../../domain/diligence/checklist.ts';
import { recentSnapshots } from '../../domain/diligence/snapshots.ts';
import { defineTool, reads } from '../define.ts';
import { id, text } from '../inputs.ts';
import { progressRow, snapshotRow } from '../records.ts';
import { bridgeKey } from '../views.ts';

export const svcQoeGet = defineTool({
  name: 'svc_qoe_get',
  title: 'Get quality-of-earnings progress',
  description:
    "How far the quality-of-earnings (QoE) work on a deal is: every row of its checklist, of one category if given, with status not_started, in_progress, completed or not_applicable; and the 5 accounting snapshots requested last. The figures themselves come from svc_qoe_pl_periods and svc_qoe_customer_concentration. Empty lists: nothing is there yet, or the user is not in the deal's QoE workspace.",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({ deal_id: id(), category: text(1, 64).optional() }),
  output: z.strictObject({ progress: z.array(progressRow), recent_accounting_snapshots: z.array(snapshotRow) }),
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
