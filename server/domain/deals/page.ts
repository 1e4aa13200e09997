/**
 * A deal as its page shows it: the deal, what the caller may do on it, its people, the states it can move to, and how
 * many items wait.
 */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import {
  callerRole,
  callerSide,
  dealState,
  dealTables,
  fullDeal,
  withStage,
  type CallerRole,
  type DealState,
  type FullDeal,
  type Side,
} from './deals.ts';
import { isBuyerStill, peopleOfDeal, type PersonOfDeal } from './participants.ts';

// These are the functions that the row-level security policies use, so that a page offers exactly what the database
// allows.
/**
 * What the caller may do on a deal: each capacity with its SQL condition over the caller's standing `s`, see
 * {@link standing}.
 */
const capacities = {
  can_edit: 's.is_broker and s.open',
  can_move: 's.is_broker and s.open',
  can_invite: '(s.is_broker or s.is_admin) and s.open',
  can_join: 's.is_admin',
  can_remove_participants: 's.is_broker or s.is_admin',
  can_grant_exclusivity: `s.is_broker and s.state not in ('draft', 'closed', 'withdrawn')`,
  can_see_ndas: 's.deal_side or s.buyer_side',
  can_send_nda: `s.is_broker and s.state not in ('closed', 'withdrawn')`,
  can_revoke_nda: 's.is_broker',
  can_sign_nda: `s.state not in ('closed', 'withdrawn') and exists (
    select from ndas n join participants p on p.id = n.participant_id
    where n.deal_id = s.id and p.user_id = (select app.user_id()) and p.role = 'buyer' and n.status = 'sent'
    and (n.expires_at is null or n.expires_at > app.now()))`,
  can_upload_documents: '(s.is_broker or s.is_seller) and s.open',
  can_see_document_openings: 's.deal_side',
  can_see_questions: 's.deal_side or s.buyer_side',
  can_ask: `s.buyer_side and s.under_nda and s.state not in ('closed', 'withdrawn') and app.has_broker(s.id)`,
  can_review_questions: 's.is_broker and s.open',
  can_answer_questions: 's.is_seller and s.open',
  can_read_qoe: 's.reads_qoe',
  can_edit_qoe: 's.edits_qoe and s.open',
  can_admit_to_qoe: 's.is_broker and s.open',
  can_see_offers: 's.deal_side or s.buyer_side',
  can_submit_offer: `s.is_buyer and s.state not in ('draft', 'closed', 'withdrawn')`,
  can_accept_offer: `s.is_broker and s.state in ('listed', 'under_offer')`,
  can_decline_offer: `s.is_broker and s.state not in ('draft', 'closed', 'withdrawn')`,
  can_decide_offer_changes: `s.is_broker and s.state in ('exclusivity', 'diligence', 'closing')`,
  can_see_conditions: 's.sees_conditions',
  can_edit_conditions: 's.is_broker and s.open',
  can_see_findings: 's.deal_side or s.buyer_side',
  can_edit_findings: 's.in_diligence and s.open',
  can_see_financing: 's.deal_side or s.buyer_side',
  can_edit_financing: 's.in_diligence and s.open',
  can_see_activity: 'true',
  can_opt_in_tools: 'true',
  can_shut_off_tools: 's.is_broker',
  can_see_keys: 's.is_broker or s.is_admin',
  can_admit_keys: 's.is_broker',
} as const;

type Capacities = Record<keyof typeof capacities, boolean>;

const capacityList = Object.entries(capacities)
  .map(([name, condition]) => `'${name}', ${condition}`)
  .join(', ');

interface Standing {
  caller_role: CallerRole;
  side: Side;
  capacities: Capacities;
  /** Whether the deal is open and no member of its brokerage is its broker; false unless the caller is an admin of it. */
  without_broker: boolean;
}

