/**
 * When credentials were last used: collected in memory and written in batches, once a minute and when the node stops,
 * so that a request that only reads writes nothing. A page that shows the time is at most a minute late.
 */

import type { Database } from '../database/database.ts';
import { recordLastUses } from '../domain/clients/last-used.ts';
import type { Logger } from '../lib/log.ts';

/** Time between two writes, in milliseconds. */
const everyMillis = 60_000;
/** Maximum number of credentials in memory; the use of further ones is not recorded. */
const most = 100_000;
/** Number of credentials written by one statement. */
const together = 5_000;

export interface LastUsed {
  /** Records that the credential with this digest (as latin1) was used just now. */
  note(holder: string): void;
  /** Writes the recorded uses. Rejects with an error class of errors.ts; unwritten uses stay in memory. */
  flush(database: Database): Promise<void>;
}

/** Opens an empty collection; only differences of the node's `clock` matter. */
export function openLastUsed(clock: () => Date = () => new Date()): LastUsed {
  /** Time of the last use, by digest: Unix time in milliseconds. */
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

/** Writes the recorded uses, or logs why that failed. Never rejects. */
export const writeLastUsed = ({ lastUsed, database, log }: Writing): Promise<void> =>
  lastUsed
    .flush(database)
    .catch((error: unknown) => log.warn({ err: error }, 'the last use of credentials was not written'));

/**
 * Writes the recorded uses periodically; the returned function stops this. Uses left then are written when the services
 * are closed.
 */
export function startWritingLastUsed(services: Writing): () => void {
  const timer = setInterval(() => void writeLastUsed(services), everyMillis).unref();
  return () => clearInterval(timer);
}
