/** Records under the names that other systems read, in answers of the REST API and in what webhooks send. */

import type { OfferPayload } from '../offers/offers.ts';

/** A name of the database as other systems read it. */
export const inCamelCase = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** A record with its properties so named, without its place in a list. */
export function told(record: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record)
      .filter(([name]) => name !== 'place')
      .map(([name, value]) => [inCamelCase(name), value]),
  );
}

const known = [
  'currency',
  'purchase_price',
  'cash_at_close',
  'seller_note',
  'earnout',
  'rollover_equity',
  'financing_contingency',
  'target_close_date',
  'expires_at',
  'terms',
] as const;

function toldPayload(submitted: OfferPayload): Record<string, unknown> {
  const others = Object.entries(submitted).filter(([name]) => !(known as readonly string[]).includes(name));
  return {
    ...told(Object.fromEntries(known.map((name) => [name, submitted[name] ?? null]))),
    other: Object.fromEntries(others),
  };
}

/** An offer so named; what the buyer submitted besides keeps the names that they gave. */
export const toldOffer = (found: { payload: OfferPayload }): Record<string, unknown> => ({
  ...told(found),
  payload: toldPayload(found.payload),
});
