/**
 * Earnings of a business, computed from its uploaded profit and loss: the last twelve months (TTM) and years, each with
 * its adjustments (docs/books.md). A year has twelve whole months, or 52 or 53 weeks; with fewer months, it is a partial
 * year, labeled with their number.
 */

import { agesOf, currencyOfBooks, datesOf, inOrder, type Adjustment, type BookedPeriod, type Books } from './books.ts';
import {
  byText,
  dayAfter,
  dayBefore,
  daysFrom,
  isYearLong,
  monthAfter,
  monthOf,
  monthsFrom,
  wholeMonths,
  yearOf,
  type Day,
  type Month,
} from './calendar.ts';
import { add, compare, divide, isPositive, sum, subtract, written, zero, type Decimal } from './decimals.ts';
import { memoized } from './caches.ts';
import { plAmounts, type PlAmount } from './snapshots.ts';
import { coverOf, piecesOf, weeksOf, weeksUpTo, type Cover, type Pieces, type Weeks } from './spans.ts';

type EarningsKind = 'ttm' | 'fiscal_year' | 'calendar_year' | 'partial_year';

/** The figures of one period. An amount is null where a row that counts lacks it. */
export interface Earnings {
  readonly kind: EarningsKind;
  /** The label that normalizations use: "TTM", "FY2025", "2026, 7 months". */
  readonly label: string;
  readonly first: Day;
  readonly last: Day;
  /** The months that the summed rows cover; empty when one row, or rows of weeks, cover the whole period. */
  readonly months: readonly Month[];
  /** The ids of the profit and loss rows that are summed. */
  readonly rows: readonly string[];
  readonly currency: string;
  readonly amounts: Readonly<Record<PlAmount, Decimal | null>>;
  readonly reported_ebitda: Decimal | null;
  readonly adjustments: readonly Adjustment[];
  readonly adjusted_ebitda: Decimal | null;
  /**
   * Seller's discretionary earnings: adjusted EBITDA plus the part of the owner's pay that no adjustment has added back
   * yet.
   */
  readonly sde: Decimal | null;
  readonly owner_pay_added: Decimal | null;
  /** Share of revenue, to six places. */
  readonly gross_margin: Decimal | null;
  readonly ebitda_margin: Decimal | null;
  readonly adjusted_ebitda_margin: Decimal | null;
  /** Compared with the period of the same length that ended a year before, to six places. */
  readonly revenue_growth: Decimal | null;
  /** Null where EBITDA was not above zero a year before. */
  readonly ebitda_growth: Decimal | null;
}

/** A row that does not count because another row covers the same dates. */
interface Superseded {
  readonly row: BookedPeriod;
  readonly by: BookedPeriod;
}

/** The rows that count, and the rows that do not. */
export interface Resolved {
  readonly currency: string;
  /** At most one row for each pair of dates, earliest first. */
  readonly rows: readonly BookedPeriod[];
  readonly superseded: readonly Superseded[];
  /** Rows in another currency than the latest row; they are part of no sum. */
  readonly otherCurrency: readonly BookedPeriod[];
}

/**
 * Decides which rows count: of rows with the same dates, the one whose upload was completed last (of uploads completed
 * at the same time, the one with the greater id), and only rows in the currency of the row that ends last.
 */
export const resolved = memoized(function resolved(books: Pick<Books, 'currency' | 'uploads' | 'periods'>): Resolved {
  const completed = agesOf(books.uploads);
  const age = ({ snapshot_id }: BookedPeriod): string => completed.get(snapshot_id) ?? '';
  const counting: BookedPeriod[] = [];
  const superseded: Superseded[] = [];
  for (const its of Map.groupBy(
    books.periods.filter(({ snapshot_id }) => completed.has(snapshot_id)),
    datesOf,
  ).values()) {
    const [by, ...others] = its.toSorted((a, b) => byText(age(b), age(a)) || byText(a.id, b.id));
    if (!by) continue;
    counting.push(by);
    for (const row of others) superseded.push({ row, by });
  }
  const all = counting.toSorted(inOrder);
  const currency = currencyOfBooks(books);
  return {
    currency,
    rows: all.filter((row) => row.currency === currency),
    superseded: superseded.toSorted((a, b) => inOrder(a.row, b.row) || byText(age(a.row), age(b.row))),
    otherCurrency: all.filter((row) => row.currency !== currency),
  };
});

