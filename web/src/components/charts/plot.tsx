/** The frame shared by the charts: they fill the available width, and each point can be inspected, also by keyboard. */
import { useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import type { Decimal } from '../../api/shapes.ts';
import { formatMoney } from '../../lib/format.ts';
import type { Scale } from './scale.ts';

/** The area in which the pointer selects a point. */
interface Zone {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface PlotProps {
  /** What the chart shows, for screen readers. */
  label: string;
  height: number;
  /** Draws the chart at a width in pixels: its SVG elements, and the zones of its points in order. */
  draw: (width: number) => { zones: readonly Zone[]; drawing: ReactNode };
  /** Renders the tooltip of the selected point. */
  tip: (point: number) => ReactNode;
}

/** A chart below this width in pixels uses the phone layout. */
export const narrow = 480;

const gap = 8;

/**
 * Places the tooltip beside a zone as tall as the chart, otherwise below or above it; never beyond the chart's edges.
 */
function placeOf({ x, y, width, height }: Zone, all: { width: number; height: number }) {
  const middle = x + width / 2;
  if (height > all.height / 2 && all.width >= narrow) {
    return middle < all.width / 2 ? { top: gap, left: x + width + gap } : { top: gap, right: all.width - x + gap };
  }
  const across = { left: middle, transform: `translateX(${(-100 * middle) / all.width}%)` };
  if (height > all.height / 2) return { top: 0, ...across };
  return y + height / 2 < all.height / 2 ? { top: y + height, ...across } : { bottom: all.height - y, ...across };
}

/** Returns the point to which a key moves; null to deselect, undefined for other keys. */
function moved(key: string, from: number, count: number): number | null | undefined {
  if (key === 'ArrowRight' || key === 'ArrowDown') return Math.min(from + 1, count - 1);
  if (key === 'ArrowLeft' || key === 'ArrowUp') return Math.max(from - 1, 0);
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  return key === 'Escape' ? null : undefined;
}

/** A chart whose points are inspected with the pointer or the arrow keys. */
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
      // Arrow keys select its points.
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
        // After the frame has become narrower, the chart is redrawn slightly later: `max-w-full` prevents overflow
        // until then.
        <svg aria-hidden width={width} height={height} className="absolute inset-0 block max-w-full" fontSize={12}>
          {zone && <rect {...zone} fill="var(--hover)" />}
          {drawing}
          {zones.map((each, place) => (
            <rect key={place} {...each} fill="transparent" onPointerEnter={() => setPoint(place)} />
          ))}
        </svg>
      )}
      {/* Always rendered: screen readers announce changes of its content. */}
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

/**
 * Formats the label of a tick on a money axis: "$1.2M". Ticks are positions that the chart chose, not stored amounts.
 */
export const moneyTick = (value: number, currency: string): string =>
  formatMoney(String(value), currency, { short: true });

interface MoneyGridProps {
  money: Scale;
  currency: string;
  /** The pixels at which the lines begin and end. */
  from: number;
  to: number;
}

/** Draws a line across the chart for each tick of a vertical money axis, with its amount on the left. */
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

/** Returns the approximate width in pixels of an axis label. */
export const widthOf = (text: string): number => text.length * 6.8;

/** Formats an amount in full; a dash for null. */
export const amountOf = (value: Decimal | null, currency: string): string =>
  value === null ? '–' : formatMoney(value, currency);
