/** The words that the sentences of contradictions share. */

import type { BookedPeriod } from '../books.ts';
import { monthOf } from '../calendar.ts';
import { absolute, isNegative, spoken, type Decimal } from '../decimals.ts';
import { isMonthRow } from '../earnings.ts';
import type { PlAmount } from '../snapshots.ts';

/** "a", "a and b", "a, b and c", "a, b, c and 4 more". */
export function listed(names: readonly string[], most = 6): string {
  const shown = names.length > most ? [...names.slice(0, most - 1), `${names.length - most + 1} more`] : names;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

/** "1 month", "3 months". */
export const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;

export const lineNames: Readonly<Record<PlAmount, string>> = {
  revenue: 'revenue',
  cost_of_goods_sold: 'cost of goods sold',
  gross_profit: 'gross profit',
  operating_expenses: 'operating expenses',
  owner_compensation: 'the owner’s pay',
  depreciation_amortization: 'depreciation and amortization',
  interest_expense: 'interest',
  tax_expense: 'tax',
  net_income: 'net income',
  ebitda: 'EBITDA',
};

/** What a period is called in a sentence. */
export const labelOf = (row: BookedPeriod): string => (isMonthRow(row) ? monthOf(row.first) : row.label);

/** A difference as a sentence says it. */
export const sayDifference = (difference: Decimal): string =>
  `${spoken(absolute(difference))} ${isNegative(difference) ? 'less' : 'more'}`;
