/**
 * A node's background work, woken by notifications of the database and every few seconds by a timer: claims deliveries
 * and makes them.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { oneAtATime } from '../lib/one-at-a-time.ts';
import type { Services } from '../services.ts';

/** Time between two runs when nothing wakes the worker, in milliseconds. */
const every = 5_000;
/** How often recording an outcome is tried, and the pause between two tries, in milliseconds. */
const most = { notes: 10, pause: 2_000 } as const;

/**
 * Starts a worker: `work` runs immediately, never concurrently with itself, and once more if it was woken meanwhile.
 * `failed` is the log message when it rejects. The returned function stops the worker: it aborts the signal passed to
 * `work`, and resolves when `work` has ended.
 */
export function startQueueWorker(
  { changes, log }: Pick<Services, 'changes' | 'log'>,
  failed: string,
  work: (stopping: AbortSignal) => Promise<void>,
): () => Promise<void> {
  const stopping = new AbortController();
  const run = oneAtATime(async () => {
    if (!stopping.signal.aborted)
      await work(stopping.signal).catch((error: unknown) => log.warn({ err: error }, failed));
  });
  let running: Promise<void> | undefined;
  const wake = () => {
    running = run();
  };
  const unfollow = changes.onQueued(wake);
  const timer = setInterval(wake, every).unref();
  wake();
  return async () => {
    stopping.abort();
    unfollow();
    clearInterval(timer);
    await running;
  };
}

/**
 * Starts a worker that runs `deliver`, like {@link startQueueWorker}. The returned function stops it: `finish` claims
 * nothing more and waits for deliveries in progress, for as long as a node may take to stop. Another node makes the
 * remaining ones when their claims expire.
 */
export function startDeliveryWorker(
  services: Pick<Services, 'changes' | 'log' | 'config'>,
  failed: string,
  { deliver, finish }: { readonly deliver: () => Promise<void>; readonly finish: () => Promise<void> },
): () => Promise<void> {
  const stop = startQueueWorker(services, failed, deliver);
  return async () => {
    const stopped = Promise.all([stop(), finish()]);
    await Promise.race([stopped, wait(services.config.shutdownSeconds * 1_000, undefined, { ref: false })]);
  };
}

/**
 * Records the outcome of a delivery. Retries for a while, as a delivery cannot be undone: without a record it is
 * repeated when its claim expires. Rejects with the last error.
 */
export async function recordOutcome(note: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await note();
      return;
    } catch (error) {
      if (tries === most.notes) throw error;
      await wait(most.pause);
    }
  }
}
