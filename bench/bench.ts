import type { Cluster } from './cluster.ts';
import type { Data } from './data.ts';
import type { Generator } from './load.ts';

/** How many ask at once. */
export const concurrencies: readonly number[] = [1, 16, 64];

/** What a suite works with. */
export interface Bench {
  readonly cluster: Cluster;
  /** How the server's role reaches the database. */
  readonly databaseUrl: string;
  readonly data: Data;
  readonly generator: Generator;
  /** How many contacts there are at the end. */
  readonly rows: number;
  /** How long one measurement takes, in seconds, in so many rounds. */
  readonly seconds: number;
  readonly rounds: number;
  /** Where the peers stay installed for another run; null: they are removed. */
  readonly keep: string | null;
  say(line: string): void;
}
