/** How far a business depends on single customers, and how customers changed between two periods (docs/books.md). */

import { agesOf, type BookedCustomer, type BookedPeriod, type Books } from './books.ts';
import { byText, daysFrom, firstDayOf, isYearLong, monthAfter, monthOf, wholeMonths, type Day } from './calendar.ts';
import { withoutCustomer } from './coverage.ts';
import {
  absolute,
  add,
  compare,
  divide,
  isPositive,
  isZero,
  multiply,
  negate,
  subtract,
  sum,
  whole,
  zero,
  type Decimal,
} from './decimals.ts';
import { memoized } from './caches.ts';
import { ebitdaOf, grossProfitOf, isMonthRow, resolved, shareOf, together, type Resolved } from './earnings.ts';
import { rowsCovering, piecesOf } from './spans.ts';

interface CustomerShare {
  readonly name: string;
  readonly revenue: Decimal;
  /**
   * Share of the uploaded customers' revenue, and of the period's revenue in the profit and loss, to six decimal
   * places; null unless that revenue is above zero.
   */
  readonly share: Decimal | null;
  readonly share_of_revenue: Decimal | null;
  /** The shares of this and all larger customers together. */
  readonly cumulative: Decimal | null;
  readonly cumulative_of_revenue: Decimal | null;
}

type Dates = Pick<BookedCustomer, 'first' | 'last'>;

/** Names that may be the same customer. Only a person can merge them. */
interface SameName {
  readonly names: readonly string[];
  readonly revenue: Decimal;
}

/** A customer left out of all figures because their revenue is in another currency. */
type LeftOut = Pick<BookedCustomer, 'name' | 'first' | 'last' | 'currency' | 'revenue'>;

export interface Concentration {
  readonly first: Day;
  readonly last: Day;
  /** How many uploaded periods were added up to it; 1 for a period as uploaded. */
  readonly uploaded_periods: number;
  readonly currency: string;
  /** Largest first; computed on first access. */
  readonly customers: readonly CustomerShare[];
  readonly count: number;
  readonly largest: CustomerShare;
  readonly total: Decimal;
  /** Revenue in the profit and loss of the same dates; null where there is none. */
  readonly revenue: Decimal | null;
  /** EBITDA in the profit and loss of the same dates; null where there is none. */
  readonly ebitda: Decimal | null;
  /**
   * Herfindahl–Hirschman index, from near 0 to 10,000 (one customer): the sum of the squared percentage shares, rounded
   * to an integer.
   */
  readonly hhi: Decimal | null;
  readonly hhi_of_revenue: Decimal | null;
  /**
   * EBITDA of the same dates less the largest customer's gross profit at the overall margin; null where a part is
   * missing.
   */
  readonly ebitda_without_largest: Decimal | null;
  /** How many of the largest customers make up half of the uploaded revenue. */
  readonly half: number;
  readonly same_names: readonly SameName[];
  readonly left_out: readonly LeftOut[];
}

/** The last day of each customer period in the upload completed last, latest first. */
export function lastDaysOfCustomers({ uploads, customers }: Books): Day[] {
  const [latest] = [...agesOf(uploads)].toSorted(([, a], [, b]) => byText(b, a));
  const its = customers.filter(({ snapshot_id }) => snapshot_id === latest?.[0]);
  return [...new Set(its.map(({ last }) => last))].toSorted((a, b) => byText(b, a));
}

export interface CustomerChange {
  readonly name: string;
  readonly before: Decimal;
  readonly after: Decimal;
  readonly difference: Decimal;
}

/** The total difference in revenue of these changes. */
export const differenceOf = (changes: readonly CustomerChange[]): Decimal =>
  sum(changes.map(({ difference }) => difference));

