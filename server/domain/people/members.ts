/** The people of a brokerage. */

import { mapped, row, rows, takingLong, type Statement } from '../../database/statement.ts';
import { tookPlace, type Origin } from '../audit/audited.ts';
import type { MailTrouble } from '../outbox/undelivered.ts';
import type { MemberRole } from './member-roles.ts';

// Of who has not accepted shows what was typed, whatever else the caller knows of the account behind the address.
const nameOf = 'case when m.joined_at is null then m.invited_name else u.name end';
const emailOf = 'case when m.joined_at is null then m.invited_email else u.email end';

/** A deal that a member alone runs. */
interface DealRunAlone {
  id: string;
  title: string;
}

export interface DealsRunAlone {
  /** The newest hundred. */
  items: DealRunAlone[];
  /** How many there are. */
  count: number;
}

const runAlone = row<DealsRunAlone, [brokerageId: string, userId: string]>(
  'deals_run_alone',
  `select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'title', d.title) order by d.nr) filter (where d.nr <= 100), '[]') as items,
     count(*)::int as count
   from app.deals_run_alone($1, $2) with ordinality d (id, title, nr)`,
);

/** The deals, not over, of which nobody would be the broker without this member; none but for admins of the brokerage. */
export const dealsRunAlone = (brokerageId: string, userId: string): Statement<DealsRunAlone> =>
  mapped(runAlone(brokerageId, userId), (found) => found ?? { items: [], count: 0 });

export interface Removal {
  /** The newest hundred of the deals of which the member was the only broker. */
  deals: DealRunAlone[];
  /** How many there are. */
  count: number;
  /** Whether the successor is their broker now; false: they have none. */
  handed_over: boolean;
}

const remove = row<Removal, [string, string, string | null, string | null, string | null]>(
  'remove_member',
  `select jsonb_path_query_array(deals, '$[0 to 99]') as deals, jsonb_array_length(deals) as count, handed_over
   from app.remove_member($1, $2, $3, $4, $5)`,
);

/**
 * Removes a member, who leaves the brokerage's deals with it, or takes an invitation back; for admins of the brokerage.
 * Null: there is no such member. The successor becomes the broker of the deals that would have none: an active admin or
 * broker, else refused with `not_a_broker`; with `successor_takes_part` where they sell or buy in one of them.
 */
export const removeMember = (
  brokerageId: string,
  userId: string,
  successorId: string | null,
  { address, requestId }: Origin,
): Statement<Removal | null> => takingLong(remove(brokerageId, userId, successorId, address, requestId));

/** A person of one brokerage. */
export interface MemberOfBrokerage {
  /** Their account, or, until they have accepted, their invitation. */
  user_id: string;
  name: string;
  email: string;
  role: MemberRole;
  status: 'invited' | 'active';
  /** Null to all but admins, and of who has not accepted yet. */
  second_factor: boolean | null;
  /** What is wrong with the mail of their invitation; null to all but admins. */
  mail_trouble: MailTrouble;
  created_at: string;
}

const person = `select m.person_id as user_id, ${nameOf} as name, ${emailOf} as email, m.role, m.status,
    app.member_has_second_factor(m.brokerage_id, m.person_id) as second_factor,
    case when m.status = 'invited' then app.member_mail_trouble(m.brokerage_id, m.person_id) end as mail_trouble, m.created_at
  from members m left join users u on u.id = m.user_id where m.brokerage_id = $1 and m.status <> 'removed'`;

/** How many members of a brokerage are listed. */
export const mostMembers = 2000;

/** The members of a brokerage, invited ones too, by name, at most {@link mostMembers}; none when the caller is no member of it. */
export const membersOf = rows<MemberOfBrokerage, [brokerageId: string]>(
  'members_of',
  `${person} order by lower(${nameOf}), m.person_id limit ${mostMembers}`,
);

/** One of them, or null. */
export const memberOf = row<MemberOfBrokerage, [brokerageId: string, userId: string]>(
  'member_of',
  `${person} and m.person_id = $2`,
);

/** The same by e-mail address. */
export const memberByEmail = row<MemberOfBrokerage, [brokerageId: string, email: string]>(
  'member_by_email',
  `${person} and ${emailOf} = lower($2)`,
);

const changeRole = row<{ user_id: string }>(
  'change_member_role',
  `with changed as (
    update members set role = $3 where brokerage_id = $1 and person_id = $2 and status <> 'removed' returning person_id as user_id)
  select user_id, app.audit('member.role', user_id::text, 'done', $1, null, $4, $5, jsonb_build_object('role', $3::text))
  from changed`,
);

/** Gives a member another role; for admins. False: there is no such member. Refused with `last_admin`. */
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
 * Ends every session of a member and every connection of their clients; for admins, with a recent sign-in. How many
 * sessions; null: there is no such active member.
 */
export const endMemberSessions = (
  brokerageId: string,
  userId: string,
  { address, requestId }: Origin,
): Statement<number | null> =>
  mapped(endSessions(brokerageId, userId, address, requestId), (answer) => answer?.ended ?? null);
