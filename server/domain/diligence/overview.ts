/** Everything computed from a deal's books, for its page: decimals as text, lists limited in length (docs/books.md). */

import type { Books } from './books.ts';
import type { Day } from './calendar.ts';
import { contradictionsSummary, type AnswersInSight, type ContradictionSummary } from './contradiction-answers.ts';
import {
  concentration,
  concentrationIn,
  customerBridge,
  differenceOf,
  customerPeriods,
  type Concentration,
  type CustomerChange,
} from './customers.ts';
import { writtenOut } from './decimals.ts';
import { earnings, resolved, seasonality } from './earnings.ts';
import { memoized } from './caches.ts';
import { notCounted } from './not-counted.ts';
import { restatements } from './restatements.ts';

/** The maximum length of each list; the total count is returned along with the list. */
const most = { restated: 200, customers: 10, shares: 50, names: 20, contradictions: 100, periods: 120 } as const;

const largest = (changes: readonly CustomerChange[]) => ({
  count: changes.length,
  difference: differenceOf(changes),
  largest: changes.slice(0, most.customers),
});

function customersOf(books: Books) {
  const found = concentration(books);
  const bridge = customerBridge(books);
  return {
    concentration: found && {
      first: found.first,
      last: found.last,
      uploaded_periods: found.uploaded_periods,
      currency: found.currency,
      count: found.count,
      total: found.total,
      revenue: found.revenue,
      hhi: found.hhi,
      hhi_of_revenue: found.hhi_of_revenue,
      half: found.half,
      largest: found.largest,
      ebitda_without_largest: found.ebitda_without_largest,
      same_names: { count: found.same_names.length, items: found.same_names.slice(0, most.names) },
      left_out: { count: found.left_out.length, items: found.left_out.slice(0, most.customers) },
    },
    bridge: bridge && {
      ...bridge,
      kept: largest(bridge.kept),
      grown: largest(bridge.grown),
      shrunk: largest(bridge.shrunk),
      lost: largest(bridge.lost),
      new: largest(bridge.new),
      left_out: { count: bridge.left_out.length, items: bridge.left_out.slice(0, most.customers) },
    },
  };
}

/** The numbers of customers whose joint share is shown. */
const together = [1, 5, 10];

const largestShares = memoized(
  ({ first, last, uploaded_periods, currency, customers, count, total, revenue }: Concentration) =>
    writtenOut({
      period: { first, last, uploaded_periods, currency, count, total, revenue },
      items: customers.slice(0, most.shares).map((one) => ({
        customer_name: one.name,
        currency,
        revenue_total: one.revenue,
        revenue_share: one.share,
        share_of_revenue: one.share_of_revenue,
        cumulative_share: one.cumulative,
        cumulative_share_of_revenue: one.cumulative_of_revenue,
      })),
      largest: together.map((many) => {
        const upTo = customers.slice(0, many).at(-1);
        return {
          count: many,
          share: upTo?.cumulative ?? null,
          share_of_revenue: upTo?.cumulative_of_revenue ?? null,
        };
      }),
    }),
);

/**
 * The largest customers of the period of these dates (null: the latest period with customers), and the periods that
 * have customers.
 */
export function customersOnPage(books: Books, dates: { readonly first: Day; readonly last: Day } | null) {
  const found = dates === null ? concentration(books) : concentrationIn(books, dates);
  const periods = customerPeriods(books).map(({ first, last }) => ({ first, last }));
  return {
    ...(found ? largestShares(found) : { period: null, items: [], largest: [] }),
    periods: periods.slice(0, most.periods),
    period_count: periods.length,
  };
}

const shown = (found: readonly ContradictionSummary[]) => ({
  count: found.length,
  items: writtenOut(found.slice(0, most.contradictions)),
});

/** The computed figures that are the same for everybody who sees these books. */
const forAll = memoized(function forAll(books: Books) {
  const { currency, superseded } = resolved(books);
  const { rows, sentences } = notCounted(books);
  const restated = restatements(books);
  return writtenOut({
    currency,
    uploads: books.uploads,
    earnings: earnings(books),
    seasonality: seasonality(books),
    ...customersOf(books),
    restatements: { count: restated.length, items: restated.slice(0, most.restated) },
    counted: { rows, superseded: superseded.length, not_counted: sentences },
  });
});

/** Everything computed from these books, with the contradictions that the caller may see. */
export function qoeOverview(books: Books, sight: AnswersInSight) {
  const { open, explained } = contradictionsSummary(books, sight);
  return {
    ...forAll(books),
    contradictions: { ...shown(open), explained: shown(explained), all: sight.all, may_answer: sight.may_answer },
  };
}
