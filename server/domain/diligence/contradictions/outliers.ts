/** Sudden changes of sign and scale, and what the rows would say without them. */

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
import { plAmounts, type PlAmount } from '../snapshots.ts';
import type { Found } from './contradiction.ts';
import { labelOf, lineNames, listed } from './words.ts';

type Row = BookedPeriod;

/** Lines that have the same sign in every month of a healthy business. Tax, net income and EBITDA change theirs. */
const signed: readonly PlAmount[] = accountLines.filter((line) => line !== 'tax_expense');

/** Rows as long as each other, of one length after the other: a year is compared with years. */
function series(rows: readonly Row[]): Row[][] {
  return [...Map.groupBy(rows, ({ first, last }) => `${wholeMonths(first, last) ?? ''}`).entries()]
    .filter(([length]) => length !== '')
    .map(([, its]) => its);
}

/** Fewer rows than this do not show what is usual. */
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
      // One in eight at most is sudden; more is how these books are kept.
      return reported.length >= usualFrom && BigInt(few.length) * 8n <= BigInt(many.length) + 4n ? few : [];
    }),
  );
}

const signsOff = (faults: readonly SignFault[]): Found[] =>
  faults.map(({ row, name, amount }) => ({
    kind: 'sign',
    of: `${name} ${row.first} ${row.last}`,
    sentence: `In ${labelOf(row)} ${lineNames[name]} ${name === 'operating_expenses' ? 'are' : 'is'} ${spoken(amount)}: the other periods have the other sign.`,
    ask: 'Ask whether the sign was mistyped, or what was credited or reversed.',
    amounts: { amount },
    rows: [row.id],
  }));

interface ScaleFault {
  readonly row: Row;
  readonly revenue: Decimal;
  readonly usual: Decimal;
  /** What the row's amounts would have to be multiplied with. */
  readonly factor: Decimal;
}

/** The one in the middle, the lower of two. */
const median = (values: readonly Decimal[]): Decimal => {
  const inOrder = values.toSorted(compare);
  return inOrder[(inOrder.length - 1) >> 1] ?? zero;
};

const thousand = whole(1000n);
const thousandth = decimal('0.001');

/** Whether one is between a third of the other and three times it. */
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

/** The rows with what was found of sign and scale undone. */
function mendedRows(signs: readonly SignFault[], scales: readonly ScaleFault[]): Map<string, Row['amounts']> {
  const mended = new Map<string, Row['amounts']>();
  for (const { row, name, amount } of signs)
    mended.set(row.id, { ...(mended.get(row.id) ?? row.amounts), [name]: negate(amount) });
  for (const { row, factor } of scales) {
    const amounts = mended.get(row.id) ?? row.amounts;
    const scaled = plAmounts.map((name) => [name, amounts[name] && multiply(amounts[name], factor)]);
    mended.set(row.id, Object.fromEntries(scaled) as Row['amounts']);
  }
  return mended;
}

/** What rows are off by sign or by scale, each as a contradiction, and the amounts that they have without it. */
export function outliers(rows: readonly Row[]): {
  readonly found: readonly Found[];
  readonly mended: ReadonlyMap<string, Row['amounts']>;
} {
  const [signs, scales] = [signFaults(rows), scaleFaults(rows)];
  return { found: [...signsOff(signs), ...scalesOff(scales)], mended: mendedRows(signs, scales) };
}
