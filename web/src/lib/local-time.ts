/** Days and times in the viewer's zone, as fields for dates have them. */

const two = (part: number): string => String(part).padStart(2, '0');

/** The day in the viewer's zone: "2026-11-27". */
export const localDay = (date: Date): string =>
  `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

/**
 * Day and time in the viewer's zone: "2026-11-27T17:00". Not by the offset of the zone, which is told in whole minutes: long ago, as while a
 * year is being typed, zones had seconds.
 */
export const localTime = (date: Date): string => `${localDay(date)}T${two(date.getHours())}:${two(date.getMinutes())}`;
