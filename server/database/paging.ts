/** Lists in pages that begin behind a given row: a query is asked for one row more than a page shows, to know whether there is more. */

import { mapped, type Statement } from './statement.ts';

/** The row behind which a page begins: its sort key as text, and its id. */
export interface Place {
  readonly key: string;
  readonly id: string;
}

export interface Page<Item> {
  items: Item[];
  /** The place of the last item, when there are more. */
  next: Place | null;
}

/** A row of a list with its sort key as text, in the column `place`. */
export type Placed<Row> = Row & { place: string };

/** What a list is ordered by, and of which type that is; rows with the same follow by `id`. */
export interface Order {
  readonly key: string;
  readonly type: 'timestamptz' | 'date' | 'int';
  readonly id: string;
  readonly direction: 'asc' | 'desc';
}

/** What comes before every row, by the type of the key. */
const before = {
  desc: { timestamptz: 'infinity', date: 'infinity', int: '2147483647', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' },
  asc: { timestamptz: '-infinity', date: '-infinity', int: '-2147483648', id: '00000000-0000-0000-0000-000000000000' },
} as const;

/**
 * SQL: whether a row comes behind the place in $2 and $3, where there is one. A comparison alone, so that an index answers it, and by `case`: below policies
 * PostgreSQL looks into an index only for what it knows to tell nothing about rows, which coalesce() is not.
 */
export function behindPlace({ key, type, id, direction }: Order): string {
  const first = before[direction];
  const orFirst = (parameter: string, of: string, value: string) =>
    `case when ${parameter}::${of} is null then '${value}' else ${parameter} end`;
  return `(${key}, ${id}) ${direction === 'desc' ? '<' : '>'} (${orFirst('$2', type, first[type])}, ${orFirst('$3', 'uuid', first.id)})`;
}

/** The first `limit` of at most one more rows than that, each as `shown` makes it, which comes without `place`. */
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
 * As {@link pageOf}, where a row of `found` may be only the place that was reached, when too many before it are hidden: the next page begins behind it, and what
 * was found behind it comes then.
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

/** The first `limit` rows of a query that asks for one more than that. */
export const paged = <Row extends { id: string }, Item>(
  query: Statement<Placed<Row>[]>,
  limit: number,
  shown: (row: Omit<Placed<Row>, 'place'>) => Item,
): Statement<Page<Item>> => mapped(query, (found) => pageOf(found, limit, shown));

/** How many words of a search count. */
export const mostSearchWords = 8;

/** The words of a text. */
export const wordsIn = (text: string): string[] => text.trim().split(/\s+/).filter(Boolean);

/** The words of a search that count. */
export const searchWords = (search: string): string[] => wordsIn(search).slice(0, mostSearchWords);

/**
 * As a pattern for LIKE that matches the word anywhere. What it is for puts it into lower case as it does the rows: PostgreSQL and JavaScript do not write every
 * letter alike (Σ at the end of a word, İ).
 */
export const anywhere = (word: string): string => `%${word.replace(/[\\%_]/g, '\\$&')}%`;
