import type { ReactNode } from 'react';
import {
  Bar,
  BarChart,
  CartesianGrid,
  Cell,
  LabelList,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts';
import type { Decimal, EbitdaBridge } from '../../../../api/shapes.ts';
import { sum, toPixels } from '../../../../lib/decimal.ts';
import { formatMoney } from '../../../../lib/format.ts';
import { adjustmentCategories } from '../../../../lib/states.ts';
import { useMedia } from '../../../../lib/use-media.ts';
import { ChartFrame } from './chart-frame.tsx';
import { axis, moneyTick, pointOf, Tip, type TipInput } from './shared.tsx';

export interface BridgeChartProps {
  bridge: EbitdaBridge;
  title?: string;
  /** A picker for the period, beside the title. */
  actions?: ReactNode;
}

interface Step {
  label: string;
  amount: Decimal;
  span: [from: number, to: number];
  color: string;
  signed: boolean;
}

function stepsOf({ reported_ebitda: reported, adjusted_ebitda: adjusted, adjustments }: EbitdaBridge): Step[] {
  const total = (label: string, amount: Decimal): Step => {
    return { label, amount, span: [0, toPixels(amount)], color: '--chart-total', signed: false };
  };
  const between = adjustments.map(({ category, amount }, index): Step => {
    const from = sum([reported, ...adjustments.slice(0, index).map((earlier) => earlier.amount)]);
    return {
      label: adjustmentCategories[category],
      amount,
      span: [toPixels(from), toPixels(sum([from, amount]))],
      color: amount.startsWith('-') ? '--chart-down' : '--chart-up',
      signed: true,
    };
  });
  return [total('Reported', reported), ...between, total('Adjusted', adjusted)];
}

function StepTip({ currency = 'USD', ...input }: TipInput & { currency?: string }) {
  const step = pointOf<Step>(input);
  if (!step) return null;
  const value = formatMoney(step.amount, currency, { signed: step.signed });
  return <Tip title={step.label} rows={[{ label: 'Amount', value, color: step.color }]} />;
}

/** From reported to adjusted EBITDA: each kind of add-back as a step up or down between the two. */
export default function BridgeChart({ bridge, title = 'From reported to adjusted EBITDA', actions }: BridgeChartProps) {
  const { currency } = bridge;
  const bars = stepsOf(bridge).map((step) => ({
    ...step,
    said: formatMoney(step.amount, currency, { short: true, signed: step.signed }),
  }));
  const narrow = useMedia('(width < 40rem)');
  return (
    <ChartFrame
      title={title}
      height={300}
      actions={actions}
      legend={[
        { label: 'Added', color: '--chart-up' },
        { label: 'Removed', color: '--chart-down' },
      ]}
      columns={[{ header: 'Step' }, { header: 'Amount', align: 'end' }]}
      rows={bars.map((bar) => [bar.label, formatMoney(bar.amount, currency, { signed: bar.signed })])}
    >
      <ResponsiveContainer width="100%" height="100%">
        <BarChart
          aria-label={title}
          data={bars}
          layout={narrow ? 'vertical' : 'horizontal'}
          margin={narrow ? { top: 0, right: 48, bottom: 0, left: 0 } : { top: 22, right: 8, bottom: 0, left: 0 }}
        >
          <CartesianGrid vertical={narrow} horizontal={!narrow} stroke="var(--chart-grid)" />
          {narrow ? (
            <>
              <YAxis type="category" dataKey="label" {...axis} width={96} interval={0} />
              <XAxis type="number" {...axis} tickFormatter={moneyTick(currency)} minTickGap={24} />
              <ReferenceLine x={0} stroke="var(--edge)" />
            </>
          ) : (
            <>
              <XAxis dataKey="label" {...axis} interval={0} />
              <YAxis {...axis} width={64} tickFormatter={moneyTick(currency)} />
              <ReferenceLine y={0} stroke="var(--edge)" />
            </>
          )}
          <Tooltip cursor={{ fill: 'var(--hover)' }} content={<StepTip currency={currency} />} />
          <Bar dataKey="span" maxBarSize={narrow ? 22 : 64} radius={3} isAnimationActive={false}>
            {bars.map((bar) => (
              <Cell key={bar.label} fill={`var(${bar.color})`} />
            ))}
            <LabelList dataKey="said" position={narrow ? 'right' : 'top'} fill="var(--soft)" fontSize={12} />
          </Bar>
        </BarChart>
      </ResponsiveContainer>
    </ChartFrame>
  );
}