/** EBITDA as uploaded, otherwise computed by its definition; null where a part of the definition is missing. */
export function ebitdaOf(amounts: BookedPeriod['amounts']): Decimal | null {
  const parts = [amounts.net_income, amounts.interest_expense, amounts.tax_expense, amounts.depreciation_amortization];
  return amounts.ebitda ?? together(parts);
}

/** Gross profit as uploaded, otherwise revenue less the cost of goods sold; null where these are missing too. */
export const grossProfitOf = ({ gross_profit, revenue, cost_of_goods_sold }: BookedPeriod['amounts']): Decimal | null =>
  gross_profit ?? (revenue && cost_of_goods_sold ? subtract(revenue, cost_of_goods_sold) : null);

/** The cost of goods sold as uploaded, otherwise revenue less gross profit; null where these are missing too. */
export const costOfGoodsOf = ({ cost_of_goods_sold, revenue, gross_profit }: BookedPeriod['amounts']): Decimal | null =>
  cost_of_goods_sold ?? (revenue && gross_profit ? subtract(revenue, gross_profit) : null);

/** The sum of the values; null where one of them is missing or there are none. */
export const together = (values: readonly (Decimal | null)[]): Decimal | null => {
  const there = values.filter((value) => value !== null);
  return there.length === values.length && there.length > 0 ? sum(there) : null;
};

/** Decimal places of shares, margins and growth. */
const shareDigits = 6n;

/** A part's share of the whole; null where either is missing or the whole is not above zero. */
export const shareOf = (part: Decimal | null, all: Decimal | null): Decimal | null =>
  part && all && isPositive(all) ? divide(part, all, shareDigits) : null;

/** Whether a row covers exactly one calendar month. */
export const isMonthRow = ({ first, last }: Pick<BookedPeriod, 'first' | 'last'>): boolean =>
  wholeMonths(first, last) === 1n;

const isYearRow = ({ first, last }: BookedPeriod): boolean => isYearLong(first, last);

/** Whether dates, of a year for instance, begin and end on other days than a month. */
const isOfWeeks = ({ first, last }: Pick<BookedPeriod, 'first' | 'last'>): boolean => wholeMonths(first, last) === null;

/** Whether a row is labeled TTM or LTM. Only the latest such row is the last twelve months. */
export const isTtm = ({ label }: Pick<BookedPeriod, 'label'>): boolean => /^(ttm|ltm)$/i.test(label);

interface Span extends Pick<Cover, 'rows' | 'months'> {
  readonly kind: EarningsKind;
  readonly label: string;
}

const less = (a: Decimal, b: Decimal): boolean => compare(a, b) < 0;

/** The first and the last day of a span. */
const daysOfSpan = ({ rows }: Span): Pick<BookedPeriod, 'first' | 'last'> => ({
  first: rows[0]?.first ?? '',
  last: rows.at(-1)?.last ?? '',
});

/**
 * The adjustments of a period: those with its label, and those with the label of another whole period of the same dates
 * (the last twelve months can be a year), unless the same amount of the same category was recorded under its own label,
 * too.
 */
function adjustmentsOf(label: string, twins: readonly string[], inOrderOfIds: readonly Adjustment[]): Adjustment[] {
  const own = inOrderOfIds.filter(({ period_label }) => period_label === label);
  if (twins.length === 0) return own;
  const same = ({ category, amount }: Adjustment) => `${category} ${written(amount)}`;
  const recorded = new Map([...Map.groupBy(own, same)].map(([one, its]) => [one, its.length]));
  const others = inOrderOfIds.filter((one) => {
    if (!twins.includes(one.period_label)) return false;
    const count = recorded.get(same(one)) ?? 0;
    recorded.set(same(one), count - 1);
    return count <= 0;
  });
  return [...own, ...others].toSorted((a, b) => byText(a.id, b.id));
}

