import { z } from 'zod';
import { offers } from '../../domain/offers/offers.ts';
import { defineTool, reads } from '../define.ts';
import { dealId } from '../inputs.ts';
import { offer, people } from '../records.ts';

export const svcOffersList = defineTool({
  name: 'svc_offers_list',
  title: 'List offers on a deal',
  description:
    "Offers (bids, LOIs, letters of intent) on a deal, every revision, the latest first, at most 50, current ones (is_current) before earlier ones are taken. payload has purchase_price (the highest bid: of the current ones), cash_at_close, seller_note, earnout, rollover_equity, target_close_date, expires_at, terms. A buyer sees their own, brokers and sellers every buyer's.",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({ deal_id: dealId() }),
  output: z.strictObject({ offers: z.array(offer), people }),
  work: ({ deal_id }) => [offers(deal_id)],
  answer: (found) => ({ offers: found }),
  page: 'offers',
  view: 'offers',
});
