/**
 * The short summary that goes with the list of a deal's offers: how they compare with its books and with each other.
 */

import type { Books } from '../diligence/books.ts';
import { memoizedWith } from '../diligence/caches.ts';
import { compare, placesOf, spoken, zero, type Decimal } from '../diligence/decimals.ts';
import { openParts, type ComparedTerm, type MoneyPart } from './valuation.ts';
import type { FundingRow } from './financing.ts';
import {
  amountIn,
  amountsOf,
  assessed,
  type AssessedOffer,
  type BasisSummary,
  type ComparisonSummary,
  type ValuationSummary,
} from './assessment.ts';

/** The short summary of a deal's offers. Shares are from 0 to 1, most certain part first. */
export interface Summary {
  readonly basis?: Omit<BasisSummary, 'add_backs' | 'first' | 'last'> & {
    readonly period_start_date: string;
    readonly period_end_date: string;
  };
  /** Highest price first, at most {@link mostSummarized}. */
  readonly offers: {
    readonly offer_id: string;
    readonly multiples?: NonNullable<ValuationSummary['multiples']>;
    readonly money?: Readonly<Partial<Record<MoneyPart | 'unsaid', string>>>;
    /** The sum of the parts, whose shares are in `money`, less the price; absent unless positive. */
    readonly parts_beyond_price?: string;
    readonly coverage?: string;
    readonly coverage_without_largest_customer?: string;
  }[];
  /**
   * The two highest offers, expired ones last, and for each term the first less the second; negative when the first is
   * lower.
   */
  readonly two_best?: {
    readonly first: string;
    readonly second: string;
    readonly higher_by: Readonly<Partial<Record<ComparedTerm, string>>>;
    /** The terms that one of the two states and the other does not: their difference is unknown. */
    readonly unsaid?: ComparedTerm[];
  };
}

/** At most this many offers are summarized. */
const mostSummarized = 5;

function inShort(
  { first, second, differences }: ComparisonSummary,
  offers: readonly AssessedOffer[],
): NonNullable<Summary['two_best']> {
  const open = new Set<ComparedTerm>(
    offers.filter(({ id }) => id === first || id === second).flatMap(({ payload }) => openParts(amountsOf(payload))),
  );
  const unsaid = differences.map(({ term }) => term).filter((term) => open.has(term));
  return {
    first,
    second,
    higher_by: Object.fromEntries(differences.filter(({ term }) => !open.has(term)).map(({ term, by }) => [term, by])),
    ...(unsaid.length > 0 ? { unsaid } : {}),
  };
}

const basisInShort = ({
  period,
  first: period_start_date,
  last: period_end_date,
  add_backs: _addBacks,
  ...figures
}: BasisSummary): NonNullable<Summary['basis']> => ({ period, period_start_date, period_end_date, ...figures });

/** The offers to compare, and the financing recorded for them; null when financing is off. */
interface Compared {
  readonly offers: readonly AssessedOffer[];
  readonly funding: readonly FundingRow[] | null;
}

/**
 * Returns the summary of a deal's offers, compared with the books as the same caller sees them; null without offers.
 */
export const summaryOf = memoizedWith((books: Books, given: Compared): Summary | null => {
  const price = ({ payload }: AssessedOffer): Decimal => amountIn(payload.purchase_price) ?? zero;
  const highest = given.offers.toSorted((a, b) => compare(price(b), price(a)) || (a.id < b.id ? -1 : 1));
  if (highest.length === 0) return null;
  const { basis, offers, compared } = assessed({
    books,
    offers: highest,
    funding: given.funding,
    day: null,
    // Assistants read the currency as a code, as in every other amount they get.
    sayMoney: (amount, currency) => `${currency} ${spoken(amount, placesOf(currency))}`,
  });
  return {
    ...(basis ? { basis: basisInShort(basis) } : {}),
    offers: offers.slice(0, mostSummarized).map(({ offer_id, multiples, money, coverage }) => {
      const [covered] = coverage?.sentences ?? [];
      const less = coverage?.without_largest;
      const of = less?.customer_period;
      const [without] = less?.sentences ?? [];
      return {
        offer_id,
        ...(multiples ? { multiples } : {}),
        ...(money ? { money: Object.fromEntries(money.parts.map(({ part, share }) => [part, share])) } : {}),
        ...(money?.beyond_price ? { parts_beyond_price: money.beyond_price } : {}),
        ...(covered ? { coverage: covered } : {}),
        ...(without
          ? {
              coverage_without_largest_customer: of
                ? `${without} The customer’s revenue is of ${of.first} to ${of.last}.`
                : without,
            }
          : {}),
      };
    }),
    ...(compared ? { two_best: inShort(compared, highest) } : {}),
  };
});
