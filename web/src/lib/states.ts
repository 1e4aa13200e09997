/** The label and tone of each state, in one place, so that pills, steppers, filters and sentences agree. */
import type * as T from '../api/shapes.ts';

export type Tone = 'plain' | 'info' | 'good' | 'warn' | 'bad' | 'rare' | 'accent';

export interface Look {
  label: string;
  tone: Tone;
}

const look = (label: string, tone: Tone = 'plain'): Look => ({ label, tone });

export const dealStates: Record<T.DealState, Look> = {
  draft: look('Draft'),
  listed: look('Listed', 'info'),
  under_offer: look('Under offer', 'warn'),
  exclusivity: look('Exclusivity', 'rare'),
  diligence: look('Diligence', 'rare'),
  closing: look('Closing', 'accent'),
  closed: look('Closed', 'good'),
  withdrawn: look('Withdrawn', 'bad'),
};

/** The states of a sale from start to end; `withdrawn` is not among them. */
export const dealPath: readonly T.DealState[] = [
  'draft',
  'listed',
  'under_offer',
  'exclusivity',
  'diligence',
  'closing',
  'closed',
];

export const sides: Record<T.Side, string> = {
  broker: 'Brokers',
  seller: 'Seller’s side',
  buyer: 'Buyers and their advisors',
  viewer: 'Viewers',
};

export const callerRoles: Record<T.CallerRole, Look> = {
  broker_assigned: look('Broker', 'accent'),
  exclusive_buyer: look('Exclusive buyer', 'rare'),
  participant: look('Participant'),
  viewer: look('Viewer'),
};

export const participantRoles: Record<T.ParticipantRole, Look> = {
  broker: look('Broker', 'accent'),
  seller: look('Seller', 'warn'),
  buyer: look('Buyer', 'info'),
  advisor: look('Advisor'),
  viewer: look('Viewer'),
};

export const memberRoles: Record<T.MemberRole, Look> = {
  admin: look('Admin', 'accent'),
  broker: look('Broker', 'info'),
  staff: look('Staff'),
};

/** A role in a sentence: somebody is an admin, or invited as a buyer. */
export const roleInWords: Record<T.MemberRole | T.ParticipantRole, string> = {
  admin: 'an admin',
  broker: 'a broker',
  staff: 'a staff member',
  seller: 'a seller',
  buyer: 'a buyer',
  advisor: 'an advisor',
  viewer: 'a viewer',
};

export const workspaceRoles: Record<T.QoeMember['role'], Look> = {
  reader: look('Reader'),
  editor: look('Editor', 'accent'),
};

export const participantStates: Record<T.ParticipantStatus, Look> = {
  invited: look('Invited', 'warn'),
  active: look('Active', 'good'),
  removed: look('Removed'),
};

/** The label of an invitation whose link no longer works. */
export const linkExpired = look('Link expired', 'bad');

/** Labels for delivery problems of an invitation's mail. */
export const mailTroubles: Record<T.MailTrouble, Look> = {
  delayed: look('E-mail delayed', 'warn'),
  undelivered: look('E-mail not delivered', 'bad'),
};

export const ndaStates: Record<T.NdaStatus, Look> = {
  sent: look('Waiting for signature', 'warn'),
  active: look('Signed', 'good'),
  expired: look('Expired'),
  revoked: look('Revoked', 'bad'),
};

export const questionStates: Record<T.QuestionStatus, Look> = {
  pending_broker_review: look('In broker review', 'warn'),
  with_seller: look('With seller', 'info'),
  answered: look('Answered, not sent', 'rare'),
  distributed: look('Answered', 'good'),
  rejected: look('Rejected', 'bad'),
  withdrawn: look('Withdrawn'),
};

/** The state of a question that nobody answered before the sale ended. */
export const questionNotAnswered: Look = look('Not answered');

/** The answers to contradictory figures that a broker can choose from. */
export const contradictionAnswers: Record<T.ContradictionStatus, string> = {
  explained: 'Explained: the figures are right',
  to_correct: 'To be corrected with another upload',
};

/** The same answers as labels beside the figures. */
export const contradictionAnswered: T.SharedWords['answers'] = {
  explained: 'Explained',
  to_correct: 'To be corrected',
};

export const questionCategories: Record<T.QuestionCategory, string> = {
  financials: 'Financials',
  operations: 'Operations',
  customers: 'Customers',
  employees: 'Employees',
  legal: 'Legal',
  tax: 'Tax',
  real_estate: 'Real estate',
  technology: 'Technology',
  transaction: 'Transaction',
  other: 'Other',
};

