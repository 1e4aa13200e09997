import type { CommitmentStatus, FinancingStack } from '../../../api/shapes.ts';
import { Money } from '../../../components/money.tsx';
import { cx } from '../../../lib/cx.ts';
import { sum } from '../../../lib/decimal.ts';
import { toPixels } from '../../../lib/pixels.ts';
import { commitmentStates } from '../../../lib/states.ts';
import { ofSide } from './sides.ts';

/** Colors by status, from certain to uncertain. */
const shades: Partial<Record<CommitmentStatus, string>> = {
  funded: 'bg-good',
  committed: 'bg-accent',
  term_sheet: 'bg-rare',
  applied: 'bg-info',
};

const statuses = (Object.keys(commitmentStates) as CommitmentStatus[]).toReversed();

interface TotalsProps {
  /** Totals of the sources that count: neither expired nor withdrawn. */
  totals: FinancingStack['totals'];
  currency: string;
  /** The side's name; null when it is not shown. */
  side: string | null;
}

/** The total of a side's sources in one currency, divided by status, which tells how certain each part is. */
export function Totals({ totals, currency, side }: TotalsProps) {
  const parts = statuses.flatMap((status) => {
    // Several entries when several people of one side recorded sources.
    const its = totals.filter((one) => one.currency === currency && one.commitment_status === status);
    return its.length === 0
      ? []
      : [{ status, shade: shades[status] ?? 'bg-edge', total: sum(its.map(({ total }) => total)) }];
  });
  if (parts.length === 0) return null;
  const whole = sum(parts.map(({ total }) => total));
  return (
    <section
      aria-label={ofSide(`Sources in ${currency}`, side)}
      className="rounded-xl border border-line bg-surface p-4 shadow-1 sm:p-5"
    >
      <p className="text-sm text-faint">{ofSide('All sources', side)}</p>
      <p className="mt-0.5 text-xl font-semibold text-ink">
        <Money amount={whole} currency={currency} />
      </p>
      <span aria-hidden className="mt-3 flex h-2 gap-px overflow-hidden rounded-full bg-sunken">
        {parts.map(({ status, shade, total }) => (
          <span key={status} className={shade} style={{ width: `${(100 * toPixels(total)) / toPixels(whole)}%` }} />
        ))}
      </span>
      <dl className="mt-4 flex flex-wrap gap-x-8 gap-y-3">
        {parts.map(({ status, shade, total }) => (
          <div key={status}>
            <dt className="flex items-center gap-2 text-sm text-faint">
              <span aria-hidden className={cx('size-2 rounded-full', shade)} />
              {commitmentStates[status].label}
            </dt>
            <dd className="mt-0.5 font-medium text-ink">
              <Money amount={total} currency={currency} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
