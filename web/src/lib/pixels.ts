/** Pixel positions: floats, which must not be used for anything else. */

/** Returns the nearest float of `value`, for its position in a chart. */
export function toPixels(value: string | null | undefined): number {
  return Number(value ?? 0);
}

/** Returns the pixels of a computed CSS length: "17.6px". */
export const pixelsOf = (length: string): number => Number.parseFloat(length);
