/**
 * The participants of a deal (specification, section 2.2): listing, inviting and removing them, and answering an
 * invitation.
 */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { timestamp } from '../../database/types.ts';
import { audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { enteringRead, type EnteringRead } from '../clients/tokens.ts';
import type { NewLink } from '../accounts/secret-tokens.ts';
import { cut } from '../cut.ts';
import type { MailTrouble } from '../outbox/undelivered.ts';
import { mailedInvitation } from '../people/invitations.ts';
import { emailWith, nameWith } from '../people/former-names.ts';
import { listOfDeal, recordsByIds } from '../visibility/list-of-deal.ts';
import type { Deal, Side } from './deals.ts';

/** The roles of a person on a deal. */
export const participantRoles = ['broker', 'seller', 'buyer', 'advisor', 'viewer'] as const;
export type ParticipantRole = (typeof participantRoles)[number];

/** Whether an invitation names an advised participant exactly if its role is advisor. */
export const advisesAsInvited = ({ role, advises }: { role: ParticipantRole; advises: string | null }): boolean =>
  (role === 'advisor') === (advises !== null);
/** The message when {@link advisesAsInvited} is false. */
export const advisesMessage = 'Say whom an advisor advises, and leave it out for every other role.';

/** Whether a person has accepted, and still takes part. */
export const participantStatuses = ['invited', 'active', 'removed'] as const;

/** The statuses of an NDA. */
export const ndaStatuses = ['sent', 'active', 'expired', 'revoked'] as const;
export type NdaStatus = (typeof ndaStatuses)[number];
/** The status of a buyer's NDA; 'none' when none was sent. */
type NdaTold = NdaStatus | 'none';

export interface Participant {
  /**
   * Id of the account; until the person has accepted, id of the invitation, so that it does not reveal whether there is
   * an account.
   */
  user_id: string;
  role: ParticipantRole;
  status: (typeof participantStatuses)[number];
}

/**
 * Joins the person whose user id is in `id` as `name` (so `name.id`, and {@link knownName}), on the deal whose id is in
 * `deal`. The columns are null unless the caller may know that this person takes part in that deal, even if the caller
 * knows the person from another deal.
 */
export const knownPerson = (name: string, id: string, deal: string): string =>
  `left join (participants ${name}_part join users ${name} on ${name}.id = ${name}_part.user_id)
    on ${name}_part.deal_id = ${deal} and ${name}_part.user_id = ${id}`;

// The index by which people are joined has no names: where one was a column of the join, PostgreSQL took another index,
// and read all deals of the caller for each row.
/** SQL: the name of a person joined by {@link knownPerson} as `name`; of whoever has left the deal, that of the day. */
export const knownName = (name: string): string =>
  `coalesce(case when ${name}_part.status <> 'active' then (
     select l.left_name from participants l where l.id = ${name}_part.id) end, ${name}.name)`;

/**
 * A person whose id a row holds: user id, name, and role on the deal; for an advisor the side, which is the role of the
 * person they advise; for a buyer the status of their NDA, and for an advisor the user id of that person, where these
 * are given.
 */
export type Mentioned = readonly [
  userId: string,
  name: string | null,
  role: string,
  side?: string | null,
  nda?: NdaTold | null,
  advises?: string | null,
];

/**
 * The column `<name>_person`, a {@link Mentioned}, of a person joined by {@link knownPerson}; null without a person,
 * and when the caller may not know of the person.
 */
export const mentioned = (name: string): string =>
  `case when ${name}.id is not null then array[${name}.id::text, ${knownName(name)}, ${name}_part.role,
     case when ${name}_part.role = 'advisor' then (select a.role from participants a where a.id = ${name}_part.advises) end] end as ${name}_person`;

/**
 * The same for the person whose user id is in `id`, for a statement about the single deal in `deal`: all its names are
 * looked up at once.
 */
export const personOnDeal = (deal: string, id: string): string => `(select app.people_on_deal(${deal})) -> ${id}::text`;

export interface PersonOfDeal {
  id: string;
  /**
   * Id of the account. Until the person has accepted, the id of the invitation, and name and email are those typed in
   * the invitation.
   */
  user_id: string;
  name: string;
  email: string;
  role: ParticipantRole;
  status: (typeof participantStatuses)[number];
  side: Side;
  advises: string | null;
  /** Status of the NDA in force, otherwise of the latest; null when the caller may not know it. */
  nda_status: NdaStatus | null;
  /**
   * Whether the caller can make this person the owner of a closing condition: the person sees the deal, with more than
   * view access, and the selected buyer, if any, may know of them.
   */
  can_own_conditions: boolean;
  /**
   * Whether the caller can make this person the owner of a finding that the caller records: the person sees the deal, and
   * can open the finding.
   */
  can_own_findings: boolean;
  /**
   * The problem with the mail of their invitation; null for everyone but the deal's brokers and its brokerage's admins.
   */
  mail_trouble: MailTrouble;
  /** Until when the link of their invitation works; a past time when it has expired, null like the mail trouble. */
  link_until: string | null;
  created_at: string;
  updated_at: string;
}

/** The status of NDA `n` now: expired from its expiry on, even if the row still says otherwise. */
export const ndaStatusNow = `case when n.status in ('sent', 'active') and n.expires_at <= app.now() then 'expired' else n.status end`;

/**
 * Joins the account of participant `p` as `u`; none until the person has accepted, when the name and address typed in
 * the invitation are shown. With the user id instead, a policy of users would search all other deals of the caller for
 * an account that was only invited, even when a request is about one deal.
 */
export const accountOf = 'left join users u on u.id = p.person_id';

/**
 * Name of participant `p`, with {@link accountOf}: the typed one until the person has accepted, then the account's, and
 * that of the day on which they left.
 */
export const participantName = `case when p.joined_at is null then p.invited_name else ${nameWith('p', 'u')} end`;
const participantEmail = `case when p.joined_at is null then p.invited_email else ${emailWith('p', 'u')} end`;

/** SQL: whether the side of record `r` is of somebody who is a buyer of the deal, and has not left it. */
export const isBuyerStill = (r: string) => `app.is_buyer_still(${r}.participant_id)`;

/** SQL: whether participant `p` and whom they advise, `advised`, have joined and are still on the deal. */
export const seesDeal = `p.status = 'active' and (advised.status <> 'active') is not true`;

/** SQL: whether participant `p`, who may advise `advised`, can open a finding of these sides. */
export const canOpenFinding = (sides: string) =>
  `app.finding_opens_to(coalesce(advised.role, p.role), coalesce(p.advises, p.id), ${sides})`;

const personFields = `p.id, p.person_id as user_id, ${participantName} as name, ${participantEmail} as email, p.role, p.status,
  case when p.role <> 'advisor' then p.role else coalesce(advised.role, 'viewer') end as side, p.advises,
  nda.status as nda_status,
  case
    when p.status <> 'active' or advised.status <> 'active' or p.role = 'viewer'
      or not p.deal_id = any ((select app.deals_acting_as('broker'))::uuid[]) then false
    when app.selected_side(p.deal_id) is null then true
    else app.side_knows(app.selected_side(p.deal_id), p.user_id)
  end as can_own_conditions,
  ${seesDeal} and p.deal_id = any ((select app.diligence_deals())::uuid[])
    and ${canOpenFinding('(select app.principals())')} as can_own_findings,
  case when p.status = 'invited' then app.participant_mail_trouble(p.id) end as mail_trouble,
  case when p.status = 'invited' then app.participant_link_until(p.id) end as link_until, p.created_at, p.updated_at`;

const personTables = `participants p ${accountOf}
  left join participants advised on advised.id = p.advises
  left join lateral (
    select ${ndaStatusNow} as status from ndas n where n.participant_id = p.id
    order by (n.status = 'active') desc, n.sent_at desc, n.id desc limit 1) nda on true`;

/** Maximum number of people listed for one deal. */
export const mostPeople = 4000;

/**
 * The people on a deal whom the caller may know of, in the order in which they were added, removed ones last: the first
 * {@link mostPeople}.
 */
export const peopleOfDeal = rows<PersonOfDeal, [dealId: string]>(
  'people_of_deal',
  `select ${personFields} from ${personTables} where p.deal_id = $1
   order by p.status = 'removed', p.created_at, p.id limit ${mostPeople}`,
);

// Not by address: pages call people who have left by one that may be somebody else's by now.
const withInvitation = 'p.deal_id = $1 and p.user_id = (select i.user_id from app.invitation($2) i)';

/** The participant of a deal whom this link invites; null if the caller knows of no such person on it. */
export const invitedPerson = row<PersonOfDeal, [dealId: string, token: Buffer]>(
  'invited_person',
  `select ${personFields} from ${personTables} where ${withInvitation}`,
);

/** What is offered for sale, as the overview of a deal shows it. */
interface Listing {
  /** A decimal string. */
  asking_price: string | null;
  currency: string;
  industry: string | null;
  location: string | null;
  /** Whether a buyer learns who the seller is only under an active NDA. */
  needs_nda: boolean;
  brokerage_name: string;
}

/** The maximum number of people of a deal in one answer of a tool. */
export const mostParticipants = 200;

/**
 * A deal, with the people on it whom the caller may know of, in the order in which they were added: at most
 * {@link mostParticipants}, and rather those who were not removed.
 */
interface DealWithPeople {
  deal: Deal;
  listing: Listing | null;
  participants: (Participant & { user_person: Mentioned })[];
  /** Whether there are more. */
  more: boolean;
}

type Person = [
  userId: string,
  role: Participant['role'],
  status: Participant['status'],
  name: string,
  side?: string | null,
  nda?: NdaTold | null,
  advises?: string | null,
];

type ListingFields = [
  price: string | null,
  currency: string,
  industry: string | null,
  location: string | null,
  needsNda: boolean,
  brokerage: string,
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
  (ListingFields | null)?,
];

const listingOf = ([
  asking_price,
  currency,
  industry,
  location,
  needs_nda,
  brokerage_name,
]: ListingFields): Listing => ({
  asking_price,
  currency,
  industry,
  location,
  needs_nda,
  brokerage_name,
});

const timeOf = (time: Time): Time => time && timestamp(time);

/**
 * The deal that a tool call is about, with its people, read by the statement that enters; null if the caller sees no
 * such deal.
 */
export const dealAnswer: EnteringRead<[DealWithPeople | null]> = enteringRead<DealFields>(
  'deal',
  `'deal'`,
)((fields) => {
  if (fields === null) return [null];
  const [id, title, state, organization_id, buyer, granted, ends, closed, created, updated, told, offered] = fields;
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
  const { rows: people, more } = cut(told ?? [], mostParticipants, ([, , status]) => Number(status === 'removed'));
  const participants = people.map(([user_id, role, status, name, side = null, nda = null, advises = null]) => ({
    user_id,
    role,
    status,
    user_person: [user_id, name, role, side, nda, advises] as const,
  }));
  return [{ deal, listing: offered ? listingOf(offered) : null, participants, more }];
});

interface NewParticipant {
  readonly email: string;
  readonly name: string;
  readonly role: ParticipantRole;
  /** The participant whom an advisor advises. */
  readonly advises: string | null;
}

/**
 * The columns that an invitation to deal `deal` returns, and its mail; `token` and `secret` hold the link's token and
 * its secret.
 */
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
   ${audited('participant.invite', { subject: 'invited.participant_id', deal: '$3::uuid', details: `jsonb_build_object('role', $6::text, 'mailed', $9::text is not null)` })}`,
);

/**
 * Invites a person to a deal, and mails the link unless it is handed on by the caller. Denied to everyone but the
 * deal's brokers and the admins of its brokerage; refused when the person takes part already.
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
   cross join lateral app.invite_to_deal(
     p.deal_id, ${participantEmail}, ${participantName}, p.role, p.advises, p.id, $6::text is not null) invited
   cross join lateral app.link_deal_invitation(invited.participant_id, $5, $6::text is not null) link
   ${audited('participant.invite', { subject: 'invited.participant_id', deal: 'p.deal_id', details: `jsonb_build_object('role', p.role, 'mailed', $6::text is not null)` })}
   where p.id = $4 and p.deal_id = $3`,
);

