/**
 * Offers of buyers, each a sequence of revisions with a payload (specification, section 2.2): submitting, deciding and
 * reading them.
 */

import { paged, type Page, type Place, type Placed } from '../../database/paging.ts';
import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { timestamp } from '../../database/types.ts';
import { audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { enteringRead, type EnteringRead } from '../clients/tokens.ts';
import { knownName, knownPerson, type Mentioned } from '../deals/participants.ts';
import { cut, type Cut } from '../cut.ts';
import { holdings, mostRows, noBooks, type Books } from '../diligence/books.ts';
import { nameWith } from '../people/former-names.ts';
import type { FundingRow, SourceType } from './financing.ts';
import { listOfDeal, recordsByIds } from '../visibility/list-of-deal.ts';

/** The terms of an offer: amounts are decimal strings; unknown keys are kept as submitted. */
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

type Named<T> = keyof { [Key in keyof T as string extends Key ? never : Key]: T[Key] };

/** The fields that the service knows, in display order. */
export const offerFields = Object.keys({
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
} satisfies Record<OfferField, true>);

/** The name of a known field of a payload. */
export type OfferField = Named<OfferPayload>;

/**
 * Returns the fields of a payload that the service knows, as far as they are there, and separately the buyer's other
 * ones under their own names: mixed, a name that the buyer chose could pass for ours.
 */
export function termsOf(payload: OfferPayload): {
  readonly known: Partial<Pick<OfferPayload, OfferField>>;
  readonly other: Readonly<Record<string, unknown>>;
} {
  const isKnown = (name: string): boolean => offerFields.includes(name);
  const stated = Object.entries(payload);
  return {
    known: Object.fromEntries(stated.filter(([name]) => isKnown(name))),
    other: Object.fromEntries(stated.filter(([name]) => !isKnown(name))),
  };
}

export interface Offer {
  id: string;
  buyer_user_id: string;
  /** The number of this submission among the buyer's submissions, from 1. */
  revision_number: number;
  is_current: boolean;
  submitted_at: string;
  payload: OfferPayload;
}

// ECMAScript's JSON.parse source text access, which TypeScript's library does not declare yet.
interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
}

const exactJson = JSON as unknown as ExactJson;

// A number under an unknown key may have more digits than a JavaScript number holds: it is then kept as raw JSON.
/** Parses a payload, or JSON that contains payloads, without losing digits of any number. */
export function exactly(text: string): OfferPayload {
  // Text without numbers is parsed without a reviver, which takes ten times as long.
  if (!/(?:^|[:,[])\s*-?\d/.test(text)) return JSON.parse(text) as OfferPayload;
  return exactJson.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? exactJson.rawJSON(source) : value,
  ) as OfferPayload;
}

/**
 * Whether a value returned by {@link exactly} contains a raw JSON number with an exponent of 100 or more, which the
 * database would write out in full.
 */
export function isVast(value: unknown): boolean {
  if (exactJson.isRawJSON(value)) return /e[+-]?0*[1-9]\d{2}/i.test(value.rawJSON);
  return typeof value === 'object' && value !== null && Object.values(value).some(isVast);
}

/** At most this many characters of terms in words. The web application has the same number. */
export const longestTerms = 20_000;

/** At most this many bytes of a stored payload; the database measures it again, with every number written out. */
const mostPayloadBytes = 32_768;

/** Whether a payload is too large even before the database writes out its numbers. */
export const isTooLarge = (payload: unknown): boolean => Buffer.byteLength(JSON.stringify(payload)) > mostPayloadBytes;

export const offerDecisions = ['accepted', 'declined'] as const;
type OfferDecision = (typeof offerDecisions)[number];

/** An offer in the list, with the buyer who made it. */
interface ListedOffer extends Offer {
  /** The participant whose side the offer, and its sources of financing, belong to. */
  participant_id: string;
  buyer_person: Mentioned | null;
  /** Whether the offer's `expires_at` has passed. */
  expired: boolean;
  /** When the offer was accepted or declined; absent otherwise. */
  accepted_at?: string;
  declined_at?: string;
  /** Whether these are the terms currently agreed on the deal; absent otherwise. */
  agreed?: true;
  /** Whether the buyer of a current offer is no longer an active buyer of the deal; absent otherwise. */
  buyer_left?: true;
}

type Computed = 'payload' | 'expired' | 'accepted_at' | 'declined_at' | 'agreed' | 'buyer_left';

