/**
 * What the JSON interface of the web application (/api/web) sends and takes. Names and values are those of the records;
 * ids are UUIDs, times RFC 3339 in UTC, dates `YYYY-MM-DD`, money and other decimals strings. A list is `Items<T>`.
 * What a person may not see is left out or null, never a reason why. Paths are given at each group, below /api/web.
 */

export type Id = string;
/** RFC 3339 in UTC with milliseconds. */
export type Instant = string;
/** `YYYY-MM-DD`. */
export type Day = string;
/** A decimal number as a string: it never becomes a float. */
export type Decimal = string;

export interface Items<T> {
  items: T[];
  next_cursor?: string | null;
}

/** Every answer that is not 2xx. `path` names the field of the request's body, parts joined by dots. */
export interface ErrorBody {
  error: { code: string; message: string; details?: { path: string; message: string }[] };
}

// Oneself: GET /me · PATCH /me {name} ---------------------------------------------------------------------------------

export type MemberRole = 'admin' | 'broker' | 'staff';

export interface Me {
  user: { id: Id; email: string; name: string };
  csrf: string;
  /** Seals what the person has typed and not sent; nobody else is given it. */
  draft_key: string;
  memberships: { brokerage_id: Id; brokerage_name: string; role: MemberRole }[];
  features: { findings: boolean; financing: boolean };
  second_factor: { totp: boolean; passkeys: number; recovery_codes_left: number };
  /** Brokerages that are closed to the caller until they show a second factor; who has one signs in with it. */
  second_factor_owed: { brokerage_id: Id; brokerage_name: string; has_one: boolean }[];
}

// Home: GET /home -------------------------------------------------------------------------------------------------------

/** What waits for the caller to do something; each kind leads to the tab where it is done. */
export type QueueKind =
  | 'questions_to_review'
  | 'questions_to_answer'
  | 'answers_to_distribute'
  | 'answers_to_read'
  | 'ndas_to_sign'
  | 'ndas_unsigned'
  | 'offers_to_consider'
  | 'offer_changes_to_decide'
  | 'offer_changes_with_broker'
  | 'conditions_due'
  | 'findings_open';

export interface QueueEntry {
  kind: QueueKind;
  deal_id: Id;
  deal_title: string;
  count: number;
  /** When the first of them is due, or since when the oldest waits; null where neither applies. */
  due_at: Instant | null;
  waiting_since: Instant | null;
}

/** An invitation to a deal that the caller has not answered. Accept: POST /invitations/:participant_id/accept → {deal_id}; decline: …/decline. */
export interface DealInvitation {
  participant_id: Id;
  role: ParticipantRole;
  brokerage_name: string;
  deal_title: string;
  invited_at: Instant;
}

export interface Home {
  queue: QueueEntry[];
  invitations: DealInvitation[];
  exclusivities: { deal_id: Id; deal_title: string; expires_at: Instant }[];
  deals_by_state: { state: DealState; count: number }[];
  activity: Activity[];
}

// Deals -----------------------------------------------------------------------------------------------------------------
// GET /deals?search&state&role&sort&cursor&limit → Items<DealRow>; `state` and `role` may repeat; `sort` is a DealSort
// POST /deals DealInput & {organization_id} → Deal · GET /deals/:id → DealPage · PATCH /deals/:id Partial<DealInput> → Deal
// POST /deals/:id/moves {to} → DealPage
// POST /deals/:id/exclusivity {participant_id, expires_at} → DealPage · PATCH … {expires_at} → DealPage · DELETE … → DealPage

export type DealState =
  'draft' | 'listed' | 'under_offer' | 'exclusivity' | 'diligence' | 'closing' | 'closed' | 'withdrawn';

export type CallerRole = 'broker_assigned' | 'exclusive_buyer' | 'participant' | 'viewer';

export interface Deal {
  id: Id;
  title: string;
  state: DealState;
  organization_id: Id;
  organization_name: string;
  industry: string | null;
  location: string | null;
  summary: string | null;
  asking_price: Decimal | null;
  currency: string;
  /** Whether a buyer learns who sells only under an active NDA. */
  needs_nda: boolean;
  exclusive_buyer_user_id: Id | null;
  exclusivity_granted_at: Instant | null;
  exclusivity_expires_at: Instant | null;
  closed_at: Instant | null;
  created_at: Instant;
  updated_at: Instant;
}