/**
 * The same for a person who has not answered, has declined or was removed; false if there is no such person on the
 * deal. Whoever once took part is invited at the mailbox that they have now, which is not told.
 */
export const renewDealInvitation = (
  dealId: string,
  participantId: string,
  { token, secret }: NewLink,
  origin: Origin,
): Statement<boolean> => tookPlace(inviteAgain(...from(origin), dealId, participantId, token, secret));

const remove = row<{ id: string }>(
  'remove_from_deal',
  `with changed as (
     update participants p set status = 'removed' from participants was
     where p.id = $4 and p.deal_id = $3 and p.status <> 'removed' and was.id = p.id
     returning p.id, p.deal_id, p.user_id, was.status as was)
   select changed.id from changed ${audited('participant.remove', {
     details: `case when changed.user_id = app.user_id() then '{"left": true}'
       when changed.was = 'invited' then '{"withdrawn": true}' else '{}' end::jsonb`,
   })}`,
);

/**
 * Removes a person from a deal, or withdraws their invitation; everybody may remove themselves. False when the caller
 * may not, or when they are removed already.
 */
export const removeFromDeal = (dealId: string, participantId: string, origin: Origin): Statement<boolean> =>
  tookPlace(remove(...from(origin), dealId, participantId));

interface WaitingInvitation {
  participant_id: string;
  role: ParticipantRole;
  brokerage_name: string;
  deal_title: string;
  invited_at: string;
}

