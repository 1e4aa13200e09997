/** Finds outliers in sign and scale, and the amounts without them. */

import { plural } from '../../../lib/plural.ts';
import { accountLines } from '../account-lines.ts';
import { datesOf, type BookedPeriod } from '../books.ts';
import { dayAfter, wholeMonths } from '../calendar.ts';
import {
  absolute,
  compare,
  decimal,
  equals,
  isNegative,
  isPositive,
  isZero,
  multiply,
  negate,
  spoken,
  whole,
  written,
  zero,
  type Decimal,
} from '../decimals.ts';
import { isMonthRow } from '../earnings.ts';
import { lineWords, plAmounts, type PlAmount } from '../snapshots.ts';
import type { Found } from './contradiction.ts';
import { labelOf, lineNameOf, listed } from './words.ts';

type Row = BookedPeriod;

/** Lines that have the same sign in every month of a healthy business. Tax, net income and EBITDA change sign. */
const signed: readonly PlAmount[] = accountLines.filter((line) => line !== 'tax_expense');

/** The lines that are subtracted. */
const costs = signed.filter((line) => line !== 'revenue');

/** Groups rows by length in whole months: years are compared with years only. */
function series(rows: readonly Row[]): Row[][] {
  return [...Map.groupBy(rows, ({ first, last }) => `${wholeMonths(first, last) ?? ''}`).entries()]
    .filter(([length]) => length !== '')
    .map(([, its]) => its);
}

/** The minimum number of rows that show what is usual. */
const usualFrom = 4;

interface SignFault {
  readonly row: Row;
  readonly name: PlAmount;
  readonly amount: Decimal;
}

function signFaults(rows: readonly Row[]): SignFault[] {
  return series(rows).flatMap((its) =>
    signed.flatMap((name) => {
      const reported = its.flatMap((row) => {
        const amount = row.amounts[name];
        return amount && !isZero(amount) ? [{ row, name, amount }] : [];
      });
      const below = reported.filter(({ amount }) => isNegative(amount));
      const above = reported.filter(({ amount }) => isPositive(amount));
      const [few, many] = below.length < above.length ? [below, above] : [above, below];
      // Up to one for every eight of the others, rounded to the nearest integer, is an outlier. With more, the books
      // are kept that way, and costsBelowZero reports costs that are mostly below zero.
      return reported.length >= usualFrom && BigInt(few.length) * 8n <= BigInt(many.length) + 4n ? few : [];
    }),
  );
}

const verbOf = (name: PlAmount): string => (name === 'operating_expenses' ? 'are' : 'is');

const signsOff = (faults: readonly SignFault[]): Found[] =>
  faults.map(({ row, name, amount }) => ({
    kind: 'sign',
    of: `${name} ${row.first} ${row.last}`,
    sentence: `In ${labelOf(row)} ${lineNameOf(name)} ${verbOf(name)} ${spoken(amount)}: the other periods have the opposite sign.`,
    ask: 'Ask whether the sign was mistyped, or what was credited or reversed.',
    amounts: { amount },
    rows: [row.id],
  }));

/** A line that is below zero in most rows of one length, out of `count` rows that have it. */
interface BelowZero {
  readonly name: PlAmount;
  readonly below: readonly SignFault[];
  readonly count: number;
}

/** Costs recorded below zero, for example in brackets, where revenue is above zero. */
function costsBelowZero(rows: readonly Row[]): BelowZero[] {
  const ofNoMonths = rows.filter(({ first, last }) => wholeMonths(first, last) === null);
  const found = costs.flatMap((name): BelowZero[] => {
    const mostly = [...series(rows), ofNoMonths].flatMap((its) => {
      const reported = its.flatMap((row) => {
        const { revenue, [name]: amount } = row.amounts;
        return revenue && isPositive(revenue) && amount && !isZero(amount) ? [{ row, name, amount }] : [];
      });
      const below = reported.filter(({ amount }) => isNegative(amount));
      return below.length > reported.length - below.length ? [{ below, count: reported.length }] : [];
    });
    const below = mostly.flatMap((one) => one.below);
    return below.length > 0 ? [{ name, below, count: mostly.reduce((all, one) => all + one.count, 0) }] : [];
  });
  // Interest below zero without other such costs is interest earned.
  return found.every(({ name }) => name === 'interest_expense') ? [] : found;
}

const costsOff = (found: readonly BelowZero[]): Found[] =>
  found.map(({ name, below, count }) => {
    const rows = below.map(({ row }) => row);
    const most = `${below.length} of ${plural(count, rows.every(isMonthRow) ? 'month' : 'period')}`;
    return {
      kind: 'sign',
      of: `${name} below zero`,
      says: below.map(({ row, amount }) => `${datesOf(row)} ${written(amount)}`),
      sentence: `${lineWords[name]} ${verbOf(name)} below zero in ${count === 1 ? listed(rows.map(labelOf)) : most}: costs are entered as positive amounts, which are subtracted.`,
      ask: 'Ask whether these are costs, and upload them without a minus or brackets.',
      amounts: { below: whole(BigInt(below.length)), all: whole(BigInt(count)) },
      rows: rows.map(({ id }) => id),
    };
  });

