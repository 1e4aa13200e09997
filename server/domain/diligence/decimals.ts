/**
 * Exact decimals: an integer and how many of its digits stand behind the point, both of any length. Money and shares are
 * computed with these alone, so that no amount passes through a float; the operators `+ - * /` do not take them.
 */

export interface Decimal {
  readonly units: bigint;
  /** How many digits of `units` stand behind the point, 0 or more. */
  readonly scale: bigint;
}

/**
 * What becomes of digits that are given up: `nearest`, a half away from zero, as PostgreSQL's `round(numeric)` does;
 * `down` towards zero; `up` away from zero.
 */
export type Rounding = 'nearest' | 'down' | 'up';

const shape = /^([+-]?)(\d*)(?:\.(\d*))?$/;

/** The decimal that `text` writes, digit for digit: "-1250.50". Throws a RangeError on what is none. */
export function decimal(text: string): Decimal {
  const [, sign, whole = '', fraction = ''] = shape.exec(text) ?? [];
  if (whole + fraction === '') throw new RangeError('This is not a decimal number.');
  const units = BigInt(whole + fraction);
  return { units: sign === '-' ? -units : units, scale: BigInt(fraction.length) };
}

/** The decimal of what may be missing. */
export const decimalOrNull = (text: string | null | undefined): Decimal | null =>
  text === null || text === undefined ? null : decimal(text);

/** A whole number. */
export const whole = (units: bigint): Decimal => ({ units, scale: 0n });

export const zero = whole(0n);
export const one = whole(1n);

/** The same amount with at least `scale` digits behind the point, as units of them. */
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

/** All of them together; 0 of none. */
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

/** The product, with every digit. */
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

/** `a` divided by `b` to `places` digits behind the point; null when `b` is 0. */
export function divide(a: Decimal, b: Decimal, places: bigint, rounding: Rounding = 'nearest'): Decimal | null {
  if (b.units === 0n) return null;
  const scale = commonScale(a, b);
  return { units: quotient(unitsAt(a, scale) * 10n ** places, unitsAt(b, scale), rounding), scale: places };
}

/** The value with at most `places` digits behind the point. */
export const round = (value: Decimal, places: bigint, rounding: Rounding = 'nearest'): Decimal =>
  value.scale <= places
    ? value
    : { units: quotient(value.units, 10n ** (value.scale - places), rounding), scale: places };

/** -1, 0 or 1 as `a` is less than, equal to or greater than `b`: for sorting, too. */
export function compare(a: Decimal, b: Decimal): -1 | 0 | 1 {
  const scale = commonScale(a, b);
  const [first, second] = [unitsAt(a, scale), unitsAt(b, scale)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** Whether two decimals are the same number, whatever their scale. */
export const equals = (a: Decimal, b: Decimal): boolean => compare(a, b) === 0;
/** Whether it is 0. */
export const isZero = (value: Decimal): boolean => value.units === 0n;
/** Whether it is below 0. */
export const isNegative = (value: Decimal): boolean => value.units < 0n;
/** Whether it is above 0. */
export const isPositive = (value: Decimal): boolean => value.units > 0n;
/** The amount without its sign. */
export const absolute = (value: Decimal): Decimal => ({ units: magnitude(value.units), scale: value.scale });

/** As every interface writes it: all digits, but no zeros at the end behind the point ("-1250.5"). */
export function written(value: Decimal): string {
  const size = magnitude(value.units);
  const point = 10n ** value.scale;
  const fraction = (point + (size % point)).toString().slice(1).replace(/0+$/, '');
  return `${value.units < 0n ? '-' : ''}${size / point}${fraction === '' ? '' : `.${fraction}`}`;
}

/** As {@link written}; null stays null. */
export const writtenOrNull = (value: Decimal | null): string | null => (value === null ? null : written(value));

/** As a sentence says it: "1,250.50", with two digits behind the point or all where there are more, none where it is whole. */
export function spoken(value: Decimal): string {
  const [integer = '', fraction = ''] = written(absolute(value)).split('.');
  const grouped = integer.replace(/\B(?=(\d{3})+$)/g, ',');
  return `${isNegative(value) ? '-' : ''}${grouped}${fraction === '' ? '' : `.${fraction.padEnd(2, '0')}`}`;
}

/** An amount as a sentence says it, in its currency and with every digit, as the pages write it: "$1,250.50", "€4,000,000". */
export const spokenMoney = (value: Decimal, currency: string): string =>
  new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency,
    trailingZeroDisplay: 'stripIfInteger',
    minimumFractionDigits: 2,
    maximumFractionDigits: 40,
  }).format(written(value) as Intl.StringNumericLiteral);

/** A value with its decimals as strings. */
export type Written<T> = T extends Decimal
  ? string
  : T extends readonly (infer One)[]
    ? Written<One>[]
    : T extends object
      ? { -readonly [K in keyof T]: Written<T[K]> }
      : T;

const isDecimal = (value: object): value is Decimal => 'units' in value && typeof value.units === 'bigint';

/** The same with every decimal written out. */
export function writtenOut<T>(value: T): Written<T> {
  const out = (each: unknown): unknown => {
    if (typeof each !== 'object' || each === null) return each;
    if (Array.isArray(each)) return each.map(out);
    if (isDecimal(each)) return written(each);
    return Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, out(inner)]));
  };
  return out(value) as Written<T>;
}
