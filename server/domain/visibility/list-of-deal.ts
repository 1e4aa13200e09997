/** Lists of a deal's records, in pages that begin after a given row. Callers who cannot see the deal get null. */

import { behindPlace, type Order, type Place, type Placed } from '../../database/paging.ts';
import { mapped, rows, type Row, type Statement, type Value } from '../../database/statement.ts';

/** A list in one order. Filters are parameters from $5 on. */
interface Ordered extends Order {
  /** SQL of a row's columns, over `tables`. */
  readonly columns: string;
  /** SQL of the tables that the rows are read from, and of the deal that a row belongs to. */
  readonly tables: string;
  readonly deal: string;
  readonly where?: string;
}

/** SQL of at most $4 rows of deal `seen.deal`, each with its key as text in `place`. */
export const orderedRows = (list: Ordered): string => `
  select ${list.columns}, (${list.key})::text as place from ${list.tables}
  where ${list.deal} = seen.deal and ${behindPlace(list)}${list.where ? ` and ${list.where}` : ''}
  order by ${list.key} ${list.direction}, ${list.id} ${list.direction} limit $4`;

/** Declares a query of the same records by their ids, on any deal; returns those that the caller sees. */
export const recordsByIds = <Item>(
  name: string,
  { columns, tables, id }: Pick<Ordered, 'columns' | 'tables' | 'id'>,
): ((ids: readonly string[]) => Statement<Item[]>) =>
  rows<Item, [ids: readonly string[]]>(name, `select ${columns} from ${tables} where ${id} = any ($1)`);

type ListOfDeal<Item, Filters extends readonly Value[] = []> = (
  dealId: string,
  after: Place | null,
  limit: number,
  ...filters: Filters
) => Statement<Placed<Item>[] | null>;

/**
 * Declares a list by the SQL of its rows, as {@link orderedRows} builds it: the first `limit` rows after a place; null
 * when the caller does not see the deal.
 */
export function listOfDeal<Item extends object, Filters extends readonly Value[] = []>(
  name: string,
  list: string | Ordered,
): ListOfDeal<Item, Filters> {
  const text = typeof list === 'string' ? list : orderedRows(list);
  // `seen` has one row, so the join is a loop that keeps the order of the rows it reads.
  const found = rows<Row>(
    name,
    `select seen.deal as seen_deal, of_deal.* from (select app.seen_deal($1) as deal offset 0) seen
     left join lateral (select true as is_there, listed.* from (${text}) listed) of_deal on true`,
  );
  return (dealId, place, limit, ...filters) =>
    mapped(found(dealId, place?.key, place?.id, limit, ...filters), (all) => {
      if (all[0]?.['seen_deal'] == null) return null;
      return all
        .filter((row) => row['is_there'])
        .map(({ seen_deal: _deal, is_there: _there, ...row }) => row as Placed<Item>);
    });
}
