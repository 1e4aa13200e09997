/** Records with the property names of the REST API, for its responses and for webhooks. */

import { offerFields, termsOf, type OfferField, type OfferPayload } from '../offers/offers.ts';

/** Converts a database name to camel case, as other systems read it. */
export const inCamelCase = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** A cache of converted column names: they are few, and the same for every row. */
const names = new Map<string, string>();

function nameOf(column: string): string {
  let name = names.get(column);
  if (name === undefined) names.set(column, (name = inCamelCase(column)));
  return name;
}

/** Returns a record with converted property names, without its position in a list. */
export function resourceOf(record: object): Record<string, unknown> {
  const found = record as Readonly<Record<string, unknown>>;
  const shown: Record<string, unknown> = {};
  for (const column of Object.keys(found)) if (column !== 'place') shown[nameOf(column)] = found[column];
  return shown;
}

function payloadResource(submitted: OfferPayload): Record<string, unknown> {
  const { known, other } = termsOf(submitted);
  return {
    ...resourceOf(Object.fromEntries(offerFields.map((name) => [name, known[name as OfferField] ?? null]))),
    other,
  };
}

/** Returns an offer with converted property names; additional fields that the buyer submitted keep their names. */
export const offerResource = (found: { payload: OfferPayload }): Record<string, unknown> => ({
  ...resourceOf(found),
  payload: payloadResource(found.payload),
});