/** A line of the list. `side` is the caller's own; counts are of what the caller sees. */
export interface DealRow extends Deal {
  caller_role: CallerRole;
  side: Side;
  questions_waiting: number;
  offers?: number;
}

export type DealSort =
  | 'updated_at'
  | '-updated_at'
  | 'created_at'
  | '-created_at'
  | 'title'
  | '-title'
  | 'asking_price'
  | '-asking_price'
  | 'state'
  | '-state';

export interface DealInput {
  title: string;
  industry: string | null;
  location: string | null;
  summary: string | null;
  asking_price: Decimal | null;
  currency: string;
  needs_nda: boolean;
}

/** What the caller may do on this deal; the page shows a control only where its capacity is true. */
export interface Capacities {
  can_edit: boolean;
  can_move: boolean;
  can_invite: boolean;
  can_join: boolean;
  can_remove_participants: boolean;
  can_grant_exclusivity: boolean;
  can_see_ndas: boolean;
  can_send_nda: boolean;
  can_revoke_nda: boolean;
  can_sign_nda: boolean;
  can_upload_documents: boolean;
  can_see_document_openings: boolean;
  can_see_questions: boolean;
  can_ask: boolean;
  can_review_questions: boolean;
  can_answer_questions: boolean;
  can_read_qoe: boolean;
  can_edit_qoe: boolean;
  can_admit_to_qoe: boolean;
  can_see_offers: boolean;
  can_submit_offer: boolean;
  can_accept_offer: boolean;
  can_decide_offer_changes: boolean;
  can_see_conditions: boolean;
  can_edit_conditions: boolean;
  can_see_findings: boolean;
  can_edit_findings: boolean;
  can_see_financing: boolean;
  can_edit_financing: boolean;
  can_see_activity: boolean;
  can_opt_in_tools: boolean;
  can_shut_off_tools: boolean;
}

/** How many things wait or stand behind each tab, for its badge; a tab without a number has none. */
export interface DealCounts {
  ndas_waiting?: number;
  questions_waiting?: number;
  qoe_open?: number;
  offers?: number;
  conditions_open?: number;
  conditions_overdue?: number;
  findings_open?: number;
}

export interface DealPage {
  deal: Deal;
  caller_role: CallerRole;
  side: Side;
  capacities: Capacities;
  participants: Participant[];
  /** The states that the caller can move the deal to now; exclusivity is entered by granting it and is not among them. */
  moves: DealState[];
  counts: DealCounts;
}

// People of a deal ------------------------------------------------------------------------------------------------------
// POST /deals/:id/participants ParticipantInput & Delivery → Invited
// POST /deals/:id/participants/:participant_id/invitation Delivery → Invited (a new link; the earlier one stops working)
// DELETE /deals/:id/participants/:participant_id → DealPage; nothing (204) when it was oneself

export type ParticipantRole = 'broker' | 'seller' | 'buyer' | 'advisor' | 'viewer';
export type ParticipantStatus = 'invited' | 'active' | 'removed';
/** The side somebody stands on: an advisor stands on the side of whom they advise. */
export type Side = 'broker' | 'seller' | 'buyer' | 'viewer';

export interface Participant {
  id: Id;
  user_id: Id;
  name: string;
  email: string;
  role: ParticipantRole;
  status: ParticipantStatus;
  side: Side;
  /** The participant whom an advisor advises. */
  advises: Id | null;
  /** Of buyers, to brokers and sellers and to themselves; else null. */
  nda_status: NdaStatus | null;
  /** Whether the caller can make a closing condition theirs. */
  can_own_conditions: boolean;
  created_at: Instant;
  updated_at: Instant;
}

export interface ParticipantInput {
  email: string;
  name: string;
  role: ParticipantRole;
  advises: Id | null;
}

/** How the link reaches the person: by mail where mail is set up (the default there), or as a link to pass on. */
export interface Delivery {
  deliver?: 'mail' | 'link';
}

/** A link that went out by mail is shown to nobody; else `invitation_url` is shown this once, to be copied. */
export interface Invited {
  participant: Participant;
  invitation_url: string | null;
  mailed: boolean;
}

