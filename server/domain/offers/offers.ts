/** Offers of buyers and their revisions (specification, sections 2.2 and 4.3). */

import { mapped, rows, type Statement } from '../../database/statement.ts';
import { seenDeal } from '../deals/deals.ts';

/** What was offered: amounts are decimal strings; unknown keys are kept as they were submitted. */
export interface OfferPayload {
  currency?: string | null;
  purchase_price?: string | null;
  cash_at_close?: string | null;
  seller_note?: string | null;
  earnout?: string | null;
  rollover_equity?: string | null;
  financing_contingency?: boolean | null;
  target_close_date?: string | null;
  expires_at?: string | null;
  terms?: string | null;
  [key: string]: unknown;
}

export interface Offer {
  id: string;
  buyer_user_id: string;
  /** Counts a buyer's submissions from 1. */
  revision_number: number;
  is_current: boolean;
  submitted_at: string;
  payload: OfferPayload;
}

// Not yet in TypeScript's library: ECMAScript's JSON.parse source text access.
interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
}
const exactJson = JSON as unknown as ExactJson;

// A number under an unknown key may have more digits than JavaScript's hold: it then stays what was written.
/** A payload, or what it comes in, from its text, every digit of it. */
export function exactly(text: string): OfferPayload {
  return exactJson.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? exactJson.rawJSON(source) : value,
  ) as OfferPayload;
}

/** Whether something of {@link exactly} has a number in it that takes very many digits when it is written out, as the database does. */
export function isVast(value: unknown): boolean {
  if (exactJson.isRawJSON(value)) return /e[+-]?0*[1-9]\d{2}/i.test(value.rawJSON);
  return typeof value === 'object' && value !== null && Object.values(value).some(isVast);
}

/** How many bytes a payload may take as it is stored; the database measures it again, with every number written out. */
export const mostPayloadBytes = 32_768;

/** Whether a payload is too large before it is stored already. */
export const isTooLarge = (payload: unknown): boolean => Buffer.byteLength(JSON.stringify(payload)) > mostPayloadBytes;

// Revisions of one buyer must not crowd out what the others offer now.
const list = rows<Omit<Offer, 'payload'> & { payload: string }, [dealId: string]>(
  'offers',
  `select id, buyer_user_id, revision_number, is_current, submitted_at, payload::text from (
     select * from offers where deal_id = ${seenDeal('$1')} order by is_current desc, submitted_at desc, id desc limit 50) o
   order by submitted_at desc, id desc`,
);

/**
 * The offers on a deal that the caller may see, the latest first, at most 50: every buyer's current one, and as many
 * earlier revisions, the latest of them, as there is room for.
 */
export function offers(dealId: string): Statement<Offer[]> {
  return mapped(list(dealId), (found) => found.map((offer) => ({ ...offer, payload: exactly(offer.payload) })));
}
