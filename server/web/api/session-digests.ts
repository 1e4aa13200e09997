/**
 * The digests of the sessions with open streams, in the format in which a node sends them to the database, where
 * `app.is_presented` looks them up.
 */

const width = 16;

/** The first 16 bytes of a digest as a string, which keeps no buffer in memory. */
export const keyOf = (digest: Buffer): string => digest.toString('latin1', 0, width);

/** A set of session digests: the first 16 bytes of each, in ascending order. Callers identify them by {@link keyOf}. */
export class SessionDigests {
  #bytes = Buffer.alloc(64 * width);
  #count = 0;
  /** The buffer that was last returned, unless the set has changed since. */
  #copy: Buffer | null = null;

  /** The place of the digest, or where it would be inserted. */
  #place(digest: Buffer): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#bytes.compare(digest, 0, width, middle * width, (middle + 1) * width) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #holds(digest: Buffer, place: number): boolean {
    return place < this.#count && this.#bytes.compare(digest, 0, width, place * width, (place + 1) * width) === 0;
  }

  add(key: string): void {
    const digest = Buffer.from(key, 'latin1');
    const place = this.#place(digest);
    if (this.#holds(digest, place)) return;
    if (this.#bytes.length === this.#count * width) this.#bytes = Buffer.concat([this.#bytes], this.#bytes.length * 2);
    this.#bytes.copyWithin((place + 1) * width, place * width, this.#count * width);
    digest.copy(this.#bytes, place * width, 0, width);
    this.#count += 1;
    this.#copy = null;
  }

  delete(key: string): void {
    const digest = Buffer.from(key, 'latin1');
    const place = this.#place(digest);
    if (!this.#holds(digest, place)) return;
    this.#bytes.copyWithin(place * width, (place + 1) * width, this.#count * width);
    this.#count -= 1;
    this.#copy = null;
  }

  /** All digests, in a buffer that is not modified later. */
  bytes(): Buffer {
    return (this.#copy ??= Buffer.from(this.#bytes.subarray(0, this.#count * width)));
  }
}
