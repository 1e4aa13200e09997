/** The sheet of the profit and loss as uploaded: the rows from which everything else is computed. */

import { lineWords, plAmounts, type PlAmount } from '../../diligence/snapshots.ts';
import { amount, at, count, day, formula, head, text, type ReportSheet, type SheetCell } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { below, firstRow, titled, widthFor } from './layout.ts';

const firstAmount = 4;
/** The column of a line of the profit and loss. */
export const amountColumn = (line: PlAmount): number => firstAmount + plAmounts.indexOf(line);

/** The cell of a line; EBITDA and gross profit that were not uploaded are computed from the other lines. */
function plCell({ amounts, gross_profit, ebitda }: ReportContents['periods'][number], line: PlAmount, row: number) {
  const of = (name: PlAmount) => at(amountColumn(name), row);
  if (line === 'gross_profit' && amounts.gross_profit === null && gross_profit !== null)
    return formula(`${of('revenue')}-${of('cost_of_goods_sold')}`, gross_profit);
  if (line === 'ebitda' && amounts.ebitda === null && ebitda !== null)
    return formula(
      `${of('net_income')}+${of('interest_expense')}+${of('tax_expense')}+${of('depreciation_amortization')}`,
      ebitda,
    );
  return amount(amounts[line]);
}

const numbered = (number: number | undefined): SheetCell | null => (number === undefined ? null : count(number));

/** Returns the sheet of periods, a row for each period that counts. */
export function periodsSheet({ periods, computed, uploads }: ReportContents): ReportSheet {
  const numbers = new Map(uploads.map(({ id }, place) => [id, place + 1]));
  return {
    name: 'Periods',
    widths: [14, 11, 11, 8, ...plAmounts.map((line) => widthFor(periods.map(({ amounts }) => amounts[line])))],
    rows: [
      ...titled(
        'Profit and loss as uploaded',
        `In ${computed.currency}. Where rows cover the same dates, the one uploaded last counts; its upload number is beside it. If you change an amount, the other sheets follow.`,
        [
          head('Period', false),
          head('From', false),
          head('To', false),
          head('Upload'),
          ...plAmounts.map((line) => head(lineWords[line])),
        ],
      ),
      ...periods.map((period, place) => [
        text(period.label, { wrap: true }),
        day(period.first),
        day(period.last),
        numbered(numbers.get(period.upload)),
        ...plAmounts.map((line) => plCell(period, line, firstRow + place)),
      ]),
    ],
    frozen: below,
    landscape: true,
  };
}
