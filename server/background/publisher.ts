/** Publishes committed changes to the readers of the stream of changes, once a second: server/domain/events/changes.ts. */

import { publishChanges } from '../domain/events/changes.ts';
import type { CoreServices } from '../services.ts';

/** How often, in milliseconds. Not woken by each write: to notify, PostgreSQL lets one transaction commit at a time. */
const everyMillis = 1_000;

/** Starts it; the function returned stops it. Every node does it, once for all of its processes: each finds what another has done. */
export function startPublisher({ database, log }: Pick<CoreServices, 'database' | 'log'>): () => void {
  let isRunning = false;
  async function run(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    try {
      // A second look publishes what waited for its own transaction to end.
      const { moved, waits } = await database.run(publishChanges());
      if (waits && !moved) await database.run(publishChanges());
    } catch (error) {
      log.warn({ err: error }, 'publishing changes failed');
    } finally {
      isRunning = false;
    }
  }
  const timer = setInterval(() => void run(), everyMillis).unref();
  return () => clearInterval(timer);
}
