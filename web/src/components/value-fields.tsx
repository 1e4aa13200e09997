/** Inputs for values that are not just text: money, days and times. */
import { useState, type InputHTMLAttributes } from 'react';
import type { Day, Decimal, Instant } from '../api/shapes.ts';
import { cx } from '../lib/cx.ts';
import { instantOf, localTime } from '../lib/local-time.ts';
import { asUnread, isDecimal, readDecimal, unreadIn } from '../lib/decimal.ts';
import { formatPlaces } from '../lib/format.ts';
import { useControl } from './field.tsx';

type Rest = Omit<InputHTMLAttributes<HTMLInputElement>, 'value' | 'onChange' | 'type' | 'min' | 'max'>;

function symbolOf(currency: string): string {
  const parts = new Intl.NumberFormat(undefined, { style: 'currency', currency, currencyDisplay: 'narrowSymbol' });
  return parts.formatToParts(0).find((part) => part.type === 'currency')?.value ?? currency;
}

/**
 * At most this many characters of an amount can be typed, more than any accepted amount has with separators and a
 * currency.
 */
const longestTyped = 100;

/**
 * Formats an amount with all its decimal places, or none if they are all zeros. An amount that is too long to format,
 * possible in a saved draft, is returned unchanged.
 */
function grouped(amount: Decimal): string {
  if (amount.length > longestTyped) return amount;
  const fraction = amount.split('.')[1] ?? '';
  const places = /[1-9]/.test(fraction) ? fraction.length : 0;
  return formatPlaces(amount, places);
}

interface MoneyFieldProps extends Rest {
  /**
   * A decimal string; '' while empty; while the typed text is not an amount, the value that {@link asUnread} returns,
   * which a form does not submit.
   */
  value: Decimal;
  onChange: (value: Decimal) => void;
  currency: string;
}

/** Input of an amount of money: reads it as the user's language writes amounts and returns a decimal string with every digit. */
export function MoneyField({ value, onChange, currency, className, ...rest }: MoneyFieldProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const read = (text: string) => readDecimal(text) ?? asUnread(text);
  const shown =
    typed !== null && read(typed) === value ? typed : isDecimal(value) ? grouped(value) : (unreadIn(value) ?? value);
  const symbol = symbolOf(currency);
  return (
    <div className="relative">
      <span
        className="pointer-events-none absolute inset-y-0 left-0 grid min-w-9 place-items-center px-3 text-faint"
        aria-hidden
      >
        {symbol}
      </span>
      <input
        {...useControl()}
        {...rest}
        inputMode="decimal"
        autoComplete="off"
        maxLength={longestTyped}
        value={shown}
        onChange={(event) => {
          setTyped(event.target.value);
          onChange(read(event.target.value));
        }}
        onBlur={(event) => {
          setTyped(null);
          rest.onBlur?.(event);
        }}
        className={cx('control tabular', symbol.length > 2 ? 'pl-14' : 'pl-8', className)}
      />
    </div>
  );
}

interface DateFieldProps extends Rest {
  /** '' while empty. */
  value: Day | '';
  onChange: (value: Day | '') => void;
}

/**
 * The last day of the years with four digits: without a maximum, browsers accept years of six digits, which no stored
 * day or time has.
 */
const lastDay = '9999-12-31';

/** Input of a day, with the platform's own picker. */
export function DateField({ value, onChange, className, ...rest }: DateFieldProps) {
  return (
    <input
      {...useControl()}
      {...rest}
      max={lastDay}
      type="date"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className={cx('control tabular', className)}
    />
  );
}

interface TimeFieldProps extends Rest {
  /**
   * '' while empty; while the time is in a year that no timestamp can have, the value that {@link asUnread} returns,
   * which a form does not submit.
   */
  value: Instant | '';
  onChange: (value: Instant | '') => void;
}

/** Input of a day and time in the viewer's time zone; its value is an instant in UTC. */
export function DateTimeField({ value, onChange, className, ...rest }: TimeFieldProps) {
  // What is typed stays as it is until the field is left: on the way to another hour or day it may be a time that the
  // clocks skip.
  const [typed, setTyped] = useState<string | null>(null);
  const read = (text: string) => (text === '' ? '' : (instantOf(new Date(text)) ?? asUnread(text)));
  const shown =
    typed !== null && read(typed) === value
      ? typed
      : value === ''
        ? ''
        : (unreadIn(value) ?? localTime(new Date(value)));
  return (
    <input
      {...useControl()}
      {...rest}
      type="datetime-local"
      value={shown}
      max={`${lastDay}T23:59`}
      onChange={({ target }) => {
        setTyped(target.value);
        onChange(read(target.value));
      }}
      onBlur={(event) => {
        setTyped(null);
        rest.onBlur?.(event);
      }}
      className={cx('control tabular', className)}
    />
  );
}
