/** Days and times in the viewer's zone, as fields for dates have them. */

import type { Instant } from '../api/shapes.ts';

const two = (part: number): string => String(part).padStart(2, '0');

/** The day in the viewer's zone: "2026-11-27". */
export const localDay = (date: Date): string =>
  `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

/**
 * Day and time in the viewer's zone: "2026-11-27T17:00". Not by the offset of the zone, which is told in whole minutes: long ago, as while a
 * year is being typed, zones had seconds.
 */
export const localTime = (date: Date): string => `${localDay(date)}T${two(date.getHours())}:${two(date.getMinutes())}`;

/** In so many years and days, at 17:00 in the viewer's zone: the usual end of a period. Two years have a day more where a 29 February is among them. */
export function endOfBusinessIn({ years = 0, days = 0 }: { years?: number; days?: number }): Instant {
  const end = new Date();
  end.setFullYear(end.getFullYear() + years, end.getMonth(), end.getDate() + days);
  end.setHours(17, 0, 0, 0);
  return end.toISOString();
}
