/** Finds profit and loss rows in another currency than the latest row. */

import { datesOf } from '../books.ts';
import { byText } from '../calendar.ts';
import { spoken, sum, zero } from '../decimals.ts';
import type { Found } from './contradiction.ts';
import type { View } from './view.ts';
import { labelOf, listed } from './words.ts';

/** Periods in another currency than the latest one. */
export function currenciesOff({ rows, otherCurrency }: View): Found[] {
  const currency = rows[0]?.currency ?? '';
  const others = Map.groupBy(otherCurrency, (row) => row.currency);
  return [...others].map(([other, its]): Found => {
    const revenue = sum(its.map(({ amounts }) => amounts.revenue ?? zero));
    return {
      kind: 'currency',
      of: other,
      says: [currency, ...its.map(datesOf).toSorted(byText)],
      sentence: `${listed(its.map(labelOf))} ${its.length === 1 ? 'is' : 'are'} in ${other}, ${rows.length === 1 ? 'the latest period' : 'the others'} in ${currency}: revenue of ${spoken(revenue)} ${other} is in no total.`,
      ask: 'Ask in which currency the books are kept, and upload all periods in it.',
      amounts: { revenue },
      rows: its.map(({ id }) => id),
    };
  });
}
