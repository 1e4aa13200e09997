/** The content of each kind of mail, composed at delivery from the facts recorded with the event. */

import { lifetimes } from '../domain/lifetimes.ts';
import type { MailFacts, MailKind, SecurityChange } from '../domain/outbox/mails.ts';
import { timeInWords } from '../http/days.ts';
import {
  addressChangeUrl,
  brokeragePath,
  dealsPath,
  invitationUrl,
  resetUrl,
  securityPath,
  webhooksPath,
} from '../http/links.ts';
import type { Letter } from './template.ts';

/** The inputs of a mail besides its facts. */
export interface Sending {
  readonly baseUrl: string;
  /** The brokerage in whose name it is sent. */
  readonly brokerage: string | null;
  /** The token of its link; empty when the mail has none. */
  readonly token: string;
  /** When its link stops working; null when the mail has none. */
  readonly linkUntil: string | null;
  /** The address to which the reader may reply, if any. */
  readonly replyTo: string | null;
  /** The time zone of the reader; null when it is not known. */
  readonly timeZone: string | null;
  /** When the event happened that the mail is about: the mail may be late. */
  readonly at: string;
}

const product = 'Dealkeep';

const changes: Readonly<Record<SecurityChange, string>> = {
  password_changed: 'Your password was changed, and you were signed out everywhere else.',
  password_reset:
    'Your password was reset. You were signed out everywhere, your assistants were disconnected, and none can write in your name until you allow it again.',
  authenticator_added: 'An authenticator was set up for your account.',
  authenticator_removed: 'The authenticator was removed from your account.',
  passkey_added: 'A passkey was added to your account.',
  passkey_removed: 'A passkey was removed from your account.',
  recovery_codes_renewed: 'New recovery codes were made for your account.',
};

const account =
  'You are receiving this e-mail because it concerns the security of your account. It cannot be turned off.';

/** What to do when somebody else has changed the reader's account. */
export const ifThatWasNotYou =
  'If that was not you, set a new password at once (“Forgot password?” where you sign in), and review what protects your account.';

const works = (sending: Sending, how = ''): string =>
  `The link works once${how}${sending.linkUntil === null ? '' : `, until ${timeInWords(sending.linkUntil, sending.timeZone)}`}.`;

/** When something happened, as a sentence after the one that says what. */
export const thatWas = (at: string, timeZone: string | null): string => `This was on ${timeInWords(at, timeZone)}.`;

const deletionOf = (brokerage: string, due: string, isCancelled: boolean): string =>
  isCancelled ? `${brokerage} will not be deleted` : `${brokerage} will be deleted on ${due}`;

type Contents = { readonly [Kind in MailKind]: (facts: MailFacts[Kind], sending: Sending) => Letter };

