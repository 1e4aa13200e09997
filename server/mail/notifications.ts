/** The mail about notifications: it names the deal and the action, and never quotes a question, a text or an offer. */

import { actionOf, clientInWords, placeOf, sentenceOf, type NotificationKind } from '../domain/notifications/kinds.ts';
import type { MailedNotification } from '../domain/notifications/events.ts';
import { timeInWords } from '../http/days.ts';
import { notificationChoicesPath, notificationPath, notificationsPath } from '../http/links.ts';
import { ifThatWasNotYou, thatWas, type Sending } from './contents.ts';
import type { Letter, LetterSection } from './template.ts';

/** The path for unsubscribing from a kind of mail: a POST by a program (RFC 8058), or the page for a person. */
export const unsubscribePath = '/unsubscribe';

const product = 'Dealkeep';

interface OfDeal {
  readonly id: string | null;
  readonly title: string;
  readonly items: MailedNotification[];
}

function byDeal(items: readonly MailedNotification[]): OfDeal[] {
  const deals = new Map<string | null, OfDeal>();
  for (const one of items) {
    const deal = deals.get(one.deal_id) ?? { id: one.deal_id, title: one.deal_title ?? 'Your account', items: [] };
    deals.set(one.deal_id, deal);
    deal.items.push(one);
  }
  return [...deals.values()];
}

const sentence = ({ kind, count, deal_id, role, brokerages, clients }: MailedNotification): string =>
  sentenceOf(kind, count, deal_id !== null, role, clients?.map(clientInWords) ?? brokerages?.map(({ name }) => name));
const withoutStop = (text: string): string => text.replace(/\.$/, '');

/** The kinds of notifications that may be about no deal, and do not concern the security of the account. */
const ofNoDeal: readonly NotificationKind[] = ['removed', 'deals_received'];

/** Whether it concerns the security of the account. */
export const isSecurity = ({ kind, deal_id }: MailedNotification): boolean =>
  deal_id === null && !ofNoDeal.includes(kind);

const advice: Partial<Record<NotificationKind, string>> = {
  sessions_ended: 'You can sign in again. If you do not know why this was done, ask an admin of that brokerage.',
  factor_required:
    'Set up an authenticator or a passkey under Settings, Security. Until then you see nothing of the brokerage, and the clients that you connected are disconnected.',
  connection_ended:
    'A code or token of it was used a second time: by the assistant, after a fault, or by somebody who has a copy. Connect it again if you still use it. If this happens again, use it no more, and tell whoever provides it.',
  api_key_stopped: 'Rotate the key to work with it as before, or create another if it was revoked.',
  webhook_stopped: 'If you still use it, check its address and turn it on.',
};

/** What the reader of a notification about the security of their account can do. */
const adviceOn = ({ kind }: MailedNotification): string => advice[kind] ?? ifThatWasNotYou;

/** Returns why the reader gets a mail about `deals` deals, as an admin alone if they `administer`, and about their account. */
function reasonOf(deals: number, administers: boolean, account: boolean): string {
  const part = administers
    ? 'you are an admin of the brokerage'
    : `you take part in ${deals > 1 ? 'these deals' : 'this deal'}`;
  const why = deals === 0 ? 'it concerns your account' : account ? `${part}, and it concerns your account` : part;
  return `You are receiving this e-mail because ${why}.`;
}

/** Returns the letter for at least one notification; `times`: when those about the reader's account occurred last. */
export function notificationLetter(
  items: readonly [MailedNotification, ...MailedNotification[]],
  times: ReadonlyMap<NotificationKind, string>,
  { baseUrl, brokerage }: Sending,
): Letter {
  const [first] = items;
  const { name, daily, token } = first;
  const urlOf = ({ kind, deal_id, brokerages }: MailedNotification) =>
    `${baseUrl}${notificationPath(placeOf(kind, deal_id !== null), deal_id, brokerages?.length === 1 ? brokerages[0] : undefined)}`;
  /** The sentence with its time when it is about the account: the reader compares it with what they did. */
  const dated = (one: MailedNotification): string => {
    const at = isSecurity(one) ? times.get(one.kind) : undefined;
    if (at === undefined) return sentence(one);
    return `${sentence(one)} ${one.count === 1 ? thatWas(at) : `The last time was on ${timeInWords(at)}.`}`;
  };
  const groups = byDeal(items);
  const ofDeals = groups.filter(({ id }) => id !== null);
  const account = groups.length > ofDeals.length;
  const asAdmin = items.every(({ kind, deal_id }) => deal_id === null || kind === 'outside_broker');
  const unsubscribe = token === null ? null : `${baseUrl}${unsubscribePath}?${new URLSearchParams({ token })}`;
  const around = {
    brand: brokerage ?? product,
    name,
    footer: [
      reasonOf(ofDeals.length, ofDeals.length > 0 && asAdmin, account),
      { label: 'Choose your notifications', url: `${baseUrl}${notificationChoicesPath}` },
      ...(unsubscribe === null
        ? []
        : [{ label: daily ? 'Stop daily e-mails' : 'Stop e-mails like this', url: unsubscribe }]),
    ],
    ...(unsubscribe !== null && {
      headers: { 'List-Unsubscribe': `<${unsubscribe}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
    }),
  } as const;
  if (items.length === 1 && !daily)
    return {
      ...around,
      subject:
        first.deal_title === null
          ? withoutStop(sentence(first))
          : `${first.deal_title}: ${withoutStop(sentence(first))}`,
      paragraphs: [
        first.deal_title === null ? dated(first) : `On ${first.deal_title}: ${sentence(first)}`,
        ...(isSecurity(first) ? [adviceOn(first)] : []),
      ],
      action: { label: actionOf(first.kind, first.deal_id !== null, first.role), url: urlOf(first) },
    };
  const sections: LetterSection[] = groups.map(({ title, items: of }) => ({
    heading: title,
    items: [
      ...of.map((one) => ({ text: dated(one), url: urlOf(one) })),
      ...[...new Set(of.filter(isSecurity).map(adviceOn))].map((text) => ({ text })),
    ],
  }));
  const titles = ofDeals.length > 1 ? `${ofDeals.length} deals` : ofDeals[0]?.title;
  const on = [...(titles === undefined ? [] : [titles]), ...(account ? ['your account'] : [])].join(' and ');
  return {
    ...around,
    subject: daily ? `Daily summary: ${on}` : `Updates on ${on}`,
    paragraphs: [daily ? 'Since your last daily e-mail:' : 'What happened:'],
    sections,
    action: { label: 'View all notifications', url: `${baseUrl}${notificationsPath}` },
  };
}
