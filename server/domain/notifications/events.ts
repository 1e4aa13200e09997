/**
 * Queued events and due reminders, for the worker and the scheduled jobs that notify people (043_notifications.sql).
 */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { NamedClient, NotificationKind } from './kinds.ts';

const create = row<{ taken: number }, [most: number]>('tell_events', 'select app.tell_events($1) as taken');

/**
 * Creates the notifications of at most `most` queued events (100 at a time); returns the number of events processed.
 * Runs without a caller.
 */
export const createNotifications = (most: number): Statement<number> =>
  mapped(create(most), (found) => found?.taken ?? 0);

const remind = row<{ taken: number }, []>('queue_reminders', 'select app.queue_reminders() as taken');

/**
 * Queues events for everything that is about to end, due or overdue, for at most 500 reminders; returns their number.
 */
export const queueReminders = (): Statement<number> => mapped(remind(), (found) => found?.taken ?? 0);

const purge = row<{ deleted: number }, []>('purge_notifications', 'select app.purge_notifications() as deleted');

/** Deletes a batch of notifications that are half a year old; returns their number. */
export const purgeNotifications = (): Statement<number> => mapped(purge(), (found) => found?.deleted ?? 0);

const queueMails = row<{ written: number }, [most: number]>(
  'queue_notification_mails',
  'select app.queue_notification_mails($1) as written',
);

/**
 * Puts due notification mails into the outbox, for at most `most` people and deals; returns their number, or `most`
 * when more may be due.
 */
export const queueNotificationMails = (most: number): Statement<number> =>
  mapped(queueMails(most), (found) => found?.written ?? 0);

/** How often a kind of event occurred on a deal, or (with nulls) concerning the reader's account. */
export interface MailedNotification {
  name: string;
  /** Whether it is in the daily mail. */
  daily: boolean;
  kind: NotificationKind;
  deal_id: string | null;
  deal_title: string | null;
  /** What the reader is on the deal. */
  role: string | null;
  count: number;
  /** The brokerages that it is about; null where it is about none. */
  brokerages: { id: string; name: string }[] | null;
  /** The connected clients that it is about; null where it is about none. */
  clients: NamedClient[] | null;
  /**
   * The token with which the reader unsubscribes from the kinds in the mail; null in a mail to the address that the
   * reader had before.
   */
  token: string | null;
}

/**
 * The current notifications of a mail in the outbox, grouped by deal, the deal with the latest one first. Empty: none
 * are left to send.
 */
export const notificationMail = rows<MailedNotification, [mail: string]>(
  'notification_mail',
  `select name, daily, kind, deal_id, deal_title, count, token,
     case when deal_id is not null then app.role_of_reader($1, deal_id) end as role,
     case when deal_id is null then app.brokerages_of_notices($1, kind) end as brokerages,
     case when deal_id is null then app.clients_of_notices($1, kind) end as clients
   from app.notification_mail($1)`,
);

/** When each kind of a mail's notifications about the reader's account occurred last. */
export const timesOfMail = rows<{ kind: NotificationKind; at: string }, [mail: string]>(
  'times_of_mail',
  'select kind, at from app.times_of_mail($1)',
);

const kindsOf = row<{ kinds: string[] | null }, [token: string]>(
  'unsubscribe_kinds',
  'select app.unsubscribe_kinds($1) as kinds',
);

/** The kinds that the unsubscribe token of a mail turns off; null when the token is unknown. */
export const unsubscribeKinds = (token: string): Statement<string[] | null> =>
  mapped(kindsOf(token), (found) => found?.kinds ?? null);

const unsubscribeBy = row<{ kinds: string[] | null }, [token: string]>(
  'unsubscribe',
  'select app.unsubscribe($1) as kinds',
);

/**
 * Turns these kinds off in mails, and keeps them in the application. Returns the kinds, or null when the token is
 * unknown.
 */
export const unsubscribe = (token: string): Statement<string[] | null> =>
  mapped(unsubscribeBy(token), (found) => found?.kinds ?? null);