// NDAs ------------------------------------------------------------------------------------------------------------------
// GET /deals/:id/ndas → Items<Nda> · POST /deals/:id/ndas {participant_id, terms, expires_at} → Nda
// POST /ndas/:id/sign {signed_name} → Nda · POST /ndas/:id/revoke → Nda · GET /deals/:id/ndas/template → {terms}

export type NdaStatus = 'sent' | 'active' | 'expired' | 'revoked';

export interface Nda {
  id: Id;
  deal_id: Id;
  participant_id: Id;
  participant_name: string;
  status: NdaStatus;
  terms: string;
  sent_by_name: string | null;
  sent_at: Instant;
  signed_at: Instant | null;
  signed_name: string | null;
  signed_address: string | null;
  expires_at: Instant | null;
  revoked_at: Instant | null;
  /** Whether the caller is the one who signs it. */
  mine: boolean;
}

// Documents -------------------------------------------------------------------------------------------------------------
// GET /deals/:id/documents?category&confidentiality&search → Items<DealDocument>
// POST /deals/:id/documents?filename&category&confidentiality&diligence_request, the file as the body → DealDocument
// PATCH /documents/:source/:id {filename, category, confidentiality} → DealDocument · DELETE /documents/:source/:id
// GET /documents/:source/:id/content (download) · GET /documents/:source/:id/preview (PDF and images, shown in place)
// GET /documents/:source/:id/openings → Items<DocumentOpening>

export type Confidentiality = 'public' | 'nda_gated' | 'selected_buyer_only';

export interface DealDocument {
  id: Id;
  filename: string;
  category: string;
  confidentiality: Confidentiality;
  size_bytes: string;
  uploaded_at: Instant;
  uploaded_by_name: string | null;
  source: 'simple' | 'production';
  /** The request that a production document answers. */
  diligence_request: string | null;
  media_type: string;
  can_preview: boolean;
  can_edit: boolean;
  /** How often it was opened, to those with can_see_document_openings; else null. */
  openings: number | null;
}

export interface DocumentOpening {
  id: Id;
  user_id: Id | null;
  user_name: string;
  opened_at: Instant;
}

// Questions -------------------------------------------------------------------------------------------------------------
// GET /deals/:id/questions?status → Items<Question> · POST /deals/:id/questions {category, question_text} → Question
// POST /deals/:id/questions/read (a buyer's side has read the answers that came to it)
// POST /questions/:id/release | reject {rejection_reason} | answer {answer_text} | distribute {distributed_response} | withdraw → Question

export type QuestionStatus =
  'pending_broker_review' | 'with_seller' | 'answered' | 'distributed' | 'rejected' | 'withdrawn';

export type QuestionCategory =
  | 'financials'
  | 'operations'
  | 'customers'
  | 'employees'
  | 'legal'
  | 'tax'
  | 'real_estate'
  | 'technology'
  | 'transaction'
  | 'other';

export interface Question {
  id: Id;
  deal_id: Id;
  category: QuestionCategory;
  status: QuestionStatus;
  asked_at: Instant;
  /** Null to those who may not know who asks. */
  asked_by_name: string | null;
  question_text: string;
  /** The seller's words, to the seller's side and the brokers. */
  answer_text: string | null;
  answered_at: Instant | null;
  distributed_response: string | null;
  distributed_at: Instant | null;
  rejection_reason: string | null;
  mine: boolean;
  /** What the caller can do with it now. */
  actions: ('release' | 'reject' | 'answer' | 'distribute' | 'withdraw')[];
}

// Quality of earnings ---------------------------------------------------------------------------------------------------
// GET /deals/:id/qoe → Qoe · PATCH /qoe/checklist/:id {status} → ChecklistRow · POST /deals/:id/qoe/checklist {category, title} → ChecklistRow
// POST /deals/:id/qoe/snapshots/preview?snapshot_type&filename, the file as the body → SnapshotPreview (stores nothing)
// POST /deals/:id/qoe/snapshots?snapshot_type&filename, the file as the body → Snapshot · GET /deals/:id/qoe/snapshots → Items<Snapshot>
// GET /deals/:id/qoe/periods?start_date&end_date → Items<PlPeriod> · GET /deals/:id/qoe/customers?as_of_period → CustomerConcentration
// GET /deals/:id/qoe/normalizations → Items<Normalization> · POST … NormalizationInput → Normalization · DELETE /qoe/normalizations/:id
// GET /deals/:id/qoe/bridge?period_label → EbitdaBridge · GET /deals/:id/qoe/members → Items<QoeMember>
// PUT /deals/:id/qoe/members/:participant_id {role} → QoeMember · DELETE /deals/:id/qoe/members/:participant_id

