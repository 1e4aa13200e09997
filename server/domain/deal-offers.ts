/** The offers of a deal as its page shows them: who made them, which was accepted; submitting and accepting. */

import { mapped, row, rows, type Statement } from '../database/statement.ts';
import { exactly, type Offer, type OfferPayload } from './offers.ts';
import type { Origin } from './origin.ts';
import { from, recorded } from './recorded.ts';

export interface DealOffer extends Offer {
  deal_id: string;
  buyer_name: string;
  participant_id: string;
  /** When exclusivity was granted for it, to those who may know; else null. */
  accepted_at: string | null;
  /** Whether the caller made it. */
  mine: boolean;
}

type Found = Omit<DealOffer, 'payload'> & { payload: string };

const fields = `o.id, o.deal_id, o.buyer_user_id, u.name as buyer_name, o.participant_id, o.revision_number, o.is_current,
  o.submitted_at, o.payload::text as payload, o.buyer_user_id = (select app.user_id()) as mine`;

const acceptedAt = `(select max(x.granted_at) from exclusivities x where x.offer_id = o.id) as accepted_at`;

const withPayload = (found: Found): DealOffer => ({ ...found, payload: exactly(found.payload) });

const list = rows<Found, [dealId: string]>(
  'deal_offers',
  `select ${fields}, ${acceptedAt} from offers o join users u on u.id = o.buyer_user_id
   where o.deal_id = $1 order by o.submitted_at desc, o.id desc limit 1000`,
);

/** The offers on a deal that the caller may see, every revision, the latest first, at most 1,000. */
export const dealOffers = (dealId: string): Statement<DealOffer[]> =>
  mapped(list(dealId), (found) => found.map(withPayload));

const submit = row<Found>(
  'submit_offer',
  `with o as (insert into offers (deal_id, payload) values ($3, $4::jsonb) returning *)
   select ${fields}, null as accepted_at from o join users u on u.id = o.buyer_user_id
   ${recorded('offer.submit', { subject: 'o.id', deal: 'o.deal_id', details: `jsonb_build_object('revision', o.revision_number)` })}`,
);

/** Submits an offer of the caller's, or the next revision of it. Denied to all but buyers of the deal. */
export const submitOffer = (dealId: string, payload: OfferPayload, origin: Origin): Statement<DealOffer | null> =>
  mapped(submit(...from(origin), dealId, JSON.stringify(payload)), (found) => found && withPayload(found));

const accept = row<{ deal_id: string }>(
  'accept_offer',
  `with granted as (
     insert into exclusivities (deal_id, participant_id, offer_id, expires_at)
     select o.deal_id, o.participant_id, o.id, $4 from offers o where o.id = $3
     returning id, deal_id)
   select granted.deal_id from granted ${recorded('offer.accept', { subject: '$3', deal: 'granted.deal_id' })}`,
);

/** Accepts an offer by granting its buyer exclusivity until a time. Denied to all but the deal's brokers. */
export const acceptOffer = (id: string, expiresAt: string, origin: Origin): Statement<boolean> =>
  mapped(accept(...from(origin), id, expiresAt), (found) => found !== null);

const dealOf = row<{ deal_id: string }, [id: string]>('deal_of_offer', 'select deal_id from offers where id = $1');

/** The deal of an offer that the caller sees, or null. */
export const dealOfOffer = (id: string): Statement<string | null> =>
  mapped(dealOf(id), (found) => found?.deal_id ?? null);
