/** Profit and loss, and revenue by customer, computed in whole cents so that every line adds up. */

import { daysOf, yearBefore } from './relative-times.ts';
import { decimal, dollars, share } from './money.ts';

/** Operating expenses exclude the owner's compensation and depreciation, which have lines of their own. */
export interface Lines {
  readonly revenue: bigint;
  readonly costOfGoodsSold: bigint;
  readonly operatingExpenses: bigint;
  readonly ownerCompensation: bigint;
  readonly depreciationAmortization: bigint;
  readonly interestExpense: bigint;
  readonly taxExpense: bigint;
}

export interface Period {
  readonly label: string;
  readonly first: string;
  readonly last: string;
  readonly lines: Lines;
}

export interface CustomerPeriod {
  readonly first: string;
  readonly last: string;
  readonly customers: readonly { readonly name: string; readonly revenue: bigint }[];
}

/** Returns the books as read at that time. */
export type Books = (read: Date) => {
  readonly periods: readonly Period[];
  readonly customers: readonly CustomerPeriod[];
};

/** Returns the columns of pl_periods that contain amounts, with the totals computed from the lines. */
export function amounts(lines: Lines): Record<string, string> {
  const grossProfit = lines.revenue - lines.costOfGoodsSold;
  const ebitda = grossProfit - lines.operatingExpenses - lines.ownerCompensation;
  const netIncome = ebitda - lines.depreciationAmortization - lines.interestExpense - lines.taxExpense;
  return {
    revenue: decimal(lines.revenue),
    cost_of_goods_sold: decimal(lines.costOfGoodsSold),
    gross_profit: decimal(grossProfit),
    operating_expenses: decimal(lines.operatingExpenses),
    owner_compensation: decimal(lines.ownerCompensation),
    depreciation_amortization: decimal(lines.depreciationAmortization),
    interest_expense: decimal(lines.interestExpense),
    tax_expense: decimal(lines.taxExpense),
    net_income: decimal(netIncome),
    ebitda: decimal(ebitda),
  };
}

/** Divides the revenue of a period among customers by weight. */
export function customersOf(
  period: { readonly first: string; readonly last: string; readonly revenue: bigint },
  weights: readonly (readonly [name: string, weight: number])[],
): CustomerPeriod {
  const parts = share(
    period.revenue,
    weights.map(([, weight]) => weight),
  );
  const customers = weights.map(([name], index) => ({ name, revenue: parts[index] ?? 0n }));
  return { first: period.first, last: period.last, customers };
}

/** The amounts of one year in whole dollars, in the order of an income statement. */
export type Year = readonly [
  revenue: number,
  costOfGoodsSold: number,
  operatingExpenses: number,
  ownerCompensation: number,
  depreciationAmortization: number,
  interestExpense: number,
  taxExpense: number,
];

/**
 * Makes books of consecutive calendar years, of which the last is the last complete one when they are read; customers
 * share the revenue of that year.
 */
export function annualBooks(years: readonly Year[], weights: readonly (readonly [string, number])[] = []): Books {
  return (read) => {
    const periods = years.map((year, index): Period => {
      const calendarYear = yearBefore(read) - (years.length - 1 - index);
      const { first } = daysOf({ year: calendarYear, month: 1 });
      const { last } = daysOf({ year: calendarYear, month: 12 });
      const [revenue, costOfGoodsSold, operatingExpenses, ownerCompensation, depreciation, interest, tax] = year;
      return {
        label: `FY${calendarYear}`,
        first,
        last,
        lines: {
          revenue: dollars(revenue),
          costOfGoodsSold: dollars(costOfGoodsSold),
          operatingExpenses: dollars(operatingExpenses),
          ownerCompensation: dollars(ownerCompensation),
          depreciationAmortization: dollars(depreciation),
          interestExpense: dollars(interest),
          taxExpense: dollars(tax),
        },
      };
    });
    const latest = periods.at(-1);
    const customers =
      latest && weights.length > 0 ? [customersOf({ ...latest, revenue: latest.lines.revenue }, weights)] : [];
    return { periods, customers };
  };
}
