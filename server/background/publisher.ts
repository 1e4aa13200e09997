/**
 * Publishes committed changes to the readers of the change stream, once a second: see server/domain/events/changes.ts.
 */

import { publishChanges } from '../domain/events/changes.ts';
import type { CoreServices } from '../services.ts';

/**
 * Time between two runs, in milliseconds. Writes do not wake it: with notifications, PostgreSQL lets only one
 * transaction commit at a time.
 */
const everyMillis = 1_000;

/**
 * Starts publishing; the returned function stops it. Every node does this, once for all of its processes; changes that
 * one node has published are not published again.
 */
export function startPublisher({ database, log }: Pick<CoreServices, 'database' | 'log'>): () => void {
  let isRunning = false;
  async function run(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    try {
      // A second run publishes the changes that had to wait for the first one's transaction to end.
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