const standing = row<Standing, [dealId: string]>(
  'deal_standing',
  `select s.caller_role, s.side, jsonb_build_object(${capacityList}) as capacities, app.is_without_broker(s.id) as without_broker
   from (
     select d.id, ${dealState} as state, d.state <> 'closed' as open, ${callerRole} as caller_role, ${callerSide} as side,
       d.id = any (app.deals_acting_as('broker')) as is_broker,
       d.id = any (app.deals_acting_as('seller')) as is_seller,
       d.id = any (app.deals_acting_as('buyer')) as is_buyer,
       d.organization_id = any (app.brokerages_as('admin')) as is_admin,
       d.id = any (app.deals_as('broker', 'seller')) as deal_side,
       d.id = any (app.deals_as('buyer')) as buyer_side,
       d.id = any (app.deals_under_nda()) as under_nda,
       d.id = any (app.qoe_deals(false)) as reads_qoe,
       d.id = any (app.qoe_deals(true)) as edits_qoe,
       d.id = any (app.diligence_deals()) as in_diligence,
       d.id = any (app.deals_as('broker', 'seller', 'viewer') || app.deals_as_selected_buyer())
         or d.organization_id = any (app.brokerages_as('admin')) as sees_conditions
     from ${dealTables}
     where d.id = $1
     offset 0) s`,
);

// The state exclusivity is entered by granting exclusivity, and left towards listed by releasing it.
const moves = rows<{ to_state: DealState }, [dealId: string]>(
  'moves_of_deal',
  `select m.to_state from deals d ${withStage}
   join app.moves m on m.subject = 'deal' and m.from_state = ${dealState}
   where d.id = $1 and d.id = any ((select app.deals_acting_as('broker'))::uuid[])
     and m.to_state <> 'exclusivity' and not (m.from_state = 'exclusivity' and m.to_state = 'listed')
   order by m.to_state = 'withdrawn', m.to_state`,
);

/** Counts of records on a deal that the caller sees; the list of deals has them too. */
export interface ListedCounts {
  /** Questions on which the caller has to act, or which they have not read. */
  questions_waiting: number;
  /** Current offers; an offer counts once, however often it was revised. */
  offers: number;
}

/** The columns of {@link ListedCounts} for the deal with this id, counted like app.deal_rows. */
export const listedCounts = (dealId: string): string => `
     (select count(*) from questions q join deals about on about.id = q.deal_id
       where q.deal_id = ${dealId} and (
         (about.state not in ('closed', 'withdrawn') and ${isBuyerStill('q')} and (
           (q.status in ('pending_broker_review', 'answered') and q.deal_id = any ((select app.deals_acting_as('broker'))::uuid[]))
           or (q.status = 'with_seller' and q.deal_id = any ((select app.deals_acting_as('seller'))::uuid[]))))
         or (q.status = 'distributed' and app.is_unread(q.deal_id, q.participant_id, q.distributed_at))))::int
       as questions_waiting,
     (select count(*) from offers o where o.deal_id = ${dealId} and o.is_current)::int as offers`;

interface DealCounts extends ListedCounts {
  ndas_waiting: number;
  conditions_open: number;
  findings_open: number;
}

const counts = row<DealCounts, [dealId: string]>(
  'counts_of_deal',
  `select
     (select count(*) from ndas n join deals d on d.id = n.deal_id and d.state not in ('closed', 'withdrawn')
       join participants p on p.id = n.participant_id and p.status <> 'removed' and p.role = 'buyer'
       where n.deal_id = $1 and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now()))::int as ndas_waiting,${listedCounts('$1')},
     (select count(*) from closing_conditions c
       where c.deal_id = $1 and c.status in ('open', 'in_progress'))::int as conditions_open,
     (select count(*) from findings f where f.deal_id = $1 and f.status = 'open')::int as findings_open`,
);

export interface DealPage extends Standing {
  deal: FullDeal;
  participants: PersonOfDeal[];
  /** The states to which the caller can move the deal now. */
  moves: DealState[];
  counts: DealCounts;
}

/** The statements whose results {@link asDealPage} combines; to be sent at the end of a transaction. */
export const dealPage = (id: string) =>
  [
    fullDeal(id),
    standing(id),
    peopleOfDeal(id),
    mapped(moves(id), (found) => found.map(({ to_state }) => to_state)),
    counts(id),
  ] as const;

type Answers<S> = { [I in keyof S]: S[I] extends Statement<infer R> ? R : never };

/** The page from the results of {@link dealPage}; null if the caller sees no such deal. */
export function asDealPage([deal, held, participants, open, waiting]: Answers<ReturnType<typeof dealPage>>) {
  if (!deal || !held || !waiting) return null;
  return { deal, ...held, participants, moves: open, counts: waiting } satisfies DealPage;
}
