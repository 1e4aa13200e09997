/** What happened and waits to be told, and what the clock brings: for the worker and the scheduled jobs (043_notifications.sql). */

import { mapped, row, type Statement } from '../../database/statement.ts';

const tell = row<{ taken: number }, [most: number]>('tell_events', 'select app.tell_events($1) as taken');

/** Tells everybody whom they concern of at most so many events (100 at a time); how many were taken. Nobody has entered. */
export const tellEvents = (most: number): Statement<number> => mapped(tell(most), (found) => found?.taken ?? 0);

/** Queues what is to be told by now: what is about to end, due or overdue. */
export const queueReminders = row('queue_reminders', 'select app.queue_reminders()');

/** Deletes what people heard of half a year ago. */
export const purgeNotifications = row('purge_notifications', 'select app.purge_notifications()');
