import { z } from 'zod';
import { closingConditions, mostConditions } from '../../domain/deals/conditions.ts';
import { defineTool, reads } from '../define.ts';
import { withoutNulls } from '../compact-rows.ts';
import { cutHint } from '../filters.ts';
import { dealId } from '../inputs.ts';
import { closingCondition, hint, people } from '../records.ts';

export const svcClosingConditionsList = defineTool({
  name: 'svc_closing_conditions_list',
  title: 'List closing conditions',
  description:
    'What still has to happen before a deal closes: its closing conditions, newest first, at most 100, with owner (who is responsible), deadline, overdue, and status open, in_progress, satisfied or waived. Of buyers only the selected one sees them.',
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({ deal_id: dealId() }),
  output: z.strictObject({ closing_conditions: z.array(closingCondition), people, hint }),
  work: ({ deal_id }) => [closingConditions(deal_id)],
  answer: ({ rows: found }) => ({
    closing_conditions: found.map(({ has_owner, ...rest }) => ({ ...rest, ...withoutNulls({ has_owner }) })),
  }),
  hint: (_input, { more }) => cutHint(more, `${mostConditions}, those that are not met before others`),
  page: 'closing',
  view: 'conditions',
});
