import type { Day, Decimal, PlPeriod } from '../../api/shapes.ts';
import { toPixels } from '../../lib/pixels.ts';
import { formatMonth, plural } from '../../lib/format.ts';
import { isMonth, isWithinMonth, lastDayOfMonth } from '../../lib/periods.ts';
import { ChartFrame } from './chart-frame.tsx';
import { amountOf, MoneyGrid, Plot, widthOf } from './plot.tsx';
import { scaleOf } from './scale.ts';
import { Tip } from './tip.tsx';

type Period = Pick<
  PlPeriod,
  'period_label' | 'period_start_date' | 'period_end_date' | 'currency' | 'revenue' | 'ebitda'
>;

/** A period, or a month without figures; with `left_out`, that many months without figures, drawn as one. */
type Place = Omit<Period, 'revenue'> & { revenue: Decimal | null; left_out?: number };

/** A longer run of months without figures is drawn as one. */
const mostMissing = 12;

function monthAfter(day: Day): Day {
  const date = new Date(`${day.slice(0, 7)}-01T00:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + 1);
  return date.toISOString().slice(0, 10);
}

function monthsBetween(before: Day, after: Day): number {
  const [from, to] = [new Date(before), new Date(after)];
  return (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth() - 1;
}

/**
 * Adds the months without figures between the months of `inOrder`, long runs of them as one; periods that are longer
 * than a month are returned unchanged.
 */
function withMissing(inOrder: readonly Period[]): readonly Place[] {
  if (!inOrder.every(isWithinMonth)) return inOrder;
  return inOrder.flatMap((period, at): Place[] => {
    const before = inOrder[at - 1];
    if (!before) return [period];
    const without = { currency: period.currency, revenue: null, ebitda: null };
    const count = monthsBetween(before.period_start_date, period.period_start_date);
    let next = monthAfter(before.period_start_date);
    if (count > mostMissing) {
      const dates = { period_label: '…', period_start_date: next, period_end_date: period.period_start_date };
      return [{ ...dates, ...without, left_out: count }, period];
    }
    const missing: Place[] = [];
    while (missing.length < count) {
      const dates = {
        period_label: next.slice(0, 7),
        period_start_date: next,
        period_end_date: lastDayOfMonth(next),
      };
      missing.push({ ...dates, ...without });
      next = monthAfter(next);
    }
    return [...missing, period];
  });
}

/** "Feb 24 – Aug 25 (19 months)" */
const leftOutOf = ({ period_start_date: first, left_out: count = 0 }: Place): string => {
  const last = new Date(first);
  last.setUTCMonth(last.getUTCMonth() + count - 1);
  return `${formatMonth(first)} – ${formatMonth(last.toISOString().slice(0, 10))} (${plural(count, 'month')})`;
};

interface MonthlyChartProps {
  /** In any order; all in one currency. */
  periods: readonly Period[];
}

const height = 340;
const edge = { top: 10, right: 8, bottom: 26, left: 60 };
const floor = height - edge.bottom;
/** Where the bars of revenue end, and where the axis of EBITDA below them begins, in pixels from the top. */
const revenueFloor = 190;
const earningsTop = 222;

/** Draws revenue as bars and, on a separate axis below, EBITDA as a line, at a width in pixels. */
function drawn(periods: readonly Place[], labels: readonly string[], currency: string, width: number) {
  const revenues = periods.map(({ revenue }) => toPixels(revenue));
  const earnings = periods.map(({ ebitda }) => (ebitda === null ? null : toPixels(ebitda)));
  const money = scaleOf(revenues, revenueFloor, edge.top, 4);
  const earned = scaleOf(
    earnings.filter((value) => value !== null),
    floor,
    earningsTop,
    3,
  );
  const band = (width - edge.left - edge.right) / Math.max(1, periods.length);
  const thick = Math.min(28, band * 0.72);
  const middle = (place: number) => edge.left + (place + 0.5) * band;
  const across = { currency, from: edge.left, to: width - edge.right };
  // Shows every label, or every second, third and so on, so that labels do not overlap.
  const every = Math.ceil((Math.max(0, ...labels.map(widthOf)) + 16) / band);
  const points = earnings.map((value, place) =>
    value === null ? null : { place, x: middle(place), y: earned.at(value) },
  );
  const line = points
    .map((point, place) => point && `${points[place - 1] ? 'L' : 'M'}${point.x.toFixed(1)} ${point.y.toFixed(1)}`)
    .filter(Boolean)
    .join('');
  const dots = periods.length <= 24 || earnings.every((_, place) => !points[place - 1]);
  return {
    zones: periods.map((_, place) => ({
      x: edge.left + place * band,
      y: edge.top,
      width: band,
      height: floor - edge.top,
    })),
    drawing: (
      <>
        <MoneyGrid money={money} {...across} />
        <MoneyGrid money={earned} {...across} />
        {labels.map((label, place) =>
          place % every === 0 ? (
            <text
              key={place}
              x={Math.min(middle(place), width - widthOf(label) / 2)}
              y={height - 6}
              textAnchor="middle"
              fill="var(--faint)"
            >
              {label}
            </text>
          ) : null,
        )}
        {periods.map(
          (period, place) =>
            period.left_out && (
              <line
                key={place}
                x1={middle(place)}
                x2={middle(place)}
                y1={edge.top}
                y2={floor}
                stroke="var(--edge)"
                strokeDasharray="3 4"
              />
            ),
        )}
        {revenues.map((value, place) => (
          <rect
            key={place}
            x={middle(place) - thick / 2}
            y={Math.min(money.at(value), money.at(0))}
            width={thick}
            height={Math.abs(money.at(value) - money.at(0))}
            rx={Math.min(3, thick / 3)}
            fill="var(--chart-1)"
          />
        ))}
        <path d={line} fill="none" stroke="var(--chart-2)" strokeWidth={3} strokeLinecap="round" />
        {points.map(
          (point, place) =>
            // A point between two without figures is not part of a line.
            point &&
            (dots || !(points[place - 1] || points[place + 1])) && (
              <circle
                key={point.place}
                cx={point.x}
                cy={point.y}
                r={Math.min(4, band / 3)}
                fill="var(--chart-2)"
                stroke="var(--surface)"
                strokeWidth={Math.min(2, band / 6)}
              />
            ),
        )}
      </>
    ),
  };
}

/** Revenue as bars and EBITDA as a line on a separate axis, by month, or by the periods given. */
export function MonthlyChart({ periods }: MonthlyChartProps) {
  const title = `Revenue and EBITDA by ${periods.every(isMonth) ? 'month' : 'period'}`;
  const inOrder = withMissing(periods.toSorted((a, b) => a.period_start_date.localeCompare(b.period_start_date)));
  const currency = inOrder[0]?.currency ?? 'USD';
  const leftOut = inOrder.filter((place) => place.left_out).map(leftOutOf);
  const labels = inOrder.map((period) =>
    !period.left_out && isWithinMonth(period) ? formatMonth(period.period_start_date) : period.period_label,
  );
  const tipOf = (place: number) => {
    const period = inOrder[place];
    if (!period) return null;
    return (
      <Tip
        title={period.left_out ? leftOutOf(period) : isMonth(period) ? labels[place] : period.period_label}
        rows={[
          { label: 'Revenue', value: amountOf(period.revenue, currency), color: '--chart-1' },
          { label: 'EBITDA', value: amountOf(period.ebitda, currency), color: '--chart-2' },
        ]}
      />
    );
  };
  return (
    <ChartFrame
      title={title}
      description={leftOut.length > 0 && `The axis skips long stretches without figures: ${leftOut.join(', ')}.`}
      height={height}
      legend={[
        { label: 'Revenue', color: '--chart-1' },
        { label: 'EBITDA', color: '--chart-2', line: true },
      ]}
      columns={[{ header: 'Period' }, { header: 'Revenue', align: 'end' }, { header: 'EBITDA', align: 'end' }]}
      rows={inOrder.map((period) => [
        period.left_out ? leftOutOf(period) : period.period_label,
        amountOf(period.revenue, currency),
        amountOf(period.ebitda, currency),
      ])}
    >
      <Plot label={title} height={height} draw={(width) => drawn(inOrder, labels, currency, width)} tip={tipOf} />
    </ChartFrame>
  );
}
