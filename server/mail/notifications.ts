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
  api_key_stopped:
    'Rotate the key to work with it as before, or create another if it was revoked. If the person lacks the second factor that the brokerage requires, it also works again once they set one up.',
  webhook_stopped: 'If you still use it, check its address and turn it on.',
};

/** What the reader of a notification about the security of their account can do. */
const adviceOn = ({ kind }: MailedNotification): string => advice[kind] ?? ifThatWasNotYou;

/** Returns why the reader gets a mail about these deals, as an admin alone on some, and what is about no deal. */
function reasonOf(groups: readonly OfDeal[]): string {
  const deals = groups.filter(({ id }) => id !== null);
  const administered = deals.filter(({ items }) => items.every(({ kind }) => kind === 'outside_broker')).length;
  const joined = deals.length - administered;
  const both = joined > 0 && administered > 0;
  const these = both ? `${joined === 1 ? 'one' : 'some'} of these deals` : joined > 1 ? 'these deals' : 'this deal';
  const others = both ? ` of the ${administered === 1 ? 'other' : 'others'}` : '';
  const ofNone = groups.flatMap(({ id, items }) => (id === null ? items : []));
  const received = ofNone.some(({ kind }) => kind === 'deals_received');
  const account = ofNone.some(({ kind }) => kind !== 'deals_received');
  const reasons = [
    ...(joined > 0 ? [`you take part in ${these}`] : []),
    ...(administered > 0 ? [`you are an admin of the brokerage${others}`] : []),
    ...(received ? ['you now run deals of the brokerage'] : []),
    ...(account ? ['it concerns your account'] : []),
  ];
  return `You are receiving this e-mail because ${reasons.join(', and ')}.`;
}

/** Returns the letter for at least one notification; `times`: when those about the reader's account occurred last. */
export function notificationLetter(
  items: readonly [MailedNotification, ...MailedNotification[]],
  times: ReadonlyMap<NotificationKind, string>,
  { baseUrl, brokerage, timeZone }: Sending,
): Letter {
  const [first] = items;
  const { name, daily, token } = first;
  const urlOf = ({ kind, deal_id, brokerages }: MailedNotification) =>
    `${baseUrl}${notificationPath(placeOf(kind, deal_id !== null), deal_id, brokerages?.length === 1 ? brokerages[0] : undefined)}`;
  /** The sentence with its time when it is about the account: the reader compares it with what they did. */
  const dated = (one: MailedNotification): string => {
    const at = isSecurity(one) ? times.get(one.kind) : undefined;
    if (at === undefined) return sentence(one);
    return `${sentence(one)} ${one.count === 1 ? thatWas(at, timeZone) : `The last time was on ${timeInWords(at, timeZone)}.`}`;
  };
  const groups = byDeal(items);
  const ofDeals = groups.filter(({ id }) => id !== null);
  const account = groups.length > ofDeals.length;
  const unsubscribe = token === null ? null : `${baseUrl}${unsubscribePath}?${new URLSearchParams({ token })}`;
  const around = {
    brand: brokerage ?? product,
    name,
    footer: [
      reasonOf(groups),
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
