/** Offers on deals, read-only: only a buyer submits one, and only a broker accepts it. */

import { z } from 'zod';
import { mapped } from '../../database/statement.ts';
import { currentOffers, offerOfDeal, readRevision, revisionsOfOffer } from '../../domain/offers/offers.ts';
import { offerResource } from '../../domain/events/resources.ts';
import type { Services } from '../../services.ts';
import type { Callers } from '../caller.ts';
import { currency, date, decimal, id, time } from '../fields.ts';
import type { Operation } from '../operation.ts';
import { dealResources, idInPath } from './records.ts';

const payload = z
  .object({
    currency: currency.nullable(),
    purchasePrice: decimal.nullable(),
    cashAtClose: decimal.nullable(),
    sellerNote: decimal.nullable(),
    earnout: decimal.nullable(),
    rolloverEquity: decimal.nullable(),
    financingContingency: z.boolean().nullable(),
    targetCloseDate: date.nullable(),
    expiresAt: time.nullable(),
    terms: z
      .string()
      .nullable()
      .meta({ examples: ['Ninety days of the seller’s help after closing.'] }),
    other: z.record(z.string(), z.unknown()).meta({
      description: 'Anything else that the buyer submitted, under their own names for it.',
      examples: [{ lease: 'to be assigned' }],
    }),
  })
  .meta({ id: 'OfferPayload', description: 'The terms of the offer; null means not stated.' });

export const offer = z
  .object({
    id,
    dealId: id,
    participantId: id.meta({ description: 'The buyer, among the participants of the deal.' }),
    buyerUserId: id,
    buyerName: z
      .string()
      .nullable()
      .meta({ description: 'Null for a key without participants:read.', examples: ['Priya Raman'] }),
    revisionNumber: z
      .int()
      .min(1)
      .meta({ description: "Counts a buyer's submissions, starting at 1.", examples: [2] }),
    isCurrent: z.boolean().meta({ description: "Whether it is the buyer's latest revision." }),
    agreed: z.boolean().meta({ description: 'Whether these are the terms now agreed on the deal.' }),
    submittedAt: time,
    acceptedAt: time.nullable(),
    declinedAt: time.nullable(),
    payload,
  })
  .meta({ id: 'Offer', description: "One revision of a buyer's offer." });

/** The operations on offers; `callers` authenticates API keys. */
export function offerOperations(services: Services, callers: Callers): readonly Operation[] {
  const { list, one } = dealResources(services, callers);
  const common = { tag: 'Offers', scope: 'offers:read', things: 'offers', item: offer, page: 'OfferList' } as const;
  return [
    list({
      ...common,
      path: '/deals/{dealId}/offers',
      id: 'listOffers',
      summary: 'List the offers on a deal',
      description: 'The current revision of each buyer, newest first.',
      rows: (_c, dealId, after, limit) => currentOffers(dealId, after, limit),
      show: (row) => offerResource(readRevision(row)),
    }),
    {
      method: 'get',
      path: '/deals/{dealId}/offers/{offerId}',
      id: 'getOffer',
      tag: common.tag,
      summary: 'Get an offer',
      description: 'One revision of an offer, current or not. Needs the scope offers:read.',
      scope: common.scope,
      answers: { 200: { description: 'The offer.', schema: offer } },
      errors: ['offer_not_found'],
      handle: (c) =>
        one(
          c,
          common.scope,
          'offer_not_found',
          (dealId) => offerOfDeal(dealId, idInPath(c, 'offerId', 'offer_not_found')),
          offerResource,
        ),
    },
    list({
      ...common,
      path: '/deals/{dealId}/offers/{offerId}/revisions',
      id: 'listOfferRevisions',
      summary: 'List the revisions of an offer',
      description: 'Every revision by the buyer who made this one, newest first.',
      // Every offer has a revision, so an empty first page means that there is no such offer.
      rows: (c, dealId, after, limit) =>
        mapped(revisionsOfOffer(dealId, after, limit, idInPath(c, 'offerId', 'offer_not_found')), (found) =>
          after === null && found?.length === 0 ? null : found,
        ),
      show: (row) => offerResource(readRevision(row)),
      absent: 'offer_not_found',
    }),
  ];
}
