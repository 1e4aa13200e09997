/** What a contradiction is, and the key under which an answer to it is kept. */

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
] as const;
export type ContradictionKind = (typeof contradictionKinds)[number];

export interface Contradiction {
  /** The same as long as its kind and its dates are, whatever the amounts: what an answer is kept under. */
  readonly key: string;
  /** The same as long as its amounts are, too, however it is worded: the figures that an answer was given to. */
  readonly figures: string;
  readonly kind: ContradictionKind;
  readonly sentence: string;
  readonly ask: string;
  /** By name. The names are in the digest of `figures`: renaming one makes every answer that is stored outdated. */
  readonly amounts: Readonly<Record<string, Decimal>>;
  /** The rows of profit and loss, of customers or of normalizations that it is about. */
  readonly rows: readonly string[];
}

export interface Found extends Omit<Contradiction, 'key' | 'figures'> {
  /** Which one of its kind it is: dates, or a label. No two of one kind share it, and no upload that leaves its rows alone changes it. */
  readonly of: string;
  /** What it says beside its amounts: the months of a run, the amounts of each year. A release covers exactly what was shown when it was given. */
  readonly says?: readonly string[];
}

const digest = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

/** The contradiction with the key under which it is answered, and the figures of that answer. */
export function withKey({ of, says = [], ...contradiction }: Found): Contradiction {
  const amounts = Object.entries(contradiction.amounts).flatMap(([name, amount]) => [name, written(amount)]);
  return {
    key: digest([contradiction.kind, of]),
    figures: digest([contradiction.kind, of, ...says, ...amounts]),
    ...contradiction,
  };
}