/** The label of a document's category; a custom category gets a capital initial like the others. */
export function documentCategory(category: string): string {
  const known = category.toLowerCase();
  return Object.hasOwn(questionCategories, known)
    ? questionCategories[known as T.QuestionCategory]
    : category.charAt(0).toUpperCase() + category.slice(1);
}

export const confidentialities: Record<T.Confidentiality, Look> = {
  public: look('All participants'),
  nda_gated: look('Under NDA', 'info'),
  selected_buyer_only: look('Exclusive buyer', 'rare'),
};

export const checklistStates: Record<T.ChecklistStatus, Look> = {
  not_started: look('Not started'),
  in_progress: look('In progress', 'info'),
  completed: look('Completed', 'good'),
  not_applicable: look('Not applicable'),
};

export const snapshotStates: Record<T.SnapshotStatus, Look> = {
  requested: look('Requested'),
  processing: look('Processing', 'info'),
  completed: look('Completed', 'good'),
  failed: look('Failed', 'bad'),
};

export const snapshotTypes: T.SharedWords['uploads'] = {
  profit_and_loss: 'Profit and loss',
  customer_revenue: 'Revenue by customer',
  full: 'P&L and revenue by customer',
};

/** The lines of profit and loss. */
export const plLines: T.SharedWords['lines'] = {
  revenue: 'Revenue',
  cost_of_goods_sold: 'Cost of goods sold',
  gross_profit: 'Gross profit',
  operating_expenses: 'Operating expenses',
  owner_compensation: 'Owner compensation',
  depreciation_amortization: 'Depreciation and amortization',
  interest_expense: 'Interest',
  tax_expense: 'Income tax',
  net_income: 'Net income',
  ebitda: 'EBITDA',
};

const { gross_profit: _grossProfit, net_income: _netIncome, ebitda: _ebitda, ...ofAccounts } = plLines;
/** The line to which an account in a bookkeeping export can be assigned; the other lines are computed from these. */
export const accountLines: Record<T.AccountLine, string> = ofAccounts;

export const adjustmentCategories: T.SharedWords['categories'] = {
  owner_comp: 'Owner compensation',
  related_party: 'Related party',
  one_time: 'One-time',
  other: 'Other',
};

export const conditionStates: Record<T.ConditionStatus, Look> = {
  open: look('Open'),
  in_progress: look('In progress', 'info'),
  satisfied: look('Satisfied', 'good'),
  waived: look('Waived', 'rare'),
};

export const findingSeverities: Record<T.FindingSeverity, Look> = {
  critical: look('Critical', 'bad'),
  major: look('Major', 'warn'),
  minor: look('Minor', 'info'),
  informational: look('Informational'),
};

export const findingStates: Record<T.FindingStatus, Look> = {
  open: look('Open', 'warn'),
  mitigated: look('Mitigated', 'info'),
  accepted: look('Accepted', 'rare'),
  resolved: look('Resolved', 'good'),
};

export const financingTypes: Record<T.FinancingSourceType, string> = {
  sba_7a: 'SBA 7(a) loan',
  sba_504: 'SBA 504 loan',
  conventional_senior_debt: 'Conventional senior debt',
  mezzanine: 'Mezzanine',
  seller_note: 'Seller note',
  rollover_equity: 'Rollover equity',
  cash_buyer_equity: 'Buyer cash equity',
  equity_investor_check: 'Equity investor',
  earnout_credit: 'Earn-out credit',
  other: 'Other',
};

export const commitmentStates: Record<T.CommitmentStatus, Look> = {
  identified: look('Identified'),
  applied: look('Applied', 'info'),
  term_sheet: look('Term sheet', 'rare'),
  committed: look('Committed', 'accent'),
  funded: look('Funded', 'good'),
  expired: look('Expired'),
  withdrawn: look('Withdrawn'),
};

export const contactTypes: Record<T.ContactInput['type'], string> = {
  person: 'Person',
  company: 'Company',
};

export const keyStates: Record<T.ApiKey['state'], Look> = {
  active: look('Active', 'good'),
  stopped: look('Not working', 'bad'),
  expired: look('Expired'),
  revoked: look('Revoked', 'bad'),
};
/** A key that has lost its other permissions. */
export const contactsOnly = look('Contacts only', 'warn');

