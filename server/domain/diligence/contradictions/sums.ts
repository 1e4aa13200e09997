/** Finds totals of the profit and loss that differ from the sum of their parts. */

import type { BookedPeriod } from '../books.ts';
import { wholeMonths } from '../calendar.ts';
import { spoken, subtract, type Decimal } from '../decimals.ts';
import { ebitdaOf, isMonthRow, together } from '../earnings.ts';
import type { PlAmount } from '../snapshots.ts';
import type { Found } from './contradiction.ts';
import { differs } from './rounded.ts';
import { partsOf, type View } from './view.ts';
import { labelOf, lineNameOf, listed, sayDifference } from './words.ts';

type Row = BookedPeriod;

const isLong = ({ first, last }: Pick<Row, 'first' | 'last'>): boolean => (wholeMonths(first, last) ?? 0n) > 1n;

/** Periods that differ from the sum of the shorter periods in them. */
export function yearUnlikeMonths({ rows, months, pieces, mended }: View): Found[] {
  return rows.filter(isLong).flatMap((row) => {
    const parts = partsOf(row.first, row.last, { months, pieces });
    if (!parts) return [];
    const words = parts.every(isMonthRow) ? 'its months add up' : `${listed(parts.map(labelOf))} add up`;
    return (['revenue', 'ebitda'] as const).flatMap((name): Found[] => {
      const of = (one: Row) =>
        (name === 'ebitda' ? ebitdaOf : (amounts: Row['amounts']) => amounts[name])(mended.get(one.id) ?? one.amounts);
      const amounts = parts.map(of);
      const [reported, added] = [of(row), together(amounts)];
      // EBITDA that was not uploaded is the sum of four numbers.
      const numbersOf = (one: Row): number => (one.amounts[name] === null ? 4 : 1);
      const numbers = parts.reduce((all, part) => all + numbersOf(part), 0);
      if (!reported || !added) return [];
      if (!differs(reported, added, { values: [reported], numbers: numbersOf(row) }, { values: amounts, numbers }))
        return [];
      const difference = subtract(reported, added);
      return [
        {
          kind: 'year_unlike_months',
          of: `${name} ${row.first} ${row.last}`,
          sentence: `${labelOf(row)} says ${spoken(reported)} of ${lineNameOf(name)}, but ${words} to ${spoken(added)}: ${sayDifference(difference)}.`,
          ask: 'Ask what was booked for the whole period but in none of its parts, or the other way around.',
          amounts: { told: reported, months: added, difference },
          rows: [row.id, ...parts.map(({ id }) => id)],
        },
      ];
    });
  });
}

interface Identity {
  readonly kind: 'gross_profit' | 'ebitda';
  readonly total: PlAmount;
  readonly of: (amounts: Row['amounts']) => Decimal | null;
  readonly words: string;
  readonly parts: readonly PlAmount[];
  readonly ask: string;
}

const identities: readonly Identity[] = [
  {
    kind: 'gross_profit',
    total: 'gross_profit',
    of: ({ revenue, cost_of_goods_sold }) =>
      revenue && cost_of_goods_sold ? subtract(revenue, cost_of_goods_sold) : null,
    words: 'revenue less cost of goods sold comes to',
    parts: ['revenue', 'cost_of_goods_sold'],
    ask: 'Ask which of the three is wrong, or what else is in the gross profit.',
  },
  {
    kind: 'ebitda',
    total: 'ebitda',
    of: (amounts) =>
      together([amounts.net_income, amounts.tax_expense, amounts.interest_expense, amounts.depreciation_amortization]),
    words: 'net income, tax, interest and depreciation come to',
    parts: ['net_income', 'tax_expense', 'interest_expense', 'depreciation_amortization'],
    ask: 'Ask what else was taken out of EBITDA, or left in it.',
  },
];

/** Totals of a period that do not follow from its other lines. */
export function totalsOff({ rows, mended }: View): Found[] {
  return identities.flatMap(({ kind, total, of, words, parts, ask }) =>
    rows.flatMap((row): Found[] => {
      const holds = (amounts: Row['amounts']): boolean => {
        const [reported, made] = [amounts[total], of(amounts)];
        return (
          !reported || !made || !differs(reported, made, { values: [reported, ...parts.map((part) => amounts[part])] })
        );
      };
      const [reported, made] = [row.amounts[total], of(row.amounts)];
      if (!reported || !made || holds(row.amounts) || holds(mended.get(row.id) ?? row.amounts)) return [];
      const difference = subtract(reported, made);
      return [
        {
          kind,
          of: `${row.first} ${row.last}`,
          sentence: `${labelOf(row)} says ${spoken(reported)} of ${lineNameOf(total)}, but ${words} ${spoken(made)}: ${sayDifference(difference)}.`,
          ask,
          amounts: { told: reported, computed: made, difference },
          rows: [row.id],
        },
      ];
    }),
  );
}
