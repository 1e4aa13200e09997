/**
 * Notifies people of events while the node runs: processes waiting events, for which the database decides who is
 * notified, and writes the mails that are due.
 */

import { queueNotificationMails, createNotifications } from '../domain/notifications/events.ts';
import type { Services } from '../services.ts';
import { startQueueWorker } from './queue-worker.ts';

/** Maximum number of events turned into notifications, and of mails written, in one transaction. */
const atOnce = 20;

/**
 * How long mails may wait while events are processed, in milliseconds: notifications of that time share one mail, and
 * many events delay nobody's mail.
 */
const patience = 1_000;

/**
 * Starts notifying; the returned function stops it once the work in progress is done. Every node runs it, and each
 * event is taken by one of them.
 */
export function startNotifier(services: Services): () => Promise<void> {
  const { database } = services;
  const tell = async () => (await database.run(createNotifications(atOnce))) > 0;
  const writeMails = async () => (await database.run(queueNotificationMails(atOnce))) >= atOnce;
  return startQueueWorker(services, 'sending notifications failed', async (stopping) => {
    try {
      let wroteAt = performance.now();
      for (let areMore = true; areMore && !stopping.aborted;) {
        areMore = await tell();
        if (areMore && performance.now() - wroteAt < patience) continue;
        areMore = (await writeMails()) || areMore;
        wroteAt = performance.now();
      }
    } catch (error) {
      // Even if events cannot be processed, mails for earlier notifications are due.
      while (!stopping.aborted && (await writeMails()));
      throw error;
    }
  });
}
