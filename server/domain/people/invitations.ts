/** Invitations to a brokerage or a deal: a link that works once, for 14 days, mailed or handed on. */

import { mapped, row, type Statement } from '../../database/statement.ts';
import { tookPlace, type Origin } from '../audit/audited.ts';
import type { NewSession, SignInOrigin } from '../accounts/passwords.ts';

export interface NewMember {
  readonly brokerageId: string;
  readonly email: string;
  readonly name: string;
  readonly role: 'admin' | 'broker' | 'staff';
}

const inviteOne = row<{ person_id: string }>(
  'invite_member',
  'select app.invite_member($1, $2, $3, $4, $5, $6, $7, $8) as person_id',
);

/**
 * Invites a person, known or new, to a brokerage of which the caller is an admin; the id by which the member is known,
 * which tells nothing of an account. Inviting again renews
 * the link. `mailed`: it goes to their mailbox and nobody sees it, so that using it proves that the mailbox is theirs.
 */
export const inviteMember = (
  { brokerageId, email, name, role }: NewMember,
  token: Buffer,
  mailed: boolean,
  { address, requestId }: Origin,
): Statement<string | null> =>
  mapped(
    inviteOne(brokerageId, email, name, role, token, mailed, address, requestId),
    (answer) => answer?.person_id ?? null,
  );

const renew = row<{ person_id: string }>(
  'renew_member_invitation',
  `select app.invite_member(m.brokerage_id, coalesce(m.invited_email, u.email), coalesce(m.invited_name, u.name), m.role,
     $3, $4, $5, $6) as person_id
   from members m left join users u on u.id = m.user_id
   where m.brokerage_id = $1 and m.person_id = $2 and m.status = 'invited'`,
);

/** Makes another link for somebody who is invited, in place of the earlier one; false when nobody such is. */
export const renewMemberInvitation = (
  brokerageId: string,
  personId: string,
  token: Buffer,
  mailed: boolean,
  { address, requestId }: Origin,
): Statement<boolean> => tookPlace(renew(brokerageId, personId, token, mailed, address, requestId));

export interface DealInvitation {
  email: string;
  name: string;
  deal_title: string;
  brokerage_name: string;
}

export interface Invitation {
  /** Whose it is; told to nobody. */
  user_id: string;
  email: string;
  name: string;
  role: string;
  brokerage_name: string;
  deal_id: string | null;
  deal_title: string | null;
  /** The person has an account and accepts by signing in; else the link opens one. Null: not told, for it was passed on. */
  has_password: boolean | null;
}

/** What a link invites to, or null when it is used up, too old, taken back or unknown. */
export const findInvitation: (token: Buffer) => Statement<Invitation | null> = row(
  'find_invitation',
  `select user_id, email, name, role, brokerage_name, deal_id, deal_title, has_password from app.invitation($1)`,
);

const accept = row<{ done: boolean }>('accept_invitation', 'select app.accept_invitation($1, $2, $3, $4) as done');

/** The session's owner accepts an invitation of theirs; false when it is not theirs, used up or too old. */
export const acceptInvitation = (
  session: Buffer | null,
  token: Buffer,
  { address, requestId }: Origin,
): Statement<boolean> => mapped(accept(session, token, address, requestId), (answer) => answer?.done ?? false);

const acceptFirst = row<{ done: boolean }>(
  'accept_first_invitation',
  'select app.accept_first_invitation($1, $2, $3, $4, $5, $6, $7, $8) as done',
);

/** Somebody without an account accepts, with a name and a password, and is signed in; false when they have an account. */
export const acceptFirstInvitation = (
  invitation: Buffer,
  name: string,
  phc: string,
  { token, earlier }: NewSession,
  { address, agent, requestId }: SignInOrigin,
): Statement<boolean> =>
  mapped(
    acceptFirst(invitation, name, phc, token, earlier, address, agent, requestId),
    (answer) => answer?.done ?? false,
  );
