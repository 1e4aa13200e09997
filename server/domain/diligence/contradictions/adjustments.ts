/** Finds adjustments that do not fit the figures that they adjust, or each other. */

import { plural } from '../../../lib/plural.ts';
import { currencyOfBooks, type Adjustment, type BookedPeriod } from '../books.ts';
import { byText, isYearLong, monthsBetween, wholeMonths, yearOf } from '../calendar.ts';
import { compare, isNegative, isZero, spoken, subtract, sum, written, zero } from '../decimals.ts';
import { addingNothing, bridgeLabel, ofSameDates } from '../earnings.ts';
import type { Found } from './contradiction.ts';
import { endsOf, type View } from './view.ts';
import { labelInWords, listed, quoted, sayDifference } from './words.ts';

type Row = BookedPeriod;

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];

/**
 * The adjustments of this kind by label, each with the figures that it is added to; of periods of the same dates, which
 * have the same adjustments, only the first label.
 */
function adjusted({ figures, earned, books }: View, isOfKind: (one: Adjustment) => boolean) {
  const shared = ofSameDates(earned).map((its) => its.map(({ label }) => label));
  const named = new Set<string>();
  return unique(books.adjustments.filter(isOfKind).map(({ period_label }) => period_label)).flatMap((label) => {
    const its = figures.get(label);
    if (!its || named.has(label)) return [];
    for (const other of shared.find((labels) => labels.includes(label)) ?? []) named.add(other);
    const own = its.adjustments.filter(isOfKind).toSorted((a, b) => byText(a.id, b.id));
    return [{ label, figures: its, adjustments: own }];
  });
}

/** Add-backs of the owner's pay that exceed the owner's recorded pay. */
export function ownerPayOff(view: View): Found[] {
  const ofOwner = adjusted(view, ({ category }) => category === 'owner_comp');
  return ofOwner.flatMap(({ label, figures: { owner_compensation: pay }, adjustments: its }): Found[] => {
    const total = sum(its.map(({ amount }) => amount));
    // Pay below zero is already reported for its sign.
    if (!pay || isNegative(pay) || compare(total, pay) <= 0) return [];
    const difference = subtract(total, pay);
    return [
      {
        kind: 'owner_pay',
        of: label,
        sentence: `Add-backs of the owner’s pay in ${labelInWords(label)} come to ${spoken(total)}, but the owner’s recorded pay is ${spoken(pay)}: ${sayDifference(difference)}.`,
        ask: 'Ask for payroll records, and under which line the rest was booked.',
        amounts: { added_back: total, recorded_pay: pay, difference },
        rows: its.map(({ id }) => id),
      },
    ];
  });
}

/** The dates of each label: those of the earnings with this label, otherwise of the row with it. */
function datesByLabel({ earned, rows, otherCurrency }: View): Map<string, Pick<Row, 'first' | 'last'>> {
  return new Map([
    ...[...rows, ...otherCurrency].map((row): [string, Pick<Row, 'first' | 'last'>] => [bridgeLabel(row), row]),
    ...earned.map((found): [string, Pick<Row, 'first' | 'last'>] => [found.label, found]),
  ]);
}

/** “One-time” adjustments in several years. */
export function oneTimeAgain(view: View): Found[] {
  const dates = datesByLabel(view);
  const its = view.books.adjustments.filter(({ category, amount }) => category === 'one_time' && !isZero(amount));
  const years = Map.groupBy(its, ({ period_label }) => period_label);
  // Periods that share a day contain the same costs, so only disjoint periods count as several.
  const apart: string[] = [];
  for (const label of [...years.keys()].toSorted(byText)) {
    const own = dates.get(label);
    const meets = apart.some((other) => {
      const held = dates.get(other);
      return own && held && own.first <= held.last && held.first <= own.last;
    });
    if (own && !meets) apart.push(label);
  }
  const spans = apart.flatMap((label) => dates.get(label) ?? []);
  const ends = new Set(spans.map(({ last }) => yearOf(last))).size;
  const long = spans.filter(({ first, last }) => isYearLong(first, last)).length;
  // Two years of weeks can end in one calendar year.
  const count = long > ends ? long : ends;
  if (count < 2) return [];
  const named = its.filter(({ period_label }) => dates.has(period_label));
  const totals = apart.map(
    (label) => `${spoken(sum((years.get(label) ?? []).map(({ amount }) => amount)))} in ${labelInWords(label)}`,
  );
  return [
    {
      kind: 'one_time_again',
      of: '',
      says: apart.flatMap((label) => [label, written(sum((years.get(label) ?? []).map(({ amount }) => amount)))]),
      sentence: `“One-time” adjustments were made in ${plural(count, 'year')}: ${listed(totals)}.`,
      ask: 'Ask why each of them will not recur.',
      amounts: { total: sum(named.map(({ amount }) => amount)) },
      rows: named.map(({ id }) => id).toSorted(byText),
    },
  ];
}