export type ChecklistStatus = 'not_started' | 'in_progress' | 'completed' | 'not_applicable';
export type SnapshotStatus = 'requested' | 'processing' | 'completed' | 'failed';
export type SnapshotType = 'profit_and_loss' | 'customer_revenue' | 'full';
export type AdjustmentCategory = 'owner_comp' | 'related_party' | 'one_time' | 'other';

export interface ChecklistRow {
  id: Id;
  category: string;
  title: string;
  status: ChecklistStatus;
  completed_at: Instant | null;
}

export interface Snapshot {
  id: Id;
  snapshot_type: SnapshotType;
  status: SnapshotStatus;
  source_name: string | null;
  requested_at: Instant;
  completed_at: Instant | null;
  failure: string | null;
}

export interface Qoe {
  progress: ChecklistRow[];
  recent_accounting_snapshots: Snapshot[];
  editor: boolean;
}

export interface SnapshotPreview {
  columns: string[];
  /** The first rows as they would be stored, each with its number in the file. */
  rows: { row: number; values: Record<string, string | null> }[];
  row_count: number;
  faults: { row: number; column: string | null; message: string }[];
}

export interface PlPeriod {
  id: Id;
  snapshot_id: Id;
  period_label: string;
  period_start_date: Day;
  period_end_date: Day;
  currency: string;
  revenue: Decimal;
  cost_of_goods_sold: Decimal | null;
  gross_profit: Decimal | null;
  operating_expenses: Decimal | null;
  owner_compensation: Decimal | null;
  depreciation_amortization: Decimal | null;
  interest_expense: Decimal | null;
  tax_expense: Decimal | null;
  net_income: Decimal | null;
  ebitda: Decimal | null;
}

export interface CustomerRevenue {
  id: Id;
  snapshot_id: Id;
  customer_name: string;
  period_start_date: Day;
  period_end_date: Day;
  currency: string;
  revenue_total: Decimal;
  /** Of the snapshot's total in that period, 0 to 1. */
  revenue_share: Decimal;
  rank: number;
}

export interface CustomerConcentration {
  items: CustomerRevenue[];
  /** The shares of the largest 1, 5 and 10 customers, 0 to 1. */
  top_1: Decimal | null;
  top_5: Decimal | null;
  top_10: Decimal | null;
  periods: { period_start_date: Day; period_end_date: Day }[];
}

export interface NormalizationInput {
  period_label: string;
  adjustment_category: AdjustmentCategory;
  adjustment_amount: Decimal;
  rationale: string | null;
}

export interface Normalization extends NormalizationInput {
  id: Id;
  deal_id: Id;
  created_by: Id | null;
  created_by_name: string | null;
  created_at: Instant;
  can_delete: boolean;
}

export interface EbitdaBridge {
  currency: string;
  /** The period it is about; null where there is none yet. */
  period_label: string | null;
  /** How many periods with an EBITDA the reported one is the sum of. */
  period_count: number;
  reported_ebitda: Decimal;
  adjustments: { category: AdjustmentCategory; amount: Decimal }[];
  adjusted_ebitda: Decimal;
  /** What a bridge can be shown of: years, the last twelve months, and periods as the books name them. */
  period_labels: string[];
  /** The months, which can be adjusted too. */
  month_labels: string[];
  /** What normalizations are said to be of, where no figures bear that name. */
  unmatched_labels: string[];
}

export interface QoeMember {
  participant_id: Id;
  name: string;
  role: 'reader' | 'editor';
  /** False for brokers and sellers, who are editors by what they are. */
  can_remove: boolean;
}