function earningsOf(span: Span, currency: string, adjustments: readonly Adjustment[]): Earnings {
  const { kind, label, rows, months } = span;
  const amounts = Object.fromEntries(
    plAmounts.map((name) => {
      const of = name === 'ebitda' ? ebitdaOf : name === 'gross_profit' ? grossProfitOf : null;
      return [name, together(rows.map((row) => (of ? of(row.amounts) : row.amounts[name])))];
    }),
  ) as Earnings['amounts'];
  const reported = amounts.ebitda;
  const adjusted = reported && add(reported, sum(adjustments.map(({ amount }) => amount)));
  const ownerAdded = sum(adjustments.filter(({ category }) => category === 'owner_comp').map(({ amount }) => amount));
  const pay = amounts.owner_compensation;
  const ownerPay = pay && (less(pay, ownerAdded) ? zero : subtract(pay, ownerAdded));
  return {
    kind,
    label,
    ...daysOfSpan(span),
    months,
    rows: rows.map(({ id }) => id),
    currency,
    amounts,
    reported_ebitda: reported,
    adjustments,
    adjusted_ebitda: adjusted,
    sde: adjusted && ownerPay && add(adjusted, ownerPay),
    owner_pay_added: ownerPay,
    gross_margin: shareOf(amounts.gross_profit, amounts.revenue),
    ebitda_margin: shareOf(reported, amounts.revenue),
    adjusted_ebitda_margin: shareOf(adjusted, amounts.revenue),
    revenue_growth: null,
    ebitda_growth: null,
  };
}

const named = (count: bigint): string => (count === 1n ? '1 month' : `${count} months`);

/**
 * A row's label in a bridge. A label that promises a year (FY, TTM, LTM) gets the number of months appended unless the
 * row covers a year, give or take some days.
 */
export function bridgeLabel({ label, first, last }: Pick<BookedPeriod, 'label' | 'first' | 'last'>): string {
  const count = wholeMonths(first, last) ?? (10n * daysFrom(first, last) + 152n) / 304n;
  const promises = /^(fy|ttm|ltm)/i.test(label);
  return promises && count < 12n ? `${label}, ${named(count)}` : label;
}

/** The rows that count, indexed: books can be long, and each row is looked up many times. */
interface Ledger {
  /** Rows of twelve whole months by their first month; the row that ends last comes last. */
  readonly years: ReadonlyMap<Month, BookedPeriod>;
  /** Rows of a year that is not twelve whole months, latest last. */
  readonly yearsOfWeeks: readonly BookedPeriod[];
  /** Rows of a year labeled TTM or LTM, latest last, also where the same row counts as a year. */
  readonly ttms: readonly BookedPeriod[];
  /** Rows of fewer than twelve months. */
  readonly pieces: Pieces;
  readonly weeks: Weeks;
}

/**
 * Indexes the rows. Of two rows with the same dates only one counts; where just one of them is labeled TTM or LTM, the
 * row that counts stands for both the year and the last twelve months, each under its own label.
 */
const ledgerOf = memoized(function ledgerOf({ rows, superseded }: Resolved): Ledger {
  const called = new Map(
    superseded.filter(({ row, by }) => isTtm(row) !== isTtm(by)).map(({ row, by }) => [by.id, row.label]),
  );
  const yearRows = rows.filter(isYearRow);
  const under = (wanted: boolean): BookedPeriod[] =>
    yearRows.flatMap((row) => {
      if (isTtm(row) === wanted) return [row];
      const label = called.get(row.id);
      return label === undefined ? [] : [{ ...row, label }];
    });
  const years = under(false);
  return {
    years: new Map(years.filter((row) => !isOfWeeks(row)).map((row) => [monthOf(row.first), row])),
    yearsOfWeeks: years.filter(isOfWeeks),
    ttms: under(true),
    pieces: piecesOf(rows, 12n),
    weeks: weeksOf(rows),
  };
});

