/** Customers, how they changed between periods, and what later uploads restated. */

import { describe, expect, test } from 'vitest';
import type { BookedCustomer, Books } from '../../server/domain/diligence/books.ts';
import { monthAfter } from '../../server/domain/diligence/calendar.ts';
import { add, equals, subtract, sum, written, writtenOrNull, zero } from '../../server/domain/diligence/decimals.ts';
import { concentration, customerBridge, plainName } from '../../server/domain/diligence/customers.ts';
import { noAnswers } from '../../server/domain/diligence/contradiction-answers.ts';
import { qoeOverview } from '../../server/domain/diligence/overview.ts';
import { restatements } from '../../server/domain/diligence/restatements.ts';
import { randomOf } from '../hostile/random.ts';
import { cents, cleanBooks, d, monthRow, shuffled } from './clean-books.ts';

const customer = (name: string, revenue: string, year = '2025', currency = 'USD'): BookedCustomer => ({
  id: `${year}-${name}`,
  snapshot_id: 'a',
  name,
  first: `${year}-01-01`,
  last: `${year}-12-31`,
  currency,
  revenue: d(revenue),
});
const books = (customers: BookedCustomer[], more: Partial<Books> = {}): Books => ({
  currency: 'USD',
  uploads: [{ id: 'a', completed_at: '2026-01-01T00:00:00.000000Z', source_name: null }],
  periods: [],
  customers,
  adjustments: [],
  ...more,
});

