/** Queued events and due reminders, for the worker and the scheduled jobs that notify people (043_notifications.sql). */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { NotificationKind } from './kinds.ts';

const create = row<{ taken: number }, [most: number]>('tell_events', 'select app.tell_events($1) as taken');

/** Makes the notifications of at most so many queued events (100 at a time); how many events were taken. Nobody has entered. */
export const createNotifications = (most: number): Statement<number> =>
  mapped(create(most), (found) => found?.taken ?? 0);

const remind = row<{ taken: number }, []>('queue_reminders', 'select app.queue_reminders() as taken');

/** Queues events of what is about to end, due or overdue by now: of 500 reminders at a time; how many these were. */
export const queueReminders = (): Statement<number> => mapped(remind(), (found) => found?.taken ?? 0);

const purge = row<{ deleted: number }, []>('purge_notifications', 'select app.purge_notifications() as deleted');

/** Deletes notifications that are half a year old, so many at a time; how many these were. */
export const purgeNotifications = (): Statement<number> => mapped(purge(), (found) => found?.deleted ?? 0);

const queueMails = row<{ written: number }, [most: number]>(
  'queue_notification_mails',
  'select app.queue_notification_mails($1) as written',
);

/** Puts what is due by mail into the outbox, for at most so many people and deals; for how many, or `most` when more may be due. */
export const queueNotificationMails = (most: number): Statement<number> =>
  mapped(queueMails(most), (found) => found?.written ?? 0);

/** What happened how often on a deal, or (with nulls) to the reader's account. */
export interface MailedNotification {
  name: string;
  /** Of the mail of the day. */
  daily: boolean;
  kind: NotificationKind;
  deal_id: string | null;
  deal_title: string | null;
  count: number;
  /** Takes the kinds of the mail out of its reader's mails. */
  token: string;
}

/** The notifications of a mail of the outbox at this moment: by deal, the one with the latest first. Empty: none any more. */
export const notificationMail = rows<MailedNotification, [mail: string]>(
  'notification_mail',
  'select name, daily, kind, deal_id, deal_title, count, token from app.notification_mail($1)',
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

/** Takes them out, and leaves them in the application; their kinds, or null when the token is none of ours. */
export const unsubscribe = (token: string): Statement<string[] | null> =>
  mapped(unsubscribeBy(token), (found) => found?.kinds ?? null);