interface FoundOffer extends Omit<ListedOffer, Computed> {
  payload: string;
  decision: OfferDecision | null;
  decided_at: string | null;
  agreed: boolean;
  buyer_left: boolean;
}

/** Returns the offer as it is listed at `now`. */
function listed(found: FoundOffer, now: string): ListedOffer {
  const { payload: text, decision, decided_at, agreed, buyer_left, ...offer } = found;
  const payload = exactly(text);
  return {
    ...offer,
    expired: hasPassed(payload.expires_at, now),
    ...(decision && decided_at ? { [`${decision}_at` as const]: decided_at } : {}),
    ...(agreed ? { agreed } : {}),
    ...(buyer_left ? { buyer_left } : {}),
    payload,
  };
}

// Within its limit of 51, `app.offers_in_sight` prefers current offers, so that one buyer's revisions do not displace
// other buyers' current offers.
const list = rows<FoundOffer & { told_at: string }, [dealId: string]>(
  'offers',
  `select s.id, s.buyer_user_id, o.participant_id, s.revision_number, s.is_current, s.submitted_at, s.payload, s.buyer as buyer_person, s.told_at,
     c.decision, c.decided_at, coalesce(s.id = (select app.accepted_offer($1)), false) as agreed,
     s.is_current and not exists (select from participants p
       where p.deal_id = $1 and p.user_id = s.buyer_user_id and p.role = 'buyer' and p.status = 'active') as buyer_left
   from app.offers_in_sight($1) s join offers o on o.id = s.id and o.deal_id = $1 left join offer_decisions c on c.offer_id = s.id
   order by s.submitted_at desc, s.id desc`,
);

/**
 * Returns the time in a value of a payload as an ISO 8601 string in UTC; null when the value is not a time
 * (`app.time_in` in the database agrees).
 */
export function timeIn(value: unknown): string | null {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value)) return null;
  const at = Date.parse(/([zZ]|[+-]\d\d(:?\d\d)?)$/.test(value) ? value : `${value}Z`);
  return Object.is(at, NaN) ? null : new Date(at).toISOString();
}

/** Whether the time in a value of a payload has passed at `now`; false when the value is not a time. */
export function hasPassed(time: unknown, now: string): boolean {
  const at = timeIn(time);
  return at !== null && Date.parse(at) <= Date.parse(now);
}

/** The maximum number of offers in one list of a tool. */
export const mostListedOffers = 50;

/** The latest offers: current ones and agreed ones are the last to be left out. */
const latestOf = (found: ListedOffer[]): Cut<ListedOffer> =>
  cut(found, mostListedOffers, ({ is_current, agreed }) => (is_current ? 0 : 2) + (agreed ? 0 : 1));

/**
 * Returns the offers that the caller may see on the deal that the transaction is narrowed to, latest first, at most
 * {@link mostListedOffers}: every buyer's current offer, the agreed offer, and the latest earlier revisions that fit.
 */
export function offers(dealId: string): Statement<Cut<ListedOffer>> {
  return mapped(list(dealId), (found) => latestOf(found.map(({ told_at, ...offer }) => listed(offer, told_at))));
}

type OfferFields = [
  ...[string, string, number, boolean, string, payload: string, buyer: Mentioned | null],
  ...[decided: [OfferDecision, at: string] | null, agreed: boolean, buyerLeft: boolean],
  ...[participant: string, funding: [SourceType, currency: string, total: string][] | null],
];
type OffersFields = [offers: OfferFields[] | null, digest: string | null, now: string];

const readOffers = enteringRead<OffersFields | false>(
  'offers',
  `'offers', ${mostRows.uploads}, ${mostRows.adjustments}, $11`,
);

/**
 * Returns those offers, the deal's books, and the financing recorded for current and agreed offers (null without it),
 * read by the statement that enters with the token. Null, and no audit record of the call is written, when the node does not hold
 * the books.
 */
