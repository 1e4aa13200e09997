/** The members of a brokerage. */

import { mapped, row, rows, takingLong, type Statement } from '../../database/statement.ts';
import { tookPlace, type Origin } from '../audit/audited.ts';
import type { KeyScope } from '../clients/key-scopes.ts';
import { emailWith, nameWith } from './former-names.ts';
import type { MailTrouble } from '../outbox/undelivered.ts';
import type { MemberRole } from './member-roles.ts';

// For a member who has never accepted an invitation, the name and address as typed are shown, whatever else the caller
// knows of the account with that address; for one who has left and is invited again, those of the day they left.
const nameOf = `case when m.joined_at is null then m.invited_name else ${nameWith('m', 'u')} end`;
const emailOf = `case when m.joined_at is null then m.invited_email else ${emailWith('m', 'u')} end`;

/** A deal on which a member is the only broker of its brokerage. */
interface DealRunAlone {
  id: string;
  title: string;
}

export interface DealsRunAlone {
  /** The newest 100. */
  items: DealRunAlone[];
  /** Number of all of them. */
  count: number;
}

const runAlone = row<DealsRunAlone, [brokerageId: string, userId: string]>(
  'deals_run_alone',
  `select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'title', d.title) order by d.nr) filter (where d.nr <= 100), '[]') as items,
     count(*)::int as count
   from app.deals_run_alone($1, $2) with ordinality d (id, title, nr)`,
);

/**
 * The deals, not over, that would have no broker of the brokerage without this member; empty unless the caller is an
 * admin of it.
 */
export const dealsRunAlone = (brokerageId: string, userId: string): Statement<DealsRunAlone> =>
  mapped(runAlone(brokerageId, userId), (found) => found ?? { items: [], count: 0 });

/** An active broker of a deal who is no member of its brokerage. */
interface BrokerFromElsewhere {
  deal_id: string;
  title: string;
  name: string;
  email: string;
}

/** What somebody leaves behind who leaves a brokerage, or becomes staff. */
export interface LeftByMember {
  /** Brokers from elsewhere on the member's deals, who stay: the first 100, those of the newest deals first. */
  outsiders: BrokerFromElsewhere[];
  /** Number of all of them. */
  outsider_count: number;
  /** Number of invitations to deals that the member made, which are withdrawn unless they are answered. */
  deal_invitations: number;
  /** Number of invitations to the brokerage that the member made; withdrawn also when an admin becomes a broker. */
  member_invitations: number;
}

const leftBehind = row<LeftByMember, [brokerageId: string, userId: string]>(
  'left_by_member',
  'select outsiders, outsider_count, deal_invitations, member_invitations from app.left_by_member($1, $2)',
);

/** What this member leaves behind; nothing unless the caller is an admin of the brokerage. */
export const leftByMember = (brokerageId: string, userId: string): Statement<LeftByMember> =>
  mapped(
    leftBehind(brokerageId, userId),
    (found) => found ?? { outsiders: [], outsider_count: 0, deal_invitations: 0, member_invitations: 0 },
  );

/** What works for a brokerage only as long as a member is its admin. */
export interface IntegrationsOfMember {
  /** The keys in use of which the member was last shown a token, and the scopes they keep while the member is no admin. */
  keys: { id: string; name: string; scopes: KeyScope[]; kept: KeyScope[] }[];
  /** The webhooks that are turned off when the member is no longer an admin. */
  webhooks: { id: string; url: string; description: string | null }[];
}

const integrations = row<IntegrationsOfMember, [brokerageId: string, userId: string]>(
  'integrations_of_member',
  'select keys, webhooks from app.integrations_of_member($1, $2)',
);

/** The API keys and webhooks that depend on this member; none unless the caller is an admin of the brokerage. */
export const integrationsOfMember = (brokerageId: string, userId: string): Statement<IntegrationsOfMember> =>
  mapped(integrations(brokerageId, userId), (found) => found ?? { keys: [], webhooks: [] });

export interface Removal {
  /** The newest 100 of the deals on which the member was the brokerage's only broker. */
  deals: DealRunAlone[];
  /** Number of all of them. */
  count: number;
  /** Whether the successor is now a broker of these deals; if false, nobody of the brokerage is. */
  handed_over: boolean;
}

const remove = row<Removal, [string, string, string | null, string | null, string | null]>(
  'remove_member',
  `select jsonb_path_query_array(deals, '$[0 to 99]') as deals, jsonb_array_length(deals) as count, handed_over
   from app.remove_member($1, $2, $3, $4, $5)`,
);

