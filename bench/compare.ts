/** Measures servers alternately, so that other load on the machine affects all of them. */

import type { ClientBackends } from './backends.ts';
import type { Bench } from './bench.ts';
import type { Outcome } from './load.ts';
import type { Service } from './processes.ts';
import { millis, percent, whole } from './table.ts';

/** A server and the requests to it. */
export interface Side {
  readonly service: Service;
  readonly requests: readonly string[];
  /** Status required of every response. */
  readonly expect: number;
}

export interface Measured extends Outcome {
  /** Processor time of the server per response, in microseconds; null where it cannot be measured. */
  readonly processor: number | null;
  /**
   * Processor time of PostgreSQL per response, in microseconds; null where it cannot be measured or is not requested.
   */
  readonly postgres: number | null;
}

export type Comparison = Readonly<Record<'bare' | 'ours', Measured>>;

/** The port that a service listens on. */
export const portOf = ({ origin }: Service): number => Number(new URL(origin).port);

/** Measures every side at one concurrency, in as many rounds as the bench has. */
export async function inTurns<Name extends string>(
  { generator, seconds, rounds }: Bench,
  label: string,
  connections: number,
  sides: Readonly<Record<Name, Side>>,
  backends?: ClientBackends,
): Promise<Record<Name, Measured>> {
  const names = Object.keys(sides) as Name[];
  const measured = {} as Record<Name, Measured>;
  const totals = Object.fromEntries(names.map((name) => [name, { processor: 0, postgres: 0, answers: 0 }])) as Record<
    Name,
    { processor: number; postgres: number; answers: number }
  >;
  const postgresTime = async () => (await backends?.spent()) ?? Number.NaN;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      const { service, requests, expect } = sides[name];
      const before = service.processorTime() ?? Number.NaN;
      const postgresBefore = await postgresTime();
      // The generator adds the rounds up: its last outcome covers all of them.
      const outcome = await generator.send({
        label: `${label} ${connections} ${name}`,
        port: portOf(service),
        requests,
        connections,
        seconds: seconds / rounds,
        warmUp: round === 0 ? 2 : 0.2,
        expect,
      });
      const total = totals[name];
      total.processor += (service.processorTime() ?? Number.NaN) - before;
      total.postgres += (await postgresTime()) - postgresBefore;
      total.answers += outcome.answers;
      const each = (time: number) => (Number.isNaN(time) ? null : (time / total.answers) * 1e6);
      measured[name] = { ...outcome, processor: each(total.processor), postgres: each(total.postgres) };
    }
  }
  return measured;
}

/** Headings of the columns that {@link cells} fills. */
export const comparisonHeads: readonly string[] = [
  ...['bare', 'ours'].flatMap((side) => [`${side} /s`, 'p50 ms', 'p99 ms', 'CPU µs']),
  'ours of bare',
];

/** Returns a comparison as the cells of a table. */
export function cells({ bare, ours }: Comparison): string[] {
  const side = ({ rate, p50, p99, processor }: Measured) => [
    whole(rate),
    millis(p50),
    millis(p99),
    processor === null ? '–' : whole(processor),
  ];
  return [...side(bare), ...side(ours), percent(ours.rate, bare.rate)];
}
