/** Recent changes as one node received them, for pages that were loaded before their stream opened. */

import type { Change } from '../../database/changes.ts';

export interface Remembered {
  /** How long changes are remembered, in milliseconds, and at most how many. */
  readonly millis: number;
  readonly records: number;
}

/** Maximum difference between the clocks of nodes, in milliseconds. */
const skew = 1_000;

/** Recent changes, each with the time at which it was received, in Unix milliseconds. */
export class RecentChanges {
  readonly #most: Remembered;
  /** In order of receipt; those before `#first` are forgotten. */
  #changes: { readonly at: number; readonly change: Change }[] = [];
  #first = 0;
  /** Changes received since this time are remembered, except the oldest beyond the maximum number. */
  #from = Date.now();

  constructor(most: Remembered) {
    this.#most = most;
  }

  add(change: Change): void {
    this.#changes.push({ at: Date.now(), change });
    this.#drop();
  }

  /** Records that changes may have been missed until now. */
  forget(): void {
    this.#changes = [];
    this.#first = 0;
    this.#from = Date.now();
  }

  #drop(): void {
    const oldest = Date.now() - this.#most.millis;
    this.#from = Math.max(this.#from, oldest);
    for (let first = this.#changes[this.#first]; first !== undefined; first = this.#changes[this.#first]) {
      if (first.at >= oldest && this.#changes.length - this.#first <= this.#most.records) break;
      this.#first += 1;
    }
    if (this.#first <= this.#changes.length / 2) return;
    this.#changes = this.#changes.slice(this.#first);
    this.#first = 0;
  }

  /**
   * Whether changes received since then are remembered. A change dropped because of the maximum number does not count:
   * the number includes everybody's changes, so that a person who learned of it would know how active others are.
   */
  reaches(since: number): boolean {
    this.#drop();
    return since - skew >= this.#from;
  }

  /** The changes received since then and in the second before, newest first. */
  *since(time: number): Generator<Change> {
    for (let at = this.#changes.length - 1; at >= this.#first; at -= 1) {
      const { at: receivedAt, change } = this.#changes[at]!;
      if (receivedAt < time - skew) return;
      yield change;
    }
  }
}
