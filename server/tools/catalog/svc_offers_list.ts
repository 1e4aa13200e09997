import { z } from 'zod';
import { offers } from '../../domain/offers/offers.ts';
import { defineTool, reads } from '../define.ts';
import { id } from '../inputs.ts';
import { offer } from '../records.ts';

export const svcOffersList = defineTool({
  name: 'svc_offers_list',
  title: 'List offers on a deal',
  description:
    "Offers submitted on a deal, every revision, the latest first, at most 50, each buyer's latest (is_current) before earlier ones are taken. payload holds price, structure, dates and terms; amounts are decimal text. A buyer sees their own offers, brokers and sellers every buyer's. Empty: there are none that the user may see.",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({ deal_id: id() }),
  output: z.strictObject({ offers: z.array(offer) }),
  work: ({ deal_id }) => [offers(deal_id)],
  answer: (found) => ({ offers: found }),
  view: 'offers',
});
