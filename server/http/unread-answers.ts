/**
 * Ends responses that clients do not read: until then each keeps its unsent bytes in memory and its source open, both
 * of which are limited.
 */

import type { ServerResponse } from 'node:http';
import type { Logger } from '../lib/log.ts';

interface UnreadLimits {
  /** How long a client may read nothing of a response, in milliseconds. */
  readonly patienceMillis: number;
  /** Maximum number of unsent bytes of all responses of a node. */
  readonly mostBytes: number;
  /** How long a response may wait even if there are more unsent bytes, in milliseconds. */
  readonly leastMillis: number;
  /**
   * How many bytes must be read in how many milliseconds of a response with {@link mustKeepPace}. The operating system
   * buffers several megabytes at a time, however slowly they are read.
   */
  readonly pace: { readonly bytes: number; readonly millis: number };
}

export const usualUnreadLimits: UnreadLimits = {
  patienceMillis: 300_000,
  mostBytes: 67_108_864,
  leastMillis: 3_000,
  pace: { bytes: 8_388_608, millis: 600_000 },
};

const keepingPace = new WeakSet<ServerResponse>();

/** Has a response ended if it is read too slowly; for responses that hold a scarce resource. */
export function mustKeepPace(answer: ServerResponse): void {
  keepingPace.add(answer);
}

/** How often a listener checks its responses, in milliseconds. */
export const unreadLookMillis = 1_000;

/** Checks all responses that have not ended. */
export type LookAfterAnswers = (answers: Iterable<ServerResponse>) => void;

interface Waiting {
  bytes: number;
  /** Time of the last change of `bytes`, by performance.now(). */
  since: number;
  /** Number of bytes read at the last check of the pace, and its time. */
  paced: { taken: number; at: number };
}

const takenOf = ({ socket, writableLength }: ServerResponse): number => (socket?.bytesWritten ?? 0) - writableLength;

const pathOf = ({ req }: ServerResponse): string => (req.url ?? '').split('?', 1)[0] ?? '';

/**
 * Opens the function that a listener calls every {@link unreadLookMillis}. It ends a response of which the client reads
 * nothing for `patienceMillis`, or up to twice as long. A response that is read slowly stays open unless it must keep
 * `pace`, and so does one that waits for the service. When more than `mostBytes` are unsent, the largest responses of
 * which nothing was read for `leastMillis` are ended until fewer are.
 */
export function openUnreadAnswers(
  { patienceMillis, mostBytes, leastMillis, pace }: UnreadLimits,
  log: Logger,
): LookAfterAnswers {
  const known = new WeakMap<ServerResponse, Waiting>();

  function end(answer: ServerResponse, why: string): void {
    log.info({ path: pathOf(answer), bytes: answer.writableLength }, `a response was ended because ${why}`);
    answer.destroy();
  }

  function waitFor(answer: ServerResponse): void {
    // Node.js restarts this timeout whenever the operating system has accepted part of the written bytes.
    answer.setTimeout(patienceMillis, () => {
      if (answer.writableLength > 0) end(answer, 'the client read nothing of it for minutes');
    });
  }

  function keepsPace(answer: ServerResponse, { paced }: Waiting, now: number): boolean {
    const taken = takenOf(answer);
    if (answer.writableLength > 0 && taken - paced.taken < pace.bytes) return now - paced.at < pace.millis;
    paced.taken = taken;
    paced.at = now;
    return true;
  }

  return (answers) => {
    const now = performance.now();
    let waiting = 0;
    const still: ServerResponse[] = [];
    for (const answer of answers) {
      const bytes = answer.writableLength;
      let seen = known.get(answer);
      if (seen === undefined) {
        if (bytes === 0) continue;
        known.set(answer, (seen = { bytes: 0, since: now, paced: { taken: takenOf(answer), at: now } }));
        waitFor(answer);
      }
      if (seen.bytes !== bytes) {
        seen.bytes = bytes;
        seen.since = now;
      }
      if (keepingPace.has(answer) && !keepsPace(answer, seen, now)) {
        end(answer, 'the client read it too slowly');
        continue;
      }
      waiting += bytes;
      if (bytes > 0 && now - seen.since >= leastMillis) still.push(answer);
    }
    if (waiting <= mostBytes) return;
    for (const answer of still.toSorted((one, other) => other.writableLength - one.writableLength)) {
      waiting -= answer.writableLength;
      end(answer, 'too much was waiting to be sent');
      if (waiting <= mostBytes) return;
    }
  };
}
