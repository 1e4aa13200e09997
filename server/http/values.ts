/** Which values all interfaces accept. */

import { z } from 'zod';
import { faultOfName } from '../domain/people/names.ts';

/**
 * Whether a text can be stored: it has no null character and no unpaired surrogate. Otherwise the database would reject
 * it in the middle of the work.
 */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** Whether the year of a date or time is not 0: the calendar of PostgreSQL begins with the year 1. */
export const isAfterYearZero = (date: string): boolean => !date.startsWith('0000');

/**
 * The time given in RFC 3339, in UTC and to the millisecond, as responses have it; null if it is invalid, or outside
 * the years 1 to 9999. PostgreSQL does not accept every offset and every fraction that RFC 3339 allows.
 */
export function momentOf(time: string): string | null {
  // RFC 3339, section 5.6: the letters may be in lower case.
  const written = time.toUpperCase();
  if (!z.iso.datetime({ offset: true }).safeParse(written).success) return null;
  const moment = new Date(written).toISOString();
  return /^\d{4}-/.test(moment) && isAfterYearZero(moment) ? moment : null;
}

/** A currency: three letters (ISO 4217). */
export const currencyPattern = /^[A-Z]{3}$/;

/** An amount: up to 16 digits before the decimal point and 4 after it; may be negative if `signed`. */
export const amountPattern = (signed: boolean): RegExp => new RegExp(`^${signed ? '-?' : ''}\\d{1,16}(\\.\\d{1,4})?$`);

/**
 * The largest whole amount, 2^53 - 1: most readers take a number in JSON as a double, which is exact only up to there
 * (RFC 8259, section 6).
 */
export const largestWholeAmount = Number.MAX_SAFE_INTEGER;

/** For a schema: checks that a text, without surrounding space, is a name of a person or a brokerage. */
export function checkName(name: string, { addIssue }: z.RefinementCtx<string>): void {
  const message = faultOfName(name);
  if (message !== null) addIssue({ code: 'custom', message });
}
