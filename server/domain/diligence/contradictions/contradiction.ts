/** Contradictions, and the key under which an answer to one is stored. */

import { createHash } from 'node:crypto';
import { written, type Decimal } from '../decimals.ts';

export const contradictionKinds = [
  'months_missing',
  'months_twice',
  'year_unlike_months',
  'gross_profit',
  'ebitda',
  'customers_total',
  'owner_pay',
  'one_time_again',
  'period_unmatched',
  'sign',
  'scale',
  'currency',
  'month_again',
  'adjustment_again',
  'adjustment_beyond',
] as const;
export type ContradictionKind = (typeof contradictionKinds)[number];

export interface Contradiction {
  /** Identifies the contradiction by its kind and dates, whatever its amounts; answers are stored under this key. */
  readonly key: string;
  /** A digest that also covers the amounts, but not the wording: an answer applies to these figures. */
  readonly figures: string;
  readonly kind: ContradictionKind;
  readonly sentence: string;
  readonly ask: string;
  /** By name. The names are part of the `figures` digest: renaming one outdates every stored answer. */
  readonly amounts: Readonly<Record<string, Decimal>>;
  /** Ids of the profit and loss, customer or normalization rows that the contradiction is about. */
  readonly rows: readonly string[];
}

export interface Found extends Omit<Contradiction, 'key' | 'figures'> {
  /**
   * Identifies the contradiction within its kind: dates or a label. Unique within the kind, and unchanged by uploads
   * that leave its rows alone.
   */
  readonly of: string;
  /**
   * Further facts in the sentence, such as the months of a run or the amounts of each year, so that a release covers
   * exactly what was shown when it was given.
   */
  readonly says?: readonly string[];
}

const digest = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

/** The contradiction with its `key` and `figures`. */
export function withKey({ of, says = [], ...contradiction }: Found): Contradiction {
  const amounts = Object.entries(contradiction.amounts).flatMap(([name, amount]) => [name, written(amount)]);
  return {
    key: digest([contradiction.kind, of]),
    figures: digest([contradiction.kind, of, ...says, ...amounts]),
    ...contradiction,
  };
}
