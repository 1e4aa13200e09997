/** Made of the OpenAPI document by `npm run client`: change the declarations of the operations instead. */

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
  /** Its owner; null also to a key without participants:read. */
  ownerUserId: string | null;
  deadline: string | null;
  /** Whether its deadline has passed and it is not met. */
  overdue: boolean;
  completedAt: string | null;
  createdAt: string;
  updatedAt: string;
};

/** What is left out stays as it is; null takes a value away. */
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
    /** Structured context; what it holds is said with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

export type ConflictError = {
  error: {
    code: 'conflict';
    /** A summary for people. */
    message: string;
    /** Structured context; what it holds is said with each response. */
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

/** A contact; with expand=record it has the last three properties too. */
export type ContactAsAsked = Contact & {
  /** Its id in another system. */
  externalId?: string | null | undefined;
  /** When it was archived. */
  archivedAt?: string | null | undefined;
  /** The contact that this duplicate was merged into. */
  mergedInto?: string | null | undefined;
};

export type ContactBatch = {
  items: ContactBatchItem[];
};

/** As POST /contacts, with an external id if you like. */
export type ContactBatchCreate = {
  action: 'create';
  contact: ContactCreateWithExternalId;
};

export type ContactBatchItem = ContactBatchCreate | ContactBatchUpdate | ContactBatchUpsert;

