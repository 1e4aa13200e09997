/** The background work of a process that answers requests. */

import { startDelivery } from './mail/delivery.ts';
import { startNotifier } from './background/notifier.ts';
import type { Services } from './services.ts';
import { loadSdk } from './tools/load-sdk.ts';
import { startWritingLastUsed } from './background/last-used.ts';
import { startWebhooks } from './webhooks/delivery.ts';

/**
 * Milliseconds after the start at which modules are loaded that only some tool calls need: requests that waited for the
 * start come first.
 */
const loadMillis = 1_000;

/**
 * Delivers mails and webhooks, creates notifications and records the last use of credentials; the returned function
 * stops all of it.
 */
export function startBackground(services: Services): () => Promise<void> {
  const stopWritingLastUsed = startWritingLastUsed(services);
  const stops = [startDelivery(services), startNotifier(services), startWebhooks(services)];
  // If loading fails, the call that needs the module reports it.
  const loading = setTimeout(() => void loadSdk().catch(() => {}), loadMillis).unref();
  return async () => {
    clearTimeout(loading);
    stopWritingLastUsed();
    await Promise.all(stops.map((stop) => stop()));
  };
}
