/** Differences between uploads that cover the same dates, line by line: old, new and the difference (docs/books.md). */

import { agesOf, type BookedPeriod, type Books } from './books.ts';
import { byText, type Day } from './calendar.ts';
import { isZero, subtract, zero, type Decimal } from './decimals.ts';
import { memoized } from './caches.ts';
import { plAmounts, type PlAmount } from './snapshots.ts';

interface Restatement {
  readonly label: string;
  readonly first: Day;
  readonly last: Day;
  /** The ids of the earlier upload and of the upload that restates it. */
  readonly from: string;
  readonly to: string;
  readonly line: PlAmount;
  readonly currency: string;
  /** Null where that upload lacks the line. */
  readonly old: Decimal | null;
  readonly new: Decimal | null;
  /** New less old; a missing amount counts as zero. */
  readonly difference: Decimal;
}

/** The lines that differ between two rows. */
function between(old: BookedPeriod, now: BookedPeriod): Restatement[] {
  return plAmounts.flatMap((line): Restatement[] => {
    const [before, after] = [old.amounts[line], now.amounts[line]];
    const difference = subtract(after ?? zero, before ?? zero);
    if (isZero(difference) && (before === null) === (after === null)) return [];
    const { label, first, last, currency, snapshot_id: to } = now;
    return [{ label, first, last, from: old.snapshot_id, to, line, currency, old: before, new: after, difference }];
  });
}

/** Every line in which an upload differs from the previous upload that covers the same dates, latest dates first. */
export const restatements = memoized(function restatements({
  uploads,
  periods,
}: Pick<Books, 'uploads' | 'periods'>): Restatement[] {
  const completed = agesOf(uploads);
  const age = ({ snapshot_id }: BookedPeriod): string => completed.get(snapshot_id) ?? '';
  const dated = periods.filter(({ snapshot_id }) => completed.has(snapshot_id));
  const byPeriod = [...Map.groupBy(dated, ({ first, last, currency }) => `${last} ${first} ${currency}`)];
  return byPeriod
    .toSorted(([a], [b]) => byText(b, a))
    .flatMap(([, rows]) => {
      const inTime = rows.toSorted((a, b) => byText(age(a), age(b)) || byText(a.id, b.id));
      return inTime.slice(1).flatMap((row, place) => between(inTime[place] ?? row, row));
    });
});
