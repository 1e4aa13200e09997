/** Amounts in whole cents, so that sums are exact. */

/** Returns a whole number of dollars in cents. */
export const dollars = (whole: number): bigint => BigInt(whole) * 100n;

/** Returns cents as a decimal string with two places. */
export function decimal(amount: bigint): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(3, '0');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/**
 * Divides `total` by weight; the remainder of rounding goes to the first part, so that the parts add up to the total.
 */
export function share(total: bigint, weights: readonly number[]): bigint[] {
  const all = BigInt(weights.reduce((sum, weight) => sum + weight, 0));
  const parts = weights.map((weight) => (total * BigInt(weight)) / all);
  const left = total - parts.reduce((sum, part) => sum + part, 0n);
  return parts.map((part, index) => (index === 0 ? part + left : part));
}
