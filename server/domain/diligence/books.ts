/** The uploaded figures of a deal, read whole in one statement, for everything that is computed of them (docs/books.md). */

import { mapped, row, type Statement } from '../../database/statement.ts';
import type { Day } from './calendar.ts';
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

/** When each upload was completed, by its id: the greater text is the later one, of two at once that of the greater id. */
export const agesOf = (uploads: readonly Upload[]): ReadonlyMap<string, string> =>
  new Map(uploads.map(({ id, completed_at }) => [id, `${completed_at} ${id}`]));

/** A row of profit and loss as one upload has it. */
export interface BookedPeriod {
  readonly id: string;
  readonly snapshot_id: string;
  readonly label: string;
  readonly first: Day;
  readonly last: Day;
  readonly currency: string;
  readonly amounts: Readonly<Record<PlAmount, Decimal | null>>;
}

/** The dates of a row as one text, the same for rows of the same dates. */
export const datesOf = ({ first, last }: Pick<BookedPeriod, 'first' | 'last'>): string => `${first} ${last}`;

/** The revenue of one customer in one period, as one upload has it. */
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
  readonly rationale: string | null;
}

/** What a deal's books hold, in any order; adjustments the latest first. */
export interface Books {
  /** The deal's own, which counts where no figures say another. */
  readonly currency: string;
  readonly uploads: readonly Upload[];
  readonly periods: readonly BookedPeriod[];
  readonly customers: readonly BookedCustomer[];
  readonly adjustments: readonly Adjustment[];
}

/** The most that is computed with: uploads, rows of profit and loss, of customers (whole uploads), and of adjustments, the latest first. */
export const mostRows = { uploads: 200, periods: 3000, customers: 20_000, adjustments: 1000 } as const;

/** In SQL: the books of a deal as {@link readBooks} takes them, as far as the caller sees them. */
const writtenBooks = (deal: string): string =>
  `app.written_books(${deal}, ${mostRows.uploads}, ${mostRows.periods}, ${mostRows.customers}, ${mostRows.adjustments})`;

type DecimalsAsText<T> = { [K in keyof T]: T[K] extends Decimal ? string : T[K] };

/** The customers of one upload and the same dates and currency, in the same order in each list. */
interface StoredListing extends Pick<BookedCustomer, 'snapshot_id' | 'first' | 'last' | 'currency'> {
  /** Parted by spaces, as the revenues. */
  ids: string;
  names: string[];
  revenues: string;
}

/** Books as the database writes them. */
interface StoredBooks {
  currency: string;
  uploads: Upload[];
  periods: (Omit<BookedPeriod, 'amounts'> & { amounts: (string | null)[] })[];
  customers: StoredListing[];
  adjustments: DecimalsAsText<Adjustment>[];
}

/** {@link unheldBooks} as the database answers them. */
export interface FoundBooks {
  readonly digest: string;
  /** What {@link writtenBooks} gives; null where the caller sees books that are held under this digest. */
  readonly books: string | null;
}

// What the caller sees of the books is settled by the deal's currency, by which uploads have completed, and by which
// adjustments there are: none of them changes, and an upload that has completed gets no more rows (docs/books.md).
/** In SQL: `s`, what settles the books in sight of deal `$1`; and, of them, what a node that holds those of the digests `$2` still lacks. */
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

/** Books from what {@link writtenBooks} gives. */
export function readBooks(written: string): Books {
  const { periods, customers, adjustments, ...rest } = JSON.parse(written) as StoredBooks;
  return {
    ...rest,
    periods: periods.map((period) => ({ ...period, amounts: amountsOf(period.amounts) })),
    customers: customers.flatMap(customersOf),
    adjustments: adjustments.map((adjustment) => ({ ...adjustment, amount: decimal(adjustment.amount) })),
  };
}

/** What who sees no such deal sees of its books. */
export const noBooks: Books = { currency: 'USD', uploads: [], periods: [], customers: [], adjustments: [] };

// In characters as the database wrote them; in memory they are three times as many bytes.
const cache = new DealCache<Books>({ size: 16_000_000, ofOne: 8_000_000, ofDeal: 2 });

/** What a node holds of a deal's books by digest, and what it makes of {@link unheldBooks}. */
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

/** What the caller sees of the books of the deal that the transaction is narrowed to: nothing for who is not in its QoE workspace. */
export function booksOf(dealId: string): Statement<Books> {
  const { held, take } = holdings(dealId);
  return mapped(stored(dealId, [...held.keys()]), take);
}
