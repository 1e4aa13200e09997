/** The uploaded figures of a deal, read completely in one statement for all computations (docs/books.md). */

import { mapped, row, type Statement } from '../../database/statement.ts';
import { byText, type Day } from './calendar.ts';
import { decimal, decimalOrNull, type Decimal } from './decimals.ts';
import { DealCache } from './caches.ts';
import type { AdjustmentCategory } from './normalizations.ts';
import { plAmounts, type PlAmount } from './snapshots.ts';

/** A completed upload. */
export interface Upload {
  readonly id: string;
  /** RFC 3339 in UTC. */
  readonly completed_at: string;
  readonly source_name: string | null;
}

/**
 * A sort key by upload id: greater for an upload completed later or, of two completed at the same time, with the
 * greater id.
 */
export const agesOf = (uploads: readonly Upload[]): ReadonlyMap<string, string> =>
  new Map(uploads.map(({ id, completed_at }) => [id, `${completed_at} ${id}`]));

/** A row of profit and loss in one upload. */
export interface BookedPeriod {
  readonly id: string;
  readonly snapshot_id: string;
  readonly label: string;
  readonly first: Day;
  readonly last: Day;
  readonly currency: string;
  readonly amounts: Readonly<Record<PlAmount, Decimal | null>>;
}

/** The dates of a row as one text: a key for comparing rows by their dates. */
export const datesOf = ({ first, last }: Pick<BookedPeriod, 'first' | 'last'>): string => `${first} ${last}`;

/** The revenue of one customer in one period, in one upload. */
export interface BookedCustomer {
  readonly id: string;
  readonly snapshot_id: string;
  readonly name: string;
  readonly first: Day;
  readonly last: Day;
  readonly currency: string;
  readonly revenue: Decimal;
}

export interface Adjustment {
  readonly id: string;
  readonly period_label: string;
  readonly category: AdjustmentCategory;
  readonly amount: Decimal;
  /** The currency that it was recorded in; null when that was not stored yet, and then it counts in any. */
  readonly currency?: string | null;
  readonly rationale: string | null;
}

/** The contents of a deal's books, unordered except for adjustments, which are latest first. */
export interface Books {
  /** The deal's own currency, used where no figures state another. */
  readonly currency: string;
  readonly uploads: readonly Upload[];
  readonly periods: readonly BookedPeriod[];
  readonly customers: readonly BookedCustomer[];
  /** Those in the currency of the figures. */
  readonly adjustments: readonly Adjustment[];
  /** Those in another currency than the figures: they are part of no sum. */
  readonly adjustments_left_out?: readonly Adjustment[];
}

type Dated = Pick<BookedPeriod, 'first' | 'last'>;

/** Orders periods by their last day, then by their first. */
export const inOrder = (a: Dated, b: Dated): number => byText(a.last, b.last) || byText(a.first, b.first);

/**
 * The currency of all figures: that of the row that ends last (of the same dates, of the upload completed last). The
 * trigger on normalizations takes the currency of an adjustment from the same row.
 */
export function currencyOfBooks({
  currency,
  uploads,
  periods,
}: Pick<Books, 'currency' | 'uploads' | 'periods'>): string {
  const completed = agesOf(uploads);
  const age = ({ snapshot_id }: BookedPeriod): string => completed.get(snapshot_id) ?? '';
  let latest: BookedPeriod | undefined;
  for (const one of periods) {
    const isLater =
      latest === undefined || (inOrder(one, latest) || byText(age(one), age(latest)) || byText(latest.id, one.id)) > 0;
    if (completed.has(one.snapshot_id) && isLater) latest = one;
  }
  return latest?.currency ?? currency;
}

/**
 * The maximum numbers of uploads, profit and loss rows, customer rows (of whole uploads) and adjustments that are read,
 * latest first.
 */
export const mostRows = { uploads: 200, periods: 3000, customers: 20_000, adjustments: 1000 } as const;

/** SQL for the books of a deal that the caller sees, in the format of {@link readBooks}. */
const writtenBooks = (deal: string): string =>
  `app.written_books(${deal}, ${mostRows.uploads}, ${mostRows.periods}, ${mostRows.customers}, ${mostRows.adjustments})`;

type DecimalsAsText<T> = { [K in keyof T]: T[K] extends Decimal ? string : T[K] };

