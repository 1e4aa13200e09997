/** npm run bench -- books: the processor time of everything that is computed for the page of a deal's books, for a usual deal and for a large one. */

import { monthAfter } from '../server/domain/diligence/calendar.ts';
import type { Books } from '../server/domain/diligence/books.ts';
import { noAnswers } from '../server/domain/diligence/contradiction-answers.ts';
import { qoeOverview } from '../server/domain/diligence/overview.ts';
import { cents, monthRow } from '../test/books/clean-books.ts';
import { millis, table } from './table.ts';

/** Books with so many months, customers (in two years) and adjustments. */
function booksOf(months: number, customers: number, adjustments: number): Books {
  const categories = ['owner_comp', 'one_time', 'other'] as const;
  return {
    currency: 'USD',
    uploads: [{ id: 'upload', completed_at: '2026-01-01T00:00:00.000000Z', source_name: null }],
    periods: Array.from({ length: months }, (_, place) =>
      monthRow('upload', monthAfter('2025-12', BigInt(place + 1 - months)), {
        revenue: 10_000_000 + place * 77,
        cogs: 4_000_000 + place,
        opex: 200_000,
        owner: 100_000,
        da: 1_000,
        interest: 500,
        tax: 700,
      }),
    ),
    customers: Array.from({ length: customers }, (_, place) => {
      const year = place % 2 === 0 ? '2024' : '2025';
      return {
        id: `customer ${place}`,
        snapshot_id: 'upload',
        name: `Customer number ${place >> 1}, Inc.`,
        first: `${year}-01-01`,
        last: `${year}-12-31`,
        currency: 'USD',
        revenue: cents(100_000 + place),
      };
    }),
    adjustments: Array.from({ length: adjustments }, (_, place) => ({
      id: `adjustment ${place}`,
      period_label: `FY${2025 - (place % Math.max(1, months / 12))}`,
      category: categories[place % 3] ?? 'other',
      amount: cents(1_000 + place),
      rationale: null,
    })),
  };
}

const rounds = 30;

/** The processor time of one computation, in milliseconds, once it is warm. */
function measured(books: Books): number {
  // Of each reading it is computed once: every round is of another.
  const compute = () => JSON.stringify(qoeOverview({ ...books }, noAnswers(true)));
  for (let time = 0; time < 5; time += 1) compute();
  const before = process.cpuUsage();
  for (let time = 0; time < rounds; time += 1) compute();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / rounds;
}

/** Prints the processor time for each size; reading the rows from the database is measured by `scale`. */
export function benchBooks(): void {
  const sizes = [
    [36, 40, 9],
    [240, 5_000, 300],
  ] as const;
  const rows = sizes.map(([months, customers, adjustments]) => [
    ...[months, customers, adjustments].map(String),
    millis(measured(booksOf(months, customers, adjustments))),
  ]);
  process.stdout.write(`${table(['months', 'customers', 'adjustments', 'ms of processor time'], rows)}\n`);
}
