/** Ratios that need not end as decimals, kept as exact fractions, and amounts divided so that their parts add up to them. */

import { divide, zero, type Decimal, type Rounding } from './decimals.ts';

/** The number `over` divided by `under`, which is above 0. */
export interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

/** The fraction that a decimal is. */
export const fraction = ({ units, scale }: Decimal): Fraction => ({ over: units, under: 10n ** scale });
/** The fraction that a whole number is. */
export const wholeFraction = (units: bigint): Fraction => ({ over: units, under: 1n });

/** The exact product. */
export const timesFraction = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.over,
  under: a.under * b.under,
});
/** The exact sum. */
export const plusFraction = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.under + b.over * a.under,
  under: a.under * b.under,
});
/** `a` divided by `b`, which is above 0. */
export const byFraction = (a: Fraction, b: Fraction): Fraction => ({ over: a.over * b.under, under: a.under * b.over });
/** `a` multiplied by itself, `count` times. */
export const power = (a: Fraction, count: bigint): Fraction => ({ over: a.over ** count, under: a.under ** count });

/** A fraction as a decimal with `places` digits behind the point. */
export const rounded = ({ over, under }: Fraction, places: bigint, rounding: Rounding): Decimal =>
  divide({ units: over, scale: 0n }, { units: under, scale: 0n }, places, rounding) ?? zero;

const unitsAt = ({ units, scale }: Decimal, places: bigint): bigint => units * 10n ** (places - scale);
const largest = (values: readonly bigint[]): bigint => values.reduce((most, one) => (one > most ? one : most), 0n);

/**
 * `total` divided in proportion to `weights`, which may be negative, each part to at least `places` digits behind the
 * point: the parts add up to the total to the last digit, as what rounding leaves over goes to where most was cut off
 * (the method of the largest remainder), of equal ones to the first. Null when the weights add up to zero.
 */
export function apportion(total: Decimal, weights: readonly Decimal[], places: bigint): Decimal[] | null {
  const scale = largest([places, total.scale]);
  const weightScale = largest(weights.map((one) => one.scale));
  const signed = weights.map((one) => unitsAt(one, weightScale));
  const sumOfWeights = signed.reduce((all, one) => all + one, 0n);
  if (sumOfWeights === 0n) return null;
  const [under, sign] = sumOfWeights < 0n ? [-sumOfWeights, -1n] : [sumOfWeights, 1n];
  const units = unitsAt(total, scale);
  const parts = signed.map((weight, place) => {
    const over = units * weight * sign;
    const rest = ((over % under) + under) % under;
    return { place, floor: (over - rest) / under, rest };
  });
  let left = units - parts.reduce((all, { floor }) => all + floor, 0n);
  const shares = parts.map(({ floor }) => floor);
  for (const { place, floor } of parts.toSorted((a, b) => (a.rest > b.rest ? -1 : a.rest < b.rest ? 1 : 0))) {
    if (left === 0n) break;
    shares[place] = floor + 1n;
    left -= 1n;
  }
  return shares.map((part) => ({ units: part, scale }));
}
