/** Ends answers that are not taken: until then each keeps its bytes, and what it reads from, of which there may be only so much for all. */

import type { ServerResponse } from 'node:http';
import type { Logger } from '../lib/log.ts';

interface UnreadLimits {
  /** For how long nothing of an answer may be taken, in milliseconds. */
  readonly patienceMillis: number;
  /** How many bytes of all answers of a node may wait to be sent. */
  readonly mostBytes: number;
  /** For how long an answer may wait even when there are more, in milliseconds. */
  readonly leastMillis: number;
  /** How many bytes must be taken in how many milliseconds of an answer of {@link mustKeepPace}. The system takes some megabytes at a time, however slowly they are read. */
  readonly pace: { readonly bytes: number; readonly millis: number };
}

export const usualUnreadLimits: UnreadLimits = {
  patienceMillis: 300_000,
  mostBytes: 67_108_864,
  leastMillis: 3_000,
  pace: { bytes: 8_388_608, millis: 600_000 },
};

const keepingPace = new WeakSet<ServerResponse>();

/** Has an answer ended that is taken too slowly: for one that holds what there are only a few of. */
export function mustKeepPace(answer: ServerResponse): void {
  keepingPace.add(answer);
}

/** How often a listener looks after its answers, in milliseconds. */
export const unreadLookMillis = 1_000;

/** Looks at all answers that have not ended. */
export type LookAfterAnswers = (answers: Iterable<ServerResponse>) => void;

interface Waiting {
  bytes: number;
  /** Since when it is so many, by performance.now(). */
  since: number;
  /** How much had been taken when the pace was looked at last, and when. */
  paced: { taken: number; at: number };
}

const takenOf = ({ socket, writableLength }: ServerResponse): number => (socket?.bytesWritten ?? 0) - writableLength;

const pathOf = ({ req }: ServerResponse): string => (req.url ?? '').split('?', 1)[0] ?? '';

/**
 * What a listener calls every {@link unreadLookMillis}. An answer of which nothing is taken for `patienceMillis`, or up to twice as long, is ended; one that
 * is taken slowly lives, unless it must keep `pace`, as does one that waits for us. When more than `mostBytes` wait, the largest of those of which no piece was taken for `leastMillis` are
 * ended until it is less.
 */
export function openUnreadAnswers(
  { patienceMillis, mostBytes, leastMillis, pace }: UnreadLimits,
  log: Logger,
): LookAfterAnswers {
  const known = new WeakMap<ServerResponse, Waiting>();

  function end(answer: ServerResponse, why: string): void {
    log.info({ path: pathOf(answer), bytes: answer.writableLength }, `an answer was ended because ${why}`);
    answer.destroy();
  }

  function waitFor(answer: ServerResponse): void {
    // Node.js begins anew whenever the system has taken a part of what was written.
    answer.setTimeout(patienceMillis, () => {
      if (answer.writableLength > 0) end(answer, 'nothing of it was taken for minutes');
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
        end(answer, 'it was taken too slowly');
        continue;
      }
      waiting += bytes;
      if (bytes > 0 && now - seen.since >= leastMillis) still.push(answer);
    }
    if (waiting <= mostBytes) return;
    for (const answer of still.toSorted((one, other) => other.writableLength - one.writableLength)) {
      waiting -= answer.writableLength;
      end(answer, 'others had to be sent');
      if (waiting <= mostBytes) return;
    }
  };
}
