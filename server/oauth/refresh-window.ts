/**
 * Holds refreshes back briefly, so that all requests that a client sent together have arrived before the first of them
 * consumes the token. Requests sent at once arrive over tens of milliseconds: each opens a connection of its own, and
 * client and server are busy with other work. A client refreshes about once an hour, and nobody waits for it.
 */

import { setImmediate, setTimeout } from 'node:timers/promises';

/**
 * Milliseconds without another arrival after which no further one is expected: after a single request, and after
 * several.
 */
const quiet = { alone: 100, together: 250 } as const;
/** Maximum milliseconds for which any request is held. */
const longest = 1000;
/**
 * A timer that fires more than this many milliseconds late shows that the process was stalled, and the reading of other
 * requests with it.
 */
const late = 25;

/** The clock and the timer of the window. */
export interface Time {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Resolves when this many milliseconds have passed. */
  pass(millis: number): Promise<unknown>;
}

const processTime: Time = {
  now: () => performance.now(),
  async pass(millis) {
    await setTimeout(millis);
    // After a stall of the process, timers fire before sockets are read: count the requests that have arrived first. A
    // connection is accepted in one turn of the event loop and its request is read in the next.
    await setImmediate();
    await setImmediate();
  },
};

interface Arrivals {
  latest: number;
  count: number;
  waiting: number;
}

/** The requests that are held back, by the token they present. */
export class RefreshWindow {
  readonly #present = new Map<string, Arrivals>();
  readonly #time: Time;

  constructor(time: Time = processTime) {
    this.#time = time;
  }

  /**
   * Resolves once no further request with the same `key` has arrived for a while. `arrived` is the arrival time of this
   * request, by performance.now().
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
        // Requests sent during the stall may not have been read yet: a new connection takes turns of the event loop
        // before its request.
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
