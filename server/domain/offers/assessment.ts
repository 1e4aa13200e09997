/** Compares offers with the books of their deal, using only what the caller may see of both. */

import { row } from '../../database/statement.ts';
import type { Day } from '../diligence/calendar.ts';
import { absolute, compare, decimal, sum, written, writtenOrNull, type Decimal } from '../diligence/decimals.ts';
import { comparedWith, earnings, type Earnings } from '../diligence/earnings.ts';
import { isDecimal, type AdjustmentCategory } from '../diligence/normalizations.ts';
import { judged, rulesOn, type SbaAnswer, type SbaRule } from '../diligence/sba-rules.ts';
import {
  certainMoney,
  differencesOf,
  moneyParts,
  multiplesOf,
  priceByEarnings,
  type ComparedTerm,
  type EarningsBasis,
  type MoneyPart,
  type OfferAmounts,
} from './valuation.ts';
import {
  coverageOf,
  debtOf,
  nothingTyped,
  recordedBy,
  sbaFactsOf,
  type CoverageGiven,
  type CoverageSummary,
} from './debt.ts';
import type { FundingRow } from './financing.ts';
import type { OfferPayload } from './offers.ts';

/** Returns the time of the database, and its day in UTC, for which SBA rules are looked up. */
export const databaseTime = row<{ now: string; day: string }>(
  'database_time',
  `select app.now() as now, to_char(app.now() at time zone 'UTC', 'YYYY-MM-DD') as day`,
);

/** An offer as input of the assessment. */
export interface AssessedOffer {
  readonly id: string;
  readonly participant_id: string | null;
  readonly expired: boolean;
  /** Whether the offer proposes to change the agreed terms, which stand until then. */
  readonly proposed?: boolean;
  readonly payload: OfferPayload;
}

/** An offer as it is read, with its decision. */
interface DecidedOffer extends Pick<AssessedOffer, 'id' | 'expired' | 'payload'> {
  readonly buyer_user_id: string;
  readonly participant_id?: string;
  readonly is_current: boolean;
  readonly agreed?: boolean;
  readonly declined_at?: string | null;
  readonly buyer_left?: boolean;
}

/**
 * Returns the deal's offers to compare, the same everywhere: the agreed terms, which count even when expired, and the
 * current offers that were not declined and whose buyers take part. The web application has the same rule
 * (web/src/components/offers/payload.ts).
 */
export function toCompare(offers: readonly DecidedOffer[]): AssessedOffer[] {
  const holder = offers.find(({ agreed }) => agreed)?.buyer_user_id;
  return offers
    .filter(({ agreed, is_current, declined_at, buyer_left }) => agreed || (is_current && !declined_at && !buyer_left))
    .map(({ id, buyer_user_id, participant_id = null, expired, agreed = false, payload }) => ({
      id,
      participant_id,
      expired: expired && !agreed,
      proposed: !agreed && buyer_user_id === holder,
      payload,
    }));
}

/**
 * Longer amounts are not computed with, in characters: a payload may hold any text, and the cost of arithmetic grows
 * with its digits.
 */
const longestComputedAmount = 60;

/** Returns a value of a payload as a decimal; null when the value is not a decimal. */
export const amountIn = (value: unknown): Decimal | null =>
  typeof value === 'string' && value.length <= longestComputedAmount && isDecimal(value) ? decimal(value) : null;

/** Returns the amounts of an offer; a value that is not a decimal counts as not stated. */
export function amountsOf(payload: OfferPayload): OfferAmounts {
  const parts = Object.fromEntries(moneyParts.map((part) => [part, amountIn(payload[part])]));
  return {
    ...(parts as Record<MoneyPart, Decimal | null>),
    currency: typeof payload.currency === 'string' ? payload.currency : null,
    purchase_price: amountIn(payload.purchase_price),
  };
}

/** At most this many add-backs, the largest, are listed separately; the others are added up. */
const mostAddBacks = 50;
/** The id of the sum of the smaller add-backs. */
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
  /** The results of the SBA rules in force on the day; null when financing is off or the offer is not in US dollars. */
  readonly sba: readonly SbaAnswer[] | null;
}

export interface BasisSummary {
  readonly period: string;
  readonly first: Day;
  readonly last: Day;
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
  /** The figures that the offers are compared with; null when the caller sees no earnings. */
  readonly basis: BasisSummary | null;
  /** The periods to choose from. */
  readonly periods: readonly string[];
  readonly offers: readonly ValuationSummary[];
  /** The two highest offers in one currency, expired ones last; null when there are no two. */
  readonly compared: ComparisonSummary | null;
  /** The SBA rules in force today; empty unless they were applied to an offer. */
  readonly sba_rules: readonly Omit<SbaRule, 'judge' | 'needs' | 'superseded'>[];
}

export interface Given extends CoverageGiven {
  readonly offers: readonly AssessedOffer[];
  /** Null when financing is off. */
  readonly funding: readonly FundingRow[] | null;
  /** The day whose SBA rules apply; null to apply none. */
  readonly day: string | null;
  readonly label?: string | null;
}

/**
 * Compares the two highest offers in the currency of the highest, without proposed changes; expired offers come after
 * the others.
 */
function twoBest(offers: readonly AssessedOffer[]): ComparisonSummary | null {
  const priced = offers
    .filter(({ proposed }) => !proposed)
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

/** The period and the figures that the offers are compared with. */
interface Against {
  readonly period: Earnings;
  readonly basis: EarningsBasis;
}

function valuationOf(offer: AssessedOffer, against: Against | null, given: Given): ValuationSummary {
  const { typed = nothingTyped } = given;
  const amounts = amountsOf(offer.payload);
  const { period = null, basis = null } = against ?? {};
  const multiples = basis && multiplesOf(amounts, basis);
  const paid = basis && priceByEarnings(amounts, basis);
  const money = certainMoney(amounts);
  const recorded = recordedBy(offer.participant_id, amounts.currency, given.funding ?? []);
  const debt = debtOf(amounts, money, recorded, typed);
  const coverage = coverageOf(amounts, debt, period, given);
  const day = given.funding !== null && amounts.currency === 'USD' ? given.day : null;
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
    sba: day === null ? null : judged(sbaFactsOf(amounts, recorded, debt, coverage, typed), day),
  };
}

function basisSummary({ period, basis: { addBacks, ...basis } }: Against): BasisSummary {
  return {
    period: basis.period,
    first: period.first,
    last: period.last,
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

/**
 * Returns the offers of a deal compared with its books. The result depends only on `given`: pass only what one caller
 * sees.
 */
export function assessed(given: Given): Assessment {
  // A price, and a year's debt service, are compared with twelve months.
  const periods = earnings(given.books).filter(({ kind }) => kind !== 'partial_year');
  const period = comparedWith(periods, given.label ?? null);
  const against = period && { period, basis: basisFor(period) };
  const offers = given.offers.map((offer) => valuationOf(offer, against, given));
  const withRules = offers.some(({ sba }) => sba !== null);
  return {
    basis: against && basisSummary(against),
    periods: periods.map(({ label }) => label),
    offers,
    compared: twoBest(given.offers),
    sba_rules:
      withRules && given.day !== null
        ? rulesOn(given.day).map(({ judge: _judge, needs: _needs, superseded: _superseded, ...rule }) => rule)
        : [],
  };
}