/** From the revenue of one period to that of another: `before` plus the differences in the five lists is `after`. */
export interface CustomerBridge {
  readonly before: { readonly first: Day; readonly last: Day; readonly total: Decimal };
  readonly after: { readonly first: Day; readonly last: Day; readonly total: Decimal };
  readonly currency: string;
  /** Unchanged to the cent. */
  readonly kept: readonly CustomerChange[];
  readonly grown: readonly CustomerChange[];
  readonly shrunk: readonly CustomerChange[];
  readonly lost: readonly CustomerChange[];
  readonly new: readonly CustomerChange[];
  readonly left_out: readonly LeftOut[];
}

const largestFirst = (a: BookedCustomer, b: BookedCustomer): number =>
  compare(b.revenue, a.revenue) || byText(a.name, b.name) || byText(a.id, b.id);

const legalForms = new Set(
  'inc incorporated llc llp lp ltd limited corp corporation co company plc gmbh ag kg sa sarl sas bv nv pty ab as oy spa srl'.split(
    ' ',
  ),
);

/** A name without case, spaces, punctuation and legal form: "ACME, Inc." and "Acme LLC" become the same. */
export function plainName(name: string): string {
  // Most names are ASCII, where this path is several times faster.
  const isPlain = /^[ -~]*$/.test(name);
  const written = (isPlain ? name : name.normalize('NFKC')).toLowerCase().replace(/[.'’]/g, '');
  const words = written.split(isPlain ? /[^a-z0-9]+/ : /[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== '');
  while (words.length > 1 && legalForms.has(words.at(-1) ?? '')) words.pop();
  return words.join('');
}

function sameNames(customers: readonly BookedCustomer[]): SameName[] {
  return [...Map.groupBy(customers, ({ name }) => plainName(name)).entries()]
    .filter(([plain, its]) => plain !== '' && its.length > 1 && new Set(its.map(({ name }) => name)).size > 1)
    .toSorted(([a], [b]) => byText(a, b))
    .map(([, its]) => ({
      names: [...new Set(its.map(({ name }) => name))].toSorted(byText),
      revenue: sum(its.map(({ revenue }) => revenue)),
    }));
}

/**
 * The sum of the squared shares, times 10,000; computed from amounts, so that rounding errors of shares do not add up.
 */
function herfindahl(revenues: readonly Decimal[], all: Decimal | null): Decimal | null {
  if (!all || !isPositive(all)) return null;
  const squares = sum(revenues.map((revenue) => multiply(revenue, revenue)));
  return divide(multiply(squares, whole(10_000n)), multiply(all, all), 0n);
}

/**
 * The profit and loss rows that cover exactly these dates: a row of its own, otherwise rows that make up the dates,
 * otherwise their months; empty without these.
 */
export function rowsOf(first: Day, last: Day, { rows }: Resolved): readonly BookedPeriod[] {
  const own = rows.find((row) => row.first === first && row.last === last);
  if (own) return [own];
  const made = rowsCovering(first, last, piecesOf(rows, 12n));
  if (made) return made;
  const months = rows.filter((row) => isMonthRow(row) && first <= row.first && row.last <= last);
  return wholeMonths(first, last) === BigInt(months.length) ? months : [];
}

/** The customers of one period, from the upload completed last that has the period. */
interface Listing {
  readonly dates: string;
  readonly age: string;
  readonly its: BookedCustomer[];
}

/** The customers of each uploaded period, the period that ends last first, with the largest customers first. */
export const listings = memoized(function listings({
  customers,
  uploads,
}: Pick<Books, 'customers' | 'uploads'>): BookedCustomer[][] {
  const completed = agesOf(uploads);
  const found = new Map<string, Listing>();
  let before: BookedCustomer | undefined;
  let its: BookedCustomer[] | undefined;
  for (const one of customers) {
    // Most customers follow one of the same upload and dates.
    if (one.snapshot_id !== before?.snapshot_id || one.first !== before.first || one.last !== before.last) {
      const [dates, age] = [`${one.last} ${one.first}`, completed.get(one.snapshot_id) ?? ''];
      const held = found.get(dates);
      if (age > (held?.age ?? '')) found.set(dates, { dates, age, its: [] });
      its = age < (held?.age ?? '') || age === '' ? undefined : found.get(dates)?.its;
    }
    its?.push(one);
    before = one;
  }
  return [...found.values()]
    .toSorted((a, b) => byText(b.dates, a.dates))
    .map((listing) => listing.its.toSorted(largestFirst));
});

const leftOut = (listing: readonly BookedCustomer[], currency: string): LeftOut[] =>
  listing
    .filter((customer) => customer.currency !== currency)
    .map(({ name, first, last, currency: its, revenue }) => ({ name, first, last, currency: its, revenue }));

/**
 * The currency of the profit and loss if a customer has it, otherwise the first customer's: amounts in different
 * currencies cannot be compared.
 */
const currencyOf = (listing: readonly BookedCustomer[], { currency }: Pick<Resolved, 'currency'>): string =>
  listing.find((one) => one.currency === currency)?.currency ?? listing[0]?.currency ?? currency;

/** A customer's shares of the revenue; `before` is the revenue of all larger customers together. */
const shareIn = (
  { name, revenue: its }: BookedCustomer,
  { total, revenue, before }: Pick<Concentration, 'total' | 'revenue'> & { readonly before: Decimal },
): CustomerShare => {
  const reached = add(before, its);
  return {
    name,
    revenue: its,
    share: shareOf(its, total),
    share_of_revenue: shareOf(its, revenue),
    cumulative: shareOf(reached, total),
    cumulative_of_revenue: shareOf(reached, revenue),
  };
};

function sharesIn(its: readonly BookedCustomer[], of: Pick<Concentration, 'total' | 'revenue'>): CustomerShare[] {
  let before = zero;
  return its.map((customer) => {
    const share = shareIn(customer, { ...of, before });
    before = add(before, customer.revenue);
    return share;
  });
}

const concentrated = (books: Books, { customers: listing, uploaded }: CustomerPeriod): Concentration | null => {
  const counting = resolved(books);
  const currency = currencyOf(listing, counting);
  const one = listing.find((customer) => customer.currency === currency);
  if (!one) return null;
  const covering = counting.currency === one.currency ? rowsOf(one.first, one.last, counting) : [];
  const revenue = together(covering.map(({ amounts }) => amounts.revenue));
  const its = listing.filter((customer) => customer.currency === currency);
  const total = sum(its.map((customer) => customer.revenue));
  const revenues = its.map((customer) => customer.revenue);
  let shares: CustomerShare[] | undefined;
  const [gross, ebitda] = [
    together(covering.map(({ amounts }) => grossProfitOf(amounts))),
    together(covering.map(({ amounts }) => ebitdaOf(amounts))),
  ];
  const [largest] = revenues;
  const without =
    gross && ebitda && revenue && largest ? withoutCustomer(ebitda, largest, { revenue, grossProfit: gross }) : null;
  let half = 0;
  for (let reached = zero; half < revenues.length && compare(multiply(reached, whole(2n)), total) < 0; half += 1)
    reached = add(reached, revenues[half] ?? zero);
  return {
    first: one.first,
    last: one.last,
    uploaded_periods: uploaded,
    currency: one.currency,
    get customers() {
      return (shares ??= sharesIn(its, { total, revenue }));
    },
    count: its.length,
    largest: shareIn(one, { total, revenue, before: zero }),
    total,
    revenue,
    ebitda,
    hhi: herfindahl(revenues, total),
    hhi_of_revenue: herfindahl(revenues, revenue),
    ebitda_without_largest: without,
    half,
    same_names: sameNames(its),
    left_out: leftOut(listing, one.currency),
  };
};

/** A period with customers: as uploaded, or twelve months that shorter uploaded periods make up. */
interface CustomerPeriod extends Dates {
  /** Largest first. */
  readonly customers: readonly BookedCustomer[];
  /** How many uploaded periods it is made up of. */
  readonly uploaded: number;
}

const uploadedPeriods = memoized((books: Pick<Books, 'customers' | 'uploads'>): CustomerPeriod[] =>
  listings(books).flatMap((customers) => {
    const [one] = customers;
    return one ? [{ first: one.first, last: one.last, customers, uploaded: 1 }] : [];
  }),
);

const shorterPeriods = memoized((books: Pick<Books, 'customers' | 'uploads'>) => piecesOf(uploadedPeriods(books), 12n));

const yearsMade = memoized((_books: Pick<Books, 'customers' | 'uploads'>) => new Map<string, CustomerPeriod | null>());

const isYear = ({ first, last }: Dates): boolean => isYearLong(first, last);

function madeUp(books: Omit<Books, 'adjustments'>, { first, last }: Dates): CustomerPeriod | null {
  const parts = rowsCovering(first, last, shorterPeriods(books));
  if (!parts) return null;
  const all = parts.flatMap(({ customers }) => customers);
  const shown = currencyOf(all, resolved(books));
  // A part without customers in this currency would be missing from their year.
  if (!parts.every(({ customers }) => customers.some(({ currency }) => currency === shown))) return null;
  const each = Map.groupBy(all, ({ name, currency }) => `${currency} ${name}`);
  const customers = [...each.values()].flatMap(([one, ...more]) =>
    one ? [{ ...one, first, last, revenue: sum([one, ...more].map(({ revenue }) => revenue)) }] : [],
  );
  return { first, last, customers: customers.toSorted(largestFirst), uploaded: parts.length };
}

/** The customers of these dates, as uploaded, or of twelve months that shorter periods make up; null without these. */
function yearOfCustomers(books: Omit<Books, 'adjustments'>, dates: Dates): CustomerPeriod | null {
  const asUploaded = uploadedPeriods(books).find((one) => one.first === dates.first && one.last === dates.last);
  if (asUploaded) return asUploaded;
  if (!isYear(dates)) return null;
  const known = yearsMade(books);
  const key = `${dates.first} ${dates.last}`;
  const year = known.get(key) ?? madeUp(books, dates);
  known.set(key, year);
  return year;
}

/**
 * The periods with customers, the one that ends last first, twelve months before others that end the same day: those
 * uploaded, and the latest twelve months that shorter ones make up, with the twelve months before these, and so on.
 */
export const customerPeriods = memoized(function customerPeriods(books: Omit<Books, 'adjustments'>): CustomerPeriod[] {
  const uploaded = uploadedPeriods(books);
  const years: CustomerPeriod[] = [];
  for (const { first, last } of uploaded) {
    const months = wholeMonths(first, last);
    const before = years.at(-1)?.first;
    if (months === null || months >= 12n || (before !== undefined && last >= before)) continue;
    const year = yearOfCustomers(books, { first: firstDayOf(monthAfter(monthOf(last), -11n)), last });
    if (year) years.push(year);
  }
  const key = (one: CustomerPeriod) => `${one.last} ${isYear(one) ? 'year' : ''} ${one.first}`;
  return [...new Set([...uploaded, ...years])].toSorted((a, b) => byText(key(b), key(a)));
});

const concentrations = memoized((books: Books) => memoized((period: CustomerPeriod) => concentrated(books, period)));

const concentrationOf = (books: Books, period: CustomerPeriod | undefined): Concentration | null =>
  period === undefined ? null : concentrations(books)(period);

/** The concentration in the latest period with customers; null without one. */
export const concentration = (books: Books): Concentration | null => concentrationOf(books, customerPeriods(books)[0]);

/** The concentration in exactly these dates; null without customers. */
export const concentrationIn = (books: Books, dates: Dates): Concentration | null =>
  concentrationOf(
    books,
    customerPeriods(books).find(({ first, last }) => first === dates.first && last === dates.last),
  );

/**
 * The largest customer in the currency of `dates` over twelve months: those of the same dates where all of their months
 * have customers, otherwise the latest twelve months that have them, which are the customer's dates.
 */
export function largestOfYear(books: Books, dates: Dates & { readonly currency: string }): BookedCustomer | null {
  const year = yearOfCustomers(books, dates) ?? customerPeriods(books).find(isYear);
  return year?.customers.find(({ currency }) => currency === dates.currency) ?? null;
}

const largestChange = (a: CustomerChange, b: CustomerChange): number =>
  compare(absolute(b.difference), absolute(a.difference)) || byText(a.name, b.name);

/** Sums the revenue of customers that are listed twice. */
function revenuesOf(its: readonly BookedCustomer[]): Map<string, Decimal> {
  const revenues = new Map<string, Decimal>();
  for (const { name, revenue } of its) {
    const before = revenues.get(name);
    revenues.set(name, before ? add(before, revenue) : revenue);
  }
  return revenues;
}

/** The changes of customers between two listings, matched by exact name, in this currency only. */
function bridgeBetween(
  earlierAll: readonly BookedCustomer[],
  laterAll: readonly BookedCustomer[],
  currency: string,
): CustomerBridge | null {
  const inIt = (its: readonly BookedCustomer[]) => its.filter((customer) => customer.currency === currency);
  const [earlier, later] = [inIt(earlierAll), inIt(laterAll)];
  const [old, now] = [earlier[0], later[0]];
  if (!old || !now) return null;
  const [was, is] = [revenuesOf(earlier), revenuesOf(later)];
  const parts: Record<'kept' | 'grown' | 'shrunk' | 'lost' | 'new', CustomerChange[]> = {
    kept: [],
    grown: [],
    shrunk: [],
    lost: [],
    new: [],
  };
  for (const [name, after] of is) {
    const before = was.get(name);
    const difference = subtract(after, before ?? zero);
    const part =
      before === undefined ? 'new' : isZero(difference) ? 'kept' : isPositive(difference) ? 'grown' : 'shrunk';
    parts[part].push({ name, before: before ?? zero, after, difference });
  }
  for (const [name, before] of was) {
    if (!is.has(name)) parts.lost.push({ name, before, after: zero, difference: negate(before) });
  }
  const side = (one: BookedCustomer, its: readonly BookedCustomer[]) => ({
    first: one.first,
    last: one.last,
    total: sum(its.map(({ revenue }) => revenue)),
  });
  return {
    before: side(old, earlier),
    after: side(now, later),
    currency: now.currency,
    kept: parts.kept.toSorted(largestChange),
    grown: parts.grown.toSorted(largestChange),
    shrunk: parts.shrunk.toSorted(largestChange),
    lost: parts.lost.toSorted(largestChange),
    new: parts.new.toSorted(largestChange),
    left_out: [...leftOut(laterAll, currency), ...leftOut(earlierAll, currency)],
  };
}

/** Whether two periods have equally many whole months or, where neither has whole months, about equally many days. */
function isAsLong(a: Dates, b: Dates): boolean {
  const [its, others] = [wholeMonths(a.first, a.last), wholeMonths(b.first, b.last)];
  if (its !== null || others !== null) return its === others;
  const days = daysFrom(a.first, a.last);
  const difference = days - daysFrom(b.first, b.last);
  // A year of 53 weeks is less than 1/50 longer than one of 52.
  return 50n * (difference < 0n ? -difference : difference) < days;
}

/**
 * The changes to a period from the latest earlier one of the same length: to the latest period with customers and to
 * the latest as uploaded, without those that nothing of the same length precedes.
 */
export const customerBridges = memoized(function customerBridges(books: Omit<Books, 'adjustments'>): CustomerBridge[] {
  const periods = customerPeriods(books);
  return [...new Set([...periods.slice(0, 1), ...uploadedPeriods(books).slice(0, 1)])].flatMap((later) => {
    const earlier = periods.find((one) => one.last < later.first && isAsLong(later, one));
    const currency = currencyOf(later.customers, resolved(books));
    return (earlier && bridgeBetween(earlier.customers, later.customers, currency)) ?? [];
  });
});

/** The first of these; null without any. */
export const customerBridge = (books: Omit<Books, 'adjustments'>): CustomerBridge | null =>
  customerBridges(books)[0] ?? null;
