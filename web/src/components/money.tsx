import type { Decimal } from '../api/shapes.ts';
import { cx } from '../lib/cx.ts';
import { formatMoney } from '../lib/format.ts';

interface MoneyProps {
  /** Null shows a dash. */
  amount: Decimal | null | undefined;
  /** Null when an offer states none: then only a number is shown. */
  currency: string | null | undefined;
  /** "$1.25M", with every digit in the tooltip. */
  short?: boolean;
  /** Without cents, with every digit in the tooltip: for amounts computed to the cent from less exact ones. */
  rounded?: boolean;
  /** With a plus sign if positive: for adjustments. */
  signed?: boolean;
  className?: string;
}

/** At most this many characters fit on one line of a phone; a decimal of a tool can have forty. */
const longest = 26;

/** An amount in its own currency, with every digit, in tabular figures. */
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
