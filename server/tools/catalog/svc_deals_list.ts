import { z } from 'zod';
import { deals } from '../../domain/deals/deals.ts';
import { defineTool, reads } from '../define.ts';
import { text } from '../inputs.ts';
import { listedDeal } from '../records.ts';

export const svcDealsList = defineTool({
  name: 'svc_deals_list',
  title: 'List deals',
  description:
    'Which deals the user can see, newest first, at most 200, with their state and what the user is to each (caller_role). The place to find the deal_id that other tools take. state filters on the present state: draft, listed, under_offer, exclusivity, diligence, closing, closed or withdrawn; brokerage_id is the id or slug of a brokerage. Empty: the user sees no such deal.',
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({ state: text(1, 32).optional(), brokerage_id: text(1, 128).optional() }),
  output: z.strictObject({ deals: z.array(listedDeal) }),
  work: ({ state = null, brokerage_id = null }) => [deals(state, brokerage_id)],
  answer: (found) => ({ deals: found }),
});
