/** Handing deals that a member runs over to another broker of the brokerage, without removing the member. */

import { mapped, row, takingLong, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';

/** At most this many deals of a member are listed, and chosen one by one. */
export const mostDealsChosen = 200;

/** An open deal that a member runs. */
interface DealRun {
  id: string;
  title: string;
  /** Whether no other member of the brokerage runs it. */
  alone: boolean;
}

export interface DealsRun {
  /** The newest {@link mostDealsChosen}. */
  items: DealRun[];
  /** Number of all of them. */
  count: number;
}

const runBy = row<DealsRun, [brokerageId: string, userId: string]>(
  'deals_run_by',
  `select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'title', d.title, 'alone', d.alone) order by d.nr), '[]') as items,
     coalesce(max(d.number_of_all), 0)::int as count
   from app.deals_run_by($1, $2, ${mostDealsChosen}) with ordinality d (id, title, alone, number_of_all, nr)`,
);

/** The open deals that a member runs; empty unless the caller is an admin of the brokerage. */
export const dealsRunBy = (brokerageId: string, userId: string): Statement<DealsRun> =>
  mapped(runBy(brokerageId, userId), (found) => found ?? { items: [], count: 0 });

/** Which deals are handed over: all that the member runs, those without another broker, or the chosen ones. */
export type DealsHandedOver = 'all' | 'alone' | readonly string[];

const handOver = row<
  { count: number | null },
  [string, string, string, string, readonly string[], boolean, string | null, string | null]
>('hand_over_deals', 'select app.hand_over_deals($1, $2, $3, $4, $5, $6, $7, $8) as count');

/**
 * Makes the successor a broker of open deals that the member runs, at once; with `leaves`, the member leaves these
 * deals. For admins. Returns the number of deals; null: there is no such active member whom the caller administers.
 * Refused with `not_a_broker` unless the successor is another active admin or broker, and with `successor_takes_part`
 * if they sell or buy in one of the deals.
 */
export function handOverDeals(
  brokerageId: string,
  userId: string,
  successorId: string,
  deals: DealsHandedOver,
  leaves: boolean,
  { address, requestId }: Origin,
): Statement<number | null> {
  const [which, chosen] = typeof deals === 'string' ? [deals, []] : ['chosen', deals];
  return takingLong(
    mapped(
      handOver(brokerageId, userId, successorId, which, chosen, leaves, address, requestId),
      (answer) => answer?.count ?? null,
    ),
  );
}
