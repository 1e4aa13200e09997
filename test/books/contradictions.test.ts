/**
 * Contradictions in books: each kind, introduced alone into clean books, is found with the right amounts, and nothing
 * else is found.
 */

import { describe, expect, test } from 'vitest';
import type { BookedPeriod, Books } from '../../server/domain/diligence/books.ts';
import { contradictions } from '../../server/domain/diligence/contradictions.ts';
import {
  contradictionKinds,
  type Contradiction,
  type ContradictionKind,
} from '../../server/domain/diligence/contradictions/contradiction.ts';
import {
  add,
  decimal,
  multiply,
  negate,
  subtract,
  sum,
  whole,
  written,
  zero,
  type Decimal,
} from '../../server/domain/diligence/decimals.ts';
import { plAmounts, type PlAmount } from '../../server/domain/diligence/snapshots.ts';
import { randomOf } from '../hostile/random.ts';
import { cents, cleanBooks, d, shuffled } from './clean-books.ts';

interface Fault {
  readonly books: Books;
  /** The expected amounts; omitted amounts are not compared. */
  readonly amounts: Record<string, Decimal>;
  readonly rows: readonly string[];
}

type Inject = (clean: Books, below: (limit: number) => number) => Fault;

const rowAt = (books: Books, place: number): BookedPeriod => {
  const row = books.periods[place];
  if (!row) throw new Error('no such month');
  return row;
};
const changed = (books: Books, row: BookedPeriod, amounts: Partial<BookedPeriod['amounts']>): Books => ({
  ...books,
  periods: books.periods.map((each) =>
    each.id === row.id ? { ...each, amounts: { ...each.amounts, ...amounts } } : each,
  ),
});
const amountOf = (row: BookedPeriod, name: PlAmount): Decimal => row.amounts[name] ?? zero;
const withAdjustment = (
  books: Books,
  label: string,
  category: 'owner_comp' | 'one_time' | 'other',
  amount: Decimal,
) => ({
  ...books,
  adjustments: [...books.adjustments, { id: 'made', period_label: label, category, amount, rationale: null }],
});
/** A month that is neither the first nor the last. */
const within = (books: Books, below: (limit: number) => number) => rowAt(books, 1 + below(books.periods.length - 2));
const yearLabel = (books: Books) => books.adjustments[0]?.period_label ?? '';

/** A total that is off by 0.01 to 5,000.00. */
const off =
  (name: 'gross_profit' | 'ebitda'): Inject =>
  (clean, below) => {
    const row = within(clean, below);
    const difference = cents(1 + below(500_000));
    const told = add(amountOf(row, name), difference);
    return {
      books: changed(clean, row, { [name]: told }),
      amounts: { told, computed: amountOf(row, name), difference },
      rows: [row.id],
    };
  };

