/** The people on a deal (specification, section 2.2): who they are, bringing them to it, taking them out, answering an invitation. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { timestamp } from '../../database/types.ts';
import { audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { enteringRead, type EnteringRead } from '../clients/tokens.ts';
import type { NewLink } from '../accounts/secret-tokens.ts';
import type { MailTrouble } from '../outbox/undelivered.ts';
import { mailedInvitation } from '../people/invitations.ts';
import { listOfDeal, recordsByIds } from '../visibility/list-of-deal.ts';
import type { Deal, Side } from './deals.ts';

/** What a person can be on a deal. */
export const participantRoles = ['broker', 'seller', 'buyer', 'advisor', 'viewer'] as const;
export type ParticipantRole = (typeof participantRoles)[number];

/** Whether an invitation says whom an advisor advises, and of nobody else. */
export const advisesAsInvited = ({ role, advises }: { role: ParticipantRole; advises: string | null }): boolean =>
  (role === 'advisor') === (advises !== null);
/** What is said of one that does not. */
export const advisesMessage = 'An advisor advises somebody, and nobody else does.';

/** Whether they have accepted, and still take part. */
export const participantStatuses = ['invited', 'active', 'removed'] as const;

/** How an NDA stands. */
export const ndaStatuses = ['sent', 'active', 'expired', 'revoked'] as const;
export type NdaStatus = (typeof ndaStatuses)[number];
/** How the NDA of a buyer stands; none: none was sent. */
type NdaTold = NdaStatus | 'none';

export interface Participant {
  /** Their account; until they have accepted, that of their invitation, which does not show whether there is an account. */
  user_id: string;
  role: ParticipantRole;
  status: (typeof participantStatuses)[number];
}

/**
 * Joins the person whose user id stands in `id` as `name` (so `name.id` and `name.name`), on the deal whose id stands in
 * `deal`: with nulls, unless the caller may know that this person takes part in that deal. A person whom they know from
 * another deal is nobody here.
 */
export const knownPerson = (name: string, id: string, deal: string): string =>
  `left join (participants ${name}_part join users ${name} on ${name}.id = ${name}_part.user_id)
    on ${name}_part.deal_id = ${deal} and ${name}_part.user_id = ${id}`;

/**
 * A person whose id a row holds: that id, their name, and what they are on the deal; of an advisor the side, which is the role of whom they advise; of a
 * buyer how their NDA stands, where it is told.
 */
export type Mentioned = readonly [
  userId: string,
  name: string | null,
  role: string,
  side?: string | null,
  nda?: NdaTold | null,
];

/** The column `<name>_person`, a {@link Mentioned}, of a person who was joined as {@link knownPerson}; null for nobody and for whom the caller may not know. */
export const mentioned = (name: string): string =>
  `case when ${name}.id is not null then array[${name}.id::text, ${name}.name, ${name}_part.role,
     case when ${name}_part.role = 'advisor' then (select a.role from participants a where a.id = ${name}_part.advises) end] end as ${name}_person`;

/** The same of the person whose user id stands in `id`, where a statement is about the one deal in `deal`: all of its names are looked up at once. */
export const personOnDeal = (deal: string, id: string): string => `(select app.people_on_deal(${deal})) -> ${id}::text`;

export interface PersonOfDeal {
  id: string;
  /** Their account; until they have accepted, that of their invitation, and name and email are what was typed. */
  user_id: string;
  name: string;
  email: string;
  role: ParticipantRole;
  status: (typeof participantStatuses)[number];
  side: Side;
  advises: string | null;
  /** Of the NDA that counts, or of the latest; null to whom it is no business. */
  nda_status: NdaStatus | null;
  /** Whether the caller can make a closing condition theirs: they take part and do more than view, and a buyer who is selected may know of them. */
  can_own_conditions: boolean;
  /** Whether the caller can make a finding that they record theirs: they take part, and can open it. */
  can_own_findings: boolean;
  /** What is wrong with the mail of their invitation; null to all but the deal's brokers and its brokerage's admins. */
  mail_trouble: MailTrouble;
  created_at: string;
  updated_at: string;
}

/** The status of NDA `n` at this moment, also before its expiry is written down. */
export const ndaStatusNow = `case when n.status in ('sent', 'active') and n.expires_at <= app.now() then 'expired' else n.status end`;

/**
 * Joins the account of participant `p` as `u`; nobody while they have not accepted, when what was typed is shown. Where a request is about one deal, an account
 * that was only invited to it would be looked for on all other deals of the caller, by a policy of users.
 */
