/** What is taken of values that are sent, by all interfaces. */

import { z } from 'zod';
import { faultOfName } from '../domain/people/names.ts';

/** Whether a text can be stored: it has no null character and no half of a surrogate pair. The database would say so in the middle of the work. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** Whether the year of a date or time is one: the calendar of PostgreSQL begins with the year 1. */
export const isAfterYearZero = (date: string): boolean => !date.startsWith('0000');

/**
 * The moment that a time of RFC 3339 names, in UTC and to the millisecond, as times are answered; null where it names none, or one outside the years 1 to
 * 9999. PostgreSQL takes neither every offset nor every fraction that may be written.
 */
export function momentOf(time: string): string | null {
  // RFC 3339, section 5.6: its letters may be small.
  const written = time.toUpperCase();
  if (!z.iso.datetime({ offset: true }).safeParse(written).success) return null;
  const moment = new Date(written).toISOString();
  return /^\d{4}-/.test(moment) && isAfterYearZero(moment) ? moment : null;
}

/** A currency: three letters (ISO 4217). */
export const currencyPattern = /^[A-Z]{3}$/;

/** An amount: up to 16 digits before the point and 4 behind it, below 0 where it is `signed`. */
export const amountPattern = (signed: boolean): RegExp => new RegExp(`^${signed ? '-?' : ''}\\d{1,16}(\\.\\d{1,4})?$`);

/** The largest whole amount, 2^53 - 1: a number in JSON is exact no further, because most readers take it as a double (RFC 8259, section 6). */
export const largestWholeAmount = Number.MAX_SAFE_INTEGER;

/** In a schema: that a text, without the space around it, is a name of a person or a brokerage. */
export function checkName(name: string, { addIssue }: z.RefinementCtx<string>): void {
  const message = faultOfName(name);
  if (message !== null) addIssue({ code: 'custom', message });
}
