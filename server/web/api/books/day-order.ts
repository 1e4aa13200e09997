/** Determines whether the month or the day comes first in the days of a file that are written with slashes. */

import { readDay, slashedDay, type DayOrder } from './values.ts';

/** A day as a file has it, and as it is read although nothing in the file shows it. */
export interface AssumedDay {
  readonly name: string;
  readonly day: string;
}

/** Whether somebody whose browser prefers this language ("en-US,en;q=0.9") writes the month of a day first. */
export function writesMonthFirst(acceptLanguage: string | undefined): boolean {
  const [preferred = ''] = (acceptLanguage ?? '').split(/[,;]/, 1);
  try {
    const parts = new Intl.DateTimeFormat(preferred.trim().slice(0, 35)).formatToParts(0).map(({ type }) => type);
    return parts.indexOf('month') < parts.indexOf('day');
  } catch {
    // No language, or any ("*").
    return true;
  }
}

/**
 * Returns the order in the days among these cells: as a day shows it ("31/1/2025"); as they all are the first of a
 * month then; otherwise as the reader writes days.
 */
export function dayOrderOf(cells: Iterable<string>, readerWritesMonthFirst: boolean): DayOrder {
  const shown = new Set<'month' | 'day'>();
  const unclear: { one: number; other: number }[] = [];
  for (const cell of cells) {
    const written = slashedDay(cell);
    if (!written) continue;
    if (written.first === 'either') unclear.push(written);
    else if (written.first !== null) shown.add(written.first);
  }
  const [first = 'open', ...others] = shown;
  if (shown.size > 0) return { first: others.length > 0 ? 'open' : first, assumed: false };
  if (unclear.length > 1 && unclear.every(({ one }) => one === 1)) return { first: 'day', assumed: true };
  if (unclear.length > 1 && unclear.every(({ other }) => other === 1)) return { first: 'month', assumed: true };
  return { first: readerWritesMonthFirst ? 'month' : 'day', assumed: unclear.length > 0 };
}

/** The first of these cells that would be another day in the other order; null when the order is not assumed. */
export function assumedDayIn(cells: Iterable<string>, { first, assumed }: DayOrder): AssumedDay | null {
  if (!assumed) return null;
  for (const name of cells) {
    const day = slashedDay(name)?.first === 'either' ? readDay(name, first) : undefined;
    if (day !== undefined) return { name, day };
  }
  return null;
}
