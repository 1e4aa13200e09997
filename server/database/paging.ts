/**
 * Lists in pages that begin after a given row: a query fetches one row more than a page shows, to know whether there
 * are more.
 */

import { mapped, type Statement } from './statement.ts';

/** The position of a row in a list: its sort key as text, and its id. A page begins after it. */
export interface Place {
  readonly key: string;
  readonly id: string;
}

export interface Page<Item> {
  items: Item[];
  /** The position of the last item; null when there are no more. */
  next: Place | null;
}

/** A row of a list with its sort key as text in the column `place`. */
export type Placed<Row> = Row & { place: string };

/** The sort key of a list and its type; rows with equal keys are ordered by `id`. */
export interface Order {
  readonly key: string;
  readonly type: 'timestamptz' | 'date' | 'int';
  readonly id: string;
  readonly direction: 'asc' | 'desc';
}

/** A position before every row, by the type of the key. */
const before = {
  desc: { timestamptz: 'infinity', date: 'infinity', int: '2147483647', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' },
  asc: { timestamptz: '-infinity', date: '-infinity', int: '-2147483648', id: '00000000-0000-0000-0000-000000000000' },
} as const;

/**
 * Returns the SQL condition that a row comes after the position in $2 and $3; true for every row when they are null. It
 * is a plain comparison, so that an index serves it, and uses `case`: under row-level policies PostgreSQL uses an index
 * only for leakproof conditions, and coalesce() is not leakproof.
 */
export function behindPlace({ key, type, id, direction }: Order): string {
  const first = before[direction];
  const orFirst = (parameter: string, of: string, value: string) =>
    `case when ${parameter}::${of} is null then '${value}' else ${parameter} end`;
  return `(${key}, ${id}) ${direction === 'desc' ? '<' : '>'} (${orFirst('$2', type, first[type])}, ${orFirst('$3', 'uuid', first.id)})`;
}

/**
 * Returns the page of the first `limit` rows, each converted by `shown`, which gets it without `place`. `found` has at
 * most one row more.
 */
export function pageOf<Row extends { id: string }, Item>(
  found: readonly Placed<Row>[],
  limit: number,
  shown: (row: Omit<Placed<Row>, 'place'>) => Item,
): Page<Item> {
  const last = found.length > limit ? found[limit - 1] : undefined;
  return {
    items: found.slice(0, limit).map(({ place: _place, ...row }) => shown(row)),
    next: last ? { key: last.place, id: last.id } : null,
  };
}

/**
 * Like {@link pageOf}, for queries that stop when too many rows are hidden: a row of `found` may then be only the
 * position that was reached. The page ends there, and the next one begins after that position.
 */
export function pageUpTo<Row extends { id: string }, Reached extends { id: string; place: string }, Item>(
  found: readonly (Placed<Row> | Reached)[],
  isReached: (one: Placed<Row> | Reached) => one is Reached,
  limit: number,
  shown: (row: Omit<Placed<Row>, 'place'>) => Item,
): Page<Item> {
  const rowsBefore: Placed<Row>[] = [];
  for (const one of found) {
    if (isReached(one)) {
      const { items, next } = pageOf(rowsBefore, limit, shown);
      return { items, next: next ?? { key: one.place, id: one.id } };
    }
    rowsBefore.push(one);
  }
  return pageOf(rowsBefore, limit, shown);
}

/** Returns the page of the first `limit` rows of a query that asks for one more. */
export const paged = <Row extends { id: string }, Item>(
  query: Statement<Placed<Row>[]>,
  limit: number,
  shown: (row: Omit<Placed<Row>, 'place'>) => Item,
): Statement<Page<Item>> => mapped(query, (found) => pageOf(found, limit, shown));

/** At most this many words of a search are taken from a request of an API key. */
export const mostSearchWords = 8;

/** Returns the words of a text, without the punctuation around them: `Jones, Sam` is searched as `Jones` and `Sam`. */
export const wordsIn = (text: string): string[] =>
  text
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => word.replace(/^[,;."“”()]+|[,;."“”()]+$/g, '') || word);

/** At most this many words of a search on a page count: each is a condition of its own. */
const mostWords = 20;

/** Returns the different words of a search, at most 20. */
export const searchWords = (search: string): string[] => [...new Set(wordsIn(search))].slice(0, mostWords);

/**
 * Returns a LIKE pattern that matches the word anywhere. The database folds it as it does the rows (`app.folded`):
 * PostgreSQL and JavaScript do not convert every letter alike (Σ at the end of a word, İ).
 */
export const anywhere = (word: string): string => `%${word.replace(/[\\%_]/g, '\\$&')}%`;
