/**
 * The debt that pays for an offer, how many times the earnings of the business cover it, and the facts that the rules
 * of the SBA examine.
 */

import type { BookedCustomer, Books } from '../diligence/books.ts';
import type { Day } from '../diligence/calendar.ts';
import {
  coverageByYear,
  coverageInWords,
  exampleTerms,
  mostAnnualCost,
  withoutCustomer,
  type Loan,
  type Terms,
} from '../diligence/coverage.ts';
import { largestOfYear } from '../diligence/customers.ts';
import {
  add,
  compare,
  decimal,
  isPositive,
  isZero,
  spokenMoney,
  subtract,
  sum,
  written,
  writtenOrNull,
  zero,
  type Decimal,
} from '../diligence/decimals.ts';
import type { Earnings } from '../diligence/earnings.ts';
import { rounded } from '../diligence/fractions.ts';
import type { SbaFacts } from '../diligence/sba-rules.ts';
import type { CertainMoney, OfferAmounts } from './valuation.ts';
import type { FundingRow, SourceType } from './financing.ts';

/** Terms that a person typed in to see their effect; they are not stored. */
export interface TypedTerms {
  /** Terms of the debt other than the seller note. */
  readonly bank: Terms | null;
  /** Terms of the seller note; null for the terms of `bank`. */
  readonly note: Terms | null;
  /** Years without payments on the seller note; null when not stated. */
  readonly noteStandby: bigint | null;
  /** The equity that the buyer contributes. */
  readonly equity: Decimal | null;
}

export const nothingTyped: TypedTerms = { bank: null, note: null, noteStandby: null, equity: null };

const loans: readonly SourceType[] = ['sba_7a', 'sba_504', 'conventional_senior_debt', 'mezzanine'];
const investorMoney: readonly SourceType[] = ['equity_investor_check'];
const ownMoney: readonly SourceType[] = ['cash_buyer_equity', ...investorMoney];

/** The totals that a buyer's side has recorded in a currency; null for each kind without a source. */
export interface Recorded {
  readonly loans: Decimal | null;
  readonly sba: Decimal | null;
  readonly equity: Decimal | null;
  /** The part of the equity that comes from investors. */
  readonly investors: Decimal | null;
  readonly note: Decimal | null;
  readonly all: Decimal | null;
}

/** Returns the totals that a participant's side has recorded in a currency. */
export function recordedBy(participant: string | null, currency: string | null, all: readonly FundingRow[]): Recorded {
  const own = all.filter((one) => one.participant_id === participant && one.currency === currency);
  const of = (types: readonly SourceType[]): Decimal | null => {
    const found = own.filter(({ source_type }) => types.includes(source_type));
    return found.length === 0 ? null : sum(found.map(({ total }) => decimal(total)));
  };
  return {
    loans: of(loans),
    sba: of(['sba_7a']),
    equity: of(ownMoney),
    investors: of(investorMoney),
    note: of(['seller_note']),
    all: own.length === 0 ? null : sum(own.map(({ total }) => decimal(total))),
  };
}

/**
 * How the debt of an offer is determined: from the loans that the buyer's side recorded, or as all money that is not
 * known to be the buyer's own.
 */
type DebtIs = 'recorded' | 'all_but_equity';

/** The debt that pays the price of an offer. */
export interface Debt {
  readonly is: DebtIs;
  /** The debt other than the seller note. */
  readonly bank: Decimal;
  readonly note: Decimal;
  readonly equity: Decimal | null;
}

/** Returns `amount` less `other`, at least zero. */
function reducedBy(amount: Decimal, other: Decimal): Decimal {
  const left = subtract(amount, other);
  return isPositive(left) ? left : zero;
}

/** Returns the seller note as recorded, otherwise as offered; null when neither is stated. */
const noteOf = (offer: OfferAmounts, recorded: Recorded): Decimal | null => recorded.note ?? offer.seller_note;