// Offers ----------------------------------------------------------------------------------------------------------------
// GET /deals/:id/offers → Offers (each buyer's current one) · GET /deals/:id/offers/:buyer_user_id/revisions → Items<Offer> · POST /deals/:id/offers {payload} → Offer
// POST /offers/:id/accept {expires_at} → DealPage (the buyer is granted exclusivity until then)
// POST /offers/:id/decision {decision} → DealPage (of what the buyer with the exclusivity proposes by now)

export interface OfferPayload {
  currency: string;
  purchase_price: Decimal | null;
  cash_at_close: Decimal | null;
  seller_note: Decimal | null;
  earnout: Decimal | null;
  rollover_equity: Decimal | null;
  financing_contingency: boolean | null;
  target_close_date: Day | null;
  expires_at: Instant | null;
  terms: string | null;
  [other: string]: unknown;
}

export interface Offer {
  id: Id;
  buyer_user_id: Id;
  buyer_name: string;
  participant_id: Id;
  revision_number: number;
  is_current: boolean;
  submitted_at: Instant;
  payload: OfferPayload;
  /** When it was accepted or declined, to those who may know; else null. */
  accepted_at: Instant | null;
  declined_at: Instant | null;
  /** Whether these are the terms that are agreed on the deal now. */
  agreed: boolean;
  /** Whether it proposes to change the terms that are agreed, and waits for a broker to decide. */
  proposed: boolean;
  mine: boolean;
}

export interface Offers extends Items<Offer> {
  /** The revision whose terms are agreed on the deal, to those who may know; else null. */
  agreed: Offer | null;
}

// Closing conditions ----------------------------------------------------------------------------------------------------
// GET /deals/:id/conditions → Items<ClosingCondition> · POST /deals/:id/conditions ConditionInput → ClosingCondition
// PATCH /conditions/:id Partial<ConditionInput & {status}> → ClosingCondition (its owner: the status alone) · DELETE /conditions/:id

export type ConditionStatus = 'open' | 'in_progress' | 'satisfied' | 'waived';

export interface ConditionInput {
  name: string;
  owner_user_id: Id | null;
  deadline: Day | null;
}

export interface ClosingCondition extends ConditionInput {
  id: Id;
  status: ConditionStatus;
  owner_name: string | null;
  /** Whether it has an owner, be it one whom the caller may not know of. */
  has_owner: boolean;
  completed_at: Instant | null;
  created_at: Instant;
  overdue: boolean;
  /** Whether the caller can change its status. */
  can_edit: boolean;
}

// Findings (feature) ----------------------------------------------------------------------------------------------------
// GET /deals/:id/findings?category&severity&status → Items<Finding> · POST /deals/:id/findings FindingInput → Finding
// POST /findings/:id/status {status, status_notes} → Finding · POST /findings/:id/comments {body} → Finding · GET /findings/:id → Finding

export type FindingSeverity = 'critical' | 'major' | 'minor' | 'informational';
export type FindingStatus = 'open' | 'mitigated' | 'accepted' | 'resolved';

export interface FindingInput {
  category: string;
  title: string;
  description: string | null;
  severity: FindingSeverity;
  owner_user_id: Id | null;
}

export interface Finding extends FindingInput {
  id: Id;
  deal_id: Id;
  status: FindingStatus;
  status_notes: string | null;
  owner_name: string | null;
  created_by: Id | null;
  created_by_name: string | null;
  created_at: Instant;
  updated_at: Instant;
  comments: { id: Id; body: string; created_by: Id | null; created_by_name: string | null; created_at: Instant }[];
  history: {
    from_status: FindingStatus | null;
    to_status: FindingStatus;
    notes: string | null;
    changed_by_name: string | null;
    changed_at: Instant;
  }[];
}

// Financing (feature) ---------------------------------------------------------------------------------------------------
// GET /deals/:id/financing → FinancingStack · POST /deals/:id/financing FinancingInput → FinancingSource
// POST /financing/:id/status {commitment_status} → FinancingSource

export type FinancingSourceType =
  | 'sba_7a'
  | 'sba_504'
  | 'conventional_senior_debt'
  | 'mezzanine'
  | 'seller_note'
  | 'rollover_equity'
  | 'cash_buyer_equity'
  | 'equity_investor_check'
  | 'earnout_credit'
  | 'other';

export type CommitmentStatus =
  'identified' | 'applied' | 'term_sheet' | 'committed' | 'funded' | 'expired' | 'withdrawn';

