import type { ReactNode } from 'react';
import type { Decimal } from '../../api/shapes.ts';
import { toPixels } from '../../lib/pixels.ts';
import { formatMoney, formatShare } from '../../lib/format.ts';
import { ChartFrame } from './chart-frame.tsx';

/**
 * A customer with its share of the uploaded customers' revenue, and of all revenue if known; each share also cumulated
 * with those before it.
 */
export interface Customer {
  customer_name: string;
  currency: string;
  revenue_total: Decimal;
  revenue_share: Decimal | null;
  cumulative_share: Decimal | null;
  share_of_revenue?: Decimal | null;
  cumulative_share_of_revenue?: Decimal | null;
}

interface ConcentrationChartProps {
  /** Largest first. */
  items: readonly Customer[];
  /** The joint share of the largest `count` customers. */
  largest: readonly { count: number; share: Decimal | null; share_of_revenue?: Decimal | null }[];
  /** Sentences about the total that the shares refer to. */
  about?: ReactNode;
  /** For instance a picker for the period, beside the title. */
  actions?: ReactNode;
}

const most = 10;
const row = 32;

const shown = (share: Decimal | null): string => (share === null ? '–' : formatShare(share));
const percent = (share: Decimal | null): string => `${Math.min(100, Math.max(0, 100 * toPixels(share)))}%`;

/** The largest customers, each with a bar of its share, continued in a lighter colour to its cumulative share. */
function Bars({ customers }: { customers: readonly Customer[] }) {
  return (
    <div className="flex h-full flex-col">
      {customers.map((customer, place) => (
        <div key={place} className="flex min-h-0 flex-1 items-center gap-2 text-sm sm:gap-3">
          <span
            className="line-clamp-2 w-24 shrink-0 text-right text-xs leading-tight wrap-anywhere text-faint sm:block sm:w-[max(10rem,28%)] sm:truncate sm:text-sm"
            title={customer.customer_name}
          >
            {customer.customer_name}
          </span>
          <span aria-hidden className="relative h-4.5 min-w-0 flex-1 overflow-hidden rounded-sm bg-sunken">
            <span
              className="absolute inset-y-0 left-0 bg-(--chart-1) opacity-25"
              style={{ width: percent(customer.cumulative_share) }}
            />
            <span
              className="absolute inset-y-0 left-0 rounded-r-sm bg-(--chart-1)"
              style={{ width: percent(customer.revenue_share) }}
              title={formatMoney(customer.revenue_total, customer.currency)}
            />
          </span>
          <span className="w-12 shrink-0 text-right whitespace-nowrap text-ink tabular">
            {shown(customer.revenue_share)}
          </span>
          <span className="w-12 shrink-0 text-right whitespace-nowrap text-faint tabular">
            {shown(customer.cumulative_share)}
          </span>
        </div>
      ))}
    </div>
  );
}

const named: Readonly<Record<number, string>> = { 1: 'Largest customer', 5: 'Largest five', 10: 'Largest ten' };

/** How much of the revenue depends on few customers: the shares of the largest 1, 5 and 10, and of each of the ten. */
export function ConcentrationChart({ items, largest, about, actions }: ConcentrationChartProps) {
  const drawn = items.slice(0, most);
  const ofRevenue = items.some(({ share_of_revenue: share = null }) => share !== null);
  return (
    <ChartFrame
      title="Customer concentration"
      actions={actions}
      height={Math.max(160, drawn.length * row + 12)}
      legend={[
        { label: 'Share', color: '--chart-1' },
        { label: 'Cumulative share', color: '--chart-1', faint: true },
      ]}
      summary={
        <>
          <dl className="mb-2 grid grid-cols-3 divide-x divide-line rounded-lg border border-line">
            {largest.map(({ count, share, share_of_revenue: all = null }) => (
              <div key={count} className="px-3 py-3 sm:px-4">
                <dt className="text-sm text-faint">{named[count]}</dt>
                <dd className="mt-0.5 text-lg font-semibold whitespace-nowrap tabular sm:text-xl">{shown(share)}</dd>
                {all !== null && <dd className="text-sm text-faint tabular">{shown(all)} of all revenue</dd>}
              </div>
            ))}
          </dl>
          <p className="mb-4 text-sm text-faint">
            Shares are of the revenue from the customers uploaded for this period. {about}
          </p>
        </>
      }
      columns={[
        { header: 'Customer' },
        { header: 'Revenue', align: 'end' },
        { header: 'Of uploaded customers', align: 'end' },
        { header: 'Cumulative', align: 'end' },
        ...(ofRevenue
          ? ([
              { header: 'Of all revenue', align: 'end' },
              { header: 'Cumulative, of all revenue', align: 'end' },
            ] as const)
          : []),
      ]}
      rows={items.map((customer) => [
        customer.customer_name,
        formatMoney(customer.revenue_total, customer.currency),
        shown(customer.revenue_share),
        shown(customer.cumulative_share),
        ...(ofRevenue
          ? [shown(customer.share_of_revenue ?? null), shown(customer.cumulative_share_of_revenue ?? null)]
          : []),
      ])}
    >
      <Bars customers={drawn} />
    </ChartFrame>
  );
}
