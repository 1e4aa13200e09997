import { z } from 'zod';
import { mapped } from '../../database/statement.ts';
import { booksOf } from '../../domain/diligence/books.ts';
import { toCompare } from '../../domain/offers/assessment.ts';
import { summaryOf } from '../../domain/offers/summary.ts';
import { funding } from '../../domain/offers/financing.ts';
import { mostListedOffers, offers, offersAnswer, termsOf, type OfferPayload } from '../../domain/offers/offers.ts';
import { defineTool, reads } from '../define.ts';
import { cutHint } from '../filters.ts';
import { dealId } from '../inputs.ts';
import { hint, offer, offersSummary, people } from '../records.ts';

/** The payload with the buyer's own keys below `other`, where they cannot pass for the service's. */
function shownPayload(payload: OfferPayload) {
  const { known, other } = termsOf(payload);
  return { ...known, ...(Object.keys(other).length > 0 ? { other } : {}) };
}

export const svcOffersList = defineTool({
  name: 'svc_offers_list',
  title: 'List offers on a deal',
  description:
    "Offers (bids, LOIs, letters of intent) on a deal, every revision, the latest first, at most 50, all current ones (is_current) among them; agreed: accepted terms, which stand even if expired. payload has purchase_price (highest bid: of current ones), cash_at_close, seller_note, earnout, rollover_equity, target_close_date, expires_at, terms. summary compares the agreed and current ones: multiples of EBITDA, SDE and revenue, shares of the money, coverage of the debt, two_best. A buyer sees their own, brokers and sellers every buyer's.",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({ deal_id: dealId() }),
  output: z.strictObject({ offers: z.array(offer), summary: offersSummary, people, hint }),
  work: ({ deal_id }, _origin, { financing }) => [
    offers(deal_id),
    booksOf(deal_id),
    mapped(funding(deal_id), (recorded) => (financing ? recorded : null)),
  ],
  enteringRead: ({ deal_id }, { financing }) => offersAnswer(deal_id, financing),
  answer: ({ rows: found }, books, recorded) => {
    const summary = summaryOf(books, { offers: toCompare(found), funding: recorded });
    const shown = found.map(({ payload, participant_id: _participant, ...rest }) => ({
      ...rest,
      payload: shownPayload(payload),
    }));
    return { offers: shown, ...(summary ? { summary } : {}) };
  },
  hint: (_input, { more }) => cutHint(more, `${mostListedOffers}, the current ones and the newest of the earlier ones`),
  unseen: { things: 'offers', by: ['viewer', 'admin'] },
  page: 'offers',
  view: 'offers',
});
