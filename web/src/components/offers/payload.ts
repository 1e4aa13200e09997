/** The content of an offer: its rows in a comparison, its parts, and the fields that the service does not know. */
import type { Decimal, Offer, OfferField, OfferPayload, SharedWords } from '../../api/shapes.ts';
import { compare, isDecimal, sum } from '../../lib/decimal.ts';

export type Part = 'cash_at_close' | 'seller_note' | 'earnout' | 'rollover_equity';

/** Reports use the same labels. */
export const termWords: SharedWords['terms'] = {
  purchase_price: 'Price',
  cash_at_close: 'Cash at close',
  seller_note: 'Seller note',
  earnout: 'Earn-out',
  rollover_equity: 'Rollover equity',
  unsaid: 'Not stated',
};

/** Texts about offers compared with the books; reports use the same. */
export const worthWords: SharedWords['worth'] = {
  against: 'Compared with',
  computed: 'computed from the uploaded financials: adjusted EBITDA',
  partsOnly: 'The parts of each price as shares, most certain first.',
  highestDebtService: 'Maximum debt service at',
};

/** Labels of accepted offers; reports use the same. */
export const acceptedWords: SharedWords['accepted'] = {
  now: 'Accepted',
  earlier: 'Accepted earlier',
};

/** The parts in which a price is paid, in the usual order. */
export const parts: readonly { key: Part; label: string; hint: string }[] = [
  { key: 'cash_at_close', label: termWords.cash_at_close, hint: 'Paid on the day of closing.' },
  { key: 'seller_note', label: termWords.seller_note, hint: 'Lent by the seller and paid back over time.' },
  { key: 'earnout', label: termWords.earnout, hint: 'Paid later if agreed goals are met.' },
  { key: 'rollover_equity', label: termWords.rollover_equity, hint: 'Equity that the seller keeps in the business.' },
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

/** Returns the fields that the service does not know, as name and text. */
export function otherTerms(payload: OfferPayload): { name: string; text: string }[] {
  return Object.entries(payload)
    .filter(([name, value]) => !Object.hasOwn(known, name) && value !== null)
    .map(([name, value]) => ({
      name: name.replaceAll('_', ' '),
      text: typeof value === 'string' ? value : JSON.stringify(value),
    }));
}

/** Returns the sum of the stated parts; null when there are none, or a part is not a decimal. */
export function sumOfParts(payload: Record<Part, Decimal | null | undefined>): Decimal | null {
  const named = parts
    .map(({ key }) => payload[key])
    .filter((part) => part !== null && part !== undefined && part !== '');
  return named.length > 0 && named.every((part) => isDecimal(part as string)) ? sum(named as string[]) : null;
}

/** An offer with its decision. */
export type DecidedOffer = Pick<
  Offer,
  'payload' | 'is_current' | 'agreed' | 'proposed' | 'accepted_at' | 'declined_at'
> &
  Partial<Pick<Offer, 'buyer_left'>>;

/**
 * Whether an offer is compared with others: the agreed terms are, and current offers that were not declined and whose
 * buyers take part. The same as in figures and reports.
 */
export const isCompared = ({ agreed, is_current, declined_at, buyer_left }: DecidedOffer): boolean =>
  agreed || (is_current && declined_at === null && buyer_left !== true);

/**
 * Returns the highest price among compared offers, without proposed changes; null when they are in several currencies,
 * or fewer than two have a price.
 */
export function highestPrice(given: readonly DecidedOffer[]): Decimal | null {
  const offers = given.filter((offer) => isCompared(offer) && !offer.proposed);
  const currencies = new Set(offers.map(({ payload }) => payload.currency));
  const prices = offers
    .map(({ payload }) => payload.purchase_price)
    .filter((price) => price !== null && price !== undefined);
  if (currencies.size !== 1 || prices.length < 2) return null;
  return prices.reduce((highest, price) => (compare(price, highest) > 0 ? price : highest));
}

/** Returns the offers, highest price first. */
export const byPrice = <One extends Pick<Offer, 'payload'>>(offers: readonly One[]): One[] =>
  offers.toSorted((a, b) => compare(b.payload.purchase_price ?? '0', a.payload.purchase_price ?? '0'));
