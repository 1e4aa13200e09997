/** Random numbers that are the same for the same seed. */

/** Returns a generator of whole numbers below 2^32, the same for the same seed (mulberry32). */
export function numbersOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}

/** Returns a generator of numbers from 0 to 1, the same for the same seed. */
export function randomOf(seed: number): () => number {
  const next = numbersOf(seed);
  return () => next() / 2 ** 32;
}
