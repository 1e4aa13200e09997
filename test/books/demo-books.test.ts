/**
 * The books of the demo's deals agree to the cent with a spreadsheet of formulas made by hand (demo-books.csv, as of 22
 * November 2026).
 */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { amounts } from '../../database/demo/books.ts';
import { deals } from '../../database/demo/deals/all.ts';
import { decimal as written2 } from '../../database/demo/money.ts';
import { Calendar, yearBefore } from '../../database/demo/relative-times.ts';
import type { BookedPeriod, Books } from '../../server/domain/diligence/books.ts';
import { contradictions } from '../../server/domain/diligence/contradictions.ts';
import { concentration } from '../../server/domain/diligence/customers.ts';
import { decimal, writtenOrNull } from '../../server/domain/diligence/decimals.ts';
import { earnings } from '../../server/domain/diligence/earnings.ts';
import { plAmounts } from '../../server/domain/diligence/snapshots.ts';
import { Spreadsheet } from './spreadsheet.ts';

const day = new Date('2026-11-22T12:00:00Z');
const calendar = new Calendar(day);
const sheet = new Spreadsheet(readFileSync(path.join(import.meta.dirname, 'demo-books.csv'), 'utf8'));

/** The books of one of the demo's deals, as loaded on that day. */
function booksOf(key: string): Books {
  const deal = deals.find((one) => one.key === key);
  const told = (deal?.snapshots ?? []).flatMap(({ books, completed }, place) =>
    books ? [{ id: `upload ${place}`, ...books(completed ? calendar.at(completed) : day) }] : [],
  );
  return {
    currency: 'USD',
    uploads: told.map(({ id }, place) => ({ id, completed_at: `2026-0${1 + place}`, source_name: null })),
    periods: told.flatMap(({ id, periods }) =>
      periods.map(({ label, first, last, lines }): BookedPeriod => {
        const all = amounts(lines);
        const parsed = Object.fromEntries(plAmounts.map((name) => [name, decimal(all[name] ?? '')]));
        return {
          id: `${id} ${label}`,
          snapshot_id: id,
          label,
          first,
          last,
          currency: 'USD',
          amounts: parsed as BookedPeriod['amounts'],
        };
      }),
    ),
    customers: told.flatMap(({ id, customers }) =>
      customers.flatMap(({ first, last, customers: its }) =>
        its.map(({ name, revenue }) => ({
          id: `${id} ${last} ${name}`,
          snapshot_id: id,
          name,
          first,
          last,
          currency: 'USD',
          revenue: decimal(written2(revenue)),
        })),
      ),
    ),
    adjustments: (deal?.addBacks ?? []).map(({ period, category, amount, rationale }, place) => ({
      id: `${place}`,
      period_label: period === 'last_twelve_months' ? 'TTM' : `FY${yearBefore(day) - period.yearsBack}`,
      category,
      amount: decimal(amount),
      rationale,
    })),
  };
}

const blocks = sheet.blocks();
const lines = [
  'revenue',
  'gross_profit',
  'ebitda',
  'net_income',
  'gross_margin',
  'ebitda_margin',
  'adjusted_ebitda',
  'sde',
  'revenue_growth',
  'ebitda_growth',
] as const;

test.each(blocks)('the earnings of the deal “%s” match the spreadsheet', (key) => {
  const books = booksOf(key);
  const found = earnings(books).filter(({ kind }) => kind !== 'partial_year');
  expect(found.length).toBeGreaterThan(2);
  for (const one of found) {
    const { amounts: told, ...rest } = one;
    const all = { ...rest, ...told };
    const computed = lines.map((line) => [line, writtenOrNull(all[line]) ?? '']);
    expect([one.label, ...computed]).toEqual([
      one.label,
      ...lines.map((line) => [line, sheet.row(key, line).get(one.label)]),
    ]);
  }
  expect(contradictions(books)).toEqual([]);
});

test.each(['hvac', 'managed-services'])('the customers of the deal “%s” match the spreadsheet', (key) => {
  const found = concentration(booksOf(key));
  const cell = (label: string) => sheet.row(`${key} customers`, label).get('revenue');
  const [largest] = found?.customers ?? [];
  expect(
    [found?.total, found?.hhi, largest?.share, found?.ebitda_without_largest].map((value) =>
      writtenOrNull(value ?? null),
    ),
  ).toEqual(['total', 'hhi', 'largest_share', 'ebitda_without_largest'].map(cell));
});
