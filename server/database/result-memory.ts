/** Bounds what this process holds of results that are being read: lists have a bound of rows, and a row may be as large as somebody made it. */

import { Busy } from './errors.ts';

/** How many bytes of all results may be held while they are being read. */
const mostBytes = 33_554_432;
/** A result up to this size is always read. */
const smallBytes = 4_194_304;

/** A result was too large to be held beside what else is being read. What it asked for was carried out; fewer rows may fit. */
export class TooMuchAtOnce extends Busy {}

let held = 0;

/** What one transaction holds of its results. */
export class ResultMemory {
  #bytes = 0;

  /** Counts a row of so many bytes; false when it may not be kept. One row alone always may: it is there already. */
  keeps(bytes: number, isFirst: boolean): boolean {
    this.#bytes += bytes;
    held += bytes;
    return isFirst || held <= mostBytes || this.#bytes <= smallBytes;
  }

  /** To be called when its rows are given on, or dropped. */
  release(): void {
    held -= this.#bytes;
    this.#bytes = 0;
  }
}

/**
 * Reads a portion of at most so many rows, or of a tenth as many as often as that is too much at once. `read` is given how many to ask for. Rejects with
 * {@link TooMuchAtOnce} when one row is.
 */
export async function inSmallerPortions<T>(most: number, read: (most: number) => Promise<T>): Promise<T> {
  try {
    return await read(most);
  } catch (error) {
    if (!(error instanceof TooMuchAtOnce) || most === 1) throw error;
    return inSmallerPortions(Math.ceil(most / 10), read);
  }
}
