/** Generated from the OpenAPI document by `npm run client`: change the declarations of the operations instead. */

import type { CallOptions } from './options.ts';

/** The books of the business as they were delivered at one time. */
export type AccountingSnapshot = {
  id: string;
  snapshotType: 'profit_and_loss' | 'customer_revenue' | 'full';
  status: 'requested' | 'processing' | 'completed' | 'failed';
  /** The file or the system that it came from. */
  sourceName: string | null;
  requestedAt: string;
  completedAt: string | null;
  /** Why it failed. */
  failure: string | null;
};

export type AccountingSnapshotCreate = {
  /** The system that the books come from. */
  sourceName?: string | null | undefined;
  periods?: PlPeriodDelivered[] | undefined;
  customers?: CustomerRevenueDelivered[] | undefined;
};

export type AccountingSnapshotList = {
  data: AccountingSnapshot[];
  pagination: Pagination;
};

/** What is to be verified in the books. */
export type ChecklistItem = {
  id: string;
  category: string;
  title: string;
  status: 'not_started' | 'in_progress' | 'completed' | 'not_applicable';
  completedAt: string | null;
};

export type ChecklistItemList = {
  data: ChecklistItem[];
  pagination: Pagination;
};

/** What must be done before the deal closes. */
export type ClosingCondition = {
  id: string;
  dealId: string;
  name: string;
  status: 'open' | 'in_progress' | 'satisfied' | 'waived';
  /** Its owner; also null for a key without participants:read. */
  ownerUserId: string | null;
  deadline: string | null;
  /** Whether its deadline has passed and it is still not met. */
  overdue: boolean;
  completedAt: string | null;
  createdAt: string;
  updatedAt: string;
};

/** Properties left out stay as they are; null clears a value. */
export type ClosingConditionChange = {
  name?: string | undefined;
  ownerUserId?: string | null | undefined;
  deadline?: string | null | undefined;
  status?: 'open' | 'in_progress' | 'satisfied' | 'waived' | undefined;
};

export type ClosingConditionCreate = {
  name: string;
  ownerUserId?: string | null | undefined;
  deadline?: string | null | undefined;
};

export type ClosingConditionList = {
  data: ClosingCondition[];
  pagination: Pagination;
};

