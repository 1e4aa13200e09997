/**
 * Whether what a business earns pays its debt: the most that a debt may cost, what terms cost, and coverage by year. Ratios are
 * kept as exact fractions and are rounded only where they are written; coverage, and what a debt may cost, are rounded down.
 */

import { memoized } from './caches.ts';
import { add, decimal, divide, isPositive, multiply, subtract, written, zero, type Decimal } from './decimals.ts';
import {
  byFraction,
  fraction,
  plusFraction,
  power,
  rounded,
  timesFraction,
  wholeFraction,
  type Fraction,
} from './fractions.ts';

/**
 * What a debt may cost a year at most, as a share of itself, so that earnings cover it `coverage` times: interest and
 * repayment together. Null where there is no debt, or nothing is earned to pay it from.
 */
export function mostAnnualCost(earnings: Decimal, debt: Decimal, coverage: Decimal): Fraction | null {
  if (!isPositive(debt) || !isPositive(earnings)) return null;
  return byFraction(fraction(earnings), timesFraction(fraction(debt), fraction(coverage)));
}

/** Terms of a loan that is paid back in equal payments each month. */
export interface Terms {
  /** Percent a year, 0 or more. */
  readonly rate: Decimal;
  /** Whole years, 1 to {@link mostYears}. */
  readonly years: bigint;
}

/** The most years that terms are computed for. */
export const mostYears = 40n;

/** The terms that a sentence names for comparison where none were given. */
export const exampleTerms: Terms = { rate: decimal('10'), years: 10n };

/** The monthly rate: percent a year / 100 / 12. */
const monthlyRate = (rate: Decimal): Fraction => byFraction(fraction(rate), wholeFraction(1200n));

/** What a loan costs each month as a share of itself: the annuity r (1+r)^n / ((1+r)^n − 1), exactly. */
function monthlyCost({ rate, years }: Terms): Fraction {
  const months = years * 12n;
  if (!isPositive(rate)) return { over: 1n, under: months };
  const part = monthlyRate(rate);
  const grown = power(plusFraction(wholeFraction(1n), part), months);
  return timesFraction(part, byFraction(grown, plusFraction(grown, wholeFraction(-1n))));
}

/** What a loan costs a year, interest and repayment, as a share of itself: 12 monthly payments. */
export const annualCost = (terms: Terms): Fraction => timesFraction(wholeFraction(12n), monthlyCost(terms));

export interface Loan extends Terms {
  readonly amount: Decimal;
  /** Years in which nothing is paid on it, while interest is added to it. */
  readonly standby?: bigint;
}

interface LoanYear {
  /** 1 for the first. */
  readonly year: bigint;
  readonly interest: Decimal;
  readonly principal: Decimal;
  /** What is paid in the year: interest and principal. */
  readonly paid: Decimal;
  readonly balance: Decimal;
}

/**
 * What is paid on a loan year by year, to the cent: the same payment each month, and the last settles what rounding left.
 * In years of standby interest is added to the balance; the payments begin behind them, for as many years as the terms say.
 */
export function repayment({ amount, rate, years, standby = 0n }: Loan): LoanYear[] {
  const monthly = monthlyRate(rate);
  const interestOn = (balance: Decimal) => rounded(timesFraction(fraction(balance), monthly), 2n, 'nearest');
  const all: LoanYear[] = [];
  let balance = amount;
  for (let year = 1n; year <= standby; year += 1n) {
    for (let month = 0n; month < 12n; month += 1n) balance = add(balance, interestOn(balance));
    all.push({ year, interest: zero, principal: zero, paid: zero, balance });
  }
  const payment = rounded(timesFraction(fraction(balance), monthlyCost({ rate, years })), 2n, 'nearest');
  const months = years * 12n;
  for (let year = 1n; year <= years; year += 1n) {
    let [interest, principal] = [zero, zero];
    for (let month = 1n; month <= 12n; month += 1n) {
      const due = interestOn(balance);
      const isLast = (year - 1n) * 12n + month === months;
      const repaid = isLast ? balance : subtract(payment, due);
      interest = add(interest, due);
      principal = add(principal, repaid);
      balance = subtract(balance, repaid);
    }
    all.push({ year: standby + year, interest, principal, paid: add(interest, principal), balance });
  }
  return all;
}

interface CoverageYear {
  readonly year: bigint;
  /** What is paid on all loans in the year. */
  readonly paid: Decimal;
  /** Earnings divided by it, two digits, rounded down; null in a year without payments. */
  readonly coverage: Decimal | null;
}

/** What is paid on all loans by the year; computed once for all earnings, as up to 80 years of months take milliseconds. */
const paidByYear = memoized((loans: readonly Loan[]): readonly (readonly [year: bigint, amount: Decimal])[] => {
  const paid = new Map<bigint, Decimal>();
  for (const loan of loans)
    for (const { year, paid: amount } of repayment(loan)) paid.set(year, add(paid.get(year) ?? zero, amount));
  return [...paid].toSorted(([a], [b]) => (a < b ? -1 : 1));
});

/** Coverage year by year, until the last loan is paid back, on the same earnings each year: growth is not supposed. */
export function coverageByYear(earnings: Decimal, loans: readonly Loan[]): CoverageYear[] {
  return paidByYear(loans).map(([year, amount]) => ({
    year,
    paid: amount,
    coverage: isPositive(amount) ? divide(earnings, amount, 2n, isPositive(earnings) ? 'down' : 'up') : null,
  }));
}

const percentage = (share: Fraction, places: bigint, rounding: 'nearest' | 'down') =>
  written(rounded(timesFraction(share, wholeFraction(100n)), places, rounding));

const yearsOf = (years: bigint): string => `${years} ${years === 1n ? 'year' : 'years'}`;

/** What terms cost in words: "10 years at 10%: 15.86%". */
const termsInWords = (terms: Terms): string =>
  `${yearsOf(terms.years)} at ${written(terms.rate)}%: ${percentage(annualCost(terms), 2n, 'nearest')}%`;

/** "Debt of $2,900,000 is covered 1.15 times if annual debt service is at most 25.2% of the debt (10 years at 10%: 15.86%)." */
export function coverageInWords(
  earnings: Decimal,
  debt: Decimal,
  coverage: Decimal,
  say: (amount: Decimal) => string,
  terms: Terms = exampleTerms,
): string {
  if (!isPositive(debt)) return 'There is no debt to cover.';
  const named = `Debt of ${say(debt)}`;
  const most = mostAnnualCost(earnings, debt, coverage);
  if (most === null) return `${named} is not covered: nothing is earned to pay it from.`;
  return `${named} is covered ${written(coverage)} times if annual debt service is at most ${percentage(most, 1n, 'down')}% of the debt (${termsInWords(terms)}).`;
}

/**
 * EBITDA that is left when a customer goes, to the cent: its revenue is gone, and the cost of it at the gross margin of all.
 * Null where there was no revenue.
 */
export function withoutCustomer(
  ebitda: Decimal,
  customer: Decimal,
  books: { readonly revenue: Decimal; readonly grossProfit: Decimal },
): Decimal | null {
  // In one division: what is rounded twice can end a cent off.
  return isPositive(books.revenue)
    ? divide(subtract(multiply(ebitda, books.revenue), multiply(customer, books.grossProfit)), books.revenue, 2n)
    : null;
}
