/** The summary of a deal's offers that goes with their list: how they compare with its books and with each other, in few words. */

import type { Books } from '../diligence/books.ts';
import { memoizedWith } from '../diligence/caches.ts';
import { compare, spoken, zero, type Decimal } from '../diligence/decimals.ts';
import { openParts, type ComparedTerm, type MoneyPart } from './valuation.ts';
import {
  amountIn,
  amountsOf,
  assessed,
  type AssessedOffer,
  type BasisSummary,
  type ComparisonSummary,
  type ValuationSummary,
} from './assessment.ts';

/** The offers of a deal in few words. Shares are from 0 to 1, in the order in which money is sure. */
export interface Summary {
  readonly basis?: Omit<BasisSummary, 'add_backs'>;
  /** The highest first, at most {@link mostSummarized}. */
  readonly offers: {
    readonly offer_id: string;
    readonly multiples?: NonNullable<ValuationSummary['multiples']>;
    readonly money?: Readonly<Partial<Record<MoneyPart | 'unsaid', string>>>;
    /** By how much its parts together, of which `money` has the shares, are more than its price. */
    readonly parts_beyond_price?: string;
    readonly coverage?: string;
    readonly coverage_without_largest_customer?: string;
  }[];
  /** By how much the first of the two highest, those that have expired after those that stand, is higher than the second; negative where it is lower. */
  readonly two_best?: {
    readonly first: string;
    readonly second: string;
    readonly higher_by: Readonly<Partial<Record<ComparedTerm, string>>>;
    /** What one of them says and the other leaves open: by how much they differ in it is not known. */
    readonly unsaid?: ComparedTerm[];
  };
}

/** The most offers that are summarized. */
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

/** The summary of these offers of a deal, compared with what the same caller sees of its books; null where there are none. */
export const summaryOf = memoizedWith((books: Books, given: readonly AssessedOffer[]): Summary | null => {
  const price = ({ payload }: AssessedOffer): Decimal => amountIn(payload.purchase_price) ?? zero;
  const highest = given.toSorted((a, b) => compare(price(b), price(a)) || (a.id < b.id ? -1 : 1));
  if (highest.length === 0) return null;
  const { basis, offers, compared } = assessed({
    books,
    offers: highest,
    funding: null,
    day: '',
    // Assistants read the code of the currency, as beside every other amount of theirs.
    sayMoney: (amount, currency) => `${currency} ${spoken(amount)}`,
  });
  const { add_backs: _addBacks, ...figures } = basis ?? { add_backs: [] };
  return {
    ...(basis ? { basis: figures as Omit<BasisSummary, 'add_backs'> } : {}),
    offers: offers.slice(0, mostSummarized).map(({ offer_id, multiples, money, coverage }) => {
      const [covered] = coverage?.sentences ?? [];
      const [without] = coverage?.without_largest?.sentences ?? [];
      return {
        offer_id,
        ...(multiples ? { multiples } : {}),
        ...(money ? { money: Object.fromEntries(money.parts.map(({ part, share }) => [part, share])) } : {}),
        ...(money?.beyond_price ? { parts_beyond_price: money.beyond_price } : {}),
        ...(covered ? { coverage: covered } : {}),
        ...(without ? { coverage_without_largest_customer: without } : {}),
      };
    }),
    ...(compared ? { two_best: inShort(compared, highest) } : {}),
  };
});
