import { z } from 'zod';
import {
  financingSources,
  financingTotals,
  financingTotalsBySide,
  mostListedSources,
} from '../../domain/offers/financing.ts';
import { sharing } from '../compact-rows.ts';
import { defineTool, reads } from '../define.ts';
import { cutHint } from '../filters.ts';
import { dealId } from '../inputs.ts';
import { financingStack } from '../records.ts';

export const svcFinancingStackGet = defineTool({
  name: 'svc_financing_stack_get',
  title: 'Get the financing stack',
  description:
    'The capital stack: how the buyer is to finance (pay for) the purchase: sources of debt and equity, newest first, at most 200, of all sides (side_user_id); totals by commitment_status and side. commitment_amount is in whole currency units.',
  scope: 'mcp:read',
  feature: 'financing',
  annotations: reads,
  input: z.strictObject({ deal_id: dealId() }),
  output: financingStack,
  work: ({ deal_id }) => [financingSources(deal_id), financingTotals(deal_id), financingTotalsBySide(deal_id)],
  // Those of several sides are never added up: each pays for the purchase on its own.
  answer: ({ rows: sources }, totals, bySide) => ({
    ...sharing('sources', sources, ['deal_id', 'currency', 'side_user_id']),
    totals: bySide.length > 0 ? bySide : totals,
  }),
  hint: (_input, { more }) => cutHint(more, `the newest ${mostListedSources}`),
  unseen: { things: 'sources of financing', by: ['viewer', 'admin'] },
  page: 'financing',
});