interface ScaleFault {
  readonly row: Row;
  readonly revenue: Decimal;
  readonly usual: Decimal;
  /** The factor that corrects the row's amounts. */
  readonly factor: Decimal;
}

/** The median, the lower one of two. */
const median = (values: readonly Decimal[]): Decimal => {
  const inOrder = values.toSorted(compare);
  return inOrder[(inOrder.length - 1) >> 1] ?? zero;
};

const thousand = whole(1000n);
const thousandth = decimal('0.001');

/** Whether `a` is between a third of `b` and three times `b`. */
const near = (a: Decimal, b: Decimal): boolean =>
  compare(multiply(a, whole(3n)), b) > 0 && compare(a, multiply(b, whole(3n))) < 0;

function scaleFaults(rows: readonly Row[]): ScaleFault[] {
  return series(rows).flatMap((its) => {
    const revenues = its.flatMap(({ amounts }) =>
      amounts.revenue && !isZero(amounts.revenue) ? [absolute(amounts.revenue)] : [],
    );
    if (revenues.length < usualFrom) return [];
    const usual = median(revenues);
    return its.flatMap((row): ScaleFault[] => {
      const { revenue } = row.amounts;
      if (!revenue || isZero(revenue)) return [];
      const factor = [thousand, thousandth].find((by) => near(multiply(absolute(revenue), by), usual));
      return factor ? [{ row, revenue, usual, factor }] : [];
    });
  });
}

function scalesOff(faults: readonly ScaleFault[]): Found[] {
  const runs: ScaleFault[][] = [];
  for (const fault of faults) {
    const before = runs.at(-1)?.at(-1);
    const follows = before && dayAfter(before.row.last) === fault.row.first && equals(before.factor, fault.factor);
    if (follows) runs.at(-1)?.push(fault);
    else runs.push([fault]);
  }
  return runs.flatMap((run): Found[] => {
    const [one] = run;
    if (!one) return [];
    const small = equals(one.factor, thousand);
    return [
      {
        kind: 'scale',
        of: datesOf(one.row),
        says: run.map(({ row, revenue }) => `${datesOf(row)} ${written(revenue)}`),
        sentence: `Revenue of ${listed(run.map(({ row }) => labelOf(row)))} is ${spoken(one.revenue)}, about ${small ? 'a thousandth of' : 'a thousand times'} the usual ${spoken(one.usual)}.`,
        ask: small ? 'Ask whether thousands were typed as units.' : 'Ask whether units were typed as thousands.',
        amounts: { revenue: one.revenue, usual: one.usual },
        rows: run.map(({ row }) => row.id),
      },
    ];
  });
}

/**
 * The amounts of rows with errors in sign and scale corrected; where costs are below zero, tax is taken to be so, too.
 */
function mendedRows(
  signs: readonly SignFault[],
  below: readonly BelowZero[],
  scales: readonly ScaleFault[],
): Map<string, Row['amounts']> {
  const mended = new Map<string, Row['amounts']>();
  for (const { row, name, amount } of below.flatMap((one) => one.below)) {
    const { tax_expense: tax } = row.amounts;
    mended.set(row.id, {
      ...(mended.get(row.id) ?? row.amounts),
      tax_expense: tax && absolute(tax),
      [name]: negate(amount),
    });
  }
  for (const { row, name, amount } of signs)
    mended.set(row.id, { ...(mended.get(row.id) ?? row.amounts), [name]: negate(amount) });
  for (const { row, factor } of scales) {
    const amounts = mended.get(row.id) ?? row.amounts;
    const scaled = plAmounts.map((name) => [name, amounts[name] && multiply(amounts[name], factor)]);
    mended.set(row.id, Object.fromEntries(scaled) as Row['amounts']);
  }
  return mended;
}

/** The rows with outliers in sign or scale, each as a contradiction, and the corrected amounts. */
export function outliers(rows: readonly Row[]): {
  readonly found: readonly Found[];
  readonly mended: ReadonlyMap<string, Row['amounts']>;
} {
  const [below, scales] = [costsBelowZero(rows), scaleFaults(rows)];
  // Where most amounts of a cost are below zero, the others are right.
  const mostly = new Set(below.map(({ name }) => name));
  const signs = signFaults(rows).filter(({ name, amount }) => isNegative(amount) || !mostly.has(name));
  return {
    found: [...costsOff(below), ...signsOff(signs), ...scalesOff(scales)],
    mended: mendedRows(signs, below, scales),
  };
}
