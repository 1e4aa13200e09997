/** Background work of a node that a notification of the database wakes, and a timer every few seconds: it claims deliveries and makes them. */

import { setTimeout as wait } from 'node:timers/promises';
import { oneAtATime } from '../lib/one-at-a-time.ts';
import type { Services } from '../services.ts';

/** How often a node looks when nothing wakes it, in milliseconds. */
const every = 5_000;
/** How often it is tried to note an end, and how long after one another, in milliseconds. */
const most = { notes: 10, pause: 2_000 } as const;

/**
 * Starts it: `work` runs at once, never twice at the same time, and again when it was woken meanwhile. `failed` is the line of the log
 * when it rejects. The function returned ends it: it aborts the signal that `work` is given, and resolves when that is done.
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
 * Delivers as {@link startQueueWorker} works. The function returned ends that: `finish` takes no more and waits for what is under way, for as long as a node
 * may take to stop. What is not done by then, another node does when its claim has run out.
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
 * Notes that a delivery has ended. Tries for a while, as it cannot be taken back: what is not noted is done again when its claim has run out. Rejects with what
 * went wrong last.
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
