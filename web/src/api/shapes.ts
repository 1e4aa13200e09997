/**
 * Names for the requests and responses of the routes, each derived from the server's own types by its path. What the
 * fields of a row mean is documented at the server's statement that reads it.
 */
import type { Answer, PathOf, RequestBody, RequestQuery } from '../../../server/contract.ts';

import type {
  AuditSubject,
  JobName,
  LiveEvent,
  OfferField,
  SharedBounds,
  SharedWords,
} from '../../../server/contract.ts';

export type { AuditSubject, JobName, LiveEvent, OfferField, SharedBounds, SharedWords };
export type Topic = LiveEvent['topic'];

export type Id = string;
/** RFC 3339 in UTC with milliseconds. */
export type Instant = string;
/** `YYYY-MM-DD`. */
export type Day = string;
/** A decimal number as a string: it never becomes a float. */
export type Decimal = string;

/** A list, or a page of one with the cursor of the next page. */
export interface Items<T> {
  items: T[];
  next_cursor?: string | null;
}

type Item<P extends PathOf<'get'>> = Answer<'get', P> extends { items: (infer T)[] } ? T : never;

export type Me = Answer<'get', '/web/me'>;

export type Home = Answer<'get', '/web/home'>;
export type Pipeline = Answer<'get', '/web/home/pipeline'>;
export type QueueEntry = Home['queue'][number];
export type QueueKind = QueueEntry['kind'];
export type DealInvitation = Home['invitations'][number];
export type WaitingPlace = Home['waiting_places'][number];
export type Membership = Home['memberships'][number];

export type DealRow = Item<'/web/deals'>;
export type DealSort = NonNullable<RequestQuery<'get', '/web/deals'>['sort']>;
export type DealPage = Answer<'get', '/web/deals/:id'>;
export type Deal = DealPage['deal'];
export type DealState = Deal['state'];
export type CallerRole = DealPage['caller_role'];
export type Side = DealPage['side'];
export type DealInput = Omit<RequestBody<'post', '/web/deals'>, 'organization_id'>;
export type Notification = Item<'/web/notifications'>;
export type NotificationChoices = Answer<'get', '/web/notifications/choices'>;
export type NotificationDelivery = NotificationChoices['kinds'][number]['delivery'];
export type DealNotificationDelivery = NotificationChoices['deals'][number]['delivery'];
export type NotificationKind = Notification['kind'];
export type Activity = Item<'/web/deals/:id/activity'>;
export type DealKeys = Answer<'get', '/web/deals/:id/keys'>;
export type DealKey = DealKeys['keys'][number];
export type DealTools = Answer<'get', '/web/deals/:id/tools'>;

export type Participant = DealPage['participants'][number];
export type ParticipantRole = Participant['role'];
export type ParticipantStatus = Participant['status'];
export type ParticipantInput = RequestBody<'post', '/web/deals/:id/participants'>;
export type Delivery = RequestBody<'post', '/web/deals/:id/participants/:participant_id/invitation'>;
export type Invited = Answer<'post', '/web/deals/:id/participants'>;

export type DealPlace = RequestBody<'post', '/web/deals/:id/notifications/read'>['place'];
export type VisitedTab = RequestBody<'post', '/web/deals/:id/visits'>['tab'];

export type Remindable = Item<'/web/deals/:id/reminders'>['subject'];

export type Nda = Item<'/web/deals/:id/ndas'>;
export type NdaStatus = Nda['status'];

export type DealDocument = Item<'/web/deals/:id/documents'>;
export type RemovedDocument = Item<'/web/deals/:id/documents/removed'>;
export type Confidentiality = DealDocument['confidentiality'];

export type Question = Item<'/web/deals/:id/questions'>;
export type QuestionStatus = Question['status'];
export type QuestionCategory = Question['category'];

export type Qoe = Answer<'get', '/web/deals/:id/qoe'>;
export type ChecklistRow = Qoe['progress'][number];
export type ChecklistStatus = ChecklistRow['status'];
export type Snapshot = Item<'/web/deals/:id/qoe/snapshots'>;
export type SnapshotStatus = Snapshot['status'];
export type SnapshotType = Snapshot['snapshot_type'];
export type SnapshotPreview = Answer<'post', '/web/deals/:id/qoe/snapshots/preview'>;
export type ExportPreview = NonNullable<SnapshotPreview['export']>;
export type ExportAccount = ExportPreview['accounts'][number];
export type AccountLine = NonNullable<ExportAccount['line']>;
/** The line that an account of an export is assigned to; null when to none. */
export type AccountChoice = Pick<ExportAccount, 'account' | 'line'>;
export type PlPeriod = Item<'/web/deals/:id/qoe/periods'>;
type CustomerConcentration = Answer<'get', '/web/deals/:id/qoe/customers'>;
/** The dates of a period for which customers were uploaded. */
export type CustomerDates = CustomerConcentration['periods'][number];
export type EbitdaBridge = Answer<'get', '/web/deals/:id/qoe/bridge'>;
export type ComputedBooks = Answer<'get', '/web/deals/:id/qoe/computed'>;
export type Earnings = ComputedBooks['earnings'][number];
export type Contradiction = ComputedBooks['contradictions']['items'][number];
export type ContradictionStatus = NonNullable<Contradiction['answer']>['status'];
export type Normalization = Item<'/web/deals/:id/qoe/normalizations'>;
export type NormalizationInput = RequestBody<'post', '/web/deals/:id/qoe/normalizations'>;
export type AdjustmentCategory = Normalization['adjustment_category'];
export type QoeMember = Item<'/web/deals/:id/qoe/members'>;

