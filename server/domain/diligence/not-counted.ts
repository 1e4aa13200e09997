/** The rows of profit and loss that are in no total, and the sentences that say so (docs/books.md). */

import { plural } from '../../lib/plural.ts';
import type { BookedPeriod, Books } from './books.ts';
import { memoized } from './caches.ts';
import { dayAfter, byText, type Day } from './calendar.ts';
import { labelOf, listed } from './contradictions/words.ts';
import { earnings, resolved, rowsInTotals, rowsYearBefore } from './earnings.ts';

type Dates = Pick<BookedPeriod, 'first' | 'last'>;

/** The days that these rows cover, as dates without overlap, earliest first. */
function covered(rows: readonly Dates[]): Dates[] {
  const found: { first: Day; last: Day }[] = [];
  for (const { first, last } of rows.toSorted((a, b) => byText(a.first, b.first))) {
    const before = found.at(-1);
    if (!before || dayAfter(before.last) < first) found.push({ first, last });
    else if (last > before.last) before.last = last;
  }
  return found;
}

/** The rows that are in no total and in no growth, and whose dates no such rows cover. */
function unused(books: Books): BookedPeriod[] {
  const used = new Set([...rowsInTotals(books), ...rowsYearBefore(books, earnings(books)).flat()]);
  const { rows } = resolved(books);
  const days = covered(rows.filter(({ id }) => used.has(id)));
  return rows.filter(
    ({ id, first, last }) => !used.has(id) && !days.some((dates) => dates.first <= first && last <= dates.last),
  );
}

/** How many rows are in totals, and sentences that name those that are in none; the same for every reader. */
export const notCounted = memoized(function notCounted(books: Books): {
  readonly rows: number;
  readonly sentences: readonly string[];
} {
  const { rows, otherCurrency, currency } = resolved(books);
  const left = unused(books);
  const byCurrency = [...Map.groupBy(otherCurrency, (row) => row.currency)].toSorted(([a], [b]) => byText(a, b));
  const others = byCurrency.map(([other, its]) => `${plural(its.length, 'row')} in ${other}`);
  return {
    rows: rows.length - left.length,
    sentences: [
      ...(others.length > 0
        ? [`Left out because they are in another currency than ${currency}: ${listed(others)}.`]
        : []),
      ...(left.length > 0
        ? [
            `In no total, as totals are made up of whole months or of a year: ${plural(left.length, 'row')} (${listed(left.map(labelOf))}).`,
          ]
        : []),
    ],
  };
});
