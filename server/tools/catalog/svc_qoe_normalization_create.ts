import { z } from 'zod';
import { addNormalization, adjustmentCategories } from '../../domain/diligence/normalizations.ts';
import { passDealGate } from '../../domain/clients/tool-gate.ts';
import { adds, defineTool } from '../define.ts';
import { decimal, id, oneOf, text } from '../inputs.ts';
import { added } from '../records.ts';
import { notQoeEditor } from '../refusals.ts';

export const svcQoeNormalizationCreate = defineTool({
  name: 'svc_qoe_normalization_create',
  title: 'Record an earnings adjustment',
  description:
    "Records a normalization, such as an add-back of owner compensation, to the earnings of one period of a deal's business. adjustment_amount is decimal text of up to 40 characters, negative to lower earnings; every digit is kept, nothing is rounded. For editors of the deal's QoE workspace. Comes back with the id of the normalization.",
  scope: 'mcp:write',
  annotations: adds,
  input: z.strictObject({
    deal_id: id(),
    period_label: text(1, 64),
    adjustment_category: oneOf(adjustmentCategories),
    adjustment_amount: decimal(),
    rationale: text(0, 2000).optional(),
  }),
  output: added,
  gate: (tool, { deal_id }) => passDealGate(tool, deal_id),
  denied: notQoeEditor,
  work: ({ deal_id, period_label, adjustment_category, adjustment_amount, rationale = null }, origin) => [
    addNormalization(deal_id, { period_label, adjustment_category, adjustment_amount, rationale }, origin),
  ],
  answer: (made) => ({ id: made }),
});