describe('customers', () => {
  test('have shares of the uploaded total and of all revenue of the same dates, single and cumulative', () => {
    const year = monthRow('a', '2025-01', {
      revenue: 200_000,
      cogs: 50_000,
      opex: 0,
      owner: 0,
      da: 0,
      interest: 0,
      tax: 0,
    });
    const found = concentration(
      books([customer('B', '300'), customer('A', '600'), customer('C', '100')], {
        periods: [{ ...year, last: '2025-12-31', label: 'FY2025' }],
      }),
    );
    expect(
      found?.customers.map(({ name, share, cumulative, share_of_revenue, cumulative_of_revenue }) => [
        name,
        ...[share, cumulative, share_of_revenue, cumulative_of_revenue].map(writtenOrNull),
      ]),
    ).toEqual([
      ['A', '0.6', '0.6', '0.3', '0.3'],
      ['B', '0.3', '0.9', '0.15', '0.45'],
      ['C', '0.1', '1', '0.05', '0.5'],
    ]);
    // 0.36 + 0.09 + 0.01 of the uploaded revenue; a quarter of that of all revenue, which is twice as much.
    expect([found?.hhi, found?.hhi_of_revenue].map((value) => writtenOrNull(value ?? null))).toEqual(['4600', '1150']);
    // The largest customer brings revenue of 600 at a gross margin of three quarters.
    expect(writtenOrNull(found?.ebitda_without_largest ?? null)).toBe('1050');
    expect(found?.half).toBe(1);
  });

  test('with names that differ in case, spaces, punctuation or legal form are proposed as one, never merged', () => {
    const names = ['ACME, Inc.', 'Acme  LLC', 'acme', 'Acme East', 'Müller GmbH', 'MÜLLER', 'Co', 'The Company'];
    const found = concentration(books(names.map((name, place) => customer(name, `${100 - place}`))));
    expect(found?.same_names.map((same) => [same.names, written(same.revenue)])).toEqual([
      [['ACME, Inc.', 'Acme  LLC', 'acme'], '297'],
      [['MÜLLER', 'Müller GmbH'], '191'],
    ]);
    expect(found?.customers).toHaveLength(names.length);
    expect(plainName('S.A.')).toBe('sa');
    // The vowels of some scripts are marks of their letters: two names that differ in them are not proposed.
    expect(plainName('राम')).not.toBe(plainName('रोम'));
  });

  test('are kept, grown, shrunk, lost and new between two periods, and the bridge closes to zero', () => {
    const found = customerBridge(
      books([
        ...['kept 5', 'grown 5', 'shrunk 5', 'lost 5'].map((name) => customer(name.split(' ')[0] ?? '', '5', '2024')),
        customer('kept', '5'),
        customer('grown', '7.01'),
        customer('shrunk', '4.5'),
        customer('new', '1'),
      ]),
    );
    const parts = ['kept', 'grown', 'shrunk', 'lost', 'new'] as const;
    expect(parts.map((part) => found?.[part].map(({ name, difference }) => [name, written(difference)]))).toEqual([
      [['kept', '0']],
      [['grown', '2.01']],
      [['shrunk', '-0.5']],
      [['lost', '-5']],
      [['new', '1']],
    ]);
    for (let seed = 1; seed <= 60; seed += 1) {
      const clean = cleanBooks(seed);
      const chance = randomOf(seed);
      const customers = clean.customers.filter(() => chance() < 0.8);
      const bridge = customerBridge({ ...clean, customers });
      if (!bridge) continue;
      const changes = parts.flatMap((part) => bridge[part]);
      const walked = sum([bridge.before.total, ...changes.map(({ difference }) => difference)]);
      expect(equals(subtract(bridge.after.total, walked), zero)).toBe(true);
      expect(customerBridge({ ...clean, customers: shuffled(customers, seed) })).toEqual(bridge);
    }
  });

  test('are compared only between periods of equal length, in months or, if these are not whole, in days', () => {
    const between = (...periods: readonly (readonly [first: string, last: string])[]) =>
      customerBridge(books(periods.map(([first, last]) => ({ ...customer('A', '5'), id: first, first, last }))))?.before
        .first ?? null;
    expect(between(['2024-12-01', '2024-12-15'], ['2025-01-01', '2025-11-22'])).toBeNull();
    expect(between(['2024-12-01', '2024-12-15'], ['2025-01-01', '2025-01-22'])).toBeNull();
    expect(between(['2024-11-03', '2024-11-24'], ['2024-12-01', '2024-12-15'], ['2025-01-01', '2025-01-22'])).toBe(
      '2024-11-03',
    );
    // Years of 52 weeks, and one of 53.
    expect(between(['2024-01-01', '2024-12-29'], ['2024-12-30', '2025-12-28'])).toBe('2024-01-01');
    expect(between(['2023-12-25', '2024-12-29'], ['2024-12-30', '2025-12-28'])).toBe('2023-12-25');
    expect(between(['2023-02-01', '2023-02-28'], ['2024-03-01', '2024-03-31'])).toBe('2023-02-01');
  });

  test('listed twice in a period count with both amounts', () => {
    const bridge = customerBridge(
      books([
        customer('A', '100', '2024'),
        { ...customer('A', '50', '2024'), id: 'again' },
        customer('A', '160'),
        customer('B', '5'),
      ]),
    );
    expect(bridge?.grown.map(({ before, after }) => [written(before), written(after)])).toEqual([['150', '160']]);
    expect([bridge?.before.total, bridge?.after.total].map((total) => total && written(total))).toEqual(['150', '165']);
  });

  test('in several currencies are counted in that of the profit and loss, however large the others are', () => {
    const customers = [customer('Here', '90'), customer('Far', '100', '2025', 'EUR'), customer('There', '30')];
    const lines = { revenue: 20_000, cogs: 5_000, opex: 0, owner: 0, da: 0, interest: 0, tax: 0 };
    const periods = [{ ...monthRow('a', '2025-01', lines), last: '2025-12-31' }];
    const found = concentration(books(customers, { periods }));
    expect([found?.currency, found?.customers.map(({ name }) => name)]).toEqual(['USD', ['Here', 'There']]);
    expect(writtenOrNull(found?.customers[0]?.share ?? null)).toBe('0.75');
    // Without a customer in the currency of the profit and loss, the customers' own currency is used.
    expect(concentration(books([customer('Far', '100', '2025', 'EUR')], { periods }))?.currency).toBe('EUR');
  });

  test('in another currency are left out of the bridge, and listed by name', () => {
    const years = ['2024', '2025'];
    const here = years.map((year) => customer('Here', year === '2024' ? '90' : '95.5', year));
    const found = customerBridge(
      books([...here, customer('Far', '100', '2025', 'EUR'), customer('Away', '7', '2024', 'CAD')]),
    );
    const told = (its: NonNullable<typeof found>['left_out']) =>
      its.map(({ name, first, currency, revenue }) => [name, first, currency, written(revenue)]);
    expect(told(found?.left_out ?? [])).toEqual([
      ['Far', '2025-01-01', 'EUR', '100'],
      ['Away', '2024-01-01', 'CAD', '7'],
    ]);
    expect([found?.before.total, found?.after.total].map((total) => written(total ?? zero))).toEqual(['90', '95.5']);
    expect(found?.grown.map(({ name, difference }) => [name, written(difference)])).toEqual([['Here', '5.5']]);
    expect(customerBridge(books(here))?.left_out).toEqual([]);
    expect(told(concentration(books([...here, customer('Far', '100', '2025', 'EUR')]))?.left_out ?? [])).toEqual([
      ['Far', '2025-01-01', 'EUR', '100'],
    ]);
  });

  test('of many years are measured against the revenue of all their months', () => {
    const lines = { revenue: 100, cogs: 0, opex: 0, owner: 0, da: 0, interest: 0, tax: 0 };
    const periods = Array.from({ length: 720 }, (_, place) =>
      monthRow('a', monthAfter('1950-01', BigInt(place)), lines),
    );
    const listing = [{ ...customer('A', '180', '1950'), last: '2009-12-31' }];
    const revenueOf = (its: typeof periods) => concentration(books(listing, { periods: its }))?.revenue ?? null;
    expect(writtenOrNull(revenueOf(periods))).toBe('720');
    expect(revenueOf(periods.filter(({ label }) => label !== '2005-05'))).toBeNull();
  });

  test('give no EBITDA without the largest one if revenue is negative', () => {
    const lines = { revenue: -20_000, cogs: 5_000, opex: 0, owner: 0, da: 0, interest: 0, tax: 0 };
    const periods = [{ ...monthRow('a', '2025-01', lines), last: '2025-12-31' }];
    expect(concentration(books([customer('A', '90')], { periods }))?.ebitda_without_largest).toBeNull();
  });

  test('without a currency in common with the other period are not compared, and an empty list has no figures', () => {
    expect(customerBridge(books([customer('a', '1'), customer('a', '1', '2024', 'EUR')]))).toBeNull();
    expect(concentration(books([]))).toBeNull();
    expect(concentration(books([customer('a', '0')]))?.hhi).toBeNull();
  });
});

