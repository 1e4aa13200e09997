/** The median of repeated measurements. */

/** Returns the median: for an even count the mean of the two middle numbers, NaN for none. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const [below, above] = [sorted[(sorted.length - 1) >> 1] ?? NaN, sorted[sorted.length >> 1] ?? NaN];
  return (below + above) / 2;
}
