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

/** The first `limit` rows of a query that asks for one more than that, each as `shown` makes it, which comes without `place`. */
export const paged = <Row extends { id: string }, Item>(
  query: Statement<Placed<Row>[]>,
  limit: number,
  shown: (row: Omit<Placed<Row>, 'place'>) => Item,
): Statement<Page<Item>> =>
  mapped(query, (found) => {
    const last = found.length > limit ? found[limit - 1] : undefined;
    return {
      items: found.slice(0, limit).map(({ place: _place, ...row }) => shown(row)),
      next: last ? { key: last.place, id: last.id } : null,
    };
  });

/** The words of a search, at most eight. */
export const searchWords = (search: string): string[] => search.trim().split(/\s+/).filter(Boolean).slice(0, 8);

/** As a pattern for LIKE on text in lower case that matches the word anywhere. */
export const anywhere = (word: string): string => `%${word.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
