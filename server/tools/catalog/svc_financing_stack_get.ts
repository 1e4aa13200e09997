import { z } from 'zod';
import { financingSources, financingTotals } from '../../domain/offers/financing.ts';
import { defineTool, reads } from '../define.ts';
import { id } from '../inputs.ts';
import { financingSource, financingTotal } from '../records.ts';

export const svcFinancingStackGet = defineTool({
  name: 'svc_financing_stack_get',
  title: 'Get the financing stack',
  description:
    'How the purchase of a deal is to be paid for: its sources of financing, newest first, at most 200, and what all of them come to by commitment status and currency. commitment_amount is in whole currency units, total is decimal text. Empty: there are no sources that the user may see.',
  scope: 'mcp:read',
  feature: 'financing',
  annotations: reads,
  input: z.strictObject({ deal_id: id() }),
  output: z.strictObject({ sources: z.array(financingSource), totals: z.array(financingTotal) }),
  work: ({ deal_id }) => [financingSources(deal_id), financingTotals(deal_id)],
  answer: (sources, totals) => ({ sources, totals }),
});
