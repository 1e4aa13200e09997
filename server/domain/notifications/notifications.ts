/** A person's notifications about records that they may still open, and their choices of how to be notified. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { pageUpTo, type Page, type Place, type Placed } from '../../database/paging.ts';
import {
  clientInWords,
  isNotificationKind,
  kindsAt,
  notificationKinds,
  placeOf,
  sentenceOf,
  type DealDelivery,
  type DealPlace,
  type Delivery,
  type NamedClient,
  type NotificationKind,
  type NotificationPlace,
} from './kinds.ts';

export interface Notification {
  id: string;
  kind: NotificationKind;
  deal_id: string | null;
  deal_title: string | null;
  /**
   * The id of the record that it is about, and the name under which lists show that record, if any: never text that a
   * person wrote.
   */
  subject_id: string | null;
  subject_name: string | null;
  /** Also null when the reader may not know the actor. */
  actor_name: string | null;
  /** The brokerage that it is about, if it is about one that the reader sees. */
  brokerage_id: string | null;
  at: string;
  read_at: string | null;
  /** What happened, as a sentence. */
  summary: string;
  /** The page that shows the record. */
  place: NotificationPlace;
}

/** `role` is the reader's on the deal; `brokerage_name` and `client` are null where it is about none that they see. */
type Found = Omit<Notification, 'summary' | 'place'> & {
  role: string | null;
  brokerage_name: string | null;
  client: NamedClient | null;
};

const notificationOf = ({ role, brokerage_name, client, ...found }: Found): Notification => {
  const known = isNotificationKind(found.kind);
  const of = [
    ...(brokerage_name === null ? [] : [brokerage_name]),
    ...(client === null ? [] : [clientInWords(client)]),
  ];
  return {
    ...found,
    summary: known ? sentenceOf(found.kind, 1, found.deal_id !== null, role, of) : 'Something happened.',
    place: known ? placeOf(found.kind, found.deal_id !== null) : 'deal',
  };
};

/**
 * Not a notification, but the position that was reached when too many notifications before it are hidden. A visible
 * notification at the same position precedes it.
 */
interface Reached {
  kind: null;
  id: string;
  place: string;
}

const page = rows<Placed<Found> | Reached>(
  'notifications_in_sight',
  // The policies decide which keys and brokerages the caller sees.
  `select l.*, b.id as brokerage_id, b.name as brokerage_name, l.at::text as place,
     (select jsonb_build_object('name', c.name, 'urls', case when c.metadata_url is null then c.redirect_uris else array[c.metadata_url] end)
       from connected_clients c where l.deal_id is null and c.id = l.subject_id) as client,
     case when l.deal_id is not null then app.role_on(l.deal_id) end as role
   from app.notifications_in_sight($1, $2, $3) l
   left join lateral (
     select o.id, o.name from brokerages o
     where o.id = case when l.kind in ('api_key_made', 'api_key_stopped', 'webhook_stopped') then (select k.brokerage_id from api_keys k where k.id = l.subject_id)
       when l.deal_id is null then l.subject_id end
     offset 0) b on true
   order by l.at desc, l.id desc, l.kind is null`,
);

/**
 * The caller's notifications about records that they may still open, latest first, in pages; pages before the last one
 * may be empty.
 */
export const ownNotifications = (after: Place | null, limit: number): Statement<Page<Notification>> =>
  mapped(page(after?.key, after?.id, limit + 1), (found) =>
    pageUpTo(found, (one): one is Reached => one.kind === null, limit, notificationOf),
  );

const unread = row<{ count: number }, []>('unread_notifications', 'select app.unread_notifications() as count');

/** How many notifications the caller has not read, at most 100. */
export const unreadNotifications = (): Statement<number> => mapped(unread(), (found) => found?.count ?? 0);

const read = row<unknown, [ids: string[]]>('read_notifications', 'select app.read_notifications($1)');

/** Marks these notifications as read by the caller. */
export const readNotifications = (ids: readonly string[]): Statement<unknown> => read([...ids]);

