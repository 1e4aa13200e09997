/**
 * Delivers webhooks. The deliveries of one webhook that are due are claimed as a batch, which sending.ts sends;
 * delivery-results.ts stores the outcomes of many batches at once. When a node stops early, another node claims its
 * deliveries and sends them under the same webhook-id.
 */

import { claimDeliveries, queueWebhooks, type ClaimedBatch } from '../domain/webhooks/deliveries.ts';
import type { Services } from '../services.ts';
import { startDeliveryWorker } from '../background/queue-worker.ts';
import { openReceivers } from './connections.ts';
import { oneAtATime } from '../lib/one-at-a-time.ts';
import { openDeliveryResults } from './delivery-results.ts';
import { Sending } from './sending.ts';

export interface WebhookDelivery {
  /** Claims the deliveries that are due and begins to send them; resolves when no more can be claimed for now. */
  begin(): Promise<void>;
  /**
   * Delivers everything that is due, including deliveries that become due meanwhile; resolves when nothing is due any
   * more.
   */
  deliverDue(): Promise<void>;
  /** Claims no more, and waits for the deliveries in progress. */
  stop(): Promise<void>;
}

/** A node sends to at most this many webhooks at once. */
const webhooksAtOnce = 32;
/** Among them are at most this many whose receivers are slow, so that they leave room for others. */
const slowAtOnce = 16;

/** Opens the delivery of this node; nothing is sent until it is called. */
export function openWebhooks(services: Services): WebhookDelivery {
  const { database, log } = services;
  const stopping = new AbortController();
  /** The batches that are being sent, and whether their receivers are slow. */
  const running = new Map<Promise<void>, boolean>();
  const receivers = openReceivers();
  const sender = { services, receivers, notes: openDeliveryResults(services), stopping: stopping.signal };

  function start(batch: ClaimedBatch): void {
    const run = new Sending(sender, batch)
      .run()
      .catch((error: unknown) => log.warn({ err: error, webhook: batch.endpoint_id }, 'delivering a webhook failed'))
      .finally(() => {
        running.delete(run);
        // The batch has made room for another one, and the next delivery of its records may be due.
        claim().catch((error: unknown) => log.warn({ err: error }, 'delivering webhooks failed'));
      });
    running.set(run, batch.is_slow);
  }

  const claim = oneAtATime(async () => {
    const room = webhooksAtOnce - running.size;
    if (stopping.signal.aborted || room === 0) return;
    // Deliveries that become due by these batches are claimed when a batch ends.
    const roomForSlow = slowAtOnce - [...running.values()].filter(Boolean).length;
    for (const batch of await database.run(claimDeliveries(room, roomForSlow))) start(batch);
  });

  /** Writes deliveries of new changes, and begins to send them after each step. */
  const queue = oneAtATime(async () => {
    while (!stopping.signal.aborted && (await database.run(queueWebhooks()))) await claim();
  });

  const begin = async (): Promise<void> => {
    // Due deliveries are sent even when writing new ones fails.
    await queue().finally(claim);
  };

  return {
    begin,
    async deliverDue() {
      do {
        await begin();
        await Promise.all(running.keys());
        await claim();
      } while (running.size > 0);
    },
    async stop() {
      stopping.abort();
      await Promise.allSettled([queue(), claim()]);
      await Promise.all(running.keys());
      receivers.close();
    },
  };
}

/**
 * Delivers as long as the node runs: when changes are published, and every few seconds. Returns a function that stops
 * it.
 */
export function startWebhooks(services: Services): () => Promise<void> {
  const delivery = openWebhooks(services);
  return startDeliveryWorker(services, 'delivering webhooks failed', {
    deliver: () => delivery.begin(),
    finish: () => delivery.stop(),
  });
}
