/** Converts moments of this process to the database's clock, which is the same for every node. */

import type { Database } from '../database/database.ts';
import { row } from '../database/statement.ts';

const reading = row<{ millis: number }, []>(
  'database_clock',
  'select (extract(epoch from clock_timestamp()) * 1000)::double precision as millis',
);

interface Sample {
  /** Database milliseconds minus this process's. */
  readonly offset: number;
  /** At most how far that is off, when it was taken. */
  readonly error: number;
  readonly takenAt: number;
}

const firstSamples = 3;
/** As many milliseconds as a reading may be off, while more of them may find a better one. */
const wantedError = 5;
const mostSamples = 10;
// Two clocks drift apart by no more than this, so a quick reading of a while ago may beat a slow one of now.
const drift = 50e-6;

/**
 * A question to the database gives its clock at some moment between question and answer; the quicker the answer, the
 * better it is known. Keeps the best reading, and takes a new one when the last is some seconds old.
 */
export class DatabaseClock {
  readonly #database: Database;
  readonly #freshMillis: number;
  #best: Sample | undefined;
  #sampledAt = -Infinity;
  #sampling: Promise<void> | undefined;

  /** `freshMillis`: how old the last reading may be before a new one is taken. */
  constructor(database: Database, freshMillis = 5_000) {
    this.#database = database;
    this.#freshMillis = freshMillis;
  }

  /**
   * Unix milliseconds of the database's clock at `moment` (by performance.now()), at the latest that it can have been: what
   * came after something is never taken for earlier. Rejects when the database is away.
   */
  async at(moment: number): Promise<number> {
    if (performance.now() - this.#sampledAt > this.#freshMillis) {
      this.#sampling ??= this.#sample().finally(() => (this.#sampling = undefined));
      await this.#sampling;
    }
    if (this.#best === undefined) throw new Error('no reading of the database clock');
    return moment + this.#best.offset + this.#errorAt(moment);
  }

  /** How far the best reading may be off at a moment. */
  #errorAt(moment: number): number {
    return this.#best === undefined ? Infinity : this.#best.error + Math.abs(moment - this.#best.takenAt) * drift;
  }

  async #sample(): Promise<void> {
    const least = this.#best === undefined ? firstSamples : 1;
    for (let count = 1; count <= mostSamples; count += 1) {
      const asked = performance.now();
      const answer = await this.#database.run(reading());
      const answered = performance.now();
      const middle = (asked + answered) / 2;
      this.#keepBetter({ offset: (answer?.millis ?? 0) - middle, error: (answered - asked) / 2, takenAt: answered });
      if (count >= least && this.#errorAt(answered) <= wantedError) break;
    }
    this.#sampledAt = performance.now();
  }

  #keepBetter(sample: Sample): void {
    const aged = this.#errorAt(sample.takenAt);
    // A clock that was set is known by this: the two readings cannot both be right.
    const contradicted = this.#best && Math.abs(this.#best.offset - sample.offset) > aged + sample.error;
    if (contradicted || sample.error < aged) this.#best = sample;
  }
}
