/** The members of one's brokerages: inviting and removing them, and links for people invited to deals. */

import { Hono } from 'hono';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { inviteMember, linkDealInvitation } from '../domain/people/invitations.ts';
import { endMemberSessions, listMembers, removeMember } from '../domain/people/members.ts';
import { mintToken, tokenDigest } from '../domain/accounts/secret-tokens.ts';
import { csrfGuard } from '../http/csrf.ts';
import { invitationUrl } from '../http/links.ts';
import { mailInvitation } from '../http/mails.ts';
import { originOf } from '../http/origin.ts';
import { Problem } from '../http/problem.ts';
import { action, fields, smallBody } from './action.ts';
import { asCaller } from './signed-in.ts';

const delivery = z.enum(['mail', 'link'], { error: 'Choose mail or link.' }).default('mail');
const memberInput = z.object({
  brokerage_id: fields.id,
  email: fields.email,
  name: fields.name,
  role: z.enum(['admin', 'broker', 'staff'], { error: 'Choose a role: admin, broker or staff.' }),
  deliver: delivery,
});
const removing = z.object({
  brokerage_id: fields.id,
  user_id: fields.id,
  successor_id: fields.id.nullish(),
});
const participantInput = z.object({ participant_id: fields.id, deliver: delivery });

/** Inviting to a brokerage or a deal, removing members, and ending their sessions. */
export function peopleRoutes(services: Services) {
  /** What the inviter is told: the link only when they asked for it, so that a mailed one proves the mailbox. */
  const told = (deliver: 'mail' | 'link', email: string, token: string) =>
    deliver === 'link' ? { invited: email, link: invitationUrl(services.config.baseUrl, token) } : { invited: email };

  const invite = action(memberInput, async (c, { brokerage_id: brokerageId, email, name, role, deliver }) => {
    const token = mintToken();
    const member = { brokerageId, email, name, role };
    const statement = inviteMember(member, tokenDigest(token), deliver === 'mail', originOf(c));
    const [caller, , members] = await asCaller(services, c, statement, listMembers());
    if (deliver === 'mail') {
      const toWhat = members.find((one) => one.brokerage_id === brokerageId)?.brokerage_name ?? 'a brokerage';
      void mailInvitation(services, { email, name }, { by: caller.name, toWhat }, token);
    }
    return told(deliver, email, token);
  });

  const endSessions = action(
    z.object({ brokerage_id: fields.id, user_id: fields.id }),
    async (c, { brokerage_id, user_id }) => {
      const [, ended] = await asCaller(services, c, endMemberSessions(brokerage_id, user_id, originOf(c)));
      if (ended === null) throw new Problem(404, 'not_found', 'This person is no member whose sessions you can end.');
      return { ended };
    },
  );

  const inviteToDeal = action(participantInput, async (c, { participant_id, deliver }) => {
    const token = mintToken();
    const statement = linkDealInvitation(participant_id, tokenDigest(token), deliver === 'mail');
    const [caller, invited] = await asCaller(services, c, statement);
    if (invited === null) throw new Problem(404, 'not_found', 'Nobody is invited under this id.');
    const toWhat = `the deal ${invited.deal_title} of ${invited.brokerage_name}`;
    if (deliver === 'mail') void mailInvitation(services, invited, { by: caller.name, toWhat }, token);
    return told(deliver, invited.email, token);
  });

  const remove = action(removing, async (c, { brokerage_id, user_id, successor_id = null }) => {
    const [, removed] = await asCaller(services, c, removeMember(brokerage_id, user_id, successor_id, originOf(c)));
    if (!removed) throw new Problem(404, 'not_found', 'This person is no member that you can remove.');
    return { removed: true, ...removed };
  });

  return new Hono()
    .post('/invitations', smallBody, csrfGuard, invite)

    .post('/members/end-sessions', smallBody, csrfGuard, endSessions)

    .post('/invitations/deal', smallBody, csrfGuard, inviteToDeal)

    .post('/members/remove', smallBody, csrfGuard, remove);
}