/**
 * Removes a member, who also leaves the brokerage's deals and whose invitations that nobody has answered are withdrawn,
 * or withdraws an invitation; for admins of the brokerage, and
 * without a successor for the member, who may not be its only broker on an open deal (`only_broker`). Null: there is no
 * such member whom the caller may remove. The successor becomes a broker of the deals that would have none of the brokerage, and must be an
 * active admin or broker, else refused with `not_a_broker`; refused with `successor_takes_part` if the successor sells
 * or buys in one of the deals.
 */
export const removeMember = (
  brokerageId: string,
  userId: string,
  successorId: string | null,
  { address, requestId }: Origin,
): Statement<Removal | null> => takingLong(remove(brokerageId, userId, successorId, address, requestId));

/** A member of one brokerage. */
export interface MemberOfBrokerage {
  /** Id of the member's account, or of the invitation until it is accepted. */
  user_id: string;
  name: string;
  email: string;
  role: MemberRole;
  status: 'invited' | 'active';
  /** Null unless the caller is an admin, and for members who have not accepted yet. */
  second_factor: boolean | null;
  /** What is wrong with the mail of the member's invitation; null unless the caller is an admin. */
  mail_trouble: MailTrouble;
  /** Until when the link of the invitation works; a past time when it has expired, null like the mail trouble. */
  link_until: string | null;
  created_at: string;
}

const person = `select m.person_id as user_id, ${nameOf} as name, ${emailOf} as email, m.role, m.status,
    app.member_has_second_factor(m.brokerage_id, m.person_id) as second_factor,
    case when m.status = 'invited' then app.member_mail_trouble(m.brokerage_id, m.person_id) end as mail_trouble,
    case when m.status = 'invited' then app.member_link_until(m.brokerage_id, m.person_id) end as link_until, m.created_at
  from members m left join users u on u.id = m.user_id where m.brokerage_id = $1 and m.status <> 'removed'`;

/** At most this many members of a brokerage are listed. */
export const mostMembers = 2000;

/**
 * The members of a brokerage, including invited ones, by name, at most {@link mostMembers}; none when the caller is not
 * a member of the brokerage.
 */
export const membersOf = rows<MemberOfBrokerage, [brokerageId: string]>(
  'members_of',
  `${person} order by app.folded(${nameOf}), m.person_id limit ${mostMembers}`,
);

/** Somebody who is, or was, a member of a brokerage. */
export interface PresentOrFormerMember {
  user_id: string;
  name: string;
  is_member: boolean;
}

/**
 * The members of a brokerage who accepted their invitation, then those who were removed, by name, at most
 * {@link mostMembers}; none unless the caller is its admin.
 */
export const presentAndFormerMembers = rows<PresentOrFormerMember, [brokerageId: string]>(
  'present_and_former_members',
  `select m.user_id, ${nameWith('m', 'u')} as name, m.status = 'active' as is_member
   from members m join users u on u.id = m.user_id
   where m.brokerage_id = $1 and m.joined_at is not null and m.status in ('active', 'removed')
     and $1::uuid = any ((select app.brokerages_as('admin'))::uuid[])
   order by m.status, app.folded(${nameWith('m', 'u')}), m.user_id limit ${mostMembers}`,
);

/** One member of a brokerage by user id, or null. */
export const memberOf = row<MemberOfBrokerage, [brokerageId: string, userId: string]>(
  'member_of',
  `${person} and m.person_id = $2`,
);

/** The member of a brokerage whom this link invites, or null. */
export const invitedMember = row<MemberOfBrokerage, [brokerageId: string, token: Buffer]>(
  'invited_member',
  `${person} and m.user_id = (select i.user_id from app.invitation($2) i)`,
);

const changeRole = row<{ user_id: string }>(
  'change_member_role',
  `with changed as (
    update members set role = $3 where brokerage_id = $1 and person_id = $2 and status <> 'removed' returning person_id as user_id)
  select user_id, app.audit('member.role', user_id::text, 'done', $1, null, $4, $5, jsonb_build_object('role', $3::text))
  from changed`,
);

/** Changes a member's role; for admins. False: there is no such member. Refused with `last_admin`. */
export const changeMemberRole = (
  brokerageId: string,
  userId: string,
  role: MemberRole,
  { address, requestId }: Origin,
): Statement<boolean> => takingLong(tookPlace(changeRole(brokerageId, userId, role, address, requestId)));

const endSessions = row<{ ended: number | null }>(
  'end_member_sessions',
  'select app.end_member_sessions($1, $2, $3, $4) as ended',
);

/**
 * Ends every session of a member and every connection of the member's clients; for admins, with a recent sign-in.
 * Returns the number of sessions; null: there is no such active member.
 */
export const endMemberSessions = (
  brokerageId: string,
  userId: string,
  { address, requestId }: Origin,
): Statement<number | null> =>
  mapped(endSessions(brokerageId, userId, address, requestId), (answer) => answer?.ended ?? null);
