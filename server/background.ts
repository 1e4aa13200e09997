/** The background work of a process that answers requests. */

import { startDelivery } from './mail/delivery.ts';
import { startNotifier } from './notifier.ts';
import type { Services } from './services.ts';
import { startWritingUses } from './uses.ts';
import { startWebhooks } from './webhooks/delivery.ts';

/** Delivers mails and webhooks, tells people of what happened and writes down the last use of credentials; the function returned ends all of it. */
export function startBackground(services: Services): () => Promise<void> {
  const stopWritingUses = startWritingUses(services);
  const stops = [startDelivery(services), startNotifier(services), startWebhooks(services)];
  return async () => {
    stopWritingUses();
    await Promise.all(stops.map((stop) => stop()));
  };
}