export interface FinancingInput {
  source_type: FinancingSourceType;
  source_name: string;
  /** Whole currency units. */
  commitment_amount: Decimal;
  commitment_status?: CommitmentStatus;
}

export interface FinancingSource extends Required<FinancingInput> {
  id: Id;
  deal_id: Id;
  currency: string;
  created_by: Id;
  created_at: Instant;
  updated_at: Instant;
  moves: CommitmentStatus[];
}

export interface FinancingStack {
  items: FinancingSource[];
  totals: { commitment_status: CommitmentStatus; currency: string; total: Decimal }[];
}

// Activity of a deal: GET /deals/:id/activity?cursor → Items<Activity> ------------------------------------------------

export interface Activity {
  id: Id;
  at: Instant;
  /** Null when a key or the service itself did it. */
  user_id: Id | null;
  user_name: string | null;
  client_name: string | null;
  deal_id: Id | null;
  deal_title: string | null;
  action: string;
  outcome: string;
  /** What was done, as a sentence without its subject: "sent an NDA". */
  summary: string;
}

// Assistants on a deal: GET /deals/:id/tools → DealTools · PUT /deals/:id/tools/opt-in {expires_at} → DealTools
// DELETE /deals/:id/tools/opt-in → DealTools · PUT | DELETE /deals/:id/tools/shut-off → DealTools

export interface DealTools {
  opt_in: { granted_at: Instant; expires_at: Instant | null } | null;
  shut_off: { by_name: string | null; at: Instant } | null;
}

// Contacts --------------------------------------------------------------------------------------------------------------
// GET /contacts?brokerage_id&search&archived&sort&cursor&limit → Items<Contact> · POST /contacts ContactInput & {brokerage_id} → Contact
// PATCH /contacts/:id Partial<ContactInput> → Contact · POST /contacts/:id/archive | restore → Contact
// POST /contacts/import/preview?brokerage_id, CSV as the body → ContactImport (stores nothing) · POST /contacts/import → ContactImport
// GET /contacts/export?brokerage_id → text/csv

export interface ContactInput {
  type: 'person' | 'company';
  display_name: string;
  email: string | null;
  phone: string | null;
}

export interface Contact extends ContactInput {
  id: Id;
  archived_at: Instant | null;
  created_at: Instant;
  updated_at: Instant;
}

export interface ContactImport {
  row_count: number;
  /** Left out are rows with the address of a contact (`duplicate_of`) or of an earlier row (`same_as`). */
  rows: { row: number; contact: ContactInput; duplicate_of: Id | null; same_as: number | null }[];
  faults: { row: number; column: string | null; message: string }[];
  imported: number;
}

// Settings --------------------------------------------------------------------------------------------------------------
// Profile and security: under /api/auth, see api/auth.ts
// GET /brokerages/:id → Brokerage · PATCH /brokerages/:id {name}
// GET /brokerages/:id/members → Items<Member> · POST … {email, name, role} & Delivery → MemberInvited
// POST /brokerages/:id/members/:user_id/invitation Delivery → MemberInvited
// PATCH /brokerages/:id/members/:user_id {role} → Member · DELETE /brokerages/:id/members/:user_id
// GET /brokerages/:id/keys → Items<ApiKey> · POST … ApiKeyInput → ApiKeyCreated · POST /keys/:id/rotate {overlap_seconds} → ApiKeyCreated
// POST /keys/:id/revoke → ApiKey
// GET /clients → Clients · POST /clients ClientInput → Client · PATCH /clients/:id ClientInput → Client · DELETE /clients/:id
// POST /clients/:id/share {brokerage_id} → Client (null: with nobody) · POST /clients/:id/switch {disabled} → Client
// POST /clients/:id/disconnect → Client (ends every token of the caller)
// GET /tools → ToolSettings · PUT /tools/grants {client_id, tool, expires_at} → ToolSettings · DELETE /tools/grants/:client_id/:tool → ToolSettings
// PUT /deals/:id/tools/opt-in and DELETE, as above
// GET /audit?brokerage_id&user_id&action&outcome&from&to&cursor → Items<AuditRecord> · GET /audit/export?… → text/csv
//   without a brokerage the caller's own; `action` is how it begins; `outcome` is done or refused; records from `from` on, before `to`

