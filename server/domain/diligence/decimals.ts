/**
 * Exact decimals: an integer and the number of its decimal places, both of any size. All money and shares are computed
 * with these functions, so that no amount passes through a float; the operators `+ - * /` do not accept a `Decimal`.
 */

export interface Decimal {
  readonly units: bigint;
  /** The number of decimal places in `units`, 0 or more. */
  readonly scale: bigint;
}

/**
 * How digits are dropped: `nearest` rounds half away from zero, as PostgreSQL's `round(numeric)` does; `down` rounds
 * towards zero; `up` away from zero.
 */
export type Rounding = 'nearest' | 'down' | 'up';

const shape = /^([+-]?)(\d*)(?:\.(\d*))?$/;

/** Parses a decimal, keeping every digit: "-1250.50". Throws a RangeError when `text` is not a decimal number. */
export function decimal(text: string): Decimal {
  const [, sign, whole = '', fraction = ''] = shape.exec(text) ?? [];
  if (whole + fraction === '') throw new RangeError('This is not a decimal number.');
  const units = BigInt(whole + fraction);
  return { units: sign === '-' ? -units : units, scale: BigInt(fraction.length) };
}

/** Parses a decimal; null when the text is missing. */
export const decimalOrNull = (text: string | null | undefined): Decimal | null =>
  text === null || text === undefined ? null : decimal(text);

/** An integer as a decimal. */
export const whole = (units: bigint): Decimal => ({ units, scale: 0n });

export const zero = whole(0n);
export const one = whole(1n);

/** The units of the same amount with `scale` decimal places, which must not be fewer than it has. */
const unitsAt = (value: Decimal, scale: bigint): bigint =>
  value.scale === scale ? value.units : value.units * 10n ** (scale - value.scale);

const commonScale = (a: Decimal, b: Decimal): bigint => (a.scale > b.scale ? a.scale : b.scale);

/** The exact sum. */
export function add(a: Decimal, b: Decimal): Decimal {
  const scale = commonScale(a, b);
  return { units: unitsAt(a, scale) + unitsAt(b, scale), scale };
}

/** The value with the other sign. */
export const negate = (value: Decimal): Decimal => ({ units: -value.units, scale: value.scale });

/** The exact difference. */
export function subtract(a: Decimal, b: Decimal): Decimal {
  const scale = commonScale(a, b);
  return { units: unitsAt(a, scale) - unitsAt(b, scale), scale };
}

/** The exact sum; 0 for no values. */
export const sum = (values: Iterable<Decimal>): Decimal => {
  let { units, scale } = zero;
  for (const value of values) {
    if (value.scale > scale) {
      units *= 10n ** (value.scale - scale);
      scale = value.scale;
    }
    units += unitsAt(value, scale);
  }
  return { units, scale };
};

/** The exact product. */
export const multiply = (a: Decimal, b: Decimal): Decimal => ({ units: a.units * b.units, scale: a.scale + b.scale });

const magnitude = (units: bigint): bigint => (units < 0n ? -units : units);

/** The quotient of two integers as an integer; the divisor is not 0. */
function quotient(dividend: bigint, divisor: bigint, rounding: Rounding): bigint {
  const [over, under] = [magnitude(dividend), magnitude(divisor)];
  const rest = over % under;
  const further = rounding === 'up' ? rest > 0n : rounding === 'nearest' && rest * 2n >= under;
  const size = over / under + (further ? 1n : 0n);
  return dividend < 0n === divisor < 0n ? size : -size;
}

/** `a` divided by `b`, to `places` decimal places; null when `b` is 0. */
export function divide(a: Decimal, b: Decimal, places: bigint, rounding: Rounding = 'nearest'): Decimal | null {
  if (b.units === 0n) return null;
  const scale = commonScale(a, b);
  return { units: quotient(unitsAt(a, scale) * 10n ** places, unitsAt(b, scale), rounding), scale: places };
}

/** The value rounded to at most `places` decimal places. */
export const round = (value: Decimal, places: bigint, rounding: Rounding = 'nearest'): Decimal =>
  value.scale <= places
    ? value
    : { units: quotient(value.units, 10n ** (value.scale - places), rounding), scale: places };

/** Comparator: -1, 0 or 1 when `a` is less than, equal to or greater than `b`. */
export function compare(a: Decimal, b: Decimal): -1 | 0 | 1 {
  const scale = commonScale(a, b);
  const [first, second] = [unitsAt(a, scale), unitsAt(b, scale)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** Whether two decimals are the same number, whatever their scale. */
export const equals = (a: Decimal, b: Decimal): boolean => compare(a, b) === 0;
/** Whether the value is 0. */
export const isZero = (value: Decimal): boolean => value.units === 0n;
/** Whether the value is below 0. */
export const isNegative = (value: Decimal): boolean => value.units < 0n;
/** Whether the value is above 0. */
export const isPositive = (value: Decimal): boolean => value.units > 0n;
/** The amount without its sign. */
export const absolute = (value: Decimal): Decimal => ({ units: magnitude(value.units), scale: value.scale });

/** The text that every interface uses: all digits, without trailing zeros after the decimal point ("-1250.5"). */
export function written(value: Decimal): string {
  const size = magnitude(value.units);
  const point = 10n ** value.scale;
  const fraction = (point + (size % point)).toString().slice(1).replace(/0+$/, '');
  return `${value.units < 0n ? '-' : ''}${size / point}${fraction === '' ? '' : `.${fraction}`}`;
}

/** As {@link written}; null stays null. */
export const writtenOrNull = (value: Decimal | null): string | null => (value === null ? null : written(value));

/** The number of decimal places of a currency: 2, of yen 0, of dinars 3. */
export const placesOf = (currency: string): number =>
  new Intl.NumberFormat('en-US', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;

/** The text used in sentences: "1,250.50", with at least two decimal places, or none for an integer. */
export function spoken(value: Decimal, places = 2): string {
  const [integer = '', fraction = ''] = written(absolute(value)).split('.');
  const grouped = integer.replace(/\B(?=(\d{3})+$)/g, ',');
  return `${isNegative(value) ? '-' : ''}${grouped}${fraction === '' ? '' : `.${fraction.padEnd(places, '0')}`}`;
}

/**
 * An amount with its currency for sentences, with every digit and as the pages format it: "$1,250.50", "€4,000,000".
 */
export const spokenMoney = (value: Decimal, currency: string): string =>
  new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency,
    trailingZeroDisplay: 'stripIfInteger',
    maximumFractionDigits: 40,
  }).format(written(value) as Intl.StringNumericLiteral);

/** A value with its decimals as strings ({@link writtenOut}). */
export type Written<T> = T extends Decimal
  ? string
  : T extends readonly (infer One)[]
    ? Written<One>[]
    : T extends object
      ? { -readonly [K in keyof T]: Written<T[K]> }
      : T;

const isDecimal = (value: object): value is Decimal => 'units' in value && typeof value.units === 'bigint';

/** A copy of the value with every decimal as a string. */
export function writtenOut<T>(value: T): Written<T> {
  const out = (each: unknown): unknown => {
    if (typeof each !== 'object' || each === null) return each;
    if (Array.isArray(each)) return each.map(out);
    if (isDecimal(each)) return written(each);
    return Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, out(inner)]));
  };
  return out(value) as Written<T>;
}