export const accountOf = 'left join users u on u.id = p.person_id';

/** Of participant `p`, with {@link accountOf}: the account's name, or what was typed while they have not accepted. */
export const participantName = 'case when p.joined_at is null then p.invited_name else u.name end';
const participantEmail = 'case when p.joined_at is null then p.invited_email else u.email end';

const personFields = `p.id, p.person_id as user_id, ${participantName} as name, ${participantEmail} as email, p.role, p.status,
  case when p.role <> 'advisor' then p.role else coalesce(advised.role, 'viewer') end as side, p.advises,
  nda.status as nda_status,
  case
    when p.status <> 'active' or p.role = 'viewer' or not p.deal_id = any ((select app.deals_acting_as('broker'))::uuid[]) then false
    when app.selected_side(p.deal_id) is null then true
    else app.side_knows(app.selected_side(p.deal_id), p.user_id)
  end as can_own_conditions,
  p.status = 'active' and p.deal_id = any ((select app.diligence_deals())::uuid[])
    and app.finding_opens_to(coalesce(advised.role, p.role), coalesce(p.advises, p.id), (select app.principals())) as can_own_findings,
  case when p.status = 'invited' then app.participant_mail_trouble(p.id) end as mail_trouble, p.created_at, p.updated_at`;

const personTables = `participants p ${accountOf}
  left join participants advised on advised.id = p.advises
  left join lateral (
    select ${ndaStatusNow} as status from ndas n where n.participant_id = p.id
    order by (n.status = 'active') desc, n.sent_at desc, n.id desc limit 1) nda on true`;

/** How many of the people of a deal are listed. */
export const mostPeople = 4000;

/** The people on a deal whom the caller may know of, in the order in which they were added, those who were removed last: the first {@link mostPeople}. */
export const peopleOfDeal = rows<PersonOfDeal, [dealId: string]>(
  'people_of_deal',
  `select ${personFields} from ${personTables} where p.deal_id = $1
   order by p.status = 'removed', p.created_at, p.id limit ${mostPeople}`,
);

/** One of the people on a deal, by e-mail address; null when the caller knows of no such person on it. */
export const personOfDeal = row<PersonOfDeal, [dealId: string, email: string]>(
  'person_of_deal',
  `select ${personFields} from ${personTables} where p.deal_id = $1 and ${participantEmail} = lower($2)`,
);

/** One of the people on a deal, by the id of their part in it. */
export const participantOfDeal = row<PersonOfDeal, [dealId: string, participantId: string]>(
  'participant_of_deal',
  `select ${personFields} from ${personTables} where p.deal_id = $1 and p.id = $2`,
);

/** A deal, and on it whom the caller may know of, in the order in which they were added. */
interface DealWithPeople {
  deal: Deal;
  participants: (Participant & { user_person: Mentioned })[];
}

type Person = [
  userId: string,
  role: Participant['role'],
  status: Participant['status'],
  name: string,
  side?: string | null,
  nda?: NdaTold | null,
];

type Time = string | null;
type DealFields = [
  string,
  string,
  Deal['state'],
  string,
  string | null,
  Time,
  Time,
  Time,
  string,
  string,
  Person[] | null,
];

const timeOf = (time: Time): Time => time && timestamp(time);

/** The deal that a call of a tool is about, with its people, read by the statement that enters; null when the caller sees no such deal. */
export const dealAnswer: EnteringRead<[DealWithPeople | null]> = enteringRead<DealFields>(
  'deal',
  `'deal'`,
)((fields) => {
  if (fields === null) return [null];
  const [id, title, state, organization_id, buyer, granted, ends, closed, created, updated, people] = fields;
  const deal = {
    id,
    title,
    state,
    organization_id,
    exclusive_buyer_user_id: buyer,
    exclusivity_granted_at: timeOf(granted),
    exclusivity_expires_at: timeOf(ends),
    closed_at: timeOf(closed),
    created_at: timestamp(created),
    updated_at: timestamp(updated),
  };
  const participants = (people ?? []).map(([user_id, role, status, name, side = null, nda = null]) => ({
    user_id,
    role,
    status,
    user_person: [user_id, name, role, side, nda] as const,
  }));
  return [{ deal, participants }];
});

interface NewParticipant {
  readonly email: string;
  readonly name: string;
  readonly role: ParticipantRole;
  /** The participant whom an advisor advises. */
  readonly advises: string | null;
}

