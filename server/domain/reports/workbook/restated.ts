/** The sheet of figures that a later upload restated. */

import { lineWords } from '../../diligence/snapshots.ts';
import { amount, at, day, formatIn, formula, head, text, type ReportSheet } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { restatedSentence } from '../words.ts';
import { below, firstRow, titled, widthFor, type Row } from './layout.ts';

/** Returns the sheet of restated figures; null when there are none. */
export function restatedSheet({ computed: { currency, restatements } }: ReportContents): ReportSheet | null {
  if (restatements.count === 0) return null;
  const more = restatements.count - restatements.items.length;
  const all = restatements.items.flatMap((one) => [one.old, one.new, one.difference]);
  return {
    name: 'Restated',
    widths: [16, 11, 11, 32, 10, ...[0, 1, 2].map(() => Math.max(16, widthFor(all)))],
    rows: [
      ...titled('Restated figures', restatedSentence, [
        head('Period', false),
        head('From', false),
        head('To', false),
        head('Line', false),
        head('Currency', false),
        head('Before'),
        head('Now'),
        head('Difference'),
      ]),
      ...restatements.items.map((one, place): Row => {
        const format = formatIn(one.currency, currency);
        return [
          text(one.label, { wrap: true }),
          day(one.first),
          day(one.last),
          text(lineWords[one.line]),
          text(one.currency),
          amount(one.old, { format }),
          amount(one.new, { format }),
          formula(`${at(6, firstRow + place)}-${at(5, firstRow + place)}`, one.difference, format),
        ];
      }),
      ...(more > 0 ? [[text(`And ${more} more.`, { faint: true })]] : []),
    ],
    frozen: below,
    landscape: true,
  };
}
