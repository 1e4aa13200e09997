/** Counters by name: a name takes memory only while its count is above zero. */

/** Numbers by name. */
export class Counts {
  readonly #counts = new Map<string, number>();

  /** How many this name has. */
  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** One more of this name, or one less. */
  add(name: string, change: 1 | -1): void {
    const count = this.of(name) + change;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }
}
