/** The list of deals: searched, filtered, in one of several orders, in pages that begin behind a given row. */

import { anywhere, paged, type Page, type Place, type Placed } from '../../database/paging.ts';
import { rows, type Statement } from '../../database/statement.ts';
import {
  callerRole,
  callerSide,
  dealActiveAt,
  dealState,
  dealStates,
  fullDealFields,
  fullDealTables,
  type CallerRole,
  type FullDeal,
  type Side,
} from './deals.ts';
import { listedCounts, type ListedCounts } from './page.ts';

export interface DealRow extends FullDeal, ListedCounts {
  caller_role: CallerRole;
  side: Side;
}

const path = `array[${dealStates.map((state) => `'${state}'`).join(', ')}]`;

/** What the list can be sorted by: SQL and its type. A deal without a price comes last both ways. */
const keys = {
  updated_at: { sql: () => dealActiveAt, type: 'timestamptz' },
  created_at: { sql: () => 'd.created_at', type: 'timestamptz' },
  title: { sql: () => 'lower(d.title)', type: 'text' },
  asking_price: {
    sql: (descending: boolean) => `coalesce(d.asking_price, ${descending ? '-1' : '1e17'})`,
    type: 'numeric',
  },
  state: { sql: () => `array_position(${path}, ${dealState})`, type: 'int' },
} as const;

type Key = keyof typeof keys;
export type DealSort = Key | `-${Key}`;
export const dealSorts = (Object.keys(keys) as Key[]).flatMap((key): DealSort[] => [key, `-${key}`]);

export interface DealFilter {
  /** Words that must all occur in title, industry or location. */
  readonly words: readonly string[];
  readonly states: readonly string[] | null;
  readonly roles: readonly string[] | null;
  readonly after: Place | null;
  readonly limit: number;
}

type Found = DealRow & { sort_key: unknown };

function listing(sort: DealSort) {
  const descending = sort.startsWith('-');
  const { sql, type } = keys[sort.replace('-', '') as Key];
  const direction = descending ? 'desc' : 'asc';
  return rows<Placed<Found>>(
    `deal_list_${sort.replace('-', 'down_')}`,
    `select page.*, page.sort_key::text as place,${listedCounts('page.id')}
     from (
       select ${fullDealFields}, ${callerRole} as caller_role, ${callerSide} as side, ${sql(descending)} as sort_key
       from ${fullDealTables}
       where lower(concat_ws(' ', d.title, d.industry, d.location)) like all ($1::text[])
         and ($2::text[] is null or ${dealState} = any ($2))
         and ($3::text[] is null or ${callerRole} = any ($3))
         and ($4::text is null or (${sql(descending)}, d.id) ${descending ? '<' : '>'} ($4::${type}, $5::uuid))
       order by ${sql(descending)} ${direction}, d.id ${direction}
       limit $6) page
     order by page.sort_key ${direction}, page.id ${direction}`,
  );
}

const listings = new Map(dealSorts.map((sort) => [sort, listing(sort)]));

/** The deals that the caller sees, in pages. */
export function dealList(sort: DealSort, filter: DealFilter): Statement<Page<DealRow>> {
  const { words, states, roles, after, limit } = filter;
  const list = listings.get(sort);
  if (!list) throw new Error(`There is no order ${sort}.`);
  const found = list(words.map(anywhere), states, roles, after?.key, after?.id, limit + 1);
  return paged(found, limit, ({ sort_key: _key, ...deal }) => deal);
}
