/** Days and times in the viewer's time zone, in the format of date inputs. */

import type { Instant } from '../api/shapes.ts';

const two = (part: number): string => String(part).padStart(2, '0');

/** Returns the day in the viewer's time zone: "2026-11-27". */
export const localDay = (date: Date): string =>
  `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

/**
 * Returns day and time in the viewer's time zone: "2026-11-27T17:00". The zone's offset is not used, since it is in
 * whole minutes: in early years, which occur while a year is being typed, offsets had seconds.
 */
export const localTime = (date: Date): string => `${localDay(date)}T${two(date.getHours())}:${two(date.getMinutes())}`;

/** Returns the instant of a day and time of the browser; null when no timestamp can have it. */
export function instantOf(local: Date): Instant | null {
  if (Number.isNaN(local.getTime())) return null;
  const at = local.toISOString();
  return /^(?!0000)\d{4}-/.test(at) ? at : null;
}

/** The error for a time that {@link instantOf} rejects. */
export const otherTime = 'Choose a day and time in the years 1 to 9999.';

/**
 * Returns 17:00 in the viewer's time zone after so many years and days: the usual end of a period. Two years are a day
 * longer when they include a 29 February.
 */
export function endOfBusinessIn({ years = 0, days = 0 }: { years?: number; days?: number }): Instant {
  const end = new Date();
  end.setFullYear(end.getFullYear() + years, end.getMonth(), end.getDate() + days);
  end.setHours(17, 0, 0, 0);
  return end.toISOString();
}