/** The twelve months that end with `last`: one year row, or the sum of shorter rows; null where a month is missing. */
function twelveMonths(last: Month, { years, pieces }: Ledger): Pick<Cover, 'rows' | 'months'> | null {
  const first = monthAfter(last, -11n);
  const year = years.get(first);
  if (year) return { rows: [year], months: [] };
  const made = coverOf(monthsFrom(first, 12), pieces);
  return made.isWhole ? made : null;
}

const spanned = (kind: EarningsKind, label: string, made: Pick<Cover, 'rows' | 'months'> | null): Span[] =>
  made ? [{ kind, label, rows: made.rows, months: made.months }] : [];

/** The calendar years that rows of fewer than twelve months touch. */
const yearsTouched = ({ pieces }: Ledger): string[] => [
  ...new Set([...pieces].flatMap(([first, its]) => [yearOf(first), ...its.map(({ end }) => yearOf(end))])),
];

/** The latest of these days or months; empty without any. */
const latestOf = (days: readonly Day[]): Day => days.toSorted(byText).at(-1) ?? '';

/**
 * An uploaded TTM row, under its own label, if it ends no earlier than any shorter row; otherwise the twelve months up
 * to the end of the latest shorter row, or the 52 or 53 weeks up to it where that row has whole weeks. Empty where an
 * uploaded year ends later.
 */
function lastTwelve(ledger: Ledger): Span[] {
  const last = latestOf([...ledger.pieces.values()].flatMap((its) => its.map(({ row }) => row.last)));
  const year = latestOf([...ledger.years.values(), ...ledger.yearsOfWeeks].map((row) => row.last));
  const byMonths = last === '' ? null : twelveMonths(monthOf(last), { ...ledger, years: new Map() });
  const weekEnd = latestOf([...ledger.weeks.keys()]);
  const isLater = weekEnd > last || (weekEnd === last && !byMonths);
  const byWeeks = isLater ? weeksUpTo(weekEnd, ledger.weeks) : null;
  const uploaded = ledger.ttms.at(-1);
  const isUploadedLatest =
    uploaded &&
    [last, year].every((other) => monthOf(uploaded.last) >= monthOf(other)) &&
    (!byWeeks || uploaded.last >= weekEnd);
  if (isUploadedLatest) return spanned('ttm', uploaded.label, { rows: [uploaded], months: [] });
  if (byWeeks) return weekEnd < year ? [] : spanned('ttm', 'TTM', { rows: byWeeks, months: [] });
  return monthOf(last) < monthOf(year) ? [] : spanned('ttm', 'TTM', byMonths);
}

/** Calendar years, and partial years for those without twelve months. */
function calendarYears(ledger: Ledger): Span[] {
  const yearRows = [...ledger.years.values()];
  const yearLabels = new Set([...yearRows, ...ledger.yearsOfWeeks].map(({ label }) => label));
  const years = new Set([
    ...yearsTouched(ledger),
    ...yearRows.filter(({ first }) => first.endsWith('-01-01')).map(({ first }) => yearOf(first)),
  ]);
  return [...years].toSorted(byText).flatMap((year): Span[] => {
    const whole = twelveMonths(`${year}-12`, ledger);
    const own = whole?.rows.length === 1 ? whole.rows[0]?.label : undefined;
    const label = own ?? (yearLabels.has(`FY${year}`) ? `CY${year}` : `FY${year}`);
    if (whole) return spanned('calendar_year', label, whole);
    const part = coverOf(monthsFrom(`${year}-01`, 12), ledger.pieces);
    const [row, ...others] = part.rows;
    if (!row) return [];
    const isOne = others.length === 0 && !isMonthRow(row);
    return spanned('partial_year', isOne ? bridgeLabel(row) : `${year}, ${named(BigInt(part.months.length))}`, part);
  });
}

/**
 * Fiscal years that do not end in December, or are not twelve whole months: uploaded ones under their own label and,
 * when all those of twelve months end in one month, sums of shorter rows, labeled with that month.
 */
