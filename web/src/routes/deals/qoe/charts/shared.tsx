import type { ReactNode } from 'react';
import type { TooltipContentProps } from 'recharts';
import { formatMoney } from '../../../../lib/format.ts';

/** How axes look in every chart: quiet labels, no lines of their own. */
export const axis = {
  tickLine: false,
  axisLine: false,
  tick: { fill: 'var(--faint)', fontSize: 12 },
} as const;

/** The label of a money axis: "$1.2M". Ticks are positions that the chart chose, not amounts of ours. */
export function moneyTick(currency: string): (value: number) => string {
  return (value) => formatMoney(String(value), currency, { short: true });
}

/** What the chart hands to the content of its tooltip; the rest is our own. */
export type TipInput = Partial<Pick<TooltipContentProps, 'payload'>>;

/** The point of the data that is looked at. */
export function pointOf<Point>({ payload }: TipInput): Point | null {
  return (payload?.[0]?.payload as Point | undefined) ?? null;
}

interface TipProps {
  title: ReactNode;
  rows: readonly { label: string; value: ReactNode; color?: string }[];
}

/** What appears beside the point that is looked at, with exact amounts. */
export function Tip({ title, rows }: TipProps) {
  return (
    <div role="status" className="rounded-lg border border-line bg-surface px-3 py-2 text-sm shadow-2">
      <p className="mb-1 font-medium text-ink">{title}</p>
      {rows.map(({ label, value, color }) => (
        <p key={label} className="flex items-center justify-between gap-5 text-soft">
          <span className="inline-flex items-center gap-1.5">
            {color && <span style={{ background: `var(${color})` }} className="size-2 rounded-full" />}
            {label}
          </span>
          <span className="text-ink tabular">{value}</span>
        </p>
      ))}
    </div>
  );
}
