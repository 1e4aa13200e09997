/** The participants of a deal. */

import type { Context } from 'hono';
import { z } from 'zod';
import { actForIssuer } from '../../domain/clients/api-keys.ts';
import { sides } from '../../domain/deals/deals.ts';
import {
  advisesAsInvited,
  advisesMessage,
  invitedResource,
  inviteToDeal,
  participantRoles,
  participantsOfDeal,
  participantStatuses,
} from '../../domain/deals/participants.ts';
import { lengths } from '../../domain/lengths.ts';
import { requireVisible } from '../../domain/visibility/require-visible.ts';
import { originOf } from '../../http/origin.ts';
import { checkName } from '../../http/values.ts';
import { mintLink } from '../../mail/secrets.ts';
import { resourceOf } from '../../domain/events/resources.ts';
import type { Services } from '../../services.ts';
import { readBody } from '../body.ts';
import { digestOfKey, type Callers } from '../caller.ts';
import { emailSent, id, idSent, lineUpTo, oneOf, time } from '../fields.ts';
import { replayed, type Operation } from '../operation.ts';
import { idempotencyKey, openWrites } from '../writes.ts';
import { dealInPath, dealResources, notFound, withinDealInPath } from './records.ts';
import { refusedOn } from './refusals.ts';

export const participant = z
  .object({
    id,
    userId: id.meta({ description: 'The id of their account; until they accept, that of their invitation.' }),
    name: z
      .string()
      .nullable()
      .meta({ examples: ['Ron Kestrel'] }),
    email: z.string().nullable().meta({ format: 'email' }),
    role: z.enum(participantRoles),
    status: z.enum(participantStatuses),
    side: z.enum(sides).meta({ description: "An advisor's side is that of the participant whom they advise." }),
    advises: id.nullable().meta({ description: 'The participant whom an advisor advises.' }),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Participant', description: 'A person on a deal.' });

export const invitation = z
  .strictObject({
    email: emailSent,
    name: lineUpTo(lengths.participants.invited_name)
      .superRefine(checkName)
      .meta({ examples: ['Ron Kestrel'] }),
    role: oneOf(participantRoles),
    advises: idSent
      .nullable()
      .default(null)
      .meta({ description: 'The participant whom an advisor advises; required for advisors, null for everyone else.' }),
  })
  .refine(advisesAsInvited, { path: ['advises'], error: advisesMessage })
  .meta({ id: 'Invitation' });

/** The operations on participants; `callers` authenticates API keys. */
export function participantOperations(services: Services, callers: Callers): readonly Operation[] {
  const { list } = dealResources(services, callers);
  const writes = openWrites(services, callers);
  const mails = services.config.smtpUrl !== undefined;

  const invite = (c: Context) =>
    writes.run(
      c,
      {
        scopes: ['participants:write', 'participants:read'],
        action: 'participant.invite',
        meaning: refusedOn('deal_not_found'),
        within: withinDealInPath(c),
      },
      async () => {
        const dealId = dealInPath(c);
        const { email, ...person } = await readBody(c, invitation);
        const given = { ...person, email: email.toLowerCase() };
        // The response does not contain the link: if no mail is sent, a broker creates another on the deal's page and
        // hands it on.
        const { link } = mintLink(services.secrets, mails);
        return {
          statements: [
            requireVisible('deals', dealId),
            actForIssuer(digestOfKey(c), 'participants:write', dealId),
            inviteToDeal(dealId, given, link, originOf(c)),
            invitedResource(dealId, link.token),
          ],
          said: given,
          answer: ([, , invited, who]) => {
            if (!invited || who === null) throw notFound('deal_not_found');
            return { status: 201, body: resourceOf(who) };
          },
        };
      },
    );

  return [
    list({
      path: '/deals/{dealId}/participants',
      id: 'listParticipants',
      tag: 'Deals',
      summary: 'List the people on a deal',
      description: 'In the order in which they were added, including people who are only invited or were removed.',
      scope: 'participants:read',
      things: 'participants',
      item: participant,
      page: 'ParticipantList',
      rows: (_c, dealId, after, limit) => participantsOfDeal(dealId, after, limit),
    }),
    {
      method: 'post',
      path: '/deals/{dealId}/invitations',
      id: 'inviteParticipant',
      tag: 'Deals',
      summary: 'Invite somebody to a deal',
      description:
        'Sends an e-mail in the name of the person who issued the key, who must be a broker of the deal or an admin of the brokerage; it counts towards the number that they may send. A person who was invited before and has not joined is invited again; in another role only after a broker has withdrawn the invitation that waits (`already_invited`). Brokers and their advisors must be members of the brokerage (`not_a_member`). Needs the scopes participants:write and participants:read.',
      scope: 'participants:write',
      parameters: [idempotencyKey],
      body: invitation,
      answers: { 201: { description: 'The invited participant.', schema: participant, headers: replayed } },
      errors: ['deal_not_found', 'conflict'],
      handle: invite,
    },
  ];
}
