/** All kinds of notifications, with their wording in pages and mails. */

/** How a person is notified: by a mail at once, in the daily mail, only in the application, or not at all. */
export const deliveries = ['at_once', 'daily', 'app', 'off'] as const;
export type Delivery = (typeof deliveries)[number];

/** The upper bound of the delivery for a deal; the delivery chosen for a kind may be lower. */
export const dealDeliveries = ['daily', 'app', 'off'] as const;
export type DealDelivery = (typeof dealDeliveries)[number];

/** The pages of a deal that show events: its tabs, and its overview. */
export const dealPlaces = [
  'deal',
  'questions',
  'nda',
  'documents',
  'offers',
  'qoe',
  'closing',
  'findings',
  'people',
] as const;
export type DealPlace = (typeof dealPlaces)[number];

/** Where the event can be viewed: on a page of the deal, or of the settings. */
export type NotificationPlace = DealPlace | 'deals' | 'clients' | 'keys' | 'webhooks' | 'security';

interface Words {
  readonly place: NotificationPlace;
  /** The name of the kind in the settings. */
  readonly title: string;
  /**
   * The event as a sentence without the deal's name, for `count` events of the kind; `of` names the brokerages or
   * clients that it is about, where it is about some and the reader knows them.
   */
  readonly says: (count: number, of?: string) => string;
  /** The label of the button in a mail. */
  readonly action: string;
  /** What differs for a buyer or seller of the deal: what buyers can open is about themselves. */
  readonly to?: Partial<Record<'buyer' | 'seller', { readonly says: Words['says']; readonly action?: string }>>;
  /** What differs where a kind that is mostly about a deal is about none. */
  readonly ofNone?: { readonly says: Words['says']; readonly action: string; readonly place?: NotificationPlace };
}

const counted =
  (one: string, many: (count: number) => string) =>
  (count: number): string =>
    count === 1 ? one : many(count);

