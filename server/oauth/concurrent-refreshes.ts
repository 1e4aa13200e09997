/** Requests that present the same refresh token at the same time: distinguishes them from later ones, and keeps their answer for a moment. */

import type { Services } from '../services.ts';
import { forgetAnswers, isRefreshable } from '../domain/clients/tokens.ts';
import { DatabaseClock } from './database-clock.ts';
import { RefreshWindow, type Time } from './refresh-window.ts';

// So that what was kept just now is old enough when it is looked at.
const slackMillis = 100;

/** The refreshes of this node that overlap: holds them back, and forgets answers that are no longer needed. */
export class ConcurrentRefreshes {
  readonly #services: Services;
  readonly #clock: DatabaseClock;
  readonly #window: RefreshWindow;
  #forgetting: NodeJS.Timeout | undefined;

  /** `time`: that of the window, for tests. */
  constructor(services: Services, time?: Time) {
    this.#services = services;
    this.#window = new RefreshWindow(time);
    this.#clock = new DatabaseClock(services.database);
  }

  /**
   * Waits for those that came together with this one; when it began, in Unix milliseconds of the database's clock.
   * `arrived` is when all of it had come, by performance.now(). Calls `waits` before it waits, which it does not for a token that
   * is not this client's: whoever makes tokens up would have requests held. Null where overlapping requests count as replays.
   */
  async began(clientId: string, digest: Buffer, arrived: number, waits: () => void): Promise<number | null> {
    const { config, database } = this.#services;
    if (config.refreshOverlapMillis === 0) return null;
    // At once, since those that come meanwhile are counted.
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

  /** Makes sure that the answer just kept is forgotten once no request can overlap with it any more. */
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
        // The next refresh, or a scheduled job, forgets it.
        if (!stopping.aborted) log.warn({ err: error }, 'answers to refreshes could not be deleted yet');
      });
    }, overlap + slackMillis).unref();
  }
}