function fiscalYears(ledger: Ledger): Span[] {
  const uploaded = [...ledger.years.values()].filter(({ first }) => !first.endsWith('-01-01'));
  const ends = new Set(uploaded.map(({ last }) => last.slice(5, 7)));
  const [end] = ends;
  const own = [...uploaded, ...ledger.yearsOfWeeks].flatMap((row) =>
    spanned('fiscal_year', row.label, { rows: [row], months: [] }),
  );
  if (end === undefined || ends.size > 1) return own;
  const lasts = new Set(uploaded.map(({ last }) => monthOf(last)));
  const summed = yearsTouched(ledger)
    .filter((year) => !lasts.has(`${year}-${end}`))
    .flatMap((year) => spanned('fiscal_year', `FY${year} (to ${year}-${end})`, twelveMonths(`${year}-${end}`, ledger)));
  return [...own, ...summed];
}

const growth = (now: Decimal | null, before: Decimal | null | undefined): Decimal | null =>
  now && before && isPositive(before) ? divide(subtract(now, before), before, shareDigits) : null;

const mostPeriods = 100;

/**
 * The twelve months that a period's growth is measured against, which ended a year before it: a year row or shorter
 * rows, otherwise a TTM row that ended then. Null for partial years.
 */
function yearBefore(
  { kind, first, last }: Pick<Earnings, 'kind' | 'first' | 'last'>,
  ledger: Ledger,
): Pick<Cover, 'rows' | 'months'> | null {
  if (kind === 'partial_year') return null;
  if (isOfWeeks({ first, last })) {
    const uploaded = [...ledger.yearsOfWeeks, ...ledger.ttms].find((row) => dayAfter(row.last) === first);
    const rows = uploaded ? [uploaded] : weeksUpTo(dayBefore(first), ledger.weeks);
    return rows && { rows, months: [] };
  }
  const ended = monthAfter(monthOf(last), -12n);
  const made = twelveMonths(ended, ledger);
  if (made) return made;
  const uploaded = ledger.ttms.find((row) => monthOf(row.last) === ended);
  return uploaded ? { rows: [uploaded], months: [] } : null;
}

/**
 * For each of these earnings, the ids of the rows that its growth is measured against; empty where there are no such
 * twelve months.
 */
export function rowsYearBefore(
  books: Pick<Books, 'currency' | 'uploads' | 'periods'>,
  earned: readonly Earnings[],
): string[][] {
  const ledger = ledgerOf(resolved(books));
  return earned.map((one) => (yearBefore(one, ledger)?.rows ?? []).map(({ id }) => id));
}

const spansOf = memoized((ledger: Ledger): Span[] => [
  ...lastTwelve(ledger),
  ...fiscalYears(ledger),
  ...calendarYears(ledger),
]);

/** The ids of the rows that are in a total, of however many periods. */
export const rowsInTotals = memoized(function rowsInTotals(
  books: Pick<Books, 'currency' | 'uploads' | 'periods'>,
): ReadonlySet<string> {
  return new Set(spansOf(ledgerOf(resolved(books))).flatMap(({ rows }) => rows.map(({ id }) => id)));
});

/**
 * The earnings of every period, latest first and at most a hundred: the last twelve months, fiscal years, calendar
 * years and partial years.
 */
