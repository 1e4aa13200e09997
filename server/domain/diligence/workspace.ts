/** The quality-of-earnings workspace of a deal: its members, and who may write there. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { accountOf, mostPeople } from '../deals/participants.ts';

const editing = row<{ editor: boolean }, [dealId: string]>(
  'edits_qoe',
  'select $1::uuid = any ((select app.qoe_deals(true))::uuid[]) as editor',
);

/** Whether the caller may write in the deal's workspace. */
export const editsQoe = (dealId: string): Statement<boolean> =>
  mapped(editing(dealId), (answer) => answer?.editor === true);

interface MemberOnPage {
  participant_id: string;
  name: string;
  role: 'reader' | 'editor';
  can_remove: boolean;
}

const memberSelect = `
  select p.id as participant_id, coalesce(u.name, 'Someone') as name,
    case when p.role in ('broker', 'seller') then 'editor' else coalesce(w.role, 'reader') end as role,
    w.participant_id is not null and p.deal_id = any ((select app.deals_acting_as('broker'))::uuid[]) as can_remove
  from participants p
  left join participants advised on advised.id = p.advises
  left join qoe_workspace_members w on w.deal_id = p.deal_id and w.participant_id = p.id
  ${accountOf}
  where p.status = 'active' and p.deal_id = any ((select app.qoe_deals(false))::uuid[])
    and (coalesce(advised.role, p.role) in ('broker', 'seller') or w.participant_id is not null or exists (
      select from qoe_workspace_members v where v.deal_id = p.deal_id and v.participant_id = p.advises))`;

/**
 * The members of a deal's workspace that the caller may see, at most {@link mostPeople}; empty for callers who are not
 * members.
 */
export const membersOnPage = rows<MemberOnPage, [dealId: string]>(
  'qoe_members_on_page',
  `${memberSelect} and p.deal_id = $1 order by w.participant_id is not null, app.folded(u.name), p.id limit ${mostPeople}`,
);

/** The member with this participant id if the caller sees them, otherwise null. */
export const memberOnPage = row<MemberOnPage, [participantId: string]>(
  'qoe_member_on_page',
  `${memberSelect} and p.id = $1`,
);

const place = { subject: 'changed.participant_id' };

const admit = row<{ participant_id: string }>(
  'admit_to_qoe',
  `with changed as (
     insert into qoe_workspace_members (deal_id, participant_id, role) values ($3, $4, $5)
     on conflict (deal_id, participant_id) do update set role = excluded.role where qoe_workspace_members.role <> excluded.role
     returning deal_id, participant_id)
   select changed.participant_id from changed
   ${audited('qoe.admit', { ...place, details: `jsonb_build_object('role', $5::text)` })}
   union all select participant_id from qoe_workspace_members where deal_id = $3 and participant_id = $4 and role = $5`,
);

/**
 * Adds a participant of the deal to the workspace, or changes their role; writes nothing if they have it. Denied to all but brokers; refused for people
 * who cannot be added.
 */
export const admitToQoe = (dealId: string, participantId: string, role: 'reader' | 'editor', origin: Origin) =>
  tookPlace(admit(...from(origin), dealId, participantId, role));

const dismiss = row<{ participant_id: string }>(
  'dismiss_from_qoe',
  `with changed as (
     delete from qoe_workspace_members where deal_id = $3 and participant_id = $4 returning deal_id, participant_id)
   select changed.participant_id from changed ${audited('qoe.dismiss', place)}`,
);

/** Removes a person from the workspace; false when they are not in it or the caller may not remove them. */
export const dismissFromQoe = (dealId: string, participantId: string, origin: Origin) =>
  tookPlace(dismiss(...from(origin), dealId, participantId));
