/** Formats amounts, times and sizes in the viewer's language and time zone, amounts in their own currency. */
import type { Day, Decimal, Instant } from '../api/shapes.ts';
import { separatorsOf } from './decimal.ts';
import { wholeNumber } from './whole-number.ts';

/** Intl accepts decimal strings and keeps every digit; its type requires a cast, since ours are known to be numeric. */
function exact(value: Decimal): Intl.StringNumericLiteral {
  return value as Intl.StringNumericLiteral;
}

const formats = new Map<string, Intl.NumberFormat>();

function numberFormat(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = JSON.stringify(options);
  let format = formats.get(key);
  if (!format) formats.set(key, (format = new Intl.NumberFormat(undefined, options)));
  return format;
}

const ofMoney = separatorsOf('currency');

/** A number with the separators of amounts of money. */
const withSeparators = (format: Intl.NumberFormat, amount: Decimal): string =>
  format
    .formatToParts(exact(amount))
    .map(({ type, value }) => (type === 'group' ? ofMoney.group : type === 'decimal' ? ofMoney.point : value))
    .join('');

/** "1,250,000.5": an amount without its currency, with exactly these decimal places. */
export const formatPlaces = (amount: Decimal, places: number): string =>
  withSeparators(numberFormat({ minimumFractionDigits: places, maximumFractionDigits: places }), amount);

/** "$1,250,000", with cents (of yen none, of dinars three digits) only when there are any; `short` gives "$1.25M", `rounded` never gives cents. */
export function formatMoney(
  amount: Decimal,
  currency: string | null | undefined,
  { short = false, rounded = false, signed = false } = {},
): string {
  const format = numberFormat({
    ...(currency && { style: 'currency', currency }),
    signDisplay: signed ? 'exceptZero' : 'negative',
    ...(short
      ? { notation: 'compact', maximumSignificantDigits: 3 }
      : rounded
        ? { maximumFractionDigits: 0 }
        : {
            trailingZeroDisplay: 'stripIfInteger',
            maximumFractionDigits: 40,
            ...(!currency && { minimumFractionDigits: 2 }),
          }),
  });
  return currency ? format.format(exact(amount)) : withSeparators(format, amount);
}

/** "12,480" */
export function formatCount(count: number): string {
  return numberFormat({}).format(count);
}

/** The service counts at most this many waiting entries of a queue. */
const mostWaiting = 1000;

/** "480", or "1,000 or more", for the number of waiting entries. */
export const formatWaiting = (count: number): string =>
  count < mostWaiting ? formatCount(count) : `${formatCount(mostWaiting)} or more`;

/** "18.4%" for a share between 0 and 1, always with one fraction digit, in the viewer's notation. */
export function formatShare(share: Decimal, { signed = false } = {}): string {
  const signDisplay = signed ? 'exceptZero' : 'negative';
  return numberFormat({ style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1, signDisplay }).format(
    exact(share),
  );
}

/** "+2.4 points": the difference of two shares, in percentage points. */
export function formatPoints(difference: Decimal): string {
  const parts = numberFormat({
    style: 'percent',
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
    signDisplay: 'exceptZero',
  }).formatToParts(exact(difference));
  const digits = parts.filter(({ type }) => type !== 'percentSign').map(({ value }) => value);
  return `${digits.join('').trim()} points`;
}

/** "4.80×", always with two fraction digits. */
export function formatMultiple(multiple: Decimal, { signed = false } = {}): string {
  const signDisplay = signed ? 'exceptZero' : 'negative';
  return `${numberFormat({ minimumFractionDigits: 2, maximumFractionDigits: 2, signDisplay }).format(exact(multiple))}×`;
}

/** "4.2 MB" */
export function formatBytes(bytes: number | string): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'];
  let size = wholeNumber(bytes);
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || size >= 100 ? 0 : 1;
  // Intl writes kB; American software writes KB.
  return numberFormat({
    style: 'unit',
    unit: units[unit] ?? 'byte',
    unitDisplay: unit === 0 ? 'long' : 'short',
    maximumFractionDigits: digits,
  })
    .format(size)
    .replace('kB', 'KB');
}

/** Formats dates in the calendar of the date inputs; the viewer's language may have another one. */
const dateFormatOf = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(undefined, { calendar: 'gregory', ...options });

