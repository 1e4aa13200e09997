/** The background work of a process that answers requests. */

import { startDelivery } from './mail/delivery.ts';
import { startNotifier } from './background/notifier.ts';
import type { Services } from './services.ts';
import { loadSdk } from './tools/load-sdk.ts';
import { startWritingLastUsed } from './background/last-used.ts';
import { startWebhooks } from './webhooks/delivery.ts';

/** How long after the start that is loaded which only some calls of tools need, in milliseconds: first come those who wait for the start. */
const loadMillis = 1_000;

/** Delivers mails and webhooks, makes notifications and writes down the last use of credentials; the function returned ends all of it. */
export function startBackground(services: Services): () => Promise<void> {
  const stopWritingLastUsed = startWritingLastUsed(services);
  const stops = [startDelivery(services), startNotifier(services), startWebhooks(services)];
  // Where it cannot be loaded the call that needs it says so.
  const loading = setTimeout(() => void loadSdk().catch(() => {}), loadMillis).unref();
  return async () => {
    clearTimeout(loading);
    stopWritingLastUsed();
    await Promise.all(stops.map((stop) => stop()));
  };
}
