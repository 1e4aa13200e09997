/**
 * Mutants that no test can detect, and why: something else enforces the same rule, or the mutant permits nothing more.
 */

export interface Explanation {
  /** Mutants whose names match. */
  readonly mutants: RegExp;
  readonly why: string;
}

export const explained: readonly Explanation[] = [
  {
    mutants:
      /^policy (?!connected_clients)[a-z_]+\.(?!buyers_sides_read|buyers_submit|buyers_under_nda_ask|sellers_answer|those_in_diligence_add|brokers_send_it|brokers_grant_it)[a-z_]+: with check \(true\)$/,
    why: 'The rule looks at columns that nobody has the right to change (test/policies/catalogue.ts), so a changed row keeps what it was held to.',
  },
  {
    mutants:
      /^policy (ndas\.brokers_send_it|exclusivities\.brokers_grant_it|questions\.buyers_under_nda_ask): .*(status = 'sent'|ended_at IS NULL|status = 'pending_broker_review')/,
    why: 'Nobody has the right to give the column: it begins with its default (test/policies/particulars.ts).',
  },
  {
    mutants:
      /^policy (answer_readings\.buyers_sides_read|connected_clients\.people_make_their_own|offers\.buyers_submit|questions\.buyers_under_nda_ask|findings\.those_in_diligence_add|financing_sources\.those_in_diligence_add): .*(user_id|created_by|buyer_user_id|asked_by|participant_id) = /,
    why: 'Nobody has the right to give the column: a default or a trigger writes the caller, or the side of the caller.',
  },
  {
    mutants:
      /^policy (documents|production_documents)\.deal_side_changes: .*removed_at IS NULL|^policy answer_readings\.own_changes: .*user_id = /,
    why: 'A change finds its rows as a reader does, and the policy of reading says the same.',
  },
  {
    mutants: /^policy question_answers\.sellers_answer: .*q\.deal_id = question_answers\.deal_id/,
    why: 'The reference of an answer to its question is by question and deal.',
  },
  {
    mutants: /^function deals_as_known: without "and \(o\.organization_id <> ALL \(deals_as_known\.barred\)\)"/,
    why: 'Its callers name deals that they looked up by the same condition, or hold what it answers against it again.',
  },
  {
    mutants: /^function seal_of: without int4send\(pg_backend_pid\(\)\)/,
    why: 'It tells apart two transactions that begin in the same microsecond, and takes one who can read the settings of both.',
  },
  {
    mutants: /^policy participants\.who_sees_whom: using app\.deals_as\(…\) as every role/,
    why: 'The other roles see every participant by the first condition of the policy.',
  },
  {
    mutants: /^policy contradiction_answers\.workspace_sees_released: using app\.deals_as\(…\) as every role/,
    why: 'The other roles see every answer, released or not, by another policy.',
  },
  {
    mutants: /^policy questions\.buyers_under_nda_ask: .*deals_under_nda/,
    why: 'A trigger refuses such a question before the policy is asked, and says what is missing.',
  },
  {
    mutants: /^policy users\.by_a_deal_in_common: using without ".*narrowed_to\(\)/,
    why: "It spares a narrowed transaction the caller's other deals, and another the look at all of them: who is known from a deal is seen either way.",
  },
  {
    mutants: /^constraint findings\.findings_id_deal_id_key/,
    why: 'The id alone is unique already, and no reference uses the pair.',
  },
  {
    mutants: /^function brokerages_barring: without "asking <> '\{\}' and"/,
    why: 'Who has no such brokerage is barred from none either way; the condition saves looking for their factors.',
  },
  {
    mutants: /^policy connected_clients\.creators_manage_their_own: with check without "or \(brokerage_id = ANY/,
    why: 'A row that results from a change passes when any policy takes it, and that of the admins takes what is shared with them.',
  },
  {
    mutants: /^function keep_an_admin: without "where b\.id = old\.brokerage_id"/,
    why: 'The statement locks the brokerage, so that two changes wait for each other; without it every brokerage is locked.',
  },
  {
    mutants: /^function limit_a_day: never "if app\.user_id\(\) is null"/,
    why: 'What nobody adds is counted by a column that equals nobody: there is none.',
  },
  {
    mutants: /^function move_deal_with_exclusivity: without "and old\.ended_at is null"/,
    why: 'An exclusivity that has ended takes no change: another trigger refuses it before.',
  },
  {
    mutants: /^function record_finding_change: never "if tg_op = 'INSERT'"/,
    why: 'The other branch then writes the same row: of a new finding there is no old status.',
  },
  {
    mutants:
      /^function take_(offer: without "and new\.buyer_user_id|question: without "and new\.asked_by) is not null"/,
    why: 'Nobody, who names nobody, is refused for want of a name either way.',
  },
  {
    mutants: /^function set_currency: without "and new\.participant_id is not null"/,
    why: 'A source of no side is refused in the same words, whatever its currency.',
  },
  {
    mutants: /^function take_offer: without "and o\.is_current"/,
    why: 'The other offers of the buyer are set to what they are.',
  },
  {
    mutants: /^function exclusivity_lapsed: app\.deals_as\(…\) as every role/,
    why: 'The role that is left over is that of advisors, who see a deal in the role of whom they advise.',
  },
  {
    mutants: /^function deals_as_selected_buyer: without "where p\.principal_role = 'buyer'"/,
    why: 'Only buyers are granted exclusivity, and it ends when they leave, before they can come back as anything else.',
  },
  {
    mutants: /^function participations: without "\(\( SELECT app\.barred_in/,
    why: 'Who is kept out of no brokerage is kept out of none of the deals: the condition saves looking at them.',
  },
  {
    mutants: /^function (notifications_in_sight|unread_notifications): without "perform app\.seal\(whole/,
    why: 'A notification is about a record of its own deal, which can be opened as well when all deals of the person are looked at: it saves that look.',
  },
  {
    mutants: /^function activity_in_sight: without "me is null or"/,
    why: 'Nobody takes part in no deal, so that there is nothing to go through either way.',
  },
  {
    mutants:
      /^function change_ndas_of_people: without "(and coalesce\(p\.advises, p\.id\) = old\.participant_id|p\.deal_id = (old|new)\.deal_id and|and o\.user_id = p\.user_id|and o\.deal_id = old\.deal_id)"/,
    why: 'The rows of an NDA are found by its id alone; the other conditions have indexes used.',
  },
  {
    mutants: /^function change_ndas_of_people: (without "where d\.id = new\.deal_id"|never "if tg_op <> 'DELETE'"$)/,
    why: 'The statement locks the deal, so that two changes wait for each other; nothing else is done at once in a check.',
  },
];
