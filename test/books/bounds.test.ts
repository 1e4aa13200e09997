/** How often the rows of books are read that were made to be costly. */

import { describe, expect, test } from 'vitest';
import type { BookedCustomer, BookedPeriod, Books } from '../../server/domain/diligence/books.ts';
import { lastDayOf, monthAfter, type Month } from '../../server/domain/diligence/calendar.ts';
import { noAnswers } from '../../server/domain/diligence/contradiction-answers.ts';
import { qoeOverview } from '../../server/domain/diligence/overview.ts';
import { cents, monthRow } from './clean-books.ts';

const rows = 1500;
const listed = 6000;

const lines = { revenue: 900_000, cogs: 300_000, opex: 90_000, owner: 70_000, da: 100, interest: 100, tax: 100 };
const month = (place: number): Month => monthAfter('1900-01', BigInt(place));
const plain = Array.from({ length: rows }, (_, place) => monthRow('upload', month(place), lines));

/** A row that begins with month number `place` and spans `months` months. */
function longer(place: number, months: number): BookedPeriod {
  const row = monthRow('upload', month(place), lines);
  const last = `${month(place + months - 1)}-${lastDayOf(month(place + months - 1))}`;
  return { ...row, id: `${row.id} ${months}`, label: `Row ${place} of ${months}`, last };
}

const customers = (months: (place: number) => number): BookedCustomer[] =>
  Array.from({ length: listed }, (_, place) => ({
    id: `customer ${place}`,
    snapshot_id: 'upload',
    name: `Customer ${place}`,
    first: `${month(place % 12)}-01`,
    last: `${month((place % 12) + months(place) - 1)}-${lastDayOf(month((place % 12) + months(place) - 1))}`,
    currency: 'USD',
    revenue: cents(500),
  }));

const books = (periods: readonly BookedPeriod[], its: readonly BookedCustomer[]): Books => ({
  currency: 'USD',
  uploads: [{ id: 'upload', completed_at: '2026-01-01T00:00:00.000000Z', source_name: null }],
  periods,
  customers: its,
  adjustments: [],
});

/** The average number of property reads per row or customer while everything is computed from the books. */
function readsOfEach(its: Books): number {
  let reads = 0;
  const counted = <T extends object>(row: T): T =>
    new Proxy(row, {
      get(target, name, receiver) {
        reads += 1;
        return Reflect.get(target, name, receiver);
      },
    });
  qoeOverview({ ...its, periods: its.periods.map(counted), customers: its.customers.map(counted) }, noAnswers(true));
  return reads / (its.periods.length + its.customers.length);
}

// With linear searches each row would be read as often as there are rows.
const most = 200;

describe('each row of the books is read only a few times', () => {
  test.each<[string, Books]>([
    [
      'plain ones',
      books(
        plain,
        customers(() => 12),
      ),
    ],
    [
      'a year that begins with each month',
      books(
        Array.from({ length: rows }, (_, at) => longer(at, 12)),
        [],
      ),
    ],
    [
      'rows of many years beside their months',
      books(
        [...plain.slice(0, rows / 2), ...Array.from({ length: rows / 2 }, (_, at) => longer(at % 12, 13 + at))],
        [],
      ),
    ],
    [
      'customers of many years, each period another',
      books(
        plain,
        customers((place) => 1 + (place % (rows - 12))),
      ),
    ],
  ])('%s', (_, its) => {
    expect(readsOfEach(its)).toBeLessThan(most);
  });

  test('at most a hundred periods are returned', () => {
    const { earnings } = qoeOverview(
      books(
        Array.from({ length: rows }, (_, at) => longer(at, 12)),
        [],
      ),
      noAnswers(true),
    );
    expect(earnings).toHaveLength(100);
    expect(earnings[0]?.label).toBe(`Row ${rows - 1} of 12`);
  });
});