const dayFormat = dateFormatOf({ dateStyle: 'medium', timeZone: 'UTC' });
const dateFormat = dateFormatOf({ dateStyle: 'medium' });
const timeFormat = dateFormatOf({ dateStyle: 'medium', timeStyle: 'short' });
const exactFormat = dateFormatOf({ dateStyle: 'full', timeStyle: 'long' });
const monthFormat = dateFormatOf({ month: 'short', year: '2-digit', timeZone: 'UTC' });
const relativeFormat = new Intl.RelativeTimeFormat(undefined);
/** Gives "yesterday" and "tomorrow". */
const relativeDayFormat = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

/** The viewer's language, in which dates are formatted; the page is in English. */
export const formatLanguage = dayFormat.resolvedOptions().locale;

/** "31 Jan 2026" for a date without a time, independent of the time zone. */
export function formatDay(day: Day): string {
  return dayFormat.format(new Date(`${day}T00:00:00Z`));
}

/** "1 Jan 2025 – 31 Dec 2025". */
export const formatDates = ({ first, last }: { readonly first: Day; readonly last: Day }): string =>
  `${formatDay(first)} – ${formatDay(last)}`;

/** "Jan 26", the label of a month in a chart. */
export function formatMonth(day: Day): string {
  return monthFormat.format(new Date(`${day}T00:00:00Z`));
}

const monthNames = dateFormatOf({ month: 'long', timeZone: 'UTC' });

/** "January" for a month from "01" to "12". */
export function formatMonthOfYear(month: string): string {
  return monthNames.format(new Date(`2001-${month}-01T00:00:00Z`));
}

/** The date of an instant in the viewer's time zone. */
export function formatDate(at: Instant): string {
  return dateFormat.format(new Date(at));
}

/** Date and time of an instant in the viewer's time zone. */
export function formatTime(at: Instant): string {
  return timeFormat.format(new Date(at));
}

/** Full date and time of an instant with the time zone, for tooltips. */
export function formatExactly(at: Instant): string {
  return exactFormat.format(new Date(at));
}

const ofDays: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365],
  ['month', 30],
  ['week', 7],
];

/** The day of an instant in the viewer's calendar, as a count of days. */
function dayNumber(at: number): number {
  const date = new Date(at);
  return Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / 86_400_000;
}

/** Returns how many days the first of two instants is after the second, in the viewer's calendar. */
export function daysAfter(first: Instant, second: Instant): number {
  return dayNumber(new Date(first).getTime()) - dayNumber(new Date(second).getTime());
}

const justNow = 'just now';
const inAMoment = 'in a moment';

/** Returns the language of a text from {@link formatRelative}; undefined when it is the page's. */
export const languageOfRelative = (text: string): string | undefined =>
  text === justNow || text === inAMoment ? undefined : formatLanguage;

/**
 * "3 hours ago", "in 2 days", "yesterday", "just now"; `now` in milliseconds. From 24 hours on, calendar days are
 * counted.
 */
export function formatRelative(at: Instant, now: number): string {
  const time = new Date(at).getTime();
  const distance = time - now;
  if (Math.abs(distance) >= 86_400_000) {
    const days = dayNumber(time) - dayNumber(now);
    for (const [unit, length] of ofDays) {
      if (Math.abs(days) >= length) return relativeFormat.format(Math.trunc(days / length), unit);
    }
    return relativeDayFormat.format(days, 'day');
  }
  if (Math.abs(distance) >= 3_600_000) return relativeFormat.format(Math.trunc(distance / 3_600_000), 'hour');
  if (Math.abs(distance) >= 60_000) return relativeFormat.format(Math.trunc(distance / 60_000), 'minute');
  // The page's clock advances every half minute, so something just created can seem to be in the future.
  return distance > 30_000 ? inAMoment : justNow;
}

/** Returns the two largest units of a duration in milliseconds: "12 d 4 h", "3 h 20 min", "45 s". */
export function formatSpan(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor(seconds / 3600) % 24;
  const minutes = Math.floor(seconds / 60) % 60;
  if (days > 0) return hours > 0 ? `${days} d ${hours} h` : `${days} d`;
  if (hours > 0) return minutes > 0 ? `${hours} h ${minutes} min` : `${hours} h`;
  if (minutes >= 10) return `${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

/** "1 question", "3 questions". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
