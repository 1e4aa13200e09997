/** Inputs for values that are not just text: money, days and times. */
import { useState, type InputHTMLAttributes } from 'react';
import type { Day, Decimal, Instant } from '../api/shapes.ts';
import { cx } from '../lib/cx.ts';
import { localTime } from '../lib/local-time.ts';
import { asUnread, isDecimal, readDecimal, unreadIn } from '../lib/decimal.ts';
import { useControl } from './field.tsx';

type Rest = Omit<InputHTMLAttributes<HTMLInputElement>, 'value' | 'onChange' | 'type' | 'min' | 'max'>;

function symbolOf(currency: string): string {
  const parts = new Intl.NumberFormat(undefined, { style: 'currency', currency, currencyDisplay: 'narrowSymbol' });
  return parts.formatToParts(0).find((part) => part.type === 'currency')?.value ?? currency;
}

/** The most characters that are taken of an amount, more than any that is accepted has with separators and a currency. */
const longestTyped = 100;

/** With all its places, or none where they are nothing but zeros. What no format can have, as a kept draft may, stays as it is. */
function grouped(amount: Decimal): string {
  if (amount.length > longestTyped) return amount;
  const fraction = amount.split('.')[1] ?? '';
  const places = /[1-9]/.test(fraction) ? fraction.length : 0;
  return new Intl.NumberFormat(undefined, { minimumFractionDigits: places, maximumFractionDigits: places }).format(
    amount as Intl.StringNumericLiteral,
  );
}

interface MoneyFieldProps extends Rest {
  /** A decimal string; '' while empty; while what was typed is no amount, what stands for that, which a form does not send. */
  value: Decimal;
  onChange: (value: Decimal) => void;
  currency: string;
}

/** An amount of money. Takes it as the person's language writes it, gives it as a decimal string with every digit. */
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

/** The last of the years of four digits: without it, fields take one of six, which no day and no time of ours has. */
const lastDay = '9999-12-31';

/** A day, through the platform's own picker. */
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
  /** '' while empty. */
  value: Instant | '';
  onChange: (value: Instant | '') => void;
}

/** A day and time in the viewer's zone, given as an instant in UTC. */
export function DateTimeField({ value, onChange, className, ...rest }: TimeFieldProps) {
  return (
    <input
      {...useControl()}
      {...rest}
      type="datetime-local"
      value={value === '' ? '' : localTime(new Date(value))}
      max={`${lastDay}T23:59`}
      onChange={({ target }) => {
        const at = new Date(target.value);
        if (target.value === '') onChange('');
        // A browser may let a year of more digits be typed all the same.
        else if (!Number.isNaN(at.getTime())) onChange(at.toISOString());
      }}
      className={cx('control tabular', className)}
    />
  );
}