export interface Brokerage {
  id: Id;
  slug: string;
  name: string;
  created_at: Instant;
  /** Whether its members are nobody there without a second factor. */
  requires_second_factor: boolean;
  role: MemberRole;
}

export interface Member {
  user_id: Id;
  name: string;
  email: string;
  role: MemberRole;
  status: 'invited' | 'active';
  /** Null to all but admins, and of who has not accepted yet. */
  second_factor: boolean | null;
  created_at: Instant;
}

/** A deal that a member alone runs. */
export interface DealRunAlone {
  id: Id;
  title: string;
}

export interface MemberRemoved {
  deals: DealRunAlone[];
  /** Whether a successor runs these now. */
  handed_over: boolean;
}

export interface MemberInvited {
  member: Member;
  /** Null when it went out by mail: shown to nobody then. */
  invitation_url: string | null;
  mailed: boolean;
}

export type KeyScope = 'contacts:read' | 'contacts:write';

export interface ApiKeyInput {
  name: string;
  environment: 'live' | 'test';
  scopes: KeyScope[];
  /** Requests in 60 seconds; null for the service's default. */
  ceiling: number | null;
  expires_at: Instant | null;
}

export interface ApiKey extends ApiKeyInput {
  id: Id;
  brokerage_id: Id;
  /** Beginning and end of the token, to tell keys apart. */
  hint: string;
  state: 'active' | 'expired' | 'revoked';
  created_by_name: string | null;
  created_at: Instant;
  last_used_at: Instant | null;
  revoked_at: Instant | null;
  /** The token before the last rotation, and until when it works on. */
  previous_hint: string | null;
  previous_valid_until: Instant | null;
}

/** `token` is the whole key, in this answer alone. */
export interface ApiKeyCreated {
  key: ApiKey;
  token: string;
}

export interface ClientInput {
  name: string;
  redirect_uris: string[];
}

export interface Client extends ClientInput {
  id: Id;
  client_id: string;
  /** Works for nobody until it is switched on again. */
  disabled: boolean;
  /** The brokerage whose members it is shared with. */
  brokerage_id: Id | null;
  brokerage_name: string | null;
  registered_by_name: string | null;
  mine: boolean;
  /** Whether the caller can change, share, switch off and delete it. */
  can_manage: boolean;
  created_at: Instant;
  /** What the caller has authorized it for; empty when not connected. */
  scopes: ('mcp:read' | 'mcp:write')[];
  connected_at: Instant | null;
  last_used_at: Instant | null;
}

export interface Clients extends Items<Client> {
  presets: (ClientInput & { id: string })[];
  /** The address that clients connect to. */
  tool_server: string;
}

export interface ToolSettings {
  /** `may_write`: the caller authorized it for mcp:write. */
  clients: { id: Id; name: string; connected: boolean; may_write: boolean; disabled: boolean }[];
  write_tools: { name: string; title: string; available: boolean }[];
  grants: { client_id: Id; tool: string; granted_at: Instant; expires_at: Instant | null }[];
  opt_ins: {
    deal_id: Id;
    deal_title: string;
    granted_at: Instant;
    expires_at: Instant | null;
    /** A broker shut writing off there for everybody. */
    shut_off: boolean;
    shut_off_by_name: string | null;
  }[];
}

export interface AuditRecord {
  id: Id;
  at: Instant;
  user_id: Id | null;
  user_name: string | null;
  client_name: string | null;
  key_name: string | null;
  deal_id: Id | null;
  deal_title: string | null;
  address: string | null;
  request_id: string | null;
  action: string;
  subject_id: string | null;
  outcome: string;
  details: Record<string, unknown>;
}

// Live changes: GET /events (text/event-stream), each event's data a LiveEvent ---------------------------------------

export type Topic =
  | 'deal'
  | 'participants'
  | 'ndas'
  | 'documents'
  | 'questions'
  | 'qoe'
  | 'offers'
  | 'conditions'
  | 'findings'
  | 'financing'
  | 'tools'
  | 'contacts'
  | 'settings';

/** Something changed that the caller may see: the application asks again for it. {topic: 'deal', deal_id: null} is everything. */
export interface LiveEvent {
  topic: Topic;
  deal_id: Id | null;
}
