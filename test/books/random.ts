import { numbersOf } from '../hostile/random.ts';

/** Pseudo-random integers, the same in every run: at least 0 and less than `below`. */
export function random(seed: number): (below: number) => number {
  const next = numbersOf(seed);
  return (below) => next() % below;
}
