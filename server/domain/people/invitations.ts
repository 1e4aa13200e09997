/** Invitations to a brokerage or a deal: a one-time link, valid for 14 days, that is mailed or handed over. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { tookPlace, type Origin } from '../audit/audited.ts';
import { queueMail } from '../outbox/mails.ts';
import { emailWith, nameWith } from './former-names.ts';
import type { NewSession, SignInOrigin } from '../accounts/passwords.ts';
import type { NewLink } from '../accounts/secret-tokens.ts';
import type { MemberRole } from './member-roles.ts';

interface NewMember {
  readonly brokerageId: string;
  readonly email: string;
  readonly name: string;
  readonly role: MemberRole;
}

interface MailedInvitation {
  readonly to: string;
  readonly name: string;
  readonly brokerage: readonly [id: string, name: string];
  /** The deal that the person is invited to, if any. */
  readonly deal?: readonly [id: string, title: string];
  readonly secret: string;
  readonly link: string;
}

/**
 * SQL that mails an invitation by the caller; the arguments are SQL expressions. Where `secret` is null, the link is
 * handed over and no mail is queued.
 */
export const mailedInvitation = ({ to, name, brokerage, deal, secret, link }: MailedInvitation): string =>
  queueMail('invitation', {
    to: `case when ${secret}::text is not null then ${to} end`,
    brokerage: brokerage[0],
    ...(deal && { deal: deal[0] }),
    facts: `jsonb_build_object('name', ${name}, 'deal', ${deal?.[1] ?? 'null'},
      'by', (select name from users where id = app.user_id()), 'brokerage', ${brokerage[1]})`,
    secret,
    link,
  });

const brokerageName = (id: string): string => `(select name from brokerages where id = ${id})`;

const inviteOne = row<{ person_id: string }>(
  'invite_member',
  `select person_id, ${mailedInvitation({ to: '$2', name: '$3', brokerage: ['$1', brokerageName('$1')], secret: '$8', link: '$5' })}
   from app.invite_member($1, $2, $3, $4, $5, $8::text is not null, $6, $7) as person_id`,
);

/**
 * Invites a person, known or new, to a brokerage of which the caller is an admin. Returns the id of the member, which
 * does not reveal whether there is an account. Refused with `already_member` and `already_invited`. A mailed link goes only to the person's
 * mailbox, and the caller does not see it, so that using it proves that the mailbox belongs to the person.
 */
export const inviteMember = (
  { brokerageId, email, name, role }: NewMember,
  { token, secret }: NewLink,
  { address, requestId }: Origin,
): Statement<string | null> =>
  mapped(
    inviteOne(brokerageId, email, name, role, token, address, requestId, secret),
    (answer) => answer?.person_id ?? null,
  );

const renew = row<{ person_id: string }>(
  'renew_member_invitation',
  `with invited as (
     select m.brokerage_id, m.role, case when m.joined_at is null then m.invited_name else ${nameWith('m', 'u')} end as name,
       case when m.joined_at is null then m.invited_email else ${emailWith('m', 'u')} end as known_at,
       case when m.joined_at is null then m.invited_email else u.email end as email
     from members m left join users u on u.id = m.user_id
     where m.brokerage_id = $1 and m.person_id = $2 and m.status = 'invited')
   select again.person_id, ${mailedInvitation({ to: 'i.email', name: 'i.name', brokerage: ['i.brokerage_id', brokerageName('i.brokerage_id')], secret: '$6', link: '$3' })}
   from invited i
   cross join lateral app.invite_member(
     i.brokerage_id, i.known_at, i.name, i.role, $3, $6::text is not null, $4, $5, $2) as again(person_id)`,
);

/**
 * Replaces the link of an invited person; false when there is no such invited person. Whoever was once a member is
 * invited at the mailbox that they have now, which is not told.
 */
export const renewMemberInvitation = (
  brokerageId: string,
  personId: string,
  { token, secret }: NewLink,
  { address, requestId }: Origin,
): Statement<boolean> => tookPlace(renew(brokerageId, personId, token, address, requestId, secret));

export interface Invitation {
  /** Id of the invited person; not part of any response. */
  user_id: string;
  email: string;
  name: string;
  role: string;
  brokerage_name: string;
  deal_id: string | null;
  deal_title: string | null;
  /**
   * Whether the person has an account and accepts by signing in; otherwise the link opens an account. Null: not
   * disclosed, because the link was handed over.
   */
  has_password: boolean | null;
  /** Whether the invited account has another address by now; false if the link was handed over. */
  moved: boolean;
}

/** The invitation of a link, or null when the link is used, expired, withdrawn or unknown. */
export const findInvitation: (token: Buffer) => Statement<Invitation | null> = row(
  'find_invitation',
  `select user_id, email, name, role, brokerage_name, deal_id, deal_title, has_password, moved from app.invitation($1)`,
);

const accept = row<{ done: boolean }>('accept_invitation', 'select app.accept_invitation($1, $2, $3, $4) as done');

/** The session's user accepts an invitation; false when it is addressed to another user, used or expired. */
export const acceptInvitation = (
  session: Buffer | null,
  token: Buffer,
  { address, requestId }: Origin,
): Statement<boolean> => mapped(accept(session, token, address, requestId), (answer) => answer?.done ?? false);

const acceptFirst = row<{ done: boolean }>(
  'accept_first_invitation',
  'select app.accept_first_invitation($1, $2, $3, $4, $5, $6, $7, $8) as done',
);

/**
 * A person without an account accepts, with a name and a password, and is signed in; false when the person has an
 * account.
 */
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

interface WaitingMembership {
  brokerage_id: string;
  brokerage_name: string;
  role: MemberRole;
  expires_at: string;
}

/** The invitations to brokerages that the caller has not answered, and whose links work. */
export const waitingMemberships = rows<WaitingMembership, []>(
  'waiting_memberships',
  'select brokerage_id, brokerage_name, role, expires_at from app.member_invitations()',
);

const answer = row<{ done: boolean }>(
  'answer_member_invitation',
  'select app.answer_member_invitation($1, $2, $3, $4) as done',
);

/** Accepts or declines such an invitation; false if the caller has none to this brokerage. */
export const answerMemberInvitation = (
  brokerageId: string,
  accepts: boolean,
  { address, requestId }: Origin,
): Statement<boolean> => mapped(answer(brokerageId, accepts, address, requestId), (found) => found?.done ?? false);
