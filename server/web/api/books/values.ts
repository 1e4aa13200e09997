/** Amounts and periods in the notations of spreadsheets; amounts are read as text and never become floats. */

/** Removes trailing zeros; a regular expression would start again at each zero. */
function withoutLastZeros(digits: string): string {
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 0x30) end -= 1;
  return digits.slice(0, end);
}

/** The message for a cell that is not an amount. */
export const notAnAmount = 'Enter an amount with at most 16 digits before the point and 4 after it.';

/** The decimal mark of a file: a point, a comma, or unknown (`open`), so that "1.234" may be more than a thousand. */
export type Marks = 'point' | 'comma' | 'open';

/**
 * The amount without signs, parentheses, spaces, currency symbols and the apostrophes that group digits in Switzerland,
 * and whether it is negative.
 */
function bareAmount(written: string): { text: string; negative: boolean } {
  const text = written.replaceAll(/[\s\u00a0\u202f'’]|\p{Sc}/gu, '').replaceAll(/[\u2212\u2013\u2014]/g, '-');
  const bracketed = /^\((.*)\)$/.exec(text);
  if (bracketed) return { text: bracketed[1] ?? '', negative: true };
  const signed = /^-(.+)$|^(.+)-$/.exec(text);
  return signed ? { text: signed[1] ?? signed[2] ?? '', negative: true } : { text, negative: false };
}

/** Returns a decimal that fits numeric(20,4), null for an empty cell, and undefined when the cell is not an amount. */
export function readAmount(written: string, marks: Marks = 'point'): string | null | undefined {
  const { text, negative } = bareAmount(written);
  if ((text === '' && !negative) || text === '-') return null;
  const plain = withoutGroups(text, marks);
  if (plain === undefined) return undefined;
  const [whole = '', fraction = ''] = plain.split('.');
  const digits = whole.replace(/^0+(?=\d)/, '') || '0';
  const places = withoutLastZeros(fraction);
  if (digits.length > 16 || places.length > 4) return undefined;
  const value = places === '' ? digits : `${digits}.${places}`;
  return negative && value !== '0' ? `-${value}` : value;
}

/** "1.234": more than a thousand when the decimal mark is a comma. */
const thousands = /^[1-9]\d{0,2}\.\d{3}$/;
/** "1,234": more than a thousand unless the decimal mark is a comma. */
const thousandsByComma = /^[1-9]\d{0,2},\d{3}$/;
/** Amounts whose comma can only be the decimal mark; a group of thousands does not begin with a zero. */
const decimalsByComma = /^[1-9]\d{0,2}(\.\d{3})+,\d+$|^\d+,\d{1,2}$|^0,\d+$/;
/** Also as in India: "12,34,567.5". */
const groupsByComma = /^[1-9]\d{0,2}(,\d{3})+(\.\d*)?$|^[1-9]\d?(,\d{2})+,\d{3}(\.\d*)?$/;
const groupsByPoint = /^[1-9]\d{0,2}(\.\d{3}){2,}$/;

/**
 * Returns "1,234.5", "1.234,5" and "1234,5" as "1234.5"; "1.234" and "1,234" depend on the decimal mark of the file.
 */
function withoutGroups(text: string, marks: Marks): string | undefined {
  if (marks !== 'point' && thousands.test(text)) return marks === 'comma' ? text.replace('.', '') : undefined;
  if (marks === 'comma' && /^\d+,\d+$/.test(text)) return text.replace(',', '.');
  if (/^(\d+(\.\d*)?|\.\d+)$/.test(text)) return text;
  if (groupsByComma.test(text)) return text.replaceAll(',', '');
  if (groupsByPoint.test(text)) return text.replaceAll('.', '');
  if (decimalsByComma.test(text)) return text.replaceAll('.', '').replace(',', '.');
  return undefined;
}

/** The message for a cell that {@link readAmount} does not accept. */
export const amountFault = (written: string, marks: Marks): string =>
  marks === 'open' && thousands.test(bareAmount(written).text)
    ? 'The point may mark thousands or decimals: write the amount without it, or with two digits after it.'
    : notAnAmount;

/** Longer cells are not used to determine the decimal mark. */
const longestMarkedCell = 40;

/** The decimal mark that one cell implies; null for most cells. */
export function marksIn(written: string): Exclude<Marks, 'open'> | null {
  if (written.length > longestMarkedCell || !/[.,]/.test(written)) return null;
  const { text } = bareAmount(written);
  if (thousands.test(text) || thousandsByComma.test(text)) return null;
  if (decimalsByComma.test(text) || groupsByPoint.test(text)) return 'comma';
  return /^\d*\.\d+$/.test(text) || groupsByComma.test(text) ? 'point' : null;
}

/**
 * Rounds `digits`, of which `places` are after the point, to four decimals; null when that changes it by a billionth or
 * more.
 */
function toFourPlaces(digits: string, places: number): string | null {
  const cut = 10n ** BigInt(places - 4);
  const rounded = (BigInt(digits) + cut / 2n) / cut;
  const away = rounded * cut - BigInt(digits);
  return (away < 0n ? -away : away) * 1_000_000_000n < 10n ** BigInt(places) ? String(rounded) : null;
}

/**
 * Converts a number as a workbook stores it, such as "1.5E6", to a plain decimal. Workbooks keep fifteen digits;
 * further digits ("0.30000000000000004") are an artefact of binary fractions and are rounded away, as is a difference
 * of less than a billionth from four decimals ("5.250000000000007", from a sum).
 */
export function plainNumber(stored: string): string {
  const match = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(stored.trim());
  if (!match) return stored;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  let digits = whole + fraction;
  let places = fraction.length - Number(exponent);
  const significant = digits.replace(/^0+/, '').length;
  if (places > 4 && significant > 15) {
    const cut = Math.min(significant - 15, places);
    digits = String((BigInt(digits) + 5n * 10n ** BigInt(cut - 1)) / 10n ** BigInt(cut));
    places -= cut;
  }
  const four = places > 4 ? toFourPlaces(digits, places) : null;
  if (four !== null) [digits, places] = [four, 4];
  if (places < 0) [digits, places] = [digits + '0'.repeat(-places), 0];
  digits = digits.padStart(places + 1, '0');
  const point = digits.length - places;
  const decimals = withoutLastZeros(digits.slice(point));
  return `${sign === '-' ? '-' : ''}${digits.slice(0, point)}${decimals === '' ? '' : `.${decimals}`}`;
}

export interface Period {
  readonly label: string;
  readonly first: string;
  readonly last: string;
}

/** The months of the year as they are abbreviated, in lower case. */
export const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** A number with at least two digits. */
export const two = (value: number): string => String(value).padStart(2, '0');
const lastDay = (year: number, month: number): number => new Date(Date.UTC(year, month, 0)).getUTCDate();

function span(label: string, year: number, from: number, to: number): Period | undefined {
  if (year < 1900 || year > 2199 || from < 1 || to > 12) return undefined;
  return { label, first: `${year}-${two(from)}-01`, last: `${year}-${two(to)}-${two(lastDay(year, to))}` };
}

const month = (year: number, at: number): Period | undefined => span(`${year}-${two(at)}`, year, at, at);
/** The year, written with two digits or with four. */
export const longYear = (year: string): number => (year.length === 2 ? 2000 + Number(year) : Number(year));

/** Whether the month or the day comes first in the days of a file that are written with slashes. */
export interface DayOrder {
  /** `open` when the file has days that begin with the day, and days that begin with the month. */
  readonly first: 'month' | 'day' | 'open';
  /** Set when no day of the file shows it. */
  readonly assumed: boolean;
}

/**
 * The two numbers before the year of a day with slashes, and which of them is first as far as they show it: the month in
 * "1/31/2025", the day in "31/1/2025", `either` in "1/2/2025", null where it does not matter ("1/1/2025"). Null when the
 * text is no such day.
 */
export function slashedDay(
  written: string,
): { year: number; one: number; other: number; first: 'month' | 'day' | 'either' | null } | null {
  const [, one = '', other = '', year = ''] = /^(\d{1,2})\/(\d{1,2})\/(\d{2}|\d{4})$/.exec(written.trim()) ?? [];
  if (year === '') return null;
  const numbers = { year: longYear(year), one: Number(one), other: Number(other) };
  const first =
    numbers.one > 12
      ? 'day'
      : numbers.other > 12
        ? 'month'
        : numbers.one === numbers.other
          ? null
          : ('either' as const);
  return { ...numbers, first };
}

/**
 * The day as "2025-01-31", from that notation, "1/31/2025" (or "31/1/2025" where the day comes `first`) or "31.01.2025".
 * Undefined when the text is not a day, or which one is open.
 */
export function readDay(written: string, first: DayOrder['first'] = 'month'): string | undefined {
  const text = written.trim();
  const iso = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[T ].*)?$/.exec(text);
  const slashed = slashedDay(text);
  const european = /^(\d{1,2})\.(\d{1,2})\.(\d{2}|\d{4})$/.exec(text);
  const order = first === 'open' ? slashed?.first : first;
  const [year, at, on] = iso
    ? [Number(iso[1]), Number(iso[2]), Number(iso[3])]
    : slashed && order !== 'either'
      ? order === 'day'
        ? [slashed.year, slashed.other, slashed.one]
        : [slashed.year, slashed.one, slashed.other]
      : european
        ? [longYear(european[3] ?? ''), Number(european[2]), Number(european[1])]
        : [0, 0, 0];
  if (year < 1900 || year > 2199 || at < 1 || at > 12 || on < 1 || on > lastDay(year, at)) return undefined;
  return `${year}-${two(at)}-${two(on)}`;
}

/** The message for a cell that {@link readDay} does not accept, where `example` is a day that it does. */
export const dayFault = (written: string, first: DayOrder['first'], example: string): string =>
  first === 'open' && slashedDay(written)?.first === 'either'
    ? `Some days of the file begin with the month, others with the day: write them all like ${example}.`
    : `Enter a date, like ${example}.`;

/**
 * A month ("2025-01", "Jan 2025", "01/2025", any day in it), a quarter ("Q1 2025") or a year ("FY2025"). Undefined when
 * the text is none of these.
 */
export function readPeriod(written: string, first?: DayOrder['first']): Period | undefined {
  const text = written.trim();
  const numbers = /^(\d{4})[-/.](\d{1,2})$/.exec(text) ?? /^(?<at>\d{1,2})[-/.](?<year>\d{4})$/.exec(text);
  if (numbers?.groups) return month(Number(numbers.groups['year']), Number(numbers.groups['at']));
  if (numbers) return month(Number(numbers[1]), Number(numbers[2]));
  const named =
    /^(?<name>[a-z]{3,9})\.?[\s,'’-]*(?<year>\d{4}|\d{2})$/i.exec(text) ??
    /^(?<year>\d{4})[\s-]*(?<name>[a-z]{3,9})\.?$/i.exec(text);
  const name = named?.groups?.['name']?.toLowerCase() ?? '';
  const at = monthNames.indexOf(name.slice(0, 3)) + 1;
  if (at > 0) return month(longYear(named?.groups?.['year'] ?? ''), at);
  const year = /^(?:fy|cy)?\s*(\d{4})$/i.exec(text)?.[1];
  if (year) return span(`FY${year}`, Number(year), 1, 12);
  const quarter = /^q([1-4])[\s/-]*(\d{4})$/i.exec(text) ?? /^(?<y>\d{4})[\s/-]*q(?<q>[1-4])$/i.exec(text);
  if (quarter) {
    const which = Number(quarter.groups?.['q'] ?? quarter[1]);
    const of = Number(quarter.groups?.['y'] ?? quarter[2]);
    return span(`Q${which} ${of}`, of, which * 3 - 2, which * 3);
  }
  const day = readDay(text, first);
  return day === undefined ? undefined : month(Number(day.slice(0, 4)), Number(day.slice(5, 7)));
}

/**
 * Whether the text names a year or a quarter without its months: "FY2025", "Q1 2025". {@link readPeriod} reads it as one
 * of the calendar, but the year of the business may begin in another month.
 */
export const hasNoMonths = (written: string): boolean =>
  /^(?:(?:fy)?\s*\d{4}|q[1-4][\s/-]*\d{4}|\d{4}[\s/-]*q[1-4])$/i.test(written.trim());

/** The period between two days, labelled with its month or year when it is exactly that. */
export function periodBetween(first: string, last: string): Period {
  const candidates = [readPeriod(first.slice(0, 7)), readPeriod(first.slice(0, 4))];
  const whole = candidates.find((one) => one?.first === first && one.last === last);
  return { label: whole?.label ?? `${first} to ${last}`, first, last };
}
