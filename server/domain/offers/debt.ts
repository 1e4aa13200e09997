/** What is borrowed to pay an offer, how often the earnings of the business cover it, and what of it the rules of the SBA look at. */

import { rows } from '../../database/statement.ts';
import { seenDeal } from '../deals/deals.ts';
import type { Books } from '../diligence/books.ts';
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
import { counts, type SourceType } from './financing.ts';

/** What a buyer's side has recorded of one kind of source in one currency. */
export interface FundingRow {
  participant_id: string;
  source_type: SourceType;
  currency: string;
  total: string;
}

/** What each buyer's side has recorded of where its money comes from, as the caller may see it; not what fell away. */
export const funding = rows<FundingRow, [dealId: string]>(
  'funding_by_side',
  `select s.participant_id, s.source_type, s.currency, sum(s.commitment_amount)::text as total
   from financing_sources s
   where s.deal_id = ${seenDeal('$1')} and ${counts('s.commitment_status')}
   group by s.participant_id, s.source_type, s.currency`,
);

/** What a person typed in to see what it would come to; none of it is kept. */
export interface TypedTerms {
  /** Of what is borrowed beside the seller note. */
  readonly bank: Terms | null;
  /** Of the seller note; those of the bank where nothing else is said. */
  readonly note: Terms | null;
  /** Years in which nothing is paid on the seller note; null where nobody said. */
  readonly noteStandby: bigint | null;
  /** What the buyer puts in themselves. */
  readonly equity: Decimal | null;
}

export const nothingTyped: TypedTerms = { bank: null, note: null, noteStandby: null, equity: null };

const loans: readonly SourceType[] = ['sba_7a', 'sba_504', 'conventional_senior_debt', 'mezzanine'];
const investorMoney: readonly SourceType[] = ['equity_investor_check'];
const ownMoney: readonly SourceType[] = ['cash_buyer_equity', ...investorMoney];

/** What a buyer's side has recorded in a currency. Null is what it has not. */
export interface Recorded {
  readonly loans: Decimal | null;
  readonly sba: Decimal | null;
  readonly equity: Decimal | null;
  /** What of the equity is of investors. */
  readonly investors: Decimal | null;
  readonly note: Decimal | null;
  readonly all: Decimal | null;
}

/** What the side of a participant has recorded in a currency. */
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

/** Where the debt of an offer is read: the loans that the buyer's side recorded, or all money but what is known to be the buyer's own. */
type DebtIs = 'recorded' | 'all_but_equity';

/** What is borrowed to pay the price of an offer. */
export interface Debt {
  readonly is: DebtIs;
  /** What is borrowed beside the seller note. */
  readonly bank: Decimal;
  readonly note: Decimal;
  readonly equity: Decimal | null;
}

/** What is left of an amount without another, at least nothing. */
function reducedBy(amount: Decimal, other: Decimal): Decimal {
  const left = subtract(amount, other);
  return isPositive(left) ? left : zero;
}

/** The seller note, as it was recorded, else as it was offered; null where neither says one. */
const noteOf = (offer: OfferAmounts, recorded: Recorded): Decimal | null => recorded.note ?? offer.seller_note;

/** What is borrowed to pay an offer, by what was recorded, else by what it offers. */
export function debtOf(offer: OfferAmounts, money: CertainMoney | null, recorded: Recorded, typed: TypedTerms): Debt {
  const note = noteOf(offer, recorded) ?? zero;
  const equity = typed.equity ?? recorded.equity;
  if (recorded.loans !== null) return { is: 'recorded', bank: recorded.loans, note, equity };
  const unsaid = money === null ? offer.purchase_price : money.parts.find(({ part }) => part === 'unsaid')?.amount;
  // What is recorded of the note beyond what is offered pays what the offer leaves open, and is not borrowed twice.
  const open = reducedBy(unsaid ?? zero, reducedBy(note, offer.seller_note ?? zero));
  const cash = add(offer.cash_at_close ?? zero, open);
  return { is: 'all_but_equity', bank: reducedBy(cash, equity ?? zero), note, equity };
}

/** The loans of a debt with their terms; null where those of one that is not zero are missing. */
function loansOf({ bank, note }: Debt, typed: TypedTerms): Loan[] | null {
  const noteTerms = typed.note ?? typed.bank;
  const all = [
    ...(isZero(bank) ? [] : [typed.bank && { amount: bank, ...typed.bank }]),
    ...(isZero(note) ? [] : [noteTerms && { amount: note, ...noteTerms, standby: typed.noteStandby ?? 0n }]),
  ];
  return all.every((loan) => loan !== null) ? all : null;
}

