import { z } from 'zod';
import { brokeragesOfDeals, deals, dealsCaller, dealStates, mostDeals } from '../../domain/deals/deals.ts';
import { defineTool, reads } from '../define.ts';
import type { Hint } from '../filters.ts';
import { text } from '../inputs.ts';
import { caller, hint, listedDeal, people } from '../records.ts';

export const svcDealsList = defineTool({
  name: 'svc_deals_list',
  title: 'List deals',
  description:
    "The user's pipeline: every deal, listing or business for sale they can see, newest first, at most 200, with its state and what the user is to it (caller_role); caller is the user.",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({
    state: text(1, 32, `One: ${dealStates.join(', ')}.`).optional(),
    brokerage_id: text(1, 128, 'Id or slug of a brokerage.').optional(),
  }),
  output: z.strictObject({ deals: z.array(listedDeal), caller, people, hint }),
  filters: ({ state = null, brokerage_id = null }) => [
    { input: 'state', given: state, known: dealStates },
    {
      input: 'brokerage_id',
      given: brokerage_id,
      known: brokeragesOfDeals((brokerage_id ?? '').toLowerCase()),
    },
  ],
  work: ({ state = null, brokerage_id = null }) => [
    deals(state?.toLowerCase() ?? null, brokerage_id?.toLowerCase() ?? null),
    dealsCaller(),
  ],
  // Without deals, the specified result is an empty list and nothing else.
  answer: (found, calling) => ({ deals: found.slice(0, mostDeals), ...(found.length > 0 ? calling : {}) }),
  hint({ state, brokerage_id }, found): Hint | null {
    if (found.length <= mostDeals) return null;
    const narrowing = [state === undefined && 'state', brokerage_id === undefined && 'brokerage_id'].filter(Boolean);
    return {
      message: [
        `These are the ${mostDeals} newest deals, and there are more.`,
        ...(narrowing.length > 0 ? [`The list can be narrowed with ${narrowing.join(' or ')}.`] : []),
        'The id of any deal is in the address of its page.',
      ].join(' '),
      ...(state === undefined && { known: { state: dealStates } }),
    };
  },
  page: 'deals',
});
