/** What an offer consists of: its rows in a comparison, its parts, and what a person wrote beyond the fields we know. */
import type { Decimal, Offer, OfferField, OfferPayload, SharedWords } from '../../api/shapes.ts';
import { compare, isDecimal, sum } from '../../lib/decimal.ts';

export type Part = 'cash_at_close' | 'seller_note' | 'earnout' | 'rollover_equity';

/** What reports call them, too. */
export const termWords: SharedWords['terms'] = {
  purchase_price: 'Price',
  cash_at_close: 'Cash at close',
  seller_note: 'Seller note',
  earnout: 'Earn-out',
  rollover_equity: 'Rollover equity',
  unsaid: 'Not stated',
};

/** What is said of offers beside the books, in reports, too. */
export const worthWords: SharedWords['worth'] = {
  against: 'Against',
  computed: 'computed from what was uploaded: adjusted EBITDA',
  partsOnly: 'The parts of each price as shares, the most certain first.',
  highestDebtService: 'Highest debt service at',
};

/** What an offer that was accepted is called, in reports, too. */
export const acceptedWords: SharedWords['accepted'] = {
  now: 'Accepted',
  earlier: 'Accepted earlier',
};

/** The parts that a price is paid in, in the order in which they are usually named. */
export const parts: readonly { key: Part; label: string; hint: string }[] = [
  { key: 'cash_at_close', label: termWords.cash_at_close, hint: 'Paid on the day of closing.' },
  { key: 'seller_note', label: termWords.seller_note, hint: 'Lent by the seller and paid back over time.' },
  { key: 'earnout', label: termWords.earnout, hint: 'Paid later if agreed goals are met.' },
  { key: 'rollover_equity', label: termWords.rollover_equity, hint: 'Kept by the seller as a share.' },
];

const known: Readonly<Record<OfferField, true>> = {
  currency: true,
  purchase_price: true,
  cash_at_close: true,
  seller_note: true,
  earnout: true,
  rollover_equity: true,
  financing_contingency: true,
  target_close_date: true,
  expires_at: true,
  terms: true,
};

/** What an offer says beyond the fields we know, as name and text. */
export function otherTerms(payload: OfferPayload): { name: string; text: string }[] {
  return Object.entries(payload)
    .filter(([name, value]) => !Object.hasOwn(known, name) && value !== null)
    .map(([name, value]) => ({
      name: name.replaceAll('_', ' '),
      text: typeof value === 'string' ? value : JSON.stringify(value),
    }));
}

/** The parts that were named, added up; null when none was. */
export function sumOfParts(payload: Record<Part, Decimal | null | undefined>): Decimal | null {
  const named = parts
    .map(({ key }) => payload[key])
    .filter((part) => part !== null && part !== undefined && part !== '');
  return named.length > 0 && named.every((part) => isDecimal(part as string)) ? sum(named as string[]) : null;
}

/** An offer with what was decided of it. */
export type DecidedOffer = Pick<
  Offer,
  'payload' | 'is_current' | 'agreed' | 'proposed' | 'accepted_at' | 'declined_at'
> &
  Partial<Pick<Offer, 'buyer_left'>>;

/** Whether an offer is compared with others: agreed terms are, and of current offers those that were not declined and whose buyer takes part, as in figures and reports. */
export const isCompared = ({ agreed, is_current, declined_at, buyer_left }: DecidedOffer): boolean =>
  agreed || (is_current && declined_at === null && buyer_left !== true);

/** The highest price among offers that are compared, but for proposed changes, in one currency; null when they are in several, or there is no choice. */
export function highestPrice(given: readonly DecidedOffer[]): Decimal | null {
  const offers = given.filter((offer) => isCompared(offer) && !offer.proposed);
  const currencies = new Set(offers.map(({ payload }) => payload.currency));
  const prices = offers
    .map(({ payload }) => payload.purchase_price)
    .filter((price) => price !== null && price !== undefined);
  if (currencies.size !== 1 || prices.length < 2) return null;
  return prices.reduce((highest, price) => (compare(price, highest) > 0 ? price : highest));
}

/** The offers with the highest price first. */
export const byPrice = <One extends Pick<Offer, 'payload'>>(offers: readonly One[]): One[] =>
  offers.toSorted((a, b) => compare(b.payload.purchase_price ?? '0', a.payload.purchase_price ?? '0'));