export function offersAnswer(
  dealId: string,
  withFinancing: boolean,
): EnteringRead<[Cut<ListedOffer>, Books, FundingRow[] | null] | null> {
  const { held, take } = holdings(dealId);
  return readOffers(
    (found) => {
      if (found === null) return [latestOf([]), noBooks, null];
      if (found === false) return null;
      const [fields, digest, now] = found;
      const buyers = new Map((fields ?? []).flatMap(([, buyer, , , , , person]) => (person ? [[buyer, person]] : [])));
      const at = timestamp(now);
      const offersFound = (fields ?? []).map(
        ([
          id,
          buyer_user_id,
          revision_number,
          is_current,
          submitted,
          payload,
          ,
          decided,
          agreed,
          left,
          participant_id,
        ]) => {
          const [decision, decided_at] = decided ?? [null, null];
          const offer = {
            id,
            buyer_user_id,
            participant_id,
            revision_number,
            is_current,
            submitted_at: timestamp(submitted),
            buyer_person: buyers.get(buyer_user_id) ?? null,
            payload,
            decision,
            decided_at: decided_at && timestamp(decided_at),
            agreed,
            buyer_left: left,
          };
          return listed(offer, at);
        },
      );
      const fundingOf = new Map((fields ?? []).flatMap((offer) => (offer[11] ? [[offer[10], offer[11]]] : [])));
      const funding = [...fundingOf].flatMap(([participant_id, its]) =>
        its.map(([source_type, currency, total]) => ({ participant_id, source_type, currency, total })),
      );
      const books = take(digest === null ? null : { digest, books: null });
      return [latestOf(offersFound), books, withFinancing ? funding : null];
    },
    [...held.keys()],
  );
}

export interface DealOffer extends Offer {
  deal_id: string;
  buyer_name: string;
  participant_id: string;
  /** When the offer was accepted or declined; null before that, and when the caller may not know. */
  accepted_at: string | null;
  declined_at: string | null;
  /** Whether these are the terms currently agreed on the deal. */
  agreed: boolean;
  /** Whether the offer proposes to change the agreed terms and awaits a broker's decision. */
  proposed: boolean;
  /** Whether the buyer is no longer an active buyer of the deal, so that the offer cannot be accepted. */
  buyer_left: boolean;
  /** Whether the caller made the offer. */
  mine: boolean;
}

type Found = Omit<DealOffer, 'payload'> & { payload: string };

const fields = `o.id, o.deal_id, o.buyer_user_id, ${nameWith('part', 'u')} as buyer_name, o.participant_id, o.revision_number, o.is_current,
  o.submitted_at, o.payload::text as payload, o.buyer_user_id = (select app.user_id()) as mine,
  case when c.decision = 'accepted' then c.decided_at end as accepted_at,
  case when c.decision = 'declined' then c.decided_at end as declined_at,
  coalesce(o.id = agreed.id, false) as agreed,
  coalesce(o.is_current and c.offer_id is null and o.participant_id = agreed.participant_id, false) as proposed,
  (part.role = 'buyer' and part.status = 'active') is not true as buyer_left`;

// A subquery, evaluated once per statement, as the deal is the same for all rows.
const tables = (deal: string) => `join users u on u.id = o.buyer_user_id
  left join participants part on part.id = o.participant_id
  left join offer_decisions c on c.offer_id = o.id
  left join offers agreed on agreed.id = (select app.accepted_offer(${deal}))`;

const shown = (found: Found): DealOffer => ({ ...found, payload: exactly(found.payload) });

/** At most this many offers with their payloads are in one page. */
export const mostOffersAPage = 50;

const current = rows<Placed<Found>>(
  'deal_offers',
  `select ${fields}, o.submitted_at::text as place from offers o ${tables('$1')}
   where o.deal_id = $1 and o.is_current
     and ($2::text is null or (o.submitted_at, o.id) < ($2::timestamptz, $3::uuid))
   order by o.submitted_at desc, o.id desc limit $4`,
);

/** Returns the current offer of each buyer whose offers the caller may see, latest first, in pages. */
export const dealOffers = (dealId: string, after: Place | null, limit: number): Statement<Page<DealOffer>> =>
  paged(current(dealId, after?.key, after?.id, limit + 1), limit, shown);

const agreed = row<Found, [dealId: string]>(
  'agreed_offer',
  `select ${fields} from offers o ${tables('$1')} where o.deal_id = $1 and o.id = agreed.id`,
);

/**
 * Returns the revision whose terms are currently agreed on a deal, or null when there is none that the caller may see.
 */
export const agreedOffer = (dealId: string): Statement<DealOffer | null> =>
  mapped(agreed(dealId), (found) => found && shown(found));

const selected = row<Found, [dealId: string]>(
  'selected_offer',
  `select ${fields} from offers o ${tables('$1')}
   join exclusivities x on x.deal_id = o.deal_id and x.participant_id = o.participant_id and x.ended_at is null
   where o.deal_id = $1 and o.is_current`,
);

/**
 * Returns the current offer of the buyer who holds the exclusivity of a deal, or null when there is none that the
 * caller may see.
 */
