import { z } from 'zod';
import { addSource, commitmentStatuses, sourceTypes } from '../../domain/offers/financing.ts';
import { passDealGate } from '../../domain/clients/tool-gate.ts';
import { adds, defineTool } from '../define.ts';
import { id, oneOf, text, wholeAmount } from '../inputs.ts';
import { added } from '../records.ts';
import { notInDiligence } from '../refusals.ts';

export const svcFinancingSourceCreate = defineTool({
  name: 'svc_financing_source_create',
  title: 'Add a source of financing',
  description:
    "Adds a source of financing to a deal's stack, for the user's side, in the deal's currency. commitment_amount is in whole currency units, at most 2^53 - 1 (JSON numbers are exact no further); commitment_status is identified unless given. Comes back with the id of the source.",
  scope: 'mcp:write',
  feature: 'financing',
  annotations: adds,
  input: z.strictObject({
    deal_id: id(),
    source_type: oneOf(sourceTypes),
    source_name: text(1, 256),
    commitment_amount: wholeAmount(),
    commitment_status: oneOf(commitmentStatuses).optional(),
  }),
  output: added,
  gate: (tool, { deal_id }) => passDealGate(tool, deal_id),
  denied: notInDiligence,
  work: ({ deal_id, source_type, source_name, commitment_amount, commitment_status = 'identified' }, origin) => [
    addSource(deal_id, { source_type, source_name, commitment_amount, commitment_status }, origin),
  ],
  answer: (made) => ({ id: made }),
});
