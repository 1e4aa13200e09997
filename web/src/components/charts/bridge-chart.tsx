import type { ReactNode } from 'react';
import type { Decimal, EbitdaBridge } from '../../api/shapes.ts';
import { sum } from '../../lib/decimal.ts';
import { toPixels } from '../../lib/pixels.ts';
import { formatDates, formatMoney } from '../../lib/format.ts';
import { adjustmentCategories } from '../../lib/states.ts';
import { ChartFrame } from './chart-frame.tsx';
import { MoneyGrid, moneyTick, narrow, Plot, widthOf } from './plot.tsx';
import { scaleOf } from './scale.ts';
import { Tip } from './tip.tsx';

interface BridgeChartProps {
  bridge: Pick<EbitdaBridge, 'first' | 'last' | 'currency' | 'reported_ebitda' | 'adjustments' | 'adjusted_ebitda'>;
  title?: string;
  /** For instance a picker for the period, beside the title. */
  actions?: ReactNode;
}

interface Step {
  label: string;
  amount: Decimal;
  /** The abbreviated amount at the bar. */
  said: string;
  span: [from: number, to: number];
  color: string;
  signed: boolean;
}

function stepsOf({ currency, reported_ebitda, adjusted_ebitda, adjustments }: BridgeChartProps['bridge']): Step[] {
  const step = (label: string, amount: Decimal, span: Step['span'], color: string, signed: boolean): Step => {
    return { label, amount, said: formatMoney(amount, currency, { short: true, signed }), span, color, signed };
  };
  const total = (label: string, amount: Decimal) => step(label, amount, [0, toPixels(amount)], '--chart-total', false);
  const between = adjustments.map(({ category, amount }, index) => {
    const from = sum([reported_ebitda, ...adjustments.slice(0, index).map((earlier) => earlier.amount)]);
    const span: Step['span'] = [toPixels(from), toPixels(sum([from, amount]))];
    const color = amount.startsWith('-') ? '--chart-down' : '--chart-up';
    return step(adjustmentCategories[category], amount, span, color, true);
  });
  return [total('Reported', reported_ebitda), ...between, total('Adjusted', adjusted_ebitda)];
}

const height = 300;
const spansOf = (steps: readonly Step[]): number[] => steps.flatMap(({ span }) => span);

/** Breaks a label at spaces into lines that are at most `room` pixels wide, unless a single word is wider. */
function linesOf(label: string, room: number): string[] {
  const lines: string[] = [];
  for (const word of label.split(' ')) {
    const longer = lines.length > 0 ? `${lines.at(-1)} ${word}` : word;
    if (lines.length === 0 || widthOf(longer) > room) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

/** Draws vertical bars, from left to right. */
function vertical(steps: readonly Step[], currency: string, width: number) {
  const edge = { top: 24, bottom: 40, left: 60, right: 8 };
  const money = scaleOf(spansOf(steps), height - edge.bottom, edge.top);
  const band = (width - edge.left - edge.right) / steps.length;
  const thick = Math.min(64, band * 0.72);
  const middle = (place: number) => edge.left + (place + 0.5) * band;
  return {
    zones: steps.map((_, place) => ({ x: edge.left + place * band, y: 0, width: band, height: height - edge.bottom })),
    drawing: (
      <>
        <MoneyGrid money={money} currency={currency} from={edge.left} to={width - edge.right} />
        {steps.map(({ label, said, span: [from, to], color }, place) => {
          const top = Math.min(money.at(from), money.at(to));
          return (
            <g key={label}>
              <rect
                x={middle(place) - thick / 2}
                y={top}
                width={thick}
                height={Math.max(1, Math.abs(money.at(from) - money.at(to)))}
                rx={3}
                fill={`var(${color})`}
              />
              <text x={middle(place)} y={top - 7} textAnchor="middle" fill="var(--soft)">
                {said}
              </text>
              {linesOf(label, band - 6).map((line, row) => (
                <text
                  key={line}
                  x={middle(place)}
                  y={height - edge.bottom + 16 + 15 * row}
                  textAnchor="middle"
                  fill="var(--faint)"
                >
                  {line}
                </text>
              ))}
            </g>
          );
        })}
      </>
    ),
  };
}

/** Draws horizontal bars, from top to bottom, for phones. */
function horizontal(steps: readonly Step[], currency: string, width: number) {
  const edge = { bottom: 26, left: 92, right: 56 };
  const money = scaleOf(spansOf(steps), edge.left, width - edge.right, 2);
  const band = (height - edge.bottom) / steps.length;
  const thick = Math.min(22, band * 0.6);
  const middle = (place: number) => (place + 0.5) * band;
  return {
    zones: steps.map((_, place) => ({ x: 0, y: place * band, width, height: band })),
    drawing: (
      <>
        {money.ticks.map((tick) => (
          <g key={tick}>
            <line
              x1={money.at(tick)}
              x2={money.at(tick)}
              y1={0}
              y2={height - edge.bottom}
              stroke={tick === 0 ? 'var(--edge)' : 'var(--chart-grid)'}
            />
            <text x={money.at(tick)} y={height - 6} textAnchor="middle" fill="var(--faint)">
              {moneyTick(tick, currency)}
            </text>
          </g>
        ))}
        {steps.map(({ label, said, span: [from, to], color }, place) => {
          const [left, right] = [Math.min(money.at(from), money.at(to)), Math.max(money.at(from), money.at(to))];
          const lines = linesOf(label, edge.left - 8);
          return (
            <g key={label}>
              <rect
                x={left}
                y={middle(place) - thick / 2}
                width={Math.max(1, right - left)}
                height={thick}
                rx={3}
                fill={`var(${color})`}
              />
              <text x={right + 6} y={middle(place) + 4} fill="var(--soft)">
                {said}
              </text>
              {lines.map((line, row) => (
                <text
                  key={line}
                  x={edge.left - 8}
                  y={middle(place) + 4 + 14 * (row - (lines.length - 1) / 2)}
                  textAnchor="end"
                  fill="var(--faint)"
                >
                  {line}
                </text>
              ))}
            </g>
          );
        })}
      </>
    ),
  };
}

/** From reported to adjusted EBITDA: each category of add-back as a step up or down between the two. */
export function BridgeChart({ bridge, title = 'From reported to adjusted EBITDA', actions }: BridgeChartProps) {
  const { first, last, currency } = bridge;
  const steps = stepsOf(bridge);
  const inFull = ({ amount, signed }: Step) => formatMoney(amount, currency, { signed });
  const tipOf = (place: number) => {
    const step = steps[place];
    return step && <Tip title={step.label} rows={[{ label: 'Amount', value: inFull(step), color: step.color }]} />;
  };
  return (
    <ChartFrame
      title={title}
      description={first && last && formatDates({ first, last })}
      height={height}
      actions={actions}
      legend={[
        { label: 'Added', color: '--chart-up' },
        { label: 'Removed', color: '--chart-down' },
      ]}
      columns={[{ header: 'Step' }, { header: 'Amount', align: 'end' }]}
      rows={steps.map((step) => [step.label, inFull(step)])}
    >
      <Plot
        label={title}
        height={height}
        draw={(width) => (width < narrow ? horizontal : vertical)(steps, currency, width)}
        tip={tipOf}
      />
    </ChartFrame>
  );
}