export type ConditionNotFoundError = {
  error: {
    code: 'condition_not_found';
    /** A summary for people. */
    message: string;
    /** Structured context, described with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

export type ConflictError = {
  error: {
    code: 'conflict';
    /** A summary for people. */
    message: string;
    /** Structured context, described with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

/** A person or a company tracked outside any deal. */
export type Contact = {
  id: string;
  type: 'person' | 'company';
  displayName: string;
  email?: string | null | undefined;
  phone?: string | null | undefined;
  createdAt: string;
  updatedAt: string;
};

/** A contact; with expand=record, also externalId, archivedAt, mergedInto, erasedAt and etag. */
export type ContactAsAsked = Contact & {
  /** Its id in another system. */
  externalId?: string | null | undefined;
  /** When it was archived. */
  archivedAt?: string | null | undefined;
  /** The contact that this duplicate was merged into. */
  mergedInto?: string | null | undefined;
  /** When it was erased for good: delete your copy, and do not send it again. */
  erasedAt?: string | null | undefined;
  /** Its entity tag, for If-Match. */
  etag?: string | undefined;
};

export type ContactBatch = {
  items: ContactBatchItem[];
};

/** Like POST /contacts/archive/{contactId} and POST /contacts/restore/{contactId}. */
export type ContactBatchArchive = {
  action: 'archive' | 'restore';
  id: string;
  /** Change the contact only if this is its current entity tag, as with the header If-Match. */
  ifMatch?: string | undefined;
};

/** Like POST /contacts, optionally with an external id. */
export type ContactBatchCreate = {
  action: 'create';
  contact: ContactCreateWithExternalId;
};

export type ContactBatchItem = ContactBatchCreate | ContactBatchUpdate | ContactBatchUpsert | ContactBatchArchive;

export type ContactBatchItemResult = {
  /** The status that the change would have had on its own. */
  status: number;
  /** The entity tag that the contact has now, also if it was not changed. */
  etag?: string | undefined;
  /** The contact, if the status is 2xx. */
  contact?: ContactRecord | undefined;
  /** The error, for any other status. */
  error?:
    | {
        code: 'validation_error' | 'contact_not_found' | 'conflict' | 'precondition_failed';
        message: string;
        details?: Record<string, unknown> | undefined;
      }
    | undefined;
};

export type ContactBatchResult = {
  /** One for each item, in the same order. */
  results: ContactBatchItemResult[];
};

/** Like PATCH /contacts/{contactId}. */
export type ContactBatchUpdate = {
  action: 'update';
  id: string;
  /** Change the contact only if this is its current entity tag, as with the header If-Match. */
  ifMatch?: string | undefined;
  contact: ContactPatch;
};

/** Like PUT /contacts/by-external-id/{externalId}. */
export type ContactBatchUpsert = {
  action: 'upsert';
  /** The id of the contact in another system, unique in the brokerage. */
  externalId: string;
  /** Change the contact only if this is its current entity tag, as with the header If-Match. */
  ifMatch?: string | undefined;
  contact: ContactCreate;
};

export type ContactCreate = {
  /** Whether this is a person or a company. */
  type: 'person' | 'company';
  /** The name to show, stored without surrounding spaces. Limited only by the size of the request body; no null characters (U+0000) or halves of surrogate pairs. */
  displayName: string;
  /** An ASCII mailbox (RFC 5321) whose domain contains a dot or is an IPv4 or IPv6 address in brackets. */
  email?: string | undefined;
  /** Not validated, because numbers are written in many ways; stored without surrounding spaces. Limited only by the size of the request body; no null characters (U+0000) or halves of surrogate pairs. */
  phone?: string | undefined;
};

export type ContactCreateWithExternalId = {
  /** Whether this is a person or a company. */
  type: 'person' | 'company';
  /** The name to show, stored without surrounding spaces. Limited only by the size of the request body; no null characters (U+0000) or halves of surrogate pairs. */
  displayName: string;
  /** An ASCII mailbox (RFC 5321) whose domain contains a dot or is an IPv4 or IPv6 address in brackets. */
  email?: string | undefined;
  /** Not validated, because numbers are written in many ways; stored without surrounding spaces. Limited only by the size of the request body; no null characters (U+0000) or halves of surrogate pairs. */
  phone?: string | undefined;
  /** The id of the contact in another system, unique in the brokerage. */
  externalId?: string | undefined;
};

export type ContactList = {
  data: ContactAsAsked[];
  pagination: Pagination;
};

export type ContactMerge = {
  /** The duplicate, which is archived and points to the contact that is kept. */
  from: string;
};

export type ContactNotFoundError = ErrorEnvelope & {
  error: {
    code: 'contact_not_found';
    message: string;
  };
};

/** A merge patch (RFC 7396): properties left out stay as they are; null clears a value. */
export type ContactPatch = {
  /** Whether this is a person or a company. */
  type?: 'person' | 'company' | undefined;
  /** The name to show, stored without surrounding spaces. Limited only by the size of the request body; no null characters (U+0000) or halves of surrogate pairs. */
  displayName?: string | undefined;
  email?: string | null | undefined;
  phone?: string | null | undefined;
  externalId?: string | null | undefined;
};

/** A contact with what another system needs to stay in sync with it. */
export type ContactRecord = {
  id: string;
  type: 'person' | 'company';
  displayName: string;
  email: string | null;
  phone: string | null;
  /** Its id in another system. */
  externalId: string | null;
  /** When it was archived. */
  archivedAt: string | null;
  /** The contact that this duplicate was merged into. */
  mergedInto: string | null;
  /** When it was erased for good: delete your copy, and do not send it again. */
  erasedAt: string | null;
  /** Its entity tag, for If-Match. */
  etag: string;
  createdAt: string;
  updatedAt: string;
};

export type CursorExpiredError = {
  error: {
    code: 'cursor_expired';
    /** A summary for people. */
    message: string;
    /** Structured context, described with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

/** Revenue from one customer in one period. */
export type CustomerRevenue = {
  id: string;
  snapshotId: string;
  customerName: string;
  periodStartDate: string;
  periodEndDate: string;
  currency: string;
  revenueTotal: string;
  /** The customer's share of the revenue of all uploaded customers of the period in its currency, from 0 to 1; outside that range if some customers have credits, and null if credits equal or exceed sales. */
  revenueShare: string | null;
  /** 1 for the largest in its currency; equal totals share a rank. */
  rank: number;
};

export type CustomerRevenueDelivered = {
  customerName: string;
  periodStartDate: string;
  /** Not before periodStartDate. */
  periodEndDate: string;
  /** Defaults to the deal's. */
  currency?: string | undefined;
  revenueTotal: string;
};

export type CustomerRevenueList = {
  data: CustomerRevenue[];
  pagination: Pagination;
};

/** The sale of a business. */
export type Deal = {
  id: string;
  title: string;
  /** Its current state: a deal whose exclusivity has lapsed is listed again. */
  state: 'draft' | 'listed' | 'under_offer' | 'exclusivity' | 'diligence' | 'closing' | 'closed' | 'withdrawn';
  /** The brokerage. */
  organizationId: string;
  industry: string | null;
  location: string | null;
  summary: string | null;
  askingPrice: string | null;
  currency: string;
  /** Whether a buyer needs an active NDA to learn who is selling. */
  needsNda: boolean;
  exclusiveBuyerUserId: string | null;
  exclusivityGrantedAt: string | null;
  exclusivityExpiresAt: string | null;
  closedAt: string | null;
  createdAt: string;
  updatedAt: string;
};

/** Properties left out stay as they are; null clears a value. */
export type DealChange = {
  title?: string | undefined;
  industry?: string | null | undefined;
  location?: string | null | undefined;
  summary?: string | null | undefined;
  askingPrice?: string | null | undefined;
  currency?: string | undefined;
  needsNda?: boolean | undefined;
};

export type DealCreate = {
  title: string;
  industry?: string | null | undefined;
  location?: string | null | undefined;
  summary?: string | null | undefined;
  askingPrice?: string | null | undefined;
  currency?: string | undefined;
  needsNda?: boolean | undefined;
  /** Address of the active admin or broker of the brokerage who becomes its broker; 409 `conflict` with the `reason` `not_a_broker` for anybody else. Left out: the person who issued the key. */
  brokerEmail?: string | undefined;
};

export type DealList = {
  data: Deal[];
  pagination: Pagination;
};

export type DealMove = {
  to: 'draft' | 'listed' | 'under_offer' | 'exclusivity' | 'diligence' | 'closing' | 'closed' | 'withdrawn';
  /** Closes the deal even if something required for closing is missing. */
  confirm?: boolean | undefined;
};

export type DealNotFoundError = {
  error: {
    code: 'deal_not_found';
    /** A summary for people. */
    message: string;
    /** Structured context, described with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

export type DeliveryNotFoundError = {
  error: {
    code: 'delivery_not_found';
    /** A summary for people. */
    message: string;
    /** Structured context, described with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

/** The metadata of a document; its content is a separate operation. */
export type Document = {
  id: string;
  dealId: string;
  /** simple: uploaded to the data room; production: produced for a diligence request. */
  source: 'simple' | 'production';
  filename: string;
  category: string;
  /** Who may open it: everybody on the deal, buyers with an active NDA, or the exclusive buyer. */
  confidentiality: 'public' | 'nda_gated' | 'selected_buyer_only';
  mediaType: string;
  sizeBytes: number;
  /** SHA-256 of its content in hexadecimal; null if unknown. */
  sha256: string | null;
  uploadedAt: string;
  /** The request that it was produced for. */
  diligenceRequest: string | null;
  /** Also null for a key without participants:read. */
  uploadedByName: string | null;
};

/** The bytes of the file. */
export type DocumentContent = string;

export type DocumentList = {
  data: Document[];
  pagination: Pagination;
};

export type DocumentNotFoundError = {
  error: {
    code: 'document_not_found';
    /** A summary for people. */
    message: string;
    /** Structured context, described with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

export type ErrorEnvelope = {
  error: {
    code:
      | 'invalid_token'
      | 'insufficient_scope'
      | 'rate_limited'
      | 'validation_error'
      | 'contact_not_found'
      | 'not_found'
      | 'method_not_allowed'
      | 'internal_error';
    /** A summary for people. */
    message: string;
    /** Structured context, described with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

/** A change to a record. */
export type Event = {
  /** The same wherever the event appears, so that duplicates can be recognized. */
  id: string;
  /** What happened to the record. A document that is restored within an hour of its removal is reported as updated: create your copy of it again. Later versions may add types. */
  type:
    | (
        | 'contact.created'
        | 'contact.updated'
        | 'contact.archived'
        | 'contact.restored'
        | 'contact.removed'
        | 'deal.created'
        | 'deal.updated'
        | 'deal.admitted'
        | 'deal.removed'
        | 'participant.created'
        | 'participant.updated'
        | 'participant.removed'
        | 'nda.created'
        | 'nda.updated'
        | 'nda.removed'
        | 'offer.created'
        | 'offer.updated'
        | 'offer.removed'
        | 'question.created'
        | 'question.updated'
        | 'question.removed'
        | 'document.created'
        | 'document.updated'
        | 'document.removed'
        | 'production_document.created'
        | 'production_document.updated'
        | 'production_document.removed'
        | 'qoe_checklist_item.created'
        | 'qoe_checklist_item.updated'
        | 'qoe_checklist_item.removed'
        | 'accounting_snapshot.created'
        | 'accounting_snapshot.updated'
        | 'accounting_snapshot.removed'
        | 'normalization.created'
        | 'normalization.removed'
        | 'closing_condition.created'
        | 'closing_condition.updated'
        | 'closing_condition.removed'
        | 'finding.created'
        | 'finding.updated'
        | 'finding.removed'
        | 'financing_source.created'
        | 'financing_source.updated'
        | 'financing_source.removed'
      )
    | (string & {});
  objectType:
    | (
        | 'contact'
        | 'deal'
        | 'participant'
        | 'nda'
        | 'offer'
        | 'question'
        | 'document'
        | 'production_document'
        | 'qoe_checklist_item'
        | 'accounting_snapshot'
        | 'normalization'
        | 'closing_condition'
        | 'finding'
        | 'financing_source'
      )
    | (string & {});
  objectId: string;
  /** The deal that the record belongs to; null for a contact. */
  dealId: string | null;
  /** When its transaction began. The list is in a different order: that of commits. */
  occurredAt: string;
  /** With expand=data: the current record, as its own path returns it (a contact as a ContactRecord, archived or not); null if it is gone or the key cannot see it. */
  data?: Record<string, unknown> | null | undefined;
};

export type EventList = {
  data: Event[];
  pagination: Pagination;
};

/** One thing to change in a request. */
export type Fault = {
  /** The part of the request. */
  in: 'body' | 'query' | 'header' | 'path';
  /** The property (parts joined by dots), the parameter or the header; '' for the whole. */
  path: string;
  /** What to change. */
  message: string;
};

/** A source of financing for the purchase. */
export type FinancingSource = {
  id: string;
  dealId: string;
  sourceType:
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
  sourceName: string;
  /** Whole units of the currency. */
  commitmentAmount: string;
  currency: string;
  commitmentStatus: 'identified' | 'applied' | 'term_sheet' | 'committed' | 'funded' | 'expired' | 'withdrawn';
  /** Also null for a key without participants:read. */
  createdBy: string | null;
  createdAt: string;
  updatedAt: string;
};

export type FinancingSourceList = {
  data: FinancingSource[];
  pagination: Pagination;
};

/** Something that diligence turned up. */
export type Finding = {
  id: string;
  dealId: string;
  category: string;
  title: string;
  description: string | null;
  severity: 'critical' | 'major' | 'minor' | 'informational';
  status: 'open' | 'mitigated' | 'accepted' | 'resolved';
  statusNotes: string | null;
  /** Also null for a key without participants:read. */
  ownerUserId: string | null;
  /** Also null for a key without participants:read. */
  createdBy: string | null;
  createdAt: string;
  updatedAt: string;
  commentCount: number;
};

export type FindingList = {
  data: Finding[];
  pagination: Pagination;
};

export type InsufficientScopeError = ErrorEnvelope & {
  error: {
    code: 'insufficient_scope';
    message: string;
    details: {
      /** The scope that the key lacks. */
      required_scope: string;
    };
  };
};

export type InternalError = ErrorEnvelope & {
  error: {
    code: 'internal_error';
    message: string;
    details: {
      /** The same as X-Request-Id: identifies the request in the log of the service. */
      request_id: string;
    };
  };
};

export type InvalidTokenError = ErrorEnvelope & {
  error: {
    code: 'invalid_token';
    message: string;
  };
};

export type Invitation = {
  email: string;
  name: string;
  role: 'broker' | 'seller' | 'buyer' | 'advisor' | 'viewer';
  /** The participant whom an advisor advises; required for advisors, null for everyone else. */
  advises?: string | null | undefined;
};

/** The API key that is calling. */
export type Me = {
  key: {
    id: string;
    name: string;
    /** A test key works on the sandbox of its brokerage, and on nothing else. */
    environment: 'live' | 'test';
    /** The last four characters of the token that is shown in the settings. */
    lastFour: string;
    expiresAt: string | null;
  };
  /** For a test key, the sandbox. */
  brokerage: {
    id: string;
    name: string;
  };
  scopes: string[];
  /** Requests allowed per minute. */
  ceiling: number;
};

/** The status of an NDA; its text and signature stay in the application. */
export type Nda = {
  id: string;
  dealId: string;
  /** The buyer, among the participants of the deal. */
  participantId: string;
  status: 'sent' | 'active' | 'expired' | 'revoked';
  sentAt: string;
  signedAt: string | null;
  expiresAt: string | null;
  revokedAt: string | null;
  /** When the buyer signed the next NDA, if that was before this one ended: its status is then `expired`. */
  replacedAt: string | null;
};

export type NdaList = {
  data: Nda[];
  pagination: Pagination;
};

/** An adjustment that makes the earnings of the business comparable. */
export type Normalization = {
  id: string;
  dealId: string;
  periodLabel: string;
  adjustmentCategory: 'owner_comp' | 'related_party' | 'one_time' | 'other';
  adjustmentAmount: string;
  /** The currency of the figures when it was recorded; it counts only while they are in it. Null for adjustments recorded before this was stored, which count in any. */
  currency: string | null;
  rationale: string | null;
  /** Also null for a key without participants:read. */
  createdBy: string | null;
  createdAt: string;
};

export type NormalizationList = {
  data: Normalization[];
  pagination: Pagination;
};

/** One revision of a buyer's offer. */
export type Offer = {
  id: string;
  dealId: string;
  /** The buyer, among the participants of the deal. */
  participantId: string;
  buyerUserId: string;
  /** Null for a key without participants:read. */
  buyerName: string | null;
  /** Counts a buyer's submissions, starting at 1. */
  revisionNumber: number;
  /** Whether it is the buyer's latest revision. */
  isCurrent: boolean;
  /** Whether these are the terms now agreed on the deal. */
  agreed: boolean;
  submittedAt: string;
  acceptedAt: string | null;
  declinedAt: string | null;
  payload: OfferPayload;
};

export type OfferList = {
  data: Offer[];
  pagination: Pagination;
};

export type OfferNotFoundError = {
  error: {
    code: 'offer_not_found';
    /** A summary for people. */
    message: string;
    /** Structured context, described with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

/** The terms of the offer; null means not stated. */
export type OfferPayload = {
  currency: string | null;
  purchasePrice: string | null;
  cashAtClose: string | null;
  sellerNote: string | null;
  earnout: string | null;
  rolloverEquity: string | null;
  financingContingency: boolean | null;
  targetCloseDate: string | null;
  expiresAt: string | null;
  terms: string | null;
  /** Anything else that the buyer submitted, under their own names for it. */
  other: Record<string, unknown>;
};

export type Pagination = {
  hasMore: boolean;
  /** Opaque cursor for the next page; null on the last. */
  nextCursor?: string | null | undefined;
};

/** A person on a deal. */
export type Participant = {
  id: string;
  /** The id of their account; until they accept, that of their invitation. */
  userId: string;
  name: string | null;
  email: string | null;
  role: 'broker' | 'seller' | 'buyer' | 'advisor' | 'viewer';
  status: 'invited' | 'active' | 'removed';
  /** An advisor's side is that of the participant whom they advise. */
  side: 'broker' | 'seller' | 'buyer' | 'viewer';
  /** The participant whom an advisor advises. */
  advises: string | null;
  createdAt: string;
  updatedAt: string;
};

export type ParticipantList = {
  data: Participant[];
  pagination: Pagination;
};

/** Profit and loss of one period in a snapshot. */
export type PlPeriod = {
  id: string;
  snapshotId: string;
  periodLabel: string;
  periodStartDate: string;
  periodEndDate: string;
  currency: string;
  revenue: string;
  costOfGoodsSold: string | null;
  grossProfit: string | null;
  operatingExpenses: string | null;
  ownerCompensation: string | null;
  depreciationAmortization: string | null;
  interestExpense: string | null;
  taxExpense: string | null;
  netIncome: string | null;
  ebitda: string | null;
};

export type PlPeriodDelivered = {
  periodLabel: string;
  periodStartDate: string;
  /** Not before periodStartDate. */
  periodEndDate: string;
  /** Defaults to the deal's. */
  currency?: string | undefined;
  revenue: string;
  costOfGoodsSold?: string | null | undefined;
  grossProfit?: string | null | undefined;
  operatingExpenses?: string | null | undefined;
  ownerCompensation?: string | null | undefined;
  depreciationAmortization?: string | null | undefined;
  interestExpense?: string | null | undefined;
  taxExpense?: string | null | undefined;
  netIncome?: string | null | undefined;
  ebitda?: string | null | undefined;
};

export type PlPeriodList = {
  data: PlPeriod[];
  pagination: Pagination;
};

export type PreconditionFailedError = {
  error: {
    code: 'precondition_failed';
    /** A summary for people. */
    message: string;
    /** Structured context, described with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

/** A question of a buyer, which a broker reviews and the seller answers. */
export type Question = {
  id: string;
  dealId: string;
  category:
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
  status: 'pending_broker_review' | 'with_seller' | 'answered' | 'distributed' | 'rejected' | 'withdrawn';
  askedAt: string;
  questionText: string;
  /** Null for a key without participants:read. */
  askedByName: string | null;
  /** The seller's answer, which the broker reviews. */
  answerText: string | null;
  answeredAt: string | null;
  /** The answer that the asker received. */
  distributedResponse: string | null;
  distributedAt: string | null;
  rejectionReason: string | null;
};

export type QuestionList = {
  data: Question[];
  pagination: Pagination;
};

export type RateLimitedError = ErrorEnvelope & {
  error: {
    code: 'rate_limited';
    message: string;
    details: {
      /** Requests allowed in a window of one minute; for limits of e-mails and resets, see the message. */
      limit?: number | undefined;
      /** Seconds until the window ends, as in Retry-After. */
      retry_after: number;
    };
  };
};

export type SandboxReset = {
  resetAt: string;
};

export type ValidationError = ErrorEnvelope & {
  error: {
    code: 'validation_error';
    message: string;
    details: {
      faults: Fault[];
    };
  };
};

/** Where changes are sent, with the rights of the key that created it. */
export type Webhook = {
  id: string;
  url: string;
  description: string | null;
  /** Null for all. */
  types: string[] | null;
  /** off: nothing is sent; changes made meanwhile are sent when it is on again. */
  state: 'on' | 'off';
  /** Why it was turned off. failing: nothing was accepted for three days. admin_gone: the admin who last set it up, or who was shown a token of the key that did, was suspended, removed or reset, or is no longer an admin. key_rotated: the key that last set it up was rotated, and its old token stopped at once. Later versions may add reasons. */
  offReason: (('asked' | 'failing' | 'admin_gone' | 'key_rotated') | (string & {})) | null;
  offSince: string | null;
  createdAt: string;
  updatedAt: string;
};

export type WebhookChange = {
  /** Where events are sent by POST: https, to a name on the public Internet, on port 443, or 1024 or higher, without user name and password. */
  url?: string | undefined;
  description?: string | null | undefined;
  types?:
    | (
        | 'contact.created'
        | 'contact.updated'
        | 'contact.archived'
        | 'contact.restored'
        | 'contact.removed'
        | 'deal.created'
        | 'deal.updated'
        | 'deal.admitted'
        | 'deal.removed'
        | 'participant.created'
        | 'participant.updated'
        | 'participant.removed'
        | 'nda.created'
        | 'nda.updated'
        | 'nda.removed'
        | 'offer.created'
        | 'offer.updated'
        | 'offer.removed'
        | 'question.created'
        | 'question.updated'
        | 'question.removed'
        | 'document.created'
        | 'document.updated'
        | 'document.removed'
        | 'production_document.created'
        | 'production_document.updated'
        | 'production_document.removed'
        | 'qoe_checklist_item.created'
        | 'qoe_checklist_item.updated'
        | 'qoe_checklist_item.removed'
        | 'accounting_snapshot.created'
        | 'accounting_snapshot.updated'
        | 'accounting_snapshot.removed'
        | 'normalization.created'
        | 'normalization.removed'
        | 'closing_condition.created'
        | 'closing_condition.updated'
        | 'closing_condition.removed'
        | 'finding.created'
        | 'finding.updated'
        | 'finding.removed'
        | 'financing_source.created'
        | 'financing_source.updated'
        | 'financing_source.removed'
      )[]
    | null
    | undefined;
  /** When turned on again, it continues where it stopped. */
  state?: 'on' | 'off' | undefined;
};

export type WebhookCreate = {
  /** Where events are sent by POST: https, to a name on the public Internet, on port 443, or 1024 or higher, without user name and password. */
  url: string;
  /** A note for people. */
  description?: string | undefined;
  /** Types of events to send; all if left out. */
  types?:
    | (
        | 'contact.created'
        | 'contact.updated'
        | 'contact.archived'
        | 'contact.restored'
        | 'contact.removed'
        | 'deal.created'
        | 'deal.updated'
        | 'deal.admitted'
        | 'deal.removed'
        | 'participant.created'
        | 'participant.updated'
        | 'participant.removed'
        | 'nda.created'
        | 'nda.updated'
        | 'nda.removed'
        | 'offer.created'
        | 'offer.updated'
        | 'offer.removed'
        | 'question.created'
        | 'question.updated'
        | 'question.removed'
        | 'document.created'
        | 'document.updated'
        | 'document.removed'
        | 'production_document.created'
        | 'production_document.updated'
        | 'production_document.removed'
        | 'qoe_checklist_item.created'
        | 'qoe_checklist_item.updated'
        | 'qoe_checklist_item.removed'
        | 'accounting_snapshot.created'
        | 'accounting_snapshot.updated'
        | 'accounting_snapshot.removed'
        | 'normalization.created'
        | 'normalization.removed'
        | 'closing_condition.created'
        | 'closing_condition.updated'
        | 'closing_condition.removed'
        | 'finding.created'
        | 'finding.updated'
        | 'finding.removed'
        | 'financing_source.created'
        | 'financing_source.updated'
        | 'financing_source.removed'
      )[]
    | undefined;
};

/** An event sent, or to be sent, to a webhook. Kept for 30 days. */
export type WebhookDelivery = {
  id: string;
  /** The id of the event, which is the webhook-id of the delivery. */
  eventId: string;
  type: string;
  objectType: string;
  objectId: string;
  dealId: string | null;
  /** Whether this delivery was requested again. */
  isAgain: boolean;
  /** dropped: when it was to be sent, the key could no longer see the record. */
  state: 'waiting' | 'delivered' | 'failed' | 'dropped';
  attempts: number;
  /** Also null while an earlier delivery for the same record is waiting. */
  nextAttemptAt: string | null;
  createdAt: string;
  lastAttemptAt: string | null;
  endedAt: string | null;
  /** The request of the last attempt. */
  request: {
    url: string;
    bytes: number;
    /** SHA-256 of the body in hexadecimal. The body itself is not kept. */
    digest: string;
  } | null;
  /** The response to the last attempt; null if there was none. */
  answer: {
    status: number;
    contentType: string | null;
    /** Its first 4,096 characters; null when the delivery was accepted, or when the key can no longer see the record. */
    body: string | null;
    milliseconds: number | null;
  } | null;
  /** Why the last attempt failed. */
  error: string | null;
};

export type WebhookDeliveryList = {
  data: WebhookDelivery[];
  pagination: Pagination;
};

/** What a webhook receives: a change with its record, or the test event. */
export type WebhookEvent = {
  /** The same wherever the event appears, so that duplicates can be recognized. */
  id: string;
  /** What happened to the record, as in GET /events; webhook.test is the test event. Later versions may add types. */
  type:
    | (
        | 'contact.created'
        | 'contact.updated'
        | 'contact.archived'
        | 'contact.restored'
        | 'contact.removed'
        | 'deal.created'
        | 'deal.updated'
        | 'deal.admitted'
        | 'deal.removed'
        | 'participant.created'
        | 'participant.updated'
        | 'participant.removed'
        | 'nda.created'
        | 'nda.updated'
        | 'nda.removed'
        | 'offer.created'
        | 'offer.updated'
        | 'offer.removed'
        | 'question.created'
        | 'question.updated'
        | 'question.removed'
        | 'document.created'
        | 'document.updated'
        | 'document.removed'
        | 'production_document.created'
        | 'production_document.updated'
        | 'production_document.removed'
        | 'qoe_checklist_item.created'
        | 'qoe_checklist_item.updated'
        | 'qoe_checklist_item.removed'
        | 'accounting_snapshot.created'
        | 'accounting_snapshot.updated'
        | 'accounting_snapshot.removed'
        | 'normalization.created'
        | 'normalization.removed'
        | 'closing_condition.created'
        | 'closing_condition.updated'
        | 'closing_condition.removed'
        | 'finding.created'
        | 'finding.updated'
        | 'finding.removed'
        | 'financing_source.created'
        | 'financing_source.updated'
        | 'financing_source.removed'
        | 'webhook.test'
      )
    | (string & {});
  objectType:
    | (
        | 'contact'
        | 'deal'
        | 'participant'
        | 'nda'
        | 'offer'
        | 'question'
        | 'document'
        | 'production_document'
        | 'qoe_checklist_item'
        | 'accounting_snapshot'
        | 'normalization'
        | 'closing_condition'
        | 'finding'
        | 'financing_source'
        | 'webhook'
      )
    | (string & {});
  /** For the test event, the id of the webhook. */
  objectId: string;
  /** The deal that the record belongs to; null for a contact or a test. */
  dealId: string | null;
  /** When its transaction began, or the test was requested. */
  occurredAt: string;
  /** The record at the time of sending, as its own path returns it (a contact as a ContactRecord, archived or not); null if it is gone, and for a test. */
  data: Record<string, unknown> | null;
};

export type WebhookList = {
  data: Webhook[];
  pagination: Pagination;
};

export type WebhookNotFoundError = {
  error: {
    code: 'webhook_not_found';
    /** A summary for people. */
    message: string;
    /** Structured context, described with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

export type WebhookRedelivered = {
  /** How many deliveries are sent again. */
  deliveries: number;
  /** If there are more than 10,000: the time to send as since for the rest. Otherwise null. */
  nextSince: string | null;
};

export type WebhookRedelivery = {
  /** Deliveries created at or after this time. */
  since: string;
  /** Deliveries created before this time. */
  until: string;
  /** Whether to send only failed deliveries again. */
  failedOnly?: boolean | undefined;
};

export type WebhookSecretRotation = {
  /** How long the previous secret also signs. Older ones sign as long as was sent when they were rotated, five secrets in all. 0 ends all of them. */
  overlapSeconds?: number | undefined;
};

export type WebhookTest = {
  deliveryId: string;
};

export type WebhookWithSecret = {
  id: string;
  url: string;
  description: string | null;
  /** Null for all. */
  types: string[] | null;
  /** off: nothing is sent; changes made meanwhile are sent when it is on again. */
  state: 'on' | 'off';
  /** Why it was turned off. failing: nothing was accepted for three days. admin_gone: the admin who last set it up, or who was shown a token of the key that did, was suspended, removed or reset, or is no longer an admin. key_rotated: the key that last set it up was rotated, and its old token stopped at once. Later versions may add reasons. */
  offReason: (('asked' | 'failing' | 'admin_gone' | 'key_rotated') | (string & {})) | null;
  offSince: string | null;
  createdAt: string;
  updatedAt: string;
  /** whsec_ and base64: signs every delivery, according to Standard Webhooks. Shown once. */
  secret: string;
};

/** The input and output of each operation. */
export interface Operations {
  getMe: { input: {}; output: Me };
  resetSandbox: {
    input: {
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
    };
    output: SandboxReset;
  };
  listContacts: {
    input: {
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of contacts on a page. */
      limit?: number | undefined;
      /** Which contacts to list: active (false), archived (only) or both (true). */
      archived?: 'false' | 'only' | 'true' | undefined;
      /** Contacts of this type. */
      type?: 'person' | 'company' | undefined;
      /** Contacts with this address, ignoring case. */
      email?: string | undefined;
      /** Contacts whose name, e-mail address or phone number contains each of these words, ignoring case. At most 8 words. */
      search?: string | undefined;
      /** Contacts changed at or after this time, earliest change first. */
      updatedSince?: string | undefined;
      /** Newest first, by name, or earliest change first. Defaults to updatedAt with updatedSince, otherwise to -createdAt. */
      sort?: '-createdAt' | 'displayName' | 'updatedAt' | undefined;
      /** record: include externalId, archivedAt, mergedInto, erasedAt and etag. */
      expand?: 'record' | undefined;
    };
    output: ContactList;
  };
  createContact: {
    input: {
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      body: ContactCreate;
    };
    output: Contact;
  };
  getContact: {
    input: {
      /** The id of the contact. */
      contactId: string;
      /** Whether to return the contact even if it is archived. */
      archived?: 'false' | 'true' | undefined;
      /** record: include externalId, archivedAt, mergedInto, erasedAt and etag. */
      expand?: 'record' | undefined;
    };
    output: ContactAsAsked;
  };
  updateContact: {
    input: {
      /** The id of the contact. */
      contactId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      /** Changes the contact only if this is its current entity tag, so that no newer change is overwritten. */
      ifMatch?: string | undefined;
      body: ContactPatch;
    };
    output: ContactRecord;
  };
  batchContacts: {
    input: {
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      body: ContactBatch;
    };
    output: ContactBatchResult;
  };
  getContactByExternalId: {
    input: {
      /** The id that another system has for the contact. */
      externalId: string;
      /** Whether to return the contact even if it is archived. */
      archived?: 'false' | 'true' | undefined;
    };
    output: ContactRecord;
  };
  putContactByExternalId: {
    input: {
      /** The id that another system has for the contact. */
      externalId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      /** Changes the contact only if this is its current entity tag, so that no newer change is overwritten. */
      ifMatch?: string | undefined;
      body: ContactCreate;
    };
    output: ContactRecord;
  };
  archiveContact: {
    input: {
      /** The id of the contact. */
      contactId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      /** Changes the contact only if this is its current entity tag, so that no newer change is overwritten. */
      ifMatch?: string | undefined;
    };
    output: ContactRecord;
  };
  restoreContact: {
    input: {
      /** The id of the contact. */
      contactId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      /** Changes the contact only if this is its current entity tag, so that no newer change is overwritten. */
      ifMatch?: string | undefined;
    };
    output: ContactRecord;
  };
  mergeContact: {
    input: {
      /** The id of the contact. */
      contactId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      /** Changes the contact only if this is its current entity tag, so that no newer change is overwritten. */
      ifMatch?: string | undefined;
      body: ContactMerge;
    };
    output: ContactRecord;
  };
  listDeals: {
    input: {
      /** Only deals in this state. */
      state?:
        | 'draft'
        | 'listed'
        | 'under_offer'
        | 'exclusivity'
        | 'diligence'
        | 'closing'
        | 'closed'
        | 'withdrawn'
        | undefined;
      /** Only deals changed at or after this time. Opening a deal to keys does not change its `updatedAt`: to find older deals that are opened, follow the event `deal.admitted`, or list without this parameter. */
      updatedSince?: string | undefined;
      /** Words that must all occur in title, industry or location. At most 8 words. */
      search?: string | undefined;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of deals on a page. */
      limit?: number | undefined;
    };
    output: DealList;
  };
  createDeal: {
    input: {
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      body: DealCreate;
    };
    output: Deal;
  };
  getDeal: {
    input: {
      /** The id of the deal. */
      dealId: string;
    };
    output: Deal;
  };
  updateDeal: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      /** Changes the deal only if this is its current entity tag, so that no newer change is overwritten. */
      ifMatch?: string | undefined;
      body: DealChange;
    };
    output: Deal;
  };
  moveDeal: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      /** Changes the deal only if this is its current entity tag, so that no newer change is overwritten. */
      ifMatch?: string | undefined;
      body: DealMove;
    };
    output: Deal;
  };
  listParticipants: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of participants on a page. */
      limit?: number | undefined;
    };
    output: ParticipantList;
  };
  inviteParticipant: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      body: Invitation;
    };
    output: Participant;
  };
  listOffers: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of offers on a page. */
      limit?: number | undefined;
    };
    output: OfferList;
  };
  getOffer: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** The id of the offer. */
      offerId: string;
    };
    output: Offer;
  };
  listOfferRevisions: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** The id of the offer. */
      offerId: string;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of offers on a page. */
      limit?: number | undefined;
    };
    output: OfferList;
  };
  listQuestions: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Only questions with this status. */
      status?:
        'pending_broker_review' | 'with_seller' | 'answered' | 'distributed' | 'rejected' | 'withdrawn' | undefined;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of questions on a page. */
      limit?: number | undefined;
    };
    output: QuestionList;
  };
  listNdas: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of NDAs on a page. */
      limit?: number | undefined;
    };
    output: NdaList;
  };
  listFindings: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Only findings in this category. */
      category?: string | undefined;
      /** Only findings with this severity. */
      severity?: 'critical' | 'major' | 'minor' | 'informational' | undefined;
      /** Only findings with this status. */
      status?: 'open' | 'mitigated' | 'accepted' | 'resolved' | undefined;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of findings on a page. */
      limit?: number | undefined;
    };
    output: FindingList;
  };
  listFinancingSources: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of sources of financing on a page. */
      limit?: number | undefined;
    };
    output: FinancingSourceList;
  };
  listDocuments: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Only documents in this category. */
      category?: string | undefined;
      /** Only documents with this confidentiality. */
      confidentiality?: 'public' | 'nda_gated' | 'selected_buyer_only' | undefined;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of documents on a page. */
      limit?: number | undefined;
    };
    output: DocumentList;
  };
  uploadDocument: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** The name of the file with its extension, without slashes, invisible characters, or a dot at the beginning or end. */
      filename: string;
      /** The category under which the data room lists it. */
      category: string;
      /** Who may open it: everybody on the deal, buyers with an active NDA, or the exclusive buyer. */
      confidentiality: 'public' | 'nda_gated' | 'selected_buyer_only';
      /** The diligence request that it is produced for, if any. */
      diligenceRequest?: string | undefined;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      body: NonNullable<RequestInit['body']>;
    };
    output: Document;
  };
  getDocument: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** The id of the document. */
      documentId: string;
    };
    output: Document;
  };
  getDocumentContent: {
    input: {
      /** The id of the document. */
      documentId: string;
      /** The part to return. Anything but one range of bytes returns the whole file. */
      range?: string | undefined;
      /** ETag of an earlier response: if it no longer matches, Range is ignored. */
      ifRange?: string | undefined;
    };
    output: Response;
  };
  listChecklist: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Only items in this category. */
      category?: string | undefined;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of checklist items on a page. */
      limit?: number | undefined;
    };
    output: ChecklistItemList;
  };
  listSnapshots: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of snapshots on a page. */
      limit?: number | undefined;
    };
    output: AccountingSnapshotList;
  };
  createSnapshot: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      body: AccountingSnapshotCreate;
    };
    output: AccountingSnapshot;
  };
  listPlPeriods: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Only periods of this snapshot. */
      snapshotId?: string | undefined;
      /** Only periods that begin on this day or later. */
      startDate?: string | undefined;
      /** Only periods that end on this day or earlier. */
      endDate?: string | undefined;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of periods on a page. */
      limit?: number | undefined;
    };
    output: PlPeriodList;
  };
  listCustomerRevenues: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** The snapshot to read; by default, the one completed last. */
      snapshotId?: string | undefined;
      /** A day in the period to read; by default, the period of the snapshot that ends last. */
      asOf?: string | undefined;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of customers on a page. */
      limit?: number | undefined;
    };
    output: CustomerRevenueList;
  };
  listNormalizations: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of adjustments on a page. */
      limit?: number | undefined;
    };
    output: NormalizationList;
  };
  listConditions: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Only conditions with this status. */
      status?: 'open' | 'in_progress' | 'satisfied' | 'waived' | undefined;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of conditions on a page. */
      limit?: number | undefined;
    };
    output: ClosingConditionList;
  };
  createCondition: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      body: ClosingConditionCreate;
    };
    output: ClosingCondition;
  };
  updateCondition: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** The id of the condition. */
      conditionId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      body: ClosingConditionChange;
    };
    output: ClosingCondition;
  };
  listEvents: {
    input: {
      /** nextCursor from an earlier response, to continue from there. Without it, the list begins with the oldest event that is kept; with "latest", after the newest. */
      after?: string | undefined;
      /** Maximum number of events on a page. */
      limit?: number | undefined;
      /** Only events of these types, separated by commas. */
      types?: string | undefined;
      /** data: include with each event the current state of its record. */
      expand?: 'data' | undefined;
    };
    output: EventList;
  };
  listWebhooks: {
    input: {
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of webhooks on a page. */
      limit?: number | undefined;
    };
    output: WebhookList;
  };
  createWebhook: {
    input: {
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      body: WebhookCreate;
    };
    output: WebhookWithSecret;
  };
  getWebhook: {
    input: {
      /** The id of the webhook. */
      webhookId: string;
    };
    output: Webhook;
  };
  changeWebhook: {
    input: {
      /** The id of the webhook. */
      webhookId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      body: WebhookChange;
    };
    output: Webhook;
  };
  deleteWebhook: {
    input: {
      /** The id of the webhook. */
      webhookId: string;
    };
    output: undefined;
  };
  rotateWebhookSecret: {
    input: {
      /** The id of the webhook. */
      webhookId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      body: WebhookSecretRotation;
    };
    output: WebhookWithSecret;
  };
  testWebhook: {
    input: {
      /** The id of the webhook. */
      webhookId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
    };
    output: WebhookTest;
  };
  listWebhookDeliveries: {
    input: {
      /** The id of the webhook. */
      webhookId: string;
      /** Only deliveries in this state. */
      state?: 'waiting' | 'delivered' | 'failed' | 'dropped' | undefined;
      /** nextCursor from an earlier response. */
      cursor?: string | undefined;
      /** Maximum number of deliveries on a page. */
      limit?: number | undefined;
    };
    output: WebhookDeliveryList;
  };
  getWebhookDelivery: {
    input: {
      /** The id of the webhook. */
      webhookId: string;
      /** The id of the delivery. */
      deliveryId: string;
    };
    output: WebhookDelivery;
  };
  redeliverWebhookDelivery: {
    input: {
      /** The id of the webhook. */
      webhookId: string;
      /** The id of the delivery. */
      deliveryId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
    };
    output: WebhookRedelivered;
  };
  redeliverWebhook: {
    input: {
      /** The id of the webhook. */
      webhookId: string;
      /** Makes it safe to repeat a request: within 24 hours, the same key with the same body returns the first response again. */
      idempotencyKey?: string | undefined;
      body: WebhookRedelivery;
    };
    output: WebhookRedelivered;
  };
}

