/** Earnings by year and of the last twelve months, and which rows count when several uploads contain the same dates. */

import { describe, expect, test } from 'vitest';
import type { BookedPeriod, Books } from '../../server/domain/diligence/books.ts';
import { monthAfter } from '../../server/domain/diligence/calendar.ts';
import { add, equals, sum, written, writtenOrNull, zero } from '../../server/domain/diligence/decimals.ts';
import { bridgeOf } from '../../server/domain/diligence/bridge.ts';
import { basisOf, comparedWith, earnings, resolved, rowsYearBefore } from '../../server/domain/diligence/earnings.ts';
import { contradictions } from '../../server/domain/diligence/contradictions.ts';
import { plAmounts } from '../../server/domain/diligence/snapshots.ts';
import { cents, cleanBooks, d, monthRow, shuffled } from './clean-books.ts';
import { random } from './random.ts';

const lines = {
  revenue: 100_000_00,
  cogs: 40_000_00,
  opex: 30_000_00,
  owner: 10_000_00,
  da: 100_00,
  interest: 50_00,
  tax: 25_00,
};
const months = (first: string, count: number, upload = 'a'): BookedPeriod[] =>
  Array.from({ length: count }, (_, place) =>
    monthRow(upload, monthAfter(first, BigInt(place)), { ...lines, revenue: lines.revenue + 100 * place }),
  );
const books = (periods: BookedPeriod[], more: Partial<Books> = {}): Books => ({
  currency: 'USD',
  uploads: ['a', 'b'].map((id, place) => ({
    id,
    completed_at: `2026-01-0${1 + place}T00:00:00.000000Z`,
    source_name: null,
  })),
  periods,
  customers: [],
  adjustments: [],
  ...more,
});
const year = (first: string, last: string, label: string, revenue: string, upload = 'a'): BookedPeriod => {
  const [row] = months(first.slice(0, 7), 1, upload);
  if (!row) throw new Error('no month');
  return { ...row, id: `${upload}-${label}`, label, first, last, amounts: { ...row.amounts, revenue: d(revenue) } };
};
const labels = (all: Books) => earnings(all).map(({ kind, label, first, last }) => [kind, label, first, last]);

