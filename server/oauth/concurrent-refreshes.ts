/** Requests that present the same refresh token at the same time: distinguishes them from later ones, and keeps their answer for a moment. */

import type { Services } from '../services.ts';
import { forgetAnswers } from '../domain/clients/tokens.ts';
import { DatabaseClock } from './database-clock.ts';
import { RefreshWindow } from './refresh-window.ts';

// So that what was kept just now is old enough when it is looked at.
const slackMillis = 100;

/** The refreshes of this node that overlap: holds them back, and forgets answers that are no longer needed. */
export class ConcurrentRefreshes {
  readonly #services: Services;
  readonly #clock: DatabaseClock;
  readonly #window = new RefreshWindow();
  #forgetting: NodeJS.Timeout | undefined;

  constructor(services: Services) {
    this.#services = services;
    this.#clock = new DatabaseClock(services.database);
  }

  /**
   * Waits for those that came together with this one; when it began, in Unix milliseconds of the database's clock.
   * `arrived` is when all of it had come, by performance.now(). Null where overlapping requests count as replays.
   */
  async began(digest: Buffer, arrived: number): Promise<number | null> {
    if (this.#services.config.refreshOverlapMillis === 0) return null;
    const [began] = await Promise.all([
      this.#clock.at(arrived),
      this.#window.gathered(digest.toString('hex'), arrived),
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
