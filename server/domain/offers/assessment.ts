/** Offers compared with the books of their deal, computed only from what the caller may see of both. */

import { row, rows } from '../../database/statement.ts';
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
  absolute,
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
import { basisOf, earnings, type Earnings } from '../diligence/earnings.ts';
import { rounded } from '../diligence/fractions.ts';
import { isDecimal, type AdjustmentCategory } from '../diligence/normalizations.ts';
import { judged, rulesOn, type SbaAnswer, type SbaFacts, type SbaRule } from '../diligence/sba-rules.ts';
import {
  certainMoney,
  differencesOf,
  moneyParts,
  multiplesOf,
  priceByEarnings,
  type CertainMoney,
  type ComparedTerm,
  type EarningsBasis,
  type MoneyPart,
  type OfferAmounts,
} from '../diligence/valuation.ts';
import type { SourceType } from './financing.ts';
import type { OfferPayload } from './offers.ts';

interface FundingRow {
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
   where s.deal_id = ${seenDeal('$1')} and s.commitment_status not in ('expired', 'withdrawn')
   group by s.participant_id, s.source_type, s.currency`,
);

/** The time of the database, and the day in UTC on which rules are looked up. */
export const moment = row<{ now: string; day: string }>(
  'moment',
  `select app.now() as now, to_char(app.now() at time zone 'UTC', 'YYYY-MM-DD') as day`,
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

/** An offer as it is assessed. */
export interface AssessedOffer {
  readonly id: string;
  readonly participant_id: string | null;
  readonly expired: boolean;
  readonly payload: OfferPayload;
}

/** The longest amount that is computed with. */
const longestAmount = 60;

/** The decimal that a value of a payload is; null of anything else. */
export const amountIn = (value: unknown): Decimal | null =>
  typeof value === 'string' && value.length <= longestAmount && isDecimal(value) ? decimal(value) : null;

/** The amounts of an offer; what is no decimal counts as not said. */
export function amountsOf(payload: OfferPayload): OfferAmounts {
  const parts = Object.fromEntries(moneyParts.map((part) => [part, amountIn(payload[part])]));
  return {
    ...(parts as Record<MoneyPart, Decimal | null>),
    currency: typeof payload.currency === 'string' ? payload.currency : null,
    purchase_price: amountIn(payload.purchase_price),
  };
}

/**
 * The period that offers are compared with: the one asked for, else of the whole periods the latest that a person has
 * adjusted, the last twelve months before a year; else the last twelve months, or the latest year.
 */
export function comparedWith(periods: readonly Earnings[], label: string | null): Earnings | null {
  const asked = label === null ? undefined : periods.find((one) => one.label === label);
  const adjusted = periods.filter(({ kind, adjustments }) => kind !== 'partial_year' && adjustments.length > 0);
  return asked ?? basisOf(adjusted) ?? basisOf(periods);
}

/** The most add-backs that are listed one by one, the largest; the others are added up. */
const mostAddBacks = 50;
/** The id of the smaller add-backs together. */
const otherAddBacks = 'others';

function basisFor(period: Earnings): EarningsBasis {
  const largestFirst = period.adjustments.toSorted(
    (a, b) => compare(absolute(b.amount), absolute(a.amount)) || (a.id < b.id ? -1 : 1),
  );
  const others = largestFirst.slice(mostAddBacks);
  const together = { id: otherAddBacks, amount: sum(others.map(({ amount }) => amount)) };
  return {
    period: period.label,
    currency: period.currency,
    revenue: period.amounts.revenue,
    reportedEbitda: period.reported_ebitda,
    adjustedEbitda: period.adjusted_ebitda,
    sde: period.sde,
    addBacks: [...largestFirst.slice(0, mostAddBacks), ...(others.length > 0 ? [together] : [])],
  };
}

const loans: readonly SourceType[] = ['sba_7a', 'sba_504', 'conventional_senior_debt', 'mezzanine'];
const ownMoney: readonly SourceType[] = ['cash_buyer_equity', 'equity_investor_check'];

/** What a buyer's side has recorded in a currency. Null is what it has not. */
interface Recorded {
  readonly loans: Decimal | null;
  readonly sba: Decimal | null;
  readonly equity: Decimal | null;
  readonly note: Decimal | null;
  readonly all: Decimal | null;
}

function recordedBy(participant: string | null, currency: string | null, all: readonly FundingRow[]): Recorded {
  const own = all.filter((one) => one.participant_id === participant && one.currency === currency);
  const of = (types: readonly SourceType[]): Decimal | null => {
    const found = own.filter(({ source_type }) => types.includes(source_type));
    return found.length === 0 ? null : sum(found.map(({ total }) => decimal(total)));
  };
  return {
    loans: of(loans),
    sba: of(['sba_7a']),
    equity: of(ownMoney),
    note: of(['seller_note']),
    all: own.length === 0 ? null : sum(own.map(({ total }) => decimal(total))),
  };
}

/** Where the debt of an offer is read: the loans that the buyer's side recorded, or all money but what is known to be the buyer's own. */
export type DebtIs = 'recorded' | 'all_but_equity';

interface Debt {
  readonly is: DebtIs;
  /** What is borrowed beside the seller note. */
  readonly bank: Decimal;
  readonly note: Decimal;
  readonly equity: Decimal | null;
}

function debtOf(offer: OfferAmounts, money: CertainMoney | null, recorded: Recorded, typed: TypedTerms): Debt {
  const note = recorded.note ?? offer.seller_note ?? zero;
  const equity = typed.equity ?? recorded.equity;
  if (recorded.loans !== null) return { is: 'recorded', bank: recorded.loans, note, equity };
  const unsaid = money?.parts.find(({ part }) => part === 'unsaid')?.amount;
  const cash = money === null ? (offer.purchase_price ?? zero) : add(offer.cash_at_close ?? zero, unsaid ?? zero);
  const borrowed = subtract(cash, equity ?? zero);
  return { is: 'all_but_equity', bank: isPositive(borrowed) ? borrowed : zero, note, equity };
}

function loansOf({ bank, note }: Debt, typed: TypedTerms): Loan[] | null {
  const noteTerms = typed.note ?? typed.bank;
  if (typed.bank === null || noteTerms === null) return null;
  const standby = typed.noteStandby ?? 0n;
  return [
    ...(isZero(bank) ? [] : [{ amount: bank, ...typed.bank }]),
    ...(isZero(note) ? [] : [{ amount: note, ...noteTerms, standby }]),
  ];
}

/** How many times EBITDA is to cover the debt: what lenders ask for, and what the SBA asks for since 1 October 2026. */
const asked = [decimal('1.15'), decimal('1.25')] as const;

export interface YearSummary {
  readonly year: number;
  readonly paid: string;
  readonly coverage: string | null;
}

/** What the debt may cost a year at most, as a share of itself rounded down, to be covered so many times; null where nothing is earned. */
export interface MostCost {
  readonly covered: string;
  readonly cost: string | null;
}

export interface CoverageSummary {
  readonly debt: string;
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

export interface ValuationSummary {
  readonly offer_id: string;
  readonly multiples: Readonly<Record<'reported_ebitda' | 'adjusted_ebitda' | 'sde' | 'revenue', string | null>> | null;
  readonly paid_for: {
    readonly reported_ebitda: string;
    readonly add_backs: readonly { id: string; amount: string; worth: string; price_without: string }[];
  } | null;
  readonly money: {
    readonly parts: readonly { part: MoneyPart | 'unsaid'; amount: string; share: string }[];
    readonly beyond_price: string | null;
  } | null;
  readonly coverage: CoverageSummary | null;
  /** What the rules of the day say; null where financing is off or the offer is not in US dollars. */
  readonly sba: readonly SbaAnswer[] | null;
}

export interface BasisSummary {
  readonly period: string;
  readonly currency: string;
  readonly revenue: string | null;
  readonly reported_ebitda: string | null;
  readonly adjusted_ebitda: string | null;
  readonly sde: string | null;
  readonly add_backs: readonly {
    id: string;
    category: AdjustmentCategory | null;
    rationale: string | null;
    amount: string;
  }[];
}

export interface ComparisonSummary {
  readonly first: string;
  readonly second: string;
  readonly differences: readonly { term: ComparedTerm; first: string; second: string; by: string }[];
}

export interface Assessment {
  /** What the offers are compared with; null where the caller sees no earnings. */
  readonly basis: BasisSummary | null;
  /** The periods that can be chosen instead. */
  readonly periods: readonly string[];
  readonly offers: readonly ValuationSummary[];
  /** The two highest offers in one currency, those that have expired after those that stand; null where there are no two. */
  readonly compared: ComparisonSummary | null;
  /** The rules of the SBA that are in force today, where some offer is compared with them. */
  readonly sba_rules: readonly Omit<SbaRule, 'judge' | 'needs' | 'superseded'>[];
}

export interface Given {
  readonly offers: readonly AssessedOffer[];
  readonly books: Books;
  /** Null where financing is off. */
  readonly funding: readonly FundingRow[] | null;
  readonly day: string;
  readonly label?: string | null;
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
  const sentences = asked.map((coverage) => {
    const said = coverageInWords(ebitda, all, coverage, say, terms);
    return lead === null ? said : `${lead}, ${said.charAt(0).toLowerCase()}${said.slice(1)}`;
  });
  // Where nothing is earned, the sentence names no coverage and is the same for each.
  return [...new Set(sentences)];
}

const mostCost = (ebitda: Decimal, debt: Decimal): MostCost[] =>
  asked.map((coverage) => {
    const most = mostAnnualCost(ebitda, debt, coverage);
    return { covered: written(coverage), cost: most && written(rounded(most, 3n, 'down')) };
  });

function coverageOf(
  offer: OfferAmounts,
  debt: Debt,
  period: Earnings | null,
  { books, typed = nothingTyped, sayMoney = spokenMoney }: Given,
): CoverageSummary | null {
  const ebitda = period?.adjusted_ebitda ?? null;
  const all = add(debt.bank, debt.note);
  if (period === null || ebitda === null || offer.currency !== period.currency || !isPositive(all)) return null;
  const less = withoutLargest(period, books);
  const borrowed = loansOf(debt, typed);
  const terms = typed.bank ?? exampleTerms;
  const say = (amount: Decimal) => sayMoney(amount, period.currency);
  return {
    debt: written(all),
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

function sbaFactsOf(
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
    seller_note: offer.seller_note,
    rollover: offer.rollover_equity,
    loan: recorded.sba,
    equity: debt.equity,
    // Sources that do not even come to the price are not all of them.
    project_cost: all !== null && price !== null && compare(all, price) >= 0 ? all : null,
    full_standby: noteStandby === null || bank === null ? null : noteStandby >= bank.years,
    loan_years: bank?.years ?? null,
    coverage: leastCoverage(coverage?.years),
  };
}

/** The two highest offers in the currency that the highest is in; those that have expired come after those that stand. */
function twoBest(offers: readonly AssessedOffer[]): ComparisonSummary | null {
  const priced = offers
    .flatMap(({ id, expired, payload }) => {
      const amounts = amountsOf(payload);
      return amounts.purchase_price === null ? [] : [{ id, expired, amounts, price: amounts.purchase_price }];
    })
    .toSorted(
      (a, b) => (a.expired === b.expired ? compare(b.price, a.price) : a.expired ? 1 : -1) || (a.id < b.id ? -1 : 1),
    );
  const [first, ...others] = priced;
  const second = others.find(({ amounts }) => amounts.currency === first?.amounts.currency);
  const found = first && second && differencesOf(first.amounts, second.amounts);
  if (!found) return null;
  return {
    first: first.id,
    second: second.id,
    differences: found.map(({ term, first: a, second: b, by }) => ({
      term,
      first: written(a),
      second: written(b),
      by: written(by),
    })),
  };
}

/** What the offers are compared with. */
interface Against {
  readonly period: Earnings;
  readonly basis: EarningsBasis;
}

function worthOf(offer: AssessedOffer, against: Against | null, given: Given): ValuationSummary {
  const { typed = nothingTyped } = given;
  const amounts = amountsOf(offer.payload);
  const { period = null, basis = null } = against ?? {};
  const multiples = basis && multiplesOf(amounts, basis);
  const paid = basis && priceByEarnings(amounts, basis);
  const money = certainMoney(amounts);
  const recorded = recordedBy(offer.participant_id, amounts.currency, given.funding ?? []);
  const debt = debtOf(amounts, money, recorded, typed);
  const coverage = coverageOf(amounts, debt, period, given);
  const isSba = given.funding !== null && amounts.currency === 'USD';
  return {
    offer_id: offer.id,
    multiples: multiples && {
      reported_ebitda: writtenOrNull(multiples.reported_ebitda),
      adjusted_ebitda: writtenOrNull(multiples.adjusted_ebitda),
      sde: writtenOrNull(multiples.sde),
      revenue: writtenOrNull(multiples.revenue),
    },
    paid_for: paid && {
      reported_ebitda: written(paid.reported),
      add_backs: paid.add_backs.map(({ id, amount, worth, price_without }) => ({
        id,
        amount: written(amount),
        worth: written(worth),
        price_without: written(price_without),
      })),
    },
    money: money && {
      parts: money.parts.map(({ part, amount, share }) => ({ part, amount: written(amount), share: written(share) })),
      beyond_price: writtenOrNull(money.beyond_price),
    },
    coverage,
    sba: isSba ? judged(sbaFactsOf(amounts, recorded, debt, coverage, typed), given.day) : null,
  };
}

function basisSummary({ period, basis: { addBacks, ...basis } }: Against): BasisSummary {
  return {
    period: basis.period,
    currency: basis.currency,
    revenue: writtenOrNull(basis.revenue),
    reported_ebitda: writtenOrNull(basis.reportedEbitda),
    adjusted_ebitda: writtenOrNull(basis.adjustedEbitda),
    sde: writtenOrNull(basis.sde),
    add_backs: addBacks.map(({ id, amount }) => {
      const one = period.adjustments.find((adjustment) => adjustment.id === id);
      return { id, category: one?.category ?? null, rationale: one?.rationale ?? null, amount: written(amount) };
    }),
  };
}

/** The offers of a deal compared with its books. What is computed follows from what is given alone: give what one caller sees. */
export function assessed(given: Given): Assessment {
  // A price, and the debt of a year, are compared with twelve months.
  const periods = earnings(given.books).filter(({ kind }) => kind !== 'partial_year');
  const period = comparedWith(periods, given.label ?? null);
  const against = period && { period, basis: basisFor(period) };
  const offers = given.offers.map((offer) => worthOf(offer, against, given));
  const withRules = offers.some(({ sba }) => sba !== null);
  return {
    basis: against && basisSummary(against),
    periods: periods.map(({ label }) => label),
    offers,
    compared: twoBest(given.offers),
    sba_rules: withRules
      ? rulesOn(given.day).map(({ judge: _judge, needs: _needs, superseded: _superseded, ...rule }) => rule)
      : [],
  };
}