export const keyScopes: Record<T.KeyScope, string> = {
  'contacts:read': 'Read contacts',
  'contacts:write': 'Add and change contacts',
  'deals:read': 'Read deals',
  'deals:write': 'Change deals',
  'participants:read': 'Read participants',
  'participants:write': 'Invite people',
  'offers:read': 'Read offers',
  'ndas:read': 'Read NDAs',
  'questions:read': 'Read questions',
  'documents:read': 'List documents',
  'documents:content': 'Open documents',
  'documents:write': 'Upload documents',
  'qoe:read': 'Read quality of earnings',
  'qoe:write': 'Upload financials',
  'conditions:read': 'Read closing conditions',
  'conditions:write': 'Change closing conditions',
  'findings:read': 'Read findings',
  'financing:read': 'Read financing',
  'events:read': 'Follow changes',
  'webhooks:read': 'Read webhooks',
  'webhooks:write': 'Change webhooks',
};

/**
 * On, or why it was turned off: by a person, because nothing was accepted for three days, or because its admin or key
 * is gone.
 */
export const webhookStates: Record<'on' | NonNullable<T.Webhook['off_reason']>, Look> = {
  on: look('On', 'good'),
  asked: look('Off'),
  failing: look('Turned off: not answering', 'bad'),
  admin_gone: look('Turned off: no longer an admin', 'bad'),
  key_rotated: look('Turned off: key rotated', 'bad'),
};

export const webhookDeliveryStates: Record<T.WebhookDelivery['state'], Look> = {
  waiting: look('Waiting', 'warn'),
  delivered: look('Delivered', 'good'),
  failed: look('Failed', 'bad'),
  dropped: look('Not sent'),
};

export const clientScopes: Record<T.Client['scopes'][number], string> = {
  'mcp:read': 'Read',
  'mcp:write': 'Write where you allow it',
};

/** The subjects of audit records, by the prefix of their actions. */
export const auditSubjects: Record<'any' | T.AuditSubject, string> = {
  any: 'Everything',
  'deal.': 'Deals',
  'exclusivity.': 'Exclusivity',
  'participant.': 'People on deals',
  'invitation.': 'Answers to invitations',
  'nda.': 'NDAs',
  'document.': 'Documents',
  'question.': 'Questions',
  'offer.': 'Offers',
  'condition.': 'Closing conditions',
  'qoe.': 'Quality of earnings',
  'report.': 'Reports',
  'finding.': 'Findings',
  'financing.': 'Financing',
  'reminder.': 'Reminders',
  'contact.': 'Contacts',
  'brokerage.': 'Brokerage',
  'member.': 'Members',
  'mail.': 'E-mails sent again',
  'hold.': 'Legal holds',
  'person.': 'People: names, exports, erasures',
  'api_key.': 'API keys',
  'sandbox.': 'Sandbox',
  'webhook.': 'Webhooks',
  'client.': 'Connected clients',
  'consent.': 'Consent',
  'code.': 'Authorization codes',
  'tokens.': 'Client access',
  'tool_grant.': 'Tool permissions',
  'deal_opt_in.': 'Assistants on deals',
  'deal_tools.': 'Assistants off for everyone',
  'audit.': 'Audit trail',
  'tool:': 'Tool calls',
  'session.': 'Sign-ins',
  'password.': 'Passwords',
  'address.': 'E-mail addresses',
  'second_factor.': 'Authenticators',
  'recovery_codes.': 'Recovery codes',
  'passkey.': 'Passkeys',
  'calendar_link.': 'Calendar links',
  'user.': 'Suspended accounts',
};

export const deliveries: Record<T.NotificationDelivery, string> = {
  at_once: 'E-mail right away',
  daily: 'Daily e-mail',
  app: 'In Dealkeep only',
  off: 'Off',
};

/** For one deal a reader can only choose fewer mails than for each kind of notification. */
export const dealDeliveries: Record<T.DealNotificationDelivery, string> = {
  daily: 'At most a daily e-mail',
  app: deliveries.app,
  off: deliveries.off,
};

/** The entries of a vocabulary as options of a select. */
export function optionsOf<K extends string>(words: Record<K, string | Look>): { value: K; label: string }[] {
  return (Object.entries(words) as [K, string | Look][]).map(([value, word]) => ({
    value,
    label: typeof word === 'string' ? word : word.label,
  }));
}
