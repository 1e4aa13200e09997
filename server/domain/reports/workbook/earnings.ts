/** The sheet of earnings: each period as sums of uploaded figures and adjustments. */

import { decimal, sum, written } from '../../diligence/decimals.ts';
import { adjustmentCategories } from '../../diligence/normalizations.ts';
import { lineWords, plAmounts, type PlAmount } from '../../diligence/snapshots.ts';
import { at, day, downFrom, fixed, formula, head, text, type ReportSheet, type SheetCell } from '../cells.ts';
import type { ReportContents } from '../contents.ts';
import { categoryWords } from '../words.ts';
import { alsoColumn } from './adjustments.ts';
import { below, firstRow, listed, titled, widthFor } from './layout.ts';
import { amountColumn } from './periods.ts';

type Earned = ReportContents['computed']['earnings'][number];

/** The row numbers of the sheet of earnings, by name. */
const earningRows = Object.fromEntries(
  [
    'from',
    'to',
    ...plAmounts,
    'space',
    ...adjustmentCategories,
    'adjusted_ebitda',
    'owner_pay_added',
    'sde',
    'space2',
    'gross_margin',
    'ebitda_margin',
    'adjusted_ebitda_margin',
    'revenue_growth',
    'ebitda_growth',
  ].map((name, place) => [name, firstRow + place]),
) as Readonly<Record<string, number>>;
/** The row number of a line, of an adjustment category or of a computed figure. */
const earningRow = (name: string): number => earningRows[name] ?? 0;

const sumOf = (amounts: readonly string[]): string => written(sum(amounts.map(decimal)));

/** The cells of one period, row by row, in the order of {@link earningRows}. */
function earningCells(one: Earned, column: number, contents: ReportContents): (SheetCell | null)[] {
  const places = new Map(contents.periods.map(({ id }, place) => [id, firstRow + place]));
  const rowsOf = (ids: readonly string[]) => ids.flatMap((id) => places.get(id) ?? []);
  const cell = (name: string) => at(column, earningRow(name));
  const last = firstRow + contents.adjustments.length - 1;
  const adjusted = (category: (typeof adjustmentCategories)[number]) => {
    const its = one.adjustments.filter((each) => each.category === category).map((each) => each.amount);
    if (contents.adjustments.length === 0) return formula('0', '0');
    const named = (place: number) =>
      `EXACT(Adjustments!${downFrom(place, firstRow, last)},${at(column, firstRow - 1)})`;
    const hasOthers = one.adjustments.some(({ period_label }) => period_label !== one.label);
    const label = hasOthers ? `${named(0)}+${named(alsoColumn)}` : `--${named(0)}`;
    const kind = `--(Adjustments!${downFrom(1, firstRow, last)}="${categoryWords[category]}")`;
    return formula(`SUMPRODUCT(${label},${kind},Adjustments!${downFrom(2, firstRow, last)})`, sumOf(its));
  };
  const summed = (line: PlAmount) =>
    one.amounts[line] === null
      ? null
      : formula(`SUM(${listed('Periods', amountColumn(line), rowsOf(one.rows))})`, one.amounts[line]);
  const ratio = (over: string, under: string, comes: string | null) =>
    comes === null ? null : formula(`IF(${cell(under)}>0,ROUND(${cell(over)}/${cell(under)},6),"")`, comes, 'share');
  const before = rowsOf(contents.years_before[contents.computed.earnings.indexOf(one)] ?? []);
  const growth = (line: PlAmount, comes: string | null) => {
    if (comes === null) return null;
    const was = `SUM(${listed('Periods', amountColumn(line), before)})`;
    return formula(`IF(${was}>0,ROUND((${cell(line)}-${was})/${was},6),"")`, comes, 'share');
  };
  const isEarned = one.adjusted_ebitda !== null;
  return [
    day(one.first, { right: true }),
    day(one.last, { right: true }),
    ...plAmounts.map(summed),
    null,
    ...adjustmentCategories.map(adjusted),
    isEarned
      ? formula(
          `${cell('ebitda')}+SUM(${cell(adjustmentCategories[0])}:${cell(adjustmentCategories.at(-1) ?? '')})`,
          one.adjusted_ebitda,
          'amount',
          { bold: true },
        )
      : null,
    one.owner_pay_added === null
      ? null
      : formula(`MAX(0,${cell('owner_compensation')}-${cell('owner_comp')})`, one.owner_pay_added),
    one.sde === null
      ? null
      : formula(`${cell('adjusted_ebitda')}+${cell('owner_pay_added')}`, one.sde, 'amount', { bold: true }),
    null,
    ratio('gross_profit', 'revenue', one.gross_margin),
    ratio('ebitda', 'revenue', one.ebitda_margin),
    ratio('adjusted_ebitda', 'revenue', one.adjusted_ebitda_margin),
    growth('revenue', one.revenue_growth),
    growth('ebitda', one.ebitda_growth),
  ];
}

const earningWords: readonly string[] = [
  'From',
  'To',
  ...plAmounts.map((line) => (line === 'ebitda' ? 'Reported EBITDA' : lineWords[line])),
  '',
  ...adjustmentCategories.map((category) => `Adjustments: ${categoryWords[category]}`),
  'Adjusted EBITDA',
  'Owner compensation not added back',
  'SDE',
  '',
  'Gross margin',
  'EBITDA margin',
  'Adjusted EBITDA margin',
  'Revenue growth',
  'EBITDA growth',
];

/** Returns the sheet of earnings, a column for each period. */
export function earningsSheet(contents: ReportContents): ReportSheet {
  const { earnings, currency } = contents.computed;
  const columns = earnings.map((one, place) => earningCells(one, 1 + place, contents));
  return {
    name: 'Earnings',
    widths: [40, ...earnings.map(({ amounts }) => Math.max(15, widthFor(Object.values(amounts))))],
    rows: [
      ...titled('Earnings', `In ${currency}, computed from the sheets Periods and Adjustments.`, [
        head('', false),
        ...earnings.map(({ label }) => head(label)),
      ]),
      ...earningWords.map((word, place) => [
        text(word, { bold: word === 'Adjusted EBITDA' || word === 'SDE' }),
        ...columns.map((cells) => cells[place] ?? null),
      ]),
    ],
    frozen: below,
    landscape: true,
  };
}

/**
 * Returns a function that finds, for a line, the cell of the earnings that the offers are compared with; null when
 * there is none.
 */
export function basisCells({ offers: { basis }, computed }: ReportContents): (line: string) => string | null {
  const place = computed.earnings.findIndex(({ label, kind }) => label === basis?.period && kind !== 'partial_year');
  return (line) => (place < 0 ? null : `Earnings!${fixed(1 + place, earningRow(line))}`);
}
