/** The types in which a deal of the demo is described; deal-rows.ts makes rows of them. */

import type { Body } from './bodies.ts';
import type { Books } from './books.ts';
import type { RelativeTime } from './relative-times.ts';
import type { BrokerageKey, PersonKey } from './people.ts';

export interface DemoParticipant {
  readonly person: PersonKey;
  readonly role: 'broker' | 'seller' | 'buyer' | 'advisor' | 'viewer';
  readonly advises?: PersonKey;
  /** When the person was invited or joined. */
  readonly since: RelativeTime;
  readonly status?: 'invited' | 'removed';
  /** When the person was removed. */
  readonly until?: RelativeTime;
}

export interface Nda {
  readonly buyer: PersonKey;
  readonly sentBy: PersonKey;
  readonly sent: RelativeTime;
  readonly status: 'sent' | 'active' | 'expired' | 'revoked';
  readonly signed?: RelativeTime;
  readonly expires: RelativeTime;
  readonly revoked?: RelativeTime;
}

export interface Exclusivity {
  readonly buyer: PersonKey;
  readonly grantedBy: PersonKey;
  readonly granted: RelativeTime;
  readonly expires: RelativeTime;
}

export interface WorkspaceMember {
  readonly person: PersonKey;
  readonly role: 'reader' | 'editor';
  readonly addedBy: PersonKey;
  readonly added: RelativeTime;
}

export interface Check {
  readonly category: string;
  readonly title: string;
  readonly status: 'not_started' | 'in_progress' | 'completed' | 'not_applicable';
  readonly completed?: RelativeTime;
}

export interface Snapshot {
  readonly type: 'profit_and_loss' | 'customer_revenue' | 'full';
  readonly status: 'requested' | 'processing' | 'completed' | 'failed';
  readonly source: string;
  readonly failure?: string;
  readonly by: PersonKey;
  readonly requested: RelativeTime;
  readonly completed?: RelativeTime;
  /** The books that were read from it. */
  readonly books?: Books;
}

export interface AddBack {
  /** A calendar year, counted back from the last complete one, or the last twelve months. */
  readonly period: { readonly yearsBack: number } | 'last_twelve_months';
  readonly category: 'owner_comp' | 'related_party' | 'one_time' | 'other';
  readonly amount: string;
  readonly rationale: string;
  readonly by: PersonKey;
  readonly at: RelativeTime;
}

type QuestionCategory =
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

/**
 * `answer` is what the seller wrote, `response` what the broker passed on; each is present once the status has reached
 * it.
 */
export interface Question {
  readonly category: QuestionCategory;
  readonly text: string;
  readonly by: PersonKey;
  readonly asked: RelativeTime;
  readonly status: 'pending_broker_review' | 'with_seller' | 'answered' | 'distributed' | 'rejected' | 'withdrawn';
  /** When the question reached this status, unless an answer or a response has the time. */
  readonly moved?: RelativeTime;
  readonly rejection?: string;
  readonly answer?: { readonly text: string; readonly by: PersonKey; readonly at: RelativeTime };
  readonly response?: { readonly text: string; readonly at: RelativeTime };
}

export interface Document {
  readonly filename: string;
  readonly category: string;
  readonly confidentiality: 'public' | 'nda_gated' | 'selected_buyer_only';
  readonly by: PersonKey;
  readonly at: RelativeTime;
  readonly removed?: RelativeTime;
  readonly body: Body;
  /** The request that the document answers; makes it a document produced for diligence. */
  readonly request?: string;
  readonly openings?: readonly { readonly person: PersonKey; readonly at: RelativeTime }[];
}

export interface Terms {
  readonly purchase_price: string;
  readonly cash_at_close: string;
  readonly seller_note?: string;
  readonly earnout?: string;
  readonly rollover_equity?: string;
  readonly financing_contingency: boolean;
  readonly terms: string;
}

/** All revisions of one buyer's offer, oldest first. */
export interface Offers {
  readonly buyer: PersonKey;
  readonly revisions: readonly {
    readonly at: RelativeTime;
    readonly open: RelativeTime;
    readonly close: RelativeTime;
    readonly terms: Terms;
  }[];
}

export interface Condition {
  readonly name: string;
  readonly status: 'open' | 'in_progress' | 'satisfied' | 'waived';
  readonly owner?: PersonKey;
  readonly deadline?: RelativeTime;
  readonly added: RelativeTime;
  readonly completed?: RelativeTime;
}

type FindingStatus = 'open' | 'mitigated' | 'accepted' | 'resolved';

export interface Finding {
  /** A person on the side to which the finding belongs. */
  readonly side: PersonKey;
  readonly by: PersonKey;
  readonly at: RelativeTime;
  readonly category: string;
  readonly title: string;
  readonly description: string;
  readonly severity: 'critical' | 'major' | 'minor' | 'informational';
  readonly owner?: PersonKey;
  /** The changes of status after the finding was opened, in order. */
  readonly moves?: readonly {
    readonly to: FindingStatus;
    readonly by: PersonKey;
    readonly at: RelativeTime;
    readonly notes: string;
  }[];
  readonly comments?: readonly { readonly by: PersonKey; readonly at: RelativeTime; readonly body: string }[];
}

export interface Financing {
  readonly side: PersonKey;
  readonly by: PersonKey;
  readonly at: RelativeTime;
  readonly changed?: RelativeTime;
  readonly type:
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
  readonly name: string;
  readonly amount: number;
  readonly status: 'identified' | 'applied' | 'term_sheet' | 'committed' | 'funded' | 'expired' | 'withdrawn';
}

export interface DemoDeal {
  readonly key: string;
  readonly brokerage: BrokerageKey;
  readonly title: string;
  readonly industry: string;
  readonly location: string;
  readonly summary: string;
  readonly askingPrice: string;
  readonly state: 'draft' | 'listed' | 'under_offer' | 'exclusivity' | 'diligence' | 'closing' | 'closed' | 'withdrawn';
  readonly by: PersonKey;
  readonly opened: RelativeTime;
  readonly changed: RelativeTime;
  readonly closed?: RelativeTime;
  /** When the broker admitted the API keys of the brokerage. */
  readonly keysAdmitted?: RelativeTime;
  readonly parts: readonly DemoParticipant[];
  readonly ndas?: readonly Nda[];
  readonly exclusivity?: Exclusivity;
  readonly workspace?: readonly WorkspaceMember[];
  readonly checklist?: readonly Check[];
  readonly snapshots?: readonly Snapshot[];
  readonly addBacks?: readonly AddBack[];
  readonly questions?: readonly Question[];
  readonly documents?: readonly Document[];
  readonly offers?: readonly Offers[];
  readonly conditions?: readonly Condition[];
  readonly findings?: readonly Finding[];
  readonly financing?: readonly Financing[];
}
