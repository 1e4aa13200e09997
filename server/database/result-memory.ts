/**
 * Limits the memory of this process for results being read: lists have a limit of rows, but a row may be of any size.
 */

import { Busy } from './errors.ts';

/** At most this many bytes of all results are held while they are read. */
const mostBytes = 33_554_432;
/** A result of up to this many bytes is always read. */
const smallBytes = 4_194_304;

/**
 * A result was too large to be held beside the others being read. Unlike with other `Busy` errors the statements were
 * executed, and committed unless `next` was to follow; fewer rows may fit.
 */
export class TooMuchAtOnce extends Busy {}

let held = 0;

/** The memory that the results of one transaction take. */
export class ResultMemory {
  #bytes = 0;

  /**
   * Counts a row of `bytes` bytes and returns whether it may be kept. The first row of a result always may: it is in
   * memory already.
   */
  keeps(bytes: number, isFirst: boolean): boolean {
    this.#bytes += bytes;
    held += bytes;
    return isFirst || held <= mostBytes || this.#bytes <= smallBytes;
  }

  /** To be called when the rows are passed on or dropped. */
  release(): void {
    held -= this.#bytes;
    this.#bytes = 0;
  }
}

/**
 * Reads at most `most` rows, or a tenth as many each time the result is too large. `read` is called with the number of
 * rows to ask for. Rejects with {@link TooMuchAtOnce} when a single row is too large.
 */
export async function inSmallerPortions<T>(most: number, read: (most: number) => Promise<T>): Promise<T> {
  try {
    return await read(most);
  } catch (error) {
    if (!(error instanceof TooMuchAtOnce) || most === 1) throw error;
    return inSmallerPortions(Math.ceil(most / 10), read);
  }
}
