/** What an offer is worth by the books: multiples, what each add-back adds to the price, how certain the money is, and how two offers differ. */

import { compare, divide, isPositive, isZero, one, subtract, sum, zero, type Decimal } from '../diligence/decimals.ts';
import { apportion } from '../diligence/fractions.ts';

/** What a business earned in a period, as an offer is compared with it. Null is what the books do not say. */
export interface EarningsBasis {
  /** "TTM", "FY2025": the period, as the books call it. */
  readonly period: string;
  readonly currency: string;
  readonly revenue: Decimal | null;
  readonly reportedEbitda: Decimal | null;
  readonly adjustedEbitda: Decimal | null;
  readonly sde: Decimal | null;
  /** What leads from reported to adjusted EBITDA. */
  readonly addBacks: readonly AddBack[];
}

export interface AddBack {
  readonly id: string;
  readonly amount: Decimal;
}

/** The parts that a price is paid in, from the surest to the least sure. */
export const moneyParts = ['cash_at_close', 'seller_note', 'earnout', 'rollover_equity'] as const;
export type MoneyPart = (typeof moneyParts)[number];

/** The amounts of an offer. Null is what it does not say. */
export interface OfferAmounts extends Readonly<Record<MoneyPart, Decimal | null>> {
  readonly currency: string | null;
  readonly purchase_price: Decimal | null;
}

/** `price` as a multiple of what is earned, to two digits; null where nothing was earned, as no multiple means anything there. */
export const multiple = (price: Decimal | null, earned: Decimal | null): Decimal | null =>
  price === null || earned === null || !isPositive(earned) ? null : divide(price, earned, 2n);

export interface Multiples {
  readonly reported_ebitda: Decimal | null;
  readonly adjusted_ebitda: Decimal | null;
  readonly sde: Decimal | null;
  readonly revenue: Decimal | null;
}

/** Whether an offer can be compared with the books: it names a price, in their currency. */
const comparable = (offer: OfferAmounts, basis: EarningsBasis): offer is OfferAmounts & { purchase_price: Decimal } =>
  offer.purchase_price !== null && offer.currency === basis.currency;

/** An offer as multiples of what the business earned; null without a price in the currency of the books. */
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
  /** The part of the price that is paid for it at the multiple of adjusted EBITDA. */
  readonly worth: Decimal;
  /** The price at the same multiple if it does not stand. */
  readonly price_without: Decimal;
}

interface PriceByEarnings {
  /** What is paid for reported EBITDA. */
  readonly reported: Decimal;
  /** What is paid for each add-back, by id. With what is paid for reported EBITDA they add up to the price, to the last digit. */
  readonly add_backs: readonly AddBackWorth[];
}

/**
 * What of a price is paid for reported EBITDA and what for each add-back, all at the multiple of adjusted EBITDA. Null where
 * there is no such multiple.
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
  /** What each part comes to and its share of the whole, from 0 to 1; the shares add up to 1, to the last digit. */
  readonly parts: readonly {
    /** `unsaid` is what of the price no part of the offer covers. */
    readonly part: MoneyPart | 'unsaid';
    readonly amount: Decimal;
    readonly share: Decimal;
  }[];
  /** What the parts come to beyond the price; null where they do not. */
  readonly beyond_price: Decimal | null;
}

/** How a price is to be paid, from the surest part to the least sure; null when the offer does not say, or comes to nothing. */
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

/** The parts of its price that an offer does not say, where those that it says do not come to the price. */
export function openParts(offer: OfferAmounts): MoneyPart[] {
  const said = sum(moneyParts.map((part) => offer[part] ?? zero));
  const isWhole = offer.purchase_price !== null && compare(said, offer.purchase_price) >= 0;
  return isWhole ? [] : moneyParts.filter((part) => offer[part] === null);
}

/** What two offers can differ in. */
export type ComparedTerm = 'purchase_price' | MoneyPart;

interface OfferDifference {
  readonly term: ComparedTerm;
  readonly first: Decimal;
  readonly second: Decimal;
  /** By how much the first is higher; negative where the second is. What an offer does not state counts as zero. */
  readonly by: Decimal;
}

/** Where two offers differ in an amount, and by how much; null when they are not in the same currency. */
export function differencesOf(first: OfferAmounts, second: OfferAmounts): OfferDifference[] | null {
  if (first.currency === null || first.currency !== second.currency) return null;
  const terms: readonly ComparedTerm[] = ['purchase_price', ...moneyParts];
  return terms.flatMap((term) => {
    const [a, b] = [first[term] ?? zero, second[term] ?? zero];
    const by = subtract(a, b);
    return isZero(by) ? [] : [{ term, first: a, second: b, by }];
  });
}
