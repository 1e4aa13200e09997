/**
 * Delivers webhooks. What is due of one webhook is claimed as a batch, which sending.ts sends; delivery-results.ts notes for many at once how it went. A node that ends before leaves it
 * to another one, which sends it under the same webhook-id.
 */

import { claimDeliveries, queueWebhooks, type ClaimedBatch } from '../domain/webhooks/deliveries.ts';
import type { Services } from '../services.ts';
import { startDeliveryWorker } from '../background/queue-worker.ts';
import { openReceivers } from './connections.ts';
import { oneAtATime } from '../lib/one-at-a-time.ts';
import { openDeliveryResults } from './delivery-results.ts';
import { Sending } from './sending.ts';

export interface WebhookDelivery {
  /** Takes what is due now, and begins to send it; resolves when no more can be taken at once. */
  begin(): Promise<void>;
  /** Delivers what is due now, and what becomes due by it; resolves when nothing is any more. */
  deliverDue(): Promise<void>;
  /** Takes no more, and waits for those that are being sent. */
  stop(): Promise<void>;
}

/** To how many webhooks a node sends at once. */
const webhooksAtOnce = 32;

/** Opens the delivery of this node; it does nothing by itself. */
export function openWebhooks(services: Services): WebhookDelivery {
  const { database, log } = services;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const receivers = openReceivers();
  const sender = { services, receivers, notes: openDeliveryResults(services), stopping: stopping.signal };

  function start(batch: ClaimedBatch): void {
    const run = new Sending(sender, batch)
      .run()
      .catch((error: unknown) => log.warn({ err: error, webhook: batch.endpoint_id }, 'delivering a webhook failed'))
      .finally(() => {
        running.delete(run);
        // It has made room, and the next of its records may be due.
        claim().catch((error: unknown) => log.warn({ err: error }, 'delivering webhooks failed'));
      });
    running.add(run);
  }

  const claim = oneAtATime(async () => {
    const room = webhooksAtOnce - running.size;
    if (stopping.signal.aborted || room === 0) return;
    // What becomes due by them is taken when one of them has ended.
    for (const batch of await database.run(claimDeliveries(room))) start(batch);
  });

  /** Writes deliveries of what has changed; those that are written are sent meanwhile. */
  const queue = oneAtATime(async () => {
    while (!stopping.signal.aborted && (await database.run(queueWebhooks()))) await claim();
  });

  const begin = async (): Promise<void> => {
    // What is due is sent also where nothing can be written.
    await queue().finally(claim);
  };

  return {
    begin,
    async deliverDue() {
      do {
        await begin();
        await Promise.all(running);
        await claim();
      } while (running.size > 0);
    },
    async stop() {
      stopping.abort();
      await Promise.allSettled([queue(), claim()]);
      await Promise.all(running);
      receivers.close();
    },
  };
}

/** Delivers as long as the node runs: when changes are published, and every few seconds. The function returned ends that. */
export function startWebhooks(services: Services): () => Promise<void> {
  const delivery = openWebhooks(services);
  return startDeliveryWorker(services, 'delivering webhooks failed', {
    deliver: () => delivery.begin(),
    finish: () => delivery.stop(),
  });
}