const faults: Record<ContradictionKind, Inject> = {
  months_missing: (clean, below) => {
    const row = within(clean, below);
    const periods = clean.periods.filter(({ id }) => id !== row.id);
    return { books: { ...clean, periods }, amounts: { months: whole(1n) }, rows: [] };
  },
  months_twice: (clean, below) => {
    const row = within(clean, below);
    const again = { ...row, id: 'again', last: `${row.first.slice(0, 8)}27` };
    const amounts = { first_revenue: amountOf(row, 'revenue'), second_revenue: amountOf(row, 'revenue') };
    return { books: { ...clean, periods: [...clean.periods, again] }, amounts, rows: ['again', row.id] };
  },
  year_unlike_months: (clean, below) => {
    const months = clean.periods.slice(0, 12);
    const revenue = sum(months.map((row) => amountOf(row, 'revenue')));
    const difference = cents(1 + below(900_000));
    const year = { ...rowAt(clean, 0), id: 'year', label: 'The year', last: rowAt(clean, 11).last };
    const amounts = {
      ...year.amounts,
      revenue: add(revenue, difference),
      ebitda: sum(months.map((row) => amountOf(row, 'ebitda'))),
    };
    const bare = Object.fromEntries(
      Object.entries(amounts).map(([name, amount]) => [name, ['revenue', 'ebitda'].includes(name) ? amount : null]),
    );
    return {
      books: { ...clean, periods: [...clean.periods, { ...year, amounts: bare as BookedPeriod['amounts'] }] },
      amounts: { told: add(revenue, difference), months: revenue, difference },
      rows: ['year', ...months.map(({ id }) => id)],
    };
  },
  gross_profit: off('gross_profit'),
  ebitda: off('ebitda'),
  customers_total: (clean, below) => {
    const customer = clean.customers[below(clean.customers.length)];
    if (!customer) throw new Error('no customer');
    const difference = cents((below(2) === 0 ? 1 : -1) * (1 + below(90_000)));
    const its = clean.periods.filter(({ first, last }) => customer.first <= first && last <= customer.last);
    const revenue = sum(its.map((row) => amountOf(row, 'revenue')));
    const customers = clean.customers.map((each) =>
      each.id === customer.id ? { ...each, revenue: add(each.revenue, difference) } : each,
    );
    return {
      books: { ...clean, customers },
      amounts: { customers: add(revenue, difference), revenue, difference },
      rows: its.map(({ id }) => id),
    };
  },
  owner_pay: (clean, below) => {
    const pay = sum(clean.periods.slice(-12).map((row) => amountOf(row, 'owner_compensation')));
    const difference = cents(1 + below(100_000));
    const before = clean.adjustments[0]?.amount ?? zero;
    return {
      books: withAdjustment(clean, yearLabel(clean), 'owner_comp', subtract(add(pay, difference), before)),
      amounts: { added_back: add(pay, difference), recorded_pay: pay, difference },
      rows: ['n1', 'made'],
    };
  },
  one_time_again: (clean, below) => {
    const amount = cents(100 + below(90_000));
    const first = `FY${clean.periods[0]?.first.slice(0, 4)}`;
    return {
      books: withAdjustment(clean, first, 'one_time', amount),
      amounts: { total: add(amount, decimal('12345.67')) },
      rows: ['n2', 'made'],
    };
  },
  period_unmatched: (clean, below) => {
    const amount = cents(100 + below(90_000));
    return { books: withAdjustment(clean, 'FY1999', 'other', amount), amounts: { total: amount }, rows: ['made'] };
  },
  sign: (clean, below) => {
    const names = [
      'revenue',
      'cost_of_goods_sold',
      'operating_expenses',
      'depreciation_amortization',
      'interest_expense',
    ] as const;
    const name = names[below(names.length)] ?? 'revenue';
    const row = within(clean, below);
    const amount = negate(amountOf(row, name));
    return { books: changed(clean, row, { [name]: amount }), amounts: { amount }, rows: [row.id] };
  },
  scale: (clean, below) => {
    const row = within(clean, below);
    const factor = below(2) === 0 ? decimal('0.001') : whole(1000n);
    const amounts = Object.fromEntries(
      Object.entries(row.amounts).map(([name, amount]) => [name, multiply(amount ?? zero, factor)]),
    ) as BookedPeriod['amounts'];
    return { books: changed(clean, row, amounts), amounts: { revenue: amounts.revenue ?? zero }, rows: [row.id] };
  },
  currency: (clean, below) => {
    const row = within(clean, below);
    const periods = clean.periods.map((each) => (each.id === row.id ? { ...each, currency: 'CAD' } : each));
    return { books: { ...clean, periods }, amounts: { revenue: amountOf(row, 'revenue') }, rows: [row.id] };
  },
  month_again: (clean, below) => {
    const [row, copied] = shuffled(clean.periods, below(1000));
    if (!row || !copied) throw new Error('no months');
    return {
      // The changed revenue also changes the year's total, which would contradict its customers.
      books: { ...changed(clean, row, copied.amounts), customers: [] },
      amounts: { revenue: amountOf(copied, 'revenue') },
      rows: [row.id, copied.id],
    };
  },
  adjustment_again: (clean, below) => {
    const amount = cents(100 + below(90_000));
    const once = withAdjustment(clean, yearLabel(clean), 'other', amount);
    const twice = { ...withAdjustment(once, yearLabel(clean), 'other', amount).adjustments.at(-1)!, id: 'again' };
    return {
      books: { ...once, adjustments: [...once.adjustments, twice] },
      amounts: { counted_again: amount },
      rows: ['again', 'made'],
    };
  },
  adjustment_beyond: (clean, below) => {
    const year = clean.periods.slice(-12);
    const costs = sum(
      year.flatMap((row) => [amountOf(row, 'cost_of_goods_sold'), amountOf(row, 'operating_expenses')]),
    );
    const amount = add(costs, cents(1 + below(100_000)));
    return {
      books: withAdjustment(clean, yearLabel(clean), 'other', amount),
      amounts: { added_back: amount, costs },
      rows: ['made'],
    };
  },
};

