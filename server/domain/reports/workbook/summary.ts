/** The first sheet: brokerage, reader and day of the report, and its main figures. */

import { plAmounts } from '../../diligence/snapshots.ts';
import { amount, day, formula, isKept, text, type ReportSheet } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { computedFrom, titleOf } from '../words.ts';
import { basisCells } from './earnings.ts';
import { dated, type Row } from './layout.ts';
import { offerTerms } from './offers.ts';

/** The number of amounts with more digits than a spreadsheet keeps. */
function cutAmounts({ periods, adjustments, adjustments_left_out, customers, offers }: ReportContents): number {
  const all = [
    ...periods.flatMap(({ amounts }) => plAmounts.map((line) => amounts[line])),
    ...[...adjustments, ...adjustments_left_out].map((one) => one.amount),
    ...(customers?.customers ?? []).map(({ revenue }) => revenue),
    ...offers.items.flatMap((offer) => offerTerms.map((term) => offer.amounts[term])),
  ];
  return all.filter((one) => one !== null && !isKept(one)).length;
}

/** Returns the first sheet. */
export function summarySheet(contents: ReportContents): ReportSheet {
  const { deal, computed, offers, reader } = contents;
  const cell = basisCells(contents);
  const { basis } = offers;
  const figure = (word: string, line: string, comes: string | null | undefined): Row[] => {
    const from = cell(line);
    return from && comes ? [[text(word), formula(from, comes)]] : [];
  };
  const cut = cutAmounts(contents);
  const asked = deal.asking_price;
  return {
    name: 'Summary',
    widths: [44, 44],
    rows: [
      [text(titleOf(contents), { title: true, span: 2 }), null],
      [text(computedFrom, { faint: true })],
      [],
      [text('Brokerage'), text(deal.brokerage, { right: true, wrap: true })],
      [text('Prepared for'), text(reader, { right: true, wrap: true })],
      [text('On'), day(contents.day, { right: true })],
      [text('Dates are in'), text('UTC', { right: true })],
      [text('Amounts are in'), text(computed.currency, { right: true })],
      ...(asked === null ? [] : [[text(`Asking price, in ${deal.currency}`), amount(asked)]]),
      [],
      ...(basis
        ? [
            [text(`Earnings of ${dated(basis.period, basis)}`, { bold: true, wrap: true, span: 2 }), null],
            ...figure('Revenue', 'revenue', basis.revenue),
            ...figure('Reported EBITDA', 'ebitda', basis.reported_ebitda),
            ...figure('Adjusted EBITDA', 'adjusted_ebitda', basis.adjusted_ebitda),
            ...figure('SDE', 'sde', basis.sde),
          ]
        : [
            [
              text(
                contents.periods.length > 0
                  ? 'The uploaded figures do not make up a year.'
                  : 'There are no figures of a year that you may see.',
              ),
            ],
          ]),
      ...(computed.counted.not_counted.length > 0
        ? [[], ...computed.counted.not_counted.map((sentence): Row => [text(sentence, { wrap: true, span: 2 }), null])]
        : []),
      ...(cut > 0
        ? [
            [],
            [
              text(
                `${cut} of the amounts ${cut === 1 ? 'has' : 'have'} more than the 15 digits that a spreadsheet keeps, and ${cut === 1 ? 'is' : 'are'} rounded to them here.`,
                { faint: true, wrap: true, span: 2 },
              ),
              null,
            ],
          ]
        : []),
    ],
    landscape: false,
  };
}
