/**
 * Exact fractions for ratios that may have no finite decimal, and the division of amounts into parts that add up to
 * them.
 */

import { divide, zero, type Decimal, type Rounding } from './decimals.ts';

/** The number `over` / `under`; `under` is above 0. */
export interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

/** A decimal as a fraction. */
export const fraction = ({ units, scale }: Decimal): Fraction => ({ over: units, under: 10n ** scale });
/** An integer as a fraction. */
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
/** `a` divided by `b`; `b` must be above 0. */
export const byFraction = (a: Fraction, b: Fraction): Fraction => ({ over: a.over * b.under, under: a.under * b.over });
/** `a` to the power of `count`. */
export const power = (a: Fraction, count: bigint): Fraction => ({ over: a.over ** count, under: a.under ** count });

/** A fraction as a decimal with `places` decimal places. */
export const rounded = ({ over, under }: Fraction, places: bigint, rounding: Rounding): Decimal =>
  divide({ units: over, scale: 0n }, { units: under, scale: 0n }, places, rounding) ?? zero;

const unitsAt = ({ units, scale }: Decimal, places: bigint): bigint => units * 10n ** (places - scale);
const largest = (values: readonly bigint[]): bigint => values.reduce((most, one) => (one > most ? one : most), 0n);

/**
 * Divides `total` in proportion to `weights`, which may be negative, each part to at least `places` decimal places. The
 * parts add up to the total exactly: the units left over by rounding go to the parts with the largest remainders, the
 * first of equal ones first (largest remainder method). Null when the weights add up to zero.
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