describe('earnings', () => {
  test('are computed for whole years, and partial years are labeled with their number of months', () => {
    expect(labels(books(months('2024-01', 31)))).toEqual([
      ['ttm', 'TTM', '2025-08-01', '2026-07-31'],
      ['partial_year', '2026, 7 months', '2026-01-01', '2026-07-31'],
      ['calendar_year', 'FY2025', '2025-01-01', '2025-12-31'],
      ['calendar_year', 'FY2024', '2024-01-01', '2024-12-31'],
    ]);
    const gap = months('2025-01', 12).filter(({ label }) => label !== '2025-05');
    expect(labels(books(gap))).toEqual([['partial_year', '2025, 11 months', '2025-01-01', '2025-12-31']]);
    expect(earnings(books(gap))[0]?.months).toHaveLength(11);
    expect(labels(books(months('2026-02', 1)))).toEqual([
      ['partial_year', '2026, 1 month', '2026-02-01', '2026-02-28'],
    ]);
    expect(labels(books([]))).toEqual([]);
    expect(basisOf(earnings(books(gap)))).toBeNull();
  });

  test('of fiscal years end with the month of the uploaded years, even where there are only monthly rows', () => {
    const fiscal = year('2023-07-01', '2024-06-30', 'FY2024', '1000');
    expect(labels(books([fiscal, ...months('2024-07', 18)]))).toEqual([
      ['ttm', 'TTM', '2025-01-01', '2025-12-31'],
      ['calendar_year', 'FY2025', '2025-01-01', '2025-12-31'],
      ['fiscal_year', 'FY2025 (to 2025-06)', '2024-07-01', '2025-06-30'],
      ['partial_year', '2024, 6 months', '2024-07-01', '2024-12-31'],
      ['fiscal_year', 'FY2024', '2023-07-01', '2024-06-30'],
    ]);
  });

  test('of an uploaded row for the last twelve months use that row alone, with its label and adjustments', () => {
    const adjustments = [
      { id: '1', period_label: 'LTM', category: 'one_time' as const, amount: d('5'), rationale: null },
    ];
    const told = (label: string) => year('2025-01-01', '2025-12-31', label, '1000');
    expect(labels(books([told('TTM')]))).toEqual([['ttm', 'TTM', '2025-01-01', '2025-12-31']]);
    const found = earnings(books([told('LTM')], { adjustments }));
    expect(found.map(({ kind, label }) => [kind, label])).toEqual([['ttm', 'LTM']]);
    expect(found[0]?.adjustments).toEqual(adjustments);
    expect(labels(books([told('LTM'), ...months('2025-01', 12)]))).toEqual([
      ['ttm', 'LTM', '2025-01-01', '2025-12-31'],
      ['calendar_year', 'FY2025', '2025-01-01', '2025-12-31'],
    ]);
    expect(labels(books([told('LTM'), ...months('2025-02', 12)]))).toEqual([
      ['ttm', 'TTM', '2025-02-01', '2026-01-31'],
      ['partial_year', '2026, 1 month', '2026-01-01', '2026-01-31'],
      ['partial_year', '2025, 11 months', '2025-02-01', '2025-12-31'],
    ]);
  });

  /** Consecutive rows of these lengths in months, whose amounts are the sums of their months. */
  const gathered = (rows: readonly BookedPeriod[], lengths: readonly number[]): BookedPeriod[] => {
    let place = 0;
    return lengths.map((length) => {
      const its = rows.slice(place, place + length);
      place += length;
      const [first, last] = [its[0], its.at(-1)];
      if (!first || !last || its.length < length) throw new Error('no months');
      if (length === 1) return first;
      const amounts = Object.fromEntries(
        plAmounts.map((name) => [name, sum(its.map((row) => row.amounts[name] ?? zero))]),
      ) as BookedPeriod['amounts'];
      return {
        ...first,
        id: `${first.id} ${length}`,
        label: `${length} from ${first.label}`,
        last: last.last,
        amounts,
      };
    });
  };
  const summed = (all: Books) =>
    earnings(all).map(({ kind, label, rows, amounts }) => [
      kind,
      label,
      rows.length,
      writtenOrNull(amounts.revenue),
      writtenOrNull(amounts.ebitda),
    ]);

  test('are the sum of any rows that make up twelve months, such as quarters and months, calendar or fiscal', () => {
    const all = months('2024-01', 24);
    const monthly = summed(books(all)).map(([kind, label, , ...amounts]) => [kind, label, ...amounts]);
    const of = (...lengths: number[]) => summed(books(gathered(all, lengths)));
    const without = (found: unknown[][]) => found.map(([kind, label, , ...amounts]) => [kind, label, ...amounts]);
    const quarters = of(3, 3, 3, 3, 3, 3, 3, 3);
    expect(without(quarters)).toEqual(monthly);
    expect(quarters.map(([kind, label, count]) => [kind, label, count])).toEqual([
      ['ttm', 'TTM', 4],
      ['calendar_year', 'FY2025', 4],
      ['calendar_year', 'FY2024', 4],
    ]);
    expect(without(of(6, 3, 1, 1, 1, 3, 1, 1, 1, 6))).toEqual(monthly);
    expect(without(of(9, 3, 1, 11))).toEqual(monthly);

    // The last twelve months end with the latest quarter and span two calendar years; the rest of the first is a
    // partial year.
    expect(
      summed(books(gathered(months('2024-04', 21), [3, 3, 3, 3, 3, 1, 1, 1, 3]))).map((one) => one.slice(0, 3)),
    ).toEqual([
      ['ttm', 'TTM', 6],
      ['calendar_year', 'FY2025', 6],
      ['partial_year', '2024, 9 months', 3],
    ]);
    // A fiscal year that the books name, and the next one from quarters alone; a quarter across the end of a year
    // counts in neither.
    const fiscal = year('2023-07-01', '2024-06-30', 'FY2024', '1000');
    const next = gathered(months('2024-07', 12), [3, 3, 3, 3]);
    expect(summed(books([fiscal, ...next])).map((one) => one.slice(0, 3))).toEqual([
      ['ttm', 'TTM', 4],
      ['fiscal_year', 'FY2025 (to 2025-06)', 4],
      ['partial_year', '2025, 6 months', 2],
      ['partial_year', '2024, 6 months', 2],
      ['fiscal_year', 'FY2024', 1],
    ]);
    const across = gathered(months('2024-02', 12), [3, 3, 3, 3]);
    expect(summed(books(across)).map((one) => one.slice(0, 3))).toEqual([
      ['ttm', 'TTM', 4],
      ['partial_year', '2024, 9 months', 3],
    ]);
    const gap = gathered(all, [3, 3, 3, 3, 3, 3, 3, 3]).toSpliced(5, 1);
    expect(summed(books(gap)).map((one) => one.slice(0, 3))).toEqual([
      ['partial_year', '2025, 9 months', 3],
      ['calendar_year', 'FY2024', 4],
    ]);
    expect(earnings(books(gap))[0]?.months).toEqual(
      ['01', '02', '03', '07', '08', '09', '10', '11', '12'].map((month) => `2025-${month}`),
    );
    expect(contradictions(books(gap)).map(({ sentence }) => sentence)).toEqual([
      '2025-04, 2025-05 and 2025-06 are missing between 2024-01 and 2025-12.',
    ]);
  });

  test('use the longest of several rows for the same months, and no month twice', () => {
    const all = months('2025-01', 12);
    const [half, quarter] = [gathered(all, [6]), gathered(all, [1, 3])[1]];
    if (!quarter) throw new Error('no quarter');
    const rowsOf = (periods: BookedPeriod[]) => earnings(books(periods)).find(({ label }) => label === 'FY2025')?.rows;
    expect(rowsOf([...all, ...half, quarter])).toEqual([half[0]?.id, ...all.slice(6).map(({ id }) => id)]);
    expect(rowsOf([...all.filter((_, place) => place > 5), ...half, quarter])).toHaveLength(7);
    // Of two choices with equally many rows, the one whose earlier rows are longer.
    const two = gathered(all, [9, 3]);
    expect(rowsOf([...gathered(all, [3, 9]), ...two])).toEqual(two.map(({ id }) => id));
    // A quarter that spans the two halves of the year counts where the half-year does not fit.
    const [first, , , , ...rest] = all;
    expect(rowsOf([first!, ...rest, quarter])).toEqual([first?.id, quarter.id, ...rest.map(({ id }) => id)]);
  });

  test('of any mix of quarters and months equal those of the months to the last digit, in any order', () => {
    for (let seed = 1; seed <= 120; seed += 1) {
      const clean = cleanBooks(seed);
      const below = random(seed);
      const lengths: number[] = [];
      for (let left = clean.periods.length; left > 0;) {
        const length = Math.min(left, 1 + below(6));
        lengths.push(length);
        left -= length;
      }
      const mixed = { ...clean, periods: gathered(clean.periods, lengths), customers: [] };
      const byMonths = new Map(earnings(clean).map((found) => [found.label, found]));
      const found = earnings(mixed);
      expect(earnings({ ...mixed, periods: shuffled(mixed.periods, seed) })).toEqual(found);
      for (const { kind, label, amounts, adjusted_ebitda, revenue_growth } of found) {
        if (kind === 'partial_year') continue;
        const same = byMonths.get(label);
        for (const name of plAmounts)
          expect([seed, label, name, writtenOrNull(amounts[name])]).toEqual([
            seed,
            label,
            name,
            writtenOrNull(same?.amounts[name] ?? null),
          ]);
        expect(writtenOrNull(adjusted_ebitda)).toBe(writtenOrNull(same?.adjusted_ebitda ?? null));
        if (revenue_growth) expect(revenue_growth).toEqual(same?.revenue_growth);
      }
      // Each month counts once, and rows across the end of a year count in neither year.
      for (const { rows, months: told12 } of found) {
        const its = mixed.periods.filter(({ id }) => rows.includes(id));
        const count = its.reduce(
          (all, { id }) => all + (lengths[mixed.periods.findIndex((row) => row.id === id)] ?? 0),
          0,
        );
        expect([new Set(told12).size, told12.length]).toEqual([count, count]);
      }
    }
  });

  test('uploaded both as a year and as the last twelve months use the last completed upload for both', () => {
    const both = (first: string, second: string) =>
      summed(
        books([
          year('2025-01-01', '2025-12-31', first, '1000', 'a'),
          year('2025-01-01', '2025-12-31', second, '2000', 'b'),
        ]),
      ).map((one) => [...one.slice(0, 2), one[3]]);
    const expected = [
      ['ttm', 'TTM', '2000'],
      ['calendar_year', 'FY2025', '2000'],
    ];
    expect(both('FY2025', 'TTM')).toEqual(expected);
    expect(both('TTM', 'FY2025')).toEqual(expected);
    expect(both('FY2025', '2025')).toEqual([['calendar_year', '2025', '2000']]);
  });

  test('ignore twelve months that ended before a later year', () => {
    const later = year('2026-01-01', '2026-12-31', 'FY2026', '5');
    expect(basisOf(earnings(books([...months('2024-01', 24), later])))?.label).toBe('FY2026');
    const ttm = year('2024-07-01', '2025-06-30', 'TTM', '7');
    expect(basisOf(earnings(books([ttm, later])))?.label).toBe('FY2026');
  });

  test('use a row of a year instead of the months of its dates, as the bridge does', () => {
    const [found] = earnings(books([...months('2025-01', 12), year('2025-01-01', '2025-12-31', 'FY2025', '7')])).filter(
      ({ label }) => label === 'FY2025',
    );
    expect([written(found?.amounts.revenue ?? zero), found?.rows]).toEqual(['7', ['a-FY2025']]);
  });

  test('lead from reported to adjusted EBITDA and on to SDE, without counting owner pay twice', () => {
    const adjusted = (amount: string) =>
      earnings(
        books(months('2025-01', 12), {
          adjustments: [
            { id: '1', period_label: 'FY2025', category: 'owner_comp', amount: d(amount), rationale: null },
            { id: '2', period_label: 'FY2025', category: 'one_time', amount: d('12.0001'), rationale: null },
            { id: '3', period_label: 'FY 2025', category: 'other', amount: d('999'), rationale: null },
          ],
        }),
      ).find(({ label }) => label === 'FY2025');
    const told = (amount: string) => {
      const found = adjusted(amount);
      const { reported_ebitda = null, adjusted_ebitda = null, owner_pay_added = null, sde = null } = found ?? {};
      return [reported_ebitda, adjusted_ebitda, owner_pay_added, sde].map(writtenOrNull);
    };
    // Twelve months with 20,000 of EBITDA and 1, 2, … 11 more; the owner is paid 120,000.
    expect(told('50000')).toEqual(['240066', '290078.0001', '70000', '360078.0001']);
    expect(told('150000')).toEqual(['240066', '390078.0001', '0', '390078.0001']);
    expect(told('-30000')).toEqual(['240066', '210078.0001', '150000', '360078.0001']);
    expect(adjusted('1')?.adjustments.map(({ id }) => id)).toEqual(['1', '2']);
  });

  test('are null if a component is missing, and take EBITDA from its components if it has no line', () => {
    const [first, ...rest] = months('2025-01', 12);
    if (!first) throw new Error('no month');
    const without = (...names: (keyof BookedPeriod['amounts'])[]) => {
      const amounts = { ...first.amounts, ...Object.fromEntries(names.map((name) => [name, null])) };
      return earnings(books([{ ...first, amounts }, ...rest])).find(({ kind }) => kind === 'calendar_year');
    };
    expect(writtenOrNull(without('ebitda')?.reported_ebitda ?? null)).toBe('240066');
    expect(without('ebitda', 'tax_expense')?.reported_ebitda).toBeNull();
    expect(without('ebitda', 'tax_expense')?.adjusted_ebitda).toBeNull();
    expect(without('owner_compensation')?.sde).toBeNull();
    expect(writtenOrNull(without('gross_profit')?.gross_margin ?? null)).toBe('0.600022');
  });

  test('have growth rates against the previous twelve months', () => {
    const found = earnings(books(months('2024-01', 24)));
    const growth = found.map(({ label, revenue_growth, ebitda_growth }) => [
      label,
      writtenOrNull(revenue_growth),
      writtenOrNull(ebitda_growth),
    ]);
    expect(growth).toEqual([
      ['TTM', '0.00012', '0.0006'],
      ['FY2025', '0.00012', '0.0006'],
      ['FY2024', null, null],
    ]);
  });

  test('have no growth rate if the previous year had a loss or zero', () => {
    const of = (label: string, revenue: string, ebitda: string) => {
      const row = year(`${label}-01-01`, `${label}-12-31`, `FY${label}`, revenue);
      return { ...row, amounts: { ...row.amounts, ebitda: d(ebitda) } };
    };
    const grown = (...before: [revenue: string, ebitda: string]) => {
      const [found] = earnings(books([of('2024', ...before), of('2025', '150', '60')]));
      return [found?.label, writtenOrNull(found?.revenue_growth ?? null), writtenOrNull(found?.ebitda_growth ?? null)];
    };
    expect(grown('100', '50')).toEqual(['FY2025', '0.5', '0.2']);
    expect(grown('100', '-50')).toEqual(['FY2025', '0.5', null]);
    expect(grown('-100', '0')).toEqual(['FY2025', null, null]);
    expect(grown('0', '0.01')).toEqual(['FY2025', null, '5999']);
  });

  test('have no margins if revenue is zero or negative', () => {
    const margins = (revenue: string) => {
      const row = year('2025-01-01', '2025-12-31', 'FY2025', revenue);
      const amounts = { ...row.amounts, gross_profit: d('-40'), ebitda: d('-60') };
      const [found] = earnings(books([{ ...row, amounts }]));
      const { gross_margin = null, ebitda_margin = null, adjusted_ebitda_margin = null } = found ?? {};
      return [gross_margin, ebitda_margin, adjusted_ebitda_margin].map(writtenOrNull);
    };
    expect(margins('200')).toEqual(['-0.2', '-0.3', '-0.3']);
    expect(margins('0')).toEqual([null, null, null]);
    expect(margins('-200')).toEqual([null, null, null]);
  });

  test('have growth rates against the displayed figures of the previous year, not a row of an older upload', () => {
    const oldTtm = year('2024-01-01', '2024-12-31', 'TTM', '900000');
    const monthsOf = (of: string, revenue: string): BookedPeriod[] =>
      months(`${of}-01`, 12, 'b').map((row) => ({ ...row, amounts: { ...row.amounts, revenue: d(revenue) } }));
    const all = books([oldTtm, ...monthsOf('2024', '100000'), ...monthsOf('2025', '110000')]);
    const found = earnings(all);
    expect(found.map(({ label, amounts }) => [label, writtenOrNull(amounts.revenue)])).toEqual([
      ['TTM', '1320000'],
      ['FY2025', '1320000'],
      ['FY2024', '1200000'],
    ]);
    expect(found.slice(0, 2).map(({ revenue_growth }) => writtenOrNull(revenue_growth))).toEqual(['0.1', '0.1']);
    const before = monthsOf('2024', '100000').map(({ id }) => id);
    expect(rowsYearBefore(all, found)).toEqual([before, before, []]);
  });

  test('use the row of the last completed upload, and list the superseded rows', () => {
    const [old, again] = [months('2025-01', 12, 'a'), months('2025-12', 2, 'b')];
    const all = books([...old, ...again]);
    const { rows, superseded } = resolved(all);
    expect(rows).toHaveLength(13);
    expect(superseded.map(({ row, by }) => [row.id, by.id])).toEqual([['a-2025-12', 'b-2025-12']]);
    const dollars = resolved(books([...old, ...again.map((row) => ({ ...row, currency: 'EUR' }))]));
    expect([dollars.currency, dollars.rows.length, dollars.otherCurrency.length]).toEqual(['EUR', 2, 11]);
  });

  test('equal those of the bridge, whatever the labels of the books and whatever is missing', () => {
    const adjusting = (...period_labels: string[]) => ({
      adjustments: period_labels.map((period_label) => ({
        id: period_label,
        period_label,
        category: 'other' as const,
        amount: d('7'),
        rationale: null,
      })),
    });
    const bridges = (all: Books) => {
      for (const { label, reported_ebitda, adjusted_ebitda } of earnings(all)) {
        const bridge = bridgeOf(all, label);
        expect(bridge.period_labels.includes(label)).toBe(reported_ebitda !== null);
        if (!reported_ebitda || !adjusted_ebitda) continue;
        expect([label, bridge.reported_ebitda, bridge.adjusted_ebitda]).toEqual([
          label,
          written(reported_ebitda),
          written(adjusted_ebitda),
        ]);
      }
      const { period_label, period_labels, unmatched_labels } = bridgeOf(all);
      return { period_label, period_labels, unmatched_labels };
    };
    const stale = year('2024-07-01', '2025-06-30', 'TTM', '200');
    expect(bridges(books([stale, ...months('2024-12', 13)], adjusting('TTM')))).toEqual({
      period_label: 'TTM',
      period_labels: ['TTM', 'FY2025', '2024, 1 month'],
      unmatched_labels: [],
    });
    const named = [year('2025-01-01', '2025-12-31', '2025', '100'), ...months('2025-01', 12)];
    expect(bridges(books(named, adjusting('FY2025', '2025')))).toEqual({
      period_label: 'TTM',
      period_labels: ['TTM', '2025'],
      unmatched_labels: ['FY2025'],
    });
    const [first, ...rest] = months('2025-01', 12);
    if (!first) throw new Error('no month');
    const silent = { ...first, amounts: { ...first.amounts, ebitda: null, tax_expense: null } };
    expect(bridges(books([silent, ...rest], adjusting('2025-02')))).toEqual({
      period_label: '2025-02',
      period_labels: ['2025-02'],
      unmatched_labels: [],
    });
    const quarter = year('2026-01-01', '2026-03-31', 'Q1 2026', '100');
    expect(bridges(books([quarter, year('2025-01-01', '2025-06-15', 'FY2025', '100')]))).toEqual({
      period_label: 'Q1 2026',
      period_labels: ['Q1 2026', 'FY2025, 5 months'],
      unmatched_labels: [],
    });
    for (let seed = 1; seed <= 20; seed += 1) bridges(cleanBooks(seed));
  });

  test('of several periods with the same label are those of the latest, in the bridge and beside a price', () => {
    const ebitdas = { '2023': '100000', '2024': '200000', '2025': '300000' };
    const periods = Object.entries(ebitdas).map(([of, ebitda]) => {
      const row = year(`${of}-01-01`, `${of}-12-31`, 'Annual', '1000000');
      return { ...row, id: of, amounts: { ...row.amounts, ebitda: d(ebitda) } };
    });
    const all = books(periods, {
      adjustments: [{ id: '1', period_label: 'Annual', category: 'one_time', amount: d('10000'), rationale: null }],
    });
    const basis = comparedWith(earnings(all), null);
    expect(writtenOrNull(basis?.adjusted_ebitda ?? null)).toBe('310000');
    expect([bridgeOf(all).adjusted_ebitda, bridgeOf(all, 'Annual').adjusted_ebitda]).toEqual(['310000', '310000']);
  });

  test('add up in any books, and do not depend on the order of rows and uploads', () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const clean = cleanBooks(seed);
      const again = clean.periods
        .filter((_, place) => place % 5 === seed % 5)
        .map((row) => ({
          ...row,
          id: `again-${row.id}`,
          snapshot_id: 'again',
          amounts: { ...row.amounts, revenue: cents(seed) },
        }));
      const upload = { id: 'again', completed_at: '2026-02-05T10:00:00.000000Z', source_name: null };
      const all = { ...clean, uploads: [...clean.uploads, upload], periods: [...clean.periods, ...again] };
      const found = earnings(all);
      const mixed = {
        ...all,
        uploads: shuffled(all.uploads, seed),
        periods: shuffled(all.periods, seed),
        adjustments: shuffled(all.adjustments, seed),
      };
      expect(earnings(mixed)).toEqual(found);
      const counting = new Map(resolved(all).rows.map((row) => [row.id, row]));
      for (const { rows, amounts, reported_ebitda, adjusted_ebitda, adjustments, sde, owner_pay_added } of found) {
        const revenue = sum(rows.map((id) => counting.get(id)?.amounts.revenue ?? zero));
        expect(equals(revenue, amounts.revenue ?? zero)).toBe(true);
        const walked = sum([reported_ebitda ?? zero, ...adjustments.map(({ amount }) => amount)]);
        expect(equals(walked, adjusted_ebitda ?? zero)).toBe(true);
        expect(equals(add(walked, owner_pay_added ?? zero), sde ?? zero)).toBe(true);
      }
    }
  });
});