/** Returns the debt that pays for an offer, from the recorded sources, otherwise from the offer itself. */
export function debtOf(offer: OfferAmounts, money: CertainMoney | null, recorded: Recorded, typed: TypedTerms): Debt {
  const note = noteOf(offer, recorded) ?? zero;
  const equity = typed.equity ?? recorded.equity;
  if (recorded.loans !== null) return { is: 'recorded', bank: recorded.loans, note, equity };
  const unsaid = money === null ? offer.purchase_price : money.parts.find(({ part }) => part === 'unsaid')?.amount;
  // The recorded seller note in excess of the offered one pays part of the unstated rest of the price, and must not be
  // borrowed twice.
  const open = reducedBy(unsaid ?? zero, reducedBy(note, offer.seller_note ?? zero));
  const cash = add(offer.cash_at_close ?? zero, open);
  return { is: 'all_but_equity', bank: reducedBy(cash, equity ?? zero), note, equity };
}

/** Returns the loans of a debt with their terms; null when the terms of a loan that is not zero are missing. */
function loansOf({ bank, note }: Debt, typed: TypedTerms): Loan[] | null {
  const noteTerms = typed.note ?? typed.bank;
  const all = [
    ...(isZero(bank) ? [] : [typed.bank && { amount: bank, ...typed.bank }]),
    ...(isZero(note) ? [] : [noteTerms && { amount: note, ...noteTerms, standby: typed.noteStandby ?? 0n }]),
  ];
  return all.every((loan) => loan !== null) ? all : null;
}

/** How many times EBITDA is to cover the debt: 1.15 is asked by lenders, 1.25 by the SBA since 1 October 2026. */
export const askedCoverages = ['1.15', '1.25'] as const;
export type AskedCoverage = (typeof askedCoverages)[number];

interface YearSummary {
  readonly year: number;
  readonly paid: string;
  readonly coverage: string | null;
}

/**
 * The highest annual cost of the debt at this coverage, as a share of the debt, rounded down; null when nothing is
 * earned.
 */
interface MostCost {
  readonly covered: AskedCoverage;
  readonly cost: string | null;
}

export interface CoverageSummary {
  readonly debt: string;
  /** The part of the debt other than the seller note. */
  readonly bank: string;
  readonly debt_is: DebtIs;
  readonly most_cost: readonly MostCost[];
  /** The highest annual cost of the debt at each of the {@link askedCoverages}, in words. */
  readonly sentences: readonly string[];
  /** The same without the largest customer; null when the books have no twelve months of revenue by customer. */
  readonly without_largest: {
    readonly customer: string;
    /** The twelve months of the customer's revenue; null where they are those of the earnings. */
    readonly customer_period: { readonly first: Day; readonly last: Day } | null;
    readonly ebitda: string;
    readonly most_cost: readonly MostCost[];
    readonly sentences: readonly string[];
  } | null;
  /** Coverage year by year with the terms typed in; null without terms. */
  readonly years: readonly YearSummary[] | null;
  readonly years_without_largest: readonly YearSummary[] | null;
}

/** The inputs of the computation of coverage other than the offer. */
export interface CoverageGiven {
  readonly books: Books;
  readonly typed?: TypedTerms;
  /** Formats amounts in sentences; defaults to {@link spokenMoney}. */
  readonly sayMoney?: (amount: Decimal, currency: string) => string;
}

/**
 * Returns the largest customer and the EBITDA without that customer; null when the books lack the customer's revenue of
 * twelve months.
 */
function withoutLargest(
  period: Earnings,
  books: Books,
): { largest: BookedCustomer; ebitda: Decimal; isSame: boolean } | null {
  const { adjusted_ebitda: ebitda } = period;
  const { revenue, gross_profit: grossProfit } = period.amounts;
  const largest = largestOfYear(books, period);
  if (largest === null || ebitda === null || revenue === null || grossProfit === null) return null;
  const left = withoutCustomer(ebitda, largest.revenue, { revenue, grossProfit });
  return left && { largest, ebitda: left, isSame: largest.first === period.first && largest.last === period.last };
}

const yearSummaries = (ebitda: Decimal, all: readonly Loan[]): YearSummary[] =>
  coverageByYear(ebitda, all).map(({ paid, coverage }, place) => ({
    year: place + 1,
    paid: written(paid),
    coverage: writtenOrNull(coverage),
  }));

