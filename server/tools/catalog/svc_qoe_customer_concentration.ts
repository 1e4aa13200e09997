import { z } from 'zod';
import { booksOf } from '../../domain/diligence/books.ts';
import { lastDaysOfCustomers } from '../../domain/diligence/customers.ts';
import { customerConcentration, mostCustomers } from '../../domain/diligence/figures.ts';
import { customersInShort } from '../../domain/diligence/summaries.ts';
import { sharing } from '../compact-rows.ts';
import { defineTool, reads } from '../define.ts';
import { cutHint, mostKnown } from '../filters.ts';
import { date, dealId } from '../inputs.ts';
import { customers, hint } from '../records.ts';

export const svcQoeCustomerConcentration = defineTool({
  name: 'svc_qoe_customer_concentration',
  title: 'Get customer concentration',
  description:
    "Customer concentration risk: how far a business depends on its 50 biggest customers (clients), largest first: revenue_total, revenue_share of all uploaded customers in its currency (0 to 1), cumulative_share (of the top five: the fifth's) and rank, from the latest completed accounting snapshot. summary: HHI, how many make up half, customers unchanged, grown, shrunk, lost, new. For members of the QoE workspace.",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({
    deal_id: dealId(),
    as_of_period: date('A day of the period (default: latest)').optional(),
  }),
  output: customers.extend({ hint }),
  work: ({ deal_id, as_of_period = null }) => [customerConcentration(deal_id, as_of_period), booksOf(deal_id)],
  answer: ({ rows: found }, books) => {
    const [first] = found;
    const dates = first && { first: first.period_start_date, last: first.period_end_date };
    const summary = dates ? customersInShort(books, dates) : null;
    const rows = sharing('customers', found, ['snapshot_id', 'period_start_date', 'period_end_date', 'currency']);
    return { ...rows, ...(summary ? { summary } : {}) };
  },
  hint({ as_of_period }, { rows: found, more }, books) {
    if (found.length > 0) return cutHint(more, `the ${mostCustomers} largest`);
    if (books.customers.length === 0) return null;
    const days = lastDaysOfCustomers(books).slice(0, mostKnown);
    if (days.length === 0)
      return { message: 'The latest upload has no customers, but an earlier one has: the user sees them at url.' };
    if (as_of_period === undefined) return null;
    return {
      message:
        'The latest upload has no customers for a period with this day. The known values are the last days of its periods.',
      known: { as_of_period: days },
    };
  },
  page: 'qoe',
  view: 'customers',
});
