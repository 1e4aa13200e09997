/**
 * Notifies people of events: takes the events that wait, of which the database decides who is notified, and
 * writes the mails that are due, as long as the node runs.
 */

import { queueNotificationMails, createNotifications } from '../domain/notifications/events.ts';
import type { Services } from '../services.ts';
import { startQueueWorker } from './queue-worker.ts';

/** The most events that are turned into notifications, and how many mails are written, in one transaction. */
const atOnce = 20;

/** Starts it; the function returned stops it, when what is under way is done. Every node does it: each event is taken by one. */
export function startNotifier(services: Services): () => Promise<void> {
  const { database } = services;
  return startQueueWorker(services, 'sending notifications failed', async (stopping) => {
    try {
      while (!stopping.aborted && (await database.run(createNotifications(atOnce))) > 0);
    } finally {
      // Also when events cannot be told: mails of what was told before are due.
      while (!stopping.aborted && (await database.run(queueNotificationMails(atOnce))) === atOnce);
    }
  });
}
