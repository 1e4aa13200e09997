/** What changed lately, as one node received it: for those whose page was loaded before they began to listen. */

import type { Change } from '../../database/changes.ts';

export interface Remembered {
  /** For how long, in milliseconds, and the most changes. */
  readonly millis: number;
  readonly records: number;
}

/** By how much clocks of nodes may differ, in milliseconds. */
const skew = 1_000;

/** Changes of the last while, each with when it was received, as Unix time in milliseconds. */
export class RecentChanges {
  readonly #most: Remembered;
  /** In the order in which they were received; those before `#first` are forgotten. */
  #changes: { readonly at: number; readonly change: Change }[] = [];
  #first = 0;
  /** What was received since then is remembered, but for what is too long ago, and the oldest of too much. */
  #from = Date.now();

  constructor(most: Remembered) {
    this.#most = most;
  }

  add(change: Change): void {
    this.#changes.push({ at: Date.now(), change });
    this.#drop();
  }

  /** Says that changes may have been missed until now. */
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
   * Whether what was received since then is remembered. How much that was makes no difference: it is of everybody, and a person who learned that it
   * was too much would know how much others do.
   */
  reaches(since: number): boolean {
    this.#drop();
    return since - skew >= this.#from;
  }

  /** What was received since then, and a moment before. */
  *since(time: number): Generator<Change> {
    for (let at = this.#changes.length - 1; at >= this.#first; at -= 1) {
      const { at: receivedAt, change } = this.#changes[at]!;
      if (receivedAt < time - skew) return;
      yield change;
    }
  }
}
