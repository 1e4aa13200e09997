import type { Cluster } from './cluster.ts';
import type { Data } from './data.ts';
import type { Generator } from './load.ts';

/** Numbers of concurrent requests. */
export const concurrencies: readonly number[] = [1, 16, 64];

/** What every suite uses. */
export interface Bench {
  readonly cluster: Cluster;
  /** URL of the database for the server's role. */
  readonly databaseUrl: string;
  readonly data: Data;
  readonly generator: Generator;
  /** Number of contacts at the end. */
  readonly rows: number;
  /** Seconds of one measurement, divided into this many rounds. */
  readonly seconds: number;
  readonly rounds: number;
  /** Directory in which the peers stay installed for another run; null removes them. */
  readonly keep: string | null;
  say(line: string): void;
}
