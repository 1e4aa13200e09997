/**
 * Holds refreshes back for a moment, so that requests which a client sent together are all there before the first of
 * them consumes the token. Sent at once, they arrive over tens of milliseconds: each opens a connection of its own, and
 * client and server have other things to do. A client refreshes about once an hour, and nobody waits for it.
 */

import { setImmediate, setTimeout } from 'node:timers/promises';

/** Milliseconds without another arrival after which no more is expected: after a single request, and after several. */
const quiet = { alone: 100, together: 250 } as const;
/** The longest that any request is held, in milliseconds. */
const longest = 1000;
/** Waking up later than this, in milliseconds, says that the process stood still, and the other requests with it. */
const late = 25;

/** The clock and the timer of the window. */
export interface Time {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Resolves when this many milliseconds have passed. */
  pass(millis: number): Promise<unknown>;
}

const processTime: Time = {
  now: () => performance.now(),
  async pass(millis) {
    await setTimeout(millis);
    // After a pause of the process, timers run before the sockets are read: let what has come in be counted first,
    // a connection in one turn and its request in the next.
    await setImmediate();
    await setImmediate();
  },
};

interface Arrivals {
  latest: number;
  count: number;
  waiting: number;
}

/** The requests that are held back, by the token that they present. */
export class RefreshWindow {
  readonly #present = new Map<string, Arrivals>();
  readonly #time: Time;

  constructor(time: Time = processTime) {
    this.#time = time;
  }

  /**
   * Resolves once no further request with the same `key` has come for a while. `arrived` is when this one came, by
   * performance.now().
   */
  async gathered(key: string, arrived: number): Promise<void> {
    const window = this.#present.get(key) ?? { latest: arrived, count: 0, waiting: 0 };
    this.#present.set(key, window);
    window.latest = Math.max(window.latest, arrived);
    window.count += 1;
    window.waiting += 1;
    try {
      for (let left = this.#left(window, arrived); left > 0; left = this.#left(window, arrived)) {
        const due = this.#time.now() + left;
        await this.#time.pass(left);
        // What was sent meanwhile may still be on its way in: a connection takes turns of its own before its request.
        if (this.#time.now() - due > late) window.latest = this.#time.now();
      }
    } finally {
      window.waiting -= 1;
      if (window.waiting === 0) this.#present.delete(key);
    }
  }

  #left({ latest, count }: Arrivals, arrived: number): number {
    const until = Math.min(latest + (count > 1 ? quiet.together : quiet.alone), arrived + longest);
    return Math.ceil(until - this.#time.now());
  }
}