test('truncated lists state their full count', () => {
  const names = Array.from({ length: 30 }, (_, place) => [`Acme ${place}`, `ACME ${place}`]).flat();
  const adjustments = Array.from({ length: 150 }, (_, place) => ({
    id: `n${place}`,
    period_label: `FY${1800 + place}`,
    category: 'other' as const,
    amount: d('1'),
    rationale: null,
  }));
  const all = books(
    names.map((name) => customer(name, '10')),
    { adjustments },
  );
  const { contradictions, concentration: shown } = qoeOverview(all, noAnswers(true));
  expect([contradictions.count, contradictions.items.length]).toEqual([150, 100]);
  expect([shown?.same_names.count, shown?.same_names.items.length]).toEqual([30, 20]);
  // A caller who sees no contradictions is not told how many there are.
  expect(qoeOverview(all, noAnswers(false)).contradictions).toEqual({
    count: 0,
    items: [],
    explained: { count: 0, items: [] },
    all: false,
    may_answer: false,
  });
});

describe('restatements', () => {
  const lines = { revenue: 1_000, cogs: 100, opex: 100, owner: 100, da: 1, interest: 1, tax: 1 };
  const upload = (id: string, day: number) => ({
    id,
    completed_at: `2026-01-0${day}T00:00:00.000000Z`,
    source_name: null,
  });

  test('are listed line by line, from each upload to the next one of the same dates', () => {
    const old = monthRow('a', '2025-03', lines);
    const now = monthRow('b', '2025-03', { ...lines, tax: 5 });
    const gone = { ...old, id: 'c', snapshot_id: 'c', amounts: { ...now.amounts, interest_expense: null } };
    const found = restatements({
      uploads: [upload('c', 3), upload('b', 2), upload('a', 1)],
      periods: [gone, now, old],
    });
    expect(
      found.map((one) => [one.from, one.to, one.line, ...[one.old, one.new, one.difference].map(writtenOrNull)]),
    ).toEqual([
      ['a', 'b', 'tax_expense', '0.01', '0.05', '0.04'],
      ['a', 'b', 'net_income', '6.97', '6.93', '-0.04'],
      ['b', 'c', 'interest_expense', '0.01', null, '-0.01'],
    ]);
  });

  test('are listed in the currency of their uploads, whatever the currency of the latest books', () => {
    const inEuros = ['a', 'b'].map((id, place) => ({
      ...monthRow(id, '2024-03', { ...lines, revenue: lines.revenue + place }),
      currency: 'EUR',
    }));
    const found = restatements({
      uploads: [upload('b', 2), upload('a', 1)],
      periods: [...inEuros, monthRow('b', '2025-03', lines)],
    });
    expect(new Set(found.map(({ currency }) => currency))).toEqual(new Set(['EUR']));
  });

  test('added to the old books give the new books', () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const clean = cleanBooks(seed);
      const chance = randomOf(seed);
      const again = clean.periods.map((row) => ({
        ...row,
        id: `b-${row.id}`,
        snapshot_id: 'b',
        amounts:
          chance() < 0.5 ? row.amounts : { ...row.amounts, revenue: cents(Math.floor(chance() * 1e9)), ebitda: null },
      }));
      const all = {
        uploads: [...clean.uploads, upload('b', 9)],
        periods: shuffled([...clean.periods, ...again], seed),
      };
      const changes = Map.groupBy(restatements(all), ({ first, line }) => `${first} ${line}`);
      for (const [place, row] of clean.periods.entries()) {
        for (const line of ['revenue', 'ebitda', 'tax_expense'] as const) {
          const differences = (changes.get(`${row.first} ${line}`) ?? []).map(({ difference }) => difference);
          const made = add(row.amounts[line] ?? zero, sum(differences));
          expect(written(made)).toBe(written(again[place]?.amounts[line] ?? zero));
        }
      }
    }
  });
});
