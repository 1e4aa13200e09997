/** Exact arithmetic on decimal strings: amounts never become floats. */

const shape = /^([+-]?)(\d+)(?:\.(\d+))?$/;

/** Returns a decimal as an integer and the number of its fraction digits, or null when `text` is not one. */
function parse(text: string): { units: bigint; places: number } | null {
  const match = shape.exec(text);
  if (!match) return null;
  const [, sign, whole = '', fraction = ''] = match;
  const units = BigInt(whole + fraction);
  return { units: sign === '-' ? -units : units, places: fraction.length };
}

function print(units: bigint, places: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(places + 1, '0');
  const whole = digits.slice(0, digits.length - places);
  const fraction = places > 0 ? digits.slice(-places).replace(/0+$/, '') : '';
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

function scaled(values: readonly string[]): { units: bigint[]; places: number } {
  const parsed = values.map((value) => {
    const decimal = parse(value);
    if (!decimal) throw new RangeError('not a decimal');
    return decimal;
  });
  const places = Math.max(0, ...parsed.map((decimal) => decimal.places));
  return { units: parsed.map((decimal) => decimal.units * 10n ** BigInt(places - decimal.places)), places };
}

/** Whether `text` is a plain decimal such as "-1250.50". */
export function isDecimal(text: string): boolean {
  return shape.test(text);
}

/** Returns the exact sum of decimals; "0" for none. Throws a RangeError when a value is not a decimal. */
export function sum(values: readonly string[]): string {
  const { units, places } = scaled(values);
  return print(
    units.reduce((total, one) => total + one, 0n),
    places,
  );
}

/** Negative, zero or positive as `a` is less than, equal to or greater than `b`; for sorting. */
export function compare(a: string, b: string): number {
  const [first = 0n, second = 0n] = scaled([a, b]).units;
  return first < second ? -1 : first > second ? 1 : 0;
}

/** Returns the amount with the opposite sign. */
export function negate(value: string): string {
  const { units, places } = scaled([value]);
  return print(-(units[0] ?? 0n), places);
}

/**
 * Returns `part` as a share of `all`, a half rounded away from zero; null when `all` is zero. It has three fraction
 * digits, as many as pages show of a share, so that it is rounded once.
 */
export function shareOf(part: string, all: string): string | null {
  const [over = 0n, under = 0n] = scaled([part, all]).units;
  if (under === 0n) return null;
  const size = (amount: bigint) => (amount < 0n ? -amount : amount);
  const share = (size(over) * 2_000n + size(under)) / (size(under) * 2n);
  return print(over < 0n === under < 0n ? share : -share, 3);
}

// Neither typed text nor a decimal begins with this character.
const unreadMark = '\u0000';

/**
 * Returns the form value for a typed text that is not an amount in the person's language. It is never a decimal, even
 * when the text looks like one: "250.000" would be sent as 250 where the point is no group separator. '' for an empty
 * text.
 */
export const asUnread = (typed: string): string => (typed.trim() === '' ? '' : unreadMark + typed);

/** Returns the text from which {@link asUnread} made a value; null for any other value. */
export const unreadIn = (value: string): string | null => (value.startsWith(unreadMark) ? value.slice(1) : null);

interface Separators {
  readonly group: string;
  readonly point: string;
}

/**
 * The separators of amounts of money, or of other numbers: in Austrian German and some others they differ. The currency
 * makes no difference.
 */
export function separatorsOf(style: 'currency' | 'decimal', locale?: string): Separators {
  const format = new Intl.NumberFormat(locale, style === 'currency' ? { style, currency: 'EUR' } : {});
  const parts = format.formatToParts(1234567.8);
  return {
    group: parts.find((part) => part.type === 'group')?.value ?? ',',
    point: parts.find((part) => part.type === 'decimal')?.value ?? '.',
  };
}

/** Reads digits with these separators; null when the separators are not where they belong. */
function readAs({ group, point }: Separators, amount: string): string | null {
  const isByKeypad = group !== '.' && /^\d+\.\d{1,2}$/.test(amount);
  const [whole = '', fraction = '', ...more] = amount.split(isByKeypad ? '.' : point);
  const groups = whole.split(group);
  const wellGrouped = groups.length === 1 || (/^\d{1,3}$/.test(groups[0] ?? '') && groups.at(-1)?.length === 3);
  const digits = groups.join('');
  if (more.length > 0 || !wellGrouped || !/^\d*$/.test(digits) || !/^\d*$/.test(fraction)) return null;
  if (digits === '' && fraction === '') return null;
  return `${digits.replace(/^0+(?=\d)/, '') || '0'}${fraction === '' ? '' : `.${fraction}`}`;
}

/**
 * Returns the decimal that a person typed, read as amounts of money, or otherwise numbers, are written in their language
 * ("1,250.5", "1.250,5" or "۱٬۲۵۰٫۵"), or null when it is not one, including when its separators are not where that
 * language puts them. A point before one or two digits, as keypads type it, is accepted where a point is no group
 * separator. The currency, spaces, the apostrophes that group digits in Switzerland, and direction marks are ignored;
 * full-width characters, as input methods type them, are read like others.
 */
export function readDecimal(typed: string, locale?: string): string | null {
  const ownDigits = [...new Intl.NumberFormat(locale, { useGrouping: false }).format(9876543210)].toReversed();
  const bare = typed
    .replace(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .replace(/[\s\u00a0\u202f'’]|[\p{Sc}\p{Cf}]/gu, '')
    .replace('\u2212', '-')
    .replace(/\p{Nd}/gu, (digit) => (ownDigits.includes(digit) ? String(ownDigits.indexOf(digit)) : digit))
    .replace(/^(-?)[A-Z]{3}(?=\D?\d)|(?<=\d)[A-Z]{3}$/, '$1');
  const sign = bare.startsWith('-') ? '-' : '';
  const amount = bare.slice(sign.length);
  const read = readAs(separatorsOf('currency', locale), amount) ?? readAs(separatorsOf('decimal', locale), amount);
  return read === null ? null : sign + read;
}