/** In the order of the settings. */
export const notificationKinds = {
  question_asked: {
    place: 'questions',
    title: 'A question is asked',
    says: counted('A question was asked.', (n) => `${n} questions were asked.`),
    action: 'View the questions',
  },
  question_returned: {
    place: 'questions',
    title: 'A question comes back because no seller is left',
    says: counted(
      'A question came back to the broker: no seller is left to answer it.',
      (n) => `${n} questions came back to the broker: no seller is left to answer them.`,
    ),
    action: 'View the questions',
  },
  question_released: {
    place: 'questions',
    title: 'A question is released to the seller',
    says: counted('A question was released to the seller.', (n) => `${n} questions were released to the seller.`),
    action: 'View the questions',
    to: {
      buyer: {
        says: counted(
          'Your question was released to the seller.',
          (n) => `${n} of your questions were released to the seller.`,
        ),
      },
      seller: {
        says: counted('You were sent a question to answer.', (n) => `You were sent ${n} questions to answer.`),
      },
    },
  },
  question_answered: {
    place: 'questions',
    title: 'The seller answers a question',
    says: counted('The seller answered a question.', (n) => `The seller answered ${n} questions.`),
    action: 'View the answers',
  },
  answer_distributed: {
    place: 'questions',
    title: 'An answer is sent to the buyer',
    says: counted('An answer was sent to the buyer.', (n) => `${n} answers were sent to the buyer.`),
    action: 'Read the answers',
    to: {
      buyer: { says: counted('Your question was answered.', (n) => `${n} of your questions were answered.`) },
    },
  },
  question_rejected: {
    place: 'questions',
    title: 'A question is rejected',
    says: counted('A question was rejected.', (n) => `${n} questions were rejected.`),
    action: 'View the questions',
    to: {
      buyer: { says: counted('Your question was rejected.', (n) => `${n} of your questions were rejected.`) },
    },
  },
  nda_sent: {
    place: 'nda',
    title: 'An NDA is sent',
    says: counted('An NDA was sent.', (n) => `${n} NDAs were sent.`),
    action: 'View the NDA',
    to: {
      buyer: {
        says: counted('You were sent an NDA to sign.', (n) => `You were sent ${n} NDAs to sign.`),
        action: 'Read and sign it',
      },
    },
  },
  nda_signed: {
    place: 'nda',
    title: 'An NDA is signed',
    says: counted('An NDA was signed.', (n) => `${n} NDAs were signed.`),
    action: 'View the NDA',
  },
  nda_ending: {
    place: 'nda',
    title: 'An NDA is about to end',
    says: counted('An NDA ends within a week.', (n) => `${n} NDAs end within a week.`),
    action: 'View the NDA',
    to: {
      buyer: { says: counted('Your NDA ends within a week.', (n) => `${n} of your NDAs end within a week.`) },
    },
  },
  nda_ended: {
    place: 'nda',
    title: 'An NDA has ended',
    says: counted('An NDA has ended.', (n) => `${n} NDAs have ended.`),
    action: 'View the NDA',
    to: {
      buyer: { says: counted('Your NDA has ended.', (n) => `${n} of your NDAs have ended.`) },
    },
  },
  document_added: {
    place: 'documents',
    title: 'A document that you can open is added',
    says: counted('A document was added.', (n) => `${n} documents were added.`),
    action: 'View the documents',
  },
  workspace_admitted: {
    place: 'qoe',
    title: 'You are admitted to the QoE workspace',
    says: () => 'You were admitted to the QoE workspace.',
    action: 'Open the workspace',
  },
  offer_submitted: {
    place: 'offers',
    title: 'An offer is submitted',
    says: counted('An offer was submitted.', (n) => `${n} offers were submitted.`),
    action: 'View the offers',
  },
  offer_revised: {
    place: 'offers',
    title: 'An offer is revised',
    says: counted('An offer was revised.', (n) => `Offers were revised ${n} times.`),
    action: 'View the offers',
  },
  offer_accepted: {
    place: 'offers',
    title: 'An offer is accepted',
    says: counted('An offer was accepted.', (n) => `${n} offers were accepted.`),
    action: 'View the offers',
    to: {
      buyer: { says: counted('Your offer was accepted.', (n) => `${n} of your offers were accepted.`) },
    },
  },
  offer_declined: {
    place: 'offers',
    title: 'An offer is declined',
    says: counted('An offer was declined.', (n) => `${n} offers were declined.`),
    action: 'View the offers',
    to: {
      buyer: { says: counted('Your offer was declined.', (n) => `${n} of your offers were declined.`) },
    },
  },
  change_proposed: {
    place: 'offers',
    title: 'A change to accepted terms is proposed',
    says: counted(
      'A change to the accepted terms was proposed.',
      (n) => `${n} changes to the accepted terms were proposed.`,
    ),
    action: 'View the offers',
  },
  change_accepted: {
    place: 'offers',
    title: 'A change to accepted terms is accepted',
    says: counted(
      'A change to the accepted terms was accepted.',
      (n) => `${n} changes to the accepted terms were accepted.`,
    ),
    action: 'View the offers',
    to: {
      buyer: {
        says: counted(
          'Your change to the accepted terms was accepted.',
          (n) => `${n} of your changes to the accepted terms were accepted.`,
        ),
      },
    },
  },
  change_declined: {
    place: 'offers',
    title: 'A change to accepted terms is declined',
    says: counted(
      'A change to the accepted terms was declined.',
      (n) => `${n} changes to the accepted terms were declined.`,
    ),
    action: 'View the offers',
    to: {
      buyer: {
        says: counted(
          'Your change to the accepted terms was declined.',
          (n) => `${n} of your changes to the accepted terms were declined.`,
        ),
      },
    },
  },
  offer_expiring: {
    place: 'offers',
    title: 'An offer is about to expire',
    says: counted('An offer expires within two days.', (n) => `${n} offers expire within two days.`),
    action: 'View the offers',
    to: {
      buyer: {
        says: counted('Your offer expires within two days.', (n) => `${n} of your offers expire within two days.`),
      },
    },
  },
  exclusivity_granted: {
    place: 'deal',
    title: 'Exclusivity is granted',
    says: () => 'Exclusivity was granted.',
    action: 'Open the deal',
    to: {
      buyer: { says: () => 'Exclusivity was granted to you.' },
    },
  },
  exclusivity_changed: {
    place: 'deal',
    title: 'Exclusivity gets a new end date',
    says: () => 'The exclusivity has a new end date.',
    action: 'Open the deal',
    to: {
      buyer: { says: () => 'Your exclusivity has a new end date.' },
    },
  },
  exclusivity_ending: {
    place: 'deal',
    title: 'Exclusivity ends in 7 days, and in 1 day',
    says: () => 'The exclusivity is about to end.',
    action: 'Open the deal',
    to: {
      buyer: { says: () => 'Your exclusivity is about to end.' },
    },
  },
  exclusivity_lapsed: {
    place: 'deal',
    title: 'Exclusivity has ended',
    says: () => 'The exclusivity has ended.',
    action: 'Open the deal',
    to: {
      buyer: { says: () => 'Your exclusivity has ended.' },
    },
  },
  deal_listed: {
    place: 'deal',
    title: 'The deal is listed',
    says: () => 'The deal is listed: offers can be made.',
    action: 'Open the deal',
  },
  deal_moved: {
    place: 'deal',
    title: 'The deal moves to its next stage',
    says: counted('The deal moved to its next stage.', (n) => `The deal moved on ${n} stages.`),
    action: 'Open the deal',
  },
  deal_closed: {
    place: 'deal',
    title: 'The deal closes',
    says: () => 'The deal has closed.',
    action: 'Open the deal',
  },
  deal_withdrawn: {
    place: 'deal',
    title: 'The deal is withdrawn',
    says: () => 'The deal was withdrawn.',
    action: 'Open the deal',
  },
  condition_assigned: {
    place: 'closing',
    title: 'A closing condition is assigned to you',
    says: counted('A closing condition was assigned to you.', (n) => `${n} closing conditions were assigned to you.`),
    action: 'View the conditions',
  },
  condition_due: {
    place: 'closing',
    title: 'A closing condition is due in 3 days',
    says: counted('A closing condition is due within 3 days.', (n) => `${n} closing conditions are due within 3 days.`),
    action: 'View the conditions',
  },
  condition_overdue: {
    place: 'closing',
    title: 'A closing condition is overdue',
    says: counted('A closing condition is overdue.', (n) => `${n} closing conditions are overdue.`),
    action: 'View the conditions',
  },
  finding_assigned: {
    place: 'findings',
    title: 'A finding is assigned to you',
    says: counted('A finding was assigned to you.', (n) => `${n} findings were assigned to you.`),
    action: 'View the findings',
  },
  invited: {
    place: 'people',
    title: 'Someone is invited to the deal',
    says: counted('Someone was invited.', (n) => `${n} people were invited.`),
    action: 'View the people',
  },
  joined: {
    place: 'people',
    title: 'Someone joins the deal',
    says: counted('Someone joined.', (n) => `${n} people joined.`),
    action: 'View the people',
  },
  removed: {
    place: 'people',
    title: 'You or someone else is removed from the deal',
    says: counted('Someone was removed.', (n) => `${n} people were removed.`),
    action: 'View the people',
    // A person who was removed from a deal cannot open it, and reads no more than that.
    ofNone: { says: () => 'You no longer take part in a deal.', action: 'Open Dealkeep' },
  },
  left: {
    place: 'people',
    title: 'Someone leaves the deal',
    says: counted('Someone left.', (n) => `${n} people left.`),
    action: 'View the people',
  },
  broker_changed: {
    place: 'people',
    title: 'The deal is handed over to another broker',
    says: counted('The deal has a new broker.', (n) => `The deal got a new broker ${n} times.`),
    action: 'View the people',
  },
  deals_received: {
    place: 'deal',
    title: 'Deals are handed over to you, or opened for you',
    says: () => 'You now run the deal as its broker.',
    action: 'Open the deal',
    ofNone: {
      says: (_, of = 'your brokerage') => `You now run more deals of ${of} as their broker.`,
      action: 'View the deals',
      place: 'deals',
    },
  },
  outside_broker: {
    place: 'people',
    title: 'Somebody outside your brokerage becomes a broker of one of its deals',
    says: counted(
      'Somebody who is no member of your brokerage became a broker of the deal.',
      (n) => `${n} people who are no members of your brokerage became brokers of the deal.`,
    ),
    action: 'View the people',
  },
  nda_reminder: {
    place: 'nda',
    title: 'A broker reminds you of an NDA',
    says: counted(
      'A broker reminds you of an NDA that is waiting for your signature.',
      (n) => `A broker reminds you of ${n} NDAs that are waiting for your signature.`,
    ),
    action: 'Read and sign it',
  },
  question_reminder: {
    place: 'questions',
    title: 'A broker reminds you of a question',
    says: counted(
      'A broker reminds you of a question that is waiting for your answer.',
      (n) => `A broker reminds you of ${n} questions that are waiting for your answers.`,
    ),
    action: 'View the questions',
  },
  condition_reminder: {
    place: 'closing',
    title: 'A broker reminds you of a closing condition',
    says: counted(
      'A broker reminds you of a closing condition that is assigned to you.',
      (n) => `A broker reminds you of ${n} closing conditions that are assigned to you.`,
    ),
    action: 'View the conditions',
  },
  assistant_connected: {
    place: 'clients',
    title: 'An assistant is connected to your account',
    says: (n, of) =>
      `${n === 1 ? 'An assistant was' : `${n} assistants were`} connected to your account${of === undefined ? '' : `: ${of}`}.`,
    action: 'View the connected assistants',
  },
  api_key_made: {
    place: 'keys',
    title: 'An API key is created for your brokerage',
    says: (n, of = 'your brokerage') => `${n === 1 ? 'An API key was' : `${n} API keys were`} created for ${of}.`,
    action: 'View the API keys',
  },
  new_device: {
    place: 'security',
    title: 'Someone signs in to your account from a new device',
    says: counted(
      'Someone signed in to your account from a new device.',
      (n) => `Someone signed in to your account from ${n} new devices.`,
    ),
    action: 'View your sessions',
  },
  sessions_ended: {
    place: 'security',
    title: 'An admin of your brokerage ends your sessions',
    says: (_, of = 'your brokerage') =>
      `An admin of ${of} signed you out everywhere and disconnected your connected clients.`,
    action: 'View your sessions',
  },
  factor_required: {
    place: 'security',
    title: 'Your brokerage requires a second factor, and you have none',
    says: (_, of = 'Your brokerage') => `${of} now requires a second factor: set one up to open its deals.`,
    action: 'Set up a second factor',
  },
  api_key_stopped: {
    place: 'keys',
    title: 'An API key stops or can do less',
    says: (n, of = 'your brokerage') =>
      `${n === 1 ? 'An API key' : `${n} API keys`} of ${of} stopped or can do less: the person through whom ${n === 1 ? 'it works' : 'they work'} lost the right to it.`,
    action: 'View the API keys',
  },
  connection_ended: {
    place: 'clients',
    title: 'An assistant is disconnected because its access may have been copied',
    says: (n, of) =>
      `${n === 1 ? 'An assistant was' : `${n} assistants were`} disconnected because the access may have been copied${of === undefined ? '' : `: ${of}`}.`,
    action: 'View the connected assistants',
  },
  webhook_stopped: {
    place: 'webhooks',
    title: 'A webhook loses the admin through whom it works',
    says: (n, of = 'your brokerage') =>
      n === 1
        ? `A webhook of ${of} was turned off: the person through whom it worked lost the right to it.`
        : `${n} webhooks of ${of} were turned off: the person through whom they worked lost the right to them.`,
    action: 'View the webhooks',
  },
} as const satisfies Record<string, Words>;