export const selectedOffer = (dealId: string): Statement<DealOffer | null> =>
  mapped(selected(dealId), (found) => found && shown(found));

/**
 * Returns the current offers and the agreed offer, which may be among them, without duplicates, each with whether it
 * has expired at `now`.
 */
export const currentAndAgreed = (
  latest: readonly DealOffer[],
  accepted: DealOffer | null,
  now: string,
): (DealOffer & { expired: boolean })[] =>
  [...latest.filter(({ id }) => id !== accepted?.id), ...(accepted ? [accepted] : [])].map((offer) => ({
    ...offer,
    expired: hasPassed(offer.payload.expires_at, now),
  }));

const revisions = rows<Placed<Found>>(
  'offer_revisions',
  `select ${fields}, o.revision_number::text as place from offers o ${tables('$1')}
   where o.deal_id = $1 and o.buyer_user_id = $2 and ($3::int is null or o.revision_number < $3)
   order by o.revision_number desc limit $4`,
);

/** Returns every revision of one buyer's offer on a deal that the caller may see, latest first, in pages. */
export const offerRevisions = (
  dealId: string,
  buyer: string,
  after: Place | null,
  limit: number,
): Statement<Page<DealOffer>> => paged(revisions(dealId, buyer, after?.key, limit + 1), limit, shown);

const submit = row<Found>(
  'submit_offer',
  `with o as (insert into offers (deal_id, payload) values ($3, $4::jsonb) returning *)
   select ${fields} from o ${tables('$3')}
   ${audited('offer.submit', { subject: 'o.id', deal: 'o.deal_id', details: `jsonb_build_object('revision', o.revision_number)` })}`,
);

/**
 * Submits the caller's offer or its next revision. Denied to all but buyers of the deal; a payload that is too large or
 * has dates in the past is refused with the field's path.
 */
export const submitOffer = (dealId: string, payload: OfferPayload, origin: Origin): Statement<DealOffer | null> =>
  mapped(submit(...from(origin), dealId, JSON.stringify(payload)), (found) => found && shown(found));

const accept = row<{ deal_id: string }>(
  'accept_offer',
  `with granted as (
     insert into exclusivities (deal_id, participant_id, offer_id, expires_at)
     select o.deal_id, o.participant_id, o.id, $4 from offers o where o.id = $3
     returning id, deal_id)
   select granted.deal_id from granted ${audited('offer.accept', { subject: '$3', deal: 'granted.deal_id' })}`,
);

/** Accepts an offer by granting its buyer exclusivity until `expiresAt`. Denied to all but the deal's brokers. */
export const acceptOffer = (id: string, expiresAt: string, origin: Origin): Statement<boolean> =>
  tookPlace(accept(...from(origin), id, expiresAt));

// `app.accepted_offer` uses the snapshot from before the statement, without the decision itself.
const decisions = new Map(
  offerDecisions.map((decision) => [
    decision,
    row<{ deal_id: string }>(
      `offer_${decision}`,
      `select decided.deal_id from (
         select d.deal_id from (select app.decide_offer($3, '${decision}') as deal_id offset 0) d
         where d.deal_id is not null) decided
       ${audited(decision === 'accepted' ? 'offer.accept_change' : 'offer.decline_change', {
         subject: '$3',
         deal: 'decided.deal_id',
         details: `jsonb_build_object('first', not exists (select from offers o join offers a on a.participant_id = o.participant_id
           where o.id = $3 and a.id = app.accepted_offer(decided.deal_id)))`,
       })}`,
    ),
  ]),
);

/**
 * Accepts the current offer of the buyer who holds the exclusivity, or declines that of any buyer; false when the caller
 * may not.
 */
export function decideOffer(id: string, decision: OfferDecision, origin: Origin): Statement<boolean> {
  const decide = decisions.get(decision);
  if (!decide) throw new Error(`There is no decision ${String(decision)}.`);
  return tookPlace(decide(...from(origin), id));
}

const dealOf = row<{ deal_id: string }, [id: string]>('deal_of_offer', 'select deal_id from offers where id = $1');

/** Returns the deal of an offer that the caller sees, or null. */
export const dealOfOffer = (id: string): Statement<string | null> =>
  mapped(dealOf(id), (found) => found?.deal_id ?? null);

const columnsOfRevision = (
  isAgreed: string,
) => `o.id, o.deal_id, o.buyer_user_id, ${knownName('buyer')} as buyer_name, o.participant_id, o.revision_number, o.is_current,
  o.submitted_at, o.payload::text as payload, case when c.decision = 'accepted' then c.decided_at end as accepted_at,
  case when c.decision = 'declined' then c.decided_at end as declined_at, coalesce(${isAgreed}, false) as agreed`;