/** Returns the assumption about a debt that nobody recorded, as the beginning of a sentence; null for recorded debt. */
function supposed({ is, equity }: Debt, say: (amount: Decimal) => string): string | null {
  if (is === 'recorded') return null;
  const own = equity !== null && isPositive(equity) ? ` but ${say(equity)}` : '';
  return `With all cash${own} borrowed`;
}

function sentencesOn(ebitda: Decimal, debt: Debt, say: (amount: Decimal) => string, terms: Terms): string[] {
  const lead = supposed(debt, say);
  const all = add(debt.bank, debt.note);
  const sentences = askedCoverages.map((coverage) => {
    const said = coverageInWords(ebitda, all, decimal(coverage), say, terms);
    return lead === null ? said : `${lead}, ${said.charAt(0).toLowerCase()}${said.slice(1)}`;
  });
  // When nothing is earned, the sentence names no coverage and would be repeated for each.
  return [...new Set(sentences)];
}

const mostCost = (ebitda: Decimal, debt: Decimal): MostCost[] =>
  askedCoverages.map((coverage) => {
    const most = mostAnnualCost(ebitda, debt, decimal(coverage));
    return { covered: coverage, cost: most && written(rounded(most, 3n, 'down')) };
  });

/**
 * Returns how many times the EBITDA of the period covers the debt of an offer; null when there is no debt, or no EBITDA
 * in the offer's currency.
 */
export function coverageOf(
  offer: OfferAmounts,
  debt: Debt,
  period: Earnings | null,
  { books, typed = nothingTyped, sayMoney = spokenMoney }: CoverageGiven,
): CoverageSummary | null {
  const ebitda = period?.adjusted_ebitda ?? null;
  const all = add(debt.bank, debt.note);
  if (period === null || ebitda === null || offer.currency !== period.currency || !isPositive(all)) return null;
  const less = withoutLargest(period, books);
  const borrowed = loansOf(debt, typed);
  const terms = (isZero(debt.bank) ? (typed.note ?? typed.bank) : typed.bank) ?? exampleTerms;
  const say = (amount: Decimal) => sayMoney(amount, period.currency);
  return {
    debt: written(all),
    bank: written(debt.bank),
    debt_is: debt.is,
    most_cost: mostCost(ebitda, all),
    sentences: sentencesOn(ebitda, debt, say, terms),
    without_largest: less && {
      customer: less.largest.name,
      customer_period: less.isSame ? null : { first: less.largest.first, last: less.largest.last },
      ebitda: written(less.ebitda),
      most_cost: mostCost(less.ebitda, all),
      sentences: sentencesOn(less.ebitda, debt, say, terms),
    },
    years: borrowed && yearSummaries(ebitda, borrowed),
    years_without_largest: borrowed && less && yearSummaries(less.ebitda, borrowed),
  };
}

/** Returns the lowest coverage of any year, which the rules examine; null without any. */
export const leastCoverage = (years: readonly YearSummary[] | null | undefined): Decimal | null => {
  const all = (years ?? []).flatMap(({ coverage }) => (coverage === null ? [] : [decimal(coverage)]));
  return all.toSorted(compare)[0] ?? null;
};

/** Returns the facts about an offer that the rules of the SBA ask for. */
export function sbaFactsOf(
  offer: OfferAmounts,
  recorded: Recorded,
  debt: Debt,
  coverage: CoverageSummary | null,
  typed: TypedTerms,
): SbaFacts {
  const { bank, noteStandby } = typed;
  const { all } = recorded;
  const price = offer.purchase_price;
  return {
    price,
    seller_note: noteOf(offer, recorded),
    rollover: offer.rollover_equity,
    loan: recorded.sba,
    equity: debt.equity,
    // Equity that was typed in is the buyer's own.
    investors: typed.equity === null ? recorded.investors : null,
    // Recorded sources that total less than the price are incomplete.
    project_cost: all !== null && price !== null && compare(all, price) >= 0 ? all : null,
    full_standby: noteStandby === null || bank === null ? null : noteStandby >= bank.years,
    loan_years: bank?.years ?? null,
    coverage: leastCoverage(coverage?.years),
    pays_nothing: isPositive(add(debt.bank, debt.note))
      ? coverage?.years != null && leastCoverage(coverage.years) === null
      : price !== null,
  };
}
