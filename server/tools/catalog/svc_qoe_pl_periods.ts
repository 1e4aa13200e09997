import { z } from 'zod';
import { plPeriods } from '../../domain/diligence/figures.ts';
import { defineTool, reads } from '../define.ts';
import { date, id } from '../inputs.ts';
import { plPeriodRow } from '../records.ts';

export const svcQoePlPeriods = defineTool({
  name: 'svc_qoe_pl_periods',
  title: 'List profit-and-loss periods',
  description:
    "Revenue, costs, owner compensation, net income and EBITDA of a deal's business, period by period, the latest first, at most 500, from every accounting snapshot: the same period can appear once for each snapshot_id. start_date and end_date keep the periods that lie between them. Amounts are decimal text. Empty: there are no snapshots or no such periods, or the user is not in the deal's QoE workspace.",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({ deal_id: id(), start_date: date().optional(), end_date: date().optional() }),
  output: z.strictObject({ periods: z.array(plPeriodRow) }),
  work: ({ deal_id, start_date = null, end_date = null }) => [plPeriods(deal_id, start_date, end_date)],
  answer: (periods) => ({ periods }),
  view: 'monthly',
});