/** How many times EBITDA is to cover the debt: what lenders ask for, and what the SBA asks for since 1 October 2026. */
export const askedCoverages = ['1.15', '1.25'] as const;
export type AskedCoverage = (typeof askedCoverages)[number];

interface YearSummary {
  readonly year: number;
  readonly paid: string;
  readonly coverage: string | null;
}

/** What the debt may cost a year at most, as a share of itself rounded down, to be covered so many times; null where nothing is earned. */
interface MostCost {
  readonly covered: AskedCoverage;
  readonly cost: string | null;
}

export interface CoverageSummary {
  readonly debt: string;
  /** What of it is borrowed beside the seller note. */
  readonly bank: string;
  readonly debt_is: DebtIs;
  readonly most_cost: readonly MostCost[];
  /** What the debt may cost a year at most to be covered 1.15 times, and 1.25 times. */
  readonly sentences: readonly string[];
  /** The same when the largest customer goes; null where the books have no customers of twelve months. */
  readonly without_largest: {
    readonly customer: string;
    readonly ebitda: string;
    readonly most_cost: readonly MostCost[];
    readonly sentences: readonly string[];
  } | null;
  /** With the terms that were typed in; null without them. */
  readonly years: readonly YearSummary[] | null;
  readonly years_without_largest: readonly YearSummary[] | null;
}

/** What coverage is computed with, beside the offer. */
export interface CoverageGiven {
  readonly books: Books;
  readonly typed?: TypedTerms;
  /** How sentences say amounts; {@link spokenMoney} unless it is given. */
  readonly sayMoney?: (amount: Decimal, currency: string) => string;
}

/** EBITDA without the largest customer, where the books have its revenue of twelve months; else null. */
function withoutLargest(period: Earnings, books: Books): { name: string; ebitda: Decimal } | null {
  const { adjusted_ebitda: ebitda } = period;
  const { revenue, gross_profit: grossProfit } = period.amounts;
  const largest = largestOfYear(books, period);
  if (largest === null || ebitda === null || revenue === null || grossProfit === null) return null;
  const left = withoutCustomer(ebitda, largest.revenue, { revenue, grossProfit });
  return left && { name: largest.name, ebitda: left };
}

const yearSummaries = (ebitda: Decimal, all: readonly Loan[]): YearSummary[] =>
  coverageByYear(ebitda, all).map(({ paid, coverage }, place) => ({
    year: place + 1,
    paid: written(paid),
    coverage: writtenOrNull(coverage),
  }));

/** What is supposed of a debt that nobody recorded. */
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
  // Where nothing is earned, the sentence names no coverage and is the same for each.
  return [...new Set(sentences)];
}

const mostCost = (ebitda: Decimal, debt: Decimal): MostCost[] =>
  askedCoverages.map((coverage) => {
    const most = mostAnnualCost(ebitda, debt, decimal(coverage));
    return { covered: coverage, cost: most && written(rounded(most, 3n, 'down')) };
  });

/** How often the EBITDA of the period covers the debt of an offer; null where there is no debt, or no EBITDA in its currency. */
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
      customer: less.name,
      ebitda: written(less.ebitda),
      most_cost: mostCost(less.ebitda, all),
      sentences: sentencesOn(less.ebitda, debt, say, terms),
    },
    years: borrowed && yearSummaries(ebitda, borrowed),
    years_without_largest: borrowed && less && yearSummaries(less.ebitda, borrowed),
  };
}

/** The coverage of the worst year, which is what a rule looks at. */
export const leastCoverage = (years: readonly YearSummary[] | null | undefined): Decimal | null => {
  const all = (years ?? []).flatMap(({ coverage }) => (coverage === null ? [] : [decimal(coverage)]));
  return all.toSorted(compare)[0] ?? null;
};

/** What the rules of the SBA ask about an offer. */
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
    // What is typed is the buyer's own.
    investors: typed.equity === null ? recorded.investors : null,
    // Sources that do not even come to the price are not all of them.
    project_cost: all !== null && price !== null && compare(all, price) >= 0 ? all : null,
    full_standby: noteStandby === null || bank === null ? null : noteStandby >= bank.years,
    loan_years: bank?.years ?? null,
    coverage: leastCoverage(coverage?.years),
    pays_nothing: isPositive(add(debt.bank, debt.note))
      ? coverage?.years != null && leastCoverage(coverage.years) === null
      : price !== null,
  };
}
