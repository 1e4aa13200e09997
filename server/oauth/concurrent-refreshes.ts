/**
 * Concurrent requests that present the same refresh token: distinguishes them from later ones, and keeps their response
 * briefly.
 */

import type { Services } from '../services.ts';
import { forgetAnswers, isRefreshable } from '../domain/clients/tokens.ts';
import { DatabaseClock } from './database-clock.ts';
import { RefreshWindow, type Time } from './refresh-window.ts';

// Added to the overlap so that the response is old enough when its age is checked.
const slackMillis = 100;

/** The overlapping refreshes of this node: holds them back, and deletes responses that are no longer needed. */
export class ConcurrentRefreshes {
  readonly #services: Services;
  readonly #clock: DatabaseClock;
  readonly #window: RefreshWindow;
  #forgetting: NodeJS.Timeout | undefined;

  /** `time`: clock and timer of the window, for tests. */
  constructor(services: Services, time?: Time) {
    this.#services = services;
    this.#window = new RefreshWindow(time);
    this.#clock = new DatabaseClock(services.database);
  }

  /**
   * Waits for the requests that were sent together with this one; resolves to the arrival time of this one, in Unix
   * milliseconds of the database's clock. `arrived` is when it had arrived completely, by performance.now(). Calls
   * `waits` before it waits. It does not wait for a token that is not this client's: otherwise made-up tokens would
   * hold requests. Null when the configuration treats overlapping requests as replays.
   */
  async began(clientId: string, digest: Buffer, arrived: number, waits: () => void): Promise<number | null> {
    const { config, database } = this.#services;
    if (config.refreshOverlapMillis === 0) return null;
    // Started at once, since requests that arrive meanwhile are counted.
    const gathered = this.#window.gathered(digest.toString('hex'), arrived);
    const [began] = await Promise.all([
      this.#clock.at(arrived),
      database.run(isRefreshable(clientId, digest)).then((isKnown) => {
        if (!isKnown) return;
        waits();
        return gathered;
      }),
    ]);
    return began;
  }

  /** Schedules the deletion of stored responses for when no request can overlap with them any more. */
  forgetSoon(): void {
    const { database, config, log, stopping } = this.#services;
    const overlap = config.refreshOverlapMillis;
    if (overlap === 0 || this.#forgetting !== undefined || stopping.aborted) return;
    const forget = async () => {
      const more = await database.run(forgetAnswers(overlap));
      this.#forgetting = undefined;
      if (more) this.forgetSoon();
    };
    this.#forgetting = setTimeout(() => {
      forget().catch((error: unknown) => {
        this.#forgetting = undefined;
        // The next refresh, or a scheduled job, deletes them.
        if (!stopping.aborted) log.warn({ err: error }, 'remembered token responses could not be deleted yet');
      });
    }, overlap + slackMillis).unref();
  }
}
