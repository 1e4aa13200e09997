/** The sheet of changes of customers since the period before. */

import { decimal, subtract, written } from '../../diligence/decimals.ts';
import { amount, at, downFrom, formula, head, text, textFormula, type ReportSheet } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { changeWords } from '../words.ts';
import { below, dashed, firstRow, titled, widthFor, type Row } from './layout.ts';

const differenceOf = (after: string, before: string): string => written(subtract(decimal(after), decimal(before)));

/** Returns the sheet of customer changes; null unless customers of two periods were uploaded. */
export function changesSheet({ changes }: ReportContents): ReportSheet | null {
  if (!changes) return null;
  const listing = changes.parts.flatMap(({ kind, items, others }) => [
    ...items.map((item) => ({ ...item, kind })),
    ...(others.count > 0 ? [{ name: `${others.count} more together`, ...others, kind }] : []),
  ]);
  const [first, last] = [firstRow + 7, firstRow + 6 + listing.length];
  const sums = changes.parts.map(({ kind, difference }): Row => [
    text(changeWords[kind]),
    null,
    null,
    formula(`SUMIF(${downFrom(4, first, last)},"${changeWords[kind]}",${downFrom(3, first, last)})`, difference),
  ]);
  return {
    name: 'Customer changes',
    widths: [46, ...[0, 1, 2].map(() => Math.max(17, widthFor([changes.before.total, changes.after.total]))), 20],
    rows: [
      ...titled(
        'Customer changes',
        `In ${changes.currency}: ${dashed(changes.before.first, changes.before.last)}, and ${dashed(changes.after.first, changes.after.last)}. Matched by exact name.`,
        [head('Customer', false), head('Before'), head('After'), head('Difference'), head('', false, { indent: true })],
      ),
      [
        text('Total', { bold: true }),
        formula(`SUM(${downFrom(1, first, last)})`, changes.before.total, 'amount', { bold: true }),
        formula(`SUM(${downFrom(2, first, last)})`, changes.after.total, 'amount', { bold: true }),
        formula(
          `${at(2, firstRow)}-${at(1, firstRow)}`,
          differenceOf(changes.after.total, changes.before.total),
          'amount',
          { bold: true },
        ),
      ],
      ...sums,
      [],
      ...listing.map(({ name, before, after, kind }, place): Row => {
        const row = first + place;
        const [was, is] = [at(1, row), at(2, row)];
        return [
          text(name, { wrap: true }),
          kind === 'new' ? null : amount(before),
          kind === 'lost' ? null : amount(after),
          formula(`${is}-${was}`, differenceOf(after, before)),
          textFormula(
            `IF(ISBLANK(${was}),"${changeWords.new}",IF(ISBLANK(${is}),"${changeWords.lost}",IF(ROUND(${is}-${was},4)=0,"${changeWords.kept}",IF(${is}>${was},"${changeWords.grown}","${changeWords.shrunk}"))))`,
            changeWords[kind],
            { indent: true },
          ),
        ];
      }),
    ],
    frozen: below,
    landscape: false,
  };
}
