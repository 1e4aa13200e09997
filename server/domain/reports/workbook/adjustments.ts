/** The sheet of add-backs and adjustments, each with its period and reason. */

import { amount, head, text, type ReportSheet } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { categoryWords } from '../words.ts';
import { below, titled, widthFor } from './layout.ts';

/** Returns the sheet of adjustments. */
export function adjustmentsSheet({ adjustments, computed }: ReportContents): ReportSheet {
  return {
    name: 'Adjustments',
    widths: [16, 20, Math.max(16, widthFor(adjustments.map((one) => one.amount))), 70],
    rows: [
      ...titled(
        'Add-backs and adjustments',
        `In ${computed.currency}. Each counts toward the period with exactly the same name.`,
        [head('Period', false), head('Category', false), head('Amount'), head('Why', false, { indent: true })],
      ),
      ...adjustments.map((one) => [
        text(one.period_label, { wrap: true }),
        text(categoryWords[one.category]),
        amount(one.amount),
        text(one.rationale ?? '', { wrap: true, indent: true }),
      ]),
    ],
    frozen: below,
    landscape: false,
  };
}
