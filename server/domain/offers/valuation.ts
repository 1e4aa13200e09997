/**
 * Values an offer by the books: multiples, the price paid for each add-back, how certain the money is, and how two
 * offers differ.
 */

import { compare, divide, isPositive, isZero, one, subtract, sum, zero, type Decimal } from '../diligence/decimals.ts';
import { apportion } from '../diligence/fractions.ts';

/**
 * The earnings of a business in a period, for comparison with an offer. Null for figures that the books do not have.
 */
export interface EarningsBasis {
  /** The period as the books name it: "TTM", "FY2025". */
  readonly period: string;
  readonly currency: string;
  readonly revenue: Decimal | null;
  readonly reportedEbitda: Decimal | null;
  readonly adjustedEbitda: Decimal | null;
  readonly sde: Decimal | null;
  /** The adjustments from reported to adjusted EBITDA. */
  readonly addBacks: readonly AddBack[];
}

export interface AddBack {
  readonly id: string;
  readonly amount: Decimal;
}

/** The parts in which a price is paid, most certain first. */
export const moneyParts = ['cash_at_close', 'seller_note', 'earnout', 'rollover_equity'] as const;
export type MoneyPart = (typeof moneyParts)[number];

/** The amounts of an offer. Null for amounts that it does not state. */
export interface OfferAmounts extends Readonly<Record<MoneyPart, Decimal | null>> {
  readonly currency: string | null;
  readonly purchase_price: Decimal | null;
}

/**
 * Returns `price` as a multiple of `earned`, to two digits; null when nothing was earned, as a multiple is then
 * meaningless.
 */
export const multiple = (price: Decimal | null, earned: Decimal | null): Decimal | null =>
  price === null || earned === null || !isPositive(earned) ? null : divide(price, earned, 2n);

export interface Multiples {
  readonly reported_ebitda: Decimal | null;
  readonly adjusted_ebitda: Decimal | null;
  readonly sde: Decimal | null;
  readonly revenue: Decimal | null;
}

/** Whether an offer can be compared with the books: it states a price, in the currency of the books. */
const comparable = (offer: OfferAmounts, basis: EarningsBasis): offer is OfferAmounts & { purchase_price: Decimal } =>
  offer.purchase_price !== null && offer.currency === basis.currency;

/**
 * Returns the price of an offer as multiples of the business's earnings; null without a price in the currency of the
 * books.
 */
export function multiplesOf(offer: OfferAmounts, basis: EarningsBasis): Multiples | null {
  if (!comparable(offer, basis)) return null;
  const price = offer.purchase_price;
  return {
    reported_ebitda: multiple(price, basis.reportedEbitda),
    adjusted_ebitda: multiple(price, basis.adjustedEbitda),
    sde: multiple(price, basis.sde),
    revenue: multiple(price, basis.revenue),
  };
}

interface AddBackWorth {
  readonly id: string;
  readonly amount: Decimal;
  /** The part of the price that is paid for the add-back at the multiple of adjusted EBITDA. */
  readonly worth: Decimal;
  /** The price at the same multiple without the add-back. */
  readonly price_without: Decimal;
}

interface PriceByEarnings {
  /** The part of the price that is paid for reported EBITDA. */
  readonly reported: Decimal;
  /**
   * The part of the price that is paid for each add-back, by id. Together with the part for reported EBITDA they add up
   * to the price, to the last digit.
   */
  readonly add_backs: readonly AddBackWorth[];
}

/**
 * Divides a price into the parts paid for reported EBITDA and for each add-back, all at the multiple of adjusted
 * EBITDA. Null when there is no such multiple.
 */
export function priceByEarnings(offer: OfferAmounts, basis: EarningsBasis): PriceByEarnings | null {
  const { reportedEbitda, adjustedEbitda } = basis;
  if (!comparable(offer, basis) || reportedEbitda === null || adjustedEbitda === null) return null;
  if (!isPositive(adjustedEbitda)) return null;
  const price = offer.purchase_price;
  const addBacks = basis.addBacks.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const [reported, ...parts] = apportion(price, [reportedEbitda, ...addBacks.map(({ amount }) => amount)], 2n) ?? [];
  if (!reported) return null;
  return {
    reported,
    add_backs: addBacks.map(({ id, amount }, place) => {
      const worth = parts[place] ?? zero;
      return { id, amount, worth, price_without: subtract(price, worth) };
    }),
  };
}

export interface CertainMoney {
  /** The amount of each part and its share of the total, from 0 to 1; the shares add up to 1, to the last digit. */
  readonly parts: readonly {
    /** `unsaid` is the rest of the price that no stated part covers. */
    readonly part: MoneyPart | 'unsaid';
    readonly amount: Decimal;
    readonly share: Decimal;
  }[];
  /** The sum of the parts less the price; null unless positive. */
  readonly beyond_price: Decimal | null;
}

/**
 * Returns how a price is to be paid, most certain part first; null when the offer states no part, or they come to
 * nothing.
 */
export function certainMoney(offer: OfferAmounts): CertainMoney | null {
  const said = moneyParts.flatMap((part) => {
    const amount = offer[part];
    return amount === null || isZero(amount) ? [] : [{ part, amount }];
  });
  if (said.length === 0) return null;
  const total = sum(said.map(({ amount }) => amount));
  const price = offer.purchase_price ?? total;
  const missing = subtract(price, total);
  const all = isPositive(missing) ? [...said, { part: 'unsaid' as const, amount: missing }] : said;
  const shares = apportion(
    one,
    all.map(({ amount }) => amount),
    4n,
  );
  if (!shares) return null;
  return {
    parts: all.map(({ part, amount }, place) => ({ part, amount, share: shares[place] ?? zero })),
    beyond_price: compare(total, price) > 0 ? subtract(total, price) : null,
  };
}

/** Returns the parts of the price that an offer does not state, unless the stated parts already cover the price. */
export function openParts(offer: OfferAmounts): MoneyPart[] {
  const said = sum(moneyParts.map((part) => offer[part] ?? zero));
  const isWhole = offer.purchase_price !== null && compare(said, offer.purchase_price) >= 0;
  return isWhole ? [] : moneyParts.filter((part) => offer[part] === null);
}

/** The amounts in which two offers can differ. */
export type ComparedTerm = 'purchase_price' | MoneyPart;

interface OfferDifference {
  readonly term: ComparedTerm;
  readonly first: Decimal;
  readonly second: Decimal;
  /** First less second; negative when the second is higher. An amount that an offer does not state counts as zero. */
  readonly by: Decimal;
}

/** Returns the amounts in which two offers differ; null when they are not in the same currency. */
export function differencesOf(first: OfferAmounts, second: OfferAmounts): OfferDifference[] | null {
  if (first.currency === null || first.currency !== second.currency) return null;
  const terms: readonly ComparedTerm[] = ['purchase_price', ...moneyParts];
  return terms.flatMap((term) => {
    const [a, b] = [first[term] ?? zero, second[term] ?? zero];
    const by = subtract(a, b);
    return isZero(by) ? [] : [{ term, first: a, second: b, by }];
  });
}
