/** Integers: positions, days, bytes and timestamps. Amounts of money are not integers (decimal.ts). */

/** Returns the integer that `value` is, as a number or as text; NaN for any other value. */
export function wholeNumber(value: unknown): number {
  if (typeof value === 'number') return Number.isInteger(value) ? value : Number.NaN;
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
}
