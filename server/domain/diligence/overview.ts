/** What is computed of a deal's books, as its page tells it: decimals written, lists bounded (docs/books.md). */

import { mapped, row, type Statement } from '../../database/statement.ts';
import type { Books } from './books.ts';
import { contradictions, type Contradiction } from './contradictions.ts';
import { concentration, customerBridge, type CustomerChange } from './customers.ts';
import { sum, written, type Decimal } from './decimals.ts';
import { earnings, resolved, seasonality } from './earnings.ts';
import { restatements } from './restatements.ts';

/** A value with its decimals as strings. */
export type Written<T> = T extends Decimal
  ? string
  : T extends readonly (infer One)[]
    ? Written<One>[]
    : T extends object
      ? { -readonly [K in keyof T]: Written<T[K]> }
      : T;

const isDecimal = (value: object): value is Decimal => 'units' in value && typeof value.units === 'bigint';

/** The same with every decimal written out. */
export function writtenOut<T>(value: T): Written<T> {
  const out = (each: unknown): unknown => {
    if (typeof each !== 'object' || each === null) return each;
    if (Array.isArray(each)) return each.map(out);
    if (isDecimal(each)) return written(each);
    return Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, out(inner)]));
  };
  return out(value) as Written<T>;
}

const sees = row<{ all: boolean }, [dealId: string]>(
  'sees_every_contradiction',
  `select d.id = any ((select app.deals_as('broker', 'seller'))::uuid[]) as all from deals d where d.id = $1`,
);

/** Whether the caller sees contradictions as they are found: the brokers' and the sellers' side. */
export const seesContradictions = (dealId: string): Statement<boolean> =>
  mapped(sees(dealId), (found) => found?.all ?? false);

/** How many of each list are told; beside it stands how many there are. */
const most = { restated: 200, customers: 10, names: 20, contradictions: 100 } as const;

const largest = (changes: readonly CustomerChange[]) => ({
  count: changes.length,
  difference: sum(changes.map(({ difference }) => difference)),
  largest: changes.slice(0, most.customers),
});

function customersOf(books: Books) {
  const found = concentration(books);
  const bridge = customerBridge(books);
  return {
    concentration: found && {
      first: found.first,
      last: found.last,
      currency: found.currency,
      count: found.customers.length,
      total: found.total,
      revenue: found.revenue,
      hhi: found.hhi,
      hhi_of_revenue: found.hhi_of_revenue,
      half: found.half,
      largest: found.customers[0] ?? null,
      ebitda_without_largest: found.ebitda_without_largest,
      same_names: found.same_names.slice(0, most.names),
    },
    bridge: bridge && {
      ...bridge,
      kept: largest(bridge.kept),
      grown: largest(bridge.grown),
      shrunk: largest(bridge.shrunk),
      lost: largest(bridge.lost),
      new: largest(bridge.new),
    },
  };
}

/** Everything that is computed of these books, with the contradictions that the caller may see. */
export function qoeOverview(books: Books, seen: (all: Contradiction[]) => Contradiction[]) {
  const { currency, superseded, otherCurrency, rows } = resolved(books);
  const restated = restatements(books);
  return writtenOut({
    currency,
    uploads: books.uploads,
    earnings: earnings(books),
    seasonality: seasonality(books),
    contradictions: seen(contradictions(books)).slice(0, most.contradictions),
    ...customersOf(books),
    restatements: { count: restated.length, items: restated.slice(0, most.restated) },
    counted: { rows: rows.length, superseded: superseded.length, other_currency: otherCurrency.length },
  });
}