const told = ({ amounts, rows }: Pick<Contradiction, 'amounts' | 'rows'>) => ({
  amounts: Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, written(amount)])),
  rows: rows.toSorted(),
});

/** Two hundred random books. */
const clean = Array.from({ length: 200 }, (_, place) => cleanBooks(place + 1));

describe('contradictions', () => {
  test('are not found in clean books', () => {
    expect(clean.flatMap(contradictions)).toEqual([]);
  });

  test.each(contradictionKinds)('of the kind %s are found with their rows and amounts, and nothing else is', (kind) => {
    const wrong: unknown[] = [];
    for (const [seed, books] of clean.entries()) {
      const chance = randomOf(seed * 31 + contradictionKinds.indexOf(kind));
      const fault = faults[kind](books, (limit) => Math.floor(chance() * limit));
      const found = contradictions(fault.books);
      const [one] = found;
      const { amounts, rows } = told(fault);
      const named = one && told(one);
      const isRight =
        found.length === 1 &&
        one?.kind === kind &&
        named?.rows.join(' ') === rows.join(' ') &&
        Object.entries(amounts).every(([name, amount]) => named.amounts[name] === amount);
      if (!isRight) wrong.push({ seed, found, amounts, rows });
      if (seed % 40 > 0) continue;
      // The order of rows and uploads makes no difference.
      const mixed = {
        ...fault.books,
        uploads: shuffled(fault.books.uploads, seed),
        periods: shuffled(fault.books.periods, seed),
        customers: shuffled(fault.books.customers, seed),
        adjustments: shuffled(fault.books.adjustments, seed),
      };
      expect(contradictions(mixed)).toEqual(found);
    }
    expect(wrong).toEqual([]);
  });

  test('keep their key when amounts or other rows change, while their figures show the change', () => {
    for (const kind of contradictionKinds) {
      for (const [seed, books] of clean.slice(0, 40).entries()) {
        const chance = randomOf(seed * 31 + contradictionKinds.indexOf(kind));
        const fault = faults[kind](books, (limit) => Math.floor(chance() * limit)).books;
        const [before] = contradictions(fault);
        // A later upload of the same figures.
        const again = {
          ...fault,
          uploads: [...fault.uploads, { id: 'again', completed_at: '2999-01-01T00:00:00.000000Z', source_name: null }],
          periods: fault.periods.map((row) => ({ ...row, id: `again ${row.id}`, snapshot_id: 'again' })),
        };
        const [after] = contradictions(again);
        expect([kind, after?.key, after?.figures]).toEqual([kind, before?.key, before?.figures]);
      }
    }
    const unmatched = (amount: string, label = 'FY1999') =>
      contradictions(withAdjustment(cleanBooks(1), label, 'other', decimal(amount)))[0];
    expect(unmatched('2')).toMatchObject({ key: unmatched('1')?.key });
    expect(unmatched('2')?.figures).not.toBe(unmatched('1')?.figures);
    expect(unmatched('1', 'FY1998')?.key).not.toBe(unmatched('1')?.key);
    // One-time costs of two years swap amounts: the total is the same, but the statement about each year changes.
    const years = (first: string, second: string) =>
      contradictions(
        withAdjustment(
          withAdjustment(cleanBooks(1), `FY${cleanBooks(1).periods[0]?.first.slice(0, 4)}`, 'one_time', decimal(first)),
          yearLabel(cleanBooks(1)),
          'one_time',
          decimal(second),
        ),
      ).find(({ kind }) => kind === 'one_time_again');
    expect(years('10', '30')).toMatchObject({ key: years('30', '10')?.key });
    expect(years('10', '30')?.figures).not.toBe(years('30', '10')?.figures);
  });

  test('have distinct keys, however many there are', () => {
    for (const books of clean.slice(0, 20)) {
      const all = contradictionKinds.reduce<Books>((so, kind, at) => {
        const chance = randomOf(at);
        return faults[kind](so, (limit) => Math.floor(chance() * limit)).books;
      }, books);
      const keys = contradictions(all).map(({ key }) => key);
      expect(keys.length).toBeGreaterThan(5);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  /** Books whose months have this revenue and no other amount, with a year and its customers as given. */
  const bare = (revenue: string, year: string, customers: readonly string[], label = 'FY2025'): Books => {
    const nothing = Object.fromEntries(plAmounts.map((name) => [name, null])) as BookedPeriod['amounts'];
    const rows = cleanBooks(1).periods.slice(0, 12);
    const dated = rows.map((row, place) => ({
      ...row,
      label: `2025-${`${place + 1}`.padStart(2, '0')}`,
      first: row.first.replace(/^\d+/, '2025'),
      last: `2025-${row.last.slice(5).replace('02-29', '02-28')}`,
      amounts: { ...nothing, revenue: decimal(revenue) },
    }));
    const dates = { first: '2025-01-01', last: '2025-12-31', currency: 'USD', snapshot_id: 'upload' };
    return {
      ...cleanBooks(1),
      periods: [...dated, { id: 'year', label, ...dates, amounts: { ...nothing, revenue: decimal(year) } }],
      customers: customers.map((amount, place) => ({
        id: `customer-${place}`,
        name: `Customer ${place}`,
        revenue: decimal(amount),
        ...dates,
      })),
      adjustments: [],
    };
  };
  const kinds = (books: Books) => contradictions(books).map(({ kind }) => kind);

  test('are not found where rounding each number to whole units explains the difference', () => {
    expect(kinds(bare('100', '1206', []))).toEqual([]);
    expect(kinds(bare('100', '1194', []))).toEqual([]);
    expect(kinds(bare('100', '1207', []))).toEqual(['year_unlike_months']);
    expect(kinds(bare('100.25', '1206', []))).toEqual(['year_unlike_months']);
    expect(kinds(bare('100', '1206.5', []))).toEqual(['year_unlike_months']);
    const customers = Array.from({ length: 100 }, () => '12');
    expect(kinds(bare('104', '1248', customers))).toEqual([]);
    expect(kinds(bare('105', '1260', customers))).toEqual(['customers_total']);
    expect(kinds(bare('104', '1248', [...customers.slice(1), '12.01']))).toEqual(['customers_total']);
  });

  test('are not found where rounding one of two statements to whole units explains the difference', () => {
    // Months in whole units beside a year with cents, and the reverse.
    expect(kinds(bare('100', '1205.95', []))).toEqual([]);
    expect(kinds(bare('100', '1206.01', []))).toEqual(['year_unlike_months']);
    expect(kinds(bare('100.1', '1201', []))).toEqual([]);
    expect(kinds(bare('100.1', '1203.21', []))).toEqual(['year_unlike_months']);
    expect(kinds(bare('100.1', '1204', []))).toEqual(['year_unlike_months']);
    // Customers with cents beside revenue in whole units, and the reverse.
    expect(kinds(bare('10', '120', ['60.3', '60.2']))).toEqual([]);
    expect(kinds(bare('10', '120', ['60.3', '67']))).toEqual(['customers_total']);
    expect(kinds(bare('10.05', '120.60', ['60', '60']))).toEqual([]);
    expect(kinds(bare('10.05', '120.60', ['60', '63']))).toEqual(['customers_total']);
    // EBITDA that the months do not state is computed from four rounded numbers in each month.
    const parts = (place: number) => ({
      net_income: cents(100 * (40 - place)),
      interest_expense: cents(100 * place),
      tax_expense: zero,
      depreciation_amortization: zero,
    });
    const ofParts = (ebitda: string) => {
      const { periods, ...rest } = bare('100', '1200', []);
      return kinds({
        ...rest,
        periods: periods.map((row, place) => ({
          ...row,
          amounts: { ...row.amounts, ...(row.id === 'year' ? { ebitda: decimal(ebitda) } : parts(place)) },
        })),
      });
    };
    expect(ofParts('504')).toEqual([]);
    expect(ofParts('505')).toEqual(['year_unlike_months']);
  });

  test('of quarters with a year or with customers are found as those of months are', () => {
    const quarters = (revenue: string, year: string, customers: readonly string[] = []): Books => {
      const { periods, ...rest } = bare('1', year, customers);
      const [first] = periods;
      if (!first) throw new Error('no month');
      const its = ['03-31', '06-30', '09-30', '12-31'].map((end, place) => ({
        ...first,
        id: `quarter ${place}`,
        label: `Q${place + 1} 2025`,
        first: `2025-${`${3 * place + 1}`.padStart(2, '0')}-01`,
        last: `2025-${end}`,
        amounts: { ...first.amounts, revenue: decimal(revenue) },
      }));
      return { ...rest, periods: [...its, ...periods.filter(({ id }) => id === 'year')] };
    };
    expect(kinds(quarters('300.25', '1201'))).toEqual([]);
    const [found, ...others] = contradictions(quarters('300.25', '1210.5'));
    expect(others).toEqual([]);
    expect(found?.sentence).toBe(
      'FY2025 says 1,210.50 of revenue, but Q1 2025, Q2 2025, Q3 2025 and Q4 2025 add up to 1,201: 9.50 more.',
    );
    expect(kinds(quarters('300.25', '1201', ['1000', '201']))).toEqual([]);
    const { periods, ...rest } = quarters('300.25', '1201', ['1000', '301']);
    expect(kinds({ ...rest, periods: periods.filter(({ id }) => id !== 'year') })).toEqual(['customers_total']);
  });

  describe('of negative costs', () => {
    const dollars = (amounts: Partial<Record<PlAmount, number>>): BookedPeriod['amounts'] =>
      Object.fromEntries(
        plAmounts.map((name) => [name, amounts[name] === undefined ? null : cents(100 * amounts[name])]),
      ) as BookedPeriod['amounts'];
    /** Twelve months with these amounts, each with different revenue. */
    const monthly = (of: (place: number) => Partial<Record<PlAmount, number>>): Books => ({
      ...cleanBooks(1),
      periods: cleanBooks(1)
        .periods.slice(0, 12)
        .map((row, place) => ({ ...row, amounts: dollars({ revenue: 100_000 + place, ...of(place) }) })),
      customers: [],
      adjustments: [],
    });
    const inBrackets = {
      cost_of_goods_sold: -60_000,
      operating_expenses: -20_000,
      owner_compensation: -10_000,
      depreciation_amortization: -2_000,
      interest_expense: -500,
      tax_expense: -300,
    };
    const said = (books: Books) => contradictions(books).map(({ kind, sentence }) => `${kind}: ${sentence}`);

    test('name each negative line once, and nothing that follows from it', () => {
      const kept = monthly((place) => ({
        ...inBrackets,
        gross_profit: 40_000 + place,
        net_income: 7_200 + place,
        ebitda: 10_000 + place,
      }));
      expect(said(kept)).toEqual([
        'sign: Cost of goods sold is below zero in 12 of 12 months: costs are entered as positive amounts, which are subtracted.',
        'sign: Operating expenses are below zero in 12 of 12 months: costs are entered as positive amounts, which are subtracted.',
        'sign: Owner compensation is below zero in 12 of 12 months: costs are entered as positive amounts, which are subtracted.',
        'sign: Depreciation and amortization is below zero in 12 of 12 months: costs are entered as positive amounts, which are subtracted.',
        'sign: Interest is below zero in 12 of 12 months: costs are entered as positive amounts, which are subtracted.',
      ]);
      const [first] = contradictions(kept);
      expect(first?.ask).toBe('Ask whether these are costs, and upload them without a minus or brackets.');
      expect(first?.rows).toEqual(kept.periods.map(({ id }) => id));
      const owners = { id: 'o', period_label: 'TTM', category: 'owner_comp' as const, amount: d('1'), rationale: null };
      expect(kinds({ ...kept, adjustments: [owners] })).toEqual(kinds(kept));
    });

    test('are found if most periods of a length are negative, for months and for years', () => {
      const mixed = monthly((place) => ({ cost_of_goods_sold: place < 3 ? 50_000 : -60_000 }));
      expect(said(mixed)).toEqual([expect.stringContaining('Cost of goods sold is below zero in 9 of 12 months: ')]);
      expect(said(monthly((place) => ({ cost_of_goods_sold: place < 6 ? 50_000 : -60_000 })))).toEqual([]);
      const [row] = mixed.periods;
      if (!row) throw new Error('no month');
      const year = {
        ...row,
        last: `${row.first.slice(0, 4)}-12-31`,
        label: 'FY2025',
        amounts: dollars({ revenue: 9, ...inBrackets }),
      };
      expect(said({ ...mixed, periods: [year] })[0]).toContain('Cost of goods sold is below zero in FY2025: ');
    });

    test('are not found if revenue is negative, nor for interest and tax alone', () => {
      expect(said(monthly(() => ({ interest_expense: -500, tax_expense: -300 })))).toEqual([]);
      expect(said(monthly((place) => ({ revenue: -100_000 - place, ...inBrackets })))).toEqual([]);
    });
  });

  test('name adjustments of a year whose label differs from that of the books', () => {
    const adjustments = ['2025', 'FY2025'].map((period_label) => ({
      id: period_label,
      period_label,
      category: 'other' as const,
      amount: decimal('7'),
      rationale: null,
    }));
    const found = contradictions({ ...bare('100', '1200', [], '2025'), adjustments });
    expect(found.map(({ kind, rows }) => [kind, rows])).toEqual([['period_unmatched', ['FY2025']]]);
  });

  test.each([
    'FY2025',
    'cy 2025',
    '2025',
    'FY2025 (to 2025-06)',
    '2026, 7 months',
    'TTM',
    'Q1 2025',
    'Jan 2025',
    'March 2025',
    '2025-01',
    '2025-01-01 to 2025-12-31',
  ])('use an unambiguous period label without quotes: %s', (label) => {
    expect(contradictions(bare('100', '1300', [], label))[0]?.sentence).toMatch(
      `${label} says 1,300 of revenue, but its months add up to 1,200: `,
    );
  });

  test.each([
    ['The year', '“The year”'],
    ['Year “one”\r\n"ends"', '“Year one ends”'],
    ['FY2025\n', '“FY2025”'],
    ['FY2025 says nothing. Ask', '“FY2025 says nothing. Ask”'],
    ['Marvelous 2025', '“Marvelous 2025”'],
    ['"', '“”'],
  ])('quote any other period label: %j', (label, words) => {
    expect(contradictions(bare('100', '1300', [], label))[0]?.sentence).toMatch(`${words} says 1,300 of revenue`);
  });

  test('state the contradiction, its amounts and the question to ask', () => {
    const sentences = contradictionKinds.map((kind) => {
      const chance = randomOf(contradictionKinds.indexOf(kind));
      const [found] = contradictions(faults[kind](cleanBooks(12), (limit) => Math.floor(chance() * limit)).books);
      return `${found?.sentence} ${found?.ask}`;
    });
    expect(sentences).toMatchSnapshot();
  });
});