/** Labels that would have figures if no month in between were missing or in another currency. */
function labelsWithoutGaps({ rows, otherCurrency, earned }: View): string[] {
  const all = [...rows, ...otherCurrency];
  const [first, last] = endsOf(all);
  if (first === undefined || last === undefined) return [];
  const years = all
    .filter((row) => wholeMonths(row.first, row.last) !== null)
    .flatMap((row) => [yearOf(row.first), yearOf(row.last)]);
  const reported = new Set(earned.filter(({ kind }) => kind === 'calendar_year').map((found) => yearOf(found.first)));
  const missing = unique(years).filter((year) => first <= `${year}-01` && `${year}-12` <= last && !reported.has(year));
  const hasTtm = earned.some(({ kind }) => kind === 'ttm');
  return [...missing.map((year) => `FY${year}`), ...(!hasTtm && monthsBetween(first, last) >= 12n ? ['TTM'] : [])];
}

/** Adjustments with a label that no figures have. */
export function periodsUnmatched(view: View): Found[] {
  const known = new Set([...datesByLabel(view).keys(), ...labelsWithoutGaps(view)]);
  const lost = Map.groupBy(
    view.books.adjustments.filter(({ period_label }) => !known.has(period_label)),
    ({ period_label }) => period_label,
  );
  return [...lost].map(([label, its]) => {
    const total = sum(its.map(({ amount }) => amount));
    return {
      kind: 'period_unmatched',
      of: label,
      says: [`${its.length}`],
      sentence: `${plural(its.length, 'adjustment')} of ${spoken(total)} ${its.length === 1 ? 'is' : 'are'} for ${quoted(label)}, but no figures have that label: ${its.length === 1 ? 'it counts' : 'they count'} nowhere.`,
      ask: 'Ask which period is meant, and enter it under the label of that period.',
      amounts: { total },
      rows: its.map(({ id }) => id).toSorted(byText),
    };
  });
}

/** Adjustments in another currency than the figures that they adjust. */
export function adjustmentsInOtherCurrency({ books }: View): Found[] {
  const currency = currencyOfBooks(books);
  const others = Map.groupBy(books.adjustments_left_out ?? [], (one) => one.currency ?? '');
  return [...others].map(([other, its]): Found => {
    const total = sum(its.map(({ amount }) => amount));
    return {
      kind: 'currency',
      of: `adjustments ${other}`,
      says: [currency, ...its.flatMap(({ period_label, amount }) => [period_label, written(amount)])],
      sentence: `${plural(its.length, 'adjustment')} of ${spoken(total)} ${other} ${its.length === 1 ? 'counts' : 'count'} nowhere: ${books.periods.length > 0 ? 'the profit and loss' : 'the deal'} is in ${currency}.`,
      ask: `Ask for the amounts in ${currency}, and enter them anew.`,
      amounts: { total },
      rows: its.map(({ id }) => id).toSorted(byText),
    };
  });
}

