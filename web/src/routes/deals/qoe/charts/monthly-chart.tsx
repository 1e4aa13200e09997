import { Bar, CartesianGrid, ComposedChart, Line, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import type { PlPeriod } from '../../../../api/shapes.ts';
import { toPixels } from '../../../../lib/decimal.ts';
import { formatMoney, formatMonth } from '../../../../lib/format.ts';
import { isMonth } from '../periods.ts';
import { ChartFrame } from './chart-frame.tsx';
import { axis, moneyTick, pointOf, Tip, type TipInput } from './shared.tsx';

export interface MonthlyChartProps {
  /** In any order; all in one currency. */
  periods: readonly PlPeriod[];
  title?: string;
}

function amountOf(value: string | null, currency: string): string {
  return value === null ? '–' : formatMoney(value, currency);
}

function MonthTip(input: TipInput) {
  const point = pointOf<{ label: string; period: PlPeriod }>(input);
  if (!point) return null;
  const { label, period } = point;
  const { revenue, ebitda, currency } = period;
  return (
    <Tip
      title={label}
      rows={[
        { label: 'Revenue', value: amountOf(revenue, currency), color: '--chart-1' },
        { label: 'EBITDA', value: amountOf(ebitda, currency), color: '--chart-2' },
      ]}
    />
  );
}

/** Revenue as bars and EBITDA as a line, month by month. */
export default function MonthlyChart({ periods, title = 'Revenue and EBITDA by month' }: MonthlyChartProps) {
  const inOrder = periods.toSorted((a, b) => a.period_start_date.localeCompare(b.period_start_date));
  const currency = inOrder[0]?.currency ?? 'USD';
  const points = inOrder.map((period) => ({
    period,
    label: isMonth(period) ? formatMonth(period.period_start_date) : period.period_label,
    revenue: toPixels(period.revenue),
    ebitda: period.ebitda === null ? null : toPixels(period.ebitda),
  }));
  return (
    <ChartFrame
      title={title}
      height={300}
      legend={[
        { label: 'Revenue', color: '--chart-1' },
        { label: 'EBITDA', color: '--chart-2', line: true },
      ]}
      columns={[{ header: 'Period' }, { header: 'Revenue', align: 'end' }, { header: 'EBITDA', align: 'end' }]}
      rows={inOrder.map((period) => [
        period.period_label,
        amountOf(period.revenue, currency),
        amountOf(period.ebitda, currency),
      ])}
    >
      <ResponsiveContainer width="100%" height="100%">
        <ComposedChart aria-label={title} data={points} margin={{ top: 8, right: 8, bottom: 0, left: 0 }}>
          <CartesianGrid vertical={false} stroke="var(--chart-grid)" />
          <XAxis dataKey="label" {...axis} minTickGap={24} />
          <YAxis {...axis} width={64} tickFormatter={moneyTick(currency)} />
          <Tooltip cursor={{ fill: 'var(--hover)' }} content={<MonthTip />} />
          <Bar
            dataKey="revenue"
            name="Revenue"
            fill="var(--chart-1)"
            radius={[3, 3, 0, 0]}
            maxBarSize={28}
            isAnimationActive={false}
          />
          {/* The line runs over the bars: an edge in the colour of the paper keeps the two apart. */}
          <Line
            dataKey="ebitda"
            stroke="var(--surface)"
            strokeWidth={7}
            strokeLinecap="round"
            dot={false}
            activeDot={false}
            legendType="none"
            tooltipType="none"
            isAnimationActive={false}
          />
          <Line
            dataKey="ebitda"
            name="EBITDA"
            stroke="var(--chart-2)"
            strokeWidth={3}
            strokeLinecap="round"
            dot={
              points.length <= 24 ? { r: 4, fill: 'var(--chart-2)', stroke: 'var(--surface)', strokeWidth: 2 } : false
            }
            activeDot={{ r: 5, fill: 'var(--chart-2)', stroke: 'var(--surface)', strokeWidth: 2 }}
            isAnimationActive={false}
          />
        </ComposedChart>
      </ResponsiveContainer>
    </ChartFrame>
  );
}
