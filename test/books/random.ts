import { numbersOf } from '../hostile/random.ts';

/** Numbers that look random and are the same in every run: from 0 up to, and without, what is asked for. */
export function random(seed: number): (below: number) => number {
  const next = numbersOf(seed);
  return (below) => next() % below;
}
