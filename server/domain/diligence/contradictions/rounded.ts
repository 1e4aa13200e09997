/** Whether two statements of one amount differ by more than the rounding of their numbers explains. */

import { absolute, compare, equals, round, subtract, whole, zero, type Decimal } from '../decimals.ts';

const isWhole = (amount: Decimal | null): boolean => amount === null || equals(amount, round(amount, 0n));

/** What one statement says of a total, or of its parts. */
interface Statement {
  readonly values: readonly (Decimal | null)[];
  /** How many numbers it has for them. */
  readonly numbers?: number;
}

/**
 * Statements in whole units round each of their numbers: then half a unit for each of them, and two at least, are no
 * contradiction. With cents every cent counts. Of two statements one can be in whole units and the other not.
 */
export function differs(a: Decimal, b: Decimal, ...statements: readonly Statement[]): boolean {
  const rounded = statements
    .filter(({ values }) => values.every(isWhole))
    .reduce((all, { values, numbers = values.length }) => all + numbers, 0);
  const slack = BigInt(rounded) / 2n;
  return compare(absolute(subtract(a, b)), rounded === 0 ? zero : whole(slack < 2n ? 2n : slack)) > 0;
}
