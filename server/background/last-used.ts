/**
 * When credentials were last used: gathered here and written down for all of them together, once a minute and when the node stops, so that
 * a request that only reads writes nothing. A page that shows it is a minute late at most.
 */

import type { Database } from '../database/database.ts';
import { recordLastUses } from '../domain/clients/last-used.ts';
import type { Logger } from '../lib/log.ts';

/** How often they are written down, in milliseconds. */
const everyMillis = 60_000;
/** The most credentials that are remembered; of further ones the use is not written down. */
const most = 100_000;
/** How many are written by one statement. */
const together = 5_000;

export interface LastUsed {
  /** Remembers that the credential with this digest, as latin1, was used just now. */
  note(holder: string): void;
  /** Writes down what is remembered. Rejects with a class of errors.ts; what was not written is still remembered. */
  flush(database: Database): Promise<void>;
}

/** Opens an empty memory; `clock` is that of the node, of which only differences count. */
export function openLastUsed(clock: () => Date = () => new Date()): LastUsed {
  /** By digest, when it was used last: Unix time in milliseconds. */
  const usedAt = new Map<string, number>();
  return {
    note(holder) {
      if (usedAt.size < most || usedAt.has(holder)) usedAt.set(holder, clock().getTime());
    },
    async flush(database) {
      const waiting = [...usedAt];
      for (let start = 0; start < waiting.length; start += together) {
        const some = waiting.slice(start, start + together);
        const now = clock().getTime();
        const uses = some.map(([holder, at]) => ({ digest: Buffer.from(holder, 'latin1'), age: now - at }));
        await database.run(recordLastUses(uses));
        for (const [holder, at] of some) if (usedAt.get(holder) === at) usedAt.delete(holder);
      }
    },
  };
}

interface Writing {
  readonly lastUsed: LastUsed;
  readonly database: Database;
  readonly log: Logger;
}

/** Writes down what is remembered, or logs why not. Never rejects. */
export const writeLastUsed = ({ lastUsed, database, log }: Writing): Promise<void> =>
  lastUsed
    .flush(database)
    .catch((error: unknown) => log.warn({ err: error }, 'the last use of credentials was not written'));

/** Does so by the clock; the function that is returned stops it. What is left then is written when the services are closed. */
export function startWritingLastUsed(services: Writing): () => void {
  const timer = setInterval(() => void writeLastUsed(services), everyMillis).unref();
  return () => clearInterval(timer);
}