/** Adjustments of one amount that were recorded for several periods of the same dates. */
function adjustmentsOfBoth({ earned, books }: View): Found[] {
  const nothing = addingNothing(books);
  return ofSameDates(earned).flatMap((periods): Found[] => {
    const labels = unique(periods.map(({ label }) => label));
    const all = books.adjustments.filter(
      ({ period_label, amount }) => labels.includes(period_label) && !isZero(amount),
    );
    const alike = [...Map.groupBy(all, ({ amount }) => written(amount)).values()].filter(
      (its) => unique(its.map(({ period_label }) => period_label)).length > 1,
    );
    const said = alike.map((its) => {
      const count = its.filter(({ id }) => !nothing.has(id)).length;
      return `${its.length} of ${spoken(its[0]?.amount ?? zero)}, ${count === its.length ? 'which all count' : `of which ${count} ${count === 1 ? 'counts' : 'count'}`}`;
    });
    if (said.length === 0) return [];
    const its = alike.flat();
    const counted = its.filter(({ id }) => !nothing.has(id));
    return [
      {
        kind: 'adjustment_again',
        of: JSON.stringify({ labels }),
        says: said,
        sentence: `Adjustments of one amount were made in both ${listed(labels.map(labelInWords))}, which have the same dates: ${said.join('; ')}.`,
        ask: 'Ask whether they are for the same cost. Of one kind and amount, what both have counts once: where these are two costs, enter both in one period.',
        amounts: { recorded: sum(its.map(({ amount }) => amount)), counted: sum(counted.map(({ amount }) => amount)) },
        rows: its.map(({ id }) => id).toSorted(byText),
      },
    ];
  });
}

/** Adjustments of one category and amount that a period has more than once. */
export function adjustmentsAgain(view: View): Found[] {
  const ofBoth = adjustmentsOfBoth(view);
  const named = new Set(ofBoth.flatMap(({ rows }) => rows));
  const groups = Map.groupBy(
    view.books.adjustments.filter(({ id, amount }) => !isZero(amount) && !named.has(id)),
    ({ period_label, category }) => JSON.stringify([period_label, category]),
  );
  const ofOne = [...groups].flatMap(([of, all]): Found[] => {
    const alike = [...Map.groupBy(all, ({ amount }) => written(amount)).values()].filter((its) => its.length > 1);
    const said = alike.flatMap(([one, ...again]) => (one ? [`${again.length + 1} of ${spoken(one.amount)}`] : []));
    const [label] = all.map(({ period_label }) => period_label);
    if (label === undefined || said.length === 0) return [];
    return [
      {
        kind: 'adjustment_again',
        of,
        says: said,
        sentence: `Adjustments of one kind and amount were made more than once in ${labelInWords(label)}: ${listed(said)}.`,
        ask: 'Ask whether they are for the same cost, recorded twice.',
        amounts: { counted_again: sum(alike.flatMap((its) => its.slice(1).map(({ amount }) => amount))) },
        rows: alike.flatMap((its) => its.map(({ id }) => id)).toSorted(byText),
      },
    ];
  });
  return [...ofOne, ...ofBoth];
}

/** Add-backs that exceed all costs of their period; those of the owner's pay are compared with that pay. */
export function adjustmentsBeyond(view: View): Found[] {
  const others = adjusted(view, ({ category }) => category !== 'owner_comp');
  return others.flatMap(({ label, figures: { costs: most }, adjustments }): Found[] => {
    // Costs below zero are already reported for their sign.
    if (!most || isNegative(most)) return [];
    const its = adjustments.filter(({ amount }) => compare(amount, most) > 0);
    if (its.length === 0) return [];
    return [
      {
        kind: 'adjustment_beyond',
        of: label,
        says: its.map(({ amount }) => written(amount)),
        sentence: `${its.length === 1 ? 'An add-back' : `${its.length} add-backs`} in ${labelInWords(label)} of ${listed(its.map(({ amount }) => spoken(amount)))} ${its.length === 1 ? 'is' : 'are each'} more than all cost of goods sold and operating expenses of that period, ${spoken(most)}.`,
        ask: 'Ask which cost is added back, and check the amount and the period.',
        amounts: { added_back: sum(its.map(({ amount }) => amount)), costs: most },
        rows: its.map(({ id }) => id).toSorted(byText),
      },
    ];
  });
}
