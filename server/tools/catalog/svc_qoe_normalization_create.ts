import { z } from 'zod';
import { addNormalization, adjustmentCategories } from '../../domain/diligence/normalizations.ts';
import { passDealGate } from '../../domain/clients/tool-gate.ts';
import { adds, defineTool } from '../define.ts';
import { dealId, decimal, oneOf, text } from '../inputs.ts';
import { added } from '../records.ts';
import { notQoeEditor } from '../refusals.ts';

export const svcQoeNormalizationCreate = defineTool({
  name: 'svc_qoe_normalization_create',
  title: 'Record an earnings adjustment',
  description:
    'Records an adjustment (normalization, add-back) to the EBITDA of a period, such as the owner’s salary or a one-time expense added back. For editors of the QoE workspace.',
  scope: 'mcp:write',
  annotations: adds,
  input: z.strictObject({
    deal_id: dealId(),
    period_label: text(1, 64, 'As in svc_qoe_pl_periods, or TTM, FY2025.'),
    adjustment_category: oneOf(adjustmentCategories, 'Why'),
    adjustment_amount: decimal('Decimal text such as -1250.50; negative lowers earnings.'),
    rationale: text(0, 2000, 'Why, in words.').optional(),
  }),
  output: added,
  gate: (tool, { deal_id }) => passDealGate(tool, deal_id),
  denied: notQoeEditor,
  work: ({ deal_id, period_label, adjustment_category, adjustment_amount, rationale = null }, origin) => [
    addNormalization(deal_id, { period_label, adjustment_category, adjustment_amount, rationale }, origin),
  ],
  answer: (made) => ({ id: made }),
  page: 'qoe',
});