export type ContactBatchItemResult = {
  /** The status that the change would have had alone. */
  status: number;
  /** The contact, with a status of 2xx. */
  contact?: ContactRecord | undefined;
  /** The error, with any other status. */
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

/** As PATCH /contacts/{contactId}. */
export type ContactBatchUpdate = {
  action: 'update';
  id: string;
  /** Change it only if this is its entity tag, as in the header If-Match. */
  ifMatch?: string | undefined;
  contact: ContactPatch;
};

/** As PUT /contacts/by-external-id/{externalId}. */
export type ContactBatchUpsert = {
  action: 'upsert';
  /** The id of the contact in another system, unique in the brokerage. */
  externalId: string;
  /** Change it only if this is its entity tag, as in the header If-Match. */
  ifMatch?: string | undefined;
  contact: ContactCreate;
};

export type ContactCreate = {
  /** Whether this is a person or a company. */
  type: 'person' | 'company';
  /** The name to show. Of any length that the body of the request holds, without null characters (U+0000) and halves of surrogate pairs. */
  displayName: string;
  /** A mailbox of RFC 5321 in ASCII, whose domain has a dot in it or is an address of IPv4 or IPv6 in brackets. */
  email?: string | undefined;
  /** Not validated, because numbers are written in many ways. Of any length that the body of the request holds, without null characters (U+0000) and halves of surrogate pairs. */
  phone?: string | undefined;
};

export type ContactCreateWithExternalId = {
  /** Whether this is a person or a company. */
  type: 'person' | 'company';
  /** The name to show. Of any length that the body of the request holds, without null characters (U+0000) and halves of surrogate pairs. */
  displayName: string;
  /** A mailbox of RFC 5321 in ASCII, whose domain has a dot in it or is an address of IPv4 or IPv6 in brackets. */
  email?: string | undefined;
  /** Not validated, because numbers are written in many ways. Of any length that the body of the request holds, without null characters (U+0000) and halves of surrogate pairs. */
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

/** A merge patch (RFC 7396): what is left out stays as it is, null clears. */
export type ContactPatch = {
  /** Whether this is a person or a company. */
  type?: 'person' | 'company' | undefined;
  /** The name to show. Of any length that the body of the request holds, without null characters (U+0000) and halves of surrogate pairs. */
  displayName?: string | undefined;
  email?: string | null | undefined;
  phone?: string | null | undefined;
  externalId?: string | null | undefined;
};

/** A contact with what another system needs to keep in step with it. */
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
  createdAt: string;
  updatedAt: string;
};

export type CursorExpiredError = {
  error: {
    code: 'cursor_expired';
    /** A summary for people. */
    message: string;
    /** Structured context; what it holds is said with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

/** What one customer brought in one period. */
export type CustomerRevenue = {
  id: string;
  snapshotId: string;
  customerName: string;
  periodStartDate: string;
  periodEndDate: string;
  currency: string;
  revenueTotal: string;
  /** Of all customers of the period in its currency, from 0 to 1; beyond that where some have credits, and null when these are as much as the sales, or more. */
  revenueShare: string | null;
  /** 1 for the largest in its currency; the same for equal totals. */
  rank: number;
};

export type CustomerRevenueDelivered = {
  customerName: string;
  periodStartDate: string;
  /** Not before periodStartDate. */
  periodEndDate: string;
  /** Without it, the deal's. */
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
  /** The state it is in now: one whose exclusivity has lapsed is listed again. */
  state: 'draft' | 'listed' | 'under_offer' | 'exclusivity' | 'diligence' | 'closing' | 'closed' | 'withdrawn';
  /** The brokerage. */
  organizationId: string;
  industry: string | null;
  location: string | null;
  summary: string | null;
  askingPrice: string | null;
  currency: string;
  /** Whether a buyer learns who sells only under an active NDA. */
  needsNda: boolean;
  exclusiveBuyerUserId: string | null;
  exclusivityGrantedAt: string | null;
  exclusivityExpiresAt: string | null;
  closedAt: string | null;
  createdAt: string;
  updatedAt: string;
};

/** What is left out stays as it is; null takes a value away. */
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
};

export type DealList = {
  data: Deal[];
  pagination: Pagination;
};

export type DealMove = {
  to: 'draft' | 'listed' | 'under_offer' | 'exclusivity' | 'diligence' | 'closing' | 'closed' | 'withdrawn';
  /** Closes the deal even when something is missing for a closing. */
  confirm?: boolean | undefined;
};

export type DealNotFoundError = {
  error: {
    code: 'deal_not_found';
    /** A summary for people. */
    message: string;
    /** Structured context; what it holds is said with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

export type DeliveryNotFoundError = {
  error: {
    code: 'delivery_not_found';
    /** A summary for people. */
    message: string;
    /** Structured context; what it holds is said with each response. */
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
  /** Of its content, in hexadecimal digits; null where it is not known. */
  sha256: string | null;
  uploadedAt: string;
  /** What it was produced for. */
  diligenceRequest: string | null;
  /** Null also to a key without participants:read. */
  uploadedByName: string | null;
};

/** The file, as it is. */
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
    /** Structured context; what it holds is said with each response. */
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
    /** Structured context; what it holds is said with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

/** Something that changed. */
export type Event = {
  /** The same wherever the event appears, so that duplicates can be recognized. */
  id: string;
  /** What became of the record. A document that was removed and is restored within the hour comes as updated: what is kept of it must be made again then. Later versions may add types. */
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
        | 'participant.created'
        | 'participant.updated'
        | 'nda.created'
        | 'nda.updated'
        | 'offer.created'
        | 'offer.updated'
        | 'question.created'
        | 'question.updated'
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
        | 'normalization.created'
        | 'normalization.removed'
        | 'closing_condition.created'
        | 'closing_condition.updated'
        | 'closing_condition.removed'
        | 'finding.created'
        | 'finding.updated'
        | 'financing_source.created'
        | 'financing_source.updated'
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
  /** When its transaction began. The list is in another order: that of commits. */
  occurredAt: string;
  /** With expand=data: the record as it is now, as its own path answers it (a contact as a ContactRecord, archived or not); null when it is gone, or the key does not see it (any more). */
  data?: Record<string, unknown> | null | undefined;
};

export type EventList = {
  data: Event[];
  pagination: Pagination;
};

/** One thing to change in a request. */
export type Fault = {
  /** Where it is. */
  in: 'body' | 'query' | 'header' | 'path';
  /** The property, parts joined by dots, the parameter or the header; '' is the whole. */
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
  /** Null also to a key without participants:read. */
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
  /** Null also to a key without participants:read. */
  ownerUserId: string | null;
  /** Null also to a key without participants:read. */
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
      /** That of X-Request-Id: whoever runs the service finds the request in the log by it. */
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
  /** The participant whom an advisor advises: of an advisor, and of nobody else. */
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
  /** Of a test key the sandbox. */
  brokerage: {
    id: string;
    name: string;
  };
  scopes: string[];
  /** Requests a minute. */
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
  rationale: string | null;
  /** Null also to a key without participants:read. */
  createdBy: string | null;
  createdAt: string;
};

export type NormalizationList = {
  data: Normalization[];
  pagination: Pagination;
};

/** A revision of what a buyer offers. */
export type Offer = {
  id: string;
  dealId: string;
  /** The buyer, among the participants of the deal. */
  participantId: string;
  buyerUserId: string;
  /** Null to a key without participants:read. */
  buyerName: string | null;
  /** Counts a buyer's submissions from 1. */
  revisionNumber: number;
  /** Whether it is the buyer's latest revision. */
  isCurrent: boolean;
  /** Whether these are the terms that are agreed on the deal now. */
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
    /** Structured context; what it holds is said with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

/** What is offered. Null: not stated. */
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
  /** What the buyer submitted besides, under the names that they gave. */
  other: Record<string, unknown>;
};

export type Pagination = {
  hasMore: boolean;
  /** Opaque cursor for the next page; null on the last. */
  nextCursor?: string | null | undefined;
};

/** Somebody on a deal. */
export type Participant = {
  id: string;
  /** Their account; until they have accepted, that of their invitation. */
  userId: string;
  name: string | null;
  email: string | null;
  role: 'broker' | 'seller' | 'buyer' | 'advisor' | 'viewer';
  status: 'invited' | 'active' | 'removed';
  /** An advisor's is that of whom they advise. */
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

/** Profit and loss of one period, as a snapshot has it. */
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
  /** Without it, the deal's. */
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
    /** Structured context; what it holds is said with each response. */
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
  /** Null to a key without participants:read. */
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
      /** Requests allowed in the window of a minute; of mails and resets it is in the message. */
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
  /** off: nothing is sent; what changes meanwhile is sent when it is on again. */
  state: 'on' | 'off';
  /** failing: it was turned off because nothing was accepted for three days; admin_gone, key_rotated: with the admin or key that last set it up, or an admin who was shown a token of the key that did. More may come. */
  offReason: (('asked' | 'failing' | 'admin_gone' | 'key_rotated') | (string & {})) | null;
  offSince: string | null;
  createdAt: string;
  updatedAt: string;
};

export type WebhookChange = {
  /** Where events are sent by POST: https, to a name on the public Internet, on port 443 or from 1024 on, without user and password. */
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
        | 'participant.created'
        | 'participant.updated'
        | 'nda.created'
        | 'nda.updated'
        | 'offer.created'
        | 'offer.updated'
        | 'question.created'
        | 'question.updated'
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
        | 'normalization.created'
        | 'normalization.removed'
        | 'closing_condition.created'
        | 'closing_condition.updated'
        | 'closing_condition.removed'
        | 'finding.created'
        | 'finding.updated'
        | 'financing_source.created'
        | 'financing_source.updated'
      )[]
    | null
    | undefined;
  /** Turned on again, it continues where it stopped. */
  state?: 'on' | 'off' | undefined;
};

export type WebhookCreate = {
  /** Where events are sent by POST: https, to a name on the public Internet, on port 443 or from 1024 on, without user and password. */
  url: string;
  /** For people. */
  description?: string | undefined;
  /** Types of events that are sent; all when left out. */
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
        | 'participant.created'
        | 'participant.updated'
        | 'nda.created'
        | 'nda.updated'
        | 'offer.created'
        | 'offer.updated'
        | 'question.created'
        | 'question.updated'
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
        | 'normalization.created'
        | 'normalization.removed'
        | 'closing_condition.created'
        | 'closing_condition.updated'
        | 'closing_condition.removed'
        | 'finding.created'
        | 'finding.updated'
        | 'financing_source.created'
        | 'financing_source.updated'
      )[]
    | undefined;
};

/** An event on its way to a webhook. Kept 30 days. */
export type WebhookDelivery = {
  id: string;
  /** The webhook-id of the delivery: that of the event. */
  eventId: string;
  type: string;
  objectType: string;
  objectId: string;
  dealId: string | null;
  /** It was sent before, and asked for again. */
  isAgain: boolean;
  /** dropped: when it was to be sent, the key could no longer see the record. */
  state: 'waiting' | 'delivered' | 'failed' | 'dropped';
  attempts: number;
  /** Null too while an earlier one of the same record waits. */
  nextAttemptAt: string | null;
  createdAt: string;
  lastAttemptAt: string | null;
  endedAt: string | null;
  /** Of the last attempt. */
  request: {
    url: string;
    bytes: number;
    /** SHA-256 of the body in hexadecimal. The body itself is not kept. */
    digest: string;
  } | null;
  /** Of the last attempt; null when there was none. */
  answer: {
    status: number;
    contentType: string | null;
    /** Its first 4,096 characters. */
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

/** What a webhook receives: something that changed, with its record, or the test event. */
export type WebhookEvent = {
  /** The same wherever the event appears, so that duplicates can be recognized. */
  id: string;
  /** What became of the record, as in GET /events; webhook.test is the test event. Later versions may add types. */
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
        | 'participant.created'
        | 'participant.updated'
        | 'nda.created'
        | 'nda.updated'
        | 'offer.created'
        | 'offer.updated'
        | 'question.created'
        | 'question.updated'
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
        | 'normalization.created'
        | 'normalization.removed'
        | 'closing_condition.created'
        | 'closing_condition.updated'
        | 'closing_condition.removed'
        | 'finding.created'
        | 'finding.updated'
        | 'financing_source.created'
        | 'financing_source.updated'
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
  /** Of the test event the id of the webhook. */
  objectId: string;
  /** The deal that the record belongs to; null for a contact, and for a test. */
  dealId: string | null;
  /** When its transaction began, or the test was asked for. */
  occurredAt: string;
  /** The record as it is when this is sent, as its own path answers it (a contact as a ContactRecord, archived or not); null when it is gone, and for a test. */
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
    /** Structured context; what it holds is said with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

export type WebhookRedelivered = {
  /** How many are sent again. */
  deliveries: number;
  /** Where there are more than 10,000: the time from which the rest was written, to send as since. Otherwise null. */
  nextSince: string | null;
};

export type WebhookRedelivery = {
  /** Deliveries that were written from then on. */
  since: string;
  /** And before then. */
  until: string;
  /** Of failed ones only. */
  failedOnly?: boolean | undefined;
};

export type WebhookSecretRotation = {
  /** How long the previous secret also signs. An older one stops at once. */
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
  /** off: nothing is sent; what changes meanwhile is sent when it is on again. */
  state: 'on' | 'off';
  /** failing: it was turned off because nothing was accepted for three days; admin_gone, key_rotated: with the admin or key that last set it up, or an admin who was shown a token of the key that did. More may come. */
  offReason: (('asked' | 'failing' | 'admin_gone' | 'key_rotated') | (string & {})) | null;
  offSince: string | null;
  createdAt: string;
  updatedAt: string;
  /** whsec_ and base64: signs every delivery, as Standard Webhooks has it. Shown once. */
  secret: string;
};

/** What each operation takes and answers. */
export interface Operations {
  getMe: { input: {}; output: Me };
  resetSandbox: {
    input: {
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
    };
    output: SandboxReset;
  };
  listContacts: {
    input: {
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many contacts a page has. */
      limit?: number | undefined;
      /** Whether archived contacts are listed: not, they alone, or with the others. */
      archived?: 'false' | 'only' | 'true' | undefined;
      /** Contacts of this type. */
      type?: 'person' | 'company' | undefined;
      /** Contacts with this address, ignoring case. */
      email?: string | undefined;
      /** Contacts whose name, e-mail address or phone number contains each of these words, ignoring case. At most 8 words. */
      search?: string | undefined;
      /** Contacts that were changed at this time or later, the earliest change first. */
      updatedSince?: string | undefined;
      /** Newest first, by name, or the earliest change first. With updatedSince it is updatedAt, otherwise -createdAt. */
      sort?: '-createdAt' | 'displayName' | 'updatedAt' | undefined;
      /** record: with externalId, archivedAt and mergedInto. */
      expand?: 'record' | undefined;
    };
    output: ContactList;
  };
  createContact: {
    input: {
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      body: ContactCreate;
    };
    output: Contact;
  };
  getContact: {
    input: {
      /** The id of the contact. */
      contactId: string;
      /** Whether an archived contact is returned, too. */
      archived?: 'false' | 'true' | undefined;
      /** record: with externalId, archivedAt and mergedInto. */
      expand?: 'record' | undefined;
    };
    output: ContactAsAsked;
  };
  updateContact: {
    input: {
      /** The id of the contact. */
      contactId: string;
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      /** Changes the contact only if this is its entity tag, so that nobody's newer change is overwritten. */
      ifMatch?: string | undefined;
      body: ContactPatch;
    };
    output: ContactRecord;
  };
  batchContacts: {
    input: {
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      body: ContactBatch;
    };
    output: ContactBatchResult;
  };
  getContactByExternalId: {
    input: {
      /** The id that another system has for the contact. */
      externalId: string;
      /** Whether an archived contact is returned, too. */
      archived?: 'false' | 'true' | undefined;
    };
    output: ContactRecord;
  };
  putContactByExternalId: {
    input: {
      /** The id that another system has for the contact. */
      externalId: string;
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      /** Changes the contact only if this is its entity tag, so that nobody's newer change is overwritten. */
      ifMatch?: string | undefined;
      body: ContactCreate;
    };
    output: ContactRecord;
  };
  archiveContact: {
    input: {
      /** The id of the contact. */
      contactId: string;
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      /** Changes the contact only if this is its entity tag, so that nobody's newer change is overwritten. */
      ifMatch?: string | undefined;
    };
    output: ContactRecord;
  };
  restoreContact: {
    input: {
      /** The id of the contact. */
      contactId: string;
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      /** Changes the contact only if this is its entity tag, so that nobody's newer change is overwritten. */
      ifMatch?: string | undefined;
    };
    output: ContactRecord;
  };
  mergeContact: {
    input: {
      /** The id of the contact. */
      contactId: string;
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      /** Changes the contact only if this is its entity tag, so that nobody's newer change is overwritten. */
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
      /** Only deals that changed at this time or later. Being opened to keys changes no `updatedAt`: the event `deal.admitted` tells of an older deal that is opened, or the list without this. */
      updatedSince?: string | undefined;
      /** Words that must all occur in title, industry or location. At most 8 words. */
      search?: string | undefined;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many deals a page has. */
      limit?: number | undefined;
    };
    output: DealList;
  };
  createDeal: {
    input: {
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
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
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      body: DealChange;
    };
    output: Deal;
  };
  moveDeal: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      body: DealMove;
    };
    output: Deal;
  };
  listParticipants: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many participants a page has. */
      limit?: number | undefined;
    };
    output: ParticipantList;
  };
  inviteParticipant: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      body: Invitation;
    };
    output: Participant;
  };
  listOffers: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many offers a page has. */
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
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many offers a page has. */
      limit?: number | undefined;
    };
    output: OfferList;
  };
  listQuestions: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Only questions of this status. */
      status?:
        'pending_broker_review' | 'with_seller' | 'answered' | 'distributed' | 'rejected' | 'withdrawn' | undefined;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many questions a page has. */
      limit?: number | undefined;
    };
    output: QuestionList;
  };
  listNdas: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many NDAs a page has. */
      limit?: number | undefined;
    };
    output: NdaList;
  };
  listFindings: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Only findings of this category. */
      category?: string | undefined;
      /** Only findings of this severity. */
      severity?: 'critical' | 'major' | 'minor' | 'informational' | undefined;
      /** Only findings of this status. */
      status?: 'open' | 'mitigated' | 'accepted' | 'resolved' | undefined;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many findings a page has. */
      limit?: number | undefined;
    };
    output: FindingList;
  };
  listFinancingSources: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many sources of financing a page has. */
      limit?: number | undefined;
    };
    output: FinancingSourceList;
  };
  listDocuments: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Only documents of this category. */
      category?: string | undefined;
      /** Only documents of this confidentiality. */
      confidentiality?: 'public' | 'nda_gated' | 'selected_buyer_only' | undefined;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many documents a page has. */
      limit?: number | undefined;
    };
    output: DocumentList;
  };
  uploadDocument: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** The name of the file, with its extension, without slashes, invisible characters, or a dot at its ends. */
      filename: string;
      /** What kind of document it is, as the data room is sorted. */
      category: string;
      /** Who may open it: everybody on the deal, buyers with an active NDA, or the exclusive buyer. */
      confidentiality: 'public' | 'nda_gated' | 'selected_buyer_only';
      /** The request for which it is produced, where there is one. */
      diligenceRequest?: string | undefined;
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
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
      /** The part to answer. Anything but one range of bytes is answered with the whole file. */
      range?: string | undefined;
      /** ETag of an earlier answer: with another one Range is ignored. */
      ifRange?: string | undefined;
    };
    output: Response;
  };
  listChecklist: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Only rows of this category. */
      category?: string | undefined;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many rows of the checklist a page has. */
      limit?: number | undefined;
    };
    output: ChecklistItemList;
  };
  listSnapshots: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many snapshots a page has. */
      limit?: number | undefined;
    };
    output: AccountingSnapshotList;
  };
  createSnapshot: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
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
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many periods a page has. */
      limit?: number | undefined;
    };
    output: PlPeriodList;
  };
  listCustomerRevenues: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** The snapshot to read; without it the one that was completed last. */
      snapshotId?: string | undefined;
      /** The day whose period is meant; without it the period of the snapshot that ends last. */
      asOf?: string | undefined;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many customers a page has. */
      limit?: number | undefined;
    };
    output: CustomerRevenueList;
  };
  listNormalizations: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many adjustments a page has. */
      limit?: number | undefined;
    };
    output: NormalizationList;
  };
  listConditions: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Only conditions of this status. */
      status?: 'open' | 'in_progress' | 'satisfied' | 'waived' | undefined;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many conditions a page has. */
      limit?: number | undefined;
    };
    output: ClosingConditionList;
  };
  createCondition: {
    input: {
      /** The id of the deal. */
      dealId: string;
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
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
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      body: ClosingConditionChange;
    };
    output: ClosingCondition;
  };
  listEvents: {
    input: {
      /** nextCursor of an earlier answer, from which to go on. Without it, the list begins with the oldest event that is kept; with "latest", behind the newest. */
      after?: string | undefined;
      /** How many events a page has. */
      limit?: number | undefined;
      /** Only events of these types, with commas between them. */
      types?: string | undefined;
      /** data: with each event the record that it is about, as it is now. */
      expand?: 'data' | undefined;
    };
    output: EventList;
  };
  listWebhooks: {
    input: {
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many webhooks a page has. */
      limit?: number | undefined;
    };
    output: WebhookList;
  };
  createWebhook: {
    input: {
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
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
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
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
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      body: WebhookSecretRotation;
    };
    output: WebhookWithSecret;
  };
  testWebhook: {
    input: {
      /** The id of the webhook. */
      webhookId: string;
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
    };
    output: WebhookTest;
  };
  listWebhookDeliveries: {
    input: {
      /** The id of the webhook. */
      webhookId: string;
      /** Only those in this state. */
      state?: 'waiting' | 'delivered' | 'failed' | 'dropped' | undefined;
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many deliveries a page has. */
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
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
    };
    output: WebhookRedelivered;
  };
  redeliverWebhook: {
    input: {
      /** The id of the webhook. */
      webhookId: string;
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      body: WebhookRedelivery;
    };
    output: WebhookRedelivered;
  };
}

