import type { ReactNode } from 'react';
import { Bar, BarChart, LabelList, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import type { CustomerConcentration, CustomerRevenue, Decimal } from '../../../../api/shapes.ts';
import { toPixels } from '../../../../lib/decimal.ts';
import { formatMoney, formatShare } from '../../../../lib/format.ts';
import { ChartFrame } from './chart-frame.tsx';
import { axis, pointOf, Tip, type TipInput } from './shared.tsx';

export interface ConcentrationChartProps {
  concentration: CustomerConcentration;
  title?: string;
  /** A picker for the period, beside the title. */
  actions?: ReactNode;
}

const drawn = 10;

const shown = (share: Decimal | null): string => (share === null ? '–' : formatShare(share));

function CustomerTip(input: TipInput) {
  const customer = pointOf<{ customer: CustomerRevenue }>(input)?.customer;
  if (!customer) return null;
  return (
    <Tip
      title={customer.customer_name}
      rows={[
        { label: 'Revenue', value: formatMoney(customer.revenue_total, customer.currency) },
        { label: 'Of uploaded customers', value: shown(customer.revenue_share) },
      ]}
    />
  );
}

/** How much of the revenue hangs on few customers: the shares of the largest 1, 5 and 10, and each of the ten. */
export default function ConcentrationChart({
  concentration,
  title = 'Customer concentration',
  actions,
}: ConcentrationChartProps) {
  const { items, top_1, top_5, top_10 } = concentration;
  const largest = items.slice(0, drawn).map((customer) => ({ customer, share: toPixels(customer.revenue_share) }));
  const shares = [
    { label: 'Largest customer', share: top_1 },
    { label: 'Largest five', share: top_5 },
    { label: 'Largest ten', share: top_10 },
  ];
  return (
    <ChartFrame
      title={title}
      actions={actions}
      height={Math.max(160, largest.length * 32 + 12)}
      summary={
        <>
          <dl className="mb-2 grid grid-cols-3 divide-x divide-line rounded-lg border border-line">
            {shares.map(({ label, share }) => (
              <div key={label} className="px-3 py-3 sm:px-4">
                <dt className="text-sm text-faint">{label}</dt>
                <dd className="mt-0.5 text-xl font-semibold tabular">{shown(share)}</dd>
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
      ]}
      rows={items.map((customer) => [
        customer.customer_name,
        formatMoney(customer.revenue_total, customer.currency),
        shown(customer.revenue_share),
      ])}
    >
      <ResponsiveContainer width="100%" height="100%">
        <BarChart
          aria-label={title}
          data={largest}
          layout="vertical"
          margin={{ top: 0, right: 52, bottom: 0, left: 0 }}
        >
          <XAxis type="number" hide domain={[0, 'dataMax']} />
          <YAxis type="category" dataKey="customer.customer_name" {...axis} width={132} interval={0} />
          <Tooltip cursor={{ fill: 'var(--hover)' }} content={<CustomerTip />} />
          <Bar dataKey="share" fill="var(--chart-1)" radius={[0, 3, 3, 0]} maxBarSize={18} isAnimationActive={false}>
            <LabelList
              dataKey="customer.revenue_share"
              position="right"
              fill="var(--soft)"
              fontSize={12}
              formatter={(share) => formatShare(String(share))}
            />
          </Bar>
        </BarChart>
      </ResponsiveContainer>
    </ChartFrame>
  );
}
