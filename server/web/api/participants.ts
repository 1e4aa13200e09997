/**
 * The people of a deal: inviting and removing them and renewing invitations; accepting or declining one's own
 * invitation, and leaving a deal before it can be seen.
 */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import type { Statement } from '../../database/statement.ts';
import {
  advisesAsInvited,
  advisesMessage,
  answerInvitation,
  invitedPerson,
  inviteToDeal,
  leaveWaitingPlace,
  removeFromDeal,
  renewDealInvitation,
  type PersonOfDeal,
  participantRoles,
} from '../../domain/deals/participants.ts';
import type { NewLink } from '../../domain/accounts/secret-tokens.ts';
import { invitationUrl } from '../../http/links.ts';
import { mintLink } from '../../mail/secrets.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson } from '../../http/person.ts';
import { invalid, notAllowed, nothingThere } from '../../http/problem.ts';
import { body, delivery, emailAddress, id, pathId, properName } from './input.ts';
import { changeDeal, withDeal } from './visible-record.ts';
import { orNotFound } from './problems.ts';

const Invite = z
  .strictObject({
    email: z.string().trim().toLowerCase().pipe(emailAddress),
    name: properName,
    role: z.enum(participantRoles, 'Choose a role.'),
    advises: id.nullable().default(null),
    deliver: delivery,
  })
  .refine(advisesAsInvited, { path: ['advises'], message: advisesMessage });
const Renewal = z.strictObject({ deliver: delivery });

/** The participant routes, below /api/web. */
export function participantRoutes(services: Services) {
  const { smtpUrl, baseUrl } = services.config;

  /**
   * Invites with a new link and mails or returns it. A mailed link is never returned, so that using it proves access to
   * the mailbox.
   */
  async function invite(
    c: Context,
    dealId: string,
    deliver: 'mail' | 'link' | undefined,
    change: (link: NewLink) => Statement<boolean>,
  ) {
    const mailed = smtpUrl !== undefined && deliver !== 'link';
    const { token, link } = mintLink(services.secrets, mailed);
    const [invited, participant] = await withDeal(services, c, dealId, change(link), invitedPerson(dealId, link.token));
    if (!invited || !participant) throw nothingThere();
    return { participant, invitation_url: mailed ? null : invitationUrl(baseUrl, token), mailed };
  }

  /** Accepts or declines the invitation; returns the id of its deal. */
  const answer = async (c: Context, accepts: boolean) => {
    const [dealId] = await asPerson(services, c, answerInvitation(pathId(c, 'participant_id'), accepts, originOf(c)));
    return orNotFound(dealId);
  };

  return new Hono()
    .post('/deals/:id/participants', body(Invite), async (c) => {
      const dealId = pathId(c);
      const { deliver, ...person } = c.req.valid('json');
      const change = (link: NewLink) => inviteToDeal(dealId, person, link, originOf(c));
      return c.json(await invite(c, dealId, deliver, change), 201);
    })

    .post('/deals/:id/participants/:participant_id/invitation', body(Renewal), async (c) => {
      const dealId = pathId(c);
      const participantId = pathId(c, 'participant_id');
      const { deliver } = c.req.valid('json');
      const change = (link: NewLink) => renewDealInvitation(dealId, participantId, link, originOf(c));
      return c.json(await invite(c, dealId, deliver, change));
    })

    .delete('/deals/:id/participants/:participant_id', async (c) => {
      const dealId = pathId(c);
      const participantId = pathId(c, 'participant_id');
      const change = removeFromDeal(dealId, participantId, originOf(c));
      const otherwise = ({ participants }: { participants: readonly PersonOfDeal[] }) => {
        const person = participants.find((one) => one.id === participantId);
        if (!person) return nothingThere();
        if (person.status !== 'removed') return notAllowed();
        return invalid([{ path: '', message: `${person.name} has already been removed.` }]);
      };
      return changeDeal(services, c, dealId, change, otherwise);
    })

    .post('/invitations/:participant_id/accept', async (c) => c.json({ deal_id: await answer(c, true) }))

    .post('/invitations/:participant_id/decline', async (c) => {
      await answer(c, false);
      return c.body(null, 204);
    })

    .post('/invitations/:participant_id/leave', async (c) => {
      const [left] = await asPerson(services, c, leaveWaitingPlace(pathId(c, 'participant_id'), originOf(c)));
      if (!left) throw nothingThere();
      return c.body(null, 204);
    });
}
