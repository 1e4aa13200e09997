/**
 * Whether earnings cover a debt: the highest annual debt service, the cost of terms, and coverage by year. Ratios are
 * exact fractions that are rounded only for output; coverage and the highest debt service are rounded down.
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
 * The highest annual debt service (interest and repayment) that earnings cover `coverage` times, as a share of the
 * debt. Null where there is no debt or no earnings.
 */
export function mostAnnualCost(earnings: Decimal, debt: Decimal, coverage: Decimal): Fraction | null {
  if (!isPositive(debt) || !isPositive(earnings)) return null;
  return byFraction(fraction(earnings), timesFraction(fraction(debt), fraction(coverage)));
}

/** Terms of a loan that is repaid in equal monthly payments. */
export interface Terms {
  /** Percent a year, 0 or more. */
  readonly rate: Decimal;
  /** Whole years, 1 to {@link mostYears}. */
  readonly years: bigint;
}

/** The maximum number of years in terms. */
export const mostYears = 40n;

/** The terms that sentences use for comparison when none were given. */
export const exampleTerms: Terms = { rate: decimal('10'), years: 10n };

/** The monthly rate: percent per year / 100 / 12. */
const monthlyRate = (rate: Decimal): Fraction => byFraction(fraction(rate), wholeFraction(1200n));

/** The monthly payment as a share of the loan: the annuity r (1+r)^n / ((1+r)^n − 1), exactly. */
function monthlyCost({ rate, years }: Terms): Fraction {
  const months = years * 12n;
  if (!isPositive(rate)) return { over: 1n, under: months };
  const part = monthlyRate(rate);
  const grown = power(plusFraction(wholeFraction(1n), part), months);
  return timesFraction(part, byFraction(grown, plusFraction(grown, wholeFraction(-1n))));
}

/** The annual cost of a loan, interest and repayment, as a share of the loan: 12 monthly payments. */
export const annualCost = (terms: Terms): Fraction => timesFraction(wholeFraction(12n), monthlyCost(terms));

export interface Loan extends Terms {
  readonly amount: Decimal;
  /** Years without payments, during which interest is added to the loan. */
  readonly standby?: bigint;
}

interface LoanYear {
  /** 1 for the first. */
  readonly year: bigint;
  readonly interest: Decimal;
  readonly principal: Decimal;
  /** Interest and principal paid in the year. */
  readonly paid: Decimal;
  readonly balance: Decimal;
}

/**
 * The payments on a loan by year, to the cent: equal monthly payments, except that the last settles the rounding
 * difference. In years of standby, interest is added to the balance; payments begin after them and go on for `years`.
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
  /** The payments on all loans in the year. */
  readonly paid: Decimal;
  /** Earnings divided by `paid`, rounded down to two decimal places; null in a year without payments. */
  readonly coverage: Decimal | null;
}

/** The payments on all loans by year; memoized for all earnings, as up to 80 years of months take milliseconds. */
const paidByYear = memoized((loans: readonly Loan[]): readonly (readonly [year: bigint, amount: Decimal])[] => {
  const paid = new Map<bigint, Decimal>();
  for (const loan of loans)
    for (const { year, paid: amount } of repayment(loan)) paid.set(year, add(paid.get(year) ?? zero, amount));
  return [...paid].toSorted(([a], [b]) => (a < b ? -1 : 1));
});

/** Coverage by year until the last loan is repaid, with the same earnings each year: no growth is assumed. */
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

/** The cost of terms as text: "10 years at 10%: 15.86%". */
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
  if (most === null) return `${named} is not covered: there are no earnings to pay it from.`;
  return `${named} is covered ${written(coverage)} times if annual debt service is at most ${percentage(most, 1n, 'down')}% of the debt (${termsInWords(terms)}).`;
}

/**
 * EBITDA without a customer, to the cent: less its revenue, plus the cost of that revenue at the overall gross margin.
 * Null unless revenue is above zero.
 */
export function withoutCustomer(
  ebitda: Decimal,
  customer: Decimal,
  books: { readonly revenue: Decimal; readonly grossProfit: Decimal },
): Decimal | null {
  // A single division: rounding twice could be a cent off.
  return isPositive(books.revenue)
    ? divide(subtract(multiply(ebitda, books.revenue), multiply(customer, books.grossProfit)), books.revenue, 2n)
    : null;
}