/** The invitations to deals that the caller has not answered yet, latest first. */
export const waitingInvitations = rows<WaitingInvitation, []>(
  'waiting_invitations',
  'select participant_id, role, brokerage_name, deal_title, invited_at from app.deal_invitations()',
);

interface WaitingPlace {
  participant_id: string;
  brokerage_name: string;
  deal_title: string;
  joined_at: string;
}

/**
 * The deals of which the caller sees nothing yet, as an advisor of somebody who has not joined: those joined last come
 * first.
 */
export const waitingPlaces = rows<WaitingPlace, []>(
  'waiting_places',
  'select participant_id, brokerage_name, deal_title, joined_at from app.waiting_places()',
);

const leaveWaiting = row<{ took: boolean }>(
  'leave_waiting_place',
  'select app.leave_waiting_place($3, $1, $2) as took',
);

/** Leaves a deal of {@link waitingPlaces}; false when it is none of them. */
export const leaveWaitingPlace = (participantId: string, origin: Origin): Statement<boolean> =>
  mapped(leaveWaiting(...from(origin), participantId), (found) => found?.took === true);

const answer = row<{ deal_id: string | null }>(
  'answer_deal_invitation',
  'select app.answer_deal_invitation($3, $4, $1, $2) as deal_id',
);

/**
 * Accepts or declines an invitation to a deal; returns the id of the deal, or null if the caller has no such open
 * invitation.
 */
export const answerInvitation = (participantId: string, accepts: boolean, origin: Origin): Statement<string | null> =>
  mapped(answer(...from(origin), participantId, accepts), (found) => found?.deal_id ?? null);

/** A participant as the REST API returns it. */
type ParticipantResource = Pick<
  PersonOfDeal,
  'id' | 'user_id' | 'role' | 'status' | 'side' | 'advises' | 'created_at' | 'updated_at'
> & {
  /** Null, like the address, when the caller may not know of the account. */
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

/** The people on a deal whom the caller may know of, in the order in which they were added, paginated. */
export const participantsOfDeal = listOfDeal<ParticipantResource>('participants_of_deal', inOrder);

/** The participants with these ids whom the caller may know of. */
export const participantsByIds = recordsByIds<ParticipantResource>('participants_by_ids', inOrder);

/** The participant of a deal whom this link invites; null if the caller knows of no such person on it. */
export const invitedResource = row<ParticipantResource, [dealId: string, token: Buffer]>(
  'invited_resource',
  `select ${resourceFields} from ${resourceTables} where ${withInvitation}`,
);
