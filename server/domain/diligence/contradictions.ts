/**
 * Where uploaded books contradict themselves or each other, each as a sentence with its amounts, its rows and what to ask
 * (docs/books.md). What follows from one contradiction is not named as another.
 */

import { createHash } from 'node:crypto';
import { agesOf, datesOf, type Adjustment, type BookedCustomer, type BookedPeriod, type Books } from './books.ts';
import {
  byText,
  dayAfter,
  monthAfter,
  monthOf,
  monthsBetween,
  wholeMonths,
  yearOf,
  type Day,
  type Month,
} from './calendar.ts';
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
  round,
  spoken,
  subtract,
  sum,
  whole,
  written,
  zero,
  type Decimal,
} from './decimals.ts';
import { bridgeLabel, ebitdaOf, earnings, isMonthRow, resolved, together, type Earnings } from './earnings.ts';
import { oncePer } from './kept.ts';
import { plAmounts, type PlAmount } from './snapshots.ts';
import { makingUp, piecesOf, type Pieces } from './spans.ts';

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
  readonly amounts: Readonly<Record<string, Decimal>>;
  /** The rows of profit and loss, of customers or of normalizations that it is about. */
  readonly rows: readonly string[];
}

interface Found extends Omit<Contradiction, 'key' | 'figures'> {
  /** Which one of its kind it is: dates, or a label. No two of one kind share it, and no upload that leaves its rows alone changes it. */
  readonly of: string;
  /** What it says beside its amounts: the months of a run, the amounts of each year. */
  readonly says?: readonly string[];
}

type Row = BookedPeriod;

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];