export const earnings = memoized(function earnings(
  books: Pick<Books, 'currency' | 'uploads' | 'periods' | 'adjustments'>,
): Earnings[] {
  const counting = resolved(books);
  const { currency } = counting;
  const ledger = ledgerOf(counting);
  const spans = spansOf(ledger);
  const order = ['ttm', 'fiscal_year', 'calendar_year', 'partial_year'];
  const lastOf = (span: Span) => daysOfSpan(span).last;
  const adjustments = books.adjustments.toSorted((a, b) => byText(a.id, b.id));
  const spansByDates = Map.groupBy(
    spans.filter(({ kind }) => kind !== 'partial_year'),
    (span) => datesOf(daysOfSpan(span)),
  );
  const twinsOf = (span: Span): string[] =>
    span.kind === 'partial_year'
      ? []
      : (spansByDates.get(datesOf(daysOfSpan(span))) ?? []).flatMap(({ label }) =>
          label === span.label ? [] : [label],
        );
  return spans
    .toSorted((a, b) => byText(lastOf(b), lastOf(a)) || order.indexOf(a.kind) - order.indexOf(b.kind))
    .slice(0, mostPeriods)
    .map((span): Earnings => {
      const found = earningsOf(span, currency, adjustmentsOf(span.label, twinsOf(span), adjustments));
      const before = yearBefore(found, ledger);
      if (!before) return found;
      return {
        ...found,
        revenue_growth: growth(found.amounts.revenue, together(before.rows.map(({ amounts }) => amounts.revenue))),
        ebitda_growth: growth(found.reported_ebitda, together(before.rows.map(({ amounts }) => ebitdaOf(amounts)))),
      };
    });
});

/** The whole periods of exactly the same dates under several labels, the last twelve months and a year for instance. */
export const ofSameDates = (periods: readonly Earnings[]): Earnings[][] =>
  [
    ...Map.groupBy(
      periods.filter(({ kind }) => kind !== 'partial_year'),
      datesOf,
    ).values(),
  ].filter((its) => new Set(its.map(({ label }) => label)).size > 1);

/** The ids of adjustments that add nothing, as an equal one was recorded for another period of the same dates. */
export const addingNothing = memoized(function addingNothing(
  books: Pick<Books, 'currency' | 'uploads' | 'periods' | 'adjustments'>,
): ReadonlySet<string> {
  return new Set(
    ofSameDates(earnings(books)).flatMap((its) => {
      const labels = new Set(its.map(({ label }) => label));
      const counting = new Set(its[0]?.adjustments.map(({ id }) => id));
      return books.adjustments
        .filter(({ id, period_label }) => labels.has(period_label) && !counting.has(id))
        .map(({ id }) => id);
    }),
  );
});

/** The last twelve months, otherwise the latest whole year; null without either. */
export const basisOf = (periods: readonly Earnings[]): Earnings | null =>
  periods.find(({ kind }) => kind === 'ttm') ?? periods.find(({ kind }) => kind !== 'partial_year') ?? null;

/**
 * The period that a business is judged by, the same everywhere: in the bridge, in reports and beside prices. It is the
 * requested period; otherwise, among the complete periods with adjustments, the last twelve months in preference to a
 * year; otherwise the last twelve months, or the latest year.
 */
export function comparedWith(periods: readonly Earnings[], label: string | null = null): Earnings | null {
  const asked = label === null ? undefined : periods.find((one) => one.label === label);
  const adjusted = periods.filter(({ kind, adjustments }) => kind !== 'partial_year' && adjustments.length > 0);
  return asked ?? basisOf(adjusted) ?? basisOf(periods);
}

interface SeasonMonth {
  /** "01" to "12". */
  readonly month: string;
  /** Revenue of this calendar month, summed over all whole years, and its share of their total revenue. */
  readonly revenue: Decimal;
  readonly share: Decimal;
}

/**
 * The distribution of revenue over the months of a year, from the calendar years that have a row for every month; empty
 * without such a year.
 */
export const seasonality = memoized(function seasonality(
  books: Pick<Books, 'currency' | 'uploads' | 'periods'>,
): SeasonMonth[] {
  const byYear = Map.groupBy(resolved(books).rows.filter(isMonthRow), ({ first }) => yearOf(first));
  const whole = [...byYear.values()].filter((months) => months.length === 12).flat();
  const total = together(whole.map(({ amounts }) => amounts.revenue));
  return [...Map.groupBy(whole, ({ first }) => first.slice(5, 7)).entries()]
    .toSorted(([a], [b]) => byText(a, b))
    .flatMap(([month, rows]) => {
      const revenue = sum(rows.map(({ amounts }) => amounts.revenue ?? zero));
      const share = shareOf(revenue, total);
      return share ? [{ month, revenue, share }] : [];
    });
});
