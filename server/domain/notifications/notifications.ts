/** A person's notifications, as far as they may still open what they are about, and how they choose to be notified. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { pageUpTo, type Page, type Place, type Placed } from '../../database/paging.ts';
import {
  isNotificationKind,
  notificationKinds,
  sentenceOf,
  type DealDelivery,
  type Delivery,
  type NotificationKind,
  type NotificationPlace,
} from './kinds.ts';

export interface Notification {
  id: string;
  kind: NotificationKind;
  deal_id: string | null;
  deal_title: string | null;
  /** The id of what it is about, and its name where it has one that stands in lists: never what a person wrote. */
  subject_id: string | null;
  subject_name: string | null;
  /** Null also when the reader may not know of them. */
  actor_name: string | null;
  at: string;
  read_at: string | null;
  /** What happened, as a sentence. */
  summary: string;
  /** Which page shows it. */
  place: NotificationPlace;
}

type Found = Omit<Notification, 'summary' | 'place'>;

const notificationOf = (found: Found): Notification => {
  const known = isNotificationKind(found.kind);
  return {
    ...found,
    summary: known ? sentenceOf(found.kind, 1, found.deal_id !== null) : 'Something happened.',
    place: known ? notificationKinds[found.kind].place : 'deal',
  };
};

/** No notification, but the place that was reached, when too many before it are hidden; the one there, if it is not, comes first. */
interface Reached {
  kind: null;
  id: string;
  place: string;
}

const page = rows<Placed<Found> | Reached>(
  'notifications_in_sight',
  `select l.*, l.at::text as place from app.notifications_in_sight($1, $2, $3) l order by l.at desc, l.id desc, l.kind is null`,
);

/** The caller's notifications of what they may still open, the latest first, in pages, which may be empty before the last one. */
export const ownNotifications = (after: Place | null, limit: number): Statement<Page<Notification>> =>
  mapped(page(after?.key, after?.id, limit + 1), (found) =>
    pageUpTo(found, (one): one is Reached => one.kind === null, limit, notificationOf),
  );

const unread = row<{ count: number }, []>('unread_notifications', 'select app.unread_notifications() as count');

/** How much of it they have not read, at most 100. */
export const unreadNotifications = (): Statement<number> => mapped(unread(), (found) => found?.count ?? 0);

const read = row<unknown, [ids: string[]]>('read_notifications', 'select app.read_notifications($1)');

/** Notes that the caller has read these notifications. */
export const readNotifications = (ids: readonly string[]): Statement<unknown> => read([...ids]);

/** A part of all notifications that was noted as read. */
export interface ReadPortion {
  /** Until when those are noted that were there at the beginning, and not what came meanwhile. */
  until: string;
  /** Whether there may be more. */
  more: boolean;
}

const readAll = row<ReadPortion, [until: string | null]>(
  'read_all_notifications',
  'select coalesce($1::timestamptz, app.now())::text as until, app.read_notifications(null, $1) >= 10000 as more',
);

/** Notes the same of those that there are, also of what they may not open any more: the latest 10,000, or the next ones behind a portion. How many these were is not for the caller. */
export const readAllNotifications = (earlier: ReadPortion | null): Statement<ReadPortion | null> =>
  readAll(earlier?.until ?? null);

interface NotificationChoice {
  kind: NotificationKind;
  /** The kind, in words. */
  title: string;
  delivery: Delivery;
  /** What holds until they choose. */
  standard: Delivery;
  /** It concerns the security of the account: it is never off. */
  security: boolean;
}

const choices = rows<Omit<NotificationChoice, 'title'>, []>(
  'notification_choices',
  'select kind, delivery, standard, security from app.notification_choices()',
);

/** How the caller is notified of each kind, in the order of the settings. */
export const notificationChoices = (): Statement<NotificationChoice[]> =>
  mapped(choices(), (found) =>
    found.flatMap((one) =>
      isNotificationKind(one.kind) ? [{ ...one, title: notificationKinds[one.kind].title }] : [],
    ),
  );

/** Chooses for a kind. Refused with `security_stays` where it cannot be off. */
export const chooseNotification = row<unknown, [kind: NotificationKind, delivery: Delivery]>(
  'choose_notification',
  'select app.choose_notification($1, $2)',
);

interface DealNotificationChoice {
  deal_id: string;
  deal_title: string;
  delivery: DealDelivery;
}

/** The deals that the caller sees and for which they chose something, by title. */
export const dealNotificationChoices = rows<DealNotificationChoice, []>(
  'deal_notification_choices',
  `select c.deal_id, d.title as deal_title, c.delivery
   from app.deal_notification_choices() c join deals d on d.id = c.deal_id order by lower(d.title), d.id`,
);

const dealChoice = row<{ delivery: DealDelivery | null }, [dealId: string]>(
  'deal_notification_choice',
  'select app.deal_notification_choice($1) as delivery',
);

/** What the caller chose for a deal, or null. */
export const dealNotificationChoice = (dealId: string): Statement<DealDelivery | null> =>
  mapped(dealChoice(dealId), (found) => found?.delivery ?? null);

const chooseDeal = row<{ done: boolean }, [dealId: string, delivery: DealDelivery | null]>(
  'choose_deal_notification',
  'select app.choose_deal_notification($1, $2) as done',
);

/** Chooses for a deal, or takes that back with null; false when there is none that the caller sees. */
export const chooseDealNotification = (dealId: string, delivery: DealDelivery | null): Statement<boolean> =>
  mapped(chooseDeal(dealId, delivery), (found) => found?.done ?? false);

export interface NotificationSettings {
  /** An IANA name. */
  time_zone: string;
  /** The hour in that zone at which the mail of the day goes, 0 to 23. */
  digest_hour: number;
}

/** The caller's zone and hour; null until they have chosen them. */
export const notificationSettings = row<NotificationSettings, []>(
  'notification_settings',
  'select time_zone, digest_hour from app.notification_settings()',
);

/** Sets the caller's zone and hour. Refused where there is no such zone. */
export const setNotificationSettings = row<unknown, [timeZone: string, hour: number]>(
  'set_notification_settings',
  'select app.set_notification_settings($1, $2)',
);
