/** Short summaries computed from a deal's books, which tools return along with records (docs/books.md). */

import type { BookedPeriod, Books } from './books.ts';
import {
  answerInShort,
  contradictionsSummary,
  type AnswersInSight,
  type ContradictionSummary,
} from './contradiction-answers.ts';
import {
  concentration,
  concentrationIn,
  customerBridges,
  differenceOf,
  type Concentration,
  type CustomerChange,
} from './customers.ts';
import { round, writtenOut, type Decimal } from './decimals.ts';
import { earnings, resolved } from './earnings.ts';
import { memoized } from './caches.ts';
import { notCounted } from './not-counted.ts';

/**
 * Limits of a summary: periods, periods in a trend, largest customers, contradictions, contradictions of one kind, names,
 * characters of an answer, and characters of all contradictions.
 */
const brief = {
  periods: 4,
  trend: 3,
  largest: 5,
  contradictions: 6,
  ofKind: 2,
  names: 3,
  why: 100,
  characters: 600,
} as const;

const inShort = (share: Decimal | null): Decimal | null => share && round(share, 4n);

/** A contradiction with the beginning of its answer: "… 10 less. Explained: “The lease was prepaid.”" */
const inWords = ({ sentence, answer }: ContradictionSummary): string =>
  answer ? `${sentence} ${answerInShort(answer, brief.why)}` : sentence;

const latestEarnings = memoized(function latestEarnings(books: Books) {
  const { currency } = resolved(books);
  const found = earnings(books);
  if (found.length === 0) return { currency };
  const whole = found.filter(({ kind }) => kind !== 'partial_year');
  const shown = [...whole, ...found.filter(({ kind }) => kind === 'partial_year')].slice(0, brief.periods);
  return writtenOut({
    currency,
    columns: [
      'period',
      'period_start_date',
      'period_end_date',
      'revenue',
      'gross_margin',
      'ebitda',
      'ebitda_margin',
      'adjusted_ebitda',
      'sde',
    ],
    earnings: shown.map((one) => [
      one.label,
      one.first,
      one.last,
      one.amounts.revenue,
      inShort(one.gross_margin),
      one.reported_ebitda,
      inShort(one.ebitda_margin),
      one.adjusted_ebitda,
      one.sde,
    ]),
  });
});

/**
 * A summary for assistants: earnings of the latest periods, which rows are in no total, and contradictions. Null without
 * any of these.
 */
export function earningsInShort(books: Books, sight: AnswersInSight) {
  const latest = latestEarnings(books);
  const { open, explained } = contradictionsSummary(books, sight);
  const all = [...open, ...explained];
  let length = 0;
  const ofEachKind = [...Map.groupBy(all, ({ kind }) => kind).values()].flatMap((its) => its.slice(0, brief.ofKind));
  const chosen = new Set(ofEachKind);
  const named = all
    .filter((one) => chosen.has(one))
    .slice(0, brief.contradictions)
    .map(inWords)
    .filter((text, place) => (length += text.length) <= brief.characters || place === 0);
  const { sentences: left } = notCounted(books);
  if (!('earnings' in latest) && all.length === 0 && left.length === 0) return null;
  return {
    ...latest,
    ...(left.length > 0 ? { left_out: left } : {}),
    ...(named.length > 0 ? { contradictions: named } : {}),
    ...(named.length < all.length ? { contradictions_in_all: all.length } : {}),
  };
}

function shortOf(books: Books, found: Concentration) {
  const bridge = customerBridges(books).find(({ after }) => after.first === found.first && after.last === found.last);
  const part = (changes: readonly CustomerChange[]) => ({
    customers: changes.length,
    difference: differenceOf(changes),
  });
  // The largest differences come first.
  const named = (changes: readonly CustomerChange[]) => ({
    ...part(changes),
    ...(changes.length > 0 ? { names: changes.slice(0, brief.names).map(({ name }) => name) } : {}),
  });
  const earned = earnings(books).filter(
    ({ kind, currency, reported_ebitda }) => kind !== 'partial_year' && currency === found.currency && reported_ebitda,
  );
  return writtenOut({
    ...(earned.length > 0
      ? {
          // Of other dates than the customers, therefore with their own.
          ebitda_trend: earned.slice(0, brief.trend).map(({ label, first, last, reported_ebitda: ebitda }) => ({
            period: label,
            period_start_date: first,
            period_end_date: last,
            ebitda,
          })),
        }
      : {}),
    // The rows are in several currencies; these figures are in one.
    ...(found.left_out.length > 0 ? { currency: found.currency } : {}),
    customers_in_all: found.count,
    total: found.total,
    half_of_it_from_largest: found.half,
    ...(found.revenue ? { revenue_of_period: found.revenue } : {}),
    ...(found.ebitda ? { ebitda_of_period: found.ebitda } : {}),
    ...(found.largest.share_of_revenue ? { largest_share_of_revenue: found.largest.share_of_revenue } : {}),
    hhi: found.hhi,
    ...(found.ebitda_without_largest ? { ebitda_without_largest: found.ebitda_without_largest } : {}),
    ...(found.same_names.length > 0
      ? { names_perhaps_of_one: found.same_names.slice(0, brief.names).map(({ names }) => names) }
      : {}),
    ...(bridge
      ? {
          since: `${bridge.before.first} to ${bridge.before.last}`,
          total_then: bridge.before.total,
          unchanged: part(bridge.kept),
          grown: part(bridge.grown),
          shrunk: part(bridge.shrunk),
          lost: named(bridge.lost),
          new: named(bridge.new),
        }
      : {}),
  });
}

const shortOfEach = memoized((books: Books) => memoized((found: Concentration) => shortOf(books, found)));

/** The largest of twelve months that the listed rows, of shorter periods, do not show. */
function ofYear(books: Books, found: Concentration) {
  const largest = found.customers.slice(0, brief.largest);
  return {
    ...writtenOut({
      first: found.first,
      last: found.last,
      periods_added_up: found.uploaded_periods,
      largest: Object.fromEntries(largest.map(({ name, share }) => [name, inShort(share)])),
    }),
    ...shortOfEach(books)(found),
  };
}

/**
 * A summary of the customers in exactly these dates, and of the changes since the period before, with one of the twelve
 * months that this period ends, if customers were uploaded by shorter periods; null without customers.
 */
export function customersInShort(books: Books, dates: Pick<BookedPeriod, 'first' | 'last'>) {
  const found = concentrationIn(books, dates);
  const year = concentration(books);
  return (
    found && {
      ...shortOfEach(books)(found),
      ...(year && year.uploaded_periods > 1 && year.last === found.last ? { twelve_months: ofYear(books, year) } : {}),
    }
  );
}
