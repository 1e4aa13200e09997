import { z } from 'zod';
import { customerConcentration } from '../../domain/diligence/figures.ts';
import { defineTool, reads } from '../define.ts';
import { date, id } from '../inputs.ts';
import { customerRevenueRow } from '../records.ts';

export const svcQoeCustomerConcentration = defineTool({
  name: 'svc_qoe_customer_concentration',
  title: 'Get customer concentration',
  description:
    "How much a deal's business depends on its largest customers: revenue, share (0 to 1) and rank of up to 50, the largest first, from the latest completed accounting snapshot. as_of_period is a date and picks the period that contains it; without it, the latest period. Amounts and shares are decimal text. Empty: there is no completed snapshot or no such period, or the user is not in the deal's QoE workspace.",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({ deal_id: id(), as_of_period: date().optional() }),
  output: z.strictObject({ customers: z.array(customerRevenueRow) }),
  work: ({ deal_id, as_of_period = null }) => [customerConcentration(deal_id, as_of_period)],
  answer: (customers) => ({ customers }),
  view: 'customers',
});
