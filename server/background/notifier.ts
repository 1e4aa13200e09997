/**
 * Notifies people of events: takes the events that wait, of which the database decides who is notified, and
 * writes the mails that are due, as long as the node runs.
 */

import { queueNotificationMails, createNotifications } from '../domain/notifications/events.ts';
import type { Services } from '../services.ts';
import { startQueueWorker } from './queue-worker.ts';

/** The most events that are turned into notifications, and how many mails are written, in one transaction. */
const atOnce = 20;

/** How long mails may wait while events are told, in milliseconds: those of a moment come in one mail, and many events hold up nobody's. */
const patience = 1_000;

/** Starts it; the function returned stops it, when what is under way is done. Every node does it: each event is taken by one. */
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
      // Where events cannot be told, mails of what was told before are due all the same.
      while (!stopping.aborted && (await writeMails()));
      throw error;
    }
  });
}