const contents: Contents = {
  // The mailbox of an invitation or a new address may be a stranger's, and the name was typed by somebody else.
  invitation: ({ by, brokerage, deal }, sending) => ({
    brand: brokerage,
    subject: `${by} invites you`,
    name: null,
    paragraphs: [`${by} invites you to ${deal === null ? brokerage : `the deal ${deal} of ${brokerage}`}.`],
    action: { label: 'Accept the invitation', url: invitationUrl(sending.baseUrl, sending.token) },
    notes: [works(sending), 'If you do not expect this invitation, ignore this e-mail.'],
    replyTo: sending.replyTo,
    footer: [`${by} entered your e-mail address in ${product}, which ${brokerage} uses to manage its deals.`],
  }),
  password_reset: ({ name }, sending) => ({
    brand: product,
    subject: 'Choose a new password',
    name,
    paragraphs: [`Someone, most likely you, requested a new ${product} password.`],
    action: { label: 'Choose a new password', url: resetUrl(sending.baseUrl, sending.token) },
    notes: [works(sending), 'If this was not you, ignore this e-mail: your password stays the same.'],
    footer: [account],
  }),
  address_change: (_, sending) => ({
    brand: product,
    subject: 'Confirm your new e-mail address',
    name: null,
    paragraphs: [`Confirm that you want to sign in to ${product} with this e-mail address from now on.`],
    action: { label: 'Confirm the e-mail address', url: addressChangeUrl(sending.baseUrl, sending.token) },
    notes: [
      works(sending, ', in the browser in which you are signed in'),
      'If this was not you, ignore this e-mail: nothing changes.',
    ],
    footer: ['You are receiving this e-mail because someone entered this address as their new e-mail address.'],
  }),
  address_changed: ({ name, new_email }, { at, timeZone }) => ({
    brand: product,
    subject: 'Your e-mail address has changed',
    name,
    paragraphs: [
      `You now sign in to ${product} with ${new_email} and no longer with this address. ${thatWas(at, timeZone)}`,
      'If that was not you, ask the admin of your brokerage, or the broker of your deal, for help at once.',
    ],
    exact: [new_email],
    footer: [account],
  }),
  security_change: ({ name, what }, { baseUrl, at, timeZone }) => ({
    brand: product,
    subject: 'The security of your account has changed',
    name,
    paragraphs: [
      `${changes[what] ?? 'Something that protects your account was changed.'} ${thatWas(at, timeZone)}`,
      ifThatWasNotYou,
    ],
    action: { label: 'Review account security', url: `${baseUrl}${securityPath}` },
    footer: [account],
  }),
  webhook_off: ({ name, brokerage, host, error }, { baseUrl }) => ({
    brand: brokerage,
    subject: `A webhook to ${host} was turned off`,
    name,
    paragraphs: [
      `For ${lifetimes.failingWebhook}, ${host} has accepted nothing that ${product} sent it for ${brokerage}. Nothing more is sent until the webhook is turned on again.`,
      ...(error === null ? [] : [`The last error: ${error}`]),
      `Changes in the meantime are kept for ${lifetimes.change} and sent then.`,
    ],
    exact: [host],
    action: { label: 'View the webhooks', url: `${baseUrl}${webhooksPath}` },
    footer: [`You are receiving this e-mail because you are an admin of ${brokerage}. It cannot be turned off.`],
  }),
  brokerage_deletion: ({ name, brokerage, by, due_at, cancelled }, { baseUrl, timeZone }) => ({
    brand: brokerage,
    subject: deletionOf(brokerage, timeInWords(due_at, timeZone), cancelled),
    name,
    paragraphs: cancelled
      ? [`${by ?? 'The operator of this service'} canceled the deletion: ${brokerage} stays on ${product} as it is.`]
      : [
          `${by ?? 'The operator of this service'} requested the deletion of ${brokerage} from ${product}. On ${timeInWords(due_at, timeZone)} its deals, documents, contacts and members are deleted for good.`,
          'Until then everything stays as it is, and any admin can cancel the deletion.',
        ],
    action: { label: cancelled ? 'Open the settings' : 'Cancel the deletion', url: `${baseUrl}${brokeragePath}` },
    footer: [`You are receiving this e-mail because you are an admin of ${brokerage}. It cannot be turned off.`],
  }),
  deletion_of_deals: ({ name, brokerage, due_at, cancelled }, { baseUrl, timeZone }) => ({
    brand: brokerage,
    subject: deletionOf(brokerage, timeInWords(due_at, timeZone), cancelled),
    name,
    paragraphs: cancelled
      ? [`The deletion of ${brokerage} was canceled: it stays on ${product} as it is, with its deals.`]
      : [
          `On ${timeInWords(due_at, timeZone)} ${brokerage} will be deleted from ${product} for good, with its deals and everything on them: documents, questions and offers.`,
          'Until then everything stays as it is: download what you need. If you have questions, ask the broker of your deal, or an admin of the brokerage.',
        ],
    action: { label: 'View the deals', url: `${baseUrl}${dealsPath}` },
    footer: [
      `You are receiving this e-mail because you are a member of ${brokerage}, or take part in one of its deals. It cannot be turned off.`,
    ],
  }),
};

/** Returns the letter of a mail; null for a kind that this release does not know, written by a newer one. */
export function letterOf(kind: string, facts: unknown, sending: Sending): Letter | null {
  if (!Object.hasOwn(contents, kind)) return null;
  const make = contents[kind as MailKind] as (given: unknown, with_: Sending) => Letter;
  return make(facts, sending);
}
