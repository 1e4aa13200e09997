import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import { addSource, commitmentStatuses, sourceTypes } from '../../domain/offers/financing.ts';
import { passDealGate } from '../../domain/clients/tool-gate.ts';
import { withoutNulls } from '../compact-rows.ts';
import { adds, defineTool } from '../define.ts';
import { dealId, line, oneOf, wholeAmount } from '../inputs.ts';
import { added, beside, people } from '../records.ts';
import { notInDiligence } from '../refusals.ts';

export const svcFinancingSourceCreate = defineTool({
  name: 'svc_financing_source_create',
  title: 'Add a source of financing',
  description:
    'Adds a source (loan, seller note, equity) to the financing of a deal, in its currency, for the user’s side.',
  scope: 'mcp:write',
  feature: 'financing',
  annotations: adds,
  input: z.strictObject({
    deal_id: dealId(),
    source_type: oneOf(sourceTypes, 'One'),
    source_name: line(lengths.financing_sources.source_name, 'Such as a bank.'),
    commitment_amount: wholeAmount('Whole currency units, 0 to 2^53 - 1.'),
    commitment_status: oneOf(commitmentStatuses, 'Default identified').optional(),
  }),
  output: added.extend({ currency: z.string(), side_user_id: beside(z.guid()), people }),
  gate: (tool, { deal_id }) => passDealGate(tool, deal_id),
  denied: notInDiligence,
  work: ({ deal_id, source_type, source_name, commitment_amount, commitment_status = 'identified' }, origin) => [
    addSource(deal_id, { source_type, source_name, commitment_amount, commitment_status }, origin),
  ],
  answer: ({ side_user_id, ...made }) => ({ ...made, ...withoutNulls({ side_user_id }) }),
  page: 'financing',
});
