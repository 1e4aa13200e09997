/** Random books without contradictions, and helpers to change them. */

import type { BookedCustomer, BookedPeriod, Books } from '../../server/domain/diligence/books.ts';
import { monthAfter } from '../../server/domain/diligence/calendar.ts';
import { decimal, type Decimal } from '../../server/domain/diligence/decimals.ts';
import { plAmounts } from '../../server/domain/diligence/snapshots.ts';
import { randomOf } from '../hostile/random.ts';

/** The amount of `units` cents. */
export const cents = (units: number): Decimal => ({ units: BigInt(units), scale: 2n });

const lastDay = (month: string): string => {
  const date = new Date(`${monthAfter(month, 1n)}-01T00:00:00Z`);
  date.setUTCDate(0);
  return date.toISOString().slice(0, 10);
};

/** A month of profit and loss whose totals follow from its lines; all amounts in cents. */
export function monthRow(
  snapshot_id: string,
  month: string,
  lines: { revenue: number; cogs: number; opex: number; owner: number; da: number; interest: number; tax: number },
): BookedPeriod {
  const gross = lines.revenue - lines.cogs;
  const ebitda = gross - lines.opex - lines.owner;
  const amounts = {
    revenue: lines.revenue,
    cost_of_goods_sold: lines.cogs,
    gross_profit: gross,
    operating_expenses: lines.opex,
    owner_compensation: lines.owner,
    depreciation_amortization: lines.da,
    interest_expense: lines.interest,
    tax_expense: lines.tax,
    net_income: ebitda - lines.da - lines.interest - lines.tax,
    ebitda,
  };
  return {
    id: `${snapshot_id}-${month}`,
    snapshot_id,
    label: month,
    first: `${month}-01`,
    last: lastDay(month),
    currency: 'USD',
    amounts: Object.fromEntries(plAmounts.map((name) => [name, cents(amounts[name])])) as BookedPeriod['amounts'],
  };
}

/**
 * Books that are the same for the same seed: two or three calendar years of months, customers of the last two years,
 * three adjustments.
 */
export function cleanBooks(seed: number): Books {
  const chance = randomOf(seed);
  const below = (limit: number) => Math.floor(chance() * limit);
  const years = 2 + below(2);
  const start = `${2020 + below(4)}-01`;
  const base = 20_000_00 + below(400_000_00);
  const periods = Array.from({ length: 12 * years }, (_, place) => {
    const revenue = base + below(Math.floor(base / 4));
    const cogs = Math.floor(revenue * (0.3 + 0.1 * chance()));
    const opex = Math.floor(revenue * (0.2 + 0.05 * chance()));
    const owner = Math.floor(base * 0.08);
    const [da, interest, tax] = [1_000 + below(9_000), 500 + below(5_000), 700 + below(8_000)];
    return monthRow('upload', monthAfter(start, BigInt(place)), { revenue, cogs, opex, owner, da, interest, tax });
  });
  const lastYears = [years - 2, years - 1].map((year) => periods.slice(12 * year, 12 * year + 12));
  const count = 3 + below(10);
  const customers = lastYears.flatMap((rows): BookedCustomer[] => {
    const total = Number(rows.reduce((all, { amounts }) => all + (amounts.revenue?.units ?? 0n), 0n));
    const first = rows[0]?.first ?? '';
    const parts = Array.from({ length: count }, (_, place) =>
      place === 0 ? 0 : Math.floor((total / count) * (0.5 + chance() / 2)),
    );
    parts[0] = total - parts.reduce((all, part) => all + part, 0);
    return parts.map((part, place) => ({
      id: `customer-${first.slice(0, 4)}-${place}`,
      snapshot_id: 'upload',
      name: `Customer ${String.fromCodePoint(65 + place)} ${count}`,
      first,
      last: rows.at(-1)?.last ?? '',
      currency: 'USD',
      revenue: cents(part),
    }));
  });
  const year = `FY${periods.at(-1)?.first.slice(0, 4)}`;
  const ownerYear = Math.floor(base * 0.08) * 12;
  return {
    currency: 'USD',
    uploads: [{ id: 'upload', completed_at: '2026-01-05T10:00:00.000000Z', source_name: 'books.csv' }],
    periods,
    customers,
    adjustments: [
      {
        id: 'n1',
        period_label: year,
        category: 'owner_comp',
        amount: cents(Math.floor(ownerYear / 2)),
        rationale: null,
      },
      { id: 'n2', period_label: year, category: 'one_time', amount: cents(12_345_67), rationale: 'A lawsuit' },
      { id: 'n3', period_label: 'TTM', category: 'related_party', amount: cents(-900_00), rationale: null },
    ],
  };
}

/** The list in another order, which is the same for the same seed. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const chance = randomOf(seed);
  return items
    .map((item) => ({ item, at: chance() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

export const d = decimal;
