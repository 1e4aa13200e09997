import { z } from 'zod';
import { closingConditions } from '../../domain/deals/conditions.ts';
import { defineTool, reads } from '../define.ts';
import { id } from '../inputs.ts';
import { closingCondition } from '../records.ts';

export const svcClosingConditionsList = defineTool({
  name: 'svc_closing_conditions_list',
  title: 'List closing conditions',
  description:
    "What must be done before a deal closes, newest first, at most 100: status open, in_progress, satisfied or waived, who owns it, and its deadline. Among buyers only the selected buyer's side sees them. Empty: there are none that the user may see.",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({ deal_id: id() }),
  output: z.strictObject({ closing_conditions: z.array(closingCondition) }),
  work: ({ deal_id }) => [closingConditions(deal_id)],
  answer: (closing_conditions) => ({ closing_conditions }),
  view: 'conditions',
});