/** "a", "a and b", "a, b and c", "a, b, c and 4 more". */
export function listed(names: readonly string[], most = 6): string {
  const shown = names.length > most ? [...names.slice(0, most - 1), `${names.length - most + 1} more`] : names;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

/** "1 month", "3 months". */
const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;

const lineNames: Readonly<Record<PlAmount, string>> = {
  revenue: 'revenue',
  cost_of_goods_sold: 'cost of goods sold',
  gross_profit: 'gross profit',
  operating_expenses: 'operating expenses',
  owner_compensation: 'the owner’s pay',
  depreciation_amortization: 'depreciation and amortization',
  interest_expense: 'interest',
  tax_expense: 'tax',
  net_income: 'net income',
  ebitda: 'EBITDA',
};

const labelOf = (row: Row): string => (isMonthRow(row) ? monthOf(row.first) : row.label);

const isWhole = (amount: Decimal | null): boolean => amount === null || equals(amount, round(amount, 0n));

/** What one statement tells of a total, or of its parts. */
interface Statement {
  readonly values: readonly (Decimal | null)[];
  /** How many numbers it wrote to tell them. */
  readonly numbers?: number;
}

/**
 * Statements in whole units round each of their numbers: then half a unit for each of them, and two at least, are no
 * contradiction. With cents every cent counts. Of two statements one can be in whole units and the other not.
 */
function differs(a: Decimal, b: Decimal, ...statements: readonly Statement[]): boolean {
  const rounded = statements
    .filter(({ values }) => values.every(isWhole))
    .reduce((all, { values, numbers = values.length }) => all + numbers, 0);
  const slack = BigInt(rounded) / 2n;
  return compare(absolute(subtract(a, b)), rounded === 0 ? zero : whole(slack < 2n ? 2n : slack)) > 0;
}

const sayDifference = (difference: Decimal): string =>
  `${spoken(absolute(difference))} ${isNegative(difference) ? 'less' : 'more'}`;

/** Everything that the checks look at, worked out once. */
interface View {
  readonly books: Books;
  readonly rows: readonly Row[];
  readonly otherCurrency: readonly Row[];
  readonly months: ReadonlyMap<Month, Row>;
  /** The rows of less than a year. */
  readonly pieces: Pieces;
  readonly byDates: ReadonlyMap<string, Row>;
  /** Rows as they would be with their changes of sign and scale undone. */
  readonly mended: ReadonlyMap<string, Row['amounts']>;
  readonly earned: readonly Earnings[];
  readonly customers: readonly BookedCustomer[];
}

// ---- Months that are missing, or told of twice.

/** The first and the last of the months that rows of less than a year tell of. */
function endsOf(rows: readonly Row[]): [first: Month | undefined, last: Month | undefined] {
  const shorter = rows.filter((row) => (wholeMonths(row.first, row.last) ?? 12n) < 12n);
  const [firsts, lasts] = [shorter.map(({ first }) => monthOf(first)), shorter.map(({ last }) => monthOf(last))];
  return [firsts.toSorted(byText)[0], lasts.toSorted(byText).at(-1)];
}

function monthsMissing({ rows, otherCurrency }: View): Found[] {
  const all = [...rows, ...otherCurrency];
  const there = new Set(all.filter(isMonthRow).map(({ first }) => monthOf(first)));
  const longer = all.filter((row) => !isMonthRow(row)).toSorted((a, b) => byText(a.first, b.first));
  const [first, last] = endsOf(all);
  if (first === undefined || last === undefined) return [];
  const missing: Month[][] = [];
  let place = 0;
  // The last month of the longer rows that have begun by now.
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
const isLong = ({ first, last }: Pick<Row, 'first' | 'last'>): boolean => (wholeMonths(first, last) ?? 0n) > 1n;

function monthsTwice({ rows }: View): Found[] {
  const short = rows.filter(isShort).toSorted((a, b) => byText(a.first, b.first) || byText(a.last, b.last));
  return short.flatMap((row, place): Found[] => {
    const others = short.slice(place + 1, place + 3).filter((other) => overlap(row, other));
    return others.map((other) => ({
      kind: 'months_twice',
      of: [row.first, row.last, other.first, other.last].join(' '),
      sentence: `${row.first} to ${row.last} and ${other.first} to ${other.last} tell of the same days, with revenue of ${spoken(row.amounts.revenue ?? zero)} and ${spoken(other.amounts.revenue ?? zero)}.`,
      ask: 'Ask which of the two is right, and upload that one alone.',
      amounts: { first_revenue: row.amounts.revenue ?? zero, second_revenue: other.amounts.revenue ?? zero },
      rows: [row.id, other.id],
    }));
  });
}

/** The longest period that is held against its months, three years: many long ones would take the square of the months. */
const longest = 36n;

/** The months that make up the dates, or null when one is missing, the dates are no whole months or more than {@link longest}. */
function monthsOf(first: Day, last: Day, months: View['months']): Row[] | null {
  const count = wholeMonths(first, last);
  if (count === null || count < 1n || count > longest) return null;
  const end = monthOf(last);
  const found: Row[] = [];
  for (let month = monthOf(first); month <= end; month = monthAfter(month, 1n)) {
    const row = months.get(month);
    if (!row) return null;
    found.push(row);
  }
  return found;
}

/**
 * What the dates are made of beside a row of their own: their months, or else of a year at most the shorter rows that make
 * them up; null where neither is there.
 */
const partsOf = (first: Day, last: Day, { months, pieces }: Pick<View, 'months' | 'pieces'>): readonly Row[] | null =>
  monthsOf(first, last, months) ?? makingUp(first, last, pieces, { inParts: true });

function yearUnlikeMonths({ rows, months, pieces, mended }: View): Found[] {
  return rows.filter(isLong).flatMap((row) => {
    const parts = partsOf(row.first, row.last, { months, pieces });
    if (!parts) return [];
    const words = parts.every(isMonthRow) ? 'its months add up' : `${listed(parts.map(labelOf))} add up`;
    return (['revenue', 'ebitda'] as const).flatMap((name): Found[] => {
      const of = (one: Row) =>
        (name === 'ebitda' ? ebitdaOf : (amounts: Row['amounts']) => amounts[name])(mended.get(one.id) ?? one.amounts);
      const amounts = parts.map(of);
      const [told, added] = [of(row), together(amounts)];
      // EBITDA that is not told is the sum of four numbers.
      const numbersOf = (one: Row): number => (one.amounts[name] === null ? 4 : 1);
      const numbers = parts.reduce((all, part) => all + numbersOf(part), 0);
      if (!told || !added) return [];
      if (!differs(told, added, { values: [told], numbers: numbersOf(row) }, { values: amounts, numbers })) return [];
      const difference = subtract(told, added);
      return [
        {
          kind: 'year_unlike_months',
          of: `${name} ${row.first} ${row.last}`,
          sentence: `${labelOf(row)} says ${spoken(told)} of ${lineNames[name]}, ${words} to ${spoken(added)}: ${sayDifference(difference)}.`,
          ask: 'Ask what was booked for the whole period and in none of its parts, or the other way about.',
          amounts: { told, months: added, difference },
          rows: [row.id, ...parts.map(({ id }) => id)],
        },
      ];
    });
  });
}

// ---- Totals that do not follow from their parts.

interface Identity {
  readonly kind: 'gross_profit' | 'ebitda';
  readonly total: PlAmount;
  readonly of: (amounts: Row['amounts']) => Decimal | null;
  readonly words: string;
  readonly parts: readonly PlAmount[];
  readonly ask: string;
}

const identities: readonly Identity[] = [
  {
    kind: 'gross_profit',
    total: 'gross_profit',
    of: ({ revenue, cost_of_goods_sold }) =>
      revenue && cost_of_goods_sold ? subtract(revenue, cost_of_goods_sold) : null,
    words: 'revenue less cost of goods sold comes to',
    parts: ['revenue', 'cost_of_goods_sold'],
    ask: 'Ask which of the three is wrong, or what else is in the gross profit.',
  },
  {
    kind: 'ebitda',
    total: 'ebitda',
    of: (amounts) =>
      together([amounts.net_income, amounts.tax_expense, amounts.interest_expense, amounts.depreciation_amortization]),
    words: 'net income, tax, interest and depreciation come to',
    parts: ['net_income', 'tax_expense', 'interest_expense', 'depreciation_amortization'],
    ask: 'Ask what else was taken out of EBITDA, or left in it.',
  },
];

function totalsOff({ rows, mended }: View): Found[] {
  return identities.flatMap(({ kind, total, of, words, parts, ask }) =>
    rows.flatMap((row): Found[] => {
      const holds = (amounts: Row['amounts']): boolean => {
        const [told, made] = [amounts[total], of(amounts)];
        return !told || !made || !differs(told, made, { values: [told, ...parts.map((part) => amounts[part])] });
      };
      const [told, made] = [row.amounts[total], of(row.amounts)];
      if (!told || !made || holds(row.amounts) || holds(mended.get(row.id) ?? row.amounts)) return [];
      const difference = subtract(told, made);
      return [
        {
          kind,
          of: `${row.first} ${row.last}`,
          sentence: `${labelOf(row)} says ${spoken(told)} of ${lineNames[total]}, but ${words} ${spoken(made)}: ${sayDifference(difference)}.`,
          ask,
          amounts: { told, computed: made, difference },
          rows: [row.id],
        },
      ];
    }),
  );
}

/** Customers of one period, in order. */
function customerPeriods(customers: readonly BookedCustomer[]): BookedCustomer[][] {
  return [...Map.groupBy(customers, datesOf).entries()].toSorted(([a], [b]) => byText(a, b)).map(([, rows]) => rows);
}

function customersOff({ byDates, months, pieces, mended, customers }: View): Found[] {
  return customerPeriods(customers).flatMap((listing): Found[] => {
    const [one] = listing;
    if (!one || listing.some(({ currency }) => currency !== one.currency)) return [];
    const revenueOf = (row: Row) => (mended.get(row.id) ?? row.amounts).revenue;
    const row = byDates.get(datesOf(one));
    const parts = partsOf(one.first, one.last, { months, pieces });
    const told = [row ? [row] : [], parts ?? []].flatMap((its) => {
      const values = its.map(revenueOf);
      const amount = together(values);
      return amount ? [{ amount, values }] : [];
    });
    const revenue = told[0]?.amount;
    const counting = row ?? parts?.[0];
    if (!revenue || counting?.currency !== one.currency) return [];
    const total = sum(listing.map((customer) => customer.revenue));
    const billed = { values: listing.map((customer) => customer.revenue) };
    if (told.some(({ amount, values }) => !differs(total, amount, { values }, billed))) return [];
    const difference = subtract(total, revenue);
    return [
      {
        kind: 'customers_total',
        of: `${one.first} ${one.last}`,
        sentence: `The customers of ${one.first} to ${one.last} come to ${spoken(total)}, the revenue of the same dates is ${spoken(revenue)}: ${sayDifference(difference)}.`,
        ask: isNegative(difference)
          ? 'Ask whether the list holds all customers, and who brought the rest.'
          : 'Ask which customers were billed outside of these dates or counted twice.',
        amounts: { customers: total, revenue, difference },
        rows: row ? [row.id] : (parts ?? []).map(({ id }) => id),
      },
    ];
  });
}

// ---- Normalizations.

function ownerPayOff({ earned, rows, books }: View): Found[] {
  const pays = new Map<string, Decimal | null>([
    ...rows.map((row): [string, Decimal | null] => [bridgeLabel(row), row.amounts.owner_compensation]),
    ...earned.map(({ label, amounts }): [string, Decimal | null] => [label, amounts.owner_compensation]),
  ]);
  const added = Map.groupBy(
    books.adjustments.filter(({ category }) => category === 'owner_comp'),
    (one) => one.period_label,
  );
  return [...added].flatMap(([label, its]): Found[] => {
    const pay = pays.get(label);
    const total = sum(its.map(({ amount }) => amount));
    if (!pay || compare(total, pay) <= 0) return [];
    const difference = subtract(total, pay);
    return [
      {
        kind: 'owner_pay',
        of: label,
        sentence: `Add-backs of the owner’s pay in ${label} come to ${spoken(total)}, the owner’s recorded pay is ${spoken(pay)}: ${sayDifference(difference)}.`,
        ask: 'Ask for payroll records, and under which line the rest was booked.',
        amounts: { added_back: total, recorded_pay: pay, difference },
        rows: its.map(({ id }) => id),
      },
    ];
  });
}

/** The dates that a label stands for: those of its earnings, or of the row that bears it. */
function datesByLabel({ earned, rows, otherCurrency }: View): Map<string, Pick<Row, 'first' | 'last'>> {
  return new Map([
    ...[...rows, ...otherCurrency].map((row): [string, Pick<Row, 'first' | 'last'>] => [bridgeLabel(row), row]),
    ...earned.map((found): [string, Pick<Row, 'first' | 'last'>] => [found.label, found]),
  ]);
}

function oneTimeAgain(view: View): Found[] {
  const dates = datesByLabel(view);
  const its = view.books.adjustments.filter(({ category, amount }) => category === 'one_time' && !isZero(amount));
  const years = Map.groupBy(its, ({ period_label }) => period_label);
  // Periods that share a day tell of the same costs: only those that do not are several.
  const apart: string[] = [];
  for (const label of [...years.keys()].toSorted(byText)) {
    const own = dates.get(label);
    const meets = apart.some((other) => {
      const held = dates.get(other);
      return own && held && own.first <= held.last && held.first <= own.last;
    });
    if (own && !meets) apart.push(label);
  }
  const yearsNamed = unique(apart.map((label) => yearOf(dates.get(label)?.last ?? '')));
  if (yearsNamed.length < 2) return [];
  const named = its.filter(({ period_label }) => dates.has(period_label));
  const totals = apart.map(
    (label) => `${spoken(sum((years.get(label) ?? []).map(({ amount }) => amount)))} in ${label}`,
  );
  return [
    {
      kind: 'one_time_again',
      of: '',
      says: apart.flatMap((label) => [label, written(sum((years.get(label) ?? []).map(({ amount }) => amount)))]),
      sentence: `“One-time” adjustments were made in ${counted(yearsNamed.length, 'year')}: ${listed(totals)}.`,
      ask: 'Ask what makes each of them one that will not come again.',
      amounts: { total: sum(named.map(({ amount }) => amount)) },
      rows: named.map(({ id }) => id).toSorted(byText),
    },
  ];
}

/** Labels that there would be figures of if no month were missing in between, or in another currency. */
function labelsWithoutGaps({ rows, otherCurrency, earned }: View): string[] {
  const all = [...rows, ...otherCurrency];
  const [first, last] = endsOf(all);
  if (first === undefined || last === undefined) return [];
  const years = all
    .filter((row) => wholeMonths(row.first, row.last) !== null)
    .flatMap((row) => [yearOf(row.first), yearOf(row.last)]);
  const told = new Set(earned.filter(({ kind }) => kind === 'calendar_year').map((found) => yearOf(found.first)));
  const missing = unique(years).filter((year) => first <= `${year}-01` && `${year}-12` <= last && !told.has(year));
  const hasTtm = earned.some(({ kind }) => kind === 'ttm');
  return [...missing.map((year) => `FY${year}`), ...(!hasTtm && monthsBetween(first, last) >= 12n ? ['TTM'] : [])];
}

function periodsUnmatched(view: View): Found[] {
  const known = new Set([...datesByLabel(view).keys(), ...labelsWithoutGaps(view)]);
  const lost = Map.groupBy(
    view.books.adjustments.filter(({ period_label }) => !known.has(period_label)),
    ({ period_label }) => period_label,
  );
  return [...lost].map(([label, its]) => {
    const total = sum(its.map(({ amount }) => amount));
    return {
      kind: 'period_unmatched',
      of: label,
      sentence: `${counted(its.length, 'adjustment')} of ${spoken(total)} ${its.length === 1 ? 'is' : 'are'} of “${label}”, of which no figures were uploaded: ${its.length === 1 ? 'it counts' : 'they count'} nowhere.`,
      ask: 'Ask which period is meant, and enter it under the label of that period.',
      amounts: { total },
      rows: its.map(({ id }) => id).toSorted(byText),
    };
  });
}

// ---- Sudden changes of sign, scale and currency, and months that are alike.

/** Lines that have the same sign in every month of a healthy business. Tax, net income and EBITDA change theirs. */
const signed: readonly PlAmount[] = [
  'revenue',
  'cost_of_goods_sold',
  'operating_expenses',
  'owner_compensation',
  'depreciation_amortization',
  'interest_expense',
];

/** Rows as long as each other, of one length after the other: a year is compared with years. */
function series(rows: readonly Row[]): Row[][] {
  return [...Map.groupBy(rows, ({ first, last }) => `${wholeMonths(first, last) ?? ''}`).entries()]
    .filter(([length]) => length !== '')
    .map(([, its]) => its);
}

/** Fewer rows than this say nothing of what is usual. */
const usualFrom = 4;

interface SignFault {
  readonly row: Row;
  readonly name: PlAmount;
  readonly amount: Decimal;
}

function signFaults(rows: readonly Row[]): SignFault[] {
  return series(rows).flatMap((its) =>
    signed.flatMap((name) => {
      const told = its.flatMap((row) => {
        const amount = row.amounts[name];
        return amount && !isZero(amount) ? [{ row, name, amount }] : [];
      });
      const below = told.filter(({ amount }) => isNegative(amount));
      const above = told.filter(({ amount }) => isPositive(amount));
      const [few, many] = below.length < above.length ? [below, above] : [above, below];
      // One in eight at most is sudden; more is how these books are kept.
      return told.length >= usualFrom && BigInt(few.length) * 8n <= BigInt(many.length) + 4n ? few : [];
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

function currenciesOff({ rows, byDates, otherCurrency, customers, months, pieces }: View): Found[] {
  const currency = rows[0]?.currency ?? '';
  const others = Map.groupBy(otherCurrency, (row) => row.currency);
  const ofPeriods = [...others].map(([other, its]): Found => {
    const revenue = sum(its.map(({ amounts }) => amounts.revenue ?? zero));
    return {
      kind: 'currency',
      of: other,
      says: its.map(datesOf).toSorted(byText),
      sentence: `${listed(its.map(labelOf))} ${its.length === 1 ? 'is' : 'are'} in ${other}, ${rows.length === 1 ? 'the latest period' : 'the others'} in ${currency}: revenue of ${spoken(revenue)} ${other} is added to nothing.`,
      ask: 'Ask in which currency the books are kept, and upload all periods in it.',
      amounts: { revenue },
      rows: its.map(({ id }) => id),
    };
  });
  const ofCustomers = customerPeriods(customers).flatMap((its): Found[] => {
    const [one] = its;
    const told = one && (byDates.get(datesOf(one)) ?? partsOf(one.first, one.last, { months, pieces })?.[0]);
    const foreign = told ? its.filter((customer) => customer.currency !== told.currency) : [];
    if (!one || !told || foreign.length === 0) return [];
    const revenue = sum(foreign.map((customer) => customer.revenue));
    return [
      {
        kind: 'currency',
        of: `customers ${one.first} ${one.last}`,
        sentence: `${counted(foreign.length, 'customer')} of ${one.first} to ${one.last} ${foreign.length === 1 ? 'is' : 'are'} in ${listed(unique(foreign.map((customer) => customer.currency)))}, the profit and loss in ${told.currency}.`,
        ask: 'Ask in which currency these customers were billed.',
        amounts: { revenue },
        rows: foreign.map(({ id }) => id).slice(0, 20),
      },
    ];
  });
  return [...ofPeriods, ...ofCustomers];
}

function monthsAlike({ months }: View): Found[] {
  const its = [...months.values()].filter(({ amounts }) => {
    const told = plAmounts.filter((name) => amounts[name] && !isZero(amounts[name]));
    return told.includes('revenue') && told.length > 1;
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

const digest = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

function withKey({ of, says = [], ...told }: Found): Contradiction {
  const amounts = Object.entries(told.amounts).flatMap(([name, amount]) => [name, written(amount)]);
  return { key: digest([told.kind, of]), figures: digest([told.kind, of, ...says, ...amounts]), ...told };
}

/** Customers of each period as the upload completed last that has it tells them. */
export const countingCustomers = oncePer(function countingCustomers({
  customers,
  uploads,
}: Pick<Books, 'customers' | 'uploads'>): BookedCustomer[] {
  const completed = agesOf(uploads);
  const latest = new Map<string, string>();
  for (const customer of customers) {
    const [dates, age] = [datesOf(customer), completed.get(customer.snapshot_id) ?? ''];
    if (age > (latest.get(dates) ?? '')) latest.set(dates, age);
  }
  return customers.filter((customer) => {
    const age = completed.get(customer.snapshot_id);
    return age !== undefined && latest.get(datesOf(customer)) === age;
  });
});

/** What contradicts itself in these books, in the order of the kinds and of time; what the order of rows and uploads is does not matter. */
export const contradictions = oncePer(function contradictions(books: Books): Contradiction[] {
  const { rows, otherCurrency } = resolved(books);
  const signs = signFaults(rows);
  const scales = scaleFaults(rows);
  const adjustments: Adjustment[] = books.adjustments.toSorted(
    (a, b) => byText(a.period_label, b.period_label) || byText(a.id, b.id),
  );
  const view: View = {
    books: { ...books, adjustments },
    rows,
    otherCurrency,
    months: new Map(rows.filter(isMonthRow).map((row) => [monthOf(row.first), row])),
    pieces: piecesOf(rows, 12n),
    byDates: new Map(rows.map((row) => [datesOf(row), row])),
    mended: mendedRows(signs, scales),
    earned: earnings(books),
    customers: countingCustomers(books).toSorted((a, b) => byText(a.id, b.id)),
  };
  const found = [
    ...monthsMissing(view),
    ...monthsTwice(view),
    ...yearUnlikeMonths(view),
    ...totalsOff(view),
    ...customersOff(view),
    ...ownerPayOff(view),
    ...oneTimeAgain(view),
    ...periodsUnmatched(view),
    ...signsOff(signs),
    ...scalesOff(scales),
    ...currenciesOff(view),
    ...monthsAlike(view),
  ];
  return found.map(withKey);
});
