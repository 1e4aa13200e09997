/** Finds months that are missing, uploaded twice, or equal to another. */

import type { BookedPeriod } from '../books.ts';
import { byText, monthAfter, monthOf, wholeMonths, type Month } from '../calendar.ts';
import { isZero, spoken, whole, written, zero } from '../decimals.ts';
import { isMonthRow } from '../earnings.ts';
import { plAmounts } from '../snapshots.ts';
import type { Found } from './contradiction.ts';
import { endsOf, type View } from './view.ts';
import { labelOf, listed } from './words.ts';

type Row = BookedPeriod;

/** Months without figures between months with figures. */
export function monthsMissing({ rows, otherCurrency }: View): Found[] {
  const all = [...rows, ...otherCurrency];
  const there = new Set(all.filter(isMonthRow).map(({ first }) => monthOf(first)));
  const longer = all.filter((row) => !isMonthRow(row)).toSorted((a, b) => byText(a.first, b.first));
  const [first, last] = endsOf(all);
  if (first === undefined || last === undefined) return [];
  const missing: Month[][] = [];
  let place = 0;
  // The latest month covered by longer rows that begin no later than `month`.
  let covered: Month = '';
  for (let month = first; month < last; month = monthAfter(month, 1n)) {
    for (let row = longer[place]; row && monthOf(row.first) <= month; row = longer[place]) {
      if (monthOf(row.last) > covered) covered = monthOf(row.last);
      place += 1;
    }
    if (there.has(month) || month <= covered) continue;
    const run = missing.at(-1);
    if (run?.at(-1) === monthAfter(month, -1n)) run.push(month);
    else missing.push([month]);
  }
  return missing.map((run) => ({
    kind: 'months_missing',
    of: run[0] ?? '',
    says: run,
    sentence: `${listed(run)} ${run.length === 1 ? 'is' : 'are'} missing between ${first} and ${last}.`,
    ask: `Ask for the profit and loss of ${run.length === 1 ? 'that month' : 'those months'}.`,
    amounts: { months: whole(BigInt(run.length)) },
    rows: [],
  }));
}

const overlap = (a: Row, b: Row): boolean => a.first <= b.last && b.first <= a.last;
const isShort = ({ first, last }: Row): boolean =>
  last <= `${monthAfter(monthOf(first), 1n)}-15` && (wholeMonths(first, last) ?? 0n) < 2n;

/** Pairs of short periods that cover the same days. */
export function monthsTwice({ rows }: View): Found[] {
  const short = rows.filter(isShort).toSorted((a, b) => byText(a.first, b.first) || byText(a.last, b.last));
  return short.flatMap((row, place): Found[] => {
    const others = short.slice(place + 1, place + 3).filter((other) => overlap(row, other));
    return others.map((other) => ({
      kind: 'months_twice',
      of: [row.first, row.last, other.first, other.last].join(' '),
      sentence: `${row.first} to ${row.last} and ${other.first} to ${other.last} cover the same days, with revenue of ${spoken(row.amounts.revenue ?? zero)} and ${spoken(other.amounts.revenue ?? zero)}.`,
      ask: 'Ask which of the two is right, and upload that one alone.',
      amounts: { first_revenue: row.amounts.revenue ?? zero, second_revenue: other.amounts.revenue ?? zero },
      rows: [row.id, other.id],
    }));
  });
}

/** Months that are equal in every line. */
export function monthsAlike({ months }: View): Found[] {
  const its = [...months.values()].filter(({ amounts }) => {
    const reported = plAmounts.filter((name) => amounts[name] && !isZero(amounts[name]));
    return reported.includes('revenue') && reported.length > 1;
  });
  const alike = Map.groupBy(its, ({ amounts }) =>
    plAmounts.map((name) => (amounts[name] ? written(amounts[name]) : '-')).join(' '),
  );
  return [...alike.values()]
    .filter((same) => same.length > 1)
    .map((same) => {
      const revenue = same[0]?.amounts.revenue ?? zero;
      return {
        kind: 'month_again',
        of: same.map(({ first }) => monthOf(first)).toSorted(byText)[0] ?? '',
        says: same.map(({ first }) => monthOf(first)).toSorted(byText),
        sentence: `${listed(same.map(labelOf))} are equal to the cent in every line, with revenue of ${spoken(revenue)}.`,
        ask: 'Ask whether a month was copied, and for the figures of each.',
        amounts: { revenue },
        rows: same.map(({ id }) => id),
      };
    });
}
