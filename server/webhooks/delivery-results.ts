/** Stores the outcomes of deliveries, for all batches under way in one statement, which also claims more deliveries for those that ask. */

import { noteDeliveries, type ClaimedDelivery, type NotedBatch } from '../domain/webhooks/deliveries.ts';
import type { Services } from '../services.ts';
import { recordOutcome } from '../background/queue-worker.ts';
import { oneAtATime } from '../lib/one-at-a-time.ts';

/** How many deliveries of a webhook are taken together. */
export const takenAtOnce = 50;

/** Who is given what is taken of a webhook for a batch. */
type Taker = (taken: readonly ClaimedDelivery[]) => void;

/** What has ended of a batch, and who is given what is taken for it then. */
interface Ended {
  readonly batch: NotedBatch;
  readonly take: Taker | undefined;
}

export interface DeliveryResults {
  /**
   * Leaves what has ended of a batch to be noted, behind what was left before. With `take` more is taken for it, unless it is over; the taker is also called when that
   * is nothing.
   */
  leave(part: Omit<NotedBatch, 'more'>, take?: Taker): void;
  /** Notes what is left; resolves when nothing is. */
  note(): Promise<void>;
}

/** Opens the notes of this node. */
export function openDeliveryResults({ database, log }: Pick<Services, 'database' | 'log'>): DeliveryResults {
  /** By webhook and claim, which the batches taken together share: once, as what was noted behind its end would be lost. */
  let ended = new Map<string, Ended>();

  async function keep(parts: readonly Ended[]): Promise<void> {
    const taken = await database.run(noteDeliveries(parts.map(({ batch }) => batch)));
    for (const { batch, take } of parts) take?.(taken.get(batch.endpoint) ?? []);
  }

  /** Tries for a while; what is not noted then is sent again when its claim has run out. */
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
        // What cannot be noted of one webhook does not keep others from it.
        await keep(parts).catch(() => Promise.all(parts.map(keepAlone)));
      }
    }),
  };
}
