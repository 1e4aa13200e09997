/** What the drawings have in common: they fill the width that there is, and each point can be looked at, also by keyboard. */
import { useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import type { Decimal } from '../../api/shapes.ts';
import { formatMoney } from '../../lib/format.ts';
import type { Scale } from './scale.ts';

/** Where a point is, as far as pointing there means it. */
interface Zone {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface PlotProps {
  /** What it shows, for screen readers. */
  label: string;
  height: number;
  /** The drawing at a width in pixels, as elements of SVG, and the zones of its points in their order. */
  draw: (width: number) => { zones: readonly Zone[]; drawing: ReactNode };
  /** What is said of the point that is looked at. */
  tip: (point: number) => ReactNode;
}

/** A drawing below this width is laid out for a phone. */
export const narrow = 480;

const gap = 8;

/** Beside a zone as tall as the drawing, else below or above; never beyond its edges. */
function placeOf({ x, y, width, height }: Zone, all: { width: number; height: number }) {
  const middle = x + width / 2;
  if (height > all.height / 2 && all.width >= narrow) {
    return middle < all.width / 2 ? { top: gap, left: x + width + gap } : { top: gap, right: all.width - x + gap };
  }
  const across = { left: middle, transform: `translateX(${(-100 * middle) / all.width}%)` };
  if (height > all.height / 2) return { top: 0, ...across };
  return y + height / 2 < all.height / 2 ? { top: y + height, ...across } : { bottom: all.height - y, ...across };
}

/** Where the arrow keys lead from a point; null leaves the points, undefined is another key's. */
function moved(key: string, from: number, count: number): number | null | undefined {
  if (key === 'ArrowRight' || key === 'ArrowDown') return Math.min(from + 1, count - 1);
  if (key === 'ArrowLeft' || key === 'ArrowUp') return Math.max(from - 1, 0);
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  return key === 'Escape' ? null : undefined;
}

/** A drawing whose points are looked at by pointing at them, or with the arrow keys. */
export function Plot({ label, height, draw, tip }: PlotProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [point, setPoint] = useState<number | null>(null);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const { zones, drawing } = width > 0 ? draw(width) : { zones: [], drawing: null };
  const zone = point === null ? undefined : zones[point];
  const onKeyDown = (event: KeyboardEvent) => {
    const next = moved(event.key, point ?? -1, zones.length);
    if (next === undefined || zones.length === 0) return;
    event.preventDefault();
    setPoint(next);
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      ref={frame}
      role="application"
      aria-roledescription="chart"
      aria-label={label}
      // Its points are reached with the arrow keys.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      className="relative"
      style={{ height }}
      onKeyDown={onKeyDown}
      onFocus={() => setPoint((looked) => looked ?? 0)}
      onBlur={() => setPoint(null)}
      onPointerLeave={() => setPoint(null)}
    >
      {width > 0 && (
        // What has become narrower is drawn anew a moment later: until then nothing stands out.
        <svg aria-hidden width={width} height={height} className="absolute inset-0 block max-w-full" fontSize={12}>
          {zone && <rect {...zone} fill="var(--hover)" />}
          {drawing}
          {zones.map((each, place) => (
            <rect key={place} {...each} fill="transparent" onPointerEnter={() => setPoint(place)} />
          ))}
        </svg>
      )}
      {/* Always there: screen readers say what changes in it. */}
      <div role="status">
        {zone && point !== null && (
          <div className="pointer-events-none absolute z-10 w-max max-w-full" style={placeOf(zone, { width, height })}>
            {tip(point)}
          </div>
        )}
      </div>
    </div>
  );
}

/** The label of a tick on a money axis: "$1.2M". Ticks are positions that the chart chose, not amounts of ours. */
export const moneyTick = (value: number, currency: string): string =>
  formatMoney(String(value), currency, { short: true });

interface MoneyGridProps {
  money: Scale;
  currency: string;
  /** The pixels at which the lines begin and end. */
  from: number;
  to: number;
}

/** A line across the drawing for each tick of an upright axis of money, with its amount to the left. */
export function MoneyGrid({ money, currency, from, to }: MoneyGridProps) {
  return money.ticks.map((tick) => (
    <g key={tick}>
      <line
        x1={from}
        x2={to}
        y1={money.at(tick)}
        y2={money.at(tick)}
        stroke={tick === 0 ? 'var(--edge)' : 'var(--chart-grid)'}
      />
      <text x={from - 8} y={money.at(tick) + 4} textAnchor="end" fill="var(--faint)">
        {moneyTick(tick, currency)}
      </text>
    </g>
  ));
}

/** The width of a text of axis labels, roughly. */
export const widthOf = (text: string): number => text.length * 6.8;

/** An amount in full; a dash where there is none. */
export const amountOf = (value: Decimal | null, currency: string): string =>
  value === null ? '–' : formatMoney(value, currency);