/** The operations that return pages. */
export type ListName =
  | 'listContacts'
  | 'listDeals'
  | 'listParticipants'
  | 'listOffers'
  | 'listOfferRevisions'
  | 'listQuestions'
  | 'listNdas'
  | 'listFindings'
  | 'listFinancingSources'
  | 'listDocuments'
  | 'listChecklist'
  | 'listSnapshots'
  | 'listPlPeriods'
  | 'listCustomerRevenues'
  | 'listNormalizations'
  | 'listConditions'
  | 'listWebhooks'
  | 'listWebhookDeliveries';

/** How each operation is sent; the keys of `headers` and `query` are names of the input. */
export const operations = {
  getMe: { method: 'GET', path: '/me', query: {}, headers: {}, body: null },
  resetSandbox: {
    method: 'POST',
    path: '/sandbox/reset',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: null,
  },
  listContacts: {
    method: 'GET',
    path: '/contacts',
    query: {
      cursor: 'cursor',
      limit: 'limit',
      archived: 'archived',
      type: 'type',
      email: 'email',
      search: 'search',
      updatedSince: 'updatedSince',
      sort: 'sort',
      expand: 'expand',
    },
    headers: {},
    body: null,
  },
  createContact: {
    method: 'POST',
    path: '/contacts',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
  getContact: {
    method: 'GET',
    path: '/contacts/{contactId}',
    query: { archived: 'archived', expand: 'expand' },
    headers: {},
    body: null,
  },
  updateContact: {
    method: 'PATCH',
    path: '/contacts/{contactId}',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key', ifMatch: 'If-Match' },
    body: 'application/merge-patch+json',
  },
  batchContacts: {
    method: 'POST',
    path: '/contacts/batch',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
  getContactByExternalId: {
    method: 'GET',
    path: '/contacts/by-external-id/{externalId}',
    query: { archived: 'archived' },
    headers: {},
    body: null,
  },
  putContactByExternalId: {
    method: 'PUT',
    path: '/contacts/by-external-id/{externalId}',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key', ifMatch: 'If-Match' },
    body: 'application/json',
  },
  archiveContact: {
    method: 'POST',
    path: '/contacts/archive/{contactId}',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key', ifMatch: 'If-Match' },
    body: null,
  },
  restoreContact: {
    method: 'POST',
    path: '/contacts/restore/{contactId}',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key', ifMatch: 'If-Match' },
    body: null,
  },
  mergeContact: {
    method: 'POST',
    path: '/contacts/merge/{contactId}',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key', ifMatch: 'If-Match' },
    body: 'application/json',
  },
  listDeals: {
    method: 'GET',
    path: '/deals',
    query: { state: 'state', updatedSince: 'updatedSince', search: 'search', cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  createDeal: {
    method: 'POST',
    path: '/deals',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
  getDeal: { method: 'GET', path: '/deals/{dealId}', query: {}, headers: {}, body: null },
  updateDeal: {
    method: 'PATCH',
    path: '/deals/{dealId}',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key', ifMatch: 'If-Match' },
    body: 'application/json',
  },
  moveDeal: {
    method: 'POST',
    path: '/deals/{dealId}/state',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key', ifMatch: 'If-Match' },
    body: 'application/json',
  },
  listParticipants: {
    method: 'GET',
    path: '/deals/{dealId}/participants',
    query: { cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  inviteParticipant: {
    method: 'POST',
    path: '/deals/{dealId}/invitations',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
  listOffers: {
    method: 'GET',
    path: '/deals/{dealId}/offers',
    query: { cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  getOffer: { method: 'GET', path: '/deals/{dealId}/offers/{offerId}', query: {}, headers: {}, body: null },
  listOfferRevisions: {
    method: 'GET',
    path: '/deals/{dealId}/offers/{offerId}/revisions',
    query: { cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  listQuestions: {
    method: 'GET',
    path: '/deals/{dealId}/questions',
    query: { status: 'status', cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  listNdas: {
    method: 'GET',
    path: '/deals/{dealId}/ndas',
    query: { cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  listFindings: {
    method: 'GET',
    path: '/deals/{dealId}/findings',
    query: { category: 'category', severity: 'severity', status: 'status', cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  listFinancingSources: {
    method: 'GET',
    path: '/deals/{dealId}/financing-sources',
    query: { cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  listDocuments: {
    method: 'GET',
    path: '/deals/{dealId}/documents',
    query: { category: 'category', confidentiality: 'confidentiality', cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  uploadDocument: {
    method: 'POST',
    path: '/deals/{dealId}/documents',
    query: {
      filename: 'filename',
      category: 'category',
      confidentiality: 'confidentiality',
      diligenceRequest: 'diligenceRequest',
    },
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/octet-stream',
  },
  getDocument: { method: 'GET', path: '/deals/{dealId}/documents/{documentId}', query: {}, headers: {}, body: null },
  getDocumentContent: {
    method: 'GET',
    path: '/documents/{documentId}/content',
    query: {},
    headers: { range: 'Range', ifRange: 'If-Range' },
    body: null,
    isFile: true,
  },
  listChecklist: {
    method: 'GET',
    path: '/deals/{dealId}/qoe/checklist',
    query: { category: 'category', cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  listSnapshots: {
    method: 'GET',
    path: '/deals/{dealId}/qoe/snapshots',
    query: { cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  createSnapshot: {
    method: 'POST',
    path: '/deals/{dealId}/qoe/snapshots',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
  listPlPeriods: {
    method: 'GET',
    path: '/deals/{dealId}/qoe/periods',
    query: { snapshotId: 'snapshotId', startDate: 'startDate', endDate: 'endDate', cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  listCustomerRevenues: {
    method: 'GET',
    path: '/deals/{dealId}/qoe/customers',
    query: { snapshotId: 'snapshotId', asOf: 'asOf', cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  listNormalizations: {
    method: 'GET',
    path: '/deals/{dealId}/qoe/normalizations',
    query: { cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  listConditions: {
    method: 'GET',
    path: '/deals/{dealId}/conditions',
    query: { status: 'status', cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  createCondition: {
    method: 'POST',
    path: '/deals/{dealId}/conditions',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
  updateCondition: {
    method: 'PATCH',
    path: '/deals/{dealId}/conditions/{conditionId}',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
  listEvents: {
    method: 'GET',
    path: '/events',
    query: { after: 'after', limit: 'limit', types: 'types', expand: 'expand' },
    headers: {},
    body: null,
  },
  listWebhooks: {
    method: 'GET',
    path: '/webhooks',
    query: { cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  createWebhook: {
    method: 'POST',
    path: '/webhooks',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
  getWebhook: { method: 'GET', path: '/webhooks/{webhookId}', query: {}, headers: {}, body: null },
  changeWebhook: {
    method: 'PATCH',
    path: '/webhooks/{webhookId}',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
  deleteWebhook: { method: 'DELETE', path: '/webhooks/{webhookId}', query: {}, headers: {}, body: null, isEmpty: true },
  rotateWebhookSecret: {
    method: 'POST',
    path: '/webhooks/{webhookId}/rotate-secret',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
  testWebhook: {
    method: 'POST',
    path: '/webhooks/{webhookId}/test',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: null,
  },
  listWebhookDeliveries: {
    method: 'GET',
    path: '/webhooks/{webhookId}/deliveries',
    query: { state: 'state', cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  getWebhookDelivery: {
    method: 'GET',
    path: '/webhooks/{webhookId}/deliveries/{deliveryId}',
    query: {},
    headers: {},
    body: null,
  },
  redeliverWebhookDelivery: {
    method: 'POST',
    path: '/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: null,
  },
  redeliverWebhook: {
    method: 'POST',
    path: '/webhooks/{webhookId}/redeliver',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
} as const;

/** A method for each operation. */
export abstract class Calls {
  protected abstract call<Name extends keyof Operations>(
    name: Name,
    input: Operations[Name]['input'],
    options?: CallOptions,
  ): Promise<Operations[Name]['output']>;

  /** Get the API key that is calling. Its brokerage, its scopes and how many requests a minute it may make. Any key may call this. */
  getMe(input: Operations['getMe']['input'] = {}, options?: CallOptions): Promise<Operations['getMe']['output']> {
    return this.call('getMe', input, options);
  }

  /** Reset the sandbox. Restores the demo data of a test key's sandbox, under the same ids; webhooks stay, and the changes are events like any other. Any test key may call this, once every ten seconds for all of them: sooner returns 429. */
  resetSandbox(
    input: Operations['resetSandbox']['input'] = {},
    options?: CallOptions,
  ): Promise<Operations['resetSandbox']['output']> {
    return this.call('resetSandbox', input, options);
  }

  /** List contacts. Newest first unless sort says otherwise. Needs the scope contacts:read. Rows added in the meantime do not shift the pages. */
  listContacts(
    input: Operations['listContacts']['input'] = {},
    options?: CallOptions,
  ): Promise<Operations['listContacts']['output']> {
    return this.call('listContacts', input, options);
  }

  /** Create a contact. Needs the scope contacts:write. */
  createContact(
    input: Operations['createContact']['input'],
    options?: CallOptions,
  ): Promise<Operations['createContact']['output']> {
    return this.call('createContact', input, options);
  }

  /** Get a contact. Needs the scope contacts:read. */
  getContact(
    input: Operations['getContact']['input'],
    options?: CallOptions,
  ): Promise<Operations['getContact']['output']> {
    return this.call('getContact', input, options);
  }

  /** Change a contact. A merge patch (RFC 7396): properties left out stay as they are; null clears a value. Needs the scopes contacts:write and contacts:read. */
  updateContact(
    input: Operations['updateContact']['input'],
    options?: CallOptions,
  ): Promise<Operations['updateContact']['output']> {
    return this.call('updateContact', input, options);
  }

  /** Change many contacts. Up to 200 changes, made in order, each as if sent on its own: one that is refused does not affect the others. Each item counts as a request, so a batch cannot have more items than the key's ceiling. Needs the scopes contacts:write and contacts:read. */
  batchContacts(
    input: Operations['batchContacts']['input'],
    options?: CallOptions,
  ): Promise<Operations['batchContacts']['output']> {
    return this.call('batchContacts', input, options);
  }

  /** Get a contact by the id that another system has for it. For a merged contact, returns the contact that it was merged into. Needs the scope contacts:read. */
  getContactByExternalId(
    input: Operations['getContactByExternalId']['input'],
    options?: CallOptions,
  ): Promise<Operations['getContactByExternalId']['output']> {
    return this.call('getContactByExternalId', input, options);
  }

  /** Create or replace a contact by the id that another system has for it. Properties left out are cleared. Needs the scopes contacts:write and contacts:read. */
  putContactByExternalId(
    input: Operations['putContactByExternalId']['input'],
    options?: CallOptions,
  ): Promise<Operations['putContactByExternalId']['output']> {
    return this.call('putContactByExternalId', input, options);
  }

  /** Archive a contact. It is no longer listed unless archived contacts are requested. If this was already done, the response is the same. Needs the scopes contacts:write and contacts:read. */
  archiveContact(
    input: Operations['archiveContact']['input'],
    options?: CallOptions,
  ): Promise<Operations['archiveContact']['output']> {
    return this.call('archiveContact', input, options);
  }

  /** Restore an archived contact. A contact that was merged into another one becomes independent again; one that was erased cannot be restored. If this was already done, the response is the same. Needs the scopes contacts:write and contacts:read. */
  restoreContact(
    input: Operations['restoreContact']['input'],
    options?: CallOptions,
  ): Promise<Operations['restoreContact']['output']> {
    return this.call('restoreContact', input, options);
  }

  /** Merge a duplicate into a contact. The contact takes over the values that it lacks; the duplicate is archived and points to it. Needs the scopes contacts:write and contacts:read. */
  mergeContact(
    input: Operations['mergeContact']['input'],
    options?: CallOptions,
  ): Promise<Operations['mergeContact']['output']> {
    return this.call('mergeContact', input, options);
  }

  /** List deals. The deals that are open to the brokerage's keys, newest first. Needs the scope deals:read. */
  listDeals(
    input: Operations['listDeals']['input'] = {},
    options?: CallOptions,
  ): Promise<Operations['listDeals']['output']> {
    return this.call('listDeals', input, options);
  }

  /** Open a deal. The deal starts in draft, open to the brokerage's keys, with the person who issued the key as its broker, or the member named in brokerEmail. Needs the scopes deals:write and deals:read. */
  createDeal(
    input: Operations['createDeal']['input'],
    options?: CallOptions,
  ): Promise<Operations['createDeal']['output']> {
    return this.call('createDeal', input, options);
  }

  /** Get a deal. Needs the scope deals:read. */
  getDeal(input: Operations['getDeal']['input'], options?: CallOptions): Promise<Operations['getDeal']['output']> {
    return this.call('getDeal', input, options);
  }

  /** Edit a deal. Properties left out stay as they are; null clears a value. Needs the scopes deals:write and deals:read. */
  updateDeal(
    input: Operations['updateDeal']['input'],
    options?: CallOptions,
  ): Promise<Operations['updateDeal']['output']> {
    return this.call('updateDeal', input, options);
  }

  /** Move a deal to another state. One state at a time, as the sale allows. Only a person can move a deal into exclusivity, by granting it. Needs the scopes deals:write and deals:read. */
  moveDeal(input: Operations['moveDeal']['input'], options?: CallOptions): Promise<Operations['moveDeal']['output']> {
    return this.call('moveDeal', input, options);
  }

  /** List the people on a deal. In the order in which they were added, including people who are only invited or were removed. Needs the scope participants:read. */
  listParticipants(
    input: Operations['listParticipants']['input'],
    options?: CallOptions,
  ): Promise<Operations['listParticipants']['output']> {
    return this.call('listParticipants', input, options);
  }

  /** Invite somebody to a deal. Sends an e-mail in the name of the person who issued the key, who must be a broker of the deal or an admin of the brokerage; it counts towards the number that they may send. A person who was invited before and has not joined is invited again; in another role only after a broker has withdrawn the invitation that waits (`already_invited`). Brokers and their advisors must be members of the brokerage (`not_a_member`). Needs the scopes participants:write and participants:read. */
  inviteParticipant(
    input: Operations['inviteParticipant']['input'],
    options?: CallOptions,
  ): Promise<Operations['inviteParticipant']['output']> {
    return this.call('inviteParticipant', input, options);
  }

  /** List the offers on a deal. The current revision of each buyer, newest first. Needs the scope offers:read. */
  listOffers(
    input: Operations['listOffers']['input'],
    options?: CallOptions,
  ): Promise<Operations['listOffers']['output']> {
    return this.call('listOffers', input, options);
  }

  /** Get an offer. One revision of an offer, current or not. Needs the scope offers:read. */
  getOffer(input: Operations['getOffer']['input'], options?: CallOptions): Promise<Operations['getOffer']['output']> {
    return this.call('getOffer', input, options);
  }

  /** List the revisions of an offer. Every revision by the buyer who made this one, newest first. Needs the scope offers:read. */
  listOfferRevisions(
    input: Operations['listOfferRevisions']['input'],
    options?: CallOptions,
  ): Promise<Operations['listOfferRevisions']['output']> {
    return this.call('listOfferRevisions', input, options);
  }

  /** List the questions on a deal. All of them, newest first. Needs the scope questions:read. */
  listQuestions(
    input: Operations['listQuestions']['input'],
    options?: CallOptions,
  ): Promise<Operations['listQuestions']['output']> {
    return this.call('listQuestions', input, options);
  }

  /** List where the NDAs of a deal stand. Newest first. Needs the scope ndas:read. */
  listNdas(input: Operations['listNdas']['input'], options?: CallOptions): Promise<Operations['listNdas']['output']> {
    return this.call('listNdas', input, options);
  }

  /** List the findings on a deal. Newest first. Needs the scope findings:read. */
  listFindings(
    input: Operations['listFindings']['input'],
    options?: CallOptions,
  ): Promise<Operations['listFindings']['output']> {
    return this.call('listFindings', input, options);
  }

  /** List the sources of financing of a deal. Newest first. Needs the scope financing:read. */
  listFinancingSources(
    input: Operations['listFinancingSources']['input'],
    options?: CallOptions,
  ): Promise<Operations['listFinancingSources']['output']> {
    return this.call('listFinancingSources', input, options);
  }

  /** List the documents of a deal. Newest first. Needs the scope documents:read. */
  listDocuments(
    input: Operations['listDocuments']['input'],
    options?: CallOptions,
  ): Promise<Operations['listDocuments']['output']> {
    return this.call('listDocuments', input, options);
  }

  /** Upload a document. Send the file as the body: up to 2 GB, of a type that data rooms accept. Its name and who may open it go in the query. Needs the scopes documents:write and documents:read. */
  uploadDocument(
    input: Operations['uploadDocument']['input'],
    options?: CallOptions,
  ): Promise<Operations['uploadDocument']['output']> {
    return this.call('uploadDocument', input, options);
  }

  /** Get the metadata of a document. Needs the scope documents:read. */
  getDocument(
    input: Operations['getDocument']['input'],
    options?: CallOptions,
  ): Promise<Operations['getDocument']['output']> {
    return this.call('getDocument', input, options);
  }

  /** Get the content of a document. The file, or the part that a Range header requests. The openings of the document show that the key opened it. Needs the scope documents:content. */
  getDocumentContent(
    input: Operations['getDocumentContent']['input'],
    options?: CallOptions,
  ): Promise<Operations['getDocumentContent']['output']> {
    return this.call('getDocumentContent', input, options);
  }

  /** List the QoE checklist of a deal. In the order of the checklist. Needs the scope qoe:read. */
  listChecklist(
    input: Operations['listChecklist']['input'],
    options?: CallOptions,
  ): Promise<Operations['listChecklist']['output']> {
    return this.call('listChecklist', input, options);
  }

  /** List the accounting snapshots of a deal. Newest first. Needs the scope qoe:read. */
  listSnapshots(
    input: Operations['listSnapshots']['input'],
    options?: CallOptions,
  ): Promise<Operations['listSnapshots']['output']> {
    return this.call('listSnapshots', input, options);
  }

  /** Deliver an accounting snapshot. The books as they are now, from another system. All rows are stored, or none. At most 1,048,576 bytes. Needs the scopes qoe:write and qoe:read. */
  createSnapshot(
    input: Operations['createSnapshot']['input'],
    options?: CallOptions,
  ): Promise<Operations['createSnapshot']['output']> {
    return this.call('createSnapshot', input, options);
  }

  /** List profit and loss by period. The periods of every snapshot of the deal, latest period first. Needs the scope qoe:read. */
  listPlPeriods(
    input: Operations['listPlPeriods']['input'],
    options?: CallOptions,
  ): Promise<Operations['listPlPeriods']['output']> {
    return this.call('listPlPeriods', input, options);
  }

  /** List customers by revenue. The customers of one period of one snapshot, largest first. Several currencies are listed one after another, beginning with that of the profit and loss. Needs the scope qoe:read. */
  listCustomerRevenues(
    input: Operations['listCustomerRevenues']['input'],
    options?: CallOptions,
  ): Promise<Operations['listCustomerRevenues']['output']> {
    return this.call('listCustomerRevenues', input, options);
  }

  /** List the adjustments of a deal. Newest first. Needs the scope qoe:read. */
  listNormalizations(
    input: Operations['listNormalizations']['input'],
    options?: CallOptions,
  ): Promise<Operations['listNormalizations']['output']> {
    return this.call('listNormalizations', input, options);
  }

  /** List the closing conditions of a deal. Newest first. Needs the scope conditions:read. */
  listConditions(
    input: Operations['listConditions']['input'],
    options?: CallOptions,
  ): Promise<Operations['listConditions']['output']> {
    return this.call('listConditions', input, options);
  }

  /** Add a closing condition. Needs the scopes conditions:write and conditions:read, and participants:read to name its owner. */
  createCondition(
    input: Operations['createCondition']['input'],
    options?: CallOptions,
  ): Promise<Operations['createCondition']['output']> {
    return this.call('createCondition', input, options);
  }

  /** Change a closing condition. Properties left out stay as they are; null clears a value. Needs the scopes conditions:write and conditions:read, and participants:read to name its owner. */
  updateCondition(
    input: Operations['updateCondition']['input'],
    options?: CallOptions,
  ): Promise<Operations['updateCondition']['output']> {
    return this.call('updateCondition', input, options);
  }

  /** List what changed. In the order in which changes were committed, so nothing new appears before what you have read. Needs the scope events:read, and for each event the scope that reads its record. nextCursor is never null: keep it and continue from it. */
  listEvents(
    input: Operations['listEvents']['input'] = {},
    options?: CallOptions,
  ): Promise<Operations['listEvents']['output']> {
    return this.call('listEvents', input, options);
  }

  /** List webhooks. This key's webhooks, newest first. Needs the scope webhooks:read. */
  listWebhooks(
    input: Operations['listWebhooks']['input'] = {},
    options?: CallOptions,
  ): Promise<Operations['listWebhooks']['output']> {
    return this.call('listWebhooks', input, options);
  }

  /** Add a webhook. It receives changes from now on that this key can see. At most 20 webhooks per key, and at most 200 turned on per brokerage. Needs the scopes webhooks:write and webhooks:read. */
  createWebhook(
    input: Operations['createWebhook']['input'],
    options?: CallOptions,
  ): Promise<Operations['createWebhook']['output']> {
    return this.call('createWebhook', input, options);
  }

  /** Get a webhook. Needs the scope webhooks:read. */
  getWebhook(
    input: Operations['getWebhook']['input'],
    options?: CallOptions,
  ): Promise<Operations['getWebhook']['output']> {
    return this.call('getWebhook', input, options);
  }

  /** Change a webhook. A merge patch: properties left out stay as they are; null clears a value. At most 200 webhooks of a brokerage can be on. Needs the scopes webhooks:write and webhooks:read. */
  changeWebhook(
    input: Operations['changeWebhook']['input'],
    options?: CallOptions,
  ): Promise<Operations['changeWebhook']['output']> {
    return this.call('changeWebhook', input, options);
  }

  /** Delete a webhook. The log of its deliveries is deleted too. Needs the scopes webhooks:write and webhooks:read. */
  deleteWebhook(
    input: Operations['deleteWebhook']['input'],
    options?: CallOptions,
  ): Promise<Operations['deleteWebhook']['output']> {
    return this.call('deleteWebhook', input, options);
  }

  /** Rotate the secret of a webhook. The previous secret also signs for a while, a day by default: each delivery then has two signatures. Needs the scopes webhooks:write and webhooks:read. */
  rotateWebhookSecret(
    input: Operations['rotateWebhookSecret']['input'],
    options?: CallOptions,
  ): Promise<Operations['rotateWebhookSecret']['output']> {
    return this.call('rotateWebhookSecret', input, options);
  }

  /** Send a test event. Its type is webhook.test, and its data is null. Needs the scopes webhooks:write and webhooks:read. */
  testWebhook(
    input: Operations['testWebhook']['input'],
    options?: CallOptions,
  ): Promise<Operations['testWebhook']['output']> {
    return this.call('testWebhook', input, options);
  }

  /** List deliveries of a webhook. Newest first, from the last 30 days. Needs the scope webhooks:read. */
  listWebhookDeliveries(
    input: Operations['listWebhookDeliveries']['input'],
    options?: CallOptions,
  ): Promise<Operations['listWebhookDeliveries']['output']> {
    return this.call('listWebhookDeliveries', input, options);
  }

  /** Get a delivery of a webhook. Needs the scope webhooks:read. */
  getWebhookDelivery(
    input: Operations['getWebhookDelivery']['input'],
    options?: CallOptions,
  ): Promise<Operations['getWebhookDelivery']['output']> {
    return this.call('getWebhookDelivery', input, options);
  }

  /** Send a delivery again. The delivery must have ended; it keeps its webhook-id. Needs the scopes webhooks:write and webhooks:read. */
  redeliverWebhookDelivery(
    input: Operations['redeliverWebhookDelivery']['input'],
    options?: CallOptions,
  ): Promise<Operations['redeliverWebhookDelivery']['output']> {
    return this.call('redeliverWebhookDelivery', input, options);
  }

  /** Send the deliveries of a period again. Only deliveries that have ended, at most the earliest 10,000, each event once, in the order of the changes. Needs the scopes webhooks:write and webhooks:read. */
  redeliverWebhook(
    input: Operations['redeliverWebhook']['input'],
    options?: CallOptions,
  ): Promise<Operations['redeliverWebhook']['output']> {
    return this.call('redeliverWebhook', input, options);
  }
}
