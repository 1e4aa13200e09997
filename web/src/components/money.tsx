import type { Decimal } from '../api/shapes.ts';
import { cx } from '../lib/cx.ts';
import { formatMoney } from '../lib/format.ts';

interface MoneyProps {
  /** Null shows a dash. */
  amount: Decimal | null | undefined;
  /** Null where an offer names none: then a number alone is shown. */
  currency: string | null | undefined;
  /** "$1.25M", with every digit when pointed at. */
  short?: boolean;
  /** Without cents, with every digit when pointed at: for what is computed to the cent and is no more exact than its basis. */
  rounded?: boolean;
  /** With a plus where it is positive: for adjustments. */
  signed?: boolean;
  className?: string;
}

/** The most characters that fit on one line of a phone; a decimal of a tool can have forty. */
const longest = 26;

/** An amount in its own currency, every digit of it, in figures of one width. */
export function Money({ amount, currency, short = false, rounded = false, signed = false, className }: MoneyProps) {
  if (amount === null || amount === undefined) {
    return (
      <span className={cx('text-faint', className)}>
        <span aria-hidden>–</span>
        <span className="sr-only">none</span>
      </span>
    );
  }
  const text = formatMoney(amount, currency, { short, rounded, signed });
  return (
    <data
      value={amount}
      title={short || rounded ? formatMoney(amount, currency) : undefined}
      className={cx('tabular', text.length > longest ? 'min-w-0 break-all' : 'whitespace-nowrap', className)}
    >
      {text}
    </data>
  );
}
