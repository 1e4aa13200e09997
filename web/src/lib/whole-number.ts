/** Numbers that count: places, days, bytes and moments. Amounts of money are none (decimal.ts). */

/** The whole number that is written or is there; NaN of everything else. */
export function wholeNumber(value: unknown): number {
  if (typeof value === 'number') return Number.isInteger(value) ? value : Number.NaN;
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
}
