/** What is computed of a deal's books, as its page tells it: decimals written, lists bounded (docs/books.md). */

import type { Books } from './books.ts';
import type { Day } from './calendar.ts';
import {
  answerInShort,
  toldContradictions,
  type AnswersInSight,
  type ToldContradiction,
} from './contradiction-answers.ts';
import { concentration, customerBridge, type Concentration, type CustomerChange } from './customers.ts';
import { round, sum, written, type Decimal } from './decimals.ts';
import { earnings, resolved, seasonality } from './earnings.ts';
import { oncePer } from './kept.ts';
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

/** How many periods, contradictions (and of one kind) and names a summary has at most, and characters of an answer and of all contradictions. */
const brief = { periods: 4, contradictions: 6, ofKind: 2, names: 3, why: 100, characters: 600 } as const;

const inShort = (share: Decimal | null): Decimal | null => share && round(share, 4n);

/** A contradiction and the beginning of its answer: "… 10 less. Explained: the lease was prepaid." */
const inWords = ({ sentence, answer }: ToldContradiction): string =>
  answer ? `${sentence} ${answerInShort(answer, brief.why)}` : sentence;

const latestEarnings = oncePer(function latestEarnings(books: Books) {
  const found = earnings(books);
  if (found.length === 0) return null;
  const whole = found.filter(({ kind }) => kind !== 'partial_year');
  const told = [...whole, ...found.filter(({ kind }) => kind === 'partial_year')].slice(0, brief.periods);
  return writtenOut({
    columns: ['period', 'revenue', 'gross_margin', 'ebitda', 'ebitda_margin', 'adjusted_ebitda', 'sde'],
    earnings: told.map((one) => [
      one.label,
      one.amounts.revenue,
      inShort(one.gross_margin),
      one.reported_ebitda,
      inShort(one.ebitda_margin),
      one.adjusted_ebitda,
      one.sde,
    ]),
  });
});

/** Earnings of the latest periods and what contradicts itself, in few words: for assistants. Null without figures. */
export function earningsInShort(books: Books, sight: AnswersInSight) {
  const latest = latestEarnings(books);
  if (!latest) return null;
  const { open, explained } = toldContradictions(books, sight);
  const all = [...open, ...explained];
  let length = 0;
  const named = [...Map.groupBy(all, ({ kind }) => kind).values()]
    .flatMap((its) => its.slice(0, brief.ofKind))
    .slice(0, brief.contradictions)
    .map(inWords)
    .filter((text, place) => (length += text.length) <= brief.characters || place === 0);
  return {
    ...latest,
    ...(named.length > 0 ? { contradictions: named } : {}),
    ...(named.length < all.length ? { contradictions_in_all: all.length } : {}),
  };
}

function shortOf(books: Books, found: Concentration) {
  const latest = customerBridge(books);
  const bridge = latest?.after.last === found.last ? latest : null;
  const part = (changes: readonly CustomerChange[]) => ({
    customers: changes.length,
    difference: sum(changes.map(({ difference }) => difference)),
  });
  const earned = earnings(books).filter(({ kind, reported_ebitda }) => kind !== 'partial_year' && reported_ebitda);
  return writtenOut({
    ...(earned.length > 0
      ? { ebitda: Object.fromEntries(earned.slice(0, 3).map(({ label, reported_ebitda }) => [label, reported_ebitda])) }
      : {}),
    customers_in_all: found.customers.length,
    total: found.total,
    half_of_it_from_largest: found.half,
    ...(found.revenue ? { revenue_of_period: found.revenue } : {}),
    hhi: found.hhi,
    ...(found.ebitda_without_largest ? { ebitda_without_largest: found.ebitda_without_largest } : {}),
    ...(found.same_names.length > 0
      ? { names_perhaps_of_one: found.same_names.slice(0, brief.names).map(({ names }) => names) }
      : {}),
    ...(bridge
      ? {
          since: `${bridge.before.first} to ${bridge.before.last}`,
          total_then: bridge.before.total,
          kept: part(bridge.kept),
          grown: part(bridge.grown),
          shrunk: part(bridge.shrunk),
          lost: part(bridge.lost),
          new: part(bridge.new),
        }
      : {}),
  });
}

const shortOfEach = oncePer((books: Books) => oncePer((found: Concentration) => shortOf(books, found)));

/** What hangs on customers in the period that holds the day, and what became of them since the period before, in few words. */
export function customersInShort(books: Books, asOf: Day) {
  const found = concentration(books, asOf);
  return found && shortOfEach(books)(found);
}

const shown = (found: readonly ToldContradiction[]) => ({
  count: found.length,
  items: writtenOut(found.slice(0, most.contradictions)),
});

/** What everybody who sees these books is told of them. */
const forAll = oncePer(function forAll(books: Books) {
  const { currency, superseded, otherCurrency, rows } = resolved(books);
  const restated = restatements(books);
  return writtenOut({
    currency,
    uploads: books.uploads,
    earnings: earnings(books),
    seasonality: seasonality(books),
    ...customersOf(books),
    restatements: { count: restated.length, items: restated.slice(0, most.restated) },
    counted: { rows: rows.length, superseded: superseded.length, other_currency: otherCurrency.length },
  });
});

/** Everything that is computed of these books; of contradictions what the caller may see. */
export function qoeOverview(books: Books, sight: AnswersInSight) {
  const { open, explained } = toldContradictions(books, sight);
  return {
    ...forAll(books),
    contradictions: { ...shown(open), explained: shown(explained), all: sight.all, may_answer: sight.may_answer },
  };
}