/** The customers of one upload with the same dates and currency. All lists have the same order. */
interface StoredListing extends Pick<BookedCustomer, 'snapshot_id' | 'first' | 'last' | 'currency'> {
  /** Separated by spaces, as are the revenues. */
  ids: string;
  names: string[];
  revenues: string;
}

interface StoredBooks {
  currency: string;
  uploads: Upload[];
  periods: (Omit<BookedPeriod, 'amounts'> & { amounts: (string | null)[] })[];
  customers: StoredListing[];
  adjustments: DecimalsAsText<Adjustment>[];
}

/** The result of {@link unheldBooks}. */
export interface FoundBooks {
  readonly digest: string;
  /** The result of {@link writtenBooks}; null when the node already holds the caller's books under this digest. */
  readonly books: string | null;
}

// The deal's currency, the completed uploads and the adjustments determine the books that the caller sees: completed
// uploads and adjustments never change, and a completed upload gets no more rows (docs/books.md).
/**
 * SQL: `s` with the digest of the caller's books of deal `$1`; {@link unheldBooks} selects it and, unless it is among
 * the digests `$2` held by the node, the books.
 */
export const booksInSight = `app.books_in_sight($1, ${mostRows.uploads}, ${mostRows.adjustments}) s`;
export const unheldBooks = `s.digest, case when s.digest <> all ($2) then ${writtenBooks('$1')} end as books`;

const stored = row<FoundBooks, [dealId: string, held: readonly string[]]>(
  'books_of_deal',
  `select ${unheldBooks} from ${booksInSight}`,
);

const amountsOf = (values: readonly (string | null)[]): BookedPeriod['amounts'] =>
  Object.fromEntries(plAmounts.map((name, place) => [name, decimalOrNull(values[place])])) as BookedPeriod['amounts'];

function customersOf({ ids, names, revenues, snapshot_id, first, last, currency }: StoredListing): BookedCustomer[] {
  const [idOf, revenueOf] = [ids.split(' '), revenues.split(' ')];
  return names.map((name, place) => ({
    id: idOf[place] ?? '',
    snapshot_id,
    name,
    first,
    last,
    currency,
    revenue: decimal(revenueOf[place] ?? ''),
  }));
}

/** Parses the result of {@link writtenBooks}. */
export function readBooks(written: string): Books {
  const { periods: storedPeriods, customers, adjustments: all, ...rest } = JSON.parse(written) as StoredBooks;
  const periods = storedPeriods.map((period) => ({ ...period, amounts: amountsOf(period.amounts) }));
  const currency = currencyOfBooks({ ...rest, periods });
  const adjustments = all.map((adjustment) => ({ ...adjustment, amount: decimal(adjustment.amount) }));
  const counts = ({ currency: its = null }: Adjustment): boolean => its === null || its === currency;
  return {
    ...rest,
    periods,
    customers: customers.flatMap(customersOf),
    adjustments: adjustments.filter(counts),
    adjustments_left_out: adjustments.filter((one) => !counts(one)),
  };
}

/** The books for a caller who does not see the deal. */
export const noBooks: Books = { currency: 'USD', uploads: [], periods: [], customers: [], adjustments: [] };

// Sizes are characters of the database's text; in memory, books take three times as many bytes.
const cache = new DealCache<Books>({ size: 16_000_000, ofOne: 8_000_000, ofDeal: 2 });

/**
 * The deal's books held by this node, by digest; and `take`, which returns and keeps the books of a {@link unheldBooks}
 * result.
 */
export function holdings(dealId: string) {
  const held = cache.of(dealId);
  return {
    held,
    take(found: FoundBooks | null): Books {
      if (found === null) return noBooks;
      const known = held.get(found.digest);
      if (known) return known;
      if (found.books === null) return noBooks;
      const books = readBooks(found.books);
      cache.keep(dealId, found.digest, books, found.books.length);
      return books;
    },
  };
}

/**
 * The books of the deal that the transaction is narrowed to, as far as the caller sees them; empty for callers outside
 * its QoE workspace.
 */
export function booksOf(dealId: string): Statement<Books> {
  const { held, take } = holdings(dealId);
  return mapped(stored(dealId, [...held.keys()]), take);
}
