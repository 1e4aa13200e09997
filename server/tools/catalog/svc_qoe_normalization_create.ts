import { z } from 'zod';
import { booksOf } from '../../domain/diligence/books.ts';
import { bridgeOf } from '../../domain/diligence/bridge.ts';
import { addNormalization, adjustmentCategories } from '../../domain/diligence/normalizations.ts';
import { passDealGate } from '../../domain/clients/tool-gate.ts';
import { lengths } from '../../domain/lengths.ts';
import { adds, defineTool } from '../define.ts';
import { mostKnown } from '../filters.ts';
import { dealId, decimal, line, oneOf, text } from '../inputs.ts';
import { added, hint } from '../records.ts';
import { notQoeEditor } from '../refusals.ts';

export const svcQoeNormalizationCreate = defineTool({
  name: 'svc_qoe_normalization_create',
  title: 'Record an earnings adjustment',
  description:
    'Records an adjustment (normalization, add-back) to the EBITDA of a period, such as the owner’s salary or a one-time expense. For editors of the QoE workspace.',
  scope: 'mcp:write',
  annotations: adds,
  input: z.strictObject({
    deal_id: dealId(),
    period_label: line(
      lengths.normalizations.period_label,
      'Exactly as in svc_qoe_pl_periods, or TTM, FY2025; counts only for its dates.',
    ),
    adjustment_category: oneOf(adjustmentCategories, 'Why'),
    adjustment_amount: decimal('Decimal text such as -1250.50; negative lowers earnings.'),
    rationale: text(0, lengths.normalizations.rationale, 'Why, in words.').optional(),
  }),
  output: added.extend({ hint }),
  gate: (tool, { deal_id }) => passDealGate(tool, deal_id),
  denied: notQoeEditor,
  work: ({ deal_id, period_label, adjustment_category, adjustment_amount, rationale = null }, origin) => [
    addNormalization(deal_id, { period_label, adjustment_category, adjustment_amount, rationale }, origin),
    booksOf(deal_id),
  ],
  answer: (made) => ({ id: made }),
  hint({ period_label }, _made, books) {
    const { currency, unmatched_labels, period_labels, month_labels } = bridgeOf(books);
    if (month_labels.includes(period_label)) {
      const counting = period_labels.filter((label) => !month_labels.includes(label)).slice(0, mostKnown);
      return {
        message: `Recorded for this month alone; it is in no year, TTM or multiple.${counting.length > 0 ? ' known has the labels that count.' : ''} The user can remove it at url.`,
        ...(counting.length > 0 ? { known: { period_label: counting } } : {}),
      };
    }
    if (!unmatched_labels.includes(period_label)) return null;
    return {
      message: `The adjustment is recorded, but counts nowhere until there are figures in ${currency} with an EBITDA for this period_label; known has the labels with such figures. The user can remove it at url.`,
      known: { period_label: [...new Set([...period_labels, ...month_labels])].slice(0, mostKnown) },
    };
  },
  page: 'qoe',
});
