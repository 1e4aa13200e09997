/** Decides whether two statements of the same amount differ by more than rounding explains. */

import { absolute, compare, equals, round, subtract, whole, zero, type Decimal } from '../decimals.ts';

const isWhole = (amount: Decimal | null): boolean => amount === null || equals(amount, round(amount, 0n));

/** The numbers in which one statement gives a total, or its parts. */
interface Statement {
  readonly values: readonly (Decimal | null)[];
  /** How many rounded numbers these are; defaults to one for each value. */
  readonly numbers?: number;
}

/**
 * Whether the amounts differ by more than rounding. Statements in whole units may be off by half a unit for each of
 * their numbers, and by at least two units; with cents every cent counts. Each statement is in whole units or not by
 * itself.
 */
export function differs(a: Decimal, b: Decimal, ...statements: readonly Statement[]): boolean {
  const rounded = statements
    .filter(({ values }) => values.every(isWhole))
    .reduce((all, { values, numbers = values.length }) => all + numbers, 0);
  const slack = BigInt(rounded) / 2n;
  return compare(absolute(subtract(a, b)), rounded === 0 ? zero : whole(slack < 2n ? 2n : slack)) > 0;
}
