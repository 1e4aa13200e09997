/** Positions in a chart: floats, precise enough for pixels only. */

/** Returns about `count` round numbers that cover `low`, `high` and 0: the ticks of an axis. */
function ticksOf(low: number, high: number, count: number): number[] {
  const [from, to] = [Math.min(0, low), Math.max(0, high)];
  const rough = (to - from || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5].find((nice) => nice * power >= rough) ?? 10);
  const first = Math.floor(from / step);
  const last = Math.max(Math.ceil(to / step), first + 1);
  return Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step);
}

export interface Scale {
  readonly ticks: readonly number[];
  /** Returns the pixel of a value. */
  at(value: number): number;
}

/** Returns a scale that covers all `values` and 0, with `ticks`, from the pixel `start` to the pixel `end`. */
export function scaleOf(values: readonly number[], start: number, end: number, count = 5): Scale {
  const ticks = ticksOf(Math.min(0, ...values), Math.max(0, ...values), count);
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)];
  return { ticks, at: (value) => start + ((value - low) / (high - low)) * (end - start) };
}
