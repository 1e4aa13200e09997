/**
 * Makes answers shorter: values that are the same in all rows are moved next to the list, since a model reads
 * everything. The tools' descriptions explain the format.
 */

import type { Upload } from '../domain/diligence/books.ts';
import { monthOf } from '../domain/diligence/calendar.ts';
import { isMonthRow } from '../domain/diligence/earnings.ts';
import type { PlPeriod } from '../domain/diligence/figures.ts';
import { plAmounts } from '../domain/diligence/snapshots.ts';

type Shared<List extends string, Row, Name extends keyof Row> = Partial<Pick<Row, Name>> &
  Record<List, (Omit<Row, Name> & Partial<Pick<Row, Name>>)[]>;

/** The row without the fields that are null. */
export const withoutNulls = <Row extends object>(row: Row): { [Name in keyof Row]?: NonNullable<Row[Name]> } =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as ReturnType<typeof withoutNulls<Row>>;

/**
 * Returns `{ [list]: rows }`, with those of the fields `names` that are equal in all rows next to the list instead of
 * in each row. Fields that differ stay in the rows.
 */
export function sharing<List extends string, Row extends object, const Name extends keyof Row & string>(
  list: List,
  rows: readonly Row[],
  names: readonly Name[],
): Shared<List, Row, NoInfer<Name>> {
  const [first] = rows;
  const same = new Set<string>(first ? names.filter((name) => rows.every((row) => row[name] === first[name])) : []);
  const shortened = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !same.has(name))));
  const beside = Object.fromEntries(Object.entries(first ?? {}).filter(([name]) => same.has(name)));
  return { ...beside, [list]: shortened } as Shared<List, Row, Name>;
}

/**
 * Profit and loss by period, with each period's amounts in the order of `columns`, which omits amounts that no period
 * has. A period without `period_end_date` is the calendar month that begins on `period_start_date`; one without
 * `period_label` is labelled YYYY-MM; `snapshot` is an index in `snapshots`, by default 0. Several snapshots have the
 * times at which their `uploads` were completed: for the same dates, the row of the latest counts.
 */
export function periodsInColumns(periods: readonly Omit<PlPeriod, 'id'>[], uploads: readonly Upload[]) {
  if (periods.length === 0) return { periods: [] };
  const columns = plAmounts.filter((name) => periods.some((period) => period[name] !== null));
  const snapshots: { snapshot_id: string; currency: string }[] = [];
  const places = new Map<string, number>();
  const rows = periods.map((period) => {
    const { snapshot_id, currency, period_label, period_start_date: start, period_end_date: end } = period;
    const books = `${snapshot_id} ${currency}`;
    let snapshot = places.get(books);
    if (snapshot === undefined) {
      places.set(books, (snapshot = snapshots.length));
      snapshots.push({ snapshot_id, currency });
    }
    return {
      period_start_date: start,
      ...(isMonthRow({ first: start, last: end }) ? {} : { period_end_date: end }),
      ...(period_label === monthOf(start) ? {} : { period_label }),
      ...(snapshot === 0 ? {} : { snapshot }),
      amounts: columns.map((name) => period[name]),
    };
  });
  if (snapshots.length === 1) return { snapshots, columns, periods: rows };
  const completed = new Map(uploads.map(({ id, completed_at }) => [id, new Date(completed_at).toISOString()]));
  const timed = snapshots.map((snapshot) => {
    const completed_at = completed.get(snapshot.snapshot_id);
    return { ...snapshot, ...(completed_at ? { completed_at } : {}) };
  });
  return { snapshots: timed, columns, periods: rows };
}
