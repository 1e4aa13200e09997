/** Work that a node does whenever something is written that wakes it, and every few seconds besides. */

import type { Services } from './services.ts';

/** How often a node looks when nothing wakes it, in milliseconds. */
const every = 5_000;

/**
 * Starts it: `work` runs at once, never twice at the same time, and again when it was woken meanwhile. `failed` is the line of the log
 * when it rejects. The function returned ends it: it aborts the signal that `work` is given, and resolves when that is done.
 */
export function startWoken(
  { changes, log }: Pick<Services, 'changes' | 'log'>,
  failed: string,
  work: (stopping: AbortSignal) => Promise<void>,
): () => Promise<void> {
  const stopping = new AbortController();
  let isWoken = false;
  let running: Promise<void> | undefined;
  async function run(): Promise<void> {
    while (isWoken && !stopping.signal.aborted) {
      isWoken = false;
      await work(stopping.signal).catch((error: unknown) => log.warn({ err: error }, failed));
    }
    running = undefined;
  }
  const wake = () => {
    isWoken = true;
    running ??= run();
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