export type NotificationKind = keyof typeof notificationKinds;

/** The words of a kind for somebody in this role on the deal (null on none), or where it is about no deal. */
function wordsFor(kind: NotificationKind, ofDeal: boolean, role: string | null): Pick<Words, 'says' | 'action'> {
  const words: Words = notificationKinds[kind];
  if (!ofDeal && words.ofNone) return words.ofNone;
  const own = role === 'buyer' || role === 'seller' ? words.to?.[role] : undefined;
  return { says: own?.says ?? words.says, action: own?.action ?? words.action };
}

/**
 * The event as a sentence for a reader in the role `role` on the deal; `ofDeal` is false when it concerns the reader's
 * account, or no deal that they see; `of` are the brokerages or clients that it is about, in words.
 */
export function sentenceOf(
  kind: NotificationKind,
  count: number,
  ofDeal: boolean,
  role: string | null,
  of: readonly string[] = [],
): string {
  const { says } = wordsFor(kind, ofDeal, role);
  return of.length === 0 ? says(count) : says(count, of.join(' and '));
}

/** A connected client: the name that somebody chose for it, and the addresses that tell whose it is. */
export interface NamedClient {
  readonly name: string;
  readonly urls: readonly string[];
}

/** The client by its name and the hosts of its addresses. */
export function clientInWords({ name, urls }: NamedClient): string {
  const hosts = [...new Set(urls.map((url) => new URL(url).hostname))].filter((host) => host !== '');
  return hosts.length === 0 ? `“${name}”` : `“${name}” of ${hosts.join(', ')}`;
}

/** The label of the button in a mail. */
export const actionOf = (kind: NotificationKind, ofDeal: boolean, role: string | null): string =>
  wordsFor(kind, ofDeal, role).action;

/** Where the event can be viewed. */
export function placeOf(kind: NotificationKind, ofDeal: boolean): NotificationPlace {
  const words: Words = notificationKinds[kind];
  return (ofDeal ? undefined : words.ofNone?.place) ?? words.place;
}

/** The kinds of events that this page of a deal shows. */
export const kindsAt = (place: DealPlace): NotificationKind[] =>
  Object.entries(notificationKinds).flatMap(([kind, words]) =>
    isNotificationKind(kind) && words.place === place ? [kind] : [],
  );

/** Whether a kind of that name exists. */
export const isNotificationKind = (kind: string): kind is NotificationKind => Object.hasOwn(notificationKinds, kind);
