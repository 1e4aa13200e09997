/** Converts times of this process to the database's clock, which is the same for all nodes. */

import type { Database } from '../database/database.ts';
import { row } from '../database/statement.ts';

const reading = row<{ millis: number }, []>(
  'database_clock',
  'select (extract(epoch from clock_timestamp()) * 1000)::double precision as millis',
);

interface Sample {
  /** Milliseconds of the database's clock minus those of this process. */
  readonly offset: number;
  /** Maximum error of the offset when it was taken, in milliseconds. */
  readonly error: number;
  readonly takenAt: number;
}

const firstSamples = 3;
/** Further samples are taken while the error is larger than this many milliseconds. */
const wantedError = 5;
const mostSamples = 10;
// Maximum drift between two clocks; with it, a quick sample taken earlier can be more precise than a slow one taken
// now.
const drift = 50e-6;

/**
 * The database reads its clock at some time between a query and its response; the quicker the response, the smaller the
 * error. Keeps the best sample, and takes a new one when the last is some seconds old.
 */
export class DatabaseClock {
  readonly #database: Database;
  readonly #freshMillis: number;
  #best: Sample | undefined;
  #sampledAt = -Infinity;
  #sampling: Promise<void> | undefined;

  /** `freshMillis`: maximum age of the last sample before a new one is taken. */
  constructor(database: Database, freshMillis = 5_000) {
    this.#database = database;
    this.#freshMillis = freshMillis;
  }

  /**
   * Unix milliseconds of the database's clock at `moment` (by performance.now()), as the latest possible value, so that
   * an event is never dated too early. Rejects when the database is not available.
   */
  async at(moment: number): Promise<number> {
    if (performance.now() - this.#sampledAt > this.#freshMillis) {
      this.#sampling ??= this.#sample().finally(() => (this.#sampling = undefined));
      await this.#sampling;
    }
    if (this.#best === undefined) throw new Error('no reading of the database clock');
    return moment + this.#best.offset + this.#errorAt(moment);
  }

  /** Maximum error of the best sample at `moment`, in milliseconds. */
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
    // Two samples that contradict each other show that a clock was set.
    const contradicted = this.#best && Math.abs(this.#best.offset - sample.offset) > aged + sample.error;
    if (contradicted || sample.error < aged) this.#best = sample;
  }
}
