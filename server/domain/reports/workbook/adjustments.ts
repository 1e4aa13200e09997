/** The sheet of add-backs and adjustments, each with its period and reason. */

import { amount, head, text, type ReportSheet } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { categoryWords } from '../words.ts';
import { below, titled, widthFor, type Row } from './layout.ts';

/** Returns the sheet of adjustments. */
export function adjustmentsSheet({ adjustments, adjustments_left_out: others, computed }: ReportContents): ReportSheet {
  const rowOf = (one: (typeof adjustments)[number], currency = ''): Row => [
    text(one.period_label, { wrap: true }),
    text(categoryWords[one.category]),
    amount(one.amount),
    text(`${currency}${one.rationale ?? ''}`, { wrap: true, indent: true }),
  ];
  return {
    name: 'Adjustments',
    widths: [16, 20, Math.max(16, widthFor([...adjustments, ...others].map((one) => one.amount))), 70],
    rows: [
      ...titled(
        'Add-backs and adjustments',
        `In ${computed.currency}. Each counts toward the period with exactly the same name.`,
        [head('Period', false), head('Category', false), head('Amount'), head('Why', false, { indent: true })],
      ),
      ...adjustments.map((one) => rowOf(one)),
      ...(others.length > 0
        ? [
            [],
            [text('Recorded in another currency: these count in no figure.', { faint: true })],
            ...others.map((one) => rowOf(one, `${one.currency}${one.rationale ? ': ' : ''}`)),
          ]
        : []),
    ],
    frozen: below,
    landscape: false,
  };
}
