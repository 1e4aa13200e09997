/** Bringing people to a deal and taking them out of it; answering an invitation. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { participantEmail, participantName, type Side } from './deal-page.ts';
import type { DealInvitation } from '../people/invitations.ts';
import type { Origin } from '../audit/origin.ts';
import { from, recorded } from '../audit/audited.ts';

export interface NewParticipant {
  readonly email: string;
  readonly name: string;
  readonly role: Side | 'advisor';
  /** The participant whom an advisor advises. */
  readonly advises: string | null;
}

/** A link with which an invitation is accepted. `mailed`: it goes to the mailbox and nobody else sees it. */
export interface NewLink {
  readonly token: Buffer;
  readonly mailed: boolean;
}

const invitation = 'link.email, link.name, link.deal_title, link.brokerage_name';

const invite = row<DealInvitation>(
  'invite_to_deal',
  `select ${invitation} from app.invite_to_deal($3, $4, $5, $6, $7) invited
   cross join lateral app.link_deal_invitation(invited.participant_id, $8, $9) link
   ${recorded('participant.invite', { subject: 'invited.participant_id', deal: '$3::uuid', details: `jsonb_build_object('role', $6::text)` })}`,
);

/**
 * Invites a person to a deal and makes the link; what the mail says. Denied to all but its brokers and the admins of its
 * brokerage; refused when the person takes part already.
 */
export const inviteToDeal = (
  dealId: string,
  { email, name, role, advises }: NewParticipant,
  { token, mailed }: NewLink,
  origin: Origin,
): Statement<DealInvitation | null> => invite(...from(origin), dealId, email, name, role, advises, token, mailed);

const inviteAgain = row<DealInvitation>(
  'invite_to_deal_again',
  `select ${invitation} from participants p
   left join users u on u.id = p.user_id
   cross join lateral app.invite_to_deal(p.deal_id, ${participantEmail}, ${participantName}, p.role, p.advises) invited
   cross join lateral app.link_deal_invitation(invited.participant_id, $5, $6) link
   ${recorded('participant.invite', { subject: 'invited.participant_id', deal: 'p.deal_id', details: `jsonb_build_object('role', p.role)` })}
   where p.id = $4 and p.deal_id = $3`,
);

/** The same for somebody who has not answered, declined or was removed; null when there is no such person on the deal. */
export const renewDealInvitation = (
  dealId: string,
  participantId: string,
  { token, mailed }: NewLink,
  origin: Origin,
): Statement<DealInvitation | null> => inviteAgain(...from(origin), dealId, participantId, token, mailed);

const remove = row<{ id: string }>(
  'remove_from_deal',
  `with changed as (
     update participants set status = 'removed' where id = $4 and deal_id = $3 and status <> 'removed' returning id, deal_id)
   select changed.id from changed ${recorded('participant.remove', { subject: 'changed.id', deal: 'changed.deal_id' })}`,
);

/** Takes somebody out of a deal, or their invitation back; false when the caller may not, or they are out already. */
export const removeFromDeal = (dealId: string, participantId: string, origin: Origin): Statement<boolean> =>
  mapped(remove(...from(origin), dealId, participantId), (found) => found !== null);

export interface WaitingInvitation {
  participant_id: string;
  role: Side | 'advisor';
  brokerage_name: string;
  deal_title: string;
  invited_at: string;
}

/** The invitations to deals that wait for the caller's answer, the latest first. */
export const waitingInvitations = rows<WaitingInvitation, []>(
  'waiting_invitations',
  'select participant_id, role, brokerage_name, deal_title, invited_at from app.deal_invitations()',
);

const answer = row<{ deal_id: string | null }>(
  'answer_deal_invitation',
  'select app.answer_deal_invitation($3, $4, $1, $2) as deal_id',
);

/** Joins the deal of an invitation, or declines; the deal, or null when no such invitation waits for the caller. */
export const answerInvitation = (participantId: string, accepts: boolean, origin: Origin): Statement<string | null> =>
  mapped(answer(...from(origin), participantId, accepts), (found) => found?.deal_id ?? null);
