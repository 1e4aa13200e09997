/** Counters by name: a name uses memory only while its count is not zero. */

/** Counters by name. */
export class Counts {
  readonly #counts = new Map<string, number>();

  /** The count of this name. */
  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Increments or decrements the count of this name. */
  add(name: string, change: 1 | -1): void {
    const count = this.of(name) + change;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }
}