const decidedRevisions = `offers o ${knownPerson('buyer', 'o.buyer_user_id', 'o.deal_id')}
  left join offer_decisions c on c.offer_id = o.id`;
const revisionColumns = columnsOfRevision('o.id = agreed.id');
const revisionTables = (deal: string) => `${decidedRevisions}
  left join offers agreed on agreed.id = (select app.accepted_offer(${deal}))`;

/** A revision of an offer, as the REST API and webhooks return it. */
export interface OfferRevision extends Offer {
  deal_id: string;
  /** Null when the caller may not know the buyer. */
  buyer_name: string | null;
  participant_id: string;
  accepted_at: string | null;
  declined_at: string | null;
  /** Whether these are the terms currently agreed on the deal. */
  agreed: boolean;
}

type FoundRevision = Omit<OfferRevision, 'payload'> & { payload: string };

/** Returns a revision with its payload parsed without losing digits. */
export const readRevision = <R extends { payload: string }>(
  found: R,
): Omit<R, 'payload'> & { payload: OfferPayload } => ({
  ...found,
  payload: exactly(found.payload),
});

/**
 * The current offer of each buyer on a deal, latest first. A buyer who submits again while somebody reads the pages keeps
 * their place: each place contains the time of the latest offer on the first page (places of earlier releases do not),
 * and a page is ordered by the offers that were current then.
 */
export const currentOffers = listOfDeal<FoundRevision>(
  'current_offers',
  `select ${revisionColumns}, place.at || '  ' || start.at as place
   from (select nullif(split_part($2, '  ', 1), '')::timestamptz as at) reached
   cross join lateral (select coalesce(nullif(split_part($2, '  ', 2), '')::timestamptz,
     (select max(n.submitted_at) from offers n where n.deal_id = seen.deal and n.is_current)) as at) start
   cross join ${revisionTables('seen.deal')}
   cross join lateral (select past.submitted_at as at, past.id from offers past
     where past.deal_id = o.deal_id and past.buyer_user_id = o.buyer_user_id and past.submitted_at <= start.at
     order by past.revision_number desc limit 1) place
   where o.deal_id = seen.deal and o.is_current
     and ($3::uuid is null or (place.at, place.id) < (reached.at, (
       select coalesce((select last.id from offers last join offers shown on shown.buyer_user_id = last.buyer_user_id
         where shown.id = $3 and shown.deal_id = seen.deal and last.deal_id = seen.deal and last.submitted_at = reached.at
         order by last.revision_number desc limit 1), $3))))
   order by place.at desc, place.id desc limit $4`,
);

/**
 * Every revision by the buyer who made the given offer, latest first; none when the caller sees no such offer on the
 * deal.
 */
export const revisionsOfOffer = listOfDeal<FoundRevision, [offerId: string]>('revisions_of_offer', {
  columns: revisionColumns,
  tables: revisionTables('seen.deal'),
  deal: 'o.deal_id',
  where: 'o.buyer_user_id = (select one.buyer_user_id from offers one where one.id = $5 and one.deal_id = $1)',
  key: 'o.revision_number',
  type: 'int',
  id: 'o.id',
  direction: 'desc',
});

const oneRevision = row<FoundRevision, [dealId: string, id: string]>(
  'offer_of_deal',
  `select ${revisionColumns} from ${revisionTables('$1')} where o.deal_id = $1 and o.id = $2`,
);

// The agreed terms are looked up only on deals where one of these offers was accepted.
const byIds = recordsByIds<FoundRevision>('offers_by_ids', {
  columns: columnsOfRevision('o.id = agreed.offer_id'),
  tables: `${decidedRevisions}
    left join app.accepted_offers(array(
      select a.deal_id from offer_decisions a where a.offer_id = any ($1) and a.decision = 'accepted')) agreed on agreed.deal_id = o.deal_id`,
  id: 'o.id',
});

/** Returns the revisions with these ids that the caller sees. */
export const offersByIds = (ids: readonly string[]): Statement<OfferRevision[]> =>
  mapped(byIds(ids), (found) => found.map(readRevision));

/** Returns one revision of an offer on a deal, or null when there is none that the caller sees. */
export const offerOfDeal = (dealId: string, id: string): Statement<OfferRevision | null> =>
  mapped(oneRevision(dealId, id), (found) => found && readRevision(found));
