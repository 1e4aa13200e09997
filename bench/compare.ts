/** Measures two servers in turns, so that whatever else the machine does falls on both. */

import type { Bench } from './bench.ts';
import type { Outcome } from './load.ts';
import type { Service } from './processes.ts';
import { millis, percent, whole } from './table.ts';

/** A server and what is asked of it. */
export interface Side {
  readonly service: Service;
  readonly requests: readonly string[];
  /** The status that every answer must have. */
  readonly expect: number;
}

export interface Measured extends Outcome {
  /** Processor time of the server for an answer, in microseconds; null where that cannot be told. */
  readonly processor: number | null;
}

export interface Comparison {
  readonly bare: Measured;
  readonly ours: Measured;
}

export const portOf = ({ origin }: Service): number => Number(new URL(origin).port);

/** Both sides at one concurrency, in as many rounds as the bench has. */
export async function inTurns(
  { generator, seconds, rounds }: Bench,
  label: string,
  connections: number,
  sides: Readonly<Record<keyof Comparison, Side>>,
): Promise<Comparison> {
  const spent = { bare: 0, ours: 0 };
  const answers = { bare: 0, ours: 0 };
  const last: Partial<Record<keyof Comparison, Outcome>> = {};
  for (let round = 0; round < rounds; round += 1) {
    for (const side of ['bare', 'ours'] as const) {
      const { service, requests, expect } = sides[side];
      const before = service.processorTime() ?? Number.NaN;
      const outcome = await generator.send({
        label: `${label} ${connections} ${side}`,
        port: portOf(service),
        requests,
        connections,
        seconds: seconds / rounds,
        warmUp: round === 0 ? 0.7 : 0.2,
        expect,
      });
      spent[side] += (service.processorTime() ?? Number.NaN) - before;
      answers[side] += outcome.answers;
      last[side] = outcome;
    }
  }
  const measured = (side: keyof Comparison): Measured => {
    const processor = (spent[side] / answers[side]) * 1e6;
    // The generator adds the rounds up: its last word covers all of them.
    return { ...(last[side] as Outcome), processor: Number.isNaN(processor) ? null : processor };
  };
  return { bare: measured('bare'), ours: measured('ours') };
}

/** The heads of the columns that {@link cells} fills. */
export const comparisonHeads: readonly string[] = [
  ...['bare', 'ours'].flatMap((side) => [`${side} /s`, 'p50 ms', 'p99 ms', 'CPU µs']),
  'ours of bare',
];

/** A comparison as cells of a table. */
export function cells({ bare, ours }: Comparison): string[] {
  const side = ({ rate, p50, p99, processor }: Measured) => [
    whole(rate),
    millis(p50),
    millis(p99),
    processor === null ? '–' : whole(processor),
  ];
  return [...side(bare), ...side(ours), percent(ours.rate, bare.rate)];
}