export type Offer = Item<'/web/deals/:id/offers'>;
export type OfferPayload = Offer['payload'];
export type OfferInput = RequestBody<'post', '/web/deals/:id/offers'>['payload'];

export type OfferAssessment = Answer<'get', '/web/deals/:id/offers/worth'>;
export type OfferValuation = OfferAssessment['offers'][number];
export type TwoOffers = Answer<'get', '/web/deals/:id/offers/:offer_id/against/:other_offer_id'>;
export type ComparedLine = TwoOffers['lines'][number];
/** Terms of an offer that a person types in to see their effect, as text. */
export type TypedTerms = Readonly<
  Partial<Record<keyof RequestQuery<'get', '/web/deals/:id/offers/worth'> & string, string>>
>;

export type ClosingCondition = Item<'/web/deals/:id/conditions'>;
export type ConditionStatus = ClosingCondition['status'];
export type ConditionInput = RequestBody<'post', '/web/deals/:id/conditions'>;

export type Finding = Item<'/web/deals/:id/findings'>;
export type FindingSeverity = Finding['severity'];
export type FindingStatus = Finding['status'];
export type FindingInput = RequestBody<'post', '/web/deals/:id/findings'>;

export type FinancingStack = Answer<'get', '/web/deals/:id/financing'>;
export type FinancingSource = FinancingStack['items'][number];
export type FinancingSourceType = FinancingSource['source_type'];
export type CommitmentStatus = FinancingSource['commitment_status'];
export type FinancingInput = RequestBody<'post', '/web/deals/:id/financing'>;

export type Contact = Item<'/web/contacts'>;
export type ContactSort = NonNullable<RequestQuery<'get', '/web/contacts'>['sort']>;
export type ContactInput = Omit<RequestBody<'post', '/web/contacts'>, 'brokerage_id'>;
export type ContactImport = Answer<'post', '/web/contacts/import'>;
export type ContactPreview = Answer<'post', '/web/contacts/import/preview'>;

export type Brokerage = Answer<'get', '/web/brokerages/:id'>;
export type Member = Item<'/web/brokerages/:id/members'>;
export type DealsOfMember = Answer<'get', '/web/brokerages/:id/members/:user_id/deals'>;
export type MailTrouble = NonNullable<Member['mail_trouble']>;
export type ServiceStatus = Answer<'get', '/web/brokerages/:id/status'>;
export type UndeliveredMail = Item<'/web/brokerages/:id/mails'>;
export type MemberRole = Member['role'];
export type HandOver = RequestBody<'post', '/web/brokerages/:id/members/:user_id/hand-over'>;
export type MemberInput = RequestBody<'post', '/web/brokerages/:id/members'>;
export type MemberInvited = Answer<'post', '/web/brokerages/:id/members'>;

export type ApiKey = Item<'/web/brokerages/:id/keys'>;
export type KeyScope = ApiKey['scopes'][number];
export type ApiKeyInput = RequestBody<'post', '/web/brokerages/:id/keys'>;
export type ApiKeyCreated = Answer<'post', '/web/brokerages/:id/keys'>;

export type Webhook = Item<'/web/brokerages/:id/webhooks'>;
export type EventType = NonNullable<Webhook['types']>[number];
export type WebhookInput = RequestBody<'post', '/web/keys/:id/webhooks'>;
export type WebhookChange = RequestBody<'patch', '/web/webhooks/:id'>;
export type WebhookSecret = Answer<'post', '/web/keys/:id/webhooks'>;
export type WebhookDelivery = Item<'/web/webhooks/:id/deliveries'>;
export type Redelivery = RequestBody<'post', '/web/webhooks/:id/redeliver'>;

export type Clients = Answer<'get', '/web/clients'>;
export type Client = Clients['items'][number];
export type ClientInput = RequestBody<'post', '/web/clients'>;

export type ToolSettings = Answer<'get', '/web/tools'>;

export type AuditRecord = Item<'/web/audit'>;
