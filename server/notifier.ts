/**
 * Tells people of what happened: takes the events that wait, of which the database decides who hears, and
 * writes the mails that are due, as long as the node runs.
 */

import { queueNotificationMails, tellEvents } from './domain/notifications/events.ts';
import type { Services } from './services.ts';

/** How often a node looks for events when nothing wakes it, in milliseconds. */
const every = 5_000;
/** How many events are told of, and how many mails are written, in one transaction. */
const atOnce = 20;

/** Starts it; the function returned stops it, when what is under way is done. Every node does it: each event is taken by one. */
export function startNotifier({ database, changes, log }: Services): () => Promise<void> {
  const stopping = new AbortController();
  let isWaiting = false;
  let running: Promise<void> | undefined;
  async function work(): Promise<void> {
    for (let taken = atOnce; !stopping.signal.aborted && (taken === atOnce || isWaiting);) {
      isWaiting = false;
      taken = await database.run(tellEvents(atOnce));
    }
    while (!stopping.signal.aborted && (await database.run(queueNotificationMails(atOnce))) === atOnce);
  }
  const wake = () => {
    if (stopping.signal.aborted) return;
    isWaiting = true;
    running ??= work()
      .catch((error: unknown) => log.warn({ err: error }, 'telling people of what happened failed'))
      .finally(() => (running = undefined));
  };
  const unfollow = changes.onMail(wake);
  const timer = setInterval(wake, every).unref();
  wake();
  return async () => {
    stopping.abort();
    unfollow();
    clearInterval(timer);
    await running;
  };
}
