/** The list of deals: searched, filtered, sorted in one of several orders, and paginated by cursor. */

import { anywhere, paged, type Page, type Place, type Placed } from '../../database/paging.ts';
import { rows, type Statement } from '../../database/statement.ts';
import { dealStates, sightColumns, type CallerRole, type FullDeal, type Side } from './deals.ts';
import type { ListedCounts } from './page.ts';

export interface DealRow extends FullDeal, ListedCounts {
  caller_role: CallerRole;
  side: Side;
}

const path = `array[${dealStates.map((state) => `'${state}'`).join(', ')}]`;

/**
 * The sort keys of the list: SQL over a row `s` of app.deal_keys(), and its type. Deals without a price come last in
 * both directions.
 */
const keys = {
  updated_at: { sql: () => 's.active_at', type: 'timestamptz' },
  created_at: { sql: () => 's.created_at', type: 'timestamptz' },
  title: { sql: () => 'app.folded(s.title)', type: 'text' },
  asking_price: {
    sql: (descending: boolean) => `coalesce(s.asking_price, ${descending ? '-1' : '1e17'})`,
    type: 'numeric',
  },
  state: { sql: () => `array_position(${path}, s.state)`, type: 'int' },
} as const;

type Key = keyof typeof keys;
export type DealSort = Key | `-${Key}`;
/** Every order of the list of deals; a minus sign means descending. */
export const dealSorts = (Object.keys(keys) as Key[]).flatMap((key): DealSort[] => [key, `-${key}`]);

export interface DealFilter {
  /** Words that must all occur in title, industry or location. */
  readonly words: readonly string[];
  readonly states: readonly string[] | null;
  readonly roles: readonly string[] | null;
  /**
   * The id of the person who runs them, of the deals that the caller runs or whose brokerage they administer; 'none' for
   * those open deals of brokerages that the caller administers of which no member is broker.
   */
  readonly broker: string | null;
  readonly after: Place | null;
  readonly limit: number;
}

type Found = DealRow & { sort_key: unknown };

function listing(sort: DealSort) {
  const descending = sort.startsWith('-');
  const key = sort.replace('-', '') as Key;
  const { sql, type } = keys[key];
  // A cursor that the release before gave out has a title in lower case, with its accents.
  const place = key === 'title' ? 'app.folded($4)' : `$4::${type}`;
  const direction = descending ? 'desc' : 'asc';
  // The last activity is looked up only for the deals on the page, unless the list is sorted by it.
  const byActivity = key === 'updated_at';
  return rows<Placed<Found>>(
    `deal_list_${sort.replace('-', 'down_')}`,
    `with seen as (
       select s.* from app.deal_keys($1, ${byActivity}) s
       where ($2::text[] is null or s.state = any ($2)) and ($3::text[] is null or s.caller_role = any ($3))
         and ($7::text is null or s.id in (select app.deals_of_broker(nullif($7, 'none')::uuid)))),
     found as materialized (
       select s.id, s.active_at, ${sql(descending)} as sort_key from seen s
       where $4::text is null or (${sql(descending)}, s.id) ${descending ? '<' : '>'} (${place}, $5::uuid)
       order by ${sql(descending)} ${direction}, s.id ${direction}
       limit $6),
     activity as materialized (
       ${byActivity ? 'select f.id as deal_id, f.active_at as at from found f' : 'select a.* from app.last_activity(array(select f.id from found f)) a'})
     select ${sightColumns('l')}, greatest(l.updated_at, a.at) as updated_at, l.organization_name, l.industry, l.location, l.summary,
       trim_scale(l.asking_price) as asking_price, l.currency, l.needs_nda, l.caller_role, l.side, f.sort_key,
       f.sort_key::text as place, l.questions_waiting, l.offers
     from found f
     join app.deal_rows(array(select f.id from found f)) l on l.id = f.id
     left join activity a on a.deal_id = f.id
     order by f.sort_key ${direction}, f.id ${direction}`,
  );
}

const listings = new Map(dealSorts.map((sort) => [sort, listing(sort)]));

/** The deals that the caller sees, paginated. */
export function dealList(sort: DealSort, filter: DealFilter): Statement<Page<DealRow>> {
  const { words, states, roles, broker, after, limit } = filter;
  const list = listings.get(sort);
  if (!list) throw new Error(`There is no order ${sort}.`);
  const patterns = words.length === 0 ? null : words.map(anywhere);
  const found = list(patterns, states, roles, after?.key, after?.id, limit + 1, broker);
  return paged(found, limit, ({ sort_key: _key, ...deal }) => deal);
}