/** The answer of an invitation to deal `deal`, and its mail; the link's token and its secret are `token` and `secret`. */
const linked = (deal: string, token: string, secret: string): string =>
  `link.email, ${mailedInvitation({
    to: 'link.email',
    name: 'link.name',
    brokerage: ['null', 'link.brokerage_name'],
    deal: [deal, 'link.deal_title'],
    secret,
    link: token,
  })}`;

const invite = row<{ email: string }>(
  'invite_to_deal',
  `select ${linked('$3', '$8', '$9')} from app.invite_to_deal($3, $4, $5, $6, $7) invited
   cross join lateral app.link_deal_invitation(invited.participant_id, $8, $9::text is not null) link
   ${audited('participant.invite', { subject: 'invited.participant_id', deal: '$3::uuid', details: `jsonb_build_object('role', $6::text)` })}`,
);

/**
 * Invites a person to a deal, and mails the link where it is not handed on. Denied to all but its brokers and the admins of
 * its brokerage; refused when the person takes part already.
 */
export const inviteToDeal = (
  dealId: string,
  { email, name, role, advises }: NewParticipant,
  { token, secret }: NewLink,
  origin: Origin,
): Statement<boolean> => tookPlace(invite(...from(origin), dealId, email, name, role, advises, token, secret));

const inviteAgain = row<{ email: string }>(
  'invite_to_deal_again',
  `select ${linked('$3', '$5', '$6')} from participants p ${accountOf}
   cross join lateral app.invite_to_deal(p.deal_id, ${participantEmail}, ${participantName}, p.role, p.advises) invited
   cross join lateral app.link_deal_invitation(invited.participant_id, $5, $6::text is not null) link
   ${audited('participant.invite', { subject: 'invited.participant_id', deal: 'p.deal_id', details: `jsonb_build_object('role', p.role)` })}
   where p.id = $4 and p.deal_id = $3`,
);

/** The same for a person who has not answered, declined or was removed; false when there is no such person on the deal. */
export const renewDealInvitation = (
  dealId: string,
  participantId: string,
  { token, secret }: NewLink,
  origin: Origin,
): Statement<boolean> => tookPlace(inviteAgain(...from(origin), dealId, participantId, token, secret));

const remove = row<{ id: string }>(
  'remove_from_deal',
  `with changed as (
     update participants set status = 'removed' where id = $4 and deal_id = $3 and status <> 'removed' returning id, deal_id)
   select changed.id from changed ${audited('participant.remove')}`,
);

/** Takes a person out of a deal, or their invitation back; false when the caller may not, or they are out already. */
export const removeFromDeal = (dealId: string, participantId: string, origin: Origin): Statement<boolean> =>
  tookPlace(remove(...from(origin), dealId, participantId));

interface WaitingInvitation {
  participant_id: string;
  role: ParticipantRole;
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

/** A person on a deal as the REST API answers them. */
type ParticipantResource = Pick<
  PersonOfDeal,
  'id' | 'user_id' | 'role' | 'status' | 'side' | 'advises' | 'created_at' | 'updated_at'
> & {
  /** Null, like the address, when the caller may not know of their account. */
  name: string | null;
  email: string | null;
};

const resourceFields = `p.id, p.person_id as user_id, ${participantName} as name, ${participantEmail} as email, p.role, p.status,
  case when p.role <> 'advisor' then p.role else coalesce(advised.role, 'viewer') end as side, p.advises, p.created_at, p.updated_at`;
const resourceTables = `participants p ${accountOf}
  left join participants advised on advised.id = p.advises`;

const inOrder = {
  columns: resourceFields,
  tables: resourceTables,
  deal: 'p.deal_id',
  key: 'p.created_at',
  type: 'timestamptz',
  id: 'p.id',
  direction: 'asc',
} as const;

/** The people on a deal whom the caller may know of, in the order in which they were added, in pages. */
export const participantsOfDeal = listOfDeal<ParticipantResource>('participants_of_deal', inOrder);

/** Those of these participants whom the caller may know of. */
export const participantsByIds = recordsByIds<ParticipantResource>('participants_by_ids', inOrder);

/** One of the people on a deal, by e-mail address; null when the caller knows of no such person on it. */
export const participantResource = row<ParticipantResource, [dealId: string, email: string]>(
  'participant_resource',
  `select ${resourceFields} from ${resourceTables} where p.deal_id = $1 and ${participantEmail} = lower($2)`,
);
