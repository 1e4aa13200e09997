import { z } from 'zod';
import { dealAnswer, mostParticipants } from '../../domain/deals/participants.ts';
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
    listing: records.listing,
    caller: records.caller,
    people: records.people,
    hint: records.hint,
  }),
  work: () => dealAnswer,
  namesCaller: true,
  answer: (found) => ({
    deal: found?.deal ?? null,
    participants: found?.participants ?? [],
    ...(found?.listing ? { listing: found.listing } : {}),
  }),
  hint: (_input, found) =>
    found?.more
      ? {
          message: `These are ${mostParticipants} of the people on the deal: people who were removed are left out first. url has all of them.`,
        }
      : null,
  page: 'deal',
});
