/** The sheet of add-backs and adjustments, each with its period and reason. */

import { amount, formatIn, head, text, type ReportSheet } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { categoryWords } from '../words.ts';
import { below, titled, widthFor, type Row } from './layout.ts';

/** The column with the other period of the same dates in which an adjustment counts, too. */
export const alsoColumn = 4;

/** The name of that period, by the id of the adjustment: the last twelve months can be a year. */
const otherPeriods = ({ computed: { earnings } }: Pick<ReportContents, 'computed'>): ReadonlyMap<string, string> =>
  new Map(
    earnings.flatMap(({ label, adjustments }) =>
      adjustments.flatMap(({ id, period_label }): [string, string][] => (period_label === label ? [] : [[id, label]])),
    ),
  );

/** Returns the sheet of adjustments. */
export function adjustmentsSheet({
  adjustments,
  adjustments_left_out: leftOut,
  computed,
}: ReportContents): ReportSheet {
  const others = otherPeriods({ computed });
  const isWide = others.size > 0;
  const rowOf = (one: (typeof adjustments)[number], currency = ''): Row => [
    text(one.period_label, { wrap: true }),
    text(categoryWords[one.category]),
    amount(one.amount, { format: formatIn(one.currency ?? null, computed.currency) }),
    text(`${currency}${one.rationale ?? ''}`, { wrap: true, indent: true }),
    ...(isWide ? [text(others.get(one.id) ?? '', { wrap: true })] : []),
  ];
  return {
    name: 'Adjustments',
    widths: [
      16,
      20,
      Math.max(16, widthFor([...adjustments, ...leftOut].map((one) => one.amount))),
      70,
      ...(isWide ? [16] : []),
    ],
    rows: [
      ...titled(
        'Add-backs and adjustments',
        `In ${computed.currency}. Each counts toward the period with exactly the same name${isWide ? ', and toward another of the same dates' : ''}.`,
        [
          head('Period', false),
          head('Category', false),
          head('Amount'),
          head('Why', false, { indent: true }),
          ...(isWide ? [head('Also counts in', false)] : []),
        ],
      ),
      ...adjustments.map((one) => rowOf(one)),
      ...(leftOut.length > 0
        ? [
            [],
            [text('Recorded in another currency: these count in no figure.', { faint: true })],
            ...leftOut.map((one) => rowOf(one, `${one.currency}${one.rationale ? ': ' : ''}`)),
          ]
        : []),
    ],
    frozen: below,
    landscape: false,
  };
}