/** The operations that answer with pages. */
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

/** How each operation is sent; `headers` and `query` by the names of the input. */
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
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
  moveDeal: {
    method: 'POST',
    path: '/deals/{dealId}/state',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
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

  /** Get the API key that is calling. Its brokerage, its scopes and how many requests a minute it may make. Any key may ask. */
  getMe(input: Operations['getMe']['input'] = {}, options?: CallOptions): Promise<Operations['getMe']['output']> {
    return this.call('getMe', input, options);
  }

  /** Reset the sandbox. Restores the demo data of the sandbox of a test key, under the same ids; webhooks stay, and the changes are events like any other. Any test key may ask, once in ten seconds for all of them: 429 before that. */
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

  /** Change a contact. A merge patch (RFC 7396): what is left out stays as it is, null clears. Needs the scopes contacts:write and contacts:read. */
  updateContact(
    input: Operations['updateContact']['input'],
    options?: CallOptions,
  ): Promise<Operations['updateContact']['output']> {
    return this.call('updateContact', input, options);
  }

  /** Change many contacts. Up to 200 changes in their order, each as if it were sent alone: a refused one does not affect the others. Each item counts as a request, so that there can be no more of them than the ceiling of the key. Needs the scopes contacts:write and contacts:read. */
  batchContacts(
    input: Operations['batchContacts']['input'],
    options?: CallOptions,
  ): Promise<Operations['batchContacts']['output']> {
    return this.call('batchContacts', input, options);
  }

  /** Get a contact by the id that another system has for it. One that was merged is answered as the contact that it was merged into. Needs the scope contacts:read. */
  getContactByExternalId(
    input: Operations['getContactByExternalId']['input'],
    options?: CallOptions,
  ): Promise<Operations['getContactByExternalId']['output']> {
    return this.call('getContactByExternalId', input, options);
  }

  /** Create or replace a contact by the id that another system has for it. What is left out is cleared. Needs the scopes contacts:write and contacts:read. */
  putContactByExternalId(
    input: Operations['putContactByExternalId']['input'],
    options?: CallOptions,
  ): Promise<Operations['putContactByExternalId']['output']> {
    return this.call('putContactByExternalId', input, options);
  }

  /** Archive a contact. It is no longer listed unless archived contacts are asked for. If that was already done, the answer is the same. Needs the scopes contacts:write and contacts:read. */
  archiveContact(
    input: Operations['archiveContact']['input'],
    options?: CallOptions,
  ): Promise<Operations['archiveContact']['output']> {
    return this.call('archiveContact', input, options);
  }

  /** Restore an archived contact. A contact that was merged into another one becomes independent again. If that was already done, the answer is the same. Needs the scopes contacts:write and contacts:read. */
  restoreContact(
    input: Operations['restoreContact']['input'],
    options?: CallOptions,
  ): Promise<Operations['restoreContact']['output']> {
    return this.call('restoreContact', input, options);
  }

  /** Merge a duplicate into a contact. The contact takes over what it lacks; the duplicate is archived and points to it. Needs the scopes contacts:write and contacts:read. */
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

  /** Open a deal. In draft, with the person who issued the key as its broker, and open to the brokerage's keys. Needs the scopes deals:write and deals:read. */
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

  /** Edit a deal. What is left out stays as it is; null takes a value away. Needs the scopes deals:write and deals:read. */
  updateDeal(
    input: Operations['updateDeal']['input'],
    options?: CallOptions,
  ): Promise<Operations['updateDeal']['output']> {
    return this.call('updateDeal', input, options);
  }

  /** Move a deal to another state. As the sale allows: a state at a time, and into exclusivity only by granting it, which only a person does. Needs the scopes deals:write and deals:read. */
  moveDeal(input: Operations['moveDeal']['input'], options?: CallOptions): Promise<Operations['moveDeal']['output']> {
    return this.call('moveDeal', input, options);
  }

  /** List the people on a deal. In the order in which they were added, also those who were invited or removed. Needs the scope participants:read. */
  listParticipants(
    input: Operations['listParticipants']['input'],
    options?: CallOptions,
  ): Promise<Operations['listParticipants']['output']> {
    return this.call('listParticipants', input, options);
  }

  /** Invite somebody to a deal. By mail, in the name of the person who issued the key, who must be a broker of the deal or an admin of the brokerage; it counts among the mails that they may send. A person who was invited before and has not joined is invited again. Brokers and their advisors are invited from among the members of the brokerage (`not_a_member`). Needs the scopes participants:write and participants:read. */
  inviteParticipant(
    input: Operations['inviteParticipant']['input'],
    options?: CallOptions,
  ): Promise<Operations['inviteParticipant']['output']> {
    return this.call('inviteParticipant', input, options);
  }

  /** List the offers on a deal. The current revision of each buyer, the latest first. Needs the scope offers:read. */
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

  /** List the revisions of an offer. Every revision of the buyer who made this one, the latest first. Needs the scope offers:read. */
  listOfferRevisions(
    input: Operations['listOfferRevisions']['input'],
    options?: CallOptions,
  ): Promise<Operations['listOfferRevisions']['output']> {
    return this.call('listOfferRevisions', input, options);
  }

  /** List the questions on a deal. All of them, the latest first. Needs the scope questions:read. */
  listQuestions(
    input: Operations['listQuestions']['input'],
    options?: CallOptions,
  ): Promise<Operations['listQuestions']['output']> {
    return this.call('listQuestions', input, options);
  }

  /** List where the NDAs of a deal stand. The latest first. Needs the scope ndas:read. */
  listNdas(input: Operations['listNdas']['input'], options?: CallOptions): Promise<Operations['listNdas']['output']> {
    return this.call('listNdas', input, options);
  }

  /** List the findings on a deal. The latest first. Needs the scope findings:read. */
  listFindings(
    input: Operations['listFindings']['input'],
    options?: CallOptions,
  ): Promise<Operations['listFindings']['output']> {
    return this.call('listFindings', input, options);
  }

  /** List the sources of financing of a deal. The latest first. Needs the scope financing:read. */
  listFinancingSources(
    input: Operations['listFinancingSources']['input'],
    options?: CallOptions,
  ): Promise<Operations['listFinancingSources']['output']> {
    return this.call('listFinancingSources', input, options);
  }

  /** List the documents of a deal. The latest first. Needs the scope documents:read. */
  listDocuments(
    input: Operations['listDocuments']['input'],
    options?: CallOptions,
  ): Promise<Operations['listDocuments']['output']> {
    return this.call('listDocuments', input, options);
  }

  /** Upload a document. The file as the body, of up to 2 GB and of a kind that data rooms accept; its name and who may open it are in the query. Needs the scopes documents:write and documents:read. */
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

  /** Get the content of a document. The file, or the part of it that a Range header asks for. The openings of the document show its people that the key opened it. Needs the scope documents:content. */
  getDocumentContent(
    input: Operations['getDocumentContent']['input'],
    options?: CallOptions,
  ): Promise<Operations['getDocumentContent']['output']> {
    return this.call('getDocumentContent', input, options);
  }

  /** List the QoE checklist of a deal. In its own order. Needs the scope qoe:read. */
  listChecklist(
    input: Operations['listChecklist']['input'],
    options?: CallOptions,
  ): Promise<Operations['listChecklist']['output']> {
    return this.call('listChecklist', input, options);
  }

  /** List the accounting snapshots of a deal. The latest first. Needs the scope qoe:read. */
  listSnapshots(
    input: Operations['listSnapshots']['input'],
    options?: CallOptions,
  ): Promise<Operations['listSnapshots']['output']> {
    return this.call('listSnapshots', input, options);
  }

  /** Deliver an accounting snapshot. The books as they are now, from another system. They are stored as a whole, with all rows, or not at all. At most 1,048,576 bytes. Needs the scopes qoe:write and qoe:read. */
  createSnapshot(
    input: Operations['createSnapshot']['input'],
    options?: CallOptions,
  ): Promise<Operations['createSnapshot']['output']> {
    return this.call('createSnapshot', input, options);
  }

  /** List profit and loss by period. The periods of every snapshot of the deal, the latest period first. Needs the scope qoe:read. */
  listPlPeriods(
    input: Operations['listPlPeriods']['input'],
    options?: CallOptions,
  ): Promise<Operations['listPlPeriods']['output']> {
    return this.call('listPlPeriods', input, options);
  }

  /** List customers by revenue. The customers of one period of one snapshot, the largest first. Of several currencies one comes after the other, that of the profit and loss first. Needs the scope qoe:read. */
  listCustomerRevenues(
    input: Operations['listCustomerRevenues']['input'],
    options?: CallOptions,
  ): Promise<Operations['listCustomerRevenues']['output']> {
    return this.call('listCustomerRevenues', input, options);
  }

  /** List the adjustments of a deal. The latest first. Needs the scope qoe:read. */
  listNormalizations(
    input: Operations['listNormalizations']['input'],
    options?: CallOptions,
  ): Promise<Operations['listNormalizations']['output']> {
    return this.call('listNormalizations', input, options);
  }

  /** List the closing conditions of a deal. The latest first. Needs the scope conditions:read. */
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

  /** Change a closing condition. What is left out stays as it is; null takes a value away. Needs the scopes conditions:write and conditions:read, and participants:read to name its owner. */
  updateCondition(
    input: Operations['updateCondition']['input'],
    options?: CallOptions,
  ): Promise<Operations['updateCondition']['output']> {
    return this.call('updateCondition', input, options);
  }

  /** List what changed. In the order in which changes were committed, so that nothing appears before a place that was read. Needs the scope events:read, and for each event the scope that reads its record. nextCursor is never null: keep it, and continue with it. */
  listEvents(
    input: Operations['listEvents']['input'] = {},
    options?: CallOptions,
  ): Promise<Operations['listEvents']['output']> {
    return this.call('listEvents', input, options);
  }

  /** List webhooks. Those of this key, newest first. Needs the scope webhooks:read. */
  listWebhooks(
    input: Operations['listWebhooks']['input'] = {},
    options?: CallOptions,
  ): Promise<Operations['listWebhooks']['output']> {
    return this.call('listWebhooks', input, options);
  }

  /** Add a webhook. It receives changes from now on, as far as this key sees them. At most 20 for each key; at most 200 of a brokerage may be on. Needs the scopes webhooks:write and webhooks:read. */
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

  /** Change a webhook. A merge patch: what is left out stays as it is, null clears. None is turned on beside 200 of the brokerage that are. Needs the scopes webhooks:write and webhooks:read. */
  changeWebhook(
    input: Operations['changeWebhook']['input'],
    options?: CallOptions,
  ): Promise<Operations['changeWebhook']['output']> {
    return this.call('changeWebhook', input, options);
  }

  /** Delete a webhook. With the log of its deliveries. Needs the scopes webhooks:write and webhooks:read. */
  deleteWebhook(
    input: Operations['deleteWebhook']['input'],
    options?: CallOptions,
  ): Promise<Operations['deleteWebhook']['output']> {
    return this.call('deleteWebhook', input, options);
  }

  /** Rotate the secret of a webhook. The previous secret signs beside the new one for a while, a day by default: each delivery then has two signatures. Needs the scopes webhooks:write and webhooks:read. */
  rotateWebhookSecret(
    input: Operations['rotateWebhookSecret']['input'],
    options?: CallOptions,
  ): Promise<Operations['rotateWebhookSecret']['output']> {
    return this.call('rotateWebhookSecret', input, options);
  }

  /** Send a test event. Of the type webhook.test, with data null. Needs the scopes webhooks:write and webhooks:read. */
  testWebhook(
    input: Operations['testWebhook']['input'],
    options?: CallOptions,
  ): Promise<Operations['testWebhook']['output']> {
    return this.call('testWebhook', input, options);
  }

  /** List deliveries of a webhook. Newest first, of 30 days. Needs the scope webhooks:read. */
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

  /** Send a delivery again. One that has ended, under the same webhook-id. Needs the scopes webhooks:write and webhooks:read. */
  redeliverWebhookDelivery(
    input: Operations['redeliverWebhookDelivery']['input'],
    options?: CallOptions,
  ): Promise<Operations['redeliverWebhookDelivery']['output']> {
    return this.call('redeliverWebhookDelivery', input, options);
  }

  /** Send the deliveries of a period again. Those that have ended, the earliest 10,000 at most, each event once, in the order of the changes. Needs the scopes webhooks:write and webhooks:read. */
  redeliverWebhook(
    input: Operations['redeliverWebhook']['input'],
    options?: CallOptions,
  ): Promise<Operations['redeliverWebhook']['output']> {
    return this.call('redeliverWebhook', input, options);
  }
}
