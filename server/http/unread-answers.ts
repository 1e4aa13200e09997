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
}

export const usualUnreadLimits: UnreadLimits = { patienceMillis: 300_000, mostBytes: 67_108_864, leastMillis: 3_000 };

/** How often a listener looks after its answers, in milliseconds. */
export const unreadLookMillis = 1_000;

/** Looks at all answers that have not ended. */
export type LookAfterAnswers = (answers: Iterable<ServerResponse>) => void;

interface Waiting {
  bytes: number;
  /** Since when it is so many, by performance.now(). */
  since: number;
}

const pathOf = ({ req }: ServerResponse): string => (req.url ?? '').split('?', 1)[0] ?? '';

/**
 * What a listener calls every {@link unreadLookMillis}. An answer of which nothing is taken for `patienceMillis`, or up to twice as long, is ended; one that
 * is taken slowly lives, as does one that waits for us. When more than `mostBytes` wait, the largest of those of which no piece was taken for `leastMillis` are
 * ended until it is less.
 */
export function openUnreadAnswers(
  { patienceMillis, mostBytes, leastMillis }: UnreadLimits,
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

  return (answers) => {
    const now = performance.now();
    let waiting = 0;
    const still: ServerResponse[] = [];
    for (const answer of answers) {
      const bytes = answer.writableLength;
      let seen = known.get(answer);
      if (seen === undefined) {
        if (bytes === 0) continue;
        known.set(answer, (seen = { bytes: 0, since: now }));
        waitFor(answer);
      }
      if (seen.bytes !== bytes) {
        seen.bytes = bytes;
        seen.since = now;
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
