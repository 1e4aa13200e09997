/**
 * Stores the outcomes of deliveries, for all batches in progress in one statement, which also claims more deliveries
 * for the batches that ask for them.
 */

import { noteDeliveries, type ClaimedDelivery, type NotedBatch } from '../domain/webhooks/deliveries.ts';
import type { Services } from '../services.ts';
import { recordOutcome } from '../background/queue-worker.ts';
import { oneAtATime } from '../lib/one-at-a-time.ts';

/** At most this many deliveries of a webhook are claimed together. */
export const takenAtOnce = 50;

/** Receives the deliveries claimed for a batch. */
type Taker = (taken: readonly ClaimedDelivery[]) => void;

/** The outcomes of a batch's deliveries, and the function that receives the deliveries claimed for it with them. */
interface Ended {
  readonly batch: NotedBatch;
  readonly take: Taker | undefined;
}

export interface DeliveryResults {
  /**
   * Queues outcomes of a batch for storage, after those queued before. With `take`, more deliveries are claimed for the
   * batch unless it is over; `take` is called also when none are.
   */
  leave(part: Omit<NotedBatch, 'more'>, take?: Taker): void;
  /** Stores the queued outcomes; resolves when the queue is empty. */
  note(): Promise<void>;
}

/** Opens the queue of outcomes of this node. */
export function openDeliveryResults({ database, log }: Pick<Services, 'database' | 'log'>): DeliveryResults {
  /**
   * By webhook and claim, which batches claimed together share. Each has one entry: outcomes stored after the batch's
   * end would be lost.
   */
  let ended = new Map<string, Ended>();

  async function keep(parts: readonly Ended[]): Promise<void> {
    const taken = await database.run(noteDeliveries(parts.map(({ batch }) => batch)));
    for (const { batch, take } of parts) take?.(taken.get(batch.endpoint) ?? []);
  }

  /** Retries for a while; a delivery whose outcome is still not stored is sent again when its claim has expired. */
  async function keepAlone(part: Ended): Promise<void> {
    await recordOutcome(() => keep([part])).catch((error: unknown) =>
      log.warn({ err: error }, 'recording deliveries of webhooks failed'),
    );
    part.take?.([]);
  }

  return {
    leave({ held, attempts, ...part }, take) {
      const key = `${part.endpoint} ${part.claim}`;
      const before = ended.get(key);
      const wanted = take ?? before?.take;
      const more = wanted === undefined || part.is_over ? 0 : takenAtOnce;
      const all = [...(before?.batch.attempts ?? []), ...attempts];
      ended.set(key, { batch: { ...part, more, held: more === 0 ? [] : held, attempts: all }, take: wanted });
    },
    note: oneAtATime(async () => {
      while (ended.size > 0) {
        const parts = [...ended.values()];
        ended = new Map();
        // A failure for one webhook must not prevent storing the outcomes of others.
        await keep(parts).catch(() => Promise.all(parts.map(keepAlone)));
      }
    }),
  };
}
