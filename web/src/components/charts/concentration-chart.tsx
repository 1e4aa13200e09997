import type { ReactNode } from 'react';
import type { CustomerConcentration, CustomerRevenue, Decimal } from '../../api/shapes.ts';
import { sum } from '../../lib/decimal.ts';
import { toPixels } from '../../lib/pixels.ts';
import { formatMoney, formatShare } from '../../lib/format.ts';
import { ChartFrame } from './chart-frame.tsx';

type Customer = Pick<CustomerRevenue, 'customer_name' | 'currency' | 'revenue_total' | 'revenue_share'>;

interface ConcentrationChartProps {
  concentration: Pick<CustomerConcentration, 'top_1' | 'top_5' | 'top_10'> & { items: readonly Customer[] };
  title?: string;
  /** A picker for the period, beside the title. */
  actions?: ReactNode;
}

const most = 10;
const row = 32;

const shown = (share: Decimal | null): string => (share === null ? '–' : formatShare(share));
const percent = (share: Decimal | null): string => `${Math.min(100, Math.max(0, 100 * toPixels(share)))}%`;

/** The largest, each with a bar of its share, which goes on in a lighter colour to that of all up to it. */
function Bars({ customers, together }: { customers: readonly Customer[]; together: readonly (Decimal | null)[] }) {
  return (
    <div className="flex h-full flex-col">
      {customers.map((customer, place) => (
        <div key={place} className="flex min-h-0 flex-1 items-center gap-2 text-sm sm:gap-3">
          <span
            className="w-20 shrink-0 truncate text-right text-faint sm:w-[max(10rem,28%)]"
            title={customer.customer_name}
          >
            {customer.customer_name}
          </span>
          <span aria-hidden className="relative h-4.5 min-w-0 flex-1 overflow-hidden rounded-sm bg-sunken">
            <span
              className="absolute inset-y-0 left-0 bg-(--chart-1) opacity-25"
              style={{ width: percent(together[place] ?? null) }}
            />
            <span
              className="absolute inset-y-0 left-0 rounded-r-sm bg-(--chart-1)"
              style={{ width: percent(customer.revenue_share) }}
              title={formatMoney(customer.revenue_total, customer.currency)}
            />
          </span>
          <span className="w-11 shrink-0 text-right text-ink tabular">{shown(customer.revenue_share)}</span>
          <span className="w-11 shrink-0 text-right text-faint tabular">{shown(together[place] ?? null)}</span>
        </div>
      ))}
    </div>
  );
}

/** How much of the revenue hangs on few customers: the shares of the largest 1, 5 and 10, and each of the ten. */
export function ConcentrationChart({
  concentration,
  title = 'Customer concentration',
  actions,
}: ConcentrationChartProps) {
  const { items, top_1, top_5, top_10 } = concentration;
  const largest = items.slice(0, most);
  const together = items.map((_, place) => {
    const named = items.slice(0, place + 1).map(({ revenue_share }) => revenue_share);
    return named.every((share) => share !== null) ? sum(named) : null;
  });
  const shares = [
    { label: 'Largest customer', share: top_1 },
    { label: 'Largest five', share: top_5 },
    { label: 'Largest ten', share: top_10 },
  ];
  return (
    <ChartFrame
      title={title}
      actions={actions}
      height={Math.max(160, largest.length * row + 12)}
      legend={[
        { label: 'Share', color: '--chart-1' },
        { label: 'Together with those above', color: '--chart-1', faint: true },
      ]}
      summary={
        <>
          <dl className="mb-2 grid grid-cols-3 divide-x divide-line rounded-lg border border-line">
            {shares.map(({ label, share }) => (
              <div key={label} className="px-3 py-3 sm:px-4">
                <dt className="text-sm text-faint">{label}</dt>
                <dd className="mt-0.5 text-lg font-semibold whitespace-nowrap tabular sm:text-xl">{shown(share)}</dd>
              </div>
            ))}
          </dl>
          <p className="mb-4 text-sm text-faint">Shares of the revenue of the customers uploaded for this period.</p>
        </>
      }
      columns={[
        { header: 'Customer' },
        { header: 'Revenue', align: 'end' },
        { header: 'Of uploaded customers', align: 'end' },
        { header: 'Together', align: 'end' },
      ]}
      rows={items.map((customer, place) => [
        customer.customer_name,
        formatMoney(customer.revenue_total, customer.currency),
        shown(customer.revenue_share),
        shown(together[place] ?? null),
      ])}
    >
      <Bars customers={largest} together={together} />
    </ChartFrame>
  );
}