const readAt = row<unknown, [dealId: string, kinds: string[]]>(
  'read_notifications_at',
  'select app.read_notifications_of($1, $2)',
);

/** Marks the caller's notifications about this deal as read that this page of it shows. */
export const readNotificationsAt = (dealId: string, place: DealPlace): Statement<unknown> =>
  readAt(dealId, kindsAt(place));

/** One batch of notifications that were marked as read together. */
export interface ReadPortion {
  /** Only notifications up to this time are marked, so that those that arrive meanwhile stay unread. */
  until: string;
  /** Whether there may be more. */
  more: boolean;
}

const readAll = row<ReadPortion, [until: string | null]>(
  'read_all_notifications',
  'select coalesce($1::timestamptz, app.now())::text as until, app.read_notifications(null, $1) >= 10000 as more',
);

/**
 * Marks all notifications of the caller as read, also those that they may no longer open: the latest 10,000, or the
 * next ones after an earlier batch. The caller must not learn how many they were.
 */
export const readAllNotifications = (earlier: ReadPortion | null): Statement<ReadPortion | null> =>
  readAll(earlier?.until ?? null);

interface NotificationChoice {
  kind: NotificationKind;
  title: string;
  delivery: Delivery;
  /** The default until the caller chooses. */
  standard: Delivery;
  /** Whether the kind concerns the security of the account and cannot be turned off. */
  security: boolean;
}

const choices = rows<Omit<NotificationChoice, 'title'>, []>(
  'notification_choices',
  'select kind, delivery, standard, security from app.notification_choices()',
);

/** How the caller is notified about each kind, in the order of the settings. */
export const notificationChoices = (): Statement<NotificationChoice[]> =>
  mapped(choices(), (found) =>
    found.flatMap((one) =>
      isNotificationKind(one.kind) ? [{ ...one, title: notificationKinds[one.kind].title }] : [],
    ),
  );

/** Chooses the delivery of a kind. Rejected with `security_stays` when the kind cannot be turned off. */
export const chooseNotification = row<unknown, [kind: NotificationKind, delivery: Delivery]>(
  'choose_notification',
  'select app.choose_notification($1, $2)',
);

interface DealNotificationChoice {
  deal_id: string;
  deal_title: string;
  delivery: DealDelivery;
}

/** The deals that the caller sees and for which they chose a delivery, by title. */
export const dealNotificationChoices = rows<DealNotificationChoice, []>(
  'deal_notification_choices',
  `select c.deal_id, d.title as deal_title, c.delivery
   from app.deal_notification_choices() c join deals d on d.id = c.deal_id order by app.folded(d.title), d.id`,
);

const dealChoice = row<{ delivery: DealDelivery | null }, [dealId: string]>(
  'deal_notification_choice',
  'select app.deal_notification_choice($1) as delivery',
);

/** The delivery that the caller chose for a deal, or null. */
export const dealNotificationChoice = (dealId: string): Statement<DealDelivery | null> =>
  mapped(dealChoice(dealId), (found) => found?.delivery ?? null);

const chooseDeal = row<{ done: boolean }, [dealId: string, delivery: DealDelivery | null]>(
  'choose_deal_notification',
  'select app.choose_deal_notification($1, $2) as done',
);

/** Chooses the delivery for a deal; null resets it. Returns false when the caller sees no such deal. */
export const chooseDealNotification = (dealId: string, delivery: DealDelivery | null): Statement<boolean> =>
  mapped(chooseDeal(dealId, delivery), (found) => found?.done ?? false);

export interface NotificationSettings {
  /** An IANA time zone name. */
  time_zone: string;
  /** The hour in that time zone at which the daily mail is sent, 0 to 23. */
  digest_hour: number;
}

/** The caller's time zone and hour; null until chosen. */
export const notificationSettings = row<NotificationSettings, []>(
  'notification_settings',
  'select time_zone, digest_hour from app.notification_settings()',
);

/** Sets the caller's time zone and hour. Rejected when the time zone does not exist. */
export const setNotificationSettings = row<unknown, [timeZone: string, hour: number]>(
  'set_notification_settings',
  'select app.set_notification_settings($1, $2)',
);
