/** Where things are drawn: floats, good for pixels and nothing else. */

/** Where to draw `value` in a chart: the nearest float. */
export function toPixels(value: string | null | undefined): number {
  return Number(value ?? 0);
}

/** The pixels of a computed length of CSS: "17.6px". */
export const pixelsOf = (length: string): number => Number.parseFloat(length);
