import { z } from 'zod';
import { dealAnswer } from '../../domain/deals/participants.ts';
import { defineTool, reads } from '../define.ts';
import { dealId } from '../inputs.ts';
import * as records from '../records.ts';

export const svcDealsGet = defineTool({
  name: 'svc_deals_get',
  title: 'Get a deal',
  description:
    'One deal: its state or stage, exclusivity and its expiry, and who is on it, as far as the user may know: role (broker, seller, buyer, advisor, viewer), status (invited, active, removed) and which buyers have signed the NDA (nda_status). A buyer sees no other buyers, and the seller only under an active NDA where one is needed. deal is null when there is none that the user may see.',
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({ deal_id: dealId() }),
  output: z.strictObject({
    deal: records.deal.nullable(),
    participants: z.array(records.participant),
    caller: records.caller,
    people: records.people,
  }),
  work: () => dealAnswer,
  namesCaller: true,
  answer: (found) => ({ deal: found?.deal ?? null, participants: found?.participants ?? [] }),
  page: 'deal',
});
